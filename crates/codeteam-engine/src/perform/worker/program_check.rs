//! Checks before an assignment whether a worker's program is installed and supports what is asked
//! of it.

use std::path::{Path, PathBuf};

use codeteam_core::failure::{FailureCause, FailureFacts};

use crate::perform::{Error, Job, JobContext, sandbox_view};
use crate::perform::{ProgramAnswer, ProgramQuery};
use crate::workers::Worker;
use crate::workers::probe::{ProbeCache, unusable_program};
use codeteam_host::workspace::Workspace;
use codeteam_sandbox::MountAccess;

/// Probes a CLI unless the result is cached. Returns the reason if it cannot be used.
pub(super) fn check_program(
    job: &Job,
    worker: &Worker,
    workspace: &Workspace,
    context: &JobContext<'_>,
) -> Result<Result<(), FailureFacts>, Error> {
    let Some(needs) = worker.dialect.dialect().requirements() else {
        return Ok(Ok(()));
    };
    let engine = context.engine;
    let program = PathBuf::from(worker.program());
    let found = match crate::perform::locate(needs, &program, job.sandbox, &engine.env.path) {
        Ok(found) => found,
        Err(facts) => return Ok(Err(facts)),
    };
    let key = found
        .clone()
        .unwrap_or_else(|| Path::new("image:").join(&program));
    let known = engine.known_probe(&key).or_else(|| {
        let kept = ProbeCache::in_folder(&engine.state_folder()?);
        kept.get(found.as_deref()?, needs)
    });
    let probed = if let Some(probed) = known {
        probed
    } else {
        let told = format!("asking `{}` for its version", program.display());
        (context.lines)(&job.id, &told);
        let asking = ProgramQuery {
            needs,
            program: &program,
            found: found.as_deref(),
            launcher: &*job.launcher(engine)?,
            cwd: workspace.tree_dir(),
            view: sandbox_view::show_workspace(workspace, MountAccess::ReadOnly)?,
            mark: &job.mark(engine),
            cancel: &context.cancel,
        };
        match asking.ask()? {
            ProgramAnswer::Identified(probed) => {
                if let (Some(found), Some(state)) = (&found, engine.state_folder()) {
                    ProbeCache::in_folder(&state).put(found, needs, &probed);
                }
                probed
            }
            ProgramAnswer::Unusable(facts) => return Ok(Err(facts)),
            ProgramAnswer::Cancelled => return Err(Error::Cancelled),
        }
    };
    engine.remember_probe(&key, &probed);
    let objection = probed.objection(needs);
    Ok(objection.map_or(Ok(()), |why| {
        Err(unusable_program(FailureCause::Version, why))
    }))
}
