//! The diagnostic log: a file with what codeteam does, line by line, for whoever looks for a cause.
//!
//! All crates report with the macros of `tracing`. While no log is open, that costs one comparison
//! of a number in memory. This module decides where the lines go: to a file that the user named or
//! to `debug.log` in codeteam's state folder, and never to standard output or standard error.
//!
//! Every line is redacted, gets the time and the id of the process, and is appended with one write,
//! so that several processes can share a file. Control characters are escaped, so that a line stays
//! a line whatever is in it.
//!
//! A worker of codeteam's own runs in a sandbox and must not see the file, which also tells of other
//! workers. It is started with `--relay-log` and calls [`relay_to_stderr`]; the codeteam that started
//! it takes these lines out of its output with `record_worker_line`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use codeteam_context::redact::Redactor;
use serde::{Deserialize, Serialize};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

use crate::env::Env;

/// The directives if only a file is named.
const DEFAULT: &str = "debug";

/// The number of bytes kept of a line. Lines are cut after they were redacted, so that no half of a
/// secret is left.
const LONGEST: usize = 32 << 10;

/// The log of this process, once it is open.
static LOG: OnceLock<LogFile> = OnceLock::new();

/// The directives that are in force, once there is a log.
static DIRECTIVES: OnceLock<String> = OnceLock::new();

/// The reason why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What is to be logged is not written as it must be.
    #[error("`{directive}` does not say what to log: {why}")]
    Directive {
        /// The part that is wrong.
        directive: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No file was named, and there is no home for the usual one.
    #[error("there is no home directory to keep a log in")]
    NoHome,
    /// The file or its folder could not be opened.
    #[error("could not open the log `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Which lines are logged: a level, or levels by target, as in `codeteam_host::git=debug,info`.
#[derive(Debug)]
struct LogFilter(Targets);

impl LogFilter {
    fn parse(text: &str) -> Result<Self, Error> {
        let mut targets = Targets::new();
        for directive in text.split(',').map(str::trim) {
            let failed = |why| Error::Directive {
                directive: directive.to_owned(),
                why,
            };
            // An empty text would be taken for the level `error`.
            let level = |text: &str| match text {
                "" => Err(()),
                text => text.parse::<LevelFilter>().map_err(|_| ()),
            };
            targets = match directive.split_once('=') {
                // A target without a level is more likely a level with a typing error in it.
                None => targets
                    .with_default(level(directive).map_err(|()| failed("it is not a level"))?),
                Some((target, named)) => {
                    let is_path = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
                    if target.is_empty() || !target.chars().all(is_path) {
                        return Err(failed("what is before `=` is not a path of modules"));
                    }
                    let level =
                        level(named).map_err(|()| failed("what is after `=` is not a level"))?;
                    targets.with_target(target, level)
                }
            };
        }
        Ok(Self(targets))
    }

    /// Returns true if nothing at all would be logged.
    fn is_off(&self) -> bool {
        let levels = self.0.iter().map(|(_, level)| level);
        let default = self.0.default_level().unwrap_or(LevelFilter::OFF);
        levels
            .chain([default])
            .all(|level| level == LevelFilter::OFF)
    }
}

/// Opens the log of this process, if `file` or `directives` ask for one, and writes to it from now
/// on. Without directives everything up to `debug` is logged; without a file, the log is `debug.log`
/// in codeteam's state folder.
pub fn open_log(env: &Env, file: Option<&Path>, directives: Option<&str>) -> Result<(), Error> {
    let directives = directives.unwrap_or(DEFAULT);
    let filter = LogFilter::parse(directives)?;
    if filter.is_off() {
        return Ok(());
    }
    let path = match (file, &env.state_home) {
        (Some(file), _) => file.to_owned(),
        (None, Some(state)) => state.join("codeteam/debug.log"),
        (None, None) => return Err(Error::NoHome),
    };
    let failed = |source| Error::Open {
        path: path.clone(),
        source,
    };
    if let (None, Some(folder)) = (file, path.parent()) {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(failed)?;
    }
    let log = LogFile::open(&path, env.secrets()).map_err(failed)?;
    let writer = || LogWriter(LOG.get());
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_timer(ProcessClock(std::process::id()))
        // What cannot be written must not go to standard error instead.
        .log_internal_errors(false)
        .with_writer(writer);
    if LOG.set(log).is_ok() {
        install(Registry::default().with(filter.0).with(lines), directives);
    }
    Ok(())
}

/// Writes the log of this process, which is a worker, to standard error, where
/// `record_worker_line` finds it.
pub fn relay_to_stderr(directives: &str) -> Result<(), Error> {
    let filter = LogFilter::parse(directives)?;
    install(
        Registry::default().with(filter.0).with(RelayLayer),
        directives,
    );
    Ok(())
}

fn install(subscriber: impl Subscriber + Send + Sync, directives: &str) {
    // It fails only if this process has one already.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        let _ = DIRECTIVES.set(directives.to_owned());
    }
}

/// Returns the directives to start codeteam's own workers with, if a log is open.
pub(crate) fn worker_directives() -> Option<&'static str> {
    DIRECTIVES.get().map(String::as_str)
}

/// Adds to what is redacted in the log, if one is open: what is secret in a configuration is known
/// later than the log is opened.
pub(crate) fn add_known_secrets(secrets: &[String]) {
    if let Some(log) = LOG.get() {
        log.add_known_secrets(secrets);
    }
}

/// Logs a line that a worker of codeteam's own has written with [`relay_to_stderr`]. Returns false
/// if it is any other line.
pub(crate) fn record_worker_line(line: &str) -> bool {
    if !line.starts_with(RELAYED) {
        return false;
    }
    let Ok(RelayedLine {
        level,
        target,
        text,
        ..
    }) = serde_json::from_str(line)
    else {
        return false;
    };
    // Targets and levels of lines are fixed at compile time, so there is one line for each level.
    match &*level {
        "ERROR" => tracing::error!(target: "codeteam_agent", from = %target, "{text}"),
        "WARN" => tracing::warn!(target: "codeteam_agent", from = %target, "{text}"),
        "INFO" => tracing::info!(target: "codeteam_agent", from = %target, "{text}"),
        "DEBUG" => tracing::debug!(target: "codeteam_agent", from = %target, "{text}"),
        _ => tracing::trace!(target: "codeteam_agent", from = %target, "{text}"),
    }
    true
}

/// The beginning of every relayed line.
const RELAYED: &str = r#"{"type":"log","#;

/// One line of a worker's log.
#[derive(Serialize, Deserialize)]
struct RelayedLine<'a> {
    r#type: Cow<'a, str>,
    level: Cow<'a, str>,
    target: Cow<'a, str>,
    text: Cow<'a, str>,
}

/// Writes events as [`RelayedLine`]s to standard error.
struct RelayLayer;

impl<S: Subscriber> Layer<S> for RelayLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = FieldText::default();
        event.record(&mut fields);
        let line = RelayedLine {
            r#type: "log".into(),
            level: level_name(*event.metadata().level()).into(),
            target: event.metadata().target().into(),
            text: fields.0.into(),
        };
        if let Ok(mut line) = serde_json::to_string(&line) {
            line.push('\n');
            // Standard error is not buffered: this is one write. Nothing can be done if it fails.
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG => "DEBUG",
        Level::TRACE => "TRACE",
    }
}

/// The message of an event and its fields, as text.
#[derive(Default)]
struct FieldText(String);

impl Visit for FieldText {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let separator = if self.0.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{separator}{value:?}"),
            name => write!(self.0, "{separator}{name}={value:?}"),
        };
    }
}

/// The open file, and what is redacted in it.
struct LogFile {
    file: File,
    known: Mutex<BTreeSet<String>>,
    redactor: RwLock<Redactor>,
}

impl LogFile {
    fn open(path: &Path, secrets: Vec<String>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(path)?;
        Ok(Self {
            file,
            redactor: RwLock::new(Redactor::new(secrets.iter().cloned())),
            known: Mutex::new(secrets.into_iter().collect()),
        })
    }

    fn add_known_secrets(&self, secrets: &[String]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.extend(secrets.iter().cloned());
        if known.len() > before {
            let redactor = Redactor::new(known.iter().cloned());
            *self
                .redactor
                .write()
                .unwrap_or_else(PoisonError::into_inner) = redactor;
        }
    }

    fn write_line(&self, text: &str) {
        let redactor = self.redactor.read().unwrap_or_else(PoisonError::into_inner);
        let mut line = one_line(&redactor.redact(text.trim_end()).text);
        drop(redactor);
        line.push('\n');
        // A full disk must not stop a run, and there is no better place to report it.
        let _ = (&self.file).write_all(line.as_bytes());
    }
}

/// Makes one line of a text: control characters are escaped, and what is too long is cut.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 1);
    for (at, c) in text.char_indices() {
        if at >= LONGEST {
            let _ = write!(line, "… ({} bytes more)", text.len() - at);
            break;
        }
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Hands the text of an event, which `tracing-subscriber` writes with one call, to the log.
struct LogWriter(Option<&'static LogFile>);

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if let Some(log) = self.0 {
            log.write_line(&String::from_utf8_lossy(text));
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins each line with the time and the id of this process.
struct ProcessClock(u32);

impl FormatTime for ProcessClock {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{:.3} {}", jiff::Timestamp::now(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn directives_are_levels_and_targets_with_levels() {
        let off = |text: &str| LogFilter::parse(text).unwrap().is_off();
        assert!(!off("debug") && !off("codeteam_host::git=debug,info") && !off(" warn , a=trace"));
        assert!(off("off") && off("off,codeteam_host=off"));
        let filter = LogFilter::parse("codeteam_host::git=debug,info").unwrap().0;
        assert!(filter.would_enable("codeteam_host::git::command", &Level::DEBUG));
        assert!(!filter.would_enable("codeteam_host::process", &Level::DEBUG));
        assert!(filter.would_enable("codeteam_host::process", &Level::INFO));
        for (text, wrong) in [
            (
                "debgu",
                "`debgu` does not say what to log: it is not a level",
            ),
            (
                "info,codeteam_host=loud",
                "`codeteam_host=loud` does not say what to log: what is after `=` is not a level",
            ),
            (
                "=debug",
                "`=debug` does not say what to log: what is before `=` is not a path of modules",
            ),
            ("", "`` does not say what to log: it is not a level"),
        ] {
            let error = LogFilter::parse(text).unwrap_err();
            assert_eq!(error.to_string(), wrong);
        }
    }

    #[test]
    fn a_line_stays_one_line_of_bounded_length() {
        assert_eq!(one_line("a\nb\u{1b}[1m\tü"), "a\\nb\\u{1b}[1m\\tü");
        let long = one_line(&"x".repeat(LONGEST + 5));
        assert_eq!(long.len(), LONGEST + "… (5 bytes more)".len());
    }

    #[test]
    fn secrets_are_cut_out_before_a_line_is_cut_and_also_those_learned_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = LogFile::open(&path, vec!["correct-horse".to_owned()]).unwrap();
        let at_the_end = "x".repeat(LONGEST - 6);
        log.write_line(&format!("{at_the_end} correct-horse\n"));
        log.write_line("battery-staple");
        log.add_known_secrets(&["battery-staple".to_owned()]);
        log.write_line("battery-staple\nbattery-staple");
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].ends_with("more)") && !lines[0].contains("corre"),
            "{text}"
        );
        assert_eq!(lines[1], "battery-staple");
        assert!(
            !lines[2].contains("staple") && lines[2].contains("\\n"),
            "{text}"
        );
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn only_relayed_lines_are_taken_out_of_a_workers_output() {
        let line = RelayedLine {
            r#type: "log".into(),
            level: "DEBUG".into(),
            target: "codeteam_agent::builtin".into(),
            text: "a \"b\"\n".into(),
        };
        assert!(record_worker_line(&serde_json::to_string(&line).unwrap()));
        assert!(!record_worker_line(r#"{"type":"log"}"#));
        assert!(!record_worker_line(r#"{"type":"log","level":"#));
        assert!(!record_worker_line("error: no such file"));
    }
}
