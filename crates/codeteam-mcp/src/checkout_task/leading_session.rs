//! A single run: led by this process ([`LeadingSession`]), or observed from outside
//! ([`ObservedRun`]).

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codeteam_core::assignment::build_assignment;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::session::SessionTurn;
use codeteam_engine::Engine;
use codeteam_engine::engine::Error;
use codeteam_engine::session::{SessionEnd, SessionRun};
use codeteam_report::view::{LoadedRun, open_questions};
use serde_json::{Value, json};

use super::{engine_error_answer, lock};
use crate::next_expected::{self, SessionView};
use crate::status::status_answer;
use crate::task_history::TaskHistory;
use crate::tool_answer::ToolAnswer;
use crate::tools;
use codeteam_engine::problem::Problem;

/// A run that this process leads.
///
/// It owns the connection to the engine's session run and builds the answers for the client from
/// it. Answers are cached per event number, because clients poll the status far more often than the
/// run changes.
pub(crate) struct LeadingSession {
    engine: Arc<Engine>,
    session: SessionRun,
    call: String,
    history: Mutex<TaskHistory>,
    /// The last answers with the event number they belong to. They stay valid until the next event.
    cached: Mutex<Option<CachedAnswers>>,
    /// Notes that the user should hear with the next outcome.
    notes: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct CachedAnswers {
    seq: u64,
    expected: ToolAnswer,
    status: ToolAnswer,
}

impl LeadingSession {
    pub(super) fn new(engine: &Arc<Engine>, session: SessionRun, call: &str) -> Self {
        Self {
            engine: Arc::clone(engine),
            session,
            call: call.to_owned(),
            history: Mutex::default(),
            cached: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// Returns why this process no longer leads the run, if it does not.
    pub(crate) fn end(&self) -> Option<SessionEnd> {
        self.session.state().end
    }

    /// Returns the most recent output of codeteam's own work.
    pub(crate) fn progress(&self) -> Vec<String> {
        self.session.state().progress
    }

    /// Returns the run as it is now.
    pub(crate) fn run(&self) -> LoadedRun {
        LoadedRun::new(self.session.state().run)
    }

    /// Returns true if no submission is being processed.
    pub(super) fn is_settled(&self) -> bool {
        self.session.wait_for_turn(Duration::ZERO)
    }

    /// Returns the error that keeps codeteam from continuing, unless it was already reported.
    pub(super) fn failure(&self) -> Option<Error> {
        self.session.failure().map(Error::from)
    }

    /// Waits until it is the session's or a person's turn.
    pub(crate) fn wait_until_settled(&self, wait: Duration) -> bool {
        self.session.wait_for_turn(wait)
    }

    pub(super) fn submit(&self, id: &AttemptId, text: String) -> Result<(), String> {
        self.session.submit(id, text)
    }

    pub(super) fn reply(&self, by: &str, id: &AttemptId, answer: &str) -> Result<(), String> {
        self.session.reply(by, id, answer)
    }

    pub(super) fn abort(&self, by: &str, reason: &str) -> Result<(), String> {
        self.session.abort(by, reason)
    }

    /// Stores notes that the user is shown with the next outcome.
    pub(super) fn add_user_notes(&self, notes: Vec<String>) {
        *lock(&self.notes) = notes;
    }

    /// Returns the role of an attempt.
    pub(super) fn role_of_attempt(&self, id: &AttemptId) -> String {
        let role = self.run().attempt_role(id);
        role.map(|role| role.0).unwrap_or_default()
    }

    /// Returns the answer that says what is expected now.
    pub(crate) fn expected(&self) -> ToolAnswer {
        match self.answers() {
            Ok(shown) => shown.expected,
            Err(error) => engine_error_answer(error),
        }
    }

    /// Returns the status of the task.
    pub(crate) fn status(&self) -> ToolAnswer {
        match self.answers() {
            Ok(shown) => shown.status,
            Err(error) => engine_error_answer(error),
        }
    }

    /// Returns the status if it is cached, without reading or building anything.
    pub(crate) fn status_at_once(&self) -> Option<ToolAnswer> {
        let seq = self.run().seq();
        let shown = self.cached.try_lock().ok()?;
        let shown = shown.as_ref().filter(|shown| shown.seq == seq)?;
        self.is_settled().then(|| shown.status.clone())
    }

    fn answers(&self) -> Result<CachedAnswers, Error> {
        let settled = self.is_settled();
        let (run, progress) = (self.run(), self.progress());
        if let Some(shown) = lock(&self.cached).as_ref()
            && settled
            && shown.seq == run.seq()
        {
            return Ok(shown.clone());
        }
        let mut history = lock(&self.history);
        history.catch_up(&self.engine, &run.id)?;
        let view = SessionView {
            engine: &self.engine,
            run: &run,
            history: &history,
            progress: &progress,
            busy: !settled,
            codeteam: &self.call,
        };
        let expected = view.next_answer();
        let shown = CachedAnswers {
            seq: run.seq(),
            status: status_answer(&view, &expected),
            expected,
        };
        // While work is under way the answer changes from moment to moment, so it is not cached.
        if settled && history.run.seq() == run.seq() {
            *lock(&self.cached) = Some(shown.clone());
        }
        Ok(shown)
    }

    /// Returns the outcome of a submission: what is expected now, or why it was refused.
    pub(crate) fn outcome(&self, submitted: Option<&AttemptId>) -> ToolAnswer {
        if let Some(why) = self.session.last_refusal() {
            return self.refusal(&why);
        }
        if let Some(error) = self.failure() {
            let do_next = "codeteam cannot continue the task; earlier submissions are kept. Tell the user \
                           what `errors` says, and call `get_status` when it is fixed.";
            return ToolAnswer::refused(&Problem::from(error).lines(), do_next)
                .with("run", json!(self.run().id));
        }
        let run = self.run();
        if let (Some(before), SessionTurn::Work(now)) = (submitted, run.session_turn())
            && is_retry_of(before, &now)
            && self.is_settled()
        {
            return match self.last_failure(&run.id) {
                Ok(why) => self.correction_request(&now, &[why]),
                Err(error) => engine_error_answer(error),
            };
        }
        let notes = std::mem::take(&mut *lock(&self.notes));
        self.expected().with_user_notes(&notes)
    }

    /// Explains why the last submission was not accepted.
    fn last_failure(&self, run: &RunId) -> Result<String, Error> {
        let mut history = lock(&self.history);
        history.catch_up(&self.engine, run)?;
        let why = history.failed().unwrap_or("it was not accepted");
        Ok(why.to_owned())
    }

    /// Asks the session to correct an answer, with the errors found in it.
    pub(super) fn correction_request(&self, id: &AttemptId, errors: &[String]) -> ToolAnswer {
        let role = self.role_of_attempt(id);
        let run = self.run();
        let forms = build_assignment(run.as_run(), id).map(|told| next_expected::form_lines(&told));
        let forms = forms.unwrap_or_default();
        let do_next = format!(
            "You are still `{role}`: correct what `errors` says, and `submit` again with \
             `assignment`: `{id}` and a `submission` like one of these: {}",
            forms.join(" or ")
        );
        ToolAnswer::refused(errors, &do_next)
            .with("run", json!(run.id))
            .with("assignment", json!(id.to_string()))
            .with("role", json!(role))
    }

    /// Refuses a call and says what is expected instead.
    pub(super) fn refusal(&self, why: &str) -> ToolAnswer {
        let expected = self.expected();
        let mut answer = ToolAnswer::refused(&[why.to_owned()], expected.do_next());
        let field = |name: &str| expected.fields().get(name).cloned().unwrap_or_default();
        for name in ["run", "assignment", "role", "questions"] {
            answer = answer.with(name, field(name));
        }
        let questions = field("questions");
        let questions = questions.as_array().into_iter().flatten();
        answer = answer.with_list("Questions", questions.filter_map(Value::as_str));
        let told = match self.run().session_turn() {
            SessionTurn::Work(id) => build_assignment(self.run().as_run(), &id),
            _ => None,
        };
        let Some(told) = told.filter(|_| !field("assignment").is_null()) else {
            return answer;
        };
        let forms = next_expected::form_lines(&told);
        answer
            .with("expected_output", next_expected::expected_output(&told))
            .with_list(next_expected::SUBMIT, forms.iter().map(String::as_str))
    }

    pub(super) fn history(&self, args: &tools::HistoryArgs) -> ToolAnswer {
        history_answer(&self.engine, &self.run().id, args)
    }
}

/// A run that this process does not lead.
pub(crate) struct ObservedRun {
    engine: Arc<Engine>,
    history: TaskHistory,
    /// The name of the client that leads it; empty if workers do.
    holder: String,
    /// Set if this same server leads the run for another of its clients: the silence after which
    /// that client is considered gone.
    patience: Option<Duration>,
    call: String,
}

impl ObservedRun {
    pub(super) fn new(
        engine: &Arc<Engine>,
        id: &RunId,
        holder: String,
        call: &str,
    ) -> Result<Self, Error> {
        let mut history = TaskHistory::default();
        history.catch_up(engine, id)?;
        Ok(Self {
            engine: Arc::clone(engine),
            history,
            holder,
            patience: None,
            call: call.to_owned(),
        })
    }

    /// Marks the run as led by this server for another of its clients.
    pub(super) fn led_by_this_server(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    pub(super) fn run(&self) -> &RunId {
        self.history.run.id()
    }

    /// Returns true if workers have the run.
    pub(super) fn is_with_workers(&self) -> bool {
        self.holder.is_empty()
    }

    /// Returns the question that the run waits with.
    fn open_question(&self) -> Option<String> {
        let run = self.history.run.snapshot();
        let mut open = open_questions(run.as_run());
        open.next().map(|question| question.text.clone())
    }

    /// Says who leads the run, and what can be done about it.
    pub(super) fn refusal(&self) -> ToolAnswer {
        let id = self.history.run.id();
        let asked = self.open_question();
        let (error, expected) = if let Some(question) = asked.filter(|_| self.is_with_workers()) {
            (
                format!(
                    "workers have the task of this checkout, and wait for a person: {question}"
                ),
                format!(
                    "Tell the user: `{} status {id}` shows it, and they answer there. Or, if they say so, \
                     take the task back: `resume` with `take back`.",
                    self.call
                ),
            )
        } else if self.is_with_workers() {
            (
                "workers are continuing the task of this checkout".to_owned(),
                format!(
                    "`{} status {id}` shows how far they are. Wait; or, if the user says so, take it back \
                     (`resume` with `take back`), or start another task with `another: true`.",
                    self.call
                ),
            )
        } else if let Some(patience) = self.patience {
            (
                format!("the task of this checkout is led by {}", self.holder),
                format!(
                    "Tell the user, and do nothing with the task here. You can continue it, and \
                     `get_status` says so, as soon as that client ends its session or its program ends; \
                     a silent client counts as gone after {} minutes. A server leads one task at a time: \
                     another task needs a server of its own.",
                    patience.as_secs().div_ceil(60)
                ),
            )
        } else {
            (
                format!("the task of this checkout is led by {}", self.holder),
                "Tell the user, and do nothing with the task here. When they have ended that session, call \
                 `get_status` and continue the task. If the user says so, start another task with \
                 `another: true`."
                    .to_owned(),
            )
        };
        ToolAnswer::refused(&[error], &expected)
            .with("run", json!(id))
            .with("held_by", json!(self.holder))
    }

    pub(super) fn status(&self) -> ToolAnswer {
        let run = self.history.run.snapshot();
        let view = SessionView {
            engine: &self.engine,
            run: &run,
            history: &self.history,
            progress: &[],
            busy: false,
            codeteam: &self.call,
        };
        let refusal = self.refusal();
        status_answer(&view, &refusal).with("held_by", json!(self.holder))
    }

    pub(super) fn history(&self, args: &tools::HistoryArgs) -> ToolAnswer {
        history_answer(&self.engine, self.history.run.id(), args)
    }
}

/// Returns true if `now` is a later try of the same assignment as `before`.
fn is_retry_of(before: &AttemptId, now: &AttemptId) -> bool {
    let same = |id: &AttemptId| (id.frame.clone(), id.step.clone(), id.generation, id.slot);
    same(before) == same(now) && now.attempt > before.attempt
}

fn history_answer(engine: &Engine, run: &RunId, args: &tools::HistoryArgs) -> ToolAnswer {
    let mut history = TaskHistory::in_full();
    if let Err(error) = history.catch_up(engine, run) {
        return engine_error_answer(error);
    }
    let (entries, left_out) = history.filtered_entries(args.role.as_deref(), args.iteration);
    let mut text = match entries.len() {
        0 => history.no_entry_message(),
        1 => "1 entry.".to_owned(),
        many => format!("{many} entries, the oldest first."),
    };
    if left_out > 0 {
        let _ = write!(
            text,
            " {left_out} older ones are left out: name a `role` or an `iteration`."
        );
    }
    let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
    ToolAnswer::new("history", text)
        .with("run", json!(run))
        .with_always("submissions", json!(entries))
        .with_section("Submissions", &lines.join("\n"))
}
