//! The questions that `deps` asks on a terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use codeteam_core::plan::Plan;
use codeteam_core::yaml::meant;

use super::AddedDependency;
use super::suggest::{DependencyFindings, TaskDependencies, UnconfirmedImport};
use crate::output::{one_line, say};
use crate::problem::Problem;

/// Whether somebody can be asked.
pub(super) fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What a person wants to be added: of what is new, and of what they say themselves about imports
/// that nobody knows.
pub(super) fn choose(
    plan: &Plan,
    found: &DependencyFindings,
    mut new: Vec<AddedDependency>,
) -> Result<Vec<AddedDependency>, Problem> {
    for import in &found.unconfirmed {
        match component(plan, import, &new)? {
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
    match ask("Add these to the plan? [Y/n/edit]", &words, Some('y'))? {
        Some('y') => Ok(new),
        Some('e') => one_by_one(new),
        _ => Ok(Vec::new()),
    }
}

/// What was said to an import that nobody knows.
enum ImportAnswer {
    Added(AddedDependency),
    Nothing,
    /// Nobody answers any more.
    Gone,
}

/// Asks what an import is.
fn component(
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
    match ask(&question, &words, None)? {
        Some('c') => {}
        Some(_) => return Ok(ImportAnswer::Nothing),
        None => return Ok(ImportAnswer::Gone),
    }
    loop {
        say("Which task makes it? (its id, or nothing to skip)");
        let Some(line) = line()? else {
            return Ok(ImportAnswer::Gone);
        };
        if line.is_empty() {
            return Ok(ImportAnswer::Nothing);
        }
        let added = AddedDependency {
            task: task.clone(),
            on: line.as_str().into(),
        };
        match refused(plan, &added, new) {
            None => return Ok(ImportAnswer::Added(added)),
            Some(why) => say(&why),
        }
    }
}

/// Why a dependency that a person names cannot be added, if it cannot.
fn refused(plan: &Plan, added: &AddedDependency, new: &[AddedDependency]) -> Option<String> {
    let AddedDependency { task, on } = added;
    let index = plan.index();
    let Some((from, to)) = index.get(task).zip(index.get(on)) else {
        let hint = meant(on.as_str(), plan.tasks.iter().map(|task| task.id.as_str()));
        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Some(format!(
            "there is no task `{}`{hint}",
            one_line(on.as_str())
        ));
    };
    let mut waits = TaskDependencies::of(plan);
    for AddedDependency { task, on } in new {
        if let Some((task, on)) = index.get(task).zip(index.get(on)) {
            waits.add(*task, *on);
        }
    }
    let ranks = plan.ranks();
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

/// Asks about each.
fn one_by_one(new: Vec<AddedDependency>) -> Result<Vec<AddedDependency>, Problem> {
    let words = [("y", 'y'), ("yes", 'y'), ("n", 'n'), ("no", 'n')];
    let mut kept = Vec::new();
    for added in new {
        let question = format!("Add {} → {}? [Y/n]", added.task, added.on);
        match ask(&question, &words, Some('y'))? {
            Some('y') => kept.push(added),
            Some(_) => {}
            // What was not answered is not agreed to, and nor is the rest.
            None => return Ok(Vec::new()),
        }
    }
    Ok(kept)
}

/// Asks until one of the words is the answer; nothing at all is `otherwise`. None at the end of the
/// input.
fn ask(
    question: &str,
    words: &[(&str, char)],
    otherwise: Option<char>,
) -> Result<Option<char>, Problem> {
    loop {
        say(question);
        let Some(line) = line()? else { return Ok(None) };
        let line = line.to_ascii_lowercase();
        let said = words.iter().find(|(word, _)| *word == line);
        let said = said.map(|(_, meaning)| *meaning);
        let said = said.or(otherwise.filter(|_| line.is_empty()));
        if said.is_some() {
            return Ok(said);
        }
    }
}

/// One line of an answer; none at the end of the input.
fn line() -> Result<Option<String>, Problem> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let read = read.map_err(|e| Problem::environment("could not read the answer").caused_by(&e))?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
