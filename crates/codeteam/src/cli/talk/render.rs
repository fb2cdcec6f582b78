//! Formats what is shown at a prompt: a question, a plan, a report, a diff.

use std::fmt::Write as _;

use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::ids::{FramePath, TaskId};
use codeteam_core::plan::Plan;
use codeteam_core::untrusted_text::{hang_indented, spell_out};
use codeteam_engine::Engine;
use codeteam_report::view::{ChangeView, LoadedRun, QuestionView};

use super::question_menu::{PlainTextMeaning, QuestionMenu};
use crate::cli::CliContext;
use crate::output::TerminalStyle;

/// Formats a question.
pub(super) fn format_question(
    style: TerminalStyle,
    asked: &QuestionView,
    menu: &QuestionMenu,
) -> String {
    let question = &asked.question;
    let mut text = String::new();
    let who = match question.kind {
        QuestionKind::Analyst => format!("{}: ", asked.asked_by),
        _ if question.id.frame.is_root() => String::new(),
        _ => format!("{}: ", question.id.frame.name()),
    };
    text.push_str(&style.bold(&format!("{who}{}", hang_indented(question.text.trim(), 2))));
    for (n, point) in question.points.iter().enumerate() {
        let point = point.trim();
        // Only a role's questions are numbered.
        let _ = if question.kind == QuestionKind::Analyst {
            write!(text, "\n  {}. {}", n + 1, hang_indented(point, 5))
        } else {
            write!(text, "\n  {}", hang_indented(point, 2))
        };
    }
    let hint = hint(question, menu);
    let _ = write!(text, "\n{}", style.dim(&hint));
    text
}

fn hint(question: &Question, asked: &QuestionMenu) -> String {
    let named = |name: &str| asked.commands.iter().any(|c| c.name == name);
    let several = if named("next") { " · /next" } else { "" };
    match &asked.text {
        PlainTextMeaning::Answer if named("save_plan") => {
            "Answer, or /save_plan when it knows enough; /help lists the rest.".to_owned()
        }
        PlainTextMeaning::Answer => format!("Answer in words · /help lists the rest{several}"),
        PlainTextMeaning::Note(_) => {
            "Do you want to /accept_plan or /request_feedback_round? What else you \
                          write changes it; /help lists the rest."
                .to_owned()
        }
        PlainTextMeaning::OneOf(_)
            if !asked.keys.is_empty() && question.kind == QuestionKind::Step =>
        {
            let own = asked.commands.iter().take(question.answers.len());
            let own: Vec<String> = own.map(|c| format!("/{}", c.name)).collect();
            format!("{}{several} · d diff · r report · ? help", own.join(" · "))
        }
        PlainTextMeaning::OneOf(answers) => {
            let answers: Vec<String> = answers.iter().map(|a| format!("/{a}")).collect();
            format!("{}{several} · /help lists the rest", answers.join(" · "))
        }
    }
}

/// Formats a plan as a list.
pub(super) fn format_plan(style: TerminalStyle, plan: &Plan) -> String {
    let mut text = style.bold(&format!("Plan {}", plan.plan_id));
    if !plan.description.trim().is_empty() {
        let _ = write!(text, ": {}", hang_indented(plan.description.trim(), 2));
    }
    for task in &plan.tasks {
        let _ = write!(
            text,
            "\n\n{}  {}",
            style.bold(task.id.as_str()),
            task.headline()
        );
        let rest = task.description.trim();
        if !rest.is_empty() && rest != task.headline() {
            let _ = write!(text, "\n    {}", hang_indented(rest, 4));
        }
        let list = |text: &mut String, word: &str, items: &[String]| {
            if !items.is_empty() {
                let _ = write!(text, "\n    {word:<7} {}", items.join(", "));
            }
        };
        let after: Vec<String> = task.dependencies.iter().map(|d| d.0.clone()).collect();
        list(&mut text, "after", &after);
        list(&mut text, "files", &task.files);
        for (n, point) in task.acceptance.iter().enumerate() {
            let word = if n == 0 { "done if" } else { "" };
            let point = hang_indented(point.trim(), 12);
            let _ = write!(text, "\n    {word:<7} {point}");
        }
    }
    text
}

/// Formats a plan with one line per task.
pub(super) fn format_plan_outline(style: TerminalStyle, plan: &Plan) -> String {
    let widest = plan.tasks.iter().map(|t| t.id.as_str().len()).max();
    let widest = widest.unwrap_or(0);
    let tasks = match plan.tasks.len() {
        1 => "1 task".to_owned(),
        n => format!("{n} tasks"),
    };
    let mut text = style.bold(&format!("Plan {}, {tasks}:", plan.plan_id));
    for task in &plan.tasks {
        let after: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        let after = if after.is_empty() {
            String::new()
        } else {
            style.dim(&format!("  after {}", after.join(", ")))
        };
        let _ = write!(
            text,
            "\n  {:<widest$}  {}{after}",
            task.id.as_str(),
            task.headline()
        );
    }
    text
}

/// Formats the report of a change at a glance.
pub(super) fn format_report(
    scene: &CliContext,
    engine: &Engine,
    run: &LoadedRun,
    frame: &FramePath,
) -> String {
    let change = ChangeView::of_frame(engine.records(), run, frame);
    change.map_or_else(String::new, |mut change| {
        // The prompt says what can be decided, and earlier decisions are shown with their rounds.
        (change.report.review, change.report.decided) = (None, None);
        crate::cli::report::render_for_terminal(scene, &change)
    })
}

/// Formats the full report.
pub(super) fn format_full_report(engine: &Engine, run: &LoadedRun, frame: &FramePath) -> String {
    let change = ChangeView::of_frame(engine.records(), run, frame);
    change.map_or_else(String::new, |change| change.report.to_markdown())
}

/// Colours a patch.
pub(super) fn colour_diff(style: TerminalStyle, patch: &[u8]) -> String {
    let text = String::from_utf8_lossy(patch);
    let text = spell_out(&text);
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let line = match line.as_bytes().first() {
            _ if line.starts_with("diff --git") => style.bold(line),
            _ if line.starts_with("+++") || line.starts_with("---") => style.bold(line),
            Some(b'+') => style.green(line),
            Some(b'-') => style.red(line),
            Some(b'@') => style.cyan(line),
            _ => line.to_owned(),
        };
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}
