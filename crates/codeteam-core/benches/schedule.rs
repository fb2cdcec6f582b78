//! What the scheduler and the kernel cost as plans grow: at most linear in all, so about the same
//! for each task. Prints nanoseconds per task and whether the goals are met.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a bench measures time and prints"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use codeteam_core::budget::BudgetLimits;
use codeteam_core::event::{RunAccess, RunStarted};
use codeteam_core::frame::Tip;
use codeteam_core::ids::{EpochMillis, TaskId};
use codeteam_core::input::{WorkerOutcome, WorkerReport};
use codeteam_core::plan::{Plan, Task};
use codeteam_core::schedule::{Schedule, TaskStatus};
use codeteam_core::{Effect, Input, Run, decide, due};
use codeteam_workflow::language::compile_file;

const CAP: usize = 8;

/// Tasks of which two in three depend on an earlier one and all hold files, some of them shared.
fn plan(n: usize) -> Plan {
    let tasks = (0..n).map(|i| Task {
        id: TaskId(format!("t{i}")),
        dependencies: match i % 3 {
            0 => Vec::new(),
            1 => vec![TaskId(format!("t{}", i - 1))],
            _ => vec![TaskId(format!("t{}", i / 2)), TaskId(format!("t{}", i - 1))],
        },
        files: match i % 5 {
            0 => vec![format!("src/shared{}.rs", i % 50)],
            1 => vec![format!("src/m{}/", i % 100), format!("f{i}.rs")],
            2 => vec![format!("src/m{}/a.rs", i % 100)],
            _ => vec![format!("f{i}.rs")],
        },
        ..Task::default()
    });
    Plan {
        tasks: tasks.collect(),
        ..Plan::default()
    }
}

/// Nanoseconds per task to start and complete a whole plan.
fn schedule(n: usize) -> u128 {
    let plan = plan(n);
    let clock = Instant::now();
    let mut schedule = Schedule::new(&plan, CAP, &BTreeMap::new());
    let mut running = std::collections::VecDeque::new();
    while !schedule.is_finished() {
        while let Some(task) = schedule.next() {
            schedule.start(task);
            running.push_back(task);
        }
        match running.pop_front() {
            Some(task) => drop(schedule.end(task, TaskStatus::Completed)),
            None => break,
        }
    }
    assert_eq!(
        schedule.count(TaskStatus::Completed),
        n,
        "not everything was done"
    );
    clock.elapsed().as_nanos() / n as u128
}

const WORKFLOW: &str = "
name: bench
start: tasks
roles: { scribe: { kind: scribe, worker: none } }
steps:
  tasks:
    each: task
    cap: 8
    next: done
    start: write
    steps:
      write: { role: scribe, next: done }
";

/// Nanoseconds per event, and events per task, to take a whole plan through the kernel.
fn kernel(n: usize) -> (u128, u128) {
    let Ok(compiled) = compile_file("bench.yml", WORKFLOW, &[]) else {
        return (0, 0);
    };
    let mut run = Run::default();
    let feed = |run: &mut Run, input: &Input| {
        let decided = decide(run, input);
        *run = decided.run;
        decided.events.len()
    };
    let began = Input::Began(Box::new(RunStarted {
        run: "bench".into(),
        at: EpochMillis(0),
        goal: String::new(),
        goal_files: Vec::new(),
        goal_tests: Vec::new(),
        workflow: compiled.workflow,
        roles: compiled.roles,
        base: Tip::default(),
        branch: String::new(),
        plan: Some(plan(n)),
        earlier: BTreeMap::new(),
        earlier_phases: BTreeSet::new(),
        limits: BudgetLimits::default(),
        plan_id: String::new(),
        max_tasks: n,
        confinement: String::new(),
        sandbox: codeteam_core::event::SandboxKind::default(),
        accounts: BTreeMap::new(),
        resting: BTreeMap::new(),
        rules: Vec::new(),
        templates: BTreeMap::new(),
        hands: codeteam_core::operator::Operator::default(),
        basis: None,
        edited_config: Vec::new(),
        choices: None,
        baseline: Vec::new(),
        must_pass: false,
        forked_from: None,
        network: Vec::new(),
        approval: None,
        access: RunAccess::default(),
        strategies: BTreeMap::new(),
        message: codeteam_core::message::MessageFormat::default(),
    }));
    feed(&mut run, &began);
    let clock = Instant::now();
    let mut events = 0;
    while !run.is_terminal() {
        let next = due(&run).into_iter().find_map(|effect| match effect {
            Effect::StartWorker { id, .. } => Some(id),
            _ => None,
        });
        let Some(id) = next else { break };
        let report = WorkerReport {
            session: None,
            log: None,
            edited: Vec::new(),
            failed_write: None,
            end: WorkerOutcome::Answered(r#"{"message":"done"}"#.to_owned()),
            usage: codeteam_core::budget::Usage::default(),
            model: None,
            transcript: None,
            change: None,
        };
        let report = Box::new(report);
        events += feed(
            &mut run,
            &Input::WorkerExited {
                at: EpochMillis(1),
                id,
                report,
            },
        );
    }
    assert!(run.is_terminal(), "it did not end");
    let spent = clock.elapsed().as_nanos();
    (spent / events.max(1) as u128, events as u128 / n as u128)
}

fn verdict(met: bool) -> &'static str {
    if met { "ok" } else { "MISSED" }
}

fn main() {
    // Under `cargo test` it only shows that it works.
    let measuring = std::env::args().any(|arg| arg == "--bench");
    let largest = if measuring { 1_000_000 } else { 1_000 };
    let mut at_10k = 1;
    let sizes = [1_000, 10_000, 100_000, 1_000_000];
    for n in sizes.into_iter().filter(|n| *n <= largest) {
        let each = schedule(n);
        if n == 10_000 {
            at_10k = each.max(1);
        }
        let ratio = each * 100 / at_10k;
        println!("schedule {n:>9} tasks: {each:>6} ns per task");
        if n > 10_000 {
            let (whole, rest) = (ratio / 100, ratio % 100);
            let met = verdict(ratio <= 250);
            println!("         {whole}.{rest:02} times that of 10000 (goal: at most 2.5) {met}");
        }
    }
    let (small, _) = kernel(1_000);
    if !measuring {
        return;
    }
    let (large, events) = kernel(10_000);
    println!("kernel        1000 tasks: {small:>6} ns per event");
    println!("kernel       10000 tasks: {large:>6} ns per event, {events} events per task");
    println!(
        "         (goal: at most 2 times that of 1000) {}",
        verdict(large <= 2 * small)
    );
}
