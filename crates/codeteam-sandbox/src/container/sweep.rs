//! Removes what a crash has left.
//!
//! Every container carries a label with the process that watches over it: its
//! namespace, its number and when it started, so that a number given out anew
//! is not taken for it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::options::OWNER;
use super::{ContainerEngine, ContainerEngineKind};

/// This process, as a label.
pub(crate) fn owner() -> io::Result<String> {
    let namespace = namespace()?;
    let pid = std::process::id();
    let started = started(Path::new("/proc/self/stat")).ok_or(io::ErrorKind::InvalidData)?;
    Ok(format!("{}/{pid}/{started}", namespace.display()))
}

/// Removes the containers whose owner is gone. Their number.
pub(crate) fn sweep(engine: &ContainerEngine) -> io::Result<usize> {
    let label = match engine.kind {
        ContainerEngineKind::Podman => "index .Labels",
        ContainerEngineKind::Docker => ".Label",
    };
    let format = format!("{{{{.Names}}}} {{{{{label} \"{OWNER}\"}}}}");
    let filter = format!("label={OWNER}");
    let listed = engine.output(["ps", "--all", "--filter", &filter, "--format", &format])?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr).trim().to_owned();
        let problem = format!("{} could not list its containers: {said}", engine.kind);
        return Err(io::Error::other(problem));
    }
    let mut swept = 0;
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        if let Some((name, owner)) = line.split_once(' ')
            && is_gone(owner)?
        {
            remove(engine, name)?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Ends a container and removes it, if it is still there.
pub(crate) fn remove(engine: &ContainerEngine, name: &str) -> io::Result<()> {
    engine.output(["rm", "--force", name]).map(drop)
}

/// Whether an owner has ended. One of another namespace cannot be seen from
/// here, and is another's business.
fn is_gone(owner: &str) -> io::Result<bool> {
    let mut fields = owner.trim().splitn(3, '/');
    let (Some(home), Some(pid), Some(start)) = (fields.next(), fields.next(), fields.next()) else {
        return Ok(false);
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if Path::new(home) != namespace()? || !is_number(pid) {
        return Ok(false);
    }
    let now = started(&Path::new("/proc").join(pid).join("stat"));
    Ok(now.as_deref() != Some(start))
}

fn namespace() -> io::Result<PathBuf> {
    fs::read_link("/proc/self/ns/pid")
}

/// When a process started, in ticks since the machine did. The name before it
/// may have spaces and parentheses in it.
fn started(stat: &Path) -> Option<String> {
    let text = fs::read_to_string(stat).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_by_more_than_its_number() {
        let own = owner().unwrap();
        assert!(!is_gone(&own).unwrap());
        let (rest, start) = own.rsplit_once('/').unwrap();
        let later = start.parse::<u64>().unwrap() + 1;
        assert!(is_gone(&format!("{rest}/{later}")).unwrap());
        let nobody = own.replacen(&std::process::id().to_string(), "4194305", 1);
        assert!(is_gone(&nobody).unwrap());
    }

    #[test]
    fn what_cannot_be_judged_is_left_alone() {
        for owner in ["", "pid:[1]/7/99", "x/y", "pid:[1]/../99"] {
            assert!(!is_gone(owner).unwrap(), "{owner}");
        }
    }
}
