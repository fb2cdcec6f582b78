//! The inbox, and the list of runs.

use codeteam_core::ids::RunId;
use codeteam_engine::clock::now;
use codeteam_engine::watch::WatchedRun;
use codeteam_report::view::{InboxItem, Standing};

use super::PageSources;
use crate::form_data::FormData;
use crate::page::{InboxEntry, InboxPage, Page, RunRow, RunsPage};
use crate::projects::WatchedProject;

/// The most runs that are listed at once.
const LISTED_RUNS: usize = 500;

impl PageSources<'_> {
    /// Lists what needs a person, in all projects.
    pub(crate) fn load_inbox(&self) -> Page {
        let (mut items, mut stopped) = (Vec::new(), Vec::new());
        for project in self.projects.all() {
            let runs: Vec<WatchedRun> = project.runs().values().cloned().collect();
            for run in runs {
                let (standing, _) = run.standing();
                let before = items.len();
                items.extend(inbox_entries(&project, &run));
                if items.len() == before && standing == Standing::NeedsYou {
                    stopped.push(run_row(&project, run));
                }
            }
        }
        items.sort_by_key(|entry| entry.item.order());
        stopped.sort_by_key(|row| std::cmp::Reverse(row.item.created_at));
        Page::Inbox(InboxPage { items, stopped })
    }

    /// Returns how many things need a person.
    pub(crate) fn count_inbox(&self) -> usize {
        let projects = self.projects.all();
        let count = |project: &WatchedProject| {
            let runs = project.runs();
            let needs = runs.values().map(|run| match &run.loaded {
                Some(loaded) if !loaded.questions.is_empty() => loaded.questions.len(),
                _ => usize::from(run.standing().0 == Standing::NeedsYou),
            });
            needs.sum::<usize>()
        };
        projects.iter().map(|project| count(project)).sum()
    }

    /// Lists the runs of all projects.
    pub(crate) fn load_runs(&self, query: &FormData) -> Page {
        let (text, state) = (query.get("q").trim(), query.get("state").trim());
        let wanted = text.to_lowercase();
        let mut rows = Vec::new();
        for project in self.projects.all() {
            let runs: Vec<WatchedRun> = project.runs().values().cloned().collect();
            let fits = runs.into_iter().filter(|run| {
                let words = [
                    &run.item.run,
                    &run.item.goal,
                    &run.item.headline,
                    &project.key,
                ];
                let has_text = words
                    .iter()
                    .any(|text| text.to_lowercase().contains(&wanted));
                let word = run.standing().0.word().replace(' ', "-");
                has_text && (state.is_empty() || state == word)
            });
            rows.extend(fits.map(|run| run_row(&project, run)));
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.item.created_at));
        let left_out = rows.len().saturating_sub(LISTED_RUNS);
        rows.truncate(LISTED_RUNS);
        Page::Runs(RunsPage {
            runs: rows,
            query: text.to_owned(),
            state: state.to_owned(),
            left_out,
        })
    }
}

fn run_row(project: &WatchedProject, run: WatchedRun) -> RunRow {
    RunRow {
        project: project.key.clone(),
        item: run.item,
        is_driven: run.is_driven,
        loaded: run.loaded,
    }
}

/// Returns what a run asks of a person, each with the id of its question.
fn inbox_entries(project: &WatchedProject, run: &WatchedRun) -> Vec<InboxEntry> {
    let Some(loaded) = &run.loaded else {
        return Vec::new();
    };
    if loaded.questions.is_empty() && loaded.cost.reached_limit.is_none() {
        return Vec::new();
    }
    let id = RunId(run.item.run.clone());
    let asked = project.histories.with(&project.engine, &id, |history| {
        let questions = loaded
            .questions
            .iter()
            .map(|asked| asked.question.id.to_string());
        questions
            .filter_map(|id| Some((id.clone(), *history.asked.get(&id)?)))
            .collect::<Vec<_>>()
    });
    let asked = asked.unwrap_or_default();
    let items = InboxItem::of_run(loaded.view(), |question| {
        let id = question.id.to_string();
        let found = asked.iter().find(|(known, _)| *known == id);
        found.map_or(loaded.started_at, |(_, at)| *at)
    });
    // The items of questions come first, in the order of the questions.
    let mut questions = loaded.questions.iter();
    let entries = items.into_iter().map(|item| InboxEntry {
        project: project.key.clone(),
        item: if run.is_driven {
            item
        } else {
            item.without_driver(loaded.view(), now())
        },
        question: questions.next().map(|asked| asked.question.id.to_string()),
    });
    entries.collect()
}
