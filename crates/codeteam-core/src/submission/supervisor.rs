//! The contract `supervisor`: a `status` in capitals, phases of components, interfaces before code.
//!
//! Only a status that means "done" is accepted as done. One that means "not yet" goes back to the
//! worker, and one that gives a reason why not becomes `blocked`.

mod plan;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

pub(super) use self::plan::{SupervisorPlan, plan};
use super::{
    BlockedReason, ClaimedChange, PhaseComponent, Submission, Verdict, VerdictChoice, require_text,
};
use crate::findings::{ReportedFinding, Severity};
use crate::ids::{RoleName, TaskId};
use crate::plan::Interface;

/// Something to be built, with a dependency on what must be there first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SupervisorComponent {
    /// Its id, unique among phases and components: letters, digits, `-`, `_` and `.`.
    id: String,
    /// What it is, in a few words.
    #[serde(default)]
    title: String,
    /// What to do, and what must hold when it is done.
    #[serde(default)]
    description: String,
    /// Every file (or folder, with a trailing `/`) it may touch, relative to the project. One that
    /// names none is worked on alone.
    files: Vec<String>,
    /// Components that must be complete first: `component`, or `phase.component`.
    #[serde(default, deserialize_with = "super::one_or_many")]
    depends_on: Vec<String>,
    /// What must hold when it is done.
    #[serde(default, deserialize_with = "super::one_or_many")]
    acceptance: Vec<String>,
    /// The role that carries it out, if it is one of the roles to choose from.
    #[serde(default)]
    assigned_role: Option<RoleName>,
}

/// What several components rely on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SupervisorInterface {
    /// Its name.
    name: String,
    /// What it is written in: `typescript_interface`, `openapi`.
    #[serde(rename = "type")]
    notation: String,
    /// All of it, in that notation.
    definition: String,
    /// The file it belongs into, relative to the project; otherwise its name and type choose one.
    #[serde(default)]
    file: Option<String>,
}

impl SupervisorInterface {
    fn to_interface(&self) -> Interface {
        Interface {
            name: self.name.clone(),
            notation: self.notation.clone(),
            file: self.file.clone(),
            definition: self.definition.clone(),
        }
    }

    fn check(&self, place: &str) -> Result<(), String> {
        require_text(&format!("{place}.name"), &self.name)?;
        require_text(&format!("{place}.definition"), &self.definition)
    }
}

/// A designer's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SupervisorDesign {
    /// What is to be built, in parts that can be worked on side by side where nothing is in the way.
    components: Vec<SupervisorComponent>,
    /// What the parts rely on. It is fixed before work on them starts.
    interfaces: Vec<SupervisorInterface>,
}

/// An implementer's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SupervisorChange {
    /// `SUCCESS` if all of it is done. `PARTIAL` or `FAILED` if it is not: say in `blockers` what
    /// keeps you from going on.
    status: ChangeStatus,
    /// Files that are new.
    files_created: Vec<String>,
    /// Files that were there and are changed.
    files_modified: Vec<String>,
    /// Files of tests that were written or changed.
    tests_written: Vec<String>,
    /// What keeps you from going on; nothing with `SUCCESS`.
    #[serde(default)]
    blockers: Vec<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum ChangeStatus {
    Success,
    Partial,
    Failed,
}

/// A gatekeeper's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SupervisorReview {
    /// `APPROVED` if nothing has to change; `CHANGES_REQUESTED` if something has; `REJECTED` if the
    /// approach is wrong.
    status: ReviewStatus,
    /// What is wrong. One that is serious enough holds the change up, whatever the status says; one
    /// that you do not name again counts as fixed.
    issues: Vec<SupervisorIssue>,
    /// What could be better and holds nothing up.
    suggestions: Vec<String>,
    /// What could be misused, leaked or broken into, one line each. They count as `major` issues.
    #[serde(default)]
    security_concerns: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum ReviewStatus {
    Approved,
    ChangesRequested,
    Rejected,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SupervisorIssue {
    /// How bad.
    severity: Severity,
    /// One line.
    #[serde(default)]
    title: String,
    /// What is wrong, and why. Either this or `title` must be there.
    #[serde(default)]
    description: String,
    /// Where.
    #[serde(default)]
    file: Option<String>,
    /// Where in the file.
    #[serde(default)]
    line: Option<u32>,
    /// What to do about it.
    #[serde(default)]
    suggestion: String,
}

/// Converts a design: the components are described in words, the interfaces are kept as they are.
pub(super) fn design(answer: SupervisorDesign) -> Result<Submission, String> {
    let SupervisorDesign {
        components,
        interfaces,
    } = answer;
    if components.is_empty() && interfaces.is_empty() {
        return Err("`components` and `interfaces` must not both be empty".to_owned());
    }
    for (i, component) in components.iter().enumerate() {
        require_text(&format!("components[{i}].id"), &component.id)?;
    }
    let mut names = BTreeSet::new();
    for (i, interface) in interfaces.iter().enumerate() {
        interface.check(&format!("interfaces[{i}]"))?;
        if !names.insert(&interface.name) {
            let name = &interface.name;
            return Err(format!("at `interfaces[{i}]`: `{name}` is defined twice"));
        }
    }
    let design = if components.is_empty() {
        "Only the interfaces are fixed.".to_owned()
    } else {
        let parts: Vec<String> = components.iter().map(describe_component).collect();
        format!("Components:\n\n{}", parts.join("\n"))
    };
    let interfaces = interfaces.iter().map(SupervisorInterface::to_interface);
    let interfaces = interfaces.filter_map(|interface| serde_json::to_value(interface).ok());
    Ok(Submission::Design(super::Design {
        design,
        patterns: Vec::new(),
        warnings: Vec::new(),
        interfaces: interfaces.collect(),
        components: components.into_iter().map(component).collect(),
    }))
}

fn component(answer: SupervisorComponent) -> PhaseComponent {
    PhaseComponent {
        id: TaskId(answer.id),
        title: answer.title,
        description: answer.description,
        files: answer.files,
        depends_on: answer.depends_on,
        acceptance: answer.acceptance,
        assigned_role: answer.assigned_role,
    }
}

fn describe_component(component: &SupervisorComponent) -> String {
    let mut text = format!("- `{}`", component.id);
    let about: Vec<&str> = [&component.title, &component.description]
        .into_iter()
        .map(|said| said.trim())
        .filter(|said| !said.is_empty())
        .collect();
    if !about.is_empty() {
        text.push_str(": ");
        text.push_str(&about.join("\n").replace('\n', "\n  "));
    }
    for (label, names) in [
        ("files", &component.files),
        ("after", &component.depends_on),
    ] {
        if !names.is_empty() {
            let _ = write!(text, "\n  {label}: {}", quoted(names));
        }
    }
    text
}

/// Converts a change, or the reasons why there is none.
pub(super) fn change(answer: SupervisorChange) -> Result<Submission, String> {
    let blockers = join_texts(&answer.blockers);
    match answer.status {
        ChangeStatus::Success if blockers.is_empty() => {}
        ChangeStatus::Success => {
            return Err(
                "`SUCCESS` has no `blockers`: if they keep you from going on, the status is \
                        `PARTIAL` or `FAILED`; if they do not, leave them out"
                    .to_owned(),
            );
        }
        ChangeStatus::Partial if blockers.is_empty() => {
            return Err(
                "`PARTIAL` is not done: do all of it, or say in `blockers` what keeps \
                        you from it"
                    .to_owned(),
            );
        }
        ChangeStatus::Failed if blockers.is_empty() => {
            return Err(
                "`FAILED` without `blockers` says nothing: try another way, or say in \
                        `blockers` what keeps you from going on"
                    .to_owned(),
            );
        }
        ChangeStatus::Partial => return Ok(blocked(format!("done in part only: {blockers}"))),
        ChangeStatus::Failed => return Ok(blocked(blockers)),
    }
    let SupervisorChange {
        files_created,
        files_modified,
        tests_written,
        ..
    } = answer;
    let parts: Vec<String> = [("created", &files_created), ("modified", &files_modified)]
        .into_iter()
        .filter(|(_, files)| !files.is_empty())
        .map(|(what, files)| format!("{what} {}", quoted(files)))
        .collect();
    let summary = if parts.is_empty() {
        "no file is named".to_owned()
    } else {
        parts.join("; ")
    };
    let proof = if tests_written.is_empty() {
        String::new()
    } else {
        format!("tests written: {}", quoted(&tests_written))
    };
    let mut seen = BTreeSet::new();
    let files = [files_created, files_modified, tests_written].concat();
    let files = files.into_iter().filter(|file| seen.insert(file.clone()));
    Ok(Submission::Change(ClaimedChange {
        summary,
        files: files.collect(),
        proof,
        concerns: Vec::new(),
        notes: Vec::new(),
        edits: Vec::new(),
    }))
}

/// Converts a review: the status is the verdict; issues and concerns become findings, which are
/// weighed like any others.
pub(super) fn verdict(answer: SupervisorReview) -> Result<Submission, String> {
    let mut findings = Vec::new();
    for (i, issue) in answer.issues.into_iter().enumerate() {
        findings.push(finding(&format!("issues[{i}]"), issue)?);
    }
    for (i, concern) in answer.security_concerns.iter().enumerate() {
        let issue = SupervisorIssue {
            severity: Severity::Major,
            title: String::new(),
            description: concern.clone(),
            file: None,
            line: None,
            suggestion: String::new(),
        };
        findings.push(finding(&format!("security_concerns[{i}]"), issue)?);
    }
    let suggestions = join_texts(&answer.suggestions);
    let word = match answer.status {
        ReviewStatus::Approved => "approved",
        ReviewStatus::ChangesRequested => "changes requested",
        ReviewStatus::Rejected => "rejected",
    };
    let approved = answer.status == ReviewStatus::Approved;
    if !approved && findings.is_empty() && suggestions.is_empty() {
        return Err("a change that is not approved needs at least one of `issues`".to_owned());
    }
    let mut reason = match (findings.first(), approved) {
        (None, _) => word.to_owned(),
        (Some(first), false) => format!("{word}: {}", first.title),
        (Some(first), true) => format!("{word}, but: {}", first.title),
    };
    if findings.len() > 1 {
        let _ = write!(reason, " (and {} more)", findings.len() - 1);
    }
    if !suggestions.is_empty() {
        let _ = write!(reason, "\nSuggested: {suggestions}");
    }
    Ok(Submission::Verdict(Verdict {
        verdict: if approved {
            VerdictChoice::Approve
        } else {
            VerdictChoice::Reject
        },
        reason,
        findings,
        resolved: Vec::new(),
    }))
}

fn finding(place: &str, issue: SupervisorIssue) -> Result<ReportedFinding, String> {
    let SupervisorIssue {
        severity,
        title,
        description,
        file,
        line,
        suggestion,
    } = issue;
    let (title, description) = (title.trim(), description.trim());
    let first = description.lines().next().unwrap_or("").trim();
    let (title, rest) = match (title.is_empty(), first.is_empty()) {
        (true, true) => return Err(format!("at `{place}`: it does not say what is wrong")),
        (true, false) => (first, description[first.len()..].trim()),
        (false, _) => (title, description),
    };
    let mut detail = rest.to_owned();
    if !suggestion.trim().is_empty() {
        if !detail.is_empty() {
            detail.push('\n');
        }
        let _ = write!(detail, "Suggested: {}", suggestion.trim());
    }
    Ok(ReportedFinding {
        severity,
        title: title.to_owned(),
        detail,
        file,
        line,
    })
}

fn blocked(why: String) -> Submission {
    Submission::Blocked(BlockedReason { blocked: why })
}

/// Joins several texts into one line; empty if there are none.
fn join_texts(texts: &[String]) -> String {
    let texts = texts.iter().map(|text| text.trim());
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("; ")
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
