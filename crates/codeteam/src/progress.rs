//! What a person sees while a run goes: a line per event, and what workers say if they ask for it.

mod line;
mod live;
mod slow;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use codeteam_core::effect::WaitReason;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath};
use codeteam_core::quoted::{hanging, visible};
use codeteam_core::submission::Submission;
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::driver::RunObserver;
use codeteam_engine::perform::now;
use codeteam_engine::tell;

pub(crate) use self::line::ScanProgressLine;
use self::live::LiveStatusLine;
use self::slow::SlowWork;
use crate::output::{self, TerminalStyle, say};

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing but problems.
    Quiet,
    /// A line per event.
    Normal,
    /// What workers and checks say, too.
    Verbose,
}

/// Prints a run as it goes.
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

/// Says something to a person who may be writing.
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

    /// The same for a person who is asked things: what they are asked is not told twice. `streams`
    /// says whether they read along with what workers say.
    pub(crate) fn with_person(mut self, streams: bool, say: Box<MessageSink>) -> Self {
        self.person = Some(say);
        self.streams = streams && self.detail >= Verbosity::Normal;
        self
    }

    /// Says something, above the line that moves if there is one.
    fn say(&self, text: &str) {
        let say = |text: &str| match &self.person {
            Some(person) => person(text),
            None => output::tell(text),
        };
        match &self.live {
            Some(live) => live.above(|| say(text)),
            None => say(text),
        }
    }

    /// Whether a person who is asked, or who reads along, knows of an event anyway.
    fn is_told(&self, event: &Event) -> bool {
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

    /// Takes the line that moves away, or lets it come back.
    pub(crate) fn hide(&self, hidden: bool) {
        if let Some(live) = &self.live {
            live.hide(hidden);
        }
    }

    /// One event as a line.
    pub(crate) fn render(
        style: TerminalStyle,
        run: &Run,
        at: EpochMillis,
        event: &Event,
    ) -> Option<String> {
        let text = tell::event(run, event)?;
        let text = match event {
            Event::GateJudged { passed: false, .. }
            | Event::AttemptFailed { .. }
            | Event::RebaseConflicted { .. } => style.yellow(&text),
            Event::Committed { .. } | Event::GateJudged { passed: true, .. } => style.green(&text),
            Event::RunEnded { outcome, .. } => match outcome {
                codeteam_core::event::FrameOutcome::Completed => style.green(&text),
                _ => style.red(&text),
            },
            Event::Asked { .. } | Event::LimitReached { .. } => style.bold(&text),
            _ => text,
        };
        let place = tell::place(event).map_or("run", FramePath::name);
        let clock = style.dim(&tell::clock(at));
        Some(format!("{clock} {place:<12} {text}"))
    }
}

impl RunObserver for ProgressPrinter {
    fn event(&self, run: &Run, at: EpochMillis, event: &Event) {
        self.waiting.store(false, Ordering::Relaxed);
        if let Some(live) = &self.live {
            live.event(event);
        }
        let shown_anyway = self.person.is_some() && self.is_told(event);
        if self.detail >= Verbosity::Normal
            && !shown_anyway
            && let Some(line) = Self::render(self.style, run, at, event)
        {
            self.say(&line);
        }
    }

    fn line(&self, id: &AttemptId, line: &str) {
        if self.streams {
            let text = hanging(line, 2);
            self.say(&self.style.dim(&format!("  {text}")));
        } else if let Some(live) = &self.live {
            live.said(id, line);
        } else if self.detail >= Verbosity::Verbose {
            let who = format!("{:<12}   {} |", id.frame.name(), id.step);
            let who = self.style.dim(&who);
            // Every line says whose it is, so that none is taken for one of codeteam's own.
            for line in visible(line).lines() {
                say(&format!("         {who} {line}"));
            }
        }
    }

    fn busy(&self, id: &AttemptId, what: Option<&str>) {
        match (&self.live, what) {
            (Some(live), _) => live.busy(id, what),
            (None, Some(what)) if self.detail >= Verbosity::Normal && self.person.is_none() => {
                let (style, place) = (self.style, id.frame.name().to_owned());
                let what = what.to_owned();
                self.slow.begin(id, move |seconds| {
                    let clock = style.dim(&tell::clock(now()));
                    output::tell(&format!("{clock} {place:<12} {what}, {seconds} s so far"));
                });
            }
            (None, _) => self.slow.end(id),
        }
    }

    fn waits(&self, _: &Run, effects: &[Effect]) {
        // That an API is waited for was said when its account began to rest.
        let is_news = |effect: &&Effect| {
            let Effect::Wait { why, .. } = effect else {
                return true;
            };
            !matches!(
                why,
                WaitReason::RateLimit { .. } | WaitReason::Outage { .. }
            )
        };
        let lines = effects.iter().filter(is_news).filter_map(tell::waiting);
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
