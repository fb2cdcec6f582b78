//! Applies events: how each one changes the state of a run.
//!
//! Only what an event says is recorded here. Code that chooses between alternatives belongs in
//! `decide`, which puts the result into the event, so that replay of an old log does not depend on
//! today's policy.

mod approvals;
mod attempts;
mod frames;
mod outages;
mod people;
mod phases;
mod repin;
mod rollback;
mod tasks;
mod team;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::approvals::apply_approval;
use self::attempts::{
    abstain, apply_submission, judged_round, record_judgement, remember_conversation, settle_usage,
};
use self::frames::{end_frame, enter_step, open_frame, reopen_run, resume_frame};
use self::outages::{forget_outage, known_cost, note_outage};
use self::people::{apply_answer, record_decision, record_person_decision};
use self::phases::apply_to_phase;
use self::repin::repin_workflow;
use self::rollback::{commit_tip, end_rollback, follow_tip, request_rollback};
use self::tasks::{change_task, rebuild_schedules, remove_dropped_tasks, set_plan};
use self::team::{assign_roles, note_failed_work, record_intervention};
use super::{OutstandingLaunch, Run, TaskRecord};
use crate::budget::{self, Budget, Usage};
use crate::event::{BaselineFailure, DeliveryOutcome, Event, RunStarted};
use crate::feedback::AttemptFailure;
use crate::feedback::Feedback;
use crate::fork::ForkOrigin;
use crate::frame::{
    Frame, FrameItem, FrameStage, Slot, SlotEnd, SlotState, SlotWork, StepVerdict, Tip,
};
use crate::ids::{AttemptId, FramePath, StepId, Tree};
use crate::judgements::GateResult;
use crate::operator::{Operator, is_session_worker};
use crate::park::{AccountPark, ParkReason};
use crate::plan::Plan;
use crate::reply::Reply;
use crate::schedule::TaskStatus;
use crate::team::TaskQuality;
use crate::workflow::{Check, StepKind};

/// Folds one event into a run.
///
/// Total: an event that does not fit the state changes nothing but the count of events (`seq`).
/// Holds no policy, so applying the same log always gives the same run.
#[expect(
    clippy::too_many_lines,
    reason = "one arm per event; most only record it"
)]
pub fn apply(run: &mut Run, event: &Event) {
    run.seq += 1;
    match event {
        Event::RunStarted(started) => start_run(run, started),
        Event::RunResumed { .. }
        | Event::BreakerOpened { .. }
        | Event::DecisionRefused { .. }
        | Event::NetworkUsed { .. }
        | Event::ContextPacked { .. } => {}
        Event::RunEnded { outcome, .. } => {
            run.outcome = Some(outcome.clone());
            run.integration_queue.clear();
        }
        Event::RunReopened { .. } => reopen_run(run),
        Event::WorkersReassigned { hands, change, .. } => {
            run.operator = *hands;
            if let Some(made) = change {
                update_frame(run, &made.frame, |f| {
                    f.tree = made.tree.clone();
                    f.change = Some(made.change.clone());
                    f.judgements.change_round = f.round;
                    f.outputs.text = None;
                    f.acceptance.by = None;
                });
            }
        }
        Event::Accepted {
            frame,
            by,
            note,
            over: steps,
            ..
        } => update_any_frame(run, frame, |f| {
            f.acceptance.patch = f.change.as_ref().map(|change| change.patch.clone());
            f.acceptance.by = Some(by.clone());
            f.acceptance.overruled_steps = steps.iter().cloned().collect();
            // Nobody needs to repair what a person accepts as it is.
            f.feedback.clear();
            let answer = Reply::Accept.as_str();
            f.work_log.record_person(by, answer, note);
            let over = f.objector_names();
            record_person_decision(f, answer, note, by, (false, false), over);
        }),
        Event::FrameOpened { frame, item, base } => open_frame(run, frame, item, base),
        Event::FrameResumed { frame } => resume_frame(run, frame),
        Event::FrameEnded { frame, outcome } => end_frame(run, frame, outcome),
        Event::StepEntered {
            frame,
            step,
            generation,
            why,
            slots,
            roles,
            ..
        } => enter_step(run, frame, step, *generation, (*why, slots, roles)),
        Event::StepSkipped { frame, step, .. } => update_frame(run, frame, |f| {
            f.counts.steps_entered += 1;
            f.step = step.clone();
        }),
        Event::AttemptStarted {
            id,
            work,
            worker,
            tree: _,
            reserved,
        } => {
            run.fence = run.fence.max(id.fence);
            let counted = matches!(work, SlotWork::Role(_));
            if counted {
                run.budget.reserve(*reserved);
            }
            let launch = OutstandingLaunch {
                id: id.clone(),
                reserved: *reserved,
                counted,
                used: Usage::default(),
            };
            // A session is not launched, so nothing has to report what became of it.
            let handed =
                run.operator == Operator::Session && worker.as_ref().is_some_and(is_session_worker);
            if !handed {
                run.outstanding.insert(id.fence, launch);
            }
            update_slot(run, id, |slot| {
                slot.id = id.clone();
                slot.work = work.clone();
                slot.worker.clone_from(worker);
                slot.state = SlotState::Running;
            });
        }
        Event::AttemptQueued { id } => update_slot(run, id, |slot| {
            slot.id = id.clone();
            slot.state = SlotState::Queued;
        }),
        Event::AttemptPaused { id, until, why } => update_slot(run, id, |slot| {
            slot.id = id.clone();
            slot.state = SlotState::Paused {
                until: *until,
                why: why.clone(),
            };
        }),
        Event::AttemptFailed {
            id,
            at,
            facts,
            action,
            category,
            usage,
            session,
            ..
        } => {
            note_failed_work(run, id, *action, (*category, &facts.message));
            let waits = action.is_waiting() && facts.quota.is_none();
            settle_usage(run, id, if waits { known_cost(*usage) } else { *usage });
            remember_conversation(run, id, session.as_deref(), *usage);
            note_outage(run, id, *at, *action, facts);
            if waits {
                // The same attempt is repeated, however often that takes.
                run.budget.attempts = run.budget.attempts.saturating_sub(1);
            }
            update_frame(run, &id.frame, |f| {
                if !action.is_waiting() {
                    let breaker = f.counts.breakers.entry(id.step.clone()).or_default();
                    breaker.record(*at);
                }
                if let Some(slot) = f.slot_mut(id) {
                    slot.state = SlotState::Done(SlotEnd::Failed);
                    if *action == crate::failure::FailureAction::RetryWithFeedback {
                        slot.feedback.push(AttemptFailure {
                            category: *category,
                            message: facts.message.clone(),
                        });
                    }
                }
            });
        }
        Event::WorkerReplaced { id, worker, .. } => {
            update_slot(run, id, |slot| {
                slot.id = id.clone();
                slot.replaced.push(worker.clone());
                slot.tried = id.attempt.saturating_sub(1);
                slot.state = SlotState::Queued;
            });
            // The failures of the replaced worker do not count against its replacement.
            update_frame(run, &id.frame, |f| drop(f.counts.breakers.remove(&id.step)));
        }
        Event::AttemptLost { id, usage } => {
            settle_usage(run, id, *usage);
            update_slot(run, id, |slot| {
                if slot.id == *id {
                    slot.state = SlotState::Queued;
                }
            });
        }
        Event::AttemptSpent { id, usage } => settle_usage(run, id, *usage),
        Event::SlotAbstained { id, reason } => abstain(run, id, reason),
        Event::SubmissionReceived {
            id,
            submission,
            usage,
            change,
            vote,
            session,
            transcript,
            ..
        } => {
            settle_usage(run, id, *usage);
            remember_conversation(run, id, session.as_deref(), *usage);
            forget_outage(run, id);
            let writes = match run.step(&id.step).map(|step| &step.kind) {
                Some(StepKind::Role(role)) => Some(role.writes),
                _ => None,
            };
            let kept = (writes, transcript.as_ref());
            apply_submission(run, id, submission, change.as_ref(), *vote, kept);
        }
        Event::FindingsChanged {
            frame,
            opened,
            resolved,
        } => {
            update_frame(run, frame, |f| f.findings.update(opened, resolved));
        }
        Event::GateJudged {
            id,
            step,
            tree,
            passed,
            results,
        } => {
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| {
                if let Some(slot) = f.slot_mut(id) {
                    slot.state = SlotState::Done(SlotEnd::from_vote(Some(*passed)));
                }
                f.outputs.checks.clone_from(results);
                f.work_log.record_checks(step, results);
                record_judgement(f, step, *passed, tree, true);
                let gate = GateResult {
                    round: judged_round(f),
                    passed: *passed,
                    results: results.clone(),
                    tree: tree.clone(),
                    patch: f.change.as_ref().map(|change| change.patch.clone()),
                };
                f.judgements.record_gate(step, gate);
            });
        }
        Event::StepJudged {
            frame,
            step,
            approved,
            tree,
            opened,
            feedback,
        } => {
            update_frame(run, frame, |f| {
                let by_checks = f
                    .verdicts
                    .get(step)
                    .is_some_and(|v| v.by_checks && v.tree == *tree);
                record_judgement(f, step, *approved, tree, by_checks);
                if *approved {
                    return;
                }
                let patch = f.change.as_ref().map(|change| change.patch.clone());
                f.judgements
                    .record_rejection(judged_round(f), step, patch, feedback);
                f.round += 1;
                f.counts.rejections += 1;
                f.counts.consecutive_rejections += 1;
                *f.counts.rejections_by_step.entry(step.clone()).or_default() += 1;
                if !by_checks {
                    // Checks open no findings, so they say nothing about whether reviews converge.
                    f.findings.close_round(*opened);
                }
                f.feedback.extend(feedback.iter().cloned());
            });
        }
        Event::QualityScored {
            id,
            score,
            threshold,
            ..
        } => update_frame(run, &id.frame, |f| {
            f.team.quality = Some(TaskQuality {
                score: score.clone(),
                threshold: *threshold,
                patch: f.change.as_ref().map(|change| change.patch.clone()),
            });
        }),
        Event::Intervened { .. } => record_intervention(run, event),
        Event::TeamAssembled { assignments, .. } => assign_roles(run, assignments),
        Event::LoopDetected {
            frame,
            step,
            feedback,
            ..
        } => update_frame(run, frame, |f| {
            f.feedback.push(Feedback {
                from: step.clone(),
                text: feedback.clone(),
                body: None,
            });
        }),
        Event::LevelLowered { frame, level } => update_frame(run, frame, |f| {
            f.demand.level = *level;
            f.demand.accepted = false;
            f.counts.breakers.remove(&f.step);
        }),
        Event::PlanProposed { plan } => revise_plan(run, plan),
        Event::PlanRevised { plan, rejudged } => {
            revise_plan(run, plan);
            judge_again(run, rejudged);
        }
        Event::PhasePlanned { .. }
        | Event::InterfacesLocked { .. }
        | Event::InterfaceChangeRequested { .. }
        | Event::InterfaceChanged { .. } => apply_to_phase(run, event),
        Event::ChecksRepinned { checks, .. } => repin(run, checks),
        Event::WorkflowRepinned {
            pinned, rejudged, ..
        } => repin_workflow(run, pinned, rejudged),
        Event::TaskChanged {
            frame,
            task,
            status,
        } => change_task(run, frame, task, *status),
        Event::Asked { frame, question } => {
            run.fence = run.fence.max(question.id.fence);
            // A person may take a long time, so the next frame gets the turn to integrate.
            run.integration_queue.retain(|f| f != frame);
            update_frame(run, frame, |f| {
                f.stage = FrameStage::Asking(question.clone());
            });
        }
        Event::Answered { frame, .. } => update_frame(run, frame, |f| {
            record_decision(f, event);
            apply_answer(f, event);
        }),
        Event::ChoiceOpened { id, role } => update_frame(run, &id.frame, |f| {
            if let Some(children) = &mut f.children {
                children.choices += 1;
            }
            f.slots = vec![Slot::new(id.clone(), SlotWork::Role(role.clone()))];
        }),
        Event::TaskChosen { id, task, .. } => update_frame(run, &id.frame, |f| {
            f.slots.clear();
            if let Some(children) = &mut f.children {
                children.chosen = children.position(task.as_str());
            }
        }),
        Event::NoteGiven {
            frame, from, text, ..
        } => update_frame(run, frame, |f| {
            let feedback = Feedback {
                from: from.clone(),
                text: text.clone(),
                body: None,
            };
            f.feedback.push(feedback);
        }),
        Event::FrameRebased {
            id,
            base,
            tree,
            change,
        } => {
            settle_usage(run, id, Usage::default());
            follow_tip(run, base);
            update_frame(run, &id.frame, |f| {
                f.base = base.clone();
                f.tree = tree.clone();
                f.change = Some(change.clone());
                finish_slot(f, id);
            });
        }
        Event::RebaseConflicted {
            id, base, feedback, ..
        } => {
            settle_usage(run, id, Usage::default());
            follow_tip(run, base);
            update_frame(run, &id.frame, |f| {
                let old = f.change.take();
                let feedback = Feedback {
                    from: id.step.clone(),
                    text: feedback.clone(),
                    body: old.as_ref().map(|change| change.diff.clone()),
                };
                let (told, patch) = (std::slice::from_ref(&feedback), old.map(|old| old.patch));
                f.judgements
                    .record_rejection(f.round, &id.step, patch, told);
                f.base = base.clone();
                f.tree = base.tree.clone();
                f.round += 1;
                f.counts.rejections += 1;
                *f.counts
                    .rejections_by_step
                    .entry(id.step.clone())
                    .or_default() += 1;
                f.feedback.push(feedback);
                finish_slot(f, id);
            });
        }
        Event::TipMoved { id, tip } => {
            settle_usage(run, id, Usage::default());
            follow_tip(run, tip);
            update_frame(run, &id.frame, |f| finish_slot(f, id));
        }
        Event::Committed {
            id,
            commit,
            tree,
            still_failing,
            ..
        } => {
            settle_usage(run, id, Usage::default());
            let baseline = (!still_failing.is_empty()).then(|| Arc::clone(&run.baseline));
            replace_baseline(run, still_failing);
            let tip = Tip {
                commit: commit.clone(),
                tree: tree.clone(),
            };
            commit_tip(run, &tip, &id.frame, baseline);
            run.integration_queue.retain(|f| f != &id.frame);
            update_frame(run, &id.frame, |f| {
                f.base = tip;
                f.commits.push(commit.clone());
                finish_slot(f, id);
            });
        }
        Event::NothingToCommit { frame } => run.integration_queue.retain(|f| f != frame),
        Event::Published { id, output } => {
            run.published = Some(output.clone());
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| finish_slot(f, id));
        }
        Event::Delivered { id, outcome } => {
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| finish_slot(f, id));
            if let DeliveryOutcome::Forward { branch, .. } = outcome {
                run.branch.clone_from(branch);
            }
            run.delivery_outcome = Some(outcome.clone());
        }
        Event::RollbackRequested {
            request,
            generation,
        } => request_rollback(run, request, *generation),
        Event::RollbackAbandoned { .. } | Event::RunRolledBack { .. } => end_rollback(run, event),
        Event::BudgetWarned { what } => run.budget.warned.push(*what),
        Event::UsageMeasured { id, usage } => {
            if let Some(launch) = run.outstanding.get_mut(&id.fence) {
                launch.used = *usage;
            }
        }
        Event::DiskMeasured { bytes } => run.budget.disk_bytes = *bytes,
        Event::LimitReached { what } => run.reached_limit = Some(*what),
        Event::LimitsRaised { limits } => {
            run.budget.limits = run.budget.limits.overridden_by(*limits);
            run.budget.warned.clear();
            run.reached_limit = None;
        }
        Event::AccountParked {
            account,
            until,
            why,
        } => {
            let (until, why) = (*until, *why);
            run.parks.park(account, AccountPark { until, why });
        }
        Event::RiskAssessed { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalNotified { .. }
        | Event::ApprovalNoticeRenewed { .. }
        | Event::Voted { .. }
        | Event::ApprovalTimedOut { .. }
        | Event::ApprovalDelegated { .. }
        | Event::ApprovalVoided { .. }
        | Event::ApprovalGranted { .. } => apply_approval(run, event),
        Event::AccountFreed { account } => run.parks.release(account),
        Event::OutagesCleared => {
            run.outages.clear();
            run.reached_limit = run
                .reached_limit
                .filter(|limit| *limit != budget::LimitKind::Outage);
        }
    }
}

fn start_run(run: &mut Run, started: &RunStarted) {
    run.plan_given = started.plan.is_some();
    let RunStarted {
        run: id,
        at,
        goal,
        workflow,
        roles,
        base,
        branch,
        ..
    } = started;
    run.id = id.clone();
    run.started = *at;
    run.goal.clone_from(goal);
    run.goal_files = Arc::new(started.goal_files.clone());
    run.goal_tests = Arc::new(started.goal_tests.clone());
    run.workflow = Arc::new(workflow.clone());
    run.roles = Arc::new(roles.clone());
    run.base = base.clone();
    run.tip = base.clone();
    run.branch.clone_from(branch);
    run.confinement.clone_from(&started.confinement);
    run.sandbox = started.sandbox;
    run.accounts.clone_from(&started.accounts);
    run.rules = Arc::new(started.rules.clone());
    run.templates = Arc::new(started.templates.clone());
    run.strategies = Arc::new(started.strategies.clone());
    run.message_format = Arc::new(started.message.clone());
    run.operator = started.hands;
    run.started_by = started.hands;
    run.gate_settings = started.basis.clone().map(Arc::new);
    run.edited_config.clone_from(&started.edited_config);
    run.choices = started.choices.clone().map(Arc::new);
    run.baseline = Arc::new(started.baseline.clone());
    run.must_pass = started.must_pass;
    run.access = Arc::new(started.access.clone());
    run.approval = started.approval.clone().map(|rules| Arc::new(*rules));
    for (account, until) in &started.resting {
        let (until, why) = (*until, ParkReason::Quota);
        run.parks.park(account, AccountPark { until, why });
    }
    run.max_tasks = started.max_tasks;
    run.plan_id.clone_from(&started.plan_id);
    run.budget = Budget {
        limits: started.limits,
        started: *at,
        ..Budget::default()
    };
    if let Some(plan) = &started.plan {
        set_plan(run, plan);
    }
    // What an earlier run did not finish is tried again.
    for (task, status) in started.earlier.iter().filter(|(_, s)| s.satisfies()) {
        let record = TaskRecord {
            status: *status,
            ..TaskRecord::default()
        };
        run.tasks.insert_mut(task.clone(), record);
    }
    for phase in &started.earlier_phases {
        run.phases.insert_mut(phase.clone(), TaskStatus::Completed);
    }
    let root = FramePath::root();
    let mut frame = Frame::new(root.clone(), None, FrameItem::Run, base.clone());
    if let Some(origin) = &started.forked_from {
        frame.outputs = origin.outputs.clone();
        run.forked_from = Some(Arc::new(ForkOrigin::clone(origin)));
    }
    run.frames.insert(root, frame);
}

fn update_frame(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut Frame)) {
    if let Some(frame) = run.frames.get_mut(path) {
        change(frame);
    }
}

/// Changes a frame, whether it is under way or failed and can be resumed.
fn update_any_frame(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut Frame)) {
    if run.frames.contains_key(path) {
        return update_frame(run, path, change);
    }
    if let Some(mut frame) = run.failed_frames.get(path).cloned() {
        change(&mut frame);
        run.failed_frames.insert_mut(path.clone(), frame);
    }
}

fn revise_plan(run: &mut Run, plan: &Plan) {
    set_plan(run, plan);
    remove_dropped_tasks(run);
    rebuild_schedules(run);
}

/// Lets gates judge the changes of these frames again.
fn judge_again(run: &mut Run, frames: &[FramePath]) {
    for frame in frames {
        update_any_frame(run, frame, |f| {
            expire_verdicts(f, |verdict| verdict.by_checks);
        });
    }
}

/// Replaces the tolerated failures of the given checks.
fn replace_baseline(run: &mut Run, now: &[BaselineFailure]) {
    if now.is_empty() {
        return;
    }
    let baseline = Arc::make_mut(&mut run.baseline);
    baseline.retain(|known| !now.iter().any(|failure| failure.command == known.command));
    baseline.extend(now.iter().cloned());
}

/// Replaces the checks of gates and invalidates the verdicts of those gates.
fn repin(run: &mut Run, checks: &BTreeMap<StepId, Vec<Check>>) {
    let workflow = Arc::make_mut(&mut run.workflow);
    for (step, now) in checks {
        let kind = workflow.steps.get_mut(step).map(|step| &mut step.kind);
        if let Some(StepKind::Gate { checks }) = kind {
            checks.clone_from(now);
        }
    }
    let paths: Vec<FramePath> = run
        .frames
        .keys()
        .chain(run.failed_frames.keys())
        .cloned()
        .collect();
    for path in paths {
        update_any_frame(run, &path, |f| {
            for step in checks.keys() {
                expire(f.verdicts.get_mut(step));
            }
        });
    }
}

fn expire_verdicts(frame: &mut Frame, which: impl Fn(&StepVerdict) -> bool) {
    for verdict in frame.verdicts.values_mut().filter(|v| which(v)) {
        expire(Some(verdict));
    }
}

/// Detaches a verdict from its tree, so that it must be given again.
fn expire(verdict: Option<&mut StepVerdict>) {
    if let Some(verdict) = verdict {
        verdict.tree = Tree::default();
    }
}

/// Changes the slot an attempt belongs to, whichever attempt is the slot's current one.
fn update_slot(run: &mut Run, id: &AttemptId, change: impl FnOnce(&mut Slot)) {
    update_frame(run, &id.frame, |f| {
        if f.step == id.step
            && f.generation == id.generation
            && let Some(slot) = f.slots.iter_mut().find(|slot| slot.id.slot == id.slot)
        {
            change(slot);
        }
    });
}

fn finish_slot(frame: &mut Frame, id: &AttemptId) {
    if let Some(slot) = frame.slot_mut(id) {
        slot.state = SlotState::Done(SlotEnd::Finished);
    }
}
