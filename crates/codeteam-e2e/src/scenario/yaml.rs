//! Scenarios in YAML.

use codeteam_core::yaml::{self, FileProblem, FileProblems};

use super::Scenario;

pub(super) fn parse(file: &str, text: &str) -> Result<Scenario, FileProblems> {
    let scenario: Scenario = yaml::parse(file, text)?;
    let empty = scenario.plays.iter().position(|play| play.turns.is_empty());
    if let Some(index) = empty {
        let problem = FileProblem::of(file, format!("play {} has no turns", index + 1));
        let hint = "give it `turns:` with at least one";
        return Err(FileProblems::one(problem.hint(hint)));
    }
    Ok(scenario)
}
