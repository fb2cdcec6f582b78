//! A project that is laid out for it: prompts, policies, notes, code and logs in folders of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{left, script};
use crate::project::{CommandResult, Project};

const GOAL: &str = "Statistics of users";

const PLAN: &str = r#"{"plan_id":"plan_0001","tasks":[{"id":"T1","title":"Implement get_user_stats","rationale":"Provide summary statistics for user data","acceptance":"get_user_stats(data) returns dict with count, mean","artifacts":["src/stats.py"]},{"id":"T2","title":"Test it","rationale":"It is shown","acceptance":"the test passes","artifacts":["tests/test_stats.py"]}]}"#;
const CODE: &str = r#"{"edits":[{"path":"src/stats.py","content":"def get_user_stats(data):\n    return {'count': len(data), 'mean': sum(data) / len(data)}\n"}]}"#;
const MORE: &str = r#"{"edits":[{"path":"tests/test_stats.py","content":"from src.stats import get_user_stats\n\n\ndef test_stats():\n    assert get_user_stats([1, 3]) == {'count': 2, 'mean': 2}\n"}]}"#;

/// A pytest that checks can see: installed once, by pip, for all tests.
fn pytest() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pytest");
    if folder.exists() {
        return folder;
    }
    let beside = folder.with_file_name(format!("pytest.{}", std::process::id()));
    let python = Path::new("/usr/bin/python3");
    let install = ["-m", "pip", "install", "--quiet", "--target"];
    let output = Project::program(python)
        .args(install)
        .arg(beside.join("lib"))
        .args(["--disable-pip-version-check", "pytest"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "pytest could not be installed: {said}"
    );
    fs::create_dir_all(beside.join("bin")).unwrap();
    let program = beside.join("bin/pytest");
    let text = format!(
        "#!/bin/sh\nPYTHONPATH='{}' PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 -m pytest \"$@\"\n",
        folder.join("lib").display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // Of two tests at once, one was first.
    let _ = fs::rename(&beside, &folder);
    folder
}

/// A project as `init` lays it out, whose checks see pytest, and whose prompts are kept.
fn project() -> Project {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.git(&["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    project
        .run(&["init", "--layout", "strict", "--yes"])
        .expect(0);
    let config = project.read(".codeteam/config.yml");
    let audited = "workflow: { extends: strict, settings: { audit_trail: true } }\n";
    project.config(&config.replace("workflow: strict\n", audited));
    project.commit("laid out");
    project.user_config(&format!(
        "sandbox: {{ toolchains: [ {} ] }}\n",
        pytest().display()
    ));
    project
}

/// The same, tested by a script of the shell, which is quicker.
fn quick() -> Project {
    let project = project();
    allow(&project, "sh run.sh");
    project.write(
        "workspace/run.sh",
        "for t in tests/*.sh; do sh $t || exit 1; done\n",
    );
    project.write("workspace/tests/old.sh", "echo old\n");
    project.commit("quick");
    project
}

fn allow(project: &Project, command: &str) {
    let policies = project.read("config/policies.yaml");
    project.write(
        "config/policies.yaml",
        &policies.replace("pytest -q", command),
    );
}

fn start(project: &Project, with: &[(&str, &str)]) -> CommandResult {
    let usual = [("PLAN", PLAN), ("CODE", CODE), ("MORE", MORE)];
    let with: Vec<_> = with.iter().chain(&usual).copied().collect();
    let script = project.script(&script(&with));
    project.run(&["run", GOAL, "--script", &script])
}

fn prompts(project: &Project) -> Vec<String> {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let audit = project.path(&format!(".codeteam/runs/{run}/audit"));
    let mut files: Vec<PathBuf> = fs::read_dir(audit)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with("prompt.md"))
        .collect();
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.collect()
}

#[test]
fn a_project_is_laid_out_and_used() {
    let project = project();
    for file in [
        "prompts/planner.md",
        "prompts/coder.md",
        "prompts/tester.md",
        "prompts/system.md",
        "config/agents.yaml",
        "config/policies.yaml",
        "config/tasks.yaml",
        "kb/project.md",
        "workspace/pytest.ini",
        "runs/.gitignore",
        "docs/architecture.md",
        "docs/decisions.md",
        "README.md",
    ] {
        assert!(project.path(file).is_file(), "{file}");
    }
    project.write("prompts/coder.md", "You are our coder.\n");
    project.write("kb/units.md", "All means are arithmetic {{ means }}.\n");
    project.commit("our own");
    let before = project.checkout();
    start(&project, &[]).expect(0).says(&["2 of 2 tasks done"]);
    assert_eq!(
        project.committed_files(),
        ["workspace/src/stats.py", "workspace/tests/test_stats.py"]
    );
    // Nothing of the checkout is touched but the logs, which git does not see.
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let mut after = project.checkout();
    after.retain(|(name, _)| !name.starts_with("runs/20") && !name.starts_with("runs/plan"));
    assert_eq!(after, before);
    let files = left(&project.path("runs"));
    assert_eq!(files[1].0, "plan_0001.json");
    let plan: Value = serde_json::from_str(&files[1].1).unwrap();
    assert_eq!(plan.to_string(), PLAN, "as it was given, to the letter");
    assert!(files[0].1.contains(
        r#"{"role":"coder","type":"patch","data":{"task_id":"T1","files":["src/stats.py"]}}"#
    ));
    let prompts = prompts(&project);
    assert_eq!(prompts.len(), 5);
    for prompt in &prompts {
        assert!(
            prompt.starts_with("You are one of three agents"),
            "{prompt}"
        );
        assert!(
            prompt.contains("All means are arithmetic {{ means }}."),
            "{prompt}"
        );
    }
    let of = |text: &str| {
        prompts
            .iter()
            .filter(|prompt| prompt.contains(text))
            .count()
    };
    assert_eq!(of("You are our coder."), 2);
    assert_eq!(of("by giving complete files"), 0);
    // Paths are those of the workspace.
    assert_eq!(
        of(r#""repo_summary":"pytest.ini - configuration, 3 lines\ntests/test_begin.py - python"#),
        1
    );
    assert_eq!(
        of(r#""artifacts":["src/stats.py"]},"context_files":[]}"#),
        1
    );
    assert_eq!(of(r#""pytest_exit_code":0,"pytest_output":"."#), 2);
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write("prompts/coder.md", "Mine.\n");
    project.write("docs/architecture.md", "Mine too.\n");
    project.config("worker: scripted\n");
    project
        .run(&["init", "--layout", "strict", "--yes"])
        .expect(0);
    assert_eq!(project.read("prompts/coder.md"), "Mine.\n");
    assert_eq!(project.read("docs/architecture.md"), "Mine too.\n");
    let config = project.read(".codeteam/config.yml");
    assert!(config.starts_with("worker: scripted\n"), "{config}");
    assert!(config.contains("\nlayout: strict\n"), "{config}");
    project
        .run(&["init", "--layout", "strict", "--yes"])
        .expect(0)
        .says(&["nothing to write"]);
}

#[test]
fn a_failing_test_of_pytest_halts_the_run() {
    let project = project();
    let wrong = MORE.replace("'mean': 2", "'mean': 3");
    let fails = "{ task_id: \"{{task.id}}\", passed: false, report: x }";
    let script = script(&[("PLAN", PLAN), ("CODE", CODE), ("MORE", &wrong)]);
    let script = script.replace(
        "{ task_id: \"{{task.id}}\", passed: true, report: all well }",
        fails,
    );
    let script = project.script(&script);
    let done = project.run(&["run", GOAL, "--script", &script]).expect(1);
    done.says(&[
        "failed: `report` rejected it: the tests failed: 1 failed, 1 passed in ",
        "  log     runs/20",
    ]);
    assert_eq!(project.committed_files(), ["workspace/src/stats.py"]);
}

#[test]
fn only_what_is_allowed_runs() {
    let project = quick();
    project.write(
        "config/policies.yaml",
        "execution: { command: sh other.sh, allow: [ sh run.sh, pytest -q ] }\n",
    );
    start(&project, &[]).expect(2).says(&[
        "the command `sh other.sh` is not allowed by `config/policies.yaml`",
        "hint: add it to `execution.allow` there",
        "allowed: `sh run.sh`, `pytest -q`",
    ]);
    project.write(
        "config/policies.yaml",
        "execution: { command: no-such-pytest -q, allow: [ no-such-pytest -q ] }\n",
    );
    start(&project, &[]).expect(1).says(&[
        "`no-such-pytest` is not installed, and `no-such-pytest -q` is to run the tests",
        "under `execution` in `config/policies.yaml`; nothing was started",
    ]);
    project.write("config/policies.yaml", "execution: { comand: x }\n");
    start(&project, &[])
        .expect(2)
        .says(&["config/policies.yaml:1:14", "did you mean `command`?"]);
    assert!(!project.path(".codeteam/state.db").exists());
}

#[test]
fn tests_that_take_too_long_are_ended() {
    let project = quick();
    project.write(
        "config/policies.yaml",
        "execution: { command: sh run.sh, allow: [ sh run.sh ], timeout_seconds: 1 }\n",
    );
    project.write("workspace/tests/old.sh", "echo begun; exec sleep 600\n");
    project.commit("slow");
    let failed = r#"{"task_id":"T1","passed":false,"report":"x"}"#;
    start(&project, &[("TELL", failed)])
        .expect(1)
        .says(&["the tests failed: (did not end within 1 s)"]);
    let told = prompts(&project).concat();
    assert!(
        told.contains(
            r#""pytest_exit_code":124,"pytest_output":"begun\n(did not end within 1 s)\n""#
        ),
        "{told}"
    );
}

#[test]
fn tasks_may_be_given_and_agents_cast() {
    let project = quick();
    let tasks = "goal: Given\ntasks:\n  - { id: T1, title: Add, rationale: r, acceptance: a, artifacts: [src/stats.py] }\n";
    project.write("config/tasks.yaml", tasks);
    project.write("config/agents.yaml", "coder: { worker: nobody }\n");
    start(&project, &[])
        .expect(2)
        .says(&["codeteam does not know the worker `nobody`"]);
    project.write("config/agents.yaml", "coder: { worker: scripted }\n");
    let script = project.script(&script(&[("PLAN", PLAN), ("CODE", CODE), ("MORE", MORE)]));
    project
        .run(&["run", "--script", &script])
        .expect(0)
        .says(&["1 of 1 task done"]);
    assert_eq!(project.shown_run()["goal"], "Given");
    let files = left(&project.path("runs"));
    assert!(files[0].1.starts_with(r#"{"role":"orchestrator","type":"plan","data":{"plan_id":"plan_0001","tasks":[{"id":"T1","title":"Add","#), "{}", files[0].1);
    assert_eq!(files[1].0, "plan_0001.json");
    assert_eq!(prompts(&project).len(), 2, "nobody planned");
}

/// Nothing is written outside of the workspace, wherever a link in it leads.
#[test]
fn edits_stay_in_the_workspace() {
    let project = quick();
    std::os::unix::fs::symlink("../docs", project.path("workspace/src")).unwrap();
    project.commit("a link");
    start(&project, &[])
        .expect(1)
        .says(&["`workspace/src/stats.py` cannot be written: a part of its path is not a folder"]);
    let outside = PLAN.replace("src/stats.py", "../docs/stats.py");
    start(
        &project,
        &[("PLAN", &outside.replace("plan_0001", "plan_0002"))],
    )
    .expect(1)
    .says(&["at `tasks[0].artifacts`: `../docs/stats.py` is not a file of the project"]);
    assert!(!project.path("docs/stats.py").exists());
}
