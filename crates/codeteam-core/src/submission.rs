//! Submissions: the schema-checked answers of workers.
//!
//! Each role kind has one native form; a contract is another wire form of the same thing.
//! Unknown, missing and doubled keys are refused with words that help the worker to mend them.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::findings::{Report, Resolution, Severity};
use crate::plan::Plan;
use crate::role::{Contract, Kind};

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The confirmed requirements.
    #[serde(alias = "confirmed_requirements")]
    pub requirements: String,
}

/// How it is to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
}

/// What an implementer says of its change. The change itself is taken from the worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What was done.
    pub summary: String,
    /// The files it claims to have changed.
    #[serde(default, alias = "files_changed")]
    pub files: Vec<String>,
    /// What it claims to have seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proof: String,
    /// What it is unsure of.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub concerns: Vec<String>,
}

/// A gatekeeper's verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// It may go on.
    Approve,
    /// It may not.
    Reject,
}

/// A scribe's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    /// The reason.
    pub blocked: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamVerdict {
    approved: bool,
    reason: String,
    #[serde(default)]
    issues: Vec<String>,
}

/// Reads a worker's answer: exactly one JSON value that fits the contract of its kind.
/// The error is meant for the worker and names the place.
pub fn parse(kind: Kind, contract: Contract, text: &str) -> Result<Submission, String> {
    let value =
        crate::json::parse(text).map_err(|e| format!("the answer is not valid JSON: {e}"))?;
    if !value.is_object() {
        return Err("the answer must be one JSON object".to_owned());
    }
    if value.get("blocked").is_some() {
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
    check(&submission)?;
    Ok(submission)
}

/// An example of what the kind owes, for feedback and prompts.
pub fn example(kind: Kind, contract: Contract) -> Value {
    match (kind, contract) {
        (Kind::Analyst, Contract::TeamMcp) => json!({"confirmed_requirements": "…"}),
        (Kind::Analyst, _) => json!({"requirements": "…"}),
        (Kind::Designer, _) => json!({"design": "…", "patterns": ["…"], "warnings": []}),
        (Kind::Planner, _) => json!({"plan": {"description": "…", "tasks": [
            {"id": "task-001", "title": "…", "description": "…", "dependencies": [],
             "files": ["src/a.rs"], "acceptance": ["…"]}]}}),
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
    serde_json::from_value(value).map_err(|e| e.to_string())
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
fn check(submission: &Submission) -> Result<(), String> {
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
        Submission::Change(c) => said("summary", &c.summary),
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

    fn refused(kind: Kind, text: &str) -> String {
        parse(kind, Contract::Native, text).unwrap_err()
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
        for kind in [
            Kind::Analyst,
            Kind::Designer,
            Kind::Planner,
            Kind::Implementer,
            Kind::Gatekeeper,
            Kind::Scribe,
        ] {
            let parsed = parse(kind, Contract::Native, r#"{"blocked":"no access"}"#);
            assert!(matches!(parsed, Ok(Submission::Blocked(_))));
        }
    }

    #[test]
    fn the_examples_fit_their_contracts() {
        for contract in [Contract::Native, Contract::TeamMcp] {
            for kind in [
                Kind::Analyst,
                Kind::Designer,
                Kind::Planner,
                Kind::Implementer,
                Kind::Gatekeeper,
                Kind::Scribe,
            ] {
                let text = example(kind, contract).to_string();
                assert!(parse(kind, contract, &text).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn the_team_contract_reads_as_the_native_one() {
        let text =
            r#"{"approved":false,"reason":"No integration test","issues":["Only unit tests"]}"#;
        let Ok(Submission::Verdict(v)) = parse(Kind::Gatekeeper, Contract::TeamMcp, text) else {
            panic!("not a verdict")
        };
        assert_eq!(
            (v.verdict, v.findings[0].title.as_str()),
            (Choice::Reject, "Only unit tests")
        );
    }
}
