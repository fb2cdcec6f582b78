//! Seeded schedules: whatever the interleaving, the crashes and the luck, the promises hold and
//! the run comes to an end.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::budget::{BudgetLimits, Usage};
use codeteam_core::event::UnsubmittedChange;
use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::ids::{AttemptId, FramePath, StepId, TaskId};
use codeteam_core::input::Decision;
use codeteam_core::operator::Operator;
use codeteam_core::repin_check::repin_problems;
use codeteam_core::rollback::{RollbackPoint, RollbackTarget};
use codeteam_core::workflow::{ExhaustionPolicy, StepKind};
use codeteam_core::{Effect, Event, Input, Run};

use crate::fixture::{
    ALL, EACH_TASK, FEATURE, LOCKED, PHASES, RunSetup, SEQUENCE, SESSION, identity,
};
use crate::git;
use crate::workers::{SeededRandom, perform, reply, some_plan};
use crate::world::{SimulatedWorld, attempt_of};

/// For so many turns things go wrong; after that the world is kind and the run must end.
const TROUBLED: u32 = 90;
const TURNS: u32 = 1_500;
/// Every action, and people who may not.
pub(crate) const APPROVALS: &str = "low: auto if file_count < 2, no_security_sensitive_files
    medium: 1min if no_security_sensitive_files
    high: require anna ben then 20min reject if changes_auth_code
    critical: 2 of anna ben cem then 1min escalate dora if changes_key_management";

fn play(seed: u64) -> SimulatedWorld {
    let mut luck = SeededRandom::new(seed);
    let workflow = ALL[usize::try_from(seed).unwrap() % ALL.len()];
    let mut start =
        RunSetup::for_workflow(workflow).cap(usize::try_from(1 + luck.below(4)).unwrap());
    if luck.percent(70) && ![SEQUENCE, SESSION].contains(&workflow) {
        start.plan = Some(some_plan(
            &mut luck,
            [PHASES, FEATURE, LOCKED].contains(&workflow),
        ));
    }
    if seed % 4 < 2 {
        start = start.small_changes();
    }
    if seed % 5 == 3 {
        start = start.approval(APPROVALS);
    }
    if luck.percent(30) {
        start = start.money(60_000 + luck.below(400_000));
    }
    if luck.percent(20) {
        start = start.minutes(1 + luck.below(3));
    }
    if luck.percent(20) {
        start = start.tokens(500 + luck.below(2_000));
    }
    if luck.percent(20) {
        start.limits.outage_ms = Some(luck.below(60_000));
    }
    if luck.percent(50) {
        start.compiled.workflow.on_exhausted = ExhaustionPolicy::Fail;
    }
    let (trouble, pestered) = (*luck.pick(&[0, 5, 15, 30]), *luck.pick(&[0, 5, 20]));
    let mut world = SimulatedWorld::begin(&start);
    for turn in 0..TURNS {
        let (trouble, pestered) = if turn < TROUBLED {
            (trouble, pestered)
        } else {
            (0, 0)
        };
        if world.run.is_terminal() {
            let again = turn < TROUBLED && luck.percent(70);
            world.report_cancelled();
            if !again || !reopen(&mut world, &mut luck) {
                return world;
            }
            continue;
        }
        if luck.percent(4) {
            world.assert_abort_ends_it();
        }
        if luck.percent(pestered) {
            nuisance(&mut world, &mut luck, trouble);
        } else {
            go_on(&mut world, &mut luck, trouble);
        }
    }
    panic!(
        "seed {seed} does not end: {:?}\n{:#?}",
        codeteam_core::due(&world.run),
        world.run.frames
    );
}

fn reopen(world: &mut SimulatedWorld, luck: &mut SeededRandom) -> bool {
    if luck.percent(30)
        && let Some(plan) = world.run.plan.clone()
    {
        let task = luck.pick(&plan.tasks).id.clone();
        world.decide(Decision::Skip { task });
    }
    if luck.percent(30) {
        take_back(world, luck);
        return !world.run.is_terminal();
    }
    let failed: Vec<_> = world.run.failed_frames.keys().cloned().collect();
    let frame = (!failed.is_empty() && luck.percent(50)).then(|| luck.pick(&failed).clone());
    let note = "once more".to_owned();
    world.decide(retry(frame, note));
    !world.run.is_terminal()
}

/// The next thing that would happen by itself.
pub(crate) fn go_on(world: &mut SimulatedWorld, luck: &mut SeededRandom, trouble: u64) {
    world.now = world.now.plus(luck.below(3_000));
    let questions = world.questions();
    let flights: Vec<Effect> = world.flights.values().cloned().collect();
    if !world.cancelled.is_empty() && luck.percent(50) {
        world.report_cancelled();
    } else if !questions.is_empty() && (flights.is_empty() || luck.percent(30)) {
        let question = luck.pick(&questions).clone();
        if question.kind == QuestionKind::Approval {
            decide_approval(world, luck, &question, trouble);
        } else {
            let decision = reply(world, luck, &question, trouble);
            world.decide(decision);
        }
    } else if !flights.is_empty() {
        let effect = luck.pick(&flights).clone();
        if luck.percent(30)
            && let Effect::StartWorker { id, .. } = &effect
        {
            report_usage(world, luck, id);
            return;
        }
        let input = perform(world, luck, &effect, trouble);
        world.land(&input);
    } else if let Some(until) = world.next_wake() {
        world.wake(until);
    } else if world.run.reached_limit.is_some() {
        let limits = BudgetLimits {
            money_microusd: world.run.budget.limits.money_microusd.map(|l| l + 150_000),
            tokens: world.run.budget.limits.tokens.map(|l| l + 5_000),
            wall_ms: world.run.budget.limits.wall_ms.map(|l| l + 600_000),
            outage_ms: Some(world.run.budget.outage_ms() + 60_000),
            ..BudgetLimits::default()
        };
        world.decide(Decision::RaiseLimits { limits });
    } else {
        world.report_cancelled();
    }
}

/// Somebody votes or hands their vote over, or nobody does anything until the time is over.
fn decide_approval(
    world: &mut SimulatedWorld,
    luck: &mut SeededRandom,
    question: &Question,
    trouble: u64,
) {
    const PEOPLE: [&str; 6] = ["anna", "ben", "cem", "dora", "mallory", "olga"];
    if luck.percent(15)
        && let Some(until) = world.next_wake()
    {
        world.wake(until.max(world.now));
        return;
    }
    let who = *luck.pick(&PEOPLE);
    let known = luck.percent(90).then(|| identity(who));
    let decision = if luck.percent(10) {
        Decision::Delegate {
            question: question.id.clone(),
            to: (*luck.pick(&PEOPLE)).into(),
            note: String::new(),
        }
    } else {
        reply(world, luck, question, trouble)
    };
    world.decide_as(who, known, decision);
}

/// A worker under way reports what it has spent so far.
fn report_usage(world: &mut SimulatedWorld, luck: &mut SeededRandom, id: &AttemptId) {
    let usage = Usage {
        input_tokens: luck.below(100),
        cost_microusd: luck.percent(70).then(|| luck.below(1_000)),
        ..Usage::default()
    };
    let (at, id) = (world.now, id.clone());
    world.feed(&Input::UsageMeasured { at, id, usage });
}

/// Something nobody needs.
fn nuisance(world: &mut SimulatedWorld, luck: &mut SeededRandom, trouble: u64) {
    let flights: Vec<Effect> = world.flights.values().cloned().collect();
    match luck.below(20) {
        0..=2 => {
            world.crash();
        }
        3..=4 if !flights.is_empty() => {
            // Done, and nobody hears of it.
            let effect = luck.pick(&flights).clone();
            let _unheard = perform(world, luck, &effect, trouble);
            world.crash();
        }
        5..=6 => {
            let input = luck.pick(&world.inputs).clone();
            let decided = matches!(&input, Input::Decided { decision, .. }
                if matches!(decision, Decision::Answer { .. }));
            if attempt_of(&input).is_some() || decided {
                world.assert_repeats_change_nothing(&input);
                world.feed(&input);
            }
        }
        7 if !flights.is_empty() => {
            let effect = luck.pick(&flights).clone();
            let mut input = perform(&mut world.clone(), luck, &effect, 0);
            put_fence_back(&mut input);
            let events = world.feed(&input);
            assert!(events.is_empty(), "a stale fence caused {events:?}");
        }
        8 => {
            let (at, until) = (world.now, world.now.plus(20_000));
            let account = (*luck.pick(&["claude", "codex", "gemini"])).into();
            world.feed(&Input::AccountLimited { at, account, until });
        }
        9 => edit_plan(world, luck),
        10 => {
            let task = TaskId(format!("t{}", luck.below(6)));
            world.decide(Decision::Skip { task });
        }
        11 => world.git.push("b.rs", "someone"),
        12..=13 => {
            let to = *luck.pick(&[Operator::Session, Operator::Workers]);
            let change = luck.percent(50).then(|| unsubmitted(world)).flatten();
            world.decide(Decision::Reassign { to, change });
        }
        14 => {
            let note = String::new();
            world.decide(Decision::Accept { frame: None, note });
        }
        15 => {
            let questions = world.questions();
            if let Some(question) = questions.first() {
                let said = *luck.pick(&["yes", "no", "continue", "accept", "skip", "email"]);
                let (at, by) = (world.now, "session".to_owned());
                world.feed(&Input::Replied {
                    at,
                    by,
                    question: question.id.clone(),
                    answer: said.to_owned(),
                });
            }
        }
        17..=18 => take_back(world, luck),
        19 => repin(world, luck),
        16 if luck.percent(30) => {
            let reason = String::new();
            world.decide(Decision::Abort { reason });
        }
        _ => {
            let failed: Vec<_> = world.run.failed_frames.keys().cloned().collect();
            let frame = (!failed.is_empty()).then(|| luck.pick(&failed).clone());
            let note = String::new();
            world.decide(retry(frame, note));
        }
    }
}

/// A person takes the run back to some moment.
fn take_back(world: &mut SimulatedWorld, luck: &mut SeededRandom) {
    let tasks = world.run.plan.as_ref().map(|plan| plan.tasks.clone());
    let tasks = tasks.unwrap_or_default();
    let target = match luck.below(3) {
        0 if !tasks.is_empty() => RollbackTarget::Task(luck.pick(&tasks).id.clone()),
        1 if !tasks.is_empty() => {
            let phase = luck.pick(&tasks).phase.clone();
            RollbackTarget::Phase(phase.unwrap_or_else(|| "none".into()))
        }
        _ => RollbackTarget::Event(luck.below(world.run.seq + 2)),
    };
    let before = luck.percent(30);
    let tip = world.run.tip.commit.clone();
    let events = world.decide(Decision::Rollback {
        to: RollbackPoint { target, before },
        expected: luck.percent(50).then_some(tip),
        reason: String::new(),
    });
    let mut kinds = events.iter().map(Event::kind);
    assert!(
        kinds.any(|kind| ["rollback_requested", "decision_refused"].contains(&kind)),
        "a rollback is neither begun nor refused"
    );
}

/// A person takes a changed workflow into the run.
fn repin(world: &mut SimulatedWorld, luck: &mut SeededRandom) {
    let mut pinned = world.run.pinned_workflow();
    let steps: Vec<StepId> = pinned.workflow.steps.keys().cloned().collect();
    let step = luck.pick(&steps).clone();
    let changed = pinned.workflow.steps.get_mut(&step).unwrap();
    match &mut changed.kind {
        StepKind::Gate { checks } => checks.reverse(),
        StepKind::Each { cap, .. } => *cap = usize::try_from(1 + luck.below(3)).unwrap(),
        StepKind::Role(role) => role.max_question_rounds += 1,
        _ => {
            // Whoever is there has nowhere to go.
            pinned.workflow.steps.remove(&step);
        }
    }
    let is_whole = pinned.workflow.steps.len() == steps.len();
    let is_refused = !repin_problems(&world.run, &pinned).is_empty();
    if !is_whole && !is_refused {
        return; // The rest of the workflow may lead there.
    }
    let pinned = Box::new(pinned);
    let events = world.decide(Decision::RepinWorkflow { pinned });
    let is_done = events
        .iter()
        .any(|event| event.kind() == "workflow_repinned");
    let is_told = events
        .iter()
        .any(|event| event.kind() == "decision_refused");
    assert!(is_done != is_told, "{events:?}");
}

/// The run as it was after one of its events.
fn at_event(world: &SimulatedWorld, event: u64) -> Run {
    let events = world.log.iter().take(usize::try_from(event).unwrap());
    let events: Vec<Event> = events.map(|line| Event::read(1, line).unwrap()).collect();
    Run::replay(&events)
}

/// A new run from some moment of another one, killed at every event, ends with all tasks done, on
/// top of what that moment had.
#[test]
fn a_fork_from_any_moment_survives_dying_after_every_append_and_every_effect() {
    let mut with_work = 0;
    for seed in 0..150 {
        let mut luck = SeededRandom::new(seed);
        let of = *luck.pick(&[EACH_TASK, PHASES]);
        let mut start = RunSetup::for_workflow(of);
        start.plan = Some(some_plan(&mut luck, of == PHASES));
        let mut world = SimulatedWorld::begin(&start);
        for _ in 0..luck.below(120) {
            if !world.run.is_terminal() {
                go_on(&mut world, &mut luck, 5);
            }
        }
        let event = 1 + luck.below(world.run.seq);
        let then = at_event(&world, event);
        let statuses = then
            .tasks
            .iter()
            .map(|(task, record)| (task.clone(), record.status));
        start.plan = then.plan.as_deref().cloned();
        start.earlier = statuses.filter(|(_, status)| status.satisfies()).collect();
        start.forked_from = then.fork_origin(event).map(Box::new);
        start.compiled.workflow.on_exhausted = ExhaustionPolicy::Fail;
        let mut git = world.git.clone();
        git.move_back(&then.tip);
        git.begin_another_run();
        with_work += usize::from(!start.earlier.is_empty());
        let mut fork = SimulatedWorld::begin_on(&start, git);
        for _ in 0..TURNS {
            if fork.run.is_terminal() {
                break;
            }
            fork.crash();
            let flights: Vec<Effect> = fork.flights.values().cloned().collect();
            if !flights.is_empty() {
                let effect = luck.pick(&flights).clone();
                let _unheard = perform(&mut fork, &mut luck, &effect, 0);
                fork.crash();
            }
            go_on(&mut fork, &mut luck, 0);
        }
        assert!(fork.run.is_terminal(), "seed {seed} does not end");
        assert_eq!(fork.run.base, then.tip);
        assert!(fork.git.history().contains(&then.tip.tree.0));
        for task in start.earlier.keys() {
            let path = FramePath::root().child(task.as_str());
            let again = fork.run.ended_frames.get(&path);
            assert!(again.is_none(), "seed {seed} does {task} again");
        }
    }
    assert!(with_work > 20, "only {with_work} forks had finished tasks");
}

/// What a session may have in its checkout.
fn unsubmitted(world: &SimulatedWorld) -> Option<Box<UnsubmittedChange>> {
    let frame = world.run.frames.values().find(|f| !f.is_ended())?;
    let (frame, from, base) = (
        frame.path.clone(),
        frame.tree.clone(),
        frame.base.tree.clone(),
    );
    let mut files = git::files(&from);
    files.insert("d.rs".to_owned(), "half".to_owned());
    let tree = git::tree(&files);
    let change = git::change("a session", &base, &tree);
    Some(Box::new(UnsubmittedChange {
        frame,
        tree,
        change,
    }))
}

fn put_fence_back(input: &mut Input) {
    match input {
        Input::WorkerExited { id, .. }
        | Input::GateFinished { id, .. }
        | Input::Rebased { id, .. }
        | Input::Integrated { id, .. }
        | Input::Published { id, .. }
        | Input::Delivered { id, .. }
        | Input::BranchMoved { id, .. }
        | Input::InterfacesWritten { id, .. }
        | Input::RiskRead { id, .. }
        | Input::Notified { id, .. }
        | Input::EffectFailed { id, .. } => id.fence += 1_000,
        _ => {}
    }
}

fn edit_plan(world: &mut SimulatedWorld, luck: &mut SeededRandom) {
    let Some(plan) = &world.run.plan else { return };
    let mut plan = (**plan).clone();
    match luck.below(4) {
        0 => {
            let at = usize::try_from(luck.below(u64::try_from(plan.tasks.len()).unwrap())).unwrap();
            plan.tasks[at].description.push_str("And well.");
        }
        1 => {
            let mut task = luck.pick(&plan.tasks).clone();
            task.id = TaskId(format!("t{}", plan.tasks.len()));
            plan.tasks.push(task);
        }
        2 => {
            plan.tasks.pop();
        }
        _ => {
            let at = usize::try_from(luck.below(u64::try_from(plan.tasks.len()).unwrap())).unwrap();
            plan.tasks[at].files = vec!["b.rs".to_owned()];
        }
    }
    let (at, by) = (world.now, "ann".to_owned());
    let plan = Box::new(plan);
    world.feed(&Input::PlanEdited { at, by, plan });
}

/// Dies after every append, before anything that is due is done, and again after every effect,
/// before anyone hears of it. Each effect is then done once more, and lands.
fn play_dying_always(seed: u64) -> SimulatedWorld {
    let mut luck = SeededRandom::new(seed);
    let workflow = ALL[usize::try_from(seed).unwrap() % ALL.len()];
    let mut start =
        RunSetup::for_workflow(workflow).cap(usize::try_from(1 + luck.below(4)).unwrap());
    if ![SEQUENCE, SESSION].contains(&workflow) {
        start.plan = Some(some_plan(
            &mut luck,
            [PHASES, FEATURE, LOCKED].contains(&workflow),
        ));
    }
    start.compiled.workflow.on_exhausted = ExhaustionPolicy::Fail;
    if seed % 4 < 2 {
        start = start.small_changes();
    }
    if seed % 5 == 3 {
        start = start.approval(APPROVALS);
    }
    let trouble = *luck.pick(&[0, 5, 15]);
    let mut world = SimulatedWorld::begin(&start);
    for turn in 0..TURNS {
        if world.run.is_terminal() {
            return world;
        }
        let trouble = if turn < TROUBLED { trouble } else { 0 };
        world.crash();
        if turn < TROUBLED && luck.percent(2) {
            take_back(&mut world, &mut luck);
            world.crash();
        }
        let flights: Vec<Effect> = world.flights.values().cloned().collect();
        if !flights.is_empty() {
            let effect = luck.pick(&flights).clone();
            let _unheard = perform(&mut world, &mut luck, &effect, trouble);
            world.crash();
        }
        go_on(&mut world, &mut luck, trouble);
    }
    panic!(
        "seed {seed} does not end: {:?}",
        codeteam_core::due(&world.run)
    );
}

/// How many seeds die always; more by hand: `CODETEAM_TEST_SEEDS=5000`.
#[expect(clippy::disallowed_methods, reason = "set by hand")]
fn seeds() -> u64 {
    let given = std::env::var("CODETEAM_TEST_SEEDS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(400)
}

fn dying_always(of: u64) {
    for seed in (of..seeds()).step_by(ALL.len()) {
        let world = play_dying_always(seed);
        let lost = world
            .log
            .iter()
            .filter(|line| line.contains("attempt_lost"))
            .count();
        assert!(lost > 1, "seed {seed} lost {lost} attempts only");
    }
}

#[test]
fn tasks_one_by_one_survive_dying_after_every_append_and_every_effect() {
    dying_always(0);
}

#[test]
fn a_sequence_survives_dying_after_every_append_and_every_effect() {
    dying_always(1);
}

#[test]
fn a_halting_run_survives_dying_after_every_append_and_every_effect() {
    dying_always(2);
}

#[test]
fn phases_survive_dying_after_every_append_and_every_effect() {
    dying_always(3);
}

#[test]
fn a_team_survives_dying_after_every_append_and_every_effect() {
    dying_always(6);
}

#[test]
fn people_survive_dying_after_every_append_and_every_effect() {
    dying_always(4);
}

/// Plays every seed of one workflow, and sees to it that luck has reached these kinds of events.
/// Returns what a leader has decided, as it is in the logs.
fn share(of: u64, reached: &[&str]) -> Vec<String> {
    let mut decided = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for seed in (of..1_900).step_by(ALL.len()) {
        let world = play(seed);
        let events: Vec<Event> = world
            .log
            .iter()
            .map(|l| Event::read(1, l).unwrap())
            .collect();
        assert_eq!(Run::replay(&events).digest(), world.run.digest());
        let lines = world
            .log
            .iter()
            .filter(|line| line.contains("\"intervened\""));
        decided.extend(lines.cloned());
        for event in &events {
            *counts.entry(event.kind().to_owned()).or_default() += 1;
        }
    }
    for kind in reached {
        assert!(counts.contains_key(*kind), "luck has not reached {kind}");
    }
    decided
}

#[test]
fn a_team_keeps_every_promise() {
    let reached = share(
        6,
        &[
            "team_assembled",
            "quality_scored",
            "intervened",
            "answered",
            "run_reopened",
            "committed",
        ],
    );
    for word in ["continue", "retry", "enhance", "escalate", "terminate"] {
        let log = format!("\"intervention\":\"{word}\"");
        assert!(reached.iter().any(|line| line.contains(&log)), "no {word}");
    }
    let by_rule = |line: &&String| line.contains("\"by_rule\":true");
    assert!(
        reached.iter().any(|line| by_rule(&line)),
        "no rule has decided"
    );
}

#[test]
fn approvals_keep_every_promise() {
    let mut kinds = BTreeSet::new();
    for seed in (3..1_500).step_by(5) {
        let world = play(seed);
        let log = world.log.iter();
        let events: Vec<Event> = log.map(|line| Event::read(1, line).unwrap()).collect();
        assert_eq!(Run::replay(&events).digest(), world.run.digest());
        kinds.extend(events.iter().map(Event::kind));
    }
    for kind in [
        "voted",
        "approval_notice_renewed",
        "approval_timed_out",
        "approval_delegated",
        "approval_voided",
        "approval_granted",
    ] {
        assert!(kinds.contains(kind), "luck has not reached {kind}");
    }
}

#[test]
fn people_on_the_loop_keep_every_promise() {
    share(
        4,
        &[
            "choice_opened",
            "task_chosen",
            "answered",
            "plan_revised",
            "committed",
        ],
    );
}

#[test]
fn a_session_keeps_every_promise() {
    share(
        5,
        &[
            "workers_reassigned",
            "accepted",
            "decision_refused",
            "attempt_failed",
            "answered",
            "run_reopened",
            "committed",
        ],
    );
}

#[test]
fn a_session_survives_dying_after_every_append_and_every_effect() {
    for seed in (5..1_250).step_by(ALL.len()) {
        play_dying_always(seed);
    }
}

#[test]
fn tasks_one_by_one_keep_every_promise() {
    share(
        0,
        &[
            "attempt_lost",
            "attempt_spent",
            "account_parked",
            "tip_moved",
            "frame_rebased",
            "run_reopened",
            "rebase_conflicted",
            "limits_raised",
            "limit_reached",
            "usage_measured",
            "loop_detected",
            "plan_revised",
            "task_changed",
            "run_rolled_back",
            "rollback_abandoned",
            "workflow_repinned",
        ],
    );
}

#[test]
fn a_sequence_keeps_every_promise() {
    share(
        1,
        &[
            "attempt_lost",
            "attempt_spent",
            "account_parked",
            "tip_moved",
            "frame_rebased",
            "run_reopened",
            "note_given",
            "loop_detected",
        ],
    );
}

#[test]
fn a_halting_run_keeps_every_promise() {
    share(
        2,
        &[
            "attempt_lost",
            "attempt_spent",
            "account_parked",
            "tip_moved",
            "frame_rebased",
            "run_reopened",
            "frame_resumed",
            "task_changed",
        ],
    );
}

#[test]
fn phases_keep_every_promise() {
    share(
        3,
        &[
            "attempt_lost",
            "attempt_spent",
            "account_parked",
            "tip_moved",
            "frame_rebased",
            "run_reopened",
            "level_lowered",
            "breaker_opened",
            "published",
            "frame_resumed",
            "run_rolled_back",
        ],
    );
}

/// Takes failed frames up again, with plan and checks as they are.
fn retry(frame: Option<FramePath>, note: String) -> Decision {
    Decision::Retry {
        frame,
        note,
        plan: None,
        checks: BTreeMap::new(),
    }
}
