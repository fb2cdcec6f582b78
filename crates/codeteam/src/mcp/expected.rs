//! What is expected now: of the session, of a person, or of codeteam itself.

mod assigned;
mod ended;

pub(super) use self::assigned::{SUBMIT, expected_output, form_lines};

use std::fmt::Write as _;

use codeteam_core::Run;
use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::frame::{Frame, Question, QuestionKind};
use codeteam_core::session::{self, SessionTurn};
use codeteam_core::submission::Design;
use codeteam_core::workflow::StepKind;
use codeteam_engine::engine::Engine;
use serde_json::json;

use super::answer::ToolAnswer;
use super::history::TaskHistory;

/// A run as it is looked at.
pub(super) struct SessionView<'a> {
    pub(super) engine: &'a Engine,
    pub(super) run: &'a Run,
    pub(super) history: &'a TaskHistory,
    /// What codeteam's own work has said lately.
    pub(super) progress: &'a [String],
    /// Whether something was handed in that is not looked at yet.
    pub(super) busy: bool,
    /// How codeteam is called here.
    pub(super) codeteam: &'a str,
}

impl SessionView<'_> {
    /// What is expected now.
    pub(super) fn expected(&self) -> ToolAnswer {
        match session::turn(self.run) {
            SessionTurn::Work(id) if !self.busy => self.assigned(&id),
            SessionTurn::Ask(question) if !self.busy => self.asked(&question),
            SessionTurn::Wait(effects) => self.checking(&effects),
            SessionTurn::Work(_) | SessionTurn::Ask(_) => self.checking(&[]),
            SessionTurn::Elsewhere => self.elsewhere(),
            SessionTurn::Over => self.ended(),
        }
    }

    /// What a run has in common in all answers.
    fn of_run(&self, answer: ToolAnswer) -> ToolAnswer {
        answer.with("run", json!(self.run.id))
    }

    fn checking(&self, effects: &[Effect]) -> ToolAnswer {
        let mut running: Vec<String> = effects.iter().filter_map(running).collect();
        if running.is_empty() {
            running.push("what was handed in is being looked at".to_owned());
        }
        let text = format!(
            "codeteam is at work: {}. Change no files meanwhile. Call `get_status`: it waits for that, and \
             has your next assignment when it is done.",
            running.join("; ")
        );
        self.of_run(ToolAnswer::new("checking", text))
            .with("running", json!(running))
            .with("progress", json!(self.progress))
            .list("Lately", self.progress.iter().map(String::as_str))
    }

    fn elsewhere(&self) -> ToolAnswer {
        let text = format!(
            "Nothing is expected of you: workers that codeteam started go on with this task. Tell the user \
             that `{} status {}` shows how far they are.",
            self.codeteam, self.run.id
        );
        self.of_run(ToolAnswer::new("checking", text))
            .with("running", json!(["workers"]))
    }

    fn asked(&self, question: &Question) -> ToolAnswer {
        let frame = self.run.frames.get(&question.id.frame);
        match question.kind {
            QuestionKind::Analyst => self.questions(question),
            QuestionKind::Rebound => self.offer(question, frame),
            QuestionKind::Exhausted => self.exhausted(question, frame),
            QuestionKind::Step
            | QuestionKind::Degraded
            | QuestionKind::Interrupted
            | QuestionKind::Message => self.outside(question),
        }
    }

    /// An analyst must know something.
    fn questions(&self, question: &Question) -> ToolAnswer {
        let role = self.asking(question);
        let text = format!(
            "The task is paused: `{role}` must know something from the user. Ask them the `questions` \
             below, word for word, and wait for their answer; then pass on what they say with `resume`. Do \
             not answer in their place."
        );
        let asked = if question.points.is_empty() {
            std::slice::from_ref(&question.text)
        } else {
            &question.points
        };
        let partial = self.history.partial().unwrap_or("");
        let understood = Some(question.text.as_str()).filter(|text| *text != Question::UNCLEAR);
        let understood = understood.unwrap_or_default();
        self.of_run(ToolAnswer::new("task_paused", text))
            .with("role", json!(role))
            .with("questions", json!(asked))
            .always("context", json!(understood))
            .with("partial_spec", json!(partial))
            .list("Questions", asked.iter().map(String::as_str))
            .part("Context: what was understood so far", understood)
            .part("Partial spec: what is clear already", partial)
    }

    /// It was rejected: back to the design?
    fn offer(&self, question: &Question, frame: Option<&Frame>) -> ToolAnswer {
        let failures = frame.map_or(0, session::failures);
        let last = frame.map(last_rejection).unwrap_or_default();
        let pattern = frame.and_then(session::pattern);
        let suggestion = question.text.as_str();
        let since = frame.and_then(|frame| since(frame, failures, question));
        let since = since.unwrap_or_default();
        let times = match failures {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        // The question begins with what was just said.
        let asks = suggestion
            .strip_prefix("The change was rejected. ")
            .unwrap_or(suggestion);
        let text = format!(
            "The change was rejected {times}{since}. Tell the user why and ask them: {asks} Wait for their \
             answer, and pass it on with `resume`: `yes` goes back to the design with what went wrong, `no` \
             goes on with the same design. Do not decide in their place."
        );
        self.of_run(ToolAnswer::new("task_rebound_offer", text))
            .with("failures", json!(failures))
            .with("last_rejection", json!(last))
            .with("pattern", json!(pattern))
            .with("suggestion", json!(asks))
            .part("Last rejection", &last)
            .part("Pattern", &pattern.unwrap_or_default())
    }

    /// Rounds or tries are used up.
    fn exhausted(&self, question: &Question, frame: Option<&Frame>) -> ToolAnswer {
        let last = frame.map(last_rejection).unwrap_or_default();
        let suggestion = "Tell the user where it stands, and ask them whether to go on. If they want to, \
            call `resume` with `continue`; if they give it up, with `fail`. They can also narrow the task or \
            mend it themselves. Do not decide in their place.";
        self.escalated(&question.text, frame, &last, suggestion)
    }

    fn escalated(
        &self,
        reason: &str,
        frame: Option<&Frame>,
        last: &str,
        suggestion: &str,
    ) -> ToolAnswer {
        let text = format!("The task needs the user: {}\n{suggestion}", ended(reason));
        self.of_run(ToolAnswer::new("task_escalate", text))
            .with("reason", json!(reason))
            .always("iterations", json!(frame.map_or(0, Frame::iterations)))
            .with("last_feedback", json!(last))
            .with("suggestion", json!(suggestion))
            .part("Last feedback", last)
    }

    /// Only a person can decide, and not in the session.
    fn outside(&self, question: &Question) -> ToolAnswer {
        let (codeteam, run) = (self.codeteam, &self.run.id);
        let how = format!(
            "a person decides this in a terminal of their own: `{codeteam} approve {run}`, or `{codeteam} \
             reject {run} -m WHY`"
        );
        let text = format!(
            "The task is paused: {how}. Tell the user so, and call `get_status` when they say that they \
             have decided. You cannot decide it, and those commands are refused in this session."
        );
        let mut asked = vec![question.text.clone()];
        asked.extend(question.points.iter().cloned());
        self.of_run(ToolAnswer::new("task_paused", text))
            .with("role", json!(question.id.step))
            .with("questions", json!(asked))
            .always("context", json!(""))
            .list("Questions", asked.iter().map(String::as_str))
    }

    /// The role that asks.
    fn asking(&self, question: &Question) -> String {
        let step = self.run.step(&question.id.step).map(|step| &step.kind);
        match step {
            Some(StepKind::Role(role)) => role.slots.first().map(|r| r.0.clone()),
            _ => None,
        }
        .unwrap_or_else(|| question.id.step.0.clone())
    }
}

/// Since when rejections are counted, and how many there were in all, if there were more.
fn since(frame: &Frame, failures: u32, question: &Question) -> Option<String> {
    let all = frame.round.saturating_sub(1);
    let since = match frame.answered.get(&question.id.step).map(String::as_str) {
        Some("yes") => "the last design",
        Some(_) => "this was last asked",
        None => "a person last said to go on",
    };
    (all > failures).then(|| format!(" since {since}, {all} times in all"))
}

/// A design in words.
pub(super) fn design(design: &Design) -> String {
    let mut text = design.design.clone();
    for (heading, lines) in [
        ("Patterns", &design.patterns),
        ("Warnings", &design.warnings),
    ] {
        if !lines.is_empty() {
            let _ = write!(text, "\n\n{heading}:\n- {}", lines.join("\n- "));
        }
    }
    for interface in &design.interfaces {
        let _ = write!(text, "\n\nInterface: {interface}");
    }
    text
}

/// Why a change was rejected last.
fn last_rejection(frame: &Frame) -> String {
    let last = frame.record.rejections.last();
    last.map(|rejection| {
        let why = rejection.why.join("\n");
        format!("[{}] {why}", rejection.step)
    })
    .unwrap_or_default()
}

/// A sentence with its full stop.
fn ended(text: &str) -> String {
    let text = text.trim_end();
    let is_ended = text.ends_with(['.', '!', '?', '…']);
    format!("{text}{}", if is_ended { "" } else { "." })
}

/// What codeteam is doing, if it is anything that takes time.
fn running(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::RunGate { step, .. } => format!("the checks of `{step}` run"),
        Effect::Rebase { .. } => "the change is replayed on the branch".to_owned(),
        Effect::Integrate { .. } => "the change is committed".to_owned(),
        Effect::Publish { .. } => "the change is published".to_owned(),
        Effect::Deliver { .. } => "the commits are handed over".to_owned(),
        Effect::Wait {
            why: WaitReason::Limit { what },
            ..
        } => format!("a limit is reached (`{what:?}`), which a person can raise"),
        Effect::Wait {
            why: WaitReason::Quota { .. },
            ..
        } => "a quota is used up for now".to_owned(),
        Effect::Wait {
            why: WaitReason::RateLimit { .. } | WaitReason::Outage { .. },
            ..
        } => "a model API does not answer for now".to_owned(),
        Effect::Wait { .. } => "something is tried again in a moment".to_owned(),
        Effect::StartWorker { role, .. } => format!("a worker plays `{role}`"),
        Effect::Ask(_) => return None,
    })
}
