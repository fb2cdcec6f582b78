//! One handle to everything a skin needs: find the project, start runs, look at them, decide.

mod project;

pub use self::project::{Prepared, Project};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use codeteam_core::event::{RunStarted, Sandbox};
use codeteam_core::ids::{RunId, TaskId, Time, Tree};
use codeteam_core::input::Decision;
use codeteam_core::plan::{self, Plan};
use codeteam_core::schedule::Status;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run, budget};

use crate::bodies::{self, Bodies};
use crate::config::{self, Config};
use crate::confine::{Confinement, Missing};
use crate::env::Env;
use crate::git::{self, Head, Identity, Repo};
use crate::logins::Logins;
use crate::process::{Disk, Launcher, MARK, Unconfined};
use crate::store::{self, Store};
use crate::workspace::{self, Workspace};
use crate::{driver, workflows};

/// How many tasks a plan may have if the configuration does not say.
pub const MAX_TASKS: usize = 1_000;

/// How many megabytes a worktree may take if the configuration does not say.
const DISK_MB: u64 = 20 << 10;

/// Where things are and how they are done.
pub struct Engine {
    /// The user's repository.
    pub repo: Repo,
    /// Where its checkout stood when codeteam looked.
    pub head: Head,
    /// The log.
    pub store: Store,
    /// Prompts, transcripts, diffs, reports.
    pub bodies: Bodies,
    /// `.codeteam`.
    pub folder: PathBuf,
    /// The project's configuration.
    pub config: Config,
    /// What codeteam takes from its environment.
    pub env: Env,
    /// codeteam's own program.
    pub codeteam: PathBuf,
    /// Worktrees that nobody has touched since they were last looked at.
    pub untouched: Untouched,
    identity: OnceLock<Identity>,
    workspaces: PathBuf,
    /// The user's logins, to be lent to workers.
    pub logins: Logins,
    launchers: Mutex<BTreeMap<Sandbox, Arc<dyn Launcher>>>,
}

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Error {
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Workflow(#[from] workflows::Error),
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error(transparent)]
    Driver(#[from] driver::Error),
    #[error(transparent)]
    Plan(#[from] codeteam_core::yaml::Problems),
    #[error("could not {doing} `{}`", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("there is no run `{0}`")]
    NoSuchRun(String),
    #[error("`{0}` could mean more than one run")]
    Ambiguous(String),
    #[error("there is no run yet")]
    NoRuns,
    #[error("event {seq} of run `{run}` cannot be read")]
    Unreadable {
        run: String,
        seq: u64,
        source: codeteam_core::event::Unreadable,
    },
    #[error("codeteam does not know the worker `{0}`")]
    UnknownWorker(String),
    #[error("neither `HOME` nor `XDG_STATE_HOME` is set, so there is no place for worktrees")]
    NoHome,
    #[error("the goal is empty")]
    EmptyGoal,
    #[error("the branch `{branch}` cannot be made, because there is a branch `{by}`")]
    BranchInTheWay { branch: String, by: String },
    #[error("there is no script `{}`", .0.display())]
    NoScript(PathBuf),
    #[error("there is no plan `{}`", .0.display())]
    NoPlan(PathBuf),
    #[error("workers and gates cannot be confined here")]
    Sandbox(#[from] Missing),
}

/// What a run is to be.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What the user wants.
    pub goal: String,
    /// The workflow, if not the configured one.
    pub workflow: Option<String>,
    /// What carries roles out, if not the configured one.
    pub worker: Option<String>,
    /// The script of the scripted worker, if not the configured or the embedded one.
    pub script: Option<PathBuf>,
    /// A plan that is there already.
    pub plan: Option<(Plan, BTreeMap<TaskId, Status>)>,
    /// Where to start from, if not where the checkout stands.
    pub base: Option<git::Oid>,
    /// Limits over those of the configuration.
    pub limits: budget::Limits,
    /// What confines workers and gates, if not what is configured.
    pub sandbox: Option<Sandbox>,
}

impl Engine {
    /// Opens a project for runs, and makes `.codeteam` if it is missing.
    pub fn open(project: Project, codeteam: PathBuf) -> Result<Self, Error> {
        // Without a place for worktrees there is no run, so there need be no log.
        workspaces_root(&project.env, project.repo.common_dir())?;
        make_folder(&project.folder)?;
        let store = Store::open(&project.folder.join("state.db"))?;
        Self::with(project, store, codeteam)
    }

    /// Opens the project that `start` is in if it has a log; makes and changes nothing. What a run
    /// needs of the configuration is pinned in it, so a mistake there is no reason not to look.
    pub fn look(start: &Path, env: Env, codeteam: PathBuf) -> Result<Option<Self>, Error> {
        let project = Project::find_anyway(start, env)?;
        let Some(store) = Store::open_existing(&project.folder.join("state.db"))? else {
            return Ok(None);
        };
        Self::with(project, store, codeteam).map(Some)
    }

    /// The repository that `start` is in.
    pub fn discover(start: &Path, env: &Env) -> Result<(Repo, Head), Error> {
        project::discover(start, env)
    }

    fn with(project: Project, store: Store, codeteam: PathBuf) -> Result<Self, Error> {
        let Project {
            repo,
            head,
            folder,
            config,
            env,
        } = project;
        let bodies = Bodies::open(folder.join("bodies"))?;
        let workspaces = workspaces_root(&env, repo.common_dir())?;
        let moved = |name: &str| env.moved.get(name).cloned();
        let logins = Logins::new(env.home.as_deref(), &state_folder(&env)?, moved);
        Ok(Self {
            repo,
            head,
            store,
            bodies,
            folder,
            config,
            env,
            codeteam,
            untouched: Untouched::default(),
            identity: OnceLock::new(),
            workspaces,
            logins,
            launchers: Mutex::default(),
        })
    }

    /// Everything a new run pins, and the folders that make its names its own.
    pub fn plan_run(&self, prepared: Prepared, at: Time) -> Result<RunStarted, Error> {
        // Before any name is taken: without it there is no run.
        let confinement = self.launcher(prepared.sandbox)?.describe().to_owned();
        let run = self.new_id(&prepared.goal, at)?;
        let steps = prepared.compiled.workflow.steps.values();
        let plans = steps
            .clone()
            .any(|s| matches!(s.kind, StepKind::Each { .. }));
        let named = prepared
            .plan
            .as_ref()
            .is_some_and(|p| !p.plan_id.is_empty());
        let plan_id = if plans && !named {
            self.new_plan_id()?
        } else {
            String::new()
        };
        let mut plan = prepared.plan;
        if let Some(plan) = plan.as_mut().filter(|plan| plan.plan_id.is_empty()) {
            plan.plan_id.clone_from(&plan_id);
        }
        Ok(RunStarted {
            branch: self
                .config
                .git
                .branch_pattern
                .replace("{run}", run.as_str()),
            run,
            at,
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
        })
    }

    /// Reads a plan file.
    pub fn read_plan(&self, path: &Path) -> Result<plan::Loaded, Error> {
        project::read_plan(path, &self.config)
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
        mut each: impl FnMut(u64, Time, Event),
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
                Time(u64::try_from(stored.at).unwrap_or(0)),
                event,
            );
            Ok(())
        })
    }

    /// Puts a decision where the process that drives the run will find it.
    pub fn post(&self, run: &RunId, decision: &Decision, by: &str) -> Result<(), Error> {
        let at = crate::perform::now();
        let posted = driver::Posted {
            by: by.to_owned(),
            decision: decision.clone(),
        };
        let data = serde_json::to_string(&posted).unwrap_or_default();
        self.store
            .post(run.as_str(), i64::try_from(at.0).unwrap_or(0), &data)?;
        Ok(())
    }

    /// Who the user is to git; asked once.
    pub fn identity(&self) -> Result<&Identity, git::Error> {
        if let Some(known) = self.identity.get() {
            return Ok(known);
        }
        let found = self.repo.identity()?;
        Ok(self.identity.get_or_init(|| found))
    }

    /// What confines workers and gates, found to work the first time it is asked for.
    pub fn launcher(&self, sandbox: Sandbox) -> Result<Arc<dyn Launcher>, Missing> {
        let mut known = self
            .launchers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(launcher) = known.get(&sandbox) {
            return Ok(Arc::clone(launcher));
        }
        let confinement = Confinement::find(
            sandbox,
            &self.env,
            &self.config.sandbox,
            &self.codeteam,
            &self.workspaces.join(".sandbox"),
        )?;
        let launcher: Arc<dyn Launcher> = match confinement {
            Some(confinement) => Arc::new(confinement),
            None => Arc::new(self.unconfined()),
        };
        known.insert(sandbox, Arc::clone(&launcher));
        Ok(launcher)
    }

    /// What runs a command on the host, as the user would.
    pub(crate) fn unconfined(&self) -> Unconfined {
        let mut env = vec![("PATH".into(), self.env.path.clone())];
        env.extend(
            self.env
                .home
                .iter()
                .map(|home| ("HOME".into(), home.clone().into())),
        );
        Unconfined { env }
    }

    /// A workspace of a run. What a worker has written in there is looked at only by what is
    /// confined as the run's workers are.
    pub(crate) fn workspace(
        &self,
        run: &RunId,
        sandbox: Sandbox,
        name: &str,
    ) -> Result<Workspace, workspace::Error> {
        let workspace = Workspace::open(&self.repo, &self.workspaces_of(run), name)?;
        match sandbox {
            Sandbox::None => Ok(workspace),
            Sandbox::Bubblewrap | Sandbox::Container => {
                workspace.confined(&self.launcher(sandbox)?)
            }
        }
    }

    /// How much a command in a workspace may leave there.
    pub(crate) fn disk(&self, workspace: &Workspace) -> Disk {
        let megabytes = self.config.sandbox.limits.disk_mb;
        Disk {
            folders: vec![workspace.tree_dir(), workspace.git_dir()],
            bytes: megabytes.unwrap_or(DISK_MB).saturating_mul(1 << 20),
        }
    }

    /// The folder of a run's workspaces.
    pub fn workspaces_of(&self, run: &RunId) -> PathBuf {
        self.workspaces.join(run.as_str())
    }

    /// The folder of all runs' workspaces.
    pub fn workspaces(&self) -> &Path {
        &self.workspaces
    }

    /// What marks every process of a run. Two projects may have runs of the same name, so it
    /// carries the repository too: sweeping one run must never reach another's.
    pub(crate) fn mark_of(&self, run: &RunId) -> String {
        let repository = self
            .workspaces
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("{repository}/{run}")
    }

    /// The folder of what workers are told and what they say, until it is kept.
    pub(crate) fn attempts_of(&self, run: &RunId) -> PathBuf {
        self.workspaces_of(run).join(".attempts")
    }

    /// The environment of a child: what it needs, its mark, and nothing else of codeteam's own.
    pub(crate) fn child_env(
        mark: &str,
        more: Vec<(OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "dumb".into()),
            (MARK.into(), mark.into()),
        ];
        env.extend(more);
        env
    }

    /// The next number of a plan, `feature-0021`, with its folder: of two runs that start at the
    /// same moment only one can make it.
    fn new_plan_id(&self) -> Result<String, Error> {
        let number = |entry: fs::DirEntry| -> Option<u32> {
            let name = entry.file_name();
            name.to_str()?.strip_prefix("feature-")?.parse().ok()
        };
        let folder = self.folder.join("planning");
        let entries = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        let mut next = entries.filter_map(number).max().unwrap_or(0);
        loop {
            next = next.saturating_add(1);
            let id = format!("feature-{next:04}");
            if claim(&folder, &id)? {
                return Ok(id);
            }
        }
    }

    /// The bytes a run takes on the disk: its worktrees, and all bodies of the project.
    pub fn disk_used(&self, run: &RunId) -> u64 {
        let bodies = self.folder.join("bodies");
        crate::maintenance::size(&self.workspaces_of(run)) + crate::maintenance::size(&bodies)
    }

    /// An id for a run that neither the log nor a branch has, with its folder: the time and the
    /// goal's first words.
    fn new_id(&self, goal: &str, at: Time) -> Result<RunId, Error> {
        let base = format!("{}_{}", stamp(at), slug(goal));
        self.room_for(&self.config.git.branch_pattern.replace("{run}", &base))?;
        for n in 1..1_000 {
            let id = if n == 1 {
                base.clone()
            } else {
                format!("{base}-{n}")
            };
            let branch = self.config.git.branch_pattern.replace("{run}", &id);
            let taken = self.store.run(&id)?.is_some()
                || self
                    .repo
                    .read_ref(&format!("refs/heads/{branch}"))?
                    .is_some();
            if !taken && claim(&self.folder.join("runs"), &id)? {
                return Ok(RunId(id));
            }
        }
        Err(Error::Ambiguous(base))
    }

    /// Git keeps branches as files: beside `a` there can be no `a/b`. Said now, and not when the
    /// first task is to be committed.
    fn room_for(&self, branch: &str) -> Result<(), Error> {
        for (at, _) in branch.match_indices('/') {
            let by = &branch[..at];
            if self.repo.read_ref(&format!("refs/heads/{by}"))?.is_some() {
                return Err(Error::BranchInTheWay {
                    branch: branch.to_owned(),
                    by: by.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// Makes a folder that must not exist yet; says whether it was this call that made it.
fn claim(parent: &Path, name: &str) -> Result<bool, Error> {
    let folder = parent.join(name);
    let made = fs::create_dir_all(parent).and_then(|()| fs::create_dir(&folder));
    match made {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(Error::Io {
            doing: "make the folder",
            path: folder,
            source,
        }),
    }
}

/// Worktrees that were just collected and have not been handed to anyone since, so that they need
/// not be compared with their tree again.
#[derive(Debug, Default)]
pub struct Untouched(Mutex<BTreeMap<PathBuf, Tree>>);

impl Untouched {
    /// Notes that a worktree holds exactly a tree.
    pub fn note(&self, path: &Path, tree: &Tree) {
        if let Ok(mut known) = self.0.lock() {
            known.insert(path.to_owned(), tree.clone());
        }
    }

    /// Whether a worktree holds exactly a tree. It is about to be used, so it is forgotten.
    pub fn take(&self, path: &Path, tree: &Tree) -> bool {
        self.0
            .lock()
            .is_ok_and(|mut known| known.remove(path).as_ref() == Some(tree))
    }
}

/// `.codeteam`, with a `.gitignore` that keeps what codeteam writes out of the user's commits.
fn make_folder(folder: &Path) -> Result<(), Error> {
    const IGNORE: &str = "# Written by codeteam. What people write (configuration, roles, workflows, context) is\n\
        # not ignored; what codeteam writes is.\n/*\n!/config.yml\n!/config.yaml\n!/roles/\n\
        !/agents/\n!/workflows/\n!/context/\n";
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    };
    fs::create_dir_all(folder).map_err(io("make the folder", folder))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, IGNORE).map_err(io("write", &ignore))?;
    }
    Ok(())
}

/// Where the workspaces of a repository are: outside of it, one folder per repository.
fn workspaces_root(env: &Env, common_dir: &Path) -> Result<PathBuf, Error> {
    let state = state_folder(env)?;
    let hash = blake3::hash(common_dir.as_os_str().as_encoded_bytes()).to_hex();
    let parent = if common_dir.ends_with(".git") {
        common_dir.parent()
    } else {
        Some(common_dir)
    };
    let name = parent
        .and_then(Path::file_name)
        .map(|n| slug(&n.to_string_lossy()));
    let name = name.unwrap_or_else(|| "repository".to_owned());
    Ok(state.join(format!("{name}-{}", &hash[..12])))
}

/// Where codeteam keeps what belongs to no repository alone.
fn state_folder(env: &Env) -> Result<PathBuf, Error> {
    let state = env.state_home.as_ref().ok_or(Error::NoHome)?;
    Ok(state.join("codeteam"))
}

/// `2025-01-08_153042`, in the user's time zone.
pub fn stamp(at: Time) -> String {
    let millis = i64::try_from(at.0).unwrap_or(0);
    jiff::Timestamp::from_millisecond(millis)
        .map(|t| {
            t.to_zoned(jiff::tz::TimeZone::system())
                .strftime("%Y-%m-%d_%H%M%S")
                .to_string()
        })
        .unwrap_or_default()
}

/// The first words of a text, fit for a branch name.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty())
    {
        if slug.len() + word.len() > 39 {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_lowercase());
    }
    if slug.is_empty() {
        "run".to_owned()
    } else {
        slug
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_short_and_plain() {
        assert_eq!(slug("Add password reset!"), "add-password-reset");
        assert_eq!(slug("  ../../etc  "), "etc");
        assert_eq!(slug("日本"), "run");
        assert!(slug(&"very long words indeed ".repeat(9)).len() < 40);
    }

    #[test]
    fn an_untouched_worktree_is_used_once() {
        let untouched = Untouched::default();
        let (path, tree) = (Path::new("/w"), Tree::from("t"));
        untouched.note(path, &tree);
        assert!(!untouched.take(path, &"other".into()));
        untouched.note(path, &tree);
        assert!(untouched.take(path, &tree));
        assert!(!untouched.take(path, &tree));
    }
}
