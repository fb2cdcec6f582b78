//! What a person can do now with a run, as commands and as actions.

use codeteam_core::budget::LimitKind;
use codeteam_core::decide::approvals::APPROVE;
use codeteam_core::event::DeliveryOutcome;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath};
use codeteam_core::operator::Operator;
use codeteam_core::rollup::RunStatus;
use codeteam_core::shell::shell_word;
use codeteam_core::untrusted_text::one_line;
use serde::Serialize;

use super::{CostView, QuestionView, RunView};
use crate::describe;

/// One thing that a person can do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// What it is, in one or two words, such as `merge`.
    pub label: &'static str,
    /// What a surface other than a terminal does for it.
    pub action: NextAction,
    /// The command line that does it. It begins with `codeteam` or `git`.
    pub command: String,
    /// What there is to know about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What a person can do, for a surface that does it itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NextAction {
    /// Answers a question.
    Answer {
        /// The question.
        question: AttemptId,
        /// The answer; `None` if the person's own words are wanted.
        answer: Option<String>,
        /// What the answer does.
        about: &'static str,
    },
    /// Lets the person change what a question is about.
    Edit {
        /// The question.
        question: AttemptId,
        /// The answer that hands the change back.
        answer: String,
    },
    /// Shows everything about the run.
    Show,
    /// Follows what happens in the run.
    Follow,
    /// Shows the commits of the run.
    Commits,
    /// Shows a change that was rejected.
    Diff {
        /// The frame whose change it is.
        frame: FramePath,
    },
    /// Takes a rejected change as it is.
    Accept {
        /// The frame whose change it is.
        frame: FramePath,
    },
    /// Takes up again what has failed.
    Retry,
    /// Goes on with a run that nobody drives.
    Resume {
        /// The limit that must be raised for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        raise: Option<LimitKind>,
    },
    /// Lets workers go on with a run of a session.
    LetWorkersGoOn,
    /// Carries out the plan that was made.
    CarryOut,
    /// Ends the run.
    Abort,
    /// Merges the run's branch.
    Merge,
    /// Applies the patch of the run.
    Apply,
    /// Takes the run's commits back.
    Undo,
}

impl NextStep {
    fn new(label: &'static str, action: NextAction, command: String) -> Self {
        Self {
            label,
            action,
            command,
            note: String::new(),
        }
    }

    fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Returns the command line with the programs called as they have to be called here, such as
    /// `git -C ../project`.
    pub fn command_with(&self, codeteam: &str, git: &str) -> String {
        if let Some(rest) = self.command.strip_prefix("codeteam ") {
            format!("{codeteam} {rest}")
        } else if let Some(rest) = self.command.strip_prefix("git ") {
            format!("{git} {rest}")
        } else {
            self.command.clone()
        }
    }
}

/// Lists what a person can do now, what matters most first. `driven` says whether a process drives
/// the run, if that is known.
pub(super) fn next_steps(view: &RunView, driven: Option<bool>) -> Vec<NextStep> {
    let id = &view.id;
    match &view.outcome {
        Some(FrameOutcome::Completed | FrameOutcome::Skipped) if view.plans_only => {
            let command = format!("codeteam run {}", view.plan);
            return vec![NextStep::new("code", NextAction::CarryOut, command)];
        }
        Some(FrameOutcome::Completed | FrameOutcome::Skipped) => return steps_when_done(view),
        Some(_) => return steps_when_failed(view),
        None => {}
    }
    let mut steps = Vec::new();
    for question in &view.questions {
        steps.extend(question_steps(view, question));
    }
    if driven != Some(true) {
        steps.push(match (view.operator, view.cost.reached_limit) {
            (Operator::Session, _) => NextStep::new(
                "let workers go on",
                NextAction::LetWorkersGoOn,
                format!("codeteam run --continue {id}"),
            ),
            (Operator::Workers, Some(limit)) if view.status == RunStatus::Limited => {
                let (flag, note) = raise_limit(&view.cost, view.started_at, limit);
                let command = format!("codeteam resume {id}{flag}");
                let raise = Some(limit);
                NextStep::new("go on", NextAction::Resume { raise }, command).with_note(note)
            }
            (Operator::Workers, _) => NextStep::new(
                "go on",
                NextAction::Resume { raise: None },
                format!("codeteam resume {id}"),
            ),
        });
    }
    if driven != Some(false) {
        let command = format!("codeteam log --follow {id}");
        steps.push(NextStep::new("follow", NextAction::Follow, command));
    }
    steps.push(NextStep::new(
        "abort",
        NextAction::Abort,
        format!("codeteam abort {id}"),
    ));
    steps
}

/// Lists the answers to a question, each as a command that is ready to run.
fn question_steps(view: &RunView, question: &QuestionView) -> Vec<NextStep> {
    let id = &view.id;
    let which = if view.questions.len() > 1 {
        format!(" --task {}", question.place())
    } else {
        String::new()
    };
    let asked = &question.question;
    if asked.answers.is_empty() {
        let action = NextAction::Answer {
            question: asked.id.clone(),
            answer: None,
            about: "answer in your own words",
        };
        let command = format!("codeteam answer {id} \"…\"{which}");
        return vec![NextStep::new("answer", action, command)];
    }
    let choices = question.choices.iter().map(|choice| {
        let answer = choice.answer.clone();
        if question.edit_answer() == Some(answer.as_str()) {
            let question = asked.id.clone();
            let action = NextAction::Edit { question, answer };
            return NextStep::new("edit", action, format!("codeteam edit {id}{which}"));
        }
        let word = shell_word(&answer);
        // A rejection and an override of an approval are refused without a reason.
        let needs_reason = question.approval.is_some() && answer != APPROVE;
        let reason = if needs_reason { " -m \"…\"" } else { "" };
        let command = format!("codeteam answer {id} {word}{which}{reason}");
        let action = NextAction::Answer {
            question: asked.id.clone(),
            answer: Some(answer),
            about: choice.about,
        };
        NextStep::new("answer", action, command)
    });
    choices.collect()
}

fn steps_when_done(view: &RunView) -> Vec<NextStep> {
    if !view.has_commits() {
        return Vec::new();
    }
    let base = describe::short_id(view.base.as_str());
    let commits = format!("git log --stat {base}..{}", view.branch);
    let commits = NextStep::new("look", NextAction::Commits, commits);
    match &view.delivered {
        Some(DeliveryOutcome::Forward { from, .. }) => {
            let undo = format!("git reset --keep {base}");
            let undo = NextStep::new("undo", NextAction::Undo, undo);
            // The command goes back to the run's own base, not to before the session's uncommitted
            // work.
            let is_behind = base != describe::short_id(from.as_str());
            let (kept, again) = (describe::KEPT, describe::UNCOMMITTED);
            let undo = if is_behind {
                undo.with_note(format!("{kept}; {again}"))
            } else {
                undo
            };
            vec![commits, undo]
        }
        Some(DeliveryOutcome::Patch { file }) => {
            let file = shell_word(file);
            let step = |label, action, options: &str| {
                NextStep::new(label, action, format!("git {options} {file}"))
            };
            vec![
                step("look", NextAction::Commits, "apply --stat"),
                step("apply", NextAction::Apply, "apply --index"),
                step("or", NextAction::Apply, "am --keep-non-patch").with_note("with its commits"),
            ]
        }
        Some(DeliveryOutcome::Left { .. }) | None => {
            let merge = format!("codeteam merge {}", view.id);
            vec![commits, NextStep::new("merge", NextAction::Merge, merge)]
        }
    }
}

fn steps_when_failed(view: &RunView) -> Vec<NextStep> {
    let id = &view.id;
    let mut steps = vec![
        NextStep::new("look", NextAction::Show, format!("codeteam show {id}")),
        NextStep::new("again", NextAction::Retry, format!("codeteam retry {id}")),
    ];
    let refused: Vec<_> = view.refused_changes().collect();
    if let [refused] = refused[..] {
        let frame = || refused.path.clone();
        let which = if refused.path.is_root() {
            id.to_string()
        } else {
            format!("{id} --task {}", refused.path.name())
        };
        let note = match &refused.unjudged_by {
            Some(step) if refused.objections.is_empty() => {
                format!("without a verdict of `{step}`")
            }
            _ => format!("overrules {}", one_line(&refused.objections.join(", "))),
        };
        let (show, accept) = (
            format!("codeteam diff {which}"),
            format!("codeteam approve {which}"),
        );
        let show = NextStep::new("change", NextAction::Diff { frame: frame() }, show);
        let accept = NextStep::new("accept", NextAction::Accept { frame: frame() }, accept);
        steps.extend([show, accept.with_note(note)]);
    }
    steps
}

/// Returns the flag that raises a reached limit, to be appended to `codeteam resume RUN`, and how
/// much of the limit was used.
fn raise_limit(spent: &CostView, started: EpochMillis, limit: LimitKind) -> (&'static str, String) {
    match limit {
        LimitKind::Money => {
            let used = describe::format_money(spent.money_microusd);
            (" --max-cost USD", format!("{used} spent"))
        }
        LimitKind::Tokens => (" --max-tokens N", format!("{} used", spent.tokens)),
        LimitKind::Attempts => (" --max-attempts N", format!("{} made", spent.attempts)),
        LimitKind::Time => {
            let now = jiff::Timestamp::now().as_millisecond();
            let now = EpochMillis(u64::try_from(now).unwrap_or(0));
            let used = match now.since(started) / 60_000 {
                0 => "it started less than a minute ago".to_owned(),
                minutes => format!("it started {minutes} min ago"),
            };
            (" --max-minutes N", used)
        }
        LimitKind::Disk => {
            let taken = spent.disk_bytes.div_ceil(1 << 20);
            (" --max-disk-mb N", format!("{taken} MB taken"))
        }
        LimitKind::Outage => ("", "once its API answers again".to_owned()),
    }
}

impl RunView {
    /// Returns the steps that answer a question.
    pub fn steps_for_question(&self, id: &AttemptId) -> impl Iterator<Item = &NextStep> {
        self.next_steps
            .iter()
            .filter(move |step| match &step.action {
                NextAction::Answer { question, .. } | NextAction::Edit { question, .. } => {
                    question == id
                }
                _ => false,
            })
    }

    /// Returns what follows `codeteam resume RUN` where a limit has to be raised first: the flag,
    /// and how much was used.
    pub fn raise_limit_flag(&self, limit: LimitKind) -> String {
        let (flag, used) = raise_limit(&self.cost, self.started_at, limit);
        format!("{flag} ({used})")
    }
}
