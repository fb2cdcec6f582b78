//! Shows a run's progress to a person: a line per event, and the output of workers on request.

mod live_line;
mod scan_line;
mod slow;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use codeteam_core::effect::WaitReason;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath};
use codeteam_core::submission::Submission;
use codeteam_core::untrusted_text::{hang_indented, strip_active};
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::clock::now;
use codeteam_engine::driver::RunObserver;
use codeteam_report::describe;
use codeteam_report::feed::TimelineEntry;

use self::live_line::LiveStatusLine;
pub(crate) use self::scan_line::ScanProgressLine;
use self::slow::SlowWork;
use crate::output::{self, TerminalStyle, eprint_line};

/// The amount of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing but problems.
    Quiet,
    /// A line per event.
    Normal,
    /// The output of workers and checks as well.
    Verbose,
}

/// Prints the progress of a run.
///
/// It observes the driver: events that matter to a person become lines on standard error, as
/// [`describe::event_line`] words them. On a terminal at normal verbosity a live line at the bottom
/// shows who is working; without one, work that takes long is reported from time to time. With
/// [`with_person`](Self::with_person), lines go through the shared screen instead, so that they
/// never run into a prompt.
pub(crate) struct ProgressPrinter {
    style: TerminalStyle,
    detail: Verbosity,
    waiting: AtomicBool,
    last_wait: Mutex<String>,
    live: Option<LiveStatusLine>,
    slow: SlowWork,
    person: Option<Box<MessageSink>>,
    streams: bool,
}

/// Prints a message for a person who may be typing.
type MessageSink = dyn Fn(&str) + Send + Sync;

impl ProgressPrinter {
    pub(crate) fn new(style: TerminalStyle, detail: Verbosity) -> Self {
        let live = (detail == Verbosity::Normal)
            .then(LiveStatusLine::on_terminal)
            .flatten();
        Self {
            style,
            detail,
            waiting: AtomicBool::new(false),
            last_wait: Mutex::default(),
            live,
            slow: SlowWork::default(),
            person: None,
            streams: false,
        }
    }

    /// Adapts the printer to a person who is asked questions: those are not printed twice.
    /// `streams` says whether they follow the output of workers.
    pub(crate) fn with_person(mut self, streams: bool, say: Box<MessageSink>) -> Self {
        self.person = Some(say);
        self.streams = streams && self.detail >= Verbosity::Normal;
        self
    }

    /// Prints a message, above the live line if there is one.
    fn say(&self, text: &str) {
        let say = |text: &str| match &self.person {
            Some(person) => person(text),
            None => output::eprint_wrapped(text),
        };
        match &self.live {
            Some(live) => live.print_above(|| say(text)),
            None => say(text),
        }
    }

    /// Returns true if a person who answers questions, or follows the output, knows about an event
    /// anyway.
    fn is_already_shown(&self, event: &Event) -> bool {
        match event {
            Event::Asked { .. } => true,
            Event::Answered { over, .. } => over.is_empty(),
            Event::RunStarted(_) | Event::StepEntered { .. } | Event::FindingsChanged { .. } => {
                self.streams
            }
            Event::SubmissionReceived { submission, .. } => {
                self.streams && !matches!(submission, Submission::Blocked(_))
            }
            _ => false,
        }
    }

    /// Hides the live line, or shows it again.
    pub(crate) fn hide(&self, hidden: bool) {
        if let Some(live) = &self.live {
            live.hide(hidden);
        }
    }

    /// Formats an event as a line.
    pub(crate) fn render_entry(style: TerminalStyle, entry: &TimelineEntry) -> Option<String> {
        let text = entry.words.as_deref()?;
        Some(render_words(style, text, entry.at, &entry.event))
    }
}

/// Formats an event that has been put into words.
fn render_words(style: TerminalStyle, text: &str, at: EpochMillis, event: &Event) -> String {
    let text = match event {
        Event::GateJudged { passed: false, .. }
        | Event::AttemptFailed { .. }
        | Event::RebaseConflicted { .. } => style.yellow(text),
        Event::Committed { .. } | Event::GateJudged { passed: true, .. } => style.green(text),
        Event::RunEnded { outcome, .. } => match outcome {
            codeteam_core::frame::FrameOutcome::Completed => style.green(text),
            _ => style.red(text),
        },
        Event::Asked { .. } | Event::LimitReached { .. } => style.bold(text),
        _ => text.to_owned(),
    };
    let place = describe::event_frame(event).map_or("run", FramePath::name);
    let clock = style.dim(&describe::format_time_of_day(at));
    format!("{clock} {place:<12} {text}")
}

impl RunObserver for ProgressPrinter {
    fn event(&self, run: &Run, at: EpochMillis, event: &Event) {
        self.waiting.store(false, Ordering::Relaxed);
        if let Some(live) = &self.live {
            live.event(event);
        }
        let shown_anyway = self.person.is_some() && self.is_already_shown(event);
        if self.detail >= Verbosity::Normal
            && !shown_anyway
            && let Some(text) = describe::event_line(run, event)
        {
            self.say(&render_words(self.style, &text, at, event));
        }
    }

    fn line(&self, id: &AttemptId, line: &str) {
        if self.streams {
            let text = hang_indented(line, 2);
            self.say(&self.style.dim(&format!("  {text}")));
        } else if let Some(live) = &self.live {
            live.set_last_line(id, line);
        } else if self.detail >= Verbosity::Verbose {
            let who = format!("{:<12}   {} |", id.frame.name(), id.step);
            let who = self.style.dim(&who);
            // Every line names its worker, so that none is taken for one of codeteam's own.
            for line in strip_active(line).lines() {
                eprint_line(&format!("         {who} {line}"));
            }
        }
    }

    fn busy(&self, id: &AttemptId, what: Option<&str>) {
        match (&self.live, what) {
            (Some(live), _) => live.set_busy(id, what),
            (None, Some(what)) if self.detail >= Verbosity::Normal && self.person.is_none() => {
                let (style, place) = (self.style, id.frame.name().to_owned());
                let what = what.to_owned();
                self.slow.begin(id, move |seconds| {
                    let clock = style.dim(&describe::format_time_of_day(now()));
                    output::eprint_wrapped(&format!(
                        "{clock} {place:<12} {what}, {seconds} s so far"
                    ));
                });
            }
            (None, _) => self.slow.end(id),
        }
    }

    fn waiting(&self, _: &Run, effects: &[Effect]) {
        // The wait for an API was already reported when its account was parked.
        let is_news = |effect: &&Effect| {
            let Effect::Wait { why, .. } = effect else {
                return true;
            };
            !matches!(
                why,
                WaitReason::RateLimit { .. } | WaitReason::Outage { .. }
            )
        };
        let lines = effects
            .iter()
            .filter(is_news)
            .filter_map(describe::wait_text);
        let text = lines.collect::<Vec<String>>().join("\n");
        if text.is_empty() {
            return;
        }
        let Ok(mut last) = self.last_wait.lock() else {
            return;
        };
        let again = self.waiting.swap(true, Ordering::Relaxed) && *last == text;
        if again || self.detail < Verbosity::Normal {
            return;
        }
        last.clone_from(&text);
        self.say(&self.style.dim(&text));
    }

    fn warn(&self, message: &str) {
        self.say(&format!("{}: {message}", self.style.yellow("warning")));
    }
}
