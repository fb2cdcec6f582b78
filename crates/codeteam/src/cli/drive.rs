//! Drives a run from the command line: progress, interruption, the closing words, the exit code.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::event::{DeliveryOutcome, FrameOutcome};
use codeteam_core::frame::{Frame, Question};
use codeteam_core::ids::RunId;
use codeteam_core::quoted::{hanging, one_line};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::{Run, budget, rollup};
use codeteam_engine::Engine;
use codeteam_engine::artifacts;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_engine::perform::now;
use codeteam_engine::process::CancelToken;
use codeteam_engine::{proposal, tell};
use serde_json::json;

use crate::cli::talk::{self, AnswerSource, DriveRequest, TalkOptions};
use crate::cli::{CliContext, CommandPrefixes};
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, say};
use crate::problem::Problem;
use crate::progress::{ProgressPrinter, Verbosity};

/// How a command drives.
pub(crate) fn options(wait: bool) -> Result<DriverOptions, Problem> {
    let interrupt = CancelToken::new();
    on_interrupt(&interrupt)?;
    Ok(DriverOptions::new(wait, interrupt, "codeteam"))
}

/// Who answers what a run asks.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct AnswerSourceArgs {
    /// Answer what is asked from this file (`-`: standard input): one answer a line, or blocks with
    /// a line `---` between them; `#` begins a comment.
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// Stay when only a person can go on, even without a terminal.
    #[arg(long)]
    pub(crate) wait: bool,
}

impl AnswerSourceArgs {
    /// Where a person's words come from, if there is one.
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

    /// Whether somebody answers.
    pub(crate) fn is_answered(&self) -> bool {
        self.answers.is_some() || talk::is_terminal()
    }
}

/// Drives a run to where it ends, or where nobody is there who could go on, and says so.
pub(crate) fn drive(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
    answering: &AnswerSourceArgs,
) -> Result<Exit, Problem> {
    let source = answering.source(scene, engine)?;
    drive_by(scene, engine, task, answering, source)
}

/// The same, by whoever this is.
pub(crate) fn drive_by(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
    answering: &AnswerSourceArgs,
    source: Option<AnswerSource>,
) -> Result<Exit, Problem> {
    let at_terminal = source.as_ref().is_some_and(AnswerSource::is_terminal);
    let (id, stop) = if let Some(mut source) = source {
        let interrupt = options(true)?.interrupt;
        let manner = TalkOptions {
            source: &mut source,
            streams: false,
        };
        talk::drive(scene, engine, task, interrupt, manner)?
    } else {
        let (options, observer) = (options(answering.wait)?, observer(scene, engine));
        match task {
            DriveRequest::Start(started) => driver::start(engine, *started, &options, &observer)?,
            DriveRequest::Resume(run, inputs) => {
                let stop = driver::resume(engine, &run, inputs, &options, &observer)?;
                (run, stop)
            }
        }
    };
    match &stop {
        // Who has just seen what is asked need not read it all again.
        StopReason::Waiting(questions) if at_terminal && !scene.json => {
            left(scene, &id, questions);
            Ok(Exit::Waiting)
        }
        _ => closing(scene, engine, &id, &stop),
    }
}

/// The closing words of a run that a person has left at a question.
fn left(scene: &CliContext, id: &RunId, questions: &[Question]) {
    let (style, codeteam) = (TerminalStyle::detect(), &scene.calls.codeteam);
    let places: Vec<&str> = questions.iter().map(|q| q.id.frame.name()).collect();
    let wait = if places.len() == 1 { "waits" } else { "wait" };
    say("");
    output::tell(&format!(
        "{} {} {wait} for you",
        style.yellow("left:"),
        places.join(", ")
    ));
    say(&format!("  go on   {codeteam} resume {id}"));
    say(&format!("  look    {codeteam} show {id}"));
}

pub(crate) fn observer(scene: &CliContext, engine: &Engine) -> Arc<dyn RunObserver> {
    let detail = scene.detail_of(&engine.config);
    Arc::new(ProgressPrinter::new(TerminalStyle::detect(), detail))
}

/// What the next signal stops, once somebody listens for them.
static STOPS: Mutex<Option<CancelToken>> = Mutex::new(None);

/// The first Ctrl-C stops cleanly; a second one ends the process at once.
fn on_interrupt(interrupt: &CancelToken) -> Result<(), Problem> {
    let stops = || STOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = stops().replace(interrupt.clone());
    if before.is_some() {
        return Ok(());
    }
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ])
    .map_err(|e| Problem::environment("could not listen for signals").caused_by(&e))?;
    let listen = move || {
        let mut stopping = false;
        for signal in signals.forever() {
            // Another program has the terminal, and Ctrl-C was meant for it.
            if signal == signal_hook::consts::SIGINT && talk::is_elsewhere() {
                continue;
            }
            if stopping {
                talk::calm();
                std::process::exit(Exit::Interrupted as i32);
            }
            stopping = true;
            say("stopping: workers are ended, nothing is lost (Ctrl-C once more to stop at once)");
            if let Some(interrupt) = &*stops() {
                interrupt.cancel();
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(listen)
        .map_err(|e| Problem::environment("could not start a thread").caused_by(&e))?;
    Ok(())
}

/// The closing words of a run that is no longer driven, and the exit code.
pub(crate) fn closing(
    scene: &CliContext,
    engine: &Engine,
    id: &RunId,
    stop: &StopReason,
) -> Result<Exit, Problem> {
    let run = engine.load(id)?;
    let exit = match stop {
        StopReason::Ended(FrameOutcome::Completed | FrameOutcome::Skipped) => Exit::Done,
        StopReason::Ended(_) => Exit::Failed,
        StopReason::Waiting(_) | StopReason::Handed(_) => Exit::Waiting,
        StopReason::Limited(_) => Exit::Limited,
        StopReason::Interrupted => Exit::Interrupted,
    };
    if scene.json {
        output::json(&value(&run))?;
    } else if exit == Exit::Done {
        if scene.detail >= Verbosity::Normal {
            done(scene, engine, &run);
        }
    } else {
        not_done(scene, engine, &run, stop);
    }
    Ok(exit)
}

/// A run as JSON: the stable form of `--json`.
pub(crate) fn value(run: &Run) -> serde_json::Value {
    let tasks: Vec<serde_json::Value> = run
        .plan
        .iter()
        .flat_map(|plan| &plan.tasks)
        .map(|task| {
            let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
            json!({
                "id": task.id,
                "title": task.headline(),
                "status": record.status,
                "rounds": record.rounds,
                "commits": record.commits,
                "why": record.why,
            })
        })
        .collect();
    let questions = open_questions(run);
    let waiting: Vec<String> = codeteam_core::due(run)
        .iter()
        .filter_map(tell::waiting)
        .collect();
    json!({
        "run": run.id,
        "goal": run.goal,
        "status": rollup::status(run).as_str(),
        "state": codeteam_core::views::seven(run).as_str(),
        "team_state": codeteam_core::views::team_state(run).as_str(),
        "headline": tell::headline(run),
        "workflow": run.workflow.name,
        "branch": run.branch,
        "base": run.base.commit,
        "tip": run.tip.commit,
        "tree": run.tip.tree,
        "delivered": run.delivered,
        "still_failing": run.unrepaired_tests().collect::<Vec<_>>(),
        "tasks": tasks,
        "frames": run.frames.values().filter(|f| !f.is_ended()).map(|f| json!({
            "frame": f.path,
            "step": f.step,
            "state": codeteam_core::views::twelve(run, f).as_str(),
            "round": f.round,
        })).collect::<Vec<_>>(),
        "questions": questions,
        "waiting_on": waiting,
        "cost": {
            "attempts": run.budget.attempts,
            "tokens": run.budget.tokens,
            "money_microusd": run.budget.money_microusd,
            "unpriced_attempts": run.budget.unpriced,
        },
        "confinement": run.confinement,
        "edited_config": run.edited_config,
        "trusted": run.access.granted,
        "events": run.seq,
    })
}

fn done(scene: &CliContext, engine: &Engine, run: &Run) {
    let CommandPrefixes { codeteam, git } = &scene.calls;
    let style = TerminalStyle::detect();
    say("");
    say(&format!(
        "{} {}",
        style.green("done:"),
        hanging(&run.goal, 6)
    ));
    let cost = &run.budget;
    let tasks = tell::tasks(run)
        .map(|t| format!("{t}; "))
        .unwrap_or_default();
    output::tell(&format!(
        "  {tasks}{}, {}",
        tell::attempts(cost),
        tell::money_spent(run)
    ));
    if let Some(failing) = tell::unrepaired(run) {
        output::tell(&format!("  {}", style.yellow(&one_line(&failing))));
    }
    if run.tip == run.base {
        say("  nothing was committed");
        return;
    }
    let base = tell::short(run.base.commit.as_str());
    let look = format!("  look    {git} log --stat {base}..{}", run.branch);
    match &run.delivered {
        Some(DeliveryOutcome::Forward { branch, from }) => {
            let from = tell::short(from.as_str());
            say(&format!("  branch  {branch}, moved forward from {from}"));
            say(&look);
            push(engine, git, branch);
            // The run's own commits begin there, and not before what a session began with.
            say(&format!("  undo    {git} reset --keep {base}"));
            if base != from {
                let (kept, again) = (tell::KEPT, tell::UNCOMMITTED);
                say(&format!("          {kept}; {again}"));
            }
        }
        Some(DeliveryOutcome::Patch { file }) => {
            let file = shell_word(file);
            say(&format!("  patch   {file}"));
            say(&format!("  look    {git} apply --stat {file}"));
            say(&format!("  apply   {git} apply --index {file}"));
            say(&format!(
                "  or      {git} am --keep-non-patch {file} (with its commits)"
            ));
        }
        left => {
            if let Some(DeliveryOutcome::Left { why }) = left {
                output::tell(&format!("  {} {why}", style.yellow("not moved:")));
            }
            say(&format!("  branch  {}", run.branch));
            say(&look);
            say(&format!("  merge   {codeteam} merge {}", run.id));
            push(engine, git, &run.branch);
        }
    }
}

/// How a branch is pushed, if there is anywhere to push it to. It is never done unasked.
fn push(engine: &Engine, git: &str, branch: &str) {
    let remote = engine.repo.remote_for(branch);
    match remote.ok().flatten() {
        Some(remote) if remote.is_known => say(&format!("  push    {git} push")),
        Some(remote) => say(&format!("  push    {git} push -u {} {branch}", remote.name)),
        None => {}
    }
}

/// What would be committed if a person says so.
pub(crate) fn propose(engine: &Engine, run: &Run, question: &Question) {
    let proposal = proposal::of(engine, run, question);
    for line in proposal.iter().flat_map(proposal::CommitProposal::lines) {
        say(format!("  {line}").trim_end());
    }
}

fn not_done(scene: &CliContext, engine: &Engine, run: &Run, stop: &StopReason) {
    let codeteam = &scene.calls.codeteam;
    let style = TerminalStyle::detect();
    say("");
    match stop {
        StopReason::Ended(_) => {
            output::tell(&format!(
                "{} {}",
                style.red("not done:"),
                tell::headline(run)
            ));
            failures(run);
            say(&format!("  look    {codeteam} show {}", run.id));
            if let Some(log) = artifacts::strict_log(engine, run) {
                let top = engine.repo.top_level();
                let log = log.strip_prefix(top).unwrap_or(&log);
                say(&format!("  log     {}", log.display()));
            }
            say(&format!("  again   {codeteam} retry {}", run.id));
            if let [refused] = refused_changes(run)[..] {
                let which = if refused.path.is_root() {
                    run.id.to_string()
                } else {
                    format!("{} --task {}", run.id, refused.path.name())
                };
                let over = one_line(&refused.against().join(", "));
                say(&format!(
                    "  accept  {codeteam} approve {which} (takes the change over: {over})"
                ));
            }
        }
        StopReason::Waiting(questions) => {
            for question in questions {
                propose(engine, run, question);
                ask(style, run, question);
            }
            say(&format!("  then    {codeteam} resume {}", run.id));
        }
        StopReason::Handed(_) => {
            say(&format!(
                "{} a session goes on with it; nothing is started for it here",
                style.yellow("in a session:")
            ));
            say(&format!(
                "  let workers go on   {codeteam} run --continue {}",
                run.id
            ));
        }
        StopReason::Limited(what) => {
            say(&format!(
                "{} {}",
                style.yellow("limit reached:"),
                tell::limit(*what)
            ));
            say(&format!(
                "  go on   {codeteam} resume {}{}",
                run.id,
                raised(run, *what)
            ));
        }
        StopReason::Interrupted => {
            say(&format!("{} nothing is lost", style.yellow("interrupted:")));
            say(&format!("  go on   {codeteam} resume {}", run.id));
        }
    }
}

/// The frames whose change something is held against, and that were given up.
fn refused_changes(run: &Run) -> Vec<&Frame> {
    let all = run.frames.values().chain(run.failed.values());
    all.filter(|frame| !frame.held_against().is_empty())
        .collect()
}

/// What raises a limit that a run has reached, to be written after `codeteam resume RUN`.
pub(crate) fn raised(run: &Run, limit: budget::LimitKind) -> String {
    let spent = &run.budget;
    let (flag, value, used) = match limit {
        budget::LimitKind::Money => {
            let used = format!("{} spent", tell::money(spent.money_microusd));
            ("--max-cost", "USD", used)
        }
        budget::LimitKind::Tokens => {
            let used = format!("{} used", spent.tokens);
            ("--max-tokens", "N", used)
        }
        budget::LimitKind::Attempts => {
            let used = format!("{} made", spent.attempts);
            ("--max-attempts", "N", used)
        }
        budget::LimitKind::Time => {
            let minutes = now().since(run.started).div_ceil(60_000);
            let used = format!("it started {minutes} min ago");
            ("--max-minutes", "N", used)
        }
        budget::LimitKind::Disk => {
            let used = format!("{} MB taken", spent.disk_bytes.div_ceil(1 << 20));
            ("--max-disk-mb", "N", used)
        }
        budget::LimitKind::Outage => return " (once its API answers again)".to_owned(),
    };
    format!(" {flag} {value} ({used})")
}

/// Which tasks failed, and why.
fn failures(run: &Run) {
    const SHOWN: usize = 5;
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let failed = tasks.filter_map(|task| {
        let record = run.tasks.get(&task.id)?;
        (record.status == TaskStatus::Failed).then_some((&task.id, record.why.as_deref()))
    });
    let failed: Vec<_> = failed.collect();
    for (id, why) in failed.iter().take(SHOWN) {
        let why = one_line(tell::first_line(why.unwrap_or_default()));
        output::tell(format!("  {:<6}  {why}", id.as_str()).trim_end());
    }
    if failed.len() > SHOWN {
        say(&format!("          and {} more", failed.len() - SHOWN));
    }
}

/// A question with the commands that answer it, each ready to be run.
pub(crate) fn ask(style: TerminalStyle, run: &Run, question: &Question) {
    let place = question.id.frame.name();
    output::tell(&format!(
        "{} {place}: {}",
        style.bold("a person must decide:"),
        hanging(&question.text, 2)
    ));
    for point in &question.points {
        output::tell(&format!("  - {}", hanging(point.trim(), 4)));
    }
    let several = open_questions(run).len() > 1;
    let which = if several {
        format!(" --task {place}")
    } else {
        String::new()
    };
    let command = format!("codeteam answer {}", run.id);
    if question.answers.is_empty() {
        say(&format!("  answer  {command} \"…\"{which}"));
        return;
    }
    let editing = talk::editing(run, question);
    for answer in &question.answers {
        if editing.as_ref() == Some(answer) {
            say(&format!("  edit    codeteam edit {}{which}", run.id));
        } else {
            say(&format!(
                "  answer  {command} {}{which}",
                shell_word(answer)
            ));
        }
    }
    say("          (`-m \"…\"` says more to the next worker)");
}

/// The questions that are open.
pub(crate) fn open_questions(run: &Run) -> Vec<&Question> {
    run.frames
        .values()
        .filter_map(|f| match &f.stage {
            codeteam_core::frame::FrameStage::Asking(question) => Some(&**question),
            _ => None,
        })
        .collect()
}

/// A word as it can be pasted into a shell.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
