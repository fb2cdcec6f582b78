//! Measures what codeteam adds to a real CLI: a call in the sandbox against the same call bare, and
//! everything that is done before and after a worker.
//!
//! The machine may be noisy, so both sides take turns and medians are compared. The model is the
//! scripted server, which answers at once: with a real one, the ratios are smaller.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark prints figures, starts processes and needs no more precision"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codeteam_core::event::SandboxKind;
use codeteam_e2e::{ModelServer, Play, Scenario, Turn};
use codeteam_engine::Engine;
use codeteam_engine::api_keys::ApiKeys;
use codeteam_engine::engine::Project;
use codeteam_engine::env::{Env, ProxyExceptions};
use codeteam_engine::perform::WorkerAccess;
use codeteam_engine::workers::Worker;
use codeteam_host::process::{
    self, CancelToken, CommandLimits, CommandSpec, ExitReason, HostView, MARK, NetworkLedger,
    SandboxProfile,
};
use codeteam_sandbox::MountAccess;
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A CLI, how often it is called, and a call of it.
struct BenchedCli {
    name: &'static str,
    rounds: usize,
    call: &'static str,
}

const CLIS: [BenchedCli; 3] = [
    BenchedCli {
        name: "claude",
        rounds: 15,
        call: r#"export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
            exec claude --print --verbose --output-format stream-json --setting-sources "" \
            --no-session-persistence --model claude-sonnet-4-5 "Say something.""#,
    },
    BenchedCli {
        name: "codex",
        rounds: 15,
        call: r#"exec codex exec --json --skip-git-repo-check --ephemeral -m gpt-5.5 \
            --disable apps --disable plugins --disable remote_plugin --disable hooks \
            --disable multi_agent -c analytics.enabled=false \
            -c sandbox_mode='"danger-full-access"' -c model_providers.own.name='"own"' \
            -c model_providers.own.base_url="\"$CODEX_URL\"" -c model_provider='"own"' \
            -c model_providers.own.wire_api='"responses"' \
            -c model_providers.own.env_key='"CODEX_API_KEY"' "Say something.""#,
    },
    BenchedCli {
        name: "gemini",
        rounds: 7,
        call: r#"mkdir -p "$HOME/.gemini"
            echo '{"security":{"auth":{"selectedType":"gemini-api-key"}},"telemetry":{"enabled":false},
                "privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}' \
                >"$HOME/.gemini/settings.json"
            export GEMINI_CLI_NO_RELAUNCH=true
            exec gemini --output-format stream-json --skip-trust --model gemini-2.5-pro \
            --prompt "Say something.""#,
    },
];

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(2),
    silence: None,
    line_bytes: 1 << 20,
    total_bytes: 1 << 24,
    grace: Duration::from_secs(1),
};

fn main() -> Outcome<()> {
    // `cargo test --all-targets` also runs this; figures are for `cargo bench`.
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(());
    }
    let place = BenchSetup::new()?;
    // Names leave the others out.
    let named: Vec<String> = std::env::args().collect();
    let is_wanted = |cli: &&BenchedCli| {
        let named = named.iter().map(String::as_str);
        let mut named = named
            .filter(|name| CLIS.iter().any(|cli| cli.name == *name))
            .peekable();
        named.peek().is_none() || named.any(|name| name == cli.name)
    };
    for cli in CLIS.iter().filter(is_wanted) {
        bench_sandbox(&place, cli)?;
    }
    for cli in CLIS.iter().filter(is_wanted) {
        bench_orchestration(&place, cli)?;
    }
    Ok(())
}

/// The paths and programs of the benchmark.
struct BenchSetup {
    folder: tempfile::TempDir,
    codeteam: PathBuf,
    clis: PathBuf,
}

impl BenchSetup {
    fn new() -> Outcome<Self> {
        let own = std::env::current_exe()?;
        let built = own.parent().and_then(Path::parent).ok_or("no folder")?;
        let codeteam = built.join("codeteam");
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let workspace = crates.and_then(Path::parent).ok_or("no workspace")?;
        let clis = workspace.join("target/clis/bin");
        if !codeteam.is_file() || !clis.is_dir() {
            return Err("first `cargo build --release -p codeteam` and `./clis`".into());
        }
        // Outside of the place for temporary files, where codex does not want its home.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self {
            folder,
            codeteam,
            clis,
        })
    }

    fn path(&self, before: &[&Path]) -> Outcome<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let before = before.iter().map(|folder| folder.to_path_buf());
        let all = before.chain([self.clis.clone()]);
        Ok(std::env::join_paths(
            all.chain(std::env::split_paths(&path)),
        )?)
    }

    /// A repository with one commit.
    fn repository(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("README.md"), "A calculator.\n")?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "-A"],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@example.org",
                "commit",
                "-qm",
                "first",
            ],
        ] {
            let status = Command::new("git")
                .args(args)
                .current_dir(&folder)
                .status()?;
            if !status.success() {
                return Err("git failed".into());
            }
        }
        Ok(folder)
    }
}

/// The variables of a user with a key for every API, all of which are the server.
fn keys(server: &ModelServer) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_API_KEY", "sk-dummy".to_owned()),
        ("ANTHROPIC_BASE_URL", server.base_url()),
        ("OPENAI_API_KEY", "sk-dummy".to_owned()),
        ("OPENAI_BASE_URL", server.openai_url()),
        ("GEMINI_API_KEY", "dummy".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", server.base_url()),
    ]
}

/// Measures one call of a CLI, from spawn to exit, confined and bare in turns.
fn bench_sandbox(place: &BenchSetup, cli: &BenchedCli) -> Outcome<()> {
    let scenario = Scenario::new().play(Play::new().turn(Turn::say("Something.")));
    let server = ModelServer::start(scenario)?;
    let name = format!("sandbox-{}", cli.name);
    let home = place.folder.path().join(&name);
    let repo = place.repository(&format!("{name}/repo"))?;
    let variables = keys(&server).into_iter();
    let env = Env {
        codeteam: None,
        cache_home: None,
        path: place.path(&[])?,
        home: Some(home.clone()),
        state_home: Some(home.join("state")),
        config_home: Some(home.join("config")),
        keys: ApiKeys::from_env(variables.map(|(name, value)| (name.into(), value.into()))),
        cloud_variables: BTreeMap::new(),
        claude_retries: None,
        certificate_files: BTreeMap::new(),
        moved_directories: BTreeMap::new(),
        proxy: None,
        proxy_exceptions: ProxyExceptions::default(),
        author: Some(codeteam_host::git::GitIdentity::default()),
        user: "bench".to_owned(),
        mcp_token: None,
        lease_stale_ms: None,
        failpoint: None,
        settings: Vec::new(),
    };
    let engine = Engine::open(Project::find(&repo, env)?, place.codeteam.clone())?;
    let (mut bare, mut confined) = (Vec::new(), Vec::new());
    for round in 0..=cli.rounds {
        let took_bare = call_bare(place, cli, &server, &home.join(format!("home-{round}")))?;
        let took = call_confined(cli, &engine, &home.join(format!("tree-{round}")))?;
        // The first one is for the caches.
        if round > 0 {
            bare.push(took_bare);
            confined.push(took);
        }
    }
    let asked = server.requests().to_models().len();
    if asked != 2 * (cli.rounds + 1) {
        return Err(format!("{} asked {asked} times, not once a call", cli.name).into());
    }
    let (bare, confined) = (median(bare), median(confined));
    let ratio = confined / bare;
    let verdict = if ratio <= 1.1 { "ok" } else { "MISSED" };
    println!(
        "{:<7} one call: bare {bare:>7.1} ms, confined {confined:>7.1} ms, {ratio:.3} times (goal 1.1) {verdict}",
        cli.name
    );
    Ok(())
}

fn call_bare(
    place: &BenchSetup,
    cli: &BenchedCli,
    server: &ModelServer,
    home: &Path,
) -> Outcome<f64> {
    let tree = home.join("tree");
    fs::create_dir_all(&tree)?;
    let mut command = Command::new("sh");
    command
        .args(["-c", cli.call])
        .current_dir(&tree)
        .env_clear()
        .env("PATH", place.path(&[])?)
        .env("HOME", home)
        .env("TZ", "UTC")
        .env("LANG", "C.UTF-8")
        .env("CODEX_URL", server.openai_url())
        .env("CODEX_API_KEY", "sk-dummy")
        .envs(keys(server))
        .stdin(Stdio::null());
    // No way out, as in the sandbox: a CLI that looks round the world on its way is another call.
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
    command.env("NODE_USE_ENV_PROXY", "1");
    let start = Instant::now();
    let output = command.output()?;
    let took = start.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{} failed bare: {said}", cli.name).into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

fn call_confined(cli: &BenchedCli, engine: &Engine, tree: &Path) -> Outcome<f64> {
    fs::create_dir_all(tree)?;
    let worker = Worker::find(&engine.config, &cli.name.into()).ok_or("no such worker")?;
    let private = tree.with_extension("private");
    let start = Instant::now();
    let reach =
        WorkerAccess::for_worker(&worker, None, engine, &private, NetworkLedger::default())?;
    let mut view = HostView::default();
    view.show(tree.to_owned(), MountAccess::Writable);
    reach.mount_private_files(&mut view);
    let mut env: Vec<(OsString, OsString)> = vec![(MARK.into(), "bench/overhead".into())];
    env.push(("TZ".into(), "UTC".into()));
    env.extend(reach.env.clone());
    if let Some((_, url)) = &reach.base_url {
        env.push(("CODEX_URL".into(), url.into()));
    }
    let spec = CommandSpec {
        program: "sh".into(),
        args: vec!["-c".into(), cli.call.into()],
        cwd: tree.to_owned(),
        env,
        view,
        disk: None,
        brief: false,
    };
    let launcher = engine.launcher(SandboxKind::Bubblewrap)?;
    let mut said = String::new();
    let mut sink = |line: process::OutputLine<'_>| said.push_str(&line.text);
    let (profile, cancel) = (SandboxProfile::Worker, CancelToken::new());
    let exit = process::run_command(&*launcher, profile, &spec, &LIMITS, &cancel, &mut sink)?;
    let took = start.elapsed();
    reach.release();
    if exit.status != ExitReason::Exited(0) {
        return Err(format!("{} failed confined: {said}", cli.name).into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

const WORKFLOW: &str = "
name: one
start: code
roles:
  coder: { kind: implementer, prompt: You write code. }
steps:
  code: { role: coder, next: commit }
  commit: { commit: branch, next: done }
";

/// A run of one step, without the time of its CLI, which a script in its place takes down.
fn bench_orchestration(place: &BenchSetup, cli: &BenchedCli) -> Outcome<()> {
    let answer = json!({"summary": "wrote it", "files": ["new.txt"]});
    let play = Play::new()
        .turn(Turn::new().write("new.txt", "new\n"))
        .turn(Turn::submit(answer));
    let server = ModelServer::start(Scenario::new().play(play))?;
    let name = format!("around-{}", cli.name);
    let home = place.folder.path().join(&name);
    let repo = place.repository(&format!("{name}/repo"))?;
    let workflow = home.join("flow.yml");
    fs::write(&workflow, WORKFLOW)?;
    let bin = home.join("bin");
    fs::create_dir_all(&bin)?;
    let real = place.clis.join(cli.name);
    let script = format!(
        "#!/bin/sh\nbegan=$(date +%s%N)\n'{}' \"$@\"\ncode=$?\nended=$(date +%s%N)\n\
         if [ -w . ]; then echo $((ended - began)) >took.txt; fi\nexit $code\n",
        real.display()
    );
    fs::write(bin.join(cli.name), script)?;
    fs::set_permissions(bin.join(cli.name), fs::Permissions::from_mode(0o755))?;
    let mut rest = Vec::new();
    for round in 0..=cli.rounds {
        let mut command = Command::new(&place.codeteam);
        command
            .args([
                "--json",
                "run",
                "Write it",
                "--worker",
                cli.name,
                "--workflow",
            ])
            .arg(&workflow)
            .current_dir(&repo)
            .env_clear()
            .env("PATH", place.path(&[&bin])?)
            .env("HOME", &home)
            .env("USER", "bench")
            .env("GIT_AUTHOR_NAME", "bench")
            .env("GIT_AUTHOR_EMAIL", "bench@localhost")
            .envs(keys(&server))
            .stdin(Stdio::null());
        let start = Instant::now();
        let output = command.output()?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{} failed: {said}", cli.name).into());
        }
        let run: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let tip = run["tip"].as_str().ok_or("no tip")?;
        let file = format!("{tip}:took.txt");
        let shown = Command::new("git")
            .args(["show", &file])
            .current_dir(&repo)
            .output()?;
        let own: f64 = String::from_utf8(shown.stdout)?.trim().parse()?;
        // The first run asks the CLI for its version.
        if round > 0 {
            rest.push(took - own / 1e6);
        }
    }
    let rest = median(rest);
    let verdict = if rest <= 400.0 { "ok" } else { "MISSED" };
    println!(
        "{:<7} a run of one step without it: {rest:>7.1} ms (goal 400) {verdict}",
        cli.name
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
