//! Completes what is typed after `:`: commands, their options, and what they are about.

use codeteam_core::shell::shell_word;
use codeteam_report::view::LoadedRun;

use super::command_line::{TERMINAL_VERBS, split_words};
use super::open;
use crate::message::ScreenAction;
use crate::state::{App, InputBox, Overlay};
use crate::verbs::CommandVerb;

/// So many possibilities are named; how many more there are is said.
const MOST_NAMED: usize = 12;

/// Completes the word before the cursor as far as it is certain. If there are several possibilities,
/// they are named.
pub(super) fn complete(app: &mut App) -> Vec<ScreenAction> {
    let Some(Overlay::Input(InputBox { input, .. })) = &app.overlay else {
        return Vec::new();
    };
    let typed = input.before_cursor().to_owned();
    let (before, word) = split_last_word(&typed);
    let Some(words) = split_words(before) else {
        // Within quotation marks a person writes words of their own.
        return Vec::new();
    };
    let mut found: Vec<String> = candidates(app, &words, word)
        .into_iter()
        .filter(|candidate| candidate.starts_with(word))
        .collect();
    found.sort();
    found.dedup();
    let completed = match found.as_slice() {
        [] => {
            app.note("nothing completes this");
            return Vec::new();
        }
        [one] if one.ends_with('=') => one.clone(),
        [one] => format!("{} ", quoted(one)),
        several => plain_start(common_start(several), word).to_owned(),
    };
    if found.len() > 1 {
        let named = found.iter().take(MOST_NAMED);
        let named: Vec<String> = named.map(|candidate| quoted(candidate)).collect();
        let mut line = named.join("  ");
        if found.len() > MOST_NAMED {
            line = format!("{line}  and {} more", found.len() - MOST_NAMED);
        }
        app.note(line);
    }
    let typed_chars = word.chars().count();
    if let Some(Overlay::Input(InputBox { input, .. })) = &mut app.overlay {
        if let Some(addition) = completed.strip_prefix(word) {
            input.insert(addition);
        } else {
            // It has a quotation mark that was not typed.
            for _ in 0..typed_chars {
                input.delete_back();
            }
            input.insert(&completed);
        }
    }
    Vec::new()
}

/// Returns true if a word that is typed like this is read as the same word.
fn is_plain(word: &str) -> bool {
    split_words(word).is_some_and(|words| words == [word])
}

/// Returns a word as it has to be typed: in quotation marks if it would be read as something else.
fn quoted(word: &str) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    match word.split_once('=') {
        Some((option, value)) if option.starts_with("--") => {
            format!("{option}={}", shell_word(value))
        }
        _ => shell_word(word),
    }
}

/// Returns as much of how several words begin as needs no quotation marks, but at least what was
/// typed.
fn plain_start<'a>(start: &'a str, typed: &'a str) -> &'a str {
    let is_special = |c: char| c.is_whitespace() || "'\"\\".contains(c);
    let end = start.find(is_special).unwrap_or(start.len());
    if end < typed.len() {
        typed
    } else {
        &start[..end]
    }
}

/// Splits a line before its last word, which may be empty.
fn split_last_word(typed: &str) -> (&str, &str) {
    let start = typed.rfind(char::is_whitespace);
    let start = start.map_or(0, |at| {
        at + typed[at..].chars().next().map_or(1, char::len_utf8)
    });
    typed.split_at(start)
}

/// Returns everything that may stand after these words.
fn candidates(app: &App, words: &[String], word: &str) -> Vec<String> {
    let words = match words {
        [first, rest @ ..] if first == "codeteam" => rest,
        words => words,
    };
    let Some((verb, rest)) = words.split_first() else {
        let verbs = app.verbs.iter().map(|verb| verb.name.clone());
        let verbs = verbs.filter(|verb| !TERMINAL_VERBS.contains(&verb.as_str()));
        return verbs.chain(["quit".to_owned()]).collect();
    };
    let Some(mut known) = app.verbs.iter().find(|known| known.name == *verb) else {
        return Vec::new();
    };
    for word in rest {
        known = find_verb(known, word).unwrap_or(known);
    }
    if let Some((option, _)) = word.split_once('=') {
        let values = option_values(app, option).into_iter();
        return values.map(|value| format!("{option}={value}")).collect();
    }
    if word.starts_with('-') {
        return known.options.clone();
    }
    let last = rest.last().filter(|last| last.starts_with("--"));
    let values = last.map(|option| option_values(app, option));
    if let Some(values) = values.filter(|values| !values.is_empty()) {
        return values;
    }
    let mut all: Vec<String> = known.verbs.iter().map(|verb| verb.name.clone()).collect();
    all.extend(app.runs.keys().cloned());
    if verb == "skip" {
        all.extend(tasks(app));
    }
    if verb == "answer" {
        let asked = app.shown_run().into_iter().flat_map(|run| &run.questions);
        all.extend(asked.flat_map(|asked| asked.question.answers.iter().cloned()));
    }
    all
}

fn find_verb<'a>(known: &'a CommandVerb, name: &str) -> Option<&'a CommandVerb> {
    known.verbs.iter().find(|verb| verb.name == name)
}

/// Returns what an option may be given.
fn option_values(app: &App, option: &str) -> Vec<String> {
    match option {
        "--task" => tasks(app),
        "--question" => {
            let asked = app.shown_run().into_iter().flat_map(|run| &run.questions);
            asked.map(|asked| asked.question.id.to_string()).collect()
        }
        "--to" => {
            let (run, _) = open::selected_place(app).unzip();
            let run = run.and_then(|run| app.run_view(run.as_str()));
            let people = run.map_or_else(Vec::new, LoadedRun::known_people);
            people.into_iter().map(|person| person.0).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the tasks of the run that is shown.
fn tasks(app: &App) -> Vec<String> {
    let tasks = app.shown_run().into_iter().flat_map(|run| &run.tasks);
    tasks.map(|task| task.id.0.clone()).collect()
}

/// Returns how all of these begin.
fn common_start(words: &[String]) -> &str {
    let Some((first, rest)) = words.split_first() else {
        return "";
    };
    let mut end = first.len();
    for word in rest {
        let same = first.chars().zip(word.chars()).take_while(|(a, b)| a == b);
        end = end.min(same.map(|(c, _)| c.len_utf8()).sum());
    }
    &first[..end]
}

#[cfg(test)]
mod tests {
    use crate::fixture::{TestScreen, choosing_history};
    use crate::state::Overlay;
    use crate::verbs::CommandVerb;

    fn verb(name: &str, options: &[&str], verbs: Vec<CommandVerb>) -> CommandVerb {
        CommandVerb {
            name: name.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            verbs,
        }
    }

    fn screen() -> TestScreen {
        with_verbs(TestScreen::new(100, 30))
    }

    fn with_verbs(mut screen: TestScreen) -> TestScreen {
        screen.app.verbs = vec![
            verb("answer", &["--question"], Vec::new()),
            verb("report", &["--task", "--json"], Vec::new()),
            verb("resume", &["--wait"], Vec::new()),
            verb(
                "role",
                &["--json"],
                vec![verb("render", &["--budget"], Vec::new())],
            ),
            verb("skip", &[], Vec::new()),
            verb("tui", &[], Vec::new()),
        ];
        screen
    }

    /// Types a command, completes it, and returns it.
    #[track_caller]
    fn completed(text: &str) -> String {
        completed_in(&mut screen(), text)
    }

    #[track_caller]
    fn completed_in(screen: &mut TestScreen, text: &str) -> String {
        screen.press(&[":"]).type_text(text).press(&["Tab"]);
        let Some(Overlay::Input(input)) = &screen.app.overlay else {
            panic!("{:?}", screen.app.overlay);
        };
        input.input.text().to_owned()
    }

    #[test]
    fn commands_options_and_values_are_completed() {
        assert_eq!(completed("sk"), "skip ");
        assert_eq!(completed("r"), "r", "four begin like this");
        assert_eq!(completed("re"), "re");
        assert_eq!(completed("rep"), "report ");
        assert_eq!(completed("codeteam rep"), "codeteam report ");
        assert_eq!(completed("report --t"), "report --task ");
        assert_eq!(
            completed("report --task task-004"),
            "report --task task-004 "
        );
        assert_eq!(completed("report --task=task-00"), "report --task=task-00");
        assert_eq!(
            completed("report --task=task-004"),
            "report --task=task-004 "
        );
        assert_eq!(completed("role ren"), "role render ");
        assert_eq!(completed("role render --b"), "role render --budget ");
        assert_eq!(
            completed("skip 2026-11-18"),
            "skip 2026-11-18_101500_add-a-flag "
        );
        assert_eq!(completed("tu"), "tu", "it needs a terminal of its own");
        assert_eq!(completed("report -m 'it"), "report -m 'it");
    }

    #[test]
    fn what_would_be_read_as_something_else_is_quoted() {
        let answers = ["accept it", "accept all", "it's fine", "reject"];
        let screen = || {
            let history = choosing_history(&answers);
            with_verbs(TestScreen::with_history(100, 30, history))
        };
        assert_eq!(completed_in(&mut screen(), "answer rej"), "answer reject ");
        assert_eq!(
            completed_in(&mut screen(), "answer it"),
            r"answer 'it'\''s fine' "
        );
        let mut screen = screen();
        assert_eq!(completed_in(&mut screen, "answer acc"), "answer accept");
        let notice = &screen.app.notice.as_ref().unwrap().text;
        assert_eq!(notice, "'accept all'  'accept it'");
        assert_eq!(super::quoted("--to=anna b"), "--to='anna b'");
        assert_eq!(super::quoted("--to=jörg"), "--to=jörg");
    }

    #[test]
    fn several_possibilities_are_named() {
        let mut screen = screen();
        screen.press(&[":"]).type_text("r").press(&["Tab"]);
        let notice = &screen.app.notice.as_ref().unwrap().text;
        assert_eq!(notice, "report  resume  role");
        let text = screen.text();
        assert!(text.contains("report  resume  role\n:r"), "{text}");
    }
}
