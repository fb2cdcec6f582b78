//! Finds the toolchains that a user has outside `/usr`, and the workers' CLIs.
//!
//! Only what a tool needs to run is shown: the programs, libraries and related files of an
//! installation, never a home, a checkout or a folder that also holds credentials (`~/.cargo`
//! does). Files that are known to hold credentials are covered wherever they are.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs, iter};

use crate::credentials;
use crate::policy::{MountAccess, PathKind, SandboxPolicy};

/// The programs whose installations are searched for.
const TOOLS: &[&str] = &[
    "bun", "cargo", "claude", "codex", "deno", "gemini", "git", "go", "java", "node", "npm",
    "pnpm", "python", "python3", "ruby", "rustc", "uv", "yarn",
];

/// The parts of an installation, in addition to `bin`.
const PARTS: &[&str] = &[
    "VERSION",
    "api",
    "bin",
    "compiler_compat",
    "conda-meta",
    "conf",
    "doc",
    "go.env",
    "include",
    "jmods",
    "languages",
    "legal",
    "lib",
    "lib32",
    "lib64",
    "libexec",
    "man",
    "misc",
    "pkg",
    "pyvenv.cfg",
    "release",
    "sbin",
    "share",
    "src",
    "ssl",
    "sysroot",
    "test",
    "tools",
];

/// Documents found in an installation. A folder with only these and its parts is shown as a whole.
const PAPERS: &[&str] = &[
    "AUTHORS",
    "CHANGELOG",
    "CONTRIBUTING",
    "COPYING",
    "COPYRIGHT",
    "LICENSE",
    "NOTICE",
    "PATENTS",
    "README",
    "SECURITY",
    "THIRD_PARTY",
    "codereview",
];

/// The parts of a version manager's folder that its shims need.
const MANAGED: &[&str] = &[
    "bin", "installs", "lib", "libexec", "plugins", "shims", "version", "versions",
];

/// Folders of a home directory that contain more than one tool, some of it secret, whoever's home
/// it is.
const SHARED: &[&str] = &[
    ".cache", ".cargo", ".claude", ".codex", ".config", ".gem", ".gemini", ".local", ".npm",
];

/// Entries that identify a folder as a home or a project and not an installation: workers must not
/// see its `lib` and `src`.
const NO_INSTALLATION: &[&str] = &[
    ".bashrc",
    ".codeteam",
    ".config",
    ".env",
    ".git",
    ".hg",
    ".profile",
    ".ssh",
    ".svn",
    "Cargo.toml",
    "Gemfile",
    "build.gradle",
    "composer.json",
    "go.mod",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "setup.py",
];

/// A longer chain of links is not followed.
const LINKS: usize = 40;

/// The toolchains of this host that commands may use.
///
/// [`Toolchains::find`] collects them from the user's `PATH`: it resolves each known tool through
/// its links to the installation and records the folders to show, what to hide in them, and the
/// environment the tools need. [`Toolchains::apply_to_policy`] adds all of that to a
/// [`SandboxPolicy`]. Tools in a place that no command may see are not shown, but listed in
/// `refused`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// The paths that must be visible, without symbolic links.
    pub read_only: BTreeSet<PathBuf>,
    /// The paths inside them that must not be visible.
    pub hidden: BTreeMap<PathBuf, PathKind>,
    /// The directories with programs, in the order of the user's `PATH`.
    pub path: Vec<PathBuf>,
    /// The user's tools that are not shown, because they are in a place that no command may see.
    pub refused: BTreeSet<PathBuf>,
    /// The environment variables that the tools need.
    pub env: BTreeMap<OsString, OsString>,
}

impl Toolchains {
    /// Finds the toolchains in the given `PATH`, for the user with this home directory. Nothing
    /// inside an `off_limits` path, such as the checkout, is shown, nor any folder that contains
    /// one.
    pub fn find(path: &OsStr, home: &Path, off_limits: &[PathBuf]) -> Self {
        let Ok(home) = home.canonicalize() else {
            return Self::default();
        };
        let off_limits = off_limits
            .iter()
            .filter_map(|path| path.canonicalize().ok());
        let mut search = ToolchainSearch {
            off_limits: off_limits.collect(),
            found: Self::default(),
            home,
        };
        for directory in env::split_paths(path).filter(|directory| directory.is_absolute()) {
            search.scan_directory(&directory);
        }
        let mut found = search.found;
        for folder in &found.read_only {
            found.hidden.extend(credentials::find_paths_to_hide(folder));
        }
        found
    }

    /// Makes the toolchains visible and puts them first in the command's `PATH`.
    pub fn apply_to_policy(&self, policy: &mut SandboxPolicy) {
        for path in &self.read_only {
            policy.show(path, MountAccess::ReadOnly);
        }
        for (path, kind) in &self.hidden {
            policy.hide(path, *kind);
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
}

/// A search for toolchains, with its results so far.
struct ToolchainSearch {
    home: PathBuf,
    off_limits: Vec<PathBuf>,
    found: Toolchains,
}

impl ToolchainSearch {
    fn scan_directory(&mut self, directory: &Path) {
        let Ok(directory) = directory.canonicalize() else {
            return;
        };
        if self.is_shared(&directory) {
            return;
        }
        let tools = TOOLS.iter().map(|tool| directory.join(tool));
        let tools: Vec<PathBuf> = tools.filter(|tool| tool.is_file()).collect();
        if tools.is_empty() {
            return;
        }
        if self.is_off_limits(&directory) {
            self.found.refused.insert(directory);
            return;
        }
        // These programs are in the middle of something else: only they are shown.
        let is_elses = has_any(&directory, NO_INSTALLATION);
        for tool in tools.iter().filter(|tool| !is_elses || tool.is_symlink()) {
            self.add_tool(tool);
        }
        if directory.starts_with("/usr") {
            return;
        }
        if let Some(manager) = shims_of(&directory) {
            self.add_parts(manager, MANAGED);
        } else if is_elses {
            let files = tools.iter().filter(|tool| !tool.is_symlink());
            files.for_each(|tool| self.add(tool.clone()));
        } else {
            self.add(directory.clone());
        }
        if !self.found.path.contains(&directory) {
            self.found.path.push(directory);
        }
    }

    /// Adds what belongs to one program, including the links that lead to it.
    fn add_tool(&mut self, tool: &Path) {
        let links = iter::successors(resolve_link(tool), |link| resolve_link(link));
        for link in links.take(LINKS).filter(|path| path.is_symlink()) {
            let directory = link.parent().filter(|directory| {
                let is_for_programs = directory.ends_with("bin") || directory.ends_with(".bin");
                is_for_programs && !directory.starts_with("/usr") && !self.is_shared(directory)
            });
            if let Some(directory) = directory {
                self.add(directory.to_owned());
            }
        }
        if let Ok(tool) = tool.canonicalize() {
            self.add_installation(&tool);
        }
    }

    fn add_installation(&mut self, tool: &Path) {
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
        if tool.ends_with("bin/rustup")
            && let Some(rustup) = self.rustup_home(directory)
        {
            self.add(directory.to_owned());
            self.add(rustup.clone());
            self.found.env.insert("RUSTUP_HOME".into(), rustup.into());
            return;
        }
        let prefix = directory
            .parent()
            .filter(|_| directory.ends_with("bin"))
            .filter(|prefix| self.is_installation(prefix));
        match prefix {
            Some(prefix) if is_only_installation(prefix) && !self.is_off_limits(prefix) => {
                self.add(prefix.to_owned());
            }
            Some(prefix) => self.add_parts(prefix, PARTS),
            None => self.add(directory.to_owned()),
        }
    }

    /// Returns where the toolchains are that the programs in cargo's `bin` start.
    fn rustup_home(&self, bin: &Path) -> Option<PathBuf> {
        let cargo = bin.parent()?;
        let beside = match cargo.file_name()?.to_str()? {
            ".cargo" => Some(cargo.with_file_name(".rustup")),
            "cargo" => Some(cargo.with_file_name("rustup")),
            _ => None,
        };
        let usual = self.home.join(".rustup");
        let mut homes = beside.into_iter().chain([usual]);
        homes.find(|home| home.is_dir())
    }

    /// Returns true if a folder is an installation, and not part of a home or a project.
    fn is_installation(&self, prefix: &Path) -> bool {
        let is_go_workspace = prefix.ends_with("go") && !prefix.join("VERSION").is_file();
        prefix != Path::new("/")
            && !self.is_shared(prefix)
            && !is_go_workspace
            && !has_any(prefix, NO_INSTALLATION)
    }

    /// Returns true if a directory holds part of a home, and not just one tool.
    fn is_shared(&self, directory: &Path) -> bool {
        let name = directory.file_name().and_then(OsStr::to_str);
        let is_one_of_them = name.is_some_and(|name| SHARED.contains(&name));
        is_one_of_them || self.home.starts_with(directory)
    }

    fn is_off_limits(&self, path: &Path) -> bool {
        let mut off_limits = self.off_limits.iter();
        off_limits.any(|off| path.starts_with(off) || off.starts_with(path))
    }

    fn add_parts(&mut self, prefix: &Path, parts: &[&str]) {
        for part in parts.iter().map(|part| prefix.join(part)) {
            // A link may lead anywhere.
            if !part.is_symlink() && part.exists() {
                self.add(part);
            }
        }
    }

    fn add(&mut self, path: PathBuf) {
        if self.is_off_limits(&path) || self.home.starts_with(&path) {
            self.found.refused.insert(path);
            return;
        }
        let shown = &mut self.found.read_only;
        if shown.iter().any(|wider| path.starts_with(wider)) {
            return;
        }
        shown.retain(|narrower| !narrower.starts_with(&path));
        shown.insert(path);
    }
}

/// Returns the folder of a version manager if `directory` holds its shims. Version managers put
/// small scripts into one directory, and the programs they start next to it.
fn shims_of(directory: &Path) -> Option<&Path> {
    let manager = directory
        .parent()
        .filter(|_| directory.ends_with("shims"))?;
    has_any(manager, &["versions", "installs"]).then_some(manager)
}

fn has_any(folder: &Path, names: &[&str]) -> bool {
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.any(|path| path.symlink_metadata().is_ok())
}

/// Returns true if a prefix contains nothing but the parts of an installation.
fn is_only_installation(prefix: &Path) -> bool {
    let is_part = |name: &str| {
        let is_paper = |paper: &&str| name.starts_with(*paper);
        PARTS.contains(&name) || PAPERS.iter().any(is_paper)
    };
    let Ok(mut entries) = fs::read_dir(prefix) else {
        return false;
    };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_part)))
}

/// Returns the target of a link, which may itself be a link, in a directory whose path has no
/// links; `None` if `path` is not a link.
fn resolve_link(path: &Path) -> Option<PathBuf> {
    let to = path.parent()?.join(fs::read_link(path).ok()?);
    let directory = to.parent()?.canonicalize().ok()?;
    Some(directory.join(to.file_name()?))
}

/// Returns the JavaScript packages that a program needs: only its own package if npm installed it,
/// since npm puts everything else inside that; otherwise all of them.
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

    struct TestHome(tempfile::TempDir);

    impl TestHome {
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
            let found = Toolchains::find(&path, self.0.path(), &[self.path("work")]);
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
        let home = TestHome::with(&[
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
        let home = TestHome::with(&[
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
        let home = TestHome::with(&[".pyenv/shims/python3", ".pyenv/versions/3.13/bin/python3"]);
        assert_eq!(
            home.find(&[".pyenv/shims"]).0,
            [".pyenv/shims", ".pyenv/versions"]
        );
    }

    #[test]
    fn a_home_is_never_shown() {
        let home = TestHome::with(&["bin/node", "node", ".local/bin/uv", ".ssh/id_ed25519"]);
        let (shown, path) = home.find(&["", "bin", ".local/bin"]);
        assert_eq!(shown, [".local/bin", "bin"]);
        assert_eq!(path, ["bin", ".local/bin"]);
    }

    #[test]
    fn links_are_followed_to_the_installation() {
        let home = TestHome::with(&["sdk/go1.26/bin/go", "tools/readme"]);
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
            let home = TestHome::with(&[&files[0], &files[1], &files[2], &other]);
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
        let home = TestHome::with(&[
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
        let home = TestHome::with(&[
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
        let home = TestHome::with(&[
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
        let home = TestHome::with(&["opt/claude-2/claude", "notes/x"]);
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
        let home = TestHome::with(&[".codex/bin/codex", ".claude/claude", ".codex/auth.json"]);
        let (shown, path) = home.find(&[".codex/bin", ".claude"]);
        assert_eq!(shown, [".codex/bin"]);
        assert_eq!(path, [".codex/bin"]);
    }

    #[test]
    fn nothing_of_the_checkout_is_shown_and_nothing_round_it() {
        let home = TestHome::with(&[
            "work/bin/yarn",
            "work/.env",
            "work/node",
            "work/sub/.venv/bin/python3",
        ]);
        let entries = ["work/bin", "work", "work/sub/.venv/bin"];
        assert_eq!(home.find(&entries), (vec![], vec![]));
        let path = env::join_paths(entries.map(|entry| home.path(entry))).unwrap();
        let found = Toolchains::find(&path, home.0.path(), &[home.path("work")]);
        assert_eq!(found.refused.len(), 3, "{found:?}");
        // A tool elsewhere is not a way round it: neither a link into the checkout nor a
        // prefix that has it inside.
        let home = TestHome::with(&["work/tool/bin/node", "prefix/x"]);
        home.link("../work/tool/bin/node", "prefix/node");
        assert_eq!(home.find(&["prefix"]).0, ["prefix"]);
        let around = TestHome::with(&["opt/bin/node", "opt/lib/x", "opt/src/work/.env"]);
        let path = around.path("opt/bin");
        let off = [around.path("opt/src/work")];
        let found = Toolchains::find(path.as_os_str(), around.0.path(), &off);
        let wanted = [around.path("opt/bin"), around.path("opt/lib")];
        assert_eq!(found.read_only, wanted.into());
    }

    #[test]
    fn of_another_project_only_its_programs_are_shown() {
        let home = TestHome::with(&[
            "other/bin/yarn",
            "other/.env",
            "other/.git/config",
            "other/lib/x",
            "third/node",
            "third/package.json",
            "third/secret",
        ]);
        let (shown, path) = home.find(&["other/bin", "third"]);
        assert_eq!(shown, ["other/bin", "third/node"]);
        assert_eq!(path, ["other/bin", "third"]);
    }

    #[test]
    fn of_an_installation_its_own_files_are_shown() {
        let home = TestHome::with(&[
            ".nvm/versions/node/v22/bin/node",
            ".nvm/versions/node/v22/lib/node_modules/npm/cli.js",
            ".nvm/versions/node/v22/lib/.npmrc",
            ".nvm/versions/node/v22/etc/npmrc",
            ".local/share/pnpm/pnpm",
            ".local/share/pnpm/rc",
            ".venv/bin/uv",
            ".venv/lib/x",
            ".venv/pyvenv.cfg",
            ".venv/pip.conf",
        ]);
        let entries = [
            ".nvm/versions/node/v22/bin",
            ".local/share/pnpm",
            ".venv/bin",
        ];
        let path = env::join_paths(entries.map(|entry| home.path(entry))).unwrap();
        let found = Toolchains::find(&path, home.0.path(), &[]);
        let wanted = [
            ".local/share/pnpm",
            ".nvm/versions/node/v22/bin",
            ".nvm/versions/node/v22/lib",
            ".venv/bin",
            ".venv/lib",
            ".venv/pyvenv.cfg",
        ];
        assert_eq!(found.read_only, wanted.map(|path| home.path(path)).into());
        let hidden = [".local/share/pnpm/rc", ".nvm/versions/node/v22/lib/.npmrc"];
        let hidden = hidden.map(|path| (home.path(path), PathKind::File));
        assert_eq!(found.hidden, hidden.into());
    }

    #[test]
    fn cargos_home_is_never_shown_wherever_it_is() {
        let home = TestHome::with(&[
            ".local/share/cargo/bin/rustup",
            ".local/share/cargo/bin/cargo",
            ".local/share/cargo/credentials.toml",
            ".local/share/rustup/settings.toml",
            "bob/.cargo/bin/cargo",
            "bob/.cargo/credentials.toml",
            "bob/.local/bin/uv",
            "bob/.local/share/keyrings/login.keyring",
        ]);
        let entries = [".local/share/cargo/bin", "bob/.cargo/bin", "bob/.local/bin"];
        let (shown, _) = home.find(&entries);
        let wanted = [".local/share/cargo/bin", "bob/.cargo/bin", "bob/.local/bin"];
        assert_eq!(shown, wanted);
        std::fs::remove_file(home.path(".local/share/cargo/bin/cargo")).unwrap();
        home.link("rustup", ".local/share/cargo/bin/cargo");
        let (shown, _) = home.find(&entries[..1]);
        assert_eq!(shown, [".local/share/cargo/bin", ".local/share/rustup"]);
    }

    #[test]
    fn directories_without_tools_are_left_out() {
        let home = TestHome::with(&["scripts/deploy", "empty/x"]);
        assert_eq!(home.find(&["scripts", "missing"]), (vec![], vec![]));
    }
}
