//! A terminal to try codeteam in: what it shows is waited for, what a person types is sent as keys.
//! The tests with the real CLIs take it from here, too.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// However slow the machine is: longer than anything takes.
const DEADLINE: Duration = Duration::from_mins(2);

/// The height of the terminal.
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();

/// A codeteam at a terminal. Killed when the test lets go of it.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    raw: Vec<u8>,
    /// All that was shown, without colours and movements.
    seen: String,
    /// The length of the output that was waited for.
    read: usize,
    read_raw: usize,
    screen: vt100::Parser,
}

impl Terminal {
    /// Starts a codeteam at a terminal of its own, with more in its environment.
    pub(crate) fn start(mut command: Command, env: &[(&str, &str)]) -> Self {
        command.env("TERM", "xterm").env("PAGER", "cat");
        command.envs(env.iter().copied());
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keys = openpt(flags).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        resize(&keys, 100);
        let inside = ioctl_tiocgptpeer(&keys, flags).unwrap();
        let child = command
            .stdin(Stdio::from(inside.try_clone().unwrap()))
            .stdout(Stdio::from(inside.try_clone().unwrap()))
            .stderr(Stdio::from(inside))
            .spawn()
            .unwrap();
        // Its own ends of the terminal go with it.
        drop(command);
        Self {
            child,
            keys: File::from(keys),
            raw: Vec::new(),
            seen: String::new(),
            read: 0,
            read_raw: 0,
            screen: vt100::Parser::new(ROWS, size_in_cells(100), 0),
        }
    }

    /// Presses keys.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Writes a line and presses Enter.
    pub(crate) fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    /// Waits until this is shown, after what was waited for before.
    #[track_caller]
    pub(crate) fn until(&mut self, marker: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.seen[self.read..].find(marker) {
                self.read += at + marker.len();
                return;
            }
            assert!(Instant::now() < deadline, "no {marker:?}:\n{}", self.rest());
            assert!(self.more(), "ended without {marker:?}:\n{}", self.rest());
        }
    }

    /// Waits until all of these are shown, one after the other.
    #[track_caller]
    pub(crate) fn shows(&mut self, markers: &[&str]) {
        for marker in markers {
            self.until(marker);
        }
    }

    /// Waits until this is on the screen, as a person sees it.
    #[track_caller]
    pub(crate) fn sees(&mut self, marker: &str) {
        self.sees_one_of(&[marker]);
    }

    /// Waits until one of these is on the screen, and returns it.
    #[track_caller]
    pub(crate) fn sees_one_of<'a>(&mut self, markers: &[&'a str]) -> &'a str {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let shown = self.screen.screen().contents();
            if let Some(found) = markers.iter().find(|marker| shown.contains(**marker)) {
                return found;
            }
            assert!(Instant::now() < deadline, "no {markers:?}:\n{shown}");
            assert!(self.more(), "ended without {markers:?}:\n{shown}");
        }
    }

    /// Returns the output that was not waited for.
    fn rest(&self) -> &str {
        &self.seen[self.read..]
    }

    /// Takes in what is shown; whether the terminal is still there.
    fn more(&mut self) -> bool {
        let wait = Timespec::try_from(Duration::from_secs(1)).unwrap();
        let mut fds = [PollFd::new(&self.keys, PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            // A test that sends signals may be interrupted by one.
            Ok(0) | Err(Errno::INTR) => return true,
            ready => _ = ready.unwrap(),
        }
        let mut bytes = [0; 4096];
        // Linux says EIO when the other end is closed.
        let Ok(n) = self.keys.read(&mut bytes) else {
            return false;
        };
        self.raw.extend_from_slice(&bytes[..n]);
        self.screen.process(&bytes[..n]);
        self.seen = plain(&self.raw);
        n > 0
    }

    /// Makes the terminal so wide.
    pub(crate) fn resize(&mut self, columns: u16) {
        resize(&self.keys, columns);
        self.screen
            .screen_mut()
            .set_size(ROWS, size_in_cells(columns));
        self.signal(Signal::WINCH);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits until these bytes are written to the terminal, after what was waited for before.
    #[track_caller]
    pub(crate) fn until_raw(&mut self, marker: &str) {
        let deadline = Instant::now() + DEADLINE;
        let from = self.read_raw;
        loop {
            let found = self.raw[from..].windows(marker.len());
            let mut found = found.enumerate().filter(|(_, w)| *w == marker.as_bytes());
            if let Some((at, _)) = found.next() {
                self.read_raw = from + at + marker.len();
                return;
            }
            assert!(Instant::now() < deadline, "no {marker:?}:\n{}", self.rest());
            assert!(self.more(), "ended without {marker:?}:\n{}", self.rest());
        }
    }

    /// Returns true if the terminal waits for whole lines and shows what is typed, as a shell wants.
    pub(crate) fn is_whole(&self) -> bool {
        let modes = tcgetattr(&self.keys).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits until it has stopped itself, and lets it go on, as a shell does.
    #[track_caller]
    pub(crate) fn continue_when_stopped(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        let stat = format!("/proc/{}/stat", self.child.id());
        loop {
            let stat = std::fs::read_to_string(&stat).unwrap();
            let (_, state) = stat.rsplit_once(") ").unwrap();
            if state.starts_with('T') {
                return self.signal(Signal::CONT);
            }
            assert!(Instant::now() < deadline, "it goes on:\n{}", self.rest());
            assert!(self.more(), "ended:\n{}", self.rest());
        }
    }

    /// Waits for its end, however it ends.
    pub(crate) fn wait(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "no end:\n{}", self.rest());
            self.more();
        }
    }

    /// Takes the terminal away, as closing its window does, and waits for the program's end.
    #[track_caller]
    pub(crate) fn hang_up(mut self) {
        self.keys = File::open("/dev/null").unwrap();
        let deadline = Instant::now() + DEADLINE;
        while self.child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "no end:\n{}", self.rest());
            std::thread::yield_now();
        }
    }

    /// Returns all that was shown, without colours and movements.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, which must have this code; all that was shown.
    #[track_caller]
    pub(crate) fn end(mut self, code: i32) -> String {
        let deadline = Instant::now() + DEADLINE;
        while self.more() {
            assert!(Instant::now() < deadline, "no end:\n{}", self.rest());
        }
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "\n{}", self.seen);
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(keys: &impl std::os::fd::AsFd, columns: u16) {
    let size = Winsize {
        ws_row: ROWS.get(),
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(keys.as_fd(), size).unwrap();
}

fn size_in_cells(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

/// Returns a terminal's output without movements and colours.
fn plain(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut shown = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
            '\r' => {}
            c => shown.push(c),
        }
    }
    shown
}
