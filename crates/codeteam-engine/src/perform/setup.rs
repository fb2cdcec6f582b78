//! Makes a fresh worktree ready for work: files that git does not have, and a command.

use std::time::Duration;

use codeteam_core::input::Input;
use codeteam_core::workflow::glob_matches;
use codeteam_sandbox::Access;

use super::checks::{Shell, how_it_ended, summary};
use super::{Context, Error, Halt, Job, caches, now, reach, view};
use crate::config::{Grounds, Setup};
use crate::engine::Engine;
use crate::process::{Account, Limits, Profile, Status};
use crate::workspace::Workspace;

/// How long a set-up command may take if nobody says.
const TIMEOUT_SECONDS: u64 = 30 * 60;

/// Makes a worktree ready, if it is not. What was done is noted beside it, and forgotten when it is
/// made anew.
pub(super) fn ready(job: &Job, workspace: &Workspace, context: &Context<'_>) -> Result<(), Error> {
    let engine = context.engine;
    let grounds = job.grounds(engine)?;
    let wanted = key(grounds.setup.as_ref(), workspace)?;
    if workspace.is_set_up(&wanted)? {
        return Ok(());
    }
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
    if let Some(setup) = &grounds.setup {
        run(job, setup, &grounds, workspace, context)?;
    }
    Ok(workspace.set_up(&wanted)?)
}

fn run(
    job: &Job,
    setup: &Setup,
    grounds: &Grounds,
    workspace: &Workspace,
    context: &Context<'_>,
) -> Result<(), Error> {
    let engine = context.engine;
    (context.lines)(&job.id, &format!("setting up: {}", setup.command));
    let account = Account::default();
    let mut view = view::of(workspace, Access::Writable)?;
    caches::show(&mut view, job, engine)?;
    let registries = &grounds.sandbox.registries;
    view.network = Some(reach::network(engine, registries, account.clone())?);
    let seconds = setup.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
    let limits = Limits {
        wall: Duration::from_secs(seconds),
        line_bytes: 64 << 10,
        total_bytes: 64 << 20,
        silence: None,
        grace: Duration::from_secs(1),
    };
    let shell = Shell {
        command: &setup.command,
        cwd: workspace.tree_dir(),
        view,
        launcher: &*job.launcher(engine)?,
        profile: Profile::Setup,
        disk: Some(Engine::disk(workspace, &grounds.sandbox)),
    };
    let (exit, output) = shell.run(job, &limits, context)?;
    let hosts = account.hosts();
    let refused: Vec<String> = hosts
        .iter()
        .filter(|reached| reached.denied > 0)
        .map(|reached| reached.host.clone())
        .collect();
    if !hosts.is_empty() {
        (context.report)(Input::NetworkUsed {
            at: now(),
            id: job.id.clone(),
            hosts,
        });
    }
    match exit.status {
        Status::Exited(0) => Ok(()),
        // Nobody wants to know any more.
        Status::Cancelled => Err(Error::Cancelled),
        _ => Err(Error::Halt(Halt::SetUp {
            command: setup.command.clone(),
            output: summary(&output.tail, &how_it_ended(&exit, seconds * 1_000)),
            refused,
            pinned: job.basis.is_some(),
        })),
    }
}

/// What a worktree that is ready was made ready with.
fn key(setup: Option<&Setup>, workspace: &Workspace) -> Result<String, Error> {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    if let Some(setup) = setup {
        add(setup.command.as_bytes());
        let is_input = |path: &str| setup.inputs.iter().any(|input| glob_matches(input, path));
        for file in workspace.tracked()? {
            if is_input(&file.path.to_string_lossy()) {
                add(file.path.as_os_str().as_encoded_bytes());
                add(&file.mode.to_le_bytes());
                add(&file.id);
            }
        }
    }
    Ok(hash.finalize().to_hex().to_string())
}
