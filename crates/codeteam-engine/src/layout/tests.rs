//! Tests of the files of a project's layout, valid and invalid.

use std::fs;

use super::*;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read(files: &[(&str, &str)]) -> Result<StrictLayout, String> {
    let folder = project(files);
    StrictLayout::read(folder.path()).map_err(|error| error.to_string())
}

fn role(kind: RoleKind) -> Role {
    let role = json!({
        "name": "x", "kind": kind, "contract": "strict", "workers": ["codex"], "model": "m",
        "prompt": "Usual.",
    });
    serde_json::from_value(role).unwrap()
}

#[test]
fn nothing_said_is_what_is_usual() {
    let layout = read(&[("config/agents.yaml", "# nobody\n")]).unwrap();
    assert_eq!(layout.policies.root(), Some("workspace"));
    let commands = layout.commands();
    assert_eq!(commands[0].command, "pytest -q");
    assert_eq!(commands[0].timeout_seconds, Some(300));
    assert!(layout.plan.is_none() && layout.goal.is_none());
    let mut coder = role(RoleKind::Implementer);
    layout.assign_role(&mut coder);
    assert_eq!(coder.prompt, "Usual.");
    assert_eq!(coder.workers, [WorkerName::from("codex")]);
    assert_eq!(coder.means.root.as_deref(), Some("workspace"));
    assert_eq!(coder.means.max_chars, Some(4_000));
}

#[test]
fn agents_are_who_their_files_say() {
    let layout = read(&[
        ("prompts/system.md", "All of you.\n"),
        ("prompts/coder.md", "You code.\n"),
        (
            "config/agents.yaml",
            "coder: { worker: claude }\ntester: { model: small }\n",
        ),
        ("config/policies.yaml", "filesystem: { scope: src/app/ }\n"),
    ])
    .unwrap();
    let cast = |kind| {
        let mut role = role(kind);
        layout.assign_role(&mut role);
        (role.prompt, role.workers[0].0.clone(), role.model)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        cast(RoleKind::Planner),
        (
            "All of you.\n\nUsual.".to_owned(),
            "codex".to_owned(),
            some("m")
        )
    );
    assert_eq!(
        cast(RoleKind::Implementer),
        (
            "All of you.\n\nYou code.".to_owned(),
            "claude".to_owned(),
            None
        ),
        "a model is the model of its worker"
    );
    assert_eq!(cast(RoleKind::Gatekeeper).2, some("small"));
    assert_eq!(layout.policies.root(), Some("src/app"));
}

#[test]
fn tasks_are_a_plan() {
    let tasks = "goal: Statistics\ntasks:\n  - id: T1\n    title: Add\n    rationale: why\n    \
                 acceptance: adds\n    artifacts: [src/stats.py]\n";
    let layout = read(&[("config/tasks.yaml", tasks)]).unwrap();
    assert_eq!(layout.goal.as_deref(), Some("Statistics"));
    let plan = layout.plan.unwrap();
    assert_eq!(plan.plan_id, "", "the run gives it a name");
    assert_eq!(plan.tasks[0].files, ["workspace/src/stats.py"]);
    assert!(
        read(&[("config/tasks.yaml", "tasks: []\n")])
            .unwrap()
            .plan
            .is_none()
    );
    let wrong = tasks.replace("T1", "T2");
    assert_eq!(
        read(&[("config/tasks.yaml", &wrong)]).unwrap_err(),
        "config/tasks.yaml: at `tasks[0].id`: it must be `T1`, not `T2`"
    );
}

#[test]
fn what_is_wrong_is_named() {
    let policies = |text: &str| read(&[("config/policies.yaml", text)]).unwrap_err();
    for scope in ["../x", "/etc", ".git", "a b", "''", "a//b"] {
        let said = policies(&format!("filesystem: {{ scope: {scope} }}\n"));
        assert!(said.contains("which is not a folder to work in"), "{said}");
    }
    assert!(
        read(&[("config/policies.yaml", "filesystem: { scope: . }\n")])
            .unwrap()
            .policies
            .root()
            .is_none()
    );
    let said = policies("output: { max_chars: 100 }\n");
    assert!(said.contains("below 4000"), "{said}");
    let said = policies("execution: { timeout: 5 }\n");
    assert!(said.contains("config/policies.yaml:1"), "{said}");
    assert!(said.contains("unknown key `timeout`"), "{said}");
    let said = read(&[("config/agents.yaml", "tester: { wroker: x }\n")]).unwrap_err();
    assert!(said.contains("did you mean `worker`?"), "{said}");

    let folder = project(&[]);
    std::os::unix::fs::symlink("/etc", folder.path().join("config")).unwrap();
    fs::create_dir_all(folder.path().join("prompts")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("prompts/coder.md")).unwrap();
    assert!(StrictLayout::read(folder.path()).is_err(), "it leads out");
}

#[test]
fn a_program_is_the_first_word_if_it_is_one() {
    assert_eq!(command_program("pytest -q"), Some("pytest"));
    assert_eq!(command_program("python3 -m pytest"), Some("python3"));
    for other in [
        "",
        "cd x && pytest",
        "A=1 pytest",
        ".venv/bin/pytest",
        "(true)",
    ] {
        assert_eq!(command_program(other), None, "{other}");
    }
}
