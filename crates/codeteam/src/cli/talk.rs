//! A person at a run: what it asks is shown, what they say becomes a decision in its inbox.
//!
//! The driver drives on a thread of its own; the [`QuestionQueue`] tells this side what is open. Whoever
//! else answers meanwhile, from another terminal, ends the prompt: the run knows nothing of it.

mod ask;
mod desk;
mod hand;
mod history;
mod line;
mod person;
mod program;
mod screen;
mod shown;
mod source;

use std::sync::Arc;

use codeteam_core::event::RunStarted;
use codeteam_core::ids::RunId;
use codeteam_core::input::Input;
use codeteam_engine::Engine;
use codeteam_engine::driver::{self, DriverOptions, RunObserver, StopReason};
use codeteam_engine::process::CancelToken;

pub(crate) use self::ask::editing;
pub(crate) use self::hand::edit;
pub(crate) use self::line::calm;
pub(crate) use self::program::is_elsewhere;
pub(crate) use self::screen::Screen;
pub(crate) use self::source::{AnswerSource, is_terminal};

use self::desk::{PersonObserver, QuestionQueue};
use self::person::PersonDialog;
use crate::cli::CliContext;
use crate::output::TerminalStyle;
use crate::problem::Problem;
use crate::progress::ProgressPrinter;

/// What is asked for at a prompt.
pub(crate) struct LinePrompt<'a> {
    /// The prompt.
    pub(crate) text: &'a str,
    /// Its colours.
    pub(crate) style: TerminalStyle,
    /// What Tab completes.
    pub(crate) commands: &'a [String],
    /// What counts by itself where nothing else is written.
    pub(crate) keys: &'a [char],
}

/// What was said at a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptInput {
    /// A text.
    Line(String),
    /// A key that counts by itself.
    Key(char),
    /// The person wants to leave.
    Quit,
    /// There is nothing more to read.
    Ended,
    /// What was asked for is no longer wanted.
    Overtaken,
}

/// What is driven.
pub(crate) enum DriveRequest {
    /// A new run.
    Start(Box<RunStarted>),
    /// One that is there, with something to tell it.
    Resume(RunId, Vec<Input>),
}

impl DriveRequest {
    fn run(&self) -> RunId {
        match self {
            Self::Start(started) => started.run.clone(),
            Self::Resume(run, _) => run.clone(),
        }
    }
}

/// How a person takes part.
pub(crate) struct TalkOptions<'a> {
    /// Where their words come from.
    pub(crate) source: &'a mut AnswerSource,
    /// Whether what workers say is shown as it comes.
    pub(crate) streams: bool,
}

/// Drives a run with a person at it, until it ends or they leave.
pub(crate) fn drive(
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
    let progress = ProgressPrinter::new(TerminalStyle::detect(), scene.detail_of(&engine.config))
        .with_person(streams, Box::new(move |text| above.say(text)));
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
        let _ended = desk::DriverEndGuard(ended);
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
    .attend();
    if attended.is_err() {
        desk.leave();
    }
    let stop = thread
        .join()
        .map_err(|_| Problem::internal("the driver has died"))??;
    attended?;
    // Who leaves a run that waits for them has not interrupted it.
    let stop = match stop {
        StopReason::Interrupted if desk.was_left() => {
            let run = engine.load(&id)?;
            let open = crate::cli::drive::open_questions(&run);
            let open: Vec<_> = open.into_iter().cloned().collect();
            if open.is_empty() {
                StopReason::Interrupted
            } else {
                StopReason::Waiting(open)
            }
        }
        stop => stop,
    };
    Ok((id, stop))
}
