//! What keys and messages do.

use codeteam_engine::attempt_log::{LogAnchor, LogLine, LogLineKind};

use crate::fixture::{
    TestScreen, approving_history, asking_history, history_update, large_history, overdue_history,
    watched,
};
use crate::keys::PanelKind;
use crate::message::{FoundLine, LoadRequest, LoadedLog, Message, ScreenAction};
use crate::model::InboxItem;
use crate::state::{Overlay, Panel, TreeNode};
use codeteam_report::view::Standing;

const RUN: &str = "2026-11-19_044353_count-words-and-characters";

fn kind(screen: &TestScreen) -> PanelKind {
    screen.app.panel().unwrap().kind()
}

fn notice(screen: &TestScreen) -> &str {
    screen.app.notice.as_ref().map_or("", |notice| &notice.text)
}

/// The question of the task that waits, as a command names it.
fn question(screen: &TestScreen) -> String {
    let run = screen.app.shown_run().unwrap();
    run.questions[0].question.id.to_string()
}

#[test]
fn panels_are_opened_by_their_keys_and_left_again() {
    let mut screen = TestScreen::new(80, 24);
    let keys = [
        ("2", PanelKind::Runs),
        ("3", PanelKind::Run),
        ("4", PanelKind::Plan),
        ("5", PanelKind::Cost),
        ("7", PanelKind::Timeline),
        ("1", PanelKind::Inbox),
        ("Tab", PanelKind::Runs),
        ("Esc", PanelKind::Inbox),
        ("Esc", PanelKind::Inbox),
        ("Enter", PanelKind::Approval),
        ("d", PanelKind::Diff),
        ("Esc", PanelKind::Approval),
        ("F", PanelKind::Findings),
        ("Esc", PanelKind::Approval),
        ("v", PanelKind::Text),
        ("Esc", PanelKind::Approval),
        ("Esc", PanelKind::Inbox),
    ];
    for (key, expected) in keys {
        screen.press(&[key]);
        assert_eq!(kind(&screen), expected, "after {key}");
    }
    assert!(!screen.has_command());
    screen.press(&["q"]);
    assert_eq!(screen.actions, [ScreenAction::Quit]);
}

#[test]
fn approving_names_the_question_that_was_read() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "a"]);
    let expected = format!("answer --question={} {RUN} -- accept", question(&screen));
    assert_eq!(screen.command(), expected);
    // The seed's letters are capitals.
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "A"]);
    assert_eq!(screen.command(), expected);
}

#[test]
fn what_is_objected_to_is_approved_only_by_name() {
    // Before its second round, a check failed on the change: nobody was asked then. So the question
    // is given an objection here.
    let mut screen = TestScreen::new(80, 24);
    let mut view = screen.app.shown_run().unwrap().clone();
    view.questions[0].objections = vec!["style".to_owned()];
    screen.press(&["Enter"]);
    let asked = view.questions[0].clone();
    let words = vec!["answer".to_owned()];
    super::decide::confirm_if_grave(&mut screen.app, &asked, words, false);
    assert!(matches!(screen.app.overlay, Some(Overlay::Confirm(_))));
    screen.press(&["y", "Enter"]);
    assert!(!screen.has_command(), "y is not its name");
    screen.press(&["Ctrl-U"]);
    screen.type_text("task-002").press(&["Enter"]);
    assert_eq!(screen.command(), "answer");
}

#[test]
fn a_rejection_needs_words_and_takes_all_comments() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "r", "Enter"]);
    assert!(!screen.has_command());
    assert!(notice(&screen).contains("say what is wrong"));
    screen.press(&["d", "}", "]", "j", "v", "j", "c"]);
    screen.type_text("Why sys?").press(&["Enter"]);
    assert!(notice(&screen).starts_with("1 comment kept"));
    screen.press(&["r"]);
    screen.type_text("Not yet.").press(&["Enter"]);
    let expected = format!(
        "answer --question={} --message=Not yet.\n\nsrc/report.py:1-2\n> import json\nWhy sys? {RUN} -- reject",
        question(&screen)
    );
    assert_eq!(screen.command(), expected);
    // They are kept until the command has ended well, and the screen says why it did not.
    assert_eq!(screen.app.comments.len(), 1);
    let print = |screen: &mut TestScreen, line: &str| {
        let line = line.to_owned();
        screen.send(Message::CommandPrinted { id: 1, line });
    };
    print(&mut screen, "`reject` is the answer to: Is it good?");
    print(&mut screen, "error: your decision was refused: no");
    print(&mut screen, "  hint: nothing was decided by it");
    screen.send(Message::CommandEnded {
        id: 1,
        code: Some(1),
    });
    assert_eq!(screen.app.comments.len(), 1);
    assert_eq!(kind(&screen), PanelKind::Diff);
    let refused = "error: your decision was refused: no";
    assert!(notice(&screen).starts_with(refused));
    print(&mut screen, "kept: no codeteam is working on the run now");
    print(&mut screen, "  go on   codeteam resume");
    screen.send(Message::CommandEnded {
        id: 1,
        code: Some(0),
    });
    assert!(screen.app.comments.is_empty());
    assert!(notice(&screen).starts_with("kept: no codeteam"));
}

#[test]
fn a_comment_is_taken_back() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "d", "c"]);
    screen.type_text("Why this file?").press(&["Enter"]);
    assert_eq!(screen.app.comments.values().next().unwrap()[0].line, None);
    screen.press(&["j", "x"]);
    assert!(screen.app.comments.values().all(Vec::is_empty));
}

#[test]
fn a_note_goes_with_the_decision() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "n"]);
    screen.type_text("Well done").press(&["Enter", "a"]);
    assert!(screen.command().contains("--message=Well done 2026"));
}

#[test]
fn an_answer_is_chosen_from_the_list() {
    let mut screen = TestScreen::new(80, 24);
    // The second answer rejects, so words are wanted.
    screen.press(&["Enter", "j", "Enter"]);
    assert!(matches!(screen.app.overlay, Some(Overlay::Input(_))));
    // The third comes with a change, for which an editor is needed.
    screen.press(&["Esc", "j", "Enter"]);
    assert!(notice(&screen).contains("codeteam edit"));
    // One Enter too many must not accept anything, so it is asked once more.
    screen.press(&["k", "k", "Enter"]);
    assert!(matches!(screen.app.overlay, Some(Overlay::Confirm(_))));
    assert!(!screen.has_command());
    screen.press(&["y"]);
    assert!(screen.command().ends_with("accept"));
}

#[test]
fn what_is_answered_elsewhere_is_not_decided_here() {
    let mut screen = TestScreen::new(80, 24);
    let mut update = history_update(usize::MAX);
    screen.press(&["Enter"]);
    // Somebody else has answered: the run has moved on to before the question was asked.
    let before = history_update(50);
    assert!(before.run.questions.is_empty());
    update.run = before.run;
    screen.app.runs.clear();
    screen.send(Message::HistoryRead(Box::new(update)));
    assert!(
        screen.text().contains("no longer open"),
        "{}",
        screen.text()
    );
    screen.press(&["a", "r", "Enter"]);
    assert!(!screen.has_command());
    assert!(screen.app.overlay.is_none());
    assert!(notice(&screen).contains("nothing is asked here"));
}

#[test]
fn whoever_has_just_answered_is_not_told_that_somebody_else_has() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "a"]);
    assert!(screen.has_command());
    let mut update = history_update(usize::MAX);
    update.run = history_update(50).run;
    screen.app.runs.clear();
    screen.send(Message::HistoryRead(Box::new(update)));
    let text = screen.text();
    assert!(
        text.contains("being sent") && !text.contains("no longer open"),
        "{text}"
    );
}

#[test]
fn the_questions_of_an_analyst_are_answered_one_by_one_and_sent_together() {
    let update = asking_history(&["Which language?", "Loud or quiet?"]);
    let mut screen = TestScreen::with_history(80, 24, update);
    screen.press(&["Enter", "a"]);
    assert!(
        matches!(screen.app.overlay, Some(Overlay::Input(_))),
        "it wants words"
    );
    screen.type_text("Shell").press(&["Enter"]);
    // The next one is selected.
    screen.press(&["Enter"]);
    screen.type_text("quiet").press(&["Enter"]);
    let text = screen.text();
    assert!(text.contains("1. Which language?  -> Shell"), "{text}");
    assert!(text.contains("send (2 of 2 answered)"), "{text}");
    assert!(!screen.has_command());
    screen.press(&["Enter"]);
    assert_eq!(
        screen.command(),
        format!(
            "answer --question={} {RUN} -- 1. Shell\n2. quiet",
            question(&screen)
        )
    );
    // A single question is answered at once.
    let mut screen = TestScreen::with_history(80, 24, asking_history(&["By which name?"]));
    screen.press(&["Enter", "Enter", "Enter"]);
    assert!(!screen.has_command(), "nothing was typed");
    screen.press(&["Enter"]);
    screen.type_text("-Ada").press(&["Enter"]);
    assert!(screen.command().ends_with(" -- -Ada"));
}

#[test]
fn a_run_of_500_tasks_is_walked_through() {
    let mut screen = TestScreen::with_history(80, 24, large_history(500));
    screen.press(&["3", "G"]);
    let text = screen.text();
    assert!(
        text.contains(">waiting       task-0500 Do part 500  for task-0499"),
        "{text}"
    );
    screen.press(&["/"]);
    screen.type_text("part 250");
    assert!(screen.text().contains("task-0250"), "{}", screen.text());
    screen.press(&["Enter", "4"]);
    assert!(screen.text().matches("Do part").count() < 20);
}

#[test]
fn a_question_is_left_for_later() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "s"]);
    assert_eq!(kind(&screen), PanelKind::Inbox);
    assert_eq!(screen.app.later.len(), 1);
    assert_eq!(screen.app.inbox().len(), 1, "it is still listed");
}

#[test]
fn what_cannot_be_undone_is_asked_first() {
    for (keys, expected) in [
        (&["3", "X"][..], format!("abort {RUN}")),
        (&["4", "K"][..], format!("skip {RUN} task-001")),
    ] {
        let mut screen = TestScreen::new(80, 24);
        screen.press(keys);
        assert!(matches!(screen.app.overlay, Some(Overlay::Confirm(_))));
        screen.press(&["Enter", "x", "Esc"]);
        assert!(!screen.has_command() && screen.app.overlay.is_none());
        screen.press(&[keys[1], "y"]);
        assert_eq!(screen.command(), expected);
    }
}

#[test]
fn a_retry_takes_a_note() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["4", "G", "R"]);
    screen.type_text("Use hatch").press(&["Enter"]);
    assert_eq!(
        screen.command(),
        format!("retry --wait --task=task-005 --message=Use hatch {RUN}")
    );
}

#[test]
fn going_on_is_for_runs_that_nobody_drives() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["3", "u"]);
    assert!(notice(&screen).contains("drives the run already"));
    let run = screen.app.history.as_ref().unwrap().run.clone();
    screen.send(Message::RunsChanged(vec![watched(&run, false)]));
    screen.press(&["u", "y"]);
    assert_eq!(screen.command(), format!("resume {RUN} --wait"));
}

#[test]
fn commands_are_about_the_run_that_is_shown() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["3", ":"]);
    screen.type_text("show").press(&["Enter"]);
    assert_eq!(screen.command(), format!("show {RUN}"));
    assert_eq!(kind(&screen), PanelKind::Text);
    screen.send(Message::CommandPrinted {
        id: 1,
        line: "goal      Count".to_owned(),
    });
    screen.send(Message::CommandEnded {
        id: 1,
        code: Some(0),
    });
    let text = screen.text();
    assert!(
        text.contains("goal      Count") && text.contains("done"),
        "{text}"
    );
    // What ends something is asked first, also when it is typed.
    screen.press(&[":"]);
    screen.type_text("codeteam abort").press(&["Enter"]);
    assert!(matches!(screen.app.overlay, Some(Overlay::Confirm(_))));
    screen.press(&["Esc", ":", "Up", "Up", "Enter"]);
    assert_eq!(screen.command(), format!("show {RUN}"), "from the history");
    screen.press(&[":"]);
    screen.type_text("tui").press(&["Enter"]);
    assert!(notice(&screen).contains("terminal of its own"));
}

#[test]
fn a_filter_is_applied_as_it_is_typed() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["4", "/"]);
    screen.type_text("json");
    let text = screen.text();
    assert!(
        text.contains("task-002") && !text.contains("task-003 Desc"),
        "{text}"
    );
    screen.press(&["Enter", "Esc"]);
    assert!(
        screen.text().contains("task-003"),
        "the first Esc shows all"
    );
    assert_eq!(kind(&screen), PanelKind::Plan);
}

#[test]
fn a_paste_is_a_text_and_never_a_key() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["3"]);
    screen.send(Message::Pasted("Xyq\n".to_owned()));
    assert!(screen.actions.is_empty() && screen.app.overlay.is_none());
    screen.press(&["1", "Enter", "r"]);
    screen.send(Message::Pasted("a line\n".repeat(10_000)));
    assert!(notice(&screen).contains("too long"));
    assert!(!screen.has_command());
}

#[test]
fn the_tree_is_folded_and_unfolded() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["3"]);
    let rows = |screen: &TestScreen| super::moves::tree_rows(&screen.app);
    let nodes = |screen: &TestScreen| -> Vec<TreeNode> {
        rows(screen).into_iter().map(|row| row.node).collect()
    };
    // The task that waits for a person is unfolded by itself.
    let task = TreeNode::Task("task-002".to_owned());
    let at = nodes(&screen)
        .iter()
        .position(|node| *node == task)
        .unwrap();
    assert_eq!(rows(&screen)[at].standing, Standing::NeedsYou);
    assert_eq!(rows(&screen)[at].is_open, Some(true));
    let whole = nodes(&screen).len();
    for _ in 0..at {
        screen.press(&["j"]);
    }
    screen.press(&["h"]);
    assert!(nodes(&screen).len() < whole);
    screen.press(&["l"]);
    assert_eq!(nodes(&screen).len(), whole);
    // From a child, `h` goes to its parent.
    screen.press(&["j", "j", "h"]);
    let cursor = screen.app.panel().unwrap().cursor().unwrap();
    assert_eq!(cursor.selected, at);
    // Enter opens the question of the task.
    screen.press(&["Enter"]);
    assert_eq!(kind(&screen), PanelKind::Approval);
}

#[test]
fn tasks_say_what_they_wait_for() {
    let screen = TestScreen::new(80, 24);
    let run = screen.app.shown_run().unwrap();
    let stands = run.tasks.iter().map(|task| {
        let (standing, why) = codeteam_report::view::task_standing(run, task);
        format!("{}: {} {why}", task.id, standing.word())
    });
    assert_eq!(
        stands.collect::<Vec<_>>(),
        [
            "task-001: done ",
            "task-002: needs you Is this change what you want?",
            "task-003: waiting for task-002",
            "task-004: waiting for task-002",
            "task-005: failed `code` gave up: There is no build backend to use",
        ]
    );
}

#[test]
fn a_run_that_nobody_drives_needs_a_person() {
    let mut screen = TestScreen::at_event(80, 24, 50);
    let run = screen.app.history.as_ref().unwrap().run.clone();
    assert!(screen.app.inbox().is_empty());
    assert_eq!(screen.app.run_standing().0, Standing::Working);
    screen.send(Message::RunsChanged(vec![watched(&run, false)]));
    assert_eq!(
        screen.app.run_standing(),
        (Standing::NeedsYou, "nobody drives it".to_owned())
    );
    assert_eq!(
        screen.app.inbox(),
        [InboxItem::Stopped {
            run: RUN.to_owned()
        }]
    );
}

#[test]
fn what_has_happened_since_is_asked_for_once_the_list_knows() {
    let mut screen = TestScreen::at_event(80, 24, 50);
    let now = history_update(usize::MAX);
    screen.send(Message::RunsChanged(vec![watched(&now.run, true)]));
    let expected = LoadRequest::History(now.run.id.clone());
    assert_eq!(screen.actions, [ScreenAction::Load(expected)]);
    screen.actions.clear();
    screen.send(Message::RunsChanged(vec![watched(
        &history_update(50).run,
        true,
    )]));
    assert!(screen.actions.is_empty(), "nothing is new");
}

fn line(number: usize) -> LogLine {
    LogLine {
        number,
        kind: LogLineKind::Text,
        text: format!("line {number}"),
    }
}

/// Opens the output of an attempt of 100,000 lines.
fn with_long_log() -> TestScreen {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["3", "/"]);
    screen.type_text("task-002").press(&["Enter", "j", "L"]);
    answer_log(&mut screen, 100_000);
    screen
}

/// Answers the request for lines as the loader would.
fn answer_log(screen: &mut TestScreen, total: usize) {
    let action = screen.actions.pop();
    let Some(ScreenAction::Load(LoadRequest::Log { target, query, .. })) = action else {
        panic!("no lines were asked for: {action:?}");
    };
    let range = match query.anchor {
        LogAnchor::From(from) => from..(from + query.count).min(total),
        LogAnchor::Until(end) => end.saturating_sub(query.count)..end,
        LogAnchor::End => total.saturating_sub(query.count)..total,
    };
    screen.send(Message::LogLoaded(LoadedLog {
        fence: target.fence,
        query,
        total,
        lines: range.map(line).collect(),
    }));
}

fn selected_log_line(screen: &TestScreen) -> usize {
    let Some(Panel::Log(log)) = screen.app.panel() else {
        panic!("no output is shown");
    };
    assert!(log.lines.len() <= 500, "only a window is held");
    log.lines[log.cursor.selected].number
}

#[test]
fn a_long_output_is_read_in_windows() {
    let mut screen = with_long_log();
    assert_eq!(selected_log_line(&screen), 99_999);
    for _ in 0..60 {
        screen.press(&["PgUp"]);
        if !screen.actions.is_empty() {
            answer_log(&mut screen, 100_000);
        }
    }
    let at = selected_log_line(&screen);
    assert!((98_000..99_000).contains(&at), "{at}");
    screen.press(&["g"]);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 0);
    screen.press(&["G"]);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 99_999);
}

#[test]
fn an_output_is_followed_until_somebody_scrolls() {
    let mut screen = with_long_log();
    let Some(Panel::Log(log)) = screen.app.panel_mut() else {
        panic!("no output is shown");
    };
    let fence = log.target.fence;
    screen.press(&["f"]);
    answer_log(&mut screen, 100_000);
    screen.send(Message::LogGrew {
        fence,
        lines: 100_010,
    });
    answer_log(&mut screen, 100_010);
    assert_eq!(selected_log_line(&screen), 100_009);
    screen.press(&["k"]);
    screen.send(Message::LogGrew {
        fence,
        lines: 100_020,
    });
    assert!(screen.actions.is_empty(), "whoever reads is left alone");
    assert_eq!(selected_log_line(&screen), 100_008);
    screen.press(&["e"]);
    let Some(ScreenAction::Load(LoadRequest::Log { query, .. })) = screen.actions.pop() else {
        panic!("no lines were asked for");
    };
    assert_eq!(query.only, Some(LogLineKind::Problem));
}

/// Answers a search in an output as the loader would.
fn answer_search(screen: &mut TestScreen, line: Option<usize>, is_wrapped: bool) {
    let Some(Panel::Log(log)) = screen.app.panel() else {
        panic!("no output is shown");
    };
    let (fence, text) = (log.target.fence, log.cursor.search.clone());
    screen.send(Message::LogSearched(FoundLine {
        fence,
        text,
        line,
        is_wrapped,
    }));
}

#[test]
fn an_output_is_searched_beyond_what_is_loaded() {
    let mut screen = with_long_log();
    screen.press(&["/"]);
    screen.type_text("LINE 99998").press(&["Enter"]);
    // The last line is selected, so the search begins there and does not find it below.
    let Some(ScreenAction::Load(LoadRequest::FindInLog { search, .. })) = screen.actions.pop()
    else {
        panic!("the loader was not asked");
    };
    assert_eq!(search.from, 100_000);
    assert!(!search.is_backward);
    answer_search(&mut screen, Some(50_000), true);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 50_000);
    assert_eq!(notice(&screen), "the search went on from the other end");
    // Among the lines that are loaded, nobody is asked.
    screen.press(&["/"]);
    screen.type_text("line 50100").press(&["Enter"]);
    assert_eq!(selected_log_line(&screen), 50_100);
    assert!(screen.actions.is_empty());
    screen.press(&["/"]);
    screen.type_text("line 5").press(&["Enter", "N"]);
    assert_eq!(selected_log_line(&screen), 50_099);
    screen.press(&["n", "n"]);
    assert_eq!(selected_log_line(&screen), 50_101);
    answer_search(&mut screen, None, false);
    assert!(notice(&screen).contains("nothing has `line 5`"));
    // `&` shows only the lines with the words, as a list does.
    screen.press(&["&"]);
    screen.type_text("7");
    let Some(ScreenAction::Load(LoadRequest::Log { query, .. })) = screen.actions.pop() else {
        panic!("no lines were asked for");
    };
    assert_eq!(query.containing, "7");
}

#[test]
fn what_a_search_found_is_selected_among_its_own_lines() {
    let mut screen = with_long_log();
    // The first lines are still to come when the search has found something.
    screen.press(&["g"]);
    let earlier = screen.actions.pop();
    screen.press(&["/"]);
    screen.type_text("line 50000").press(&["Enter"]);
    screen.actions.clear();
    answer_search(&mut screen, Some(50_000), false);
    let own = screen.actions.pop();
    screen.actions.extend(earlier);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 0);
    screen.actions.extend(own);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 50_000);
    // Whoever asks for other lines wants those, even if what was found is among them.
    screen.press(&["/"]);
    screen.type_text("line 99900").press(&["Enter"]);
    screen.actions.clear();
    answer_search(&mut screen, Some(99_900), false);
    screen.actions.clear();
    screen.press(&["f"]);
    answer_log(&mut screen, 100_000);
    assert_eq!(selected_log_line(&screen), 99_999);
}

#[test]
fn a_patch_is_searched_with_its_folded_files() {
    let mut screen = TestScreen::new(80, 24);
    let selected = |screen: &TestScreen| {
        let text = screen.text();
        let line = text.lines().find(|line| line.starts_with('>')).unwrap();
        line.to_owned()
    };
    screen.press(&["d", "Space", "}", "h", "g", "/"]);
    screen.type_text("SYS").press(&["Enter"]);
    assert!(
        selected(&screen).contains("+import sys"),
        "{}",
        screen.text()
    );
    screen.press(&["n"]);
    assert!(selected(&screen).contains("sys.argv"), "{}", screen.text());
    screen.press(&["n"]);
    assert!(selected(&screen).contains("+import sys"));
    assert!(notice(&screen).contains("from the top"));
    screen.press(&["N"]);
    assert!(selected(&screen).contains("sys.argv"));
    screen.press(&["/"]);
    screen.type_text("format.py").press(&["Enter"]);
    assert!(
        selected(&screen).contains("src/format.py"),
        "{}",
        screen.text()
    );
    screen.press(&["/"]);
    screen.type_text("nowhere").press(&["Enter"]);
    assert!(notice(&screen).contains("nothing has `nowhere`"));
    // Without a search, the keys go from changed line to changed line.
    screen.press(&["Esc", "n"]);
    assert_eq!(kind(&screen), PanelKind::Diff);
    assert!(selected(&screen).contains('+'), "{}", screen.text());
}

#[test]
fn what_a_command_has_printed_is_searched() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["6"]);
    for n in 0..200 {
        let line = format!(
            "check {n}: {}",
            if n % 70 == 0 { "missing" } else { "found" }
        );
        screen.send(Message::CommandPrinted { id: 1, line });
    }
    screen.press(&["g", "/"]);
    screen.type_text("Missing").press(&["Enter", "n"]);
    assert!(
        screen.text().contains("check 70: missing"),
        "{}",
        screen.text()
    );
    screen.press(&["n", "n"]);
    assert!(
        screen.text().contains("check 0: missing"),
        "{}",
        screen.text()
    );
    assert!(notice(&screen).contains("from the top"));
    screen.press(&["N"]);
    assert!(
        screen.text().contains("check 140: missing"),
        "{}",
        screen.text()
    );
    screen.press(&["&"]);
    screen.type_text("missing").press(&["Enter"]);
    let text = screen.text();
    assert!(
        text.contains("check 0: missing\ncheck 70: missing"),
        "{text}"
    );
}

#[test]
fn a_vote_is_signed_if_that_is_wanted() {
    let mut screen = TestScreen::with_history(80, 24, approving_history());
    screen.press(&["Enter", "Ctrl-S"]);
    assert!(
        screen.text().contains("[N]ote  signed"),
        "{}",
        screen.text()
    );
    screen.press(&["r"]);
    screen.type_text("Hash it").press(&["Enter"]);
    let words = screen.command();
    assert!(words.starts_with("reject --question="), "{words}");
    assert!(words.contains(" --sign --message=Hash it "), "{words}");
    screen.press(&["Ctrl-S"]);
    let text = screen.text();
    assert!(!text.contains("[N]ote  signed"), "{text}");
    // What is no vote is not signed.
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "Ctrl-S"]);
    assert!(notice(&screen).contains("only a vote"));
}

#[test]
fn a_deadline_that_nobody_keeps_is_said() {
    let mut screen = TestScreen::with_history(100, 40, overdue_history());
    screen.press(&["Enter"]);
    assert!(!screen.text().contains("overdue"), "{}", screen.text());
    let run = screen.app.history.as_ref().unwrap().run.clone();
    screen.send(Message::RunsChanged(vec![watched(&run, false)]));
    let text = screen.text();
    assert!(text.contains("time      overdue since"), "{text}");
    assert!(text.contains("people are reminded: `codeteam"), "{text}");
    screen.press(&["u", "y"]);
    assert_eq!(screen.command(), format!("resume {RUN} --wait"));
}

#[test]
fn leaving_says_what_is_lost() {
    let mut screen = TestScreen::new(80, 24);
    screen.app.driven_here = screen.app.selected.clone();
    screen.press(&["q"]);
    assert!(screen.actions.is_empty());
    assert!(
        screen.text().contains("is driven here"),
        "{}",
        screen.text()
    );
    screen.press(&["n", "q", "y"]);
    assert_eq!(screen.actions, [ScreenAction::Quit]);
    // Once it is no longer driven here, nothing is asked.
    let mut screen = TestScreen::new(80, 24);
    screen.app.driven_here = screen.app.selected.clone();
    screen.send(Message::DriverEnded("the run is done".to_owned()));
    screen.press(&["q"]);
    assert_eq!(screen.actions, [ScreenAction::Quit]);
    // A question that is open when the run ends is closed: there is nothing left to lose.
    let mut screen = TestScreen::new(80, 24);
    screen.app.driven_here = screen.app.selected.clone();
    screen.press(&["q"]);
    screen.send(Message::DriverEnded("the run is done".to_owned()));
    assert!(!screen.text().contains("Leave?"), "{}", screen.text());
    assert!(screen.text().contains("the run is done"));
}

#[test]
fn other_keys_do_what_they_say() {
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["m", "m", "Ctrl-Z"]);
    screen.send(Message::Resized);
    let expected = [
        ScreenAction::CaptureMouse(true),
        ScreenAction::CaptureMouse(false),
        ScreenAction::Suspend,
        ScreenAction::Repaint,
    ];
    assert_eq!(screen.actions, expected);
    screen.actions.clear();
    screen.press(&["y"]);
    let copied = format!("{RUN} --task task-002");
    assert_eq!(screen.actions, [ScreenAction::Copy(copied)]);
    screen.actions.clear();
    screen.press(&["6"]);
    assert_eq!(screen.command(), "doctor");
    screen.press(&["?", "j", "z"]);
    assert!(screen.app.overlay.is_none());
}

/// The cursor stays among the rows, whatever is pressed in whatever order.
#[test]
fn no_order_of_keys_breaks_it() {
    let keys = [
        "j", "k", "g", "G", "h", "l", "Enter", "Esc", "d", "c", "v", "x", "]", "[", "}", "{",
        "Space", "F", "L", "7", "t", "3", "4", "5", "1", "2", "PgDn", "PgUp", "w", "f", "e", "n",
        "s", "u", "R", "K", "X", "/", ":", "?", "!", "a", "r", "i", "Tab", "y",
    ];
    let mut screen = TestScreen::new(70, 20);
    let mut seed: usize = 7;
    for _ in 0..4_000 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let key = keys[(seed >> 33) % keys.len()];
        screen.press(&[key]);
        if screen.app.panels.len() > 20 {
            screen.press(&["Esc", "Esc", "1"]);
        }
        assert!(!screen.app.panels.is_empty());
        screen.text();
    }
}
