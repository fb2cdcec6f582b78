//! Lets a worker carry out its assignment, and takes from its worktree what it really changed.

mod conversation_dir;
mod edits;
mod files;
mod monitor;
mod output;
mod program_check;
mod prompt_rendering;
mod session_usage;
mod transcript;
mod worker_view;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codeteam_core::assignment::Assignment;
use codeteam_core::budget::Usage;
use codeteam_core::event::{HostTraffic, SandboxKind};
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage};
use codeteam_core::frame::FrameChange;
use codeteam_core::ids::{BodyId, Tree};
use codeteam_core::input::{Input, WorkerOutcome, WorkerReport};
use codeteam_core::role::{Contract, EditMode, ExecutionOptions, RoleKind};
use codeteam_core::submission::strict;
use codeteam_core::untrusted_text::one_line;
use codeteam_sandbox::{MountAccess, MountEntry, policy};

use self::conversation_dir::ConversationDir;
use self::files::LaunchFiles;
use self::monitor::WorkerMonitor;
use self::output::OutputFilter;
pub use self::transcript::LogLineKind;
pub(super) use self::transcript::retold;
use self::transcript::{Transcript, lock};
pub(crate) use self::transcript::{
    TranscriptReader, read_unfinished, replayed, spent, trace_transcript,
};
use super::worker_access::WorkerAccess;
use super::{Error, Job, JobContext, certificates, frame_change, oid, setup};
use crate::clock::now;
use crate::context::{self, exact};
use crate::diagnostic_log;
use crate::dialect::{
    DialectName, FoldSettings, LaunchSettings, LocalClock, OutputFold, WorkerCommand, WorkerEvent,
};
use crate::engine::Engine;
use crate::prompt;
use crate::workers::{Worker, prices, probe};
use codeteam_host::process::{
    self, CommandExit, CommandLimits, CommandSpec, ExitReason, NetworkLedger, OutputLine,
    OutputStream, RefusedHost, SandboxProfile, WaitError, WaitLimit,
};
use codeteam_host::workspace::{self, Workspace};
use codeteam_report::artifacts;

/// The longest line of a worker's output that is kept: an answer with whole files in it is one
/// line.
const LINE_BYTES: usize = 12 << 20;
/// The longest name of a model that is recorded.
const MODEL_BYTES: usize = 200;
/// The message for a worker whose sandbox was killed by somebody else.
const SANDBOX_KILLED: &str = "its sandbox was killed, and not by codeteam";
/// The minimum and maximum time for collecting a worker's changes. In between, it may take as long
/// as the worker itself may take.
const COLLECTING: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));
/// The time in which a worker must exit after it is asked to.
const GRACE: Duration = Duration::from_secs(3);

/// Carries out an assignment with its worker, to the end.
pub(super) fn carry_out_assignment(
    job: &Job,
    assignment: &Assignment,
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    job.expect_launch(context.engine);
    match WorkerAttempt::prepare(job, assignment, context)? {
        Ok(errand) => errand.run_to_end(),
        Err(facts) => Ok(failed_start_input(job, facts)),
    }
}

/// Writes what upstream tasks have brought forth into files that the worker can open, where it is
/// told only a part of it.
fn write_upstream_texts(
    assignment: &mut Assignment,
    workspace: &Workspace,
    engine: &Engine,
) -> Result<(), Error> {
    for result in &mut assignment.earlier.upstream {
        let Some(text) = &result.full_text else {
            continue;
        };
        let name = format!(".codeteam/upstream/{}.md", result.task);
        let text = engine.redactor.redact(text).text;
        if workspace.write_own_text(Path::new(&name), &text)? {
            result.full_text_file = Some(name);
        }
    }
    Ok(())
}

/// Adds to the roles of which some are to be chosen what the configuration says about their workers:
/// the model, and the price of its tokens.
fn add_models_and_prices(assignment: &mut Assignment, engine: &Engine) {
    let config = &engine.config;
    for role in &mut assignment.team.roles {
        let first = role.workers.first();
        let Some(worker) = first.and_then(|name| Worker::find(config, name)) else {
            continue;
        };
        let (named, usual) = (role.model.as_deref(), ExecutionOptions::default());
        role.model = worker.choose_model(named, &usual, &engine.env.keys);
        let price = prices::find_price(role.model.as_deref(), &config.prices);
        role.price =
            price.map(|price| format!("${} read and ${} written", price.input, price.output));
    }
}

/// One attempt of a worker at an assignment, with everything that it needs.
///
/// `prepare` checks the program and sets up the worktree; `run_to_end` then grants the access to
/// the model, runs the worker while its output goes to the transcript and the fold, takes back what
/// was lent to it, applies its answer, and reports the change that is really in the worktree.
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
    /// Prepares the attempt. Returns the worker's failure if something that it needs is missing.
    fn prepare(
        job: &'a Job,
        assignment: &Assignment,
        context: &'a JobContext<'a>,
    ) -> Result<Result<Self, FailureFacts>, Error> {
        let engine = context.engine;
        let workspace = job.prepare(engine, &assignment.tree)?;
        let worker = Worker::find(&engine.config, &assignment.worker)
            .ok_or_else(|| Error::UnknownWorker(assignment.worker.0.clone()))?;
        let keys = &engine.env.keys;
        let model = worker.choose_model(assignment.model.as_deref(), &assignment.means, keys);
        let worker = match worker.with_protocol(&engine.env.keys, model.as_deref()) {
            Ok(worker) => worker,
            Err(facts) => return Ok(Err(facts)),
        };
        if let Err(facts) = program_check::check_program(job, &worker, &workspace, context)? {
            return Ok(Err(facts));
        }
        if assignment.writable {
            if assignment.tree != job.base.tree {
                workspace.unstage(&oid(&job.base.commit.0)?)?;
            }
            setup::set_up_workspace(job, &workspace, context)?;
        }
        let files = LaunchFiles::for_launch(job, engine);
        let session = ConversationDir::open(job, assignment, &worker, engine)?;
        let mut assignment = assignment.clone();
        if session
            .as_ref()
            .is_none_or(|session| !session.can_continue())
        {
            assignment.session = None;
        }
        write_upstream_texts(&mut assignment, &workspace, engine)?;
        add_models_and_prices(&mut assignment, engine);
        let before = assignment.session.as_ref().map(|session| session.usage);
        let listening = FoldSettings {
            account: worker.account.clone(),
            model,
            before: before.unwrap_or_default(),
            clock: LocalClock::read(),
            bare: assignment.expected.contract == Contract::Strict,
            plans_first: Worker::needs_to_plan(&engine.config, &worker.name, &assignment.means),
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

    /// Runs the worker to its end and reports the result.
    fn run_to_end(self) -> Result<Input, Error> {
        let (job, context) = (self.job, self.context);
        let telling = Arc::clone(&self.transcript);
        let account = NetworkLedger::with_logger(Arc::new(move |text: &str| {
            lock(&telling).write("network", text.into());
        }));
        let (worker, private) = (&self.worker, &self.files.private);
        let engine = context.engine;
        let reach = WorkerAccess::for_job(job, worker, &self.assignment, private, engine, &account);
        let reach = match reach {
            // A missing setting of the user's is a failure of this worker only: a substitute may
            // work.
            Err(error @ (Error::Server(_) | Error::NotLoggedIn(_))) => {
                let facts = probe::unusable_program(FailureCause::Login, error.to_string());
                return Ok(failed_start_input(job, facts));
            }
            reach => reach?,
        };
        let served = reach.served();
        let mut fold = worker.dialect.dialect().fold(&self.listening);
        let ran = self.run(&reach, &mut *fold);
        // Whatever happened, what the worker was lent must come back.
        if let Some(told) = reach.release() {
            (context.lines)(&job.id, &told);
        }
        let (exit, ended, measured) = match ran {
            // The prompt would be too long for any other worker too, and a retry does not make it
            // shorter.
            Err(Error::Context(context::Error::CannotFit(error))) => {
                let hint = "raise the role's `context.budget` or `limits.max_token_budget`";
                let message = format!("{error}; {hint}");
                return Ok(failed_start_input(
                    job,
                    probe::unusable_program(FailureCause::Length, message),
                ));
            }
            ran => ran?,
        };
        let hosts = account.reached_hosts();
        if !hosts.is_empty() {
            (context.report)(Input::NetworkUsed {
                at: now(),
                id: job.id.clone(),
                hosts,
            });
        }
        let mut end = self.apply_answer(fold.finish(&exit), &exit)?;
        match (&mut end, ended) {
            // Codeteam ended the worker, so the reason is known here and not in its output.
            (WorkerOutcome::Failed(facts), Some(why)) => *facts = why,
            (WorkerOutcome::Failed(facts), None) => {
                facts.message = served.name_apis(&facts.message);
                tell_refusal_from_outage(facts, &account.reached_hosts(), &account.refused_hosts());
            }
            (WorkerOutcome::Answered(_), _) => {}
        }
        self.report(end, &*fold, measured)
    }

    /// Runs the worker. Its output goes to the transcript, to the fold and to the observer. Returns
    /// how it exited, the reason if codeteam ended it, and what it was seen to use.
    fn run(
        &self,
        reach: &WorkerAccess,
        fold: &mut dyn OutputFold,
    ) -> Result<(CommandExit, Option<FailureFacts>, Usage), Error> {
        self.job.expect_launch(self.context.engine);
        let (program, internals) = self.program(reach)?;
        let spec = self.command(program, &internals, reach)?;
        let (assignment, context) = (&self.assignment, self.context);
        let mut output = OutputFilter::new(&context.engine.redactor);
        // The path of the worktree means nothing to a person, so it is removed from what is shown.
        let tree = format!("{}/", self.workspace.tree_dir().display());
        let measured = self
            .session
            .as_ref()
            .and_then(|session| session.measure(self.worker.dialect, self.listening.before));
        let mut watch = WorkerMonitor::begin(self.job, assignment, context, measured);
        let cancel = watch.cancel.clone();
        let relays_log = self.is_own_program() && diagnostic_log::worker_directives().is_some();
        let mut sink = |line: OutputLine<'_>| {
            let is_relayed = relays_log && line.stream == OutputStream::Stderr;
            if is_relayed && diagnostic_log::record_worker_line(&line.text) {
                return;
            }
            let line = output.filter(line);
            let is_new_part = lock(&self.transcript).line(line.event.stream, &line.kept);
            let told = fold.line(&line.event);
            if is_new_part {
                lock(&self.transcript).record_usage(fold.usage());
            }
            for shown in told.iter().filter_map(WorkerEvent::display_text) {
                let shown = shown.replace(&tree, "");
                let shown = output.filter_shown(line.event.stream, &shown);
                (context.lines)(&self.job.id, &shown);
            }
            // After its final event the worker exits by itself, so there is nothing left to end.
            if !told.contains(&WorkerEvent::Final) {
                watch.observe(&*fold);
            }
        };
        let stall = Some(assignment.limits.stall_ms).filter(|ms| *ms > 0);
        let limits = CommandLimits {
            wall: Duration::from_millis(assignment.limits.timeout_ms),
            silence: stall.map(Duration::from_millis),
            line_bytes: LINE_BYTES,
            // The answer comes last, however much was printed before. The transcript limits what is
            // kept.
            total_bytes: u64::MAX,
            grace: GRACE,
        };
        let launcher = self.job.launcher(context.engine)?;
        let exit = process::run_command(
            &*launcher,
            SandboxProfile::Worker,
            &spec,
            &limits,
            &cancel,
            &mut sink,
        )?;
        let measured = watch.measure(&*fold);
        Ok((exit, watch.ended, measured))
    }

    /// Determines the outcome, and writes the edits of the answer into the worktree if it has any.
    fn apply_answer(
        &self,
        mut end: WorkerOutcome,
        exit: &CommandExit,
    ) -> Result<WorkerOutcome, Error> {
        let (assignment, engine) = (&self.assignment, self.context.engine);
        if let WorkerOutcome::Failed(facts) = &mut end {
            if exit.sandbox_killed {
                SANDBOX_KILLED.clone_into(&mut facts.message);
            }
            // Report the limit, not how long it took to end the worker.
            match exit.status {
                ExitReason::TimedOut => {
                    let seconds = assignment.limits.timeout_ms / 1_000;
                    facts.message = format!("it took longer than {seconds} s");
                }
                ExitReason::Stalled => {
                    let seconds = assignment.limits.stall_ms / 1_000;
                    facts.message = format!("it said nothing for {seconds} s");
                }
                _ => {}
            }
        }
        let tree = self.workspace.tree_dir();
        if !assignment.writable && self.job.sandbox != SandboxKind::None {
            engine.clean_worktrees.note(&tree, &assignment.tree);
        }
        let is_editing = assignment.writable && assignment.means.mode == EditMode::Edits;
        if let (WorkerOutcome::Answered(answer), true) = (&end, is_editing) {
            let note = |text: &str| self.note(text);
            let applied = edits::apply(self.job, assignment, answer, &tree, engine, &note)?;
            end = applied.err().map_or(end, WorkerOutcome::Failed);
        }
        if let WorkerOutcome::Answered(answer) = &mut end
            && prompt::has_exact_input(assignment)
            && assignment.kind == RoleKind::Gatekeeper
        {
            // The output of the tests is known here, so it does not matter whether the worker
            // copied it correctly.
            let outputs = prompt_rendering::read_check_outputs(assignment, engine)?;
            let (_, output) = exact::combine_check_results(&assignment.judged.checks, &outputs);
            if let Some(mended) = strict::with_report(answer, &strict::shorten_report(&output)) {
                *answer = mended;
                self.note("its report is not what the tests printed; what they printed is taken");
            }
        }
        redact_end(&mut end, engine);
        Ok(end)
    }

    /// Records a remark about the worker's answer in the transcript, and shows it.
    fn note(&self, text: &str) {
        lock(&self.transcript).write("codeteam", text.into());
        (self.context.lines)(&self.job.id, text);
    }

    /// Stores the transcript and collects the change from the worktree. `measured` is the usage of a
    /// worker that has not reported any.
    fn report(
        &self,
        mut end: WorkerOutcome,
        fold: &dyn OutputFold,
        measured: Usage,
    ) -> Result<Input, Error> {
        let engine = self.context.engine;
        let wants_change = self.assignment.writable && matches!(end, WorkerOutcome::Answered(_));
        // Writing the transcript to disk and reading the worktree are independent, so they run in
        // parallel.
        let transcript = &self.transcript;
        let (kept, collected) = std::thread::scope(|scope| {
            let keeping = scope.spawn(|| lock(transcript).keep(engine));
            let collected = wants_change.then(|| self.collect());
            (keeping.join(), collected.transpose())
        });
        self.files.remove();
        let transcript = kept.map_err(|_| Error::Panicked)??;
        let change = match collected? {
            None => None,
            Some(Ok(found)) => Some(found),
            Some(Err(facts)) => {
                end = WorkerOutcome::Failed(facts);
                None
            }
        };
        let session = self.session.as_ref().filter(|dir| dir.is_kept());
        let session = session.and_then(|_| fold.session());
        let usage = Some(fold.usage()).filter(|usage| *usage != Usage::default());
        let usage = usage.unwrap_or(measured);
        let report = WorkerReport {
            end,
            usage: prices::with_cost(usage, fold.model(), &engine.config.prices),
            model: self.model_used(fold),
            transcript: Some(transcript),
            change,
            session: session.map(str::to_owned),
            log: self.log()?,
            edited: Vec::new(),
            failed_write: fold.failed_write().map(str::to_owned),
        };
        Ok(exit_input(self.job, report))
    }

    /// Returns the model that did the work: the one that the worker names, or else the one it was asked
    /// to use. What a script is asked for is its file.
    fn model_used(&self, fold: &dyn OutputFold) -> Option<String> {
        let asked = match self.worker.dialect {
            DialectName::Scripted => None,
            _ => self.listening.model.as_deref(),
        };
        let model = fold.model().or(asked)?;
        // A worker may call its model anything.
        let kept = model.floor_char_boundary(MODEL_BYTES);
        let name = one_line(&self.context.engine.redactor.redact(&model[..kept]).text);
        (!name.is_empty()).then_some(name)
    }

    /// Collects the tree and the change from the worktree, or the objection that the worker must be
    /// told. A worker can leave files that take arbitrarily long to collect, so this has a time
    /// limit too.
    fn collect(&self) -> Result<Result<(Tree, FrameChange), FailureFacts>, Error> {
        let (job, workspace, engine) = (self.job, &self.workspace, self.context.engine);
        let base = oid(&job.base.tree.0)?;
        let limit = Duration::from_millis(self.assignment.limits.timeout_ms);
        let limit = limit.clamp(COLLECTING.0, COLLECTING.1);
        let (changes, is_late) = {
            let _limit = WaitLimit::limit_to(limit);
            let changes = workspace.collect_changes(&base);
            (
                changes,
                WaitLimit::current().check() == Err(WaitError::TimedOut),
            )
        };
        self.report_repairs();
        let (tree, diff) = match changes {
            Ok(found) => found,
            Err(
                error @ (workspace::Error::NestedRepositories { .. }
                | workspace::Error::Unrecordable { .. }
                | workspace::Error::Filtered { .. }),
            ) => return Ok(Err(forbidden(error.to_string()))),
            Err(_) if is_late => return Ok(Err(forbidden(self.collect_timeout_message(limit)))),
            Err(error) => return Err(error.into()),
        };
        if let Some(link) = diff.gitlinks().next() {
            let path = link.path.display();
            return Ok(Err(forbidden(format!(
                "`{path}` refers to another repository"
            ))));
        }
        let planned = &self.assignment.shown.targets;
        if let Some((file, module)) = workspace.submodule_files(planned)?.first() {
            let (file, module) = (file.display(), module.display());
            return Ok(Err(forbidden(format!(
                "`{file}`, which the task names, is in the submodule `{module}`: no change of a \
                 run includes files of another repository. Delete it; if the task cannot be done \
                 without it, say so, because a person has to make that change in the submodule"
            ))));
        }
        let tree = Tree(tree.as_str().to_owned());
        engine.clean_worktrees.note(&workspace.tree_dir(), &tree);
        let change = frame_change(engine, job.id.without_fence(), &diff)?;
        Ok(Ok((tree, change)))
    }

    /// Reports what had to be repaired in the worktree.
    fn report_repairs(&self) {
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

    /// Returns the message for a worktree that takes too long to collect.
    fn collect_timeout_message(&self, limit: Duration) -> String {
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

    /// Stores the log that is to be shortened in its original form.
    fn log(&self) -> Result<Option<BodyId>, Error> {
        if !self.assignment.expected.shortens {
            return Ok(None);
        }
        let log = self.assignment.earlier.log.as_bytes();
        Ok(Some(BodyId(self.context.engine.bodies.put(log)?)))
    }

    /// Renders the prompt, writes the files of the launch, and returns the command of the worker, and
    /// the files of the implementation that are hidden from it.
    fn program(&self, reach: &WorkerAccess) -> Result<(WorkerCommand, Vec<String>), Error> {
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
            price: prices::find_price(self.listening.model.as_deref(), &engine.config.prices),
            keyed: reach.keyed,
            confined: self.job.sandbox != SandboxKind::None,
            has_session_files: assignment.means.continues || self.session.is_some(),
            mcp_servers: servers.collect(),
        };
        let context::RenderedPrompt {
            prompt,
            packed,
            internals,
        } = prompt_rendering::render_assignment(self.job, assignment, &self.workspace, engine)?;
        (self.context.report)(Input::ContextPacked {
            at: now(),
            id: self.job.id.clone(),
            packed: Box::new(packed),
        });
        let redactor = &engine.redactor;
        self.files.write_assignment(assignment, &prompt, redactor)?;
        let told = format!("{}\n\n---\n\n{}", prompt.system, prompt.user);
        lock(&self.transcript).record_prompt(&redactor.redact(&told).text);
        if self.job.audit {
            artifacts::write_attempt_audit(
                engine.records(),
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
        if let (true, Some(log)) = (self.is_own_program(), diagnostic_log::worker_directives()) {
            program.args.extend(["--relay-log".into(), log.into()]);
        }
        program.reads.push(self.files.folder.clone());
        Ok((program, internals))
    }

    /// Returns true if the worker is `codeteam agent`.
    fn is_own_program(&self) -> bool {
        self.worker.dialect.dialect().requirements().is_none()
    }

    /// Builds the complete command with everything that the worker can see.
    fn command(
        &self,
        program: WorkerCommand,
        internals: &[String],
        reach: &WorkerAccess,
    ) -> Result<CommandSpec, Error> {
        let (job, engine, workspace) = (self.job, self.context.engine, &self.workspace);
        let mut view = worker_view::show(job, &self.assignment, internals, workspace, engine)?;
        reach.mount_private_files(&mut view);
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
            // No worker may ever wait for a terminal, so standard input is always a file.
            Some(file) => {
                let script = r#"exec "$@" <"$0""#;
                let mut args: Vec<OsString> = vec!["-c".into(), script.into(), file.into()];
                args.push(program.program);
                args.extend(program.args);
                ("/bin/sh".into(), args)
            }
        };
        let mut env = program.env;
        env.extend(certificates::show_certificates(&mut view, job, engine));
        // The times in its output are interpreted as UTC.
        env.push(("TZ".into(), "UTC".into()));
        env.extend(reach.env.iter().cloned());
        Ok(CommandSpec {
            program: name,
            args,
            cwd: workspace.tree_dir(),
            env: Engine::child_env(&job.mark(engine), env),
            view,
            disk: Some(Engine::disk_limit(workspace, &engine.config.sandbox)),
            brief: false,
        })
    }
}

/// Removes secrets from an outcome before it becomes an event. The files in an answer are in the
/// worktree by now.
pub(super) fn redact_end(end: &mut WorkerOutcome, engine: &Engine) {
    let text = match end {
        WorkerOutcome::Answered(text) => text,
        WorkerOutcome::Failed(facts) => &mut facts.message,
    };
    if let Cow::Owned(redacted) = engine.redactor.redact(text).text {
        *text = redacted;
    }
}

/// Builds the input that reports the end of a worker.
pub(super) fn exit_input(job: &Job, report: WorkerReport) -> Input {
    Input::WorkerExited {
        at: now(),
        id: job.id.clone(),
        report: Box::new(report),
    }
}

/// Reclassifies a failure to reach the API if the sandbox refused the connection. Waiting for such
/// an API is pointless, because it would never answer.
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

/// Builds the input for a worker that could not even be started.
fn failed_start_input(job: &Job, facts: FailureFacts) -> Input {
    exit_input(
        job,
        WorkerReport {
            end: WorkerOutcome::Failed(facts),
            usage: Usage::default(),
            model: None,
            transcript: None,
            change: None,
            session: None,
            log: None,
            edited: Vec::new(),
            failed_write: None,
        },
    )
}

/// Returns true if the worker itself changes files, rather than answering with edits.
fn changes_files(assignment: &Assignment) -> bool {
    assignment.writable && assignment.means.mode == EditMode::Tools
}

/// Builds the failure for a change that cannot be accepted.
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
