//! Scenarios in YAML.

use codeteam_core::yaml::{self, Problem, Problems};

use super::Scenario;

pub(super) fn parse(file: &str, text: &str) -> Result<Scenario, Problems> {
    let scenario: Scenario = yaml::parse(file, text)?;
    let empty = scenario.plays.iter().position(|play| play.turns.is_empty());
    if let Some(index) = empty {
        let problem = Problem::of(file, format!("play {} has no turns", index + 1));
        let hint = "give it `turns:` with at least one";
        return Err(Problems::one(problem.hint(hint)));
    }
    Ok(scenario)
}
