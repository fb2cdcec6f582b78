//! The panel of a question for approval, with its risk, its votes and the change, at three sizes.

use codeteam_core::untrusted_text::is_active_character;

use crate::fixture::{TestScreen, approving_history, hostile_history};

#[test]
fn an_approval_shows_risk_votes_and_files_at_every_size() {
    for (columns, rows) in [(80, 24), (120, 40), (200, 60)] {
        let mut screen = TestScreen::with_history(columns, rows, approving_history());
        screen.press(&["Enter"]);
        let text = screen.text();
        for part in [
            "risk      high",
            "`src/auth.py` is in `auth`",
            "anna approves (uid 1000): Tried it",
            "needs     2 of anna, ben, cem",
            "approve",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

#[test]
fn what_people_and_models_write_is_only_shown_in_every_panel() {
    let attack = "\u{1b}[2J\u{1b}]52;c;QUFB\u{7}\u{202e}\r\n\u{9b}31m";
    for (columns, rows) in [(80, 24), (60, 20), (200, 60)] {
        let mut screen = TestScreen::with_history(columns, rows, hostile_history(attack));
        let mut shown = String::new();
        for key in ["1", "Enter", "v", "Esc", "F", "Esc", "d", "Esc", "Esc"] {
            screen.press(&[key]);
            shown.push_str(&screen.text());
        }
        for key in ["2", "3", "4", "5", "7", "8"] {
            screen.press(&[key]);
            shown.push_str(&screen.text());
        }
        let shown = shown.replace('\n', "");
        assert!(!shown.contains(is_active_character), "{shown:?}");
        assert!(shown.contains("[2J"), "nothing of it was shown: {shown}");
    }
}
