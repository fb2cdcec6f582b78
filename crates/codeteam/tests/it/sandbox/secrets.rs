//! Secrets on the host that must not be seen inside: attack 1, and what environments have.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{NO_SANDBOX, attack, by, cast, coder, play, reviewer, test_that_runs};
use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};
use crate::samples::ONE_TASK;

const READERS: [&str; 3] = ["coder", "reviewer", "gate"];

/// Texts that are only in one place each, with the place.
struct PlantedSecrets(Vec<(&'static str, String)>);

fn put(path: &Path, text: &str) -> String {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    path.display().to_string()
}

impl PlantedSecrets {
    fn of(project: &Project) -> Self {
        let home = project.home();
        let config = std::fs::read_to_string(project.path(".codeteam/config.yml")).unwrap();
        project.config(&format!("# my-config\n{config}"));
        Self(vec![
            ("my-ssh-key", put(&home.join(".ssh/id"), "my-ssh-key\n")),
            (
                "my-login",
                put(&home.join(".claude/.credentials.json"), "my-login\n"),
            ),
            (
                "my-config",
                project.path(".codeteam/config.yml").display().to_string(),
            ),
            ("my-notes", put(&project.path("notes.txt"), "my-notes\n")),
            (
                "SQLite format 3",
                project.path(".codeteam/state.db").display().to_string(),
            ),
            (
                "work-of-another-run",
                other_run(project).display().to_string(),
            ),
        ])
    }

    /// Reads all of them, with whatever else an environment gives away.
    fn read(&self) -> String {
        let files: Vec<&str> = self.0.iter().map(|(_, path)| path.as_str()).collect();
        let files = files.join(" ");
        format!(
            "for file in {files}; do head -c 100 $file | tr -d '\\000'; echo; done\nenv\nfor file in /proc/*/environ; do tr '\\000' '\\n' < $file; done"
        )
    }
}

/// A run of which a worktree is left, in which there is work of another run.
fn other_run(project: &Project) -> PathBuf {
    let leaves = play(
        &json!({ "role": "coder" }),
        "echo work-of-another-run > other.txt",
        &json!({ "blocked": "Enough" }),
    );
    attack(project, &[leaves], &[]).expect(1);
    project.worktrees()[0].join("tree/other.txt")
}

fn stolen(more: &[&str]) -> (Vec<String>, CommandResult) {
    let project = Project::new();
    let secrets = PlantedSecrets::of(&project);
    let read = secrets.read();
    let plays = [
        coder(&format!(
            "{}\n{}",
            by("coder", &read),
            test_that_runs(&by("gate", &read))
        )),
        reviewer(&by("reviewer", &read)),
    ];
    let args = cast(&project, ONE, &plays);
    let mut command = project.codeteam(&[]);
    command.args(args).args(more).env("MY_WORD", "my-word");
    let done = CommandResult::from(command.output().unwrap()).expect(0);
    let mut stolen = Vec::new();
    let names = secrets.0.iter().map(|(secret, _)| *secret);
    for secret in names.chain(["my-word"]) {
        for whose in READERS {
            if done.said(whose).iter().any(|line| line.contains(secret)) {
                stolen.push(format!("{whose}: {secret}"));
            }
        }
    }
    (stolen, done)
}

#[test]
fn nobody_reads_what_is_not_shown() {
    let (stolen, done) = stolen(&[]);
    assert_eq!(stolen, Vec::<String>::new());
    for whose in READERS {
        // They did try, and did read environments: their own.
        let said = done.said(whose);
        assert!(said.contains(&"HOME=/home/agent"), "{said:#?}");
    }
}

#[test]
fn without_a_sandbox_all_of_it_is_read() {
    let (stolen, _) = stolen(&[NO_SANDBOX]);
    assert_eq!(stolen.len(), 7 * READERS.len(), "{stolen:#?}");
}

/// The machine's `PATH` with these folders before it.
#[expect(clippy::disallowed_methods, reason = "the PATH of the machine")]
fn path_with(folders: &[PathBuf]) -> OsString {
    let usual = std::env::var_os("PATH").unwrap();
    let all = folders.iter().cloned().chain(std::env::split_paths(&usual));
    std::env::join_paths(all).unwrap()
}

#[test]
fn a_path_into_the_checkout_shows_nothing_of_it() {
    let project = Project::new();
    let tool = |path: PathBuf| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\necho a tool\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    };
    project.write(".gitignore", ".env\n");
    tool(project.path("bin/yarn"));
    project.commit("as many projects are");
    project.write(".env", "KEY=the-key-of-the-checkout\n");
    // An installation, and another project.
    let node = project.home().join(".nvm/v22");
    tool(node.join("bin/pnpm"));
    tool(node.join("bin/bun"));
    let other = project.home().join("other");
    tool(other.join("bin/deno"));
    for secret in [
        node.join("etc/npmrc"),
        node.join("bin/.npmrc"),
        other.join(".env"),
    ] {
        std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
        std::fs::write(secret, "the-key-of-another\n").unwrap();
    }
    let (root, home) = (project.root(), project.home());
    let look = format!(
        "pnpm; deno
        for f in {0}/.env {0}/bin/yarn {0}/.git/config {0}/.codeteam/state.db {1}/.nvm/v22/etc/npmrc \
            {1}/.nvm/v22/bin/.npmrc {1}/other/.env; do test -s $f && echo SAW $f; done; true",
        root.display(),
        home.display()
    );
    let plays = [
        coder(&format!(
            "{}\n{}",
            by("coder", &look),
            test_that_runs(&by("gate", &look))
        )),
        reviewer(""),
    ];
    let args = cast(&project, ONE, &plays);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let path = path_with(&[project.path("bin"), node.join("bin"), other.join("bin")]);
    let done = CommandResult::from(project.codeteam(&args).env("PATH", &path).output().unwrap());
    let done = done.expect(0).lacks(&["the-key-of"]);
    for whose in ["coder", "gate"] {
        assert_eq!(done.said(whose), ["a tool", "a tool"], "{whose}");
    }
    let doctor = project.codeteam(&["doctor"]).env("PATH", &path).output();
    let doctor = CommandResult::from(doctor.unwrap());
    assert!(
        doctor
            .stdout
            .contains("project/bin` is in your `PATH` and not shown"),
        "{}",
        doctor.stdout
    );
    assert!(
        !doctor.stdout.contains("do not start a run"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn what_the_doctor_calls_bad_starts_no_run() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    for shown in ["toolchains: [ \"~\" ]", "caches: [ { path: \"~\" } ]"] {
        project.user_config(&format!("sandbox: {{ {shown} }}\n"));
        let home = project.home();
        let words = format!("workers and checks would see `{}`", home.display());
        let doctor = project.run(&["doctor"]).expect(1).stdout;
        let bad = doctor.lines().find(|line| line.contains(&words));
        assert!(bad.is_some_and(|line| line.contains("BAD")), "{doctor}");
        project
            .run(&["run", "x", "--script", &script])
            .expect(1)
            .says(&[&words]);
        assert_eq!(project.worktrees(), Vec::<PathBuf>::new());
    }
}
