//! Handles a team: assigns roles to tasks, gives each role of a task its turn, and compares scores
//! with their threshold.

use super::Decider;
use crate::assembly::{assembly_problem, assigned_step};
use crate::event::{EntryReason, Event};
use crate::failure::FailureStage;
use crate::frame::{Frame, SlotState};
use crate::ids::{AttemptId, FramePath, RoleName, StepId};
use crate::input::WorkerReport;
use crate::role::{Contract, Role, RoleKind};
use crate::submission::{Submission, TeamAssembly};
use crate::team::{DEFAULT_QUALITY_THRESHOLD, QualityScore};
use crate::workflow::{ExitTarget, Step, StepKind};

impl Decider {
    /// Accepts an assembly if every task gets roles that exist and fit.
    pub(super) fn assemble_team(
        &mut self,
        id: &AttemptId,
        assembly: &TeamAssembly,
        report: &WorkerReport,
    ) {
        if let Some(wrong) = assembly_problem(&self.run, assembly) {
            return self.refuse_submission(id, FailureStage::Refused, wrong, report);
        }
        let submission = Submission::Assembly(assembly.clone());
        self.record_submission(id, submission, report, None);
        if !assembly.assignments.is_empty() {
            self.emit(Event::TeamAssembled {
                id: id.clone(),
                assignments: assembly.assignments.clone(),
            });
        }
        self.advance(&id.frame);
    }

    /// Compares a score with the threshold, which makes it a vote.
    pub(super) fn score_quality(
        &mut self,
        id: &AttemptId,
        score: QualityScore,
        report: &WorkerReport,
    ) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let threshold = self.quality_threshold(frame);
        let passed = score.overall_score >= threshold;
        let submission = Submission::Quality(score.clone());
        self.record_submission(id, submission, report, Some(passed));
        self.emit(Event::QualityScored {
            id: id.clone(),
            score,
            threshold,
            passed,
        });
        let frame = self.run.frames.get(&id.frame);
        let all_done = frame.is_some_and(|f| {
            let mut slots = f.slots.iter();
            slots.all(|slot| matches!(slot.state, SlotState::Done(_)))
        });
        if all_done {
            self.join_votes(&id.frame);
        }
    }

    /// Returns the score that a frame's result needs: what its author's role, the workflow or the
    /// configuration says.
    fn quality_threshold(&self, frame: &Frame) -> u8 {
        let own = self.author_role(frame).and_then(|r| r.quality_threshold);
        let usual = self.run.workflow.quality_threshold;
        own.or(usual).unwrap_or(DEFAULT_QUALITY_THRESHOLD)
    }

    /// Returns the role that carries out a frame's task: the one whose turn it is, or the one that
    /// the workflow names.
    fn author_role(&self, frame: &Frame) -> Option<&Role> {
        if let Some(role) = frame.team.turns.first() {
            return self.run.roles.get(role);
        }
        let scope = self.run.frame_step(frame)?.scope.as_ref();
        let steps = self.run.workflow.steps.values();
        let mut roles = steps
            .filter(|step| step.scope.as_ref() == scope)
            .filter_map(|step| match &step.kind {
                StepKind::Role(role) => self.run.roles.get(role.slots.first()?),
                _ => None,
            });
        roles.find(|role| role.kind == RoleKind::Implementer)
    }

    /// Returns why a step that scores results is left out: the role that made the result says that
    /// its results are not scored.
    pub(super) fn unwanted_quality_check(&self, frame: &Frame, step: &Step) -> Option<String> {
        let is_scored = match self.step_role(step) {
            Some(role) => role.contract == Contract::Quality,
            None => false,
        };
        let author = self.author_role(frame).filter(|_| is_scored)?;
        let is_off = author.quality_check == Some(false);
        is_off.then(|| format!("results of `{}` are not scored", author.name))
    }

    /// Returns the role of a step's first slot.
    pub(super) fn step_role(&self, step: &Step) -> Option<&Role> {
        match &step.kind {
            StepKind::Role(role) => self.run.roles.get(role.slots.first()?),
            _ => None,
        }
    }

    /// Returns the roles that carry out a frame's task at a step that leaves them to the plan, the
    /// one whose turn it is first; empty if the workflow names the role.
    pub(super) fn turns_at(&self, frame: &Frame, step: &StepId) -> Vec<RoleName> {
        let Some(StepKind::Role(role)) = self.run.step(step).map(|step| &step.kind) else {
            return Vec::new();
        };
        if !role.assigned {
            return Vec::new();
        }
        let named = self.run.frame_task(frame).map(|task| task.roles.clone());
        let named = named.unwrap_or_default();
        if !frame.team.turns.is_empty() && named == frame.team.planned {
            return frame.team.turns.clone();
        }
        if named.is_empty() {
            return role.slots.iter().take(1).cloned().collect();
        }
        named
    }

    /// Returns the next turn of a task's roles, if a frame is about to leave the work although some
    /// of them have not contributed yet: its step, and the roles from there on.
    pub(super) fn next_turn(
        &self,
        frame: &FramePath,
        target: &ExitTarget,
    ) -> Option<(StepId, Vec<RoleName>)> {
        let frame = self.run.frames.get(frame)?;
        if frame.interface_request.is_some() {
            return None; // The same role goes on when that is decided.
        }
        let (_, rest) = frame.team.turns.split_first()?;
        let is_left = match target {
            ExitTarget::Done => true,
            ExitTarget::Fail => false,
            ExitTarget::Step(step) => {
                let step = self.run.step(step)?;
                let role = self.step_role(step);
                matches!(step.kind, StepKind::Commit { .. } | StepKind::Person { .. })
                    || role.is_some_and(|role| role.kind == RoleKind::Gatekeeper)
            }
        };
        if rest.is_empty() || !is_left {
            return None;
        }
        let scope = self.run.frame_step(frame)?.scope.as_ref();
        let (step, _) = assigned_step(&self.run.workflow, scope)?;
        Some((step.id.clone(), rest.to_vec()))
    }

    /// Lets a role begin its turn at the step that leaves roles to the plan.
    pub(super) fn enter_turn(
        &mut self,
        frame: &FramePath,
        step: &StepId,
        why: EntryReason,
        roles: Vec<RoleName>,
    ) {
        let Some(state) = self.run.frames.get(frame) else {
            return;
        };
        let generation = state.next_generation(step);
        let because = match roles.first() {
            Some(role) => format!("it is the turn of `{role}`"),
            None => String::new(),
        };
        self.emit(Event::StepEntered {
            frame: frame.clone(),
            step: step.clone(),
            generation,
            why,
            slots: Vec::new(),
            because,
            roles,
        });
    }
}
