//! The inputs of a set-up command, from which its cache key is computed: files of the tree, and its
//! surroundings.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::config::SetupConfig;
use crate::engine::Engine;
use crate::perform::{Error, Job, oid};
use codeteam_host::bodies;
use codeteam_host::git::{IndexEntry, Oid, TreeEdit};
use codeteam_host::workspace::Workspace;
use codeteam_patterns::FilePatterns;

/// Interpreters and compilers that the products of a set-up may refer to: a virtual environment is
/// useless with another Python.
const TOOLS: &[&str] = &[
    "python3", "python", "node", "npm", "ruby", "java", "go", "rustc", "cargo", "php", "perl",
    "cc", "gcc", "clang", "dotnet", "uv", "poetry",
];

/// The tracked files of a worktree that a set-up command depends on.
#[derive(Clone, Debug, Default)]
pub(super) struct SetupInputs {
    command: String,
    /// The patterns of the configuration; without patterns every file counts.
    patterns: Option<FilePatterns>,
    files: Vec<IndexEntry>,
}

impl SetupInputs {
    /// Collects the inputs in a worktree. If the command builds the project itself, every tracked
    /// file is an input, whatever the configuration names.
    pub(super) fn collect(setup: &SetupConfig, workspace: &Workspace) -> Result<Self, Error> {
        let every =
            setup.inputs.is_empty() || builds_sources(&setup.command, &workspace.tree_dir());
        let patterns = (!every).then(|| FilePatterns::lenient(&setup.inputs));
        let mut files = workspace.tracked_files()?;
        files.retain(|file| is_input(patterns.as_ref(), &file.path));
        Ok(Self {
            command: setup.command.clone(),
            patterns,
            files,
        })
    }

    /// Returns the key with which a worktree is marked as set up. A worker's worktree is not set up
    /// again for every file that it changes, so only named inputs count.
    pub(super) fn key(&self) -> String {
        let is_named = self.patterns.is_some();
        hash(&self.command, self.files.iter().filter(|_| is_named), "")
    }

    /// Returns the cache key of the results, which includes the surroundings.
    pub(super) fn key_with(&self, fingerprint: &str) -> String {
        hash(&self.command, self.files.iter(), fingerprint)
    }

    /// Returns the tree on which the command runs: the base with these inputs of the worktree. The
    /// flag says whether that is the worktree's own tree, so that the command has everything it
    /// could have there.
    pub(super) fn tree(&self, job: &Job, workspace: &Workspace) -> Result<(Oid, bool), Error> {
        let (base, own) = (oid(&job.base.tree.0)?, workspace.prepared_tree()?);
        if self.patterns.is_none() || base == own {
            return Ok((own, true));
        }
        let placed: Vec<TreeEdit> = workspace
            .differing_files(&base, &own)?
            .into_iter()
            .filter(|file| is_input(self.patterns.as_ref(), &file.path))
            .map(|file| TreeEdit {
                path: file.path,
                content: file.new.map(|id| (file.new_mode, id)),
            })
            .collect();
        if placed.is_empty() {
            return Ok((base, false));
        }
        Ok((workspace.tree_with(&base, &placed)?, false))
    }
}

fn is_input(patterns: Option<&FilePatterns>, path: &Path) -> bool {
    let path = path.to_string_lossy();
    patterns.is_none_or(|patterns| patterns.matches(&path))
}

/// Returns true if a command that installs packages also builds the project itself, so that its
/// products depend on every source file, whatever inputs are named: package managers of JavaScript
/// run the project's own scripts, and pip copies a project that is not installed in place.
fn builds_sources(command: &str, tree: &Path) -> bool {
    const MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];
    const SCRIPTS: &[&str] = &[
        "preinstall",
        "install",
        "postinstall",
        "prepublish",
        "preprepare",
        "prepare",
        "postprepare",
    ];
    const LONGEST: u64 = 1 << 20;
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '"' | '\''))
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .collect();
    let has = |word: &str| words.contains(&word);
    if MANAGERS.iter().any(|manager| has(manager)) && !has("--ignore-scripts") {
        let manifest = tree.join("package.json");
        let is_short = manifest
            .symlink_metadata()
            .is_ok_and(|found| found.is_file() && found.len() < LONGEST);
        let text = is_short.then(|| std::fs::read(manifest).ok()).flatten();
        let manifest = text.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let scripts = manifest.as_ref().and_then(|value| value.get("scripts"));
        return SCRIPTS
            .iter()
            .any(|script| scripts.and_then(|all| all.get(script)).is_some());
    }
    let is_itself = |word: &&str| *word == "." || word.starts_with(".[");
    let in_place = has("-e") || has("--editable");
    has("pip") && has("install") && words.iter().any(is_itself) && !in_place
}

fn hash<'a>(
    command: &str,
    files: impl Iterator<Item = &'a IndexEntry>,
    fingerprint: &str,
) -> String {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(command.as_bytes());
    add(fingerprint.as_bytes());
    for file in files {
        add(file.path.as_os_str().as_encoded_bytes());
        add(&file.mode.to_le_bytes());
        add(&file.id);
    }
    hash.finalize().to_hex().to_string()
}

/// Returns a text that changes whenever the surroundings of a tree change: the confinement, the
/// tools of this machine, and the files that git does not track.
pub(in crate::perform) fn fingerprint(job: &Job, engine: &Engine) -> Result<String, Error> {
    let grounds = job.gate_config(engine)?;
    let mut text = format!("1 {:?} {:?}\n", job.sandbox, grounds.setup);
    let sandbox = serde_json::to_string(&grounds.sandbox).unwrap_or_default();
    let _ = writeln!(text, "{sandbox}");
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let _ = writeln!(text, "{system}");
    let home = engine.env.home.as_deref();
    let chains = grounds.sandbox.toolchains.iter();
    let chains = chains.filter_map(|path| crate::config::expand_home(path, home));
    let folders: Vec<_> = chains
        .map(|path| path.join("bin"))
        .chain(std::env::split_paths(&engine.env.path))
        .collect();
    for tool in TOOLS {
        let mut found = folders.iter().map(|folder| folder.join(tool));
        if let Some(path) = found.find_map(|path| path.canonicalize().ok()) {
            let metadata = path.metadata().ok();
            let changed = metadata.as_ref().and_then(|found| found.modified().ok());
            let bytes = metadata.map_or(0, |found| found.len());
            let _ = writeln!(text, "{tool} {} {bytes} {changed:?}", path.display());
        }
    }
    let included = match &job.gate_settings {
        Some(basis) => basis.included.clone().into_iter().collect(),
        None => included(engine)?,
    };
    for (name, hash) in included {
        let _ = writeln!(text, "{name} {hash}");
    }
    Ok(text)
}

/// Returns the user's files that are copied into worktrees, with hashes of their content.
fn included(engine: &Engine) -> Result<Vec<(String, String)>, Error> {
    let names = engine.repo.ignored_files(&engine.config.included)?;
    let hashed = names.into_iter().map(|name| {
        let path = engine.repo.top_level().join(&name);
        let hash = bodies::hash_file(&path).unwrap_or_default();
        (name.to_string_lossy().into_owned(), hash)
    });
    Ok(hashed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_the_project_depends_on_all_of_it() {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path();
        for command in [
            "npm ci",
            "pip install -r requirements.txt",
            "pip install -e '.[tests]'",
        ] {
            assert!(!builds_sources(command, path), "{command}");
        }
        assert!(builds_sources(
            "python -m venv .venv && .venv/bin/pip install .; pip install .",
            path
        ));
        assert!(builds_sources("pip install '.[tests]'", path));
        std::fs::write(path.join("package.json"), r#"{"scripts": {"test": "x"}}"#).unwrap();
        assert!(!builds_sources("npm ci", path));
        std::fs::write(
            path.join("package.json"),
            r#"{"scripts": {"prepare": "tsc"}}"#,
        )
        .unwrap();
        assert!(builds_sources("npm ci", path));
        assert!(!builds_sources("npm ci --ignore-scripts", path));
    }
}
