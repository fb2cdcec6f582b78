//! `/edit`: the person changes the worktree themselves and hands it back; and `codeteam edit`,
//! which does the same from another terminal.

use std::path::Path;
use std::sync::Arc;

use codeteam_core::Run;
use codeteam_core::frame::Question;
use codeteam_core::input::Decision;
use codeteam_engine::Engine;
use codeteam_engine::hand::{self, EditOutcome};

use super::program;
use super::screen::Screen;
use super::shown;
use crate::output::TerminalStyle;
use crate::problem::Problem;

/// Lets a person edit what a question is about. Nothing comes of it if nothing was changed.
pub(super) fn change(
    engine: &Arc<Engine>,
    screen: &Screen,
    run: &Run,
    question: &Question,
    answer: &str,
    in_shell: bool,
) -> Result<Option<Decision>, Problem> {
    let frame = run
        .frames
        .get(&question.id.frame)
        .ok_or_else(|| Problem::user("there is nothing to edit any more"))?;
    let lent = hand::lend(engine, run, frame).map_err(failed)?;
    let folder = lent.folder();
    let again = if lent.taken_up {
        " (as you left it)"
    } else {
        ""
    };
    screen.say(&format!("the change is in {}{again}", folder.display()));
    if in_shell {
        screen.say("end the shell (`exit`) to hand it back");
        program::shell(screen, &folder)?;
    } else {
        let files = frame.change.iter().flat_map(|change| &change.files);
        let files: Vec<String> = files
            .filter(|file| is_own(&folder, file))
            .cloned()
            .collect();
        program::edit(screen, &folder, &files)?;
    }
    match hand::take_back(engine, frame, question, &lent).map_err(failed)? {
        EditOutcome::Same => {
            screen.say("nothing was changed");
            Ok(None)
        }
        EditOutcome::Refused(why) => {
            screen.say(&format!(
                "it cannot be taken: {why}; `/edit` opens it again, as it is"
            ));
            Ok(None)
        }
        EditOutcome::Changed { change, own, files } => {
            screen.say(shown::diff(TerminalStyle::detect(), &own).trim_end());
            screen.say(&format!("handed back: {}", files.join(", ")));
            Ok(Some(Decision::Answer {
                question: question.id.clone(),
                answer: answer.to_owned(),
                note: String::new(),
                change: Some(change),
            }))
        }
    }
}

/// Whether a file is one of the folder itself: nothing that a link leads to is opened.
fn is_own(folder: &Path, file: &str) -> bool {
    let path = folder.join(file);
    let plain = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let inside = folder.canonicalize().ok();
    plain
        && inside.is_some_and(|folder| {
            let real = path.canonicalize();
            real.is_ok_and(|real| real.starts_with(folder))
        })
}

/// The same, outside of a conversation.
pub(crate) fn edit(
    engine: &Arc<Engine>,
    run: &Run,
    question: &Question,
    in_shell: bool,
) -> Result<Option<Decision>, Problem> {
    let screen =
        Screen::new().map_err(|e| Problem::environment("could not make a pipe").caused_by(&e))?;
    let answer = super::ask::editing(run, question).ok_or_else(|| {
        Problem::user(format!(
            "the question is not about a change: {}",
            question.text
        ))
    })?;
    change(engine, &screen, run, question, &answer, in_shell)
}

fn failed(error: hand::Error) -> Problem {
    match error {
        hand::Error::Workspace(error) => Problem::from(codeteam_engine::engine::Error::from(error)),
        error => Problem::environment("the change cannot be edited").caused_by(&error),
    }
}
