//! What the log of a run says about who has judged each of its commits.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::approval::ApprovalBasis;
use codeteam_core::frame::Frame;
use codeteam_core::ids::{AttemptId, Commit, FramePath, PersonName, RoleName, StepId, Tree};
use codeteam_core::{Event, Run};

use crate::describe::{objection_names, short_id};

/// The commits of a run, each with those who judged it.
#[derive(Default)]
pub(super) struct CommitRecords {
    commits: Vec<CommitRecord>,
    /// The worker behind each vote that was given.
    voters: BTreeMap<VoterKey, String>,
    /// The roles that approve the plan of a frame as it is now.
    plans: BTreeMap<FramePath, BTreeSet<String>>,
    /// The basis on which the approval policy let a tree be committed.
    approvals: BTreeMap<(FramePath, Tree), ApprovalBasis>,
}

/// A frame, the step and the slot of it, and the visit of the step.
type VoterKey = (FramePath, StepId, u32, u32);

struct CommitRecord {
    commit: Commit,
    subject: String,
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
    judges: BTreeSet<String>,
    /// The person who accepted it despite objections, and what objected.
    accepted: Option<(String, Vec<String>)>,
    approval: Option<ApprovalBasis>,
}

impl CommitRecords {
    /// Takes in what the run no longer knows once the event has been applied.
    pub(super) fn observe(&mut self, run: &Run, event: &Event) {
        match event {
            Event::SubmissionReceived {
                id,
                vote: Some(_),
                model,
                ..
            } => {
                let slot = run.frames.get(&id.frame).and_then(|f| f.slot(id));
                let worker = slot.and_then(|slot| slot.worker.as_ref());
                let worker = worker.map_or("a worker", |worker| worker.as_str());
                let worker = match model {
                    Some(model) => format!("{worker}, {model}"),
                    None => worker.to_owned(),
                };
                self.voters.insert(voter_key(id), worker);
            }
            Event::PlanProposed { .. }
            | Event::PlanRevised { .. }
            | Event::RunRolledBack { .. } => self.plans.clear(),
            Event::PhasePlanned { id, .. } => drop(self.plans.remove(&id.frame)),
            Event::ApprovalGranted {
                frame, tree, basis, ..
            } => {
                let key = (frame.clone(), tree.clone());
                self.approvals.insert(key, basis.clone());
            }
            Event::Committed {
                id, commit, tree, ..
            } => {
                if let Some(frame) = run.frames.get(&id.frame) {
                    let record = self.commit_record(frame, commit, tree);
                    self.commits.push(record);
                }
            }
            _ => {}
        }
    }

    /// Takes in what the run knows once the event has been applied.
    pub(super) fn record(&mut self, run: &Run, event: &Event) {
        let Event::SubmissionReceived {
            id, vote: Some(_), ..
        } = event
        else {
            return;
        };
        let Some(frame) = run.frames.get(&id.frame).filter(|f| f.change.is_none()) else {
            return;
        };
        let ballots = frame.judgements.ballots.get(&id.step).into_iter().flatten();
        for ballot in ballots.filter(|ballot| ballot.slot == id.slot) {
            let role = self.name_judge(
                frame,
                &id.step,
                ballot.slot,
                ballot.generation,
                &ballot.role,
            );
            let approved = self.plans.entry(id.frame.clone()).or_default();
            if ballot.vote == Some(true) {
                approved.insert(role);
            } else {
                approved.remove(&role);
            }
        }
    }

    fn commit_record(&self, frame: &Frame, commit: &Commit, tree: &Tree) -> CommitRecord {
        let patch = frame.change.as_ref().map(|change| &change.patch);
        let gates = frame.judgements.gates.values();
        let gates = gates.filter(|gate| gate.tree == *tree);
        let (mut passed, mut failed) = (BTreeSet::new(), BTreeSet::new());
        for check in gates.flat_map(|gate| &gate.results) {
            let names = if check.passed {
                &mut passed
            } else {
                &mut failed
            };
            names.insert(format!("`{}`", check.name));
        }
        let ballots = frame.judgements.ballots.iter();
        let votes = ballots.flat_map(|(step, votes)| votes.iter().map(move |vote| (step, vote)));
        let votes = votes.filter(|(_, vote)| vote.vote == Some(true));
        let votes = votes.filter(|(_, vote)| patch.is_some() && vote.patch.as_ref() == patch);
        let judges = votes.map(|(step, vote)| {
            self.name_judge(frame, step, vote.slot, vote.generation, &vote.role)
        });
        let acceptance = &frame.acceptance;
        let accepted = acceptance
            .by
            .clone()
            .filter(|_| acceptance.patch.as_ref() == patch);
        CommitRecord {
            commit: commit.clone(),
            subject: frame.path.name().to_owned(),
            judges: judges.collect(),
            passed,
            failed,
            accepted: accepted.map(|by| (by, frame.overruled_names())),
            approval: self
                .approvals
                .get(&(frame.path.clone(), tree.clone()))
                .cloned(),
        }
    }

    fn name_judge(
        &self,
        frame: &Frame,
        step: &StepId,
        slot: u32,
        generation: u32,
        role: &RoleName,
    ) -> String {
        let key = (frame.path.clone(), step.clone(), slot, generation);
        match self.voters.get(&key) {
            Some(worker) => format!("`{role}` ({worker})"),
            None => format!("`{role}`"),
        }
    }

    /// Describes it all, for the commits that are still on the run's branch.
    pub(super) fn lines(&self, run: &Run) -> Vec<String> {
        let on_branch: BTreeSet<&Commit> = run
            .branch_moves
            .iter()
            .map(|moved| &moved.tip.commit)
            .collect();
        let commits = self.commits.iter();
        let commits: Vec<&CommitRecord> = commits
            .filter(|record| on_branch.contains(&record.commit))
            .collect();
        let mut lines = Vec::new();
        if let Some(origin) = &run.forked_from {
            lines.push(format!(
                "what was done before this run began was judged in the run {}",
                origin.run
            ));
        }
        if run.plan.is_some() {
            for (frame, roles) in &self.plans {
                let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
                let subject = if frame.is_root() {
                    "the plan".to_owned()
                } else {
                    format!("the plan of `{}`", frame.name())
                };
                if !roles.is_empty() {
                    lines.push(format!("{subject}, by {}", name_roles(&roles)));
                }
            }
        }
        for (names, on) in group(&commits, |record| &record.passed) {
            lines.push(format!("by codeteam, {on}: {}", names.join(", ")));
        }
        for (names, on) in group(&commits, |record| &record.judges) {
            lines.push(format!("by {}, {on}", name_roles(&names)));
        }
        lines.extend(commits.iter().flat_map(|record| record.reservations()));
        lines
    }
}

impl CommitRecord {
    /// Describes what a reader has to know about this commit in particular.
    fn reservations(&self) -> Vec<String> {
        let commit = format!("{} ({})", short_id(self.commit.as_str()), self.subject);
        let mut lines = Vec::new();
        if !self.failed.is_empty() {
            let names: Vec<&str> = self.failed.iter().map(String::as_str).collect();
            lines.push(format!("{commit} did not pass {}", names.join(", ")));
        }
        if let Some((by, over)) = &self.accepted
            && !over.is_empty()
        {
            let over = objection_names(over);
            lines.push(format!("{by} accepted {commit}, though {over} rejected it"));
        }
        match &self.approval {
            Some(ApprovalBasis::Votes(people)) if !people.is_empty() => {
                let people: Vec<&str> = people.iter().map(PersonName::as_str).collect();
                lines.push(format!("{commit} was approved by {}", people.join(", ")));
            }
            Some(ApprovalBasis::Override { by, reason }) => lines.push(format!(
                "{by} let {commit} go on against the approval policy: {reason}"
            )),
            Some(ApprovalBasis::NoObjection { .. }) => {
                lines.push(format!("nobody objected to {commit} in the given time"));
            }
            Some(ApprovalBasis::Votes(_) | ApprovalBasis::Policy) | None => {}
        }
        let is_judged =
            !self.passed.is_empty() || !self.failed.is_empty() || !self.judges.is_empty();
        if !is_judged && lines.is_empty() {
            lines.push(format!("{commit} was judged by nobody"));
        }
        lines
    }
}

fn voter_key(id: &AttemptId) -> VoterKey {
    (id.frame.clone(), id.step.clone(), id.slot, id.generation)
}

fn name_roles(names: &[&str]) -> String {
    let roles = if names.len() == 1 { "role" } else { "roles" };
    format!("the {roles} {}", names.join(", "))
}

/// Returns the names that belong to commits, those of the same commits together, and which commits
/// these are.
fn group<'a>(
    commits: &[&'a CommitRecord],
    names: impl Fn(&'a CommitRecord) -> &'a BTreeSet<String>,
) -> Vec<(Vec<&'a str>, String)> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, record) in commits.iter().enumerate() {
        for name in names(record) {
            places.entry(name).or_default().push(at);
        }
    }
    let mut groups: BTreeMap<Vec<usize>, Vec<&str>> = BTreeMap::new();
    for (name, at) in places {
        groups.entry(at).or_default().push(name);
    }
    let mut groups: Vec<(Vec<usize>, Vec<&str>)> = groups.into_iter().collect();
    groups.sort_by_key(|(at, _)| std::cmp::Reverse(at.len()));
    let described = groups.into_iter().map(|(at, names)| {
        let on = match (at.len(), commits.len()) {
            (1, 1) => "on the only commit".to_owned(),
            (some, all) if some == all => format!("on each of the {all} commits"),
            (some, all) if 2 * some > all => format!("on {some} of {all} commits"),
            _ => {
                let commits = at.iter().map(|i| short_id(commits[*i].commit.as_str()));
                format!("on {}", commits.collect::<Vec<_>>().join(", "))
            }
        };
        (names, on)
    });
    described.collect()
}
