//! Registration with clients, as far as their files go; with the clients themselves it is tested in
//! `codeteam-e2e`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::project::Project;

const FILE: &str = ".codex/config.toml";
const OWN: &str = "[mcp_servers.codeteam]\ncommand = \"codeteam\"\nargs = [\"mcp\"]\n";

#[test]
fn nothing_is_done_without_a_yes() {
    let project = Project::new();
    let shown = project.run(&["mcp", "install", "codex", "--scope", "project"]);
    let shown = shown.expect(3);
    assert!(shown.stdout.contains("+[mcp_servers.codeteam]"));
    assert!(shown.stderr.contains("nothing was done"));
    assert!(!project.path(FILE).exists());
    let mut terminal = project.terminal(&["mcp", "install", "codex", "--scope", "project"]);
    terminal.until("Do it?");
    terminal.line("n");
    terminal.end(0);
    assert!(!project.path(FILE).exists());
}

#[test]
fn what_else_is_in_the_file_stays_as_it_is() {
    let project = Project::new();
    let before = "# ours\nmodel = \"x\"   # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    project.write(FILE, before);
    let args = ["--scope", "project", "--yes", "--json"];
    let install = [&["mcp", "install", "codex"], &args[..]].concat();
    let report = project.json(&install);
    assert_eq!(
        (&report["done"], &report["registered"]),
        (&true.into(), &true.into())
    );
    assert_eq!(project.read(FILE), format!("{before}\n{OWN}"));
    // Twice is once.
    let again = project.json(&install);
    assert_eq!(
        (&again["done"], &again["difference"]),
        (&false.into(), &Value::Null)
    );
    let uninstall = [&["mcp", "uninstall", "codex"], &args[..]].concat();
    assert_eq!(project.json(&uninstall)["registered"], false);
    assert_eq!(project.read(FILE), before);
    assert_eq!(project.json(&uninstall)["done"], false);
}

#[test]
fn a_file_that_held_nothing_else_is_gone_again() {
    let project = Project::new();
    let args = ["codex", "--scope", "project", "--yes"];
    project
        .run(&[&["mcp", "install"], &args[..]].concat())
        .expect(0);
    assert_eq!(project.read(FILE), OWN);
    project
        .run(&[&["mcp", "uninstall"], &args[..]].concat())
        .expect(0);
    assert!(!project.path(FILE).exists());
}

#[test]
fn a_file_that_cannot_be_changed_without_harm_is_left() {
    let project = Project::new();
    let odd = "mcp_servers = { other = { command = \"y\" } }\n";
    project.write(FILE, odd);
    let refused = project.run(&["mcp", "install", "codex", "--scope", "project", "--yes"]);
    let refused = refused.expect(2);
    assert!(
        refused.stderr.contains("cannot be changed here"),
        "{}",
        refused.stderr
    );
    assert_eq!(project.read(FILE), odd);
}

#[test]
fn a_client_that_is_not_there_is_named_with_what_to_do() {
    let project = Project::new();
    let mut command = project.codeteam(&["mcp", "install", "claude", "--yes"]);
    command.env("PATH", "/usr/bin:/bin");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`claude` was not found"), "{stderr}");
    assert!(
        stderr.contains("claude mcp add --scope user codeteam -- "),
        "{stderr}"
    );
}

#[test]
fn what_a_client_says_is_passed_on_without_colours() {
    let project = Project::new();
    let folder = project.home().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let client = folder.join("gemini");
    let script = "#!/bin/sh\nprintf '\\033[31mno such folder\\033[0m\\nat all\\n' >&2; exit 1\n";
    std::fs::write(&client, script).unwrap();
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.codeteam(&["mcp", "install", "gemini", "--yes"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no such folder\n    at all"), "{stderr:?}");
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
}

#[test]
fn opencode_has_it_in_its_own_file() {
    let project = Project::new();
    project.write("opencode.json", "{\n  \"theme\": \"x\"\n}\n");
    let args = ["opencode", "--scope", "project", "--yes", "--json"];
    let report = project.json(&[&["mcp", "install"], &args[..]].concat());
    assert_eq!(report["registered"], true, "{report}");
    let file: Value = serde_json::from_str(&project.read("opencode.json")).unwrap();
    assert_eq!(file["mcp"]["codeteam"]["command"][1], "mcp");
    assert_eq!(file["theme"], "x");
    let again = project.json(&[&["mcp", "install"], &args[..]].concat());
    assert_eq!(again["done"], false, "{again}");
    let gone = project.json(&[&["mcp", "uninstall"], &args[..]].concat());
    assert_eq!(gone["registered"], false, "{gone}");
    assert_eq!(project.read("opencode.json"), "{\n  \"theme\": \"x\"\n}\n");
}
