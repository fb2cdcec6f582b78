//! The commit that a session's gate compares with: checks that fail without the change, too, and
//! the results of set-up, which it makes once.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::raw::RawClient;
use super::{change, design, requirements};
use crate::project::Project;

/// A package of which one test fails for a reason that has nothing to do with the task.
fn with_a_broken_test(baseline: &str) -> Project {
    let project = Project::new();
    project.write(".gitignore", "__pycache__/\n");
    project.write("reset.py", "def reset():\n    return 0\n");
    project.write(
        "test_reset.py",
        "import unittest\n\nimport reset\n\n\nclass TestReset(unittest.TestCase):\n    def test_reset(self):\n        self.assertEqual(reset.reset(), 0)\n\n    def test_broken(self):\n        self.assertEqual(1, 2)\n",
    );
    project.config(&format!("verification:\n  {baseline}\n  commands: [ {{ name: Tests, command: python3 -m unittest -q }} ]\n"));
    project.commit("first");
    project
}

/// A server in a project whose coder is at work, without the tests' own setting for red checks.
fn coding(project: &Project) -> RawClient {
    let mut command = project.codeteam(&["mcp"]);
    command.env_remove("CODETEAM_VERIFICATION__BASELINE");
    let mut raw = RawClient::of(command);
    raw.greet();
    raw.call("start_task", json!({"task": "Add a second reset"}));
    raw.call("submit", json!({ "submission": requirements() }));
    let coder = raw.call("submit", json!({ "submission": design() }));
    assert_eq!(coder["role"], "coder", "{coder}");
    raw
}

/// Submits what is in the checkout, and gives what the task has come to when its checks have ended.
fn judged(raw: &mut RawClient) -> Value {
    let begun = std::time::Instant::now();
    let mut answer = raw.call("submit", json!({ "submission": change() }));
    while answer["state"] == "checking" || answer["type"] == "task_status" {
        assert!(begun.elapsed().as_secs() < 120, "{answer}");
        if answer["current_role"].is_string() && answer["state"] != "checking" {
            break;
        }
        answer = raw.call("get_status", json!({}));
    }
    answer
}

#[test]
fn a_check_that_fails_without_the_change_is_said_to() {
    let project = with_a_broken_test("test_paths: [ 'test_*.py' ]");
    let mut raw = coding(&project);
    project.write(
        "reset.py",
        "def reset():\n    return 0\n\n\ndef second():\n    return 1\n",
    );
    let back = judged(&mut raw);
    let said = back.to_string();
    assert_eq!(back["role"], "coder", "{said}");
    assert!(
        said.contains("this check also fails on the commit that the task started from"),
        "{said}"
    );
    assert!(said.contains("test_broken"), "{said}");
    assert!(said.contains("verification.baseline"), "{said}");
}

#[test]
fn only_new_failures_count_where_the_project_says_so() {
    let project = with_a_broken_test("baseline: new_failures");
    let mut raw = coding(&project);
    project.write("reset.py", "def reset():\n    return 1\n");
    let back = judged(&mut raw);
    let said = back.to_string();
    assert_eq!(back["role"], "coder", "{said}");
    assert!(said.contains("these did not fail before the run"), "{said}");
    assert!(said.contains("test_reset"), "{said}");
    project.write(
        "reset.py",
        "def reset():\n    return 0\n\n\ndef second():\n    return 1\n",
    );
    let next = judged(&mut raw);
    assert_ne!(next["role"], "coder", "{next}");
}

/// The results of set-up that are kept for this project.
fn kept(project: &Project) -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.ends_with("files/ready") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&project.home().join(".local/state/codeteam"), &mut found);
    found
}

/// When the set-up of two rounds was made, where something is done between them.
fn two_rounds(between: impl Fn(&Project)) -> [String; 2] {
    let project = Project::new();
    project.write(".gitignore", "ready\n");
    project.write("lock.txt", "1\n");
    project.config("setup: { command: 'date +%s%N > ready', inputs: [ lock.txt ] }\nverification:\n  commands: [ { name: Tests, command: 'echo \"made at $(cat ready).\"; grep -q works reset.txt' } ]\n");
    project.commit("first");
    let mut raw = coding(&project);
    let mut round = |text: &str| {
        project.write("reset.txt", text);
        let said = judged(&mut raw).to_string();
        let found = said.split("made at ").nth(1);
        let found = found.unwrap_or_else(|| panic!("{said}"));
        found.split('.').next().unwrap().to_owned()
    };
    let first = round("one\n");
    between(&project);
    [first, round("two\n")]
}

#[test]
fn set_up_runs_once_in_a_session() {
    let [first, second] = two_rounds(|_| {});
    assert_eq!(first, second);
}

#[test]
fn what_set_up_made_is_made_again_if_a_session_has_written_to_it() {
    let [first, second] = two_rounds(|project| {
        let kept = kept(project);
        assert_eq!(kept.len(), 1, "{kept:?}");
        std::fs::write(&kept[0], "forged").unwrap();
    });
    assert_ne!(first, second);
    assert_ne!(second, "forged");
}
