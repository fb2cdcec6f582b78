//! The files people read, and what codeteam makes of them when a person changes them or the log
//! is gone.

use serde_json::Value;

use crate::project::{CommandResult, Project};
use crate::samples::THREE_TASKS;

/// The first plan of a project.
const PLAN: &str = ".codeteam/planning/feature-0001/plan.yml";

/// A run that stopped at a limit with one task done.
fn stopped() -> (Project, String) {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let args = ["run", "x", "--script", &script, "--max-attempts", "4"];
    project.run(&args).expect(4);
    (project, PLAN.to_owned())
}

fn go_on(project: &Project) -> CommandResult {
    project.run(&["resume", "--max-attempts", "100"])
}

#[test]
fn a_run_leaves_its_story() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let run = project.json(&["run", "Three things", "--script", &script, "--json"]);
    let id = run["run"].as_str().unwrap();
    let folder = format!(".codeteam/runs/{id}");
    let has = |file: &str, texts: &[&str]| {
        let text = project.read(&format!("{folder}/{file}"));
        for wanted in texts {
            assert!(text.contains(wanted), "{file} lacks {wanted:?}:\n{text}");
        }
    };
    has("task.md", &["Three things"]);
    has(
        "summary.md",
        &[
            "SUCCESS",
            "| two: Second | completed | 2 |",
            "codeteam merge",
            "- two.txt",
        ],
    );
    has("iterations/one_01_coder.md", &["First thing", "- one.txt"]);
    has(
        "iterations/two_01_verify.md",
        &["**Result:** FAIL", "exit code 1"],
    );
    has("iterations/two_02_coder.md", &["Second thing mended"]);
    has("iterations/two_02_verify.md", &["**Result:** PASS"]);
    has(
        "iterations/one_01_reviewer_review.md",
        &["APPROVED", "Good"],
    );
    let plan = project.read(PLAN);
    assert!(plan.contains(&format!("runs: [\"{id}\"]")), "{plan}");
    assert_eq!(plan.matches("status: \"completed\"").count(), 3, "{plan}");
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "",
        "none of it is the user's to commit"
    );
    log_is_the_store(&project);
}

/// `log.jsonl` has exactly the events of the store, in order.
fn log_is_the_store(project: &Project) {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let file = project.read(&format!(".codeteam/runs/{run}/log.jsonl"));
    let lines: Vec<Value> = file
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let events = project.events();
    assert_eq!(lines.len(), events.len());
    for (mut line, event) in lines.into_iter().zip(events) {
        let fields = line.as_object_mut().unwrap();
        assert_eq!(fields.remove("seq"), event.get("seq").cloned());
        assert_eq!(fields.remove("ts"), event.get("ts").cloned());
        assert_eq!(line, event["event"]);
    }
}

#[test]
fn the_log_is_whole_after_a_kill_too() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    for failpoint in ["appended:20", "performed:6"] {
        let killed = project
            .codeteam(&["run", "x", "--script", &script])
            .env("CODETEAM_FAILPOINT", failpoint)
            .output()
            .unwrap();
        assert_eq!(killed.status.code(), None);
        project.run(&["resume"]).expect(0);
        log_is_the_store(&project);
    }
}

#[test]
fn a_plan_changed_by_hand_becomes_part_of_the_run() {
    let (project, plan) = stopped();
    let text = project.read(&plan);
    assert!(text.contains("status: \"running\""), "{text}");
    let more =
        "  - id: four\n    title: Fourth\n    files: [four.txt]\n    dependencies: [three]\n";
    project.write(&plan, &format!("{}\n{more}", text.trim_end()));
    let script = THREE_TASKS.replacen(
        "plays:\n",
        "plays:\n  - match: { role: coder, task: four }\n    do: [ { write: { path: four.txt, content: four } }, { submit: { summary: Fourth } } ]\n",
        1,
    );
    project.script(&script);
    go_on(&project)
        .expect(0)
        .says(&["the plan was changed by hand", "plan.yml"]);
    assert_eq!(project.committed_file("four.txt"), "four");
    assert!(project.read(&plan).contains("id: \"four\""));
    assert_eq!(project.count("plan_revised"), 1);
}

#[test]
fn a_plan_that_was_broken_by_hand_stops_the_run_and_is_left() {
    let (project, plan) = stopped();
    let text = project.read(&plan);
    let broken = format!(
        "{}\n  - id: four\n    dependencies: [nobody]\n",
        text.trim_end()
    );
    project.write(&plan, &broken);
    let line = broken.lines().position(|l| l.contains("id: four")).unwrap() + 1;
    let events = project.events().len();
    go_on(&project)
        .expect(2)
        .says(&[&format!("plan.yml:{line}:"), "`nobody`", "hint: "]);
    assert_eq!(project.read(&plan), broken);
    assert_eq!(project.events().len(), events, "nothing happened");
    project.write(&plan, &text);
    go_on(&project).expect(0);
}

#[test]
fn a_finished_task_cannot_be_changed_by_hand() {
    let (project, plan) = stopped();
    let text = project.read(&plan);
    project.write(&plan, &text.replacen("one.txt", "other.txt", 1));
    go_on(&project).says(&[
        "the plan cannot be changed like that",
        "`files` must be `one.txt`, `tests/one.sh` again",
    ]);
    assert_eq!(project.count("plan_revised"), 0);
}

#[test]
fn a_lost_log_is_rebuilt_from_plan_and_commits() {
    let (project, plan) = stopped();
    let done_on = project.shown_run()["branch"].as_str().unwrap().to_owned();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.path(&format!(".codeteam/{file}")));
    }
    let status = project.run(&["status"]).expect(0);
    let status = status.says(&[
        "state.db`) is gone",
        "rebuilt from the plans",
        "codeteam run --plan",
    ]);
    assert!(
        status.stdout.contains("1 of 3 tasks done"),
        "{}",
        status.stdout
    );
    assert!(status.stdout.contains(&done_on), "{}", status.stdout);
    let merge = project.run(&["merge"]).expect(2);
    merge.says(&["is not done: 1 of 3 tasks", "--partial"]);
    let json = project.json(&["status", "--json"]);
    assert_eq!(json[0]["tasks"]["one"], "completed");
    assert!(
        !project.path(".codeteam/state.db").exists(),
        "looking makes nothing"
    );
    project.run(&["resume"]).expect(2).says(&[
        "this project has no log",
        "codeteam run --plan",
        "carries on",
    ]);

    let go_on = status
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("go on: "))
        .unwrap();
    let script = project.script(THREE_TASKS);
    let done = project
        .paste(&format!("{go_on} --script {script}"))
        .expect(0);
    done.says(&[&done_on, "which has the work so far"])
        .lacks(&["one          "]);
    // What was done is in what was made now.
    assert_eq!(
        project.committed_files(),
        [
            "one.txt",
            "tests/one.sh",
            "tests/two.sh",
            "three.txt",
            "two.txt"
        ]
    );
    assert!(project.read(&plan).contains("status: \"completed\""));
}

#[test]
fn a_lost_log_does_not_mistake_another_plans_task_for_its_own() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let other = project.write_outside("other.yml", "plan_id: other\ntasks: [ { id: one } ]\n");
    project
        .run(&["run", "x", "--script", &script, "--plan", &other])
        .expect(0);
    let planned = "plan_id: mine\ntasks: [ { id: one }, { id: three } ]\n";
    project.write(".codeteam/planning/mine/plan.yml", planned);
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.path(&format!(".codeteam/{file}")));
    }
    let json = project.json(&["status", "--json"]);
    let tasks = |plan: &str| {
        let all = json.as_array().unwrap();
        let found = all
            .iter()
            .find(|p| p["plan"].as_str().unwrap().contains(plan));
        found.unwrap()["tasks"]["one"].clone()
    };
    assert_eq!(tasks("/other/"), "completed");
    assert_eq!(tasks("/mine/"), "pending");
}
