//! Explains the risk of the changes of a run, for `codeteam risk`.
//!
//! What was read before a commit is in the log. Where nothing was, because no approval policy was in
//! force or the change is not there yet, it is read now, and what cannot be read counts as unknown.

use std::collections::BTreeMap;

use codeteam_core::approval::{ApprovalRequirement, ApprovalRules, RiskAssessment};
use codeteam_core::decide::approvals::risk_profile;
use codeteam_core::frame::{Frame, FrameChange};
use codeteam_core::ids::{AttemptId, Commit, FramePath, RunId, Tree};
use codeteam_core::risk::{RiskFacts, RiskLevel, RiskProfile};
use codeteam_core::{Event, Run, apply};
use codeteam_verify::proof::TestPatterns;
use codeteam_verify::risk::{NamedPathSets, read_risk_facts};
use codeteam_verify::{ChangeSet, FileVersion};
use serde::Serialize;

use crate::config::Config;
use crate::engine::{Engine, Error};
use codeteam_host::git::{DiffEntry, Oid};

/// The modes of regular files, which are read; links are not.
const PLAIN: [u32; 2] = [0o100_644, 0o100_755];

/// The risk of one change, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RiskExplanation {
    /// The task, or `run`.
    pub task: String,
    /// The tree with the change.
    pub tree: Tree,
    /// The level.
    pub risk: RiskLevel,
    /// Why it is this level, one line each.
    pub reasons: Vec<String>,
    /// What has to be met, one line each.
    pub requirements: Vec<String>,
    /// Whether the run has an approval policy that this follows from. Otherwise the level is that of
    /// the built-in levels, which ask nobody.
    pub in_force: bool,
    /// The facts about the change.
    pub facts: RiskFacts,
    /// What the run knows besides.
    pub findings: u32,
    /// The objections that a person has overruled.
    pub overruled: Vec<String>,
    /// The conditions of each level, and whether they hold: `None` if that is not known.
    pub levels: Vec<LevelExplanation>,
}

/// A level of the policy, and which of its conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelExplanation {
    /// Its name.
    pub name: String,
    /// Its conditions.
    pub conditions: Vec<ConditionExplanation>,
}

/// A condition, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionExplanation {
    /// The condition, as it is written.
    pub condition: String,
    /// Whether it holds; `None` if that is not known.
    pub holds: Option<bool>,
    /// Why.
    pub because: String,
}

/// A change of a run, as the log tells of it.
struct RecordedChange {
    frame: Frame,
    tree: Tree,
    /// The commit, once there is one.
    commit: Option<Commit>,
}

impl Engine {
    /// Explains the risk of the changes of a run, or of one of its tasks.
    pub fn explain_risk(
        &self,
        run: &RunId,
        task: Option<&str>,
    ) -> Result<Vec<RiskExplanation>, Error> {
        let mut state = Run::default();
        let mut changes: BTreeMap<FramePath, RecordedChange> = BTreeMap::new();
        self.each_event(run, 0, |_, _, event| {
            note_change(&mut changes, &state, &event);
            apply(&mut state, &event);
        })?;
        let frames = state.frames.values();
        for frame in frames.filter(|frame| frame.change.is_some() && frame.commits.is_empty()) {
            let change = RecordedChange {
                frame: frame.clone(),
                tree: frame.tree.clone(),
                commit: None,
            };
            changes.insert(frame.path.clone(), change);
        }
        let wanted = changes.iter();
        let wanted = wanted.filter(|(path, _)| task.is_none_or(|task| path.name() == task));
        let found = wanted.map(|(_, change)| self.explain(&state, change));
        found.collect()
    }

    fn explain(&self, run: &Run, change: &RecordedChange) -> Result<RiskExplanation, Error> {
        let own;
        let (rules, in_force) = if let Some(rules) = &run.approval {
            (&**rules, true)
        } else {
            own = ApprovalRules {
                policies: vec![Config::default_policy()],
                paths: self.config.risk.paths.clone(),
                ..ApprovalRules::default()
            };
            (&own, false)
        };
        let facts = match change.frame.approval.facts_about(&change.tree) {
            Some(facts) => facts.clone(),
            None => self.read_facts(change, rules)?,
        };
        let profile = risk_profile(run, &change.frame, facts);
        Ok(explanation(rules, in_force, change, profile))
    }

    /// Reads the facts about a change now: the files of a commit, or else the patch alone.
    fn read_facts(
        &self,
        change: &RecordedChange,
        rules: &ApprovalRules,
    ) -> Result<RiskFacts, Error> {
        let sets = NamedPathSets::new(&rules.paths);
        let tests = TestPatterns::new(&Config::built_in_test_paths());
        if let Some(commit) = &change.commit {
            let set = self.read_commit(commit)?;
            return Ok(read_risk_facts(&set, &sets, &tests));
        }
        let Some(made) = &change.frame.change else {
            return Ok(RiskFacts::default());
        };
        let set = self.read_patch(made);
        let lines = made.lines;
        Ok(RiskFacts {
            lines,
            ..read_risk_facts(&set, &sets, &tests)
        })
    }

    fn read_commit(&self, commit: &Commit) -> Result<ChangeSet, Error> {
        let to = self.repo.tree_of(&self.repo.resolve(commit.as_str())?)?;
        let from = self
            .repo
            .tree_of(&self.repo.resolve(&format!("{commit}^"))?)?;
        let diff = self.repo.diff(&from, &to)?;
        let sides = |file: &DiffEntry| {
            let old = file.old.clone().map(|id| (id, file.old_mode));
            [old, file.new.clone().map(|id| (id, file.new_mode))]
        };
        let all = diff.files.iter().flat_map(sides).flatten();
        let plain: Vec<Oid> = all
            .filter_map(|(id, mode)| PLAIN.contains(&mode).then_some(id))
            .collect();
        let texts = self.repo.read_blobs(&plain.iter().collect::<Vec<_>>())?;
        let version = |side: Option<(Oid, u32)>| match side {
            None => FileVersion::Absent,
            Some((id, mode)) => match texts.get(&id).filter(|_| PLAIN.contains(&mode)) {
                Some(bytes) => FileVersion::from_bytes(Some(bytes)),
                None => FileVersion::Other,
            },
        };
        let files = diff.files.iter().map(|file| {
            let path = file.path.to_string_lossy().into_owned();
            let [before, after] = sides(file).map(&version);
            (path, before, after)
        });
        Ok(ChangeSet::new(files, &diff.text))
    }

    /// Reads what a patch alone says: the contents of its files stay unknown.
    fn read_patch(&self, made: &FrameChange) -> ChangeSet {
        let patch = self.bodies.get(made.diff.as_str()).unwrap_or_default();
        let files = made.files.iter().map(|path| {
            let unknown = FileVersion::Long;
            (path.clone(), unknown.clone(), unknown)
        });
        ChangeSet::new(files, &patch)
    }
}

/// Notes the change of a frame before the frame is closed.
fn note_change(changes: &mut BTreeMap<FramePath, RecordedChange>, run: &Run, event: &Event) {
    if let Event::Committed {
        id: AttemptId { frame, .. },
        commit,
        tree,
        ..
    } = event
        && let Some(state) = run.frames.get(frame)
    {
        let change = RecordedChange {
            frame: state.clone(),
            tree: tree.clone(),
            commit: Some(commit.clone()),
        };
        changes.insert(frame.clone(), change);
    }
}

fn explanation(
    rules: &ApprovalRules,
    in_force: bool,
    change: &RecordedChange,
    profile: RiskProfile,
) -> RiskExplanation {
    let RiskAssessment {
        level,
        reasons,
        requirements,
    } = rules.assess(&profile);
    let levels = rules
        .policies
        .iter()
        .flat_map(codeteam_core::approval::ApprovalPolicy::levels);
    let levels = levels.map(|level| LevelExplanation {
        name: level.name.clone(),
        conditions: level
            .conditions
            .iter()
            .map(|condition| {
                let outcome = condition.evaluate(&profile);
                ConditionExplanation {
                    condition: condition.to_string(),
                    holds: outcome.holds,
                    because: outcome.because,
                }
            })
            .collect(),
    });
    RiskExplanation {
        task: change.frame.path.name().to_owned(),
        tree: change.tree.clone(),
        risk: level,
        reasons,
        requirements: if in_force {
            requirements
                .iter()
                .map(ApprovalRequirement::describe)
                .collect()
        } else {
            Vec::new()
        },
        in_force,
        levels: levels.collect(),
        findings: profile.findings,
        overruled: profile.overruled,
        facts: profile.facts,
    }
}

#[cfg(test)]
mod tests;
