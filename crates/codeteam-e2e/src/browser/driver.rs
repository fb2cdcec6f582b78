//! The processes: chromedriver, and the browser that it starts.
//!
//! Chromium starts processes that leave every group and session and outlive it and their driver, and
//! fills a folder with its profile. So both run in a process namespace that ends with this program,
//! however that does, and their temporary files are in memory that goes away with it.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use super::session::BrowserError;

/// The programs of a browser.
#[derive(Clone, Debug)]
pub struct BrowserPrograms {
    /// Chromium.
    pub browser: PathBuf,
    /// Its chromedriver, of the same version.
    pub driver: PathBuf,
}

impl Default for BrowserPrograms {
    /// Those of Debian's packages.
    fn default() -> Self {
        Self {
            browser: PathBuf::from("/usr/bin/chromium"),
            driver: PathBuf::from("/usr/bin/chromedriver"),
        }
    }
}

/// A chromedriver at work.
#[derive(Debug)]
pub(super) struct DriverProcess {
    child: Child,
    port: u16,
    /// Started the child and reads its output. The child ends with the thread that started it.
    reading: Option<JoinHandle<()>>,
}

/// The first word from the thread that starts a driver.
type DriverStart = Result<(Child, u16), String>;

impl DriverProcess {
    pub(super) fn start(programs: &BrowserPrograms) -> Result<Self, BrowserError> {
        let bwrap = Path::new("/usr/bin/bwrap");
        for program in [bwrap, &programs.driver, &programs.browser] {
            if !program.is_file() {
                return Err(BrowserError::new(format!(
                    "there is no browser to test pages in: `{}` is missing; `./tools bwrap chromium \
                     chromedriver` installs what is needed",
                    program.display()
                )));
            }
        }
        let command = confined(bwrap, &programs.driver);
        let (started, start) = channel();
        let reading = std::thread::spawn(move || run_driver(command, &started));
        let failed = |why: String| BrowserError::new(format!("chromedriver did not start: {why}"));
        let (child, port) = start
            .recv()
            .map_err(|error| failed(error.to_string()))?
            .map_err(failed)?;
        Ok(Self {
            child,
            port,
            reading: Some(reading),
        })
    }

    /// Returns the process that all others are below.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the port on which it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for DriverProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its output ends when the last process that could write it has.
        if let Some(reading) = self.reading.take() {
            let _ = reading.join();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the place where tests start a browser"
)]
fn confined(bwrap: &Path, driver: &Path) -> Command {
    let mut command = Command::new(bwrap);
    command
        .args(["--die-with-parent", "--unshare-pid", "--unshare-ipc"])
        .args(["--dev-bind", "/", "/", "--proc", "/proc"])
        .args(["--tmpfs", "/tmp", "--chdir", "/tmp"])
        .args(["--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp"])
        .arg(driver)
        .args(["--port=0", "--log-level=WARNING"])
        .stdin(Stdio::null())
        .process_group(0);
    command
}

/// Starts a driver, tells its port, and reads its output to the end.
fn run_driver(mut command: Command, started: &Sender<DriverStart>) {
    let (reader, writer) = match std::io::pipe() {
        Ok(pipe) => pipe,
        Err(error) => return drop(started.send(Err(error.to_string()))),
    };
    let second = match writer.try_clone() {
        Ok(second) => second,
        Err(error) => return drop(started.send(Err(error.to_string()))),
    };
    command.stdout(writer).stderr(second);
    let spawned = command.spawn();
    // Its own ends of the pipe go with it.
    drop(command);
    let mut child = match spawned {
        Ok(child) => Some(child),
        Err(error) => return drop(started.send(Err(error.to_string()))),
    };
    let mut said = String::new();
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        let Some(waiting) = child.take() else {
            continue;
        };
        if let Some(port) = port_of(&line) {
            let _ = started.send(Ok((waiting, port)));
        } else {
            child = Some(waiting);
            said.push_str(&line);
            said.push('\n');
        }
    }
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
        let _ = started.send(Err(said));
    }
}

/// Reads the port from the line that announces it.
fn port_of(line: &str) -> Option<u16> {
    let (_, port) = line.split_once("was started successfully on port ")?;
    port.trim_end().trim_end_matches('.').parse().ok()
}
