//! What a commit is about.

use std::collections::BTreeSet;

use super::clean::unskipped;
use crate::frame::{Frame, FrameItem, SlotWork};
use crate::hands::Operator;
use crate::ids::{AttemptId, StepId};
use crate::role::RoleKind;
use crate::run::Run;
use crate::session;
use crate::workflow::{ExitTarget, ScribeOutput, StepKind};

use super::{MessageFormat, SESSION};

/// What is known of a commit before anybody describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitFacts {
    /// The task's id, as in the commit's trailer.
    pub task_id: String,
    /// Whether it is for a task of the plan.
    pub is_task: bool,
    /// The plan's id, or the run's if there is none.
    pub plan_id: String,
    /// The run.
    pub run: String,
    /// The role that made the change.
    pub role: String,
    /// What the task, or the goal, is in one line.
    pub headline: String,
    /// The files it touches.
    pub files: Vec<String>,
    /// What stands behind the summary where codeteam fills a template in: who has approved it.
    pub marks: String,
}

impl CommitFacts {
    /// What a frame's commit is about.
    pub fn of(run: &Run, frame: &Frame) -> Self {
        let (task_id, is_task) = match &frame.item {
            FrameItem::Run => ("run".to_owned(), false),
            FrameItem::Phase(phase) => (phase.0.clone(), false),
            FrameItem::Task(task) => (task.0.clone(), true),
        };
        let headline = match run.task_of(frame) {
            Some(task) => task.headline(),
            None => run.goal.trim().lines().next().unwrap_or_default(),
        };
        let known = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
        let mut plan_id = [known.unwrap_or_default(), &run.plan_id, run.id.as_str()].into_iter();
        let plan_id = plan_id.find(|id| !id.is_empty()).unwrap_or_default();
        // Of a change that a session made, the last commit says that all is done.
        let in_session = run.began_in == Operator::Session;
        Self {
            task_id: one_line(&task_id),
            is_task,
            plan_id: one_line(plan_id),
            run: one_line(run.id.as_str()),
            role: if in_session {
                COMPLETE.to_owned()
            } else {
                one_line(&maker(run, frame))
            },
            headline: match one_line(headline) {
                empty if empty.is_empty() => "Reach the goal".to_owned(),
                line => line,
            },
            files: frame.change.iter().flat_map(|c| c.files.clone()).collect(),
            marks: if in_session {
                marks(run, frame)
            } else {
                String::new()
            },
        }
    }

    /// What a commit is about that keeps what a role of a session has submitted, on the way to the
    /// one that counts.
    fn of_draft(run: &Run, frame: &Frame, id: &AttemptId) -> Option<Self> {
        let role = frame.slot(id).and_then(|slot| match &slot.work {
            SlotWork::Role(name) => run.roles.get(name),
            _ => None,
        })?;
        let headline = match role.kind {
            RoleKind::Designer => "design submitted".to_owned(),
            RoleKind::Implementer => {
                let last = frame.record.rejections.last();
                let addressed = last.filter(|last| last.round + 1 == frame.round);
                match addressed {
                    Some(last) => {
                        let (round, step) = (frame.round, &last.step);
                        format!("iteration {round} - address {step} feedback")
                    }
                    None => format!("iteration {}", frame.round),
                }
            }
            _ => return None,
        };
        Some(Self {
            role: one_line(&role.name.0),
            headline,
            marks: String::new(),
            ..Self::of(run, frame)
        })
    }

    /// The type of the change as far as its headline and its files tell, and the headline without it.
    pub(super) fn kind(&self) -> (&'static str, &str) {
        const SAID: &[(&str, &str)] = &[
            ("fix", "fix"),
            ("repair", "fix"),
            ("correct", "fix"),
            ("refactor", "refactor"),
            ("document", "docs"),
            ("speed up", "perf"),
        ];
        let headline = self.headline.as_str();
        let lower = headline.to_lowercase();
        if let Some((head, rest)) = headline.split_once(": ") {
            // It is said already, in the form that is asked for.
            let word = head.split(['(', '!']).next().unwrap_or_default();
            let known = super::TYPES.iter().find(|known| **known == word);
            if let (Some(known), false) = (known, rest.trim().is_empty()) {
                return (known, rest);
            }
        }
        let all = |is: fn(&str) -> bool| {
            !self.files.is_empty() && self.files.iter().all(|file| is(&file.to_lowercase()))
        };
        let is_document = |file: &str| {
            let ends = [".md", ".rst", ".adoc"];
            file.starts_with("docs/") || ends.iter().any(|end| file.ends_with(end))
        };
        let is_test = |file: &str| {
            let mut parts = file.split(['/', '.', '_', '-']);
            parts.any(|part| matches!(part, "test" | "tests" | "spec"))
        };
        let said = SAID.iter().find(|(word, _)| {
            let rest = lower.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() && c != 's'))
        });
        let kind = match said {
            Some((_, kind)) => kind,
            None if all(is_document) => "docs",
            None if all(is_test) => "test",
            None => "feat",
        };
        (kind, headline)
    }

    /// The folder that the change is in, or the project.
    pub(super) fn scope(&self) -> &str {
        let first = |file: &'_ String| file.split_once('/').map(|(first, _)| first.to_owned());
        let folders: BTreeSet<Option<String>> = self.files.iter().map(first).collect();
        let one = folders.len() == 1;
        let folder = self.files.first().and_then(|file| file.split_once('/'));
        match folder {
            Some((folder, _)) if one && is_word(folder) => folder,
            _ => "project",
        }
    }
}

/// What stands for a role where everything is done.
const COMPLETE: &str = "complete";

/// Who has judged a change, each with the verdict in a character.
fn marks(run: &Run, frame: &Frame) -> String {
    let judges = session::judges(run, frame).into_iter();
    let marks: Vec<String> = judges
        .map(|(name, approved)| format!("{name}:{}", if approved { '✓' } else { '✗' }))
        .collect();
    if marks.is_empty() {
        String::new()
    } else {
        format!(" [{}]", marks.join(" "))
    }
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(plain)
}

/// The message of a commit that keeps what a role of a session submits; `None` if nothing is kept of
/// that kind of role.
pub fn draft(run: &Run, id: &AttemptId) -> Option<String> {
    let matter = CommitFacts::of_draft(run, run.frames.get(&id.frame)?, id)?;
    let format = match &*run.message {
        format @ MessageFormat::Template(template) if template.contains("{role}") => format.clone(),
        _ => MessageFormat::Template(SESSION.to_owned()),
    };
    format.make(&matter)
}

/// The role whose attempt made a frame's change; `someone` if that is not known.
fn maker(run: &Run, frame: &Frame) -> String {
    let by = frame.change.as_ref().map_or("", |change| &change.by);
    let step = by
        .strip_prefix(frame.path.as_str())
        .and_then(|rest| rest.strip_prefix(':'))
        .and_then(|rest| rest.split('.').next())
        .map(StepId::from);
    let role = step.and_then(|step| match &run.step(&step)?.kind {
        StepKind::Role(role) => role.slots.first().cloned(),
        _ => None,
    });
    role.map_or_else(|| "someone".to_owned(), |role| role.0)
}

/// A text on one line, without what must not be in a message.
fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect();
    // A plan's words are a worker's, too.
    unskipped(&plain)
        .replace("[redacted: ", "[")
        .trim()
        .to_owned()
}

/// Whether what a scribe writes at a step is the message of the commit that comes next: nothing that
/// writes or changes anything comes between.
pub fn is_written_by(run: &Run, step: &StepId) -> bool {
    let writes_message = |id: &StepId| match run.step(id).map(|step| &step.kind) {
        Some(StepKind::Role(role)) => role.writes == ScribeOutput::Message,
        _ => false,
    };
    if !writes_message(step) {
        return false;
    }
    let mut seen: BTreeSet<StepId> = BTreeSet::new();
    let mut ahead: Vec<ExitTarget> = run.step(step).map(|s| s.next.clone()).into_iter().collect();
    while let Some(target) = ahead.pop() {
        let ExitTarget::Step(id) = target else {
            continue;
        };
        if !seen.insert(id.clone()) {
            continue;
        }
        let Some(step) = run.step(&id) else { continue };
        match &step.kind {
            StepKind::Commit { .. } => return true,
            StepKind::Gate { .. } => ahead.push(step.next.clone()),
            StepKind::Person { answers, .. } => {
                ahead.push(step.next.clone());
                let on = answers.iter().filter(|answer| !answer.rejects);
                ahead.extend(on.map(|answer| answer.next.clone()));
            }
            StepKind::Role(role) => {
                let kind = role.slots.first().and_then(|name| run.roles.get(name));
                let is_passed = match kind.map(|role| role.kind) {
                    Some(RoleKind::Gatekeeper) => true,
                    Some(RoleKind::Scribe) => role.writes != ScribeOutput::Message,
                    _ => false,
                };
                if is_passed {
                    ahead.push(step.next.clone());
                }
            }
            StepKind::Each { .. } | StepKind::Publish { .. } | StepKind::Deliver { .. } => {}
        }
    }
    false
}
