//! The engine's handle on one project. Front ends use it to find the project, start runs, inspect
//! them and post decisions.

mod access_check;
mod command_location;
mod configured_task;
mod confined;
mod current;
mod decision_outcome;
mod error;
mod folders;
mod foreign_log;
mod fork;
mod goal_files;
mod identity;
mod kept;
mod names;
mod preview;
mod process_cache;
mod project;
mod repin;
mod secrets;
mod validator_schemas;

pub use self::command_location::CommandLocation;
pub use self::configured_task::ConfiguredTask;
pub use self::current::CurrentChecks;
pub use self::decision_outcome::DecisionOutcome;
pub use self::error::Error;
pub(crate) use self::folders::refuse_links;
pub use self::folders::{IGNORE, make_project_folder};
use self::folders::{state_folder, workspaces_root};
pub use self::fork::ForkSource;
pub use self::identity::SigningError;
use self::kept::DecisionAuthor;
pub use self::kept::KeptDecision;
pub(crate) use self::kept::PostedDecision;
pub use self::preview::PreviewRequest;
pub use self::process_cache::CleanWorktrees;
pub(crate) use self::process_cache::{
    BaseFailures, CommandOutcomes, CommandTimes, MutantFate, MutantFates, SetupDigests, TestReports,
};
#[cfg(test)]
pub(crate) use self::project::SESSION_WORKFLOW;
pub use self::project::{PreparedRun, Project, RoleAssignees, run_commands};
pub(crate) use self::project::{gate_commands, library as project_library};
pub use self::repin::WorkflowDifference;
pub(crate) use self::validator_schemas::read_schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use codeteam_core::event::{GateSettings, RunAccess, RunStarted, SandboxKind};
use codeteam_core::frame::Tip;
use codeteam_core::ids::{Account, EpochMillis, RunId, TaskId, WorkerName};
use codeteam_core::input::Decision;
use codeteam_core::operator::Operator;
use codeteam_core::plan::Plan;
use codeteam_core::role::RoleKind;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::{Check, CheckKind, EachItem, Step, StepKind};
use codeteam_core::{Event, Run, budget};
use codeteam_workflow::plan_file;

use codeteam_context::redact::Redactor;

use crate::config::{BaselinePolicy, Config, access};
use crate::diagnostic_log;
use crate::env::{Env, names_secret};
use crate::known_projects::remember_project;
use crate::logins::Logins;
use crate::people;
use crate::workers::parks::ParkedAccountsFile;
use crate::workers::probe::ProgramProbe;
use codeteam_host::bodies::{self, BodyStore};
use codeteam_host::git::{self, CheckoutHead, GitIdentity, Repo};
use codeteam_host::process::CommandLauncher;
use codeteam_host::store::Store;
use codeteam_report::records::ProjectRecords;
use codeteam_report::report::{JudgementHistory, read_judgements};
use codeteam_report::run_snapshot::{RunSnapshot, RunSnapshots};
use codeteam_report::view::LoadedRun;

/// The maximum number of tasks in a plan if the configuration does not set one.
pub const MAX_TASKS: usize = 10_000;
/// The name of the log file in the project folder.
const LOG: &str = "state.db";
/// The folder for snapshots of long runs, beside the worktrees.
const SNAPSHOTS: &str = ".snapshots";

/// An open project: the user's repository, its log, and everything needed to run something in it.
///
/// There are three ways to get one. [`Engine::open`] opens a project for runs and creates
/// `.codeteam` if necessary. [`Engine::open_existing`] opens a project only if it already has a
/// log, and writes nothing; read-only commands use it. A worker trial opens a temporary project
/// whose workspaces lie in a directory of their own.
///
/// A run then goes through these calls: [`Engine::plan_run`] turns a [`PreparedRun`] into the
/// `RunStarted` event, which pins everything the run depends on; a driver (see `crate::driver`)
/// appends it and drives the run; [`Engine::load_run`] rebuilds the state of a run from its events
/// at any time; and [`Engine::post_decision`] puts a person's decision into the inbox of the run,
/// where the driver picks it up.
///
/// Invariants: opening refuses a log that this user's codeteam did not write, and a log with a run
/// id that codeteam would not have generated, because run ids become directory names. Everything
/// that is stored or shown goes through `redactor` first. The caches in here live as long as the
/// process; nothing in a run depends on them.
pub struct Engine {
    /// The user's repository.
    pub repo: Repo,
    /// The commit, tree and branch of the user's checkout when the project was opened.
    pub head: CheckoutHead,
    /// The event log of all runs (`state.db`).
    pub store: Store,
    /// The large texts of runs: prompts, transcripts, diffs, reports.
    pub bodies: BodyStore,
    /// The `.codeteam` folder of the project.
    pub folder: PathBuf,
    /// The merged configuration of the project.
    pub config: Config,
    /// Everything codeteam reads from its own environment.
    pub env: Env,
    /// The path of codeteam's own executable.
    pub codeteam: PathBuf,
    /// The worktrees that have not been touched since codeteam last checked them.
    pub clean_worktrees: CleanWorktrees,
    /// Results of gate commands, per tree.
    pub(crate) command_outcomes: CommandOutcomes,
    /// The same of the run that is driven, as its log has it from before this process. Only what is said
    /// about flaky checks depends on it.
    pub(crate) logged_outcomes: CommandOutcomes,
    /// How long gate commands took, per tree.
    pub(crate) command_times: CommandTimes,
    pub(crate) mutant_fates: MutantFates,
    pub(crate) base_failures: BaseFailures,
    pub(crate) test_reports: TestReports,
    pub(crate) setup_digests: SetupDigests,
    identity: OnceLock<Option<GitIdentity>>,
    workspaces: PathBuf,
    pub(crate) snapshots: RunSnapshots,
    /// Removes secrets from everything that is stored or shown.
    pub redactor: Redactor,
    /// The user's CLI logins, which are lent to workers.
    pub logins: Logins,
    /// The launchers found so far, by sandbox kind and sandbox configuration.
    launchers: Mutex<BTreeMap<(SandboxKind, String), Arc<dyn CommandLauncher>>>,
    /// The version that each CLI has reported during this process.
    program_probes: Mutex<BTreeMap<PathBuf, ProgramProbe>>,
}

/// The options of a new run, as the user asks for it. `Project::prepare` checks them.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The user's goal, in words.
    pub goal: String,
    /// The name of the workflow, if it is not the configured one.
    pub workflow: Option<String>,
    /// The worker for all roles, if it is not the configured one.
    pub worker: Option<String>,
    /// The script of the scripted worker, if it is neither the configured nor the embedded one.
    pub script: Option<PathBuf>,
    /// An existing plan to execute, with the status its tasks have already.
    pub plan: Option<(Plan, BTreeMap<TaskId, TaskStatus>)>,
    /// The commit to start from, if it is not the commit of the checkout.
    pub base: Option<git::Oid>,
    /// Budget limits that override those of the configuration.
    pub limits: budget::BudgetLimits,
    /// The sandbox for workers and gates, if it is not the configured one.
    pub sandbox: Option<SandboxKind>,
    /// Roles of the workflow to replace, with the role that takes the place of each.
    pub role_replacements: BTreeMap<String, String>,
    /// Settings of the workflow that override its own. Settings that the workflow does not ask for
    /// are ignored.
    pub settings: BTreeMap<String, bool>,
    /// The operator that carries out assignments: workers, or a session.
    pub hands: Operator,
    /// Configuration values set for this run only, as `key=value`.
    pub set: Vec<String>,
    /// Whether the run does without whatever the repository requests beyond the user's own
    /// configuration.
    pub restricted: bool,
}

impl Engine {
    /// Returns true if a run has no checks of the project's own, so that only roles judge its
    /// changes.
    pub fn has_no_checks(&self, started: &RunStarted) -> bool {
        let own = |check: &Check| !matches!(check.what, CheckKind::Honest { .. });
        let mut steps = started.workflow.steps.values();
        let is_checked = steps
            .any(|step| matches!(&step.kind, StepKind::Gate { checks } if checks.iter().any(own)));
        self.config.project_checks().is_empty() && !is_checked
    }

    /// Returns warnings about configuration that has no effect on a run: keys of features that are
    /// still to come, keys that its workflow has no use for, and unreadable role files that the run
    /// does not need.
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

    /// Returns the project's records, from which reports and the files for people are written.
    pub fn records(&self) -> ProjectRecords<'_> {
        ProjectRecords {
            repo: &self.repo,
            store: &self.store,
            bodies: &self.bodies,
            folder: &self.folder,
            runs_dir: self.config.output.runs_dir.as_deref(),
            has_strict_layout: self.config.layout.is_some(),
            redactor: &self.redactor,
        }
    }

    /// Opens a project for runs and creates `.codeteam` if it is missing.
    pub fn open(project: Project, codeteam: PathBuf) -> Result<Self, Error> {
        // A run is impossible without a place for worktrees, so check that before creating a log.
        workspaces_root(&project.env, project.repo.common_dir())?;
        make_project_folder(&project.folder)?;
        foreign_log::refuse_committed(&project)?;
        let store = Store::open(&project.folder.join(LOG))?;
        foreign_log::refuse_unknown(&project, &store)?;
        foreign_log::keep_own(&project);
        Self::from_parts(project, store, codeteam)
    }

    /// Opens a temporary project whose worktrees lie in the given folder.
    pub(crate) fn open_with_workspaces(
        project: Project,
        codeteam: PathBuf,
        workspaces: PathBuf,
    ) -> Result<Self, Error> {
        make_project_folder(&project.folder)?;
        let store = Store::open(&project.folder.join(LOG))?;
        let mut engine = Self::from_parts(project, store, codeteam)?;
        engine.snapshots = RunSnapshots::in_folder(workspaces.join(SNAPSHOTS));
        engine.workspaces = workspaces;
        Ok(engine)
    }

    /// Opens the project that contains `start` if it has a log. Creates and changes nothing. A run
    /// has pinned what it needs of the configuration, so an invalid configuration does not prevent
    /// reading the log.
    pub fn open_existing(start: &Path, env: Env, codeteam: PathBuf) -> Result<Option<Self>, Error> {
        let project = Project::find_anyway(start, env)?;
        foreign_log::refuse_committed(&project)?;
        let Some(store) = Store::open_existing(&project.folder.join(LOG))? else {
            return Ok(None);
        };
        foreign_log::refuse_unknown(&project, &store)?;
        Self::from_parts(project, store, codeteam).map(Some)
    }

    /// Returns the repository that contains `start`, and the head of its checkout.
    pub fn discover(start: &Path, env: &Env) -> Result<(Repo, CheckoutHead), Error> {
        project::discover(start, env)
    }

    /// Returns the repository that contains `start`. It need not have a commit.
    pub fn repository(start: &Path, env: &Env) -> Result<Repo, Error> {
        project::repository(start, env)
    }

    fn from_parts(project: Project, store: Store, codeteam: PathBuf) -> Result<Self, Error> {
        let Project {
            repo,
            head,
            folder,
            config,
            env,
        } = project;
        // Run ids become names of directories that are written and removed.
        if let Some(id) = store.misnamed_run()? {
            return Err(Error::MisnamedRun(id));
        }
        let redactor = redactor(&env, &config)?;
        let bodies = BodyStore::open(folder.join("bodies"))?;
        let workspaces = workspaces_root(&env, repo.common_dir())?;
        let logins = Logins::for_user(&env);
        Ok(Self {
            repo,
            head,
            store,
            bodies,
            folder,
            config,
            env,
            codeteam,
            clean_worktrees: CleanWorktrees::default(),
            command_outcomes: CommandOutcomes::default(),
            logged_outcomes: CommandOutcomes::default(),
            command_times: CommandTimes::default(),
            mutant_fates: MutantFates::default(),
            base_failures: BaseFailures::default(),
            test_reports: TestReports::default(),
            setup_digests: SetupDigests::default(),
            identity: OnceLock::new(),
            snapshots: RunSnapshots::in_folder(workspaces.join(SNAPSHOTS)),
            workspaces,
            redactor,
            logins,
            launchers: Mutex::default(),
            program_probes: Mutex::default(),
        })
    }

    /// Returns the event that starts a new run, with everything the run pins. Creates the folders
    /// that reserve the names of the run and its plan.
    pub fn plan_run(&self, prepared: PreparedRun, at: EpochMillis) -> Result<RunStarted, Error> {
        if prepared.identity.is_some() {
            // Cache it, so that git is not asked again.
            let _ = self.identity.set(prepared.identity);
        }
        // Check the sandbox before reserving any name: without it there is no run.
        let confinement = self.launcher(prepared.sandbox)?.describe().to_owned();
        let basis = match prepared.hands {
            Operator::Session => Some(self.pin_gate_settings(&prepared.base)?),
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
        let before = if roles.any(|role| {
            codeteam_report::artifacts::is_strict_role(role) && role.kind == RoleKind::Planner
        }) {
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
        if let Err(error) = remember_project(&self.env, self.repo.top_level()) {
            // The run needs it for nothing.
            tracing::warn!("the project is not in the list of projects: {error}");
        }
        let named = self.files_named_by_goal(&prepared.goal, &prepared.base)?;
        Ok(RunStarted {
            branch: self.config.git.branch(run.as_str()),
            message: prepared.message,
            run,
            at,
            goal_files: named.files,
            goal_tests: named.tests,
            goal: prepared.goal,
            workflow: prepared.compiled.workflow,
            roles: prepared.compiled.roles,
            base: prepared.base,
            plan,
            earlier: prepared.earlier,
            // The kernel works them out.
            earlier_phases: BTreeSet::new(),
            limits: prepared.limits,
            plan_id,
            max_tasks: prepared.max_tasks,
            confinement,
            sandbox: prepared.sandbox,
            resting: self.parked_accounts(&prepared.accounts, at),
            accounts: prepared.accounts,
            rules: prepared.rules,
            templates: prepared.templates,
            strategies: prepared.strategies,
            hands: prepared.hands,
            basis,
            edited_config,
            choices: Some(prepared.choices),
            baseline: Vec::new(),
            forked_from: None,
            must_pass: self.config.verification.baseline == Some(BaselinePolicy::MustPass),
            network: Vec::new(),
            access: RunAccess {
                granted: self.config.grants(),
                restricted: prepared.restricted,
            },
            approval: self
                .config
                .approval_rules(&self.own_identity())
                .map_err(Error::Approval)?
                .map(Box::new),
        })
    }

    /// Returns the files of the project's configuration that differ from what is committed. They
    /// are not part of any change that is judged, and a session may have edited them. Errors are
    /// ignored: they must not hold up the run.
    fn edited_config(&self) -> Vec<String> {
        let edited = self.repo.edited_own_files().unwrap_or_default();
        let names = edited.iter().map(|path| path.display().to_string());
        names.collect()
    }

    /// Returns the settings that gates use in addition to their checks, as they are now, for a run
    /// that begins now.
    fn pin_gate_settings(&self, base: &Tip) -> Result<GateSettings, Error> {
        let unknown = || git::Error::UnknownRevision {
            rev: base.tree.0.clone(),
        };
        let tree = git::Oid::parse(&base.tree.0).ok_or_else(unknown)?;
        let mut included = BTreeMap::new();
        let said = self.repo.cat_file(&tree, Path::new(access::INCLUDES))?;
        let mut patterns = access::parse_patterns(&said.unwrap_or_default());
        // Include files only if the user has trusted the repository with exactly these patterns.
        if patterns != self.config.included {
            patterns.clear();
        }
        for file in self.repo.ignored_files(&patterns)? {
            let path = self.repo.top_level().join(&file);
            // Symbolic links are never copied, and a name that is not UTF-8 cannot be recorded.
            let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
            if let Some(name) = file.to_str().filter(|_| is_file) {
                let hash = bodies::hash_file(&path).map_err(|source| Error::Io {
                    doing: "read",
                    path,
                    source,
                })?;
                included.insert(name.to_owned(), hash);
            }
        }
        Ok(GateSettings {
            config: serde_json::to_value(self.config.gate_config()).unwrap_or_default(),
            included,
        })
    }

    /// Returns a redactor for which `allow` is the whole list of texts that look like secrets and
    /// are not.
    pub(crate) fn redactor_allowing(&self, allow: &[String]) -> Result<Redactor, Error> {
        redactor_allowing(&self.env, &self.config, allow)
    }

    /// Returns until when the accounts of these workers are parked, as other runs have recorded it.
    fn parked_accounts(
        &self,
        accounts: &BTreeMap<WorkerName, Account>,
        at: EpochMillis,
    ) -> BTreeMap<Account, EpochMillis> {
        let parks = self
            .state_folder()
            .map(|state| ParkedAccountsFile::in_folder(&state).read_changes(at));
        let is_used = |account: &Account| accounts.values().any(|used| used == account);
        let parks = parks.unwrap_or_default().into_iter();
        parks.filter(|(account, _)| is_used(account)).collect()
    }

    /// Reads a plan file.
    pub fn read_plan(&self, path: &Path) -> Result<plan_file::LoadedPlan, Error> {
        project::read_plan(&self.repo, path, &self.config, &self.redactor)
    }

    /// Finds the run that `word` refers to, for commands about work. Without a word this is the
    /// newest run that has or may have changed something, rather than a conversation about a plan.
    pub fn find_work_run(&self, word: Option<&str>) -> Result<RunId, Error> {
        if word.is_some() {
            return self.find_run(word);
        }
        for row in self.store.runs()? {
            let id = RunId(row.id);
            let run = self.load_run(&id)?;
            let mut roles = run.roles.values();
            if roles.any(|role| role.kind == RoleKind::Implementer) {
                return Ok(id);
            }
        }
        self.find_run(None)
    }

    /// Finds the run that `word` refers to: an id or a part of one that is unique. Without a word
    /// this is the newest run.
    pub fn find_run(&self, word: Option<&str>) -> Result<RunId, Error> {
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

    /// Returns the state of a run, from its snapshot and the events after it.
    pub fn load_run(&self, run: &RunId) -> Result<Run, Error> {
        Ok(Arc::unwrap_or_clone(self.load_snapshot(run)?.run))
    }

    /// Returns the state of a run, with what its events say beyond that.
    pub fn load_snapshot(&self, run: &RunId) -> Result<RunSnapshot, Error> {
        Ok(self.snapshots.load(&self.store, run)?)
    }

    /// Returns what was judged in a run: in `task` of it, or last.
    pub fn read_judgements(
        &self,
        run: &RunId,
        task: Option<&str>,
    ) -> Result<JudgementHistory, Error> {
        Ok(read_judgements(self.records(), &self.snapshots, run, task)?)
    }

    /// Rebuilds a run from all of its events, for whoever is to drive it.
    pub(crate) fn replay_run(&self, run: &RunId) -> Result<Run, Error> {
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

    /// Rebuilds a run from its events, with the view of it that every surface shows.
    pub fn load_run_view(&self, run: &RunId) -> Result<LoadedRun, Error> {
        Ok(LoadedRun::new(self.load_snapshot(run)?.run))
    }

    /// Calls `each` for a run's events after `after`, in order, with their number and time.
    pub fn each_event(
        &self,
        run: &RunId,
        after: u64,
        each: impl FnMut(u64, EpochMillis, Event),
    ) -> Result<(), Error> {
        Ok(self.records().each_event(run, after, each)?)
    }

    /// Removes secrets from a decision and posts it to the inbox of a run, where the process that
    /// drives the run finds it. Returns its number there.
    pub fn post_decision(&self, run: &RunId, decision: &Decision) -> Result<i64, Error> {
        self.post_signed(run, decision, None)
    }

    /// Posts a decision in the name of a session, which is nobody.
    pub(crate) fn post_for_session(
        &self,
        run: &RunId,
        decision: &Decision,
        label: &str,
    ) -> Result<i64, Error> {
        let author = DecisionAuthor {
            name: label.to_owned(),
            uid: None,
            signature: None,
        };
        self.post_instead(run, decision, author, &[])
    }

    /// The same as [`Engine::post_decision`], for a decision that its author may have signed.
    pub fn post_signed(
        &self,
        run: &RunId,
        decision: &Decision,
        signature: Option<String>,
    ) -> Result<i64, Error> {
        self.post_instead(run, decision, self.decision_author(signature), &[])
    }

    /// Returns whoever decides in this process.
    pub(super) fn decision_author(&self, signature: Option<String>) -> DecisionAuthor {
        DecisionAuthor {
            name: self.own_identity().person.0,
            uid: Some(people::own_uid()),
            signature,
        }
    }

    /// Posts a decision and removes the waiting decisions that it replaces.
    pub(super) fn post_instead(
        &self,
        run: &RunId,
        decision: &Decision,
        author: DecisionAuthor,
        replaced: &[i64],
    ) -> Result<i64, Error> {
        let at = crate::clock::now();
        let mut decision = decision.clone();
        self.filter_decision(&mut decision);
        let posted = PostedDecision {
            by: author.name,
            uid: author.uid,
            signature: author.signature,
            decision,
        };
        let data = serde_json::to_string(&posted).unwrap_or_default();
        let at = i64::try_from(at.0).unwrap_or(0);
        let message = self.store.post_instead(run.as_str(), at, &data, replaced)?;
        tracing::debug!(%run, message, "posted a decision to the inbox");
        Ok(message)
    }

    /// Returns what a program has reported about itself to this process, if it was probed.
    pub(crate) fn known_probe(&self, program: &Path) -> Option<ProgramProbe> {
        let known = self.program_probes.lock();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.get(program).cloned()
    }

    /// Caches what a program has reported about itself.
    pub(crate) fn remember_probe(&self, program: &Path, probed: &ProgramProbe) {
        let known = self.program_probes.lock();
        let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        known.insert(program.to_owned(), probed.clone());
    }

    /// Returns the folder for state that does not belong to a single repository.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        state_folder(&self.env).ok()
    }

    /// Returns the user's git identity, if one is configured. Git is asked once.
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

    /// Returns the folder of a run's workspaces.
    pub fn run_workspaces_folder(&self, run: &RunId) -> PathBuf {
        self.workspaces.join(run.as_str())
    }

    /// Returns the folder that holds the workspaces of all runs.
    pub fn workspaces_folder(&self) -> &Path {
        &self.workspaces
    }

    /// Returns the folder for the prompts and output of running attempts, until they are stored as
    /// bodies.
    pub(crate) fn attempts_folder(&self, run: &RunId) -> PathBuf {
        self.run_workspaces_folder(run).join(".attempts")
    }

    /// Returns the bytes a run uses on disk: its worktrees, and all bodies of the project.
    pub fn disk_used(&self, run: &RunId) -> u64 {
        let bodies = self.folder.join("bodies");
        codeteam_host::walk::size_on_disk(&self.run_workspaces_folder(run))
            + codeteam_host::walk::size_on_disk(&bodies)
    }
}

/// Creates a redactor that knows the user's own keys and recognises whatever looks like a key.
fn redactor(env: &Env, config: &Config) -> Result<Redactor, Error> {
    redactor_allowing(env, config, &config.redaction.allow)
}

/// Creates the redactor with `allow` as the whole list of texts that look like keys and are not.
fn redactor_allowing(env: &Env, config: &Config, allow: &[String]) -> Result<Redactor, Error> {
    // The environment of MCP servers is visible to the worker, so its secrets must be redacted too.
    let servers = config.mcp_servers.values().flat_map(|server| &server.env);
    let named = servers.filter(|(name, _)| names_secret(name));
    let mut known = env.secrets();
    known.extend(named.map(|(_, value)| value.clone()));
    diagnostic_log::add_known_secrets(&known);
    Ok(Redactor::new(known).allow(allow)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mcp_servers_are_given_is_known_to_the_redactor() {
        let text = "command: x\nenv: { TICKETS_PASSWORD: correct horse, PROJECT: website-main }";
        let server = codeteam_workflow::yaml::parse("config.yml", text).unwrap();
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
