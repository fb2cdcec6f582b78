//! The kinds of access requests. Each compares the merged configuration with the user's own.

use std::collections::BTreeMap;

use codeteam_core::event::SandboxKind as Backend;
use codeteam_core::workflow::{CommitApproval, HonestyRule};
use codeteam_workflow::yaml::YamlNode;
use serde_json::json;

use super::{AccessComparison, FoundRequest, INCLUDES, RequestTarget, as_type};
use crate::config::{
    BaselinePolicy, CacheConfig, CacheMode, Config, GitMode, HonestyMode, HostConfig, LimitsConfig,
    ProofMode,
};
use crate::model_api::ModelPrice;

/// All kinds of requests.
pub(super) const KINDS: &[fn(&AccessComparison<'_>) -> Vec<FoundRequest>] = &[
    backend,
    image,
    sandbox_limits,
    hosts,
    folders,
    servers,
    files,
    redaction,
    limits,
    kept_texts,
    honesty,
    proof,
    mutants,
    repeats,
    baseline,
    metrics,
    small_change,
    commands,
    judges,
    risk_paths,
    git,
    prices,
];

/// The keys that requests can have, or that are above them.
pub(super) const KEYS: &[&str] = &[
    "sandbox.backend",
    "sandbox.image",
    "sandbox.limits",
    "sandbox.hosts",
    "sandbox.registries",
    "sandbox.toolchains",
    "sandbox.caches",
    "mcp_servers",
    INCLUDES,
    "redaction.allow",
    "limits",
    "verification.honesty",
    "verification.proof.mode",
    "verification.mutants",
    "verification.repeats",
    "verification.baseline",
    "verification.metrics",
    "verification.small_change",
    "verification.commands",
    "verification.keep_worktree",
    "quality_threshold",
    "verifier_instances",
    "security_role",
    "rules",
    "risk.paths",
    "git.mode",
    "git.auto_commit",
    "prices",
];

fn path(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

fn value(key: &str, value: impl Into<String>, asks: String) -> FoundRequest {
    FoundRequest {
        path: path(key),
        value: value.into(),
        asks,
        part: RequestTarget::Value,
        beside: &[],
    }
}

fn item(key: &str, value: String, asks: String) -> FoundRequest {
    FoundRequest {
        part: RequestTarget::Item,
        ..self::value(key, value, asks)
    }
}

fn backend(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let of = |config: &Config| config.sandbox.backend.unwrap_or(Backend::Bubblewrap);
    let (full, allowed) = (of(c.full), of(c.allowed));
    // If the user allows everything, any confinement is narrower.
    if full == allowed || allowed == Backend::None {
        return Vec::new();
    }
    let name = |backend| match backend {
        Backend::None => "none",
        Backend::Bubblewrap => "bubblewrap",
        Backend::Container => "container",
    };
    let asks = match full {
        Backend::None => {
            "run workers and checks without a sandbox, with all your own rights".to_owned()
        }
        other => format!(
            "confine workers and checks by {} instead of {}",
            name(other),
            name(allowed)
        ),
    };
    vec![value("sandbox.backend", name(full), asks)]
}

fn image(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let (full, allowed) = (&c.full.sandbox.image, &c.allowed.sandbox.image);
    if full == allowed {
        return Vec::new();
    }
    let (known, asks) = match full {
        Some(image) => (
            image.as_str(),
            format!("run workers and checks in the container image `{image}`"),
        ),
        None => (
            "",
            "run workers and checks in codeteam's own container image".to_owned(),
        ),
    };
    vec![value("sandbox.image", known, asks)]
}

fn sandbox_limits(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let usual = codeteam_sandbox::SandboxLimits::default();
    let mb = codeteam_sandbox::policy::MIB;
    let (full, allowed) = (&c.full.sandbox.limits, &c.allowed.sandbox.limits);
    let all = [
        (
            "memory_mb",
            full.memory_mb,
            allowed.memory_mb,
            usual.memory / mb,
            "MB of memory",
        ),
        (
            "processes",
            full.processes,
            allowed.processes,
            usual.processes,
            "processes",
        ),
        (
            "file_size_mb",
            full.file_size_mb,
            allowed.file_size_mb,
            usual.file_size / mb,
            "MB in one file",
        ),
        (
            "scratch_mb",
            full.scratch_mb,
            allowed.scratch_mb,
            usual.scratch / mb,
            "MB of scratch space",
        ),
        (
            "disk_mb",
            full.disk_mb,
            allowed.disk_mb,
            crate::config::DISK_MB,
            "MB of disk for a worktree",
        ),
    ];
    let wider = all
        .into_iter()
        .filter_map(|(key, full, allowed, usual, what)| {
            let (full, allowed) = (full.unwrap_or(usual), allowed.unwrap_or(usual));
            let asks = || format!("let a command use {full} {what} instead of {allowed}");
            (full > allowed)
                .then(|| value(&format!("sandbox.limits.{key}"), full.to_string(), asks()))
        });
    wider.collect()
}

fn hosts(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let (full, allowed) = (&c.full.sandbox, &c.allowed.sandbox);
    let new =
        |key: &'static str, full: &[HostConfig], allowed: &[HostConfig], who: &'static str| {
            let is_new = |host: &&HostConfig| {
                !allowed
                    .iter()
                    .any(|known| host_value(known) == host_value(host))
            };
            let found = full.iter().filter(is_new).map(|host| {
                let host = host_value(host);
                let asks = format!("let {who} reach `{host}`");
                item(key, host, asks)
            });
            found.collect::<Vec<_>>()
        };
    let setup = c.full.setup.as_ref().map(|setup| setup.command.as_str());
    let mut found = new("sandbox.hosts", &full.hosts, &allowed.hosts, "workers");
    let registries = new(
        "sandbox.registries",
        &full.registries,
        &allowed.registries,
        "the set-up command",
    );
    found.extend(registries.into_iter().map(|mut finding| {
        if let Some(command) = setup {
            finding.asks = finding
                .asks
                .replace("command reach", &format!("command `{command}` reach"));
        }
        finding
    }));
    dedup_requests(found)
}

fn folders(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let (full, allowed) = (&c.full.sandbox, &c.allowed.sandbox);
    let tools = full
        .toolchains
        .iter()
        .filter(|path| !allowed.toolchains.contains(path));
    let tools = tools.map(|path| {
        let path = path.display().to_string();
        let asks = format!("show workers and checks your folder `{path}`");
        item("sandbox.toolchains", path, asks)
    });
    let is_known =
        |cache: &&CacheConfig| allowed.caches.iter().any(|known| known.path == cache.path);
    let caches = full.caches.iter().filter(|cache| !is_known(cache));
    let caches = caches.map(|cache| {
        let path = cache.path.display();
        let asks = match cache.mode {
            CacheMode::ReadOnly => format!("show workers and checks your folder `{path}`"),
            CacheMode::Copy => format!("give workers and checks a copy of your folder `{path}`"),
        };
        item("sandbox.caches", cache_value(cache), asks)
    });
    dedup_requests(tools.chain(caches).collect())
}

fn servers(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let all = c.full.mcp_servers.iter();
    let new = all.filter(|(name, server)| c.allowed.mcp_servers.get(*name) != Some(*server));
    let found = new.map(|(name, server)| {
        // The values may be secrets, which are stored nowhere, so they are hashed.
        let hash = |text: &String| blake3::hash(text.as_bytes()).to_hex()[..32].to_owned();
        let env: BTreeMap<&String, String> = server
            .env
            .iter()
            .map(|(name, value)| (name, hash(value)))
            .collect();
        let known = json!({ "command": server.command, "args": server.args, "env": env });
        let line = std::iter::once(&server.command).chain(&server.args);
        let line = line.map(String::as_str).collect::<Vec<_>>().join(" ");
        let given = match env.keys().map(|name| name.as_str()).collect::<Vec<_>>() {
            names if names.is_empty() => String::new(),
            names => format!(", with the variables {}", names.join(", ")),
        };
        FoundRequest {
            path: vec!["mcp_servers".to_owned(), name.clone()],
            value: known.to_string(),
            asks: format!("let roles use the MCP server `{name}`, started as `{line}`{given}"),
            part: RequestTarget::Value,
            beside: &[],
        }
    });
    found.collect()
}

fn files(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    if c.included.is_empty() {
        return Vec::new();
    }
    let names = c.included.join("`, `");
    vec![FoundRequest {
        path: vec![INCLUDES.to_owned()],
        value: c.included.join("\n"),
        asks: format!("copy files of your checkout that git ignores into worktrees: `{names}`"),
        part: RequestTarget::File,
        beside: &[],
    }]
}

/// Finds patterns for texts that look like secrets and would be stored and shown nevertheless.
fn redaction(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let allowed = &c.allowed.redaction.allow;
    let all = c.full.redaction.allow.iter();
    let new = all.filter(|pattern| !allowed.contains(pattern));
    let found = new.map(|pattern| {
        let asks = format!("keep and show what looks like a secret and matches `{pattern}`");
        item("redaction.allow", pattern.clone(), asks)
    });
    dedup_requests(found.collect())
}

/// Returns true if the user has set a key explicitly.
fn is_set_by_user(c: &AccessComparison<'_>, path: &[&str]) -> bool {
    let said = path.iter().try_fold(c.own, |node, key| node.get(key));
    said.is_some()
}

/// Finds higher limits for what a run may use up, where the user has set a limit.
fn limits(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let both = amounts(&c.full.limits)
        .into_iter()
        .zip(amounts(&c.allowed.limits));
    let said = both.filter(|((key, _), _)| is_set_by_user(c, &["limits", key]));
    let wider = said.filter_map(|((key, full), (_, allowed))| {
        let allowed = allowed?;
        let key = format!("limits.{key}");
        match full {
            // A value that is not a number counts as higher than any.
            Some(full) if full <= allowed => None,
            Some(full) => {
                let asks = format!("raise your limit `{key}` from {allowed} to {full}");
                Some(value(&key, full.to_string(), asks))
            }
            None => Some(value(
                &key,
                "none",
                format!("lift your limit `{key}` of {allowed}"),
            )),
        }
    });
    wider.collect()
}

fn amounts(limits: &LimitsConfig) -> [(&'static str, Option<f64>); 15] {
    #[expect(clippy::cast_precision_loss, reason = "no limit is as large as that")]
    let whole = |limit: Option<u64>| limit.map(|limit| limit as f64);
    let count = |limit: Option<usize>| whole(limit.map(|limit| limit as u64));
    let few = |limit: Option<u32>| limit.map(f64::from);
    [
        ("max_cost_usd", limits.max_cost_usd),
        ("max_tokens", whole(limits.max_tokens)),
        ("max_attempts", whole(limits.max_attempts)),
        ("max_minutes", whole(limits.max_minutes)),
        ("max_disk_mb", whole(limits.max_disk_mb)),
        ("max_task_cost_usd", limits.max_task_cost_usd),
        ("max_task_tokens", whole(limits.max_task_tokens)),
        ("max_outage_minutes", whole(limits.max_outage_minutes)),
        ("max_tasks", count(limits.max_tasks)),
        ("max_parallel_tasks", count(limits.max_parallel_tasks)),
        ("max_turns", few(limits.max_turns)),
        ("step_timeout_seconds", whole(limits.step_timeout_seconds)),
        ("step_max_retries", few(limits.step_max_retries)),
        ("workflow_max_steps", few(limits.workflow_max_steps)),
        ("max_token_budget", whole(limits.max_token_budget)),
    ]
}

/// Finds a bound for what completed runs leave that is not the user's. A lower one removes what the
/// user would keep, and a higher one keeps more.
fn kept_texts(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let (full, allowed) = (c.full.limits.max_kept_mb, c.allowed.limits.max_kept_mb);
    if full == allowed {
        return Vec::new();
    }
    let key = "limits.max_kept_mb";
    vec![if let Some(full) = full {
        let asks = format!(
            "remove transcripts, diffs and files of completed runs, the oldest first, beyond {full} MB"
        );
        value(key, full.to_string(), asks)
    } else {
        let asks = "remove nothing that completed runs have left";
        value(key, "none", asks.to_owned())
    }]
}

/// Finds honesty rules that are weaker than the user has set them.
fn honesty(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let strict = |judging: HonestyMode| match judging {
        HonestyMode::Off => 0,
        HonestyMode::Report => 1,
        HonestyMode::Fail => 2,
    };
    let of = |config: &Config, rule| strict(config.verification.honesty.mode_for(rule));
    let rules = HonestyRule::ALL.into_iter();
    let said = rules.filter(|rule| is_set_by_user(c, &["verification", "honesty", rule.as_str()]));
    let weaker = said.filter(|rule| of(c.full, *rule) < of(c.allowed, *rule));
    let found = weaker.map(|rule| {
        let name = rule.as_str();
        let known = ["off", "report", "fail"][of(c.full, rule)];
        let asks = format!("judge changes less strictly than you say: `{name}: {known}`");
        value(&format!("verification.honesty.{name}"), known, asks)
    });
    found.collect()
}

/// Finds a weaker mode for tests that prove nothing than the user has set.
fn proof(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let strict = |config: &Config| match config.verification.proof.mode {
        ProofMode::Off => 0,
        ProofMode::Report => 1,
        ProofMode::Require => 2,
    };
    let (full, allowed) = (strict(c.full), strict(c.allowed));
    if full >= allowed || !is_set_by_user(c, &["verification", "proof", "mode"]) {
        return Vec::new();
    }
    let known = ["off", "report", "require"][full];
    let asks = format!("judge tests that prove nothing less strictly than you say: `{known}`");
    vec![value("verification.proof.mode", known, asks)]
}

/// Finds fewer mutants, or more that may survive, than the user has set.
fn mutants(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let said = |key: &str| is_set_by_user(c, &["verification", "mutants", key]);
    let (full, allowed) = (
        &c.full.verification.mutants,
        &c.allowed.verification.mutants,
    );
    let budgets = [
        (
            "max_count",
            full.max_count.map(u64::from),
            allowed.max_count.map(u64::from),
        ),
        ("max_seconds", full.max_seconds, allowed.max_seconds),
    ];
    let mut found = Vec::new();
    for (key, full, allowed) in budgets {
        let (full, allowed) = (full.unwrap_or(0), allowed.unwrap_or(0));
        if full < allowed && said(key) {
            let key = format!("verification.mutants.{key}");
            let asks = format!("lower your setting `{key}` from {allowed} to {full}");
            found.push(value(&key, full.to_string(), asks));
        }
    }
    let key = "max_surviving_percent";
    if let Some(allowed) = allowed.max_surviving_percent.filter(|_| said(key)) {
        let key = format!("verification.mutants.{key}");
        match full.max_surviving_percent {
            Some(full) if full <= allowed => {}
            Some(full) => {
                let asks = format!("raise your limit `{key}` from {allowed} to {full}");
                found.push(value(&key, full.to_string(), asks));
            }
            None => {
                let asks = format!("lift your limit `{key}` of {allowed}");
                found.push(value(&key, "none", asks));
            }
        }
    }
    found
}

/// Finds a weaker mode for tests that do not pass each time, or less time, than the user has set.
fn repeats(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let strict = |config: &Config| match config.verification.repeats.mode {
        ProofMode::Off => 0,
        ProofMode::Report => 1,
        ProofMode::Require => 2,
    };
    let said = |key: &str| is_set_by_user(c, &["verification", "repeats", key]);
    let mut found = Vec::new();
    let (full, allowed) = (strict(c.full), strict(c.allowed));
    if full < allowed && said("mode") {
        let known = ["off", "report", "require"][full];
        let asks =
            format!("judge tests that do not pass each time less strictly than you say: `{known}`");
        found.push(value("verification.repeats.mode", known, asks));
    }
    let seconds = |config: &Config| config.verification.repeats.max_seconds.unwrap_or(0);
    let (full, allowed) = (seconds(c.full), seconds(c.allowed));
    if full < allowed && said("max_seconds") {
        let key = "verification.repeats.max_seconds";
        let asks = format!("lower your setting `{key}` from {allowed} to {full}");
        found.push(value(key, full.to_string(), asks));
    }
    found
}

/// Finds a weaker policy for checks that fail on the base than the user has set.
fn baseline(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let strict = |config: &Config| match config.verification.baseline {
        Some(BaselinePolicy::NewFailures) => 0,
        Some(BaselinePolicy::MustPass) => 1,
        // A person is asked, or the run does not start.
        Some(BaselinePolicy::Stop) | None => 2,
    };
    let (full, allowed) = (strict(c.full), strict(c.allowed));
    if full >= allowed || !is_set_by_user(c, &["verification", "baseline"]) {
        return Vec::new();
    }
    let known = ["new_failures", "must_pass", "stop"][full];
    let asks = match full {
        0 => "let checks fail in tests that failed before, where you say otherwise",
        _ => "start although checks fail already, where you say otherwise",
    };
    vec![value("verification.baseline", known, asks.to_owned())]
}

/// Finds higher limits for the size of files and functions, where the user has set one.
fn metrics(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let of = |config: &Config| {
        let metrics = &config.verification.metrics;
        [
            metrics.max_file_lines,
            metrics.max_method_lines,
            metrics.max_import_cycles,
        ]
    };
    let keys: [(&str, &'static [&'static str]); 3] = [
        ("max_file_lines", &[]),
        ("max_method_lines", &["max_function_lines"]),
        ("max_import_cycles", &[]),
    ];
    let both = keys
        .into_iter()
        .zip(of(c.full).into_iter().zip(of(c.allowed)));
    let wider = both.filter_map(|((key, also), (full, allowed))| {
        let allowed = allowed?;
        let mut names = std::iter::once(&key).chain(also);
        if !names.any(|name| is_set_by_user(c, &["verification", "metrics", name])) {
            return None;
        }
        let key = format!("verification.metrics.{key}");
        let (known, asks) = match full {
            Some(full) if full <= allowed => return None,
            Some(full) => (
                full.to_string(),
                format!("raise your limit `{key}` from {allowed} to {full}"),
            ),
            None => (
                "none".to_owned(),
                format!("lift your limit `{key}` of {allowed}"),
            ),
        };
        Some(FoundRequest {
            beside: also,
            ..value(&key, known, asks)
        })
    });
    wider.collect()
}

/// Finds a wider definition of a small change, which fewer roles judge, than the user has set.
fn small_change(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let said = |key: &str| is_set_by_user(c, &["verification", "small_change", key]);
    let (full, allowed) = (
        &c.full.verification.small_change,
        &c.allowed.verification.small_change,
    );
    let mut found = Vec::new();
    for (key, full, allowed) in [
        ("max_lines", full.max_lines, allowed.max_lines),
        ("max_files", full.max_files, allowed.max_files),
    ] {
        if full > allowed && said(key) {
            let key = format!("verification.small_change.{key}");
            let asks = format!("raise your limit `{key}` from {allowed} to {full}");
            found.push(value(&key, full.to_string(), asks));
        }
    }
    let risky = allowed.risky_paths.iter();
    let gone = risky.filter(|path| !full.risky_paths.contains(path));
    let gone: Vec<&str> = gone.map(String::as_str).collect();
    if said("risky_paths") && !gone.is_empty() {
        let asks = format!(
            "let a change of files that you call risky count as small: `{}`",
            gone.join("`, `")
        );
        let known = full.risky_paths.join("\n");
        found.push(value("verification.small_change.risky_paths", known, asks));
    }
    found
}

/// Finds checks of the user's that the project takes back, and leftovers in the worktrees of checks.
fn commands(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let mut found = Vec::new();
    let named = |config: &Config| -> Vec<String> {
        let all = config.verification.commands.iter();
        all.map(|check| check.command.clone()).collect()
    };
    let (full, allowed) = (named(c.full), named(c.allowed));
    let gone: Vec<&str> = find_missing(&full, &allowed);
    if is_set_by_user(c, &["verification", "commands"]) && !gone.is_empty() {
        let asks = format!("leave out checks of yours: `{}`", gone.join("`, `"));
        found.push(value("verification.commands", full.join("\n"), asks));
    }
    let keeps = |config: &Config| config.verification.keep_worktree;
    if keeps(c.full) && !keeps(c.allowed) && is_set_by_user(c, &["verification", "keep_worktree"]) {
        let asks = "let checks reuse what they have built before, where you say otherwise";
        found.push(value("verification.keep_worktree", "true", asks.to_owned()));
    }
    found
}

/// Finds fewer or other judges, a lower score, and rules for roles that are taken back, where the user
/// has set them.
fn judges(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let mut found = Vec::new();
    let key = "quality_threshold";
    let (full, allowed) = (c.full.quality_threshold, c.allowed.quality_threshold);
    let is_lower = |allowed: &f64| full.is_none_or(|full| full < *allowed);
    if let Some(allowed) = allowed
        .filter(is_lower)
        .filter(|_| is_set_by_user(c, &[key]))
    {
        let known = full.map_or_else(|| "none".to_owned(), |full| full.to_string());
        let asks = format!("take a result with a score of `{known}` where you say {allowed}");
        found.push(value(key, known, asks));
    }
    for (role, allowed) in &c.allowed.verifier_instances {
        let full = c.full.verifier_instances.get(role).copied().unwrap_or(1);
        if full < *allowed && is_set_by_user(c, &["verifier_instances", role]) {
            let asks = format!("let {full} instead of {allowed} workers judge as `{role}`");
            found.push(FoundRequest {
                path: vec!["verifier_instances".to_owned(), role.clone()],
                ..value("verifier_instances", full.to_string(), asks)
            });
        }
    }
    if let Some(allowed) = &c.allowed.security_role
        && c.full.security_role.as_ref() != Some(allowed)
        && is_set_by_user(c, &["security_role"])
    {
        let known = c.full.security_role.clone().unwrap_or_default();
        let asks = format!("have `{known}` judge the security of changes instead of `{allowed}`");
        found.push(value("security_role", known, asks));
    }
    let gone: Vec<&str> = find_missing(&c.full.rules, &c.allowed.rules);
    if !gone.is_empty() && is_set_by_user(c, &["rules"]) {
        let asks = format!("leave out rules of yours: `{}`", gone.join("`, `"));
        found.push(value("rules", c.full.rules.join("\n"), asks));
    }
    found
}

/// Finds the texts of the user's that are not in the whole.
fn find_missing<'a>(full: &[String], allowed: &'a [String]) -> Vec<&'a str> {
    let gone = allowed.iter().filter(|text| !full.contains(text));
    gone.map(String::as_str).collect()
}

/// Finds paths that are added to a set by which the user's policy lets changes go on: more paths make
/// such a policy less strict. Other sets may grow.
fn risk_paths(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let sets = c.allowed.lenient_path_sets();
    let none = Vec::new();
    let mut found = Vec::new();
    for set in sets {
        let of = |config: &Config| config.risk.paths.get(&set).cloned();
        let allowed = of(c.allowed).unwrap_or_default();
        let full = of(c.full);
        let new = full.as_ref().unwrap_or(&none).iter();
        found.extend(new.filter(|path| !allowed.contains(path)).map(|path| {
            let asks = format!(
                "count `{path}` as `{set}`, by which your approval policy lets changes go on"
            );
            FoundRequest {
                path: vec!["risk".to_owned(), "paths".to_owned(), set.clone()],
                ..item("risk.paths", path.clone(), asks)
            }
        }));
    }
    dedup_requests(found)
}

/// Finds modes that do more with the user's branch, or ask less often before commits, than the user
/// has set.
fn git(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let said = |key: &str| is_set_by_user(c, &["git", key]);
    let mut found = Vec::new();
    let reaches = |config: &Config| match config.git.effective_mode() {
        GitMode::None => 0,
        GitMode::Branch => 1,
        GitMode::Current => 2,
    };
    if (said("mode") || said("auto_branch")) && reaches(c.full) > reaches(c.allowed) {
        let (mode, asks) = match c.full.git.effective_mode() {
            GitMode::Current => (
                "current",
                "move the branch you are on forward to what a run made",
            ),
            _ => ("branch", "make a branch for every run"),
        };
        found.push(FoundRequest {
            beside: &["auto_branch"],
            ..value("git.mode", mode, asks.to_owned())
        });
    }
    let asked = |config: &Config| match config.git.asks_before() {
        CommitApproval::Nothing => 0,
        CommitApproval::First => 1,
        CommitApproval::Each => 2,
    };
    if (said("auto_commit") || said("dry_run_preview")) && asked(c.full) < asked(c.allowed) {
        let asks = "commit without asking you, where your configuration says to ask";
        let known = ["nothing", "first", "each"][asked(c.full)];
        found.push(FoundRequest {
            beside: &["dry_run_preview"],
            ..value("git.auto_commit", known, asks.to_owned())
        });
    }
    found
}

/// Finds other prices of tokens: with lower ones, a money limit, which may also be set for one run
/// only, would be reached later.
fn prices(c: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let known = |price: &ModelPrice| (price.input, price.output, price.cached_input);
    let all = c.full.prices.iter();
    let new =
        all.filter(|(model, price)| c.allowed.prices.get(*model).map(known) != Some(known(price)));
    let found = new.map(|(model, price)| FoundRequest {
        path: vec!["prices".to_owned(), model.clone()],
        value: format!("{:?}", known(price)),
        asks: format!(
            "count a million tokens of `{model}` as ${} read and ${} written, against limits of money",
            price.input, price.output
        ),
        part: RequestTarget::Value,
        beside: &[],
    });
    found.collect()
}

/// Returns an item of a list in the normalised form of its request.
pub(super) fn item_value(path: &[String], node: &YamlNode) -> String {
    let known = match path.last().map(String::as_str) {
        Some("hosts" | "registries") => as_type(node).map(|host: HostConfig| host_value(&host)),
        Some("caches") => as_type(node).map(|cache: CacheConfig| cache_value(&cache)),
        _ => None,
    };
    known.unwrap_or_else(|| node.as_text().unwrap_or_default().to_owned())
}

fn host_value(host: &HostConfig) -> String {
    let name = host.host.to_ascii_lowercase();
    let has_port = name
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port { "" } else { ":443" };
    let private = if host.private { " (private)" } else { "" };
    format!("{name}{port}{private}")
}

fn cache_value(cache: &CacheConfig) -> String {
    let mode = match cache.mode {
        CacheMode::ReadOnly => "read-only",
        CacheMode::Copy => "copy",
    };
    format!("{} ({mode})", cache.path.display())
}

/// Removes duplicate requests.
fn dedup_requests(found: Vec<FoundRequest>) -> Vec<FoundRequest> {
    let mut all: Vec<FoundRequest> = Vec::new();
    for finding in found {
        if !all
            .iter()
            .any(|known| known.path == finding.path && known.value == finding.value)
        {
            all.push(finding);
        }
    }
    all
}
