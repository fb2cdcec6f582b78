//! Handles interventions: checks and bounds what a leader decides, and carries it out. If the
//! leader gives no usable answer, a rule decides by the score and by the kind of failure.

use super::Decider;
use super::attempts::first_line;
use crate::assembly::{assigned_step, helper_problem};
use crate::event::{EntryReason, Event};
use crate::failure::{FailureCategory, FailureStage};
use crate::feedback::Feedback;
use crate::frame::{Frame, FrameOutcome, QuestionKind};
use crate::ids::{AttemptId, FramePath, RoleName, StepId};
use crate::input::WorkerReport;
use crate::role::Contract;
use crate::submission::Submission;
use crate::team::{HelpRequest, Intervention, LeaderDecision, RefinedTask, TaskQuality};
use crate::workflow::{ExitTarget, Step, StepKind};

impl Decider {
    /// Carries out what a leader has decided, or tells it why that is not possible.
    pub(super) fn handle_leader_decision(
        &mut self,
        id: &AttemptId,
        decision: &LeaderDecision,
        report: &WorkerReport,
    ) {
        if let Some(why) = self.intervention_problem(&id.frame, decision) {
            return self.refuse_submission(id, FailureStage::Refused, why, report);
        }
        let submission = Submission::Intervention(decision.clone());
        let vote = decision.intervention == Intervention::Continue;
        self.record_submission(id, submission, report, Some(vote));
        self.intervene(id, decision, false);
    }

    /// Returns true if a step is a leader's.
    pub(super) fn is_leader_step(&self, step: &Step) -> bool {
        let role = self.step_role(step);
        role.is_some_and(|role| role.contract == Contract::Intervention)
    }

    /// Decides in place of a leader that gave no usable answer. Returns false if the frame is not
    /// at a leader's step.
    pub(super) fn intervene_by_rule(&mut self, path: &FramePath, why: &str) -> bool {
        let Some(frame) = self.run.frames.get(path) else {
            return false;
        };
        let is_led = self
            .run
            .frame_step(frame)
            .is_some_and(|step| self.is_leader_step(step));
        let Some(slot) = frame.slots.first().filter(|_| is_led) else {
            return false;
        };
        let id = slot.id.clone();
        let may_pass =
            frame.team.failure.is_none() && Self::objection_to_continuing(frame).is_none();
        if let Some(unscored) = frame.missing_score().filter(|_| may_pass) {
            // Nobody has said that the result is good enough, so that is for a person to say.
            let told = format!(
                "nobody scored the result ({}), and the leader gave no answer: {why}",
                first_line(unscored)
            );
            self.handle_exhaustion(path, &told);
            return true;
        }
        let mut decision = self.decision_by_rule(frame);
        decision.reason = format!("{} (the leader gave no answer: {why})", decision.reason);
        self.intervene(&id, &decision, true);
        true
    }

    /// Returns the decision to continue that follows if a leader's step is left out because the
    /// result has a score that is enough.
    pub(super) fn continue_by_score(&self, frame: &Frame, step: &Step) -> Option<Event> {
        if !self.is_leader_step(step) || frame.team.failure.is_some() {
            return None;
        }
        let quality = frame.current_quality().filter(|q| q.is_enough())?;
        Some(Event::Intervened {
            id: AttemptId {
                frame: frame.path.clone(),
                step: step.id.clone(),
                generation: frame.next_generation(&step.id),
                slot: 0,
                attempt: 1,
                fence: AttemptId::NOT_LAUNCHED,
            },
            intervention: Intervention::Continue,
            reason: passing_text(quality),
            by_rule: true,
            round: frame.led_round(),
            refined: None,
            help: None,
            turns: Vec::new(),
            ends_run: false,
            feedback: Vec::new(),
            unscored: Vec::new(),
        })
    }

    /// Decides by the score of the result and by the kind of failure, without a model.
    fn decision_by_rule(&self, frame: &Frame) -> LeaderDecision {
        let counts = &frame.counts.interventions;
        let may = |intervention| counts.left(intervention) != Some(0);
        let (state, may_pass) = match (&frame.team.failure, Self::objection_to_continuing(frame)) {
            (None, None) => {
                let reason = match frame.current_quality() {
                    Some(quality) => passing_text(quality),
                    None => "nothing objects to it".to_owned(),
                };
                return LeaderDecision::new(Intervention::Continue, reason);
            }
            (Some(failure), _) => {
                let state = format!(
                    "`{}` failed: {}",
                    failure.step,
                    first_line(&failure.message)
                );
                // Honest words that the work is impossible do not change by asking again.
                (state, failure.category != FailureCategory::Logic)
            }
            (None, Some(objection)) => (objection, true),
        };
        if may_pass && may(Intervention::Retry) {
            return LeaderDecision::new(Intervention::Retry, state);
        }
        let helper = self.suggested_helper(frame);
        if let Some(role) = helper.filter(|_| may(Intervention::Escalate)) {
            let task = self.run.frame_task(frame);
            let about = task.map_or("the task", |task| task.headline());
            let request = format!("Help with \"{about}\", which did not succeed: {state}");
            return LeaderDecision {
                role: Some(role),
                request,
                ..LeaderDecision::new(Intervention::Escalate, state)
            };
        }
        LeaderDecision::new(Intervention::Terminate, state)
    }

    /// Returns the role that whoever assembled the team would have help with a frame's task.
    fn suggested_helper(&self, frame: &Frame) -> Option<RoleName> {
        let task = self.run.frame_task(frame)?;
        let named = self.run.alternatives.get(&task.id)?;
        let can = |role: &&RoleName| self.helper_objection(frame, role).is_none();
        named.iter().find(can).cloned()
    }

    /// Returns why a leader's decision cannot be carried out, in words for the leader.
    fn intervention_problem(&self, path: &FramePath, decision: &LeaderDecision) -> Option<String> {
        let frame = self.run.frames.get(path)?;
        let own = decision.intervention;
        if let Some(0) = frame.counts.interventions.left(own) {
            let word = own.as_str();
            return Some(format!(
                "`{word}` is not possible any more for this task: it has been used as often as it \
                 may be. Choose another intervention"
            ));
        }
        match own {
            Intervention::Continue => {
                let failed = frame.team.failure.as_ref().map(|failure| {
                    let why = first_line(&failure.message);
                    format!(
                        "`{}` failed, so there is no new result: {why}",
                        failure.step
                    )
                });
                let objection = failed.or_else(|| Self::objection_to_continuing(frame))?;
                Some(format!(
                    "it cannot continue: {objection}. Choose another intervention"
                ))
            }
            Intervention::Enhance => self
                .refinement_problem(frame, decision)
                .or_else(|| first_role_problem(frame, decision)),
            Intervention::Escalate => {
                let role = decision.role.as_ref()?;
                self.helper_objection(frame, role)
            }
            Intervention::Retry => first_role_problem(frame, decision),
            Intervention::Terminate => None,
        }
    }

    /// Returns what keeps a frame's result from being built on, whatever a leader thinks of it: it
    /// does not exist, or a step rejects it that no person has overruled.
    fn objection_to_continuing(frame: &Frame) -> Option<String> {
        if frame.change.is_none() {
            return Some("there is no result".to_owned());
        }
        let mut rejecting = frame.rejecting_steps().into_iter();
        let step = rejecting.find(|step| **step != frame.step)?;
        Some(match frame.current_quality() {
            Some(quality) if !quality.is_enough() => format!(
                "it scored {}, and {} is needed",
                quality.score.overall_score, quality.threshold
            ),
            _ => format!("`{step}` rejects it"),
        })
    }

    fn refinement_problem(&self, frame: &Frame, decision: &LeaderDecision) -> Option<String> {
        let Some(task) = self.run.frame_task(frame) else {
            return Some("there is no task that could be refined".to_owned());
        };
        let same_words = decision.description.trim().is_empty()
            || decision.description.trim() == task.description.trim();
        let same_criteria = decision.criteria.is_empty() || decision.criteria == task.acceptance;
        if same_words && same_criteria {
            return Some(
                "`enhance` changes nothing: the description and the criteria are what the task has \
                 now"
                    .to_owned(),
            );
        }
        // What a result has failed to meet must not be replaced by something that it meets.
        let is_low = frame.current_quality().is_some_and(|q| !q.is_enough());
        let keeps_one = task
            .acceptance
            .iter()
            .any(|c| decision.criteria.contains(c));
        let drops_all = !task.acceptance.is_empty() && !decision.criteria.is_empty() && !keeps_one;
        (is_low && drops_all).then(|| {
            "`enhance` drops every criterion by which the result has just scored too low. Keep at \
             least one of them word for word; add others, or refine them"
                .to_owned()
        })
    }

    /// Returns what keeps a role from helping with a frame's task.
    fn helper_objection(&self, frame: &Frame, role: &RoleName) -> Option<String> {
        let scope = self.run.frame_step(frame)?.scope.as_ref();
        if assigned_step(&self.run.workflow, scope).is_none() {
            return Some("no step of this workflow lets a helper take part".to_owned());
        }
        if frame.team.turns.contains(role) {
            return Some(format!(
                "`{role}` works on this task already; name another role"
            ));
        }
        helper_problem(&self.run, role)
    }

    /// Carries out an intervention that has been checked.
    fn intervene(&mut self, id: &AttemptId, decision: &LeaderDecision, by_rule: bool) {
        let (path, step) = (id.frame.clone(), id.step.clone());
        let Some(frame) = self.run.frames.get(&path) else {
            return;
        };
        let own = decision.intervention;
        // Another step may have ended the round already, by rejecting the same change; and failed
        // work is no change to judge.
        let judges = own == Intervention::Continue
            || (frame.team.failure.is_none()
                && frame.change.is_some()
                && frame.round == frame.judgements.change_round);
        let reason = decision.reason.trim().to_owned();
        let feedback = match own {
            Intervention::Retry | Intervention::Enhance => vec![Feedback {
                from: step.clone(),
                text: reason.clone(),
                body: None,
            }],
            _ => Vec::new(),
        };
        let (tree, round) = (frame.tree.clone(), frame.led_round());
        let turns = turns_again(frame, decision);
        let unscored = if own == Intervention::Continue {
            self.silent_scorers(frame)
        } else {
            Vec::new()
        };
        self.emit(Event::Intervened {
            id: id.clone(),
            intervention: own,
            reason: reason.clone(),
            by_rule,
            round,
            refined: self.refined_task(&path, decision).map(Box::new),
            help: help_request(decision),
            turns,
            ends_run: decision.ends_run,
            feedback: if judges { Vec::new() } else { feedback.clone() },
            unscored,
        });
        if judges {
            self.emit(Event::StepJudged {
                frame: path.clone(),
                step: step.clone(),
                approved: own == Intervention::Continue,
                tree,
                opened: 0,
                feedback,
            });
        }
        match own {
            Intervention::Continue => self.advance(&path),
            Intervention::Retry | Intervention::Enhance => {
                let back = self.way_back(&step);
                self.send_back(&path, &step, back, first_line(&reason));
            }
            Intervention::Escalate => self.call_helper(&path, decision),
            Intervention::Terminate => self.terminate(&path, decision),
        }
    }

    /// Returns the steps that should have scored a frame's change and gave up: what they said of an
    /// earlier change says nothing about this one.
    fn silent_scorers(&self, frame: &Frame) -> Vec<StepId> {
        if frame.missing_score().is_none() {
            return Vec::new();
        }
        let outdated = frame.judged_steps().filter(|judged| {
            let role = self.run.step(judged.step).and_then(|s| self.step_role(s));
            !judged.is_current() && role.is_some_and(|role| role.contract == Contract::Quality)
        });
        outdated.map(|judged| judged.step.clone()).collect()
    }

    /// Returns where a leader sends work back to.
    fn way_back(&self, step: &StepId) -> Option<ExitTarget> {
        match &self.run.step(step)?.kind {
            StepKind::Role(role) => role.on_reject.clone(),
            _ => None,
        }
    }

    fn refined_task(&self, path: &FramePath, decision: &LeaderDecision) -> Option<RefinedTask> {
        if decision.intervention != Intervention::Enhance {
            return None;
        }
        let task = self.run.frame_task(self.run.frames.get(path)?)?;
        let description = match decision.description.trim() {
            "" => task.description.clone(),
            words => words.to_owned(),
        };
        let acceptance = if decision.criteria.is_empty() {
            task.acceptance.clone()
        } else {
            decision.criteria.clone()
        };
        Some(RefinedTask {
            task: task.id.clone(),
            old_description: task.description.clone(),
            description,
            old_acceptance: task.acceptance.clone(),
            acceptance,
        })
    }

    /// Lets a helper take its turn before the role that was at work; if none fits, a person
    /// decides.
    fn call_helper(&mut self, path: &FramePath, decision: &LeaderDecision) {
        let Some(role) = &decision.role else {
            let text = format!(
                "No role can give the help that this task needs: {}. Go on, or give it up?",
                first_line(&decision.reason).trim_end_matches('.')
            );
            let answers = self.exhausted_replies(path);
            return self.ask(path, QuestionKind::Exhausted, text, Vec::new(), answers);
        };
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let scope = self
            .run
            .frame_step(frame)
            .and_then(|step| step.scope.as_ref());
        let Some((step, _)) = assigned_step(&self.run.workflow, scope) else {
            return;
        };
        let step = step.id.clone();
        let mut turns = vec![role.clone()];
        turns.extend(self.turns_at(frame, &step));
        self.enter_turn(path, &step, EntryReason::Rejected, turns);
    }

    /// Gives up the task, or the whole run if its goal cannot be reached. A person can resume
    /// either.
    fn terminate(&mut self, path: &FramePath, decision: &LeaderDecision) {
        let reason = first_line(&decision.reason);
        let why = format!("the leader gave it up: {reason}");
        self.fail_frame(path, why.clone());
        if decision.ends_run && !self.run.is_terminal() {
            let why = format!("the leader ended the run, as its goal cannot be reached: {reason}");
            self.end_frame(&FramePath::root(), FrameOutcome::Failed(why));
        }
    }
}

/// Says why a result may be built on.
fn passing_text(quality: &TaskQuality) -> String {
    let (score, threshold) = (quality.score.overall_score, quality.threshold);
    format!("it scored {score}, and {threshold} is enough")
}

/// Returns what is wrong with the role that a leader wants to begin with.
fn first_role_problem(frame: &Frame, decision: &LeaderDecision) -> Option<String> {
    let from = decision.from.as_ref()?;
    let team = &frame.team;
    let planned = if team.planned.is_empty() {
        &team.turns
    } else {
        &team.planned
    };
    let Some(at) = planned.iter().position(|role| role == from) else {
        let names: Vec<String> = planned.iter().map(|role| format!("`{role}`")).collect();
        return Some(format!(
            "`from` names `{from}`, which does not work on this task; {} can begin",
            names.join(" or ")
        ));
    };
    let waiting = team.turns.iter().filter(|role| planned.contains(role));
    (at + waiting.count() > planned.len())
        .then(|| format!("`{from}` has not had its turn yet, so the task cannot begin with it"))
}

/// Returns the roles that work again after a decision, if it is not only the last one. A refined
/// task is for all of them.
fn turns_again(frame: &Frame, decision: &LeaderDecision) -> Vec<RoleName> {
    let planned = &frame.team.planned;
    let first = match (&decision.from, decision.intervention) {
        (Some(from), Intervention::Retry | Intervention::Enhance) => {
            planned.iter().position(|role| role == from)
        }
        (None, Intervention::Enhance) => Some(0),
        _ => None,
    };
    let again = first.map_or(&[][..], |at| planned.get(at..).unwrap_or_default());
    if again.len() > frame.team.turns.len() {
        again.to_vec()
    } else {
        Vec::new()
    }
}

fn help_request(decision: &LeaderDecision) -> Option<HelpRequest> {
    Some(HelpRequest {
        role: decision.role.clone()?,
        request: decision.request.trim().to_owned(),
    })
}
