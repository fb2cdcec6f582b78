//! The plan of a run: its tasks with what must hold, and what each version of it has changed.

use codeteam_core::ids::TaskId;
use codeteam_report::describe::first_line;
use codeteam_report::view::task_standing;
use minijinja::{Value, context};

use super::PageContent;
use super::data::{PlanPage, PlanRevision, Shell};
use super::html::push_escaped;
use super::lists::progress_values;
use super::run_head::{RunLinks, RunTab, head_values};

/// The most tasks that a page lists whole. The others are in the plan's file.
const MOST_TASKS: usize = 400;
/// The most lines of a version that are compared with the one before it.
const MOST_COMPARED: usize = 3_000;

pub(super) fn plan_content(shell: &Shell, page: &PlanPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let plan = head.run.full_plan();
    let phases = run.tasks_by_phase().into_iter().map(|phase| {
        let id = phase.phase.map(|phase| phase.id.as_str());
        let own = run.tasks.iter().take(MOST_TASKS).filter(|task| {
            task.phase.as_ref().map(codeteam_core::ids::PhaseId::as_str) == id
        });
        let full = plan.and_then(|plan| plan.phases.iter().find(|phase| Some(phase.id.as_str()) == id));
        let tasks = own.map(|task| {
            let (standing, words) = task_standing(run, task);
            let after = task.dependencies.iter().map(TaskId::as_str);
            context! {
                id => task.id.as_str(), title => task.title.as_str(), href => links.task(task.id.as_str()),
                state => standing.word(), words,
                description => task.description.as_str(),
                acceptance => task.acceptance.clone(), files => task.files.clone(),
                after => after.map(|id| context! { id, href => links.task(id) }).collect::<Value>(),
                roles => task.roles.iter().map(codeteam_core::ids::RoleName::as_str).collect::<Value>(),
            }
        });
        context! {
            id, title => phase.phase.map(|phase| phase.title.as_str()),
            description => full.map(|phase| phase.description.as_str()),
            progress => progress_values(phase.counts),
            tasks => tasks.collect::<Value>(),
        }
    });
    let values = context! {
        head => head_values(shell, head, RunTab::Plan),
        id => run.plan.as_str(),
        description => run.plan_description.as_str(),
        forbidden => plan.map(|plan| plan.forbidden.clone()),
        has_plan => run.has_plan,
        phases => phases.collect::<Value>(),
        left_out => run.tasks.len().saturating_sub(MOST_TASKS),
        question => page.question.as_ref().map(|asked| context! {
            href => links.question(asked), text => first_line(&asked.question.text),
        }),
        revisions => revision_values(links, &page.revisions),
    };
    let title = format!("Plan · {}", first_line(&run.goal));
    PageContent::new(
        "plan.html",
        title,
        &["run-head", "plan-tasks", "plan-history"],
        values,
    )
}

/// Returns the versions, the newest first, each with what it has changed.
fn revision_values(links: RunLinks<'_>, revisions: &[PlanRevision]) -> Vec<Value> {
    let values = revisions.iter().enumerate().map(|(at, revision)| {
        let before = at.checked_sub(1).and_then(|before| revisions.get(before));
        let changes = before.map(|before| write_changes(&before.yaml, &revision.yaml));
        context! {
            number => at + 1,
            at => revision.at.0,
            words => revision.words.as_str(),
            event => links.page(crate::routes::RunPlace::Event(revision.seq)),
            yaml => revision.yaml.as_str(),
            changes => changes.map(Value::from_safe_string),
            is_last => at + 1 == revisions.len(),
        }
    });
    let mut values: Vec<Value> = values.collect();
    values.reverse();
    values
}

/// Writes the lines that differ, each with three that do not around it.
fn write_changes(old: &str, new: &str) -> String {
    const AROUND: usize = 3;
    let lines = compare_lines(old, new);
    let mut is_near = vec![false; lines.len()];
    for (at, (kind, _)) in lines.iter().enumerate() {
        if *kind != LineKind::Same {
            let end = (at + AROUND + 1).min(lines.len());
            is_near[at.saturating_sub(AROUND)..end].fill(true);
        }
    }
    let mut out = String::new();
    let mut was_near = true;
    for ((kind, text), is_near) in lines.iter().zip(is_near) {
        if !is_near {
            was_near = false;
            continue;
        }
        if !was_near {
            out.push_str("<tr class=\"hunk\"><td>…</td></tr>\n");
            was_near = true;
        }
        let class = match kind {
            LineKind::Same => "same",
            LineKind::Added => "add",
            LineKind::Removed => "del",
        };
        out.push_str("<tr class=\"");
        out.push_str(class);
        out.push_str("\"><td class=\"code\">");
        push_escaped(&mut out, text);
        out.push_str("</td></tr>\n");
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Same,
    Added,
    Removed,
}

/// Returns the lines of both texts, with what became of each.
fn compare_lines<'a>(old: &'a str, new: &'a str) -> Vec<(LineKind, &'a str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let begin = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = end.take_while(|(old, new)| old == new).count();
    let (old_inner, new_inner) = (
        &old_rest[..old_rest.len() - end],
        &new_rest[..new_rest.len() - end],
    );
    let mut lines: Vec<(LineKind, &str)> = old[..begin]
        .iter()
        .map(|line| (LineKind::Same, *line))
        .collect();
    if old_inner.len() > MOST_COMPARED || new_inner.len() > MOST_COMPARED {
        lines.extend(old_inner.iter().map(|line| (LineKind::Removed, *line)));
        lines.extend(new_inner.iter().map(|line| (LineKind::Added, *line)));
    } else {
        compare_inner(old_inner, new_inner, &mut lines);
    }
    lines.extend(
        new_rest[new_rest.len() - end..]
            .iter()
            .map(|line| (LineKind::Same, *line)),
    );
    lines
}

/// Compares what is left when equal beginnings and ends are gone, by a longest common sequence.
fn compare_inner<'a>(old: &[&'a str], new: &[&'a str], lines: &mut Vec<(LineKind, &'a str)>) {
    let columns = new.len() + 1;
    let mut lengths = vec![0_u16; (old.len() + 1) * columns];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            lengths[row * columns + column] = if old[row] == new[column] {
                lengths[(row + 1) * columns + column + 1] + 1
            } else {
                lengths[(row + 1) * columns + column].max(lengths[row * columns + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        let is_same = row < old.len() && column < new.len() && old[row] == new[column];
        if is_same {
            lines.push((LineKind::Same, new[column]));
            row += 1;
            column += 1;
        } else if row < old.len()
            && (column == new.len()
                || lengths[(row + 1) * columns + column] >= lengths[row * columns + column + 1])
        {
            lines.push((LineKind::Removed, old[row]));
            row += 1;
        } else {
            lines.push((LineKind::Added, new[column]));
            column += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_are_compared_line_by_line() {
        let signs = |old: &str, new: &str| -> String {
            let lines = compare_lines(old, new).into_iter();
            lines
                .map(|(kind, text)| match kind {
                    LineKind::Same => format!(" {text}\n"),
                    LineKind::Added => format!("+{text}\n"),
                    LineKind::Removed => format!("-{text}\n"),
                })
                .collect()
        };
        assert_eq!(
            signs("a\nb\nc\nd\n", "a\nc\nx\nd\n"),
            " a\n-b\n c\n+x\n d\n"
        );
        assert_eq!(signs("", "a\n"), "+a\n");
        assert_eq!(signs("a\na\n", "a\n"), " a\n-a\n");
        assert_eq!(signs("a\n", "a\n"), " a\n");
    }

    #[test]
    fn only_the_surroundings_of_changes_are_written() {
        let lines: Vec<String> = (0..40).map(|n| format!("line {n}\n")).collect();
        let old = lines.concat();
        let new = old.replace("line 20\n", "<b>\n");
        let written = write_changes(&old, &new);
        assert_eq!(written.matches("<tr").count(), 3 + 2 + 3 + 1);
        assert!(written.contains("&lt;b&gt;"));
    }
}
