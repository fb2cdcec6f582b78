//! Detects whether a command was started from inside a session that codeteam leads.
//!
//! Some decisions must be made by a person outside the session, and a session that has a shell
//! could call codeteam like a person does. The MCP server of a session is a child of its client,
//! and so is whatever the session's shell starts: then the client is an ancestor of both. A server
//! over HTTP is found by its clients instead: a client that is connected to it, or has called it
//! and still runs, is then an ancestor of the command. This is not a security boundary (a process
//! can detach from its parents), but nobody gets through it by accident.

mod socket_table;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use codeteam_core::ids::RunId;

use self::socket_table::{SocketTable, known_clients, sockets};
use crate::engine::{Engine, Error};

/// Programs that only start others: the client is above them in the process tree.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "env", "timeout", "nice",
];
/// The maximum length of a chain of processes.
const MAX_DEPTH: usize = 64;

/// Returns the name of the session from which this process was started: one that leads the run, or
/// one in the same checkout, whoever leads the run now.
pub fn calling_session_of_run(engine: &Engine, run: &RunId) -> Result<Option<String>, Error> {
    let holder = engine.store.holder(run.as_str())?.map(|held| held.owner);
    let own = std::process::id();
    let above = chain(own, &process);
    let mut servers = servers_in(engine.repo.top_level());
    servers.extend(holder.as_ref().map(|holder| holder.pid));
    servers.retain(|pid| *pid != own);
    for pid in servers {
        let Some(client) =
            ServerTransport::for_process(pid).and_then(|server| server.client(pid, &above))
        else {
            continue;
        };
        let label = holder.as_ref().filter(|holder| holder.pid == pid);
        return Ok(Some(label.map_or(client.name, |h| h.label.clone())));
    }
    Ok(None)
}

/// Returns the name of the session in a checkout from which this process was started, whatever it
/// does there.
pub fn calling_session(checkout: &Path) -> Option<String> {
    let own = std::process::id();
    let above = chain(own, &process);
    let servers = servers_in(checkout).into_iter().filter(|pid| *pid != own);
    let mut clients =
        servers.filter_map(|pid| ServerTransport::for_process(pid)?.client(pid, &above));
    clients.next().map(|client| client.name)
}

/// The transport between a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerTransport {
    /// Through the standard streams with which it was started.
    Stdio,
    /// Through a TCP port.
    Http,
}

impl ServerTransport {
    /// Returns the transport of a process, if it is `codeteam mcp`.
    fn for_process(pid: u32) -> Option<Self> {
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

    /// Returns the server's client, if it is among the ancestors of a command.
    fn client(self, pid: u32, above: &[ProcessEntry]) -> Option<ProcessEntry> {
        match self {
            Self::Stdio => {
                let client = client(&chain(pid, &process))?;
                above.iter().find(|process| process.pid == client).cloned()
            }
            // It does not matter who started an HTTP server.
            Self::Http => {
                let wires = SocketTable::read_sockets();
                let ports = wires.ports(&sockets(pid));
                let known = known_clients(pid);
                let is_client = |process: &&ProcessEntry| {
                    known.contains(&process.pid)
                        || wires.is_connected_to(&ports, &sockets(process.pid))
                };
                above.iter().skip(1).find(is_client).cloned()
            }
        }
    }
}

/// Returns the servers that work in a folder or below it: they were started there, or told to work
/// there with `-C`.
fn servers_in(folder: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_here = |pid: &u32| {
        let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else {
            return false;
        };
        ServerTransport::by_command(&line).is_some()
            && fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|started_in| works_in(&started_in, &line, folder))
    };
    pids.filter(is_here).collect()
}

/// Returns true if a command that was started in a folder with these arguments works in `folder` or
/// below it.
fn works_in(started_in: &Path, command: &[u8], folder: &Path) -> bool {
    let mut at = started_in.to_owned();
    let mut args = command.split(|byte| *byte == 0).skip(1);
    while let Some(arg) = args.next() {
        let named = match arg.strip_prefix(b"-C") {
            Some(b"") => args.next().unwrap_or_default(),
            Some(joined) => joined.strip_prefix(b"=").unwrap_or(joined),
            None => continue,
        };
        at.push(std::ffi::OsStr::from_bytes(named));
    }
    at.canonicalize().unwrap_or(at).starts_with(folder)
}

/// The part of a process's state that matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProcessEntry {
    pid: u32,
    parent: u32,
    name: String,
    /// The pipe or socket that it reads from, if its input is one.
    input: Option<PathBuf>,
}

/// Returns the client that has started a server: the first ancestor that is neither a shell nor
/// another program that only passes its own streams on (`npx`, `uv run` and the like stay in
/// between as long as the server runs).
fn client(server: &[ProcessEntry]) -> Option<u32> {
    let (server, above) = server.split_first()?;
    let passes_on = |process: &ProcessEntry| {
        let is_shell = SHELLS.contains(&process.name.as_str());
        is_shell || (server.input.is_some() && process.input == server.input)
    };
    let client = above.iter().find(|process| !passes_on(process))?;
    // An orphaned process is a child of process 1, as is nearly everything else.
    (client.pid > 1).then_some(client.pid)
}

/// Returns a process and all its ancestors.
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

/// Reads a process from `/proc`. Returns `None` on other systems, or if the process is gone.
fn process(pid: u32) -> Option<ProcessEntry> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses, which may contain anything.
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

/// Returns the pipe or socket that a process reads from. A terminal does not count: unrelated
/// processes read from the same one.
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
    fn a_server_works_where_it_was_started_or_where_it_was_told_to() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let checkout = root.join("checkout");
        fs::create_dir_all(checkout.join("src")).unwrap();
        let works = |at: &Path, args: &[&str]| works_in(at, args.join("\0").as_bytes(), &checkout);
        assert!(works(&checkout.join("src"), &["codeteam", "mcp"]));
        assert!(works(&root, &["codeteam", "-C", "checkout", "mcp"]));
        assert!(works(
            &root,
            &["codeteam", "-Ccheckout", "-C", "src", "mcp"]
        ));
        assert!(!works(&root, &["codeteam", "mcp"]));
        let elsewhere = root.to_str().unwrap();
        assert!(!works(&checkout, &["codeteam", "-C", elsewhere, "mcp"]));
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
