//! Whether a worker's program is there and can do what is asked of it, before it is asked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codeteam_core::event::Sandbox;
use codeteam_core::failure::{Facts, Trouble};

use crate::dialect::Needs;
use crate::engine::Engine;
use crate::perform::{Context, Error, Job, view};
use crate::process::{self, CommandSpec, Limits, Profile, Status, Stream};
use crate::workers::Worker;
use crate::workers::probe::{self, Kept, Probed, unusable};
use crate::workspace::Workspace;
use codeteam_sandbox::Access;

const LIMITS: Limits = Limits {
    wall: Duration::from_secs(60),
    silence: None,
    line_bytes: 64 << 10,
    total_bytes: 1 << 20,
    grace: Duration::from_secs(1),
};

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
    // What an image has, only the image can tell.
    let found = match job.sandbox {
        Sandbox::Container => None,
        Sandbox::Bubblewrap | Sandbox::None => match probe::find(&program, &engine.env.path) {
            Some(found) => Some(found.canonicalize().unwrap_or(found)),
            None => return Ok(Err(missing(needs, &program))),
        },
    };
    let key = found
        .clone()
        .unwrap_or_else(|| Path::new("image:").join(&program));
    let known = engine.probed(&key).or_else(|| {
        let kept = Kept::of(&engine.state_folder()?);
        kept.get(found.as_deref()?, needs)
    });
    let probed = match known {
        Some(probed) => probed,
        None => match ask(job, needs, &program, workspace, context)? {
            Ok(probed) => {
                if let (Some(found), Some(state)) = (&found, engine.state_folder()) {
                    Kept::of(&state).put(found, needs, &probed);
                }
                probed
            }
            Err(facts) => return Ok(Err(facts)),
        },
    };
    engine.note_probed(&key, &probed);
    let objection = probed.objection(needs);
    Ok(objection.map_or(Ok(()), |why| Err(unusable(Trouble::Version, why))))
}

fn missing(needs: &Needs, program: &Path) -> Facts {
    let (program, package) = (program.display(), needs.package);
    let why = format!("`{program}` is not installed; `npm install -g {package}` installs it");
    unusable(Trouble::Missing, why)
}

/// Starts it twice, confined and without a network.
fn ask(
    job: &Job,
    needs: &Needs,
    program: &Path,
    workspace: &Workspace,
    context: &Context<'_>,
) -> Result<Result<Probed, Facts>, Error> {
    (context.lines)(
        &job.id,
        &format!("asking `{}` for its version", program.display()),
    );
    let mut answers = [String::new(), String::new()];
    let questions: [&[&str]; 2] = [&["--version"], needs.help];
    for (answer, question) in answers.iter_mut().zip(questions) {
        let mut errors = String::new();
        let spec = CommandSpec {
            program: program.into(),
            args: question.iter().map(OsString::from).collect(),
            cwd: workspace.tree_dir(),
            env: Engine::child_env(&job.mark(context.engine), Vec::new()),
            view: view::of(workspace, Access::ReadOnly)?,
            disk: None,
            brief: false,
        };
        let launcher = job.launcher(context.engine)?;
        let mut sink = |line: process::Line<'_>| {
            let text = match line.stream {
                Stream::Stdout => &mut *answer,
                Stream::Stderr => &mut errors,
            };
            text.push_str(&line.text);
            text.push('\n');
        };
        let exit = match process::run(
            &*launcher,
            Profile::Executor,
            &spec,
            &LIMITS,
            &context.cancel,
            &mut sink,
        ) {
            Err(process::Error::NotFound { .. }) => return Ok(Err(missing(needs, program))),
            exit => exit?,
        };
        match exit.status {
            Status::Exited(0) => {}
            Status::Exited(126 | 127) => return Ok(Err(missing(needs, program))),
            Status::Cancelled => return Err(Error::Cancelled),
            _ => {
                let said = errors.lines().last().unwrap_or("it said nothing").trim();
                let (program, question) = (program.display(), question.join(" "));
                let why = format!("`{program} {question}` failed: {said}");
                return Ok(Err(unusable(Trouble::Version, why)));
            }
        }
    }
    Ok(Ok(Probed::read(needs, &answers[0], &answers[1])))
}
