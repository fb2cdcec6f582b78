//! The pages of a run.

use codeteam_core::ids::RunId;
use codeteam_core::risk::RiskLevel;
use codeteam_engine::patches::patch_between;
use codeteam_engine::problem::Problem;
use codeteam_report::costs::CostBreakdown;
use codeteam_report::view::{LoadedRun, QuestionView};

use super::PageSources;
use crate::form_data::FormData;
use crate::page::{
    BoardPage, CostPage, EventPage, EventsPage, FilesPage, GraphPage, Page, PlanPage, RunPage,
    TaskPage, TimelinePage,
};
use crate::projects::WatchedProject;
use crate::run_history::{EventLine, RunHistory, read_entries, read_raw_event};

/// How many of the last things that happened stand on the first page of a run.
const RECENT: usize = 12;
/// How many entries a timeline has.
const TIMELINE: usize = 2_000;
/// How many events a page of the log has.
const EVENTS: usize = 200;

impl PageSources<'_> {
    /// Calls `use_it` with the history of a run.
    pub(super) fn history<T>(
        project: &WatchedProject,
        run: &RunId,
        use_it: impl FnOnce(&RunHistory) -> T,
    ) -> Result<T, Problem> {
        project.histories.with(&project.engine, run, use_it)
    }

    pub(super) fn load_overview(project: &WatchedProject, run: &RunId) -> Result<Page, Problem> {
        let (loaded, attempts, lines) = Self::history(project, run, |history| {
            let lines = last_told(&history.lines, RECENT);
            (history.run(), history.attempt_list(), lines)
        })?;
        Ok(Page::Run(Box::new(RunPage {
            head: Self::head(project, loaded)?,
            attempts,
            recent: read_entries(&project.engine, run, &lines)?,
        })))
    }

    pub(super) fn load_board(
        project: &WatchedProject,
        run: &RunId,
        query: &FormData,
    ) -> Result<Page, Problem> {
        let loaded = project.engine.load_run_view(run)?;
        Ok(Page::Board(Box::new(BoardPage {
            head: Self::head(project, loaded)?,
            query: query.get("q").trim().to_owned(),
            phase: query.get("phase").to_owned(),
        })))
    }

    pub(super) fn load_graph(
        project: &WatchedProject,
        run: &RunId,
        query: &FormData,
    ) -> Result<Page, Problem> {
        let found = Self::history(project, run, |history| {
            (history.run(), history.attempt_list())
        })?;
        let (loaded, attempts) = found;
        Ok(Page::Graph(Box::new(GraphPage {
            head: Self::head(project, loaded)?,
            attempts,
            draws_all: query.get("all") == "1",
        })))
    }

    pub(super) fn load_timeline(project: &WatchedProject, run: &RunId) -> Result<Page, Problem> {
        let (loaded, attempts, lines, all) = Self::history(project, run, |history| {
            let lines = last_told(&history.lines, TIMELINE);
            let all = history.lines.iter().filter(|line| line.words.is_some());
            (history.run(), history.attempt_list(), lines, all.count())
        })?;
        Ok(Page::Timeline(Box::new(TimelinePage {
            head: Self::head(project, loaded)?,
            attempts,
            left_out: all - lines.len(),
            entries: read_entries(&project.engine, run, &lines)?,
        })))
    }

    pub(super) fn load_plan(project: &WatchedProject, run: &RunId) -> Result<Page, Problem> {
        let found = Self::history(project, run, |history| {
            let revisions = history.revisions.iter().cloned().collect();
            (history.run(), revisions)
        })?;
        let (loaded, revisions) = found;
        let mut questions = loaded.questions.iter();
        let is_plan = |asked: &&QuestionView| asked.place() == "run" && !asked.about_change;
        let question = questions.find(is_plan).cloned();
        Ok(Page::Plan(Box::new(PlanPage {
            head: Self::head(project, loaded)?,
            question,
            revisions,
        })))
    }

    pub(super) fn load_cost(project: &WatchedProject, run: &RunId) -> Result<Page, Problem> {
        let found = Self::history(project, run, |history| {
            (history.run(), history.attempt_list())
        })?;
        let (loaded, attempts) = found;
        Ok(Page::Cost(Box::new(CostPage {
            head: Self::head(project, loaded)?,
            costs: CostBreakdown::load(project.engine.records(), run)?,
            attempts,
        })))
    }

    pub(super) fn load_files(project: &WatchedProject, run: &RunId) -> Result<Page, Problem> {
        let loaded = project.engine.load_run_view(run)?;
        let patch = if loaded.has_commits() {
            patch_between(&project.engine, &loaded.base, &loaded.tip)?.text
        } else {
            Vec::new()
        };
        let head = Self::head(project, loaded)?;
        Ok(Page::Files(Box::new(FilesPage { head, patch })))
    }

    pub(super) fn load_events(
        project: &WatchedProject,
        run: &RunId,
        query: &FormData,
    ) -> Result<Page, Problem> {
        let after: u64 = query.get("after").parse().unwrap_or(0);
        let (kind, text) = (
            query.get("kind").to_owned(),
            query.get("q").trim().to_owned(),
        );
        let wanted = text.to_lowercase();
        let (loaded, lines, next, kinds) = Self::history(project, run, |history| {
            let mut kinds: Vec<String> = history
                .lines
                .iter()
                .map(|line| line.kind.to_owned())
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            let fits = |line: &&EventLine| {
                let words = line.words.as_deref().unwrap_or_default();
                let has_text = wanted.is_empty() || words.to_lowercase().contains(&wanted);
                line.seq > after && (kind.is_empty() || kind == line.kind) && has_text
            };
            let mut lines: Vec<EventLine> = history
                .lines
                .iter()
                .filter(fits)
                .take(EVENTS + 1)
                .cloned()
                .collect();
            let has_more = lines.len() > EVENTS;
            lines.truncate(EVENTS);
            let next = lines.last().map(|line| line.seq).filter(|_| has_more);
            (history.run(), lines, next, kinds)
        })?;
        Ok(Page::Events(Box::new(EventsPage {
            head: Self::head(project, loaded)?,
            entries: read_entries(&project.engine, run, &lines)?,
            after,
            next,
            kind,
            query: text,
            kinds,
        })))
    }

    pub(super) fn load_event(
        project: &WatchedProject,
        run: &RunId,
        seq: u64,
    ) -> Result<Page, Problem> {
        let (loaded, line) = Self::history(project, run, |history| {
            let line = history.lines.iter().find(|line| line.seq == seq).cloned();
            (history.run(), line)
        })?;
        let missing = || Problem::user(format!("there is no event {seq} in `{run}`"));
        let line = line.ok_or_else(missing)?;
        let mut entries = read_entries(&project.engine, run, &[line])?;
        Ok(Page::Event(Box::new(EventPage {
            head: Self::head(project, loaded)?,
            entry: entries.pop().ok_or_else(missing)?,
            raw: read_raw_event(&project.engine, run, seq)?,
        })))
    }

    pub(super) fn load_task(
        project: &WatchedProject,
        run: &RunId,
        place: &str,
    ) -> Result<Page, Problem> {
        let found = Self::history(project, run, |history| {
            (history.run(), history.attempts_of(place))
        })?;
        let (loaded, attempts) = found;
        if place != "run" && loaded.task(place).is_none() && attempts.is_empty() {
            return Err(Problem::user(format!(
                "there is no task `{place}` in `{run}`"
            )));
        }
        let change = Self::read_change(project, &loaded, place);
        let mut questions = loaded.questions.iter();
        let question = questions.find(|asked| asked.place() == place).cloned();
        Ok(Page::Task(Box::new(TaskPage {
            head: Self::head(project, loaded)?,
            place: place.to_owned(),
            attempts,
            change,
            question,
        })))
    }
}

/// Returns the last lines that a person is told.
fn last_told(lines: &[EventLine], count: usize) -> Vec<EventLine> {
    let told = lines.iter().rev().filter(|line| line.words.is_some());
    let mut last: Vec<EventLine> = told.take(count).cloned().collect();
    last.reverse();
    last
}

/// Returns the open question of this id.
pub(crate) fn find_question<'a>(run: &'a LoadedRun, id: &str) -> Option<&'a QuestionView> {
    let mut questions = run.questions.iter();
    questions.find(|asked| asked.question.id.to_string() == id)
}

/// Returns true if approving overrules an objection, publishes something, or is of high risk: then the
/// person types what it is about.
pub(crate) fn is_grave(asked: &QuestionView) -> bool {
    let approval = asked.approval.as_ref();
    let is_risky = approval.is_some_and(|approval| approval.risk >= RiskLevel::High);
    let mut choices = asked.choices.iter();
    let publishes = choices.any(|choice| choice.accepts && choice.about == "publish it");
    publishes || is_risky || !asked.objections.is_empty()
}
