//! Where words go: results to standard output, everything else to standard error.

mod wrap;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use codeteam_context::redact::Redactor;
use codeteam_core::quoted::{acts, escape_json};
use codeteam_engine::engine::RemovedSecrets;
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;

/// The codes that [`TerminalStyle`] uses.
const COLOURS: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

/// Whether to use colour. Nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalStyle {
    coloured: bool,
}

impl TerminalStyle {
    /// Colour on a terminal, unless `NO_COLOR` is set.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one variable the skin itself looks at"
    )]
    pub(crate) fn detect() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Self {
            coloured: io::stderr().is_terminal() && !refused,
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// How many characters a line of standard output may have; no end of them where no terminal is.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let columns = size.map(|size| usize::from(size.ws_col));
    columns.ok().filter(|n| *n > 0).unwrap_or(usize::MAX)
}

/// How many characters a line of standard error may have; no end of them where no terminal is.
fn columns() -> usize {
    if !io::stderr().is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let columns = size.map(|size| usize::from(size.ws_col));
    columns.ok().filter(|n| *n > 0).unwrap_or(usize::MAX)
}

/// As much of a text as there is room for.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// A text that does nothing to a terminal but appear there: names, prompts and what workers say are
/// written by others. The colours of [`TerminalStyle`] stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let coloured = COLOURS
            .iter()
            .map(|code| format!("\u{1b}[{code}m"))
            .find(|colour| rest.starts_with(colour));
        let taken = if let Some(colour) = coloured {
            shown.push_str(&colour);
            colour.len()
        } else if rest.starts_with("\r\n") {
            shown.push('\n');
            2
        } else {
            shown.push(if acts(c) { '\u{fffd}' } else { c });
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    Cow::Owned(shown)
}

/// A text on one line, for lists.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" ")).into_owned()
}

/// Writes text to standard output, without colours where that is no terminal.
pub(crate) fn out(text: &str) -> Result<(), Problem> {
    let text = harmless(text);
    if io::stdout().is_terminal() {
        return out_bytes(text.as_bytes());
    }
    out_bytes(without_colours(&text).as_bytes())
}

/// A text without the colours of [`TerminalStyle`].
fn without_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut plain = text.to_owned();
    for code in COLOURS {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    Cow::Owned(plain)
}

/// Writes to standard output what need not be text. A reader that has gone away is no error.
pub(crate) fn out_bytes(bytes: &[u8]) -> Result<(), Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::environment("could not write the result").caused_by(&error))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard output.
pub(crate) fn out_line(text: &str) -> Result<(), Problem> {
    out(&format!("{text}\n"))
}

/// Writes a value as JSON, on one line.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Problem> {
    let text = serde_json::to_string(value)
        .map_err(|e| Problem::internal("a result cannot be written as JSON").caused_by(&e))?;
    out_bytes(format!("{}\n", escape_json(text)).as_bytes())
}

/// Takes secrets out of every text of a value.
pub(crate) fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text).text {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| redact(field, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Says something that is to be read, not copied: broken at words where the terminal would break it
/// anywhere.
pub(crate) fn tell(text: &str) {
    say(&wrap::wrapped(text, columns()));
}

/// Says something to the person. If standard error is gone there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
}

/// Says which secrets were taken out of what the person said, if any were.
pub(crate) fn note_removed(removed: &RemovedSecrets) {
    if let Some(notice) = removed.notice() {
        tell(&format!(
            "{}: {notice}",
            TerminalStyle::detect().yellow("note")
        ));
    }
}

/// Reads a whole number of a command line.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "write a whole number, such as `5000`".to_owned())
}

/// Reads a whole number that is not 0.
pub(crate) fn some(text: &str) -> Result<usize, String> {
    number(text)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "write a whole number, 1 or more".to_owned())
}

/// A number as people read it.
pub(crate) fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size as people read it.
pub(crate) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{} MB", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals() {
        let style = TerminalStyle { coloured: true };
        let text = format!("{} and {}", style.green("done"), style.bold("more"));
        assert_eq!(without_colours(&text), "done and more");
    }

    #[test]
    fn what_others_wrote_only_appears() {
        let coloured = TerminalStyle { coloured: true }.red("error");
        for same in ["a\n\tb é", &coloured] {
            assert_eq!(harmless(same), same);
        }
        assert_eq!(
            harmless("a\u{1b}[2Jb\rc\r\nd\u{9b}31m\u{202e}e\u{1b}]0;x\u{7}\u{1b}[8m"),
            "a\u{fffd}[2Jb\u{fffd}c\nd\u{fffd}31m\u{fffd}e\u{fffd}]0;x\u{fffd}\u{fffd}[8m"
        );
        assert_eq!(one_line("a\n  b\u{1b}"), "a b\u{fffd}");
    }

    #[test]
    fn numbers_are_grouped() {
        let all = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (n, text) in all {
            assert_eq!(grouped(n), text);
        }
        assert_eq!(
            [bytes(999), bytes(1_550), bytes(38_748_581)],
            ["999 bytes", "1.5 kB", "38.7 MB"]
        );
    }
}
