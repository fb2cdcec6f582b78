//! Commit messages: parses the configured form, checks whether a text has it, and composes a
//! message where nobody wrote one in that form. `commit_message` decides which commit of a run gets
//! which message.
//!
//! **Invariant:** what is committed has the form. A worker's text is checked when it comes in and
//! again when it is used.

mod clean;
mod commit_facts;

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Serialize};

pub use self::clean::clean_message;
pub(crate) use self::clean::without_skip_markers;
pub use self::commit_facts::CommitFacts;
use crate::spelling::nearest;

/// The maximum length of the first line of a conventional message, and of any that codeteam
/// composes.
const SUBJECT: usize = 72;
/// The maximum length of a message.
const MAX_BYTES: usize = 16 << 10;
/// The types a conventional message may begin with.
const TYPES: &[&str] = &[
    "feat", "fix", "refactor", "perf", "test", "docs", "build", "ci", "chore", "style", "revert",
];
/// The form of the commits of a session, unless another is configured.
pub const SESSION: &str = "team({role}): {summary}";
/// The marker that replaces a secret which was removed before codeteam saw the text.
const REDACTED: &str = "[redacted: ";

/// The placeholders of a template, and what they stand for.
const PLACEHOLDERS: &[(&str, Placeholder)] = &[
    ("task_id", Placeholder::Known(|m| &m.task_id)),
    ("plan_id", Placeholder::Known(|m| &m.plan_id)),
    ("run", Placeholder::Known(|m| &m.run)),
    ("role", Placeholder::Known(|m| &m.role)),
    ("type", Placeholder::Type),
    ("scope", Placeholder::Scope),
    ("summary", Placeholder::Summary),
    ("description", Placeholder::Summary),
];

/// The meaning of a placeholder.
#[derive(Clone, Copy)]
enum Placeholder {
    Known(fn(&CommitFacts) -> &String),
    Type,
    Scope,
    Summary,
}

/// The form of commit messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MessageFormat {
    /// Any text.
    #[default]
    Free,
    /// `type(scope): summary`.
    Conventional,
    /// A template of the first line, with `{summary}` and other placeholders.
    Template(String),
    /// A regular expression for the first line.
    Pattern(MessagePattern),
}

/// A regular expression, compared by its source.
#[derive(Clone, Debug)]
pub struct MessagePattern(Regex);

impl PartialEq for MessagePattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for MessagePattern {}

impl TryFrom<String> for MessageFormat {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<MessageFormat> for String {
    fn from(format: MessageFormat) -> Self {
        format.to_string()
    }
}

impl fmt::Display for MessageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => f.write_str("free"),
            Self::Conventional => f.write_str("conventional"),
            Self::Template(template) => f.write_str(template),
            Self::Pattern(pattern) => write!(f, "/{}/", pattern.0.as_str()),
        }
    }
}

impl MessageFormat {
    /// Parses a configured form; the error says why it is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text {
            "free" => return Ok(Self::Free),
            "conventional" => return Ok(Self::Conventional),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix('/') {
            let pattern = rest.strip_suffix('/').filter(|rest| !rest.is_empty());
            let pattern = pattern.ok_or("a regular expression ends with `/`, too")?;
            let regex = Regex::new(pattern).map_err(|error| {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default();
                format!("`{text}` is not a regular expression: {why}")
            })?;
            return Ok(Self::Pattern(MessagePattern(regex)));
        }
        if !text.contains('{') {
            let meant = nearest(text, ["conventional", "free"]);
            let meant = meant.map(|near| format!("; did you mean `{near}`?"));
            return Err(format!(
                "`{text}` is not a form of messages: there are `conventional`, `free`, templates such as \
                 `[{{task_id}}] {{summary}}`, and regular expressions between slashes{}",
                meant.unwrap_or_default()
            ));
        }
        let mut has_summary = false;
        for piece in pieces(text)? {
            has_summary |= matches!(piece, TemplatePiece::Part(_, Placeholder::Summary));
        }
        if text.contains('\n') {
            return Err("a template is for the first line of messages only".to_owned());
        }
        if !has_summary {
            return Err(format!(
                "`{text}` lacks `{{summary}}`, so that all messages would be the same"
            ));
        }
        Ok(Self::Template(text.to_owned()))
    }

    /// Returns true if any text will do.
    pub fn is_free(&self) -> bool {
        *self == Self::Free
    }

    /// Checks a message; the error tells its author what is wrong.
    pub fn check(&self, matter: &CommitFacts, text: &str) -> Result<(), String> {
        check_common_rules(text)?;
        if let Some(mark) = clean::find_skip_marker(text)
            && !self.to_string().contains(mark)
        {
            return Err(format!(
                "the message has `{mark}` in it, which keeps checks from running; leave it out"
            ));
        }
        let mut lines = text.lines();
        let subject = lines.next().unwrap_or_default();
        if !self.is_free() && lines.next().is_some_and(|line| !line.is_empty()) {
            return Err("the second line of a message must be empty".to_owned());
        }
        match self {
            Self::Free => Ok(()),
            Self::Conventional => check_conventional(subject),
            Self::Template(template) => {
                let expected = Regex::new(&template_pattern(template, matter));
                if expected.is_ok_and(|expected| expected.is_match(subject)) {
                    return Ok(());
                }
                let wanted = fill_known(template, matter);
                Err(format!(
                    "the first line must be `{wanted}`, but is `{subject}`"
                ))
            }
            Self::Pattern(pattern) if pattern.0.is_match(subject) => Ok(()),
            Self::Pattern(_) => Err(format!(
                "the first line must match the regular expression `{self}`, but is `{subject}`"
            )),
        }
    }

    /// Describes the form for a worker; `None` if any text will do.
    pub fn worker_instructions(&self, matter: &CommitFacts) -> Option<String> {
        let first = match self {
            Self::Free => return None,
            Self::Conventional => format!(
                "`type(scope): summary`, with `!` before the colon if it breaks something; the scope may \
                 be left out; types: {}; at most {SUBJECT} characters, no full stop at the end",
                TYPES.join(", ")
            ),
            Self::Template(template) => format!("`{}`", fill_known(template, matter)),
            Self::Pattern(_) => format!("what the regular expression `{self}` matches"),
        };
        Some(format!(
            "a commit message whose first line is {first}. If there is more to say, an empty line and a \
             body follow. Anything else is sent back."
        ))
    }

    /// Composes a message in the required form from what is known; `None` if a regular expression
    /// accepts none of those that codeteam can compose.
    pub fn compose(&self, matter: &CommitFacts) -> Option<String> {
        let made = match self {
            Self::Free => Some(compose_free(matter)),
            Self::Conventional => {
                let (kind, rest) = matter.commit_type();
                Some(fit_subject(
                    &format!("{kind}: "),
                    rest,
                    "",
                    &matter.headline,
                ))
            }
            Self::Template(template) => Some(fill_template(template, matter)),
            Self::Pattern(_) => {
                let (kind, rest) = matter.commit_type();
                let (id, headline) = (&matter.task_id, &matter.headline);
                let tries = [
                    compose_free(matter),
                    headline.clone(),
                    format!("[{id}] {headline}"),
                    format!("{id} {headline}"),
                    format!("{id} - {headline}"),
                    fit_subject(&format!("{kind}: "), rest, "", headline),
                    fit_subject(&format!("{kind}({id}): "), rest, "", headline),
                    fit_subject(&format!("{kind}: [{id}] "), rest, "", headline),
                ];
                tries.into_iter().find(|m| self.check(matter, m).is_ok())
            }
        };
        made.filter(|made| self.check(matter, made).is_ok())
    }
}

/// Checks what applies to every message, whatever its form.
fn check_common_rules(text: &str) -> Result<(), String> {
    if text
        .lines()
        .next()
        .is_none_or(|line| line.trim().is_empty())
    {
        return Err("the message has no first line".to_owned());
    }
    if text.len() > MAX_BYTES {
        return Err(format!(
            "the message has {} bytes; {MAX_BYTES} are the most",
            text.len()
        ));
    }
    if text.contains(REDACTED) {
        let message = "the message has something in it that looks like a secret; leave it out";
        return Err(message.to_owned());
    }
    // To git, a patch follows such a line, wherever it is.
    let patch = ["---", "+++", "diff -", "Index: ", "@@ -"];
    let begins = |line: &str| patch.iter().any(|mark| line.starts_with(mark));
    if let Some(line) = text.lines().find(|line| begins(line)) {
        return Err(format!(
            "the message has a line that begins a patch: `{line}`"
        ));
    }
    // Characters that change the direction of text hide what is really there.
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hidden = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || turns(*c);
    match text.chars().find(hidden) {
        Some(c) => Err(format!(
            "the message has the control character {:?} in it",
            c.escape_unicode().to_string()
        )),
        None => Ok(()),
    }
}

fn check_conventional(subject: &str) -> Result<(), String> {
    let form = "the first line must be `type(scope): summary`, the scope may be left out";
    let is = format!("but it is `{subject}`");
    let Some((head, summary)) = subject.split_once(": ") else {
        return Err(format!("{form}; {is}"));
    };
    let head = head.strip_suffix('!').unwrap_or(head);
    let (kind, scope) = match head.split_once('(') {
        None => (head, None),
        Some((kind, rest)) => (kind, Some(rest.strip_suffix(')').unwrap_or_default())),
    };
    if !TYPES.contains(&kind) {
        return Err(format!(
            "{form}, and the type one of {}; {is}",
            TYPES.join(", ")
        ));
    }
    let is_bad = |scope: &str| scope.trim().is_empty() || scope.contains(['(', ')']);
    if scope.is_some_and(is_bad) {
        return Err(format!("{form}, or in parentheses; {is}"));
    }
    if summary.trim().is_empty() || summary.starts_with(' ') {
        return Err(format!("{form}; {is}"));
    }
    let length = subject.chars().count();
    if length > SUBJECT {
        return Err(format!(
            "the first line has {length} characters; {SUBJECT} are the most"
        ));
    }
    if summary.ends_with('.') {
        return Err("the first line must not end with a full stop".to_owned());
    }
    Ok(())
}

/// A piece of a template: fixed text or a placeholder.
enum TemplatePiece<'a> {
    Fixed(&'a str),
    Part(&'a str, Placeholder),
}

/// Splits a template into pieces.
fn pieces(template: &str) -> Result<Vec<TemplatePiece<'_>>, String> {
    let (mut found, mut rest) = (Vec::new(), template);
    while let Some((fixed, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("`{template}` has a `{{` without its `}}`"));
        };
        let Some((_, part)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name) else {
            let known = PLACEHOLDERS.iter().map(|(known, _)| *known);
            let told: Vec<String> = known.clone().map(|name| format!("`{{{name}}}`")).collect();
            let meant = nearest(name, known).map(|near| format!("did you mean `{{{near}}}`? "));
            return Err(format!(
                "`{{{name}}}` stands for nothing in messages; {}there are {}",
                meant.unwrap_or_default(),
                told.join(", ")
            ));
        };
        found.push(TemplatePiece::Fixed(fixed));
        found.push(TemplatePiece::Part(name, *part));
        rest = after;
    }
    found.push(TemplatePiece::Fixed(rest));
    Ok(found)
}

/// Returns a regular expression that matches what a template allows.
fn template_pattern(template: &str, matter: &CommitFacts) -> String {
    let piece = |piece: TemplatePiece<'_>| match piece {
        TemplatePiece::Fixed(text) => regex::escape(text),
        TemplatePiece::Part(_, Placeholder::Known(of)) => regex::escape(of(matter)),
        TemplatePiece::Part(_, Placeholder::Type) => "[a-z]+".to_owned(),
        TemplatePiece::Part(_, Placeholder::Scope) => r"[^()\s]+".to_owned(),
        TemplatePiece::Part(_, Placeholder::Summary) => r"\S.*".to_owned(),
    };
    let pieces = pieces(template).unwrap_or_default();
    let pieces: String = pieces.into_iter().map(piece).collect();
    format!("^{pieces}$")
}

/// Fills the known values into a template, for people and workers.
fn fill_known(template: &str, matter: &CommitFacts) -> String {
    let piece = |piece: TemplatePiece<'_>| match piece {
        TemplatePiece::Fixed(text) => text.to_owned(),
        TemplatePiece::Part(_, Placeholder::Known(of)) => of(matter).clone(),
        TemplatePiece::Part(name, _) => format!("<{name}>"),
    };
    let pieces = pieces(template).unwrap_or_default();
    pieces.into_iter().map(piece).collect()
}

/// Fills in a whole template. Its first summary is shortened if there is not enough room.
fn fill_template(template: &str, matter: &CommitFacts) -> String {
    let (kind, rest) = matter.commit_type();
    // If the template states the type, the summary need not repeat it.
    let says_kind = template.contains("{type}");
    let summary = if says_kind { rest } else { &matter.headline };
    let (mut before, mut after, mut seen) = (String::new(), String::new(), false);
    for piece in pieces(template).unwrap_or_default() {
        let text = match piece {
            TemplatePiece::Fixed(text) => text,
            TemplatePiece::Part(_, Placeholder::Known(of)) => of(matter),
            TemplatePiece::Part(_, Placeholder::Type) => kind,
            TemplatePiece::Part(_, Placeholder::Scope) => matter.scope(),
            TemplatePiece::Part(_, Placeholder::Summary) if !seen => {
                seen = true;
                continue;
            }
            TemplatePiece::Part(_, Placeholder::Summary) => summary,
        };
        if seen { &mut after } else { &mut before }.push_str(text);
    }
    after.push_str(&matter.marks);
    fit_subject(&before, summary, &after, &matter.headline)
}

/// Composes a free message: the task and its headline (or the goal), and below it what is asked
/// for, unless that is not allowed in a message.
fn compose_free(matter: &CommitFacts) -> String {
    let subject = if matter.is_task {
        format!("{}: {}", matter.task_id, matter.headline)
    } else {
        matter.headline.clone()
    };
    let body = clean_message(&matter.description);
    if body.is_empty() || body == matter.headline {
        return subject;
    }
    let whole = format!("{subject}\n\n{body}");
    match MessageFormat::Free.check(matter, &whole) {
        Ok(()) => whole,
        Err(_) => subject,
    }
}

/// Composes a first line that is short enough; what does not fit is repeated below in full.
fn fit_subject(before: &str, summary: &str, after: &str, whole: &str) -> String {
    let summary = summary.trim().trim_end_matches(['.', ' ']);
    let summary = if summary.is_empty() {
        "change"
    } else {
        summary
    };
    let taken = before.chars().count() + after.chars().count();
    let room = SUBJECT.saturating_sub(taken).max(16);
    if summary.chars().count() <= room {
        return format!("{before}{summary}{after}");
    }
    let short: String = summary.chars().take(room - 1).collect();
    // Cut between words, unless the last word is a long one.
    let end = short.rfind(' ').filter(|end| *end > short.len() / 2);
    let short = short[..end.unwrap_or(short.len())].trim_end_matches(['.', ',', ' ']);
    format!("{before}{short}…{after}\n\n{whole}")
}

#[cfg(test)]
mod tests;
