//! The evidence that codeteam itself has gathered about a change, as opposed to what its author
//! claims.

use std::collections::BTreeSet;

use codeteam_core::assignment::Assignment;
use codeteam_core::checks::{CheckRemark, CheckResult};
use codeteam_core::findings::Finding;
use codeteam_core::submission::names_path;
use codeteam_core::workflow::{CheckClass, HonestyRule};
use serde_json::{Value, json};

/// The note shown when none of the project's own checks was run.
pub(super) const NO_CHECKS: &str =
    "no check of the project was run, because none is configured: only roles have run its tests";

/// Replaces text that the feedback already contains.
const SEE_FEEDBACK: &str = "see the feedback";

/// The largest number of characters passed on per check; the rest is in the report.
const MAX_CHARS: usize = 4_000;

/// Facts that accompany an assignment.
pub(super) struct ChangeFacts<'a> {
    /// Files of the checkout that differ from the change being judged.
    pub(super) edited: &'a [String],
    /// What implementers have claimed about files in all rounds.
    pub(super) claims: FileClaims,
    /// Configuration files of the project that differed from their committed version when the task
    /// began.
    pub(super) edited_config: &'a [String],
    /// Commits that others than codeteam have made in the checkout since the task began.
    pub(super) commits: Vec<String>,
    /// A person's statement that the change is acceptable despite objections.
    pub(super) accepted: Option<String>,
}

/// The files that implementers named in the rounds of a frame, and the files that had changed by
/// then. Each round may name only what it touched itself, and may undo what an earlier round did.
#[derive(Clone, Debug, Default)]
pub(super) struct FileClaims {
    /// The files named in any round.
    pub(super) named: BTreeSet<String>,
    /// The files that were changed after any round.
    pub(super) changed: BTreeSet<String>,
}

/// Collects the evidence about a change, if there is any. Text that the accompanying feedback
/// already contains is not repeated, and empty parts are omitted.
pub(super) fn collect_evidence(
    assignment: &Assignment,
    beside: &ChangeFacts<'_>,
    feedback: &str,
) -> Value {
    let Some(change) = &assignment.judged.change else {
        return Value::Null;
    };
    let claimed = assignment.judged.claimed.as_ref();
    let claimed: Vec<&str> = claimed
        .iter()
        .flat_map(|claimed| &claimed.files)
        .map(String::as_str)
        .collect();
    let changed: Vec<&str> = change.files.iter().map(String::as_str).collect();
    let unchanged: Vec<&str> = claimed
        .iter()
        .copied()
        .filter(|called| !changed.iter().any(|path| names_path(called, path)))
        .filter(|called| {
            !beside
                .claims
                .changed
                .iter()
                .any(|path| names_path(called, path))
        })
        .collect();
    let unclaimed: Vec<&str> = changed
        .iter()
        .copied()
        .filter(|path| !claimed.iter().any(|called| names_path(called, path)))
        .filter(|path| {
            !beside
                .claims
                .named
                .iter()
                .any(|called| names_path(called, path))
        })
        .collect();
    let mut checks = assignment.judged.checks.iter();
    let is_run = checks.any(|check| check.class != CheckClass::Honesty);
    let is_kept = |check: &&CheckResult| {
        check.class == CheckClass::Honesty && check.passed && check.remark.is_none()
    };
    let (kept, telling): (Vec<&CheckResult>, Vec<&CheckResult>) =
        assignment.judged.checks.iter().partition(is_kept);
    let mut evidence = json!({
        "project_checks": if is_run { "run" } else { "none are configured" },
        "checks": telling.iter().map(|result| check_evidence(result, feedback)).collect::<Vec<_>>(),
        "rules_kept": kept.iter().map(|check| &check.name).collect::<Vec<_>>(),
        "passed": assignment.judged.checks.iter().all(|check| check.passed),
        "files_changed": changed,
        "claimed_not_changed": unchanged,
        "changed_not_claimed": unclaimed,
        "new_tests": describe_proof(&assignment.judged.checks),
        "configuration_not_as_committed": beside.edited_config,
        "edited_since": beside.edited,
        "commits_since": beside.commits,
        "accepted": beside.accepted,
        "open_findings": assignment.feedback.findings.iter().map(finding_line).collect::<Vec<_>>(),
    });
    if let Some(fields) = evidence.as_object_mut() {
        fields.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
    }
    evidence
}

fn check_evidence(check: &CheckResult, feedback: &str) -> Value {
    let mut told = json!({ "name": check.name, "passed": check.passed });
    if let Some(means) = explain_rule(check) {
        told["means"] = json!(means);
    }
    if !check.summary.is_empty() {
        let summary = truncate(&check.summary);
        let is_told = feedback.contains(&summary);
        told["summary"] = json!(if is_told { SEE_FEEDBACK } else { &summary });
    }
    if let Some(remark) = check.remark {
        told["remark"] = json!(remark);
    }
    if let Some(coverage) = &check.coverage {
        told["changed_lines_run"] = json!(coverage.to_string());
    }
    told
}

/// Explains an honesty rule that has something to report; its name alone says little.
fn explain_rule(check: &CheckResult) -> Option<&'static str> {
    if check.class != CheckClass::Honesty || (check.passed && check.remark.is_none()) {
        return None;
    }
    let mut rules = HonestyRule::ALL.into_iter();
    rules
        .find(|rule| rule.as_str() == check.name)
        .map(|rule| match rule {
            HonestyRule::Scope => "only files of the task change",
            HonestyRule::TestsKept => "existing tests stay as they were",
            HonestyRule::GateKept => "the configuration of the checks stays as it was",
            HonestyRule::Secrets => "no secrets in the change",
            HonestyRule::Stubs => "nothing is left to be done",
            HonestyRule::HardCoded => "no result is made for one test only",
            HonestyRule::OwnWork => "it is not another task's change",
            HonestyRule::Claims => "what is claimed is so",
        })
}

/// Formats a finding as one line.
pub(super) fn finding_line(finding: &Finding) -> String {
    let Finding { id, report, .. } = finding;
    let place = match (&report.file, report.line) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        (None, _) => String::new(),
    };
    let detail = if report.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", truncate(&report.detail))
    };
    format!("{id} {}{place}{detail}", report.title)
}

/// Describes whether the tests that came with the change fail without it.
fn describe_proof(checks: &[CheckResult]) -> String {
    let Some(check) = checks.iter().find(|check| check.class == CheckClass::Proof) else {
        return "not checked".to_owned();
    };
    let said = truncate(&check.summary);
    match (check.passed, check.remark) {
        (false, _) => format!("they do not fail without the change: {said}"),
        (true, Some(CheckRemark::Unproved)) => {
            format!("not known whether they fail without the change: {said}")
        }
        (true, _) if said.is_empty() => "proved: they fail without the change".to_owned(),
        (true, _) => said,
    }
}

/// Formats the evidence as lines for a model to read.
pub(super) fn format_evidence(evidence: &Value) -> String {
    let mut lines = Vec::new();
    if let Some(accepted) = evidence["accepted"].as_str() {
        lines.push(format!("- {accepted}"));
    }
    if evidence["project_checks"]
        .as_str()
        .is_some_and(|checks| checks != "run")
    {
        lines.push(format!("- {NO_CHECKS}"));
    }
    for check in evidence["checks"].as_array().into_iter().flatten() {
        let mark = match (check["passed"] == true, check["remark"].as_str()) {
            (false, _) => "FAILED",
            (true, None) => "passed",
            (true, Some("unproved")) => "could not be decided",
            (true, Some(_)) => "passed, with a note",
        };
        let name = check["name"].as_str().unwrap_or("");
        let summary = check["summary"].as_str().unwrap_or("");
        let summary = summary.replace('\n', "\n  ");
        let gap = if summary.is_empty() { "" } else { ": " };
        let means = check["means"].as_str();
        let means = means.map_or(String::new(), |means| format!(" ({means})"));
        lines.push(format!("- {name}{means} {mark}{gap}{summary}"));
    }
    let lists = [
        ("rules_kept", "rules that the change keeps"),
        ("files_changed", "files really changed"),
        ("claimed_not_changed", "claimed, but not changed"),
        ("changed_not_claimed", "changed, but not claimed"),
        (
            "configuration_not_as_committed",
            "the checks ran with the project's configuration as it is now, which differs from the committed \
             one; see whether they still check what they should",
        ),
        (
            "edited_since",
            "edited since it was submitted, and so not judged",
        ),
        (
            "commits_since",
            "commits made in the checkout since the task began; what they changed is part of the change",
        ),
        ("open_findings", "open findings"),
    ];
    for (name, words) in lists {
        let files = evidence[name].as_array().into_iter().flatten();
        let files: Vec<&str> = files.filter_map(Value::as_str).collect();
        if !files.is_empty() {
            lines.push(format!("- {words}: {}", files.join("; ")));
        }
    }
    if let Some(tests) = evidence["new_tests"].as_str() {
        lines.push(format!("- new tests: {tests}"));
    }
    lines.join("\n")
}

/// Truncates a text to [`MAX_CHARS`] characters.
fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}
