//! Interprets a person's words as an answer to a question that codeteam itself asks.
//!
//! `decide` interprets the words once and puts their meaning into the event, so that replay never
//! has to: an answer keeps the meaning it had when it was given.

use serde::{Deserialize, Serialize};

/// The answers that codeteam's own questions offer. The answers of a workflow have names of its
/// choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Keep trying.
    Continue,
    /// Skip the task.
    Skip,
    /// Accept less than was asked for.
    Accept,
    /// It has happened.
    Done,
    /// Do it again.
    Again,
    /// Give up.
    Fail,
}

impl Reply {
    /// Every reply.
    pub const ALL: [Self; 6] = [
        Self::Continue,
        Self::Skip,
        Self::Accept,
        Self::Done,
        Self::Again,
        Self::Fail,
    ];

    /// Returns the reply as a word, both as it is offered and as it is answered.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Skip => "skip",
            Self::Accept => "accept",
            Self::Done => "done",
            Self::Again => "again",
            Self::Fail => "fail",
        }
    }

    /// Returns the reply for this word, if there is one.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reply| reply.as_str() == word)
    }

    /// Returns several replies as words, for a question to offer.
    pub(crate) fn words(replies: &[Self]) -> Vec<String> {
        replies.iter().map(|r| r.as_str().to_owned()).collect()
    }
}

/// The command by which a person asks for the plan and no more questions.
const SAVE_PLAN: &str = "/save_plan";
/// The text passed on to a planner if the command stands alone.
const WRITE_PLAN: &str = "That is all; write the plan now.";

/// The meaning of an answer, besides its words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerMeaning {
    /// The reply it stands for, if it is one that codeteam offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// Whether it asks for the plan, and for no more questions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_plan: bool,
    /// The text passed on to whoever asked, if not the answer as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_on: Option<String>,
}

impl AnswerMeaning {
    /// Interprets an answer by today's rules.
    pub(crate) fn from_answer(answer: &str) -> Self {
        let command = answer.trim().strip_prefix(SAVE_PLAN).map(str::trim);
        let passed_on = command.map(|rest| if rest.is_empty() { WRITE_PLAN } else { rest });
        Self {
            reply: Reply::from_word(answer),
            wants_plan: command.is_some(),
            passed_on: passed_on.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_its_word_and_nothing_like_it() {
        for reply in Reply::ALL {
            assert_eq!(Reply::from_word(reply.as_str()), Some(reply));
            let json = serde_json::to_string(&reply).unwrap();
            assert_eq!(json, format!("\"{}\"", reply.as_str()));
        }
        assert_eq!(Reply::from_word("Accept"), None);
        assert_eq!(Reply::from_word("accept it"), None);
    }

    #[test]
    fn whoever_wants_the_plan_is_passed_on_without_the_command() {
        let meaning = |answer| AnswerMeaning::from_answer(answer);
        assert_eq!(meaning("in blue"), AnswerMeaning::default());
        assert!(meaning("/save_plan").wants_plan);
        let bare = meaning(" /save_plan ").passed_on;
        assert_eq!(bare.as_deref(), Some("That is all; write the plan now."));
        let words = meaning("/save_plan small steps").passed_on;
        assert_eq!(words.as_deref(), Some("small steps"));
    }
}
