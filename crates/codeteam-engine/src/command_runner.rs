//! How a surface carries out what a person decides: as a command of codeteam.

use std::io;

/// Runs commands of codeteam. The program that opens a surface implements it, because it knows
/// itself: surfaces decide nothing, and there is one way for every decision.
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end, without a terminal, and tells of every line that it prints.
    /// Returns its exit code; `None` if a signal ended it.
    fn run(&self, words: &[String], on_line: &mut dyn FnMut(String)) -> io::Result<Option<i32>>;
}
