//! One run has one owner: a second one is told who, a dead one is replaced, a hung one is fenced.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::exits::waiting_for;
use crate::live::RunningCodeteam;
use crate::project::Project;
use crate::samples::{ONE_TASK, TWO_TASKS};

/// Makes every heartbeat too old, so that no test has to wait for one to become so.
const STALE: (&str, &str) = ("CODETEAM_LEASE_STALE_MS", "-1");

/// A run whose coder waits for the file `go` in the home, with the coder at work.
fn at_work(project: &Project) -> RunningCodeteam {
    let go = project.go();
    let script = project.script(&waiting_for(go.to_str().unwrap()));
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("waiting now");
    run
}

fn go(project: &Project) {
    std::fs::write(project.go(), "").unwrap();
}

/// The processes at work in the project's worktrees.
fn handles(project: &Project) -> Vec<OwnedFd> {
    let workers = project.survivors();
    assert!(!workers.is_empty());
    let open = |worker: &String| {
        let pid = worker.split_once(' ').unwrap().0.parse().unwrap();
        pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap()
    };
    workers.iter().map(open).collect()
}

#[track_caller]
fn have_ended(handles: &[OwnedFd]) {
    let timeout = Timespec {
        tv_sec: 30,
        tv_nsec: 0,
    };
    for handle in handles {
        let ended = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout));
        assert_eq!(ended, Ok(1), "it lives on");
    }
}

/// The run is whole: done, committed once, and a log that tells it all once.
#[track_caller]
fn is_whole(project: &Project) {
    let run = project.shown_run();
    assert_eq!(run["status"], "completed");
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(project.trees(branch).len(), 1);
    let log = format!(".codeteam/runs/{}/log.jsonl", run["run"].as_str().unwrap());
    let numbers: Vec<u64> = project
        .read(&log)
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect();
    let all: Vec<u64> = (1..=run["events"].as_u64().unwrap()).collect();
    assert_eq!(numbers, all);
    assert_eq!(project.survivors(), Vec::<String>::new());
    project.git(&["fsck", "--strict"]);
}

#[test]
fn a_second_one_is_told_who_drives() {
    let project = Project::new();
    let run = at_work(&project);
    let pid = run.pid();
    project.run(&["resume"]).expect(2).says(&[
        "another codeteam drives",
        &format!("process {pid} on `"),
        "codeteam log -f",
    ]);
    go(&project);
    run.end().expect(0);
    is_whole(&project);
}

#[test]
fn a_dead_one_is_replaced_at_once() {
    let project = Project::new();
    at_work(&project).kill();
    go(&project);
    let done = project.run(&["resume"]).expect(0);
    done.says(&[
        "taken up again where it stood",
        "was under way when codeteam stopped",
    ]);
    is_whole(&project);
}

#[test]
fn a_hung_one_with_a_worker_is_fenced() {
    let project = Project::new();
    let hung = at_work(&project);
    hung.signal(Signal::STOP);
    let old = handles(&project);
    let mut next = project.start_with(&["-v", "resume"], &[STALE]);
    next.until("waiting now");
    // Two workers in one worktree would overwrite each other.
    have_ended(&old);
    go(&project);
    next.end().expect(0);
    is_whole(&project);
    hung.signal(Signal::CONT);
    hung.end()
        .expect(1)
        .says(&[
            "error: another codeteam has taken this run over",
            "hint: nothing was lost",
        ])
        .lacks(&["done:"]);
    is_whole(&project);
}

#[test]
fn a_hung_one_that_only_waits_is_fenced() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let args = ["run", "x", "--wait", "--preview", "--script", &script];
    let mut hung = project.start(&args);
    hung.until("This would be committed");
    hung.signal(Signal::STOP);
    project.run(&["approve"]).expect(0);
    project.start_with(&["resume"], &[STALE]).end().expect(0);
    hung.signal(Signal::CONT);
    hung.end().expect(1).says(&["has taken this run over"]);
    is_whole(&project);
}

#[test]
fn a_killed_one_leaves_no_worker_that_the_next_one_does_not_find() {
    for hang in ["hang: true", "hang: { ignore_term: true }"] {
        let project = Project::new();
        let script = ONE_TASK.replacen(
            "  - match: { role: coder }\n    do:\n",
            &format!(
                "  - match: {{ role: coder, task: one }}\n    do:\n      - run: setsid sleep 1000 >/dev/null 2>&1 &\n      - text: hanging now\n      - {hang}\n"
            ),
            1,
        );
        let script = project.script(&script);
        let mut run = project.start(&["-v", "run", "x", "--script", &script]);
        run.until("hanging now");
        run.kill();
        // A script is read anew by every worker.
        project.script(ONE_TASK);
        project.run(&["resume"]).expect(0);
        is_whole(&project);
    }
}

#[test]
fn a_worker_dies_with_codeteam() {
    let project = Project::new();
    let run = at_work(&project);
    let workers = handles(&project);
    run.kill();
    have_ended(&workers);
}

#[test]
fn two_runs_go_side_by_side() {
    let project = Project::new();
    let script = project.script(TWO_TASKS);
    // With the same goal, in the same second: neither may take the other's name or plan.
    let runs = ["twin", "twin"].map(|goal| project.start(&["run", goal, "--script", &script]));
    for run in runs {
        run.end().expect(0);
    }
    let all = project.json(&["status", "--json"]);
    for run in all.as_array().unwrap() {
        assert_eq!(run["status"], "completed", "{run}");
        let branch = format!("codeteam/{}", run["run"].as_str().unwrap());
        assert_eq!(project.trees(&branch).len(), 2);
    }
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert!(project.worktrees().is_empty());
}
