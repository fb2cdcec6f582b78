//! Submissions: the schema-checked answers of workers.
//!
//! What is written above a field is what a worker reads in the schema.
//!
//! Each role kind has one native form; a contract is another wire form of the same thing.
//! Unknown, missing and doubled keys are refused with words that help the worker to mend them.

mod schema;

use std::collections::BTreeSet;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::findings::{Report, Resolution, Severity};
use crate::plan::Plan;
use crate::role::{Contract, Kind, Mode};

pub use self::schema::schema;

/// No answer is longer than this, files in it included.
pub const MAX_BYTES: usize = 8 << 20;

/// What is said to a worker that is done and blocked at once.
const BLOCKED_ALONE: &str = "`blocked` says that you cannot go on, so it stands alone; if you are \
    done, leave it out or make it `null`";

/// A worker's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Submission {
    /// An analyst asks.
    Questions(Questions),
    /// An analyst confirms.
    Requirements(Requirements),
    /// A designer designs.
    Design(Design),
    /// A planner plans.
    Plan(Planned),
    /// An implementer has changed something.
    Change(Change),
    /// A gatekeeper judges.
    Verdict(Verdict),
    /// A scribe writes.
    Text(Text),
    /// Any kind says, honestly, that it cannot go on.
    Blocked(Blocked),
}

/// What an analyst must know first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// At least one question.
    pub questions: Vec<String>,
    /// What is understood so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Requirements that are clear already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_spec: Option<String>,
}

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The confirmed requirements.
    #[serde(alias = "confirmed_requirements")]
    pub requirements: String,
}

/// How it is to be built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The approach.
    pub design: String,
    /// Patterns to follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// What could go wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Interfaces to be fixed before work starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Value>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
}

/// What an implementer says of its change. The change itself is taken from the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What was done.
    pub summary: String,
    /// The files that were changed.
    #[serde(default, alias = "files_changed")]
    pub files: Vec<String>,
    /// What shows that it works: what was run, and what came of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proof: String,
    /// What is doubtful or left open.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub concerns: Vec<String>,
    /// Every file that changes, whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
}

/// A file as it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Where it is, relative to the project.
    pub path: String,
    /// All of its text, from the first line to the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Whether it is to be gone instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete: bool,
}

/// A gatekeeper's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Approve or reject.
    pub verdict: Choice,
    /// Why.
    pub reason: String,
    /// New findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Report>,
    /// Answers to open findings, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<Resolution>,
}

/// What a gatekeeper can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// It may go on.
    Approve,
    /// It may not.
    Reject,
}

/// A scribe's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// A commit message, a prompt, a summary.
    #[serde(alias = "text", alias = "prompt", alias = "summary")]
    pub message: String,
    /// A quality score from 0 to 100, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u8>,
}

/// Why a worker cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The reason.
    pub blocked: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TeamVerdict {
    /// Whether it may go on.
    approved: bool,
    /// Why.
    reason: String,
    /// What is wrong with it.
    #[serde(default)]
    issues: Vec<String>,
}

/// What an answer must be: what is owed, in which form, and how files are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// What is owed.
    pub kind: Kind,
    /// In which form.
    pub contract: Contract,
    /// How files are changed.
    pub mode: Mode,
}

/// Reads a worker's answer: exactly one JSON value that fits what is owed.
/// The error is meant for the worker and names the place.
pub fn parse(form: Form, text: &str) -> Result<Submission, String> {
    let Form { kind, contract, .. } = form;
    if text.len() > MAX_BYTES {
        let (size, most) = (text.len() >> 20, MAX_BYTES >> 20);
        return Err(format!("the answer has {size} MB; at most {most} are read"));
    }
    let mut value =
        crate::json::parse(text).map_err(|e| format!("the answer is not valid JSON: {e}"))?;
    if !value.is_object() {
        return Err("the answer must be one JSON object".to_owned());
    }
    // Where every key is asked for, `null` is how a worker leaves one out.
    without_nulls(&mut value);
    if value.get("blocked").is_some() {
        if value.as_object().is_some_and(|fields| fields.len() > 1) {
            return Err(BLOCKED_ALONE.to_owned());
        }
        return read::<Blocked>(value).map(Submission::Blocked);
    }
    let submission = match kind {
        Kind::Analyst if value.get("questions").is_some() => {
            Submission::Questions(read::<Questions>(value)?)
        }
        Kind::Analyst => Submission::Requirements(read(value)?),
        Kind::Designer => Submission::Design(read(value)?),
        Kind::Planner => Submission::Plan(read(value)?),
        Kind::Implementer => Submission::Change(read(value)?),
        Kind::Gatekeeper if contract == Contract::TeamMcp => {
            Submission::Verdict(from_team(read(value)?))
        }
        Kind::Gatekeeper => Submission::Verdict(read(value)?),
        Kind::Scribe => Submission::Text(read(value)?),
    };
    check(&submission, form.mode)?;
    Ok(submission)
}

/// An example of what is owed, for feedback and prompts.
pub fn example(form: Form) -> Value {
    match (form.kind, form.contract) {
        (Kind::Analyst, Contract::TeamMcp) => json!({"confirmed_requirements": "…"}),
        (Kind::Analyst, _) => json!({"requirements": "…"}),
        (Kind::Designer, _) => json!({"design": "…", "patterns": ["…"], "warnings": []}),
        (Kind::Planner, _) => json!({"plan": {"description": "…", "tasks": [
            {"id": "task-001", "title": "…", "description": "…", "dependencies": [],
             "files": ["src/a.rs"], "acceptance": ["…"]}]}}),
        (Kind::Implementer, _) if form.mode == Mode::Edits => {
            json!({"summary": "…", "concerns": [],
            "edits": [{"path": "src/a.rs", "content": "…"}, {"path": "src/b.rs", "delete": true}]})
        }
        (Kind::Implementer, Contract::TeamMcp) => {
            json!({"summary": "…", "files_changed": ["src/a.rs"], "proof": "…"})
        }
        (Kind::Implementer, _) => {
            json!({"summary": "…", "files": ["src/a.rs"], "proof": "…", "concerns": []})
        }
        (Kind::Gatekeeper, Contract::TeamMcp) => {
            json!({"approved": false, "reason": "…", "issues": ["…"]})
        }
        (Kind::Gatekeeper, _) => json!({"verdict": "reject", "reason": "…",
            "findings": [{"severity": "major", "title": "…", "detail": "…", "file": "src/a.rs", "line": 1}],
            "resolved": [{"id": "F1", "state": "fixed"}]}),
        (Kind::Scribe, _) => json!({"message": "…"}),
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        // A key that should not be there is named by the error itself.
        let above = path.rsplit_once('.').map_or("", |(above, _)| above);
        match (inner.starts_with("unknown field"), path.as_str()) {
            (_, ".") => inner,
            (true, _) if above.is_empty() => inner,
            (true, _) => format!("in `{above}`: {inner}"),
            (false, _) => format!("at `{path}`: {inner}"),
        }
    })
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

fn from_team(team: TeamVerdict) -> Verdict {
    let finding = |title: String| Report {
        severity: Severity::Major,
        title,
        ..Report::default()
    };
    Verdict {
        verdict: if team.approved {
            Choice::Approve
        } else {
            Choice::Reject
        },
        reason: team.reason,
        findings: team.issues.into_iter().map(finding).collect(),
        resolved: Vec::new(),
    }
}

/// What the types cannot say.
fn check(submission: &Submission, mode: Mode) -> Result<(), String> {
    let said = |name: &str, text: &str| {
        if text.trim().is_empty() {
            Err(format!("`{name}` must not be empty"))
        } else {
            Ok(())
        }
    };
    match submission {
        Submission::Questions(q) if q.questions.iter().all(|q| q.trim().is_empty()) => {
            Err("`questions` must hold at least one question".to_owned())
        }
        Submission::Requirements(r) => said("requirements", &r.requirements),
        Submission::Design(d) => said("design", &d.design),
        Submission::Change(c) => said("summary", &c.summary).and_then(|()| check_edits(c, mode)),
        Submission::Verdict(v) => said("reason", &v.reason).and_then(|()| {
            match v.findings.iter().find(|f| f.title.trim().is_empty()) {
                Some(_) => Err("every finding needs a `title`".to_owned()),
                None => Ok(()),
            }
        }),
        Submission::Text(t) => said("message", &t.message),
        Submission::Blocked(b) => said("blocked", &b.blocked),
        Submission::Questions(_) | Submission::Plan(_) => Ok(()),
    }
}

fn check_edits(change: &Change, mode: Mode) -> Result<(), String> {
    if mode == Mode::Tools {
        return if change.edits.is_empty() {
            Ok(())
        } else {
            Err("`edits` are not asked for: change the files themselves".to_owned())
        };
    }
    if change.edits.is_empty() {
        return Err("`edits` must hold every file that changes, with all of its text".to_owned());
    }
    let mut paths = BTreeSet::new();
    for edit in &change.edits {
        let path = &edit.path;
        if edit.content.is_some() == edit.delete {
            return Err(format!(
                "the edit of `{path}` must have either `content` or `delete: true`"
            ));
        }
        if !is_inside(path) {
            return Err(format!("`{path}` is not a file of the worktree"));
        }
        if !paths.insert(path) {
            return Err(format!("`{path}` is edited twice"));
        }
    }
    Ok(())
}

/// Whether a path is a plain one below the worktree, and not one of git's own.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    };
    !path.is_empty() && !path.contains(['\0', '\\']) && !path.ends_with('/') && parts.all(is_plain)
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) if text.is_empty() => Vec::new(),
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(kind: Kind) -> Form {
        Form {
            kind,
            contract: Contract::Native,
            mode: Mode::Tools,
        }
    }

    fn refused(kind: Kind, text: &str) -> String {
        parse(form(kind), text).unwrap_err()
    }

    #[test]
    fn a_verdict_said_twice_approves_nothing() {
        let text = r#"{"verdict":"reject","reason":"x","verdict":"approve"}"#;
        assert!(refused(Kind::Gatekeeper, text).contains("`verdict` occurs twice"));
    }

    #[test]
    fn unknown_and_missing_keys_are_named() {
        let unknown = refused(
            Kind::Gatekeeper,
            r#"{"verdict":"approve","reason":"x","lgtm":true}"#,
        );
        assert!(unknown.contains("unknown field `lgtm`"), "{unknown}");
        let missing = refused(Kind::Implementer, r#"{"files":[]}"#);
        assert!(missing.contains("missing field `summary`"), "{missing}");
        assert!(refused(Kind::Scribe, "APPROVED").contains("not valid JSON"));
        assert!(refused(Kind::Scribe, r#"{"message":"  "}"#).contains("must not be empty"));
    }

    #[test]
    fn every_kind_may_be_blocked() {
        for kind in Kind::ALL {
            let parsed = parse(form(kind), r#"{"blocked":"no access","summary":null}"#);
            assert!(matches!(parsed, Ok(Submission::Blocked(_))));
        }
    }

    #[test]
    fn who_is_blocked_is_not_done() {
        let both = r#"{"blocked":"","message":"ready"}"#;
        assert_eq!(refused(Kind::Scribe, both), BLOCKED_ALONE);
    }

    #[test]
    fn the_examples_fit_their_contracts() {
        for contract in [Contract::Native, Contract::TeamMcp] {
            for (kind, mode) in Kind::ALL
                .map(|k| [(k, Mode::Tools), (k, Mode::Edits)])
                .concat()
            {
                let form = Form {
                    kind,
                    contract,
                    mode,
                };
                let text = example(form).to_string();
                assert!(parse(form, &text).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn the_team_contract_reads_as_the_native_one() {
        let text =
            r#"{"approved":false,"reason":"No integration test","issues":["Only unit tests"]}"#;
        let form = Form {
            contract: Contract::TeamMcp,
            ..form(Kind::Gatekeeper)
        };
        let Ok(Submission::Verdict(v)) = parse(form, text) else {
            panic!("not a verdict")
        };
        assert_eq!(
            (v.verdict, v.findings[0].title.as_str()),
            (Choice::Reject, "Only unit tests")
        );
    }

    #[test]
    fn a_wrong_value_is_named_by_its_place() {
        let text = r#"{"verdict":"reject","reason":"x","findings":[{"title":"a"},{"title":"b","severity":"bad"}]}"#;
        let refused = refused(Kind::Gatekeeper, text);
        assert!(
            refused.starts_with("at `findings[1].severity`: unknown variant `bad`"),
            "{refused}"
        );
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        let long = format!(r#"{{"message":"{}"}}"#, "a".repeat(MAX_BYTES));
        assert!(refused(Kind::Scribe, &long).contains("at most 8"));
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(refused(Kind::Scribe, &deep).contains("recursion limit"));
    }

    #[test]
    fn edits_are_whole_files_of_the_worktree() {
        let edits = Form {
            mode: Mode::Edits,
            ..form(Kind::Implementer)
        };
        let said = |edit: &str| parse(edits, &format!(r#"{{"summary":"x","edits":[{edit}]}}"#));
        assert!(said(r#"{"path":"src/a.rs","content":""}"#).is_ok());
        assert!(said(r#"{"path":"a","delete":true,"content":null}"#).is_ok());
        for path in [
            "",
            "/etc/passwd",
            "../a",
            "a/../../b",
            ".git/config",
            "a/.GIT/hooks/x",
            "a/",
            "./a",
        ] {
            let edit = json!({"path": path, "content": "x"}).to_string();
            assert!(
                said(&edit)
                    .unwrap_err()
                    .contains("not a file of the worktree"),
                "{path}"
            );
        }
        assert!(said(r#"{"path":"a"}"#).unwrap_err().contains("either"));
        assert!(
            said(r#"{"path":"a","content":"x","delete":true}"#)
                .unwrap_err()
                .contains("either")
        );
        let twice = r#"{"path":"a","content":"x"},{"path":"a","content":"y"}"#;
        assert!(said(twice).unwrap_err().contains("edited twice"));
        assert!(said("").unwrap_err().contains("every file that changes"));
        let unasked = r#"{"summary":"x","edits":[{"path":"a","content":"x"}]}"#;
        assert!(refused(Kind::Implementer, unasked).contains("not asked for"));
    }
}
