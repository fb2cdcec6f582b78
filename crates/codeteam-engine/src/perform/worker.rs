//! Lets a worker carry its assignment out, and takes from its worktree what it really did.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::event::Sandbox;
use codeteam_core::failure::{Facts, Stage};
use codeteam_core::frame::FrameChange;
use codeteam_core::ids::{BodyId, PatchId, Tree};
use codeteam_core::input::{Input, WorkerEnd, WorkerReport};
use codeteam_sandbox::Access;
use serde::{Deserialize, Serialize};

use super::reach::Reach;
use super::{Context, Error, Job, caches, homes, now, oid, setup, view};
use crate::dialect::{self, Fold, Program, Surroundings};
use crate::engine::Engine;
use crate::process::{self, Account, CommandSpec, Exit, Limits, Line, Profile, Stream, View};
use crate::workspace::{self, Workspace};

/// The longest line of a worker that is kept.
const LINE_BYTES: usize = 1 << 20;
/// How much of a worker's output is kept in all.
const TOTAL_BYTES: u64 = 256 << 20;
/// How long a worker may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(3);

pub(super) fn work(
    job: &Job,
    assignment: &Assignment,
    context: &Context<'_>,
) -> Result<Input, Error> {
    let engine = context.engine;
    let workspace = job.prepare(engine, &assignment.tree)?;
    let dialect = dialect::of(&assignment.worker)
        .ok_or_else(|| Error::UnknownWorker(assignment.worker.0.clone()))?;
    let files = Files::of(job, engine);
    files.write_assignment(assignment)?;
    let around = Surroundings {
        codeteam: engine.codeteam.clone(),
        assignment: files.assignment.clone(),
    };
    if assignment.writable {
        setup::ready(job, &workspace, context)?;
    }
    let mut program = dialect.command(assignment, &around);
    program.reads.push(files.assignment.clone());
    let transcript = Arc::new(Mutex::new(Transcript::create(&files.transcript)?));
    let telling = Arc::clone(&transcript);
    let account = Account::telling(Arc::new(move |text: &str| {
        lock(&telling).write("network", text.into());
    }));
    let reach = Reach::of(&assignment.worker, engine, &files.private, account.clone())?;
    let mut fold = dialect.fold();
    let ran = command(job, assignment, &workspace, engine, program, &reach).and_then(|spec| {
        run(job, assignment, &spec, context, &mut |line| {
            lock(&transcript).line(&line);
            if let Some(shown) = fold.line(&line) {
                (context.lines)(&job.id, &shown);
            }
        })
    });
    // However it went, what the worker was lent comes back.
    if let Some(told) = reach.end() {
        (context.lines)(&job.id, &told);
    }
    let exit = ran?;
    let hosts = account.hosts();
    if !hosts.is_empty() {
        (context.report)(Input::NetworkUsed {
            at: now(),
            id: job.id.clone(),
            hosts,
        });
    }
    let mut end = fold.finish(&exit);
    if let (process::Status::TimedOut, WorkerEnd::Failed(facts)) = (exit.status, &mut end) {
        // Its limit, not how long it took to be rid of it.
        facts.message = format!("it took longer than {} s", assignment.timeout_ms / 1_000);
    }
    if !assignment.writable && job.sandbox != Sandbox::None {
        engine
            .untouched
            .note(&workspace.tree_dir(), &assignment.tree);
    }
    let wants_change = assignment.writable && matches!(end, WorkerEnd::Answered(_));
    // Getting the transcript onto the disk and looking at the worktree need not wait for each other.
    let (kept, collected) = std::thread::scope(|scope| {
        let keeping = scope.spawn(|| lock(&transcript).keep(engine, &files));
        let collected = wants_change.then(|| collect(job, &workspace, engine));
        (keeping.join(), collected.transpose())
    });
    let transcript = kept.map_err(|_| Error::Panicked)??;
    let change = match collected? {
        None => None,
        Some(Ok(found)) => Some(found),
        Some(Err(facts)) => {
            end = WorkerEnd::Failed(facts);
            None
        }
    };
    let report = WorkerReport {
        end,
        usage: fold.usage(),
        transcript: Some(transcript),
        change,
    };
    Ok(Input::WorkerExited {
        at: now(),
        id: job.id.clone(),
        report: Box::new(report),
    })
}

/// The worker's program, with all it sees.
fn command(
    job: &Job,
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
    program: Program,
    reach: &Reach,
) -> Result<CommandSpec, Error> {
    let mut view = view(job, assignment, workspace, engine)?;
    reach.show(&mut view);
    for file in program.reads {
        view.show(file, Access::ReadOnly);
    }
    Ok(CommandSpec {
        program: program.program,
        args: program.args,
        cwd: workspace.tree_dir(),
        env: Engine::child_env(&job.mark(engine), [program.env, reach.env.clone()].concat()),
        view,
        disk: Some(engine.disk(workspace)),
        brief: false,
    })
}

fn run(
    job: &Job,
    assignment: &Assignment,
    spec: &CommandSpec,
    context: &Context<'_>,
    sink: &mut dyn FnMut(Line<'_>),
) -> Result<Exit, Error> {
    let limits = Limits {
        wall: Duration::from_millis(assignment.timeout_ms),
        line_bytes: LINE_BYTES,
        total_bytes: TOTAL_BYTES,
        grace: GRACE,
    };
    let launcher = job.launcher(context.engine)?;
    let (profile, cancel) = (Profile::Worker, &context.cancel);
    Ok(process::run(
        &*launcher, profile, spec, &limits, cancel, sink,
    )?)
}

/// What a worker is shown: its work tree, which only those who are asked for a change may write.
fn view(
    job: &Job,
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<View, Error> {
    let access = if assignment.writable {
        Access::Writable
    } else {
        Access::ReadOnly
    };
    let mut view = if assignment.exclude.is_empty() {
        view::of(workspace, access)?
    } else {
        view::without(workspace, access, &assignment.exclude)?
    };
    caches::show(&mut view, job, engine)?;
    let allowed = &engine.config.sandbox.allow_files;
    view::hide_configuration(&mut view, &workspace.tree_dir(), allowed);
    Ok(view)
}

/// The tree and the change in a worktree, or what the worker must be told about it.
fn collect(
    job: &Job,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<Result<(Tree, FrameChange), Facts>, Error> {
    let base = oid(&job.base.tree.0)?;
    let (tree, diff) = match workspace.changes(&base) {
        Ok(found) => found,
        Err(
            error @ (workspace::Error::NestedRepositories { .. }
            | workspace::Error::Unrecordable { .. }),
        ) => {
            let message = error.to_string();
            return Ok(Err(Facts {
                stage: Stage::Forbidden,
                message,
                ..Facts::default()
            }));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(link) = diff.gitlinks().next() {
        let message = format!("`{}` refers to another repository", link.path.display());
        return Ok(Err(Facts {
            stage: Stage::Forbidden,
            message,
            ..Facts::default()
        }));
    }
    let tree = Tree(tree.as_str().to_owned());
    engine.untouched.note(&workspace.tree_dir(), &tree);
    let change = FrameChange {
        by: job.id.lasting(),
        patch: PatchId(diff.patch_id.clone()),
        diff: BodyId(engine.bodies.put(&diff.text)?),
        files: diff
            .files
            .iter()
            .map(|f| f.path.to_string_lossy().into_owned())
            .collect(),
    };
    Ok(Ok((tree, change)))
}

/// The files of one launch, beside the workspaces.
struct Files {
    assignment: PathBuf,
    transcript: PathBuf,
    /// What of the user's is lent to the worker.
    private: PathBuf,
}

impl Files {
    fn of(job: &Job, engine: &Engine) -> Self {
        let folder = engine.attempts_of(&job.run);
        Self {
            assignment: folder.join(format!("{}.json", job.id.fence)),
            transcript: folder.join(format!("{}.jsonl", job.id.fence)),
            private: homes::of(engine, &job.run, job.id.fence),
        }
    }

    fn write_assignment(&self, assignment: &Assignment) -> Result<(), Error> {
        let io = |doing, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io {
                doing,
                path,
                source,
            }
        };
        if let Some(folder) = self.assignment.parent() {
            fs::create_dir_all(folder).map_err(io("make the folder", folder))?;
        }
        let text = serde_json::to_vec_pretty(assignment)
            .map_err(|e| io("write", &self.assignment)(std::io::Error::other(e)))?;
        fs::write(&self.assignment, text).map_err(io("write", &self.assignment))
    }
}

fn lock(transcript: &Mutex<Transcript>) -> MutexGuard<'_, Transcript> {
    transcript.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a worker said, line by line, on disk as it says it; what it asked of the network too.
struct Transcript {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

#[derive(Serialize, Deserialize)]
struct Said<'a> {
    stream: &'a str,
    text: std::borrow::Cow<'a, str>,
}

impl Transcript {
    fn create(path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(|source| Error::Io {
            doing: "write the transcript",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            failed: None,
        })
    }

    fn line(&mut self, line: &Line<'_>) {
        let stream = match line.stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.write(stream, line.text.clone());
    }

    fn write(&mut self, stream: &str, text: std::borrow::Cow<'_, str>) {
        let said = Said { stream, text };
        let written = serde_json::to_writer(&mut self.file, &said)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            // What a worker has spent must be known even if codeteam dies the next moment.
            .and_then(|()| self.file.flush());
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }

    fn keep(&mut self, engine: &Engine, files: &Files) -> Result<BodyId, Error> {
        if let Some(source) = self.failed.take() {
            return Err(Error::Io {
                doing: "write the transcript",
                path: self.path.clone(),
                source,
            });
        }
        let id = engine.bodies.adopt(&self.path)?;
        // Only needed by the worker, and everything in it is in the events.
        let _ = fs::remove_file(&files.assignment);
        Ok(BodyId(id))
    }
}

/// What a launch that died with codeteam had said it spent.
pub(crate) fn spent(engine: &Engine, run: &codeteam_core::ids::RunId, fence: u64) -> Option<Usage> {
    let path = engine.attempts_of(run).join(format!("{fence}.jsonl"));
    let text = fs::read_to_string(path).ok()?;
    // Every dialect there is today tells its usage in the same way; the fold is the worker's own.
    let mut fold: Box<dyn Fold> = dialect::of(&"scripted".into())?.fold();
    for line in text.lines() {
        let Ok(said) = serde_json::from_str::<Said<'_>>(line) else {
            continue;
        };
        let stream = if said.stream == "stdout" {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        let raw = said.text.as_bytes().to_vec();
        fold.line(&Line {
            stream,
            raw: &raw,
            text: said.text,
            truncated: false,
        });
    }
    Some(fold.usage())
}
