//! `kill -9` anywhere, any number of times: after every event, and between every effect and its
//! event. The run ends as if nothing had happened.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

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

/// Returns what must be the same, however often codeteam was killed.
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
    assert!(reached >= 13, "only {reached} effects");
}

/// How far git has come when codeteam is killed.
#[derive(Clone, Copy, Debug)]
enum GitProgress {
    /// It has written files, and not yet the index.
    Files,
    /// It has written everything.
    Index,
}

/// A `git` that kills codeteam when it writes or moves a work tree for the `nth` time, and leaves a
/// file in it as nobody wants it. Returns the folder that is to come first in `PATH`.
fn deadly_git(project: &Project, path: &str, nth: usize, progress: GitProgress) -> String {
    let home = project.home().display().to_string();
    let folder = project.home().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("git");
    let undo = match progress {
        GitProgress::Files => {
            "rm -f \"$dir/index\"\n[ ! -e \"$dir/index.old\" ] || mv \"$dir/index.old\" \"$dir/index\"\n\
             : >\"$dir/index.lock\"\n"
        }
        GitProgress::Index => "rm -f \"$dir/index.old\"\n",
    };
    let text = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \" $* \" in\n\
         *' read-tree --reset -u '*) kind=written ;;\n*' read-tree -m -u '*) kind=moved ;;\n\
         *) exec git \"$@\" ;;\nesac\necho $kind >>'{home}/trees'\n\
         [ \"$(wc -l <'{home}/trees')\" -eq {nth} ] || exec git \"$@\"\n\
         for word; do case $word in --git-dir=*) dir=${{word#--git-dir=}} ;; esac; done\n\
         [ ! -e \"$dir/index\" ] || cp -p \"$dir/index\" \"$dir/index.old\"\n\
         git \"$@\" || exit\n{undo}\
         for tree in '{home}'/.local/state/codeteam/*/*/*/tree; do echo half >\"$tree/hello.txt\"; done\n\
         until [ -s '{home}/codeteam.pid' ]; do :; done\nkill -9 \"$(cat '{home}/codeteam.pid')\"\n"
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder.display().to_string()
}

/// Kills a run when git handles its `nth` work tree, resumes it, and compares. Returns what git did
/// with that work tree, or `None` if the run had fewer.
fn killed_at_tree(nth: usize, progress: GitProgress, expected: &Value) -> Option<String> {
    let (project, script, workflow) = project();
    let args = ["run", "Two things", "--no-sandbox", "--script", &script];
    let mut command = project.codeteam(&[&args[..], &["--workflow", &workflow]].concat());
    let path = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = path.unwrap().1.unwrap().to_str().unwrap().to_owned();
    let folder = deadly_git(&project, &path, nth, progress);
    command.env("PATH", format!("{folder}:{path}"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let note = project.home().join("codeteam.pid");
    std::fs::write(note.with_extension("new"), child.id().to_string()).unwrap();
    std::fs::rename(note.with_extension("new"), note).unwrap();
    let was_killed = child.wait().unwrap().code().is_none();
    if !was_killed {
        return None;
    }
    let trees = std::fs::read_to_string(project.home().join("trees")).unwrap();
    let run = project.run(&["resume", "--json"]).expect(0).value();
    let seen = essence(&project, &run);
    assert_eq!(&seen, expected, "killed at work tree {nth}, {progress:?}");
    trees.lines().nth(nth - 1).map(str::to_owned)
}

/// Returns true if work trees are kept between their uses on this file system.
fn keeps_work_trees() -> bool {
    let (project, script, workflow) = project();
    let args = ["run", "Two things", "--no-sandbox", "--script", &script];
    project
        .run(&[&args[..], &["--workflow", &workflow]].concat())
        .expect(0);
    let state = project.home().join(".local/state/codeteam");
    let mut repositories = std::fs::read_dir(state).unwrap();
    repositories.any(|folder| folder.unwrap().path().join(".kept").exists())
}

#[test]
fn while_git_writes_or_moves_a_work_tree() {
    let (expected, _) = undisturbed();
    let moves_trees = keeps_work_trees();
    for progress in [GitProgress::Files, GitProgress::Index] {
        let mut killed = Vec::new();
        let mut nth = 1;
        while let Some(kind) = killed_at_tree(nth, progress, &expected) {
            killed.push(kind);
            nth += 1;
            assert!(nth < 40, "it writes work trees without end");
        }
        assert!(killed.len() >= 4, "killed {} times only", killed.len());
        assert!(killed.iter().any(|kind| kind == "written"), "{killed:?}");
        let has_moved = killed.iter().any(|kind| kind == "moved");
        assert_eq!(has_moved, moves_trees, "{killed:?}");
    }
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

/// Returns the number of kills; more by hand: `CODETEAM_TEST_KILLS=300`.
#[expect(clippy::disallowed_methods, reason = "set by hand")]
fn kills() -> u32 {
    let given = std::env::var("CODETEAM_TEST_KILLS").ok();
    given.and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// Returns codeteam's remaining cgroups and mounts.
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
    let plan = project.write_outside("plan.yml", "description: d\ntasks: [ { id: one } ]\n");
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
