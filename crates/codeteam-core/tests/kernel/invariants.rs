//! What must hold after every event, and after every input.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{Frame, FrameItem, FrameStage, QuestionKind, SlotState, SlotWork};
use codeteam_core::ids::{FramePath, PatchId, PhaseId, StepId, TaskId, Tree};
use codeteam_core::role::RoleKind;
use codeteam_core::rollback::RollbackRequest;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Effect, Event, Run};

use crate::approvals::ApprovalWatch;
use crate::git;

/// What the events alone have told so far, to hold commits against.
#[derive(Clone, Default)]
pub(crate) struct InvariantWatch {
    fence: u64,
    frames: BTreeMap<FramePath, FrameEvidence>,
    completed: BTreeSet<FramePath>,
    approvals: ApprovalWatch,
}

#[derive(Clone, Default)]
struct FrameEvidence {
    patch: Option<PatchId>,
    accepted: Option<PatchId>,
    gates: BTreeMap<StepId, (Tree, bool)>,
    reviews: BTreeMap<StepId, (Option<PatchId>, bool)>,
    /// The step that asks for a change of an interface, until that is decided.
    asks_at: Option<StepId>,
}

impl InvariantWatch {
    /// Looks at an event before it is applied.
    pub(crate) fn before(&mut self, run: &Run, event: &Event) {
        self.approvals.before(run, event);
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
                answer,
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
                } else if (open.kind == QuestionKind::Step && !rejects)
                    || (open.kind == QuestionKind::Exhausted && answer == "accept")
                {
                    told.accepted.clone_from(&told.patch);
                }
            }
            Event::Accepted { frame, .. } => {
                let told = self.told(frame);
                told.accepted.clone_from(&told.patch);
            }
            Event::Intervened { id, unscored, .. } => {
                let told = self.told(&id.frame);
                told.reviews.retain(|step, _| !unscored.contains(step));
            }
            Event::WorkersReassigned {
                change: Some(made), ..
            } => self.told(&made.frame).patch = Some(made.change.patch.clone()),
            Event::Committed { id, tree, .. } => self.judge_commit(run, &id.frame, tree),
            Event::RunRolledBack { request, .. } => self.forget_taken_back(request),
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

    /// What is taken back may be done again, and everything about it is judged anew.
    fn forget_taken_back(&mut self, request: &RollbackRequest) {
        let again: BTreeSet<&str> = request
            .plan
            .tasks
            .iter()
            .map(TaskId::as_str)
            .chain(request.plan.phases.iter().map(PhaseId::as_str))
            .collect();
        let stays = |frame: &FramePath| !frame.is_root() && !again.contains(frame.name());
        self.completed.retain(|frame| stays(frame));
        self.frames.retain(|frame, _| stays(frame));
    }

    /// Looks at an event after it was applied.
    pub(crate) fn after(&mut self, run: &Run, event: &Event) {
        match event {
            Event::RunRolledBack { request, .. } => {
                assert_eq!(run.tip, request.plan.tip);
                for task in &request.plan.tasks {
                    assert_eq!(run.task_status(task), TaskStatus::Pending, "{task}");
                }
            }
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
            Event::InterfacesLocked { id, change, .. } => {
                let change = change.as_ref().map(|change| change.patch.clone());
                self.told(&id.frame).patch = change;
            }
            Event::InterfaceChangeRequested { id, .. } => {
                // What was judged before is put aside.
                *self.told(&id.frame) = FrameEvidence {
                    asks_at: Some(id.step.clone()),
                    ..FrameEvidence::default()
                };
            }
            Event::InterfaceChanged { id, file, .. } => {
                let now = git::files(&run.tip.tree);
                assert_eq!(now.get(&file.path), Some(&file.blob));
                *self.told(&id.frame) = FrameEvidence::default();
            }
            Event::StepEntered { frame, step, .. } => {
                let told = self.told(frame);
                if told.asks_at.as_ref() == Some(step) {
                    *told = FrameEvidence::default();
                }
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
        let turn = run.integration_queue.first();
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
    locked_files_are_on_the_branch(run);
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
        interventions_are_bounded(frame);
    }
}

/// However often a leader asks for it, nothing happens more often than it may.
fn interventions_are_bounded(frame: &Frame) {
    let counts = &frame.counts.interventions;
    assert!(counts.retries <= 3, "{}: {counts:?}", frame.path);
    assert!(counts.enhancements <= 2, "{}: {counts:?}", frame.path);
    assert!(counts.escalations <= 1, "{}: {counts:?}", frame.path);
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

/// While tasks are built on its interfaces, the branch has them as the phase has locked them.
fn locked_files_are_on_the_branch(run: &Run) {
    let now = git::files(&run.tip.tree);
    let open = run.frames.values();
    for frame in open.filter(|frame| frame.stage == FrameStage::Each) {
        for file in &frame.locked {
            assert_eq!(now.get(&file.path), Some(&file.blob), "{}", frame.path);
        }
    }
}

fn no_shared_files(run: &Run) {
    let tasks: Vec<_> = run
        .frames
        .values()
        .filter_map(|f| run.frame_task(f))
        .collect();
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

/// The tasks of a phase may wait for those of a phase beside it, as long as that one moves.
fn waits_for_another_phase(run: &Run, frame: &Frame) -> bool {
    let is_phase = |f: &Frame| matches!(f.item, FrameItem::Phase(_));
    let moves = |f: &&Frame| match f.stage {
        FrameStage::Each => run
            .frames
            .values()
            .any(|below| below.parent.as_ref() == Some(&f.path)),
        _ => true,
    };
    let mut others = run
        .frames
        .values()
        .filter(|f| is_phase(f) && f.path != frame.path);
    is_phase(frame) && others.any(|f| moves(&f))
}

/// No frame is left with nothing that will ever move it.
fn something_will_happen(run: &Run, frame: &Frame) {
    if run.is_terminal() {
        return;
    }
    // Checks wait for nothing but more time.
    let out_of_time = run.reached_limit == Some(codeteam_core::budget::LimitKind::Time);
    let at_work = frame.slots.iter().any(|slot| match slot.state {
        SlotState::Running | SlotState::Paused { .. } => true,
        // The branch is moved once nothing else can move it.
        SlotState::Queued if slot.work == SlotWork::MoveBranch => !run.outstanding.is_empty(),
        // Only workers wait for room.
        SlotState::Queued => matches!(slot.work, SlotWork::Role(_)) || out_of_time,
        SlotState::Done(_) => false,
    });
    let moving = match &frame.stage {
        FrameStage::Asking(_) => true,
        // A role may be asked which task comes first.
        FrameStage::Each => {
            let mut frames = run.frames.values();
            at_work
                || frames.any(|f| f.parent.as_ref() == Some(&frame.path))
                || waits_for_another_phase(run, frame)
        }
        FrameStage::Committing => {
            let first = run.integration_queue.first() == Some(&frame.path);
            let under_way = frame.slots.iter().any(|s| s.state == SlotState::Running);
            run.integration_queue.contains(&frame.path) && (first == under_way || out_of_time)
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
