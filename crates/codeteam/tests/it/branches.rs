//! The run's branch belongs to the user as much as to the run: what they do with it between a stop
//! and `resume` is noticed, and nothing of theirs or of the run's is lost.

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// A run that stopped with its first task committed and the second under way.
fn stopped() -> (Project, String) {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    let args = ["run", "x", "--script", &script, "--max-attempts", "5"];
    project.run(&args).expect(4);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    assert_eq!(project.trees(&branch).len(), 1);
    (project, branch)
}

const GO_ON: &[&str] = &["resume", "--max-attempts", "100"];

#[test]
fn a_branch_someone_has_checked_out_is_not_moved_under_them() {
    let (project, branch) = stopped();
    project.git(&["checkout", "--quiet", &branch]);
    let before = project.checkout();
    let done = project.run(GO_ON).expect(1);
    let root = project.root();
    done.says(&[
        &format!(
            "`{branch}` cannot be moved while it is checked out in `{}`",
            root.display()
        ),
        "hint: switch that checkout to another branch",
    ])
    .lacks(&["not done:"]);
    assert_eq!(project.checkout(), before);
    project.git(&["switch", "--quiet", "--detach"]);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.trees(&branch).len(), 3);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn nor_is_it_in_another_worktree() {
    let (project, branch) = stopped();
    let there = project.home().join("there");
    let there = there.to_str().unwrap();
    project.git(&["worktree", "add", "--quiet", there, &branch]);
    project
        .run(GO_ON)
        .expect(1)
        .says(&["is checked out in", there]);
    assert_eq!(project.git(&["-C", there, "status", "--porcelain"]), "");
    // A worktree whose folder is gone is nobody's.
    std::fs::remove_dir_all(there).unwrap();
    project.run(&["resume"]).expect(0);
}

#[test]
fn what_someone_commits_on_it_stays() {
    let (project, branch) = stopped();
    let there = project.home().join("there");
    let there = there.to_str().unwrap();
    project.git(&["worktree", "add", "--quiet", there, &branch]);
    std::fs::write(project.home().join("there/mine.txt"), "mine\n").unwrap();
    project.git(&["-C", there, "add", "-A"]);
    project.git(&["-C", there, "commit", "--quiet", "-m", "mine"]);
    project.git(&["worktree", "remove", there]);
    project.run(GO_ON).expect(0).says(&["the branch is at"]);
    assert_eq!(project.trees(&branch).len(), 4);
    assert_eq!(project.committed_file("mine.txt"), "mine");
    assert_eq!(project.committed_file("three.txt"), "done");
}

#[test]
fn what_someone_took_off_it_is_not_built_upon() {
    let (project, branch) = stopped();
    let tip = project.git(&["rev-parse", &branch]);
    project.git(&["branch", "--quiet", "--force", &branch, "main"]);
    let done = project.run(GO_ON).expect(1);
    done.says(&["no longer has commit", &tip[..10], "hint: bring it back"])
        .lacks(&["not done:"]);
    assert_eq!(
        project.git(&["rev-parse", &branch]),
        project.git(&["rev-parse", "main"])
    );
    project.git(&["branch", "--quiet", "--force", &branch, &tip]);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.trees(&branch).len(), 3);
}

#[test]
fn a_branch_that_was_deleted_is_made_again() {
    let (project, branch) = stopped();
    project.git(&["branch", "--quiet", "-D", &branch]);
    project.run(GO_ON).expect(0);
    assert_eq!(project.trees(&branch).len(), 3);
}

#[test]
fn a_garbage_collection_takes_nothing_the_run_needs() {
    let (project, branch) = stopped();
    project.git(&["reflog", "expire", "--expire=now", "--all"]);
    project.git(&["gc", "--quiet", "--prune=now"]);
    project.run(GO_ON).expect(0);
    assert_eq!(project.trees(&branch).len(), 3);
}

#[test]
fn the_users_hooks_and_signing_are_not_for_the_runs_commits() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    for hook in [
        "pre-commit",
        "commit-msg",
        "post-checkout",
        "reference-transaction",
    ] {
        let path = project.path(&format!(".git/hooks/{hook}"));
        let text = format!(
            "#!/bin/sh\necho {hook} >> {}/hooked\nexit 1\n",
            project.home().display()
        );
        std::fs::write(&path, text).unwrap();
        project
            .paste(&format!("chmod +x {}", path.display()))
            .expect(0);
    }
    project.git(&["config", "commit.gpgsign", "true"]);
    project.git(&["config", "gpg.program", "false"]);
    project.run(&["run", "x", "--script", &script]).expect(0);
    assert!(!project.home().join("hooked").exists());
    assert_eq!(project.committed_file("three.txt"), "done");
}
