//! A repository, and what it says about itself. Nothing here writes: whatever is wrong with a
//! request is found before codeteam leaves anything behind.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_context::find::meaning::EmbeddingModel;
use codeteam_context::redact::Redactor;
use codeteam_core::budget;
use codeteam_core::event::{RunChoices, SandboxKind};
use codeteam_core::frame::Tip;
use codeteam_core::hands::Operator;
use codeteam_core::ids::{Account, Commit, RoleName, TaskId, Tree, WorkerName};
use codeteam_core::message::{self, MessageFormat};
use codeteam_core::plan::{self, Plan};
use codeteam_core::role::{Contract, Role, RoleKind};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::{Check, CheckKind, CompiledWorkflow, DeliveryMethod, Step, StepKind};

use super::secrets::{RemovedSecrets, SecretFilter, filter_check_names, refuse_secret_names};
use super::{Error, MAX_TASKS, RunRequest};
use crate::artifacts;
use crate::config::{Config, ConfigOrigins, GitMode};
use crate::dialect;
use crate::env::Env;
use crate::find;
use crate::git::{self, CheckoutHead, GitIdentity, GitProgram, Oid, Repo};
use crate::layout::{self, StrictLayout};
use crate::library::{CONFIGURED, Library, LibraryFolders};
use crate::session;
use crate::workers::{self, Worker};

/// A repository codeteam can work on.
pub struct Project {
    /// The user's repository.
    pub repo: Repo,
    /// Where its checkout stood when codeteam looked.
    pub head: CheckoutHead,
    /// `.codeteam`, whether it exists or not.
    pub folder: PathBuf,
    /// The project's configuration.
    pub config: Config,
    /// What codeteam takes from its environment.
    pub env: Env,
}

/// A request with everything it names found and checked.
pub struct PreparedRun {
    pub(super) goal: String,
    /// What was taken out of the goal and the plan.
    pub(super) removed: RemovedSecrets,
    pub(super) compiled: CompiledWorkflow,
    pub(super) plan: Option<Plan>,
    pub(super) base: Tip,
    pub(super) earlier: BTreeMap<TaskId, TaskStatus>,
    pub(super) limits: budget::BudgetLimits,
    pub(super) max_tasks: usize,
    /// Who commits, if anything is to be committed.
    pub(super) identity: Option<GitIdentity>,
    /// The form of commit messages.
    pub(super) message: MessageFormat,
    pub(super) sandbox: SandboxKind,
    /// In whose hands it will be.
    pub(super) hands: Operator,
    /// What the person chose that the workflow is compiled with.
    pub(super) choices: RunChoices,
    /// Whether it is to run without what the repository asks for.
    pub(super) restricted: bool,
    pub(super) accounts: BTreeMap<WorkerName, Account>,
    pub(super) rules: Vec<String>,
    pub(super) templates: BTreeMap<String, String>,
    /// The context strategies that are not the built-in ones, by name.
    pub(super) strategies: BTreeMap<String, String>,
}

/// Who carries a role out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleAssignees {
    /// The role.
    pub role: RoleName,
    /// Its workers: one of them is enough.
    pub workers: Vec<WorkerName>,
    /// The model of the first.
    pub model: Option<String>,
}

impl PreparedRun {
    /// The commit that the run will start from.
    pub fn base(&self) -> &Tip {
        &self.base
    }

    /// What will confine its workers and gates.
    pub fn sandbox(&self) -> SandboxKind {
        self.sandbox
    }

    /// The commands that its gates run, each once.
    pub fn commands(&self) -> Vec<Check> {
        let mut found: Vec<Check> = Vec::new();
        for step in self.compiled.workflow.steps.values() {
            let StepKind::Gate { checks } = &step.kind else {
                continue;
            };
            let commands = checks
                .iter()
                .filter(|check| matches!(check.what, CheckKind::Command(_)));
            for check in commands {
                if !found.iter().any(|known| known.what == check.what) {
                    found.push(check.clone());
                }
            }
        }
        found
    }

    /// The secrets that were in the goal and the plan, and are no longer.
    pub fn removed_secrets(&self) -> &RemovedSecrets {
        &self.removed
    }

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
        Self::find_set(start, env, &[])
    }

    /// The project that `start` is in, with some values of its configuration set: `key=value`.
    pub fn find_set(start: &Path, env: Env, set: &[String]) -> Result<Self, Error> {
        Self::find_by(start, env, set, |_| ())
    }

    /// The same, without anything that the repository asks for beyond the user's own configuration,
    /// whatever it is trusted with.
    pub fn find_restricted(start: &Path, env: Env, set: &[String]) -> Result<Self, Error> {
        Self::find_by(start, env, set, |origins| origins.granted.clear())
    }

    fn find_by(
        start: &Path,
        env: Env,
        set: &[String],
        change: impl FnOnce(&mut ConfigOrigins),
    ) -> Result<Self, Error> {
        let (repo, head) = discover(start, &env)?;
        let folder = repo.top_level().join(".codeteam");
        let mut origins = ConfigOrigins::of(&env, &folder);
        origins.set = set.to_vec();
        change(&mut origins);
        let config = Config::load(&origins)?;
        Ok(Self {
            repo,
            head,
            folder,
            config,
            env,
        })
    }

    /// The project that `start` is in; with the user's own configuration alone if the project's cannot
    /// be read.
    pub(crate) fn find_anyway(start: &Path, env: Env) -> Result<Self, Error> {
        let (repo, head) = discover(start, &env)?;
        let folder = repo.top_level().join(".codeteam");
        let origins = ConfigOrigins::of(&env, &folder);
        let config = Config::load(&origins)
            .or_else(|_| Config::load(&origins.without_project()))
            .unwrap_or_default();
        Ok(Self {
            repo,
            head,
            folder,
            config,
            env,
        })
    }

    /// Reads a plan file.
    pub fn read_plan(&self, path: &Path) -> Result<plan::LoadedPlan, Error> {
        read_plan(&self.repo, path, &self.config, &self.redactor()?)
    }

    /// Who would carry the project's roles out if a run started now.
    pub fn casting(&self) -> Result<Vec<RoleAssignees>, Error> {
        let compiled = self.compiled(&RunRequest::default())?;
        let cast = |role: Role| RoleAssignees {
            role: role.name,
            workers: role.workers,
            model: role.model,
        };
        Ok(compiled.roles.into_values().map(cast).collect())
    }

    /// Finds everything a request names.
    pub fn prepare(&self, request: &RunRequest) -> Result<PreparedRun, Error> {
        let open: Vec<_> = self.config.open_requests().cloned().collect();
        if !open.is_empty() && !request.restricted {
            return Err(Error::Untrusted(open));
        }
        let mut compiled = self.compiled(request)?;
        let layout = self.layout(&compiled)?;
        let said = layout.as_ref().and_then(|layout| layout.goal.as_deref());
        let goal = Some(request.goal.trim()).filter(|goal| !goal.is_empty());
        let (plan, earlier) = request.plan.clone().unzip();
        let mut plan = plan.or_else(|| layout.as_ref()?.plan.clone());
        // The run's id, its branch and its folders are named after the goal.
        let redactor = self.redactor()?;
        let mut filter = SecretFilter::new(&redactor);
        if let Some(plan) = &mut plan {
            refuse_secret_names(plan, &redactor)?;
            filter.plan(plan);
        }
        let planned = plan.as_ref().and_then(Plan::goal);
        let goal = goal.or(said).or(planned.as_deref()).unwrap_or_default();
        let mut goal = goal.trim().to_owned();
        if goal.is_empty() {
            return Err(Error::EmptyGoal);
        }
        filter.text(&mut goal);
        let removed = filter.removed;
        let earlier = earlier
            .unwrap_or_default()
            .into_iter()
            .filter(|(_, status)| status.satisfies())
            .collect();
        for (name, on) in &request.settings {
            if let Some(setting) = compiled.workflow.settings.get_mut(name) {
                *setting = *on;
            }
        }
        let sandbox = request.sandbox.or(self.config.sandbox.backend);
        let sandbox = sandbox.unwrap_or(SandboxKind::Bubblewrap);
        self.testable(&compiled, layout.as_ref(), sandbox)?;
        let templates = self.templates()?;
        templates.check(compiled.roles.values())?;
        self.embeddings()?;
        let strategies = self.strategies()?;
        for role in compiled.roles.values_mut() {
            strategies.check(role)?;
            role.context.budget = Some(self.config.token_budget(role, &strategies));
        }
        let identity = self.committer(&compiled)?;
        let git = &self.config.git;
        let workflow = &mut compiled.workflow;
        let mut steps = workflow.steps.values();
        let publishes = steps.any(|step| matches!(step.kind, StepKind::Publish { .. }));
        match git.mode() {
            GitMode::Branch => {}
            GitMode::Current => workflow.deliver(DeliveryMethod::Forward {
                branch: self.head.branch.clone(),
                at: Commit(self.head.commit.as_str().to_owned()),
            }),
            GitMode::None if publishes => {
                return Err(Error::NothingToPublish(workflow.name.clone()));
            }
            GitMode::None => workflow.deliver(DeliveryMethod::Patch),
        }
        Ok(PreparedRun {
            goal,
            removed,
            identity,
            message: match git.message() {
                // Unless something is configured, the commits of a session tell whose they are.
                MessageFormat::Free if request.hands == Operator::Session => {
                    MessageFormat::Template(message::SESSION.to_owned())
                }
                said => said,
            },
            hands: request.hands,
            choices: RunChoices {
                workflow: request.workflow.clone(),
                cast: request.cast.clone(),
                set: request.set.clone(),
            },
            restricted: request.restricted,
            accounts: workers::accounts(&self.config, compiled.roles.values()),
            plan,
            rules: self.config.rules_of(&compiled),
            templates: templates.to_pin(),
            strategies: strategies.to_pin(),
            compiled,
            earlier,
            base: match &request.base {
                Some(commit) => tip(commit, &self.repo.tree_of(commit)?),
                None => tip(&self.head.commit, &self.head.tree),
            },
            limits: self.config.limits.budget().replaced_by(request.limits),
            max_tasks: max_tasks(&self.config),
            sandbox,
        })
    }

    /// Who commits what a workflow commits; there must be somebody if it does.
    fn committer(&self, compiled: &CompiledWorkflow) -> Result<Option<GitIdentity>, Error> {
        let mut steps = compiled.workflow.steps.values();
        if !steps.any(|step| matches!(step.kind, StepKind::Commit { .. })) {
            return Ok(None);
        }
        let known = match &self.env.author {
            Some(author) => Some(author.clone()),
            None => self.repo.identity()?,
        };
        known.map(Some).ok_or(Error::NoIdentity)
    }

    /// All roles and workflows there are.
    pub fn library(&self) -> Library {
        library(&self.config, &self.env, &self.folder, self.repo.top_level())
    }

    /// The workflow that a request means, with its roles as their files say them.
    pub fn workflow(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let mut compiled = self.workflow_as_written(request)?;
        filter_check_names(&mut compiled.workflow, &self.redactor()?);
        Ok(compiled)
    }

    fn workflow_as_written(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let compiled = meant(&self.config, &mut self.library(), request)?;
        let Some(layout) = self.layout(&compiled)? else {
            return Ok(compiled);
        };
        let mut config = self.config.clone();
        config.verification.commands.splice(0..0, layout.commands());
        let mut compiled = meant(&config, &mut self.library(), request)?;
        layout.furnish(&mut compiled)?;
        Ok(compiled)
    }

    /// What the project's own files say, where the configuration and the workflow go by them.
    fn layout(&self, compiled: &CompiledWorkflow) -> Result<Option<StrictLayout>, Error> {
        let wanted = self.config.layout.is_some() && compiled.roles.values().any(layout::is_strict);
        let layout = wanted.then(|| StrictLayout::read(self.repo.top_level()));
        Ok(layout.transpose()?)
    }

    /// Whether there is a program, here or in what checks are shown.
    fn has(&self, program: &str) -> bool {
        let shown = self.config.sandbox.toolchains.iter();
        let mut shown = shown.map(|folder| folder.join("bin").join(program));
        let found = workers::probe::find(Path::new(program), &self.env.path);
        found.is_some() || shown.any(|path| path.is_file())
    }

    /// Refuses a run whose gatekeeper has to say what the tests say, if there are none or nothing to
    /// run them with.
    fn testable(
        &self,
        compiled: &CompiledWorkflow,
        layout: Option<&StrictLayout>,
        sandbox: SandboxKind,
    ) -> Result<(), Error> {
        let mut roles = compiled.roles.values();
        if !roles.any(|role| layout::is_strict(role) && role.kind == RoleKind::Gatekeeper) {
            return Ok(());
        }
        let is_run = |step: &Step| match &step.kind {
            StepKind::Gate { checks } => checks
                .iter()
                .any(|check| matches!(check.what, CheckKind::Command(_))),
            _ => false,
        };
        if !compiled.workflow.steps.values().any(is_run) {
            return Err(Error::NoTests(compiled.workflow.name.clone()));
        }
        // In an image, or after a setup, there may be more than there is here.
        if sandbox == SandboxKind::Container || self.config.setup.is_some() {
            return Ok(());
        }
        for command in layout.into_iter().flat_map(StrictLayout::commands) {
            let command = command.command;
            if let Some(program) = layout::program(&command).filter(|one| !self.has(one)) {
                let program = program.to_owned();
                return Err(layout::Error::NoProgram { program, command }.into());
            }
        }
        Ok(())
    }

    /// The workflow, with a worker for every role.
    fn compiled(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let mut compiled = self.workflow(request)?;
        let said = request.worker.as_ref().or(self.config.worker.as_ref());
        let script = self.script(request)?;
        for role in compiled.roles.values_mut() {
            self.only_installed(role);
            self.config.furnish(role);
            // A session is told of one form for each kind.
            if request.hands == Operator::Session
                && role.contract == Contract::Native
                && Contract::TeamMcp.kinds().contains(&role.kind)
            {
                role.contract = Contract::TeamMcp;
            }
        }
        let is_needed = compiled.roles.values().any(|role| role.workers.is_empty());
        let default = match said {
            Some(said) => WorkerName(said.clone()),
            None if script.is_some() => WorkerName::from(dialect::DialectName::Scripted.as_str()),
            // A session needs no worker; without one it cannot be passed on to workers.
            None if is_needed && request.hands == Operator::Session => {
                workers::default(&self.config, &self.env).unwrap_or_default()
            }
            None if is_needed => {
                workers::default(&self.config, &self.env).ok_or(Error::NoWorker)?
            }
            None => WorkerName::default(),
        };
        for role in compiled.roles.values_mut() {
            let named = request.worker.is_some();
            if (role.workers.is_empty() && !default.0.is_empty()) || named {
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
            let servers = &self.config.mcp_servers;
            for server in &role.means.mcp_servers {
                if !self.config.knows_server(server) {
                    let known = servers.keys().cloned().collect();
                    return Err(Error::UnknownServer(server.clone(), known));
                }
            }
            let named = &role.means.allowed_tools;
            // What servers of the project's own have nobody knows beforehand.
            if role.means.mcp_servers.is_empty()
                && let Some(tool) = named.iter().find(|tool| !dialect::tools::is_known(tool))
            {
                return Err(Error::UnknownTool {
                    tool: tool.clone(),
                    role: role.name.0.clone(),
                });
            }
            // One that the repository is not trusted with is left out.
            role.means
                .mcp_servers
                .retain(|server| servers.contains_key(server));
            if role.model.is_none() && role.workers.iter().all(|w| w.as_str() == "scripted") {
                role.model.clone_from(&script);
            }
            if role.model.is_none() && workers::speaks_claude(&self.config, role) {
                role.model.clone_from(&self.config.llm.model);
            }
        }
        Ok(compiled)
    }

    /// A role whose workers may stand in for each other, and of which none is here, takes the
    /// configured worker. If one is here, the run itself tells who stands in for whom.
    fn only_installed(&self, role: &mut Role) {
        let mut workers = role.workers.iter();
        let is_here = |name: &WorkerName| {
            let worker = Worker::find(&self.config, name);
            worker.is_none_or(|worker| workers::is_installed(&self.config, &self.env, &worker))
        };
        if role.workers.len() > 1 && !workers.any(is_here) {
            role.workers.clear();
            role.model = None;
        }
    }

    /// The script of the scripted worker, which must be there if one is named.
    /// The folder of the configured embedding model.
    pub fn embeddings_folder(&self) -> Option<PathBuf> {
        let folder = self.config.embeddings.as_ref()?;
        Some(self.repo.top_level().join(folder))
    }

    /// The configured embedding model, if there is one.
    pub fn embeddings(&self) -> Result<Option<EmbeddingModel>, Error> {
        let folder = self.embeddings_folder();
        let model = folder.as_deref().map(EmbeddingModel::load).transpose();
        Ok(model.map_err(find::Error::from)?)
    }

    fn script(&self, request: &RunRequest) -> Result<Option<String>, Error> {
        let configured = self
            .config
            .script
            .as_ref()
            .map(|path| self.repo.top_level().join(path));
        match request.script.clone().or(configured) {
            Some(path) if !path.is_file() => Err(Error::NoScript(path)),
            // As it is: workers are shown it by its plain name only.
            path => Ok(path.map(|path| {
                let plain = path.canonicalize().unwrap_or(path);
                plain.display().to_string()
            })),
        }
    }
}

/// The workflow that a request means, with other roles for some of its own if it says so.
pub(super) fn meant(
    config: &Config,
    library: &mut Library,
    request: &RunRequest,
) -> Result<CompiledWorkflow, Error> {
    let own = compile(config, library, request, &BTreeMap::new())?;
    if request.cast.is_empty() {
        return Ok(own);
    }
    for role in request.cast.keys() {
        if !own.roles.contains_key(&RoleName(role.clone())) {
            let known = own.roles.keys().map(|role| role.0.clone()).collect();
            return Err(Error::NotCast(role.clone(), known));
        }
    }
    let compiled = compile(config, library, request, &request.cast).map_err(|error| {
        // The workflow names the role; who is to play it was said elsewhere.
        let others = request.cast.values();
        let unknown = others.filter_map(|other| library.unknown_role(other));
        unknown.map(Error::from).next().unwrap_or(error)
    })?;
    for (role, other) in &request.cast {
        let kind = |compiled: &CompiledWorkflow, name: &str| {
            let role = compiled.roles.get(&RoleName(name.replace('/', "-")))?;
            Some(role.kind)
        };
        if let (Some(owed), Some(given)) = (kind(&own, role), kind(&compiled, other))
            && owed != given
        {
            return Err(Error::Miscast {
                role: role.clone(),
                owed,
                other: other.clone(),
                given,
            });
        }
    }
    Ok(compiled)
}

/// A workflow by its name or the configured one, with these roles played by others.
fn compile(
    config: &Config,
    library: &mut Library,
    request: &RunRequest,
    cast: &BTreeMap<String, String>,
) -> Result<CompiledWorkflow, Error> {
    let name = request.workflow.as_deref();
    let mut surroundings = config.surroundings();
    surroundings.cast.clone_from(cast);
    let flow = config.flow.as_ref();
    let is_own = flow.is_some_and(|flow| flow.as_map().is_some());
    Ok(match name {
        Some(CONFIGURED) if is_own && !library.has_workflow(CONFIGURED) => {
            library.compile_configured(flow, surroundings)?
        }
        Some(name) => library.compile(name, surroundings)?,
        None if request.hands == Operator::Session => {
            library.compile_for_session(flow, session::WORKFLOW, surroundings)?
        }
        None => library.compile_configured(flow, surroundings)?,
    })
}

/// All roles and workflows there are for a project.
pub(crate) fn library(config: &Config, env: &Env, folder: &Path, root: &Path) -> Library {
    let places = LibraryFolders {
        user: env.user_folder(),
        project: Some((folder.to_owned(), root.to_owned())),
    };
    let mut library = Library::read(places, config.sources.clone(), config.roles.as_ref());
    library.learn_kinds(config.flow.as_ref());
    library
}

/// The repository that `start` is in.
pub(super) fn discover(start: &Path, env: &Env) -> Result<(Repo, CheckoutHead), Error> {
    Ok(Repo::discover(&git(env)?, start)?)
}

/// The repository that `start` is in, which need not have a commit.
pub(super) fn repository(start: &Path, env: &Env) -> Result<Repo, Error> {
    Ok(Repo::find(&git(env)?, start)?)
}

fn git(env: &Env) -> Result<GitProgram, git::Error> {
    GitProgram::new(git::GitEnvironment {
        path: env.path.clone(),
        home: env.home.clone().map(OsString::from),
        xdg_config_home: env.config_home.clone().map(OsString::from),
        codeteam: env.codeteam.clone(),
    })
}

pub(super) fn read_plan(
    repo: &Repo,
    path: &Path,
    config: &Config,
    redactor: &Redactor,
) -> Result<plan::LoadedPlan, Error> {
    let read = artifacts::read_plan(repo, path).map_err(|source| Error::Io {
        doing: "read the plan",
        path: path.to_owned(),
        source,
    })?;
    let text = read.ok_or_else(|| Error::NoPlan(path.to_owned()))?;
    let file = path.display().to_string();
    let loaded = plan::from_yaml(&file, &text, max_tasks(config))?;
    refuse_secret_names(&loaded.plan, redactor)?;
    Ok(loaded)
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
