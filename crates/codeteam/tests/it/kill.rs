//! `kill -9` anywhere, any number of times: after every event, and between every effect and its
//! event. The run ends as if nothing had happened.

use serde_json::Value;

use crate::failing::meeting;
use crate::project::Project;
use crate::samples::{ONE_BY_ONE, TWO_TASKS};

fn project() -> (Project, String, String) {
    let project = Project::new();
    let script = project.script(TWO_TASKS);
    let workflow = project.home().join("flow.yml");
    std::fs::write(&workflow, ONE_BY_ONE.replace("cap: 2", "cap: 1")).unwrap();
    let workflow = workflow.display().to_string();
    (project, script, workflow)
}

/// What must be the same, however often codeteam was killed.
fn essence(project: &Project, run: &Value) -> Value {
    let branch = run["branch"].as_str().unwrap();
    let tasks: Vec<Value> = run["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| serde_json::json!([t["id"], t["status"], t["rounds"]]))
        .collect();
    serde_json::json!({
        "status": run["status"],
        "trees": project.trees(branch),
        "subjects": project.git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]),
        "tasks": tasks,
        "main": project.git(&["rev-parse", "main"]).len(),
        "dirty": project.git(&["status", "--porcelain"]),
        "worktrees": project.worktrees().len(),
    })
}

fn undisturbed() -> (Value, u64) {
    let (project, script, workflow) = project();
    let args = [
        "run",
        "Two things",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--json",
    ];
    let run = project.json(&args);
    let essence = essence(&project, &run);
    assert_eq!(essence["status"], "completed");
    assert_eq!(essence["trees"].as_array().unwrap().len(), 2);
    assert_eq!(essence["tasks"][1][2], 2, "a round was rejected");
    assert_eq!(project.count("attempt_failed"), 1);
    assert_eq!(essence["worktrees"], 0);
    (essence, run["events"].as_u64().unwrap())
}

/// Kills a run at a failpoint, resumes it, and compares. Says whether the failpoint was reached.
fn killed_at(failpoint: &str, expected: &Value) -> bool {
    let (project, script, workflow) = project();
    let args = [
        "run",
        "Two things",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--json",
    ];
    let output = project
        .codeteam(&args)
        .env("CODETEAM_FAILPOINT", failpoint)
        .output()
        .unwrap();
    if output.status.code().is_some() {
        return false;
    }
    let run = project.run(&["resume", "--json"]).expect(0).value();
    assert_eq!(&essence(&project, &run), expected, "killed at {failpoint}");
    true
}

#[test]
fn after_every_event() {
    let (expected, events) = undisturbed();
    for n in 1..=events {
        assert!(
            killed_at(&format!("appended:{n}"), &expected),
            "event {n} was not reached"
        );
    }
}

#[test]
fn between_every_effect_and_its_event() {
    let (expected, _) = undisturbed();
    let reached = (1..100)
        .take_while(|n| killed_at(&format!("performed:{n}"), &expected))
        .count();
    assert!(reached >= 14, "only {reached} effects");
}

#[test]
fn again_and_again() {
    let (expected, _) = undisturbed();
    for (first, again) in [("appended:1", "appended:5"), ("performed:1", "performed:2")] {
        let (project, script, workflow) = project();
        let args = [
            "run",
            "Two things",
            "--script",
            &script,
            "--workflow",
            &workflow,
        ];
        let output = project
            .codeteam(&args)
            .env("CODETEAM_FAILPOINT", first)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), None);
        let mut kills = 1;
        let run = loop {
            let output = project
                .codeteam(&["resume", "--json"])
                .env("CODETEAM_FAILPOINT", again)
                .output()
                .unwrap();
            if output.status.code().is_some() {
                break serde_json::from_slice(&output.stdout).unwrap();
            }
            kills += 1;
            assert!(kills < 200, "it does not get anywhere");
        };
        assert!(kills > 5, "killed {kills} times only");
        assert_eq!(essence(&project, &run), expected, "killed {kills} times");
    }
}

/// Two tasks at once, of which one conflicts with the other: nothing is done twice or left out,
/// though which of them comes first may differ.
#[test]
fn side_by_side_too() {
    let mut killed = 0;
    for n in (1..100).step_by(9) {
        let project = Project::new();
        let (script, plan) = meeting(&project, "shared.txt", "shared.txt");
        let args = ["run", "x", "--script", &script, "--plan", &plan];
        let failpoint = format!("appended:{n}");
        let output = project
            .codeteam(&args)
            .env("CODETEAM_FAILPOINT", &failpoint)
            .output()
            .unwrap();
        if output.status.code().is_some() {
            break;
        }
        killed += 1;
        let run = project.run(&["resume", "--json"]).expect(0).value();
        let branch = run["branch"].as_str().unwrap();
        assert_eq!(project.trees(branch).len(), 2, "{failpoint}");
        let made = project.git(&["show", &format!("{branch}:shared.txt")]);
        let mut lines: Vec<&str> = made.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["left", "right"], "{failpoint}");
        assert!(project.worktrees().is_empty(), "{failpoint}");
    }
    assert!(killed >= 6, "killed {killed} times only");
}

/// How often codeteam is killed; more by hand: `CODETEAM_TEST_KILLS=300`.
#[expect(clippy::disallowed_methods, reason = "set by hand")]
fn kills() -> u32 {
    let given = std::env::var("CODETEAM_TEST_KILLS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// What cgroups and mounts there are of codeteam's.
fn left_in_the_kernel(project: &Project) -> Vec<String> {
    let home = project.home().display().to_string();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts
        .lines()
        .filter(|line| line.contains(&home))
        .map(str::to_owned)
        .collect()
}

#[test]
fn around_the_moment_of_a_spawn() {
    let project = Project::new();
    // Each worker and each check leaves a process in another session that ignores what it can.
    let hydra =
        "(trap \"\" TERM HUP INT; setsid sleep 1000 >/dev/null 2>&1 &) & echo started; sleep 1000";
    let script = project.script(&format!(
        "version: 1\nplays:\n  - match: {{ role: coder }}\n    do: [ {{ run: '{hydra}' }} ]\n"
    ));
    let plan = project.beside("plan.yml", "description: d\ntasks: [ { id: one } ]\n");
    let last = std::time::Duration::from_millis(40);
    for kill in 0..kills() {
        let args = ["run", "x", "--script", &script, "--plan", &plan];
        let mut run = project.start(&args);
        run.until("coder at work");
        let moment = std::time::Instant::now() + last * kill / kills();
        while std::time::Instant::now() < moment {
            std::hint::spin_loop();
        }
        run.kill();
        project.run(&["abort"]).expect(0);
        assert_eq!(project.survivors(), Vec::<String>::new(), "kill {kill}");
        assert_eq!(left_in_the_kernel(&project), Vec::<String>::new());
    }
}
