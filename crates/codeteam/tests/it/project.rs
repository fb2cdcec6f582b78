//! A project to try codeteam on: a repository, a home and a state folder of its own, nothing of
//! the machine's configuration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::pty::Terminal;

/// A project in a temporary folder.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

/// The result of a command.
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A repository with one commit: `hello.txt`, and a gate that every `tests/*.sh` passes.
    pub(crate) fn new() -> Self {
        let project = Self::empty();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.write("hello.txt", "hello\n");
        project.config("worker: scripted\nverification:\n  commands:\n    - { name: tests, command: 'for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done' }\n");
        project.commit("first");
        project
    }

    /// A folder that is no repository yet.
    pub(crate) fn empty() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(project.root()).unwrap();
        std::fs::create_dir_all(project.shown_folder()).unwrap();
        std::fs::create_dir_all(project.home().join("meet")).unwrap();
        let known = "[user]\n\tname = Ada\n\temail = ada@example.org\n";
        std::fs::write(project.home().join(".gitconfig"), known).unwrap();
        project.user_config(&format!(
            "sandbox:\n  toolchains: [ {} ]\n  caches: [ {{ path: ~/meet, mode: copy }} ]\n",
            project.shown_folder().display()
        ));
        project
    }

    /// A folder that workers and checks see, and cannot write.
    pub(crate) fn shown_folder(&self) -> PathBuf {
        self.home().join("shown")
    }

    /// A file that workers and checks can wait for.
    pub(crate) fn go(&self) -> PathBuf {
        self.shown_folder().join("go")
    }

    /// The user's own configuration. Unless it says otherwise, as few roles as possible take part.
    pub(crate) fn user_config(&self, text: &str) {
        let folder = self.home().join(".config/codeteam");
        std::fs::create_dir_all(&folder).unwrap();
        let lean = if text.contains("workflow:") {
            ""
        } else {
            "workflow: lean\n"
        };
        // Whoever runs the tests is known as ada.
        let people = if text.contains("people:") {
            String::new()
        } else {
            format!("people: {{ ada: {{ uid: {} }} }}\n", Self::own_uid())
        };
        let text = format!("{text}{lean}{people}");
        std::fs::write(folder.join("config.yml"), text).unwrap();
    }

    /// The user id of whoever runs the tests.
    pub(crate) fn own_uid() -> u32 {
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn config(&self, text: &str) {
        self.write(".codeteam/config.yml", text);
    }

    /// Trusts the project with all that it asks for.
    pub(crate) fn trust(&self) {
        self.run(&["trust", "--yes"]).expect(0);
    }

    /// Keeps a file outside of the repository and returns its path.
    pub(crate) fn write_outside(&self, name: &str, text: &str) -> String {
        let path = self.home().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Keeps a workflow outside of the repository and returns its path.
    pub(crate) fn workflow(&self, text: &str) -> String {
        self.write_outside("flow.yml", text)
    }

    /// Keeps a script outside of the repository and returns its path.
    pub(crate) fn script(&self, text: &str) -> String {
        self.write_outside("script.yml", text)
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    /// Returns git's output, with an identity and without the machine's configuration.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Self::command(Path::new("git"), &self.root(), &self.home())
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.org")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// A call of codeteam in the project, not started yet.
    pub(crate) fn codeteam(&self, args: &[&str]) -> Command {
        let mut command = Self::command(
            Path::new(env!("CARGO_BIN_EXE_codeteam")),
            &self.root(),
            &self.home(),
        );
        // Most projects here have checks that fail until the goal is reached.
        command.env("CODETEAM_VERIFICATION__BASELINE", "must_pass");
        command.args(args);
        command
    }

    /// Starts codeteam at a terminal of its own.
    pub(crate) fn terminal(&self, args: &[&str]) -> Terminal {
        self.terminal_with(args, &[])
    }

    /// The same, with more in the environment.
    pub(crate) fn terminal_with(&self, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        Terminal::start(self.codeteam(args), env)
    }

    /// Another program, with the environment of the machine.
    #[expect(clippy::disallowed_methods, reason = "the one place tests spawn from")]
    pub(crate) fn program(program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        command
    }

    /// The cargo that runs this test, with its own environment: it needs to find its registry.
    #[expect(clippy::disallowed_methods, reason = "the one place tests spawn from")]
    pub(crate) fn cargo() -> Command {
        Command::new(env!("CARGO"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place tests spawn from, with the PATH of the machine"
    )]
    fn command(program: &Path, cwd: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(cwd)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home)
            .env("USER", "ada")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Another program, in the project and with its environment.
    pub(crate) fn tool(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Self::command(Path::new(program), &self.root(), &self.home());
        command.args(args);
        command
    }

    /// Runs codeteam to its end.
    pub(crate) fn run(&self, args: &[&str]) -> CommandResult {
        CommandResult::from(self.codeteam(args).output().unwrap())
    }

    /// Runs a line that codeteam printed, as a person would paste it.
    pub(crate) fn paste(&self, line: &str) -> CommandResult {
        let binary = Path::new(env!("CARGO_BIN_EXE_codeteam"));
        let mut command = Self::command(Path::new("sh"), &self.root(), &self.home());
        let path = command
            .get_envs()
            .find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
        let mut folders = vec![binary.parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&path.unwrap()));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        CommandResult::from(command.args(["-c", line]).output().unwrap())
    }

    /// Runs codeteam to its end, which must be good, and reads its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let done = self.run(args);
        assert_eq!(
            done.code,
            Some(0),
            "{args:?}\n{}\n{}",
            done.stdout,
            done.stderr
        );
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// The newest run, as `show --json` tells it.
    pub(crate) fn shown_run(&self) -> Value {
        self.json(&["show", "--json"])
    }

    /// Returns the content of a file on the branch of the newest run.
    pub(crate) fn committed_file(&self, path: &str) -> String {
        let branch = self.shown_run()["branch"].as_str().unwrap().to_owned();
        self.git(&["show", &format!("{branch}:{path}")])
    }

    /// The files that the newest run's branch has and `main` has not, or has otherwise.
    pub(crate) fn committed_files(&self) -> Vec<String> {
        let branch = self.shown_run()["branch"].as_str().unwrap().to_owned();
        let names = self.git(&["diff", "--name-only", "main", &branch]);
        names.lines().map(str::to_owned).collect()
    }

    /// The events of the newest run, as `log --json` tells them.
    pub(crate) fn events(&self) -> Vec<Value> {
        let done = self.run(&["log", "--json"]).expect(0);
        let parse = |line: &str| serde_json::from_str(line).unwrap();
        done.stdout.lines().map(parse).collect()
    }

    /// Returns the number of events of a kind in the newest run.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let events = self.events();
        events.iter().filter(|e| e["event"]["type"] == kind).count()
    }

    /// Everything in the user's checkout that a run must leave as it is.
    pub(crate) fn checkout(&self) -> Vec<(String, String)> {
        let mut found = vec![
            ("HEAD".to_owned(), self.git(&["rev-parse", "HEAD"])),
            (
                "branch".to_owned(),
                self.git(&["rev-parse", "--abbrev-ref", "HEAD"]),
            ),
            ("status".to_owned(), self.git(&["status", "--porcelain"])),
            ("config".to_owned(), self.read(".git/config")),
        ];
        files(&self.root(), &self.root(), &mut found);
        found.sort();
        found
    }

    /// Processes of this project's runs: at work in one of its worktrees, or marked. One that is
    /// already killed does not count.
    pub(crate) fn survivors(&self) -> Vec<String> {
        let home = format!("HOME={}", self.home().display());
        let marked = |pid: &str| {
            let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let environ: Vec<_> = environ.split(|b| *b == 0).collect();
            let has_mark = environ.contains(&home.as_bytes())
                && environ.iter().any(|v| v.starts_with(b"CODETEAM_MARK="));
            has_mark || cwd.starts_with(self.home())
        };
        entries(Path::new("/proc"))
            .iter()
            .filter_map(|path| path.file_name()?.to_str())
            .filter(|name| name.parse::<u32>().is_ok() && marked(name) && !is_dying(name))
            .map(|pid| {
                let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                format!("{pid} {}", String::from_utf8_lossy(&command))
            })
            .collect()
    }

    /// The trees of a branch's own commits, oldest first.
    pub(crate) fn trees(&self, branch: &str) -> Vec<String> {
        let log = self.git(&[
            "log",
            "--reverse",
            "--format=%T",
            &format!("main..{branch}"),
        ]);
        log.lines().map(str::to_owned).collect()
    }

    /// Whether nothing is left of any run's worktree. Those that are kept for the next run are no
    /// run's.
    pub(crate) fn worktrees(&self) -> Vec<PathBuf> {
        let root = self.home().join(".local/state/codeteam");
        let mut found = Vec::new();
        for repository in entries(&root) {
            let runs = entries(&repository).into_iter();
            for run in runs.filter(|run| !run.ends_with(".kept")) {
                found.extend(
                    entries(&run)
                        .into_iter()
                        .filter(|p| !p.file_name().unwrap().to_string_lossy().starts_with('.')),
                );
            }
        }
        found
    }
}

/// The files below a folder, but for what belongs to git and codeteam.
fn files(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if name == ".git" || name == ".codeteam" {
            continue;
        }
        if path.is_dir() {
            files(root, &path, found);
        } else {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns true if a process has been killed and only has to be scheduled once more to end: `SIGKILL`
/// is pending, which the kernel also does for any other signal that ends a process.
fn is_dying(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pending = status.lines().filter_map(|line| {
        line.strip_prefix("SigPnd:")
            .or(line.strip_prefix("ShdPnd:"))
    });
    let kill = 1 << (rustix::process::Signal::KILL.as_raw() - 1);
    pending
        .filter_map(|signals| u64::from_str_radix(signals.trim(), 16).ok())
        .any(|signals| signals & kill != 0)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    read.map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect()
}

impl From<Output> for CommandResult {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl CommandResult {
    /// The same, if it ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// The same, if standard error has all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "lacks {text:?}:\n{}\n{}",
                self.stdout,
                self.stderr
            );
        }
        self
    }

    /// The same, if standard error has none of these.
    #[track_caller]
    pub(crate) fn lacks(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(
                !self.stderr.contains(text),
                "has {text:?}:\n{}",
                self.stderr
            );
        }
        self
    }

    /// The commands it printed under this word, such as `go on`.
    pub(crate) fn commands(&self, word: &str) -> Vec<String> {
        let prefix = format!("  {word:<7} codeteam ");
        let lines = self.stderr.lines();
        lines
            .filter(|line| line.starts_with(&prefix))
            .map(|line| line[prefix.len() - "codeteam ".len()..].to_owned())
            .collect()
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}\n{}\n{}", self.stdout, self.stderr))
    }
}
