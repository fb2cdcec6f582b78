//! The contract `team_mcp`: a verdict is `approved, reason, issues`. Its other kinds are the native
//! ones, under a second name here and there.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Submission, Verdict, VerdictChoice};
use crate::findings::{ReportedFinding, Severity};
use crate::role::RoleKind;

/// A gatekeeper's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamVerdict {
    /// Whether it may go on.
    approved: bool,
    /// Why.
    reason: String,
    /// What is wrong with it.
    #[serde(default)]
    issues: Vec<String>,
}

/// What it calls a key of the native form, if that is another name. Both are read.
pub(super) fn name(kind: RoleKind, native: &str) -> Option<&'static str> {
    match (kind, native) {
        (RoleKind::Analyst, "requirements") => Some("confirmed_requirements"),
        (RoleKind::Implementer, "files") => Some("files_changed"),
        _ => None,
    }
}

/// What is wrong, with keys as they are called here: nobody is told of the others.
pub(super) fn own_words(kind: RoleKind, error: String) -> String {
    let renamed = ["requirements", "files"].into_iter().find_map(|native| {
        let own = name(kind, native).filter(|own| !error.contains(own))?;
        let native = format!("`{native}`");
        Some(error.replace(&native, &format!("`{own}`")))
    });
    renamed.unwrap_or(error)
}

pub(super) fn verdict(said: TeamVerdict) -> Result<Submission, String> {
    if !said.approved && said.issues.iter().all(|issue| issue.trim().is_empty()) {
        return Err("at `issues`: a rejection names at least one issue".to_owned());
    }
    let finding = |title: String| ReportedFinding {
        severity: Severity::Major,
        title,
        ..ReportedFinding::default()
    };
    Ok(Submission::Verdict(Verdict {
        verdict: if said.approved {
            VerdictChoice::Approve
        } else {
            VerdictChoice::Reject
        },
        reason: said.reason,
        findings: said.issues.into_iter().map(finding).collect(),
        resolved: Vec::new(),
    }))
}
