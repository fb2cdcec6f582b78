//! What a CLI is and can do, asked once and kept.
//!
//! A CLI is asked for its version and its options in the sandbox, without a network, before its
//! first assignment; what it says is kept for as long as the program is the same file. One that is
//! missing, too old or lacks an option gets an error that says so, instead of an empty result.

mod ask;

pub(crate) use self::ask::{ProgramAnswer, ProgramQuery, locate};

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage};
use serde::{Deserialize, Serialize};

use crate::dialect::CliRequirements;

/// What a CLI said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramProbe {
    /// Its version, as it says it.
    pub version: String,
    /// The options that it should have and does not.
    pub lacks: Vec<String>,
}

impl ProgramProbe {
    /// Reads what it answered to `--version` and to the question for its options.
    pub fn read(needs: &CliRequirements, version: &str, help: &str) -> Self {
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

    /// Why it cannot be used, if it cannot, and what to do about it.
    pub fn objection(&self, needs: &CliRequirements) -> Option<String> {
        let ProgramFault { why, remedy } = self.fault(needs)?;
        Some(format!("{why}; {remedy}"))
    }

    /// The same in two parts.
    pub fn fault(&self, needs: &CliRequirements) -> Option<ProgramFault> {
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

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFault {
    /// What.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

/// What is reported of a worker whose program cannot be used.
pub fn unusable(trouble: FailureCause, message: String) -> FailureFacts {
    FailureFacts {
        stage: FailureStage::Spawn,
        trouble: Some(trouble),
        message,
        ..FailureFacts::default()
    }
}

/// The first three numbers with dots between them.
fn version_in(text: &str) -> Option<(u32, u32, u32)> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .find_map(|word| {
            let mut parts = word.split('.').map(|part| part.parse::<u32>().ok());
            Some((parts.next()??, parts.next()??, parts.next()??))
        })
}

/// Answers that are kept, by the program they are of.
#[derive(Debug)]
pub struct ProbeCache {
    path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ProbeCacheEntry {
    /// The file's size, its times and its number: another file is another program. What npm installs
    /// has the same time of writing whatever the version, and a small starter the same size too.
    file: (u64, i64, i64, u64),
    /// What was needed when it was asked.
    needed: Vec<String>,
    probed: ProgramProbe,
}

impl ProbeCache {
    /// Those in codeteam's own folder.
    pub fn of(state: &Path) -> Self {
        Self {
            path: state.join("workers.json"),
        }
    }

    /// What is known of a program, if it still is that program.
    pub fn get(&self, program: &Path, needs: &CliRequirements) -> Option<ProgramProbe> {
        let entry = self.read().remove(&program.display().to_string())?;
        let same = entry.file == file(program)? && entry.needed == needed(needs);
        same.then_some(entry.probed)
    }

    /// Keeps an answer. If it cannot be kept, it is asked for again the next time.
    pub fn put(&self, program: &Path, needs: &CliRequirements, probed: &ProgramProbe) {
        // Several are asked at once, and each keeps what the others have kept.
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

/// Where a program is, as a shell would find it.
pub fn find(program: &Path, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        return is_program(program).then(|| program.to_owned());
    }
    // One that is named by no whole path lies wherever one happens to be: in a repository of others.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|candidate| is_program(candidate))
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

    #[test]
    fn no_program_is_taken_from_wherever_one_happens_to_be() {
        use std::os::unix::fs::PermissionsExt as _;
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in(&here).unwrap();
        let program = folder.path().join("xclip");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let relative = folder.path().strip_prefix(&here).unwrap();
        let find = |path: &Path| find(Path::new("xclip"), path.as_os_str());
        assert_eq!(find(relative), None);
        assert_eq!(find(folder.path()), Some(program));
    }

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
        let kept = ProbeCache::of(folder.path());
        let probed = ProgramProbe::read(&NEEDS, "2.1.197", "--print");
        kept.put(&program, &NEEDS, &probed);
        assert_eq!(kept.get(&program, &NEEDS), Some(probed));
        fs::write(&program, "another").unwrap();
        assert_eq!(kept.get(&program, &NEEDS), None);
    }

    #[test]
    fn what_is_kept_at_once_is_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let kept = ProbeCache::of(folder.path());
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
