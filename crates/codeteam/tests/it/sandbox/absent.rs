//! Without confinement: by the user's word, or because this machine cannot confine.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;

use super::{NO_SANDBOX, attack, by, cast, coder, found, reviewer};
use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};
use crate::samples::{ONE_TASK, TWO_TASKS};

const NOT_CONFINED: &str = "not confined: workers and gates run with your own rights";

/// All programs of this machine but bubblewrap.
fn without_bubblewrap(project: &Project) -> PathBuf {
    let folder = project.home().join("bin");
    std::fs::create_dir(&folder).unwrap();
    let command = project.codeteam(&[]);
    let path = command
        .get_envs()
        .find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
    for from in std::env::split_paths(&path.unwrap()) {
        for program in std::fs::read_dir(from).into_iter().flatten().flatten() {
            if program.file_name() != "bwrap" {
                // The first of a name counts, as in a search path.
                let _ = symlink(program.path(), folder.join(program.file_name()));
            }
        }
    }
    folder
}

fn run_without(project: &Project, path: &PathBuf, args: &[&str]) -> CommandResult {
    let mut command = project.codeteam(args);
    CommandResult::from(command.env("PATH", path).output().unwrap())
}

#[test]
fn a_run_that_is_not_confined_says_so_everywhere() {
    for by_config in [false, true] {
        let project = Project::new();
        let flag = if by_config {
            project.user_config("sandbox: none\n");
            None
        } else {
            Some(NO_SANDBOX)
        };
        let plays = [coder(&by("coder", "echo $HOME")), reviewer("")];
        let flags: Vec<&str> = flag.into_iter().collect();
        let done = attack(&project, &plays, &flags).expect(0);
        assert_eq!(done.said("coder"), [project.home().to_str().unwrap()]);
        let done = done.says(&[&format!("note: {NOT_CONFINED}")]);
        assert!(done.stderr.starts_with("note: "), "before anything else");
        let shown = project.run(&["show"]).expect(0).stdout;
        assert!(
            shown.contains(&format!("confined  {NOT_CONFINED}")),
            "{shown}"
        );
        let run = project.shown_run();
        assert_eq!(run["confinement"], NOT_CONFINED);
        let id = run["run"].as_str().unwrap();
        let status = project.json(&["status", id, "--json"]);
        assert_eq!(status["confinement"], NOT_CONFINED);
        let summary = project.read(&format!(".codeteam/runs/{id}/summary.md"));
        assert!(summary.contains(NOT_CONFINED), "{summary}");
    }
}

#[test]
fn a_confined_run_says_so_too() {
    let project = Project::new();
    let done = attack(&project, &[coder(""), reviewer("")], &[]).expect(0);
    done.lacks(&["note: "]);
    let confinement = project.shown_run()["confinement"].to_string();
    assert!(
        confinement.contains("confined by bubblewrap"),
        "{confinement}"
    );
}

#[test]
fn what_confines_a_run_is_settled_when_it_starts() {
    let project = Project::new();
    let args = cast(
        &project,
        ONE,
        &[coder(&by("coder", "echo $HOME")), reviewer("")],
    );
    let killed = |more: &[&str]| {
        let mut command = project.codeteam(&[]);
        command.args(&args).args(more);
        let output = command.env("CODETEAM_FAILPOINT", "appended:1").output();
        assert_eq!(output.unwrap().status.code(), None);
    };
    killed(&[]);
    project.user_config("sandbox: none\n");
    let done = project.run(&["-v", "resume"]).expect(0);
    assert_eq!(done.said("coder"), ["/home/agent"]);
    killed(&[]);
    project.user_config("sandbox: bubblewrap\n");
    let done = project.run(&["-v", "resume"]).expect(0);
    assert_eq!(done.said("coder"), [project.home().to_str().unwrap()]);
}

#[test]
fn without_bubblewrap_no_run_starts_and_nothing_is_left() {
    let project = Project::new();
    let (path, script) = (without_bubblewrap(&project), project.script(ONE_TASK));
    let before = project.checkout();
    let done = run_without(&project, &path, &["run", "x", "--script", &script]);
    done.expect(1).says(&[
        "cannot be confined here, so nothing was started",
        "install the package `bubblewrap`",
    ]);
    assert_eq!(project.json(&["status", "--json"]), json!([]));
    assert!(project.worktrees().is_empty());
    assert_eq!(project.checkout(), before);
    assert!(found(&project, "feature-0001").is_empty());
    assert!(!project.path(".codeteam/runs").exists());
    assert_eq!(project.git(&["branch", "--list", "codeteam/*"]), "");
    // The user may still say that it is not needed.
    let args = ["run", "x", "--script", &script, NO_SANDBOX];
    run_without(&project, &path, &args).expect(0);
    assert_eq!(found(&project, "feature-0001").len(), 1);
}

#[test]
fn a_run_waits_for_bubblewrap_to_come_back() {
    let project = Project::new();
    let path = without_bubblewrap(&project);
    let script = project.script(TWO_TASKS);
    let args = ["run", "x", "--script", &script, "--max-attempts", "4"];
    project.run(&args).expect(4);
    let before = project.shown_run();
    let resume = ["resume", "--max-attempts", "100"];
    run_without(&project, &path, &resume).expect(1).says(&[
        "cannot be confined here",
        "install the package `bubblewrap`",
        "then `codeteam resume`",
    ]);
    assert_eq!(project.survivors(), Vec::<String>::new());
    assert_eq!(project.shown_run()["tip"], before["tip"]);
    assert_eq!(project.shown_run()["tasks"], before["tasks"]);
    project.run(&resume).expect(0);
    assert_eq!(project.shown_run()["status"], "completed");
    let failed = project.events();
    let failed = failed
        .iter()
        .filter(|e| e["event"]["type"] == "attempt_failed");
    // The one of the script.
    assert_eq!(failed.count(), 1);
}
