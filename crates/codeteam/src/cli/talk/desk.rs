//! What lies on a person's desk: the questions that are open, as the driver tells them.

use std::fmt::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, EpochMillis};
use codeteam_core::quoted::{hanging, one_line};
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::driver::RunObserver;
use codeteam_engine::process::CancelToken;

use super::screen::Screen;
use crate::cli::drive::open_questions;
use crate::progress::ProgressPrinter;

/// What is open, and who is at it.
pub(super) struct QuestionQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    screen: Arc<Screen>,
    interrupt: CancelToken,
}

#[derive(Default)]
struct QueueState {
    run: Option<Arc<Run>>,
    open: Vec<Question>,
    /// What the person is asked at this moment.
    at: Option<AttemptId>,
    /// How often a decision could not be followed.
    refusals: u64,
    /// Who answered what, last.
    answered: Option<(AttemptId, String)>,
    /// What somebody said of the plan, until it is shown.
    feedback: Option<String>,
    /// The driver has stopped.
    ended: bool,
    /// The person has left.
    left: bool,
    /// The person leaves when nothing else is to be done.
    leaving: bool,
}

/// What there is to do for a person.
pub(super) enum NextQuestion {
    /// A question, and all that are open.
    Question(Arc<Run>, Box<Question>, usize),
    /// Nothing more.
    Nothing,
}

impl QuestionQueue {
    pub(super) fn new(screen: Arc<Screen>, interrupt: CancelToken) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            screen,
            interrupt,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of where a run stands.
    fn look(&self, run: &Run) {
        let mut state = self.lock();
        if state.run.as_ref().is_some_and(|known| known.seq == run.seq) {
            return;
        }
        let before = std::mem::take(&mut state.open);
        state.open = open_questions(run).into_iter().cloned().collect();
        let is_new = |question: &&Question| !before.iter().any(|q| q.id == question.id);
        let new = state.open.iter().filter(is_new);
        let new: Vec<String> = new.map(|q| q.id.frame.name().to_owned()).collect();
        let busy = state.at.is_some();
        state.run = Some(Arc::new(run.clone()));
        let gone = state
            .at
            .as_ref()
            .is_some_and(|at| !state.open.iter().any(|question| question.id == *at));
        drop(state);
        if gone {
            self.screen.overtake();
        } else if busy {
            // Only now can they be turned to.
            for place in new {
                self.screen
                    .say(&format!("{place} waits for you, too: /next"));
            }
        }
        self.changed.notify_all();
    }

    /// Waits for a question. One that comes after `last` is preferred, so that none is asked for
    /// ever while others wait.
    pub(super) fn next(&self, last: Option<&AttemptId>) -> NextQuestion {
        let mut state = self.lock();
        loop {
            if state.ended || state.left {
                return NextQuestion::Nothing;
            }
            if !state.leaving
                && let Some(run) = &state.run
                && !state.open.is_empty()
            {
                let here = state.open.iter().position(|q| Some(&q.id) == last);
                let at = here.map_or(0, |at| (at + 1) % state.open.len());
                let question = Box::new(state.open[at].clone());
                let (run, open) = (Arc::clone(run), state.open.len());
                state.at = Some(question.id.clone());
                self.screen.ask();
                return NextQuestion::Question(run, question, open);
            }
            state = self.wait(state);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
        // Somebody always tells; looking up now and then costs nothing.
        let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The run as it is now.
    pub(super) fn run(&self) -> Option<Arc<Run>> {
        self.lock().run.clone()
    }

    /// How many questions are open.
    pub(super) fn open(&self) -> usize {
        self.lock().open.len()
    }

    /// The person has turned away from a question.
    pub(super) fn turn_away(&self) {
        self.lock().at = None;
    }

    /// How many decisions could not be followed so far.
    pub(super) fn refusals(&self) -> u64 {
        self.lock().refusals
    }

    /// Waits until a decision has been followed, or could not be. Says whether the question is
    /// still open.
    pub(super) fn taken(&self, question: &AttemptId, refusals: u64) -> bool {
        let mut state = self.lock();
        loop {
            let open = state.open.iter().any(|q| q.id == *question);
            if !open || state.refusals > refusals || state.ended {
                return open && !state.ended;
            }
            state = self.wait(state);
        }
    }

    /// Waits until the run has something new to say.
    pub(super) fn moved(&self, seq: u64, refusals: u64) {
        let mut state = self.lock();
        while !state.ended
            && state.refusals == refusals
            && state.run.as_ref().is_none_or(|run| run.seq <= seq)
        {
            state = self.wait(state);
        }
    }

    /// Who answered a question, and what.
    pub(super) fn answered(&self, question: &AttemptId) -> Option<String> {
        let state = self.lock();
        let (id, words) = state.answered.as_ref()?;
        (id == question).then(|| words.clone())
    }

    /// What was said of the plan and not shown yet.
    pub(super) fn feedback(&self) -> Option<String> {
        self.lock().feedback.take()
    }

    /// The person leaves: what is under way is stopped, and taken up again later.
    pub(super) fn leave(&self) {
        self.lock().left = true;
        self.interrupt.cancel();
        self.changed.notify_all();
    }

    /// The person has nothing more to say; what needs nobody goes on.
    pub(super) fn leave_when_idle(&self) {
        self.lock().leaving = true;
        self.changed.notify_all();
    }

    pub(super) fn was_left(&self) -> bool {
        let state = self.lock();
        state.left || state.leaving
    }

    fn is_idle(&self, effects: &[Effect]) {
        let timed = |e: &Effect| matches!(e, Effect::Wait { until: Some(_), .. });
        let asked = effects.iter().any(|e| matches!(e, Effect::Ask(_)));
        let state = self.lock();
        if state.leaving && asked && !effects.iter().any(timed) {
            self.interrupt.cancel();
        }
    }

    fn hear(&self, run: &Run, event: &Event) {
        match event {
            Event::DecisionRefused { .. } => self.lock().refusals += 1,
            Event::Answered {
                question,
                by,
                answer,
                ..
            } => self.lock().answered = Some((question.clone(), format!("{by}: {answer}"))),
            Event::SubmissionReceived {
                id,
                submission: Submission::Verdict(verdict),
                ..
            } if run
                .frames
                .get(&id.frame)
                .is_some_and(|f| f.change.is_none()) =>
            {
                self.lock().feedback = Some(feedback(verdict));
            }
            _ => {}
        }
    }
}

/// What somebody said of a plan.
fn feedback(verdict: &codeteam_core::submission::Verdict) -> String {
    let word = match verdict.verdict {
        VerdictChoice::Approve => "The plan is fine",
        VerdictChoice::Reject => "The plan should be changed",
    };
    let mut text = format!("{word}: {}", hanging(verdict.reason.trim(), 4));
    for finding in &verdict.findings {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        let _ = write!(text, "\n  - {} ({severity})", one_line(&finding.title));
        if !finding.detail.trim().is_empty() {
            let _ = write!(text, "\n    {}", hanging(finding.detail.trim(), 4));
        }
    }
    text
}

/// Says that the driver has stopped, however it did.
pub(super) struct DriverEndGuard(pub(super) Arc<QuestionQueue>);

impl Drop for DriverEndGuard {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.screen.overtake();
        self.0.changed.notify_all();
    }
}

/// Tells the screen and the desk what a driver tells.
pub(super) struct PersonObserver {
    progress: Arc<ProgressPrinter>,
    desk: Arc<QuestionQueue>,
}

impl PersonObserver {
    pub(super) fn new(progress: Arc<ProgressPrinter>, desk: Arc<QuestionQueue>) -> Self {
        Self { progress, desk }
    }
}

impl RunObserver for PersonObserver {
    fn event(&self, run: &Run, at: EpochMillis, event: &Event) {
        self.desk.hear(run, event);
        self.progress.event(run, at, event);
    }

    fn line(&self, id: &AttemptId, line: &str) {
        self.progress.line(id, line);
    }

    fn waits(&self, run: &Run, effects: &[Effect]) {
        self.desk.look(run);
        self.desk.is_idle(effects);
        // What waits for the person at this desk says so itself.
        let others: Vec<Effect> = effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Ask(_)))
            .cloned()
            .collect();
        if !others.is_empty() {
            self.progress.waits(run, &others);
        }
    }

    fn warn(&self, message: &str) {
        self.progress.warn(message);
    }

    fn written(&self, run: &Run) {
        self.desk.look(run);
    }
}
