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
    let tip = project.shown_run()["tip"].as_str().unwrap().to_owned();
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
    again.says(&["main has everything of"]);
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
fn what_both_come_to_is_checked_before_a_branch_that_moved_moves_again() {
    let project = done();
    // Alone it is fine, and so is the run alone.
    project.write("tests/mine.sh", "! grep -q right two.txt 2> /dev/null\n");
    project.commit("mine");
    let before = project.checkout();
    for args in [&["merge"][..], &["merge", "--squash"]] {
        project.run(args).expect(1).says(&[
            "`tests` fails on what `main` and ",
            "so nothing was merged",
            "`--no-check` merges without checking",
        ]);
        assert_eq!(project.checkout(), before);
    }
    let said = project.run(&["merge", "--no-check"]).expect(0);
    said.says(&[
        "nobody has checked both together",
        "you can: `for t in tests/*.sh;",
    ]);
    assert_eq!(project.read("two.txt"), "right\n");
    project.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    project.write("tests/mine.sh", "true\n");
    project.commit("mine, repaired");
    let said = project.run(&["merge"]).expect(0);
    said.says(&["the run's checks pass on both together"]);
    project.git(&["reset", "--quiet", "--hard", "HEAD^"]);
    assert_eq!(project.json(&["merge", "--json"])["checked"], true);
}

#[test]
fn a_conflict_is_undone() {
    let project = done();
    project.write("two.txt", "mine\n");
    project.commit("mine");
    let before = project.checkout();
    project
        .run(&["merge"])
        .expect(1)
        .says(&["nothing was merged", "`two.txt`", "hint: "]);
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

#[test]
fn what_a_run_whose_log_is_lost_has_committed_is_merged_too() {
    let project = done();
    let shown = project.shown_run();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(project.path(&format!(".codeteam/{file}")));
    }
    let show = project.run(&["show"]).expect(0);
    assert!(show.stdout.contains("3 of 3 tasks done"), "{}", show.stdout);
    let merged = project.run(&["merge"]).expect(0);
    merged.says(&["is gone", "main is at", "with everything of"]);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), shown["tip"]);
    assert!(!project.path(".codeteam/state.db").exists());
}

#[test]
fn all_of_it_in_one_commit() {
    let project = done();
    let before = project.git(&["rev-parse", "HEAD"]);
    let tip = project.shown_run()["tip"].as_str().unwrap().to_owned();
    project
        .run(&["merge", "--squash", "--delete-branch"])
        .expect(0)
        .says(&["main is at", "deleted codeteam/", "kept as refs/codeteam/"]);
    assert_eq!(project.git(&["rev-parse", "HEAD~1"]), before);
    assert_eq!(
        project.git(&["rev-parse", "HEAD^{tree}"]),
        project.git(&["rev-parse", &format!("{tip}^{{tree}}")])
    );
    let id = project.shown_run()["run"].as_str().unwrap().to_owned();
    assert_eq!(
        project.git(&["log", "-1", "--format=%B"]),
        format!("Three things\n\n- Do one\n- Do two\n- three: Third\n\nCodeteam-Run: {id}")
    );
    assert_eq!(project.git(&["branch", "--list", "codeteam/*"]), "");
    assert_eq!(
        project.git(&["rev-parse", &format!("refs/codeteam/{id}/merged")]),
        tip
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    // There is nothing more to bring.
    let again = project.run(&["merge", "--squash"]).expect(0);
    again.says(&["main has everything of"]).lacks(&["undo"]);
    let squashed = project.git(&["rev-parse", "HEAD"]);
    let again = project.run(&["merge"]).expect(0);
    again.says(&["main has everything of"]).lacks(&["undo"]);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), squashed);
    project
        .run(&["merge", "--squash", "--no-ff"])
        .expect(2)
        .says(&["cannot be used with"]);
}

#[test]
fn one_commit_beside_what_happened_meanwhile() {
    let project = done();
    project.write("mine.txt", "mine\n");
    project.commit("mine");
    let args = ["merge", "--squash", "-m", "All of it\n\nAt once"];
    project.run(&args).expect(0);
    assert_eq!(project.read("mine.txt"), "mine\n");
    assert_eq!(project.read("three.txt"), "done\n");
    assert_eq!(
        project.git(&["log", "-1", "--format=%B"]),
        "All of it\n\nAt once"
    );
    let project = done();
    project.write("two.txt", "mine\n");
    project.commit("mine");
    let before = project.checkout();
    project
        .run(&["merge", "--squash"])
        .expect(1)
        .says(&["conflicts in: `two.txt`", "hint: "]);
    assert_eq!(project.checkout(), before);
}

#[test]
fn pushed_because_the_user_says_so() {
    let project = done();
    project
        .run(&["merge", "--push"])
        .expect(2)
        .says(&["there is no remote to push to", "nothing was merged"]);
    assert!(!project.path("three.txt").exists());
    let origin = project.home().join("origin");
    let origin = origin.to_str().unwrap();
    project.git(&["init", "--quiet", "--bare", origin]);
    project.git(&["remote", "add", "origin", origin]);
    let said = project.run(&["merge", "--push"]).expect(0);
    let said = said.says(&["main is at", "undo    git revert --no-edit "]);
    let pushed = project.git(&["--git-dir", origin, "rev-parse", "main"]);
    assert_eq!(pushed, project.git(&["rev-parse", "HEAD"]));
    // What takes it back leaves what others may have.
    let undo = said
        .stderr
        .lines()
        .find_map(|l| l.strip_prefix("  undo    "));
    project.paste(undo.unwrap()).expect(0);
    assert!(!project.path("three.txt").exists());
    project.git(&["merge-base", "--is-ancestor", &pushed, "HEAD"]);
}

#[test]
fn a_push_that_fails_is_told_with_what_is_done() {
    let project = done();
    project.git(&["remote", "add", "origin", "/nonexistent/origin"]);
    project.run(&["merge", "--push"]).expect(1).says(&[
        "main is at",
        "git push --set-upstream origin refs/heads/main` failed",
        "everything else is done",
    ]);
    assert_eq!(project.read("three.txt"), "done\n");
}

#[test]
fn only_into_a_branch_and_not_into_itself() {
    let project = done();
    project.git(&["switch", "--quiet", "--detach"]);
    let before = project.checkout();
    project
        .run(&["merge"])
        .expect(2)
        .says(&["HEAD is detached", "hint: `git switch`"]);
    assert_eq!(project.checkout(), before);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    project.git(&["switch", "--quiet", &branch]);
    project
        .run(&["merge"])
        .expect(2)
        .says(&["is the run's own branch"]);
}

#[test]
fn a_branch_with_more_on_it_is_not_deleted() {
    let project = done();
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    project.git(&["switch", "--quiet", &branch]);
    project.write("more.txt", "more\n");
    project.commit("more");
    project.git(&["switch", "--quiet", "main"]);
    project.run(&["merge", "--delete-branch"]).expect(0).says(&[
        "stays, it has commits that are not the run's",
        &format!("git merge {branch}"),
    ]);
    assert!(!project.path("more.txt").exists());
    project.git(&["rev-parse", "--verify", &branch]);
}
