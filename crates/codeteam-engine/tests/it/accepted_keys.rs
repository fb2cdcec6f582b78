//! Every key that a file may have is read by something. A key that is accepted and does nothing is worse
//! than one that is refused: whoever writes it counts on it.
//!
//! The test reads the source. A key becomes a field of the type that its file is read into; some field of
//! that name must be read outside of the type's own declaration, or the key must be looked for by its
//! name in the trees of files. Sections of the configuration are stricter, because their keys have names
//! that others have too: there `output.verbose` must stand, and not some `verbose`.

use std::fs;
use std::path::{Path, PathBuf};

/// Types that files are read into, by where they are declared.
const READ_FROM_FILES: &[(&str, &[&str])] = &[
    ("codeteam-engine/src/config.rs", &["Config"]),
    (
        "codeteam-engine/src/config/sections.rs",
        &[
            "LlmConfig",
            "AgentConfig",
            "OutputConfig",
            "ContinuityConfig",
            "PackageConfig",
            "AdaptiveConfig",
            "RedactionConfig",
            "VerificationConfig",
            "ProofConfig",
            "MutantsConfig",
            "RepeatsConfig",
            "HonestyConfig",
            "MetricsConfig",
            "CommandConfig",
            "LimitsConfig",
            "TaskConfig",
            "GitConfig",
        ],
    ),
    (
        "codeteam-engine/src/config/sandbox.rs",
        &[
            "SandboxConfig",
            "SandboxLimitsConfig",
            "SandboxMapping",
            "SetupConfig",
            "CacheConfig",
            "HostConfig",
            "HostMapping",
        ],
    ),
    (
        "codeteam-engine/src/config/approval.rs",
        &[
            "RiskConfig",
            "ApprovalLevelConfig",
            "ApprovalsConfig",
            "PersonConfig",
        ],
    ),
    ("codeteam-engine/src/config/access.rs", &["TrustKeys"]),
    ("codeteam-engine/src/config/gate_config.rs", &["GateConfig"]),
    (
        "codeteam-engine/src/notify.rs",
        &["NotifyConfig", "ChannelConfig"],
    ),
    ("codeteam-engine/src/config/workers.rs", &["WorkerConfig"]),
    ("codeteam-engine/src/model_api.rs", &["ModelPrice"]),
    (
        "codeteam-engine/src/context/strategies.rs",
        &["StrategyFile", "PartFile"],
    ),
    (
        "codeteam-workflow/src/roles/file.rs",
        &["RoleFile", "RoleGate", "ValidatorFile"],
    ),
    (
        "codeteam-workflow/src/plan_file/yaml.rs",
        &["PlanFile", "FilePhase", "FileTask"],
    ),
    (
        "codeteam-workflow/src/language/file.rs",
        &[
            "WorkflowFile",
            "FileLimits",
            "SequenceEntry",
            "FileRebound",
            "FileStep",
            "FileCheck",
            "FileAnswer",
            "FileRetry",
        ],
    ),
];

/// Types that files become. What is put into them must be taken out again elsewhere.
const PINNED: &[(&str, &[&str], &str)] = &[
    (
        "codeteam-core/src/role.rs",
        &["Role", "ExecutionOptions", "RoleContext"],
        "codeteam-workflow/src/roles/",
    ),
    (
        "codeteam-core/src/workflow.rs",
        &["Workflow", "Step", "RoleStep"],
        "codeteam-workflow/src/language/compile",
    ),
    (
        "codeteam-core/src/workflow/exits.rs",
        &["PersonAnswer", "Rebound"],
        "codeteam-workflow/src/language/compile",
    ),
];

/// Sections of the configuration, by what they are called where they are read.
const SECTIONS: &[(&str, &str)] = &[
    ("LlmConfig", "llm"),
    ("AgentConfig", "agent"),
    ("OutputConfig", "output"),
    ("ContinuityConfig", "continuity"),
    ("RedactionConfig", "redaction"),
    ("VerificationConfig", "verification"),
    ("LimitsConfig", "limits"),
    ("TaskConfig", "task"),
    ("GitConfig", "git"),
];

/// The keys that nothing reads, and why that is right.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "Config",
        "projects",
        "every run warns that it has no effect yet",
    ),
    (
        "Config",
        "adaptive",
        "every run warns that it has no effect yet",
    ),
    ("PackageConfig", "*", "part of `projects`"),
    ("AdaptiveConfig", "*", "part of `adaptive`"),
    (
        "ContinuityConfig",
        "default_mode",
        "it has one value, and any other is refused",
    ),
];

#[test]
fn every_key_that_is_accepted_is_read_by_something() {
    let sources = sources();
    let mut unread = Vec::new();
    for (file, types) in READ_FROM_FILES {
        for name in *types {
            let (fields, declaration) = fields_of(&sources, file, name);
            for field in fields {
                let section = SECTIONS.iter().find(|(of, _)| of == name);
                let is_read = match section {
                    Some((_, section)) => is_read_in_section(&sources, section, &field),
                    None => {
                        is_read(
                            &sources,
                            &field,
                            |path| (path == *file).then_some(&*declaration),
                            "",
                        ) || is_looked_for(&sources, &field)
                    }
                };
                if !is_read && !is_exception(name, &field) {
                    unread.push(format!("{name}.{field} ({file})"));
                }
            }
        }
    }
    for (file, types, maker) in PINNED {
        for name in *types {
            let (fields, declaration) = fields_of(&sources, file, name);
            for field in fields {
                let own = |path: &str| (path == *file).then_some(&*declaration);
                if !is_read(&sources, &field, own, maker) && !is_exception(name, &field) {
                    unread.push(format!("{name}.{field} ({file})"));
                }
            }
        }
    }
    assert_eq!(
        unread,
        [] as [&str; 0],
        "these keys are accepted and read by nothing"
    );
}

#[test]
fn no_type_that_files_are_read_into_is_forgotten() {
    let listed = |file: &str, name: &str| {
        let mut known = READ_FROM_FILES.iter().filter(|(own, _)| *own == file);
        known.any(|(_, types)| types.contains(&name))
    };
    let is_read_into = |file: &str| {
        file.starts_with("codeteam-engine/src/config")
            || READ_FROM_FILES.iter().any(|(own, _)| *own == file)
    };
    let mut forgotten = Vec::new();
    for (file, text) in sources().iter().filter(|(file, _)| is_read_into(file)) {
        for (at, _) in text.match_indices("struct ") {
            let (before, rest) = text.split_at(at);
            let name = rest["struct ".len()..].split([' ', '(', '<', ';']).next();
            let item = before
                .rfind(['}', ';'])
                .map_or(before, |end| &before[end..]);
            let name = name.unwrap_or_default();
            let has_keys = rest[..rest.find('\n').unwrap_or(rest.len())].ends_with('{');
            if has_keys && item.contains("Deserialize") && !listed(file, name) {
                forgotten.push(format!("{name} ({file})"));
            }
        }
    }
    assert_eq!(forgotten, [] as [&str; 0]);
}

#[test]
fn no_exception_is_kept_that_is_none() {
    let sources = sources();
    let all = READ_FROM_FILES.iter().map(|(file, types)| (file, types));
    let all = all.chain(PINNED.iter().map(|(file, types, _)| (file, types)));
    let known: Vec<(String, String)> = all
        .flat_map(|(file, types)| types.iter().map(move |name| (file, name)))
        .flat_map(|(file, name)| {
            let (fields, _) = fields_of(&sources, file, name);
            fields.into_iter().map(|field| ((*name).to_owned(), field))
        })
        .collect();
    for (name, field, _) in EXCEPTIONS {
        let is_there = known
            .iter()
            .any(|(n, f)| n == name && (*field == "*" || f == field));
        assert!(is_there, "there is no `{name}.{field}`");
    }
}

#[test]
fn a_read_is_told_from_what_only_looks_like_one() {
    let read = |text: &str| reads(text, "key");
    assert!(read("let x = config.key;"));
    assert!(read("config\n    .key\n    .clone()"));
    assert!(read("let Limits { key, .. } = limits;"));
    for other in [
        "config.key = 1;",
        "config.key()",
        "key: Option<u32>,",
        "config.keys",
        "monkey",
    ] {
        assert!(!read(other), "{other}");
    }
    assert!(read("if config.key == 1 {}"));
}

/// The source without tests and comments, by path below `crates`.
fn sources() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in [
        "codeteam",
        "codeteam-core",
        "codeteam-workflow",
        "codeteam-host",
        "codeteam-report",
        "codeteam-engine",
        "codeteam-mcp",
        "codeteam-agent",
    ] {
        collect(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let text = text
            .split("\n#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default());
        let below = path.strip_prefix(crates).unwrap().display().to_string();
        (below, lines.collect::<Vec<_>>().join("\n"))
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        if is_tests {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// The fields of a type, and the text of its declaration.
fn fields_of(sources: &[(String, String)], file: &str, name: &str) -> (Vec<String>, String) {
    let (_, text) = sources
        .iter()
        .find(|(path, _)| path == file)
        .unwrap_or_else(|| panic!("{file}"));
    let start = text
        .find(&format!("struct {name} {{"))
        .unwrap_or_else(|| panic!("{name}"));
    let length = text[start..]
        .find("\n}")
        .unwrap_or_else(|| panic!("{name}"));
    let declaration = &text[start..start + length];
    let lines = declaration.lines().map(str::trim);
    let field = |line: &str| {
        let rest = match line.strip_prefix("pub") {
            Some(rest) => rest.trim_start_matches(|c| c != ' ').trim_start(),
            None => line,
        };
        let (name, _) = rest.split_once(": ")?;
        let is_name = name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        is_name.then(|| name.to_owned())
    };
    let fields: Vec<String> = lines.filter_map(field).collect();
    assert!(!fields.is_empty(), "{name} has no fields");
    (fields, declaration.to_owned())
}

/// Returns true if a field of this name is read anywhere but in its own declaration and in files
/// whose path begins with `except`.
fn is_read<'a>(
    sources: &[(String, String)],
    field: &str,
    declaration: impl Fn(&str) -> Option<&'a str>,
    except: &str,
) -> bool {
    sources.iter().any(|(path, text)| {
        let is_left_out = !except.is_empty() && path.starts_with(except);
        match declaration(path) {
            _ if is_left_out => false,
            Some(declaration) => reads(&text.replace(declaration, ""), field),
            None => reads(text, field),
        }
    })
}

/// Returns true if a key is looked up by its name in the tree of a file.
fn is_looked_for(sources: &[(String, String)], key: &str) -> bool {
    let places = [
        "codeteam-workflow/src/language/",
        "codeteam-workflow/src/roles/",
        "codeteam-workflow/src/format_version",
    ];
    let literal = format!("\"{key}\"");
    let mut sources = sources.iter();
    sources.any(|(path, text)| {
        places.iter().any(|place| path.starts_with(place)) && text.contains(&literal)
    })
}

/// Returns true if a key of a section is read under the section's name, or by the section itself.
fn is_read_in_section(sources: &[(String, String)], section: &str, field: &str) -> bool {
    let (named, own) = (format!("{section}.{field}"), format!("self.{field}"));
    sources.iter().any(|(path, text)| {
        let flat: String = text.split_whitespace().collect();
        let has = |what: &str| {
            let mut found = flat.match_indices(what);
            found.any(|(at, _)| !is_word(flat[at + what.len()..].chars().next()))
        };
        has(&named) || (path.contains("/config") && has(&own))
    })
}

/// Returns true if a text reads a field: `.key`, but no call and no assignment; or `{ key, .. }`.
fn reads(text: &str, field: &str) -> bool {
    text.match_indices(field).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + field.len()..]);
        if is_word(before.chars().next_back()) || is_word(after.chars().next()) {
            return false;
        }
        let next = after.trim_start();
        match before.trim_end().chars().next_back() {
            Some('.') => {
                let assigns =
                    next.starts_with('=') && !next.starts_with("==") && !next.starts_with("=>");
                !assigns && !next.starts_with('(')
            }
            Some('{' | ',') => next.starts_with([',', '}']),
            _ => false,
        }
    })
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || c == '_')
}

fn is_exception(name: &str, field: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(of, key, _)| *of == name && (*key == "*" || *key == field))
}
