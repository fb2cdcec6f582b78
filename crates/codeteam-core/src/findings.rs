//! Findings: what reviewers and checks hold against a frame's tree, and whether the rounds
//! stagnate.
//!
//! A finding has an id from the moment it is opened. Reviewers resolve it by that id in the next
//! round; repeating the same complaint does not open a second one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{FindingId, StepId, fnv_hash};

/// How bad it is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth doing, some time.
    Minor,
    /// Must be fixed before this is integrated.
    #[default]
    Major,
    /// Dangerous.
    Critical,
}

/// Where a finding stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// Not answered yet.
    #[default]
    Open,
    /// The reviewer has seen the fix.
    Fixed,
    /// The reviewer takes it back.
    Withdrawn,
}

/// A finding as a reviewer reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedFinding {
    /// How bad.
    #[serde(default)]
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// What is wrong, why, and what to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl ReportedFinding {
    /// Returns true if both make the same complaint about the same file.
    pub fn is_same_complaint(&self, other: &Self) -> bool {
        fingerprint(self) == fingerprint(other)
    }
}

/// A finding of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `F1`, `F2`, in the order they were opened.
    pub id: FindingId,
    /// The reported complaint.
    pub report: ReportedFinding,
    /// The step whose reviewer or check opened it.
    pub step: StepId,
    /// The slot of the step that opened it; the same one answers for it.
    #[serde(default)]
    pub slot: u32,
    /// The round it was opened in.
    pub round: u32,
    /// Whether it is open or resolved.
    pub state: FindingState,
}

/// An answer to a finding that is already open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingResolution {
    /// Which finding.
    pub id: FindingId,
    /// How it stands now.
    pub state: FindingState,
}

/// All findings of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameFindings {
    all: Vec<Finding>,
    /// New findings at or above the severity floor, per judged round.
    opened_per_round: Vec<u32>,
}

impl FrameFindings {
    /// Returns the open findings.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.all.iter().filter(|f| f.state == FindingState::Open)
    }

    /// Returns the open findings of a step at or above a severity.
    pub fn blocking<'a>(
        &'a self,
        step: &'a StepId,
        floor: Severity,
    ) -> impl Iterator<Item = &'a Finding> {
        self.open()
            .filter(move |f| f.report.severity >= floor && &f.step == step)
    }

    /// Returns all findings, open or not.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.all.iter()
    }

    /// Returns new findings for those `reports` that no open finding covers already, with their
    /// ids.
    pub fn find_new(
        &self,
        step: &StepId,
        slot: u32,
        round: u32,
        reports: &[ReportedFinding],
    ) -> Vec<Finding> {
        let mut known: Vec<u64> = self.open().map(|f| fingerprint(&f.report)).collect();
        let mut fresh = Vec::new();
        for report in reports {
            let print = fingerprint(report);
            if known.contains(&print) {
                continue;
            }
            known.push(print);
            let id = FindingId(format!("F{}", self.all.len() + fresh.len() + 1));
            fresh.push(Finding {
                id,
                report: report.clone(),
                step: step.clone(),
                slot,
                round,
                state: FindingState::Open,
            });
        }
        fresh
    }

    /// Adds findings and changes the state of others.
    pub fn update(&mut self, opened: &[Finding], resolved: &[FindingResolution]) {
        for resolution in resolved {
            if let Some(finding) = self.all.iter_mut().find(|f| f.id == resolution.id) {
                finding.state = resolution.state;
            }
        }
        self.all.extend(opened.iter().cloned());
    }

    /// Closes a judged round and records how many findings at or above the floor it opened.
    pub fn close_round(&mut self, opened: u32) {
        self.opened_per_round.push(opened);
    }

    /// Resets the counts because a person has said to continue.
    pub fn reset_rounds(&mut self) {
        self.opened_per_round.clear();
    }

    /// Returns true if the last rounds stagnate: each of the given number in a row has opened at
    /// least as many new findings as the one before. Reviews that keep finding as much as ever are
    /// a matter for a person, not for a twenty-seventh round.
    pub fn is_stagnating(&self, rounds: u32) -> bool {
        let rounds = usize::try_from(rounds).unwrap_or(usize::MAX).max(2);
        let Some(start) = self.opened_per_round.len().checked_sub(rounds) else {
            return false;
        };
        let last = &self.opened_per_round[start..];
        last[0] > 0 && last.is_sorted()
    }
}

/// Returns a hash that is the same for the same complaint about the same file, whatever its spacing
/// and capitalisation.
fn fingerprint(report: &ReportedFinding) -> u64 {
    let words: Vec<String> = report
        .title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    fnv_hash(&format!(
        "{}\n{}",
        report.file.as_deref().unwrap_or(""),
        words.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(title: &str) -> ReportedFinding {
        ReportedFinding {
            title: title.into(),
            file: Some("a.rs".into()),
            ..ReportedFinding::default()
        }
    }

    #[test]
    fn the_same_complaint_opens_one_finding() {
        let step = StepId::from("review");
        let mut findings = FrameFindings::default();
        let first = findings.find_new(
            &step,
            0,
            1,
            &[report("Missing test"), report("missing  TEST!")],
        );
        assert_eq!(first.len(), 1);
        findings.update(&first, &[]);
        assert!(
            findings
                .find_new(&step, 0, 2, &[report("Missing test.")])
                .is_empty()
        );

        let fixed = FindingResolution {
            id: "F1".into(),
            state: FindingState::Fixed,
        };
        findings.update(&[], &[fixed]);
        assert_eq!(findings.open().count(), 0);
        let again = findings.find_new(&step, 0, 3, &[report("Missing test")]);
        assert_eq!(
            again[0].id.as_str(),
            "F2",
            "a finding that comes back is a new one"
        );
    }

    #[test]
    fn only_findings_at_the_floor_block_and_only_their_own_step() {
        let step = StepId::from("review");
        let mut findings = FrameFindings::default();
        let mut small = report("Naming");
        small.severity = Severity::Minor;
        let opened = findings.find_new(&step, 0, 1, &[small, report("Wrong result")]);
        findings.update(&opened, &[]);
        assert_eq!(findings.blocking(&step, Severity::Major).count(), 1);
        assert_eq!(findings.blocking(&"qa".into(), Severity::Minor).count(), 0);
    }

    #[test]
    fn rounds_that_open_as_much_as_ever_stagnate() {
        let mut findings = FrameFindings::default();
        for opened in [5, 3, 3] {
            findings.close_round(opened);
        }
        assert!(!findings.is_stagnating(3));
        assert!(findings.is_stagnating(2));
        findings.close_round(4);
        assert!(findings.is_stagnating(3));
        assert!(!findings.is_stagnating(4), "the first of them found more");
        findings.close_round(0);
        assert!(!findings.is_stagnating(3));
    }
}
