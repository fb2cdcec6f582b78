//! What is typed after `:`: the verbs of the command line, about the run that is shown.

use super::{decide, open};
use crate::message::ScreenAction;
use crate::state::{App, ConfirmBox, ConfirmedCommand, Overlay};

/// Verbs whose first word is a run.
const RUN_VERBS: [&str; 12] = [
    "abort", "approve", "delegate", "diff", "log", "merge", "reject", "report", "resume", "retry",
    "show", "status",
];
/// Verbs whose last of two words is something else.
const TWO_WORD_VERBS: [&str; 2] = ["answer", "skip"];
/// Verbs that go on until a run stops. They must wait for a person, who is here.
const DRIVING_VERBS: [&str; 3] = ["resume", "retry", "run"];
/// Verbs that need a terminal of their own.
pub(super) const TERMINAL_VERBS: [&str; 5] = ["edit", "mcp", "plan", "trust", "tui"];
/// Verbs that end or remove something.
const GRAVE_VERBS: [&str; 3] = ["abort", "prune", "skip"];
/// Options that are followed by a value.
const VALUE_OPTIONS: [&str; 6] = ["-m", "--message", "--task", "--question", "--to", "--key"];

/// Runs what was typed.
pub(super) fn run_typed(app: &mut App, typed: &str) -> Vec<ScreenAction> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Vec::new();
    }
    app.typed_commands.retain(|earlier| earlier != typed);
    app.typed_commands.push(typed.to_owned());
    let Some(mut words) = split_words(typed) else {
        app.complain("a quotation mark is not closed");
        return Vec::new();
    };
    if words.first().is_some_and(|word| word == "codeteam") {
        words.remove(0);
    }
    let Some(verb) = words.first().cloned() else {
        return Vec::new();
    };
    if verb == "q" || verb == "quit" {
        return decide::leave(app);
    }
    if TERMINAL_VERBS.contains(&verb.as_str()) {
        let line = format!("`codeteam {typed}` needs a terminal of its own; run it in another one");
        app.complain(line);
        return Vec::new();
    }
    if let Some((run, _)) = open::selected_place(app) {
        name_run(&mut words, run.as_str());
    }
    let is_driving = DRIVING_VERBS.contains(&verb.as_str());
    if is_driving && !words.iter().any(|word| word == "--wait") {
        words.insert(1, "--wait".to_owned());
    }
    if GRAVE_VERBS.contains(&verb.as_str()) {
        app.overlay = Some(Overlay::Confirm(ConfirmBox {
            title: format!("Run `codeteam {}`?", words.join(" ")),
            lines: Vec::new(),
            typed: None,
            then: ConfirmedCommand::Run(words, None),
        }));
        return Vec::new();
    }
    decide::run_shown(app, words)
}

/// Puts the run that is shown where `%` stands, and where a verb about a run names none: otherwise
/// the newest would be meant, which may be another one.
fn name_run(words: &mut Vec<String>, run: &str) {
    for word in words.iter_mut().filter(|word| *word == "%") {
        run.clone_into(word);
    }
    let Some(verb) = words.first() else { return };
    let mut plain = 0;
    let mut is_value = false;
    for word in &words[1..] {
        let is_option = word.starts_with('-');
        if !is_option && !is_value {
            plain += 1;
        }
        is_value = VALUE_OPTIONS.contains(&word.as_str());
    }
    let lacks_run = (RUN_VERBS.contains(&verb.as_str()) && plain == 0)
        || (TWO_WORD_VERBS.contains(&verb.as_str()) && plain == 1);
    if lacks_run {
        words.insert(1, run.to_owned());
    }
}

/// Splits a line into words as a shell does, without anything else that a shell does; `None` if a
/// quotation mark is not closed.
pub(super) fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(line: &str) -> String {
        let mut words = split_words(line).unwrap();
        name_run(&mut words, "R1");
        words.join(" ")
    }

    #[test]
    fn words_are_split_as_in_a_shell() {
        let words = split_words(r#"reject -m "not 'yet'" it\'s '' a"#).unwrap();
        assert_eq!(words, ["reject", "-m", "not 'yet'", "it's", "", "a"]);
        assert_eq!(split_words("say 'no"), None);
    }

    #[test]
    fn the_run_that_is_shown_is_meant() {
        assert_eq!(named("show"), "show R1");
        assert_eq!(named("show other"), "show other");
        assert_eq!(named("reject -m wrong"), "reject R1 -m wrong");
        assert_eq!(
            named("reject --task task-1 -m x"),
            "reject R1 --task task-1 -m x"
        );
        assert_eq!(named("answer yes"), "answer R1 yes");
        assert_eq!(named("answer R2 yes"), "answer R2 yes");
        assert_eq!(named("skip task-001"), "skip R1 task-001");
        assert_eq!(named("pack %"), "pack R1");
        assert_eq!(named("doctor"), "doctor");
    }
}
