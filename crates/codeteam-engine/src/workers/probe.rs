//! Probes a CLI's version and options once, and caches the result.
//!
//! A CLI is asked for its version and its options in the sandbox, without a network, before its
//! first assignment; the result is cached for as long as the program is the same file. If a program
//! is missing, too old or lacks an option, the user gets an error that says so, instead of an empty
//! result.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage};
use serde::{Deserialize, Serialize};

use crate::dialect::CliRequirements;

/// The result of probing a CLI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgramProbe {
    /// Its version, as it reports it.
    pub version: String,
    /// The required options that it does not have.
    pub lacks: Vec<String>,
}

impl ProgramProbe {
    /// Parses its output for `--version` and for the list of its options.
    pub(crate) fn read(needs: &CliRequirements, version: &str, help: &str) -> Self {
        let has = |flag: &str| {
            let mut words = help.split(|c: char| !(c.is_alphanumeric() || c == '-'));
            words.any(|word| word == flag)
        };
        Self {
            version: version_in(version).map_or_else(
                || version.lines().next().unwrap_or("").trim().to_owned(),
                |(a, b, c)| format!("{a}.{b}.{c}"),
            ),
            lacks: needs
                .flags
                .iter()
                .filter(|flag| !has(flag))
                .map(|&flag| flag.to_owned())
                .collect(),
        }
    }

    /// Returns why it cannot be used and what to do about it, if it cannot.
    pub(crate) fn objection(&self, needs: &CliRequirements) -> Option<String> {
        let ProgramFault { why, remedy } = self.fault(needs)?;
        Some(format!("{why}; {remedy}"))
    }

    /// Returns the same as cause and remedy.
    pub(crate) fn fault(&self, needs: &CliRequirements) -> Option<ProgramFault> {
        let (program, package) = (needs.program, needs.package);
        let (a, b, c) = needs.oldest;
        let said = &self.version;
        let remedy = format!("update it: `npm install -g {package}`");
        let Some(version) = version_in(said) else {
            let why = format!("`{program}` does not tell its version (it says `{said}`)");
            return Some(ProgramFault { why, remedy });
        };
        if version < needs.oldest {
            let why = format!("`{program}` {said} is too old, {a}.{b}.{c} is needed");
            return Some(ProgramFault { why, remedy });
        }
        if !self.lacks.is_empty() {
            let flags = self.lacks.join("`, `");
            let why = format!("`{program}` {said} has no `{flags}`, which codeteam needs");
            let remedy = format!("use a version that has, such as {a}.{b}.{c} or a newer codeteam");
            return Some(ProgramFault { why, remedy });
        }
        None
    }
}

/// The fault of a program that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramFault {
    /// The cause, in words.
    pub why: String,
    /// The remedy.
    pub remedy: String,
}

/// Builds the failure of a worker whose program cannot be used.
pub(crate) fn unusable_program(trouble: FailureCause, message: String) -> FailureFacts {
    FailureFacts {
        stage: FailureStage::Spawn,
        trouble: Some(trouble),
        message,
        ..FailureFacts::default()
    }
}

/// Returns the first three numbers that are separated by dots.
fn version_in(text: &str) -> Option<(u32, u32, u32)> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let mut parts = word.split('.').map(|part| part.parse::<u32>().ok());
            Some((parts.next()??, parts.next()??, parts.next()??))
        })
}

/// Cached results of probes, by program.
#[derive(Debug)]
pub(crate) struct ProbeCache {
    path: PathBuf,
}

/// A cached result, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeCacheEntry {
    /// The file's size, modification and change times, and inode: another file is another program.
    /// Files that npm installs have the same modification time whatever the version, and a small
    /// launcher script has the same size too.
    file: (u64, i64, i64, u64),
    /// The options that were required when it was probed.
    needed: Vec<String>,
    probed: ProgramProbe,
}

impl ProbeCache {
    /// Uses the cache in codeteam's own state folder.
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self {
            path: state.join("workers.json"),
        }
    }

    /// Returns the cached result for a program, if it still is the same file.
    pub(crate) fn get(&self, program: &Path, needs: &CliRequirements) -> Option<ProgramProbe> {
        let entry = self.read().remove(&program.display().to_string())?;
        let same = entry.file == file(program)? && entry.needed == needed(needs);
        same.then_some(entry.probed)
    }

    /// Stores a result. If that fails, the program is probed again the next time.
    pub(crate) fn put(&self, program: &Path, needs: &CliRequirements, probed: &ProgramProbe) {
        // Several programs are probed at once, and each write must keep the others' entries.
        static WRITING: Mutex<()> = Mutex::new(());
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = file(program) else {
            return;
        };
        let mut entries = self.read();
        let entry = ProbeCacheEntry {
            file,
            needed: needed(needs),
            probed: probed.clone(),
        };
        entries.insert(program.display().to_string(), entry);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            let next = self
                .path
                .with_extension(format!("json.{}", std::process::id()));
            fs::write(&next, serde_json::to_vec_pretty(&entries)?)?;
            fs::rename(&next, &self.path)
        };
        let _ = write();
    }

    fn read(&self) -> BTreeMap<String, ProbeCacheEntry> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

fn needed(needs: &CliRequirements) -> Vec<String> {
    needs.flags.iter().map(|&flag| flag.to_owned()).collect()
}

fn file(program: &Path) -> Option<(u64, i64, i64, u64)> {
    let meta = fs::metadata(program).ok()?;
    Some((meta.len(), meta.mtime(), meta.ctime(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: CliRequirements = CliRequirements {
        program: "claude",
        package: "@anthropic-ai/claude-code",
        oldest: (2, 1, 0),
        help: &["--help"],
        flags: &["--json-schema", "--print"],
        login: "claude auth login",
    };

    fn objection(version: &str, help: &str) -> String {
        let probed = ProgramProbe::read(&NEEDS, version, help);
        probed.objection(&NEEDS).unwrap_or_default()
    }

    #[test]
    fn old_strange_and_lacking_programs_are_told_apart() {
        let help = "  -p, --print   …\n  --json-schema <schema>";
        assert_eq!(objection("2.1.197 (Claude Code)", help), "");
        assert_eq!(objection("codex-cli 2.1.0", help), "");
        assert!(objection("2.0.9 (Claude Code)", help).contains("2.0.9 is too old"));
        assert!(objection("hello", help).contains("does not tell its version"));
        let lacking = objection("2.1.197", "--print --json-schema-file");
        assert!(lacking.contains("has no `--json-schema`"), "{lacking}");
    }

    #[test]
    fn an_answer_is_kept_for_the_same_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        fs::write(&program, "one").unwrap();
        let kept = ProbeCache::in_folder(folder.path());
        let probed = ProgramProbe::read(&NEEDS, "2.1.197", "--print");
        kept.put(&program, &NEEDS, &probed);
        assert_eq!(kept.get(&program, &NEEDS), Some(probed));
        fs::write(&program, "another").unwrap();
        assert_eq!(kept.get(&program, &NEEDS), None);
    }

    #[test]
    fn what_is_kept_at_once_is_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let kept = ProbeCache::in_folder(folder.path());
        let probed = ProgramProbe::read(&NEEDS, "2.1.197", "--print");
        let programs: Vec<PathBuf> = (0..8).map(|n| folder.path().join(n.to_string())).collect();
        std::thread::scope(|scope| {
            for program in &programs {
                fs::write(program, "").unwrap();
                scope.spawn(|| kept.put(program, &NEEDS, &probed));
            }
        });
        for program in &programs {
            assert!(kept.get(program, &NEEDS).is_some(), "{program:?}");
        }
    }
}
