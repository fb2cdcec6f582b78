//! The optional self-check: the model scores its own answer.

use serde::Deserialize;

/// Returns the prompt that asks for a score.
pub(super) fn self_check_prompt(prompt: &str, answer: &str) -> String {
    format!(
        "Judge the following answer against what was asked, as a strict reviewer.\n\n\
         # Asked\n\n{prompt}\n\n# Answer\n\n{answer}\n\n\
         Answer with one JSON object and nothing else: {{\"overall_score\": 0 to 100, \
         \"issues\": [\"what is wrong or missing\"]}}"
    )
}

/// A score, and the issues for which it was lowered.
#[derive(Debug, PartialEq)]
pub(super) struct SelfAssessment {
    pub(super) score: u8,
    pub(super) issues: Vec<String>,
}

#[derive(Deserialize)]
struct SelfCheckReply {
    #[serde(alias = "score")]
    overall_score: f64,
    #[serde(default)]
    issues: Vec<String>,
}

/// Parses the model's reply; `None` if it is not a score.
pub(super) fn parse_self_check(reply: &str) -> Option<SelfAssessment> {
    let raw = super::answer::extract_answer(reply)?;
    let said: SelfCheckReply = serde_json::from_str(raw.get()).ok()?;
    let score = said.overall_score.clamp(0.0, 100.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is from 0 to 100"
    )]
    let score = score as u8;
    Some(SelfAssessment {
        score,
        issues: said.issues,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_from_0_to_100() {
        let read = |text| parse_self_check(text).map(|judged| judged.score);
        assert_eq!(
            read(r#"{"overall_score": 81.6, "issues": ["x"]}"#),
            Some(82)
        );
        assert_eq!(read(r#"{"score": 400}"#), Some(100));
        assert_eq!(read("eighty"), None);
    }
}
