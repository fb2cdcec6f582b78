//! Lets a worker carry its assignment out, and takes from its worktree what it really did.

mod attached;
mod edits;
mod files;
mod output;
mod transcript;
mod usable;
mod watch;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::event::{HostTraffic, SandboxKind};
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage};
use codeteam_core::frame::FrameChange;
use codeteam_core::ids::{BodyId, Tree};
use codeteam_core::input::{Input, WorkerOutcome, WorkerReport};
use codeteam_core::role::{Contract, EditMode, RoleKind};
use codeteam_core::submission::strict;
use codeteam_sandbox::{MountAccess, MountEntry, policy};

use self::files::{LaunchFiles, failed};
use self::output::OutputFilter;
pub(super) use self::transcript::retold;
use self::transcript::{Transcript, lock};
pub(crate) use self::transcript::{replayed, spent};
use self::watch::WorkerMonitor;
use super::reach::WorkerAccess;
use super::{Error, Job, JobContext, caches, frame_change, now, oid, setup, view};
use crate::artifacts;
use crate::context::{self, exact};
use crate::dialect::{
    FoldSettings, LaunchSettings, LocalClock, OutputFold, WorkerCommand, WorkerEvent,
};
use crate::engine::Engine;
use crate::process::{
    self, CommandExit, CommandLimits, CommandSpec, ExitReason, HostView, NetworkLedger, OutputLine,
    RefusedHost, SandboxProfile, WaitError, WaitLimit,
};
use crate::prompt;
use crate::workers::{Worker, prices, probe};
use crate::workspace::{self, Workspace};

/// The longest line of a worker that is kept: an answer with whole files in it is one line.
const LINE_BYTES: usize = 12 << 20;
/// What is said of a worker whose sandbox somebody else has ended.
const SANDBOX_KILLED: &str = "its sandbox was killed, and not by codeteam";
/// How long it may take to collect what a worker has done: as long as the worker itself may take,
/// but neither less nor more than this.
const COLLECTING: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));
/// How long a worker may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(3);

pub(super) fn work(
    job: &Job,
    assignment: &Assignment,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    match WorkerAttempt::prepare(job, assignment, context)? {
        Ok(errand) => errand.carry_out(),
        Err(facts) => Ok(came_to_nothing(job, facts)),
    }
}

/// An assignment and all that carries it out.
struct WorkerAttempt<'a> {
    job: &'a Job,
    context: &'a JobContext<'a>,
    assignment: Assignment,
    worker: Worker,
    workspace: Arc<Workspace>,
    files: LaunchFiles,
    session: Option<ConversationDir>,
    listening: FoldSettings,
    transcript: Arc<Mutex<Transcript>>,
}

impl<'a> WorkerAttempt<'a> {
    /// Makes everything ready; says what the worker lacks if it lacks something.
    fn prepare(
        job: &'a Job,
        assignment: &Assignment,
        context: &'a JobContext<'a>,
    ) -> Result<Result<Self, FailureFacts>, Error> {
        let engine = context.engine;
        let workspace = job.prepare(engine, &assignment.tree)?;
        let worker = Worker::find(&engine.config, &assignment.worker)
            .ok_or_else(|| Error::UnknownWorker(assignment.worker.0.clone()))?;
        let model = assignment.model.as_ref().or(worker.model.as_ref()).cloned();
        let worker = match worker.speaking(&engine.env.keys, model.as_deref()) {
            Ok(worker) => worker,
            Err(facts) => return Ok(Err(facts)),
        };
        if let Err(facts) = usable::check(job, &worker, &workspace, context)? {
            return Ok(Err(facts));
        }
        if assignment.writable {
            if assignment.tree != job.base.tree {
                workspace.unstage(&oid(&job.base.commit.0)?)?;
            }
            setup::ready(job, &workspace, context)?;
        }
        let files = LaunchFiles::of(job, engine);
        let session = ConversationDir::of(job, assignment, &worker, engine)?;
        let mut assignment = assignment.clone();
        if session.as_ref().is_none_or(|session| !session.is_there) {
            assignment.session = None;
        }
        let before = assignment.session.as_ref().map(|session| session.usage);
        let listening = FoldSettings {
            account: worker.account.clone(),
            model,
            before: before.unwrap_or_default(),
            clock: LocalClock::read(),
            bare: assignment.contract == Contract::Strict,
        };
        let transcript = Transcript::create(&files.transcript, worker.dialect, &listening)?;
        Ok(Ok(Self {
            job,
            context,
            assignment,
            worker,
            workspace,
            files,
            session,
            listening,
            transcript: Arc::new(Mutex::new(transcript)),
        }))
    }

    /// Lets the worker work, to its end.
    fn carry_out(self) -> Result<Input, Error> {
        let (job, context) = (self.job, self.context);
        let telling = Arc::clone(&self.transcript);
        let account = NetworkLedger::telling(Arc::new(move |text: &str| {
            lock(&telling).write("network", text.into());
        }));
        let (worker, private) = (&self.worker, &self.files.private);
        let engine = context.engine;
        let reach = WorkerAccess::for_job(job, worker, &self.assignment, private, engine, &account);
        let reach = match reach {
            // What the user's configuration lacks is the worker's trouble: another may stand in.
            Err(error @ (Error::Server(_) | Error::NotLoggedIn(_))) => {
                let facts = probe::unusable(FailureCause::Login, error.to_string());
                return Ok(came_to_nothing(job, facts));
            }
            reach => reach?,
        };
        let served = reach.served();
        let mut fold = worker.dialect.dialect().fold(&self.listening);
        let ran = self.run(&reach, &mut *fold);
        // However it went, what the worker was lent comes back.
        if let Some(told) = reach.end() {
            (context.lines)(&job.id, &told);
        }
        let (exit, ended) = match ran {
            // Nobody else could be told it either, and trying again does not make it shorter.
            Err(Error::Context(context::Error::CannotFit(error))) => {
                let hint = "raise the role's `context.budget` or `limits.max_token_budget`";
                let message = format!("{error}; {hint}");
                return Ok(came_to_nothing(
                    job,
                    probe::unusable(FailureCause::Length, message),
                ));
            }
            ran => ran?,
        };
        let hosts = account.hosts();
        if !hosts.is_empty() {
            (context.report)(Input::NetworkUsed {
                at: now(),
                id: job.id.clone(),
                hosts,
            });
        }
        let mut end = self.ended(fold.finish(&exit), &exit)?;
        match (&mut end, ended) {
            // It was ended here, and says nothing of why itself.
            (WorkerOutcome::Failed(facts), Some(why)) => *facts = why,
            (WorkerOutcome::Failed(facts), None) => {
                facts.message = served.name_apis(&facts.message);
                tell_refusal_from_outage(facts, &account.hosts(), &account.refused());
            }
            (WorkerOutcome::Answered(_), _) => {}
        }
        self.report(end, &*fold)
    }

    /// Runs the worker; what it says goes to the transcript, to the fold and to whoever watches.
    /// Tells how it ended, and why if it was ended here.
    fn run(
        &self,
        reach: &WorkerAccess,
        fold: &mut dyn OutputFold,
    ) -> Result<(CommandExit, Option<FailureFacts>), Error> {
        let spec = self.command(self.program(reach)?, reach)?;
        let (assignment, context) = (&self.assignment, self.context);
        let mut output = OutputFilter::new(&context.engine.redactor);
        // Where the worktree is means nothing to a person.
        let tree = format!("{}/", self.workspace.tree_dir().display());
        let mut watch = WorkerMonitor::begin(self.job, assignment, context);
        let cancel = watch.cancel.clone();
        let mut sink = |line: OutputLine<'_>| {
            let line = output.filter(line);
            let is_new_part = lock(&self.transcript).line(line.event.stream, &line.kept);
            let told = fold.line(&line.event);
            if is_new_part {
                lock(&self.transcript).record_usage(fold.usage());
            }
            for shown in told.iter().filter_map(WorkerEvent::shown) {
                let shown = shown.replace(&tree, "");
                let shown = output.filter_shown(line.event.stream, &shown);
                (context.lines)(&self.job.id, &shown);
            }
            // What it says last, it says itself.
            if !told.contains(&WorkerEvent::Final) {
                watch.look(&*fold);
            }
        };
        let stall = Some(assignment.stall_ms).filter(|ms| *ms > 0);
        let limits = CommandLimits {
            wall: Duration::from_millis(assignment.timeout_ms),
            silence: stall.map(Duration::from_millis),
            line_bytes: LINE_BYTES,
            // Its answer comes last, however much it said before. What is kept is bounded there.
            total_bytes: u64::MAX,
            grace: GRACE,
        };
        let launcher = self.job.launcher(context.engine)?;
        let exit = process::run(
            &*launcher,
            SandboxProfile::Worker,
            &spec,
            &limits,
            &cancel,
            &mut sink,
        )?;
        Ok((exit, watch.ended))
    }

    /// What became of it, with what it has changed by its answer in the worktree.
    fn ended(&self, mut end: WorkerOutcome, exit: &CommandExit) -> Result<WorkerOutcome, Error> {
        let (assignment, engine) = (&self.assignment, self.context.engine);
        if let WorkerOutcome::Failed(facts) = &mut end {
            if exit.lost {
                SANDBOX_KILLED.clone_into(&mut facts.message);
            }
            // Its limit, not how long it took to be rid of it.
            match exit.status {
                ExitReason::TimedOut => {
                    let seconds = assignment.timeout_ms / 1_000;
                    facts.message = format!("it took longer than {seconds} s");
                }
                ExitReason::Stalled => {
                    let seconds = assignment.stall_ms / 1_000;
                    facts.message = format!("it said nothing for {seconds} s");
                }
                _ => {}
            }
        }
        let tree = self.workspace.tree_dir();
        if !assignment.writable && self.job.sandbox != SandboxKind::None {
            engine.untouched.note(&tree, &assignment.tree);
        }
        let is_editing = assignment.writable && assignment.means.mode == EditMode::Edits;
        if let (WorkerOutcome::Answered(answer), true) = (&end, is_editing) {
            let note = |text: &str| self.note(text);
            let applied = edits::apply(self.job, assignment, answer, &tree, engine, &note)?;
            end = applied.err().map_or(end, WorkerOutcome::Failed);
        }
        if let WorkerOutcome::Answered(answer) = &mut end
            && prompt::is_exact(assignment)
            && assignment.kind == RoleKind::Gatekeeper
        {
            // What the tests printed is known here; that it was copied right matters to nobody.
            let outputs = attached::outputs(assignment, engine)?;
            let (_, output) = exact::tested(&assignment.checks, &outputs);
            if let Some(mended) = strict::with_report(answer, &strict::report(&output)) {
                *answer = mended;
                self.note("its report is not what the tests printed; what they printed is taken");
            }
        }
        redacted(&mut end, engine);
        Ok(end)
    }

    /// Says what was made of its answer, where its words are kept too.
    fn note(&self, text: &str) {
        lock(&self.transcript).write("codeteam", text.into());
        (self.context.lines)(&self.job.id, text);
    }

    /// Keeps what it said, and takes from its worktree what it did.
    fn report(&self, mut end: WorkerOutcome, fold: &dyn OutputFold) -> Result<Input, Error> {
        let engine = self.context.engine;
        let wants_change = self.assignment.writable && matches!(end, WorkerOutcome::Answered(_));
        // Getting the transcript onto the disk and looking at the worktree need not wait for each
        // other.
        let transcript = &self.transcript;
        let (kept, collected) = std::thread::scope(|scope| {
            let keeping = scope.spawn(|| lock(transcript).keep(engine));
            let collected = wants_change.then(|| self.collect());
            (keeping.join(), collected.transpose())
        });
        self.files.forget();
        let transcript = kept.map_err(|_| Error::Panicked)??;
        let change = match collected? {
            None => None,
            Some(Ok(found)) => Some(found),
            Some(Err(facts)) => {
                end = WorkerOutcome::Failed(facts);
                None
            }
        };
        let session = self.session.as_ref().and_then(|_| fold.session());
        let report = WorkerReport {
            end,
            usage: prices::priced(fold.usage(), fold.model(), &engine.config.prices),
            transcript: Some(transcript),
            change,
            session: session.map(str::to_owned),
            log: self.log()?,
            edited: Vec::new(),
            failed_write: fold.failed_write().map(str::to_owned),
        };
        Ok(exited(self.job, report))
    }

    /// The tree and the change in the worktree, or what the worker must be told about it. What a
    /// worker leaves can take as long to collect as it likes, so that has a limit, too.
    fn collect(&self) -> Result<Result<(Tree, FrameChange), FailureFacts>, Error> {
        let (job, workspace, engine) = (self.job, &self.workspace, self.context.engine);
        let base = oid(&job.base.tree.0)?;
        let limit = Duration::from_millis(self.assignment.timeout_ms);
        let limit = limit.clamp(COLLECTING.0, COLLECTING.1);
        let (changes, is_late) = {
            let _limit = WaitLimit::within(limit);
            let changes = workspace.changes(&base);
            (
                changes,
                WaitLimit::current().check() == Err(WaitError::TimedOut),
            )
        };
        self.tell_repairs();
        let (tree, diff) = match changes {
            Ok(found) => found,
            Err(
                error @ (workspace::Error::NestedRepositories { .. }
                | workspace::Error::Unrecordable { .. }
                | workspace::Error::Filtered { .. }),
            ) => return Ok(Err(forbidden(error.to_string()))),
            Err(_) if is_late => return Ok(Err(forbidden(self.too_late(limit)))),
            Err(error) => return Err(error.into()),
        };
        if let Some(link) = diff.gitlinks().next() {
            let path = link.path.display();
            return Ok(Err(forbidden(format!(
                "`{path}` refers to another repository"
            ))));
        }
        let tree = Tree(tree.as_str().to_owned());
        engine.untouched.note(&workspace.tree_dir(), &tree);
        let change = frame_change(engine, job.id.lasting(), &diff)?;
        Ok(Ok((tree, change)))
    }

    /// Says what had to be put right in the worktree.
    fn tell_repairs(&self) {
        let repairs = self.workspace.take_repairs();
        for file in &repairs.removed {
            self.note(&format!("{file}, which git cannot record: it was removed"));
        }
        if let Some(first) = repairs.unlocked.first() {
            let (first, count) = (first.display(), repairs.unlocked.len());
            self.note(&format!(
                "{count} folders could not be read or written, `{first}` for one: they can be now"
            ));
        }
    }

    /// What is said of a worktree that takes too long to collect.
    fn too_late(&self, limit: Duration) -> String {
        let seconds = limit.as_secs();
        let mut text = format!("the files it left could not be collected within {seconds} s");
        let largest = self.workspace.largest_files().unwrap_or_default();
        for (at, (path, bytes)) in largest.iter().enumerate() {
            let before = if at == 0 { "; the largest are" } else { "," };
            let (path, megabytes) = (path.display(), bytes >> 20);
            let _ = write!(text, "{before} `{path}` ({megabytes} MB)");
        }
        text.push_str(". Leave no large files behind, or have git ignore them");
        text
    }

    /// Keeps the log that is to be shortened, as it was.
    fn log(&self) -> Result<Option<BodyId>, Error> {
        if !self.assignment.shortens {
            return Ok(None);
        }
        let log = self.assignment.log.as_bytes();
        Ok(Some(BodyId(self.context.engine.bodies.put(log)?)))
    }

    /// What carries the assignment out, with its files where it will look for them.
    fn program(&self, reach: &WorkerAccess) -> Result<WorkerCommand, Error> {
        let (assignment, worker, engine) = (&self.assignment, &self.worker, self.context.engine);
        let named = &assignment.means.mcp_servers;
        let servers = named.iter().filter_map(|name| {
            let server = engine.config.mcp_servers.get(name)?;
            Some((name.clone(), server.clone()))
        });
        let around = LaunchSettings {
            codeteam: engine.codeteam.clone(),
            folder: self.files.folder.clone(),
            assignment: self.files.assignment.clone(),
            program: worker.program(),
            model: self.listening.model.clone(),
            base_url: reach.base_url.clone(),
            protocol: worker.protocol,
            web_search: reach.web_search.clone(),
            sampling: worker.sampling,
            price: prices::find(self.listening.model.as_deref(), &engine.config.prices),
            keyed: reach.keyed,
            confined: self.job.sandbox != SandboxKind::None,
            mcp_servers: servers.collect(),
        };
        let context::RenderedPrompt { prompt, packed } =
            attached::told(self.job, assignment, &self.workspace, engine)?;
        (self.context.report)(Input::ContextPacked {
            at: now(),
            id: self.job.id.clone(),
            packed: Box::new(packed),
        });
        let redactor = &engine.redactor;
        self.files.write_assignment(assignment, &prompt, redactor)?;
        if self.job.audit {
            let told = format!("{}\n\n---\n\n{}", prompt.system, prompt.user);
            artifacts::audit(
                engine,
                &self.job.run,
                &self.job.id,
                "prompt.md",
                told.as_bytes(),
            )?;
        }
        let dialect = worker.dialect.dialect();
        let mut program = dialect.command(assignment, &prompt, &around);
        for (path, text) in &program.files {
            self.files.write(path, text)?;
        }
        program.reads.push(self.files.folder.clone());
        Ok(program)
    }

    /// The worker's program, with all it sees.
    fn command(&self, program: WorkerCommand, reach: &WorkerAccess) -> Result<CommandSpec, Error> {
        let (job, engine, workspace) = (self.job, self.context.engine, &self.workspace);
        let mut view = view(job, &self.assignment, workspace, engine)?;
        reach.show(&mut view);
        if let Some(session) = &self.session {
            session.show(&mut view);
        }
        for file in program.reads {
            view.show(file, MountAccess::ReadOnly);
        }
        for (source, place) in program.placed {
            view.entries.push(MountEntry::Bind {
                source,
                target: Path::new(policy::HOME).join(place),
                access: MountAccess::ReadOnly,
            });
        }
        let (name, args) = match program.stdin {
            None => (program.program, program.args),
            // No worker may ever wait for a terminal, so there is no standard input but a file.
            Some(file) => {
                let script = r#"exec "$@" <"$0""#;
                let mut args: Vec<OsString> = vec!["-c".into(), script.into(), file.into()];
                args.push(program.program);
                args.extend(program.args);
                ("/bin/sh".into(), args)
            }
        };
        let mut env = program.env;
        // Times that it tells are read as such.
        env.push(("TZ".into(), "UTC".into()));
        env.extend(reach.env.iter().cloned());
        Ok(CommandSpec {
            program: name,
            args,
            cwd: workspace.tree_dir(),
            env: Engine::child_env(&job.mark(engine), env),
            view,
            disk: Some(Engine::disk(workspace, &engine.config.sandbox)),
            brief: false,
        })
    }
}

/// Takes secrets out of what becomes an event. Files in an answer are in the worktree by now.
pub(super) fn redacted(end: &mut WorkerOutcome, engine: &Engine) {
    let text = match end {
        WorkerOutcome::Answered(text) => text,
        WorkerOutcome::Failed(facts) => &mut facts.message,
    };
    if let Cow::Owned(redacted) = engine.redactor.redact(text).text {
        *text = redacted;
    }
}

pub(super) fn exited(job: &Job, report: WorkerReport) -> Input {
    Input::WorkerExited {
        at: now(),
        id: job.id.clone(),
        report: Box::new(report),
    }
}

/// A worker that could not even be started.
/// An API that the sandbox does not let the worker reach is not waited for: it would never answer.
fn tell_refusal_from_outage(
    facts: &mut FailureFacts,
    hosts: &[HostTraffic],
    refused: &[RefusedHost],
) {
    let is_outage = hosts
        .iter()
        .any(|host| host.failed > 0 || host.received > 0);
    if facts.trouble != Some(FailureCause::Unreachable) || is_outage || refused.is_empty() {
        return;
    }
    let refused: Vec<String> = refused
        .iter()
        .map(|refused| format!("{} ({})", refused.host, refused.why))
        .collect();
    facts.trouble = Some(FailureCause::Confined);
    facts.message = format!(
        "the sandbox does not let it reach {}; if it is to reach that, name the host under \
         `sandbox.hosts` in your own configuration",
        refused.join(", ")
    );
}

fn came_to_nothing(job: &Job, facts: FailureFacts) -> Input {
    exited(
        job,
        WorkerReport {
            end: WorkerOutcome::Failed(facts),
            usage: Usage::default(),
            transcript: None,
            change: None,
            session: None,
            log: None,
            edited: Vec::new(),
            failed_write: None,
        },
    )
}

/// Whether the worker itself changes files.
fn changes_files(assignment: &Assignment) -> bool {
    assignment.writable && assignment.means.mode == EditMode::Tools
}

/// What a worker is shown: its work tree, which only those who are asked for a change may write.
fn view(
    job: &Job,
    assignment: &Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<HostView, Error> {
    let access = if changes_files(assignment) {
        MountAccess::Writable
    } else {
        MountAccess::ReadOnly
    };
    let mut view = if assignment.exclude.is_empty() {
        view::of(workspace, access)?
    } else {
        view::without(workspace, access, &assignment.exclude)?
    };
    caches::show(&mut view, job, engine)?;
    let allowed = &engine.config.sandbox.allow_files;
    view::hide_configuration(&mut view, &workspace.tree_dir(), allowed);
    // Last: what is hidden here is hidden there too.
    setup::show_shared(&mut view, job, workspace, engine)?;
    Ok(view)
}

/// Where a worker keeps what was said, for the roles that may go on in it: a folder of the slot's
/// own, for as long as the run lasts.
struct ConversationDir {
    folder: PathBuf,
    /// Where the CLI looks for it, relative to its home.
    place: &'static str,
    /// Whether the session that the assignment names can be gone on in.
    is_there: bool,
}

impl ConversationDir {
    fn of(
        job: &Job,
        assignment: &Assignment,
        worker: &Worker,
        engine: &Engine,
    ) -> Result<Option<Self>, Error> {
        let Some(place) = worker.dialect.dialect().sessions() else {
            return Ok(None);
        };
        if !assignment.means.continues {
            return Ok(None);
        }
        let slot = format!(
            "{}:{}.{}:{}",
            job.id.frame, job.id.step, job.id.slot, worker.name
        );
        let name = blake3::hash(slot.as_bytes()).to_hex();
        let folder = engine
            .attempts_of(&job.run)
            .join(format!("{}.sessions", &name[..16]));
        let is_there = folder.is_dir();
        fs::create_dir_all(&folder).map_err(failed("make the folder", &folder))?;
        Ok(Some(Self {
            folder,
            place,
            is_there,
        }))
    }

    fn show(&self, view: &mut HostView) {
        view.entries.push(MountEntry::Bind {
            source: self.folder.clone(),
            target: Path::new(policy::HOME).join(self.place),
            access: MountAccess::Writable,
        });
    }
}

/// What a worker is told of a change that cannot be taken.
fn forbidden(message: String) -> FailureFacts {
    FailureFacts {
        stage: FailureStage::Forbidden,
        message,
        ..FailureFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(reached: HostTraffic, refused: &[RefusedHost]) -> FailureFacts {
        let mut facts = FailureFacts {
            trouble: Some(FailureCause::Unreachable),
            message: "stream disconnected".to_owned(),
            ..FailureFacts::default()
        };
        tell_refusal_from_outage(&mut facts, &[reached], refused);
        facts
    }

    #[test]
    fn what_the_sandbox_refuses_is_no_outage() {
        let refused = [RefusedHost {
            host: "api.example.org:443".to_owned(),
            why: "no rule allows it".to_owned(),
            is_private: false,
        }];
        let denied = || HostTraffic {
            host: "api.example.org:443".to_owned(),
            denied: 1,
            ..HostTraffic::default()
        };
        let facts = judged(denied(), &refused);
        assert_eq!(facts.trouble, Some(FailureCause::Confined));
        assert!(
            facts
                .message
                .contains("does not let it reach api.example.org:443 (no rule allows it)"),
            "{}",
            facts.message
        );
        // A CLI also asks for what it does without, while its API is down.
        let down = HostTraffic {
            failed: 1,
            ..denied()
        };
        assert_eq!(
            judged(down, &refused).trouble,
            Some(FailureCause::Unreachable)
        );
        let nothing = judged(HostTraffic::default(), &[]);
        assert_eq!(nothing.trouble, Some(FailureCause::Unreachable));
    }
}
