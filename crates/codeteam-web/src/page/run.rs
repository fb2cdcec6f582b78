//! A run: its summary, its tasks by state, its drawings, its files.

use std::collections::BTreeMap;

use codeteam_core::ids::{EpochMillis, StepId};
use codeteam_report::describe::first_line;
use codeteam_report::feed::TimelineEntry;
use codeteam_report::patch::PatchDocument;
use codeteam_report::view::{
    FrameView, LayersView, RunView, SlotProgress, SlotView, Standing, TaskCounts, TaskView,
    frame_standing, task_standing, workflow_svg,
};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{BoardPage, FilesPage, GraphPage, RunHead, RunPage, Shell};
use super::graph_svg::{GraphTask, draw_tasks};
use super::lists::progress_values;
use super::run_head::{RunLinks, RunTab, head_values, step_values};
use super::timeline::attempt_row;
use crate::routes::{RunAction, RunPlace};

/// The most tasks that a column of the board lists.
const COLUMN_TASKS: usize = 50;
/// The most tasks that are drawn unless somebody asks for all.
const DRAWN_TASKS: usize = 300;
/// The columns of the board.
const COLUMNS: [(&str, &[Standing]); 5] = [
    ("needs you", &[Standing::NeedsYou]),
    ("working", &[Standing::Working]),
    ("waiting", &[Standing::Waiting]),
    ("failed", &[Standing::Failed]),
    ("done", &[Standing::Done, Standing::LeftOut]),
];

pub(super) fn run_content(shell: &Shell, page: &RunPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let frames = run.frames.iter().filter(|frame| !frame.slots.is_empty());
    let working = frames.map(|frame| frame_values(links, page, frame));
    let recent = page.recent.iter().rev();
    let recent = recent.filter_map(|entry| entry_values(links, entry));
    let values = context! {
        head => head_values(shell, head, RunTab::Overview),
        goal => (first_line(&run.goal) != run.goal.trim()).then_some(run.goal.as_str()),
        summary => summary_values(head),
        steps => step_values(head),
        waiting_on => run.waiting_on.clone(),
        still_failing => run.still_failing.clone(),
        edited_config => run.edited_config.clone(),
        working => working.collect::<Value>(),
        stopped => stopped_values(links, run),
        phases => phase_values(links, head),
        recent => recent.collect::<Value>(),
        timeline => links.page(RunPlace::Timeline),
        board => links.page(RunPlace::Board),
    };
    let title = first_line(&run.goal);
    PageContent::new(
        "run.html",
        title,
        &[
            "run-head",
            "run-summary",
            "run-now",
            "run-tasks",
            "run-recent",
        ],
        values,
    )
}

fn summary_values(head: &RunHead) -> Value {
    let (links, run) = (RunLinks::of_head(head), &head.run);
    let counts = run.has_plan.then(|| TaskCounts::of_run(run));
    let forked = run.forked_from.as_ref();
    context! {
        workflow => run.workflow.as_str(),
        branch => run.branch.as_str(),
        base => codeteam_report::describe::short_id(run.base.as_str()),
        tip => codeteam_report::describe::short_id(run.tip.as_str()),
        has_commits => run.has_commits(),
        diff => links.page(RunPlace::Diff("run".to_owned())),
        started => run.started_at.0,
        events => run.events,
        attempts => run.cost.words.attempts.as_str(),
        tokens => run.cost.words.tokens.as_str(),
        money => run.cost.words.money.as_str(),
        confinement => run.confinement.as_str(),
        progress => counts.map(progress_values),
        published => run.published_url.as_deref(),
        forked => forked.map(|fork| context! {
            run => fork.run.as_str(), event => fork.event,
            href => RunLinks::new(&head.project, fork.run.as_str()).page(RunPlace::Overview),
        }),
        graph => links.page(RunPlace::Graph),
        cost => links.page(RunPlace::Cost),
        links_action => crate::routes::Route::LinkAction(crate::routes::LinkAction::Create).to_string(),
        link_run => format!("{}/{}", head.project, run.id.as_str()),
    }
}

/// Returns where a frame stands and who is at work in it.
fn frame_values(links: RunLinks<'_>, page: &RunPage, frame: &FrameView) -> Value {
    let run = page.head.run.view();
    let (standing, words) = frame_standing(run, frame);
    let outputs = page.attempts.iter().filter(|attempt| {
        attempt.is_running() && attempt.by_worker && attempt.id.frame == frame.path
    });
    let outputs = outputs.map(|attempt| {
        let href = links.page(RunPlace::Attempt(attempt.id.fence));
        context! { href, who => attempt.who.as_str() }
    });
    let slots = frame.slots.iter().map(slot_values);
    context! {
        name => frame.path.name(),
        href => links.task(frame.path.name()),
        title => frame.task.as_ref().and_then(|id| run.task(id.as_str())).map(|task| task.title.as_str()),
        step => frame.step.as_str(),
        round => frame.round,
        state => standing.word(),
        words,
        slots => slots.collect::<Value>(),
        outputs => outputs.collect::<Value>(),
    }
}

fn slot_values(slot: &SlotView) -> Value {
    let (state, word) = match slot.state {
        SlotProgress::Queued => ("waiting", "queued"),
        SlotProgress::Paused { .. } => ("waiting", "paused"),
        SlotProgress::Running => ("working", "working"),
        SlotProgress::Done { vote: Some(true) } => ("done", "approves"),
        SlotProgress::Done { vote: Some(false) } => ("failed", "rejects"),
        SlotProgress::Done { vote: None } => ("done", "done"),
    };
    let until = match slot.state {
        SlotProgress::Paused { until } => Some(until),
        _ => None,
    };
    context! {
        who => slot.who.as_str(),
        worker => slot.worker.as_ref().map(|worker| worker.0.as_str()),
        attempt => slot.attempt,
        state, word, until,
    }
}

/// Returns the frames that ended without success and can be taken up again.
fn stopped_values(links: RunLinks<'_>, run: &RunView) -> Vec<Value> {
    let failed = run
        .stopped_frames
        .iter()
        .filter(|frame| frame.task.is_some());
    failed
        .map(|frame| {
            context! {
                name => frame.path.name(),
                href => links.task(frame.path.name()),
                diff => frame.has_change().then(|| links.page(RunPlace::Diff(frame.path.name().to_owned()))),
                objections => frame.objections.clone(),
                retry => links.action(RunAction::Retry),
                skip => links.action(RunAction::Skip),
            }
        })
        .collect()
}

/// Returns the tasks by phase. Of a long plan only those that matter now are listed.
fn phase_values(links: RunLinks<'_>, head: &RunHead) -> Vec<Value> {
    let run = &head.run;
    let is_long = run.has_long_plan();
    let mut all: BTreeMap<Option<&str>, Vec<&TaskView>> = BTreeMap::new();
    if !is_long {
        for task in &run.tasks {
            let phase = task.phase.as_ref().map(codeteam_core::ids::PhaseId::as_str);
            all.entry(phase).or_default().push(task);
        }
    }
    let phases = run.tasks_by_phase().into_iter();
    phases
        .map(|phase| {
            let id = phase.phase.map(|phase| phase.id.as_str());
            let listed = all.remove(&id).unwrap_or_else(|| phase.notable.clone());
            let listed = listed.iter().take(COLUMN_TASKS);
            context! {
                id,
                title => phase.phase.map(|phase| phase.title.as_str()),
                progress => progress_values(phase.counts),
                is_folded => is_long,
                tasks => listed.map(|task| task_values(links, run, task)).collect::<Value>(),
            }
        })
        .collect()
}

/// Returns a task for a line or a card.
fn task_values(links: RunLinks<'_>, run: &RunView, task: &TaskView) -> Value {
    let (standing, words) = task_standing(run, task);
    card_values(links, task, standing, &words)
}

fn card_values(links: RunLinks<'_>, task: &TaskView, standing: Standing, words: &str) -> Value {
    let after = task.dependencies.iter();
    let open = task.findings.iter();
    context! {
        id => task.id.as_str(),
        title => task.title.as_str(),
        href => links.task(task.id.as_str()),
        state => standing.word(),
        words,
        phase => task.phase.as_ref().map(codeteam_core::ids::PhaseId::as_str),
        rounds => task.rounds,
        findings => open.count(),
        priority => task.priority.map(|priority| format!("{priority:?}").to_lowercase()),
        after => after.map(codeteam_core::ids::TaskId::as_str).collect::<Vec<_>>().join(", "),
        files => task.files.len(),
        commits => task.commits.len(),
    }
}

/// Returns an event for a list, if people need to know of it.
pub(super) fn entry_values(links: RunLinks<'_>, entry: &TimelineEntry) -> Option<Value> {
    let words = entry.words.as_deref()?;
    Some(context! {
        seq => entry.seq,
        href => links.page(RunPlace::Event(entry.seq)),
        at => entry.at.0,
        place => entry.place(),
        place_href => links.task(entry.place()),
        kind => entry.kind,
        words,
    })
}

pub(super) fn board_content(shell: &Shell, page: &BoardPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let query = page.query.to_lowercase();
    let fits = |task: &&TaskView| {
        let phase = task.phase.as_ref().map(codeteam_core::ids::PhaseId::as_str);
        let is_in_phase = page.phase.is_empty() || phase == Some(page.phase.as_str());
        let is_named = |text: &str| text.to_lowercase().contains(&query);
        is_in_phase && (query.is_empty() || is_named(&task.title) || is_named(task.id.as_str()))
    };
    let mut columns: Vec<(usize, Vec<Value>)> = vec![(0, Vec::new()); COLUMNS.len()];
    for task in run.tasks.iter().filter(fits) {
        let (standing, words) = task_standing(run, task);
        let at = COLUMNS
            .iter()
            .position(|(_, states)| states.contains(&standing));
        let Some((count, cards)) = at.and_then(|at| columns.get_mut(at)) else {
            continue;
        };
        *count += 1;
        if cards.len() < COLUMN_TASKS {
            cards.push(card_values(links, task, standing, &words));
        }
    }
    let columns = COLUMNS
        .iter()
        .zip(columns)
        .map(|((word, _), (count, cards))| {
            let left_out = count - cards.len();
            context! { word => *word, count, cards, left_out }
        });
    let phases = run.phases.iter().map(|phase| {
        context! {
            id => phase.id.as_str(), title => phase.title.as_str(),
            is_chosen => phase.id.as_str() == page.phase,
        }
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Board),
        columns => columns.collect::<Value>(),
        phases => phases.collect::<Value>(),
        query => page.query.as_str(),
        phase => page.phase.as_str(),
        action => links.page(RunPlace::Board),
        has_plan => run.has_plan,
        plan => links.page(RunPlace::Plan),
    };
    let title = format!("Board · {}", first_line(&run.goal));
    PageContent::new("board.html", title, &["run-head", "board-columns"], values)
}

pub(super) fn graph_content(shell: &Shell, page: &GraphPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let is_long = run.tasks.len() > DRAWN_TASKS && !page.draws_all;
    let tasks = if is_long {
        None
    } else {
        Some(task_drawing(links, head))
    };
    let mut by_step: BTreeMap<&StepId, Vec<Value>> = BTreeMap::new();
    for attempt in page.attempts.iter().rev() {
        let attempts = by_step.entry(&attempt.id.step).or_default();
        attempts.push(attempt_row(links, attempt, shell));
    }
    let reached = page.attempts.iter().map(|attempt| &attempt.id.step);
    let workflow = workflow_svg(run, reached, |step| {
        by_step
            .contains_key(step)
            .then(|| format!("#{}", step_anchor(step)))
    });
    let steps = by_step.into_iter().map(|(step, attempts)| {
        context! { step => step.as_str(), anchor => step_anchor(step), attempts }
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Graph),
        workflow => workflow.map(Value::from_safe_string),
        tasks => tasks.map(Value::from_safe_string),
        task_count => run.tasks.len(),
        has_plan => run.has_plan,
        phases => phase_values(links, head),
        all => format!("{}?all=1", links.page(RunPlace::Graph)),
        steps => steps.collect::<Value>(),
        lines => step_lines(links, page),
    };
    let title = format!("Graph · {}", first_line(&run.goal));
    PageContent::new(
        "graph.html",
        title,
        &["run-head", "graph-tasks", "graph-workflow"],
        values,
    )
}

/// Returns the id of the element with the attempts of a step.
fn step_anchor(step: &StepId) -> String {
    format!(
        "step-{}",
        crate::routes::encode(step.as_str()).replace('%', ".")
    )
}

/// Returns the steps of the workflow as a list, for those who cannot see the drawing.
fn step_lines(links: RunLinks<'_>, page: &GraphPage) -> Vec<Value> {
    let reached = page.attempts.iter().map(|attempt| &attempt.id.step);
    let steps = codeteam_report::view::workflow_lines(&page.head.run, reached, 100);
    steps
        .into_iter()
        .map(|line| {
            let here = line.here.iter().map(|place| {
                context! { place, href => links.task(place) }
            });
            context! {
                text => line.text.as_str(),
                was_reached => line.was_reached,
                here => here.collect::<Value>(),
            }
        })
        .collect()
}

fn task_drawing(links: RunLinks<'_>, head: &RunHead) -> String {
    let run = &head.run;
    let layers = LayersView::new(run);
    let layers: Vec<Vec<GraphTask>> = layers
        .layers
        .into_iter()
        .map(|layer| {
            let tasks = layer.tasks.into_iter();
            tasks
                .map(|task| {
                    let standing = run.task(task.id.as_str());
                    let standing = standing.map(|task| task_standing(run, task).0);
                    GraphTask {
                        href: links.task(task.id.as_str()),
                        state: standing.unwrap_or(Standing::Waiting).word(),
                        id: task.id.0,
                        title: task.title,
                        dependencies: task.dependencies.into_iter().map(|id| id.0).collect(),
                    }
                })
                .collect()
        })
        .collect();
    draw_tasks(&layers)
}

pub(super) fn files_content(shell: &Shell, page: &FilesPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let patch = PatchDocument::parse(&page.patch);
    let (added, removed) = patch.totals();
    let diff = links.page(RunPlace::Diff("run".to_owned()));
    let files = patch.files.iter().map(|file| {
        let tasks = run
            .tasks
            .iter()
            .filter(|task| task.files.contains(&file.path));
        let tasks = tasks.take(5).map(|task| {
            context! { id => task.id.as_str(), href => links.task(task.id.as_str()) }
        });
        context! {
            path => file.path.as_str(),
            added => file.added,
            removed => file.removed,
            is_bulky => file.is_bulky,
            href => format!("{diff}?file={}", crate::routes::encode(&file.path)),
            tasks => tasks.collect::<Value>(),
        }
    });
    let changing = run.frames.iter().filter_map(|frame| {
        let files = frame.changed_files.as_ref()?;
        Some(context! {
            name => frame.path.name(),
            diff => links.page(RunPlace::Diff(frame.path.name().to_owned())),
            files => files.clone(),
        })
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Files),
        files => files.collect::<Value>(),
        changing => changing.collect::<Value>(),
        added, removed, diff,
        is_cut => patch.is_cut,
    };
    let title = format!("Files · {}", first_line(&run.goal));
    PageContent::new("files.html", title, &["run-head", "file-list"], values)
}

/// Returns the time of the newest attempt's end or, while one runs, now.
pub(super) fn last_time(
    attempts: &[codeteam_report::view::AttemptView],
    now: EpochMillis,
) -> EpochMillis {
    let ends = attempts
        .iter()
        .map(|attempt| attempt.ended_at.unwrap_or(now));
    ends.max().unwrap_or(now)
}
