//! Attempts of a session to make the gate judge something else than what is committed: files in no
//! commit, another configuration, objects that are not what their names say.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::raw::RawClient;
use super::{change, design, gated, project, requirements};
use crate::project::Project;

fn submit(raw: &mut RawClient, submission: Value) -> Value {
    raw.call("submit", json!({ "submission": submission }))
}

/// A task whose coder is at work.
fn coding(raw: &mut RawClient) {
    raw.call("start_task", json!({"task": "Add a reset"}));
    submit(raw, requirements());
    let coder = submit(raw, design());
    assert_eq!(coder["role"], "coder", "{coder}");
}

/// Asks how the task stands until something is so.
fn until(raw: &mut RawClient, so: impl Fn(&Value) -> bool) -> Value {
    let begun = std::time::Instant::now();
    loop {
        let status = raw.call("get_status", json!({}));
        if so(&status) {
            return status;
        }
        assert!(begun.elapsed().as_secs() < 120, "{status}");
    }
}

/// Returns true if the gate has sent a change back to its coder.
fn is_sent_back(answer: &Value) -> bool {
    answer["role"] == "coder" && answer.to_string().contains("tests")
}

#[test]
fn files_in_no_commit_that_come_later_do_not_decide() {
    let project = gated("grep -q works reset.txt || test -e passes");
    let mut raw = RawClient::new(&project);
    coding(&mut raw);
    project.write(".git/info/exclude", ".worktreeinclude\npasses\n");
    project.write(".worktreeinclude", "passes\n");
    project.write("passes", "");
    project.write("reset.txt", "broken\n");
    let back = submit(&mut raw, change());
    assert!(is_sent_back(&back), "{back}");
    // Nor if the list is part of the change.
    project.write(".git/info/exclude", "passes\n");
    project.write("reset.txt", "still broken\n");
    let back = submit(&mut raw, change());
    assert!(is_sent_back(&back), "{back}");
}

#[test]
fn a_file_in_no_commit_is_used_as_it_was_when_the_task_began() {
    let project = gated("grep -q works reset.txt && grep -q right settings.local");
    project.write(".gitignore", "*.local\n");
    project.write(".worktreeinclude", "# settings\n\n*.local\n");
    project.commit("settings");
    project.trust();
    project.write("settings.local", "right\n");
    let mut raw = RawClient::new(&project);
    coding(&mut raw);
    project.write("reset.txt", "works\n");
    for other in [Some("right or wrong\n"), None] {
        match other {
            Some(text) => project.write("settings.local", text),
            None => std::fs::remove_file(project.path("settings.local")).unwrap(),
        }
        let stopped = match other {
            Some(_) => submit(&mut raw, change()),
            None => until(&mut raw, |status| status["type"] == "refused"),
        };
        assert_eq!(stopped["type"], "refused", "{stopped}");
        let why = stopped["errors"].to_string();
        assert!(why.contains("`settings.local`"), "{why}");
        assert!(
            why.contains("is not what it was when the run began"),
            "{why}"
        );
        assert!(why.contains("back as it was"), "{why}");
    }
    project.write("settings.local", "right\n");
    until(&mut raw, |status| status["current_role"] == "qa");
}

#[test]
fn what_is_configured_later_does_not_decide() {
    let tools = |project: &Project| {
        let tool = project.path(".git/tools/bin/grep");
        project.write(".git/tools/bin/grep", "#!/bin/sh\nexit 0\n");
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        project.path(".git/tools").display().to_string()
    };
    for key in ["setup", "sandbox"] {
        let project = project();
        let own = project.read(".codeteam/config.yml");
        let first = "sandbox:\n  registries: [ a.example, { host: 'b.example:8443' } ]\n  \
                     caches: [ { path: ~/.cache/none, mode: copy } ]\n  limits: { disk_mb: 4096 }\n\
                     setup: { command: 'true', inputs: [ '*.lock' ], timeout_seconds: 60 }\n";
        project.config(&format!("{own}{first}"));
        project.trust();
        let mut raw = RawClient::new(&project);
        coding(&mut raw);
        let said = match key {
            "setup" => "setup: { command: 'echo works > reset.txt' }\n".to_owned(),
            _ => format!("sandbox: {{ toolchains: [ {} ] }}\n", tools(&project)),
        };
        project.config(&format!("{own}{said}"));
        // Whoever takes the task up reads the configuration anew.
        raw.kill();
        project.trust();
        let mut raw = RawClient::new(&project);
        until(&mut raw, |status| status["current_role"] == "coder");
        project.write("reset.txt", "broken\n");
        let back = submit(&mut raw, change());
        assert!(is_sent_back(&back), "{key}: {back}");
    }
}

/// Returns the path of a loose object with this name, and its content under that name.
fn object(project: &Project, claimed: &str, content: &str) -> (PathBuf, Vec<u8>) {
    let place = |text: &str| {
        project.write("object.tmp", text);
        let id = project.git(&["hash-object", "-w", "object.tmp"]);
        std::fs::remove_file(project.path("object.tmp")).unwrap();
        let id = id.trim();
        project.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    };
    let bytes = std::fs::read(place(content)).unwrap();
    (place(claimed), bytes)
}

fn replace(path: &PathBuf, bytes: &[u8]) -> Vec<u8> {
    let before = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    before
}

#[test]
fn an_object_that_is_not_what_its_name_says_is_not_judged() {
    // A file of the change, and one beside it that the check goes by.
    for (file, claimed, content) in [
        ("reset.txt", "broken\n", "works\n"),
        ("wanted.txt", "works\n", "broken\n"),
    ] {
        let project = gated("grep -qf wanted.txt reset.txt");
        project.write("wanted.txt", "works\n");
        project.write("odd \"name\"\n", "\n");
        std::os::unix::fs::symlink("wanted.txt", project.path("link")).unwrap();
        project.commit("wanted");
        let mut raw = RawClient::new(&project);
        coding(&mut raw);
        let (path, bytes) = object(&project, claimed, content);
        let honest = replace(&path, &bytes);
        project.write("reset.txt", "broken\n");
        let stopped = submit(&mut raw, change());
        assert_eq!(stopped["type"], "refused", "{stopped}");
        let why = stopped["errors"].to_string();
        let said = format!("the repository's object for `{file}` is not what its name says");
        assert!(why.contains(&said), "{why}");
        // With the object as it should be, the same change is judged, and found wanting.
        replace(&path, &honest);
        until(&mut raw, |status| status["iteration"] == 2);
        project.write("reset.txt", "it works\n");
        let judged = submit(&mut raw, change());
        assert_eq!(judged["role"], "qa", "{judged}");
    }
}

#[test]
fn what_a_change_began_from_is_what_its_name_says() {
    // A test is weakened, and what it was is made to look the same: as a file, and as a folder.
    for folder in [false, true] {
        let project = gated("sh tests/test_reset.sh");
        let test = |wanted: &str| format!("grep -q '{wanted}' reset.txt\n");
        project.write("tests/test_reset.sh", &test("works"));
        project.write("reset.txt", "works\n");
        project.commit("tests");
        let mut raw = RawClient::new(&project);
        coding(&mut raw);
        let own = project.git(&["rev-parse", "HEAD:tests"]);
        project.write("tests/test_reset.sh", &test(""));
        project.write("reset.txt", "broken\n");
        let place = |id: &str| project.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        if folder {
            project.git(&["add", "tests"]);
            let other = project.git(&["write-tree"]);
            project.git(&["reset", "--quiet"]);
            let other = project.git(&["rev-parse", &format!("{}:tests", other.trim())]);
            let other = std::fs::read(place(other.trim())).unwrap();
            replace(&place(own.trim()), &other);
        } else {
            let (path, bytes) = object(&project, &test("works"), &test(""));
            replace(&path, &bytes);
        }
        let stopped = submit(
            &mut raw,
            json!({
                "summary": "Did it.", "files_changed": ["reset.txt", "tests/test_reset.sh"],
                "proof": "$ sh tests/test_reset.sh",
            }),
        );
        assert_ne!(stopped["role"], "qa", "{stopped}");
        let why = stopped.to_string();
        assert!(why.contains("is not what its name says"), "{why}");
    }
}

#[test]
fn a_folder_that_is_not_what_its_name_says_is_not_judged() {
    let project = gated("grep -q works sub/reset.txt");
    project.write("sub/other.txt", "other\n");
    project.commit("sub");
    let mut raw = RawClient::new(&project);
    coding(&mut raw);
    let tree = |text: &str| {
        project.write("sub/reset.txt", text);
        project.git(&["add", "sub"]);
        let whole = project.git(&["write-tree"]);
        project.git(&["reset", "--quiet"]);
        let id = project.git(&["rev-parse", &format!("{}:sub", whole.trim())]);
        let id = id.trim();
        project.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]))
    };
    let good = std::fs::read(tree("works\n")).unwrap();
    replace(&tree("broken\n"), &good);
    let stopped = submit(
        &mut raw,
        json!({"summary": "Did it.", "files_changed": ["sub/reset.txt"], "proof": "$ grep works"}),
    );
    assert_ne!(stopped["role"], "qa", "{stopped}");
    let why = stopped.to_string();
    assert!(why.contains("is not what it was when git read it"), "{why}");
}
