//! The loop of the screen: it takes messages, performs what they ask for, and draws.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use codeteam_core::ids::RunId;
use codeteam_engine::Engine;
use codeteam_engine::clock::now;
use codeteam_engine::command_runner::CommandRunner;
use codeteam_engine::watch::RunWatcher;

use crate::draw::Theme;
use crate::message::{LoadRequest, Message, ScreenAction};
use crate::state::App;
use crate::terminal::OpenTerminal;
use crate::threads::{load_requests, read_keys, start_command, watch_for_hangup};
use crate::update::update;
use crate::verbs::CommandVerb;

/// At most so often something is drawn.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// While somebody is at work, times on the screen grow.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// What a screen needs.
pub struct ScreenOptions {
    /// The project.
    pub engine: Arc<Engine>,
    /// Runs commands of codeteam.
    pub commands: Arc<dyn CommandRunner>,
    /// The run that is shown first; without one, what needs a person is.
    pub run: Option<RunId>,
    /// Whether this process drives that run: leaving the screen stops it, which is asked first.
    pub is_driven_here: bool,
    /// The commands that can be typed after `:`.
    pub verbs: Vec<CommandVerb>,
    /// Whether there are colours.
    pub is_coloured: bool,
}

/// The screen could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The terminal could not be used.
    #[error("the terminal cannot be used")]
    Terminal(#[from] io::Error),
    /// A thread could not be started.
    #[error("a thread could not be started")]
    Thread(#[source] io::Error),
}

/// A terminal screen over the runs of a project.
///
/// [`Screen::new`] only makes the channel, so that whoever drives a run in the same process can get
/// a [`ScreenNotifier`] first. [`Screen::show`] takes the terminal over until the person leaves.
pub struct Screen {
    options: ScreenOptions,
    sender: Sender<Message>,
    messages: Receiver<Message>,
}

/// Tells the screen what whoever drives a run in the same process has to say.
#[derive(Clone)]
pub struct ScreenNotifier {
    sender: Sender<Message>,
}

impl ScreenNotifier {
    /// Shows a line.
    pub fn note(&self, text: impl Into<String>) {
        let _ = self.sender.send(Message::Noted(text.into()));
    }

    /// Says that the run is no longer driven, and why.
    pub fn driver_ended(&self, text: impl Into<String>) {
        let _ = self.sender.send(Message::DriverEnded(text.into()));
    }

    /// Closes the screen.
    pub fn close(&self) {
        let _ = self.sender.send(Message::Closed);
    }
}

impl Screen {
    /// Makes a screen that is not shown yet.
    pub fn new(options: ScreenOptions) -> Self {
        let (sender, messages) = mpsc::channel();
        Self {
            options,
            sender,
            messages,
        }
    }

    /// Returns a handle for whoever drives a run in this process.
    pub fn notifier(&self) -> ScreenNotifier {
        let sender = self.sender.clone();
        ScreenNotifier { sender }
    }

    /// Shows the screen until the person leaves.
    pub fn show(self) -> Result<(), ScreenError> {
        let theme = Theme {
            is_coloured: self.options.is_coloured,
        };
        let mut terminal = OpenTerminal::open(theme, self.options.engine.env.failpoint)?;
        let mut app = App::new(self.options.run.clone(), terminal.size()?);
        app.driven_here = self
            .options
            .run
            .clone()
            .filter(|_| self.options.is_driven_here);
        app.verbs.clone_from(&self.options.verbs);
        app.now = now();
        // The frame is there before anything was read.
        terminal.draw(&app)?;
        let requests = self.start_threads()?;
        self.run_loop(&mut app, &mut terminal, &requests)
    }

    /// Starts the threads. They end with the process, or when nobody listens to them any more.
    fn start_threads(&self) -> Result<Sender<LoadRequest>, ScreenError> {
        let (requests, wanted) = mpsc::channel();
        let start = |name: &str, body: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(body).map(drop).map_err(ScreenError::Thread)
        };
        let sender = self.sender.clone();
        start("screen-keys", Box::new(move || read_keys(&sender)))?;
        let sender = self.sender.clone();
        start("screen-hangup", Box::new(move || watch_for_hangup(&sender)))?;
        let (engine, sender) = (Arc::clone(&self.options.engine), self.sender.clone());
        start(
            "screen-feed",
            Box::new(move || watch_feed(&engine, &sender)),
        )?;
        let (engine, sender) = (Arc::clone(&self.options.engine), self.sender.clone());
        let body = move || load_requests(&engine, &wanted, &sender);
        start("screen-loader", Box::new(body))?;
        Ok(requests)
    }

    fn run_loop(
        &self,
        app: &mut App,
        terminal: &mut OpenTerminal,
        requests: &Sender<LoadRequest>,
    ) -> Result<(), ScreenError> {
        let mut drawn = Instant::now();
        let mut needs_drawing = false;
        loop {
            let message = match self.next_message(app, needs_drawing, drawn) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) if needs_drawing => None,
                Err(RecvTimeoutError::Timeout) => Some(Message::TimePassed),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if let Some(message) = message {
                app.size = terminal.size()?;
                for action in update(app, now(), message) {
                    if action == ScreenAction::Quit {
                        return Ok(());
                    }
                    self.perform(action, app, terminal, requests)?;
                }
                needs_drawing = true;
            }
            if needs_drawing && drawn.elapsed() >= FRAME_INTERVAL {
                terminal.draw(app)?;
                (drawn, needs_drawing) = (Instant::now(), false);
            }
        }
    }

    /// Waits for the next message: for ever, if nothing is to be drawn and nobody is at work.
    fn next_message(
        &self,
        app: &App,
        needs_drawing: bool,
        drawn: Instant,
    ) -> Result<Message, RecvTimeoutError> {
        if needs_drawing {
            let left = FRAME_INTERVAL.saturating_sub(drawn.elapsed());
            return self.messages.recv_timeout(left);
        }
        if app.shows_growing_times() {
            return self.messages.recv_timeout(CLOCK_INTERVAL);
        }
        let message = self.messages.recv();
        message.map_err(|_| RecvTimeoutError::Disconnected)
    }

    fn perform(
        &self,
        action: ScreenAction,
        app: &mut App,
        terminal: &mut OpenTerminal,
        requests: &Sender<LoadRequest>,
    ) -> io::Result<()> {
        match action {
            ScreenAction::Load(request) => {
                // The loader ends only with the screen.
                let _ = requests.send(request);
            }
            ScreenAction::RunCommand { id, words } => {
                start_command(&self.options.commands, &self.sender, id, words);
            }
            ScreenAction::Suspend => {
                terminal.suspend()?;
                app.size = terminal.size()?;
            }
            ScreenAction::CaptureMouse(captures) => OpenTerminal::capture_mouse(captures)?,
            ScreenAction::Copy(text) => OpenTerminal::copy(&text)?,
            ScreenAction::Repaint => terminal.repaint()?,
            ScreenAction::Quit => {}
        }
        Ok(())
    }
}

/// Tells of runs as they change, until nobody listens.
fn watch_feed(engine: &Engine, messages: &Sender<Message>) {
    let mut tell = |runs| messages.send(Message::RunsChanged(runs)).is_ok();
    let watched = RunWatcher::open(engine).and_then(|mut all| all.watch(&|| false, &mut tell));
    if let Err(error) = watched {
        let text = format!("runs can no longer be watched: {error}");
        let _ = messages.send(Message::ReadFailed(text));
    }
}
