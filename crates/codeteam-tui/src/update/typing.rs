//! What is typed into what lies above a panel.

use codeteam_engine::attempt_log::LogAnchor;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{command_line, commenting, completing, decide, open, overriding, searching};
use crate::keys::is_searched;
use crate::message::ScreenAction;
use crate::state::{
    App, ConfirmBox, ConfirmedCommand, InputBox, InputPurpose, Overlay, Panel, TextInput,
};

/// Opens a box in which a text is typed.
pub(super) fn open_input(app: &mut App, purpose: InputPurpose, title: String, input: TextInput) {
    app.overlay = Some(Overlay::Input(InputBox {
        purpose,
        title,
        input,
        recalled: 0,
    }));
}

/// Asks what is searched for, or in a list which rows are listed.
pub(super) fn edit_filter(app: &mut App) -> Vec<ScreenAction> {
    let Some(panel) = app.panel().filter(|panel| panel.cursor().is_some()) else {
        app.note("there is nothing to search here; `d` shows the diff, `v` the report");
        return Vec::new();
    };
    if is_searched(panel.kind()) {
        open_input(app, InputPurpose::Search, "/".to_owned(), TextInput::new());
        return Vec::new();
    }
    open_filter(app, "/")
}

/// Asks which lines are shown, where `/` searches.
pub(super) fn edit_line_filter(app: &mut App) -> Vec<ScreenAction> {
    open_filter(app, "&")
}

fn open_filter(app: &mut App, title: &str) -> Vec<ScreenAction> {
    let Some(cursor) = app.panel().and_then(Panel::cursor) else {
        return Vec::new();
    };
    let input = TextInput::new().with_text(&cursor.filter);
    open_input(app, InputPurpose::Filter, title.to_owned(), input);
    Vec::new()
}

/// Asks for a command of codeteam.
pub(super) fn edit_command(app: &mut App, text: &str) -> Vec<ScreenAction> {
    let input = TextInput::new().with_text(text);
    open_input(app, InputPurpose::Command, ":".to_owned(), input);
    Vec::new()
}

/// Takes a pasted text. Nothing in it is a key: outside of a text it is refused.
pub(super) fn paste(app: &mut App, text: &str) -> Vec<ScreenAction> {
    let is_whole = match &mut app.overlay {
        Some(Overlay::Input(input)) => input.input.insert(text),
        Some(Overlay::Confirm(ConfirmBox {
            typed: Some((_, input)),
            ..
        })) => input.insert(text),
        _ => {
            app.complain("a pasted text is taken only where something is typed");
            return Vec::new();
        }
    };
    if !is_whole {
        app.complain("the text is too long; its end was left out");
    }
    filter_as_typed(app)
}

/// Takes a key while something lies above the panel.
pub(super) fn press_in_overlay(app: &mut App, pressed: KeyEvent) -> Vec<ScreenAction> {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    if control && pressed.code == KeyCode::Char('z') {
        return vec![ScreenAction::Suspend];
    }
    if pressed.code == KeyCode::Esc || (control && pressed.code == KeyCode::Char('c')) {
        return cancel(app);
    }
    match &mut app.overlay {
        Some(Overlay::Help(top)) => {
            match pressed.code {
                KeyCode::Char('j') | KeyCode::Down => *top += 1,
                KeyCode::Char('k') | KeyCode::Up => *top = top.saturating_sub(1),
                KeyCode::PageDown | KeyCode::Char(' ') => *top += 10,
                KeyCode::PageUp => *top = top.saturating_sub(10),
                _ => app.overlay = None,
            }
            Vec::new()
        }
        Some(Overlay::Confirm(_)) => press_in_confirm(app, pressed),
        Some(Overlay::Input(_)) => press_in_input(app, pressed),
        None => Vec::new(),
    }
}

/// Closes what lies above the panel; nothing has happened.
fn cancel(app: &mut App) -> Vec<ScreenAction> {
    let was_filter = matches!(
        app.overlay.take(),
        Some(Overlay::Input(InputBox {
            purpose: InputPurpose::Filter,
            ..
        }))
    );
    if was_filter {
        return set_filter(app, "");
    }
    Vec::new()
}

fn press_in_confirm(app: &mut App, pressed: KeyEvent) -> Vec<ScreenAction> {
    let Some(Overlay::Confirm(confirm)) = &mut app.overlay else {
        return Vec::new();
    };
    let is_confirmed = match &mut confirm.typed {
        None => match pressed.code {
            KeyCode::Char('y' | 'Y') => true,
            KeyCode::Char('n' | 'N') => return cancel(app),
            // No other key decides: whoever typed ahead has not read the question.
            _ => return Vec::new(),
        },
        Some((wanted, input)) => {
            if pressed.code == KeyCode::Enter {
                input.text().trim() == wanted
            } else {
                edit_text(input, pressed);
                return Vec::new();
            }
        }
    };
    if !is_confirmed {
        app.complain("that is not the name; nothing was done");
        return Vec::new();
    }
    let Some(Overlay::Confirm(confirm)) = app.overlay.take() else {
        return Vec::new();
    };
    match confirm.then {
        ConfirmedCommand::Run(words, decides) => decide::run_command(app, words, decides),
        ConfirmedCommand::Leave => vec![ScreenAction::Quit],
    }
}

fn press_in_input(app: &mut App, pressed: KeyEvent) -> Vec<ScreenAction> {
    let Some(Overlay::Input(input)) = &mut app.overlay else {
        return Vec::new();
    };
    let is_command = input.purpose == InputPurpose::Command;
    match pressed.code {
        KeyCode::Enter if pressed.modifiers.contains(KeyModifiers::ALT) => {
            input.input.break_line();
        }
        KeyCode::Enter => return submit(app),
        KeyCode::Tab if is_command => return completing::complete(app),
        KeyCode::Up if is_command => recall(app, 1),
        KeyCode::Down if is_command => recall(app, -1),
        KeyCode::Backspace if input.input.text().is_empty() && !input.input.has_lines() => {
            return cancel(app);
        }
        _ => {
            let is_break = pressed.code == KeyCode::Char('j')
                && pressed.modifiers.contains(KeyModifiers::CONTROL);
            if is_break {
                input.input.break_line();
            } else {
                edit_text(&mut input.input, pressed);
            }
            return filter_as_typed(app);
        }
    }
    Vec::new()
}

/// Changes a text by a key.
fn edit_text(input: &mut TextInput, pressed: KeyEvent) {
    let control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    match pressed.code {
        KeyCode::Char('a') if control => input.move_home(),
        KeyCode::Char('e') if control => input.move_end(),
        KeyCode::Char('u') if control => input.delete_to_start(),
        KeyCode::Char('w') if control => input.delete_word(),
        KeyCode::Char('h') if control => input.delete_back(),
        KeyCode::Char(_) if control => {}
        KeyCode::Char(c) => {
            input.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Backspace => input.delete_back(),
        KeyCode::Delete => input.delete(),
        KeyCode::Left => input.move_left(),
        KeyCode::Right => input.move_right(),
        KeyCode::Home => input.move_home(),
        KeyCode::End => input.move_end(),
        _ => {}
    }
}

/// Shows an earlier command, or a later one.
fn recall(app: &mut App, step: isize) {
    let earlier = &app.typed_commands;
    let Some(Overlay::Input(input)) = &mut app.overlay else {
        return;
    };
    let recalled = input
        .recalled
        .saturating_add_signed(step)
        .min(earlier.len());
    input.recalled = recalled;
    let text = match recalled {
        0 => "",
        n => &earlier[earlier.len() - n],
    };
    input.input = TextInput::new().with_text(text);
}

/// Applies a filter while it is typed.
fn filter_as_typed(app: &mut App) -> Vec<ScreenAction> {
    match &app.overlay {
        Some(Overlay::Input(InputBox {
            purpose: InputPurpose::Filter,
            input,
            ..
        })) => {
            let text = input.text().to_owned();
            set_filter(app, &text)
        }
        _ => Vec::new(),
    }
}

fn set_filter(app: &mut App, text: &str) -> Vec<ScreenAction> {
    let Some(cursor) = app.panel_mut().and_then(Panel::cursor_mut) else {
        return Vec::new();
    };
    if cursor.filter != text {
        text.clone_into(&mut cursor.filter);
        cursor.selected = 0;
        cursor.found = None;
        if let Some(Panel::Log(_)) = app.panel() {
            return open::request_log(app, LogAnchor::End);
        }
    }
    Vec::new()
}

/// Does what the typed text is for.
fn submit(app: &mut App) -> Vec<ScreenAction> {
    let Some(Overlay::Input(input)) = app.overlay.take() else {
        return Vec::new();
    };
    let text = input.input.text().to_owned();
    match input.purpose {
        InputPurpose::Reject { run, question } => {
            decide::send_rejection(app, &run, &question, &text)
        }
        InputPurpose::Override { run, question } => {
            overriding::confirm_override(app, &run, &question, &text)
        }
        InputPurpose::Answer {
            run,
            question,
            point,
        } => decide::take_answer(app, &run, &question, point, &text),
        InputPurpose::Note { question } => {
            if text.trim().is_empty() {
                app.notes.remove(&question.to_string());
            } else {
                app.notes.insert(question.to_string(), text);
            }
            Vec::new()
        }
        InputPurpose::Retry { run, task } => decide::send_retry(app, &run, task.as_deref(), &text),
        InputPurpose::Comment => commenting::keep_comment(app, &text),
        InputPurpose::Filter => set_filter(app, &text),
        InputPurpose::Search => searching::search(app, &text),
        InputPurpose::Command => command_line::run_typed(app, &text),
    }
}
