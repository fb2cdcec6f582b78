//! Finds the toolchains a user has outside `/usr`.
//!
//! Only what a tool needs to run is shown: never a home directory, never a
//! directory that also holds credentials (`~/.cargo` does).

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::policy::{Access, Policy};

/// Programs whose installation is looked for.
const TOOLS: &[&str] = &[
    "bun", "cargo", "deno", "git", "go", "java", "node", "npm", "pnpm", "python", "python3",
    "ruby", "rustc", "uv", "yarn",
];

/// Toolchains of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// What must be visible, without symbolic links.
    pub read_only: BTreeSet<PathBuf>,
    /// The directories with programs, in the order of the user's `PATH`.
    pub path: Vec<PathBuf>,
    /// What the tools have to be told.
    pub env: BTreeMap<OsString, OsString>,
}

impl Toolchains {
    /// Those that the given `PATH` leads to, for the user with this home.
    pub fn find(path: &OsStr, home: &Path) -> Self {
        let mut found = Self::default();
        let Ok(home) = home.canonicalize() else {
            return found;
        };
        for directory in env::split_paths(path).filter(|directory| directory.is_absolute()) {
            found.look_into(&directory, &home);
        }
        found
    }

    /// Makes them visible and puts them first in the command's `PATH`.
    pub fn add_to(&self, policy: &mut Policy) {
        for path in &self.read_only {
            policy.show(path, Access::ReadOnly);
        }
        let usual = policy.env.get(OsStr::new("PATH")).cloned();
        let usual = usual.unwrap_or_default();
        let all = self.path.iter().cloned().chain(env::split_paths(&usual));
        // A directory with a colon in its name cannot be in a PATH anyway.
        if let Ok(path) = env::join_paths(all) {
            policy.set_env("PATH", path);
        }
        for (name, value) in &self.env {
            policy.set_env(name, value);
        }
    }

    fn look_into(&mut self, directory: &Path, home: &Path) {
        let Ok(directory) = directory.canonicalize() else {
            return;
        };
        if directory.starts_with("/usr") || home.starts_with(&directory) {
            return;
        }
        let tools: Vec<PathBuf> = TOOLS
            .iter()
            .filter_map(|tool| directory.join(tool).canonicalize().ok())
            .filter(|tool| tool.is_file())
            .collect();
        if tools.is_empty() {
            return;
        }
        for tool in tools {
            self.install(&tool, home);
        }
        self.add(match shims_of(&directory) {
            Some(all) => all.to_owned(),
            None => directory.clone(),
        });
        if !self.path.contains(&directory) {
            self.path.push(directory);
        }
    }

    /// What belongs to one program.
    fn install(&mut self, tool: &Path, home: &Path) {
        if tool.starts_with("/usr") {
            return;
        }
        let Some(directory) = tool.parent() else {
            return;
        };
        let rustup = home.join(".rustup");
        if tool.ends_with(".cargo/bin/rustup") && rustup.is_dir() {
            self.add(directory.to_owned());
            self.add(rustup.clone());
            self.env.insert("RUSTUP_HOME".into(), rustup.into());
            return;
        }
        let prefix = directory
            .parent()
            .filter(|_| directory.ends_with("bin"))
            .filter(|prefix| is_installation(prefix, home));
        self.add(prefix.unwrap_or(directory).to_owned());
    }

    fn add(&mut self, path: PathBuf) {
        if self.read_only.iter().any(|wider| path.starts_with(wider)) {
            return;
        }
        self.read_only
            .retain(|narrower| !narrower.starts_with(&path));
        self.read_only.insert(path);
    }
}

/// Version managers put small scripts into one directory, and what they start
/// beside it.
fn shims_of(directory: &Path) -> Option<&Path> {
    let manager = directory
        .parent()
        .filter(|_| directory.ends_with("shims"))?;
    ["versions", "installs"]
        .iter()
        .any(|name| manager.join(name).is_dir())
        .then_some(manager)
}

/// Whether a directory above `bin` holds one tool, and not half a home.
fn is_installation(prefix: &Path, home: &Path) -> bool {
    let is_shared = [".local", ".cargo", "go"]
        .iter()
        .any(|name| prefix == home.join(name));
    !is_shared && !home.starts_with(prefix)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Home(tempfile::TempDir);

    impl Home {
        fn with(files: &[&str]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for file in files {
                let path = home.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            home
        }

        fn path(&self, relative: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(relative)
        }

        fn find(&self, path: &[&str]) -> (Vec<String>, Vec<String>) {
            let path = env::join_paths(path.iter().map(|entry| self.path(entry))).unwrap();
            let found = Toolchains::find(&path, self.0.path());
            let relative = |path: &PathBuf| {
                let relative = path.strip_prefix(self.path("")).unwrap_or(path);
                relative.to_str().unwrap().to_owned()
            };
            (
                found.read_only.iter().map(relative).collect(),
                found.path.iter().map(relative).collect(),
            )
        }
    }

    #[test]
    fn a_rust_toolchain_comes_without_the_registry_token() {
        let home = Home::with(&[
            ".cargo/bin/rustup",
            ".cargo/credentials.toml",
            ".rustup/settings.toml",
        ]);
        std::os::unix::fs::symlink("rustup", home.path(".cargo/bin/cargo")).unwrap();
        let (shown, path) = home.find(&[".cargo/bin"]);
        assert_eq!(shown, [".cargo/bin", ".rustup"]);
        assert_eq!(path, [".cargo/bin"]);
    }

    #[test]
    fn a_version_of_node_is_shown_as_a_whole_and_no_other() {
        let home = Home::with(&[
            ".nvm/versions/node/v22/bin/node",
            ".nvm/versions/node/v22/lib/node_modules/npm/cli.js",
            ".nvm/versions/node/v20/bin/node",
        ]);
        let (shown, path) = home.find(&[".nvm/versions/node/v22/bin"]);
        assert_eq!(shown, [".nvm/versions/node/v22"]);
        assert_eq!(path, [".nvm/versions/node/v22/bin"]);
    }

    #[test]
    fn shims_bring_what_they_start() {
        let home = Home::with(&[".pyenv/shims/python3", ".pyenv/versions/3.13/bin/python3"]);
        assert_eq!(home.find(&[".pyenv/shims"]).0, [".pyenv"]);
    }

    #[test]
    fn a_home_is_never_shown() {
        let home = Home::with(&["bin/node", "node", ".local/bin/uv", ".ssh/id_ed25519"]);
        let (shown, path) = home.find(&["", "bin", ".local/bin"]);
        assert_eq!(shown, [".local/bin", "bin"]);
        assert_eq!(path, ["bin", ".local/bin"]);
    }

    #[test]
    fn links_are_followed_to_the_installation() {
        let home = Home::with(&["sdk/go1.26/bin/go", "tools/readme"]);
        std::os::unix::fs::symlink(home.path("sdk/go1.26/bin/go"), home.path("tools/go")).unwrap();
        let (shown, path) = home.find(&["tools"]);
        assert_eq!(shown, ["sdk/go1.26", "tools"]);
        assert_eq!(path, ["tools"]);
    }

    #[test]
    fn directories_without_tools_are_left_out() {
        let home = Home::with(&["scripts/deploy", "empty/x"]);
        assert_eq!(home.find(&["scripts", "missing"]), (vec![], vec![]));
    }
}
