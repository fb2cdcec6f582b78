//! Connects a person to a run: shows its questions, and turns the person's answers into decisions
//! in its inbox.
//!
//! The driver runs on a thread of its own; the [`QuestionQueue`] tells this side which questions
//! are open. If somebody else answers meanwhile from another terminal, the prompt is closed; the
//! run itself knows nothing about prompts.

mod answer_source;
mod history;
mod line_editor;
mod manual_edit;
mod person_dialog;
mod question_menu;
mod question_queue;
mod render;
mod screen;
mod terminal_programs;

use std::sync::Arc;

use codeteam_core::event::RunStarted;
use codeteam_core::ids::RunId;
use codeteam_core::input::Input;
use codeteam_engine::Engine;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_host::process::CancelToken;
use codeteam_report::view::open_questions;

pub(crate) use self::answer_source::{AnswerSource, is_terminal};
pub(crate) use self::line_editor::restore_terminal;
pub(crate) use self::manual_edit::edit_from_terminal;
pub(crate) use self::screen::Screen;
pub(crate) use self::terminal_programs::{has_terminal_lent, is_dumb_terminal};

use self::person_dialog::PersonDialog;
use self::question_queue::{PersonObserver, QuestionQueue};
use crate::cli::CliContext;
use crate::output::TerminalStyle;
use crate::progress::ProgressPrinter;
use codeteam_engine::problem::Problem;

/// A prompt for a line of input.
pub(crate) struct LinePrompt<'a> {
    /// The text of the prompt.
    pub(crate) text: &'a str,
    /// The colours of the prompt.
    pub(crate) style: TerminalStyle,
    /// The commands that Tab completes.
    pub(crate) commands: &'a [String],
    /// Keys that act at once while nothing else is typed.
    pub(crate) keys: &'a [char],
}

/// The input at a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptInput {
    /// A text.
    Line(String),
    /// A key that acts at once.
    Key(char),
    /// The person wants to leave.
    Quit,
    /// There is nothing more to read.
    Ended,
    /// The question was answered elsewhere, so the prompt is no longer needed.
    Overtaken,
}

/// What to drive.
pub(crate) enum DriveRequest {
    /// A new run.
    Start(Box<RunStarted>),
    /// An existing run, with inputs to pass to it.
    Resume(RunId, Vec<Input>),
}

impl DriveRequest {
    pub(crate) fn run(&self) -> RunId {
        match self {
            Self::Start(started) => started.run.clone(),
            Self::Resume(run, _) => run.clone(),
        }
    }
}

/// How a person takes part.
pub(crate) struct TalkOptions<'a> {
    /// Where the person's answers come from.
    pub(crate) source: &'a mut AnswerSource,
    /// Whether the output of workers is shown as it arrives.
    pub(crate) streams: bool,
}

/// Drives a run with a person attached, until it ends or they leave.
pub(crate) fn drive_with_person(
    scene: &CliContext,
    engine: &Arc<Engine>,
    task: DriveRequest,
    interrupt: CancelToken,
    TalkOptions { source, streams }: TalkOptions<'_>,
) -> Result<(RunId, StopReason), Problem> {
    let screen = Screen::new()
        .map_err(|e| Problem::environment("could not make a pipe").caused_by(&e))
        .map(Arc::new)?;
    let above = Arc::clone(&screen);
    let progress =
        ProgressPrinter::new(TerminalStyle::detect(), scene.verbosity_for(&engine.config))
            .with_person(streams, Box::new(move |text| above.print(text)));
    let progress = Arc::new(progress);
    let desk = Arc::new(QuestionQueue::new(Arc::clone(&screen), interrupt.clone()));
    let observer: Arc<dyn RunObserver> = Arc::new(PersonObserver::new(
        Arc::clone(&progress),
        Arc::clone(&desk),
    ));
    let id = task.run();
    let options = DriverOptions::new(true, interrupt, "codeteam");
    let (driven, ended) = (Arc::clone(engine), Arc::clone(&desk));
    let body = move || {
        let _ended = question_queue::DriverEndGuard(ended);
        match task {
            DriveRequest::Start(started) => {
                driver::start(&driven, *started, &options, &observer).map(|(_, stop)| stop)
            }
            DriveRequest::Resume(run, inputs) => {
                driver::resume(&driven, &run, inputs, &options, &observer)
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("driver".to_owned())
        .spawn(body)
        .map_err(|e| Problem::environment("could not start a thread").caused_by(&e))?;
    let attended = PersonDialog {
        scene,
        engine,
        run: id.clone(),
        desk: &desk,
        screen: &screen,
        progress: &progress,
        style: TerminalStyle::detect(),
        source,
    }
    .answer_questions();
    if attended.is_err() {
        desk.leave();
    }
    let stop = thread
        .join()
        .map_err(|_| Problem::internal("the driver has died"))??;
    attended?;
    let stop = if desk.was_left() {
        stop_when_left(engine, &id, stop)?
    } else {
        stop
    };
    Ok((id, stop))
}

/// Returns why a run has stopped that a person has left: one who leaves a run that waits for them has
/// not interrupted it.
pub(crate) fn stop_when_left(
    engine: &Engine,
    id: &RunId,
    stop: StopReason,
) -> Result<StopReason, Problem> {
    if stop != StopReason::Interrupted {
        return Ok(stop);
    }
    let run = engine.load_run_view(id)?;
    let open: Vec<_> = open_questions(run.as_run()).cloned().collect();
    Ok(if open.is_empty() {
        StopReason::Interrupted
    } else {
        StopReason::Waiting(open)
    })
}
