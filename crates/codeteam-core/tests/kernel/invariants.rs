//! What must hold after every event, and after every input.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::event::FrameOutcome;
use codeteam_core::frame::{Frame, FrameItem, FrameStage, QuestionKind, SlotState, SlotWork};
use codeteam_core::ids::{FramePath, PatchId, StepId, Tree};
use codeteam_core::role::RoleKind;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Effect, Event, Run};

/// What the events alone have told so far, to hold commits against.
#[derive(Clone, Default)]
pub(crate) struct InvariantWatch {
    fence: u64,
    frames: BTreeMap<FramePath, FrameEvidence>,
    completed: BTreeSet<FramePath>,
}

#[derive(Clone, Default)]
struct FrameEvidence {
    patch: Option<PatchId>,
    accepted: Option<PatchId>,
    gates: BTreeMap<StepId, (Tree, bool)>,
    reviews: BTreeMap<StepId, (Option<PatchId>, bool)>,
}

impl InvariantWatch {
    /// Looks at an event before it is applied.
    pub(crate) fn before(&mut self, run: &Run, event: &Event) {
        match event {
            Event::AttemptStarted { id, .. } => {
                assert!(id.fence > self.fence, "a fence is used twice: {id}");
                self.fence = id.fence;
            }
            Event::Asked { question, .. } => {
                assert!(question.id.fence > self.fence, "a fence is used twice");
                self.fence = question.id.fence;
            }
            Event::Answered {
                frame,
                question,
                rejects,
                change,
                reverts,
                ..
            } => {
                let asked = run.frames.get(frame).map(|f| &f.stage);
                let Some(FrameStage::Asking(open)) = asked else {
                    panic!("an answer to nothing: {question}");
                };
                assert_eq!(open.id, *question, "an answer to another question");
                let told = self.frames.entry(frame.clone()).or_default();
                if let Some(change) = change {
                    told.patch = Some(change.1.patch.clone());
                } else if *reverts {
                    told.patch = None;
                } else if open.kind == QuestionKind::Step && !rejects {
                    told.accepted.clone_from(&told.patch);
                }
            }
            Event::Accepted { frame, .. } => {
                let told = self.told(frame);
                told.accepted.clone_from(&told.patch);
            }
            Event::WorkersReassigned {
                change: Some(made), ..
            } => self.told(&made.frame).patch = Some(made.change.patch.clone()),
            Event::Committed { id, tree, .. } => self.judge_commit(run, &id.frame, tree),
            Event::FrameOpened { frame, .. } | Event::FrameResumed { frame } => {
                assert!(!self.completed.contains(frame), "{frame} is done twice");
            }
            Event::FrameEnded {
                frame,
                outcome: FrameOutcome::Completed,
            } => {
                self.completed.insert(frame.clone());
            }
            _ => {}
        }
    }

    /// Looks at an event after it was applied.
    pub(crate) fn after(&mut self, run: &Run, event: &Event) {
        match event {
            Event::AttemptStarted { .. } => {
                let budget = &run.budget;
                if let Some(limit) = budget.limits.money_microusd {
                    let bound = budget.money_microusd + budget.reserved.money_microusd;
                    assert!(bound <= limit, "{bound} may be spent of {limit}");
                }
            }
            Event::SubmissionReceived {
                id,
                change: Some((_, change)),
                ..
            }
            | Event::FrameRebased { id, change, .. } => {
                self.told(&id.frame).patch = Some(change.patch.clone());
            }
            Event::RebaseConflicted { id, .. } => self.told(&id.frame).patch = None,
            Event::GateJudged {
                id,
                step,
                tree,
                passed,
                ..
            } => {
                let told = self.told(&id.frame);
                told.gates.insert(step.clone(), (tree.clone(), *passed));
            }
            Event::StepJudged {
                frame,
                step,
                approved,
                ..
            } => {
                let told = self.told(frame);
                if !told.gates.contains_key(step) {
                    let verdict = (told.patch.clone(), *approved);
                    told.reviews.insert(step.clone(), verdict);
                }
            }
            _ => {}
        }
    }

    fn told(&mut self, frame: &FramePath) -> &mut FrameEvidence {
        self.frames.entry(frame.clone()).or_default()
    }

    /// Only a fully judged tree is integrated, or one a person has accepted.
    fn judge_commit(&mut self, run: &Run, frame: &FramePath, committed: &Tree) {
        let told = self.told(frame);
        let accepted = told.patch.is_some() && told.accepted == told.patch;
        for (step, (tree, passed)) in &told.gates {
            let judged = *passed && tree == committed;
            assert!(
                judged || (accepted && !passed),
                "{frame}: `{step}` judged {tree} ({passed}), and {committed} was committed"
            );
        }
        for (step, (patch, approved)) in &told.reviews {
            let judged = *approved && *patch == told.patch;
            let before_any_change = patch.is_none();
            assert!(
                judged || (accepted && !approved) || before_any_change,
                "{frame}: `{step}` judged {patch:?} ({approved}), and {:?} was committed",
                told.patch
            );
        }
        let turn = run.integrating.first();
        assert_eq!(turn, Some(frame), "it was not its turn");
    }
}

/// Looks at the run when an input has had all its consequences.
pub(crate) fn settled(run: &Run, due: &[Effect]) {
    assert_eq!(
        run.is_terminal(),
        due.is_empty(),
        "{:?}, and due are {due:?}",
        run.outcome
    );
    if run.outcome == Some(FrameOutcome::Completed) {
        everything_is_done(run);
    }
    no_shared_files(run);
    one_writer_and_one_turn(run, due);
    schedules_match_frames(run);
    let held: u64 = run
        .outstanding
        .values()
        .filter(|o| o.counted)
        .map(|o| o.reserved.money_microusd)
        .sum();
    assert_eq!(held, run.budget.reserved.money_microusd);
    for frame in run.frames.values() {
        something_will_happen(run, frame);
    }
}

/// A run that has gone through its tasks and is complete has left none of them undone, but those
/// of a phase a person gave up.
fn everything_is_done(run: &Run) {
    let mut steps = run.workflow.steps.values();
    if steps.any(|s| matches!(s.kind, StepKind::Each { .. }) && s.on_fail.is_some()) {
        return; // The workflow has its own way to go on without them.
    }
    for task in run.plan.iter().flat_map(|plan| &plan.tasks) {
        let phase = task.phase.as_ref().and_then(|p| run.phases.get(p));
        let status = run.task_status(&task.id);
        assert!(
            status.satisfies() || phase == Some(&TaskStatus::Skipped),
            "the run is complete and `{}` is {}",
            task.id,
            status.as_str()
        );
    }
}

fn no_shared_files(run: &Run) {
    let tasks: Vec<_> = run.frames.values().filter_map(|f| run.task_of(f)).collect();
    for (i, one) in tasks.iter().enumerate() {
        for other in &tasks[..i] {
            assert!(
                !one.files.is_empty() && !other.files.is_empty(),
                "`{}` and `{}` run side by side and one must be alone",
                one.id,
                other.id
            );
            for (a, b) in one
                .files
                .iter()
                .flat_map(|a| other.files.iter().map(move |b| (a, b)))
            {
                let within = |x: &str, y: &str| y.ends_with('/') && x.starts_with(y);
                assert!(
                    a != b && !within(a, b) && !within(b, a),
                    "`{}` and `{}` both hold {a}, {b}",
                    one.id,
                    other.id
                );
            }
        }
    }
}

fn one_writer_and_one_turn(run: &Run, due: &[Effect]) {
    let mut writers = BTreeSet::new();
    let mut integrating = 0;
    for effect in due {
        let Some(id) = effect.attempt() else { continue };
        let frame = &run.frames[&id.frame];
        integrating += usize::from(frame.stage == FrameStage::Committing);
        if let Effect::StartWorker { role, .. } = effect
            && run.roles[role].kind == RoleKind::Implementer
        {
            assert!(writers.insert(&id.frame), "two writers in {}", id.frame);
        }
    }
    assert!(integrating <= 1, "{integrating} frames integrate at once");
}

fn schedules_match_frames(run: &Run) {
    if run.is_terminal() {
        return;
    }
    for frame in run.frames.values() {
        let Some(children) = &frame.children else {
            continue;
        };
        let running: BTreeSet<FramePath> = children
            .schedule
            .running()
            .map(|i| frame.path.child(&children.names[i]))
            .collect();
        let open: BTreeSet<FramePath> = run
            .frames
            .values()
            .filter(|f| f.parent.as_ref() == Some(&frame.path))
            .map(|f| f.path.clone())
            .collect();
        assert_eq!(running, open, "below {}", frame.path);
        for (i, name) in children.names.iter().enumerate() {
            let task = codeteam_core::ids::TaskId(name.clone());
            if run.task(&task).is_some() {
                let (told, scheduled) = (run.task_status(&task), children.schedule.status(i));
                assert_eq!(told, scheduled, "{name} in {}", frame.path);
            }
        }
    }
    let active: BTreeSet<_> = run
        .frames
        .values()
        .filter_map(|f| match &f.item {
            FrameItem::Task(task) => Some(task.clone()),
            _ => None,
        })
        .collect();
    for (task, record) in &run.tasks {
        let runs = record.status == TaskStatus::Running;
        assert_eq!(runs, active.contains(task), "{task}: {record:?}");
    }
}

/// No frame is left with nothing that will ever move it.
fn something_will_happen(run: &Run, frame: &Frame) {
    if run.is_terminal() {
        return;
    }
    // Checks wait for nothing but more time.
    let out_of_time = run.limit == Some(codeteam_core::budget::LimitKind::Time);
    let at_work = frame.slots.iter().any(|slot| match slot.state {
        SlotState::Running | SlotState::Paused { .. } => true,
        // Only workers wait for room.
        SlotState::Queued => matches!(slot.work, SlotWork::Role(_)) || out_of_time,
        SlotState::Done(_) => false,
    });
    let moving = match &frame.stage {
        FrameStage::Asking(_) => true,
        // A role may be asked which task comes first.
        FrameStage::Each => {
            let mut frames = run.frames.values();
            at_work || frames.any(|f| f.parent.as_ref() == Some(&frame.path))
        }
        FrameStage::Committing => {
            let first = run.integrating.first() == Some(&frame.path);
            let under_way = frame.slots.iter().any(|s| s.state == SlotState::Running);
            run.integrating.contains(&frame.path) && (first == under_way || out_of_time)
        }
        FrameStage::Working => at_work,
        FrameStage::Ended(_) => false,
    };
    assert!(
        moving,
        "{} is stuck at {}: {:?}",
        frame.path, frame.step, frame.stage
    );
}
