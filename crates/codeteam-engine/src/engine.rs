//! One handle to everything a skin needs: find the project, start runs, look at them, decide.

mod confined;
mod current;
mod error;
mod foreign_log;
mod goal_files;
mod ground;
mod kept;
mod known;
mod names;
mod places;
mod preview;
mod project;
mod secrets;
mod trusted;

pub use self::current::CurrentChecks;
pub use self::error::Error;
pub use self::ground::CommandLocation;
pub use self::kept::KeptDecision;
pub use self::known::CleanWorktrees;
pub(crate) use self::known::{BaseFailures, CommandOutcomes, SetupDigests};
pub use self::places::{IGNORE, make_folder, refuse_links};
use self::places::{state_folder, workspaces_root};
pub use self::preview::PreviewRequest;
pub(crate) use self::project::library as project_library;
pub use self::project::{PreparedRun, Project, RoleAssignees};
pub use self::secrets::RemovedSecrets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use codeteam_core::event::{GateSettings, RunAccess, RunStarted, SandboxKind};
use codeteam_core::frame::Tip;
use codeteam_core::hands::Operator;
use codeteam_core::ids::{Account, EpochMillis, RunId, TaskId, WorkerName};
use codeteam_core::input::Decision;
use codeteam_core::plan::{self, Plan};
use codeteam_core::role::RoleKind;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::{Check, CheckKind, EachItem, Step, StepKind};
use codeteam_core::{Event, Run, budget};

use codeteam_context::redact::Redactor;

use crate::bodies::{self, BodyStore};
use crate::config::{BaselinePolicy, Config, access};
use crate::driver;
use crate::env::Env;
use crate::git::{self, CheckoutHead, GitIdentity, Repo};
use crate::layout;
use crate::logins::Logins;
use crate::process::CommandLauncher;
use crate::store::Store;
use crate::workers::parks::ParkedAccountsFile;
use crate::workers::probe::ProgramProbe;

/// How many tasks a plan may have if the configuration does not say.
pub const MAX_TASKS: usize = 1_000;
/// The log, in the folder of a project.
const LOG: &str = "state.db";

/// Where things are and how they are done.
pub struct Engine {
    /// The user's repository.
    pub repo: Repo,
    /// Where its checkout stood when codeteam looked.
    pub head: CheckoutHead,
    /// The log.
    pub store: Store,
    /// Prompts, transcripts, diffs, reports.
    pub bodies: BodyStore,
    /// `.codeteam`.
    pub folder: PathBuf,
    /// The project's configuration.
    pub config: Config,
    /// What codeteam takes from its environment.
    pub env: Env,
    /// codeteam's own program.
    pub codeteam: PathBuf,
    /// Worktrees that nobody has touched since they were last looked at.
    pub untouched: CleanWorktrees,
    /// How commands of gates have ended on which trees.
    pub(crate) tried: CommandOutcomes,
    pub(crate) base_failures: BaseFailures,
    pub(crate) setup_digests: SetupDigests,
    identity: OnceLock<Option<GitIdentity>>,
    workspaces: PathBuf,
    /// Takes secrets out of everything that is kept or shown.
    pub redactor: Redactor,
    /// The user's logins, to be lent to workers.
    pub logins: Logins,
    /// By what confines, and by what the configuration says of that.
    launchers: Mutex<BTreeMap<(SandboxKind, String), Arc<dyn CommandLauncher>>>,
    /// What CLIs have said of themselves while this process lives.
    probed: Mutex<BTreeMap<PathBuf, ProgramProbe>>,
}

/// What a run is to be.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// What the user wants.
    pub goal: String,
    /// The workflow, if not the configured one.
    pub workflow: Option<String>,
    /// What carries roles out, if not the configured one.
    pub worker: Option<String>,
    /// The script of the scripted worker, if not the configured or the embedded one.
    pub script: Option<PathBuf>,
    /// A plan that is there already.
    pub plan: Option<(Plan, BTreeMap<TaskId, TaskStatus>)>,
    /// Where to start from, if not where the checkout stands.
    pub base: Option<git::Oid>,
    /// Limits over those of the configuration.
    pub limits: budget::BudgetLimits,
    /// What confines workers and gates, if not what is configured.
    pub sandbox: Option<SandboxKind>,
    /// Roles that are played by another one.
    pub cast: BTreeMap<String, String>,
    /// Settings of the workflow, over what it says itself; one that it does not ask for is left
    /// alone.
    pub settings: BTreeMap<String, bool>,
    /// In whose hands it will be.
    pub hands: Operator,
    /// Values of the configuration that were set for this run.
    pub set: Vec<String>,
    /// Whether it is to run without what the repository asks for beyond the user's own
    /// configuration.
    pub restricted: bool,
}

impl Engine {
    /// Whether no check of the project's own is run in a run: only roles judge it.
    pub fn is_unchecked(&self, started: &RunStarted) -> bool {
        let own = |check: &Check| !matches!(check.what, CheckKind::Honest { .. });
        let mut steps = started.workflow.steps.values();
        let is_checked = steps
            .any(|step| matches!(&step.kind, StepKind::Gate { checks } if checks.iter().any(own)));
        self.config.own_checks().is_empty() && !is_checked
    }

    /// What is configured here and has no effect on a run: keys of what is still to come, keys that its
    /// workflow has no use for, and role files that cannot be read and that it does not need.
    pub fn warnings(&self, started: &RunStarted) -> Vec<String> {
        let mut warnings = self.config.notes.clone();
        let steps = || started.workflow.steps.values();
        let one_by_one = |step: &&Step| {
            matches!(
                &step.kind,
                StepKind::Each {
                    over: EachItem::Task,
                    cap: 1,
                    ..
                }
            )
        };
        if self
            .config
            .limits
            .max_parallel_tasks
            .is_some_and(|most| most > 1)
            && let Some(step) = steps().find(one_by_one)
        {
            warnings.push(format!(
                "`limits.max_parallel_tasks` has no effect here: `{}` takes one task after the other",
                step.id
            ));
        }
        let flow = self.config.flow.as_ref();
        let has = |key: &str| flow.is_some_and(|flow| flow.get(key).is_some());
        let of_runs = ["overrides", "disable"].into_iter().find(|key| has(key));
        if let Some(key) = of_runs
            && started.hands == Operator::Session
            && !has("extends")
            && !has("template")
        {
            warnings.push(format!(
                "`workflow.{key}` has no effect in a session: it changes the workflow of `codeteam run`; with \
                 `extends` it would change the one that it names, for both"
            ));
        }
        let rebound = flow.and_then(|flow| flow.get("rebound"));
        if rebound.is_some() && steps().all(|step| step.rebound.is_none()) {
            warnings.push(
                "`workflow.rebound` has no effect here: no step of this workflow offers another approach"
                    .to_owned(),
            );
        }
        let library =
            project::library(&self.config, &self.env, &self.folder, self.repo.top_level());
        let broken = library.broken_roles(&self.config).into_iter();
        warnings.extend(broken.map(|(name, problem)| {
            format!(
                "the role `{name}` cannot be used, and this run does without it: {problem} \
                 (`codeteam role validate` says more)"
            )
        }));
        warnings
    }

    /// Where the stories of runs are written.
    pub fn runs_folder(&self) -> PathBuf {
        match &self.config.output.runs_dir {
            Some(folder) => self.repo.top_level().join(folder),
            None => self.folder.join("runs"),
        }
    }

    /// Opens a project for runs, and makes `.codeteam` if it is missing.
    pub fn open(project: Project, codeteam: PathBuf) -> Result<Self, Error> {
        // Without a place for worktrees there is no run, so there need be no log.
        workspaces_root(&project.env, project.repo.common_dir())?;
        make_folder(&project.folder)?;
        foreign_log::refuse_committed(&project)?;
        let store = Store::open(&project.folder.join(LOG))?;
        foreign_log::refuse_unknown(&project, &store)?;
        Self::with(project, store, codeteam)
    }

    /// Opens a project that is there for a moment only, with its worktrees in a folder of its own.
    pub(crate) fn open_beside(
        project: Project,
        codeteam: PathBuf,
        workspaces: PathBuf,
    ) -> Result<Self, Error> {
        make_folder(&project.folder)?;
        let store = Store::open(&project.folder.join(LOG))?;
        let mut engine = Self::with(project, store, codeteam)?;
        engine.workspaces = workspaces;
        Ok(engine)
    }

    /// Opens the project that `start` is in if it has a log; makes and changes nothing. What a run
    /// needs of the configuration is pinned in it, so a mistake there is no reason not to look.
    pub fn look(start: &Path, env: Env, codeteam: PathBuf) -> Result<Option<Self>, Error> {
        let project = Project::find_anyway(start, env)?;
        foreign_log::refuse_committed(&project)?;
        let Some(store) = Store::open_existing(&project.folder.join(LOG))? else {
            return Ok(None);
        };
        foreign_log::refuse_unknown(&project, &store)?;
        Self::with(project, store, codeteam).map(Some)
    }

    /// The repository that `start` is in.
    pub fn discover(start: &Path, env: &Env) -> Result<(Repo, CheckoutHead), Error> {
        project::discover(start, env)
    }

    /// The repository that `start` is in, which need not have a commit.
    pub fn repository(start: &Path, env: &Env) -> Result<Repo, Error> {
        project::repository(start, env)
    }

    fn with(project: Project, store: Store, codeteam: PathBuf) -> Result<Self, Error> {
        let Project {
            repo,
            head,
            folder,
            config,
            env,
        } = project;
        // The id of a run names folders, which are written and removed.
        if let Some(id) = store.misnamed_run()? {
            return Err(Error::MisnamedRun(id));
        }
        let redactor = redactor(&env, &config)?;
        let bodies = BodyStore::open(folder.join("bodies"))?;
        let workspaces = workspaces_root(&env, repo.common_dir())?;
        let logins = Logins::of(&env);
        Ok(Self {
            repo,
            head,
            store,
            bodies,
            folder,
            config,
            env,
            codeteam,
            untouched: CleanWorktrees::default(),
            tried: CommandOutcomes::default(),
            base_failures: BaseFailures::default(),
            setup_digests: SetupDigests::default(),
            identity: OnceLock::new(),
            workspaces,
            redactor,
            logins,
            launchers: Mutex::default(),
            probed: Mutex::default(),
        })
    }

    /// Everything a new run pins, and the folders that make its names its own.
    pub fn plan_run(&self, prepared: PreparedRun, at: EpochMillis) -> Result<RunStarted, Error> {
        if prepared.identity.is_some() {
            // It need not be asked for again.
            let _ = self.identity.set(prepared.identity);
        }
        // Before any name is taken: without it there is no run.
        let confinement = self.launcher(prepared.sandbox)?.describe().to_owned();
        let basis = match prepared.hands {
            Operator::Session => Some(self.basis(&prepared.base)?),
            Operator::Workers => None,
        };
        let edited_config = match prepared.hands {
            Operator::Session => self.edited_config(),
            Operator::Workers => Vec::new(),
        };
        let run = self.new_id(&prepared.goal, at)?;
        let goes_through = |step: &Step| matches!(step.kind, StepKind::Each { .. });
        let workflow = &prepared.compiled.workflow;
        let plans = workflow.steps.values().any(goes_through)
            || prepared
                .compiled
                .roles
                .values()
                .any(|role| role.kind == RoleKind::Planner);
        let named = prepared
            .plan
            .as_ref()
            .is_some_and(|p| !p.plan_id.is_empty());
        let mut roles = prepared.compiled.roles.values();
        let before = if roles.any(|role| layout::is_strict(role) && role.kind == RoleKind::Planner)
        {
            "plan_"
        } else {
            "feature-"
        };
        let plan_id = if plans && !named {
            self.new_plan_id(before)?
        } else {
            String::new()
        };
        let mut plan = prepared.plan;
        if let Some(plan) = plan.as_mut().filter(|plan| plan.plan_id.is_empty()) {
            plan.plan_id.clone_from(&plan_id);
        }
        Ok(RunStarted {
            branch: self.config.git.branch(run.as_str()),
            message: prepared.message,
            run,
            at,
            goal_files: self.goal_files(&prepared.goal, &prepared.base)?,
            goal: prepared.goal,
            workflow: prepared.compiled.workflow,
            roles: prepared.compiled.roles,
            base: prepared.base,
            plan,
            earlier: prepared.earlier,
            limits: prepared.limits,
            plan_id,
            max_tasks: prepared.max_tasks,
            confinement,
            sandbox: prepared.sandbox,
            resting: self.resting(&prepared.accounts, at),
            accounts: prepared.accounts,
            rules: prepared.rules,
            templates: prepared.templates,
            strategies: prepared.strategies,
            hands: prepared.hands,
            basis,
            edited_config,
            choices: Some(prepared.choices),
            baseline: Vec::new(),
            must_pass: self.config.verification.baseline == Some(BaselinePolicy::MustPass),
            network: Vec::new(),
            access: RunAccess {
                granted: self.config.grants(),
                restricted: prepared.restricted,
            },
        })
    }

    /// The files of the project's configuration that are not as they are committed. They are not part of
    /// any change that is judged, and a session may have edited them. What cannot be found out holds
    /// nothing up.
    fn edited_config(&self) -> Vec<String> {
        let edited = self.repo.edited_own().unwrap_or_default();
        let names = edited.iter().map(|path| path.display().to_string());
        names.collect()
    }

    /// The files of a run's base that its goal names.
    fn goal_files(&self, goal: &str, base: &Tip) -> Result<Vec<String>, Error> {
        let candidates = goal_files::candidates(goal);
        let (Some(tree), false) = (git::Oid::parse(&base.tree.0), candidates.is_empty()) else {
            return Ok(Vec::new());
        };
        Ok(goal_files::named(
            &candidates,
            &self.repo.ls_tree_paths(&tree)?,
        ))
    }

    /// What gates of a run that begins now go by beside their checks.
    fn basis(&self, base: &Tip) -> Result<GateSettings, Error> {
        let unknown = || git::Error::UnknownRevision {
            rev: base.tree.0.clone(),
        };
        let tree = git::Oid::parse(&base.tree.0).ok_or_else(unknown)?;
        let mut included = BTreeMap::new();
        let said = self.repo.cat_file(&tree, Path::new(access::INCLUDES))?;
        let mut patterns = access::patterns(&said.unwrap_or_default());
        // Only what the user has trusted the repository with, to the letter.
        if patterns != self.config.included {
            patterns.clear();
        }
        for file in self.repo.ignored_files(&patterns)? {
            let path = self.repo.top_level().join(&file);
            // Links are never brought along, and what cannot be named cannot be recorded.
            let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
            if let Some(name) = file.to_str().filter(|_| is_file) {
                let hash = bodies::hash_of(&path).map_err(|source| Error::Io {
                    doing: "read",
                    path,
                    source,
                })?;
                included.insert(name.to_owned(), hash);
            }
        }
        Ok(GateSettings {
            config: serde_json::to_value(self.config.grounds()).unwrap_or_default(),
            included,
        })
    }

    /// The redactor, if this were all that looks like a secret and is none.
    pub(crate) fn redactor_but(&self, allow: &[String]) -> Result<Redactor, Error> {
        redactor_but(&self.env, &self.config, allow)
    }

    /// What other runs have told of the accounts of these workers.
    fn resting(
        &self,
        accounts: &BTreeMap<WorkerName, Account>,
        at: EpochMillis,
    ) -> BTreeMap<Account, EpochMillis> {
        let parks = self
            .state_folder()
            .map(|state| ParkedAccountsFile::of(&state).news(at));
        let is_used = |account: &Account| accounts.values().any(|used| used == account);
        let parks = parks.unwrap_or_default().into_iter();
        parks.filter(|(account, _)| is_used(account)).collect()
    }

    /// Reads a plan file.
    pub fn read_plan(&self, path: &Path) -> Result<plan::LoadedPlan, Error> {
        project::read_plan(&self.repo, path, &self.config, &self.redactor)
    }

    /// The run a word means, where it is one's work that is meant: without a word the newest that has
    /// changed something or may, and not a conversation about a plan.
    pub fn find_work(&self, word: Option<&str>) -> Result<RunId, Error> {
        if word.is_some() {
            return self.find(word);
        }
        for row in self.store.runs()? {
            let id = RunId(row.id);
            let run = self.load(&id)?;
            let mut roles = run.roles.values();
            if roles.any(|role| role.kind == RoleKind::Implementer) {
                return Ok(id);
            }
        }
        self.find(None)
    }

    /// The run a word means: an id, the beginning or a part of one, or nothing for the newest.
    pub fn find(&self, word: Option<&str>) -> Result<RunId, Error> {
        let runs = self.store.runs()?;
        let Some(word) = word else {
            return runs
                .first()
                .map(|r| RunId(r.id.clone()))
                .ok_or(Error::NoRuns);
        };
        if runs.iter().any(|r| r.id == word) {
            return Ok(RunId(word.to_owned()));
        }
        let mut matching = runs.iter().filter(|r| r.id.contains(word));
        match (matching.next(), matching.next()) {
            (Some(run), None) => Ok(RunId(run.id.clone())),
            (Some(_), Some(_)) => Err(Error::Ambiguous(word.to_owned())),
            (None, _) => Err(Error::NoSuchRun(word.to_owned())),
        }
    }

    /// Rebuilds a run from its events.
    pub fn load(&self, run: &RunId) -> Result<Run, Error> {
        let mut state = Run::default();
        self.each_event(run, 0, |_, _, event| {
            codeteam_core::apply(&mut state, &event);
        })?;
        if state.has_started() {
            Ok(state)
        } else {
            Err(Error::NoSuchRun(run.0.clone()))
        }
    }

    /// Hands over a run's events, in order, with their number and time.
    pub fn each_event(
        &self,
        run: &RunId,
        after: u64,
        mut each: impl FnMut(u64, EpochMillis, Event),
    ) -> Result<(), Error> {
        self.store.for_each_event(run.as_str(), after, |stored| {
            let event =
                Event::read(stored.version, &stored.data).map_err(|source| Error::Unreadable {
                    run: run.0.clone(),
                    seq: stored.seq,
                    source,
                })?;
            each(
                stored.seq,
                EpochMillis(u64::try_from(stored.at).unwrap_or(0)),
                event,
            );
            Ok(())
        })
    }

    /// Puts a decision, without any secret in it, where the process that drives the run will find it, and
    /// returns its number there.
    pub fn post(&self, run: &RunId, decision: &Decision, by: &str) -> Result<i64, Error> {
        self.post_instead(run, decision, by, &[])
    }

    /// The same, in place of decisions that were kept and that nobody has taken yet.
    pub(super) fn post_instead(
        &self,
        run: &RunId,
        decision: &Decision,
        by: &str,
        replaced: &[i64],
    ) -> Result<i64, Error> {
        let at = crate::perform::now();
        let mut decision = decision.clone();
        self.filter_decision(&mut decision);
        let posted = driver::PostedDecision {
            by: by.to_owned(),
            decision,
        };
        let data = serde_json::to_string(&posted).unwrap_or_default();
        let at = i64::try_from(at.0).unwrap_or(0);
        Ok(self.store.post_instead(run.as_str(), at, &data, replaced)?)
    }

    /// What a program said of itself to this process.
    pub(crate) fn probed(&self, program: &Path) -> Option<ProgramProbe> {
        let known = self.probed.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(program).cloned()
    }

    /// Remembers what a program said of itself.
    pub(crate) fn note_probed(&self, program: &Path, probed: &ProgramProbe) {
        let known = self.probed.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert(program.to_owned(), probed.clone());
    }

    /// Where codeteam keeps what belongs to no repository alone.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        state_folder(&self.env).ok()
    }

    /// Who the user is to git, if they have said so; asked once.
    pub fn identity(&self) -> Result<Option<&GitIdentity>, git::Error> {
        if let Some(known) = self.identity.get() {
            return Ok(known.as_ref());
        }
        let found = match &self.env.author {
            Some(author) => Some(author.clone()),
            None => self.repo.identity()?,
        };
        Ok(self.identity.get_or_init(|| found).as_ref())
    }

    /// The folder of a run's workspaces.
    pub fn workspaces_of(&self, run: &RunId) -> PathBuf {
        self.workspaces.join(run.as_str())
    }

    /// The folder of all runs' workspaces.
    pub fn workspaces(&self) -> &Path {
        &self.workspaces
    }

    /// The folder of what workers are told and what they say, until it is kept.
    pub(crate) fn attempts_of(&self, run: &RunId) -> PathBuf {
        self.workspaces_of(run).join(".attempts")
    }

    /// The bytes a run takes on the disk: its worktrees, and all bodies of the project.
    pub fn disk_used(&self, run: &RunId) -> u64 {
        let bodies = self.folder.join("bodies");
        crate::maintenance::size(&self.workspaces_of(run)) + crate::maintenance::size(&bodies)
    }
}

/// Knows the user's own keys, and every key that looks like one.
fn redactor(env: &Env, config: &Config) -> Result<Redactor, Error> {
    redactor_but(env, config, &config.redaction.allow)
}

/// The same, if these are all that look like keys and are none.
fn redactor_but(env: &Env, config: &Config, allow: &[String]) -> Result<Redactor, Error> {
    let secret = |name: &str| {
        let parts = ["TOKEN", "SECRET", "PASSWORD"];
        name.ends_with("KEY") || parts.iter().any(|part| name.contains(part))
    };
    let cloud = env.cloud.iter().map(|(name, value)| (*name, value));
    // What MCP servers are given is where the worker is.
    let servers = config.mcp_servers.values().flat_map(|server| &server.env);
    let servers = servers.map(|(name, value)| (name.as_str(), value));
    let named = cloud.chain(servers).filter(|(name, _)| secret(name));
    let known = env.keys.secrets().map(str::to_owned);
    let known = known.chain(named.map(|(_, value)| value.clone()));
    Ok(Redactor::new(known).allow(allow)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mcp_servers_are_given_is_known_to_the_redactor() {
        let text = "command: x\nenv: { TICKETS_PASSWORD: correct horse, PROJECT: website-main }";
        let server = codeteam_core::yaml::parse("config.yml", text).unwrap();
        let mut config = Config::default();
        config.mcp_servers.insert("tickets".to_owned(), server);
        let redactor = redactor(&Env::read(), &config).unwrap();
        let told = redactor.redact("correct horse of website-main").text;
        assert!(
            !told.contains("correct horse") && told.contains("website-main"),
            "{told}"
        );
    }
}
