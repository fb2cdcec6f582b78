//! Helpers for the tests of more than one module.

use std::path::Path;

use crate::git::{CommitSignature, GitIdentity};

/// Returns a signature that makes commits the same in every run of the tests.
pub(crate) fn signature() -> CommitSignature {
    CommitSignature {
        identity: GitIdentity {
            name: "Tess".to_owned(),
            email: "tess@example.org".to_owned(),
        },
        seconds: 1_700_000_000,
    }
}

/// Lists every file and directory below, with its size and the hash of its content.
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                pending.push(path.clone());
                "directory".to_owned()
            } else if metadata.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).unwrap().display())
            } else {
                blake3::hash(&std::fs::read(&path).unwrap())
                    .to_hex()
                    .to_string()
            };
            lines.push(format!("{} {content}", path.display()));
        }
    }
    lines.sort();
    lines
}
