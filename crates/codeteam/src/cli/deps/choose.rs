//! Asks the questions of `deps` on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use codeteam_core::plan::Plan;
use codeteam_core::spelling::suggest_word;

use super::AddedDependency;
use super::suggest::{DependencyFindings, TaskDependencies, UnconfirmedImport};
use crate::output::{eprint_line, one_line};
use codeteam_engine::problem::Problem;

/// Returns true if a person can be asked.
pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns the dependencies that a person wants to add: new ones, and those that they state
/// themselves about unknown imports.
pub(super) fn choose_dependencies(
    plan: &Plan,
    found: &DependencyFindings,
    mut new: Vec<AddedDependency>,
) -> Result<Vec<AddedDependency>, Problem> {
    for import in &found.unconfirmed {
        match ask_about_import(plan, import, &new)? {
            ImportAnswer::Added(added) => new.push(added),
            ImportAnswer::Nothing => {}
            ImportAnswer::Gone => return Ok(Vec::new()),
        }
    }
    if new.is_empty() {
        return Ok(new);
    }
    let words = [("y", 'y'), ("yes", 'y'), ("n", 'n'), ("no", 'n')];
    let words = [&words[..], &[("e", 'e'), ("edit", 'e')]].concat();
    match ask_choice("Add these to the plan? [Y/n/edit]", &words, Some('y'))? {
        Some('y') => Ok(new),
        Some('e') => one_by_one(new),
        _ => Ok(Vec::new()),
    }
}

/// A person's answer about an unknown import.
enum ImportAnswer {
    Added(AddedDependency),
    Nothing,
    /// The input has ended.
    Gone,
}

/// Asks what an import refers to.
fn ask_about_import(
    plan: &Plan,
    import: &UnconfirmedImport,
    new: &[AddedDependency],
) -> Result<ImportAnswer, Problem> {
    let (task, module) = (&import.task, one_line(&import.module));
    let question = format!(
        "{task} imports {module}: is it made by a task, or an external package? [component/external/skip]"
    );
    let words = [
        ("c", 'c'),
        ("component", 'c'),
        ("e", 'n'),
        ("external", 'n'),
        ("s", 'n'),
        ("skip", 'n'),
    ];
    match ask_choice(&question, &words, None)? {
        Some('c') => {}
        Some(_) => return Ok(ImportAnswer::Nothing),
        None => return Ok(ImportAnswer::Gone),
    }
    loop {
        eprint_line("Which task makes it? (its id, or nothing to skip)");
        let Some(line) = read_line()? else {
            return Ok(ImportAnswer::Gone);
        };
        if line.is_empty() {
            return Ok(ImportAnswer::Nothing);
        }
        let added = AddedDependency {
            task: task.clone(),
            on: line.as_str().into(),
        };
        match refusal_reason(plan, &added, new) {
            None => return Ok(ImportAnswer::Added(added)),
            Some(why) => eprint_line(&why),
        }
    }
}

/// Explains why a dependency that a person names cannot be added; `None` if it can.
fn refusal_reason(plan: &Plan, added: &AddedDependency, new: &[AddedDependency]) -> Option<String> {
    let AddedDependency { task, on } = added;
    let index = plan.task_positions();
    let Some((from, to)) = index.get(task).zip(index.get(on)) else {
        let hint = suggest_word(on.as_str(), plan.tasks.iter().map(|task| task.id.as_str()));
        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Some(format!(
            "there is no task `{}`{hint}",
            one_line(on.as_str())
        ));
    };
    let mut waits = TaskDependencies::from_plan(plan);
    for AddedDependency { task, on } in new {
        if let Some((task, on)) = index.get(task).zip(index.get(on)) {
            waits.add(*task, *on);
        }
    }
    let ranks = plan.phase_ranks();
    if from == to || waits.reaches(*to, *from) {
        Some(format!("`{on}` waits for `{task}` itself"))
    } else if waits.reaches(*from, *to) {
        Some(format!("`{task}` waits for `{on}` already"))
    } else if ranks[*to] > ranks[*from] {
        Some(format!("`{on}` is of a later phase than `{task}`"))
    } else {
        None
    }
}

/// Asks about each dependency.
fn one_by_one(new: Vec<AddedDependency>) -> Result<Vec<AddedDependency>, Problem> {
    let words = [("y", 'y'), ("yes", 'y'), ("n", 'n'), ("no", 'n')];
    let mut kept = Vec::new();
    for added in new {
        let question = format!("Add {} → {}? [Y/n]", added.task, added.on);
        match ask_choice(&question, &words, Some('y'))? {
            Some('y') => kept.push(added),
            Some(_) => {}
            // An unanswered question is not agreed to, and neither is the rest.
            None => return Ok(Vec::new()),
        }
    }
    Ok(kept)
}

/// Asks until one of the words is answered; an empty answer means `otherwise`. Returns `None` at
/// the end of the input.
fn ask_choice(
    question: &str,
    words: &[(&str, char)],
    otherwise: Option<char>,
) -> Result<Option<char>, Problem> {
    loop {
        eprint_line(question);
        let Some(line) = read_line()? else {
            return Ok(None);
        };
        let line = line.to_ascii_lowercase();
        let said = words.iter().find(|(word, _)| *word == line);
        let said = said.map(|(_, meaning)| *meaning);
        let said = said.or(otherwise.filter(|_| line.is_empty()));
        if said.is_some() {
            return Ok(said);
        }
    }
}

/// Reads one line; returns `None` at the end of the input.
fn read_line() -> Result<Option<String>, Problem> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
