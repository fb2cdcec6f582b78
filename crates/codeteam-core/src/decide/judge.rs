//! Verdicts: of reviewers, of checks, and what follows from them.

use super::Decider;
use super::attempts::first_line;
use crate::event::{CheckResult, EntryReason, Event};
use crate::findings::{FindingResolution, FindingState, ReportedFinding};
use crate::frame::{Feedback, Frame, SlotState, SlotWork};
use crate::ids::{AttemptId, FramePath, RoleName, StepId, Tree};
use crate::input::WorkerReport;
use crate::submission::{Submission, Verdict, VerdictChoice};
use crate::workflow::{ExitTarget, StepKind};

impl Decider {
    /// Counts a gatekeeper's verdict. Findings are weighed: an approval over its own open finding
    /// is a rejection, and a rejection for trifles only is an approval with follow-ups.
    pub(super) fn vote(
        &mut self,
        id: &AttemptId,
        submission: Submission,
        verdict: &Verdict,
        report: &WorkerReport,
    ) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let floor = self.run.workflow.severity_floor;
        let opened = frame
            .findings
            .fresh(&id.step, id.slot, frame.round, &verdict.findings);
        let own = || {
            let open = frame.findings.open();
            open.filter(|f| f.slot == id.slot && f.step == id.step)
        };
        let resolved: Vec<FindingResolution> = if self.names_findings(frame, id) {
            let answers = verdict.resolved.iter();
            let known = answers.filter(|r| own().any(|f| f.id == r.id));
            known.cloned().collect()
        } else {
            // What it does not say again is not held against the change any more.
            own()
                .filter(|f| !verdict.findings.iter().any(|r| f.report.says_the_same(r)))
                .map(|f| FindingResolution {
                    id: f.id.clone(),
                    state: FindingState::Fixed,
                })
                .collect()
        };
        let mut after = frame.findings.clone();
        after.update(&opened, &resolved);
        let blocking = after.blocking(&id.step, floor).any(|f| f.slot == id.slot);
        // What another reviewer has said already is no less a trifle.
        let said = &verdict.findings;
        let trifles = !said.is_empty() && said.iter().all(|f| f.severity < floor);
        let vote = match verdict.verdict {
            VerdictChoice::Approve => !blocking,
            VerdictChoice::Reject => trifles && !blocking,
        };
        self.receive(id, submission, report, Some(vote));
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
            self.join(&id.frame);
        }
    }

    /// Whether a gatekeeper's contract lets it answer for findings by their ids.
    fn names_findings(&self, frame: &Frame, id: &AttemptId) -> bool {
        let role = frame.slot(id).and_then(|slot| match &slot.work {
            SlotWork::Role(name) => self.run.roles.get(name),
            _ => None,
        });
        role.is_none_or(|role| role.contract.names_findings())
    }

    /// Every slot has finished: the step's verdict.
    pub(super) fn join(&mut self, path: &FramePath) {
        let Some(frame) = self.run.frames.get(path) else {
            return;
        };
        let Some(StepKind::Role(role_step)) = self.run.step_of(frame).map(|s| &s.kind) else {
            return;
        };
        let ballots: Vec<(&RoleName, Option<bool>)> = frame
            .slots
            .iter()
            .filter_map(|slot| match (&slot.work, &slot.state) {
                (SlotWork::Role(role), SlotState::Done(vote)) => Some((role, *vote)),
                (SlotWork::Role(role), _) => Some((role, None)),
                _ => None,
            })
            .collect();
        let approved = role_step.join.approves(&ballots);
        if !approved && !ballots.iter().any(|(_, vote)| *vote == Some(false)) {
            // Nobody is against it: there is nothing to mend, only verdicts are missing.
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
        self.judged(path, approved, target, feedback);
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
            .filter(|s| s.state == SlotState::Done(Some(false)));
        for slot in rejected {
            if let Some(reason) = frame.reasons.get(&slot.id.slot) {
                let text = reason.clone();
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

    /// A gate's checks have run, for the step the frame is at or, before integration, for an
    /// earlier one.
    pub(super) fn gate_finished(&mut self, id: &AttemptId, tree: &Tree, results: &[CheckResult]) {
        let Some((frame, SlotWork::Gate(step))) = self.running(id) else {
            return self.stale(id, crate::budget::Usage::default());
        };
        if *tree != frame.tree {
            // Whatever was judged, it is not what would be integrated.
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
        self.note_findings(id, &step, results);
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
        self.judged_by(&id.frame, &step, passed, on_fail, feedback);
    }

    /// Opens what a gate's checks leave to reviewers, and closes what they no longer find.
    fn note_findings(&mut self, id: &AttemptId, step: &StepId, results: &[CheckResult]) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let reports: Vec<ReportedFinding> =
            results.iter().flat_map(|r| &r.findings).cloned().collect();
        let opened = frame.findings.fresh(step, id.slot, frame.round, &reports);
        let own = frame.findings.open().filter(|f| f.step == *step);
        let gone = own.filter(|f| !reports.iter().any(|r| f.report.says_the_same(r)));
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

    fn judged(
        &mut self,
        path: &FramePath,
        approved: bool,
        back: Option<ExitTarget>,
        feedback: Vec<Feedback>,
    ) {
        let Some(step) = self.run.frames.get(path).map(|f| f.step.clone()) else {
            return;
        };
        self.judged_by(path, &step, approved, back, feedback);
    }

    fn judged_by(
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
            return self.next(path);
        }
        self.rejected(path, step, back, &why);
    }

    /// Sends a frame back, unless there has been enough of that.
    pub(super) fn rejected(
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
        if frame.handed
            && let Some(judge) = self.judge_of(path)
        {
            // Whoever made it is there to mend it.
            let told = format!("`{step}` rejected what you handed back: {why}");
            return self.enter(path, &judge, EntryReason::Rejected, Some(told));
        }
        let Some(back) = back.or_else(|| definition.on_fail.clone()) else {
            return self.fail_frame(path, format!("`{step}` rejected it: {why}"));
        };
        if let Some(rebound) = &definition.rebound
            && frame.since_rebound >= rebound.after.max(1)
        {
            let to = ExitTarget::Step(rebound.to.clone());
            return self.go(path, &to, EntryReason::Rebound);
        }
        let by_step = frame.rejections.get(step).copied().unwrap_or(0);
        if definition.max_rounds.is_some_and(|max| by_step > max) {
            return self.exhausted(
                path,
                &format!("`{step}` rejected it {by_step} times: {why}"),
            );
        }
        if self
            .run
            .workflow
            .max_rounds
            .is_some_and(|max| frame.rejected >= max)
        {
            let (rounds, all) = (frame.rejected, frame.round.saturating_sub(1));
            let since = if all > rounds {
                format!(" since a person last said to go on, {all} in all")
            } else {
                String::new()
            };
            let told = format!("it was rejected in {rounds} rounds{since}: {why}");
            return self.exhausted(path, &told);
        }
        if let Some(most) = self.run.workflow.max_stagnant_rounds
            && frame.findings.stagnate(most)
        {
            return self.exhausted(path, "each round finds as much as the one before");
        }
        self.go(path, &back, EntryReason::Rejected);
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
