//! `/edit`: lets the person edit the worktree and hand it back; `codeteam edit` does the same from
//! another terminal.

use std::path::Path;
use std::sync::Arc;

use codeteam_core::frame::Question;
use codeteam_core::input::Decision;
use codeteam_engine::Engine;
use codeteam_engine::manual_edit::{self, EditOutcome};
use codeteam_report::view::{LoadedRun, QuestionView};

use super::render;
use super::screen::Screen;
use super::terminal_programs;
use crate::output::TerminalStyle;
use codeteam_engine::problem::Problem;

/// Lets a person edit the change that a question is about. Returns `None` if nothing was changed.
pub(super) fn edit_change(
    engine: &Arc<Engine>,
    screen: &Screen,
    run: &LoadedRun,
    question: &Question,
    answer: &str,
    in_shell: bool,
) -> Result<Option<Decision>, Problem> {
    let frame = run
        .as_frame(&question.id.frame)
        .ok_or_else(|| Problem::user("there is nothing to edit any more"))?;
    let lent = manual_edit::lend_worktree(engine, run.as_run(), frame).map_err(edit_problem)?;
    let folder = lent.folder();
    let again = if lent.resumed {
        " (as you left it)"
    } else {
        ""
    };
    screen.print(&format!("the change is in {}{again}", folder.display()));
    if in_shell {
        screen.print("end the shell (`exit`) to hand it back");
        terminal_programs::open_shell(screen, &folder)?;
    } else {
        let view = run.frame(&question.id.frame);
        let files = view.and_then(|frame| frame.changed_files.as_deref());
        let files: Vec<String> = files
            .unwrap_or_default()
            .iter()
            .filter(|file| is_inside(&folder, file))
            .cloned()
            .collect();
        terminal_programs::open_editor(screen, &folder, &files)?;
    }
    match manual_edit::collect_edit(engine, frame, question, &lent).map_err(edit_problem)? {
        EditOutcome::Same => {
            screen.print("nothing was changed");
            Ok(None)
        }
        EditOutcome::Refused(why) => {
            screen.print(&format!(
                "it cannot be taken: {why}; `/edit` opens it again, as it is"
            ));
            Ok(None)
        }
        EditOutcome::Changed { change, own, files } => {
            screen.print(render::colour_diff(TerminalStyle::detect(), &own).trim_end());
            screen.print(&format!("handed back: {}", files.join(", ")));
            Ok(Some(Decision::Answer {
                question: question.id.clone(),
                answer: answer.to_owned(),
                note: String::new(),
                change: Some(change),
            }))
        }
    }
}

/// Returns true if a file is in the folder itself: nothing behind a link is opened.
fn is_inside(folder: &Path, file: &str) -> bool {
    let path = folder.join(file);
    let plain = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let inside = folder.canonicalize().ok();
    plain
        && inside.is_some_and(|folder| {
            let real = path.canonicalize();
            real.is_ok_and(|real| real.starts_with(folder))
        })
}

/// Does the same outside a conversation.
pub(crate) fn edit_from_terminal(
    engine: &Arc<Engine>,
    run: &LoadedRun,
    asked: &QuestionView,
    in_shell: bool,
) -> Result<Option<Decision>, Problem> {
    let question = &asked.question;
    let screen =
        Screen::new().map_err(|e| Problem::environment("could not make a pipe").caused_by(&e))?;
    let answer = asked.edit_answer().ok_or_else(|| {
        Problem::user(format!(
            "the question is not about a change: {}",
            question.text
        ))
    })?;
    edit_change(engine, &screen, run, question, answer, in_shell)
}

fn edit_problem(error: manual_edit::Error) -> Problem {
    match error {
        manual_edit::Error::Workspace(error) => {
            Problem::from(codeteam_engine::engine::Error::from(error))
        }
        error => Problem::environment("the change cannot be edited").caused_by(&error),
    }
}
