//! Removes containers that a crash has left.
//!
//! Every container has a label with the process that supervises it: its namespace, its process id
//! and its start time, so that a reused process id is not mistaken for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::options::OWNER;
use super::{ContainerEngine, ContainerEngineKind};

/// Returns the label for this process.
pub(crate) fn owner_label() -> io::Result<String> {
    let namespace = pid_namespace()?;
    let pid = std::process::id();
    let started = process_start(Path::new("/proc/self/stat")).ok_or(io::ErrorKind::InvalidData)?;
    Ok(format!("{}/{pid}/{started}", namespace.display()))
}

/// Removes the containers whose owner no longer exists, and returns their number.
pub(crate) fn remove_stale(engine: &ContainerEngine) -> io::Result<usize> {
    let label = match engine.kind {
        ContainerEngineKind::Podman => "index .Labels",
        ContainerEngineKind::Docker => ".Label",
    };
    let format = format!("{{{{.Names}}}} {{{{{label} \"{OWNER}\"}}}}");
    let filter = format!("label={OWNER}");
    let listed = engine.run_command(["ps", "--all", "--filter", &filter, "--format", &format])?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr).trim().to_owned();
        let problem = format!("{} could not list its containers: {said}", engine.kind);
        return Err(io::Error::other(problem));
    }
    let mut swept = 0;
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        if let Some((name, owner)) = line.split_once(' ')
            && has_owner_ended(owner)?
        {
            remove_container(engine, name)?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Stops a container and removes it, if it still exists.
pub(crate) fn remove_container(engine: &ContainerEngine, name: &str) -> io::Result<()> {
    engine.run_command(["rm", "--force", name]).map(drop)
}

/// Returns true if an owner has ended. An owner in another namespace cannot be seen from here and
/// is left alone.
fn has_owner_ended(owner: &str) -> io::Result<bool> {
    let mut fields = owner.trim().splitn(3, '/');
    let (Some(home), Some(pid), Some(start)) = (fields.next(), fields.next(), fields.next()) else {
        return Ok(false);
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if Path::new(home) != pid_namespace()? || !is_number(pid) {
        return Ok(false);
    }
    let now = process_start(&Path::new("/proc").join(pid).join("stat"));
    Ok(now.as_deref() != Some(start))
}

fn pid_namespace() -> io::Result<PathBuf> {
    fs::read_link("/proc/self/ns/pid")
}

/// Returns the start time of a process, in ticks since the machine booted. The process name that
/// precedes it may contain spaces and parentheses.
fn process_start(stat: &Path) -> Option<String> {
    let text = fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_by_more_than_its_number() {
        let own = owner_label().unwrap();
        assert!(!has_owner_ended(&own).unwrap());
        let (rest, start) = own.rsplit_once('/').unwrap();
        let later = start.parse::<u64>().unwrap() + 1;
        assert!(has_owner_ended(&format!("{rest}/{later}")).unwrap());
        let nobody = own.replacen(&std::process::id().to_string(), "4194305", 1);
        assert!(has_owner_ended(&nobody).unwrap());
    }

    #[test]
    fn what_cannot_be_judged_is_left_alone() {
        for owner in ["", "pid:[1]/7/99", "x/y", "pid:[1]/../99"] {
            assert!(!has_owner_ended(owner).unwrap(), "{owner}");
        }
    }
}
