//! Whether a command was started from inside a session that codeteam leads.
//!
//! What a person must decide outside of a session is not to be decided by it, and a session that has
//! a shell could call codeteam like a person. The server of a session is a child of its client, and so
//! is whatever the session's shell starts: then the client is above both. A server over HTTP is found by
//! its clients instead: one that is connected to it, or has called it and still runs, is then above the
//! command. It is no wall (a process can leave its parents behind), but nobody gets through it by accident.

mod wires;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use codeteam_core::ids::RunId;

use self::wires::{SocketTable, known_clients, sockets};
use crate::engine::{Engine, Error};

/// Programs that only start others: the client is above them.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "env", "timeout", "nice",
];
/// No chain of processes is longer.
const MAX_DEPTH: usize = 64;

/// The session that this process was started from inside of, by its name: one that leads the run, or
/// one in the same checkout, whoever leads the run now.
pub fn inside(engine: &Engine, run: &RunId) -> Result<Option<String>, Error> {
    let holder = engine.store.holder(run.as_str())?.map(|held| held.owner);
    let own = std::process::id();
    let above = chain(own, &process);
    let mut servers = servers_in(engine.repo.top_level());
    servers.extend(holder.as_ref().map(|holder| holder.pid));
    servers.retain(|pid| *pid != own);
    for pid in servers {
        let Some(client) = ServerTransport::of(pid).and_then(|server| server.client(pid, &above))
        else {
            continue;
        };
        let label = holder.as_ref().filter(|holder| holder.pid == pid);
        return Ok(Some(label.map_or(client.name, |h| h.label.clone())));
    }
    Ok(None)
}

/// The session in a checkout that this process was started from inside of, whatever it does there.
pub fn calling_session(checkout: &Path) -> Option<String> {
    let own = std::process::id();
    let above = chain(own, &process);
    let servers = servers_in(checkout).into_iter().filter(|pid| *pid != own);
    let mut clients = servers.filter_map(|pid| ServerTransport::of(pid)?.client(pid, &above));
    clients.next().map(|client| client.name)
}

/// How a server is reached by its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerTransport {
    /// By the streams it was started with.
    Stdio,
    /// By a port.
    Http,
}

impl ServerTransport {
    /// What a process serves, if it is `codeteam mcp`.
    fn of(pid: u32) -> Option<Self> {
        Self::by_command(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)
    }

    fn by_command(line: &[u8]) -> Option<Self> {
        let mut args = line.split(|byte| *byte == 0);
        let program = Path::new(std::ffi::OsStr::from_bytes(args.next()?)).file_name()?;
        let is_own = program.as_bytes().starts_with(b"codeteam");
        let args: Vec<&[u8]> = args.collect();
        let http = |arg: &&[u8]| **arg == *b"--http" || arg.starts_with(b"--http=");
        (is_own && args.contains(&b"mcp".as_slice())).then(|| {
            if args.iter().any(http) {
                Self::Http
            } else {
                Self::Stdio
            }
        })
    }

    /// Its client, if that is among those above a command.
    fn client(self, pid: u32, above: &[ProcessEntry]) -> Option<ProcessEntry> {
        match self {
            Self::Stdio => {
                let client = client(&chain(pid, &process))?;
                above.iter().find(|process| process.pid == client).cloned()
            }
            // Whoever has started it is nobody in particular.
            Self::Http => {
                let wires = SocketTable::look();
                let ports = wires.ports(&sockets(pid));
                let known = known_clients(pid);
                let is_client = |process: &&ProcessEntry| {
                    known.contains(&process.pid) || wires.lead_to(&ports, &sockets(process.pid))
                };
                above.iter().skip(1).find(is_client).cloned()
            }
        }
    }
}

/// The servers that were started in a folder or below it.
fn servers_in(folder: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_here = |pid: &u32| {
        let at = fs::read_link(format!("/proc/{pid}/cwd"));
        at.is_ok_and(|at| at.starts_with(folder)) && ServerTransport::of(*pid).is_some()
    };
    pids.filter(is_here).collect()
}

/// A process, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProcessEntry {
    pid: u32,
    parent: u32,
    name: String,
    /// The pipe or socket that it reads from, if it is one.
    input: Option<PathBuf>,
}

/// The client that has started a server: the first above it that is no shell, and no other program
/// that only passes its own streams on (`npx`, `uv run` and their kin stay there as long as it does).
fn client(server: &[ProcessEntry]) -> Option<u32> {
    let (server, above) = server.split_first()?;
    let passes_on = |process: &ProcessEntry| {
        let is_shell = SHELLS.contains(&process.name.as_str());
        is_shell || (server.input.is_some() && process.input == server.input)
    };
    let client = above.iter().find(|process| !passes_on(process))?;
    // What has lost its parents is a child of the first process, as is nearly everything else.
    (client.pid > 1).then_some(client.pid)
}

/// A process and all above it.
fn chain(pid: u32, look: &dyn Fn(u32) -> Option<ProcessEntry>) -> Vec<ProcessEntry> {
    let mut chain: Vec<ProcessEntry> = Vec::new();
    let mut next = pid;
    while chain.len() < MAX_DEPTH
        && let Some(process) = look(next)
    {
        next = process.parent;
        chain.push(process);
        if next == 0 {
            break;
        }
    }
    chain
}

/// What Linux says of a process; `None` elsewhere, or if it is gone.
fn process(pid: u32) -> Option<ProcessEntry> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything.
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some(ProcessEntry {
        pid,
        parent,
        name: name.to_owned(),
        input: input(pid),
    })
}

/// The pipe or socket that a process reads from. A terminal does not count: many read from one that
/// have nothing to do with each other.
fn input(pid: u32) -> Option<PathBuf> {
    let input = fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    let name = input.to_str()?;
    (name.starts_with("pipe:") || name.starts_with("socket:")).then_some(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, u32, &str)]) -> impl Fn(u32) -> Option<ProcessEntry> {
        let rows: Vec<ProcessEntry> = rows
            .iter()
            .map(|(pid, parent, name)| ProcessEntry {
                pid: *pid,
                parent: *parent,
                name: (*name).to_owned(),
                input: None,
            })
            .collect();
        move |pid| rows.iter().find(|row| row.pid == pid).cloned()
    }

    #[test]
    fn the_client_is_above_its_server_whatever_shell_is_between() {
        let look = table(&[
            (1, 0, "init"),
            (10, 1, "bash"),
            (20, 10, "claude"),
            (30, 20, "sh"),
            (40, 30, "codeteam"),
            (50, 10, "codeteam"),
            (60, 1, "codeteam"),
        ]);
        assert_eq!(client(&chain(40, &look)), Some(20));
        // Started by hand from a terminal, or left behind: nobody in particular is above it.
        assert_eq!(client(&chain(50, &look)), None);
        assert_eq!(client(&chain(60, &look)), None);
        assert_eq!(client(&chain(70, &look)), None);
    }

    #[test]
    fn a_program_that_passes_its_streams_on_is_no_client() {
        let look = table(&[
            (1, 0, "init"),
            (20, 1, "claude"),
            (30, 20, "npx"),
            (40, 30, "codeteam"),
        ]);
        let mut all = chain(40, &look);
        assert_eq!(client(&all), Some(30));
        for process in &mut all[..2] {
            process.input = Some("pipe:[7]".into());
        }
        all[2].input = Some("pipe:[8]".into());
        assert_eq!(client(&all), Some(20));
    }

    #[test]
    fn a_server_is_known_by_its_command() {
        let of = |args: &[&str]| ServerTransport::by_command(args.join("\0").as_bytes());
        assert_eq!(
            of(&["/usr/bin/codeteam", "mcp"]),
            Some(ServerTransport::Stdio)
        );
        assert_eq!(
            of(&["codeteam", "-C", "/a", "mcp"]),
            Some(ServerTransport::Stdio)
        );
        assert_eq!(
            of(&["codeteam", "mcp", "--http=[::1]:0"]),
            Some(ServerTransport::Http)
        );
        assert_eq!(
            of(&["codeteam", "mcp", "--http"]),
            Some(ServerTransport::Http)
        );
        assert_eq!(of(&["codeteam", "run", "an mcp server"]), None);
        assert_eq!(of(&["python3", "mcp"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn this_process_has_parents() {
        let own = chain(std::process::id(), &process);
        assert!(cfg!(not(target_os = "linux")) || own.len() > 1, "{own:?}");
        let around = table(&[(1, 2, "a"), (2, 1, "b")]);
        assert_eq!(chain(1, &around).len(), MAX_DEPTH);
    }
}
