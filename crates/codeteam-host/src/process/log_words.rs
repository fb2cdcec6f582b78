//! Writes the words of a command for the diagnostic log.

use std::ffi::OsString;
use std::fmt;

/// The words of a command, as one would type most of them. Nothing is left out: secrets are removed
/// from the whole line by whoever writes it, which would miss the half of one.
pub(crate) struct LogWords<'a>(pub(crate) &'a [OsString]);

impl fmt::Display for LogWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, word) in self.0.iter().enumerate() {
            let (word, separator) = (word.to_string_lossy(), if at == 0 { "" } else { " " });
            let is_plain = !word.is_empty() && !word.contains([' ', '\'', '"', '\n', '\t']);
            let quote = if is_plain { "" } else { "'" };
            write!(f, "{separator}{quote}{word}{quote}")?;
        }
        Ok(())
    }
}
