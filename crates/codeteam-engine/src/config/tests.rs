//! Tests of the configuration, layer by layer.

use super::*;

struct ConfigFixture {
    folder: tempfile::TempDir,
    origins: ConfigOrigins,
}

fn folders() -> ConfigFixture {
    let folder = tempfile::tempdir().unwrap();
    let (project, home) = (folder.path().join("project"), folder.path().join("home"));
    std::fs::create_dir_all(&project).unwrap();
    std::fs::create_dir_all(home.join("codeteam")).unwrap();
    let origins = ConfigOrigins {
        project: Some(project),
        config_home: Some(home),
        ..ConfigOrigins::default()
    };
    ConfigFixture { folder, origins }
}

impl ConfigFixture {
    fn project(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("project/config.yml"), text).unwrap();
        self
    }

    fn user(self, text: &str) -> Self {
        let path = self.folder.path().join("home/codeteam/config.yaml");
        std::fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Result<Config, String> {
        let loaded = Config::load(&self.origins);
        let root = format!("{}/", self.folder.path().display());
        loaded.map_err(|error| error.to_string().replace(&root, ""))
    }
}

#[test]
fn a_missing_file_is_an_empty_one_and_a_wrong_key_has_its_place() {
    assert!(folders().load().unwrap().verification.commands.is_empty());
    let error = folders()
        .project("verification:\n  comands: []\n")
        .load()
        .unwrap_err();
    assert_eq!(
        error,
        "project/config.yml:2:3: unknown key `comands` (did you mean `commands`?)\n    \
         |   comands: []\n    |   ^"
    );
}

#[test]
fn two_files_in_one_folder_are_refused() {
    let folders = folders().project("limits: { max_tasks: 3 }\n");
    let other = folders.folder.path().join("project/config.yaml");
    std::fs::write(other, "limits: { max_tasks: 5 }\n").unwrap();
    let refused = folders.load().unwrap_err();
    assert!(refused.contains("two configuration files"), "{refused}");
}

#[test]
fn commands_become_checks() {
    let text = "verification:\n  commands:\n    - { name: Unit Tests, command: pytest }\n    - command: ruff check .\n";
    let checks = folders().project(text).load().unwrap().checks();
    assert_eq!(checks[0].name, "Unit Tests");
    assert_eq!(checks[1].name, "ruff check .");
}

#[test]
fn layers_count_more_from_the_built_in_to_the_command_line() {
    let mut folders = folders()
        .user("limits: { max_minutes: 1, max_tokens: 3, max_tasks: 1, max_disk_mb: 1 }\nrules: [user]\n")
        .project("limits: { max_tokens: 2, max_tasks: 2, max_disk_mb: 2 }\nrules: [project]\n");
    folders.origins.variables = vec![
        ("LIMITS__MAX_TASKS".to_owned(), "3".to_owned()),
        ("LIMITS__MAX_DISK_MB".to_owned(), "3".to_owned()),
    ];
    folders.origins.set = vec!["limits.max_disk_mb=4".to_owned(), "rules=[line]".to_owned()];
    let config = folders.load().unwrap();
    let limits = &config.limits;
    assert_eq!(limits.step_timeout_seconds, Some(1_800), "built in");
    assert_eq!((limits.max_minutes, limits.max_tokens), (Some(1), Some(2)));
    assert_eq!((limits.max_tasks, limits.max_disk_mb), (Some(3), Some(4)));
    assert_eq!(config.rules, ["user", "project", "line"]);
}

#[test]
fn what_the_environment_and_the_command_line_say_wrongly_is_named_so() {
    let mut folders = folders();
    folders.origins.variables = vec![("LIMITS__MAX_TASK".to_owned(), "3".to_owned())];
    let error = folders.load().unwrap_err();
    assert_eq!(
        error,
        "environment variable `CODETEAM_LIMITS__MAX_TASK`: unknown key `max_task` (did you mean `max_tasks`?)"
    );
    folders.origins.variables.clear();
    folders.origins.set = vec!["limits.max_minutes=long".to_owned()];
    let error = folders.load().unwrap_err();
    assert!(
        error.contains("command line (`--set`): expected a whole number, found `long`"),
        "{error}"
    );
    folders.origins.set = vec!["limits.max_minutes".to_owned()];
    assert!(folders.load().unwrap_err().contains("sets nothing"));
    // What YAML does not take for a text is shown as it must be written.
    for value in [
        "{type}: {summary}",
        "feat: it's {summary}",
        "[x] {summary}",
        "*a {summary}",
        "#1 {summary}",
        "\"{summary}",
    ] {
        folders.origins.set = vec![format!("git.commit_message_format={value}")];
        let error = folders.load().unwrap_err();
        let text = value.replace('"', "\\\"").replace('\'', "'\\''");
        let quoted = format!("`--set 'git.commit_message_format=\"{text}\"'`");
        assert!(error.contains(&quoted), "{value}: {error}");
        folders.origins.set = vec![format!(
            "git.commit_message_format=\"{}\"",
            text.replace("'\\''", "'")
        )];
        folders.load().unwrap();
    }
    for value in [
        "limits={ max_minutes: 3 }",
        "rules=[\"a: b\"]",
        "limits.max_minutes=",
    ] {
        folders.origins.set = vec![value.to_owned()];
        folders.load().unwrap();
    }
}

#[test]
fn a_repository_sends_no_other_key_to_a_server_of_the_users() {
    let folders = folders()
        .user("workers:\n  local: { dialect: builtin, protocol: openai, base_url: 'http://a', model: m }\n  builtin: { protocol: openai }\n")
        .project("workers:\n  local: { dialect: claude, protocol: anthropic, model: n }\n  builtin: { protocol: gemini }\n");
    let config = folders.load().unwrap();
    let local = &config.workers["local"];
    assert_eq!(local.dialect, Some(crate::dialect::DialectName::Builtin));
    assert_eq!(local.protocol, Some(crate::model_api::ApiProtocol::Openai));
    assert_eq!(local.model.as_deref(), Some("n"));
    let builtin = &config.workers["builtin"];
    assert_eq!(
        builtin.protocol,
        Some(crate::model_api::ApiProtocol::Gemini)
    );
}

#[test]
fn what_only_the_user_may_say_the_repository_cannot() {
    for (text, key) in [
        (
            "workers: { claude: { program: ./evil } }\n",
            "workers.claude.program",
        ),
        (
            "sandbox: { allow_files: [CLAUDE.md] }\n",
            "sandbox.allow_files",
        ),
        (
            "sandbox: { hosts: [{ host: db.corp, private: true }] }\n",
            "db.corp",
        ),
    ] {
        let error = folders().project(text).load().unwrap_err();
        assert!(
            error.starts_with("project/config.yml:1:") && error.contains(key),
            "{error}"
        );
        assert!(folders().user(text).load().is_ok());
    }
}

#[test]
fn prices_are_the_users_word() {
    let folders = folders()
        .user("prices: { x: { input: 1, output: 1 } }\n")
        .project("prices: { x: { input: 9, output: 9 }, y: { input: 2, output: 2 } }\n");
    let config = folders.load().unwrap();
    assert!((config.prices["x"].input - 1.0).abs() < f64::EPSILON);
    assert_eq!(config.prices.len(), 1, "what the project says is asked for");
}

#[test]
fn a_sandbox_by_its_name_alone_merges_too() {
    let folders = folders()
        .user("sandbox: container\n")
        .project("sandbox: { hosts: [a.org] }\n");
    let config = folders.load().unwrap();
    assert_eq!(
        config.sandbox.backend,
        Some(codeteam_core::event::SandboxKind::Container)
    );
    assert_eq!(config.requests.len(), 1, "{:?}", config.requests);
}

#[test]
fn branches_are_named_by_the_pattern() {
    let run = "2025-01-08_153042_add-password-reset";
    let git = |pattern: &str| GitConfig {
        branch_pattern: pattern.to_owned(),
        ..GitConfig::default()
    };
    assert_eq!(
        git("ai/{task_id}-{description}").branch(run),
        "ai/2025-01-08_153042-add-password-reset"
    );
    assert_eq!(
        git("{date}/{slug}/{stamp}").branch(run),
        "2025-01-08/add-password-reset/2025-01-08_153042"
    );
    let prefixed = GitConfig {
        branch_prefix: Some("team/".to_owned()),
        ..GitConfig::default()
    };
    assert_eq!(prefixed.branch(run), format!("team/{run}"));
    let error = folders()
        .project("git:\n  branch_pattern: ai/{slug}\n")
        .load()
        .unwrap_err();
    assert!(error.contains("the same branch for every run"), "{error}");
}

#[test]
fn where_the_work_goes_all_in_all() {
    let git = |text: &str| folders().project(text).load().unwrap().git;
    assert_eq!(git("").effective_mode(), GitMode::Branch);
    assert_eq!(
        git("git: { auto_branch: true }").effective_mode(),
        GitMode::Branch
    );
    assert_eq!(
        git("git: { auto_branch: false }").effective_mode(),
        GitMode::Current
    );
    let none = git("git: { auto_branch: false, mode: none }");
    assert_eq!(none.effective_mode(), GitMode::None);
    assert_eq!(none.branch("r"), "refs/codeteam/r/tip");
    let asks = |text: &str| git(text).asks_before();
    assert_eq!(asks("git: { auto_commit: true }"), CommitApproval::Nothing);
    assert_eq!(
        asks("git: { dry_run_preview: true }"),
        CommitApproval::First
    );
    let both = "git: { auto_commit: false, dry_run_preview: true }";
    assert_eq!(asks(both), CommitApproval::Each);
    let error = |text: &str| folders().project(text).load().unwrap_err();
    let named = error("git:\n  branch_prefix: refs/heads/team/\n");
    assert!(named.contains("leave `refs/heads/` out"), "{named}");
    let form = error("git:\n  commit_message_format: '{sumary}'\n");
    assert!(form.contains("config.yml:2"), "{form}");
}

#[test]
fn what_has_no_effect_yet_is_said() {
    let text = "adaptive: { enabled: true }\nprojects: [ { name: a, path: a } ]\n";
    let notes = folders().project(text).load().unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[1].starts_with("`adaptive` has no effect yet"),
        "{notes:?}"
    );
    assert!(notes[0].contains("config.yml:2"), "{notes:?}");
    assert!(folders().load().unwrap().notes.is_empty());
    let off = folders().project("adaptive: { enabled: false }\n").load();
    assert!(off.unwrap().notes.is_empty());
}

#[test]
fn what_somebody_would_count_on_is_refused_with_advice() {
    for (text, said) in [
        (
            "approval_gates: { low: { action: auto_approve, min_approvers: 2 } }\n",
            "is for `require_multi_approval` only",
        ),
        (
            "approval_gates: { low: { action: auto_approve, timeout_minutes: 5 } }\n",
            "nobody is asked",
        ),
        (
            "approval_gates: { a: { action: notify_and_timeout, on_timeout: reject } }\n",
            "is for `require_approval` and `require_multi_approval` only",
        ),
        (
            "approval_gates: { a: { action: require_approval, on_timeout: reject } }\n",
            "`approval_gates.a.on_timeout` needs `timeout_minutes`",
        ),
        (
            "approval_gates: { a: { action: require_approval, timeout_minutes: 5, on_timeout: escalate } }\n",
            "needs `escalate_to`",
        ),
        (
            "approval_gates: { a: { action: require_approval, timeout_minutes: 5, escalate_to: [b] } }\n",
            "needs `on_timeout: escalate`",
        ),
        (
            "approval_gates: { a: { action: require_approval, timeout_minutes: 5, on_timeout: escalate, escalate_to: [b] } }\n",
            "everybody who is known may approve already",
        ),
        (
            "approval_gates: { low: { conditions: [ changes_nothing ], action: auto_approve } }\n",
            "the set of paths `nothing`",
        ),
        (
            "cross_project_dependencies: { a: { depends_on: [b] } }\n",
            "in the plan",
        ),
        ("embeddings: model\n", "leave it out; files are found by"),
        ("version: 99\n", "this codeteam reads version 1"),
        (
            "output: { runs_dir: ../elsewhere }\n",
            "leads out of the repository",
        ),
        (
            "output: { runs_dir: /tmp/runs }\n",
            "leads out of the repository",
        ),
        ("output: { runs_dir: .git/runs }\n", "git's own"),
        (
            "continuity: { max_continuation_turns: 99 }\n",
            "more than 3",
        ),
        (
            "limits: { max_parallel_tasks: 0 }\n",
            "nothing would be done",
        ),
    ] {
        let error = folders().project(text).load().unwrap_err();
        assert!(
            error.starts_with("project/config.yml:1:") && error.contains(said),
            "{error}"
        );
    }
    for text in ["version: 1.0\n", "output: { runs_dir: .team/runs }\n"] {
        assert!(folders().project(text).load().is_ok(), "{text}");
    }
}

#[test]
fn the_schemas_know_every_key_and_refuse_others() {
    for of in SchemaKind::ALL {
        let schema = json_schema(of);
        assert_eq!(schema["additionalProperties"], false, "{of:?}");
        assert!(schema["properties"].as_object().unwrap().len() > 4);
    }
    let config = json_schema(SchemaKind::Config);
    for key in [
        "workflow",
        "roles",
        "verification",
        "verifier_instances",
        "projects",
    ] {
        assert!(
            config["properties"][key]["description"].is_string(),
            "{key}"
        );
    }
}

#[test]
fn the_default_policy_is_the_one_of_steps_that_name_none() {
    let retry = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join(".codeteam");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("config.yml"), text).unwrap();
        let origins = ConfigOrigins {
            project: Some(project),
            ..ConfigOrigins::default()
        };
        let config = Config::load(&origins).unwrap();
        config.surroundings().retry.unwrap()
    };
    let policy = "policies: { default: { max_attempts: 7, initial_delay_seconds: 0 } }\n";
    let said = retry(policy);
    assert_eq!((said.max_attempts, said.initial_delay_ms), (7, 0));
    assert_eq!(said.max_delay_ms, 30_000, "the rest is the built-in one's");
    let said = retry(&format!("{policy}limits: {{ step_max_retries: 1 }}\n"));
    assert_eq!((said.max_attempts, said.initial_delay_ms), (2, 0));
}

#[test]
fn the_repository_shows_nobody_the_users_own() {
    let private = [
        "~",
        "~/.ssh",
        "/",
        "/home/ada",
        "/home/ada/.aws/x",
        "~/x/../.netrc",
        "/etc/x",
    ];
    assert!(private.iter().all(|path| is_private(Path::new(path))));
    let usual = [
        "~/.cargo/registry",
        "~/.npm",
        "/opt/jdk",
        "/home/ada/.m2/repository",
        "~/meet",
    ];
    assert!(!usual.iter().any(|path| is_private(Path::new(path))));
}

#[test]
fn what_could_not_be_used_is_named_before_a_run() {
    for (text, place, part) in [
        (
            "git:\n  branch_pattern: ../../x/{run}\n",
            "2:19",
            "git refuses: it has `..` in it",
        ),
        (
            "git: { branch_pattern: 'a b/{run}' }\n",
            "1:",
            "it contains a space",
        ),
        ("git: { branch_prefix: '.x/' }\n", "1:", "begins with `.`"),
        (
            "git: { branch_pattern: 'a/{runn}' }\n",
            "1:",
            "did you mean `run`?",
        ),
        (
            "redaction:\n  allow:\n    - good\n    - '('\n",
            "4:7",
            "is not a regular expression: unclosed group",
        ),
        (
            "verification: { commands: [ { command: ' ' } ] }\n",
            "1:",
            "would pass whatever",
        ),
        (
            "verification: { commands: [ { command: a, timeout_seconds: 0 } ] }\n",
            "1:",
            "at once",
        ),
        (
            "verification: { commands: [ { command: '# nothing' } ] }\n",
            "1:",
            "would pass whatever",
        ),
        (
            "limits:\n  max_minutes: 0\n",
            "2:16",
            "would stop every run at once",
        ),
        (
            "context: { coder: ['../notes.md'] }\n",
            "1:20",
            "lies outside the repository",
        ),
        ("setup: { command: '' }\n", "1:", "`setup.command` is empty"),
        (
            "context: { always: ['a[', b] }\n",
            "1:21",
            "is not a pattern",
        ),
        (
            "mcp_servers: { a.b: { command: x } }\n",
            "1:",
            "not every worker",
        ),
        (
            "mcp_servers: { a: { command: '' } }\n",
            "1:",
            "empty `command`",
        ),
        ("limits: { max_cost_usd: -1 }\n", "1:25", "negative"),
        (
            "limits: { retry_exponential_base: -0.5 }\n",
            "1:35",
            "negative",
        ),
        (
            "prices: { m: { input: -1, output: 0 } }\n",
            "1:",
            "a price of `m`",
        ),
        (
            "sandbox: { limits: { memory_mb: 0 } }\n",
            "1:",
            "no command could run",
        ),
        (
            "sandbox: { backend: container, image: '--privileged' }\n",
            "1:",
            "container image",
        ),
    ] {
        let error = folders().project(text).load().unwrap_err();
        let begins = format!("project/config.yml:{place}");
        assert!(
            error.starts_with(&begins) && error.contains(part),
            "{text}: {error}"
        );
    }
}
