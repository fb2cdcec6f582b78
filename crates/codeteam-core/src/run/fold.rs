//! How each event changes a run.

use std::sync::Arc;

use super::{Outstanding, Run, TaskRecord};
use crate::budget::{Budget, Usage};
use crate::event::{Entry, Event, Outcome, RunStarted};
use crate::frame::{
    Children, Feedback, Frame, FrameChange, Item, Judged, QuestionKind, Slot, SlotState, Stage,
    Tip, Work,
};
use crate::ids::{AttemptId, FramePath, StepId, TaskId};
use crate::plan::Plan;
use crate::schedule::Status;
use crate::submission::Submission;
use crate::workflow::{Step, StepKind};

/// Folds one event into a run. Total: an event that does not fit changes nothing but the count.
#[expect(
    clippy::too_many_lines,
    reason = "one arm per event; most only record it"
)]
pub fn apply(run: &mut Run, event: &Event) {
    run.seq += 1;
    match event {
        Event::RunStarted(started) => begin(run, started),
        Event::RunResumed { .. } | Event::BreakerOpened { .. } | Event::DecisionRefused { .. } => {}
        Event::RunEnded { outcome, .. } => {
            run.outcome = Some(outcome.clone());
            run.integrating.clear();
        }
        Event::RunReopened { .. } => reopen(run),
        Event::FrameOpened { frame, item, base } => open_frame(run, frame, item, base),
        Event::FrameResumed { frame } => resume_frame(run, frame),
        Event::FrameEnded { frame, outcome } => end_frame(run, frame, outcome),
        Event::StepEntered {
            frame,
            step,
            generation,
            why,
        } => enter(run, frame, step, *generation, *why),
        Event::StepSkipped { frame, step } => with(run, frame, |f| {
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
            let counted = matches!(work, Work::Role(_));
            if counted {
                run.budget.reserve(*reserved);
            }
            let launch = Outstanding {
                id: id.clone(),
                reserved: *reserved,
                counted,
            };
            run.outstanding.insert(id.fence, launch);
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
            usage,
            ..
        } => {
            settle(run, id, *usage);
            let policy = crate::breaker::Policy::default();
            with(run, &id.frame, |f| {
                if *action != crate::failure::Action::Park {
                    let breaker = f.breakers.entry(id.step.clone()).or_default();
                    breaker.record(*at, &policy);
                }
                if let Some(slot) = f.slot_mut(id) {
                    slot.state = SlotState::Done(None);
                    if *action == crate::failure::Action::RetryWithFeedback {
                        slot.feedback.push(facts.message.clone());
                    }
                }
            });
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
        Event::SlotAbstained { id, .. } => {
            with_slot(run, id, |slot| slot.state = SlotState::Done(None));
        }
        Event::SubmissionReceived {
            id,
            submission,
            usage,
            change,
            vote,
            ..
        } => {
            settle(run, id, *usage);
            receive(run, id, submission, change.as_ref(), *vote);
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
                judge(f, step, *passed, tree, true);
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
        Event::PlanProposed { plan } | Event::PlanRevised { plan } => {
            set_plan(run, plan);
            forget_dropped(run);
            rebuild_schedules(run);
        }
        Event::TaskChanged {
            frame,
            task,
            status,
        } => change_task(run, frame, task, *status),
        Event::Asked { frame, question } => {
            run.fence = run.fence.max(question.id.fence);
            // A person may take long; the turn to integrate goes to the next.
            run.integrating.retain(|f| f != frame);
            with(run, frame, |f| f.stage = Stage::Asking(question.clone()));
        }
        Event::Answered {
            frame,
            answer,
            note,
            resets,
            rejects,
            ..
        } => {
            answered(run, frame, answer, note, *resets, *rejects);
        }
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
                f.base = base.clone();
                f.tree = base.tree.clone();
                f.round += 1;
                f.rejected += 1;
                *f.rejections.entry(id.step.clone()).or_default() += 1;
                f.feedback.push(Feedback {
                    from: id.step.clone(),
                    text: format!(
                        "The change conflicts with what was integrated meanwhile, in {}. \
                         Make it again on the new base; the diff of the old one is attached.",
                        files.join(", ")
                    ),
                    body: old.map(|change| change.diff),
                });
                finish_slot(f, id);
            });
        }
        Event::TipMoved { id, tip } => {
            settle(run, id, Usage::default());
            run.tip = tip.clone();
            with(run, &id.frame, |f| finish_slot(f, id));
        }
        Event::Committed {
            id, commit, tree, ..
        } => {
            settle(run, id, Usage::default());
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
        Event::BudgetWarned { what } => run.budget.warned.push(*what),
        Event::LimitReached { what } => run.limit = Some(*what),
        Event::LimitsRaised { limits } => {
            run.budget.limits = run.budget.limits.replaced_by(*limits);
            run.budget.warned.clear();
            run.limit = None;
        }
        Event::AccountParked { account, until } => run.parks.park(account, *until),
        Event::AccountFreed { account } => run.parks.end(account),
    }
}

fn begin(run: &mut Run, started: &RunStarted) {
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
    run.workflow = Arc::new(workflow.clone());
    run.roles = Arc::new(roles.clone());
    run.base = base.clone();
    run.tip = base.clone();
    run.branch.clone_from(branch);
    run.confinement.clone_from(&started.confinement);
    run.max_tasks = started.max_tasks;
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
        Frame::new(root, None, Item::Run, base.clone()),
    );
}

fn set_plan(run: &mut Run, plan: &Plan) {
    let positions = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(i, t)| (t.id.clone(), i))
        .collect();
    run.positions = Arc::new(positions);
    run.plan = Some(Arc::new(plan.clone()));
}

fn with(run: &mut Run, path: &FramePath, change: impl FnOnce(&mut Frame)) {
    if let Some(frame) = run.frames.get_mut(path) {
        change(frame);
    }
}

/// Changes the slot an attempt belongs to, whichever of its tries is current.
fn with_slot(run: &mut Run, id: &AttemptId, change: impl FnOnce(&mut Slot)) {
    with(run, &id.frame, |f| {
        if f.step == id.step
            && f.generation == id.generation
            && let Some(slot) = f.slots.get_mut(id.slot as usize)
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

fn settle(run: &mut Run, id: &AttemptId, usage: Usage) {
    if let Some(Outstanding {
        reserved,
        counted: true,
        ..
    }) = run.outstanding.remove(&id.fence)
    {
        run.budget.settle(reserved, usage);
    }
}

fn judge(
    frame: &mut Frame,
    step: &StepId,
    approved: bool,
    tree: &crate::ids::Tree,
    by_checks: bool,
) {
    let patch = frame.change.as_ref().map(|change| change.patch.clone());
    let verdict = Judged {
        approved,
        tree: tree.clone(),
        patch,
        by_checks,
    };
    frame.verdicts.insert(step.clone(), verdict);
}

fn receive(
    run: &mut Run,
    id: &AttemptId,
    submission: &Submission,
    change: Option<&(crate::ids::Tree, FrameChange)>,
    vote: Option<bool>,
) {
    with(run, &id.frame, |f| {
        if let Some(slot) = f.slot_mut(id) {
            slot.state = SlotState::Done(vote);
        }
        match submission {
            Submission::Requirements(r) => f.outputs.requirements = Some(r.requirements.clone()),
            Submission::Design(d) => f.outputs.design = Some(d.clone()),
            Submission::Text(t) => f.outputs.text = Some(t.message.clone()),
            Submission::Change(c) => {
                f.outputs.change = Some(c.clone());
                f.outputs.text = None;
                f.feedback.clear();
            }
            Submission::Verdict(v) => {
                f.reasons.insert(id.slot, v.reason.clone());
            }
            Submission::Questions(_) | Submission::Plan(_) | Submission::Blocked(_) => {}
        }
        if let Some((tree, change)) = change {
            f.seen.record(&id.step, &change.patch, f.round);
            f.tree = tree.clone();
            f.change = Some(change.clone());
        }
    });
}

fn enter(run: &mut Run, path: &FramePath, step: &StepId, generation: u32, why: Entry) {
    let Some(frame) = run.frames.get(path) else {
        return;
    };
    let Some(definition) = run.step(step) else {
        return;
    };
    let definition = &Step::clone(definition);
    // An `each` step that is entered anew tries what had failed again; one that is taken up again
    // only what a person named.
    let children = match why {
        Entry::Resumed => run.children_of(frame, definition, is_over),
        _ => run.children_of(frame, definition, Status::satisfies),
    };
    if let Some(children) = &children {
        follow_schedule(run, children);
    }
    let work: Vec<Work> = match &definition.kind {
        StepKind::Role(role) => role.slots.iter().cloned().map(Work::Role).collect(),
        StepKind::Gate { .. } => vec![Work::Gate(step.clone())],
        // What it does first depends on where the tip is; `AttemptStarted` says it.
        StepKind::Commit { .. } => vec![Work::Integrate],
        StepKind::Publish { .. } => vec![Work::Publish],
        StepKind::Person { .. } | StepKind::Each { .. } => Vec::new(),
    };
    let stage = match &definition.kind {
        StepKind::Each { .. } => Stage::Each,
        StepKind::Commit { .. } => Stage::Committing,
        _ => Stage::Working,
    };
    let commits = stage == Stage::Committing;
    run.integrating.retain(|f| f != path);
    if commits {
        run.integrating.push(path.clone());
    }
    let tip = run.tip.clone();
    with(run, path, |f| {
        if f.step != *step {
            f.question_rounds = 0;
        }
        if f.tree == f.base.tree {
            // Nothing of its own to lose: it sees what was integrated meanwhile, by the frames
            // below it too.
            f.tree = tip.tree.clone();
            f.base = tip;
        }
        if why == Entry::Rebound {
            f.since_rebound = 0;
        }
        f.step = step.clone();
        f.generation = generation;
        f.visits.insert(step.clone(), generation);
        f.entered += 1;
        f.reasons.clear();
        f.stage = stage;
        f.children = children;
        f.slots = work
            .into_iter()
            .zip(0..)
            .map(|(work, slot)| Slot {
                id: AttemptId {
                    frame: path.clone(),
                    step: step.clone(),
                    generation,
                    slot,
                    attempt: 1,
                    fence: 0,
                },
                work,
                worker: None,
                state: SlotState::Queued,
                feedback: Vec::new(),
            })
            .collect();
    });
}

fn is_over(status: Status) -> bool {
    status.satisfies() || status == Status::Failed
}

/// What a new schedule no longer blocks or counts as failed is so in the tasks' records too, and
/// the other way round.
fn follow_schedule(run: &mut Run, children: &Children) {
    let held_up = |status| matches!(status, Status::Blocked | Status::Failed);
    for (i, name) in children.names.iter().enumerate() {
        let id = TaskId(name.clone());
        let (known, now) = (run.task_status(&id), children.schedule.status(i));
        if known != now && (held_up(known) || now == Status::Blocked) {
            set_status(run, &id, now);
        }
    }
}

fn open_frame(run: &mut Run, path: &FramePath, item: &Item, base: &Tip) {
    let parent = parent_of(path);
    start_child(run, &parent, path.name());
    let frame = Frame::new(path.clone(), Some(parent), item.clone(), base.clone());
    run.frames.insert(path.clone(), frame);
    note(run, item, |record| record.status = Status::Running);
}

fn resume_frame(run: &mut Run, path: &FramePath) {
    let Some(mut frame) = run.failed.get(path).cloned() else {
        return;
    };
    run.failed.remove_mut(path);
    if let Some(parent) = &frame.parent {
        start_child(run, &parent.clone(), path.name());
    }
    frame.reset_counts();
    frame.stage = Stage::Working;
    let item = frame.item.clone();
    run.frames.insert(path.clone(), frame);
    note(run, &item, |record| {
        record.status = Status::Running;
        record.why = None;
    });
}

fn start_child(run: &mut Run, parent: &FramePath, name: &str) {
    with(run, parent, |f| {
        if let Some(children) = &mut f.children
            && let Some(i) = children.position(name)
        {
            children.schedule.start(i);
        }
    });
}

fn end_frame(run: &mut Run, path: &FramePath, outcome: &Outcome) {
    run.integrating.retain(|f| f != path);
    let Some(frame) = run.frames.get_mut(path) else {
        return;
    };
    frame.stage = Stage::Ended(outcome.clone());
    for slot in &mut frame.slots {
        if slot.state != SlotState::Running {
            slot.state = SlotState::Done(None);
        }
    }
    if frame.parent.is_none() {
        return;
    }
    let Some(frame) = run.frames.remove(path) else {
        return;
    };
    let status = match outcome {
        Outcome::Completed => Status::Completed,
        Outcome::Failed(_) => Status::Failed,
        Outcome::Skipped => Status::Skipped,
        Outcome::Cancelled | Outcome::Aborted(_) => Status::Pending,
    };
    note(run, &frame.item, |record| {
        record.status = status;
        record.rounds = frame.round;
        record.commits.clone_from(&frame.commits);
        if let Outcome::Failed(why) = outcome {
            record.why = Some(why.clone());
        }
    });
    let blocked = end_child(run, &frame, status);
    for name in blocked {
        set_status(run, &TaskId(name), Status::Blocked);
    }
    if !status.satisfies() {
        // Its counts go on if it is taken up again, so that no attempt has the name of another.
        run.failed.insert_mut(path.clone(), frame);
    }
}

/// Tells the parent's schedule; returns the names of what is blocked now.
fn end_child(run: &mut Run, frame: &Frame, status: Status) -> Vec<String> {
    let Some(parent) = frame.parent.as_ref().and_then(|p| run.frames.get_mut(p)) else {
        return Vec::new();
    };
    let halts = run
        .workflow
        .steps
        .get(&parent.step)
        .is_some_and(|step| matches!(step.kind, StepKind::Each { halt: true, .. }));
    let Some(children) = &mut parent.children else {
        return Vec::new();
    };
    let Some(i) = children.position(frame.path.name()) else {
        return Vec::new();
    };
    let blocked = children.schedule.end(i, status);
    children.halted |= halts && status == Status::Failed;
    if !matches!(frame.item, Item::Task(_)) {
        return Vec::new();
    }
    blocked
        .into_iter()
        .filter_map(|b| children.names.get(b).cloned())
        .collect()
}

fn note(run: &mut Run, item: &Item, change: impl FnOnce(&mut TaskRecord)) {
    match item {
        Item::Run => {}
        Item::Phase(phase) => {
            let mut record = TaskRecord::default();
            change(&mut record);
            run.phases.insert_mut(phase.clone(), record.status);
        }
        Item::Task(task) => {
            let mut record = run.tasks.get(task).cloned().unwrap_or_default();
            change(&mut record);
            run.tasks.insert_mut(task.clone(), record);
        }
    }
}

/// Sets the status of a task of the plan; phases stand in the same schedules and are not tasks.
fn set_status(run: &mut Run, task: &TaskId, status: Status) {
    if run.positions.contains_key(task) {
        note(run, &Item::Task(task.clone()), |record| {
            record.status = status;
        });
    }
}

fn parent_of(path: &FramePath) -> FramePath {
    match path.as_str().rsplit_once('/') {
        Some((parent, _)) => FramePath::from(parent),
        None => FramePath::root(),
    }
}

/// The run's own frame goes back to what it was doing when it ended.
fn reopen(run: &mut Run) {
    run.outcome = None;
    with(run, &FramePath::root(), |f| {
        f.stage = if f.children.is_some() {
            Stage::Each
        } else {
            Stage::Working
        };
        if let Some(children) = &mut f.children {
            children.halted = false;
        } else {
            f.reset_counts();
        }
    });
}

fn change_task(run: &mut Run, path: &FramePath, task: &TaskId, status: Status) {
    set_status(run, task, status);
    if status == Status::Skipped {
        run.failed.remove_mut(path);
    }
    let freed = {
        let parent = run.frames.get_mut(&parent_of(path));
        let Some(children) = parent.and_then(|f| f.children.as_mut()) else {
            return;
        };
        let Some(i) = children.position(task.as_str()) else {
            return;
        };
        let freed = match status {
            Status::Pending => children.schedule.reopen(i),
            Status::Skipped => children.schedule.skip(i),
            Status::Running | Status::Completed | Status::Failed | Status::Blocked => Vec::new(),
        };
        let names = freed.into_iter().filter_map(|i| children.names.get(i));
        names.cloned().collect::<Vec<_>>()
    };
    for name in freed {
        set_status(run, &TaskId(name), Status::Pending);
    }
}

fn answered(
    run: &mut Run,
    frame: &FramePath,
    answer: &str,
    note: &str,
    resets: bool,
    rejects: bool,
) {
    with(run, frame, |f| {
        let Stage::Asking(question) = &f.stage else {
            return;
        };
        let question = question.clone();
        match question.kind {
            QuestionKind::Analyst => {
                f.question_rounds += 1;
                f.outputs
                    .answers
                    .push((question.points.clone(), answer.to_owned()));
            }
            QuestionKind::Degraded => f.level_accepted = answer == "accept",
            QuestionKind::Step if !rejects => {
                f.accepted = f.change.as_ref().map(|change| change.patch.clone());
                f.answered.insert(f.step.clone(), answer.to_owned());
            }
            _ => {
                f.answered.insert(f.step.clone(), answer.to_owned());
            }
        }
        if resets {
            f.reset_counts();
        }
        if rejects {
            f.round += 1;
            f.rejected += 1;
        }
        if !note.trim().is_empty() {
            let feedback = Feedback {
                from: f.step.clone(),
                text: note.to_owned(),
                body: None,
            };
            f.feedback.push(feedback);
        }
        f.stage = Stage::Working;
    });
}

/// Frames and records of tasks that are no longer in the plan.
fn forget_dropped(run: &mut Run) {
    let dropped: Vec<TaskId> = run
        .tasks
        .keys()
        .filter(|task| !run.positions.contains_key(*task))
        .cloned()
        .collect();
    for task in dropped {
        run.tasks.remove_mut(&task);
        let frames = run.failed.iter();
        let path = frames
            .filter(|(_, frame)| frame.item == Item::Task(task.clone()))
            .map(|(path, _)| path.clone())
            .next();
        if let Some(path) = path {
            run.failed.remove_mut(&path);
        }
    }
}

fn rebuild_schedules(run: &mut Run) {
    let paths: Vec<FramePath> = run
        .frames
        .values()
        .filter(|f| f.children.is_some())
        .map(|f| f.path.clone())
        .collect();
    for path in paths {
        let Some(frame) = run.frames.get(&path) else {
            continue;
        };
        let Some(step) = run.step(&frame.step) else {
            continue;
        };
        let children = run.children_of(frame, step, is_over);
        if let Some(children) = &children {
            follow_schedule(run, children);
        }
        with(run, &path, |f| f.children = children);
    }
}
