//! `codeteam merge`: what was made comes into the user's branch whole, or not at all.

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// A run that is done.
fn done() -> Project {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "Three things", "--script", &script])
        .expect(0);
    project
}

#[test]
fn forward_if_nothing_else_happened() {
    let project = done();
    let before = project.git(&["rev-parse", "--short=10", "HEAD"]);
    let tip = project.shown()["tip"].as_str().unwrap().to_owned();
    let said = project.run(&["merge"]).expect(0);
    let said = said.says(&["main is at", "undo", &before]);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(project.read("two.txt"), "right\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    // What it says takes it back does.
    let undo = said
        .stderr
        .lines()
        .find_map(|l| l.strip_prefix("  undo    "))
        .unwrap();
    project.paste(undo).expect(0);
    assert_eq!(project.git(&["rev-parse", "--short=10", "HEAD"]), before);
    assert!(!project.path("two.txt").exists());
    project.run(&["merge", "--no-ff"]).expect(0);
    assert_eq!(
        project.git(&["rev-list", "--count", "--merges", "HEAD"]),
        "1"
    );
    let again = project.run(&["merge"]).expect(0);
    again.says(&["main is at"]);
}

#[test]
fn a_real_merge_if_the_branch_moved_on() {
    let project = done();
    project.write("mine.txt", "mine\n");
    project.commit("mine");
    let json = project.json(&["merge", "--json"]);
    assert_eq!(
        project.git(&["rev-parse", "HEAD"]),
        json["after"].as_str().unwrap()
    );
    assert_eq!(
        project.git(&["rev-list", "--count", "--merges", "HEAD"]),
        "1"
    );
    assert_eq!(project.read("two.txt"), "right\n");
    assert_eq!(project.read("mine.txt"), "mine\n");
    let message = project.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Three things"), "{message}");
}

#[test]
fn a_conflict_is_undone() {
    let project = done();
    project.write("two.txt", "mine\n");
    project.commit("mine");
    let before = project.checkout();
    project
        .run(&["merge"])
        .expect(2)
        .says(&["the merge was undone", "`two.txt`", "hint: "]);
    assert_eq!(project.checkout(), before);
    assert!(!project.path(".git/MERGE_HEAD").exists());
}

#[test]
fn uncommitted_changes_are_refused() {
    let project = done();
    project.write("hello.txt", "changed\n");
    let before = project.checkout();
    project
        .run(&["merge"])
        .expect(2)
        .says(&["uncommitted changes: `hello.txt`", "hint: commit or stash"]);
    assert_eq!(project.checkout(), before);
}

#[test]
fn a_file_in_the_way_is_not_overwritten() {
    let project = done();
    project.write("two.txt", "mine, and untracked\n");
    let before = project.checkout();
    let said = project.run(&["merge"]);
    assert_ne!(said.code, Some(0));
    said.says(&["two.txt"]);
    assert_eq!(project.checkout(), before);
}

#[test]
fn a_run_that_is_not_done_only_in_part() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let run = ["run", "x", "--script", &script];
    project
        .run(&[&run[..], &["--max-attempts", "1"]].concat())
        .expect(4);
    project
        .run(&["merge"])
        .expect(2)
        .says(&["has committed nothing"]);
    project.run(&["resume", "--max-attempts", "5"]).expect(4);
    let before = project.checkout();
    project
        .run(&["merge"])
        .expect(2)
        .says(&["is not done", "hint: `--partial`"]);
    assert_eq!(project.checkout(), before);
    project.run(&["merge", "--partial"]).expect(0);
    assert_eq!(project.read("one.txt"), "one\n");
    assert!(!project.path("three.txt").exists());
    project.run(&["resume", "--max-attempts", "50"]).expect(0);
    project.run(&["merge"]).expect(0);
    assert_eq!(project.read("three.txt"), "done\n");
}
