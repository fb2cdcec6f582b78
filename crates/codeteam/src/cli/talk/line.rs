//! A line editor for prompts: history, several lines, pastes as they are, commands completed by
//! Tab; and it lets go when what it asks for is no longer wanted.

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
pub(crate) use self::mode::calm;
use self::text::{CursorTarget, EditBuffer};
pub(super) use self::text::{goes_on, meant};
use super::history::PromptHistory;
use super::screen::{Screen, put};
use super::{LinePrompt, PromptInput};

/// How long an escape may take to become something longer.
const ESCAPE: Duration = Duration::from_millis(50);

/// Reads what a person writes at a terminal that can do more than print.
pub(super) struct LineEditor {
    history: PromptHistory,
    decoder: KeyDecoder,
    killed: String,
    /// What was typed before anybody asked.
    ahead: String,
}

/// A prompt that is up.
pub(crate) struct OpenPrompt {
    prompt: String,
    styled: String,
    text: EditBuffer,
    /// The row of the cursor, below the first one that is drawn.
    row: usize,
    /// On a terminal that can only print, nothing is drawn over.
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

    /// Takes the prompt off the screen.
    pub(super) fn erase(&mut self) {
        if self.plain {
            return put("\n");
        }
        let up = match self.row {
            0 => String::new(),
            n => format!("\u{1b}[{n}A"),
        };
        put(&format!("\r{up}\u{1b}[J"));
        self.row = 0;
    }

    /// Puts it on the screen, where the cursor is at the beginning of a line.
    pub(super) fn draw(&mut self) {
        if self.plain {
            return put(&self.prompt);
        }
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let (columns, height) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        let some = |n: u16, otherwise| if n == 0 { otherwise } else { usize::from(n) };
        let (columns, height) = (some(columns, 80), some(height, 24));
        let at = self.text.at();
        let layout = PromptLayout::of(&self.prompt, self.text.as_str(), at, columns, height);
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
        put(&shown);
        self.row = layout.row;
    }

    fn redraw(&mut self) {
        self.erase();
        self.draw();
    }

    /// Leaves what was written on the screen and goes on below it.
    fn leave(&mut self) {
        self.text = EditBuffer::new(self.text.as_str().to_owned());
        self.redraw();
        put("\n");
    }
}

/// What a key led to.
enum KeyOutcome {
    /// Nothing that others see.
    On,
    /// The prompt is to be drawn again.
    Draw,
    /// Something is to be shown above it.
    Above(String),
    /// The person is done.
    Done(PromptInput),
    /// codeteam is to be put to sleep.
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

    /// Reads what the person says.
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
        screen.open(open);
        let said = self.keys(screen, prompt, &mut raw);
        signal_hook::low_level::unregister(resized);
        if let Some(mut open) = screen.close() {
            match &said {
                Ok(PromptInput::Line(line)) => {
                    open.leave();
                    self.history.add(line);
                }
                // Half an answer to another question is still at hand.
                Ok(PromptInput::Overtaken) => {
                    open.erase();
                    self.history.remember(open.text.as_str());
                }
                _ => open.erase(),
            }
        }
        said
    }

    /// Takes in what was typed while the question was being shown: the terminal has made a new line
    /// of Enter then.
    fn take_ahead(&mut self) -> io::Result<()> {
        let ahead: Vec<u8> = typed()?
            .iter()
            .map(|b| if *b == b'\n' { b'\r' } else { *b })
            .collect();
        self.decoder.feed(&ahead);
        Ok(())
    }

    /// Keeps what was typed before anybody asked for the line that is to come. It answers nothing:
    /// nobody can have meant a question that they had not seen.
    pub(super) fn set_aside(&mut self) -> io::Result<()> {
        let typed = typed()?;
        let typed: String = String::from_utf8_lossy(&typed)
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        typed.trim().clone_into(&mut self.ahead);
        Ok(())
    }

    fn keys(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
        raw: &mut Option<RawMode>,
    ) -> io::Result<PromptInput> {
        loop {
            while let Some(key) = self.decoder.next(true) {
                if let Some(said) = self.act(screen, prompt, raw, key)? {
                    return Ok(said);
                }
            }
            let timeout = self.decoder.is_amid().then_some(ESCAPE);
            if !wait(screen, timeout)? && timeout.is_some() {
                while let Some(key) = self.decoder.next(false) {
                    if let Some(said) = self.act(screen, prompt, raw, key)? {
                        return Ok(said);
                    }
                }
            }
            let woken = drain(screen);
            if screen.is_overtaken() {
                return Ok(PromptInput::Overtaken);
            }
            if woken {
                screen.with(OpenPrompt::redraw);
            }
            if ready()? {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(io::stdin().as_fd(), &mut bytes)?;
                if n == 0 {
                    return Ok(PromptInput::Quit);
                }
                self.decoder.feed(&bytes[..n]);
            }
        }
    }

    fn act(
        &mut self,
        screen: &Screen,
        prompt: &LinePrompt<'_>,
        raw: &mut Option<RawMode>,
        key: KeyPress,
    ) -> io::Result<Option<PromptInput>> {
        let step = screen.with(|open| self.key(open, prompt, key));
        match step {
            None | Some(KeyOutcome::On) => {}
            Some(KeyOutcome::Draw) => {
                screen.with(OpenPrompt::redraw);
            }
            Some(KeyOutcome::Above(text)) => screen.say(&text),
            Some(KeyOutcome::Done(said)) => return Ok(Some(said)),
            Some(KeyOutcome::Suspend) => {
                screen.with(OpenPrompt::erase);
                drop(raw.take());
                rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
                *raw = Some(RawMode::enter()?);
                screen.with(OpenPrompt::draw);
            }
        }
        Ok(None)
    }

    fn key(&mut self, open: &mut OpenPrompt, prompt: &LinePrompt<'_>, key: KeyPress) -> KeyOutcome {
        let text = &mut open.text;
        let is_empty = text.as_str().is_empty();
        match key {
            KeyPress::Char(c) if is_empty && prompt.keys.contains(&c) => {
                return KeyOutcome::Done(PromptInput::Key(c));
            }
            KeyPress::Char(c) => text.insert(c.encode_utf8(&mut [0; 4])),
            KeyPress::Paste(pasted) => text.insert(&pasted),
            KeyPress::NewLine => text.insert("\n"),
            KeyPress::Enter if text.at() == text.as_str().len() && goes_on(text.as_str()) => {
                text.insert("\n");
            }
            KeyPress::Enter => {
                return KeyOutcome::Done(PromptInput::Line(text.as_str().to_owned()));
            }
            KeyPress::Tab => return complete(text, prompt.commands),
            KeyPress::Ctrl('c' | 'd') if is_empty => return KeyOutcome::Done(PromptInput::Quit),
            KeyPress::Ctrl('c') => *text = EditBuffer::default(),
            KeyPress::Ctrl('z') => return KeyOutcome::Suspend,
            KeyPress::Ctrl('l') => put("\u{1b}[H\u{1b}[2J"),
            KeyPress::Up | KeyPress::Ctrl('p') if text.line_start() > 0 => {
                text.go(CursorTarget::Above);
            }
            KeyPress::Down | KeyPress::Ctrl('n') if text.line_end() < text.as_str().len() => {
                text.go(CursorTarget::Below);
            }
            KeyPress::Up | KeyPress::Ctrl('p') => recall(text, self.history.older(text.as_str())),
            KeyPress::Down | KeyPress::Ctrl('n') => recall(text, self.history.newer()),
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
        text.go(to);
        KeyOutcome::Draw
    }
}

fn recall(text: &mut EditBuffer, entry: Option<String>) {
    if let Some(entry) = entry {
        *text = EditBuffer::new(entry);
    }
}

/// Completes a command, as far as it is clear.
fn complete(text: &mut EditBuffer, commands: &[String]) -> KeyOutcome {
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

/// Waits for keys or for somebody who wakes.
pub(super) fn wait(screen: &Screen, timeout: Option<Duration>) -> io::Result<bool> {
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

/// What was typed and not read yet.
pub(super) fn typed() -> io::Result<Vec<u8>> {
    let mut typed = Vec::new();
    let mut bytes = [0; 4096];
    // A terminal gives one line at a time.
    while ready()? {
        match rustix::io::read(io::stdin().as_fd(), &mut bytes)? {
            0 => break,
            n => typed.extend_from_slice(&bytes[..n]),
        }
    }
    Ok(typed)
}

/// Whether keys have come.
pub(super) fn ready() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(n) => Ok(n > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether somebody woke; they need not wake twice.
pub(super) fn drain(screen: &Screen) -> bool {
    let mut bytes = [0; 64];
    let (mut pipe, mut woken) = (screen.woken(), false);
    while pipe.read(&mut bytes).is_ok_and(|n| n > 0) {
        woken = true;
    }
    woken
}
