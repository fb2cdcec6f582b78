//! A temporary repository for one trial, in codeteam's own folder. It is removed with everything
//! that belongs to it.
//!
//! The worktrees and what is lent to the worker lie next to it. If codeteam is killed, the next
//! trial gives logins back and removes the leftovers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::{MAX_COST_MICROUSD, WORD};
use crate::clock::now;
use crate::engine::Error;
use crate::env::Env;
use crate::logins::Logins;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{self, CommitSignature, GitIdentity, GitProgram};
use codeteam_host::workspace::remove_tree;

/// The folder of all trials, whose name cannot be that of a repository's folder. Each trial has a
/// subfolder named after its process id.
const TRIALS: &str = ".trials";

/// The file that contains the word, for a worker that has to use a tool.
pub(super) const WORD_FILE: &str = "word.txt";

/// A repository for one trial, until it is dropped.
pub(super) struct TrialRepository<'a> {
    place: PathBuf,
    logins: Logins,
    warn: &'a (dyn Fn(&str) + Sync),
}

impl<'a> TrialRepository<'a> {
    /// Creates a repository with one commit.
    pub(super) fn make(env: &Env, warn: &'a (dyn Fn(&str) + Sync)) -> Result<Self, Error> {
        let state = env.state_home.as_ref().ok_or(Error::NoHome)?;
        let state = state.join("codeteam");
        let scratch = Self {
            place: state.join(TRIALS).join(std::process::id().to_string()),
            logins: Logins::for_user(env),
            warn,
        };
        scratch.sweep();
        scratch.write("README.md", "A repository to try a worker in.\n")?;
        scratch.write(WORD_FILE, &format!("{WORD}\n"))?;
        let git = GitProgram::new(git::GitEnvironment {
            path: env.path.clone(),
            home: env.home.clone().map(Into::into),
            xdg_config_home: env.config_home.clone().map(Into::into),
            codeteam: None,
        })?;
        let signature = CommitSignature {
            identity: GitIdentity::default(),
            seconds: i64::try_from(now().0 / 1_000).unwrap_or(0),
        };
        git.init(&scratch.repository(), "Begin", &signature)?;
        Ok(scratch)
    }

    /// Returns the path of the repository.
    pub(super) fn repository(&self) -> PathBuf {
        self.place.join("repository")
    }

    /// Returns the folder for its worktrees. The name is part of the mark of processes, so it must
    /// be unique.
    pub(super) fn workspaces(&self) -> PathBuf {
        self.place.join(format!("trial-{}", std::process::id()))
    }

    /// Writes a workflow that asks for the word once.
    pub(super) fn workflow(
        &self,
        model: Option<&str>,
        timeout: Duration,
        with_tool: bool,
    ) -> Result<PathBuf, Error> {
        let seconds = timeout.as_secs().max(1);
        let mut role = json!({
            "kind": "scribe",
            "mode": if with_tool { "tools" } else { "edits" },
            "max_turns": 3,
            "max_cost_microusd": MAX_COST_MICROUSD,
            "prompt": "You are asked whether you are there.",
        });
        if let Some(model) = model {
            role["model"] = json!(model);
        }
        if with_tool {
            role["allowed_tools"] = json!(["read"]);
        }
        // JSON is valid YAML.
        let workflow = json!({
            "name": "worker-test",
            "start": "ask",
            "roles": { "tester": role },
            "steps": { "ask": {
                "role": "tester",
                "retry": "none",
                "timeout_seconds": seconds,
                "stall_seconds": seconds,
                "next": "done",
            } },
        });
        self.write(".codeteam/workflows/worker-test.yml", &workflow.to_string())
    }

    /// Writes a script that says the word, for the scripted worker.
    pub(super) fn script(&self) -> Result<PathBuf, Error> {
        let script = json!({
            "version": 1,
            "plays": [ { "do": [ { "submit": { "message": WORD } } ] } ],
        });
        self.write(".codeteam/script.yml", &script.to_string())
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.repository().join(name);
        let io = |source| Error::Io {
            doing: "write",
            path: path.clone(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        fs::write(&path, text).map_err(io)?;
        Ok(path)
    }

    /// Removes what belongs to processes that are gone.
    fn sweep(&self) {
        for path in self.place.parent().map(entries).unwrap_or_default() {
            let pid = path.file_name().unwrap_or_default();
            if path == self.place || !Path::new("/proc").join(pid).exists() {
                self.remove(&path);
            }
        }
    }

    /// Removes everything of a trial, unless it contains a login that cannot be given back.
    fn remove(&self, place: &Path) {
        let mut is_clear = true;
        let runs = entries(place)
            .into_iter()
            .flat_map(|folder| entries(&folder));
        for home in runs.flat_map(|run| entries(&run.join(".attempts"))) {
            if let Err(error) = self.logins.recover(&home) {
                let (home, why) = (home.display(), format_error_chain(&error));
                (self.warn)(&format!(
                    "a login that was lent could not be given back and is kept in `{home}`: {why}"
                ));
                is_clear = false;
            }
        }
        if is_clear {
            // Whatever cannot be removed now is removed by the next trial.
            let _ = remove_tree(place);
            let _ = place.parent().map(fs::remove_dir);
        }
    }
}

impl Drop for TrialRepository<'_> {
    fn drop(&mut self) {
        self.remove(&self.place);
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_dir());
    paths
}
