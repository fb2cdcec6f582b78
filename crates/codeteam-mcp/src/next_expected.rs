//! Builds the answer that says what is expected next: of the session, of a person, or of codeteam
//! itself.

mod assignment;
mod outcome;

pub(super) use self::assignment::{SUBMIT, expected_output, form_lines};

use std::fmt::Write as _;

use codeteam_core::effect::{Effect, WaitReason};
use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::session::SessionTurn;
use codeteam_core::submission::Design;
use codeteam_engine::engine::Engine;
use codeteam_report::view::{LoadedRun, SessionFrameView};
use serde_json::json;

use super::task_history::TaskHistory;
use super::tool_answer::ToolAnswer;

/// A run, with everything needed to build answers about it.
///
/// [`next_answer`](Self::next_answer) asks the kernel whose turn it is and dispatches: an
/// assignment for the session, a question for the user, a note that codeteam itself is working, a
/// note that workers have the run, or the outcome. Nothing here changes the run.
pub(super) struct SessionView<'a> {
    pub(super) engine: &'a Engine,
    pub(super) run: &'a LoadedRun,
    pub(super) history: &'a TaskHistory,
    /// Recent progress messages of codeteam's own work.
    pub(super) progress: &'a [String],
    /// Whether a submission is still being processed.
    pub(super) busy: bool,
    /// The command by which codeteam is called here.
    pub(super) codeteam: &'a str,
}

impl SessionView<'_> {
    /// Returns the answer that says what is expected now.
    pub(super) fn next_answer(&self) -> ToolAnswer {
        match self.run.session_turn() {
            SessionTurn::Work(id) if !self.busy => self.assignment_answer(&id),
            SessionTurn::Ask(question) if !self.busy => self.question_answer(&question),
            SessionTurn::Wait(effects) => self.checking_answer(&effects),
            SessionTurn::Work(_) | SessionTurn::Ask(_) => self.checking_answer(&[]),
            SessionTurn::Elsewhere => self.workers_answer(),
            SessionTurn::Over => self.ended_answer(),
        }
    }

    /// Adds the fields that all answers about a run share.
    fn with_run(&self, answer: ToolAnswer) -> ToolAnswer {
        answer.with("run", json!(self.run.id))
    }

    fn checking_answer(&self, effects: &[Effect]) -> ToolAnswer {
        let mut running: Vec<String> = effects.iter().filter_map(describe_running).collect();
        if running.is_empty() {
            running.push("your submission is being processed".to_owned());
        }
        let text = format!(
            "codeteam is working: {}. Change no files meanwhile. Call `get_status`: it waits until that is \
             done and then returns your next assignment.",
            running.join("; ")
        );
        self.with_run(ToolAnswer::new("checking", text))
            .with("running", json!(running))
            .with("progress", json!(self.progress))
            .with_list("Recent progress", self.progress.iter().map(String::as_str))
    }

    fn workers_answer(&self) -> ToolAnswer {
        let text = format!(
            "You have nothing to do: workers that codeteam started are continuing this task. Tell the user \
             that `{} status {}` shows how far they are.",
            self.codeteam, self.run.id
        );
        self.with_run(ToolAnswer::new("checking", text))
            .with("running", json!(["workers"]))
    }

    fn question_answer(&self, question: &Question) -> ToolAnswer {
        let frame = self.run.session_frame(&question.id.frame);
        let frame = frame.as_ref();
        match question.kind {
            QuestionKind::Analyst => self.analyst_answer(question),
            QuestionKind::Rebound => self.rebound_answer(question, frame),
            QuestionKind::Exhausted => self.exhausted_answer(question, frame),
            QuestionKind::Step
            | QuestionKind::Degraded
            | QuestionKind::Interrupted
            | QuestionKind::Approval
            | QuestionKind::Message => self.person_answer(question),
        }
    }

    /// Asks the user the questions of an analyst.
    fn analyst_answer(&self, question: &Question) -> ToolAnswer {
        let role = self.run.asking_role(question);
        let text = format!(
            "The task is paused: `{role}` has questions for the user. Ask them the `questions` below, word \
             for word, and wait for their answer; then pass it on with `resume`. Do not answer in their \
             place."
        );
        let asked = if question.points.is_empty() {
            std::slice::from_ref(&question.text)
        } else {
            &question.points
        };
        let partial = self.history.partial().unwrap_or("");
        let understood = Some(question.text.as_str()).filter(|text| *text != Question::UNCLEAR);
        let understood = understood.unwrap_or_default();
        self.with_run(ToolAnswer::new("task_paused", text))
            .with("role", json!(role))
            .with("questions", json!(asked))
            .with_always("context", json!(understood))
            .with("partial_spec", json!(partial))
            .with_list("Questions", asked.iter().map(String::as_str))
            .with_section("Context: what was understood so far", understood)
            .with_section("Partial spec: what is clear already", partial)
    }

    /// Asks whether to go back to the design after rejections.
    fn rebound_answer(&self, question: &Question, frame: Option<&SessionFrameView>) -> ToolAnswer {
        let failures = frame.map_or(0, |frame| frame.counted_rejections);
        let last = frame
            .map(SessionFrameView::last_rejection)
            .unwrap_or_default();
        let pattern = frame.and_then(|frame| frame.common_failure.clone());
        let suggestion = question.text.as_str();
        let since = frame.and_then(|frame| rejections_since(frame, failures, question));
        let since = since.unwrap_or_default();
        let times = match failures {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        // The question starts with what was just said.
        let asks = suggestion
            .strip_prefix("The change was rejected. ")
            .unwrap_or(suggestion);
        let text = format!(
            "The change was rejected {times}{since}. Tell the user why and ask them: {asks} Wait for their \
             answer, and pass it on with `resume`: `yes` goes back to the design with what went wrong, `no` \
             keeps the same design. Do not decide in their place."
        );
        self.with_run(ToolAnswer::new("task_rebound_offer", text))
            .with("failures", json!(failures))
            .with("last_rejection", json!(last))
            .with("pattern", json!(pattern))
            .with("suggestion", json!(asks))
            .with_section("Last rejection", &last)
            .with_section("Pattern", &pattern.unwrap_or_default())
    }

    /// Asks a person what to do when all rounds or tries are used up.
    fn exhausted_answer(
        &self,
        question: &Question,
        frame: Option<&SessionFrameView>,
    ) -> ToolAnswer {
        let last = frame
            .map(SessionFrameView::last_rejection)
            .unwrap_or_default();
        let suggestion = "Tell the user where the task stands, and ask them whether to continue. If they \
            want to, call `resume` with `continue`; if they give up, with `fail`. They can also narrow the \
            task or fix it themselves. Do not decide in their place.";
        self.escalation_answer(&question.text, frame, &last, suggestion)
    }

    fn escalation_answer(
        &self,
        reason: &str,
        frame: Option<&SessionFrameView>,
        last: &str,
        suggestion: &str,
    ) -> ToolAnswer {
        let text = format!(
            "The task needs the user: {}\n{suggestion}",
            with_full_stop(reason)
        );
        self.with_run(ToolAnswer::new("task_escalate", text))
            .with("reason", json!(reason))
            .with_always(
                "iterations",
                json!(frame.map_or(0, |frame| frame.iterations)),
            )
            .with("last_feedback", json!(last))
            .with("suggestion", json!(suggestion))
            .with_section("Last feedback", last)
    }

    /// Says that only a person can decide, outside the session.
    fn person_answer(&self, question: &Question) -> ToolAnswer {
        let (codeteam, run) = (self.codeteam, &self.run.id);
        let how = format!(
            "a person decides this in a terminal of their own: `{codeteam} approve {run}`, or `{codeteam} \
             reject {run} -m WHY`"
        );
        let text = format!(
            "The task is paused: {how}. Tell the user so, and call `get_status` when they say that they \
             have decided. You cannot decide this, and these commands are refused in this session."
        );
        let mut asked = vec![question.text.clone()];
        asked.extend(question.points.iter().cloned());
        self.with_run(ToolAnswer::new("task_paused", text))
            .with("role", json!(question.id.step))
            .with("questions", json!(asked))
            .with_always("context", json!(""))
            .with_list("Questions", asked.iter().map(String::as_str))
    }
}

/// Describes since when rejections are counted, and how many there were in all if there were more.
fn rejections_since(
    frame: &SessionFrameView,
    failures: u32,
    question: &Question,
) -> Option<String> {
    let all = frame.round.saturating_sub(1);
    let since = match frame.answers.get(&question.id.step).map(String::as_str) {
        Some("yes") => "the last design",
        Some(_) => "this was last asked",
        None => "a person last said to go on",
    };
    (all > failures).then(|| format!(" since {since}, {all} times in all"))
}

/// Formats a design as text.
pub(super) fn format_design(design: &Design) -> String {
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

/// Ends a sentence with a full stop if it has no final punctuation.
fn with_full_stop(text: &str) -> String {
    let text = text.trim_end();
    let is_ended = text.ends_with(['.', '!', '?', '…']);
    format!("{text}{}", if is_ended { "" } else { "." })
}

/// Describes what codeteam is doing, if it is something that takes time.
fn describe_running(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::RunGate { step, .. } => format!("the checks of `{step}` are running"),
        Effect::Rebase { .. } => "the change is being replayed on the branch".to_owned(),
        Effect::Integrate { .. } => "the change is being committed".to_owned(),
        Effect::Publish { .. } => "the change is being published".to_owned(),
        Effect::WriteInterfaces { .. } => "the interfaces of a phase are being written".to_owned(),
        Effect::MoveBranch { .. } => "the run is being taken back".to_owned(),
        Effect::Deliver { .. } => "the commits are being handed over".to_owned(),
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
        Effect::AssessRisk { .. } => "the risk of the change is being read".to_owned(),
        Effect::Notify { .. } => "people are being notified".to_owned(),
        Effect::Wait { .. } => "something is retried in a moment".to_owned(),
        Effect::StartWorker { role, .. } => format!("a worker is playing `{role}`"),
        Effect::Ask(_) => return None,
    })
}
