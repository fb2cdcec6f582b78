//! A repository with its configuration, before anything is opened for writing. Nothing in this
//! module writes: whatever is wrong with a request is found before codeteam leaves anything behind.

mod playable_roles;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::Run;
use codeteam_core::assembly::plan_role_problems;
use codeteam_core::budget;
use codeteam_core::event::{RunChoices, SandboxKind};
use codeteam_core::frame::Tip;
use codeteam_core::ids::{Account, Commit, RoleName, TaskId, Tree, WorkerName};
use codeteam_core::message::{self, MessageFormat};
use codeteam_core::operator::Operator;
use codeteam_core::plan::Plan;
use codeteam_core::role::{Contract, Role, RoleKind};
use codeteam_core::run::{breaks_down_phases, goes_by_phase};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::{Check, CheckKind, DeliveryMethod, Step, StepKind, Workflow};
use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::plan_file;

use self::playable_roles::keep_assignable;
use super::secrets::refuse_secret_names;
use super::validator_schemas::check_validator_schemas;
use super::{Error, MAX_TASKS, RunRequest};
use crate::config::{Config, ConfigOrigins, GitMode};
use crate::dialect;
use crate::env::Env;
use crate::layout::{self, StrictLayout};
use crate::library::{CONFIGURED, Library, LibraryFolders};
use crate::workers::{self, Worker};
use codeteam_host::git::{self, CheckoutHead, GitIdentity, GitProgram, Oid, Repo};
use codeteam_report::artifacts;
use codeteam_report::secret_filter::{RemovedSecrets, SecretFilter, filter_check_names};

/// The default workflow of a session, unless the project has one of its own.
pub(crate) const SESSION_WORKFLOW: &str = "adversarial";

/// A repository that codeteam can work on, with its configuration.
///
/// A project is the read-only stage before an [`Engine`](super::Engine). [`Project::prepare`]
/// checks a `RunRequest` completely (trust, workflow, roles, workers, templates, strategies,
/// identity) and returns a [`PreparedRun`]; only then does a command open the engine, which creates
/// `.codeteam`. So a request that is refused leaves nothing behind.
pub struct Project {
    /// The user's repository.
    pub repo: Repo,
    /// The commit, tree and branch of the checkout when the project was found.
    pub head: CheckoutHead,
    /// The path of `.codeteam`, whether it exists or not.
    pub folder: PathBuf,
    /// The merged configuration of the project.
    pub config: Config,
    /// Everything codeteam reads from its own environment.
    pub env: Env,
}

/// A request after all checks, with everything it names resolved. The engine turns it into a
/// `RunStarted`.
pub struct PreparedRun {
    pub(super) goal: String,
    /// The secrets that were removed from the goal and the plan.
    pub(super) removed: RemovedSecrets,
    pub(super) compiled: CompiledWorkflow,
    pub(super) plan: Option<Plan>,
    pub(super) base: Tip,
    pub(super) earlier: BTreeMap<TaskId, TaskStatus>,
    pub(super) limits: budget::BudgetLimits,
    pub(super) max_tasks: usize,
    /// The author of the commits, if anything is to be committed.
    pub(super) identity: Option<GitIdentity>,
    /// The format of commit messages.
    pub(super) message: MessageFormat,
    pub(super) sandbox: SandboxKind,
    /// The operator that carries out assignments: workers, or a session.
    pub(super) hands: Operator,
    /// The person's choices with which the workflow was compiled.
    pub(super) choices: RunChoices,
    /// Whether the run does without what the repository requests.
    pub(super) restricted: bool,
    pub(super) accounts: BTreeMap<WorkerName, Account>,
    pub(super) rules: Vec<String>,
    pub(super) templates: BTreeMap<String, String>,
    /// The context strategies that are not built in, by name.
    pub(super) strategies: BTreeMap<String, String>,
}

/// The workers that carry out a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleAssignees {
    /// The role's name in the workflow.
    pub role: RoleName,
    /// Its workers. One of them suffices; the others are substitutes.
    pub workers: Vec<WorkerName>,
    /// The model of the first worker.
    pub model: Option<String>,
}

impl PreparedRun {
    /// Returns the commit that the run will start from.
    pub fn base(&self) -> &Tip {
        &self.base
    }

    /// Returns the sandbox of its workers and gates.
    pub fn sandbox(&self) -> SandboxKind {
        self.sandbox
    }

    /// Returns the commands that its gates run, without duplicates.
    pub fn commands(&self) -> Vec<Check> {
        gate_commands(&self.compiled.workflow)
    }

    /// Returns which secrets were removed from the goal and the plan.
    pub fn removed_secrets(&self) -> &RemovedSecrets {
        &self.removed
    }

    /// Returns the scripts that scripted roles would play.
    pub fn scripts(&self) -> BTreeSet<&str> {
        let roles = self.compiled.roles.values();
        roles
            .filter(|role| role.workers.iter().any(|w| w.as_str() == "scripted"))
            .filter_map(|role| role.model.as_deref())
            .collect()
    }

    /// Returns true if a role is played by the scripted worker and no script is named.
    pub fn lacks_script(&self) -> bool {
        let mut roles = self.compiled.roles.values();
        roles.any(|role| {
            role.model.is_none() && role.workers.iter().all(|w| w.as_str() == "scripted")
        })
    }
}

impl Project {
    /// Finds the project that contains `start`.
    pub fn find(start: &Path, env: Env) -> Result<Self, Error> {
        Self::find_with_settings(start, env, &[])
    }

    /// Finds the project that contains `start`, with some configuration values set as `key=value`.
    pub fn find_with_settings(start: &Path, env: Env, set: &[String]) -> Result<Self, Error> {
        Self::find_by(start, env, set, |_| ())
    }

    /// Finds the project without anything that the repository requests beyond the user's own
    /// configuration, whatever it is trusted with.
    pub fn find_restricted(start: &Path, env: Env, set: &[String]) -> Result<Self, Error> {
        Self::find_by(start, env, set, |origins| {
            origins.granted.clear();
            origins.leaves_out_user_keys = true;
        })
    }

    fn find_by(
        start: &Path,
        env: Env,
        set: &[String],
        change: impl FnOnce(&mut ConfigOrigins),
    ) -> Result<Self, Error> {
        let (repo, head) = discover(start, &env)?;
        let folder = repo.top_level().join(".codeteam");
        let mut origins = ConfigOrigins::for_project(&env, &folder);
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

    /// Finds the project that contains `start`, with only the user's own configuration if the
    /// project's cannot be read.
    pub(crate) fn find_anyway(start: &Path, env: Env) -> Result<Self, Error> {
        let (repo, head) = discover(start, &env)?;
        let folder = repo.top_level().join(".codeteam");
        let origins = ConfigOrigins::for_project(&env, &folder);
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
    pub fn read_plan(&self, path: &Path) -> Result<plan_file::LoadedPlan, Error> {
        read_plan(&self.repo, path, &self.config, &self.redactor()?)
    }

    /// Returns the workers that would carry out the project's roles if a run started now.
    pub fn role_assignees(&self) -> Result<Vec<RoleAssignees>, Error> {
        let compiled = self.compile_with_workers(&RunRequest::default())?;
        let cast = |role: Role| RoleAssignees {
            role: role.name,
            workers: role.workers,
            model: role.model,
        };
        Ok(compiled.roles.into_values().map(cast).collect())
    }

    /// Checks a request and resolves everything it names.
    pub fn prepare(&self, request: &RunRequest) -> Result<PreparedRun, Error> {
        let open: Vec<_> = self.config.open_requests().cloned().collect();
        if !open.is_empty() && !request.restricted {
            return Err(Error::Untrusted(open));
        }
        let mut compiled = self.compile_with_workers(request)?;
        let layout = self.layout(&compiled)?;
        let said = layout.as_ref().and_then(|layout| layout.goal.as_deref());
        let goal = Some(request.goal.trim()).filter(|goal| !goal.is_empty());
        let (plan, earlier) = request.plan.clone().unzip();
        let mut plan = plan.or_else(|| layout.as_ref()?.plan.clone());
        // Remove secrets before the run's id, branch and folders are named after the goal.
        let redactor = self.redactor()?;
        let mut filter = SecretFilter::new(&redactor);
        if let Some(plan) = &mut plan {
            refuse_secret_names(plan, &redactor)?;
            filter.plan(plan);
        }
        if goes_by_phase(&compiled.workflow) {
            plan = plan.map(Plan::into_one_phase);
        }
        if let Some(plan) = &plan {
            if plan.tasks.is_empty() && !breaks_down_phases(&compiled.workflow, &compiled.roles) {
                return Err(Error::EmptyPhases(compiled.workflow.name.clone()));
            }
            let wrong = plan_role_problems(&compiled.workflow, &compiled.roles, plan);
            if !wrong.is_empty() {
                return Err(Error::PlanRoles(wrong));
            }
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
        self.check_testable(&compiled, layout.as_ref(), sandbox)?;
        check_validator_schemas(&compiled, &self.repo, &self.head.tree)?;
        let templates = self.templates()?;
        let strategies = self.strategies()?;
        // Nobody has asked for these roles by name, so a mistake in one of them stops no run.
        keep_assignable(&mut compiled, |role| {
            templates.check([role]).is_ok() && strategies.check(role).is_ok()
        });
        templates.check(compiled.roles.values())?;
        for role in compiled.roles.values_mut() {
            strategies.check(role)?;
            role.context.budget = Some(self.config.token_budget(role, &strategies));
        }
        let identity = self.committer(&compiled)?;
        self.add_delivery(&mut compiled.workflow)?;
        let git = &self.config.git;
        Ok(PreparedRun {
            goal,
            removed,
            identity,
            message: match git.message_format() {
                // Unless a format is configured, the commits of a session say that they are a
                // session's.
                MessageFormat::Free if request.hands == Operator::Session => {
                    MessageFormat::Template(message::SESSION.to_owned())
                }
                said => said,
            },
            hands: request.hands,
            choices: RunChoices {
                workflow: request.workflow.clone(),
                cast: request.role_replacements.clone(),
                set: request.set.clone(),
            },
            restricted: request.restricted,
            accounts: workers::accounts(&self.config, compiled.roles.values()),
            plan,
            rules: self.config.rules_for_workflow(&compiled),
            templates: templates.custom_texts(),
            strategies: strategies.custom_texts(),
            compiled,
            earlier,
            base: match &request.base {
                Some(commit) => tip(commit, &self.repo.tree_of(commit)?),
                None => tip(&self.head.commit, &self.head.tree),
            },
            limits: self.config.limits.budget().overridden_by(request.limits),
            max_tasks: max_tasks(&self.config),
            sandbox,
        })
    }

    /// Adds the step that delivers the commits, where the configuration asks for one.
    fn add_delivery(&self, workflow: &mut Workflow) -> Result<(), Error> {
        let mut steps = workflow.steps.values();
        let publishes = steps.any(|step| matches!(step.kind, StepKind::Publish { .. }));
        match self.config.git.effective_mode() {
            GitMode::Branch => {}
            GitMode::Current => workflow.add_delivery_step(DeliveryMethod::Forward {
                branch: self.head.branch.clone(),
                at: Commit(self.head.commit.as_str().to_owned()),
            }),
            GitMode::None if publishes => {
                return Err(Error::NothingToPublish(workflow.name.clone()));
            }
            GitMode::None => workflow.add_delivery_step(DeliveryMethod::Patch),
        }
        Ok(())
    }

    /// Returns the author of the commits that a workflow makes. Fails if it makes any and no
    /// identity is known.
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

    /// Reads all available roles and workflows.
    pub fn library(&self) -> Library {
        library(&self.config, &self.env, &self.folder, self.repo.top_level())
    }

    /// Returns the workflow that a request refers to, with its roles as their files define them.
    pub fn workflow(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let mut compiled = self.workflow_as_written(request)?;
        filter_check_names(&mut compiled.workflow, &self.redactor()?);
        Ok(compiled)
    }

    fn workflow_as_written(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let compiled = requested_workflow(&self.config, &mut self.library(), request)?;
        let Some(layout) = self.layout(&compiled)? else {
            return Ok(compiled);
        };
        let mut config = self.config.clone();
        config.verification.commands.splice(0..0, layout.commands());
        let mut compiled = requested_workflow(&config, &mut self.library(), request)?;
        layout.apply_to_workflow(&mut compiled)?;
        Ok(compiled)
    }

    /// Reads the project's strict layout, if the configuration enables it and the workflow has
    /// roles that use it.
    fn layout(&self, compiled: &CompiledWorkflow) -> Result<Option<StrictLayout>, Error> {
        let wanted =
            self.config.layout.is_some() && compiled.roles.values().any(artifacts::is_strict_role);
        let layout = wanted.then(|| StrictLayout::read(self.repo.top_level()));
        Ok(layout.transpose()?)
    }

    /// Returns true if a program is installed, on the path or in a toolchain that checks can see.
    fn has(&self, program: &str) -> bool {
        let shown = self.config.sandbox.toolchains.iter();
        let mut shown = shown.map(|folder| folder.join("bin").join(program));
        let found = codeteam_host::process::find_program(Path::new(program), &self.env.path);
        found.is_some() || shown.any(|path| path.is_file())
    }

    /// Refuses a run whose gatekeeper must report test results, if there are no tests or the
    /// program to run them is missing.
    fn check_testable(
        &self,
        compiled: &CompiledWorkflow,
        layout: Option<&StrictLayout>,
        sandbox: SandboxKind,
    ) -> Result<(), Error> {
        let mut roles = compiled.roles.values();
        if !roles.any(|role| artifacts::is_strict_role(role) && role.kind == RoleKind::Gatekeeper) {
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
        // An image, or a set-up, may provide programs that are not installed here.
        if sandbox == SandboxKind::Container || self.config.setup.is_some() {
            return Ok(());
        }
        for command in layout.into_iter().flat_map(StrictLayout::commands) {
            let command = command.command;
            if let Some(program) = layout::command_program(&command).filter(|one| !self.has(one)) {
                let program = program.to_owned();
                return Err(layout::Error::NoProgram { program, command }.into());
            }
        }
        Ok(())
    }

    /// Returns the workflow with a worker for every role.
    fn compile_with_workers(&self, request: &RunRequest) -> Result<CompiledWorkflow, Error> {
        let mut compiled = self.workflow(request)?;
        let said = request.worker.as_ref().or(self.config.worker.as_ref());
        let script = self.script(request)?;
        for role in compiled.roles.values_mut() {
            self.only_installed(role);
            self.config.apply_role_defaults(role);
            // A session is shown only one form of answer for each kind of role.
            if request.hands == Operator::Session
                && role.contract == Contract::Native
                && Contract::TeamMcp.supported_kinds().contains(&role.kind)
            {
                role.contract = Contract::TeamMcp;
            }
        }
        self.drop_unplayable_roles(&mut compiled, request);
        let is_needed = compiled.roles.values().any(|role| role.workers.is_empty());
        let default = match said {
            Some(said) => WorkerName(said.clone()),
            None if script.is_some() => WorkerName::from(dialect::DialectName::Scripted.as_str()),
            // A session needs no worker; but without one the run cannot be handed to workers later.
            None if is_needed && request.hands == Operator::Session => {
                workers::default_worker(&self.config, &self.env).unwrap_or_default()
            }
            None if is_needed => {
                workers::default_worker(&self.config, &self.env).ok_or(Error::NoWorker)?
            }
            None => WorkerName::default(),
        };
        for role in compiled.roles.values_mut() {
            let named = request.worker.is_some();
            if (role.workers.is_empty() && !default.0.is_empty()) || named {
                let workers = vec![default.clone()];
                // A model belongs to the worker it was named for, so another worker does not
                // inherit it.
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
            // The tools of the project's own MCP servers are not known beforehand.
            if role.means.mcp_servers.is_empty()
                && let Some(tool) = named
                    .iter()
                    .find(|tool| !dialect::tools::is_known_tool(tool))
            {
                return Err(Error::UnknownTool {
                    tool: tool.clone(),
                    role: role.name.0.clone(),
                });
            }
            // Drop the servers that the repository is not trusted with.
            role.means
                .mcp_servers
                .retain(|server| servers.contains_key(server));
            if role.model.is_none() && role.workers.iter().all(|w| w.as_str() == "scripted") {
                role.model.clone_from(&script);
            }
            let uses_small = workers::uses_small_model(&self.config, role, &self.env.keys);
            if role.model.is_none() && !uses_small && workers::speaks_claude(&self.config, role) {
                role.model.clone_from(&self.config.llm.model);
            }
        }
        self.drop_roles_without_search(&mut compiled, request);
        Ok(compiled)
    }

    /// Replaces a role's workers by the configured worker if the role has several and none of them
    /// is installed. If one is installed, the run itself chooses the substitute.
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

    /// Returns the script of the scripted worker. Fails if one is named that does not exist.
    fn script(&self, request: &RunRequest) -> Result<Option<String>, Error> {
        let configured = self
            .config
            .script
            .as_ref()
            .map(|path| self.repo.top_level().join(path));
        match request.script.clone().or(configured) {
            Some(path) if !path.is_file() => Err(Error::NoScript(path)),
            // Resolve links, because workers see the script only under its real path.
            path => Ok(path.map(|path| {
                let plain = path.canonicalize().unwrap_or(path);
                plain.display().to_string()
            })),
        }
    }
}

/// Returns the workflow that a request refers to, with the role replacements it asks for.
pub(super) fn requested_workflow(
    config: &Config,
    library: &mut Library,
    request: &RunRequest,
) -> Result<CompiledWorkflow, Error> {
    let own = compile(config, library, request, &BTreeMap::new())?;
    if request.role_replacements.is_empty() {
        return Ok(own);
    }
    for role in request.role_replacements.keys() {
        if !own.roles.contains_key(&RoleName(role.clone())) {
            let known = own.roles.keys().map(|role| role.0.clone()).collect();
            return Err(Error::NotReplaceable(role.clone(), known));
        }
    }
    let compiled =
        compile(config, library, request, &request.role_replacements).map_err(|error| {
            // The workflow names the role correctly; the unknown name is that of the replacement.
            let others = request.role_replacements.values();
            let unknown = others.filter_map(|other| library.unknown_role(other));
            unknown.map(Error::from).next().unwrap_or(error)
        })?;
    for (role, other) in &request.role_replacements {
        let kind = |compiled: &CompiledWorkflow, name: &str| {
            let role = compiled.roles.get(&RoleName(name.replace('/', "-")))?;
            Some(role.kind)
        };
        if let (Some(owed), Some(given)) = (kind(&own, role), kind(&compiled, other))
            && owed != given
        {
            return Err(Error::WrongRoleKind {
                role: role.clone(),
                owed,
                other: other.clone(),
                given,
            });
        }
    }
    Ok(compiled)
}

/// Compiles the named workflow or the configured one, with these roles replaced by others.
fn compile(
    config: &Config,
    library: &mut Library,
    request: &RunRequest,
    cast: &BTreeMap<String, String>,
) -> Result<CompiledWorkflow, Error> {
    let name = request.workflow.as_deref();
    let mut surroundings = config.surroundings();
    surroundings.role_substitutes.clone_from(cast);
    let flow = config.flow.as_ref();
    let is_own = flow.is_some_and(|flow| flow.as_map().is_some());
    Ok(match name {
        Some(CONFIGURED) if is_own && !library.has_workflow(CONFIGURED) => {
            library.compile_configured(flow, surroundings)?
        }
        Some(name) => library.compile(name, surroundings)?,
        None if request.hands == Operator::Session => {
            library.compile_for_session(flow, SESSION_WORKFLOW, surroundings)?
        }
        None => library.compile_configured(flow, surroundings)?,
    })
}

/// Reads all roles and workflows that are available to a project.
pub(crate) fn library(config: &Config, env: &Env, folder: &Path, root: &Path) -> Library {
    let places = LibraryFolders {
        user: env.user_folder(),
        project: Some((folder.to_owned(), root.to_owned())),
    };
    let mut library = Library::read(places, config.sources.clone(), config.roles.as_ref());
    library.infer_kinds(config.flow.as_ref());
    library
}

/// Returns the repository that contains `start`, and the head of its checkout.
pub(super) fn discover(start: &Path, env: &Env) -> Result<(Repo, CheckoutHead), Error> {
    Ok(Repo::discover(&git(env)?, start)?)
}

/// Returns the repository that contains `start`. It need not have a commit.
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

/// Reads a plan file and refuses one whose names contain secrets.
pub(super) fn read_plan(
    repo: &Repo,
    path: &Path,
    config: &Config,
    redactor: &Redactor,
) -> Result<plan_file::LoadedPlan, Error> {
    let read = artifacts::read_plan(repo, path).map_err(|source| Error::Io {
        doing: "read the plan",
        path: path.to_owned(),
        source,
    })?;
    let text = read.ok_or_else(|| Error::NoPlan(path.to_owned()))?;
    let file = path.display().to_string();
    let loaded = plan_file::from_yaml(&file, &text, max_tasks(config))?;
    refuse_secret_names(&loaded.plan, redactor)?;
    Ok(loaded)
}

fn max_tasks(config: &Config) -> usize {
    config.limits.max_tasks.unwrap_or(MAX_TASKS)
}

/// Converts a commit and its tree to core's types.
fn tip(commit: &Oid, tree: &Oid) -> Tip {
    Tip {
        commit: Commit(commit.as_str().to_owned()),
        tree: Tree(tree.as_str().to_owned()),
    }
}

/// Returns the commands that the gates of a run run, without duplicates.
pub fn run_commands(run: &Run) -> Vec<Check> {
    gate_commands(&run.workflow)
}

/// Returns the commands that the gates of a workflow run, without duplicates.
pub(crate) fn gate_commands(workflow: &Workflow) -> Vec<Check> {
    let mut found: Vec<Check> = Vec::new();
    for step in workflow.steps.values() {
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
