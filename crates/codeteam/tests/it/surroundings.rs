//! Whatever state the user's repository is in, a run starts from a commit and disturbs nothing.

use crate::project::{CommandResult, Project};
use crate::samples::{ONE_TASK, THREE_TASKS};

#[test]
fn uncommitted_changes_and_a_detached_head_are_said_and_left() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.git(&["checkout", "--quiet", "--detach"]);
    project.write("hello.txt", "changed\n");
    project.write("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    let before = project.checkout();
    let commit = project.git(&["rev-parse", "--short=10", "HEAD"]);
    let done = project
        .run(&["run", "x", "--script", &script])
        .expect(0)
        .says(&["uncommitted changes", "HEAD is detached", &commit]);
    assert!(!done.stderr.contains("error"), "{}", done.stderr);
    assert_eq!(project.checkout(), before);
    assert_eq!(project.committed_file("hello.txt"), "hello");
}

#[test]
fn quiet_says_nothing_of_it() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.write("untracked.txt", "mine\n");
    let done = project
        .run(&["run", "x", "--script", &script, "--quiet", "--json"])
        .expect(0);
    assert_eq!(done.stderr, "");
    assert_eq!(done.value()["status"], "completed");
    let done = project.run(&["-q", "run", "x", "--script", &script]);
    let done = done.expect(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
}

#[test]
fn without_a_home_there_is_no_place_for_worktrees() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let mut command = project.codeteam(&["run", "x", "--script", &script]);
    command.env("GIT_AUTHOR_NAME", "Ada");
    command.env("GIT_AUTHOR_EMAIL", "ada@example.org");
    let done = CommandResult::from(command.env_remove("HOME").output().unwrap());
    done.expect(1)
        .says(&["`XDG_STATE_HOME`", "hint: set `HOME`"]);
    assert!(!project.path(".codeteam/state.db").exists());
}

#[test]
fn goals_are_any_text() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    for (goal, ending) in [
        ("日本語", "_run"),
        ("--dashed", "_dashed"),
        ("first line\nsecond", "_first-line-second"),
        ("../../etc/passwd", "_etc-passwd"),
        (r#"a"b`c$d"#, "_a-b-c-d"),
    ] {
        let run = project.json(&["run", "--script", &script, "--json", "--", goal]);
        assert_eq!(run["goal"], goal);
        assert!(run["branch"].as_str().unwrap().ends_with(ending), "{run}");
    }
}

#[test]
fn a_lock_left_on_the_index_disturbs_nothing() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.write(".git/index.lock", "");
    project.run(&["run", "x", "--script", &script]).expect(0);
    assert!(
        project.path(".git/index.lock").exists(),
        "not ours to remove"
    );
    assert_eq!(project.committed_file("one.txt"), "done");
}

#[test]
fn a_branch_that_exists_is_not_touched() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let head = project.git(&["rev-parse", "HEAD"]);
    // Whenever in the next minutes the run starts, its first name is taken.
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let name = |second: i64| {
        let at = &now + jiff::SignedDuration::from_secs(second);
        format!("codeteam/{}_x", at.strftime("%Y-%m-%d_%H%M%S"))
    };
    for second in 0..600 {
        project.write(&format!(".git/refs/heads/{}", name(second)), &head);
    }
    let run = project.json(&["run", "x", "--script", &script, "--json"]);
    assert!(run["branch"].as_str().unwrap().ends_with("_x-2"), "{run}");
    for second in 0..600 {
        assert_eq!(
            project.read(&format!(".git/refs/heads/{}", name(second))),
            head
        );
    }
}

#[test]
fn a_linked_worktree_is_a_place_to_start_from() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let linked = project.home().join("linked");
    let linked = linked.to_str().unwrap();
    project.git(&["worktree", "add", "--quiet", "-b", "side", linked]);
    let before = project.checkout();
    let run = project.json(&["-C", linked, "run", "x", "--script", &script, "--json"]);
    assert_eq!(run["status"], "completed");
    assert_eq!(project.checkout(), before);
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{branch}:one.txt")]), "done");
    project.run(&["-C", linked, "merge"]).expect(0);
    assert!(project.home().join("linked/one.txt").exists());
    assert_eq!(project.checkout(), before);
}

#[test]
fn relative_paths_are_those_of_the_folder_named_with_c() {
    let project = Project::new();
    project.write("sub/script.yml", THREE_TASKS);
    project.write("sub/flow.yml", crate::samples::ONE_BY_ONE);
    project.write("sub/plan.yml", "description: d\ntasks: [ { id: one } ]\n");
    let args = [
        "-C",
        "sub",
        "run",
        "--script",
        "script.yml",
        "--workflow",
        "flow.yml",
    ];
    let run = project.json(&[&args[..], &["--plan", "plan.yml", "--json"]].concat());
    assert_eq!(run["goal"], "d");
    assert_eq!(run["tasks"].as_array().unwrap().len(), 1);
}
