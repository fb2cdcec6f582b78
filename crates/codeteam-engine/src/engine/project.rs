//! A repository, and what it says about itself. Nothing here writes: whatever is wrong with a
//! request is found before codeteam leaves anything behind.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::budget;
use codeteam_core::event::Sandbox;
use codeteam_core::frame::Tip;
use codeteam_core::ids::{Account, Commit, RoleName, TaskId, Tree, WorkerName};
use codeteam_core::plan::{self, Plan};
use codeteam_core::role::Role;
use codeteam_core::schedule::Status;
use codeteam_core::workflow::Compiled;

use super::{Error, MAX_TASKS, Request};
use crate::config::Config;
use crate::dialect;
use crate::env::Env;
use crate::git::{self, Git, Head, Oid, Repo};
use crate::workers::{self, Worker};
use crate::workflows;

/// A repository codeteam can work on.
pub struct Project {
    /// The user's repository.
    pub repo: Repo,
    /// Where its checkout stood when codeteam looked.
    pub head: Head,
    /// `.codeteam`, whether it exists or not.
    pub folder: PathBuf,
    /// The project's configuration.
    pub config: Config,
    /// What codeteam takes from its environment.
    pub env: Env,
}

/// A request with everything it names found and checked.
pub struct Prepared {
    pub(super) goal: String,
    pub(super) compiled: Compiled,
    pub(super) plan: Option<Plan>,
    pub(super) base: Tip,
    pub(super) earlier: BTreeMap<TaskId, Status>,
    pub(super) limits: budget::Limits,
    pub(super) max_tasks: usize,
    pub(super) sandbox: Sandbox,
    pub(super) accounts: BTreeMap<WorkerName, Account>,
}

/// Who carries a role out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The role.
    pub role: RoleName,
    /// Its workers: one of them is enough.
    pub workers: Vec<WorkerName>,
    /// The model of the first.
    pub model: Option<String>,
}

impl Prepared {
    /// The scripts that roles would be played from.
    pub fn scripts(&self) -> BTreeSet<&str> {
        let roles = self.compiled.roles.values();
        roles
            .filter(|role| role.workers.iter().any(|w| w.as_str() == "scripted"))
            .filter_map(|role| role.model.as_deref())
            .collect()
    }

    /// Whether a role would be played from a script and none is named.
    pub fn lacks_script(&self) -> bool {
        let mut roles = self.compiled.roles.values();
        roles.any(|role| {
            role.model.is_none() && role.workers.iter().all(|w| w.as_str() == "scripted")
        })
    }
}

impl Project {
    /// The project that `start` is in.
    pub fn find(start: &Path, env: Env) -> Result<Self, Error> {
        let mut project = Self::find_anyway(start, env)?;
        project.config = Config::load(&project.folder, project.env.config_home.as_deref())?;
        Ok(project)
    }

    /// The project that `start` is in, without its configuration if that cannot be read.
    pub(crate) fn find_anyway(start: &Path, env: Env) -> Result<Self, Error> {
        let (repo, head) = discover(start, &env)?;
        let folder = repo.top_level().join(".codeteam");
        let config = Config::load(&folder, env.config_home.as_deref()).unwrap_or_default();
        Ok(Self {
            repo,
            head,
            folder,
            config,
            env,
        })
    }

    /// Reads a plan file.
    pub fn read_plan(&self, path: &Path) -> Result<plan::Loaded, Error> {
        read_plan(path, &self.config)
    }

    /// Who would carry the project's roles out if a run started now.
    pub fn casting(&self) -> Result<Vec<Cast>, Error> {
        let compiled = self.compiled(&Request::default())?;
        let cast = |role: Role| Cast {
            role: role.name,
            workers: role.workers,
            model: role.model,
        };
        Ok(compiled.roles.into_values().map(cast).collect())
    }

    /// Finds everything a request names.
    pub fn prepare(&self, request: &Request) -> Result<Prepared, Error> {
        let goal = request.goal.trim();
        if goal.is_empty() {
            return Err(Error::EmptyGoal);
        }
        let (plan, earlier) = request.plan.clone().unzip();
        let earlier = earlier
            .unwrap_or_default()
            .into_iter()
            .filter(|(_, status)| status.satisfies())
            .collect();
        let compiled = self.compiled(request)?;
        Ok(Prepared {
            goal: goal.to_owned(),
            accounts: workers::accounts(&self.config, compiled.roles.values()),
            compiled,
            plan,
            earlier,
            base: match &request.base {
                Some(commit) => tip(commit, &self.repo.tree_of(commit)?),
                None => tip(&self.head.commit, &self.head.tree),
            },
            limits: self.config.limits.budget().replaced_by(request.limits),
            max_tasks: max_tasks(&self.config),
            sandbox: request
                .sandbox
                .or(self.config.sandbox.backend)
                .unwrap_or(Sandbox::Bubblewrap),
        })
    }

    /// The workflow, with a worker for every role.
    fn compiled(&self, request: &Request) -> Result<Compiled, Error> {
        let name = request
            .workflow
            .as_deref()
            .or(self.config.workflow.as_deref());
        let mut compiled = self.workflow(name.unwrap_or(workflows::DEFAULT))?;
        let said = request.worker.as_ref().or(self.config.worker.as_ref());
        let script = self.script(request)?;
        let is_needed = compiled.roles.values().any(|role| role.workers.is_empty());
        let default = match said {
            Some(said) => WorkerName(said.clone()),
            None if script.is_some() => WorkerName::from(dialect::Name::Scripted.as_str()),
            None if is_needed => {
                workers::default(&self.config, &self.env).ok_or(Error::NoWorker)?
            }
            None => WorkerName::default(),
        };
        for role in compiled.roles.values_mut() {
            if role.workers.is_empty() || request.worker.is_some() {
                let workers = vec![default.clone()];
                // A model is the model of the worker it was named for.
                if !role.workers.is_empty() && role.workers != workers {
                    role.model = None;
                }
                role.workers = workers;
            }
            for worker in &role.workers {
                if Worker::find(&self.config, worker).is_none() {
                    let known = Worker::names(&self.config);
                    return Err(Error::UnknownWorker(worker.0.clone(), known));
                }
            }
            for server in &role.means.mcp_servers {
                if !self.config.mcp_servers.contains_key(server) {
                    let known = self.config.mcp_servers.keys().cloned().collect();
                    return Err(Error::UnknownServer(server.clone(), known));
                }
            }
            if role.model.is_none() && role.workers.iter().all(|w| w.as_str() == "scripted") {
                role.model.clone_from(&script);
            }
        }
        Ok(compiled)
    }

    /// A workflow by name or file, with the project's own checks.
    fn workflow(&self, name: &str) -> Result<Compiled, Error> {
        let mut folders = vec![self.folder.join("workflows")];
        if let Some(config) = &self.env.config_home {
            folders.push(config.join("codeteam/workflows"));
        }
        Ok(workflows::load(name, &folders, &self.config.checks())?)
    }

    /// The script of the scripted worker, which must be there if one is named.
    fn script(&self, request: &Request) -> Result<Option<String>, Error> {
        let configured = self
            .config
            .script
            .as_ref()
            .map(|path| self.repo.top_level().join(path));
        match request.script.clone().or(configured) {
            Some(path) if !path.is_file() => Err(Error::NoScript(path)),
            path => Ok(path.map(|path| path.display().to_string())),
        }
    }
}

/// The repository that `start` is in.
pub(super) fn discover(start: &Path, env: &Env) -> Result<(Repo, Head), Error> {
    Ok(Repo::discover(&git(env)?, start)?)
}

/// The repository that `start` is in, which need not have a commit.
pub(super) fn repository(start: &Path, env: &Env) -> Result<Repo, Error> {
    Ok(Repo::find(&git(env)?, start)?)
}

fn git(env: &Env) -> Result<Git, git::Error> {
    Git::new(git::Environment {
        path: env.path.clone(),
        home: env.home.clone().map(OsString::from),
        xdg_config_home: env.config_home.clone().map(OsString::from),
    })
}

pub(super) fn read_plan(path: &Path, config: &Config) -> Result<plan::Loaded, Error> {
    let text = fs::read_to_string(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::NoPlan(path.to_owned()),
        _ => Error::Io {
            doing: "read the plan",
            path: path.to_owned(),
            source,
        },
    })?;
    let file = path.display().to_string();
    Ok(plan::from_yaml(&file, &text, max_tasks(config))?)
}

fn max_tasks(config: &Config) -> usize {
    config.limits.max_tasks.unwrap_or(MAX_TASKS)
}

/// A commit and its tree, as core names them.
fn tip(commit: &Oid, tree: &Oid) -> Tip {
    Tip {
        commit: Commit(commit.as_str().to_owned()),
        tree: Tree(tree.as_str().to_owned()),
    }
}
