//! Copies to the clipboard, with a program that can access it or through the terminal.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use codeteam_host::process;

use codeteam_engine::problem::Problem;

/// Programs that copy to the clipboard, in the order in which they are tried.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("wl-copy", &[]),
    ("xclip", &["-selection", "clipboard"]),
    ("xsel", &["--clipboard", "--input"]),
    ("pbcopy", &[]),
];

/// The size limit of terminals; more is cut off silently.
const TERMINAL: usize = 74_000;

/// Copies a text to the clipboard.
pub(super) fn copy_to_clipboard(path: &OsStr, text: &[u8]) -> Result<(), Problem> {
    for (program, args) in PROGRAMS {
        if process::pipe_to_program(path, program, args, text).unwrap_or(false) {
            return Ok(());
        }
    }
    let problem = Problem::environment("the clipboard cannot be reached");
    let hint =
        "install `wl-copy` (Wayland), `xclip` or `xsel` (X11), or write a file with `--output`";
    if !io::stderr().is_terminal() {
        return Err(problem.hint(hint));
    }
    let encoded = STANDARD.encode(text);
    if encoded.len() > TERMINAL {
        let problem = Problem::environment("the pack is too long for the clipboard of a terminal");
        return Err(problem
            .hint(hint)
            .hint("or make it shorter with `--budget` or `--include`"));
    }
    write!(io::stderr(), "\u{1b}]52;c;{encoded}\u{7}")
        .map_err(|error| problem.caused_by(&error).hint(hint))
}
