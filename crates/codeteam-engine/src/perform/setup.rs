//! Makes a fresh worktree ready for work: files that git does not have, and a command.
//!
//! The command runs once for each content of its `inputs`; what it leaves behind is kept (see
//! [`SetupCache`]) and copied into every other worktree. So that this works for what has absolute
//! paths in it, such as a virtual environment of Python, every confined command sees its worktree
//! at one place that is the same for all of them, [`SHARED_ROOT`], besides its own.

mod cache;
mod inputs;
mod products;

pub(crate) use self::cache::SetupCache;
use self::cache::digest;
pub(super) use self::inputs::fingerprint;

use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_core::input::Input;
use codeteam_sandbox::MountAccess;

use self::inputs::SetupInputs;
use self::products::FilesBefore;
use super::checks::{ShellCommand, how_it_ended, summary};
use super::{Error, Halt, Job, JobContext, caches, now, reach, view};
use crate::config::{GateConfig, SetupConfig};
use crate::engine::Engine;
use crate::process::{CommandLimits, ExitReason, HostView, NetworkLedger, SandboxProfile};
use crate::workspace::Workspace;

/// How long a set-up command may take if nobody says.
const TIMEOUT_SECONDS: u64 = 30 * 60;

/// Where confined commands see the folder of their worktree besides its own place.
const SHARED_ROOT: &str = "/codeteam";

/// Makes a worktree ready, if it is not. What was done is noted beside it, and forgotten when it is
/// made anew.
pub(super) fn ready(
    job: &Job,
    workspace: &Workspace,
    context: &JobContext<'_>,
) -> Result<(), Error> {
    let engine = context.engine;
    let grounds = job.grounds(engine)?;
    let inputs = match &grounds.setup {
        Some(setup) => SetupInputs::of(setup, workspace)?,
        None => SetupInputs::default(),
    };
    let wanted = inputs.key();
    if workspace.is_set_up(&wanted)? {
        return Ok(());
    }
    include(job, workspace, engine)?;
    let mut products = Vec::new();
    if let Some(setup) = &grounds.setup {
        let command = SetupCommand {
            job,
            setup,
            grounds: &grounds,
            context,
        };
        products = command.make_ready(workspace, &inputs)?;
    }
    // They are not the worker's doing, and no part of its change.
    workspace.note_products(&products)?;
    Ok(workspace.set_up(&wanted)?)
}

/// Copies the files into a worktree that the user wants there and git does not have.
fn include(job: &Job, workspace: &Workspace, engine: &Engine) -> Result<(), Error> {
    let top_level = engine.repo.top_level();
    match &job.basis {
        None => workspace.include(
            top_level,
            &engine.repo.ignored_files(&engine.config.included)?,
        )?,
        Some(basis) => {
            if let Some(file) = workspace.include_recorded(top_level, &basis.included)? {
                return Err(Halt::Included { file }.into());
            }
        }
    }
    Ok(())
}

/// Whether the results of set-up can be shared. Without a sandbox nothing can be shown at another
/// place, and paths in them would lead to the worktree that they were made in.
fn is_shared(job: &Job, grounds: &GateConfig) -> bool {
    grounds.setup.is_some() && job.sandbox != SandboxKind::None
}

/// Shows a worktree at the place that is the same for all of them, with all that is shown or hidden
/// in it so far.
pub(super) fn show_shared(
    view: &mut HostView,
    job: &Job,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<(), Error> {
    let tree = workspace.tree_dir();
    if is_shared(job, &job.grounds(engine)?)
        && let Some(folder) = tree.parent()
    {
        view.show_again(folder, Path::new(SHARED_ROOT));
    }
    Ok(())
}

/// Where the project's own commands are run.
pub(super) fn working_folder(
    job: &Job,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<PathBuf, Error> {
    let own = workspace.tree_dir();
    Ok(match own.file_name() {
        Some(name) if is_shared(job, &job.grounds(engine)?) => Path::new(SHARED_ROOT).join(name),
        _ => own,
    })
}

/// The beginning of a command, to be told in a line.
fn brief(command: &str) -> String {
    const SHOWN: usize = 60;
    let line = command.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// What a set-up command does to the run's copies of the user's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheUse {
    /// Nothing: all that it makes is in the worktree.
    None,
    /// It leaves something there, and must do so for every copy.
    Writes,
}

/// The set-up command of a project, to be run for one job.
struct SetupCommand<'a> {
    job: &'a Job,
    setup: &'a SetupConfig,
    grounds: &'a GateConfig,
    context: &'a JobContext<'a>,
}

impl SetupCommand<'_> {
    /// Puts what the command makes into a worktree: from the cache, or by running it. Gives the files
    /// and folders that it has left there.
    fn make_ready(
        &self,
        workspace: &Workspace,
        inputs: &SetupInputs,
    ) -> Result<Vec<PathBuf>, Error> {
        let (job, engine) = (self.job, self.context.engine);
        if !is_shared(job, self.grounds) {
            return self.run_in_place(workspace);
        }
        let key = inputs.key_with(&fingerprint(job, engine)?);
        let cache = SetupCache::of(engine);
        let failed = |source| Error::Io {
            doing: "use the results of set-up in",
            path: cache.folder().to_owned(),
            source,
        };
        let busy = self
            .context
            .busy_with(&job.id, "set-up: waiting for another worktree");
        let _one_at_a_time = cache.lock(&key, &self.context.cancel).map_err(failed)?;
        drop(busy);
        if self.context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let is_whole = cache.is_self_contained(&key) || self.has_filled_caches(&key);
        // A session has the user's own shell and could write to what is kept. Its checks use only
        // what this process has seen being made, as it was then.
        let seen = engine.setup_digests.get(&key);
        let is_doubted = job.in_session && seen.is_none();
        if cache.has(&key) && is_whole && !is_doubted {
            let busy = self
                .context
                .busy_with(&job.id, "set-up: copying its results");
            let tree = workspace.tree_dir();
            let products = cache.copy_into(&key, &tree).map_err(failed)?;
            if !job.in_session || seen == Some(digest(&tree, &products).map_err(failed)?) {
                return Ok(products);
            }
            drop(busy);
        }
        let Some((made, products, writes)) = self.run_apart(workspace, inputs)? else {
            // Only the worktree itself has what the command needs.
            return self.run_in_place(workspace);
        };
        let digest = digest(&made.tree_dir(), &products);
        let kept = cache.keep(&key, &made.tree_dir(), &products, writes);
        made.remove()?;
        kept.map_err(failed)?;
        engine.setup_digests.note(&key, digest.map_err(failed)?);
        self.note_filled_caches(&key);
        let _busy = self
            .context
            .busy_with(&job.id, "set-up: copying its results");
        cache.copy_into(&key, &workspace.tree_dir()).map_err(failed)
    }

    /// Runs the command in the worktree that is to be made ready.
    fn run_in_place(&self, workspace: &Workspace) -> Result<Vec<PathBuf>, Error> {
        let before = FilesBefore::of(workspace)?;
        self.run(workspace)?;
        before.products()
    }

    /// Runs the command in a worktree of its own that has nothing of the change but the inputs: what
    /// is shared must not depend on anything else that a worker has written. Gives that worktree, and
    /// what the command has left there; `None` if it fails for want of the rest of the change.
    fn run_apart(
        &self,
        workspace: &Workspace,
        inputs: &SetupInputs,
    ) -> Result<Option<(Workspace, Vec<PathBuf>, CacheUse)>, Error> {
        let (job, engine) = (self.job, self.context.engine);
        let (tree, is_whole) = inputs.tree(job, workspace)?;
        let made = job.prepare_setup(engine, workspace, &tree)?;
        include(job, &made, engine)?;
        let before = FilesBefore::of(&made)?;
        let ran = self.run(&made);
        match ran.and_then(|writes| Ok((before.products()?, writes))) {
            Ok((products, writes)) => Ok(Some((made, products, writes))),
            Err(error) => {
                made.remove()?;
                match error {
                    Error::Halt(Halt::SetUp { .. }) if !is_whole => Ok(None),
                    error => Err(error),
                }
            }
        }
    }

    /// Whether the run's own copies of caches have what the command leaves there.
    fn has_filled_caches(&self, key: &str) -> bool {
        self.cache_note(key).exists()
    }

    fn note_filled_caches(&self, key: &str) {
        let note = self.cache_note(key);
        if note.parent().is_some_and(Path::exists) {
            // Without the note the command is run once more.
            let _ = std::fs::write(note, "");
        }
    }

    fn cache_note(&self, key: &str) -> PathBuf {
        caches::folder(self.job, self.context.engine).join(format!("{key}.set-up"))
    }

    /// Runs the command in a worktree. Says what it did to the run's copies of caches.
    fn run(&self, workspace: &Workspace) -> Result<CacheUse, Error> {
        let (job, setup, engine) = (self.job, self.setup, self.context.engine);
        (self.context.lines)(&job.id, &format!("setting up: {}", setup.command));
        let _busy = self
            .context
            .busy_with(&job.id, &format!("set-up `{}`", brief(&setup.command)));
        let account = NetworkLedger::default();
        let mut view = view::of(workspace, MountAccess::Writable)?;
        caches::show(&mut view, job, engine)?;
        show_shared(&mut view, job, workspace, engine)?;
        let registries = &self.grounds.sandbox.registries;
        view.network = Some(reach::network(engine, registries, account.clone())?);
        let seconds = setup.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
        let limits = CommandLimits {
            wall: Duration::from_secs(seconds),
            line_bytes: 64 << 10,
            total_bytes: 64 << 20,
            silence: None,
            grace: Duration::from_secs(1),
        };
        let shell = ShellCommand {
            command: &setup.command,
            cwd: working_folder(job, workspace, engine)?,
            view,
            launcher: &*job.launcher(engine)?,
            profile: SandboxProfile::Setup,
            disk: Some(Engine::disk(workspace, &self.grounds.sandbox)),
        };
        let copies = caches::folder(job, engine);
        let before = caches::newest(&copies);
        let (exit, output) = shell.run(job, &limits, self.context)?;
        let writes = if caches::newest(&copies) == before {
            CacheUse::None
        } else {
            CacheUse::Writes
        };
        let hosts = account.hosts();
        if !hosts.is_empty() {
            (self.context.report)(Input::NetworkUsed {
                at: now(),
                id: job.id.clone(),
                hosts,
            });
        }
        match exit.status {
            ExitReason::Exited(0) => Ok(writes),
            // Nobody wants to know any more.
            ExitReason::Cancelled => Err(Error::Cancelled),
            _ => Err(Error::Halt(Halt::SetUp {
                command: setup.command.clone(),
                output: summary(&output.tail, &how_it_ended(&exit, seconds * 1_000)),
                refused: account.refused(),
                pinned: job.basis.is_some(),
            })),
        }
    }
}
