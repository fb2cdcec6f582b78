//! Scenarios in YAML: where a file is wrong, what stands there, and what was probably meant.

use codeteam_core::yaml::{self, Problem, Problems};

use super::Scenario;

pub(super) fn parse(file: &str, text: &str) -> Result<Scenario, Problems> {
    let scenario: Scenario = yaml::parse(file, text).map_err(|mut problems| {
        for problem in &mut problems.problems {
            explain(problem, text);
        }
        problems
    })?;
    let empty = scenario.plays.iter().position(|play| play.turns.is_empty());
    if let Some(index) = empty {
        return Err(Problems {
            file: file.to_owned(),
            problems: vec![Problem {
                line: 0,
                column: 0,
                message: format!("play {} has no turns", index + 1),
                hint: Some("give it `turns:` with at least one".to_owned()),
            }],
        });
    }
    Ok(scenario)
}

/// Adds the text that stands at the place, and the word that was probably meant.
fn explain(problem: &mut Problem, text: &str) {
    let typed = problem.message.split('`').nth(1);
    let known = problem.message.split_once("expected ");
    if let (Some(typed), Some((unknown, known))) = (typed, known)
        && unknown.starts_with("unknown")
    {
        let words = known.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let nearest = yaml::nearest(typed, words.filter(|word| !word.is_empty()));
        problem.hint = nearest.map(|word| format!("did you mean `{word}`?"));
    }
    let line = usize::try_from(problem.line).unwrap_or(0);
    if let Some(line) = line.checked_sub(1).and_then(|line| text.lines().nth(line)) {
        problem.message = format!("{} in `{}`", problem.message, line.trim());
    }
}
