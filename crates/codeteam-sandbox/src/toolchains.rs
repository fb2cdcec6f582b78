//! Finds the toolchains a user has outside `/usr`, and the CLIs of workers.
//!
//! Only what a tool needs to run is shown: never a home directory, never a
//! directory that also holds credentials (`~/.cargo` does).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs, iter};

use crate::policy::{Access, Policy};

/// Programs whose installation is looked for.
const TOOLS: &[&str] = &[
    "bun", "cargo", "claude", "codex", "deno", "gemini", "git", "go", "java", "node", "npm",
    "pnpm", "python", "python3", "ruby", "rustc", "uv", "yarn",
];

/// Directories of a home that have more in them than a tool, some of it secret.
const SHARED: &[&str] = &[".cargo", ".claude", ".codex", ".gemini", ".local", "go"];

/// More links than that in a row lead nowhere.
const LINKS: usize = 40;

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
        if is_shared(&directory, home) {
            return;
        }
        let tools = TOOLS.iter().map(|tool| directory.join(tool));
        let tools: Vec<PathBuf> = tools.filter(|tool| tool.is_file()).collect();
        for tool in &tools {
            self.follow(tool, home);
        }
        if tools.is_empty() || directory.starts_with("/usr") {
            return;
        }
        self.add(match shims_of(&directory) {
            Some(all) => all.to_owned(),
            None => directory.clone(),
        });
        if !self.path.contains(&directory) {
            self.path.push(directory);
        }
    }

    /// What belongs to one program, and what links lead there through.
    fn follow(&mut self, tool: &Path, home: &Path) {
        let links = iter::successors(step(tool), |link| step(link));
        for link in links.take(LINKS).filter(|path| path.is_symlink()) {
            let directory = link.parent().filter(|directory| {
                let is_for_programs = directory.ends_with("bin") || directory.ends_with(".bin");
                is_for_programs && !directory.starts_with("/usr") && !is_shared(directory, home)
            });
            if let Some(directory) = directory {
                self.add(directory.to_owned());
            }
        }
        if let Ok(tool) = tool.canonicalize() {
            self.install(&tool, home);
        }
    }

    fn install(&mut self, tool: &Path, home: &Path) {
        if tool.starts_with("/usr") {
            return;
        }
        if let Some(package) = package_of(tool) {
            self.add(package);
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
            .filter(|prefix| !is_shared(prefix, home));
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

/// Whether a directory holds half a home, and not one tool.
fn is_shared(directory: &Path, home: &Path) -> bool {
    let is_one_of_them = SHARED.iter().any(|name| directory == home.join(name));
    is_one_of_them || home.starts_with(directory)
}

/// Where a link leads, itself perhaps a link in a directory without any above
/// it; `None` if there is no link.
fn step(path: &Path) -> Option<PathBuf> {
    let to = path.parent()?.join(fs::read_link(path).ok()?);
    let directory = to.parent()?.canonicalize().ok()?;
    Some(directory.join(to.file_name()?))
}

/// What of JavaScript packages a program needs: its own package where npm has
/// installed it, which puts everything else into that; otherwise all of them.
fn package_of(tool: &Path) -> Option<PathBuf> {
    let all = tool
        .ancestors()
        .filter(|path| path.ends_with("node_modules"));
    let all = all.last()?;
    if !all.parent()?.ends_with("lib") {
        return Some(all.to_owned());
    }
    let mut names = tool.strip_prefix(all).ok()?.iter();
    let first = names.next()?;
    let package = all.join(first);
    let is_scope = first.as_encoded_bytes().starts_with(b"@");
    Some(if is_scope {
        package.join(names.next()?)
    } else {
        package
    })
}

#[cfg(test)]
mod tests {
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

        fn link(&self, to: &str, name: &str) {
            let link = self.path(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(to, link).unwrap();
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
    fn a_cli_of_npm_comes_with_its_package() {
        let packages = [
            "@anthropic-ai/claude-code/bin/claude.exe",
            "@openai/codex/bin/codex.js",
            "@google/gemini-cli/bundle/gemini.js",
        ];
        // A prefix of its own, and one that half a home is in.
        for prefix in [".npm-global", ".local"] {
            let place = |package: &str| format!("{prefix}/lib/node_modules/{package}");
            let files = packages.map(place);
            let other = place("private/index.js");
            let home = Home::with(&[&files[0], &files[1], &files[2], &other]);
            for (name, package) in ["claude", "codex", "gemini"].iter().zip(packages) {
                let to = format!("../lib/node_modules/{package}");
                home.link(&to, &format!("{prefix}/bin/{name}"));
            }
            let (shown, path) = home.find(&[&format!("{prefix}/bin")]);
            let wanted = [
                format!("{prefix}/bin"),
                place("@anthropic-ai/claude-code"),
                place("@google/gemini-cli"),
                place("@openai/codex"),
            ];
            assert_eq!(shown, wanted);
            assert_eq!(path, [format!("{prefix}/bin")]);
        }
    }

    #[test]
    fn a_cli_of_a_version_of_node_comes_with_that() {
        let home = Home::with(&[
            ".nvm/versions/node/v22/bin/node",
            ".nvm/versions/node/v22/lib/node_modules/@openai/codex/bin/codex.js",
        ]);
        let to = "../lib/node_modules/@openai/codex/bin/codex.js";
        home.link(to, ".nvm/versions/node/v22/bin/codex");
        let (shown, _) = home.find(&[".nvm/versions/node/v22/bin"]);
        assert_eq!(shown, [".nvm/versions/node/v22"]);
    }

    #[test]
    fn where_packages_share_what_they_need_all_are_shown() {
        let home = Home::with(&[
            ".bun/install/global/node_modules/@google/gemini-cli/bundle/gemini.js",
            ".bun/install/global/node_modules/needed/index.js",
        ]);
        let to = "../install/global/node_modules/@google/gemini-cli/bundle/gemini.js";
        home.link(to, ".bun/bin/gemini");
        let (shown, _) = home.find(&[".bun/bin"]);
        assert_eq!(shown, [".bun/bin", ".bun/install/global/node_modules"]);
    }

    #[test]
    fn a_cli_that_installs_itself_comes_with_its_versions() {
        let home = Home::with(&[
            ".local/share/claude/versions/2.1.197",
            ".local/share/keyrings/login.keyring",
        ]);
        let version = home.path(".local/share/claude/versions/2.1.197");
        home.link(version.to_str().unwrap(), ".local/bin/claude");
        let (shown, path) = home.find(&[".local/bin"]);
        assert_eq!(shown, [".local/bin", ".local/share/claude/versions"]);
        assert_eq!(path, [".local/bin"]);
    }

    #[test]
    fn links_on_the_way_are_shown_if_they_are_among_programs() {
        let home = Home::with(&["opt/claude-2/claude", "notes/x"]);
        home.link("../../opt/claude-2/claude", "tools/bin/claude");
        home.link("../../tools/bin/claude", ".local/bin/claude");
        home.link("../tools/bin/claude", "notes/codex");
        home.link("../../notes/codex", ".local/bin/codex");
        home.link("loop", ".local/bin/gemini");
        home.link("gemini", ".local/bin/loop");
        let wanted = [".local/bin", "opt/claude-2", "tools/bin"];
        assert_eq!(home.find(&[".local/bin"]).0, wanted);
    }

    #[test]
    fn where_logins_are_is_never_shown() {
        let home = Home::with(&[".codex/bin/codex", ".claude/claude", ".codex/auth.json"]);
        let (shown, path) = home.find(&[".codex/bin", ".claude"]);
        assert_eq!(shown, [".codex/bin"]);
        assert_eq!(path, [".codex/bin"]);
    }

    #[test]
    fn directories_without_tools_are_left_out() {
        let home = Home::with(&["scripts/deploy", "empty/x"]);
        assert_eq!(home.find(&["scripts", "missing"]), (vec![], vec![]));
    }
}
