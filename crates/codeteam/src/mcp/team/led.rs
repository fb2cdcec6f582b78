//! One run: led by this process, or seen from outside.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codeteam_core::assignment::assignment;
use codeteam_core::frame::FrameStage;
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::session::{self, SessionTurn};
use codeteam_engine::Engine;
use codeteam_engine::engine::Error;
use codeteam_engine::session::{SessionRun, SessionState};
use serde_json::{Value, json};

use super::{lock, trouble};
use crate::mcp::answer::ToolAnswer;
use crate::mcp::expected::{self, SessionView};
use crate::mcp::history::{self, TaskHistory};
use crate::mcp::status::status;
use crate::mcp::tools;
use crate::problem::Problem;

/// A run that this process leads.
pub(in crate::mcp) struct LeadingSession {
    engine: Arc<Engine>,
    session: SessionRun,
    call: String,
    history: Mutex<TaskHistory>,
    /// What was expected at an event, and the whole status with it: neither changes until there is
    /// another event.
    shown: Mutex<Option<CachedAnswers>>,
    /// What the user should hear with the next outcome.
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
            shown: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    pub(in crate::mcp) fn state(&self) -> SessionState {
        self.session.state()
    }

    /// Whether nothing is being looked at that was handed in.
    pub(super) fn is_settled(&self) -> bool {
        self.session.settled(Duration::ZERO)
    }

    /// Why codeteam itself cannot go on, if it cannot and this was not said before.
    pub(super) fn failure(&self) -> Option<Error> {
        self.session.failure().map(Error::from)
    }

    /// Waits until it is the session's turn or a person's.
    pub(in crate::mcp) fn settled(&self, wait: Duration) -> bool {
        self.session.settled(wait)
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

    /// Has the user told something with the next outcome.
    pub(super) fn note(&self, notes: Vec<String>) {
        *lock(&self.notes) = notes;
    }

    /// The role that an attempt is for.
    pub(super) fn role(&self, id: &AttemptId) -> String {
        let run = self.state().run;
        let frame = run.frames.get(&id.frame);
        let role = frame.and_then(|frame| history::role_of(frame, id));
        role.unwrap_or_default().to_owned()
    }

    /// What is expected now.
    pub(in crate::mcp) fn expected(&self) -> ToolAnswer {
        match self.shown() {
            Ok(shown) => shown.expected,
            Err(error) => trouble(error),
        }
    }

    /// Where the task stands.
    pub(in crate::mcp) fn status(&self) -> ToolAnswer {
        match self.shown() {
            Ok(shown) => shown.status,
            Err(error) => trouble(error),
        }
    }

    /// The same, if nothing has to be read or made for it.
    pub(in crate::mcp) fn status_at_once(&self) -> Option<ToolAnswer> {
        let seq = self.state().run.seq;
        let shown = self.shown.try_lock().ok()?;
        let shown = shown.as_ref().filter(|shown| shown.seq == seq)?;
        self.is_settled().then(|| shown.status.clone())
    }

    fn shown(&self) -> Result<CachedAnswers, Error> {
        let settled = self.is_settled();
        let SessionState { run, progress, .. } = self.state();
        if let Some(shown) = lock(&self.shown).as_ref()
            && settled
            && shown.seq == run.seq
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
        let expected = view.expected();
        let shown = CachedAnswers {
            seq: run.seq,
            status: status(&view, &expected),
            expected,
        };
        // What is under way says other things in a moment.
        if settled && history.run.seq == run.seq {
            *lock(&self.shown) = Some(shown.clone());
        }
        Ok(shown)
    }

    /// What came of something that was handed in: what is expected now, or that it was refused.
    pub(in crate::mcp) fn outcome(&self, submitted: Option<&AttemptId>) -> ToolAnswer {
        if let Some(why) = self.session.refused() {
            return self.refusal(&why);
        }
        if let Some(error) = self.failure() {
            let do_next = "codeteam cannot go on with the task; what was handed in before is kept. Tell the \
                           user what `errors` says, and call `get_status` when it is mended.";
            return ToolAnswer::refused(&Problem::from(error).lines(), do_next)
                .with("run", json!(self.state().run.id));
        }
        let run = self.state().run;
        if let (Some(before), SessionTurn::Work(now)) = (submitted, session::turn(&run))
            && is_same_again(before, &now)
            && self.is_settled()
        {
            return match self.failed(&run.id) {
                Ok(why) => self.mend(&now, &[why]),
                Err(error) => trouble(error),
            };
        }
        let notes = std::mem::take(&mut *lock(&self.notes));
        self.expected().telling(&notes)
    }

    /// Why the last thing that was handed in was not taken.
    fn failed(&self, run: &RunId) -> Result<String, Error> {
        let mut history = lock(&self.history);
        history.catch_up(&self.engine, run)?;
        let why = history.failed().unwrap_or("it was not accepted");
        Ok(why.to_owned())
    }

    /// What an answer must be mended in.
    pub(super) fn mend(&self, id: &AttemptId, errors: &[String]) -> ToolAnswer {
        let role = self.role(id);
        let run = self.state().run;
        let forms = assignment(&run, id).map(|told| expected::form_lines(&told));
        let forms = forms.unwrap_or_default();
        let do_next = format!(
            "It is still the turn of `{role}`: mend what `errors` says, and `submit` again with \
             `assignment`: `{id}` and a `submission` like one of these: {}",
            forms.join(" or ")
        );
        ToolAnswer::refused(errors, &do_next)
            .with("run", json!(run.id))
            .with("assignment", json!(id.to_string()))
            .with("role", json!(role))
    }

    /// Says what is expected instead of what was done.
    pub(super) fn refusal(&self, why: &str) -> ToolAnswer {
        let expected = self.expected();
        let mut answer = ToolAnswer::refused(&[why.to_owned()], expected.do_next());
        let field = |name: &str| expected.fields().get(name).cloned().unwrap_or_default();
        for name in ["run", "assignment", "role", "questions"] {
            answer = answer.with(name, field(name));
        }
        let questions = field("questions");
        let questions = questions.as_array().into_iter().flatten();
        answer = answer.list("Questions", questions.filter_map(Value::as_str));
        let told = match session::turn(&self.state().run) {
            SessionTurn::Work(id) => assignment(&self.state().run, &id),
            _ => None,
        };
        let Some(told) = told.filter(|_| !field("assignment").is_null()) else {
            return answer;
        };
        let forms = expected::form_lines(&told);
        answer
            .with("expected_output", expected::expected_output(&told))
            .list(expected::SUBMIT, forms.iter().map(String::as_str))
    }

    pub(super) fn history(&self, args: &tools::HistoryArgs) -> ToolAnswer {
        told(&self.engine, &self.state().run.id, args)
    }
}

/// A run that others lead.
pub(in crate::mcp) struct ObservedRun {
    engine: Arc<Engine>,
    history: TaskHistory,
    /// Who leads it; nobody knows, if workers do.
    holder: String,
    /// If this same server leads it for another of its clients: after how long a silence that one is
    /// taken to be gone.
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

    /// One that is led by this server.
    pub(super) fn by_this_server(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    pub(super) fn run(&self) -> &RunId {
        &self.history.run.id
    }

    /// Whether workers have it.
    pub(super) fn is_with_workers(&self) -> bool {
        self.holder.is_empty()
    }

    /// The question that it waits with.
    fn asked(&self) -> Option<String> {
        let mut asking = self.history.run.frames.values().filter_map(|frame| {
            let FrameStage::Asking(question) = &frame.stage else {
                return None;
            };
            Some(question.text.clone())
        });
        asking.next()
    }

    /// Says who leads it, and what can be done.
    pub(super) fn refusal(&self) -> ToolAnswer {
        let id = &self.history.run.id;
        let asked = self.asked();
        let (error, expected) = if let Some(question) = asked.filter(|_| self.is_with_workers()) {
            (
                format!(
                    "workers have the task of this checkout, and wait for a person: {question}"
                ),
                format!(
                    "Tell the user: `{} status {id}` shows it, and they answer there. Or, if they say so, \
                     have the task back with `resume` and `take back`.",
                    self.call
                ),
            )
        } else if self.is_with_workers() {
            (
                "workers go on with the task of this checkout".to_owned(),
                format!(
                    "`{} status {id}` shows how far they are. Wait; or, if the user says so, have it back \
                     with `resume` and `take back`, or start another task with `another: true`.",
                    self.call
                ),
            )
        } else if let Some(patience) = self.patience {
            (
                format!("the task of this checkout is led by {}", self.holder),
                format!(
                    "Tell the user, and do nothing with the task here. You can go on with it, and \
                     `get_status` says so, as soon as that client ends its session or its program ends; \
                     one that stays silent is taken to be gone after {} minutes. A server leads one task \
                     at a time: another one besides needs a server of its own.",
                    patience.as_secs().div_ceil(60)
                ),
            )
        } else {
            (
                format!("the task of this checkout is led by {}", self.holder),
                "Tell the user, and do nothing with the task here. When they have ended that session, call \
                 `get_status` and go on with it. Another task besides is started with `another: true`, if \
                 the user says so."
                    .to_owned(),
            )
        };
        ToolAnswer::refused(&[error], &expected)
            .with("run", json!(id))
            .with("held_by", json!(self.holder))
    }

    pub(super) fn status(&self) -> ToolAnswer {
        let view = SessionView {
            engine: &self.engine,
            run: &self.history.run,
            history: &self.history,
            progress: &[],
            busy: false,
            codeteam: &self.call,
        };
        let refusal = self.refusal();
        status(&view, &refusal).with("held_by", json!(self.holder))
    }

    pub(super) fn history(&self, args: &tools::HistoryArgs) -> ToolAnswer {
        told(&self.engine, &self.history.run.id, args)
    }
}

/// Whether an assignment is a further try of the same one.
fn is_same_again(before: &AttemptId, now: &AttemptId) -> bool {
    let same = |id: &AttemptId| (id.frame.clone(), id.step.clone(), id.generation, id.slot);
    same(before) == same(now) && now.attempt > before.attempt
}

fn told(engine: &Engine, run: &RunId, args: &tools::HistoryArgs) -> ToolAnswer {
    let mut history = TaskHistory::in_full();
    if let Err(error) = history.catch_up(engine, run) {
        return trouble(error);
    }
    let (entries, left_out) = history.told(args.role.as_deref(), args.iteration);
    let mut text = match entries.len() {
        0 => history.none_found(),
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
        .always("submissions", json!(entries))
        .part("Submissions", &lines.join("\n"))
}
