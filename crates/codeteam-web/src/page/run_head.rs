//! What is at the top of every page of a run: its goal, how it stands, and its pages.

use codeteam_report::describe::{first_line, limit_name};
use codeteam_report::view::{NextAction, NextStep, QuestionView, loaded_standing};
use minijinja::{Value, context};

use super::data::{RunHead, Shell};
use super::format::capitalize;
use crate::routes::{Route, RunAction, RunPlace};

/// Writes the paths of a run's pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLinks<'a> {
    project: &'a str,
    run: &'a str,
}

impl<'a> RunLinks<'a> {
    pub(super) fn new(project: &'a str, run: &'a str) -> Self {
        Self { project, run }
    }

    pub(super) fn of_head(head: &'a RunHead) -> Self {
        Self::new(&head.project, head.run.id_of_run().as_str())
    }

    pub(super) fn page(self, place: RunPlace) -> String {
        Route::run(self.project, self.run, place).to_string()
    }

    pub(super) fn action(self, action: RunAction) -> String {
        Route::Action {
            project: self.project.to_owned(),
            run: self.run.to_owned(),
            action,
        }
        .to_string()
    }

    /// Returns the page of a task; of the run itself, its overview.
    pub(super) fn task(self, place: &str) -> String {
        self.page(RunPlace::Task(place.to_owned()))
    }

    pub(super) fn question(self, question: &QuestionView) -> String {
        self.page(RunPlace::Question(question.question.id.to_string()))
    }
}

/// Which page of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunTab {
    Overview,
    Board,
    Graph,
    Timeline,
    Plan,
    Files,
    Cost,
    Events,
    /// One that has no place of its own among them.
    Other,
}

/// Returns what `parts/run-head.html` reads.
pub(super) fn head_values(shell: &Shell, head: &RunHead, tab: RunTab) -> Value {
    let (links, run) = (RunLinks::of_head(head), &head.run);
    let (standing, state_words) = loaded_standing(run, head.is_driven);
    let tabs = [
        (RunTab::Overview, "Overview", RunPlace::Overview),
        (RunTab::Board, "Board", RunPlace::Board),
        (RunTab::Graph, "Graph", RunPlace::Graph),
        (RunTab::Timeline, "Timeline", RunPlace::Timeline),
        (RunTab::Plan, "Plan", RunPlace::Plan),
        (RunTab::Files, "Files", RunPlace::Files),
        (RunTab::Cost, "Cost", RunPlace::Cost),
        (RunTab::Events, "Events", RunPlace::Events),
    ];
    let tabs = tabs.map(|(own, label, place)| {
        context! { label, href => links.page(place), is_here => own == tab }
    });
    let questions = run
        .questions
        .iter()
        .map(|asked| question_link(links, asked));
    let folder = shell
        .projects
        .iter()
        .find(|project| project.key == head.project);
    // A run that has ended says the same with its state.
    let progress = run.progress.as_deref();
    let progress = progress.filter(|progress| *progress != state_words);
    context! {
        project => folder.map_or(head.project.as_str(), |project| project.name.as_str()),
        id => run.id.as_str(),
        goal => first_line(&run.goal),
        state => standing.word(),
        state_words,
        is_overview => tab == RunTab::Overview,
        is_driven => head.is_driven,
        is_ended => run.is_ended(),
        progress,
        overview => links.page(RunPlace::Overview),
        tabs => tabs.to_vec(),
        questions => questions.collect::<Value>(),
        kept => head.kept.clone(),
        resume => links.action(RunAction::Resume),
        may_resume => may_resume(head),
    }
}

/// Returns true if somebody can go on with the run without raising a limit.
fn may_resume(head: &RunHead) -> bool {
    head.next_steps.iter().any(|step| {
        matches!(
            step.action,
            NextAction::Resume { raise: None } | NextAction::LetWorkersGoOn
        )
    })
}

fn question_link(links: RunLinks<'_>, asked: &QuestionView) -> Value {
    context! {
        href => links.question(asked),
        place => asked.place(),
        text => first_line(&asked.question.text),
        risk => asked.approval.as_ref().map(|approval| approval.risk.as_str()),
    }
}

/// Returns what a person can do now, as a list of forms, links and commands.
pub(super) fn step_values(head: &RunHead) -> Vec<Value> {
    let links = RunLinks::of_head(head);
    let steps = head.next_steps.iter();
    steps.filter_map(|step| step_value(links, step)).collect()
}

fn step_value(links: RunLinks<'_>, step: &NextStep) -> Option<Value> {
    let label = capitalize(step.label);
    let label = label.as_str();
    let form = |action: RunAction, kind: &'static str| {
        context! {
            kind, label, note => step.note.as_str(),
            action => links.action(action), command => step.command.as_str(),
        }
    };
    let link = |place: RunPlace| {
        context! {
            kind => "link", label, note => step.note.as_str(),
            href => links.page(place),
        }
    };
    Some(match &step.action {
        // Questions have pages of their own, and this is the page that shows the run.
        NextAction::Answer { .. }
        | NextAction::Edit { .. }
        | NextAction::Show
        | NextAction::Follow => return None,
        NextAction::Diff { frame } => link(RunPlace::Diff(frame.name().to_owned())),
        NextAction::Retry => form(RunAction::Retry, "message"),
        NextAction::Resume { raise: None } | NextAction::LetWorkersGoOn => {
            form(RunAction::Resume, "button")
        }
        NextAction::Resume { raise: Some(limit) } => context! {
            kind => "limit", label, note => step.note.as_str(),
            limit => limit_name(*limit), action => links.action(RunAction::Raise),
            command => step.command.as_str(),
        },
        NextAction::Abort => form(RunAction::Abort, "danger"),
        NextAction::Commits
        | NextAction::Accept { .. }
        | NextAction::CarryOut
        | NextAction::Merge
        | NextAction::Apply
        | NextAction::Undo => context! {
            kind => "command", label, note => step.note.as_str(),
            command => step.command.as_str(),
        },
    })
}
