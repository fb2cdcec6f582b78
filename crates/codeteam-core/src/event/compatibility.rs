//! Completes events of older logs, which leave out some fields.
//!
//! Events carry their own meaning: the feedback for a worker, and how an answer was understood.
//! Older logs left that to whoever replayed them. It is filled in here, once, when an event is
//! read, and exactly as those versions understood it: none of this may change, whatever the policy
//! is today.

use super::Event;
use crate::reply::{AnswerMeaning, Reply};

/// Fills in what an event of an older log leaves out.
pub(super) fn complete_older_event(event: &mut Event) {
    match event {
        Event::LoopDetected {
            round, feedback, ..
        } if feedback.is_empty() => *feedback = loop_feedback(*round),
        Event::RebaseConflicted {
            files, feedback, ..
        } if feedback.is_empty() => *feedback = conflict_feedback(files),
        Event::Answered {
            answer, meaning, ..
        } if meaning.is_none() => *meaning = Some(answer_meaning(answer)),
        _ => {}
    }
}

fn loop_feedback(round: u32) -> String {
    format!(
        "This is the change of round {round} again, which was not accepted. \
         Make another one."
    )
}

fn conflict_feedback(files: &[String]) -> String {
    format!(
        "The change conflicts with what was integrated meanwhile, in {}. \
         Make it again on the new base; the diff of the old one is attached.",
        files.join(", ")
    )
}

fn answer_meaning(answer: &str) -> AnswerMeaning {
    let command = answer.trim().strip_prefix("/save_plan").map(str::trim);
    let passed_on = command.map(|rest| match rest {
        "" => "That is all; write the plan now.".to_owned(),
        rest => rest.to_owned(),
    });
    AnswerMeaning {
        reply: (answer == "accept").then_some(Reply::Accept),
        wants_plan: command.is_some(),
        passed_on,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Event {
        Event::read(1, json).unwrap()
    }

    #[test]
    fn an_older_event_means_what_it_meant() {
        let repeated = r#"{"type":"loop_detected","frame":"run","step":"code","round":2}"#;
        let Event::LoopDetected { feedback, .. } = read(repeated) else {
            panic!("another event");
        };
        assert_eq!(
            feedback,
            "This is the change of round 2 again, which was not accepted. Make another one."
        );
        let answered = |answer: &str| {
            let json = format!(
                r#"{{"type":"answered","frame":"run","question":{{"frame":"run","step":"plan",
                "generation":1,"slot":0,"attempt":1,"fence":2}},"answer":"{answer}","by":"ada"}}"#
            );
            let Event::Answered { meaning, .. } = read(&json) else {
                panic!("another event");
            };
            meaning.unwrap()
        };
        assert_eq!(answered("accept").reply, Some(Reply::Accept));
        let plan = answered("/save_plan");
        assert!(plan.wants_plan);
        assert_eq!(
            plan.passed_on.as_deref(),
            Some("That is all; write the plan now.")
        );
        assert_eq!(answered("in blue"), AnswerMeaning::default());
    }

    #[test]
    fn an_event_that_says_what_it_means_is_left_as_it_is() {
        let json =
            r#"{"type":"loop_detected","frame":"run","step":"code","round":2,"feedback":"No."}"#;
        let Event::LoopDetected { feedback, .. } = read(json) else {
            panic!("another event");
        };
        assert_eq!(feedback, "No.");
    }
}
