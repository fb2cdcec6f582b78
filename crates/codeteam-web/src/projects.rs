//! The projects of the user, each with its runs, watched for as long as the server runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use codeteam_core::ids::RunId;
use codeteam_engine::Engine;
use codeteam_engine::command_runner::CommandRunner;
use codeteam_engine::env::Env;
use codeteam_engine::known_projects::known_projects;
use codeteam_engine::problem::Problem;
use codeteam_engine::watch::{RunWatcher, WatchedRun};

use crate::live_hub::{LiveEvent, LiveHub};
use crate::page::ProjectLink;
use crate::run_history::HistoryCache;

/// How often it is looked whether the user has worked in another project.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Makes what runs commands of codeteam in a project.
pub type RunnerFactory = Arc<dyn Fn(&Path) -> Arc<dyn CommandRunner> + Send + Sync>;

/// A project.
pub(crate) struct WatchedProject {
    /// Its key in paths.
    pub(crate) key: String,
    /// Its folder.
    pub(crate) root: PathBuf,
    /// Everything about it.
    pub(crate) engine: Arc<Engine>,
    /// Runs commands of codeteam in it.
    pub(crate) commands: Arc<dyn CommandRunner>,
    /// What was read of its runs.
    pub(crate) histories: HistoryCache,
    runs: Mutex<BTreeMap<String, WatchedRun>>,
}

impl WatchedProject {
    /// Returns its runs, by their ids.
    pub(crate) fn runs(&self) -> MutexGuard<'_, BTreeMap<String, WatchedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a run.
    pub(crate) fn run(&self, id: &RunId) -> Option<WatchedRun> {
        self.runs().get(id.as_str()).cloned()
    }

    /// Takes what has changed, and tells open pages of it.
    fn take(&self, changed: Vec<WatchedRun>, hub: &LiveHub, is_first: bool) {
        let mut events = Vec::new();
        {
            let mut runs = self.runs();
            for run in changed {
                events.push(LiveEvent::RunChanged {
                    project: self.key.clone(),
                    run: run.item.run.clone(),
                    seq: run.item.events,
                });
                runs.insert(run.item.run.clone(), run);
            }
        }
        if !is_first {
            for event in events {
                hub.tell(event);
            }
        }
    }
}

/// All projects.
pub(crate) struct ProjectRegistry {
    env: Env,
    codeteam: PathBuf,
    runners: RunnerFactory,
    hub: Arc<LiveHub>,
    is_over: Arc<AtomicBool>,
    inner: Mutex<RegistryState>,
}

#[derive(Default)]
struct RegistryState {
    projects: BTreeMap<String, Arc<WatchedProject>>,
    broken: BTreeMap<PathBuf, ProjectLink>,
    looked_at: Option<Instant>,
}

impl ProjectRegistry {
    /// Makes a registry with the project of the server's folder, if there is one.
    pub(crate) fn new(
        env: Env,
        codeteam: PathBuf,
        runners: RunnerFactory,
        hub: Arc<LiveHub>,
    ) -> Self {
        Self {
            env,
            codeteam,
            runners,
            hub,
            is_over: Arc::default(),
            inner: Mutex::default(),
        }
    }

    /// Opens a project and begins to watch it. Nothing happens if it is open.
    pub(crate) fn open(&self, root: &Path) -> Result<(), Problem> {
        let found = Engine::open_existing(root, self.env.clone(), self.codeteam.clone())?;
        let Some(engine) = found else { return Ok(()) };
        let root = engine.repo.top_level().to_owned();
        let key = project_key(&root);
        let mut inner = self.lock();
        inner.broken.remove(&root);
        if inner.projects.contains_key(&key) {
            return Ok(());
        }
        let project = Arc::new(WatchedProject {
            key: key.clone(),
            commands: (self.runners)(&root),
            root,
            engine: Arc::new(engine),
            histories: HistoryCache::default(),
            runs: Mutex::default(),
        });
        self.watch(&project)?;
        inner.projects.insert(key, project);
        Ok(())
    }

    /// Watches a project on a thread of its own. Its runs are known when this returns.
    fn watch(&self, project: &Arc<WatchedProject>) -> Result<(), Problem> {
        let (ready, is_ready) = std::sync::mpsc::channel();
        let watched = Arc::clone(project);
        let (hub, is_over) = (Arc::clone(&self.hub), Arc::clone(&self.is_over));
        let body = move || {
            let engine = Arc::clone(&watched.engine);
            let mut is_first = true;
            let mut tell = |runs: Vec<WatchedRun>| {
                watched.take(runs, &hub, is_first);
                is_first = false;
                let _ = ready.send(());
                true
            };
            let is_over = || is_over.load(Ordering::Relaxed);
            let ended =
                RunWatcher::open(&engine).and_then(|mut all| all.watch(&is_over, &mut tell));
            if let Err(error) = ended {
                tracing::warn!(%error, "runs can no longer be watched");
            }
        };
        thread::Builder::new()
            .name("web-watch".to_owned())
            .spawn(body)
            .map_err(|e| Problem::environment("could not start a thread").caused_by(&e))?;
        // The thread that cannot read the log says nothing, and is not waited for.
        let _ = is_ready.recv();
        Ok(())
    }

    /// Opens the projects in which the user has started runs meanwhile.
    fn look_again(&self) {
        {
            let mut inner = self.lock();
            let is_recent = |at: Instant| at.elapsed() < LOOK_AGAIN;
            if inner.looked_at.is_some_and(is_recent) {
                return;
            }
            inner.looked_at = Some(Instant::now());
        }
        for root in known_projects(&self.env) {
            let key = project_key(&root);
            if self.lock().projects.contains_key(&key) {
                continue;
            }
            if let Err(problem) = self.open(&root) {
                let link = ProjectLink {
                    key,
                    name: folder_name(&root),
                    folder: root.display().to_string(),
                    problem: Some(problem.what().to_owned()),
                };
                self.lock().broken.insert(root, link);
            }
        }
    }

    /// Returns all projects that can be read, sorted by their keys.
    pub(crate) fn all(&self) -> Vec<Arc<WatchedProject>> {
        self.look_again();
        self.lock().projects.values().cloned().collect()
    }

    /// Returns a project.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<WatchedProject>> {
        if let Some(found) = self.lock().projects.get(key) {
            return Some(Arc::clone(found));
        }
        self.look_again();
        self.lock().projects.get(key).cloned()
    }

    /// Returns all projects as pages name them, also those that cannot be read.
    pub(crate) fn links(&self) -> Vec<ProjectLink> {
        self.look_again();
        let inner = self.lock();
        let open = inner.projects.values().map(|project| ProjectLink {
            key: project.key.clone(),
            name: folder_name(&project.root),
            folder: project.root.display().to_string(),
            problem: None,
        });
        open.chain(inner.broken.values().cloned()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProjectRegistry {
    fn drop(&mut self) {
        // The threads see it when something happens next; they end with the process at the latest.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Returns the key of a project in paths: the name of its folder, and a hash of where it is.
fn project_key(root: &Path) -> String {
    let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    let name: String = folder_name(root)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    format!("{name}-{}", &hash[..8])
}

fn folder_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    name.to_string_lossy().into_owned()
}
