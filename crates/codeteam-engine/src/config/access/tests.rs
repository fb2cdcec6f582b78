//! Tests of what a repository may set by itself, and what only if it is trusted with it.

use std::collections::BTreeSet;

use codeteam_core::event::{AccessGrant, SandboxKind as Backend};

use crate::config::{Config, ConfigOrigins, RequestState};

struct AccessFixture {
    folder: tempfile::TempDir,
    origins: ConfigOrigins,
}

impl AccessFixture {
    fn new(user: &str, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (own, home) = (
            folder.path().join("project/.codeteam"),
            folder.path().join("home"),
        );
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(home.join("codeteam")).unwrap();
        std::fs::write(own.join("config.yml"), project).unwrap();
        std::fs::write(home.join("codeteam/config.yml"), user).unwrap();
        let origins = ConfigOrigins {
            project: Some(own),
            config_home: Some(home),
            ..ConfigOrigins::default()
        };
        Self { folder, origins }
    }

    fn load(&self) -> Config {
        Config::load(&self.origins).unwrap()
    }

    /// The same, trusted with all that it asks for.
    fn trusted(&mut self) -> Config {
        let requests = self.load().requests;
        self.origins.granted = requests.into_iter().map(|request| request.access).collect();
        self.load()
    }
}

/// `key = value` of everything that is asked for.
fn asked(user: &str, project: &str) -> Vec<String> {
    let requests = AccessFixture::new(user, project).load().requests;
    let told = requests.iter().map(|request| {
        assert_eq!(request.state, RequestState::Open, "{request:?}");
        assert!(!request.asks.is_empty());
        format!("{} = {}", request.access.key, request.access.value)
    });
    told.collect()
}

#[test]
fn a_repository_does_not_switch_the_sandbox_off() {
    let user = "sandbox: { backend: bubblewrap }\n";
    for project in ["sandbox: none\n", "sandbox: { backend: none }\n"] {
        for user in [user, ""] {
            let mut repository = AccessFixture::new(user, project);
            let config = repository.load();
            assert_ne!(config.sandbox.backend, Some(Backend::None));
            assert_eq!(asked(user, project), ["sandbox.backend = none"]);
            let place = &config.requests[0].place;
            assert!(place.contains("config.yml:1"), "{place}");
            assert!(
                config.notes[0].contains("is left out"),
                "{:?}",
                config.notes
            );
            assert_eq!(repository.trusted().sandbox.backend, Some(Backend::None));
        }
    }
    // The user's own word needs nobody's trust, and more confinement than they ask for neither.
    for (user, project) in [
        ("sandbox: none\n", "sandbox: none\n"),
        ("sandbox: none\n", "sandbox: bubblewrap\n"),
        ("", "sandbox: bubblewrap\n"),
    ] {
        assert_eq!(asked(user, project), [""; 0]);
    }
    let mut repository = AccessFixture::new("", "sandbox: none\n");
    repository.origins.set = vec!["sandbox.backend=none".to_owned()];
    assert!(repository.load().requests.is_empty());
}

/// The user's setting, the project's setting, and the request that follows.
const MORE: &[(&str, &str, &str)] = &[
    (
        "",
        "redaction: { allow: [AKIA.*] }\n",
        "redaction.allow = AKIA.*",
    ),
    (
        "limits: { max_tasks: 3 }\n",
        "limits: { max_tasks: 9 }\n",
        "limits.max_tasks = 9",
    ),
    (
        "verification: { honesty: { secrets: report } }\n",
        "verification: { honesty: { secrets: off, scope: off } }\n",
        "verification.honesty.secrets = off",
    ),
    (
        "limits: { max_outage_minutes: 5 }\n",
        "limits: { max_outage_minutes: 50000 }\n",
        "limits.max_outage_minutes = 50000",
    ),
    (
        "limits: { max_kept_mb: 500 }\n",
        "limits: { max_kept_mb: 0 }\n",
        "limits.max_kept_mb = 0",
    ),
    (
        "verification: { proof: { mode: require } }\n",
        "verification: { proof: { mode: off } }\n",
        "verification.proof.mode = off",
    ),
    (
        "verification: { mutants: { max_count: 20 } }\n",
        "verification: { mutants: { max_count: 0 } }\n",
        "verification.mutants.max_count = 0",
    ),
    (
        "verification: { mutants: { max_surviving_percent: 20 } }\n",
        "verification: { mutants: { max_surviving_percent: 90 } }\n",
        "verification.mutants.max_surviving_percent = 90",
    ),
    (
        "verification: { repeats: { mode: require } }\n",
        "verification: { repeats: { mode: off } }\n",
        "verification.repeats.mode = off",
    ),
    (
        "verification: { repeats: { max_seconds: 60 } }\n",
        "verification: { repeats: { max_seconds: 1 } }\n",
        "verification.repeats.max_seconds = 1",
    ),
    (
        "verification: { baseline: stop }\n",
        "verification: { baseline: must_pass }\n",
        "verification.baseline = must_pass",
    ),
    (
        "verification: { baseline: must_pass }\n",
        "verification: { baseline: new_failures }\n",
        "verification.baseline = new_failures",
    ),
    (
        "verification: { metrics: { max_file_lines: 10 } }\n",
        "verification: { metrics: { max_file_lines: 100000 } }\n",
        "verification.metrics.max_file_lines = 100000",
    ),
    (
        "verification: { metrics: { max_function_lines: 10 } }\n",
        "verification: { metrics: ~ }\n",
        "verification.metrics.max_method_lines = none",
    ),
    (
        "verification: { small_change: { max_lines: 0 } }\n",
        "verification: { small_change: { max_lines: 100000 } }\n",
        "verification.small_change.max_lines = 100000",
    ),
    ("", "sandbox: container\n", "sandbox.backend = container"),
    ("", "sandbox: { image: x }\n", "sandbox.image = x"),
    (
        "sandbox: { image: mine }\n",
        "sandbox: { image: ~ }\n",
        "sandbox.image = ",
    ),
    (
        "",
        "sandbox: { limits: { memory_mb: 65536 } }\n",
        "sandbox.limits.memory_mb = 65536",
    ),
    (
        "sandbox: { limits: { disk_mb: 1 } }\n",
        "sandbox: { limits: ~ }\n",
        "sandbox.limits.disk_mb = 20480",
    ),
    (
        "sandbox: { limits: { processes: 5 } }\n",
        "sandbox: ~\n",
        "sandbox.limits.processes = 1024",
    ),
    (
        "",
        "sandbox: { hosts: [A.org] }\n",
        "sandbox.hosts = a.org:443",
    ),
    (
        "",
        "sandbox: { registries: ['a.org:80'] }\n",
        "sandbox.registries = a.org:80",
    ),
    (
        "",
        "sandbox: { toolchains: [/opt/x] }\n",
        "sandbox.toolchains = /opt/x",
    ),
    (
        "",
        "sandbox: { caches: [{ path: ~/.npm, mode: copy }] }\n",
        "sandbox.caches = ~/.npm (copy)",
    ),
    (
        "limits: { max_cost_usd: 5 }\n",
        "limits: { max_cost_usd: 500 }\n",
        "limits.max_cost_usd = 500",
    ),
    (
        "limits: { max_tokens: 5 }\n",
        "limits: { max_tokens: ~ }\n",
        "limits.max_tokens = none",
    ),
    (
        "limits: { max_minutes: 5 }\n",
        "limits: ~\n",
        "limits.max_minutes = none",
    ),
    (
        "git: { mode: branch }\n",
        "git: { mode: current }\n",
        "git.mode = current",
    ),
    (
        "git: { mode: branch }\n",
        "git: { auto_branch: false }\n",
        "git.mode = current",
    ),
    (
        "git: { auto_commit: false }\n",
        "git: ~\n",
        "git.auto_commit = nothing",
    ),
    (
        "git: { dry_run_preview: true }\n",
        "git: { dry_run_preview: false }\n",
        "git.auto_commit = nothing",
    ),
    (
        "limits: { max_cost_usd: 5 }\n",
        "prices: { m: { input: 0, output: 0 } }\n",
        "prices.m = (0.0, 0.0, None)",
    ),
    (
        "quality_threshold: 90\n",
        "quality_threshold: 10\n",
        "quality_threshold = 10",
    ),
    (
        "quality_threshold: 90\n",
        "quality_threshold: ~\n",
        "quality_threshold = none",
    ),
    (
        "verifier_instances: { reviewer: 3 }\n",
        "verifier_instances: { reviewer: 2 }\n",
        "verifier_instances.reviewer = 2",
    ),
    (
        "verifier_instances: { reviewer: 3 }\n",
        "verifier_instances: ~\n",
        "verifier_instances.reviewer = 1",
    ),
    (
        "security_role: auditor\n",
        "security_role: reviewer\n",
        "security_role = reviewer",
    ),
    ("rules: [keep to it]\n", "rules: ~\n", "rules = "),
    (
        "verification: { commands: [ { command: scan } ] }\n",
        "verification: { commands: ~ }\n",
        "verification.commands = ",
    ),
    (
        "verification: { keep_worktree: false }\n",
        "verification: { keep_worktree: true }\n",
        "verification.keep_worktree = true",
    ),
    (
        "risk: { paths: { docs: ['docs/**'] } }\napproval_gates: { low: { conditions: [docs_changes], \
         action: auto_approve } }\n",
        "risk: { paths: { docs: ['**'] } }\n",
        "risk.paths.docs = **",
    ),
    (
        "risk: { paths: { docs: ['docs/**'] } }\napproval_gates: { high: { conditions: \
         [no_changes_docs], action: require_approval } }\n",
        "risk: { paths: { docs: ['src/**'] } }\n",
        "risk.paths.docs = src/**",
    ),
];

#[test]
fn every_kind_of_more_is_a_request() {
    for (user, project, wanted) in MORE {
        assert_eq!(asked(user, project), [*wanted], "{user}{project}");
        // Without trust it is as if the project had not said it; with it, as it says.
        let mut repository = AccessFixture::new(user, project);
        let alone = AccessFixture::new(user, "");
        let parts = |config: &Config| {
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                config.sandbox,
                config.limits,
                config.git,
                config.prices,
                config.redaction,
                config.verification.honesty.secrets,
                config.verification.proof,
                config.verification.mutants,
                config.verification.repeats,
                config.verification.baseline,
                config.verification.metrics,
                config.verification.small_change,
                (
                    &config.verification.commands,
                    config.verification.keep_worktree
                ),
                (
                    &config.quality_threshold,
                    &config.verifier_instances,
                    &config.security_role
                ),
                (&config.rules, &config.risk),
            )
        };
        assert_eq!(parts(&repository.load()), parts(&alone.load()), "{project}");
        let config = repository.trusted();
        assert_ne!(parts(&config), parts(&alone.load()), "{project}");
        assert!(config.open_requests().next().is_none());
    }
}

#[test]
fn a_repository_does_not_take_back_what_the_user_calls_risky() {
    let user = "verification: { small_change: { risky_paths: [mine/**] } }\n";
    let more = "verification: { small_change: { risky_paths: [theirs/**] } }\n";
    assert_eq!(asked(user, more), [""; 0]);
    let none = "verification: { small_change: { risky_paths: ~ } }\n";
    let config = AccessFixture::new(user, none).load();
    let key = "verification.small_change.risky_paths";
    assert_eq!(config.requests.len(), 1, "{:?}", config.requests);
    assert_eq!(config.requests[0].access.key, key);
    let risky = &config.verification.small_change.risky_paths;
    assert!(risky.iter().any(|path| path == "mine/**"), "{risky:?}");
}

#[test]
fn less_is_no_request_and_neither_is_what_the_user_allows() {
    for (user, project) in [
        (
            "sandbox: { hosts: [a.org] }\n",
            "sandbox: { hosts: ['A.org:443'] }\n",
        ),
        ("", "sandbox: { limits: { memory_mb: 100 } }\n"),
        (
            "limits: { max_cost_usd: 5 }\n",
            "limits: { max_cost_usd: 2, max_tokens: 7 }\n",
        ),
        ("", "git: { mode: current, auto_commit: true }\n"),
        (
            "",
            "limits: { max_tasks: 9000, step_timeout_seconds: 9000 }\n",
        ),
        ("", "verification: { honesty: { secrets: off } }\n"),
        (
            "",
            "limits: { max_outage_minutes: 9000 }\nverification: { proof: { mode: off }, \
             mutants: { max_count: 0 }, repeats: { mode: off }, baseline: new_failures, metrics: { max_file_lines: 9000 }, \
             small_change: { max_lines: 9000, risky_paths: [] } }\n",
        ),
        (
            "verification: { proof: { mode: report }, baseline: new_failures, \
             metrics: { max_file_lines: 90 }, small_change: { max_lines: 9, risky_paths: [a] } }\n",
            "verification: { proof: { mode: require }, baseline: stop, \
             metrics: { max_file_lines: 80 }, small_change: { max_lines: 0, risky_paths: [a, b] } }\n",
        ),
        ("git: { mode: current }\n", "git: { mode: branch }\n"),
        (
            "mcp_servers: { t: { command: x } }\n",
            "mcp_servers: { t: { command: x } }\n",
        ),
        (
            "mcp_servers: { t: { command: x } }\n",
            "mcp_servers: { t: ~ }\n",
        ),
        (
            "",
            "setup: { command: npm ci }\nverification: { commands: [ { command: npm test } ] }\n",
        ),
        (
            "sandbox: { caches: [{ path: ~/.npm }] }\n",
            "sandbox: { caches: [{ path: ~/.npm, mode: copy }] }\n",
        ),
        (
            "quality_threshold: 50\nverifier_instances: { reviewer: 2 }\nrules: [mine]\n\
             verification: { commands: [ { command: scan } ] }\n",
            "quality_threshold: 60\nverifier_instances: { reviewer: 3, auditor: 1 }\nrules: [theirs]\n\
             security_role: auditor\nverification: { commands: [ { command: test } ], \
             keep_worktree: true }\n",
        ),
        (
            "risk: { paths: { docs: ['docs/**'], db: ['db/**'] } }\napproval_gates: { low: { conditions: \
             [docs_changes, no_changes_db], action: auto_approve }, high: { conditions: [db_changes], \
             action: require_approval } }\n",
            "risk: { paths: { db: ['**/*.sql'], more: ['x/**'] } }\n",
        ),
    ] {
        assert_eq!(asked(user, project), [""; 0], "{user}{project}");
    }
}

#[test]
fn a_server_of_the_users_is_not_another_of_the_same_name() {
    let user = "mcp_servers: { t: { command: tickets, env: { TOKEN: secret-of-mine } } }\n";
    let project =
        "mcp_servers: { t: { command: evil }, u: { command: u, args: [x], env: { A: b } } }\n";
    let mut repository = AccessFixture::new(user, project);
    let config = repository.load();
    assert_eq!(config.mcp_servers["t"].command, "tickets");
    assert!(!config.mcp_servers.contains_key("u") && config.knows_server("u"));
    let told = format!("{:?}", config.requests);
    assert!(
        told.contains("started as `u x`, with the variables A"),
        "{told}"
    );
    assert!(!told.contains("secret-of-mine"), "{told}");
    let trusted = repository.trusted();
    assert_eq!(trusted.mcp_servers["t"].command, "evil");
    assert!(
        trusted.mcp_servers["t"].env.is_empty(),
        "what the user gives to theirs"
    );
    // What a server is given is part of what is trusted.
    let path = repository
        .folder
        .path()
        .join("project/.codeteam/config.yml");
    std::fs::write(path, project.replace("A: b", "A: c")).unwrap();
    let open: Vec<String> = repository
        .load()
        .open_requests()
        .map(|r| r.access.key.clone())
        .collect();
    assert_eq!(open, ["mcp_servers.u"]);
}

#[test]
fn files_that_git_ignores_are_a_request_as_a_whole() {
    let mut repository = AccessFixture::new("", "");
    let file = repository.folder.path().join("project/.worktreeinclude");
    std::fs::write(&file, "# settings\n.env\n\n*.local  \n").unwrap();
    let config = repository.load();
    assert!(config.included.is_empty());
    assert_eq!(config.requests[0].access.value, ".env\n*.local");
    assert_eq!(repository.trusted().included, [".env", "*.local"]);
    std::fs::write(&file, ".env\n*.local\n*.key\n").unwrap();
    assert!(repository.load().included.is_empty());
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
    assert!(repository.load().requests.is_empty());
}

#[test]
fn what_is_trusted_is_exactly_that() {
    let mut repository = AccessFixture::new("", "sandbox: { hosts: [a.org, b.org] }\n");
    let one = AccessGrant {
        key: "sandbox.hosts".to_owned(),
        value: "a.org:443".to_owned(),
    };
    repository.origins.granted = BTreeSet::from([one]);
    let config = repository.load();
    let hosts: Vec<&str> = config
        .sandbox
        .hosts
        .iter()
        .map(|h| h.host.as_str())
        .collect();
    assert_eq!(hosts, ["a.org"]);
    let open: Vec<&str> = config
        .open_requests()
        .map(|r| r.access.value.as_str())
        .collect();
    assert_eq!(open, ["b.org:443"]);
    // Trust is for what is asked for: nobody gets what they do not ask for.
    let folder = repository
        .folder
        .path()
        .join("project/.codeteam/config.yml");
    std::fs::write(folder, "").unwrap();
    let config = repository.load();
    assert!(config.sandbox.hosts.is_empty() && config.grants().is_empty());
}

#[test]
fn the_user_can_forbid_it_for_good() {
    let project =
        "sandbox: { backend: none, hosts: [a.org] }\nmcp_servers: { t: { command: t } }\n";
    for (user, forbidden) in [
        ("trust: never\n", 3),
        ("trust: { never: [sandbox] }\n", 2),
        ("trust: { never: [sandbox.backend] }\n", 1),
        ("trust: ask\n", 0),
    ] {
        let mut repository = AccessFixture::new(user, project);
        let config = repository.trusted();
        let states = config.requests.iter().map(|request| request.state);
        let count = states
            .filter(|state| *state == RequestState::Forbidden)
            .count();
        assert_eq!(count, forbidden, "{user}");
        assert_eq!(
            config.sandbox.backend == Some(Backend::None),
            forbidden == 0
        );
        assert!(config.open_requests().next().is_none());
    }
    let load = |user: &str, project: &str| {
        let loaded = Config::load(&AccessFixture::new(user, project).origins);
        loaded.map(|_| ()).map_err(|error| error.to_string())
    };
    let error = load("", "trust: ask\n").unwrap_err();
    assert!(error.contains("the repository cannot say it"), "{error}");
    let error = load("trust: { never: [sandbx] }\n", "").unwrap_err();
    assert!(
        error.contains("`sandbx`, which no repository can ask for"),
        "{error}"
    );
    let error = load("trust: allways\n", "").unwrap_err();
    assert!(error.contains("unknown word `allways`"), "{error}");
}
