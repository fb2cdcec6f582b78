//! Drives a run from the command line: progress, interruption, the closing message, the exit code.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::Question;
use codeteam_core::ids::AttemptId;
use codeteam_core::ids::RunId;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::shell::shell_word;
use codeteam_core::untrusted_text::{hang_indented, one_line};
use codeteam_engine::Engine;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_engine::perform::ProgressCallbacks;
use codeteam_host::process::{CancelToken, end_brief_commands, interrupt_brief_commands};
use codeteam_report::artifacts;
use codeteam_report::view::{ApprovalView, LoadedRun, NextAction, NextStep, RunView, TaskView};
use codeteam_report::{describe, proposal};
use signal_hook::iterator::Handle;

use crate::cli::talk::{self, AnswerSource, DriveRequest, TalkOptions};
use crate::cli::{CliContext, CommandPrefixes};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line};
use crate::progress::{ProgressPrinter, Verbosity};
use codeteam_engine::problem::Problem;

/// Returns the options with which a command drives a run, and installs the signal handler.
pub(crate) fn driver_options(wait: bool) -> Result<DriverOptions, Problem> {
    let interrupt = CancelToken::new();
    on_interrupt(&interrupt)?;
    Ok(DriverOptions::new(wait, interrupt, "codeteam"))
}

/// Who answers what a run asks.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct AnswerSourceArgs {
    /// Read the answers to questions from this file (`-`: standard input): one answer per line, or
    /// blocks separated by lines of `---`; `#` begins a comment. Questions that are asked together
    /// take one answer.
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Keep waiting when only a person can continue, even without a terminal.
    #[arg(long)]
    pub(crate) wait: bool,
}

impl AnswerSourceArgs {
    /// Returns where a person's answers come from, if anywhere.
    pub(crate) fn source(
        &self,
        scene: &CliContext,
        engine: &Arc<Engine>,
    ) -> Result<Option<AnswerSource>, Problem> {
        match &self.answers {
            Some(path) if path.as_os_str() == "-" => Ok(Some(AnswerSource::pipe())),
            Some(path) => AnswerSource::file(&scene.folder.join(path)).map(Some),
            None if talk::is_terminal() => Ok(Some(AnswerSource::terminal(engine))),
            None => Ok(None),
        }
    }

    /// Returns true if somebody can answer.
    pub(crate) fn is_answered(&self) -> bool {
        self.answers.is_some() || talk::is_terminal()
    }
}

/// Drives a run to its end, or to a point where nobody can continue it, and reports the result.
pub(crate) fn drive_run(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
    answering: &AnswerSourceArgs,
) -> Result<Exit, Problem> {
    let source = answering.source(scene, engine)?;
    drive_with_source(scene, engine, task, answering, source)
}

/// Does the same with a given source of answers.
pub(crate) fn drive_with_source(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
    answering: &AnswerSourceArgs,
    source: Option<AnswerSource>,
) -> Result<Exit, Problem> {
    let at_terminal = source.as_ref().is_some_and(AnswerSource::is_terminal);
    let (id, stop) = if let Some(mut source) = source {
        let interrupt = driver_options(true)?.interrupt;
        let manner = TalkOptions {
            source: &mut source,
            streams: false,
        };
        talk::drive_with_person(scene, engine, task, interrupt, manner)?
    } else {
        let (options, observer) = (driver_options(answering.wait)?, observer(scene, engine));
        match task {
            DriveRequest::Start(started) => driver::start(engine, *started, &options, &observer)?,
            DriveRequest::Resume(run, inputs) => {
                let stop = driver::resume(engine, &run, inputs, &options, &observer)?;
                (run, stop)
            }
        }
    };
    match &stop {
        // Whoever has just seen the question need not read it all again.
        StopReason::Waiting(questions) if at_terminal && !scene.json => {
            report_left(scene, &id, questions);
            Ok(Exit::Waiting)
        }
        _ => report_stop(scene, engine, &id, &stop),
    }
}

/// Prints the closing message of a run that a person has left at a question.
fn report_left(scene: &CliContext, id: &RunId, questions: &[Question]) {
    let (style, codeteam) = (TerminalStyle::detect(), &scene.calls.codeteam);
    let places: Vec<&str> = questions.iter().map(|q| q.id.frame.name()).collect();
    let wait = if places.len() == 1 { "waits" } else { "wait" };
    eprint_line("");
    output::eprint_wrapped(&format!(
        "{} {} {wait} for you",
        style.yellow("left:"),
        places.join(", ")
    ));
    eprint_line(&format!("  go on   {codeteam} resume {id}"));
    eprint_line(&format!("  look    {codeteam} show {id}"));
}

pub(crate) fn observer(scene: &CliContext, engine: &Engine) -> Arc<dyn RunObserver> {
    let detail = scene.verbosity_for(&engine.config);
    Arc::new(ProgressPrinter::new(TerminalStyle::detect(), detail))
}

/// Shows the output and the progress of checks that run outside a driven run.
pub(crate) fn show_progress<T>(
    scene: &CliContext,
    engine: &Engine,
    run_checks: impl FnOnce(ProgressCallbacks<'_>) -> T,
) -> T {
    let observer = observer(scene, engine);
    let lines = |id: &AttemptId, line: &str| observer.line(id, line);
    let busy = |id: &AttemptId, what: Option<&str>| observer.busy(id, what);
    run_checks(ProgressCallbacks {
        lines: &lines,
        busy: &busy,
    })
}

/// The token that the next signal cancels, if a run is driven.
static STOPS: Mutex<Option<CancelToken>> = Mutex::new(None);

fn stops() -> MutexGuard<'static, Option<CancelToken>> {
    STOPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if the first Ctrl-C has come.
pub(crate) fn was_interrupted() -> bool {
    stops().as_ref().is_some_and(CancelToken::is_cancelled)
}

/// Makes the first Ctrl-C stop cleanly and a second one end the process at once.
fn on_interrupt(interrupt: &CancelToken) -> Result<(), Problem> {
    stops().replace(interrupt.clone());
    let watched = listen_for_signals()?.add_signal(signal_hook::consts::SIGHUP);
    watched.map_err(|e| Problem::environment("could not listen for signals").caused_by(&e))
}

/// Makes signals end what git runs before they end codeteam. Calling it again does nothing.
pub(crate) fn listen_for_signals() -> Result<&'static Handle, Problem> {
    static LISTENER: OnceLock<Handle> = OnceLock::new();
    if let Some(listener) = LISTENER.get() {
        return Ok(listener);
    }
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
    ])
    .map_err(|e| Problem::environment("could not listen for signals").caused_by(&e))?;
    let handle = signals.handle();
    let listen = move || {
        for signal in signals.forever() {
            handle_signal(signal);
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)
        .map_err(|e| Problem::environment("could not start a thread").caused_by(&e))?;
    Ok(LISTENER.get_or_init(|| handle))
}

fn handle_signal(signal: i32) {
    static IS_STOPPING: AtomicBool = AtomicBool::new(false);
    // Whatever happens next is printed on the person's own screen.
    codeteam_tui::restore_terminal();
    // Another program has the terminal, and Ctrl-C was meant for it.
    if signal == signal_hook::consts::SIGINT && talk::has_terminal_lent() {
        return;
    }
    let Some(interrupt) = stops().clone() else {
        // No run is driven: the signal does what it does to every program.
        end_brief_commands();
        talk::restore_terminal();
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return;
    };
    if IS_STOPPING.swap(true, Ordering::Relaxed) {
        end_brief_commands();
        talk::restore_terminal();
        std::process::exit(Exit::Interrupted as i32);
    }
    eprint_line("stopping: workers are ended, nothing is lost (Ctrl-C once more to stop at once)");
    interrupt.cancel();
    interrupt_brief_commands();
}

/// Prints the closing message of a run that is no longer driven, and returns the exit code.
pub(crate) fn report_stop(
    scene: &CliContext,
    engine: &Engine,
    id: &RunId,
    stop: &StopReason,
) -> Result<Exit, Problem> {
    let run = engine.load_run_view(id)?;
    let exit = match stop {
        StopReason::Ended(FrameOutcome::Completed | FrameOutcome::Skipped) => Exit::Done,
        StopReason::Ended(_) => Exit::Failed,
        StopReason::Waiting(_) | StopReason::HandedOver(_) => Exit::Waiting,
        StopReason::Limited(_) => Exit::Limited,
        StopReason::Interrupted => Exit::Interrupted,
    };
    if scene.json {
        output::print_json(&run.view().clone().with_driver(false))?;
    } else if exit == Exit::Done {
        if scene.detail >= Verbosity::Normal {
            report_done(scene, engine, &run);
        }
    } else {
        report_not_done(scene, engine, &run, stop);
    }
    Ok(exit)
}

fn report_done(scene: &CliContext, engine: &Engine, run: &RunView) {
    let git = &scene.calls.git;
    let style = TerminalStyle::detect();
    eprint_line("");
    eprint_line(&format!(
        "{} {}",
        style.green("done:"),
        hang_indented(&run.goal, 6)
    ));
    let spent = &run.cost.words;
    let tasks = run.progress.as_ref().map(|t| format!("{t}; "));
    output::eprint_wrapped(&format!(
        "  {}{}, {}",
        tasks.unwrap_or_default(),
        spent.attempts,
        spent.money
    ));
    if let Some(failing) = run.still_failing_text() {
        output::eprint_wrapped(&format!("  {}", style.yellow(&one_line(&failing))));
    }
    if !run.has_commits() {
        eprint_line("  nothing was committed");
        run.next_steps
            .iter()
            .for_each(|step| print_step(&scene.calls, step));
        return;
    }
    let mut push = Some(run.branch.as_str());
    match &run.delivered {
        Some(DeliveryOutcome::Forward { branch, from }) => {
            let from = describe::short_id(from.as_str());
            eprint_line(&format!("  branch  {branch}, moved forward from {from}"));
            push = Some(branch);
        }
        Some(DeliveryOutcome::Patch { file }) => {
            eprint_line(&format!("  patch   {}", shell_word(file)));
            push = None;
        }
        left => {
            if let Some(DeliveryOutcome::Left { why }) = left {
                output::eprint_wrapped(&format!("  {} {why}", style.yellow("not moved:")));
            }
            eprint_line(&format!("  branch  {}", run.branch));
        }
    }
    for step in &run.next_steps {
        // Taking the commits back is the last thing to be suggested.
        if step.action == NextAction::Undo
            && let Some(branch) = push.take()
        {
            suggest_push(engine, git, branch);
        }
        print_step(&scene.calls, step);
    }
    if let Some(branch) = push {
        suggest_push(engine, git, branch);
    }
}

/// Prints a step as a command that is ready to run, with what there is to know about it.
fn print_step(calls: &CommandPrefixes, step: &NextStep) {
    let command = step.command_with(&calls.codeteam, &calls.git);
    let line = format!("  {:<7} {command}", step.label);
    match step.note.as_str() {
        "" => eprint_line(&line),
        note if step.action == NextAction::Undo => {
            eprint_line(&line);
            eprint_line(&format!("          {note}"));
        }
        note => eprint_line(&format!("{line} ({note})")),
    }
}

/// Prints how to push a branch, if there is a remote. Pushing is never done unasked.
fn suggest_push(engine: &Engine, git: &str, branch: &str) {
    let remote = engine.repo.remote_for(branch);
    match remote.ok().flatten() {
        Some(remote) if remote.is_known => eprint_line(&format!("  push    {git} push")),
        Some(remote) => eprint_line(&format!("  push    {git} push -u {} {branch}", remote.name)),
        None => {}
    }
}

/// Prints the commit that would be made if a person approves.
pub(crate) fn print_proposal(engine: &Engine, run: &LoadedRun, question: &Question) {
    let proposal = proposal::propose_commit(engine.records(), run.as_run(), question);
    for line in proposal.iter().flat_map(proposal::CommitProposal::to_lines) {
        eprint_line(format!("  {line}").trim_end());
    }
}

fn report_not_done(scene: &CliContext, engine: &Engine, run: &LoadedRun, stop: &StopReason) {
    let codeteam = &scene.calls.codeteam;
    let style = TerminalStyle::detect();
    eprint_line("");
    match stop {
        StopReason::Ended(_) => {
            output::eprint_wrapped(&format!("{} {}", style.red("not done:"), run.headline));
            print_failures(run);
            for step in &run.next_steps {
                print_step(&scene.calls, step);
                if step.action == NextAction::Show
                    && let Some(log) = artifacts::strict_log(engine.records(), run.as_run())
                {
                    let top = engine.repo.top_level();
                    let log = log.strip_prefix(top).unwrap_or(&log);
                    eprint_line(&format!("  log     {}", log.display()));
                }
            }
        }
        StopReason::Waiting(questions) => {
            for question in questions {
                print_proposal(engine, run, question);
                print_question(style, run, question);
            }
            eprint_line(&format!("  then    {codeteam} resume {}", run.id));
            let has_time = |approval: &ApprovalView| {
                approval.timeout.is_some() || approval.notified_again_at.is_some()
            };
            let mut approvals = run.questions.iter().filter_map(|it| it.approval.as_ref());
            if approvals.any(has_time) {
                eprint_line(&format!(
                    "  wait    {codeteam} resume {} --wait (time passes only while codeteam runs)",
                    run.id
                ));
            }
        }
        StopReason::HandedOver(_) => {
            eprint_line(&format!(
                "{} a session goes on with it; nothing is started for it here",
                style.yellow("in a session:")
            ));
            eprint_line(&format!(
                "  let workers go on   {codeteam} run --continue {}",
                run.id
            ));
        }
        StopReason::Limited(what) => {
            eprint_line(&format!(
                "{} {}",
                style.yellow("limit reached:"),
                describe::limit_name(*what)
            ));
            eprint_line(&format!(
                "  go on   {codeteam} resume {}{}",
                run.id,
                run.raise_limit_flag(*what)
            ));
        }
        StopReason::Interrupted => {
            eprint_line(&format!("{} nothing is lost", style.yellow("interrupted:")));
            eprint_line(&format!("  go on   {codeteam} resume {}", run.id));
        }
    }
}

/// Prints which tasks failed, and why.
fn print_failures(run: &RunView) {
    const SHOWN: usize = 5;
    let is_failed = |task: &&TaskView| task.status == TaskStatus::Failed;
    let failed: Vec<_> = run.tasks.iter().filter(is_failed).collect();
    for task in failed.iter().take(SHOWN) {
        let why = task.why.as_deref().unwrap_or_default();
        let why = one_line(describe::first_line(why));
        output::eprint_wrapped(format!("  {:<6}  {why}", task.id.as_str()).trim_end());
    }
    if failed.len() > SHOWN {
        eprint_line(&format!("          and {} more", failed.len() - SHOWN));
    }
}

/// Prints a question with the commands that answer it, each ready to run.
pub(crate) fn print_question(style: TerminalStyle, run: &RunView, question: &Question) {
    let place = question.id.frame.name();
    output::eprint_wrapped(&format!(
        "{} {place}: {}",
        style.bold("a person must decide:"),
        hang_indented(&question.text, 2)
    ));
    for point in &question.points {
        output::eprint_wrapped(&format!("  - {}", hang_indented(point.trim(), 4)));
    }
    let view = run
        .questions
        .iter()
        .find(|asked| asked.question.id == question.id);
    for line in view
        .and_then(|asked| asked.breakdown.as_ref())
        .iter()
        .flat_map(|b| b.to_lines())
    {
        eprint_line(&format!("  {line}"));
    }
    for step in run.steps_for_question(&question.id) {
        eprint_line(&format!("  {:<7} {}", step.label, step.command));
    }
    if !question.answers.is_empty() {
        eprint_line("          (`-m \"…\"` says more to the next worker)");
    }
}
