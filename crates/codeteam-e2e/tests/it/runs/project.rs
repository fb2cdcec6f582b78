//! A project whose workers ask the scripted model server: a repository, a home and a server of its
//! own, nothing of the machine's configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use codeteam_e2e::{ModelServer, RecordedRequests, Scenario};
use serde_json::Value;

use super::programs;
use super::pty::Terminal;

/// The user's keys. No two are of one length: of a credential, the server keeps only that.
pub(crate) const ANTHROPIC_KEY: &str = "sk-ant-the-own-key-of-the-user";
pub(crate) const OPENAI_KEY: &str = "sk-proj-the-own-key-of-the-user";
pub(crate) const GEMINI_KEY: &str = "AIza-the-very-own-key-of-the-user";

/// The text that a worker sees in place of a key.
pub(crate) const PLACEHOLDER: &str = "added-outside-the-sandbox";

/// A project in a temporary folder, and a model.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) server: ModelServer,
    env: Vec<(String, OsString)>,
}

/// A program that ends with its test, however that does.
pub(crate) struct RunningProgram(pub(crate) Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The result of a command.
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// A repository with one commit, whose gate wants `add.sh` to add, and a user with a key for
    /// every API, all of which are the scripted server.
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self::in_folder(scenario, tempfile::tempdir().unwrap())
    }

    /// The same outside of the system's place for temporary files, where codex does not want to
    /// have its home.
    pub(crate) fn lasting(scenario: Scenario) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Self::in_folder(scenario, folder.unwrap())
    }

    fn in_folder(scenario: Scenario, folder: tempfile::TempDir) -> Self {
        let server = ModelServer::start(scenario).unwrap();
        let (base, openai) = (server.base_url(), server.openai_url());
        let mut project = Self {
            folder,
            server,
            env: Vec::new(),
        };
        for (name, value) in [
            ("ANTHROPIC_API_KEY", ANTHROPIC_KEY),
            ("ANTHROPIC_BASE_URL", &base),
            ("OPENAI_API_KEY", OPENAI_KEY),
            ("OPENAI_BASE_URL", &openai),
            ("GEMINI_API_KEY", GEMINI_KEY),
            ("GOOGLE_GEMINI_BASE_URL", &base),
        ] {
            project.set(name, value);
        }
        project.set("PATH", programs::path_with(&programs::clis()));
        // Left alone, claude asks for three minutes before it gives up.
        project.set("CLAUDE_CODE_MAX_RETRIES", "1");
        std::fs::create_dir_all(project.root()).unwrap();
        std::fs::create_dir_all(project.home()).unwrap();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.write("README.md", "A calculator.\n");
        project.config("");
        project
    }

    /// Writes and commits the project's configuration in addition to its gate. The gate prints more
    /// than fits into a summary.
    pub(crate) fn config(&self, more: &str) {
        let gate = "verification:\n  commands:\n    - { name: adds, command: 'echo a sum is checked; seq 99; got=$(sh add.sh 2 3); echo \"2 and 3 make $got\"; test \"$got\" = 5' }\n";
        self.write(".codeteam/config.yml", &format!("{gate}{more}"));
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", "as it was"]);
    }

    /// The user's own configuration.
    pub(crate) fn user_config(&self, text: &str) {
        let folder = self.home().join(".config/codeteam");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.yml"), text).unwrap();
    }

    /// Sets a variable of the user's environment.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.unset(name);
        self.env.push((name.to_owned(), value.into()));
    }

    /// Takes a variable from the user's environment.
    pub(crate) fn unset(&mut self, name: &str) {
        self.env.retain(|(known, _)| known != name);
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Keeps a workflow outside of the repository and returns its path.
    pub(crate) fn workflow(&self, text: &str) -> String {
        let path = self.home().join("flow.yml");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Returns git's output, with an identity and without the machine's configuration.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self
            .command(Path::new("git"))
            .args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.org")
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {errors}");
        let said = String::from_utf8(output.stdout).unwrap();
        said.trim_end().to_owned()
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = programs::command(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.home())
            .env("USER", "ada")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// A call of codeteam in the project, not started yet.
    pub(crate) fn codeteam(&self, args: &[&str]) -> Command {
        let mut command = self.command(programs::codeteam());
        // Their checks fail until the goal is reached.
        command.env("CODETEAM_VERIFICATION__BASELINE", "must_pass");
        command.args(args);
        command
    }

    /// Starts codeteam at a terminal of its own.
    pub(crate) fn terminal(&self, args: &[&str]) -> Terminal {
        Terminal::start(self.codeteam(args), &[])
    }

    /// Starts a run that says on standard error how it goes.
    pub(crate) fn start(&self, args: &[&str]) -> RunningProgram {
        let mut command = self.codeteam(args);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        RunningProgram(command.spawn().unwrap())
    }

    /// Runs codeteam to its end.
    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> CommandResult {
        CommandResult::from(self.codeteam(args).output().unwrap())
    }

    /// Takes the goal through a workflow to its end.
    #[track_caller]
    pub(crate) fn goal(&self, workflow: &str, more: &[&str]) -> CommandResult {
        let workflow = self.workflow(workflow);
        let mut args = vec!["run", "Add a script that adds", "--workflow", &workflow];
        args.extend(more);
        self.run(&args)
    }

    /// Returns the newest run as `show --json` prints it.
    pub(crate) fn shown_run(&self) -> Value {
        let done = self.run(&["show", "--json"]).expect(0);
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// Returns the content of a file on the branch of the newest run.
    pub(crate) fn committed_file(&self, path: &str) -> String {
        let branch = self.shown_run()["branch"].as_str().unwrap().to_owned();
        self.git(&["show", &format!("{branch}:{path}")])
    }

    /// Returns the number of commits of the newest run.
    pub(crate) fn commits(&self) -> usize {
        let run = self.shown_run();
        let (base, tip) = (run["base"].as_str().unwrap(), run["tip"].as_str().unwrap());
        let count = self.git(&["rev-list", "--count", &format!("{base}..{tip}")]);
        count.parse().unwrap()
    }

    /// Returns the events of one kind of the newest run, as `log --json` prints them.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let done = self.run(&["log", "--json"]).expect(0);
        let events = done.stdout.lines();
        let events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let events = events.map(|event| event["event"].clone());
        events.filter(|event| event["type"] == kind).collect()
    }

    /// Returns the category, action and message of each failed attempt.
    pub(crate) fn failures(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let failed = self.events("attempt_failed");
        let failed = failed.iter().map(|event| {
            let message = text(&event["facts"]["message"]);
            (text(&event["category"]), text(&event["action"]), message)
        });
        failed.collect()
    }

    /// The workers of the attempts that started, in order.
    pub(crate) fn workers(&self) -> Vec<String> {
        let started = self.events("attempt_started");
        let names = started.iter().filter_map(|event| event["worker"].as_str());
        names.map(str::to_owned).collect()
    }

    /// The questions to a model, none of which the scenario had not foreseen.
    #[track_caller]
    pub(crate) fn asked(&self) -> RecordedRequests {
        self.server.assert_no_problems();
        self.server.requests().to_models()
    }
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
            let (out, err) = (&self.stdout, &self.stderr);
            assert!(err.contains(text), "lacks {text:?}:\n{out}\n{err}");
        }
        self
    }
}
