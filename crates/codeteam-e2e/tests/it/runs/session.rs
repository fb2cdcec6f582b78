//! codeteam's MCP server inside the real CLIs: a person's session is led through the roles, dies
//! with its first question, and a second session continues to the commit. Over HTTP it is one
//! session.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use codeteam_e2e::Scenario;

use super::programs;
use super::project::{CommandResult, Project};
use super::shown::shown;

/// The model's acts: in the first session until it has questions, in the second all the rest. It
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

/// The same in one session, in which nobody doubts.
const SHORT: &str = r#"
plays:
  - name: one session
    turns:
      - tools: [ { team: { tool: start_task, input: { task: Add a script that adds } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { confirmed_requirements: It adds } } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { design: One script, patterns: [] } } } } ]
      - tools: [ { run: { command: "printf 'echo $(($1 + $2))\\n' > add.sh" } } ]
      - tools: [ { team: { tool: submit, input: { submission:
            { summary: It adds, files_changed: [add.sh], proof: "$ sh add.sh 2 3\n5" } } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { approved: true, reason: Tried } } } } ]
      - tools: [ { team: { tool: submit, input: { submission: { approved: true, reason: Simple } } } } ]
      - text: The task is complete.
"#;

/// The way in which a CLI reaches codeteam's server.
enum McpTransport<'a> {
    /// It starts it.
    Stdio,
    /// It is there.
    Http(&'a HttpServerProcess),
}

/// A server over HTTP, which ends with its test.
struct HttpServerProcess {
    child: Child,
    url: String,
    token: String,
}

impl HttpServerProcess {
    fn new(project: &Project) -> Self {
        let mut command = project.command(programs::codeteam());
        command.args(["mcp", "--http", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let told: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: told["url"].as_str().unwrap().to_owned(),
            token: told["token"].as_str().unwrap().to_owned(),
        }
    }

    fn header(&self) -> serde_json::Value {
        serde_json::json!({ "Authorization": format!("Bearer {}", self.token) })
    }
}

impl Drop for HttpServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A session of a CLI that has codeteam as a server, with one prompt.
fn session(
    project: &Project,
    cli: &str,
    model: &str,
    reach: &McpTransport<'_>,
    prompt: &str,
) -> CommandResult {
    let codeteam = programs::codeteam().display().to_string();
    let url = project.server.openai_url();
    let mut command: Command = project.command(Path::new(cli));
    match cli {
        "claude" => {
            let server = match reach {
                McpTransport::Stdio => serde_json::json!({ "command": codeteam, "args": ["mcp"] }),
                McpTransport::Http(served) => serde_json::json!({
                    "type": "http", "url": served.url, "headers": served.header(),
                }),
            };
            let servers = serde_json::json!({ "mcpServers": { "codeteam": server } });
            // Without this claude asks its model before a server on a busy machine has answered.
            command.env("MCP_CONNECTION_NONBLOCKING", "0");
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
                .args(["-c", &format!("openai_base_url=\"{url}\"")]);
            let own: &[String] = &match reach {
                McpTransport::Stdio => [
                    format!("mcp_servers.codeteam.command=\"{codeteam}\""),
                    "mcp_servers.codeteam.args=[\"mcp\"]".to_owned(),
                    "mcp_servers.codeteam.env_vars=[\"GIT_AUTHOR_NAME\",\"GIT_AUTHOR_EMAIL\"]"
                        .to_owned(),
                ]
                .to_vec(),
                McpTransport::Http(served) => {
                    command.env("CODETEAM_MCP_TOKEN", &served.token);
                    [
                        format!("mcp_servers.codeteam.url=\"{}\"", served.url),
                        "mcp_servers.codeteam.bearer_token_env_var=\"CODETEAM_MCP_TOKEN\""
                            .to_owned(),
                    ]
                    .to_vec()
                }
            };
            for line in own {
                command.args(["-c", line]);
            }
            command.arg(prompt);
        }
        "opencode" => command = opencode(project, model, reach, prompt),
        _ => {
            let server = match reach {
                McpTransport::Stdio => {
                    serde_json::json!({ "command": codeteam, "args": ["mcp"], "trust": true })
                }
                McpTransport::Http(served) => serde_json::json!({
                    "httpUrl": served.url, "headers": served.header(), "trust": true,
                }),
            };
            let settings = serde_json::json!({
                "security": { "auth": { "selectedType": "gemini-api-key" } },
                "mcpServers": { "codeteam": server },
            });
            let folder = project.home().join(".gemini");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
            command
                .args(["-m", model, "--approval-mode", "yolo", "--skip-trust"])
                .args(["-p", prompt]);
        }
    }
    command.stdin(Stdio::null());
    CommandResult::from(command.output().unwrap())
}

/// A session of opencode, which asks its models as Claude Code does.
fn opencode(project: &Project, model: &str, reach: &McpTransport<'_>, prompt: &str) -> Command {
    let server = match reach {
        McpTransport::Stdio => {
            serde_json::json!({ "type": "local", "command": [programs::codeteam(), "mcp"] })
        }
        McpTransport::Http(served) => serde_json::json!({
            "type": "remote", "url": served.url, "headers": served.header(),
        }),
    };
    let base = format!("{}/v1", project.server.base_url());
    let limits = serde_json::json!({ "context": 200_000, "output": 8_000 });
    let config = serde_json::json!({
        "autoupdate": false, "share": "disabled", "permission": "allow",
        "enabled_providers": ["anthropic"],
        "provider": { "anthropic": {
            "options": { "baseURL": base, "apiKey": "sk-dummy" },
            "models": { model: { "tool_call": true, "limit": limits } },
        } },
        "mcp": { "codeteam": server },
    });
    let file = project.home().join("opencode.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut command = project.command(&programs::opencode());
    command
        .env("OPENCODE_CONFIG", &file)
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        .args(["run", "--model", &format!("anthropic/{model}")])
        // Otherwise it asks the model for one.
        .args(["--title", "a task", prompt]);
    command
}

/// The texts that a model must have read at each step, near the beginning of what it is shown, in
/// whatever form its client shows it.
const MUST_READ: &[(&str, &[&str])] = &[
    (
        "start_task",
        &["You are now `ba`", "Do not answer the questions yourself"],
    ),
    (
        "submit",
        &["Ask them the `questions`", "Do not answer in their place"],
    ),
    (
        "get_status",
        &["Ask them the `questions`", "Do not answer in their place"],
    ),
    (
        "resume",
        &[
            "You are now `architect`",
            "Change no files.",
            "call `submit`",
        ],
    ),
    ("submit", &["You are still `architect`"]),
    ("submit", &["You are now `coder`", "commit nothing"]),
    (
        "submit",
        &[
            "You are now `coder`",
            "deal with everything under `feedback`",
            "commit nothing",
        ],
    ),
    (
        "submit",
        &[
            "You are now `qa`",
            "Change no files: edits made now are not part of what is judged",
        ],
    ),
    (
        "submit",
        &[
            "You are now `coder`",
            "deal with everything under `feedback`",
        ],
    ),
    ("submit", &["You are now `qa`"]),
    (
        "submit",
        &[
            "You are now `reviewer`",
            "Change no files: edits made now are not part of what is judged",
        ],
    ),
    (
        "submit",
        &[
            "The task is complete",
            "Tell the user; you have nothing more to do",
        ],
    ),
];

/// As far into what is shown the sentences that lead must begin.
const NEAR: usize = 1_200;

/// Looks at what the model was shown at each step of the two sessions.
#[track_caller]
fn assert_shown(cli: &str, scenario: &Scenario, project: &Project) {
    let steps = shown(scenario, project);
    let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
    let wanted: Vec<&str> = MUST_READ.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(tools, wanted);
    for (step, (tool, sentences)) in steps.iter().zip(MUST_READ) {
        for sentence in *sentences {
            let at = step.text.find(sentence);
            let near = at.is_some_and(|at| at < NEAR);
            assert!(
                near,
                "{cli}: {tool}: {sentence:?} at {at:?}:\n{}",
                step.text
            );
        }
    }
    let text: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let file = format!(
        "{}/tests/it/runs/shown/{cli}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    expect_test::expect_file![file].assert_eq(&text.join("\n"));
}

#[track_caller]
fn is_led(cli: &str, [first, second]: [&str; 2]) {
    let scenario = Scenario::parse("team.yml", &TEAM.replace("FIRST", first))
        .unwrap_or_else(|e| panic!("{e}"));
    let project = Project::lasting(scenario.clone());
    // The server is started by the CLI, with as much of the environment as that passes on.
    project.git(&["config", "user.name", "Ada"]);
    project.git(&["config", "user.email", "ada@example.org"]);
    let head = project.git(&["rev-parse", "HEAD"]);
    session(
        &project,
        cli,
        first,
        &McpTransport::Stdio,
        "Start team task: add a script that adds",
    )
    .expect(0);
    project.asked();
    let status = project.run(&["status"]).expect(0);
    assert!(status.stdout.contains("waiting"), "{}", status.stdout);

    let said = "Yes, whole numbers";
    session(&project, cli, second, &McpTransport::Stdio, said).expect(0);
    project.asked();
    let run = project.shown_run();
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
    assert!(project.committed_file("add.sh").contains("zero too"));
    assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
    assert_shown(cli, &scenario, &project);
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

#[test]
fn opencode_is_led_through_a_task() {
    is_led("opencode", ["claude-sonnet-4-5", "claude-opus-4-5"]);
}

#[track_caller]
fn is_led_over_http(cli: &str, model: &str) {
    let scenario = Scenario::parse("team.yml", SHORT).unwrap_or_else(|e| panic!("{e}"));
    let project = Project::lasting(scenario);
    project.git(&["config", "user.name", "Ada"]);
    project.git(&["config", "user.email", "ada@example.org"]);
    let served = HttpServerProcess::new(&project);
    let reach = McpTransport::Http(&served);
    session(&project, cli, model, &reach, "Start team task: add").expect(0);
    project.asked();
    let run = project.shown_run();
    assert_eq!(run["status"], "completed", "{run:#}");
}

#[test]
fn claude_is_led_over_http() {
    is_led_over_http("claude", "claude-sonnet-4-5");
}

#[test]
fn codex_is_led_over_http() {
    is_led_over_http("codex", "gpt-5.5");
}

#[test]
fn gemini_is_led_over_http() {
    is_led_over_http("gemini", "gemini-2.5-pro");
}
