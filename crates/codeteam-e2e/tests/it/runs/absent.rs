//! CLIs that are missing, too old, or cannot do what is needed: a clear error, or another one
//! replaces them.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use codeteam_e2e::{Play, Scenario};

use super::programs;
use super::project::Project;
use super::samples::{RIGHT, alone, writes};

/// A project that finds codex and this `claude`, if any.
fn with_claude(script: Option<&str>) -> Project {
    let mut project = Project::new(Scenario::new().play(writes(Play::new())));
    let folder = project.home().join("bin");
    std::fs::create_dir(&folder).unwrap();
    symlink(programs::clis().join("codex"), folder.join("codex")).unwrap();
    if let Some(script) = script {
        let program = folder.join("claude");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.set("PATH", programs::path_with(&folder));
    project
}

/// Without another worker the run fails and says this; with one, that does the work.
#[track_caller]
fn is_told(script: Option<&str>, texts: &[&str]) {
    let project = with_claude(script);
    let done = project.goal(&alone("worker: claude", ""), &[]).expect(1);
    done.says(texts).says(&["not done:"]);
    let failures = project.failures();
    assert_eq!(failures.len(), 1, "it is not tried again");
    assert_eq!(
        (failures[0].0.as_str(), failures[0].1.as_str()),
        ("cli", "escalate")
    );
    assert_eq!(project.commits(), 0);

    let workers = alone("workers: [claude, codex]", "");
    project.goal(&workers, &[]).expect(0).says(texts);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    assert_eq!(project.workers(), ["claude", "codex"]);
}

#[test]
fn a_missing_cli_is_told_and_another_stands_in() {
    is_told(
        None,
        &["`claude` is not installed; `npm install -g @anthropic-ai/claude-code` installs it"],
    );
}

#[test]
fn an_old_cli_is_told_and_another_stands_in() {
    is_told(
        Some("echo '1.0.65 (Claude Code)'"),
        &["`claude` 1.0.65 is too old, 2.1.0 is needed"],
    );
}

#[test]
fn a_cli_that_lacks_an_option_is_told_and_another_stands_in() {
    let script =
        "case $1 in --version) echo '2.1.197 (Claude Code)' ;; *) echo '--print --tools' ;; esac";
    is_told(
        Some(script),
        &["`claude` 2.1.197 has no `--output-format`, `--json-schema`"],
    );
}
