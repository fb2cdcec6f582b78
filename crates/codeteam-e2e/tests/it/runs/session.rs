//! codeteam's MCP server inside the real CLIs: a person's session is led through the roles, dies with
//! its first question, and a second session goes on to the commit.

use std::path::Path;
use std::process::Command;

use codeteam_e2e::Scenario;

use super::programs;
use super::project::{Done, Project};

/// What the model does: in the first session until it has questions, in the second all the rest. It
/// lies once, and QA rejects once.
const TEAM: &str = r#"
plays:
  - name: first session
    when: { model: FIRST }
    turns: [
      { tools: [ { team: { tool: start_task, input: { task: Add a script that adds } } } ] },
      { tools: [ { team: { tool: submit, input: { submission: { questions: [Whole numbers only?] } } } } ] },
      { text: "I have a question before we proceed: whole numbers only?" } ]
  - name: second session
    turns:
      - tools: [ { team: { tool: get_status } } ]
      - tools: [ { team: { tool: resume, input: { input: "Yes, whole numbers" } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { approved: true, reason: I skip ahead } } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { design: One script, patterns: [] } } } } ]
      - tools: [ { write: { path: add.sh, content: "echo 4\n" } } ]
      - tools: [ { team: { tool: submit, input: { submission:
            { summary: Done, files_changed: [add.sh], proof: "$ sh add.sh 2 3\n5" } } } } ]
      - tools: [ { run: { command: "printf 'echo $(($1 + $2))\\n' > add.sh" } } ]
      - tools: [ { team: { tool: submit, input: { submission:
            { summary: It adds now, files_changed: [add.sh], proof: "$ sh add.sh 2 3\n5" } } } } ]
      - tools: [ { team: { tool: submit, input: { submission:
            { approved: false, reason: Nobody tried zero, issues: [Zero is not tried] } } } } ]
      - tools: [ { run: { command: "printf '# Adds two whole numbers, zero too.\\necho $(($1 + $2))\\n' > add.sh" } } ]
      - tools: [ { team: { tool: submit, input: { submission:
            { summary: Zero too, files_changed: [add.sh], proof: "$ sh add.sh 0 0\n0" } } } } ]
      - tools: [ { team: { tool: submit, input: { role: qa, submission: { approved: true, reason: Tried } } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { approved: true, reason: Simple } } } } ]
      - text: The task is complete.
"#;

/// A session of a CLI that has codeteam as a server, with one prompt.
fn session(project: &Project, cli: &str, model: &str, prompt: &str) -> Done {
    let codeteam = programs::codeteam().display().to_string();
    let url = project.server.openai_url();
    let mut command: Command = project.command(Path::new(cli));
    match cli {
        "claude" => {
            let servers = serde_json::json!({
                "mcpServers": { "codeteam": { "command": codeteam, "args": ["mcp"] } },
            });
            command
                .env("IS_SANDBOX", "1")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .args(["-p", "--model", model])
                .args(["--permission-mode", "bypassPermissions"])
                .args(["--setting-sources", "", "--strict-mcp-config"])
                .args(["--mcp-config", &servers.to_string(), "--", prompt]);
        }
        "codex" => {
            command
                .env("CODEX_API_KEY", "sk-dummy")
                .args(["exec", "--skip-git-repo-check", "-m", model])
                .args(["-c", "sandbox_mode=\"danger-full-access\""])
                .args(["-c", "approval_policy=\"never\""])
                .args(["-c", &format!("openai_base_url=\"{url}\"")])
                .args([
                    "-c",
                    &format!("mcp_servers.codeteam.command=\"{codeteam}\""),
                ])
                .args(["-c", "mcp_servers.codeteam.args=[\"mcp\"]"])
                .args([
                    "-c",
                    "mcp_servers.codeteam.env_vars=[\"GIT_AUTHOR_NAME\",\"GIT_AUTHOR_EMAIL\"]",
                ])
                .arg(prompt);
        }
        _ => {
            let settings = serde_json::json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "mcpServers": { "codeteam": { "command": codeteam, "args": ["mcp"], "trust": true } },
            });
            let folder = project.home().join(".gemini");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
            command
                .args(["-m", model, "--approval-mode", "yolo", "--skip-trust"])
                .args(["-p", prompt]);
        }
    }
    command.stdin(std::process::Stdio::null());
    Done::from(command.output().unwrap())
}

#[track_caller]
fn is_led(cli: &str, [first, second]: [&str; 2]) {
    let scenario = Scenario::parse("team.yml", &TEAM.replace("FIRST", first))
        .unwrap_or_else(|e| panic!("{e}"));
    let project = Project::lasting(scenario);
    // The server is started by the CLI, with as much of the environment as that passes on.
    project.git(&["config", "user.name", "Ada"]);
    project.git(&["config", "user.email", "ada@example.org"]);
    let head = project.git(&["rev-parse", "HEAD"]);
    session(
        &project,
        cli,
        first,
        "Start team task: add a script that adds",
    )
    .expect(0);
    project.asked();
    let status = project.run(&["status"]).expect(0);
    assert!(status.stdout.contains("waiting"), "{}", status.stdout);

    session(&project, cli, second, "Yes, whole numbers").expect(0);
    project.asked();
    let run = project.shown();
    assert_eq!(run["status"], "completed", "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    let log = project.git(&[
        "log",
        "--reverse",
        "--format=%s",
        &format!("HEAD..{branch}"),
    ]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(
        subjects,
        [
            "team(architect): design submitted",
            "team(coder): iteration 1",
            "team(coder): iteration 2 - address verify feedback",
            "team(coder): iteration 3 - address qa feedback",
            "team(complete): Add a script that adds [qa:✓ reviewer:✓]",
        ]
    );
    assert!(project.made("add.sh").contains("zero too"));
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    // What was answered and by whom: the session, in the person's name.
    let answered = project.events("answered");
    assert_eq!(answered[0]["answer"], "Yes, whole numbers");
    // And the person takes it: no file is touched, and nothing is left over.
    project.run(&["merge"]).expect(0);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(
        project.git(&["rev-parse", "HEAD"]),
        project.git(&["rev-parse", branch])
    );
}

#[test]
fn claude_is_led_through_a_task() {
    is_led("claude", ["claude-sonnet-4-5", "claude-opus-4-5"]);
}

#[test]
fn codex_is_led_through_a_task() {
    is_led("codex", ["gpt-5.5", "gpt-5.4"]);
}

#[test]
fn gemini_is_led_through_a_task() {
    is_led("gemini", ["gemini-2.5-pro", "gemini-2.5-flash"]);
}
