//! `codeteam rollback`: a run is taken back, and nothing is lost.

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// A run of three tasks that is done.
fn done() -> Project {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "Three things", "--script", &script])
        .expect(0);
    project
}

/// The tasks of the newest run in the order of their commits, with these commits.
fn committed(project: &Project) -> Vec<(String, String)> {
    let log = project.run(&["log", "--json"]).expect(0);
    let events = log.stdout.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["event"].clone()
    });
    let made = events.filter(|event| event["type"] == "committed");
    made.map(|event| {
        let frame = event["id"]["frame"].as_str().unwrap();
        let task = frame.rsplit('/').next().unwrap();
        (
            task.to_owned(),
            event["commit"].as_str().unwrap().to_owned(),
        )
    })
    .collect()
}

fn status_of(project: &Project, task: &str) -> String {
    let shown = project.shown_run();
    let tasks = shown["tasks"].as_array().unwrap();
    let found = tasks.iter().find(|t| t["id"] == task).unwrap();
    found["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_is_taken_back_to_a_task_and_done_again() {
    let project = done();
    let before = project.shown_run();
    let (run, branch) = (
        before["run"].as_str().unwrap(),
        before["branch"].as_str().unwrap(),
    );
    let made = committed(&project);
    assert_eq!(made.len(), 3, "{made:?}");
    let (first, last) = (&made[0], &made[2]);
    let main = project.git(&["rev-parse", "main"]);
    let told = project
        .run(&["rollback", "--to", &first.0, "-m", "too hasty", "--yes"])
        .expect(0);
    told.says(&[
        "goes back to where it was after",
        "undone",
        "too hasty",
        "resume",
    ]);
    assert_eq!(project.git(&["rev-parse", branch]), first.1);
    assert_eq!(project.git(&["rev-parse", "main"]), main);
    let kept = format!("refs/codeteam/{run}/taken-back/{}", &last.1[..12]);
    assert_eq!(project.git(&["rev-parse", &kept]), last.1);
    assert_eq!(status_of(&project, &first.0), "completed");
    assert_eq!(status_of(&project, &last.0), "pending");
    // The log tells of it, and the plan's file has the tasks open again.
    let log = project.run(&["log"]).expect(0);
    assert!(
        log.stdout.contains("2 commits are kept beside it"),
        "{}",
        log.stdout
    );
    project.run(&["resume"]).expect(0);
    let again = committed(&project);
    assert_eq!(again.len(), 5, "{again:?}");
    assert_eq!(project.shown_run()["status"], "completed");
    let tree = |commit: &str| project.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    assert_eq!(tree(branch), tree(&last.1));
}

#[test]
fn nothing_happens_without_a_yes() {
    let project = done();
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let tip = project.git(&["rev-parse", &branch]);
    let task = committed(&project)[0].0.clone();
    let told = project.run(&["rollback", "--before", &task]).expect(3);
    told.says(&["goes back to where it was before", "`--yes` does it"]);
    let shown = project
        .run(&["rollback", "--before", &task, "--json"])
        .expect(3);
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["done"], false);
    assert_eq!(shown["rollback"]["commits"].as_array().unwrap().len(), 3);
    assert_eq!(project.git(&["rev-parse", &branch]), tip);
    let mut terminal = project.terminal(&["rollback", "--before", &task]);
    terminal.until("Take it back? [y/N]");
    terminal.line("n");
    terminal.until("nothing was taken back");
    terminal.end(3);
    assert_eq!(project.git(&["rev-parse", &branch]), tip);
}

#[test]
fn before_the_first_commit_there_is_no_branch_and_the_next_one_makes_it() {
    let project = done();
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let task = committed(&project)[0].0.clone();
    project
        .run(&["rollback", "--before", &task, "--yes"])
        .expect(0);
    assert_eq!(project.git(&["branch", "--list", &branch]), "");
    project.run(&["resume"]).expect(0);
    assert_eq!(committed(&project).len(), 6);
    assert_ne!(project.git(&["branch", "--list", &branch]), "");
}

#[test]
fn commits_of_others_are_kept_with_the_rest() {
    let project = done();
    let shown = project.shown_run();
    let (run, branch) = (
        shown["run"].as_str().unwrap(),
        shown["branch"].as_str().unwrap(),
    );
    let task = committed(&project)[0].0.clone();
    project.git(&["switch", "--quiet", branch]);
    project.write("mine.txt", "mine\n");
    project.git(&["add", "mine.txt"]);
    project.git(&["commit", "--quiet", "-m", "mine"]);
    let mine = project.git(&["rev-parse", "HEAD"]);
    // A branch that is checked out is not pulled away below somebody's files.
    let refused = project.run(&["rollback", "--to", &task, "--yes"]);
    refused.says(&["is checked out in"]);
    assert_eq!(project.git(&["rev-parse", branch]), mine);
    project.git(&["switch", "--quiet", "main"]);
    // What was decided is done as soon as it can be.
    project.run(&["resume"]).expect(0);
    let kept = format!("refs/codeteam/{run}/taken-back/{}", &mine[..12]);
    assert_eq!(project.git(&["rev-parse", &kept]), mine);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let project = done();
    for (moment, why) in [
        ("nothing-like-it", "there is no task, phase or event"),
        ("event:99999", "the run has the events 1 to"),
        ("phase:one", "there is no task, phase or event"),
    ] {
        project
            .run(&["rollback", "--to", moment, "--yes"])
            .expect(2)
            .says(&[why]);
    }
    project
        .run(&["rollback", "--yes"])
        .expect(2)
        .says(&["--to"]);
    project
        .run(&["rollback", "--to", "1", "--before", "2"])
        .expect(2);
}
