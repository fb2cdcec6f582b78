//! Whether a worker's program is there and can do what is asked of it, before it is asked.

use std::path::{Path, PathBuf};

use codeteam_core::failure::{FailureCause, FailureFacts};

use crate::perform::{Error, Job, JobContext, view};
use crate::workers::Worker;
use crate::workers::probe::{self, ProbeCache, ProgramAnswer, ProgramQuery, unusable};
use crate::workspace::Workspace;
use codeteam_sandbox::MountAccess;

/// Asks a CLI what it is, unless that is known; says why it cannot be used.
pub(super) fn check(
    job: &Job,
    worker: &Worker,
    workspace: &Workspace,
    context: &JobContext<'_>,
) -> Result<Result<(), FailureFacts>, Error> {
    let Some(needs) = worker.dialect.dialect().needs() else {
        return Ok(Ok(()));
    };
    let engine = context.engine;
    let program = PathBuf::from(worker.program());
    let found = match probe::locate(needs, &program, job.sandbox, &engine.env.path) {
        Ok(found) => found,
        Err(facts) => return Ok(Err(facts)),
    };
    let key = found
        .clone()
        .unwrap_or_else(|| Path::new("image:").join(&program));
    let known = engine.probed(&key).or_else(|| {
        let kept = ProbeCache::of(&engine.state_folder()?);
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
            view: view::of(workspace, MountAccess::ReadOnly)?,
            mark: &job.mark(engine),
            cancel: &context.cancel,
        };
        match asking.ask()? {
            ProgramAnswer::Said(probed) => {
                if let (Some(found), Some(state)) = (&found, engine.state_folder()) {
                    ProbeCache::of(&state).put(found, needs, &probed);
                }
                probed
            }
            ProgramAnswer::Unusable(facts) => return Ok(Err(facts)),
            ProgramAnswer::Cancelled => return Err(Error::Cancelled),
        }
    };
    engine.note_probed(&key, &probed);
    let objection = probed.objection(needs);
    Ok(objection.map_or(Ok(()), |why| Err(unusable(FailureCause::Version, why))))
}
