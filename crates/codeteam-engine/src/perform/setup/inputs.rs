//! What a set-up command goes by: files of the tree, and what is round it.

use std::fmt::Write as _;
use std::path::Path;

use codeteam_core::workflow::glob_matches;

use crate::bodies;
use crate::config::Setup;
use crate::engine::Engine;
use crate::git::{IndexEntry, Oid, Placed};
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
pub(super) struct Inputs {
    command: String,
    /// As the configuration names them; every file counts if it names none.
    patterns: Vec<String>,
    files: Vec<IndexEntry>,
}

impl Inputs {
    pub(super) fn of(setup: &Setup, workspace: &Workspace) -> Result<Self, Error> {
        let mut inputs = Self {
            command: setup.command.clone(),
            patterns: setup.inputs.clone(),
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
        let placed: Vec<Placed> = workspace
            .differing(&base, &own)?
            .into_iter()
            .filter(|file| self.has(&file.path))
            .map(|file| Placed {
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
    let names = engine.repo.worktree_includes()?;
    let hashed = names.into_iter().map(|name| {
        let path = engine.repo.top_level().join(&name);
        let hash = bodies::hash_of(&path).unwrap_or_default();
        (name.to_string_lossy().into_owned(), hash)
    });
    Ok(hashed.collect())
}
