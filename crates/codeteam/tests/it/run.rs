//! One run, all the way.

use crate::project::Project;
use crate::samples::THREE_TASKS;

#[test]
fn a_goal_becomes_verified_commits_and_nothing_else_changes() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    project.write("untracked.txt", "mine\n");
    let before = project.git(&["rev-parse", "HEAD"]);
    let done = project
        .run(&["run", "Three things", "--script", &script])
        .expect(0);
    let done = done.says(&["uncommitted changes", "committed", "codeteam merge"]);
    assert_eq!(done.stdout, "", "results of `run` are for --json");

    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? untracked.txt");
    let run = project.json(&["show", "--json"]);
    let branch = run["branch"].as_str().unwrap();
    let messages = project.git(&["log", "--format=%B", &format!("main..{branch}")]);
    for trailer in [
        "Codeteam-Run: ",
        "Codeteam-Task: two",
        "Codeteam-Attempt: run/two:code.2.0.1",
        "Codeteam-Verified: ",
    ] {
        assert!(messages.contains(trailer), "{messages}");
    }
    for tree in project.trees(branch) {
        assert!(
            messages.contains(&format!("Codeteam-Verified: {tree}")),
            "{messages}"
        );
    }
    assert_eq!(
        project.git(&["show", &format!("{branch}:two.txt")]),
        "right"
    );
    assert!(project.worktrees().is_empty());
    project.git(&["fsck", "--strict"]);
}
