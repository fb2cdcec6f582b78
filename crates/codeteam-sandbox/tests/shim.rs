//! The shim alone, for tests and benchmarks.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Err(error) = codeteam_sandbox::shim::main(std::env::args_os().skip(1));
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
    ExitCode::from(error.exit_code())
}
