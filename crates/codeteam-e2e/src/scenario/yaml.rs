//! Scenarios in YAML.

use codeteam_workflow::yaml::{self, FileProblem, FileProblems};

use super::Scenario;

pub(super) fn parse(file: &str, text: &str) -> Result<Scenario, FileProblems> {
    let scenario: Scenario = yaml::parse(file, text)?;
    let empty = scenario.plays.iter().position(|play| play.turns.is_empty());
    if let Some(index) = empty {
        let problem = FileProblem::for_file(file, format!("play {} has no turns", index + 1));
        let hint = "give it `turns:` with at least one";
        return Err(FileProblems::from_problem(problem.with_hint(hint)));
    }
    Ok(scenario)
}
