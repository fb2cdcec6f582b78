//! The terminal: taken over while the screen is shown, and given back whatever happens.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use base64::Engine as _;
use codeteam_engine::env::Failpoint;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    SetTitle, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute, queue};
use ratatui::layout::Rect;
use rustix::process::{Signal, getpid, kill_process};

use crate::draw::{Theme, draw};
use crate::state::App;

/// Whether the terminal is taken over.
static IS_OPEN: AtomicBool = AtomicBool::new(false);
/// Whether the mouse is captured.
static HAS_MOUSE: AtomicBool = AtomicBool::new(false);
/// Held while something is drawn, so that nothing is drawn after the terminal was given back.
static DRAWING: Mutex<()> = Mutex::new(());

/// Why there can be no screen here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenProblem {
    /// Standard input or standard output is not a terminal.
    NoTerminal,
    /// The terminal cannot move its cursor.
    DumbTerminal,
}

/// Finds out whether there can be a screen here. `is_dumb` says that the terminal can only print.
pub fn check_terminal(is_dumb: bool) -> Result<(), ScreenProblem> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(ScreenProblem::NoTerminal);
    }
    if is_dumb {
        return Err(ScreenProblem::DumbTerminal);
    }
    Ok(())
}

/// The terminal while the screen is shown. Dropping it gives the terminal back.
pub(crate) struct OpenTerminal {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    theme: Theme,
    /// How often it was drawn.
    drawn: u64,
    /// Where a test wants a panic.
    failpoint: Option<Failpoint>,
}

impl OpenTerminal {
    /// Takes the terminal over. From here on, a panic gives it back before it is reported.
    pub(crate) fn open(theme: Theme, failpoint: Option<Failpoint>) -> io::Result<Self> {
        restore_on_panic();
        take_over()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        if terminal.is_err() {
            restore_terminal();
        }
        Ok(Self {
            terminal: terminal?,
            theme,
            drawn: 0,
            failpoint,
        })
    }

    /// Returns its size.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    /// Draws the state, unless the terminal was given back meanwhile.
    pub(crate) fn draw(&mut self, app: &App) -> io::Result<()> {
        let _drawing = DRAWING.lock();
        if !IS_OPEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        // What is drawn between these appears at once, where the terminal knows of it.
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        let theme = self.theme;
        self.drawn += 1;
        let fails = self.failpoint == Some(Failpoint::Drawn(self.drawn));
        self.terminal.autoresize()?;
        let drawn = self.terminal.draw(|frame| {
            draw(app, theme, frame);
            assert!(!fails, "a test wants the screen to fail here");
        });
        drawn?;
        execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Draws every cell again the next time. `Terminal::clear` would ask the terminal where its cursor
    /// is, and wait for an answer that the thread which reads keys takes away.
    pub(crate) fn repaint(&mut self) -> io::Result<()> {
        let (columns, rows) = self.size()?;
        self.terminal.resize(Rect::new(0, 0, columns, rows))
    }

    /// Takes the mouse, or gives it back.
    pub(crate) fn capture_mouse(captures: bool) -> io::Result<()> {
        HAS_MOUSE.store(captures, Ordering::SeqCst);
        if captures {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }

    /// Hands a text to the terminal's clipboard, by OSC 52.
    pub(crate) fn copy(text: &str) -> io::Result<()> {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        let mut out = io::stdout();
        write!(out, "\u{1b}]52;c;{encoded}\u{7}")?;
        out.flush()
    }

    /// Gives the terminal back to the shell, and returns when the shell gives it here again.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        restore_terminal();
        let _ = kill_process(getpid(), Signal::TSTP);
        // Stopped here until the shell says to go on.
        take_over()?;
        Self::capture_mouse(HAS_MOUSE.load(Ordering::SeqCst))?;
        self.repaint()
    }
}

impl Drop for OpenTerminal {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn take_over() -> io::Result<()> {
    let _drawing = DRAWING.lock();
    enable_raw_mode()?;
    IS_OPEN.store(true, Ordering::SeqCst);
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        SetTitle("codeteam")
    )
}

/// Gives the terminal back, if the screen has it. It may be called from any thread, at any time: by
/// whoever handles a signal, and after a panic.
pub fn restore_terminal() {
    // Whoever draws is waited for, unless this is the thread that draws, and it has panicked.
    let _drawing = if thread::panicking() {
        DRAWING.try_lock().ok()
    } else {
        Some(DRAWING.lock().unwrap_or_else(PoisonError::into_inner))
    };
    if !IS_OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    if HAS_MOUSE.load(Ordering::SeqCst) {
        let _ = queue!(out, DisableMouseCapture);
    }
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Gives the terminal back before a panic is reported, so that the report can be read.
fn restore_on_panic() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            report(panic);
        }));
    });
}
