//! Scheduling, by example and by property.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::plan::{Phase, Task};

fn task(id: usize, on: &[usize], files: &[&str]) -> Task {
    Task {
        id: format!("t{id}").into(),
        dependencies: on.iter().map(|d| format!("t{d}").into()).collect(),
        files: files.iter().map(|f| (*f).to_owned()).collect(),
        ..Task::default()
    }
}

fn schedule(tasks: Vec<Task>, cap: usize) -> Schedule {
    let plan = Plan {
        tasks,
        ..Plan::default()
    };
    assert_eq!(plan.check(usize::MAX), []);
    Schedule::new(&plan, cap, &BTreeMap::new())
}

fn start_all(schedule: &mut Schedule) -> Vec<usize> {
    std::iter::from_fn(|| {
        let task = schedule.next()?;
        schedule.start(task);
        Some(task)
    })
    .collect()
}

#[test]
fn dependents_start_as_soon_as_their_own_dependencies_end() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[], &["b"]),
            task(2, &[0], &["c"]),
            task(3, &[1, 2], &["d"]),
        ],
        8,
    );
    assert_eq!(start_all(&mut s), [0, 1]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2], "no barrier: t1 still runs");
    s.end(2, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [] as [usize; 0]);
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [3]);
}

#[test]
fn a_task_that_started_early_and_failed_waits_for_those_before_it_that_failed() {
    let phase = |id: &str, sequence| Phase {
        id: id.into(),
        sequence,
        ..Phase::default()
    };
    let in_phase = |id, phase: &str| Task {
        phase: Some(phase.into()),
        ..task(id, &[], &[if id == 0 { "a" } else { "b" }])
    };
    let plan = Plan {
        phases: vec![phase("first", 1), phase("second", 2)],
        tasks: vec![in_phase(0, "first"), in_phase(1, "second")],
        ..Plan::default()
    };
    let mut s = Schedule::new(&plan, 8, &BTreeMap::new());
    assert_eq!(start_all(&mut s), [0]);
    assert!(!s.may_start(1) && s.may_start_early(1));
    s.start(1);
    s.end(1, TaskStatus::Failed);
    s.end(0, TaskStatus::Failed);
    assert_eq!(s.reopen(1), [] as [usize; 0]);
    assert_eq!(s.status(1), TaskStatus::Blocked);
    assert!(s.is_finished() && !s.may_start_early(1));
    assert_eq!(s.reopen(0), [1]);
    assert_eq!(start_all(&mut s), [0]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [1]);
}

/// `decide` never starts two tasks that change one file, but a log is only read.
#[test]
fn a_file_that_two_running_tasks_hold_is_released_in_the_end() {
    let mut s = schedule((0..3).map(|id| task(id, &[], &["a"])).collect(), 8);
    s.start(0);
    assert_eq!(s.next(), None);
    s.start(1);
    s.end(0, TaskStatus::Completed);
    assert_eq!(s.next(), None, "1 still holds it");
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
}

#[test]
fn of_those_that_may_start_the_more_urgent_is_first() {
    let urgent = |task: Task, priority| Task { priority, ..task };
    let mut s = schedule(
        vec![
            urgent(task(0, &[], &["a"]), TaskPriority::Low),
            task(1, &[], &["b"]),
            urgent(task(2, &[1], &["c"]), TaskPriority::High),
            urgent(task(3, &[], &["b"]), TaskPriority::High),
            task(4, &[], &["b"]),
        ],
        1,
    );
    assert_eq!(start_all(&mut s), [3], "2 is as urgent, and waits for 1");
    assert_eq!(s.candidates().count(), 0, "the cap");
    s.end(3, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [1]);
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
    s.end(2, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [4]);
    s.end(4, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [0]);
}

#[test]
fn of_those_that_wait_for_a_file_the_more_urgent_gets_it() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[], &["a"]),
            Task {
                priority: TaskPriority::High,
                ..task(2, &[3], &["a"])
            },
            task(3, &[], &["b"]),
        ],
        8,
    );
    assert_eq!(start_all(&mut s), [0, 3]);
    s.end(3, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [] as [usize; 0]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
}

#[test]
fn a_file_is_held_by_one_task_and_folders_hold_what_is_in_them() {
    let mut s = schedule(
        vec![
            task(0, &[], &["src/a.rs"]),
            task(1, &[], &["src/"]),
            task(2, &[], &["src/a.rs", "b"]),
            task(3, &[], &["docs/x.md"]),
        ],
        8,
    );
    assert_eq!(start_all(&mut s), [0, 3]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [1]);
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
}

#[test]
fn a_task_without_files_runs_alone_and_is_not_overtaken() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[], &[]),
            task(2, &[], &["b"]),
        ],
        8,
    );
    assert_eq!(start_all(&mut s), [0]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [1]);
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
}

#[test]
fn a_failure_blocks_what_is_behind_it_and_nothing_else() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[0], &["b"]),
            task(2, &[1], &["c"]),
            task(3, &[], &["d"]),
        ],
        8,
    );
    start_all(&mut s);
    assert_eq!(s.end(0, TaskStatus::Failed), [1, 2]);
    s.end(3, TaskStatus::Completed);
    assert!(s.is_finished());
    s.reopen(0);
    assert_eq!(s.count(TaskStatus::Pending), 3);
    assert_eq!(start_all(&mut s), [0]);
    s.end(0, TaskStatus::Skipped);
    assert_eq!(
        start_all(&mut s),
        [1],
        "a skipped task does not hold up its dependents"
    );
}

#[test]
fn a_task_that_completes_while_its_dependent_is_blocked_still_counts() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[], &["b"]),
            task(2, &[0, 1], &["c"]),
        ],
        8,
    );
    start_all(&mut s);
    s.end(0, TaskStatus::Failed);
    s.end(1, TaskStatus::Completed);
    s.reopen(0);
    assert_eq!(start_all(&mut s), [0]);
    s.end(0, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [2]);
}

#[test]
fn a_later_phase_waits_for_every_task_of_the_one_before() {
    let phase = |id: &str, sequence| Phase {
        id: id.into(),
        sequence,
        ..Phase::default()
    };
    let in_phase = |mut t: Task, p: &str| {
        t.phase = Some(p.into());
        t
    };
    let plan = Plan {
        phases: vec![phase("one", 10), phase("also", 10), phase("two", 20)],
        tasks: vec![
            in_phase(task(0, &[], &["z"]), "two"),
            in_phase(task(1, &[], &["a"]), "one"),
            in_phase(task(2, &[], &["b"]), "also"),
        ],
        ..Plan::default()
    };
    let mut s = Schedule::new(&plan, 8, &BTreeMap::new());
    assert_eq!(start_all(&mut s), [1, 2]);
    s.end(1, TaskStatus::Completed);
    assert_eq!(start_all(&mut s), [] as [usize; 0]);
    assert_eq!(s.end(2, TaskStatus::Failed), [0]);
    assert!(s.is_finished());
}

#[test]
fn what_an_earlier_run_finished_is_not_done_again() {
    let plan = Plan {
        tasks: vec![task(0, &[], &["a"]), task(1, &[0], &["b"])],
        ..Plan::default()
    };
    let earlier = BTreeMap::from([(0, TaskStatus::Completed)]);
    let mut s = Schedule::new(&plan, 8, &earlier);
    assert_eq!(start_all(&mut s), [1]);
}

#[test]
fn many_tasks_on_one_file_take_turns_in_linear_time() {
    let n = 20_000;
    let mut s = schedule((0..n).map(|i| task(i, &[], &["same"])).collect(), 4);
    for _ in 0..n {
        let started = start_all(&mut s);
        assert_eq!(started.len(), 1);
        s.end(started[0], TaskStatus::Completed);
    }
    assert!(s.is_finished());
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let one = (
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        prop::collection::vec(0..5_u8, 0..3),
        0..3_u32,
    );
    prop::collection::vec(one, 1..24).prop_map(|raw| {
        let phases = (0..3).map(|i| Phase {
            id: format!("p{i}").into(),
            sequence: i,
            ..Phase::default()
        });
        let mut tasks: Vec<Task> = Vec::new();
        for (i, (on, files, phase)) in raw.into_iter().enumerate() {
            let files: Vec<String> = files.iter().map(|f| format!("f{f}")).collect();
            let names: Vec<&str> = files.iter().map(String::as_str).collect();
            let on: BTreeSet<usize> = if i == 0 {
                BTreeSet::new()
            } else {
                on.iter().map(|ix| ix.index(i)).collect()
            };
            let on: Vec<usize> = on
                .into_iter()
                .filter(|d| {
                    tasks[*d]
                        .phase
                        .as_ref()
                        .is_some_and(|p| p.as_str() <= format!("p{phase}").as_str())
                })
                .collect();
            let mut t = task(i, &on, &names);
            t.phase = Some(format!("p{phase}").into());
            tasks.push(t);
        }
        Plan {
            phases: phases.collect(),
            tasks,
            ..Plan::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the plan and the luck: never two holders of a file, never over the cap, never
    /// before a dependency or an earlier phase, and it always finishes.
    #[test]
    fn schedules_are_safe_and_live(plan in any_plan(), cap in 1..5_usize, luck in any::<u64>()) {
        prop_assert_eq!(plan.check(1_000), vec![]);
        let ranks = plan.phase_ranks();
        let position = plan.task_positions();
        let mut s = Schedule::new(&plan, cap, &BTreeMap::new());
        let mut luck = luck;
        let mut turns = 0;
        while !s.is_finished() {
            turns += 1;
            prop_assert!(turns < 1_000, "it does not end");
            while let Some(next) = s.next() {
                s.start(next);
                for on in &plan.tasks[next].dependencies {
                    prop_assert!(s.status(position[on]).satisfies());
                }
                for (other, rank) in ranks.iter().enumerate() {
                    prop_assert!(*rank >= ranks[next] || s.status(other).satisfies());
                }
            }
            let running: Vec<usize> = s.running().collect();
            prop_assert!(!running.is_empty(), "nothing runs and it is not finished");
            prop_assert!(running.len() <= cap);
            let mut files = BTreeSet::new();
            for t in &running {
                prop_assert!(running.len() == 1 || !plan.tasks[*t].files.is_empty());
                let own: BTreeSet<&String> = plan.tasks[*t].files.iter().collect();
                for file in own {
                    prop_assert!(files.insert(file), "two hold {file}");
                }
            }
            luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = running[(luck >> 33) as usize % running.len()];
            let failed = (luck >> 60) == 0;
            s.end(pick, if failed { TaskStatus::Failed } else { TaskStatus::Completed });
        }
    }
}

#[test]
fn a_task_that_was_stopped_may_start_again() {
    let mut s = schedule(vec![task(0, &[], &["a"]), task(1, &[0], &["b"])], 8);
    assert_eq!(start_all(&mut s), [0]);
    s.end(0, TaskStatus::Pending);
    assert_eq!(start_all(&mut s), [0]);
}

#[test]
fn skipping_who_is_next_for_a_file_lets_the_one_after_it_go() {
    let mut s = schedule(
        vec![
            task(0, &[], &["f"]),
            task(1, &[], &["g"]),
            task(2, &[], &["f"]),
            task(3, &[], &["f"]),
        ],
        2,
    );
    assert_eq!(start_all(&mut s), [0, 1]);
    s.end(0, TaskStatus::Completed);
    s.end(2, TaskStatus::Skipped);
    assert_eq!(start_all(&mut s), [3]);
}

#[test]
fn skipping_a_blocked_task_frees_what_waits_for_it_alone() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[0], &["b"]),
            task(2, &[1], &["c"]),
            task(3, &[0, 1], &["d"]),
        ],
        8,
    );
    start_all(&mut s);
    s.end(0, TaskStatus::Failed);
    assert_eq!(s.skip(1), [2]);
    assert_eq!(start_all(&mut s), [2]);
    assert_eq!(
        s.status(3),
        TaskStatus::Blocked,
        "the failure still holds it up"
    );
    assert_eq!(s.skip(0), [3]);
}

#[test]
fn a_second_failure_blocks_only_what_the_first_did_not() {
    let mut s = schedule(
        vec![
            task(0, &[], &["a"]),
            task(1, &[], &["b"]),
            task(2, &[0, 1], &["c"]),
            task(3, &[1], &["d"]),
        ],
        8,
    );
    start_all(&mut s);
    assert_eq!(s.end(0, TaskStatus::Failed), [2]);
    assert_eq!(s.end(1, TaskStatus::Failed), [3]);
    assert_eq!(s.reopen(0), [] as [usize; 0], "2 is behind 1 too");
    assert_eq!(s.reopen(1), [2, 3]);
}
