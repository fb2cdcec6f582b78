//! Everything that needs a person: the one list that every surface shows.

use codeteam_core::budget::LimitKind;
use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, EpochMillis};
use codeteam_core::risk::RiskLevel;
use codeteam_core::shell::shell_word;
use serde::Serialize;

use super::{IdleDeadline, NextAction, NextStep, QuestionView, RunView, TimeoutView, VoteStanding};
use crate::describe;

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InboxItem {
    /// The project, if it is not the one of the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The run.
    pub run: String,
    /// The task, or `run`.
    pub task: String,
    /// The goal of the run.
    pub goal: String,
    /// Why it needs a person.
    pub reason: InboxReason,
    /// The id of the question, which a decision names so that it is never taken for another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<AttemptId>,
    /// What is asked, in one line.
    pub question: String,
    /// The level of risk, where it is about the approval of a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskLevel>,
    /// Since when it waits, in milliseconds since the epoch.
    pub since: EpochMillis,
    /// When it goes on by itself unless somebody objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on_at: Option<EpochMillis>,
    /// What is still missing, where several people vote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the vote of whoever reads this is wanted, where people vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub your_vote: Option<VoteStanding>,
    /// What was decided already and is carried out when the run goes on, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<String>,
    /// What happens next if nobody decides, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeoutView>,
    /// The next deadline, if no process drives the run: it passes without effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_deadline: Option<IdleDeadline>,
    /// The commands that answer it.
    pub commands: Vec<String>,
}

/// Why something needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InboxReason {
    /// A question is open.
    Question,
    /// A limit is reached.
    Limit,
    /// Nobody works on the run, although nothing holds it up.
    Stopped,
}

impl InboxItem {
    /// Lists what needs a person in a run. `asked` says since when a question waits. Whoever knows
    /// that nobody drives the run adds [`InboxItem::of_idle_run`].
    pub fn of_run(view: &RunView, asked: impl Fn(&Question) -> EpochMillis) -> Vec<Self> {
        if view.is_ended() {
            return Vec::new();
        }
        let questions = view.questions.iter();
        let mut items: Vec<Self> = questions
            .map(|question| Self::of_question(view, question, asked(&question.question)))
            .collect();
        items.extend(Self::of_reached_limit(view));
        items
    }

    fn of_reached_limit(view: &RunView) -> Option<Self> {
        let limit = view.cost.reached_limit?;
        let is_raise =
            |step: &&NextStep| matches!(&step.action, NextAction::Resume { raise: Some(_) });
        let step = view.next_steps.iter().find(is_raise)?;
        let question = match limit {
            LimitKind::Outage => describe::limit_name(limit).to_owned(),
            limit => format!("the limit of {} is reached", describe::limit_name(limit)),
        };
        Some(Self {
            question,
            commands: vec![step.command.clone()],
            ..Self::of_whole_run(view, InboxReason::Limit)
        })
    }

    /// Makes the item of a run that nobody drives, if it waits for nothing else of a person.
    pub fn of_idle_run(view: &RunView) -> Option<Self> {
        let waits = !view.questions.is_empty() || Self::of_reached_limit(view).is_some();
        if view.is_ended() || waits {
            return None;
        }
        let is_resume = |step: &&NextStep| {
            matches!(
                &step.action,
                NextAction::Resume { .. } | NextAction::LetWorkersGoOn
            )
        };
        let step = view.next_steps.iter().find(is_resume)?;
        Some(Self {
            question: format!("nobody works on it: {}", view.headline),
            commands: vec![step.command.clone()],
            ..Self::of_whole_run(view, InboxReason::Stopped)
        })
    }

    fn of_whole_run(view: &RunView, reason: InboxReason) -> Self {
        Self {
            project: None,
            run: view.id.0.clone(),
            task: "run".to_owned(),
            goal: view.goal.clone(),
            reason,
            question_id: None,
            question: String::new(),
            risk: None,
            since: view.started_at,
            goes_on_at: None,
            missing: Vec::new(),
            your_vote: None,
            decided: Vec::new(),
            timeout: None,
            idle_deadline: None,
            commands: Vec::new(),
        }
    }

    fn of_question(view: &RunView, question: &QuestionView, asked: EpochMillis) -> Self {
        let approval = question.approval.as_ref();
        let commands = if approval.is_some() {
            let which = format!("{} --task {}", view.id, shell_word(question.place()));
            vec![
                format!("codeteam approve {which}"),
                format!("codeteam reject {which} -m \"…\""),
            ]
        } else {
            let steps = view.steps_for_question(&question.question.id);
            steps.map(|step| step.command.clone()).collect()
        };
        Self {
            task: question.place().to_owned(),
            question_id: Some(question.question.id.clone()),
            question: describe::first_line(&question.question.text).to_owned(),
            risk: approval.map(|approval| approval.risk),
            since: approval.map_or(asked, |approval| approval.asked_at),
            goes_on_at: approval.and_then(|approval| approval.goes_on_at),
            missing: approval.map_or_else(Vec::new, |approval| approval.missing.clone()),
            timeout: approval.and_then(|approval| approval.timeout.clone()),
            commands,
            ..Self::of_whole_run(view, InboxReason::Question)
        }
    }

    /// Adds the deadline that passes without effect, because no process drives the run.
    #[must_use]
    pub fn without_driver(mut self, view: &RunView, now: EpochMillis) -> Self {
        let mut open = view.questions.iter();
        let asked = open.find(|asked| Some(&asked.question.id) == self.question_id.as_ref());
        let approval = asked.and_then(|asked| asked.approval.as_ref());
        self.idle_deadline =
            approval.and_then(|approval| IdleDeadline::of_approval(&view.id, approval, now));
        self
    }

    /// Makes the item one of another project: its commands can be called from anywhere.
    #[must_use]
    pub fn in_project(mut self, project: &str) -> Self {
        let deadline = self.idle_deadline.as_mut();
        let commands = self.commands.iter_mut();
        for command in commands.chain(deadline.map(|deadline| &mut deadline.command)) {
            *command = command_in_project(command, project);
        }
        self.project = Some(project.to_owned());
        self
    }

    /// Returns the order in which items are shown: the riskiest first, then the oldest. What has no
    /// level stands between `high` and `medium`, because nobody knows.
    pub fn order(&self) -> (u8, EpochMillis, String, String) {
        let rank = match self.risk {
            Some(RiskLevel::Critical) => 0,
            Some(RiskLevel::High) => 1,
            None => 2,
            Some(RiskLevel::Medium) => 3,
            Some(RiskLevel::Low) => 4,
        };
        (rank, self.since, self.run.clone(), self.task.clone())
    }
}

/// Returns a command of codeteam as it is called from anywhere.
pub fn command_in_project(command: &str, project: &str) -> String {
    match command.strip_prefix("codeteam ") {
        Some(rest) => format!("codeteam -C {} {rest}", shell_word(project)),
        None => command.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use codeteam_core::Run;

    use super::*;

    fn view() -> RunView {
        let run = Run {
            id: "r1".into(),
            goal: "Pay".to_owned(),
            ..Run::default()
        };
        RunView::new(&run)
    }

    #[test]
    fn the_riskiest_comes_first_and_then_the_oldest() {
        let item = |name: &str, risk, since| InboxItem {
            run: name.to_owned(),
            risk,
            since: EpochMillis(since),
            ..InboxItem::of_whole_run(&view(), InboxReason::Question)
        };
        let mut items = [
            item("medium", Some(RiskLevel::Medium), 1),
            item("young", Some(RiskLevel::High), 9),
            item("none", None, 1),
            item("old", Some(RiskLevel::High), 2),
            item("critical", Some(RiskLevel::Critical), 30),
        ];
        items.sort_by_key(InboxItem::order);
        let order: Vec<&str> = items.iter().map(|item| item.run.as_str()).collect();
        assert_eq!(order, ["critical", "old", "young", "none", "medium"]);
    }

    #[test]
    fn a_run_that_nobody_drives_needs_somebody() {
        assert_eq!(InboxItem::of_run(&view(), |_| EpochMillis(0)), []);
        let item = InboxItem::of_idle_run(&view()).unwrap();
        assert_eq!(item.reason, InboxReason::Stopped);
        assert_eq!(item.commands, ["codeteam resume r1"]);
        let elsewhere = item.in_project("/my shop");
        assert_eq!(elsewhere.commands, ["codeteam -C '/my shop' resume r1"]);
    }
}
