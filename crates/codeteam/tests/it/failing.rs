//! A task fails and the rest goes on; a person takes it up again, leaves it out, or ends it all.

use crate::project::Project;
use crate::samples::{THREE_TASKS, TWO_TASKS};

/// `b` needs `a`, which its coder cannot do at first; `c` needs neither.
const PLAN: &str = "description: d
tasks:
  - { id: a, files: [a.txt] }
  - { id: b, files: [b.txt], dependencies: [a] }
  - { id: c, files: [c.txt] }
";

const SCRIPT: &str = r#"
version: 1
plays:
  - match: { role: coder, task: a, generation: 1 }
    do: [ { submit: { blocked: The specification is missing } } ]
  - match: { role: coder }
    do:
      - write: { path: "{{task.id}}.txt", content: "{{task.id}}\n" }
      - submit: { summary: "Made {{task.id}}" }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
  - match: { role: committer }
    do: [ { submit: { message: "Do {{task.id}}" } } ]
"#;

fn failed() -> Project {
    let project = Project::new();
    let (script, plan) = (
        project.script(SCRIPT),
        project.write_outside("plan.yml", PLAN),
    );
    let before = project.checkout();
    let done = project
        .run(&["run", "x", "--script", &script, "--plan", &plan])
        .expect(1);
    let done = done.says(&["The specification is missing", "not done:"]);
    assert_eq!(statuses(&project), ["failed", "blocked", "completed"]);
    assert_eq!(done.commands("again").len(), 1);
    assert_eq!(project.committed_files(), ["c.txt"]);
    assert_eq!(project.checkout(), before);
    project
}

fn statuses(project: &Project) -> Vec<String> {
    let run = project.shown_run();
    let tasks = run["tasks"].as_array().unwrap();
    let status = |task: &serde_json::Value| task["status"].as_str().unwrap().to_owned();
    tasks.iter().map(status).collect()
}

#[test]
fn what_failed_is_taken_up_again() {
    let project = failed();
    let done = project.run(&["retry", "-m", "It is in the wiki"]).expect(0);
    done.says(&["ada says: It is in the wiki", "done:"]);
    assert_eq!(statuses(&project), ["completed"; 3]);
    assert_eq!(project.committed_files(), ["a.txt", "b.txt", "c.txt"]);
    project
        .run(&["retry"])
        .expect(2)
        .says(&["has failed", "hint: "]);
    assert!(project.worktrees().is_empty());
}

#[test]
fn one_task_of_those_that_failed_is_taken_up_again() {
    let project = failed();
    project
        .run(&["retry", "--task", "aa"])
        .expect(2)
        .says(&["there is no task `aa`", "did you mean `a`?"]);
    project.run(&["retry", "--task", "a"]).expect(0);
    assert_eq!(statuses(&project), ["completed"; 3]);
}

#[test]
fn what_failed_is_left_out_and_the_rest_goes_on() {
    let project = failed();
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    project
        .run(&["skip", &run, "zzz"])
        .expect(2)
        .says(&["there is no task `zzz`"]);
    let done = project.run(&["skip", &run, "a"]).expect(0);
    project.paste(&done.commands("go on")[0]).expect(0);
    assert_eq!(statuses(&project), ["skipped", "completed", "completed"]);
    assert_eq!(project.committed_files(), ["b.txt", "c.txt"]);
}

#[test]
fn an_abort_reaches_a_run_whose_worker_hangs() {
    let project = Project::new();
    let script = THREE_TASKS.replacen(
        "  - match: { role: coder }\n    do:\n",
        "  - match: { role: coder }\n    do:\n      - text: hanging now\n      - hang: { ignore_term: true }\n",
        1,
    );
    let script = project.script(&script);
    let before = project.checkout();
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("hanging now");
    let told = project.run(&["abort", "-m", "Enough", "--json"]).expect(0);
    assert_eq!(told.value()["driven"], true);
    run.end().expect(1).says(&["was aborted: Enough"]);
    assert_eq!(project.survivors(), Vec::<String>::new());
    assert_eq!(project.checkout(), before);
    assert_eq!(project.shown_run()["status"], "aborted");
    project
        .run(&["abort"])
        .expect(2)
        .says(&["has ended already"]);
}

#[test]
fn an_abort_ends_a_run_that_nobody_drives() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let args = ["run", "x", "--script", &script, "--max-attempts", "2"];
    project.run(&args).expect(4);
    project.run(&["abort"]).expect(0).says(&["was aborted"]);
    assert_eq!(project.shown_run()["status"], "aborted");
    project.run(&["resume"]).expect(1);
}

#[test]
fn an_abort_starts_nothing_of_a_run_that_was_cut_off() {
    let project = Project::new();
    let script = THREE_TASKS.replacen(
        "  - match: { role: coder }\n    do:\n",
        "  - match: { role: coder }\n    do:\n      - text: hanging now\n      - hang: { ignore_term: true }\n",
        1,
    );
    let script = project.script(&script);
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("hanging now");
    run.kill();
    let before = project.count("attempt_started");
    project
        .run(&["abort"])
        .expect(0)
        .says(&["was aborted"])
        .lacks(&["at work", "started again", "taken up again"]);
    assert_eq!(project.count("attempt_started"), before);
    assert_eq!(project.shown_run()["status"], "aborted");
    assert_eq!(project.survivors(), Vec::<String>::new());
}

/// A script and a plan of two tasks that begin on the same commit: each waits until the other has
/// begun, then writes its file.
pub(crate) fn meeting(project: &Project, left: &str, right: &str) -> (String, String) {
    // A cache that all workers of a run share.
    let meet = |own: &str, other: &str| {
        let there = "/home/agent/meet";
        format!("      - run: touch {there}/{own}\n      - wait_for: {{ path: {there}/{other} }}\n")
    };
    let coder = |task: &str, path: &str, meeting: &str| {
        format!(
            "  - match: {{ role: coder, task: {task}, round: 1 }}\n    do:\n{meeting}      - write: {{ path: {path}, content: \"{task}\\n\" }}\n      - submit: {{ summary: Made it }}\n"
        )
    };
    let again = "  - match: { role: coder }\n    do:\n      - run: 'cat shared.txt; echo {{task.id}} >> shared.txt'\n      - submit: { summary: Made it again }\n";
    let rest = SCRIPT
        .split_once("  - match: { role: reviewer }")
        .unwrap()
        .1;
    let script = format!(
        "version: 1\nplays:\n{}{}{again}  - match: {{ role: reviewer }}{rest}",
        coder("left", left, &meet("left", "right")),
        coder("right", right, &meet("right", "left")),
    );
    // Each may write the shared file, and no file is named by both: they would wait for each other.
    let plan = "description: d\ntasks:\n  - { id: left, files: ['left.*', 'shared.*'] }\n  \
                - { id: right, files: ['right.*', 'shared*'] }\n";
    (
        project.script(&script),
        project.write_outside("plan.yml", plan),
    )
}

fn side_by_side(left: &str, right: &str) -> Project {
    let project = Project::new();
    let (script, plan) = meeting(&project, left, right);
    project
        .run(&["run", "x", "--script", &script, "--plan", &plan])
        .expect(0);
    assert_eq!(statuses(&project), ["completed"; 2]);
    assert!(project.worktrees().is_empty());
    project
}

#[test]
fn work_side_by_side_is_replayed_and_checked_again() {
    let project = side_by_side("left.txt", "right.txt");
    assert_eq!(project.count("frame_rebased"), 1);
    assert_eq!(project.count("rebase_conflicted"), 0);
    assert_eq!(project.count("gate_judged"), 3);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let reports = std::fs::read_dir(project.path(&format!(".codeteam/runs/{run}/iterations")));
    let reports = reports
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        reports.filter(|name| name.ends_with("_verify.md")).count(),
        3
    );
    assert_eq!(project.committed_files(), ["left.txt", "right.txt"]);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    assert_eq!(
        project.git(&["log", "--merges", &branch]),
        "",
        "one line of commits"
    );
}

#[test]
fn a_conflict_goes_back_to_its_coder() {
    let project = side_by_side("shared.txt", "shared.txt");
    assert_eq!(project.count("rebase_conflicted"), 1);
    let made = project.committed_file("shared.txt");
    assert!(made == "left\nright" || made == "right\nleft", "{made}");
}

#[test]
fn worktrees_that_were_lost_are_made_again() {
    // After each of these attempts there is another kind of work to do in the worktree.
    for attempts in 2..=7 {
        let project = Project::new();
        let script = project.script(TWO_TASKS);
        let limit = attempts.to_string();
        let args = ["run", "x", "--script", &script, "--max-attempts", &limit];
        project.run(&args).expect(4);
        for worktree in project.worktrees() {
            std::fs::remove_dir_all(worktree.parent().unwrap()).unwrap_or_default();
        }
        project.run(&["resume", "--max-attempts", "100"]).expect(0);
        assert_eq!(statuses(&project), ["completed"; 2]);
        assert_eq!(project.committed_file("two.txt"), "right");
    }
}
