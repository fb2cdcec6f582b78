//! The format of scripts: plays, the assignments they match, and their actions.
//!
//! Pure: this reads text and finds plays; `perform` carries them out.

mod action;

use serde::de::{self, Deserialize, Deserializer};

pub use action::{
    DollarAmount, FileContent, FileMode, FileWait, GarbageOutput, HangMode, ReportedError,
    ReportedRateLimit, ReportedUsage, ScriptAction, ShellCommand, SlowOutput, TrueLiteral,
};

use super::{Error, ScriptedAssignment};

/// A script.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(rename = "version")]
    _version: ScriptVersion,
    /// The plays; the first that matches is played.
    pub plays: Vec<Play>,
    /// The plays to use if none of the others matches.
    #[serde(default)]
    pub defaults: Vec<Play>,
}

/// The actions for the assignments that match.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// The assignments it is for.
    #[serde(default, rename = "match")]
    pub matches: PlayMatch,
    /// The actions, in order.
    #[serde(rename = "do")]
    pub actions: Vec<ScriptAction>,
}

/// The assignments that a play matches. Keys that are left out match anything; in strings, `*`
/// stands for any text.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlayMatch {
    /// The role.
    pub role: Option<String>,
    /// The role's kind.
    pub kind: Option<String>,
    /// The step of the workflow.
    pub step: Option<String>,
    /// The id of the task. Matches no assignment without a task.
    pub task: Option<String>,
    /// The id of the phase, for roles that work on a whole phase. Matches no other assignment.
    pub phase: Option<String>,
    /// The parallel member of the step.
    pub slot: Option<u64>,
    /// How many times the step was entered.
    pub generation: Option<u64>,
    /// The try.
    pub attempt: Option<u64>,
    /// The round.
    pub round: Option<u64>,
}

impl Script {
    /// Parses a script. Errors call it by the given name, usually its file. Its size and depth,
    /// including aliases, are limited.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        // `verdict: no` is a text in every submission, never a boolean.
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let place = error.location();
            Error::Script {
                name: name.to_owned(),
                line: place.map_or(0, |place| place.line()),
                column: place.map_or(0, |place| place.column()),
                message: parser_message(&error),
            }
        })
    }

    /// The play for an assignment.
    pub fn find_play(&self, assignment: &ScriptedAssignment) -> Option<&Play> {
        self.plays
            .iter()
            .chain(&self.defaults)
            .find(|play| play.matches.covers(assignment))
    }
}

/// The parser's message without its excerpt and without its place, which the
/// error carries itself.
fn parser_message(error: &serde_saphyr::Error) -> String {
    let text = error
        .without_snippet()
        .render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let text = text.lines().next().unwrap_or_default();
    text.rfind(" at line ")
        .map_or(text, |at| &text[..at])
        .to_owned()
}

impl PlayMatch {
    fn covers(&self, assignment: &ScriptedAssignment) -> bool {
        let text = |pattern: &Option<String>, value: Option<&str>| match (pattern, value) {
            (None, _) => true,
            (Some(pattern), Some(value)) => glob_matches(pattern, value),
            (Some(_), None) => false,
        };
        let count = |wanted: Option<u64>, value| wanted.is_none_or(|wanted| wanted == value);
        let task = assignment.task.as_ref().map(|task| task.id.as_str());
        text(&self.role, Some(&assignment.role))
            && text(&self.kind, Some(&assignment.kind))
            && text(&self.step, Some(&assignment.step))
            && text(&self.task, task)
            && text(&self.phase, assignment.phase_id())
            && count(self.slot, assignment.slot)
            && count(self.generation, assignment.generation)
            && count(self.attempt, assignment.attempt)
            && count(self.round, assignment.round)
    }
}

/// Returns true if the text matches the pattern, in which each `*` stands for any text.
fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    // Taking each part at its first place leaves the most for the others.
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The version of the script's language; there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScriptVersion;

impl<'de> Deserialize<'de> for ScriptVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(de::Error::custom(format!(
                "version {other} is not known; write `version: 1`"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Script {
        Script::parse(text, "x.yml").unwrap()
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = Script::parse(text, "x.yml").unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }

    fn assignment(json: &str) -> ScriptedAssignment {
        ScriptedAssignment::parse(json).unwrap()
    }

    fn text_of(play: Option<&Play>) -> &str {
        match play.map(|play| play.actions.as_slice()) {
            Some([ScriptAction::Text(text)]) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_match_wins_and_defaults_come_last() {
        let script = parse(
            "version: 1\n\
             defaults:\n  - do: [{text: default}]\n\
             plays:\n\
             \x20 - match: {role: coder, task: task-002, round: 1}\n    do: [{text: first}]\n\
             \x20 - match: {role: 'c*r', task: 'task-*'}\n    do: [{text: second}]\n",
        );
        let find = |json| text_of(script.find_play(&assignment(json))).to_owned();
        assert_eq!(
            find(r#"{"role":"coder","task":{"id":"task-002"}}"#),
            "first"
        );
        assert_eq!(
            find(r#"{"role":"coder","task":{"id":"task-002"},"round":2}"#),
            "second"
        );
        assert_eq!(find(r#"{"role":"coder"}"#), "default");
    }

    #[test]
    fn no_match_is_none() {
        let script = parse("version: 1\nplays: []\n");
        assert_eq!(script.find_play(&assignment(r#"{"role":"coder"}"#)), None);
    }

    #[test]
    fn every_field_matches() {
        let full = r#"{"role":"r","kind":"k","step":"s","task":{"id":"t"},
                       "slot":3,"generation":4,"attempt":5,"round":6}"#;
        for (field, right, wrong) in [
            ("role", "r", "x"),
            ("kind", "k", "x"),
            ("step", "s", "x"),
            ("task", "t", "x"),
            ("slot", "3", "0"),
            ("generation", "4", "0"),
            ("attempt", "5", "0"),
            ("round", "6", "0"),
        ] {
            let is_found = |value| {
                let text = format!(
                    "version: 1\nplays:\n  - match: {{{field}: {value}}}\n    do: [{{text: x}}]\n"
                );
                parse(&text).find_play(&assignment(full)).is_some()
            };
            assert!(is_found(right), "{field}");
            assert!(!is_found(wrong), "{field}");
        }
    }

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abc", true),
            ("a*bc", "abbc", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyc", false),
            ("ab*ba", "aba", false),
            ("**", "x", true),
        ] {
            assert_eq!(glob_matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn errors_carry_their_place() {
        check_error("version: 1\nplays:\n  - {do: [{texxt: x}]}\n", "x.yml:3:");
        check_error("version: 1\nplays: []\nextra: 1\n", "x.yml:3:1: ");
        check_error(
            "version: 1\nplays:\n  - match: {rolle: x}\n    do: []\n",
            "x.yml:3:",
        );
        check_error(
            "version: 2\nplays: []\n",
            "x.yml:1:10: version 2 is not known",
        );
        check_error("version: 1\nplays: [\n", "x.yml:");
        check_error(
            "version: 1\nversion: 1\nplays: []\n",
            "x.yml:2:1: duplicate",
        );
        check_error(
            "version: 1\nplays:\n  - do:\n      - write: {path: a, content: b, mode: c}\n",
            "x.yml:4:",
        );
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        use std::fmt::Write as _;

        let mut text =
            "version: 1\nplays:\n  - do:\n      - submit:\n          a0: &a0 [x]\n".to_owned();
        for level in 1..40 {
            let below = level - 1;
            writeln!(
                text,
                "          a{level}: &a{level} [*a{below}, *a{below}, *a{below}]"
            )
            .unwrap();
        }
        check_error(&text, "x.yml:");
    }
}
