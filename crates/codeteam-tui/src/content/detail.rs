//! What there is to know about the selected row of a list.

use codeteam_core::findings::Finding;
use codeteam_core::ids::RoleName;
use codeteam_report::describe::{format_money, format_time_of_day, short_id};
use codeteam_report::report::{ScreenLine, TextTone};
use codeteam_report::view::{AttemptView, IdleDeadline, RunView, TaskView};

use super::{block, field, line};
use crate::model::{InboxItem, RunHistory};
use crate::state::{App, Panel, TreeNode, finding_rows, list_tree_rows, plan_tasks};
use crate::text::{clean, duration};
use codeteam_report::view::{attempt_standing, task_standing};

/// Returns what there is to know about the selected row of the panel that is shown.
pub(crate) fn detail_lines(app: &App, columns: usize) -> Vec<ScreenLine> {
    let found = match app.panel() {
        Some(Panel::Inbox(cursor)) => {
            let items = app.inbox();
            items
                .get(cursor.selected)
                .map(|item| inbox_detail(app, item, columns))
        }
        Some(Panel::Run { cursor, folds }) => app.history.as_ref().and_then(|history| {
            let standing = app.run_standing();
            let rows = list_tree_rows(history, standing, folds, cursor);
            let row = rows.get(cursor.selected)?;
            Some(node_detail(app, history, &row.node, columns))
        }),
        Some(Panel::Plan(cursor)) => app.shown_run().and_then(|run| {
            let tasks = plan_tasks(run, &cursor.filter);
            Some(task_detail(run, tasks.get(cursor.selected)?, columns))
        }),
        Some(Panel::Findings { cursor, place }) => app.shown_run().and_then(|run| {
            let rows = finding_rows(run, place.as_deref(), &cursor.filter);
            let (place, finding) = rows.get(cursor.selected)?;
            Some(finding_detail(place, finding, columns))
        }),
        _ => None,
    };
    found.unwrap_or_default()
}

fn inbox_detail(app: &App, item: &InboxItem, columns: usize) -> Vec<ScreenLine> {
    let Some(run) = app.run_view(item.run()) else {
        return Vec::new();
    };
    let mut lines = field("run", TextTone::Strong, run.id.as_str(), columns);
    lines.extend(field("goal", TextTone::Plain, &run.goal, columns));
    match item {
        InboxItem::Question { question, .. } => {
            if let Some(asked) = app.question(item.run(), question) {
                lines.extend(block("asks", &asked.question.text, columns));
                for point in &asked.question.points {
                    lines.push(line(TextTone::Plain, format!("  - {}", clean(point))));
                }
                if !asked.objections.is_empty() {
                    let against = asked.objections.join(", ");
                    lines.extend(field("against", TextTone::Bad, &against, columns));
                }
                let approval = asked.approval.as_ref();
                let approval = approval.filter(|_| !app.is_driven(item.run()));
                let idle = approval.and_then(|it| IdleDeadline::of_approval(&run.id, it, app.now));
                if let Some(idle) = idle {
                    let tone = if idle.is_over {
                        TextTone::Bad
                    } else {
                        TextTone::Warn
                    };
                    lines.extend(field("time", tone, &idle.to_line(), columns));
                }
                for step in run.steps_for_question(question) {
                    lines.extend(field("command", TextTone::Faint, &step.command, columns));
                }
            }
        }
        InboxItem::Stopped { .. } => {
            for wait in &run.waiting_on {
                lines.extend(field("waits", TextTone::Plain, wait, columns));
            }
            for step in &run.next_steps {
                lines.extend(field(step.label, TextTone::Faint, &step.command, columns));
            }
        }
    }
    lines
}

fn node_detail(
    app: &App,
    history: &RunHistory,
    node: &TreeNode,
    columns: usize,
) -> Vec<ScreenLine> {
    let run = history.run.view();
    match node {
        TreeNode::Run => run_detail(app, run, columns),
        TreeNode::Phase(id) => {
            let phase = run.phases.iter().find(|phase| phase.id == *id);
            phase.map_or_else(Vec::new, |phase| {
                let mut lines = field("phase", TextTone::Strong, id.as_str(), columns);
                lines.extend(field("title", TextTone::Plain, &phase.title, columns));
                lines.extend(field(
                    "status",
                    TextTone::Plain,
                    phase.status.as_str(),
                    columns,
                ));
                lines
            })
        }
        TreeNode::Task(id) => run
            .task(id)
            .map_or_else(Vec::new, |task| task_detail(run, task, columns)),
        TreeNode::Step {
            frame,
            step,
            generation,
        } => {
            let mut lines = field("step", TextTone::Strong, step, columns);
            lines.extend(field("of", TextTone::Plain, frame.name(), columns));
            let within = history.attempts_of(frame).filter(|attempt| {
                attempt.id.step.0 == *step && attempt.id.generation == *generation
            });
            for attempt in within {
                let (standing, remark) = attempt_standing(attempt);
                let text = format!("{} {} {remark}", attempt.who, standing.word());
                let tone = super::standing_tone(standing);
                lines.extend(field("attempt", tone, text.trim_end(), columns));
            }
            if let Some(frame) = run.frame(frame) {
                for feedback in &frame.feedback {
                    let from = format!("feedback from {}", feedback.from);
                    lines.extend(block(&from, &feedback.text, columns));
                }
            }
            lines
        }
        TreeNode::Attempt(fence) => history
            .attempts
            .get(fence)
            .map_or_else(Vec::new, |attempt| attempt_detail(app, attempt, columns)),
    }
}

fn run_detail(app: &App, run: &RunView, columns: usize) -> Vec<ScreenLine> {
    let mut lines = field("run", TextTone::Strong, run.id.as_str(), columns);
    lines.extend(field("goal", TextTone::Plain, &run.goal, columns));
    lines.extend(field("now", TextTone::Plain, &run.headline, columns));
    let driver = if run.is_ended() {
        "it has ended"
    } else if app.is_driven(run.id.as_str()) {
        "a process drives it"
    } else {
        "nobody drives it; `u` goes on"
    };
    lines.extend(field("driver", TextTone::Plain, driver, columns));
    for wait in &run.waiting_on {
        lines.extend(field("waits", TextTone::Plain, wait, columns));
    }
    if let Some(progress) = &run.progress {
        lines.extend(field("tasks", TextTone::Plain, progress, columns));
    }
    let cost = &run.cost.words;
    let spent = format!("{}, {}, {}", cost.attempts, cost.tokens, cost.money);
    lines.extend(field("cost", TextTone::Plain, &spent, columns));
    lines.extend(field("workflow", TextTone::Plain, &run.workflow, columns));
    lines.extend(field("branch", TextTone::Plain, &run.branch, columns));
    let confined = &run.confinement;
    lines.extend(field("confined", TextTone::Plain, confined, columns));
    for step in &run.next_steps {
        lines.extend(field(step.label, TextTone::Faint, &step.command, columns));
    }
    lines
}

fn task_detail(run: &RunView, task: &TaskView, columns: usize) -> Vec<ScreenLine> {
    let (standing, why) = task_standing(run, task);
    let mut lines = field("task", TextTone::Strong, task.id.as_str(), columns);
    lines.extend(field("title", TextTone::Plain, &task.title, columns));
    let stands = format!("{} {why}", standing.word());
    let tone = super::standing_tone(standing);
    lines.extend(field("stands", tone, stands.trim_end(), columns));
    for id in &task.dependencies {
        let found = run.task(id.as_str());
        let (word, title) = found.map_or(("unknown", ""), |found| {
            (task_standing(run, found).0.word(), found.title.as_str())
        });
        let text = format!("{id} {title} ({word})");
        lines.extend(field("after", TextTone::Plain, &text, columns));
    }
    let dependents = run.tasks.iter();
    let dependents = dependents.filter(|other| other.dependencies.contains(&task.id));
    let dependents: Vec<&str> = dependents.map(|other| other.id.as_str()).collect();
    if !dependents.is_empty() {
        let text = dependents.join(", ");
        lines.extend(field("before", TextTone::Plain, &text, columns));
    }
    if !task.files.is_empty() {
        let text = task.files.join(", ");
        lines.extend(field("files", TextTone::Plain, &text, columns));
    }
    lines.extend(team_detail(task, columns));
    for commit in &task.commits {
        let id = short_id(commit.as_str());
        lines.extend(field("commit", TextTone::Plain, id, columns));
    }
    lines.extend(block("what to do", &task.description, columns));
    lines.extend(block("done if", &task.acceptance.join("\n"), columns));
    lines
}

/// Returns who carries out a task, how its result was scored and what a leader has decided.
fn team_detail(task: &TaskView, columns: usize) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    let roles: Vec<&str> = task.roles.iter().map(RoleName::as_str).collect();
    if !roles.is_empty() {
        let text = roles.join(", then ");
        lines.extend(field("roles", TextTone::Plain, &text, columns));
    }
    if let Some(quality) = &task.quality {
        lines.extend(field(
            "quality",
            TextTone::Plain,
            &quality.to_text(),
            columns,
        ));
        for one in &quality.criteria {
            let text = format!("{}: {} {}", one.score, one.criterion, one.reason);
            lines.extend(field("", TextTone::Faint, text.trim_end(), columns));
        }
    }
    for led in &task.interventions {
        let (what, round) = (led.intervention.as_str(), led.round);
        let by = if led.by_rule { ", by rule" } else { "" };
        let text = format!("{what} in round {round}{by}: {}", led.reason);
        lines.extend(field("decided", TextTone::Plain, &text, columns));
    }
    lines
}

fn attempt_detail(app: &App, attempt: &AttemptView, columns: usize) -> Vec<ScreenLine> {
    let (standing, remark) = attempt_standing(attempt);
    let mut lines = field("attempt", TextTone::Strong, &attempt.who, columns);
    if let Some(worker) = &attempt.worker {
        lines.extend(field("worker", TextTone::Plain, worker.as_str(), columns));
    }
    let stands = format!("{} {remark}", standing.word());
    let tone = super::standing_tone(standing);
    lines.extend(field("stands", tone, stands.trim_end(), columns));
    let times = format!(
        "{} since {}",
        duration(attempt.duration(app.now)),
        format_time_of_day(attempt.started_at)
    );
    lines.extend(field("time", TextTone::Plain, &times, columns));
    if attempt.by_worker {
        let usage = &attempt.usage;
        let money = usage
            .cost_microusd
            .map_or_else(|| "price unknown".to_owned(), format_money);
        let text = format!(
            "{} tokens read ({} cached), {} written, {money}",
            usage.input_tokens, usage.cached_input_tokens, usage.output_tokens
        );
        lines.extend(field("cost", TextTone::Plain, &text, columns));
    }
    for check in &attempt.checks {
        let (word, tone) = if check.passed {
            ("PASS", TextTone::Good)
        } else {
            ("FAIL", TextTone::Bad)
        };
        let text = format!("{word} {} {}", check.name, check.summary);
        let mut wrapped = field("check", tone, text.trim_end(), columns);
        wrapped.truncate(4);
        lines.extend(wrapped);
    }
    lines.push(line(TextTone::Faint, "Enter shows its output"));
    lines
}

fn finding_detail(place: &str, finding: &Finding, columns: usize) -> Vec<ScreenLine> {
    let report = &finding.report;
    let stands = format!("{:?}, {:?}", finding.state, report.severity).to_lowercase();
    let heading = format!("{} {place}, {stands}", finding.id);
    let mut lines = field("finding", TextTone::Strong, &heading, columns);
    let file = match (&report.file, report.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    };
    lines.extend(field("at", TextTone::Plain, &file, columns));
    let found_by = format!("{} in round {}", finding.step, finding.round);
    lines.extend(field("found by", TextTone::Plain, &found_by, columns));
    lines.extend(block(&clean(&report.title), &report.detail, columns));
    if report.detail.is_empty() {
        lines.extend(block("what", &report.title, columns));
    }
    lines
}
