//! The queue of open questions, filled by the driver and emptied by the person.

use std::fmt::Write as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, EpochMillis};
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::untrusted_text::{hang_indented, one_line};
use codeteam_core::{Effect, Event, Run};
use codeteam_engine::driver::RunObserver;
use codeteam_host::process::CancelToken;
use codeteam_report::view::{LoadedRun, has_change, open_questions};

use super::screen::Screen;
use crate::progress::ProgressPrinter;

/// The open questions of a run, shared between the driver's thread and the person's dialog.
///
/// The driver's observer calls [`update`](Self::update) when the run waits and after its files were
/// written, so that a question appears only when the files it refers to exist. The dialog waits
/// with [`wait_for_question`](Self::wait_for_question), posts a decision to the inbox, and waits
/// again with [`wait_until_taken`](Self::wait_until_taken).
///
/// If the question at the current prompt is answered elsewhere, the prompt is cancelled through the
/// screen. The queue never changes the run; when the person leaves, it only cancels the driver.
pub(super) struct QuestionQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    screen: Arc<Screen>,
    interrupt: CancelToken,
}

#[derive(Default)]
struct QueueState {
    run: Option<LoadedRun>,
    open: Vec<Question>,
    /// The question that the person is being asked at the moment.
    at: Option<AttemptId>,
    /// The number of decisions that could not be carried out.
    refusals: u64,
    /// The last question that was answered, and by whom and how.
    answered: Option<(AttemptId, String)>,
    /// The last question on which somebody voted; it stays open until enough people have.
    voted: Option<AttemptId>,
    /// Feedback on the plan that has not been shown yet.
    feedback: Option<String>,
    /// Whether the driver has stopped.
    ended: bool,
    /// Whether the person has left.
    left: bool,
    /// Whether the person leaves as soon as nothing else is to be done.
    leaving: bool,
}

/// What there is for a person to do.
pub(super) enum NextQuestion {
    /// A question, and the number of open ones.
    Question(LoadedRun, Box<Question>, usize),
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

    /// Updates the queue from the state of a run.
    fn update(&self, run: &Run) {
        let mut state = self.lock();
        if state
            .run
            .as_ref()
            .is_some_and(|known| known.is_up_to_date(run))
        {
            return;
        }
        let before = std::mem::take(&mut state.open);
        state.open = open_questions(run).cloned().collect();
        let is_new = |question: &&Question| !before.iter().any(|q| q.id == question.id);
        let new = state.open.iter().filter(is_new);
        let new: Vec<String> = new.map(|q| q.id.frame.name().to_owned()).collect();
        let busy = state.at.is_some();
        state.run = Some(LoadedRun::new(run.clone()));
        let gone = state
            .at
            .as_ref()
            .is_some_and(|at| !state.open.iter().any(|question| question.id == *at));
        drop(state);
        if gone {
            self.screen.cancel_prompt();
        } else if busy {
            // Only now can the person turn to them.
            for place in new {
                self.screen
                    .print(&format!("{place} waits for you, too: /next"));
            }
        }
        self.changed.notify_all();
    }

    /// Waits for a question. One after `last` is preferred, so that no question is asked for ever
    /// while others wait.
    pub(super) fn wait_for_question(&self, last: Option<&AttemptId>) -> NextQuestion {
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
                let (run, open) = (run.clone(), state.open.len());
                state.at = Some(question.id.clone());
                self.screen.reset_cancelled();
                return NextQuestion::Question(run, question, open);
            }
            state = self.wait(state);
        }
    }

    fn wait<'a>(&self, state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
        // Every change is notified; checking once a second in addition costs nothing.
        let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns the current state of the run.
    pub(super) fn run(&self) -> Option<LoadedRun> {
        self.lock().run.clone()
    }

    /// Returns the number of open questions.
    pub(super) fn open_count(&self) -> usize {
        self.lock().open.len()
    }

    /// Records that the person has turned away from a question.
    pub(super) fn leave_question(&self) {
        self.lock().at = None;
    }

    /// Returns the number of decisions that could not be carried out so far.
    pub(super) fn refusals(&self) -> u64 {
        self.lock().refusals
    }

    /// Waits until a decision has been carried out, or could not be. Returns true if the question
    /// is still open.
    pub(super) fn wait_until_taken(&self, question: &AttemptId, refusals: u64) -> bool {
        let mut state = self.lock();
        loop {
            let open = state.open.iter().any(|q| q.id == *question);
            let voted = state.voted.as_ref() == Some(question);
            if !open || voted || state.refusals > refusals || state.ended {
                return open && !state.ended;
            }
            state = self.wait(state);
        }
    }

    /// Waits until the run has changed.
    pub(super) fn wait_until_moved(&self, seq: u64, refusals: u64) {
        let mut state = self.lock();
        while !state.ended
            && state.refusals == refusals
            && state.run.as_ref().is_none_or(|run| run.seq() <= seq)
        {
            state = self.wait(state);
        }
    }

    /// Returns who answered a question, and how.
    pub(super) fn answered(&self, question: &AttemptId) -> Option<String> {
        let state = self.lock();
        let (id, words) = state.answered.as_ref()?;
        (id == question).then(|| words.clone())
    }

    /// Returns feedback on the plan that was not shown yet.
    pub(super) fn take_feedback(&self) -> Option<String> {
        self.lock().feedback.take()
    }

    /// Lets the person leave: work under way is stopped, and resumed later.
    pub(super) fn leave(&self) {
        self.lock().left = true;
        self.interrupt.cancel();
        self.changed.notify_all();
    }

    /// Records that the person has no more input; work that needs nobody continues.
    pub(super) fn leave_when_idle(&self) {
        self.lock().leaving = true;
        self.changed.notify_all();
    }

    pub(super) fn was_left(&self) -> bool {
        let state = self.lock();
        state.left || state.leaving
    }

    fn leave_if_idle(&self, effects: &[Effect]) {
        let timed = |e: &Effect| matches!(e, Effect::Wait { until: Some(_), .. });
        let asked = effects.iter().any(|e| matches!(e, Effect::Ask(_)));
        let state = self.lock();
        if state.leaving && asked && !effects.iter().any(timed) {
            self.interrupt.cancel();
        }
    }

    fn handle_event(&self, run: &Run, event: &Event) {
        match event {
            Event::DecisionRefused { .. } => self.lock().refusals += 1,
            Event::Answered {
                question,
                by,
                answer,
                ..
            } => self.lock().answered = Some((question.clone(), format!("{by}: {answer}"))),
            Event::Voted { question, .. } => self.lock().voted = Some(question.clone()),
            Event::SubmissionReceived {
                id,
                submission: Submission::Verdict(verdict),
                ..
            } if !has_change(run, &id.frame) => {
                self.lock().feedback = Some(describe_verdict(verdict));
            }
            _ => {}
        }
    }
}

/// Describes a verdict on a plan.
fn describe_verdict(verdict: &codeteam_core::submission::Verdict) -> String {
    let word = match verdict.verdict {
        VerdictChoice::Approve => "The plan is fine",
        VerdictChoice::Reject => "The plan should be changed",
    };
    let mut text = format!("{word}: {}", hang_indented(verdict.reason.trim(), 4));
    for finding in &verdict.findings {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        let _ = write!(text, "\n  - {} ({severity})", one_line(&finding.title));
        if !finding.detail.trim().is_empty() {
            let _ = write!(text, "\n    {}", hang_indented(finding.detail.trim(), 4));
        }
    }
    text
}

/// Records that the driver has stopped, however it did.
pub(super) struct DriverEndGuard(pub(super) Arc<QuestionQueue>);

impl Drop for DriverEndGuard {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.screen.cancel_prompt();
        self.0.changed.notify_all();
    }
}

/// Forwards the driver's reports to the screen and the queue.
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
        self.desk.handle_event(run, event);
        self.progress.event(run, at, event);
    }

    fn line(&self, id: &AttemptId, line: &str) {
        self.progress.line(id, line);
    }

    fn waiting(&self, run: &Run, effects: &[Effect]) {
        self.desk.update(run);
        self.desk.leave_if_idle(effects);
        // Questions to the person at this terminal are shown by the dialog itself.
        let others: Vec<Effect> = effects
            .iter()
            .filter(|effect| !matches!(effect, Effect::Ask(_)))
            .cloned()
            .collect();
        if !others.is_empty() {
            self.progress.waiting(run, &others);
        }
    }

    fn warn(&self, message: &str) {
        self.progress.warn(message);
    }

    fn files_written(&self, run: &Run) {
        self.desk.update(run);
    }
}
