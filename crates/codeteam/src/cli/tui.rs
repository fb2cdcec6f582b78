//! `codeteam tui`: shows the runs of a project on a terminal screen.
//!
//! The screen itself is codeteam-tui. Here it gets what only this program knows: how it is called,
//! so that decisions made on the screen are the commands of this program, and how a run is driven
//! while the screen shows it.

use std::sync::Arc;
use std::thread;

use clap::CommandFactory as _;
use codeteam_core::frame::FrameOutcome;
use codeteam_engine::Engine;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_engine::problem::Problem;
use codeteam_tui::{
    CommandVerb, Screen, ScreenError, ScreenOptions, ScreenProblem, check_terminal,
};

use crate::cli::own_program::own_program;
use crate::cli::talk::{self, DriveRequest};
use crate::cli::{CliContext, drive};
use crate::exit::Exit;
use crate::output::TerminalStyle;
use crate::progress::{ProgressPrinter, Verbosity};

/// Arguments of `tui`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run to show first: its id or a part of it. Without one, what needs you is shown.
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    require_screen()?;
    let engine = scene.engine_with_runs()?;
    let word = args.run.as_deref();
    let run = word.map(|word| engine.find_run(Some(word))).transpose()?;
    // A terminal that is closed ends the screen; it must not stay behind in raw mode.
    let listener = drive::listen_for_signals()?;
    listener
        .add_signal(signal_hook::consts::SIGHUP)
        .map_err(|e| Problem::environment("could not listen for signals").caused_by(&e))?;
    let screen = Screen::new(ScreenOptions {
        commands: own_program(&scene.codeteam, &scene.folder),
        engine,
        run,
        is_driven_here: false,
        verbs: list_verbs(),
        is_coloured: TerminalStyle::detect().is_coloured(),
    });
    screen.show().map_err(|e| describe_error(&e))?;
    Ok(Exit::Done)
}

/// Fails if there can be no screen here, and says what shows the same without one.
pub(crate) fn require_screen() -> Result<(), Problem> {
    let problem = match check_terminal(talk::is_dumb_terminal()) {
        Ok(()) => return Ok(()),
        Err(ScreenProblem::NoTerminal) => {
            "the screen needs a terminal, for its input and its output"
        }
        Err(ScreenProblem::DumbTerminal) => {
            "this terminal cannot move its cursor (`TERM` is `dumb`, or not set)"
        }
    };
    Err(Problem::user(problem)
        .hint("`codeteam status`, `show` and `log --follow` show the same line by line")
        .hint("`codeteam run` without `--tui` asks line by line"))
}

/// Lists the commands of this program, with their options, for their completion on the screen.
fn list_verbs() -> Vec<CommandVerb> {
    let mut command = super::Args::command();
    // Without this, options that every command takes are not among those of each.
    command.build();
    let verbs = command.get_subcommands();
    let verbs = verbs.filter(|verb| !verb.is_hide_set());
    verbs.map(describe_verb).collect()
}

fn describe_verb(command: &clap::Command) -> CommandVerb {
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = options.filter_map(clap::Arg::get_long);
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    CommandVerb {
        name: command.get_name().to_owned(),
        options: options.map(|option| format!("--{option}")).collect(),
        verbs: verbs.map(describe_verb).collect(),
    }
}

fn describe_error(error: &ScreenError) -> Problem {
    Problem::environment("the screen could not be shown").caused_by(error)
}

/// Drives a run while the screen shows it. Leaving the screen stops the run, where it can be resumed.
pub(crate) fn drive_on_screen(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
) -> Result<Exit, Problem> {
    let interrupt = drive::driver_options(true)?.interrupt;
    let id = task.run();
    let screen = Screen::new(ScreenOptions {
        engine: Arc::clone(engine),
        commands: own_program(&scene.codeteam, &scene.folder),
        run: Some(id.clone()),
        is_driven_here: true,
        verbs: list_verbs(),
        is_coloured: TerminalStyle::detect().is_coloured(),
    });
    let notifier = screen.notifier();
    let options = DriverOptions::new(true, interrupt.clone(), "codeteam");
    let (driven, stopped) = (Arc::clone(engine), interrupt.clone());
    let body = move || {
        let warned = notifier.clone();
        // What happens in the run reaches the screen through the feed, as it would from another
        // process. Only warnings of the driver are not in the log.
        let printer = ProgressPrinter::new(TerminalStyle::detect(), Verbosity::Quiet)
            .with_person(false, Box::new(move |text| warned.note(text)));
        let observer: Arc<dyn RunObserver> = Arc::new(printer);
        let ended = match task {
            DriveRequest::Start(started) => {
                driver::start(&driven, *started, &options, &observer).map(|(_, stop)| stop)
            }
            DriveRequest::Resume(run, inputs) => {
                driver::resume(&driven, &run, inputs, &options, &observer)
            }
        };
        match &ended {
            Ok(stop) => notifier.driver_ended(describe_stop(stop)),
            Err(error) => notifier.driver_ended(format!("the run cannot go on: {error}")),
        }
        if stopped.is_cancelled() {
            // A signal has stopped the run, and given the terminal back.
            notifier.close();
        }
        ended
    };
    let thread = thread::Builder::new()
        .name("driver".to_owned())
        .spawn(body)
        .map_err(|e| Problem::environment("could not start a thread").caused_by(&e))?;
    let shown = screen.show();
    // The driver of a run that has ended only tidies up, and is waited for.
    let has_ended = engine.load_run_view(&id).is_ok_and(|run| run.is_ended());
    if !has_ended {
        interrupt.cancel();
    }
    let stop = thread
        .join()
        .map_err(|_| Problem::internal("the driver has died"))??;
    shown.map_err(|e| describe_error(&e))?;
    let stop = talk::stop_when_left(engine, &id, stop)?;
    drive::report_stop(scene, engine, &id, &stop)
}

/// Says on the screen why the run is no longer driven.
fn describe_stop(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::Ended(FrameOutcome::Completed | FrameOutcome::Skipped) => "the run is done",
        StopReason::Ended(_) => "the run has failed; `R` retries",
        StopReason::Waiting(_) => "the run waits for you",
        StopReason::HandedOver(_) => "a session goes on with the run",
        StopReason::Limited(_) => "a limit is reached; `u` raises it and goes on",
        StopReason::Interrupted => "the run is stopped; nothing is lost",
    }
}
