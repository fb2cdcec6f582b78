//! A line editor for prompts with history, several lines, verbatim pastes, and Tab completion of
//! commands. It gives up when the question is no longer open.

mod draw;
mod keys;
mod mode;
mod text;

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::draw::PromptLayout;
use self::keys::{KeyDecoder, KeyPress};
use self::mode::RawMode;
pub(crate) use self::mode::restore_terminal;
use self::text::{CursorTarget, EditBuffer};
pub(super) use self::text::{is_incomplete, unquote_input};
use super::history::PromptHistory;
use super::screen::{Screen, write_terminal};
use super::{LinePrompt, PromptInput};

/// How long to wait for the rest of an escape sequence.
const ESCAPE: Duration = Duration::from_millis(50);

/// Reads a person's input on a terminal with cursor control.
pub(super) struct LineEditor {
    history: PromptHistory,
    decoder: KeyDecoder,
    killed: String,
    /// Text typed before the prompt was shown.
    ahead: String,
}

/// A prompt on the screen.
pub(crate) struct OpenPrompt {
    prompt: String,
    styled: String,
    text: EditBuffer,
    /// The cursor's row, counted from the first row drawn.
    row: usize,
    /// Whether the terminal can only print, so that nothing can be redrawn.
    plain: bool,
}

impl OpenPrompt {
    pub(super) fn new(prompt: &LinePrompt<'_>) -> Self {
        Self {
            prompt: prompt.text.to_owned(),
            styled: prompt.style.cyan(prompt.text),
            text: EditBuffer::default(),
            row: 0,
            plain: false,
        }
    }

    pub(super) fn plain(prompt: &LinePrompt<'_>) -> Self {
        Self {
            plain: true,
            ..Self::new(prompt)
        }
    }

    /// Removes the prompt from the screen.
    pub(super) fn erase(&mut self) {
        if self.plain {
            return write_terminal("\n");
        }
        let up = match self.row {
            0 => String::new(),
            n => format!("\u{1b}[{n}A"),
        };
        write_terminal(&format!("\r{up}\u{1b}[J"));
        self.row = 0;
    }

    /// Draws the prompt; the cursor must be at the beginning of a line.
    pub(super) fn draw(&mut self) {
        if self.plain {
            return write_terminal(&self.prompt);
        }
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let (columns, height) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        let some = |n: u16, otherwise| if n == 0 { otherwise } else { usize::from(n) };
        let (columns, height) = (some(columns, 80), some(height, 24));
        let at = self.text.cursor();
        let layout = PromptLayout::lay_out(&self.prompt, self.text.as_str(), at, columns, height);
        let mut shown = layout.rows.join("\n");
        if let Some(rest) = shown.strip_prefix(&self.prompt) {
            shown = format!("{}{rest}", self.styled);
        }
        let below = layout.rows.len() - 1 - layout.row;
        if below > 0 {
            let _ = write!(shown, "\u{1b}[{below}A");
        }
        shown.push('\r');
        if layout.column > 0 {
            let _ = write!(shown, "\u{1b}[{}C", layout.column);
        }
        write_terminal(&shown);
        self.row = layout.row;
    }

    fn redraw(&mut self) {
        self.erase();
        self.draw();
    }

    /// Leaves the input on the screen and continues below it.
    fn leave(&mut self) {
        self.text = EditBuffer::new(self.text.as_str().to_owned());
        self.redraw();
        write_terminal("\n");
    }
}

/// The effect of a key.
enum KeyOutcome {
    /// Nothing visible.
    On,
    /// The prompt must be redrawn.
    Draw,
    /// A text must be shown above the prompt.
    Above(String),
    /// The input is complete.
    Done(PromptInput),
    /// codeteam must be suspended.
    Suspend,
}

impl LineEditor {
    pub(super) fn new(history: PromptHistory) -> Self {
        Self {
            history,
            decoder: KeyDecoder::default(),
            killed: String::new(),
            ahead: String::new(),
        }
    }

    /// Reads the person's input.
    pub(super) fn read(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
    ) -> io::Result<PromptInput> {
        let mut raw = Some(RawMode::enter()?);
        self.take_ahead()?;
        let resized = screen.on_resize()?;
        self.history.rewind();
        let mut open = OpenPrompt::new(prompt);
        open.text.insert(&std::mem::take(&mut self.ahead));
        screen.open_prompt(open);
        let said = self.read_keys(screen, prompt, &mut raw);
        signal_hook::low_level::unregister(resized);
        if let Some(mut open) = screen.close_prompt() {
            match &said {
                Ok(PromptInput::Line(line)) => {
                    open.leave();
                    self.history.add(line);
                }
                // Half an answer to another question stays available in the history.
                Ok(PromptInput::Overtaken) => {
                    open.erase();
                    self.history.remember(open.text.as_str());
                }
                _ => open.erase(),
            }
        }
        said
    }

    /// Reads what was typed while the question was being shown. The terminal has turned Enter into
    /// a line feed by then.
    fn take_ahead(&mut self) -> io::Result<()> {
        let ahead: Vec<u8> = read_typed()?
            .iter()
            .map(|b| if *b == b'\n' { b'\r' } else { *b })
            .collect();
        self.decoder.feed(&ahead);
        Ok(())
    }

    /// Keeps text typed before the prompt was shown for the coming line. It answers nothing: nobody
    /// can have meant a question that they had not seen.
    pub(super) fn set_aside(&mut self) -> io::Result<()> {
        let typed = read_typed()?;
        let typed: String = String::from_utf8_lossy(&typed)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        typed.trim().clone_into(&mut self.ahead);
        Ok(())
    }

    fn read_keys(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
        raw: &mut Option<RawMode>,
    ) -> io::Result<PromptInput> {
        loop {
            while let Some(key) = self.decoder.next_key(true) {
                if let Some(said) = self.handle_key(screen, prompt, raw, key)? {
                    return Ok(said);
                }
            }
            let timeout = self.decoder.is_incomplete().then_some(ESCAPE);
            if !wait_for_input(screen, timeout)? && timeout.is_some() {
                while let Some(key) = self.decoder.next_key(false) {
                    if let Some(said) = self.handle_key(screen, prompt, raw, key)? {
                        return Ok(said);
                    }
                }
            }
            let woken = drain_wakeups(screen);
            if screen.is_cancelled() {
                return Ok(PromptInput::Overtaken);
            }
            if woken {
                screen.with_prompt(OpenPrompt::redraw);
            }
            if has_input()? {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(io::stdin().as_fd(), &mut bytes)?;
                if n == 0 {
                    return Ok(PromptInput::Quit);
                }
                self.decoder.feed(&bytes[..n]);
            }
        }
    }

    fn handle_key(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
        raw: &mut Option<RawMode>,
        key: KeyPress,
    ) -> io::Result<Option<PromptInput>> {
        let step = screen.with_prompt(|open| self.apply_key(open, prompt, key));
        match step {
            None | Some(KeyOutcome::On) => {}
            Some(KeyOutcome::Draw) => {
                screen.with_prompt(OpenPrompt::redraw);
            }
            Some(KeyOutcome::Above(text)) => screen.print(&text),
            Some(KeyOutcome::Done(said)) => return Ok(Some(said)),
            Some(KeyOutcome::Suspend) => {
                screen.with_prompt(OpenPrompt::erase);
                drop(raw.take());
                rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
                *raw = Some(RawMode::enter()?);
                screen.with_prompt(OpenPrompt::draw);
            }
        }
        Ok(None)
    }

    fn apply_key(
        &mut self,
        open: &mut OpenPrompt,
        prompt: &LinePrompt<'_>,
        key: KeyPress,
    ) -> KeyOutcome {
        let text = &mut open.text;
        let is_empty = text.as_str().is_empty();
        match key {
            KeyPress::Char(c) if is_empty && prompt.keys.contains(&c) => {
                return KeyOutcome::Done(PromptInput::Key(c));
            }
            KeyPress::Char(c) => text.insert(c.encode_utf8(&mut [0; 4])),
            KeyPress::Paste(pasted) => text.insert(&pasted),
            KeyPress::NewLine => text.insert("\n"),
            KeyPress::Enter
                if text.cursor() == text.as_str().len() && is_incomplete(text.as_str()) =>
            {
                text.insert("\n");
            }
            KeyPress::Enter => {
                return KeyOutcome::Done(PromptInput::Line(text.as_str().to_owned()));
            }
            KeyPress::Tab => return complete_command(text, prompt.commands),
            KeyPress::Ctrl('c' | 'd') if is_empty => return KeyOutcome::Done(PromptInput::Quit),
            KeyPress::Ctrl('c') => *text = EditBuffer::default(),
            KeyPress::Ctrl('z') => return KeyOutcome::Suspend,
            KeyPress::Ctrl('l') => write_terminal("\u{1b}[H\u{1b}[2J"),
            KeyPress::Up | KeyPress::Ctrl('p') if text.line_start() > 0 => {
                text.move_to(CursorTarget::Above);
            }
            KeyPress::Down | KeyPress::Ctrl('n') if text.line_end() < text.as_str().len() => {
                text.move_to(CursorTarget::Below);
            }
            KeyPress::Up | KeyPress::Ctrl('p') => {
                recall_entry(text, self.history.older(text.as_str()));
            }
            KeyPress::Down | KeyPress::Ctrl('n') => recall_entry(text, self.history.newer()),
            KeyPress::Ctrl('y') => text.insert(&self.killed),
            key => return self.move_or_kill(text, &key),
        }
        KeyOutcome::Draw
    }

    fn move_or_kill(&mut self, text: &mut EditBuffer, key: &KeyPress) -> KeyOutcome {
        let to = match key {
            KeyPress::Left | KeyPress::Ctrl('b') => CursorTarget::Left,
            KeyPress::Right | KeyPress::Ctrl('f') => CursorTarget::Right,
            KeyPress::WordLeft | KeyPress::Alt('b') => CursorTarget::WordLeft,
            KeyPress::WordRight | KeyPress::Alt('f') => CursorTarget::WordRight,
            KeyPress::Home | KeyPress::Ctrl('a') => CursorTarget::LineStart,
            KeyPress::End | KeyPress::Ctrl('e') => CursorTarget::LineEnd,
            KeyPress::Backspace => {
                text.kill(CursorTarget::Left);
                return KeyOutcome::Draw;
            }
            KeyPress::Delete | KeyPress::Ctrl('d') => {
                text.kill(CursorTarget::Right);
                return KeyOutcome::Draw;
            }
            KeyPress::KillWord | KeyPress::Ctrl('w') => {
                self.killed = text.kill(CursorTarget::WordLeft);
                return KeyOutcome::Draw;
            }
            KeyPress::Alt('d') => {
                self.killed = text.kill(CursorTarget::WordRight);
                return KeyOutcome::Draw;
            }
            KeyPress::Ctrl('k') => {
                self.killed = text.kill(CursorTarget::LineEnd);
                return KeyOutcome::Draw;
            }
            KeyPress::Ctrl('u') => {
                self.killed = text.kill(CursorTarget::LineStart);
                return KeyOutcome::Draw;
            }
            _ => return KeyOutcome::On,
        };
        text.move_to(to);
        KeyOutcome::Draw
    }
}

fn recall_entry(text: &mut EditBuffer, entry: Option<String>) {
    if let Some(entry) = entry {
        *text = EditBuffer::new(entry);
    }
}

/// Completes a command, as far as it is unambiguous.
fn complete_command(text: &mut EditBuffer, commands: &[String]) -> KeyOutcome {
    let typed = text.before().to_owned();
    if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
        return KeyOutcome::On;
    }
    let fitting: Vec<&str> = commands
        .iter()
        .map(String::as_str)
        .filter(|command| command.starts_with(&typed))
        .collect();
    let Some(first) = fitting.first() else {
        return KeyOutcome::On;
    };
    if fitting.len() == 1 {
        text.replace_before(0, &format!("{first} "));
        return KeyOutcome::Draw;
    }
    let common = fitting.iter().skip(1).fold(first.len(), |common, other| {
        let same = first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        common.min(same.count())
    });
    if common > typed.len() {
        text.replace_before(0, &first[..common]);
        return KeyOutcome::Draw;
    }
    KeyOutcome::Above(fitting.join("  "))
}

/// Waits for keys or for a wake-up.
pub(super) fn wait_for_input(screen: &Screen, timeout: Option<Duration>) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [
        PollFd::new(&stdin, PollFlags::IN),
        PollFd::new(screen.woken(), PollFlags::IN),
    ];
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(n) => Ok(n > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Returns what was typed and not read yet.
pub(super) fn read_typed() -> io::Result<Vec<u8>> {
    let mut typed = Vec::new();
    let mut bytes = [0; 4096];
    // A terminal returns one line at a time.
    while has_input()? {
        match rustix::io::read(io::stdin().as_fd(), &mut bytes)? {
            0 => break,
            n => typed.extend_from_slice(&bytes[..n]),
        }
    }
    Ok(typed)
}

/// Returns true if there is input to read.
pub(super) fn has_input() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(n) => Ok(n > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Consumes pending wake-ups, and returns true if there were any.
pub(super) fn drain_wakeups(screen: &Screen) -> bool {
    let mut bytes = [0; 64];
    let (mut pipe, mut woken) = (screen.woken(), false);
    while pipe.read(&mut bytes).is_ok_and(|n| n > 0) {
        woken = true;
    }
    woken
}
