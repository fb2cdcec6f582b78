//! Taking a change against the approval policy: the reason is asked for first, and then the name of
//! the task, because the commit records both who did it and why.

use codeteam_core::ids::{AttemptId, RunId};
use codeteam_report::view::QuestionView;

use super::{decide, typing};
use crate::message::ScreenAction;
use crate::state::{App, ConfirmBox, ConfirmedCommand, InputPurpose, Overlay, TextInput};

/// Asks why the change is taken against the policy.
pub(super) fn ask_reason(app: &mut App, run: RunId, asked: &QuestionView) -> Vec<ScreenAction> {
    let purpose = InputPurpose::Override {
        run,
        question: asked.question.id.clone(),
    };
    let title = format!(
        "Take {} against the approval policy: why? The commit says so.",
        asked.place()
    );
    typing::open_input(app, purpose, title, TextInput::with_lines());
    Vec::new()
}

/// Asks once more, with the reason.
pub(super) fn confirm_override(
    app: &mut App,
    run: &RunId,
    question: &AttemptId,
    reason: &str,
) -> Vec<ScreenAction> {
    let Some(asked) = app.question(run.as_str(), question).cloned() else {
        app.complain("the question was answered meanwhile");
        return Vec::new();
    };
    if reason.trim().is_empty() {
        app.complain("an override needs a reason: nothing was decided");
        return Vec::new();
    }
    let mut words = decide::decision_words(app, "approve", run, &asked, reason, None);
    words.insert(1, "--override".to_owned());
    let place = asked.place().to_owned();
    let mut lines = Vec::new();
    if let Some(approval) = &asked.approval {
        let reasons = approval.reasons.join("; ");
        lines.push(format!("Its risk is {}: {reasons}", approval.risk.as_str()));
    }
    lines.push("The commit names you and your reason, and does not count as verified.".to_owned());
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: format!("Take {place} against the approval policy?"),
        lines,
        typed: Some((place, TextInput::new())),
        then: ConfirmedCommand::Run(words, Some(asked.question.id.clone())),
    }));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use crate::fixture::{TestScreen, approving_history};
    use crate::state::Overlay;

    #[test]
    fn an_override_asks_for_the_reason_and_the_name() {
        let mut screen = TestScreen::with_history(80, 24, approving_history());
        screen.press(&["Enter", "Down", "Down", "Enter", "Enter"]);
        assert!(screen.app.overlay.is_none());
        let notice = &screen.app.notice.as_ref().unwrap().text;
        assert!(notice.contains("an override needs a reason"), "{notice}");
        screen.press(&["Enter"]);
        screen.type_text("the site is down").press(&["Enter"]);
        let Some(Overlay::Confirm(confirm)) = &screen.app.overlay else {
            panic!("{:?}", screen.app.overlay);
        };
        assert!(confirm.lines[0].contains("`src/auth.py` is in `auth`"));
        screen.press(&["y", "Enter"]);
        assert!(!screen.has_command(), "only the name of the task decides");
        screen.press(&["Backspace"]);
        screen.type_text("task-002").press(&["Enter"]);
        let run = screen.app.shown_run().unwrap();
        let expected = format!(
            "approve --override --question={} --message=the site is down {}",
            run.questions[0].question.id, run.id
        );
        assert_eq!(screen.command(), expected);
    }
}
