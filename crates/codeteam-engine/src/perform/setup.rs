//! Prepares a fresh worktree for work: copies files that git does not track, and runs the set-up
//! command.
//!
//! The command runs once for each content of its `inputs`; its products are cached (see
//! [`SetupCache`]) and copied into every other worktree. Some products contain absolute paths, for
//! example a Python virtual environment. For these to work, every confined command sees its
//! worktree at a second path that is the same for all of them, [`SHARED_ROOT`].

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
use super::checks::{ShellCommand, describe_exit, summarize_output};
use super::{Error, Job, JobContext, caches, certificates, sandbox_view, worker_access};
use crate::clock::now;
use crate::config::{GateConfig, SetupConfig};
use crate::engine::Engine;
use crate::halt::Halt;
use codeteam_host::process::{
    CommandLimits, ExitReason, HostView, NetworkLedger, SandboxProfile, WaitLimit, WaitLimitScope,
};
use codeteam_host::workspace::Workspace;

/// The default time limit of a set-up command.
const TIMEOUT_SECONDS: u64 = 30 * 60;

/// The path at which confined commands see the folder of their worktree, in addition to its own.
const SHARED_ROOT: &str = "/codeteam";

/// Sets up a worktree, unless it is set up already. That is recorded next to the worktree, and
/// forgotten when the worktree is created anew.
pub(super) fn set_up_workspace(
    job: &Job,
    workspace: &Workspace,
    context: &JobContext<'_>,
) -> Result<(), Error> {
    let engine = context.engine;
    let grounds = job.gate_config(engine)?;
    let inputs = match &grounds.setup {
        Some(setup) => SetupInputs::collect(setup, workspace)?,
        None => SetupInputs::default(),
    };
    let wanted = inputs.key();
    if workspace.is_set_up(&wanted)? {
        return Ok(());
    }
    copy_included_files(job, workspace, engine)?;
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
    // The products are not the worker's doing, and not part of its change.
    workspace.note_products(&products)?;
    Ok(workspace.mark_set_up(&wanted)?)
}

/// Copies the files into a worktree that the user wants there and git does not track.
fn copy_included_files(job: &Job, workspace: &Workspace, engine: &Engine) -> Result<(), Error> {
    let top_level = engine.repo.top_level();
    match &job.gate_settings {
        None => workspace.include_files(
            top_level,
            &engine.repo.ignored_files(&engine.config.included)?,
        )?,
        Some(basis) => {
            if let Some(file) = workspace.include_recorded_files(top_level, &basis.included)? {
                return Err(Halt::Included { file }.into());
            }
        }
    }
    Ok(())
}

/// Returns true if the results of set-up can be shared. Without a sandbox nothing can be shown at
/// another path, and paths in the results would lead to the worktree in which they were created.
fn is_shared(job: &Job, grounds: &GateConfig) -> bool {
    grounds.setup.is_some() && job.sandbox != SandboxKind::None
}

/// Shows a worktree at the path that is the same for all of them, with everything shown or hidden
/// in it so far.
pub(super) fn show_shared(
    view: &mut HostView,
    job: &Job,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<(), Error> {
    let tree = workspace.tree_dir();
    if is_shared(job, &job.gate_config(engine)?)
        && let Some(folder) = tree.parent()
    {
        view.show_below(folder, Path::new(SHARED_ROOT));
    }
    Ok(())
}

/// Returns the folder in which the project's own commands run.
pub(super) fn working_folder(
    job: &Job,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<PathBuf, Error> {
    let own = workspace.tree_dir();
    Ok(match own.file_name() {
        Some(name) if is_shared(job, &job.gate_config(engine)?) => {
            Path::new(SHARED_ROOT).join(name)
        }
        _ => own,
    })
}

/// Returns the beginning of a command, to be shown in one line.
fn brief(command: &str) -> String {
    const SHOWN: usize = 60;
    let line = command.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Whether a set-up command writes to the run's copies of the user's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheUse {
    /// It does not: all its products are in the worktree.
    None,
    /// It does, so it must run for every copy.
    Writes,
}

/// The set-up command of a project, for one job.
struct SetupCommand<'a> {
    job: &'a Job,
    setup: &'a SetupConfig,
    grounds: &'a GateConfig,
    context: &'a JobContext<'a>,
}

impl SetupCommand<'_> {
    /// Brings the products of the command into a worktree: from the cache, or by running it.
    /// Returns the files and folders that it has left there.
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
        let cache = SetupCache::open(engine);
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
        // A session has the user's own shell and could write to the cache. Its checks use only
        // results that this process has seen being produced, verified by digest.
        let seen = engine.setup_digests.get(&key);
        let is_doubted = job.in_session() && seen.is_none();
        if cache.has(&key) && is_whole && !is_doubted {
            let busy = self
                .context
                .busy_with(&job.id, "set-up: copying its results");
            let _limit = self.limit_copying();
            let tree = workspace.tree_dir();
            let products = cache.copy_into(&key, &tree).map_err(failed)?;
            if !job.in_session() || seen == Some(digest(&tree, &products).map_err(failed)?) {
                return Ok(products);
            }
            drop(busy);
        }
        let Some((made, products, writes)) = self.run_apart(workspace, inputs)? else {
            // Only the worktree itself has everything the command needs.
            return self.run_in_place(workspace);
        };
        let (digest, kept) = {
            let _limit = self.limit_copying();
            let digest = digest(&made.tree_dir(), &products);
            (
                digest,
                cache.keep(&key, &made.tree_dir(), &products, writes),
            )
        };
        made.release()?;
        kept.map_err(failed)?;
        engine.setup_digests.note(&key, digest.map_err(failed)?);
        self.note_filled_caches(&key);
        let _busy = self
            .context
            .busy_with(&job.id, "set-up: copying its results");
        let _limit = self.limit_copying();
        cache.copy_into(&key, &workspace.tree_dir()).map_err(failed)
    }

    /// Gives copying and comparing the products as much time as the command itself has.
    fn limit_copying(&self) -> WaitLimitScope {
        WaitLimit::limit_to(Duration::from_secs(self.timeout_seconds()))
    }

    fn timeout_seconds(&self) -> u64 {
        self.setup.timeout_seconds.unwrap_or(TIMEOUT_SECONDS)
    }

    /// Runs the command in the worktree that is to be set up.
    fn run_in_place(&self, workspace: &Workspace) -> Result<Vec<PathBuf>, Error> {
        let before = FilesBefore::record(workspace)?;
        self.run(workspace)?;
        before.products()
    }

    /// Runs the command in a worktree of its own that contains nothing of the change but the
    /// inputs: what is shared must not depend on anything else that a worker has written. Returns
    /// that worktree and the products; `None` if the command fails because the rest of the change
    /// is missing.
    fn run_apart(
        &self,
        workspace: &Workspace,
        inputs: &SetupInputs,
    ) -> Result<Option<(Workspace, Vec<PathBuf>, CacheUse)>, Error> {
        let (job, engine) = (self.job, self.context.engine);
        let (tree, is_whole) = inputs.tree(job, workspace)?;
        let made = job.prepare_setup(engine, workspace, &tree)?;
        copy_included_files(job, &made, engine)?;
        let before = FilesBefore::record(&made)?;
        let ran = self.run(&made);
        match ran.and_then(|writes| Ok((before.products()?, writes))) {
            Ok((products, writes)) => Ok(Some((made, products, writes))),
            Err(error) => {
                made.release()?;
                match error {
                    Error::Halt(Halt::SetUp { .. }) if !is_whole => Ok(None),
                    error => Err(error),
                }
            }
        }
    }

    /// Returns true if the run's own copies of caches contain what the command leaves there.
    fn has_filled_caches(&self, key: &str) -> bool {
        self.cache_note(key).exists()
    }

    fn note_filled_caches(&self, key: &str) {
        let note = self.cache_note(key);
        if note.parent().is_some_and(Path::exists) {
            // Without the note the command runs once more.
            let _ = std::fs::write(note, "");
        }
    }

    fn cache_note(&self, key: &str) -> PathBuf {
        caches::copies_folder(self.job, self.context.engine).join(format!("{key}.set-up"))
    }

    /// Runs the command in a worktree. Returns whether it wrote to the run's copies of caches.
    fn run(&self, workspace: &Workspace) -> Result<CacheUse, Error> {
        let (job, setup, engine) = (self.job, self.setup, self.context.engine);
        (self.context.lines)(&job.id, &format!("setting up: {}", setup.command));
        let _busy = self
            .context
            .busy_with(&job.id, &format!("set-up `{}`", brief(&setup.command)));
        let account = NetworkLedger::default();
        let mut view = sandbox_view::show_workspace(workspace, MountAccess::Writable)?;
        caches::show_caches(&mut view, job, engine)?;
        show_shared(&mut view, job, workspace, engine)?;
        let registries = &self.grounds.sandbox.registries;
        view.network = Some(worker_access::network(engine, registries, account.clone())?);
        let env = certificates::show_certificates(&mut view, job, engine);
        let seconds = self.timeout_seconds();
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
            env,
            launcher: &*job.launcher(engine)?,
            profile: SandboxProfile::Setup,
            disk: Some(Engine::disk_limit(workspace, &self.grounds.sandbox)),
        };
        let copies = caches::copies_folder(job, engine);
        let before = caches::newest(&copies);
        let (exit, output) = shell.run(job, &limits, self.context)?;
        let writes = if caches::newest(&copies) == before {
            CacheUse::None
        } else {
            CacheUse::Writes
        };
        let hosts = account.reached_hosts();
        if !hosts.is_empty() {
            (self.context.report)(Input::NetworkUsed {
                at: now(),
                id: job.id.clone(),
                hosts,
            });
        }
        match exit.status {
            ExitReason::Exited(0) => Ok(writes),
            ExitReason::Cancelled => Err(Error::Cancelled),
            _ => Err(Error::Halt(Halt::SetUp {
                command: setup.command.clone(),
                output: summarize_output(&output.tail, &describe_exit(&exit, seconds * 1_000)),
                refused: account.refused_hosts(),
                pinned: job.gate_settings.is_some(),
            })),
        }
    }
}
