//! Whether a command was started from inside the session that a run is led from.
//!
//! What a person must decide outside of a session is not to be decided by it, and a session that has
//! a shell could call codeteam like a person. The server of a session is a child of its client, and so
//! is whatever the session's shell starts: then the client is above both. A server over HTTP is found by
//! its clients instead: one that is connected to it is then above the command. It is no wall (a process can
//! leave its parents behind), but nobody gets through it by accident.

mod wires;

use std::fs;

use codeteam_core::ids::RunId;

use self::wires::{Wires, sockets};
use crate::engine::{Engine, Error};

/// Programs that only start others: the client is above them.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "env", "timeout", "nice",
];
/// No chain of processes is longer.
const MAX_DEPTH: usize = 64;

/// The session that this process was started from inside of, by its label, if it leads the run.
pub fn inside(engine: &Engine, run: &RunId) -> Result<Option<String>, Error> {
    let Some(holder) = engine.store.holder(run.as_str())? else {
        return Ok(None);
    };
    let own = std::process::id();
    if holder.owner.pid == own {
        return Ok(None);
    }
    let above = chain(own, &process);
    let is_inside = if is_over_http(holder.owner.pid) {
        // Whoever has started it is nobody in particular.
        let wires = Wires::look();
        let ports = wires.ports(&sockets(holder.owner.pid));
        let mut above = above.iter().skip(1);
        above.any(|process| wires.lead_to(&ports, &sockets(process.pid)))
    } else {
        let server = chain(holder.owner.pid, &process);
        client(&server).is_some_and(|client| above.iter().any(|p| p.pid == client))
    };
    Ok(is_inside.then_some(holder.owner.label))
}

/// Whether a server has clients that did not start it.
fn is_over_http(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut args = line.split(|byte| *byte == 0);
    args.any(|arg| arg == b"--http" || arg.starts_with(b"--http="))
}

/// A process, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    name: String,
}

/// The client that has started a server: the first above it that is no shell.
fn client(server: &[Process]) -> Option<u32> {
    let mut above = server.iter().skip(1);
    let client = above.find(|process| !SHELLS.contains(&process.name.as_str()))?;
    // What has lost its parents is a child of the first process, as is nearly everything else.
    (client.pid > 1).then_some(client.pid)
}

/// A process and all above it.
fn chain(pid: u32, look: &dyn Fn(u32) -> Option<Process>) -> Vec<Process> {
    let mut chain: Vec<Process> = Vec::new();
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
fn process(pid: u32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything.
    let (head, rest) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, u32, &str)]) -> impl Fn(u32) -> Option<Process> {
        let rows: Vec<Process> = rows
            .iter()
            .map(|(pid, parent, name)| Process {
                pid: *pid,
                parent: *parent,
                name: (*name).to_owned(),
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
    fn this_process_has_parents() {
        let own = chain(std::process::id(), &process);
        assert!(cfg!(not(target_os = "linux")) || own.len() > 1, "{own:?}");
        let around = table(&[(1, 2, "a"), (2, 1, "b")]);
        assert_eq!(chain(1, &around).len(), MAX_DEPTH);
    }
}
