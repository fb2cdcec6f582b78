//! Decisions. Each is a command of codeteam, with the question it is about named in it: an answer to
//! a question that somebody else has answered meanwhile is refused, and never taken for another one.

use std::collections::VecDeque;

use codeteam_core::decide::approvals::{APPROVE, OVERRIDE, REJECT};
use codeteam_core::ids::{AttemptId, RunId};
use codeteam_core::risk::RiskLevel;
use codeteam_core::rollup::RunStatus;
use codeteam_core::shell::shell_word;
use codeteam_core::untrusted_text::spell_out_lines;
use codeteam_report::review::compose_rejection;
use codeteam_report::view::{LoadedRun, NextAction, QuestionView};

use super::command_line::split_words;
use super::{open, overriding, typing};
use crate::message::ScreenAction;
use crate::model::InboxItem;
use crate::state::{
    App, ApprovalPanel, CommandEnd, CommandRecord, ConfirmBox, ConfirmedCommand, InputPurpose,
    Overlay, Panel, TextInput,
};
use crate::text::count;

/// The most commands whose output is kept.
const MOST_COMMANDS: usize = 20;

/// Starts a command of codeteam.
pub(super) fn run_command(
    app: &mut App,
    words: Vec<String>,
    decides: Option<AttemptId>,
) -> Vec<ScreenAction> {
    app.command_count += 1;
    let id = app.command_count;
    let line = command_line(&words);
    app.note(line.clone());
    app.commands.push_back(CommandRecord {
        id,
        line,
        output: VecDeque::new(),
        ended: None,
        decides,
    });
    if app.commands.len() > MOST_COMMANDS
        && let Some(at) = app.commands.iter().position(|c| c.ended.is_some())
    {
        app.commands.remove(at);
    }
    vec![ScreenAction::RunCommand { id, words }]
}

/// Returns a command as a person would type it, on one line.
fn command_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let word = spell_out_lines(word);
        let option = word.strip_prefix("--");
        if option.is_some_and(|option| shell_word(option) == option) {
            word
        } else {
            shell_word(&word)
        }
    });
    let quoted: Vec<String> = quoted.collect();
    format!("codeteam {}", quoted.join(" "))
}

/// Starts a command and shows what it prints.
pub(super) fn run_shown(app: &mut App, words: Vec<String>) -> Vec<ScreenAction> {
    let actions = run_command(app, words, None);
    let id = app.command_count;
    open::show_command(app, id);
    actions
}

/// Says how a command has ended. What a decision was about is left behind.
pub(super) fn end_command(app: &mut App, id: u64, code: Option<i32>) -> Vec<ScreenAction> {
    let Some(command) = app.commands.iter_mut().find(|command| command.id == id) else {
        return Vec::new();
    };
    command.ended = Some(code.map_or(CommandEnd::Broken, CommandEnd::Exited));
    let said = outcome_line(command, code)
        .unwrap_or(&command.line)
        .to_owned();
    let (decides, has_more) = (command.decides.clone(), command.output.len() > 1);
    let more = if has_more { "  (`!` shows all)" } else { "" };
    match code {
        Some(0) => app.note(format!("{said}{more}")),
        Some(_) => app.complain(format!("{said}{more}")),
        None => app.complain(format!("{said}: it could not be run{more}")),
    }
    if let (Some(question), Some(0)) = (decides, code) {
        forget_drafts(app, &question);
        let is_shown =
            matches!(app.panel(), Some(Panel::Approval(panel)) if panel.question == question);
        if is_shown {
            return open::close_panel(app);
        }
    }
    Vec::new()
}

/// Returns the line of a command's output that says what came of it: why it failed, or the last thing
/// that a decision has led to.
fn outcome_line(command: &CommandRecord, code: Option<i32>) -> Option<&String> {
    let mut lines = command.output.iter().filter(|line| !line.trim().is_empty());
    let is_failure = |line: &&String| line.starts_with("error");
    match code {
        Some(0) if command.decides.is_some() => lines.rfind(|line| !line.starts_with(' ')),
        Some(0) => lines.next(),
        _ => lines.clone().find(is_failure).or_else(|| lines.next()),
    }
}

/// Forgets the notes and comments that went with a decision.
fn forget_drafts(app: &mut App, question: &AttemptId) {
    let place = question.frame.name();
    app.notes.remove(&question.to_string());
    app.signed.remove(&question.to_string());
    app.later.remove(&question.to_string());
    let run = app.selected.as_ref().map(|run| run.0.clone());
    if let Some(run) = run {
        app.comments.remove(&(run, place.to_owned()));
    }
}

/// Returns the open question that the panel is about.
fn asked_question(app: &App) -> Option<(RunId, QuestionView)> {
    let (run, question) = if let Panel::Approval(panel) = app.panel()? {
        (panel.run.clone(), panel.question.clone())
    } else {
        let (run, place) = open::selected_place(app)?;
        let view = app.run_view(run.as_str())?;
        let mut questions = view.view().questions.iter();
        let asked = questions.find(|asked| asked.place() == place)?;
        (run, asked.question.id.clone())
    };
    let asked = app.question(run.as_str(), &question)?;
    Some((run, asked.clone()))
}

/// Returns the question, or says that there is none.
fn require_question(app: &mut App) -> Option<(RunId, QuestionView)> {
    let found = asked_question(app);
    if found.is_none() {
        app.complain("nothing is asked here, or it was answered meanwhile");
    }
    found
}

/// Returns the words of a decision on a question.
pub(super) fn decision_words(
    app: &App,
    verb: &str,
    run: &RunId,
    asked: &QuestionView,
    message: &str,
    answer: Option<&str>,
) -> Vec<String> {
    let id = asked.question.id.to_string();
    let note = app.notes.get(&id).map(|note| note.trim());
    let parts = [message.trim(), note.unwrap_or_default()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut words = vec![verb.to_owned(), format!("--question={id}")];
    // Only a vote on a change is signed.
    if asked.approval.is_some() && app.signed.contains(&id) {
        words.push("--sign".to_owned());
    }
    if !parts.is_empty() {
        words.push(format!("--message={}", parts.join("\n\n")));
    }
    words.push(run.0.clone());
    // An answer of a person's own may begin like an option.
    words.extend(
        answer
            .iter()
            .flat_map(|answer| ["--".to_owned(), (*answer).to_owned()]),
    );
    words
}

/// Approves what the question is about. Whoever overrules an objection, or publishes something, is
/// asked once more.
pub(super) fn approve(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, asked)) = require_question(app) else {
        return Vec::new();
    };
    if asked.question.answers.is_empty() {
        return answer(app);
    }
    let is_vote = asked.approval.is_some();
    let mut choices = asked.choices.iter();
    let accepting = choices.find(|choice| choice.accepts && !is_vote);
    let words = match accepting {
        Some(choice) => decision_words(app, "answer", &run, &asked, "", Some(&choice.answer)),
        None => decision_words(app, "approve", &run, &asked, "", None),
    };
    let publishes = accepting.is_some_and(|choice| choice.about == "publish it");
    confirm_if_grave(app, &asked, words, publishes)
}

/// Returns true if approving overrules an objection, publishes something, or is of high risk.
fn is_grave(asked: &QuestionView, publishes: bool) -> bool {
    let approval = asked.approval.as_ref();
    let is_risky = approval.is_some_and(|approval| approval.risk >= RiskLevel::High);
    publishes || is_risky || !asked.objections.is_empty()
}

pub(super) fn confirm_if_grave(
    app: &mut App,
    asked: &QuestionView,
    words: Vec<String>,
    publishes: bool,
) -> Vec<ScreenAction> {
    let question = Some(asked.question.id.clone());
    if !is_grave(asked, publishes) {
        return run_command(app, words, question);
    }
    let approval = asked.approval.as_ref();
    let grave = approval.filter(|approval| approval.risk >= RiskLevel::High);
    let place = asked.place().to_owned();
    let mut lines = Vec::new();
    if let Some(approval) = grave {
        let reasons = approval.reasons.join("; ");
        lines.push(format!("Its risk is {}: {reasons}", approval.risk.as_str()));
    }
    if !asked.objections.is_empty() {
        let against = asked.objections.join(", ");
        lines.push(format!("This overrules {against}. The commit says so."));
    }
    if publishes {
        lines.push("This publishes the change, which cannot be taken back here.".to_owned());
    }
    let typed = Some((place.clone(), TextInput::new()));
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: format!("Approve {place}?"),
        lines,
        typed,
        then: ConfirmedCommand::Run(words, question),
    }));
    Vec::new()
}

/// Asks why the change is rejected.
pub(super) fn reject(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, asked)) = require_question(app) else {
        return Vec::new();
    };
    let place = asked.place().to_owned();
    let key = (run.0.clone(), place.clone());
    let comments = app.comments.get(&key).map_or(0, Vec::len);
    let along = match comments {
        0 => String::new(),
        n => format!(" {} will go with it.", count(n, "comment")),
    };
    let question = asked.question.id.clone();
    typing::open_input(
        app,
        InputPurpose::Reject { run, question },
        format!("Reject {place}: what is wrong?{along}"),
        TextInput::with_lines(),
    );
    Vec::new()
}

/// Sends a rejection with its words and all comments.
pub(super) fn send_rejection(
    app: &mut App,
    run: &RunId,
    question: &AttemptId,
    words: &str,
) -> Vec<ScreenAction> {
    let Some(asked) = app.question(run.as_str(), question).cloned() else {
        app.complain("the question was answered meanwhile; your comments are kept");
        return Vec::new();
    };
    let key = (run.0.clone(), asked.place().to_owned());
    let comments = app.comments.get(&key).map_or(&[][..], Vec::as_slice);
    let message = compose_rejection(words, comments);
    if message.is_empty() {
        app.complain("say what is wrong: the next worker reads it");
        return Vec::new();
    }
    let is_vote = asked.approval.is_some();
    let mut choices = asked.choices.iter();
    let rejecting = choices.find(|choice| choice.rejects && !is_vote);
    let words = match rejecting {
        Some(choice) => decision_words(app, "answer", run, &asked, &message, Some(&choice.answer)),
        None => decision_words(app, "reject", run, &asked, &message, None),
    };
    run_command(app, words, Some(question.clone()))
}

/// Asks for the answer to a question that takes any text, or to its selected point.
pub(super) fn answer(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, asked)) = require_question(app) else {
        return Vec::new();
    };
    if !asked.question.answers.is_empty() {
        app.note("choose one of the answers with the arrows and Enter");
        return Vec::new();
    }
    let points = &asked.question.points;
    let selected = match app.panel() {
        Some(Panel::Approval(panel)) => panel.selected,
        _ => 0,
    };
    let (point, title) = match points.get(selected) {
        Some(text) if points.len() > 1 => (Some(selected), text.clone()),
        Some(text) => (None, text.clone()),
        None if points.len() > 1 => return send_replies(app),
        None => (None, asked.question.text.clone()),
    };
    let known = match (app.panel(), point) {
        (Some(Panel::Approval(panel)), Some(at)) => panel.replies.get(&at).cloned(),
        _ => None,
    };
    let question = asked.question.id.clone();
    let purpose = InputPurpose::Answer {
        run,
        question,
        point,
    };
    let input = TextInput::with_lines().with_text(&known.unwrap_or_default());
    typing::open_input(app, purpose, title, input);
    Vec::new()
}

/// Takes the answer to a question, or to one of its points.
pub(super) fn take_answer(
    app: &mut App,
    run: &RunId,
    question: &AttemptId,
    point: Option<usize>,
    text: &str,
) -> Vec<ScreenAction> {
    let text = text.trim();
    if let Some(at) = point {
        if let Some(Panel::Approval(panel)) = app.panel_mut() {
            if text.is_empty() {
                panel.replies.remove(&at);
            } else {
                panel.replies.insert(at, text.to_owned());
                panel.selected = at + 1;
            }
        }
        return Vec::new();
    }
    if text.is_empty() {
        app.complain("nothing was typed, so nothing was answered");
        return Vec::new();
    }
    let Some(asked) = app.question(run.as_str(), question).cloned() else {
        app.complain("the question was answered meanwhile");
        return Vec::new();
    };
    let words = decision_words(app, "answer", run, &asked, "", Some(text));
    run_command(app, words, Some(question.clone()))
}

/// Sends the answers to all points as one text, each with the number of its point.
fn send_replies(app: &mut App) -> Vec<ScreenAction> {
    let Some(Panel::Approval(panel)) = app.panel().cloned() else {
        return Vec::new();
    };
    let Some(asked) = app.question(panel.run.as_str(), &panel.question).cloned() else {
        return Vec::new();
    };
    if panel.replies.is_empty() {
        app.complain("answer at least one of the points first");
        return Vec::new();
    }
    let replies = panel.replies.iter();
    let replies: Vec<String> = replies
        .map(|(at, reply)| format!("{}. {reply}", at + 1))
        .collect();
    let text = replies.join("\n");
    let words = decision_words(app, "answer", &panel.run, &asked, "", Some(&text));
    run_command(app, words, Some(panel.question.clone()))
}

/// Gives the answer that is selected.
pub(super) fn choose_answer(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, asked)) = require_question(app) else {
        return Vec::new();
    };
    if asked.question.answers.is_empty() {
        return answer(app);
    }
    let selected = match app.panel() {
        Some(Panel::Approval(ApprovalPanel { selected, .. })) => *selected,
        _ => return Vec::new(),
    };
    let Some(choice) = asked.choices.get(selected).cloned() else {
        return Vec::new();
    };
    if choice.edits {
        let line = format!("`codeteam edit {run}` in another terminal opens it in your editor");
        app.note(line);
        return Vec::new();
    }
    // A vote on a change is given by the commands that know who votes.
    let is_vote = asked.approval.is_some();
    if choice.rejects || is_vote && choice.answer == REJECT {
        return reject(app);
    }
    if is_vote && choice.answer == OVERRIDE {
        return overriding::ask_reason(app, run, &asked);
    }
    let approves = is_vote && choice.answer == APPROVE;
    let words = if approves {
        decision_words(app, "approve", &run, &asked, "", None)
    } else {
        decision_words(app, "answer", &run, &asked, "", Some(&choice.answer))
    };
    let publishes = choice.about == "publish it";
    if (choice.accepts || approves) && is_grave(&asked, publishes) {
        return confirm_if_grave(app, &asked, words, publishes);
    }
    // Enter also opens panels, so one too many of them must not decide anything.
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: format!("Answer `{}` for {}?", choice.answer, asked.place()),
        lines: vec![choice.about.to_owned()],
        typed: None,
        then: ConfirmedCommand::Run(words, Some(asked.question.id.clone())),
    }));
    Vec::new()
}

/// Asks for a note that goes with the next decision.
pub(super) fn write_note(app: &mut App) -> Vec<ScreenAction> {
    let Some((_, asked)) = require_question(app) else {
        return Vec::new();
    };
    let question = asked.question.id.clone();
    let known = app.notes.get(&question.to_string()).cloned();
    typing::open_input(
        app,
        InputPurpose::Note { question },
        "A note that goes with your decision; the next worker reads it".to_owned(),
        TextInput::with_lines().with_text(&known.unwrap_or_default()),
    );
    Vec::new()
}

/// Signs the next vote on the question with the person's ssh key, or not.
pub(super) fn toggle_signing(app: &mut App) -> Vec<ScreenAction> {
    let Some((_, asked)) = require_question(app) else {
        return Vec::new();
    };
    if asked.approval.is_none() {
        app.complain("only a vote on a change that waits for an approval is signed");
        return Vec::new();
    }
    let id = asked.question.id.to_string();
    if app.signed.remove(&id) {
        app.note("your vote is not signed");
    } else {
        app.signed.insert(id);
        app.note("your vote is signed with git's `user.signingKey`; `:` takes `--key FILE`");
    }
    Vec::new()
}

/// Leaves the question for later, and shows the next one.
pub(super) fn decide_later(app: &mut App) -> Vec<ScreenAction> {
    let Some(Panel::Approval(panel)) = app.panel() else {
        return Vec::new();
    };
    app.later.insert(panel.question.to_string());
    let mut actions = open::close_panel(app);
    let next = app.inbox().into_iter().find_map(|item| match item {
        InboxItem::Question { run, question } if !app.later.contains(&question.to_string()) => {
            Some((run, question))
        }
        _ => None,
    });
    match next {
        Some((run, question)) => actions.extend(open::open_question(app, &run, question)),
        None => app.note("left for later; nothing else needs a decision"),
    }
    actions
}

/// Asks what the next worker should know, before something is tried again.
pub(super) fn retry(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, place)) = open::selected_place(app) else {
        return Vec::new();
    };
    let task = app
        .run_view(run.as_str())
        .and_then(|view| view.view().task(&place))
        .map(|task| task.id.0.clone());
    let what = task.as_deref().unwrap_or("everything that has failed");
    let title = format!("Retry {what}: what should the next worker know? (may be empty)");
    let purpose = InputPurpose::Retry { run, task };
    typing::open_input(app, purpose, title, TextInput::with_lines());
    Vec::new()
}

/// Tries again what has failed.
pub(super) fn send_retry(
    app: &mut App,
    run: &RunId,
    task: Option<&str>,
    note: &str,
) -> Vec<ScreenAction> {
    let mut words = vec!["retry".to_owned(), "--wait".to_owned()];
    words.extend(task.map(|task| format!("--task={task}")));
    if !note.trim().is_empty() {
        words.push(format!("--message={}", note.trim()));
    }
    words.push(run.0.clone());
    run_command(app, words, None)
}

/// Asks before a task is left out.
pub(super) fn skip_task(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, place)) = open::selected_place(app) else {
        return Vec::new();
    };
    let view = app.run_view(run.as_str());
    let Some(task) = view.and_then(|view| view.view().task(&place)) else {
        app.complain("select a task to leave it out");
        return Vec::new();
    };
    let lines = vec![
        format!("{} {}", task.id, task.title),
        "What was done for it is dropped; tasks that depend on it continue.".to_owned(),
    ];
    let words = ["skip", run.as_str(), task.id.as_str()];
    let words = words.map(str::to_owned).to_vec();
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: "Leave this task out?".to_owned(),
        lines,
        typed: None,
        then: ConfirmedCommand::Run(words, None),
    }));
    Vec::new()
}

/// Asks before a run is ended.
pub(super) fn abort(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, _)) = open::selected_place(app) else {
        return Vec::new();
    };
    if app.run_view(run.as_str()).is_none_or(LoadedRun::is_ended) {
        app.complain("the run has ended already");
        return Vec::new();
    }
    let words = ["abort", run.as_str()].map(str::to_owned).to_vec();
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: "End this run?".to_owned(),
        lines: vec![
            run.0.clone(),
            "Its workers are ended. Commits on its branch stay; `R` takes it up again.".to_owned(),
        ],
        typed: None,
        then: ConfirmedCommand::Run(words, None),
    }));
    Vec::new()
}

/// Goes on with a run that nobody drives. A limit that is reached must be raised for it.
pub(super) fn go_on(app: &mut App) -> Vec<ScreenAction> {
    let Some((run, _)) = open::selected_place(app) else {
        return Vec::new();
    };
    let Some(view) = app.run_view(run.as_str()).map(|run| run.view().clone()) else {
        app.complain("the run has ended; `R` retries what has failed");
        return Vec::new();
    };
    if view.is_ended() {
        app.complain("the run has ended; `R` retries what has failed");
        return Vec::new();
    }
    if app.is_driven(run.as_str()) && view.status != RunStatus::Limited {
        app.note("a process drives the run already");
        return Vec::new();
    }
    let view = view.with_driver(false);
    let step = view.next_steps.iter().find(|step| {
        matches!(
            step.action,
            NextAction::Resume { .. } | NextAction::LetWorkersGoOn
        )
    });
    let Some(step) = step else {
        return Vec::new();
    };
    let command = step.command.trim_start_matches("codeteam ");
    if let Some((command, _)) = command.rsplit_once(' ')
        && command.contains(" --max-")
    {
        // The new limit is typed in place of the word in capitals.
        app.note(format!("type the new limit; {}", step.note));
        return typing::edit_command(app, &format!("{command} "));
    }
    let mut words = split_words(command).unwrap_or_default();
    words.push("--wait".to_owned());
    app.overlay = Some(Overlay::Confirm(ConfirmBox {
        title: "Go on with this run?".to_owned(),
        lines: vec![
            run.0.clone(),
            "Workers are started. It goes on when the screen is left, too.".to_owned(),
        ],
        typed: None,
        then: ConfirmedCommand::Run(words, None),
    }));
    Vec::new()
}

/// Closes the question whether to leave if leaving no longer ends anything, because the run that it
/// asked about has ended meanwhile. Comments that were not sent are still asked about.
pub(super) fn ask_again_whether_to_leave(app: &mut App) {
    if let Some(Overlay::Confirm(asked)) = &app.overlay
        && matches!(asked.then, ConfirmedCommand::Leave)
    {
        app.overlay = leave_question(app).map(Overlay::Confirm);
    }
}

/// Leaves, and asks first if that ends something.
pub(super) fn leave(app: &mut App) -> Vec<ScreenAction> {
    let Some(question) = leave_question(app) else {
        return vec![ScreenAction::Quit];
    };
    app.overlay = Some(Overlay::Confirm(question));
    Vec::new()
}

/// Returns what leaving would end, as a question; nothing if it would end nothing.
fn leave_question(app: &App) -> Option<ConfirmBox> {
    let drafts: usize = app.comments.values().map(Vec::len).sum();
    let mut lines = Vec::new();
    let driven = app.driven_here.as_ref();
    let is_over = |run: &&RunId| app.run_view(run.as_str()).is_some_and(LoadedRun::is_ended);
    if let Some(run) = driven.filter(|run| !is_over(run)) {
        lines.push(format!("{run} is driven here: its workers are ended."));
        lines.push(format!("Nothing is lost; `codeteam resume {run}` goes on."));
    }
    if drafts > 0 {
        let drafts = count(drafts, "comment");
        lines.push(format!("{drafts} were not sent, and are not kept."));
    }
    let has_reason = !lines.is_empty();
    has_reason.then(|| ConfirmBox {
        title: "Leave?".to_owned(),
        lines,
        typed: None,
        then: ConfirmedCommand::Leave,
    })
}
