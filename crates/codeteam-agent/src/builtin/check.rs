//! The self-check: what the model itself thinks of its work.

use serde::Deserialize;

/// What the model is asked.
pub(super) fn question(prompt: &str, answer: &str) -> String {
    format!(
        "Judge the following answer against what was asked, as a strict reviewer.\n\n\
         # Asked\n\n{prompt}\n\n# Answer\n\n{answer}\n\n\
         Answer with one JSON object and nothing else: {{\"overall_score\": 0 to 100, \
         \"issues\": [\"what is wrong or missing\"]}}"
    )
}

/// A score and what it was taken off for.
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

/// What the model said, if it can be read.
pub(super) fn read(reply: &str) -> Option<SelfAssessment> {
    let raw = super::answer::find(reply)?;
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
        let read = |text| read(text).map(|judged| judged.score);
        assert_eq!(
            read(r#"{"overall_score": 81.6, "issues": ["x"]}"#),
            Some(82)
        );
        assert_eq!(read(r#"{"score": 400}"#), Some(100));
        assert_eq!(read("eighty"), None);
    }
}
