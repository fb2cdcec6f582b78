//! What a set-up command goes by: files of the tree, and what is round it.

use std::fmt::Write as _;
use std::path::Path;

use codeteam_core::workflow::glob_matches;
use serde_json::Value;

use crate::bodies;
use crate::config::SetupConfig;
use crate::engine::Engine;
use crate::git::{IndexEntry, Oid, TreeEdit};
use crate::perform::{Error, Job, oid};
use crate::workspace::Workspace;

/// Interpreters and compilers that what a set-up makes may lead to: a virtual environment is of no
/// use with another Python.
const TOOLS: &[&str] = &[
    "python3", "python", "node", "npm", "ruby", "java", "go", "rustc", "cargo", "php", "perl",
    "cc", "gcc", "clang", "dotnet", "uv", "poetry",
];

/// The tracked files of a worktree that a set-up command goes by.
#[derive(Clone, Debug, Default)]
pub(super) struct SetupInputs {
    command: String,
    /// As the configuration names them; every file counts if it names none.
    patterns: Vec<String>,
    files: Vec<IndexEntry>,
}

impl SetupInputs {
    pub(super) fn of(setup: &SetupConfig, workspace: &Workspace) -> Result<Self, Error> {
        let patterns = if builds_sources(&setup.command, &workspace.tree_dir()) {
            Vec::new()
        } else {
            setup.inputs.clone()
        };
        let mut inputs = Self {
            command: setup.command.clone(),
            patterns,
            files: workspace.tracked()?,
        };
        let named = inputs.clone();
        inputs.files.retain(|file| named.has(&file.path));
        Ok(inputs)
    }

    fn has(&self, path: &Path) -> bool {
        let path = path.to_string_lossy();
        let mut patterns = self.patterns.iter();
        self.patterns.is_empty() || patterns.any(|pattern| glob_matches(pattern, &path))
    }

    /// What a worktree that is ready was made ready with. A worker's own is not made ready again for
    /// every file that it changes, so only inputs that are named count.
    pub(super) fn key(&self) -> String {
        let is_named = !self.patterns.is_empty();
        hash(&self.command, self.files.iter().filter(|_| is_named), "")
    }

    /// What the results depend on, surroundings included.
    pub(super) fn key_with(&self, fingerprint: &str) -> String {
        hash(&self.command, self.files.iter(), fingerprint)
    }

    /// The tree that the command is run on: the base with these inputs of the worktree. And whether
    /// that is the worktree's own tree, so that the command has all it could have there.
    pub(super) fn tree(&self, job: &Job, workspace: &Workspace) -> Result<(Oid, bool), Error> {
        let (base, own) = (oid(&job.base.tree.0)?, workspace.prepared_tree()?);
        if self.patterns.is_empty() || base == own {
            return Ok((own, true));
        }
        let placed: Vec<TreeEdit> = workspace
            .differing(&base, &own)?
            .into_iter()
            .filter(|file| self.has(&file.path))
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

/// Whether a command that installs packages builds the project itself on the way, so that what it
/// leaves behind depends on every source file, whatever inputs are named: package managers of
/// JavaScript run the project's own scripts, and pip copies a project that is not installed in place.
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

/// What commands find round a tree, as a text that is another one if anything of it changes: how they
/// are confined, the tools of this machine, and the files that git does not have.
pub(in crate::perform) fn fingerprint(job: &Job, engine: &Engine) -> Result<String, Error> {
    let grounds = job.grounds(engine)?;
    let mut text = format!("1 {:?} {:?}\n", job.sandbox, grounds.setup);
    let sandbox = serde_json::to_string(&grounds.sandbox).unwrap_or_default();
    let _ = writeln!(text, "{sandbox}");
    let system = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let _ = writeln!(text, "{system}");
    let home = engine.env.home.as_deref();
    let chains = grounds.sandbox.toolchains.iter();
    let chains = chains.filter_map(|path| crate::config::absolute(path, home));
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
    let included = match &job.basis {
        Some(basis) => basis.included.clone().into_iter().collect(),
        None => included(engine)?,
    };
    for (name, hash) in included {
        let _ = writeln!(text, "{name} {hash}");
    }
    Ok(text)
}

/// The user's files that are copied into worktrees, with hashes of what they hold.
fn included(engine: &Engine) -> Result<Vec<(String, String)>, Error> {
    let names = engine.repo.ignored_files(&engine.config.included)?;
    let hashed = names.into_iter().map(|name| {
        let path = engine.repo.top_level().join(&name);
        let hash = bodies::hash_of(&path).unwrap_or_default();
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
