//! The contracts of those who lead a team: `assembly` (who carries out which task), `quality`
//! (scores against the criteria of a task) and `intervention` (what happens to a result).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Submission, SubmissionConstraints, deserialize_answer, require_text};
use crate::team::{Intervention, LeaderDecision, QualityScore, RoleAssignment};

/// The maximum number of criteria that a refined task may have.
const MAX_CRITERIA: usize = 20;
/// The maximum number of characters of a refined task's description, and of a request for help.
const MAX_TEXT_CHARS: usize = 8_000;
/// The maximum number of characters of one criterion.
const MAX_CRITERION_CHARS: usize = 1_000;
/// The maximum number of points that a quality score lists as issues, and as suggestions.
const MAX_POINTS: usize = 20;

/// Who carries out which task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamAssembly {
    /// One entry for each task that needs a role, in the order of the plan.
    pub assignments: Vec<RoleAssignment>,
}

pub(super) fn assembly(value: Value) -> Result<Submission, String> {
    let assembly: TeamAssembly = deserialize_answer(value)?;
    for (i, assignment) in assembly.assignments.iter().enumerate() {
        require_text(&format!("assignments[{i}].reason"), &assignment.reason)?;
    }
    Ok(Submission::Assembly(assembly))
}

pub(super) fn quality(
    mut value: Value,
    about: &SubmissionConstraints<'_>,
) -> Result<Submission, String> {
    if let Some(score) = value.get("overall_score") {
        check_score("overall_score", score)?;
    }
    if let (Some([]), Some(answer)) = (about.criteria, value.as_object_mut()) {
        // There is nothing that these scores could be about.
        answer.remove("criteria_scores");
    }
    if let Some(scores) = value.get_mut("criteria_scores") {
        list_criteria(scores, about)?;
    }
    let mut score: QualityScore = deserialize_answer(value)?;
    if let Some(criteria) = about.criteria {
        check_criteria(&score, criteria.len())?;
    }
    score.criteria_scores.sort_by_key(|one| one.criterion);
    score.issues.truncate(MAX_POINTS);
    score.suggestions.truncate(MAX_POINTS);
    Ok(Submission::Quality(score))
}

/// Refuses anything but a whole number of points.
fn check_score(place: &str, score: &Value) -> Result<(), String> {
    match score.as_u64() {
        Some(0..=100) => Ok(()),
        _ => Err(format!(
            "at `{place}`: {score} is not a whole number from 0 to 100"
        )),
    }
}

/// Turns scores by name (`criterion_1`, or the words of the criterion) into a list, and checks
/// every score.
fn list_criteria(scores: &mut Value, about: &SubmissionConstraints<'_>) -> Result<(), String> {
    if let Value::Object(by_name) = scores {
        let mut list = Vec::new();
        for (name, score) in &*by_name {
            let place = format!("criteria_scores.{name}");
            let number = criterion_number(name, about)
                .ok_or_else(|| format!("at `{place}`: the task has no such criterion"))?;
            list.push(json!({ "criterion": number, "score": score }));
        }
        *scores = list.into();
    }
    for (i, one) in scores.as_array().into_iter().flatten().enumerate() {
        if let Some(score) = one.get("score") {
            check_score(&format!("criteria_scores[{i}].score"), score)?;
        }
    }
    Ok(())
}

/// Returns the number of the criterion that a name stands for.
fn criterion_number(name: &str, about: &SubmissionConstraints<'_>) -> Option<usize> {
    let numbered = name.strip_prefix("criterion_").unwrap_or(name);
    let by_words = || {
        let mut criteria = about.criteria.into_iter().flatten();
        let at = criteria.position(|criterion| criterion.trim() == name.trim());
        at.map(|at| at + 1)
    };
    numbered.parse().ok().or_else(by_words)
}

/// Checks that every criterion has exactly one score.
fn check_criteria(score: &QualityScore, criteria: usize) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for one in &score.criteria_scores {
        let number = one.criterion as usize;
        if number == 0 || number > criteria {
            return Err(format!(
                "at `criteria_scores`: there is no criterion {number}; the task has {criteria}"
            ));
        }
        if !seen.insert(number) {
            return Err(format!(
                "at `criteria_scores`: criterion {number} is scored twice"
            ));
        }
    }
    match (1..=criteria).find(|number| !seen.contains(number)) {
        Some(missing) => Err(format!(
            "at `criteria_scores`: criterion {missing} has no score; score each of the {criteria}"
        )),
        None => Ok(()),
    }
}

pub(super) fn intervention(value: Value) -> Result<Submission, String> {
    let decision: LeaderDecision = deserialize_answer(value)?;
    require_text("reason", &decision.reason)?;
    let own = decision.intervention;
    let misplaced = [
        (
            "description",
            Intervention::Enhance,
            !decision.description.trim().is_empty(),
        ),
        (
            "criteria",
            Intervention::Enhance,
            !decision.criteria.is_empty(),
        ),
        ("role", Intervention::Escalate, decision.role.is_some()),
        (
            "request",
            Intervention::Escalate,
            !decision.request.trim().is_empty(),
        ),
        ("ends_run", Intervention::Terminate, decision.ends_run),
    ];
    if let Some((key, wanted, _)) = misplaced
        .into_iter()
        .find(|(_, wanted, is_there)| *is_there && *wanted != own)
    {
        let (wanted, own) = (wanted.as_str(), own.as_str());
        return Err(format!(
            "`{key}` belongs to `{wanted}`, and the intervention is `{own}`: leave it out, or \
             choose the other one"
        ));
    }
    if decision.from.is_some() && !matches!(own, Intervention::Retry | Intervention::Enhance) {
        let own = own.as_str();
        return Err(format!(
            "`from` belongs to `retry` and `enhance`, and the intervention is `{own}`: leave it out, \
             or choose another one"
        ));
    }
    check_lengths(&decision)?;
    match own {
        Intervention::Enhance
            if decision.description.trim().is_empty() && decision.criteria.is_empty() =>
        {
            Err(
                "`enhance` needs the task's new `description`, its new `criteria`, or both"
                    .to_owned(),
            )
        }
        Intervention::Escalate if decision.role.is_some() => {
            require_text("request", &decision.request)?;
            Ok(Submission::Intervention(decision))
        }
        _ => Ok(Submission::Intervention(decision)),
    }
}

fn check_lengths(decision: &LeaderDecision) -> Result<(), String> {
    for (key, text) in [
        ("description", &decision.description),
        ("request", &decision.request),
    ] {
        if text.chars().count() > MAX_TEXT_CHARS {
            return Err(format!("`{key}` has more than {MAX_TEXT_CHARS} characters"));
        }
    }
    if decision.criteria.len() > MAX_CRITERIA {
        return Err(format!("`criteria` has more than {MAX_CRITERIA} entries"));
    }
    let is_wrong = |criterion: &&String| {
        criterion.trim().is_empty() || criterion.chars().count() > MAX_CRITERION_CHARS
    };
    match decision.criteria.iter().find(is_wrong) {
        Some(_) => Err(format!(
            "each of the `criteria` must have between 1 and {MAX_CRITERION_CHARS} characters"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::{Contract, EditMode, RoleKind};
    use crate::submission::{AnswerForm, parse_constrained};

    fn read(contract: Contract, kind: RoleKind, text: &str) -> Result<Submission, String> {
        let form = AnswerForm {
            kind,
            contract,
            mode: EditMode::Tools,
            asks: false,
            requests: false,
        };
        let criteria = ["adds".to_owned(), "has a test".to_owned()];
        let about = SubmissionConstraints {
            criteria: Some(&criteria),
            ..SubmissionConstraints::default()
        };
        parse_constrained(form, text, &about)
    }

    fn score(text: &str) -> Result<Submission, String> {
        read(Contract::Quality, RoleKind::Gatekeeper, text)
    }

    fn decide(text: &str) -> Result<Submission, String> {
        read(Contract::Intervention, RoleKind::Gatekeeper, text)
    }

    #[test]
    fn scores_are_whole_numbers_for_exactly_the_criteria_of_the_task() {
        for (text, wrong) in [
            (
                r#"{"overall_score": 101}"#,
                "`overall_score`: 101 is not a whole number from 0 to 100",
            ),
            (r#"{"overall_score": -1}"#, "-1 is not a whole number"),
            (r#"{"overall_score": 72.5}"#, "72.5 is not a whole number"),
            (
                r#"{"overall_score": "80"}"#,
                r#""80" is not a whole number"#,
            ),
            (r#"{"overall_score": NaN}"#, "not valid JSON"),
            (r#"{"criteria_scores": []}"#, "overall_score"),
            (
                r#"{"overall_score": 80}"#,
                "criterion 1 has no score; score each of the 2",
            ),
            (
                r#"{"overall_score": 80, "criteria_scores": [{"criterion": 1, "score": 80}]}"#,
                "criterion 2 has no score",
            ),
            (
                r#"{"overall_score": 80, "criteria_scores": {"criterion_1": 80, "criterion_3": 2}}"#,
                "there is no criterion 3; the task has 2",
            ),
            (
                r#"{"overall_score": 80, "criteria_scores": {"criterion_1": 80, "1": 80}}"#,
                "criterion 1 is scored twice",
            ),
            (
                r#"{"overall_score": 80, "criteria_scores": {"beauty": 80}}"#,
                "`criteria_scores.beauty`: the task has no such criterion",
            ),
            (
                r#"{"overall_score": 80, "criteria_scores": [{"criterion": 1, "score": 400}]}"#,
                "`criteria_scores[0].score`: 400 is not a whole number",
            ),
            (r#"{"overall_score": 80, "verdict": "approve"}"#, "verdict"),
        ] {
            let error = score(text).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
    }

    #[test]
    fn the_form_of_the_seed_is_read_too() {
        let text = r#"{"overall_score": 64, "criteria_scores": {"has a test": 40, "criterion_1": 90},
            "issues": ["no test"], "suggestions": ["write one"]}"#;
        let Ok(Submission::Quality(score)) = score(text) else {
            panic!("{:?}", score(text));
        };
        let scores: Vec<(u32, u8)> = score
            .criteria_scores
            .iter()
            .map(|one| (one.criterion, one.score))
            .collect();
        assert_eq!(scores, [(1, 90), (2, 40)]);
        assert_eq!(
            score.feedback(),
            "scored 64 of 100\n- criterion 1: 90\n- criterion 2: 40\n- issue: no test\n- suggestion: write one"
        );
    }

    #[test]
    fn an_intervention_comes_with_what_it_needs_and_nothing_else() {
        for (text, wrong) in [
            (r#"{"intervention": "restart", "reason": "x"}"#, "restart"),
            (
                r#"{"intervention": "terminate", "reason": " "}"#,
                "`reason` must not be empty",
            ),
            (r#"{"intervention": "terminate"}"#, "reason"),
            (
                r#"{"intervention": "enhance", "reason": "x"}"#,
                "`enhance` needs",
            ),
            (
                r#"{"intervention": "escalate", "reason": "x", "role": "writer"}"#,
                "`request` must not be empty",
            ),
            (
                r#"{"intervention": "continue", "reason": "x", "role": "writer"}"#,
                "`role` belongs to `escalate`, and the intervention is `continue`",
            ),
            (
                r#"{"intervention": "retry", "reason": "x", "ends_run": true}"#,
                "`ends_run` belongs to `terminate`",
            ),
            (
                r#"{"intervention": "enhance", "reason": "x", "criteria": [""]}"#,
                "each of the `criteria`",
            ),
        ] {
            let error = decide(text).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
        for text in [
            r#"{"intervention": "CONTINUE", "reasoning": "Quality meets threshold"}"#,
            r#"{"intervention": "escalate", "reason": "nobody here can", "role": null}"#,
            r#"{"intervention": "terminate", "reason": "no data", "ends_run": true}"#,
        ] {
            assert!(decide(text).is_ok(), "{text}: {:?}", decide(text));
        }
    }

    #[test]
    fn an_assignment_says_why() {
        let read = |text: &str| read(Contract::Assembly, RoleKind::Scribe, text);
        let text = r#"{"assignments": [{"task": "a", "roles": ["writer"], "reason": ""}]}"#;
        let error = read(text).unwrap_err();
        assert!(error.contains("assignments[0].reason"), "{error}");
        let text =
            r#"{"assignments": [{"mission_id": "a", "roles": ["writer"], "reason": "it writes"}]}"#;
        assert!(read(text).is_ok());
    }
}
