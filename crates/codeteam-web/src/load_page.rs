//! Fills pages with data: from the views of runs, from their histories, from what people have noted.

mod attempt;
mod change;
mod lists;
mod metrics;
mod run;

use std::sync::Arc;

use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_engine::metrics::MetricsCache;
use codeteam_engine::problem::Problem;
use codeteam_engine::session;
use codeteam_report::describe;
use codeteam_report::view::LoadedRun;

use crate::drafts::{DraftKey, DraftStore};
use crate::form_data::FormData;
use crate::output_cache::OutputCache;
use crate::page::{Page, ProblemPage, RunHead};
use crate::projects::{ProjectRegistry, WatchedProject};
use crate::routes::{Route, RunPlace};

pub(crate) use self::attempt::{AttemptText, read_attempt_text};
pub(crate) use self::run::{find_question, is_grave};

/// What pages are made of.
pub(crate) struct PageSources<'a> {
    /// The projects.
    pub(crate) projects: &'a ProjectRegistry,
    /// What people have noted about changes.
    pub(crate) drafts: &'a DraftStore,
    /// Numbers of runs that have ended.
    pub(crate) metrics: &'a MetricsCache,
    /// Outputs that were read last.
    pub(crate) outputs: &'a OutputCache,
    /// The time.
    pub(crate) now: EpochMillis,
}

impl PageSources<'_> {
    /// Returns a project, or says that there is none.
    pub(crate) fn project(&self, key: &str) -> Result<Arc<WatchedProject>, Problem> {
        self.projects.find(key).ok_or_else(|| {
            Problem::user(format!("there is no project `{key}`"))
                .hint("the list of runs has those in which you have started one")
        })
    }

    /// Returns the page that a path leads to. Pages that the server keeps itself are made elsewhere.
    pub(crate) fn load(&self, route: &Route, query: &FormData) -> Result<Page, Problem> {
        match route {
            Route::Inbox => Ok(self.load_inbox()),
            Route::Runs => Ok(self.load_runs(query)),
            Route::Metrics { project } => self.load_metrics(project, query),
            Route::Run {
                project,
                run,
                place,
            } => {
                let project = self.project(project)?;
                self.load_run_place(&project, &RunId(run.clone()), place, query)
            }
            _ => Ok(Page::Help),
        }
    }

    fn load_run_place(
        &self,
        project: &Arc<WatchedProject>,
        run: &RunId,
        place: &RunPlace,
        query: &FormData,
    ) -> Result<Page, Problem> {
        match place {
            RunPlace::Overview => Self::load_overview(project, run),
            RunPlace::Board => Self::load_board(project, run, query),
            RunPlace::Graph => Self::load_graph(project, run, query),
            RunPlace::Timeline => Self::load_timeline(project, run),
            RunPlace::Plan => Self::load_plan(project, run),
            RunPlace::Cost => Self::load_cost(project, run),
            RunPlace::Files => Self::load_files(project, run),
            RunPlace::Events => Self::load_events(project, run, query),
            RunPlace::Event(seq) => Self::load_event(project, run, *seq),
            RunPlace::Task(place) => Self::load_task(project, run, place),
            RunPlace::Diff(place) => self.load_diff(project, run, place, query),
            RunPlace::Question(id) => self.load_question(project, run, id),
            RunPlace::Attempt(fence) => self.load_attempt(project, run, *fence, query),
            RunPlace::AttemptLog(_)
            | RunPlace::AttemptPrompt(_)
            | RunPlace::AttemptAnswer(_)
            | RunPlace::CheckOutput(..) => Ok(Page::Help),
        }
    }

    /// Returns what is above every page of a run.
    pub(crate) fn head(project: &WatchedProject, run: LoadedRun) -> Result<RunHead, Problem> {
        let is_driven = session::is_driven(&project.engine, &run.id)?;
        let next_steps = run.view().clone().with_driver(is_driven).next_steps;
        let kept = if is_driven || run.is_ended() {
            Vec::new()
        } else {
            project.engine.kept_decisions(&run.id)?
        };
        let kept = kept.iter().map(|kept| {
            let what = describe::describe_decision(&kept.decision);
            format!("{what} (by {})", kept.by)
        });
        Ok(RunHead {
            project: project.key.clone(),
            run,
            is_driven,
            next_steps,
            kept: kept.collect(),
        })
    }
}

/// Names what was noted about a change.
pub(crate) fn draft_key(project: &WatchedProject, run: &RunId, place: &str) -> DraftKey {
    DraftKey {
        project: project.key.clone(),
        run: run.0.clone(),
        place: place.to_owned(),
    }
}

/// Returns the page that says what is the matter.
pub(crate) fn problem_page(problem: &Problem) -> Page {
    let mut text = problem.what().to_owned();
    for cause in problem.causes() {
        text = format!("{text}: {cause}");
    }
    Page::Problem(ProblemPage {
        text,
        hints: problem.hints().iter().map(ToString::to_string).collect(),
    })
}
