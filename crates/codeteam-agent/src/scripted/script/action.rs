//! The things a play can do, as they are written in a script.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// One action of a play.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptAction {
    /// Prints a text.
    Text(String),
    /// Writes a file; its directories are made.
    Write(FileContent),
    /// Adds to a file.
    Append(FileContent),
    /// Removes a file or a directory.
    Delete(String),
    /// Makes a file executable, or not.
    Chmod(FileMode),
    /// Runs a command and says what it prints.
    Run(ShellCommand),
    /// Reports what was used.
    Usage(ReportedUsage),
    /// Submits an answer, whatever it is.
    Submit(Value),
    /// Prints a line that need not be an event.
    SayRaw(String),
    /// Prints a line to standard error.
    Stderr(String),
    /// Prints noise that is not UTF-8, as one line.
    Garbage(GarbageOutput),
    /// Says little by little.
    Slow(SlowOutput),
    /// Never ends.
    Hang(HangMode),
    /// Ends with this code.
    Exit(u8),
    /// Ends by a signal.
    Crash(TrueLiteral),
    /// Reports an exhausted quota, and ends.
    RateLimit(ReportedRateLimit),
    /// Reports an error and continues.
    Error(ReportedError),
    /// Submits this text as it is, valid or not.
    DuplicateKeys(String),
    /// Goes on when a file exists.
    WaitFor(FileWait),
}

/// A file and what is to be in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileContent {
    /// The file, from the worktree.
    pub path: String,
    /// The text.
    pub content: String,
}

/// A file and whether it is executable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileMode {
    /// The file, from the worktree.
    pub path: String,
    /// Makes the file executable.
    pub executable: bool,
}

/// A command for `sh`: just its text, or this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The command.
    pub command: String,
    /// Ends the play (with code 1) if the command fails.
    pub must: bool,
}

/// Reported usage.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedUsage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// The cost, if it is known.
    #[serde(default)]
    pub cost_usd: Option<DollarAmount>,
}

/// An amount of money in millionths of a dollar, written in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DollarAmount {
    /// The amount.
    pub micros: u64,
}

/// An amount of invalid output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GarbageOutput {
    /// The number of bytes, without the newline.
    pub bytes: u64,
}

/// A number of lines, and how slowly they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowOutput {
    /// The number of lines.
    pub lines: u64,
    /// The time before each.
    pub every_ms: u64,
}

/// The way to hang: `true`, or this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HangMode {
    /// Ignores `SIGTERM`.
    pub ignore_term: bool,
}

/// The word `true`, for actions that have nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrueLiteral;

/// When the quota is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedRateLimit {
    /// The time until then.
    pub resets_in_ms: u64,
}

/// An error as a model's API reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedError {
    /// The message.
    pub message: String,
    /// The HTTP status, if there was one.
    #[serde(default)]
    pub status: Option<u16>,
    /// The category the worker claims, if it claims one.
    #[serde(default)]
    pub category: Option<String>,
}

/// A file to wait for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWait {
    /// The file: absolute, or from the worktree.
    pub path: String,
}

// The short and the long form are told apart by hand: serde's untagged enums
// forget where in the file an error is.

impl<'de> Deserialize<'de> for ShellCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ShellCommandForm {
            command: String,
            #[serde(default)]
            must: bool,
        }

        struct ShellCommandVisitor;

        impl<'de> Visitor<'de> for ShellCommandVisitor {
            type Value = ShellCommand;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command, or `{command: …, must: true}`")
            }

            fn visit_str<E: de::Error>(self, command: &str) -> Result<ShellCommand, E> {
                Ok(ShellCommand {
                    command: command.to_owned(),
                    must: false,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ShellCommand, A::Error> {
                let ShellCommandForm { command, must } =
                    ShellCommandForm::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ShellCommand { command, must })
            }
        }

        deserializer.deserialize_any(ShellCommandVisitor)
    }
}

impl<'de> Deserialize<'de> for HangMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct HangForm {
            ignore_term: bool,
        }

        struct HangVisitor;

        impl<'de> Visitor<'de> for HangVisitor {
            type Value = HangMode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, or `{ignore_term: true}`")
            }

            fn visit_bool<E: de::Error>(self, is_meant: bool) -> Result<HangMode, E> {
                only_true(is_meant)?;
                Ok(HangMode { ignore_term: false })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HangMode, A::Error> {
                let HangForm { ignore_term } =
                    HangForm::deserialize(MapAccessDeserializer::new(map))?;
                Ok(HangMode { ignore_term })
            }
        }

        deserializer.deserialize_any(HangVisitor)
    }
}

impl<'de> Deserialize<'de> for TrueLiteral {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        only_true(bool::deserialize(deserializer)?)
    }
}

fn only_true<E: de::Error>(is_meant: bool) -> Result<TrueLiteral, E> {
    if is_meant {
        Ok(TrueLiteral)
    } else {
        Err(E::custom("write `true`, or leave the action out"))
    }
}

impl<'de> Deserialize<'de> for DollarAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        // Far above any bill and far below where the conversion loses cents.
        if !(0.0..=1e9).contains(&dollars) {
            return Err(de::Error::custom("an amount is between 0 and a billion"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let micros = (dollars * 1e6).round() as u64;
        Ok(Self { micros })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Script;
    use super::*;

    fn parse(action: &str) -> Result<ScriptAction, String> {
        let text = format!("version: 1\nplays:\n  - do:\n      - {action}\n");
        let script = Script::parse(&text, "x.yml").map_err(|error| error.to_string())?;
        Ok(script.plays[0].actions[0].clone())
    }

    #[test]
    fn short_and_long_forms() {
        let run = |command: &str, must| {
            ScriptAction::Run(ShellCommand {
                command: command.to_owned(),
                must,
            })
        };
        assert_eq!(parse("run: ls -l"), Ok(run("ls -l", false)));
        assert_eq!(parse("run: {command: ls}"), Ok(run("ls", false)));
        assert_eq!(parse("run: {command: ls, must: true}"), Ok(run("ls", true)));
        let hang = |ignore_term| ScriptAction::Hang(HangMode { ignore_term });
        assert_eq!(parse("hang: true"), Ok(hang(false)));
        assert_eq!(parse("hang: {ignore_term: true}"), Ok(hang(true)));
        assert_eq!(parse("crash: true"), Ok(ScriptAction::Crash(TrueLiteral)));
    }

    #[test]
    fn wrong_forms_say_where() {
        for action in [
            "run: {comand: ls}",
            "run: [ls]",
            "hang: false",
            "hang: {ignore: true}",
            "crash: no",
            "exit: 300",
            "usage: {cost_usd: -1}",
            "{text: a, run: b}",
        ] {
            let error = parse(action).unwrap_err();
            assert!(error.starts_with("x.yml:4:"), "{action}: {error}");
        }
    }

    #[test]
    fn money_is_counted_in_millionths() {
        let Ok(ScriptAction::Usage(usage)) = parse("usage: {cost_usd: 0.021}") else {
            panic!("a usage");
        };
        assert_eq!(usage.cost_usd, Some(DollarAmount { micros: 21_000 }));
        assert_eq!(usage.input_tokens, 0);
    }

    #[test]
    fn a_submission_keeps_its_types_and_order() {
        let action = parse("submit: {z: no, a: [1, 2.5, true, null, 'x']}");
        let Ok(ScriptAction::Submit(value)) = action else {
            panic!("{action:?}");
        };
        assert_eq!(value.to_string(), r#"{"z":"no","a":[1,2.5,true,null,"x"]}"#);
    }
}
