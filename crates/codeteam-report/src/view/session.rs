//! What a session that plays the roles of a run itself is told about the frame it works on.

use std::collections::BTreeMap;

use codeteam_core::Run;
use codeteam_core::frame::{Frame, Question, SlotWork};
use codeteam_core::ids::{AttemptId, Commit, FramePath, RoleName, StepId};
use codeteam_core::judgements::{ChangeDecision, Rejection};
use codeteam_core::session::{self, SessionTurn};
use codeteam_core::submission::{ClaimedChange, Design};
use codeteam_core::verdicts::current_verdicts;
use codeteam_core::workflow::{CheckClass, StepKind};
use serde::Serialize;

use super::LoadedRun;

/// A frame with everything that was made and said in it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionFrameView {
    /// The frame.
    pub frame: FramePath,
    /// The commit that its change starts from.
    pub base: Commit,
    /// The round it is in.
    pub round: u32,
    /// The number of rounds that have led to a change.
    pub iterations: u32,
    /// The role whose turn it is or was, if the step is a role's.
    pub role: Option<RoleName>,
    /// The requirements as far as they are known.
    pub requirements: String,
    /// All designs merged into one.
    pub design: Option<Design>,
    /// What the last implementer says about its change.
    pub claimed: Option<ClaimedChange>,
    /// The files of the change, if there is one.
    pub changed_files: Option<Vec<String>>,
    /// The roles that have judged the change as it is, each with whether it approved.
    pub verdicts: Vec<(String, bool)>,
    /// Every rejection, oldest first.
    pub rejections: Vec<Rejection>,
    /// How many of them count, since a person last said how to go on.
    pub counted_rejections: u32,
    /// What they have in common, if they have.
    pub common_failure: Option<String>,
    /// The last answer of a person at each step.
    pub answers: BTreeMap<StepId, String>,
    /// Who accepted the change as it is, if somebody did.
    pub accepted_by: Option<String>,
    /// The objections that this has overruled.
    pub overruled: Vec<String>,
    /// The decision by which the change as it is was accepted despite objections.
    pub acceptance: Option<ChangeDecision>,
    /// Whether a check of the project was run, and not only codeteam's own rules.
    pub project_checks_ran: bool,
}

impl SessionFrameView {
    fn new(run: &Run, frame: &Frame) -> Self {
        let patch = frame.change.as_ref().map(|change| &change.patch);
        let decided = frame.judgements.last_decision.as_ref();
        let is_of_this = |decided: &&ChangeDecision| {
            patch.is_some()
                && frame.acceptance.by.is_some()
                && decided.patch.as_ref() == patch
                && !decided.over.is_empty()
        };
        let gates = frame.judgements.gates.values();
        let mut results = gates.flat_map(|gate| &gate.results);
        let roles = frame.slots.iter().find_map(|slot| match &slot.work {
            SlotWork::Role(name) => Some(name.clone()),
            _ => None,
        });
        let rejections = frame.judgements.rejections.iter();
        Self {
            frame: frame.path.clone(),
            base: frame.base.commit.clone(),
            round: frame.round,
            iterations: frame.iterations(),
            role: roles,
            requirements: frame.outputs.known_requirements(),
            design: frame.outputs.merged_design(),
            claimed: frame.outputs.change.clone(),
            changed_files: frame.change.as_ref().map(|change| change.files.clone()),
            verdicts: current_verdicts(run, frame),
            rejections: rejections.map(|r| Rejection::clone(r)).collect(),
            counted_rejections: session::count_rejections(frame),
            common_failure: session::common_failure(frame),
            answers: frame.answers.by_step.clone(),
            accepted_by: frame.acceptance.by.clone(),
            overruled: frame.overruled_names(),
            acceptance: decided.filter(is_of_this).cloned(),
            project_checks_ran: results.any(|result| result.class != CheckClass::Honesty),
        }
    }

    /// Returns the reason of the last rejection, with the step that gave it.
    pub fn last_rejection(&self) -> String {
        let last = self.rejections.last();
        last.map(|rejection| {
            let why = rejection.why.join("\n");
            format!("[{}] {why}", rejection.step)
        })
        .unwrap_or_default()
    }
}

impl LoadedRun {
    /// Returns whose turn it is in a run that a session leads.
    pub fn session_turn(&self) -> SessionTurn {
        session::next_turn(self.as_run())
    }

    /// Returns what a session is told about a frame.
    pub fn session_frame(&self, path: &FramePath) -> Option<SessionFrameView> {
        let frame = self.as_frame(path)?;
        Some(SessionFrameView::new(self.as_run(), frame))
    }

    /// Returns the role that makes an attempt which is under way.
    pub fn attempt_role(&self, id: &AttemptId) -> Option<RoleName> {
        attempt_role(self.as_run(), id)
    }

    /// Returns what a role owes, as a word.
    pub fn role_kind(&self, role: &str) -> Option<&'static str> {
        let role = self.as_run().roles.get(&role.into());
        role.map(|role| role.kind.as_str())
    }

    /// Returns the role that asks a question, or else the step.
    pub fn asking_role(&self, question: &Question) -> String {
        let step = self.as_run().step(&question.id.step).map(|step| &step.kind);
        let role = match step {
            Some(StepKind::Role(role)) => role.slots.first(),
            _ => None,
        };
        role.map_or_else(|| question.id.step.0.clone(), |role| role.0.clone())
    }
}

/// Returns the role that makes an attempt.
pub(super) fn attempt_role(run: &Run, id: &AttemptId) -> Option<RoleName> {
    match &run.frames.get(&id.frame)?.slot(id)?.work {
        SlotWork::Role(name) => Some(name.clone()),
        _ => None,
    }
}
