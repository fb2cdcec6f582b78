//! Recognises files with keys, tokens and logins by name, and finds them in folders that are shown
//! to commands, so that they can be covered.
//!
//! This is a second line of defence: what is shown is chosen so that none of this should be in it.
//! No link is followed, and only the upper levels of a folder are searched, which is where programs
//! keep such files.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::policy::PathKind;

/// The number of levels of a folder that are searched.
const DEPTH: usize = 4;

/// The number of entries of one folder that are examined, the uppermost first.
const ENTRIES: usize = 5_000;

/// Files that hold keys, tokens or passwords in whatever folder they are.
const FILES: &[&str] = &[
    ".boto",
    ".credentials",
    ".credentials.json",
    ".dockercfg",
    ".envrc",
    ".git-credentials",
    ".gitconfig",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".terraformrc",
    ".vault-token",
    ".yarnrc",
    ".yarnrc.yml",
    "_netrc",
    "application_default_credentials.json",
    "auth.json",
    "credentials",
    "credentials.db",
    "credentials.json",
    "credentials.toml",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "master.key",
    "npmrc",
    "oauth_creds.json",
    "pip.conf",
    "pip.ini",
    "pypirc",
    "settings-security.xml",
];

/// Files that do so only in a folder with a certain name.
const FILES_OF: &[(&str, &str)] = &[
    (".docker", "config.json"),
    (".gradle", "gradle.properties"),
    (".m2", "settings.xml"),
    ("NuGet", "NuGet.Config"),
    ("gh", "hosts.yml"),
    ("pnpm", "rc"),
];

/// Folders that are private as a whole: a repository's own data (its `config` may have a token in a
/// URL), and folders where keys are kept.
const FOLDERS: &[&str] = &[
    ".aws",
    ".azure",
    ".codeteam",
    ".docker",
    ".git",
    ".gnupg",
    ".kube",
    ".password-store",
    ".ssh",
    "keyrings",
];

/// Suffixes of sample environment files, which are meant to be read.
const SAMPLES: &[&str] = &["defaults", "dist", "example", "sample", "template"];

/// Returns true if a file with this path is known to hold keys or logins.
pub fn is_credential_file(path: &Path) -> bool {
    let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    let Some(file) = name(path) else {
        return false;
    };
    let folder = path.parent().and_then(name).unwrap_or_default();
    let is_environment = match file.strip_prefix(".env") {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('.')
            .is_some_and(|rest| !SAMPLES.iter().any(|sample| rest.ends_with(sample))),
        None => false,
    };
    is_environment
        || FILES.contains(&file.as_str())
        || FOLDERS.contains(&file.as_str())
        || FILES_OF.contains(&(folder.as_str(), file.as_str()))
}

/// Returns true if a folder with this name holds nothing but keys and logins.
pub fn is_credential_folder(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| FOLDERS.contains(&name))
}

/// Returns what must be covered if `folder` is shown: credentials, and pipes and sockets through
/// which a command could talk to a process of the host. A read-only mount does not keep a command
/// from writing to those.
pub fn find_paths_to_hide(folder: &Path) -> BTreeMap<PathBuf, PathKind> {
    let mut found = BTreeMap::new();
    let mut open = VecDeque::from([(folder.to_owned(), DEPTH)]);
    let mut left = ENTRIES;
    while let Some((folder, depth)) = open.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if left == 0 {
                return found;
            }
            left -= 1;
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
                continue;
            };
            if kind.is_dir() && is_credential_folder(&path) {
                found.insert(path, PathKind::Directory);
            } else if kind.is_dir() && depth > 1 {
                open.push_back((path, depth - 1));
            } else if kind.is_fifo()
                || kind.is_socket()
                || (kind.is_file() && is_credential_file(&path))
            {
                found.insert(path, PathKind::File);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_known_by_name() {
        let files = [
            "x/credentials.toml",
            ".npmrc",
            "etc/npmrc",
            ".env",
            ".env.local",
            "pnpm/rc",
            ".m2/settings.xml",
            ".git",
        ];
        for file in files {
            assert!(is_credential_file(Path::new(file)), "{file}");
        }
        let others = [
            ".env.example",
            ".environment",
            "credentials.py",
            "bash/rc",
            "settings.xml",
            "cacert.pem",
            "npm",
        ];
        for file in others {
            assert!(!is_credential_file(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn they_are_found_in_the_upper_levels_and_never_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in [
            "bin/node",
            "etc/npmrc",
            "lib/credentials/index.js",
            "a/b/c/.netrc",
            "a/b/c/d/.netrc",
            ".git/config",
        ] {
            write(name);
        }
        std::os::unix::fs::symlink("/etc", folder.path().join(".ssh")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("a/door")).unwrap();
        let found = find_paths_to_hide(folder.path());
        let found: Vec<_> = found
            .iter()
            .map(|(path, kind)| (path.strip_prefix(folder.path()).unwrap(), *kind))
            .map(|(path, kind)| (path.to_str().unwrap(), kind))
            .collect();
        let wanted = [
            (".git", PathKind::Directory),
            ("a/b/c/.netrc", PathKind::File),
            ("a/door", PathKind::File),
            ("etc/npmrc", PathKind::File),
        ];
        assert_eq!(found, wanted);
    }
}
