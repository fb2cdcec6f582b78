//! What is shown at a prompt: a question, a plan, a report, a diff.

use std::fmt::Write as _;

use codeteam_core::Run;
use codeteam_core::frame::{Frame, Question, QuestionKind, StepVerdict};
use codeteam_core::ids::TaskId;
use codeteam_core::plan::Plan;
use codeteam_core::quoted::{hanging, spell_out};
use codeteam_engine::{Engine, report, tell};

use super::ask::{PlainTextMeaning, QuestionMenu};
use crate::cli::CliContext;
use crate::output::TerminalStyle;

/// A question, as it is put.
pub(super) fn question(
    style: TerminalStyle,
    run: &Run,
    question: &Question,
    asked: &QuestionMenu,
) -> String {
    let mut text = String::new();
    let who = match question.kind {
        QuestionKind::Analyst => format!("{}: ", tell::who(run, &question.id)),
        _ if question.id.frame.is_root() => String::new(),
        _ => format!("{}: ", question.id.frame.name()),
    };
    text.push_str(&style.bold(&format!("{who}{}", hanging(question.text.trim(), 2))));
    for (n, point) in question.points.iter().enumerate() {
        let point = point.trim();
        // Only what a role asks is asked one by one.
        let _ = if question.kind == QuestionKind::Analyst {
            write!(text, "\n  {}. {}", n + 1, hanging(point, 5))
        } else {
            write!(text, "\n  {}", hanging(point, 2))
        };
    }
    let hint = hint(question, asked);
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

/// A plan as a list.
pub(super) fn plan(style: TerminalStyle, plan: &Plan) -> String {
    let mut text = style.bold(&format!("Plan {}", plan.plan_id));
    if !plan.description.trim().is_empty() {
        let _ = write!(text, ": {}", hanging(plan.description.trim(), 2));
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
            let _ = write!(text, "\n    {}", hanging(rest, 4));
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
            let point = hanging(point.trim(), 12);
            let _ = write!(text, "\n    {word:<7} {point}");
        }
    }
    text
}

/// A plan in a line a task.
pub(super) fn outline(style: TerminalStyle, plan: &Plan) -> String {
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

/// The report of a change, at a glance.
pub(super) fn report(scene: &CliContext, engine: &Engine, run: &Run, frame: &Frame) -> String {
    let report = report::full(engine, run, frame);
    report.map_or_else(String::new, |mut report| {
        // The prompt says what can be decided, and what was decided before is told by its round.
        (report.review, report.decided) = (None, None);
        crate::cli::report::shown(scene, engine, run, frame, &report)
    })
}

/// All of it.
pub(super) fn whole_report(engine: &Engine, run: &Run, frame: &Frame) -> String {
    let report = report::full(engine, run, frame);
    report.map_or_else(String::new, |report| report.markdown())
}

/// How many checks and reviewers are against a change as it is.
pub(super) fn failing(frame: &Frame) -> usize {
    let patch = frame.change.as_ref().map(|change| &change.patch);
    let against = frame.verdicts.values().filter(|verdict| {
        !verdict.approved && verdict.patch.is_some() && verdict.patch.as_ref() == patch
    });
    let checks = frame.outputs.checks.iter().filter(|check| !check.passed);
    let count = |verdict: &StepVerdict| {
        if verdict.by_checks {
            checks.clone().count().max(1)
        } else {
            1
        }
    };
    against.map(count).sum()
}

/// A patch with its colours.
pub(super) fn diff(style: TerminalStyle, patch: &[u8]) -> String {
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
