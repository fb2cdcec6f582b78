//! How each event changes a run.

mod attempts;
mod frames;
mod outages;
mod people;
mod tasks;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::attempts::{judge, judged_round, receive, record_vote, remember, settle};
use self::frames::{end_frame, enter, open_frame, reopen, resume_frame};
use self::outages::{forget_outage, known_cost, note_outage};
use self::people::{answered, decide_on, record_decision};
use self::tasks::{change_task, forget_dropped, rebuild_schedules, set_plan};
use super::{OutstandingLaunch, Run, TaskRecord};
use crate::budget::{self, Budget, Usage};
use crate::event::{BaselineFailure, DeliveryOutcome, Event, RunStarted};
use crate::feedback::AttemptFailure;
use crate::frame::{
    Feedback, Frame, FrameItem, FrameStage, Slot, SlotState, SlotWork, StepVerdict, Tip,
};
use crate::hands::{Operator, is_session};
use crate::ids::{AttemptId, FramePath, StepId, Tree};
use crate::park::{AccountPark, ParkReason};
use crate::plan::Plan;
use crate::record::GateResult;
use crate::workflow::{Check, StepKind};

/// Folds one event into a run. Total: an event that does not fit changes nothing but the count.
#[expect(
    clippy::too_many_lines,
    reason = "one arm per event; most only record it"
)]
pub fn apply(run: &mut Run, event: &Event) {
    run.seq += 1;
    match event {
        Event::RunStarted(started) => begin(run, started),
        Event::RunResumed { .. }
        | Event::BreakerOpened { .. }
        | Event::DecisionRefused { .. }
        | Event::NetworkUsed { .. }
        | Event::ContextPacked { .. } => {}
        Event::RunEnded { outcome, .. } => {
            run.outcome = Some(outcome.clone());
            run.integrating.clear();
        }
        Event::RunReopened { .. } => reopen(run),
        Event::WorkersReassigned { hands, change, .. } => {
            run.hands = *hands;
            if let Some(made) = change {
                with(run, &made.frame, |f| {
                    f.tree = made.tree.clone();
                    f.change = Some(made.change.clone());
                    f.record.made = f.round;
                    f.outputs.text = None;
                    f.accepted_by = None;
                });
            }
        }
        Event::Accepted {
            frame,
            by,
            note,
            over: steps,
        } => with_kept(run, frame, |f| {
            f.accepted = f.change.as_ref().map(|change| change.patch.clone());
            f.accepted_by = Some(by.clone());
            f.gone_over = steps.iter().cloned().collect();
            // Nobody need mend what a person takes as it is.
            f.feedback.clear();
            f.log.said(by, "accept", note);
            let over = f.against();
            decide_on(f, "accept", note, by, (false, false), over);
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
            ..
        } => enter(run, frame, step, *generation, (*why, slots)),
        Event::StepSkipped { frame, step, .. } => with(run, frame, |f| {
            f.entered += 1;
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
            // A session is nothing that was launched: it need not say what became of it.
            let handed = run.hands == Operator::Session && worker.as_ref().is_some_and(is_session);
            if !handed {
                run.outstanding.insert(id.fence, launch);
            }
            with_slot(run, id, |slot| {
                slot.id = id.clone();
                slot.work = work.clone();
                slot.worker.clone_from(worker);
                slot.state = SlotState::Running;
            });
        }
        Event::AttemptQueued { id } => with_slot(run, id, |slot| {
            slot.id = id.clone();
            slot.state = SlotState::Queued;
        }),
        Event::AttemptPaused { id, until, why } => with_slot(run, id, |slot| {
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
            let waits = action.is_waiting() && facts.quota.is_none();
            settle(run, id, if waits { known_cost(*usage) } else { *usage });
            remember(run, id, session.as_deref(), *usage);
            note_outage(run, id, *at, *action, facts);
            if waits {
                // It is the same attempt that is made once more, however often that takes.
                run.budget.attempts = run.budget.attempts.saturating_sub(1);
            }
            let policy = crate::breaker::BreakerPolicy::default();
            with(run, &id.frame, |f| {
                if !action.is_waiting() {
                    let breaker = f.breakers.entry(id.step.clone()).or_default();
                    breaker.record(*at, &policy);
                }
                if let Some(slot) = f.slot_mut(id) {
                    slot.state = SlotState::Done(None);
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
            with_slot(run, id, |slot| {
                slot.id = id.clone();
                slot.replaced.push(worker.clone());
                slot.tried = id.attempt.saturating_sub(1);
                slot.state = SlotState::Queued;
            });
            // What another worker did wrong does not count against the one that stands in.
            with(run, &id.frame, |f| drop(f.breakers.remove(&id.step)));
        }
        Event::AttemptLost { id, usage } => {
            settle(run, id, *usage);
            with_slot(run, id, |slot| {
                if slot.id == *id {
                    slot.state = SlotState::Queued;
                }
            });
        }
        Event::AttemptSpent { id, usage } => settle(run, id, *usage),
        Event::SlotAbstained { id, reason } => {
            with_slot(run, id, |slot| slot.state = SlotState::Done(None));
            record_vote(run, id, None, reason);
        }
        Event::SubmissionReceived {
            id,
            submission,
            usage,
            change,
            vote,
            session,
            ..
        } => {
            settle(run, id, *usage);
            remember(run, id, session.as_deref(), *usage);
            forget_outage(run, id);
            let writes = match run.step(&id.step).map(|step| &step.kind) {
                Some(StepKind::Role(role)) => Some(role.writes),
                _ => None,
            };
            receive(run, id, submission, change.as_ref(), *vote, writes);
        }
        Event::FindingsChanged {
            frame,
            opened,
            resolved,
        } => {
            with(run, frame, |f| f.findings.update(opened, resolved));
        }
        Event::GateJudged {
            id,
            step,
            tree,
            passed,
            results,
        } => {
            settle(run, id, Usage::default());
            with(run, &id.frame, |f| {
                if let Some(slot) = f.slot_mut(id) {
                    slot.state = SlotState::Done(Some(*passed));
                }
                f.outputs.checks.clone_from(results);
                f.log.checked(step, results);
                judge(f, step, *passed, tree, true);
                let gate = GateResult {
                    round: judged_round(f),
                    passed: *passed,
                    results: results.clone(),
                    tree: tree.clone(),
                    patch: f.change.as_ref().map(|change| change.patch.clone()),
                };
                f.record.gate(step, gate);
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
            with(run, frame, |f| {
                let by_checks = f
                    .verdicts
                    .get(step)
                    .is_some_and(|v| v.by_checks && v.tree == *tree);
                judge(f, step, *approved, tree, by_checks);
                if *approved {
                    return;
                }
                let patch = f.change.as_ref().map(|change| change.patch.clone());
                f.record.rejected(judged_round(f), step, patch, feedback);
                f.round += 1;
                f.rejected += 1;
                f.since_rebound += 1;
                *f.rejections.entry(step.clone()).or_default() += 1;
                if !by_checks {
                    // Checks open no findings; they say nothing of whether reviews converge.
                    f.findings.close_round(*opened);
                }
                f.feedback.extend(feedback.iter().cloned());
            });
        }
        Event::LoopDetected { frame, step, round } => with(run, frame, |f| {
            f.feedback.push(Feedback {
                from: step.clone(),
                text: format!(
                    "This is the change of round {round} again, which was not accepted. \
                     Make another one."
                ),
                body: None,
            });
        }),
        Event::LevelLowered { frame, level } => with(run, frame, |f| {
            f.level = *level;
            f.level_accepted = false;
            f.breakers.remove(&f.step);
        }),
        Event::PlanProposed { plan } => revise_plan(run, plan),
        Event::PlanRevised { plan, rejudged } => {
            revise_plan(run, plan);
            for frame in rejudged {
                with_kept(run, frame, |f| {
                    expire_verdicts(f, |verdict| verdict.by_checks);
                });
            }
        }
        Event::ChecksRepinned { checks, .. } => repin(run, checks),
        Event::TaskChanged {
            frame,
            task,
            status,
        } => change_task(run, frame, task, *status),
        Event::Asked { frame, question } => {
            run.fence = run.fence.max(question.id.fence);
            // A person may take long; the turn to integrate goes to the next.
            run.integrating.retain(|f| f != frame);
            with(run, frame, |f| {
                f.stage = FrameStage::Asking(question.clone());
            });
        }
        Event::Answered { frame, .. } => with(run, frame, |f| {
            record_decision(f, event);
            answered(f, event);
        }),
        Event::ChoiceOpened { id, role } => with(run, &id.frame, |f| {
            if let Some(children) = &mut f.children {
                children.choices += 1;
            }
            f.slots = vec![Slot::new(id.clone(), SlotWork::Role(role.clone()))];
        }),
        Event::TaskChosen { id, task, .. } => with(run, &id.frame, |f| {
            f.slots.clear();
            if let Some(children) = &mut f.children {
                children.chosen = children.position(task.as_str());
            }
        }),
        Event::NoteGiven {
            frame, from, text, ..
        } => with(run, frame, |f| {
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
            settle(run, id, Usage::default());
            run.tip = base.clone();
            with(run, &id.frame, |f| {
                f.base = base.clone();
                f.tree = tree.clone();
                f.change = Some(change.clone());
                finish_slot(f, id);
            });
        }
        Event::RebaseConflicted { id, base, files } => {
            settle(run, id, Usage::default());
            run.tip = base.clone();
            with(run, &id.frame, |f| {
                let old = f.change.take();
                let feedback = Feedback {
                    from: id.step.clone(),
                    text: format!(
                        "The change conflicts with what was integrated meanwhile, in {}. \
                         Make it again on the new base; the diff of the old one is attached.",
                        files.join(", ")
                    ),
                    body: old.as_ref().map(|change| change.diff.clone()),
                };
                let (told, patch) = (std::slice::from_ref(&feedback), old.map(|old| old.patch));
                f.record.rejected(f.round, &id.step, patch, told);
                f.base = base.clone();
                f.tree = base.tree.clone();
                f.round += 1;
                f.rejected += 1;
                *f.rejections.entry(id.step.clone()).or_default() += 1;
                f.feedback.push(feedback);
                finish_slot(f, id);
            });
        }
        Event::TipMoved { id, tip } => {
            settle(run, id, Usage::default());
            run.tip = tip.clone();
            with(run, &id.frame, |f| finish_slot(f, id));
        }
        Event::Committed {
            id,
            commit,
            tree,
            still_failing,
            ..
        } => {
            settle(run, id, Usage::default());
            replace_baseline(run, still_failing);
            let tip = Tip {
                commit: commit.clone(),
                tree: tree.clone(),
            };
            run.tip = tip.clone();
            run.integrating.retain(|f| f != &id.frame);
            with(run, &id.frame, |f| {
                f.base = tip;
                f.commits.push(commit.clone());
                finish_slot(f, id);
            });
        }
        Event::NothingToCommit { frame } => run.integrating.retain(|f| f != frame),
        Event::Published { id, .. } => {
            settle(run, id, Usage::default());
            with(run, &id.frame, |f| finish_slot(f, id));
        }
        Event::Delivered { id, outcome } => {
            settle(run, id, Usage::default());
            with(run, &id.frame, |f| finish_slot(f, id));
            if let DeliveryOutcome::Forward { branch, .. } = outcome {
                run.branch.clone_from(branch);
            }
            run.delivered = Some(outcome.clone());
        }
        Event::BudgetWarned { what } => run.budget.warned.push(*what),
        Event::UsageMeasured { id, usage } => {
            if let Some(launch) = run.outstanding.get_mut(&id.fence) {
                launch.used = *usage;
            }
        }
        Event::DiskMeasured { bytes } => run.budget.disk_bytes = *bytes,
        Event::LimitReached { what } => run.limit = Some(*what),
        Event::LimitsRaised { limits } => {
            run.budget.limits = run.budget.limits.replaced_by(*limits);
            run.budget.warned.clear();
            run.limit = None;
        }
        Event::AccountParked {
            account,
            until,
            why,
        } => {
            let (until, why) = (*until, *why);
            run.parks.park(account, AccountPark { until, why });
        }
        Event::AccountFreed { account } => run.parks.end(account),
        Event::OutagesCleared => {
            run.outages.clear();
            run.limit = run
                .limit
                .filter(|limit| *limit != budget::LimitKind::Outage);
        }
    }
}

fn begin(run: &mut Run, started: &RunStarted) {
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
    run.message = Arc::new(started.message.clone());
    run.hands = started.hands;
    run.began_in = started.hands;
    run.basis = started.basis.clone().map(Arc::new);
    run.edited_config.clone_from(&started.edited_config);
    run.choices = started.choices.clone().map(Arc::new);
    run.baseline = Arc::new(started.baseline.clone());
    run.must_pass = started.must_pass;
    run.access = Arc::new(started.access.clone());
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
    let root = FramePath::root();
    run.frames.insert(
        root.clone(),
        Frame::new(root, None, FrameItem::Run, base.clone()),
    );
}

fn with(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut Frame)) {
    if let Some(frame) = run.frames.get_mut(path) {
        change(frame);
    }
}

/// Changes a frame, whether it is under way or may be taken up again.
fn with_kept(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut Frame)) {
    if run.frames.contains_key(path) {
        return with(run, path, change);
    }
    if let Some(mut frame) = run.failed.get(path).cloned() {
        change(&mut frame);
        run.failed.insert_mut(path.clone(), frame);
    }
}

fn revise_plan(run: &mut Run, plan: &Plan) {
    set_plan(run, plan);
    forget_dropped(run);
    rebuild_schedules(run);
}

/// Takes what checks may still fail for in place of what they could fail for until now.
fn replace_baseline(run: &mut Run, now: &[BaselineFailure]) {
    if now.is_empty() {
        return;
    }
    let baseline = Arc::make_mut(&mut run.baseline);
    baseline.retain(|known| !now.iter().any(|failure| failure.command == known.command));
    baseline.extend(now.iter().cloned());
}

/// Puts other checks in place of those of gates. What these judged before is no verdict on any tree.
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
        .chain(run.failed.keys())
        .cloned()
        .collect();
    for path in paths {
        with_kept(run, &path, |f| {
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

/// Makes a verdict one on no tree, so that it must be given again.
fn expire(verdict: Option<&mut StepVerdict>) {
    if let Some(verdict) = verdict {
        verdict.tree = Tree::default();
    }
}

/// Changes the slot an attempt belongs to, whichever of its tries is current.
fn with_slot(run: &mut Run, id: &AttemptId, change: impl FnOnce(&mut Slot)) {
    with(run, &id.frame, |f| {
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
        slot.state = SlotState::Done(None);
    }
}
