//! The things a play can do, as they are written in a script.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// One thing a play does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Says something.
    Text(String),
    /// Writes a file; its directories are made.
    Write(Content),
    /// Adds to a file.
    Append(Content),
    /// Removes a file or a directory.
    Delete(String),
    /// Makes a file executable, or not.
    Chmod(Mode),
    /// Runs a command and says what it prints.
    Run(Run),
    /// Reports what was used.
    Usage(Usage),
    /// Submits an answer, whatever it is.
    Submit(Value),
    /// Prints a line that need not be an event.
    SayRaw(String),
    /// Prints a line to standard error.
    Stderr(String),
    /// Prints noise that is not UTF-8, as one line.
    Garbage(Garbage),
    /// Says little by little.
    Slow(Slow),
    /// Never ends.
    Hang(Hang),
    /// Ends with this code.
    Exit(u8),
    /// Ends by a signal.
    Crash(True),
    /// Reports an exhausted quota, and ends.
    RateLimit(RateLimit),
    /// Reports an error, and goes on.
    Error(Failure),
    /// Submits this text as it stands, valid or not.
    DuplicateKeys(String),
    /// Goes on when a file exists.
    WaitFor(WaitFor),
}

/// A file and what is to be in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The file, from the worktree.
    pub path: String,
    /// The text.
    pub content: String,
}

/// A file and whether it is executable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// The file, from the worktree.
    pub path: String,
    /// Whether it is to be executable.
    pub executable: bool,
}

/// A command for `sh`: just its text, or this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The command.
    pub command: String,
    /// Whether the play ends (with code 1) if the command fails.
    pub must: bool,
}

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens read.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    pub output_tokens: u64,
    /// What it cost, if that is known.
    #[serde(default)]
    pub cost_usd: Option<Dollars>,
}

/// An amount of money in millionths of a dollar, written in dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dollars {
    /// The amount.
    pub micros: u64,
}

/// How much noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Garbage {
    /// How many bytes, without the newline.
    pub bytes: u64,
}

/// How many lines, and how slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// How many lines.
    pub lines: u64,
    /// The time before each.
    pub every_ms: u64,
}

/// How to hang: `true`, or this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    /// Whether `SIGTERM` is ignored.
    pub ignore_term: bool,
}

/// The word `true`, for actions that have nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct True;

/// When the quota is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// The time until then.
    pub resets_in_ms: u64,
}

/// An error as a model's API reports it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What it says.
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
pub struct WaitFor {
    /// The file: absolute, or from the worktree.
    pub path: String,
}

// The short and the long form are told apart by hand: serde's untagged enums
// forget where in the file an error is.

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            command: String,
            #[serde(default)]
            must: bool,
        }

        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = Run;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command, or `{command: …, must: true}`")
            }

            fn visit_str<E: de::Error>(self, command: &str) -> Result<Run, E> {
                Ok(Run {
                    command: command.to_owned(),
                    must: false,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Run, A::Error> {
                let Long { command, must } = Long::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Run { command, must })
            }
        }

        deserializer.deserialize_any(Form)
    }
}

impl<'de> Deserialize<'de> for Hang {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            ignore_term: bool,
        }

        struct Form;

        impl<'de> Visitor<'de> for Form {
            type Value = Hang;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, or `{ignore_term: true}`")
            }

            fn visit_bool<E: de::Error>(self, is_meant: bool) -> Result<Hang, E> {
                only_true(is_meant)?;
                Ok(Hang { ignore_term: false })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Hang, A::Error> {
                let Long { ignore_term } = Long::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Hang { ignore_term })
            }
        }

        deserializer.deserialize_any(Form)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        only_true(bool::deserialize(deserializer)?)
    }
}

fn only_true<E: de::Error>(is_meant: bool) -> Result<True, E> {
    if is_meant {
        Ok(True)
    } else {
        Err(E::custom("write `true`, or leave the action out"))
    }
}

impl<'de> Deserialize<'de> for Dollars {
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

    fn parse(action: &str) -> Result<Action, String> {
        let text = format!("version: 1\nplays:\n  - do:\n      - {action}\n");
        let script = Script::parse(&text, "x.yml").map_err(|error| error.to_string())?;
        Ok(script.plays[0].actions[0].clone())
    }

    #[test]
    fn short_and_long_forms() {
        let run = |command: &str, must| {
            Action::Run(Run {
                command: command.to_owned(),
                must,
            })
        };
        assert_eq!(parse("run: ls -l"), Ok(run("ls -l", false)));
        assert_eq!(parse("run: {command: ls}"), Ok(run("ls", false)));
        assert_eq!(parse("run: {command: ls, must: true}"), Ok(run("ls", true)));
        let hang = |ignore_term| Action::Hang(Hang { ignore_term });
        assert_eq!(parse("hang: true"), Ok(hang(false)));
        assert_eq!(parse("hang: {ignore_term: true}"), Ok(hang(true)));
        assert_eq!(parse("crash: true"), Ok(Action::Crash(True)));
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
        let Ok(Action::Usage(usage)) = parse("usage: {cost_usd: 0.021}") else {
            panic!("a usage");
        };
        assert_eq!(usage.cost_usd, Some(Dollars { micros: 21_000 }));
        assert_eq!(usage.input_tokens, 0);
    }

    #[test]
    fn a_submission_keeps_its_types_and_order() {
        let action = parse("submit: {z: no, a: [1, 2.5, true, null, 'x']}");
        let Ok(Action::Submit(value)) = action else {
            panic!("{action:?}");
        };
        assert_eq!(value.to_string(), r#"{"z":"no","a":[1,2.5,true,null,"x"]}"#);
    }
}
