//! Handles verdicts of reviewers and checks: counts votes, concludes steps and sends work back.

use super::Decider;
use super::attempts::first_line;
use crate::checks::CheckResult;
use crate::event::{EntryReason, Event};
use crate::failure::FailureStage;
use crate::feedback::Feedback;
use crate::findings::{Finding, FindingResolution, FindingState, ReportedFinding};
use crate::frame::{Frame, Slot, SlotEnd, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath, RoleName, StepId, Tree};
use crate::input::WorkerReport;
use crate::submission::{Submission, Verdict, VerdictChoice};
use crate::workflow::{ExitTarget, StepKind};

impl Decider {
    /// Counts a gatekeeper's verdict, weighing its findings: an approval despite an open finding of
    /// its own counts as a rejection, and a rejection for trifles only counts as an approval with
    /// follow-ups.
    pub(super) fn count_vote(
        &mut self,
        id: &AttemptId,
        submission: Submission,
        verdict: &Verdict,
        report: &WorkerReport,
    ) {
        if let Some(why) = self.unanswered_findings(id, verdict) {
            return self.refuse_submission(id, FailureStage::Refused, why, report);
        }
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let floor = self.run.workflow.severity_floor;
        let opened = frame
            .findings
            .find_new(&id.step, id.slot, frame.round, &verdict.findings);
        let own = || {
            let open = frame.findings.open();
            open.filter(|f| f.slot == id.slot && f.step == id.step)
        };
        let resolved: Vec<FindingResolution> = if self.names_findings(frame, id) {
            let answers = verdict.resolved.iter();
            let known = answers.filter(|r| own().any(|f| f.id == r.id));
            known.cloned().collect()
        } else {
            // A finding that it does not repeat is no longer held against the change.
            own()
                .filter(|f| {
                    !verdict
                        .findings
                        .iter()
                        .any(|r| f.report.is_same_complaint(r))
                })
                .map(|f| FindingResolution {
                    id: f.id.clone(),
                    state: FindingState::Fixed,
                })
                .collect()
        };
        let mut after = frame.findings.clone();
        after.update(&opened, &resolved);
        let blocking = after.blocking(&id.step, floor).any(|f| f.slot == id.slot);
        // A trifle stays a trifle even if another reviewer has reported it already.
        let said = &verdict.findings;
        let trifles = !said.is_empty() && said.iter().all(|f| f.severity < floor);
        let vote = match verdict.verdict {
            VerdictChoice::Approve => !blocking,
            VerdictChoice::Reject => trifles && !blocking,
        };
        self.record_submission(id, submission, report, Some(vote));
        if !opened.is_empty() || resolved.iter().any(|r| r.state != FindingState::Open) {
            let frame = id.frame.clone();
            self.emit(Event::FindingsChanged {
                frame,
                opened,
                resolved,
            });
        }
        let all_done = self.run.frames.get(&id.frame).is_some_and(|f| {
            f.slots
                .iter()
                .all(|s| matches!(s.state, SlotState::Done(_)))
        });
        if all_done {
            self.join_votes(&id.frame);
        }
    }

    /// Returns the reply to a gatekeeper that approves without answering for its own findings of an
    /// earlier round. It is asked a few times, because nobody else can answer for them.
    fn unanswered_findings(&self, id: &AttemptId, verdict: &Verdict) -> Option<String> {
        let frame = self.run.frames.get(&id.frame)?;
        let asks = verdict.verdict == VerdictChoice::Approve
            && self.names_findings(frame, id)
            && self.may_ask_again(id);
        if !asks {
            return None;
        }
        let floor = self.run.workflow.severity_floor;
        let is_answered = |finding: &Finding| {
            let repeated = &verdict.findings;
            verdict.resolved.iter().any(|r| r.id == finding.id)
                || repeated
                    .iter()
                    .any(|r| r.is_same_complaint(&finding.report))
        };
        let unanswered: Vec<String> = frame
            .findings
            .blocking(&id.step, floor)
            .filter(|f| f.slot == id.slot && !is_answered(f))
            .map(|f| format!("{} ({})", f.id, first_line(&f.report.title)))
            .collect();
        let them = if unanswered.len() == 1 { "it" } else { "them" };
        (!unanswered.is_empty()).then(|| {
            format!(
                "it approves, but does not say what became of {}, which it reported in an earlier \
                 round: `resolved` must name {them}, as `fixed`, `withdrawn` or `open`",
                unanswered.join(", ")
            )
        })
    }

    /// Returns true if a gatekeeper's contract lets it resolve findings by their ids.
    fn names_findings(&self, frame: &Frame, id: &AttemptId) -> bool {
        let role = frame.slot(id).and_then(|slot| match &slot.work {
            SlotWork::Role(name) => self.run.roles.get(name),
            _ => None,
        });
        role.is_none_or(|role| role.contract.resolves_findings_by_id())
    }

    /// Joins the votes into the step's verdict once every slot has finished.
    pub(super) fn join_votes(&mut self, path: &FramePath) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let Some(StepKind::Role(role_step)) = self.run.frame_step(frame).map(|s| &s.kind) else {
            return;
        };
        let ballots: Vec<(&RoleName, Option<bool>)> = frame
            .slots
            .iter()
            .filter_map(|slot| match (&slot.work, &slot.state) {
                (SlotWork::Role(role), SlotState::Done(end)) => Some((role, end.vote())),
                (SlotWork::Role(role), _) => Some((role, None)),
                _ => None,
            })
            .collect();
        let approved = role_step.join.approves(&ballots);
        if !approved && !ballots.iter().any(|(_, vote)| *vote == Some(false)) {
            // Nobody is against the change: there is nothing to fix, only verdicts are missing.
            let missing = ballots.iter().filter(|(_, vote)| vote.is_none()).count();
            let why = format!("{missing} of {} gave no verdict", ballots.len());
            return self.step_failed(path, &why);
        }
        let target = role_step.on_reject.clone();
        let feedback = if approved {
            Vec::new()
        } else {
            self.review_feedback(path)
        };
        self.conclude_current_step(path, approved, target, feedback);
    }

    fn review_feedback(&self, path: &FramePath) -> Vec<Feedback> {
        let Some(frame) = self.run.frames.get(path) else {
            return Vec::new();
        };
        let floor = self.run.workflow.severity_floor;
        let mut feedback: Vec<Feedback> = frame
            .findings
            .blocking(&frame.step, floor)
            .map(|f| {
                let place = match (&f.report.file, f.report.line) {
                    (Some(file), Some(line)) => format!(" ({file}:{line})"),
                    (Some(file), None) => format!(" ({file})"),
                    _ => String::new(),
                };
                let text = format!("{}: {}{place}\n{}", f.id, f.report.title, f.report.detail);
                Feedback {
                    from: frame.step.clone(),
                    text: text.trim_end().to_owned(),
                    body: None,
                }
            })
            .collect();
        let rejected = frame
            .slots
            .iter()
            .filter(|s| s.state == SlotState::Done(SlotEnd::Rejected));
        for slot in rejected {
            if let Some(reason) = frame.reasons.get(&slot.id.slot) {
                let text = match self.findings_left_open(frame, slot) {
                    Some(left) => format!("{left}: {reason}"),
                    None => reason.clone(),
                };
                feedback.insert(
                    0,
                    Feedback {
                        from: frame.step.clone(),
                        text,
                        body: None,
                    },
                );
            }
        }
        feedback
    }

    /// Describes the gatekeeper's findings of earlier rounds that are still open.
    fn findings_left_open(&self, frame: &Frame, slot: &Slot) -> Option<String> {
        let floor = self.run.workflow.severity_floor;
        let left: Vec<&str> = frame
            .findings
            .blocking(&frame.step, floor)
            .filter(|f| f.slot == slot.id.slot && f.round < frame.round)
            .map(|f| f.id.as_str())
            .collect();
        let are = if left.len() == 1 { "is" } else { "are" };
        (!left.is_empty()).then(|| format!("{} {are} still open", left.join(", ")))
    }

    /// Handles the result of a gate's checks, for the step the frame is at or, before integration,
    /// for an earlier one.
    pub(super) fn gate_finished(&mut self, id: &AttemptId, tree: &Tree, results: &[CheckResult]) {
        let Some((frame, SlotWork::Gate(step))) = self.running_work(id) else {
            return self.record_stale_result(id, crate::budget::Usage::default());
        };
        if *tree != frame.tree {
            // What was judged is not what would be integrated.
            let why = "the checks ran on another tree than the frame's";
            return self.effect_failed(id, None, why);
        }
        let step = step.clone();
        let expected = match self.run.step(&step).map(|s| &s.kind) {
            Some(StepKind::Gate { checks }) => checks.len(),
            _ => 0,
        };
        let passed = results.len() == expected && results.iter().all(|r| r.passed);
        self.emit(Event::GateJudged {
            id: id.clone(),
            step: step.clone(),
            tree: tree.clone(),
            passed,
            results: results.to_vec(),
        });
        self.record_gate_findings(id, &step, results);
        let at_gate = self
            .run
            .frames
            .get(&id.frame)
            .is_some_and(|f| f.step == step);
        if passed && !at_gate {
            return; // Integration goes on in `settle`.
        }
        let feedback = gate_feedback(&step, results);
        let on_fail = self.run.step(&step).and_then(|s| s.on_fail.clone());
        self.conclude_step(&id.frame, &step, passed, on_fail, feedback);
    }

    /// Opens the findings that a gate's checks leave to reviewers, and closes those no longer
    /// found.
    fn record_gate_findings(&mut self, id: &AttemptId, step: &StepId, results: &[CheckResult]) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let reports: Vec<ReportedFinding> =
            results.iter().flat_map(|r| &r.findings).cloned().collect();
        let opened = frame
            .findings
            .find_new(step, id.slot, frame.round, &reports);
        let own = frame.findings.open().filter(|f| f.step == *step);
        let gone = own.filter(|f| !reports.iter().any(|r| f.report.is_same_complaint(r)));
        let resolved: Vec<FindingResolution> = gone
            .map(|f| FindingResolution {
                id: f.id.clone(),
                state: FindingState::Fixed,
            })
            .collect();
        if opened.is_empty() && resolved.is_empty() {
            return;
        }
        self.emit(Event::FindingsChanged {
            frame: id.frame.clone(),
            opened,
            resolved,
        });
    }

    fn conclude_current_step(
        &mut self,
        path: &FramePath,
        approved: bool,
        back: Option<ExitTarget>,
        feedback: Vec<Feedback>,
    ) {
        let Some(step) = self.run.frames.get(path).map(|f| f.step.clone()) else {
            return;
        };
        self.conclude_step(path, &step, approved, back, feedback);
    }

    fn conclude_step(
        &mut self,
        path: &FramePath,
        step: &StepId,
        approved: bool,
        back: Option<ExitTarget>,
        feedback: Vec<Feedback>,
    ) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let (tree, round) = (frame.tree.clone(), frame.round);
        let floor = self.run.workflow.severity_floor;
        let opened = frame
            .findings
            .blocking(step, floor)
            .filter(|f| f.round == round)
            .count();
        let why = feedback
            .first()
            .map_or("no reason was given", |f| first_line(&f.text))
            .to_owned();
        self.emit(Event::StepJudged {
            frame: path.clone(),
            step: step.clone(),
            approved,
            tree,
            opened: u32::try_from(opened).unwrap_or(u32::MAX),
            feedback,
        });
        if approved {
            return self.advance(path);
        }
        self.send_back(path, step, back, &why);
    }

    /// Sends a frame back for another round, unless that has happened often enough: then it takes
    /// the rebound, or counts as exhausted. A change that a person edited goes back to that person.
    pub(super) fn send_back(
        &mut self,
        path: &FramePath,
        step: &StepId,
        back: Option<ExitTarget>,
        why: &str,
    ) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let Some(definition) = self.run.step(step) else {
            return;
        };
        if frame.acceptance.edited_by_person
            && let Some(judge) = self.exhaustion_judge(path)
        {
            // The person who made the change can repair it.
            let told = format!("`{step}` rejected what you handed back: {why}");
            return self.enter_step(path, &judge, EntryReason::Rejected, Some(told));
        }
        let Some(back) = back.or_else(|| definition.on_fail.clone()) else {
            return self.fail_frame(path, format!("`{step}` rejected it: {why}"));
        };
        if let Some(rebound) = &definition.rebound
            && frame.counts.consecutive_rejections >= rebound.after.max(1)
        {
            let to = ExitTarget::Step(rebound.to.clone());
            return self.transition(path, &to, EntryReason::Rebound);
        }
        let by_step = frame
            .counts
            .rejections_by_step
            .get(step)
            .copied()
            .unwrap_or(0);
        if definition.max_rounds.is_some_and(|max| by_step > max) {
            return self.handle_exhaustion(
                path,
                &format!("`{step}` rejected it {by_step} times: {why}"),
            );
        }
        if self
            .run
            .workflow
            .max_rounds
            .is_some_and(|max| frame.counts.rejections >= max)
        {
            let (rounds, all) = (frame.counts.rejections, frame.round.saturating_sub(1));
            let since = if all > rounds {
                format!(" since a person last said to go on, {all} in all")
            } else {
                String::new()
            };
            let told = format!("it was rejected in {rounds} rounds{since}: {why}");
            return self.handle_exhaustion(path, &told);
        }
        if let Some(most) = self.run.workflow.max_stagnant_rounds
            && frame.findings.is_stagnating(most)
        {
            return self.handle_exhaustion(path, "each round finds as much as the one before");
        }
        self.transition(path, &back, EntryReason::Rejected);
    }
}

fn gate_feedback(step: &StepId, results: &[CheckResult]) -> Vec<Feedback> {
    results
        .iter()
        .filter(|r| !r.passed)
        .map(|r| Feedback {
            from: step.clone(),
            text: format!("the check `{}` failed\n{}", r.name, r.summary)
                .trim_end()
                .to_owned(),
            body: r.output.clone(),
        })
        .collect()
}
