//! What needs a person, and all runs.

use codeteam_report::describe::first_line;
use codeteam_report::view::{
    IdleDeadline, LoadedRun, RunListItem, Standing, TaskCounts, run_standing,
};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{InboxEntry, InboxPage, RunRow, RunsPage, Shell};
use super::run_head::RunLinks;
use crate::routes::{Route, RunPlace};

pub(super) fn inbox_content(shell: &Shell, page: &InboxPage) -> PageContent {
    let items = page.items.iter().map(|entry| inbox_values(shell, entry));
    let stopped = page.stopped.iter().map(|row| run_values(shell, row));
    let values = context! {
        items => items.collect::<Value>(),
        stopped => stopped.collect::<Value>(),
    };
    PageContent::new("inbox.html", "Inbox", &["inbox-list"], values)
}

fn inbox_values(shell: &Shell, entry: &InboxEntry) -> Value {
    let item = &entry.item;
    let links = RunLinks::new(&entry.project, &item.run);
    let place = match &entry.question {
        Some(question) => RunPlace::Question(question.clone()),
        None => RunPlace::Overview,
    };
    let timeout = item.timeout.as_ref();
    context! {
        href => links.page(place),
        run_href => links.page(RunPlace::Overview),
        project => project_name(shell, &entry.project),
        question => item.question.as_str(),
        task => item.task.as_str(),
        goal => first_line(&item.goal),
        risk => item.risk.map(codeteam_core::risk::RiskLevel::as_str),
        since => item.since.0,
        goes_on_at => item.goes_on_at.map(|at| at.0),
        missing => item.missing.clone(),
        timeout => timeout.map(|timeout| context! { at => timeout.at.0, text => timeout.text.as_str() }),
        idle_deadline => item.idle_deadline.as_ref().map(idle_deadline_values),
        is_limit => entry.question.is_none(),
    }
}

pub(super) fn idle_deadline_values(deadline: &IdleDeadline) -> Value {
    context! {
        at => deadline.at.0,
        is_over => deadline.is_over,
        text => deadline.text.as_str(),
        command => deadline.command.as_str(),
    }
}

/// The groups of runs, with the words that stand above them.
const GROUPS: [(&str, Standing); 6] = [
    ("needs-you", Standing::NeedsYou),
    ("working", Standing::Working),
    ("waiting", Standing::Waiting),
    ("failed", Standing::Failed),
    ("done", Standing::Done),
    ("left-out", Standing::LeftOut),
];

pub(super) fn runs_content(shell: &Shell, page: &RunsPage) -> PageContent {
    let groups = GROUPS.map(|(key, standing)| {
        let rows = page
            .runs
            .iter()
            .filter(|row| row_standing(row).0 == standing);
        let rows: Vec<Value> = rows.map(|row| run_values(shell, row)).collect();
        context! { key, word => standing.word(), count => rows.len(), rows }
    });
    let states = GROUPS.map(|(key, standing)| {
        context! { key, word => standing.word(), is_chosen => page.state == key }
    });
    let values = context! {
        groups => groups.to_vec(),
        states => states.to_vec(),
        query => page.query.as_str(),
        state => page.state.as_str(),
        total => page.runs.len(),
        left_out => page.left_out,
        action => Route::Runs.to_string(),
        has_many_projects => shell.projects.len() > 1,
    };
    PageContent::new("runs.html", "Runs", &["run-list"], values)
}

fn row_standing(row: &RunRow) -> (Standing, String) {
    let run = row.loaded.as_ref();
    run_standing(&row.item, run.map(LoadedRun::view), row.is_driven)
}

fn run_values(shell: &Shell, row: &RunRow) -> Value {
    let item = &row.item;
    let links = RunLinks::new(&row.project, &item.run);
    let (standing, words) = row_standing(row);
    context! {
        href => links.page(RunPlace::Overview),
        project => project_name(shell, &row.project),
        goal => first_line(&item.goal),
        id => item.run.as_str(),
        state => standing.word(),
        words,
        started => u64::try_from(item.created_at).unwrap_or(0),
        updated => u64::try_from(item.updated_at).unwrap_or(0),
        progress => item.task_counts.map(progress_values),
        money => row.loaded.as_ref().map(|run| run.cost.words.money.clone()),
        workers => working_count(item),
    }
}

/// Counts the slots of a run in which a worker is at work.
fn working_count(item: &RunListItem) -> usize {
    let slots = item.frames.iter().flat_map(|frame| &frame.slots);
    slots
        .filter(|slot| slot.state == codeteam_report::view::SlotProgress::Running)
        .count()
}

/// Returns how many tasks are in which state, for a bar and its words.
pub(super) fn progress_values(counts: TaskCounts) -> Value {
    let done = counts.completed + counts.skipped;
    let all = done + counts.pending + counts.running + counts.failed + counts.blocked;
    context! {
        all, done, running => counts.running, failed => counts.failed,
        text => counts.to_text(),
    }
}

/// Returns the name of a project.
pub(super) fn project_name<'a>(shell: &'a Shell, key: &'a str) -> &'a str {
    let known = shell.projects.iter().find(|project| project.key == key);
    known.map_or(key, |project| project.name.as_str())
}
