//! The contract `team_mcp`: a verdict is `approved, reason, issues`. Its other kinds use the native
//! form, with a second name for some keys.

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

/// Returns the contract's own name for a key of the native form, if it has one. Both are accepted.
pub(super) fn contract_key(kind: RoleKind, native: &str) -> Option<&'static str> {
    match (kind, native) {
        (RoleKind::Analyst, "requirements") => Some("confirmed_requirements"),
        (RoleKind::Implementer, "files") => Some("files_changed"),
        _ => None,
    }
}

/// Renames the keys in an error message to the contract's own: workers do not know the others.
pub(super) fn use_contract_keys(kind: RoleKind, error: String) -> String {
    let renamed = ["requirements", "files"].into_iter().find_map(|native| {
        let own = contract_key(kind, native).filter(|own| !error.contains(own))?;
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
