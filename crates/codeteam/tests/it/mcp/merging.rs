//! A session's change after it is complete: how it comes to the user's branch, and how it is taken
//! back, without anything of theirs.

use serde_json::{Value, json};

use super::client::{SdkClient, ToolReply};
use super::{approval, change, design, requirements};
use crate::project::{CommandResult, Project};

/// A project with files of its own, whose changes go to the user as `git` says.
fn project(git: &str) -> Project {
    let project = Project::new();
    project.config(&format!(
        "git: {git}\nverification:\n  commands:\n    - {{ name: tests, command: 'true' }}\n"
    ));
    project.write("a.txt", "1\n2\n3\n");
    project.write("r.txt", "r\n");
    project.commit("files");
    project
}

/// A task that adds a line to `a.txt` and makes `new.txt`, to its end.
fn complete(project: &Project) -> ToolReply {
    let client = SdkClient::new(project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    let before = project.read("a.txt");
    project.write("a.txt", &format!("{before}4\n"));
    project.write("new.txt", "new\n");
    let mut change = change();
    change["files_changed"] = json!(["a.txt", "new.txt"]);
    assert_eq!(client.submit(change).role(), "qa");
    assert_eq!(client.submit(approval()).role(), "reviewer");
    let done = client.submit(approval());
    assert_eq!(done.kind(), "task_complete", "{done:?}");
    let told = "The checkout has the change already.";
    assert!(done.text.contains(told), "{}", done.text);
    client.close();
    done
}

fn status(project: &Project) -> String {
    project.git(&["status", "--porcelain", "--", ".", ":!.codeteam"])
}

/// The command that takes it back.
fn undo(done: &CommandResult) -> &str {
    let mut lines = done.stderr.lines();
    let found = lines.find_map(|line| line.strip_prefix("  undo    "));
    found.unwrap()
}

#[test]
fn only_what_differs_from_the_branch_keeps_it_from_being_merged() {
    let project = project("{ mode: branch }");
    complete(&project);
    project.write("r.txt", "mine\n");
    project.write("own.txt", "not of this task\n");
    for way in [
        &["merge"][..],
        &["merge", "--no-ff"],
        &["merge", "--squash"],
    ] {
        let done = project.run(way).expect(2);
        let done = done.says(&["uncommitted changes: `r.txt`\n", "commit or stash them"]);
        done.lacks(&["a.txt", "new.txt"]);
    }
    // What it says to do leads on.
    project.git(&["stash", "--quiet"]);
    project.run(&["merge"]).expect(0).says(&["main is at"]);
    project.git(&["stash", "pop", "--quiet"]);
    assert_eq!(status(&project), " M r.txt\n?? own.txt");
    assert_eq!(project.read("a.txt"), "1\n2\n3\n4\n");
    assert_eq!(project.read("r.txt"), "mine\n");
}

#[test]
fn what_git_does_not_know_is_kept_and_named() {
    let project = project("{ mode: branch }");
    complete(&project);
    // Of the run's own, all there as the branch has it; of others, nothing in its way.
    project.write("own.txt", "not of this task\n");
    project.write("new.txt", "edited since\n");
    let done = project.run(&["merge"]).expect(2);
    let done = done.says(&[
        "where the run's branch has others: `new.txt`\n",
        "move or commit",
    ]);
    done.lacks(&["overwritten", "--ff-only", "a.txt"]);
    assert_eq!(project.read("new.txt"), "edited since\n");
    project.write("new.txt", "new\n");
    project.run(&["merge"]).expect(0);
    assert_eq!(status(&project), "?? own.txt");
}

#[test]
fn a_commit_of_the_users_own_in_between_is_merged_with() {
    let project = project("{ mode: branch }");
    complete(&project);
    project.write("r.txt", "mine\n");
    project.git(&["commit", "--quiet", "-m", "mine", "r.txt"]);
    project.write("own.txt", "not of this task\n");
    project.run(&["merge"]).expect(0);
    assert_eq!(status(&project), "?? own.txt");
    let parents = project.git(&["log", "-1", "--format=%p"]);
    assert_eq!(parents.split(' ').count(), 2, "{parents}");
}

#[test]
fn taking_a_merge_back_keeps_what_the_user_had_not_committed() {
    for way in [
        &["merge"][..],
        &["merge", "--squash"],
        &["merge", "--no-ff"],
    ] {
        let project = project("{ mode: branch }");
        let head = project.git(&["rev-parse", "HEAD"]);
        project.write("a.txt", "1\nmine\n3\n");
        project.write("dirty.txt", "mine\n");
        complete(&project);
        let done = project.run(way).expect(0);
        let done = done.says(&["keeps the commit `team(start)`: what you had not committed"]);
        project.paste(undo(&done)).expect(0);
        assert_eq!(project.read("a.txt"), "1\nmine\n3\n", "{way:?}");
        assert_eq!(project.read("dirty.txt"), "mine\n");
        assert!(!project.path("new.txt").exists());
        // And is as it was, if that is wanted.
        assert!(done.stderr.contains("`git reset HEAD~1`"));
        project.git(&["reset", "--quiet", "HEAD~1"]);
        assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(status(&project), " M a.txt\n?? dirty.txt");
    }
}

#[test]
fn taking_a_merge_with_the_users_commits_back_keeps_their_work_too() {
    let project = project("{ mode: branch }");
    project.write("dirty.txt", "mine\n");
    complete(&project);
    project.write("r.txt", "mine\n");
    project.git(&["commit", "--quiet", "-m", "mine", "r.txt"]);
    let done = project.run(&["merge"]).expect(0).says(&["team(start)"]);
    project.paste(undo(&done)).expect(0);
    assert_eq!(project.read("dirty.txt"), "mine\n");
    assert_eq!(project.read("r.txt"), "mine\n");
    assert!(!project.path("new.txt").exists());
}

#[test]
fn without_anything_uncommitted_nothing_is_said_of_it() {
    let project = project("{ mode: branch }");
    let head = project.git(&["rev-parse", "--short=10", "HEAD"]);
    complete(&project);
    let done = project.run(&["merge"]).expect(0).lacks(&["team(start)"]);
    assert_eq!(undo(&done), format!("git reset --keep {head}"));
}

#[test]
fn a_patch_applies_to_the_commit_that_is_checked_out() {
    let project = project("{ mode: none }");
    project.write("a.txt", "1\nmine\n3\n");
    project.write("dirty.txt", "mine\n");
    let done = complete(&project);
    let told = "which applies to the commit the task began on";
    assert!(done.text.contains(told), "{}", done.text);
    let patch = format!("{}/changes.patch", path(&done.value));
    project.git(&["stash", "--quiet", "--include-untracked", "--", "a.txt"]);
    std::fs::remove_file(project.path("dirty.txt")).unwrap();
    std::fs::remove_file(project.path("new.txt")).unwrap();
    assert_eq!(status(&project), "");
    project.git(&["apply", &patch]);
    assert_eq!(project.read("a.txt"), "1\nmine\n3\n4\n");
    assert_eq!(status(&project), " M a.txt\n?? dirty.txt\n?? new.txt");
}

#[test]
fn a_branch_is_moved_forward_past_files_that_are_not_of_the_task() {
    let project = project("{ mode: current }");
    let client = SdkClient::new(&project);
    client.start();
    client.submit(requirements());
    client.submit(design());
    project.write("a.txt", "changed\n");
    project.write("new.txt", "new\n");
    client.submit(change());
    client.submit(approval());
    project.write("own.txt", "not of this task\n");
    let done = client.submit(approval());
    assert!(done.text.contains("It is on `main`."), "{}", done.text);
    assert_eq!(status(&project), "?? own.txt");
}

fn path(done: &Value) -> &str {
    done["run_path"].as_str().unwrap()
}
