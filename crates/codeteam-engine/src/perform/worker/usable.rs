//! Whether a worker's program is there and can do what is asked of it, before it is asked.

use std::path::{Path, PathBuf};

use codeteam_core::failure::{Facts, Trouble};

use crate::perform::{Context, Error, Job, view};
use crate::workers::Worker;
use crate::workers::probe::{self, Answer, Asking, Kept, unusable};
use crate::workspace::Workspace;
use codeteam_sandbox::Access;

/// Asks a CLI what it is, unless that is known; says why it cannot be used.
pub(super) fn check(
    job: &Job,
    worker: &Worker,
    workspace: &Workspace,
    context: &Context<'_>,
) -> Result<Result<(), Facts>, Error> {
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
        let kept = Kept::of(&engine.state_folder()?);
        kept.get(found.as_deref()?, needs)
    });
    let probed = if let Some(probed) = known {
        probed
    } else {
        let told = format!("asking `{}` for its version", program.display());
        (context.lines)(&job.id, &told);
        let asking = Asking {
            needs,
            program: &program,
            found: found.as_deref(),
            launcher: &*job.launcher(engine)?,
            cwd: workspace.tree_dir(),
            view: view::of(workspace, Access::ReadOnly)?,
            mark: &job.mark(engine),
            cancel: &context.cancel,
        };
        match asking.ask()? {
            Answer::Said(probed) => {
                if let (Some(found), Some(state)) = (&found, engine.state_folder()) {
                    Kept::of(&state).put(found, needs, &probed);
                }
                probed
            }
            Answer::Unusable(facts) => return Ok(Err(facts)),
            Answer::Cancelled => return Err(Error::Cancelled),
        }
    };
    engine.note_probed(&key, &probed);
    let objection = probed.objection(needs);
    Ok(objection.map_or(Ok(()), |why| Err(unusable(Trouble::Version, why))))
}
