//! `DELIVERABLE.md`: what the tasks of a run have brought forth, with links to their files.

use std::fmt::Write as _;

use codeteam_core::Run;
use codeteam_core::plan::Task;
use codeteam_core::schedule::TaskStatus;

use super::{MOST_TASKS, RoleResult, TeamFiles};
use crate::describe;
use crate::report::text::{inline_code, list_item, one_line, quote_lines, quoted_passage};

/// Renders the file. `depth` is the number of folders between it and the top of the repository, if
/// it lies in the repository.
pub(super) fn render_deliverable(run: &Run, team: &TeamFiles, depth: Option<usize>) -> String {
    let mut text = format!("# Deliverable\n\n{}\n\n", quoted_passage(&run.goal));
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let all = tasks.clone().count();
    let is_done = |task: &&Task| run.task_status(&task.id) == TaskStatus::Completed;
    let done = tasks.clone().filter(is_done).count();
    let _ = writeln!(
        text,
        "{done} of {all} tasks are done. The results are on the branch {}; links to files work where \
         it is checked out or merged.",
        inline_code(&run.branch)
    );
    for (at, task) in tasks.enumerate() {
        if at == MOST_TASKS {
            let _ = writeln!(
                text,
                "\n{} more tasks are not described here: `codeteam show {}` lists them.",
                all - MOST_TASKS,
                run.id
            );
            break;
        }
        push_task(&mut text, run, team, task, depth);
    }
    text
}

fn push_task(text: &mut String, run: &Run, team: &TeamFiles, task: &Task, depth: Option<usize>) {
    let headline = one_line(task.headline());
    let _ = write!(text, "\n## {}: {headline}\n\n", one_line(task.id.as_str()));
    let record = run.tasks.get(&task.id);
    let status = run.task_status(&task.id);
    let _ = write!(text, "- Status: {}", status.as_str());
    if let Some(why) = record.and_then(|record| record.why.as_deref()) {
        let _ = write!(text, " ({})", one_line(describe::first_line(why)));
    }
    text.push('\n');
    let commits = record.map(|record| record.commits.as_slice());
    for commit in commits.unwrap_or_default() {
        let short = describe::short_id(commit.as_str());
        let _ = writeln!(text, "- Commit: `{short}`");
    }
    let results = team.results.get(&task.id);
    for result in results.into_iter().flatten() {
        push_result(text, result, depth);
    }
}

pub(super) fn push_result(text: &mut String, result: &RoleResult, depth: Option<usize>) {
    let role = one_line(result.role.as_str());
    let _ = write!(
        text,
        "\n**{role}** says:\n\n{}\n",
        quote_lines(&result.summary)
    );
    if !result.files.is_empty() {
        text.push_str("\nFiles:\n\n");
    }
    for file in &result.files {
        let name = inline_code(file);
        let _ = match depth {
            Some(depth) => writeln!(
                text,
                "- [{name}]({}{})",
                "../".repeat(depth),
                link_destination(file)
            ),
            None => writeln!(text, "- {name}"),
        };
    }
    if !result.concerns.is_empty() {
        text.push_str("\nOpen points:\n\n");
    }
    for concern in &result.concerns {
        let _ = writeln!(text, "- {}", list_item(concern));
    }
}

/// Writes a path so that it is one destination of a link, whatever its characters are.
fn link_destination(path: &str) -> String {
    let mut link = String::new();
    for byte in path.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        if is_plain {
            link.push(char::from(byte));
        } else {
            let _ = write!(link, "%{byte:02X}");
        }
    }
    link
}
