//! Asks for a yes before a command does something that a person might regret.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use codeteam_engine::problem::Problem;

/// Returns true if a person can be asked.
pub(crate) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until the answer is yes or no. An empty answer, or the end of the input, is a no.
pub(crate) fn ask_yes_no(question: &str) -> Result<bool, Problem> {
    loop {
        let mut err = io::stderr().lock();
        let _ = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
        drop(err);
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let read =
            read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
        match line.trim().to_lowercase().as_str() {
            "" if read == 0 => {
                let _ = writeln!(io::stderr());
                return Ok(false);
            }
            "" | "n" | "no" => return Ok(false),
            "y" | "yes" => return Ok(true),
            _ => {}
        }
    }
}
