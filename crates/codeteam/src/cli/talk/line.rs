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

use self::draw::Layout;
use self::keys::{Decoder, Key};
use self::mode::Raw;
pub(crate) use self::mode::calm;
use self::text::{Place, Text};
pub(super) use self::text::{goes_on, meant};
use super::history::History;
use super::screen::{Screen, put};
use super::{Prompt, Said};

/// How long an escape may take to become something longer.
const ESCAPE: Duration = Duration::from_millis(50);

/// Reads what a person writes at a terminal that can do more than print.
pub(super) struct Editor {
    history: History,
    decoder: Decoder,
    killed: String,
    /// What was typed before anybody asked.
    ahead: String,
}

/// A prompt that is up.
pub(crate) struct Open {
    prompt: String,
    styled: String,
    text: Text,
    /// The row of the cursor, below the first one that is drawn.
    row: usize,
    /// On a terminal that can only print, nothing is drawn over.
    plain: bool,
}

impl Open {
    pub(super) fn new(prompt: &Prompt<'_>) -> Self {
        Self {
            prompt: prompt.text.to_owned(),
            styled: prompt.style.cyan(prompt.text),
            text: Text::default(),
            row: 0,
            plain: false,
        }
    }

    pub(super) fn plain(prompt: &Prompt<'_>) -> Self {
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
        let layout = Layout::of(&self.prompt, self.text.as_str(), at, columns, height);
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
        self.text = Text::new(self.text.as_str().to_owned());
        self.redraw();
        put("\n");
    }
}

/// What a key led to.
enum Step {
    /// Nothing that others see.
    On,
    /// The prompt is to be drawn again.
    Draw,
    /// Something is to be shown above it.
    Above(String),
    /// The person is done.
    Done(Said),
    /// codeteam is to be put to sleep.
    Suspend,
}

impl Editor {
    pub(super) fn new(history: History) -> Self {
        Self {
            history,
            decoder: Decoder::default(),
            killed: String::new(),
            ahead: String::new(),
        }
    }

    /// Reads what the person says.
    pub(super) fn read(&mut self, screen: &Screen, prompt: &Prompt<'_>) -> io::Result<Said> {
        let mut raw = Some(Raw::enter()?);
        self.take_ahead()?;
        let resized = screen.on_resize()?;
        self.history.rewind();
        let mut open = Open::new(prompt);
        open.text.insert(&std::mem::take(&mut self.ahead));
        screen.open(open);
        let said = self.keys(screen, prompt, &mut raw);
        signal_hook::low_level::unregister(resized);
        if let Some(mut open) = screen.close() {
            match &said {
                Ok(Said::Line(line)) => {
                    open.leave();
                    self.history.add(line);
                }
                // Half an answer to another question is still at hand.
                Ok(Said::Overtaken) => {
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
        prompt: &Prompt<'_>,
        raw: &mut Option<Raw>,
    ) -> io::Result<Said> {
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
                return Ok(Said::Overtaken);
            }
            if woken {
                screen.with(Open::redraw);
            }
            if ready()? {
                let mut bytes = [0; 4096];
                let n = rustix::io::read(io::stdin().as_fd(), &mut bytes)?;
                if n == 0 {
                    return Ok(Said::Quit);
                }
                self.decoder.feed(&bytes[..n]);
            }
        }
    }

    fn act(
        &mut self,
        screen: &Screen,
        prompt: &Prompt<'_>,
        raw: &mut Option<Raw>,
        key: Key,
    ) -> io::Result<Option<Said>> {
        let step = screen.with(|open| self.key(open, prompt, key));
        match step {
            None | Some(Step::On) => {}
            Some(Step::Draw) => {
                screen.with(Open::redraw);
            }
            Some(Step::Above(text)) => screen.say(&text),
            Some(Step::Done(said)) => return Ok(Some(said)),
            Some(Step::Suspend) => {
                screen.with(Open::erase);
                drop(raw.take());
                rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
                *raw = Some(Raw::enter()?);
                screen.with(Open::draw);
            }
        }
        Ok(None)
    }

    fn key(&mut self, open: &mut Open, prompt: &Prompt<'_>, key: Key) -> Step {
        let text = &mut open.text;
        let is_empty = text.as_str().is_empty();
        match key {
            Key::Char(c) if is_empty && prompt.keys.contains(&c) => {
                return Step::Done(Said::Key(c));
            }
            Key::Char(c) => text.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(pasted) => text.insert(&pasted),
            Key::NewLine => text.insert("\n"),
            Key::Enter if text.at() == text.as_str().len() && goes_on(text.as_str()) => {
                text.insert("\n");
            }
            Key::Enter => return Step::Done(Said::Line(text.as_str().to_owned())),
            Key::Tab => return complete(text, prompt.commands),
            Key::Ctrl('c' | 'd') if is_empty => return Step::Done(Said::Quit),
            Key::Ctrl('c') => *text = Text::default(),
            Key::Ctrl('z') => return Step::Suspend,
            Key::Ctrl('l') => put("\u{1b}[H\u{1b}[2J"),
            Key::Up | Key::Ctrl('p') if text.line_start() > 0 => text.go(Place::Above),
            Key::Down | Key::Ctrl('n') if text.line_end() < text.as_str().len() => {
                text.go(Place::Below);
            }
            Key::Up | Key::Ctrl('p') => recall(text, self.history.older(text.as_str())),
            Key::Down | Key::Ctrl('n') => recall(text, self.history.newer()),
            Key::Ctrl('y') => text.insert(&self.killed),
            key => return self.move_or_kill(text, &key),
        }
        Step::Draw
    }

    fn move_or_kill(&mut self, text: &mut Text, key: &Key) -> Step {
        let to = match key {
            Key::Left | Key::Ctrl('b') => Place::Left,
            Key::Right | Key::Ctrl('f') => Place::Right,
            Key::WordLeft | Key::Alt('b') => Place::WordLeft,
            Key::WordRight | Key::Alt('f') => Place::WordRight,
            Key::Home | Key::Ctrl('a') => Place::LineStart,
            Key::End | Key::Ctrl('e') => Place::LineEnd,
            Key::Backspace => {
                text.kill(Place::Left);
                return Step::Draw;
            }
            Key::Delete | Key::Ctrl('d') => {
                text.kill(Place::Right);
                return Step::Draw;
            }
            Key::KillWord | Key::Ctrl('w') => {
                self.killed = text.kill(Place::WordLeft);
                return Step::Draw;
            }
            Key::Alt('d') => {
                self.killed = text.kill(Place::WordRight);
                return Step::Draw;
            }
            Key::Ctrl('k') => {
                self.killed = text.kill(Place::LineEnd);
                return Step::Draw;
            }
            Key::Ctrl('u') => {
                self.killed = text.kill(Place::LineStart);
                return Step::Draw;
            }
            _ => return Step::On,
        };
        text.go(to);
        Step::Draw
    }
}

fn recall(text: &mut Text, entry: Option<String>) {
    if let Some(entry) = entry {
        *text = Text::new(entry);
    }
}

/// Completes a command, as far as it is clear.
fn complete(text: &mut Text, commands: &[String]) -> Step {
    let typed = text.before().to_owned();
    if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
        return Step::On;
    }
    let fitting: Vec<&str> = commands
        .iter()
        .map(String::as_str)
        .filter(|command| command.starts_with(&typed))
        .collect();
    let Some(first) = fitting.first() else {
        return Step::On;
    };
    if fitting.len() == 1 {
        text.replace_before(0, &format!("{first} "));
        return Step::Draw;
    }
    let common = fitting.iter().skip(1).fold(first.len(), |common, other| {
        let same = first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        common.min(same.count())
    });
    if common > typed.len() {
        text.replace_before(0, &first[..common]);
        return Step::Draw;
    }
    Step::Above(fitting.join("  "))
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
