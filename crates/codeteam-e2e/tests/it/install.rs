//! `codeteam mcp install`, and what the real clients then say of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::runs::programs;

/// A user with a project, and nothing of the machine's configuration.
struct TestUser {
    folder: tempfile::TempDir,
}

impl TestUser {
    fn new() -> Self {
        // Codex does not want to have its home where the system keeps temporary files.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let user = Self { folder };
        for folder in [user.home(), user.root()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let git = user.program(Path::new("git"), &["init", "--quiet"]);
        assert!(git.0);
        user
    }

    fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    /// Runs a program, and returns whether it succeeded, its output, and its errors.
    fn program(&self, program: &Path, args: &[&str]) -> (bool, String, String) {
        let mut command: Command = programs::command(program);
        let path = programs::path_with(&programs::clis());
        // `codeteam` is found by its name, as if it were installed.
        let own = programs::codeteam().parent().unwrap().to_owned();
        let folders = std::iter::once(own).chain(std::env::split_paths(&path));
        command
            .args(args)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("HOME", self.home())
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// Runs a client and returns its output.
    fn client(&self, client: &str, args: &[&str]) -> String {
        let (_, stdout, stderr) = self.program(&programs::clis().join(client), args);
        stdout + &stderr
    }

    fn codeteam(&self, what: &str, client: &str, scope: &str) -> Value {
        let args = ["mcp", what, client, "--scope", scope, "--yes", "--json"];
        let (did_well, stdout, stderr) = self.program(programs::codeteam(), &args);
        assert!(did_well, "{args:?}: {stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Registers, twice, and takes it out, twice; the client is asked each time.
    fn there_and_back(&self, client: &str, scope: &str, list: &[&str]) {
        let before = self.client(client, list);
        assert!(!before.contains("codeteam mcp"), "{before}");
        let first = self.codeteam("install", client, scope);
        assert_eq!(first["done"], true, "{first}");
        assert_eq!(first["registered"], true, "{first}");
        let listed = self.client(client, list);
        assert!(listed.contains("codeteam"), "{client}, {scope}: {listed}");
        assert_eq!(self.codeteam("install", client, scope)["done"], false);
        let out = self.codeteam("uninstall", client, scope);
        assert_eq!(
            (&out["done"], &out["registered"]),
            (&true.into(), &false.into())
        );
        let after = self.client(client, list);
        assert_eq!(
            after.contains("codeteam"),
            before.contains("codeteam"),
            "{after}"
        );
        assert_eq!(self.codeteam("uninstall", client, scope)["done"], false);
    }
}

#[test]
fn claude_has_it_and_says_that_it_answers() {
    let user = TestUser::new();
    user.there_and_back("claude", "user", &["mcp", "get", "codeteam"]);
    user.codeteam("install", "claude", "user");
    let listed = user.client("claude", &["mcp", "list"]);
    assert!(listed.contains("codeteam: codeteam mcp"), "{listed}");
    assert!(listed.contains("Connected"), "{listed}");
}

#[test]
fn claude_has_it_for_a_project_beside_what_else_is_there() {
    let user = TestUser::new();
    let file = user.root().join(".mcp.json");
    std::fs::write(&file, r#"{"mcpServers": {"other": {"command": "true"}}}"#).unwrap();
    user.there_and_back("claude", "project", &["mcp", "get", "codeteam"]);
    user.codeteam("install", "claude", "project");
    let text = std::fs::read_to_string(&file).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["mcpServers"]["other"]["command"], "true");
    assert_eq!(read["mcpServers"]["codeteam"]["command"], "codeteam");
}

#[test]
fn codex_has_it() {
    let user = TestUser::new();
    user.there_and_back("codex", "user", &["mcp", "list"]);
    user.codeteam("install", "codex", "user");
    let got = user.client("codex", &["mcp", "get", "codeteam"]);
    assert!(
        got.contains("command: codeteam") && got.contains("args: mcp"),
        "{got}"
    );
}

#[test]
fn codex_has_it_for_a_project_it_trusts() {
    let user = TestUser::new();
    let folder = user.home().join(".codex");
    std::fs::create_dir_all(&folder).unwrap();
    let trusted = format!(
        "[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        user.root().display()
    );
    std::fs::write(folder.join("config.toml"), trusted).unwrap();
    user.there_and_back("codex", "project", &["mcp", "list"]);
}

#[test]
fn gemini_has_it_for_a_user_and_for_a_project() {
    let user = TestUser::new();
    for scope in ["user", "project"] {
        user.there_and_back("gemini", scope, &["mcp", "list"]);
    }
}

#[test]
fn an_entry_that_starts_something_else_is_replaced() {
    let user = TestUser::new();
    for (client, args) in [
        (
            "claude",
            &["mcp", "add", "--scope", "user", "codeteam", "--", "old"][..],
        ),
        ("codex", &["mcp", "add", "codeteam", "--", "old"]),
        (
            "gemini",
            &["mcp", "add", "--scope", "user", "codeteam", "old"],
        ),
    ] {
        user.client(client, args);
        let report = user.codeteam("install", client, "user");
        assert_eq!(report["commands"].as_array().unwrap().len(), 2, "{report}");
        assert_eq!(user.codeteam("install", client, "user")["done"], false);
    }
}
