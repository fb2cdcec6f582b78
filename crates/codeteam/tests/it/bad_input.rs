//! Invalid input is reported clearly, with what to do about it, before anything is created.

use std::fmt::Write as _;

use crate::project::{CommandResult, Project};
use crate::samples::THREE_TASKS;

/// A project with a script, in which nothing has been run yet.
fn project() -> (Project, String) {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    (project, script)
}

/// Runs codeteam with something wrong. Nothing is made: no log, no branch, no worktree.
#[track_caller]
fn refused(project: &Project, args: &[&str], says: &[&str]) -> CommandResult {
    let before = project.checkout();
    let done = project.run(args).expect(2).says(says);
    assert_eq!(done.stdout, "", "errors are no results");
    assert!(done.stderr.starts_with("error: "), "{}", done.stderr);
    assert_eq!(project.checkout(), before);
    assert_eq!(project.git(&["branch", "--list", "codeteam/*"]), "");
    assert!(!project.path(".codeteam/state.db").exists());
    assert!(!project.path(".codeteam/bodies").exists());
    assert!(project.worktrees().is_empty());
    done
}

#[test]
fn a_script_that_fills_the_memory() {
    let (project, _) = project();
    let script = project.path("huge.yml");
    let file = std::fs::File::create(&script).unwrap();
    // A hole: it takes no room on the disk.
    file.set_len(17 << 20).unwrap();
    let script = script.to_str().unwrap();
    refused(
        &project,
        &["run", "x", "--script", script],
        &["could not read the script", "longer than 16 MiB"],
    );
}

#[test]
fn no_repository() {
    let project = Project::empty();
    let script = project.script(THREE_TASKS);
    for command in [
        &["run", "x", "--script", &script][..],
        &["status"],
        &["resume"],
    ] {
        let done = project.run(command).expect(2);
        done.says(&["is not in a git repository", "hint: ", "`git init`"]);
        assert!(!project.path(".codeteam").exists());
    }
}

#[test]
fn no_commit_yet() {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    let done = project.run(&["run", "x"]).expect(2);
    done.says(&["has no commits yet", "hint: make a first commit"]);
    assert!(!project.path(".codeteam").exists());
}

#[test]
fn a_bare_repository() {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--bare", "."]);
    let done = project.run(&["run", "x"]).expect(2);
    done.says(&["has no work tree", "hint: ", "git worktree add"]);
    assert!(!project.path(".codeteam").exists());
}

#[test]
fn an_empty_goal() {
    let (project, script) = project();
    for goal in ["", "  \n "] {
        let done = refused(&project, &["run", goal, "--script", &script], &[]);
        done.says(&["the goal is empty", "hint: say what you want"]);
    }
    let nothing = "there is no goal, and no plan to carry out";
    refused(&project, &["run"], &[nothing]);
}

#[test]
fn unknown_names() {
    let (project, script) = project();
    let run = ["run", "x", "--script", &script];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    refused(
        &project,
        &with(&["--workflow", "codetaem"]),
        &[
            "there is no workflow `codetaem`",
            "did you mean `codeteam`?",
        ],
    );
    refused(
        &project,
        &with(&["--workflow", "banana"]),
        &["there is no workflow `banana`", "codeteam workflow list"],
    );
    refused(
        &project,
        &with(&["--workflow", "nowhere.yml"]),
        &["there is no workflow `", "nowhere.yml`", "hint: "],
    );
    refused(
        &project,
        &with(&["--worker", "clod"]),
        &[
            "does not know the worker `clod`",
            "hint: known: claude, codex, gemini, builtin, scripted",
        ],
    );
    refused(
        &project,
        &["run", "x", "--script", "nowhere.yml"],
        &["there is no script `", "nowhere.yml`", "hint: "],
    );
    refused(
        &project,
        &with(&["--plan", "nowhere.yml"]),
        &["there is no plan `", "nowhere.yml`", "hint: "],
    );
    refused(
        &project,
        &["-C", "nowhere", "run", "x"],
        &["nowhere` is not a folder"],
    );
}

#[test]
fn a_script_named_in_the_configuration_must_be_there() {
    let (project, _) = project();
    project.config("script: nowhere.yml\n");
    refused(
        &project,
        &["run", "x"],
        &["there is no script `", "nowhere.yml`"],
    );
}

#[test]
fn a_script_that_makes_no_sense() {
    let (project, _) = project();
    let script = project.script("version: 1\nplays:\n  - { do: [ { dance: well } ] }\n");
    refused(
        &project,
        &["run", "x", "--script", &script],
        &["script.yml:3:", "dance", "hint: fix the script"],
    );
}

#[test]
fn without_a_script_the_demo_is_not_played_here() {
    let (project, _) = project();
    refused(
        &project,
        &["run", "x"],
        &[
            "the scripted worker has no script",
            "`--script`",
            "`codeteam demo`",
        ],
    );
}

#[test]
fn no_run_to_speak_of() {
    let (project, _) = project();
    for command in [
        "show", "log", "diff", "approve", "retry", "abort", "merge", "prune",
    ] {
        refused(
            &project,
            &[command],
            &["this project has no run yet", "hint: "],
        );
    }
    let done = project.run(&["status"]).expect(0);
    done.says(&["no runs yet"]);
    assert!(!project.path(".codeteam/state.db").exists());
}

/// A plan that makes no sense: file, line and cause are said, and nothing is made.
#[track_caller]
fn bad_plan(text: &str, says: &[&str]) {
    let (project, script) = project();
    let plan = project.write_outside("plan.yml", text);
    let args = ["run", "x", "--script", &script, "--plan", &plan];
    refused(&project, &args, says);
}

#[test]
fn plans_that_make_no_sense() {
    bad_plan(
        "tasks:\n  - { id: a, dependencies: [b] }\n  - { id: b, dependencies: [a] }\n",
        &["plan.yml:2:", "`a`", "`b`", "hint: fix the plan"],
    );
    bad_plan(
        "tasks:\n  - { id: first }\n  - { id: b, dependencies: [frist] }\n",
        &["plan.yml:3:", "`frist`"],
    );
    bad_plan(
        "tasks:\n  - { id: a }\n  - { id: a, title: again }\n",
        &["plan.yml:3:", "`a`"],
    );
    bad_plan(
        "tasks:\n  - { id: a\n  - { id: b }\n",
        &["plan.yml:2:5: invalid YAML: unclosed"],
    );
    bad_plan(
        "tasks:\n  - { id: a, titel: x }\n",
        &["plan.yml:2:", "titel"],
    );
    bad_plan("tasks: []\n", &["plan.yml", "no task"]);
}

#[test]
fn a_plan_of_more_than_ten_thousand_tasks() {
    let mut plan = "tasks:\n".to_owned();
    for n in 0..10_001 {
        writeln!(plan, "  - {{ id: t{n} }}").unwrap();
    }
    bad_plan(&plan, &["plan.yml", "10001", "10000"]);
}

#[test]
fn a_configuration_with_an_unknown_key() {
    let (project, script) = project();
    project.config("verification:\n  comands: []\n");
    refused(
        &project,
        &["run", "x", "--script", &script],
        &["config.yml:2:", "comands"],
    );
}

#[test]
fn branches_that_could_not_be_made() {
    let (project, script) = project();
    project.config("git: { branch_pattern: work }\n");
    refused(
        &project,
        &["run", "x", "--script", &script],
        &["config.yml", "`git.branch_pattern`", "`{run}`"],
    );
    // Git keeps branches as files: beside `team` there can be no `team/anything`.
    project.config("git: { branch_pattern: 'team/{run}' }\n");
    project.git(&["branch", "team"]);
    let done = project.run(&["run", "x", "--script", &script]).expect(2);
    done.says(&[
        "because there is a branch `team`",
        "hint: ",
        "branch_pattern",
    ]);
    project.run(&["status"]).expect(0).says(&["no runs yet"]);
}

#[test]
fn a_log_that_is_no_database_is_left_alone() {
    let (project, script) = project();
    project.write(
        ".codeteam/state.db",
        "not a database, but dear to someone\n",
    );
    for command in [
        &["run", "x", "--script", &script][..],
        &["status"],
        &["resume"],
    ] {
        let done = project.run(command).expect(2);
        done.says(&[
            "state.db` is not a codeteam database",
            "hint: ",
            "move the file away",
        ]);
    }
    assert_eq!(
        project.read(".codeteam/state.db"),
        "not a database, but dear to someone\n"
    );
}

#[test]
fn a_log_of_a_newer_codeteam_is_left_alone() {
    let (project, script) = project();
    project.run(&["run", "x", "--script", &script]).expect(0);
    // The schema's version is in the header of the file, at byte 60.
    let path = project.path(".codeteam/state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    for command in [
        &["run", "x", "--script", &script][..],
        &["status"],
        &["resume"],
    ] {
        let done = project.run(command).expect(2);
        done.says(&[
            "written by a newer codeteam",
            "99",
            "hint: use that newer codeteam",
        ]);
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_damaged_log_is_said_to_be() {
    let (project, script) = project();
    project.run(&["run", "x", "--script", &script]).expect(0);
    let path = project.path(".codeteam/state.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3 * 4096..].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    let done = project.run(&["show"]).expect(1);
    done.says(&[
        "state.db` is damaged",
        "hint: move the file away to keep it",
    ]);
    let doctor = project.run(&["doctor"]).expect(1).stdout;
    assert!(
        doctor.contains("is damaged") && doctor.contains("move the file away"),
        "{doctor}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_file_where_the_folder_should_be() {
    let (project, script) = project();
    std::fs::remove_dir_all(project.path(".codeteam")).unwrap();
    project.write(".codeteam", "mine\n");
    let done = project.run(&["run", "x", "--script", &script]).expect(1);
    done.says(&["Not a directory", "hint: `.codeteam` must be a folder"]);
    assert_eq!(project.read(".codeteam"), "mine\n");
}

#[test]
fn a_file_where_folders_of_runs_or_plans_are_made() {
    let (project, script) = project();
    let own = project.read(".codeteam/config.yml");
    project.write("hello.txt", "hello\n");
    project.config(&format!("{own}output: {{ runs_dir: hello.txt }}\n"));
    let done = project.run(&["run", "x", "--script", &script]);
    assert_ne!(done.code, Some(0));
    done.says(&[
        "could not make the folder `",
        "hello.txt`",
        "a file of that name is in the way",
    ])
    .lacks(&["more than one run"]);
    project.config(&own);
    project.write(".codeteam/planning", "mine\n");
    let done = project.run(&["run", "x", "--script", &script]);
    assert_ne!(done.code, Some(0));
    done.says(&["planning`", "a file of that name is in the way"]);
    assert_eq!(project.read("hello.txt"), "hello\n");
    assert_eq!(project.read(".codeteam/planning"), "mine\n");
}
