//! Prints results to standard output, and everything else to standard error.

mod wrap;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use codeteam_context::redact::Redactor;
use codeteam_core::untrusted_text::{escape_json, is_active_character};
use codeteam_report::secret_filter::RemovedSecrets;
use serde::Serialize;
use serde_json::Value;

use codeteam_engine::problem::{Problem, ProblemKind};

/// The colour codes that [`TerminalStyle`] uses.
const COLOURS: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

/// The use of colour. No information is carried by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalStyle {
    coloured: bool,
}

impl TerminalStyle {
    /// Uses colour if standard error is a terminal, unless `NO_COLOR` is set.
    pub(crate) fn detect() -> Self {
        Self::allowed_where(io::stderr().is_terminal())
    }

    /// Does the same for standard output.
    pub(crate) fn detect_stdout() -> Self {
        Self::allowed_where(io::stdout().is_terminal())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one variable the skin itself looks at"
    )]
    fn allowed_where(is_terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Self::with_colour(is_terminal && !refused)
    }

    pub(crate) fn with_colour(coloured: bool) -> Self {
        Self { coloured }
    }

    /// Returns true if there is colour.
    pub(crate) fn is_coloured(self) -> bool {
        self.coloured
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

/// Returns the width of standard output; unlimited if it is not a terminal.
pub(crate) fn stdout_width() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let columns = size.map(|size| usize::from(size.ws_col));
    columns.ok().filter(|n| *n > 0).unwrap_or(usize::MAX)
}

/// Returns the width of standard error; unlimited if it is not a terminal.
fn stderr_width() -> usize {
    if !io::stderr().is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(io::stderr());
    let columns = size.map(|size| usize::from(size.ws_col));
    columns.ok().filter(|n| *n > 0).unwrap_or(usize::MAX)
}

/// Truncates a text to the room there is.
pub(crate) fn truncate(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Makes a text harmless to a terminal: names, prompts and the output of workers are written by
/// others. The colours of [`TerminalStyle`] are kept.
pub(crate) fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active_character) {
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
            shown.push(if is_active_character(c) {
                '\u{fffd}'
            } else {
                c
            });
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    Cow::Owned(shown)
}

/// Joins a text into one line, for lists.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escape_control(&words.join(" ")).into_owned()
}

/// Prints an error, its causes, and what can be done about it.
pub(crate) fn print_problem(problem: &Problem, style: TerminalStyle) {
    let mut lines = problem.what().lines();
    let first = format!("{}: {}", style.red("error"), lines.next().unwrap_or(""));
    // In a message of several lines, one may point at another, so it is not wrapped.
    if problem.what().contains('\n') {
        eprint_line(&first);
    } else {
        eprint_wrapped(&first);
    }
    for line in lines {
        eprint_line(&format!("       {line}"));
    }
    for cause in problem.causes() {
        eprint_line(&format!("  caused by: {}", cause.replace('\n', "\n    ")));
    }
    for hint in problem.hints() {
        eprint_wrapped(&format!("  {}: {hint}", style.cyan("hint")));
    }
    if problem.kind() == ProblemKind::Internal {
        eprint_line("  this is a fault of codeteam itself; the run's log has everything up to it");
    }
}

/// Writes text to standard output, without colours if that is not a terminal.
pub(crate) fn print_text(text: &str) -> Result<(), Problem> {
    print_bytes(printable(text).as_bytes())
}

/// Returns a text as [`print_text`] writes it.
pub(crate) fn printable(text: &str) -> String {
    let text = escape_control(text);
    if io::stdout().is_terminal() {
        return text.into_owned();
    }
    without_colours(&text).into_owned()
}

/// Removes the colours of [`TerminalStyle`] from a text.
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

/// Writes bytes to standard output. A reader that has gone away is not an error.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Problem> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::environment("could not write the result").caused_by(&error))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard output.
pub(crate) fn print_line(text: &str) -> Result<(), Problem> {
    print_text(&format!("{text}\n"))
}

/// Writes a value as JSON, on one line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Problem> {
    print_bytes(json_line(value)?.as_bytes())
}

/// Returns a value as [`print_json`] writes it.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, Problem> {
    let text = serde_json::to_string(value)
        .map_err(|e| Problem::internal("a result cannot be written as JSON").caused_by(&e))?;
    Ok(format!("{}\n", escape_json(text)))
}

/// Removes secrets from every string of a JSON value.
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

/// Prints a message that is read rather than copied, wrapped at words to the terminal's width.
pub(crate) fn eprint_wrapped(text: &str) {
    eprint_line(&wrap::wrap_text(text, stderr_width()));
}

/// Prints a line for the person. If standard error is closed, there is nobody to tell.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escape_control(text));
}

/// Reports which secrets were removed from the person's input, if any were.
pub(crate) fn report_removed_secrets(removed: &RemovedSecrets) {
    if let Some(notice) = removed.notice() {
        eprint_wrapped(&format!(
            "{}: {notice}",
            TerminalStyle::detect().yellow("note")
        ));
    }
}

/// Parses a whole number of a command line.
pub(crate) fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "write a whole number, such as `5000`".to_owned())
}

/// Parses a whole number that is not 0.
pub(crate) fn some(text: &str) -> Result<usize, String> {
    number(text)
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "write a whole number, 1 or more".to_owned())
}

/// Formats a number with thousands separators.
pub(crate) fn group_digits(n: usize) -> String {
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

/// Formats a size for people.
pub(crate) fn format_bytes(n: u64) -> String {
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
            assert_eq!(escape_control(same), same);
        }
        assert_eq!(
            escape_control("a\u{1b}[2Jb\rc\r\nd\u{9b}31m\u{202e}e\u{1b}]0;x\u{7}\u{1b}[8m"),
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
            assert_eq!(group_digits(n), text);
        }
        assert_eq!(
            [
                format_bytes(999),
                format_bytes(1_550),
                format_bytes(38_748_581)
            ],
            ["999 bytes", "1.5 kB", "38.7 MB"]
        );
    }
}
