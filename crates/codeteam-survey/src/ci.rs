//! Reads the commands that continuous integration runs: the best evidence of how a project is
//! checked.
//!
//! Only single, simple commands count. Commands that need a secret, another operating system, a
//! release or a variable of the runner are left out, and so is everything that installs something.

use serde_json::Value;

use super::DetectedFeature;
use super::surveyed_files::{SurveyedFiles, extension, string_at};

/// The commands of all CI workflows.
pub(super) struct CiCommands {
    /// The CI systems that the repository uses.
    pub(super) found: Vec<DetectedFeature>,
    /// The simple commands.
    commands: Vec<CiCommand>,
    /// Every line that is run, with the file it is in.
    lines: Vec<(String, String)>,
}

/// A simple command that CI runs.
#[derive(Clone, Debug)]
pub(super) struct CiCommand {
    /// The command line.
    pub(super) command: String,
    /// The file that contains it.
    pub(super) file: String,
    folder: String,
}

/// The largest number of workflow files that are read.
const MAX_FILES: usize = 40;

/// Words in the names of workflows and jobs that do something other than check a change.
const ELSEWHERE: &[&str] = &[
    "release",
    "deploy",
    "publish",
    "nightly",
    "bench",
    "stale",
    "label",
    "codeql",
    "scorecard",
    "fuzz",
    "docs",
    "website",
    "pages",
    "miri",
    "ecosystem",
    "compat",
];

/// Words that show that a command installs, changes or sends something.
const REFUSED: &[&str] = &[
    "install",
    "ci",
    "add",
    "sync",
    "fetch",
    "download",
    "upload",
    "push",
    "publish",
    "login",
    "apt",
    "apt-get",
    "brew",
    "sudo",
    "curl",
    "wget",
    "docker",
    "docker-compose",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "gh",
    "--fix",
    "--write",
    "-w",
    "--apply",
    "release",
    "deploy",
    "codecov",
    "coveralls",
    "--watch",
    "pre-commit",
    "playwright",
    "cypress",
    "exit",
    "echo",
    "uvx",
    "pipx",
    "e2e",
    "integration",
    "--integration",
];

/// Characters that make a line more than one simple command.
const NOT_SIMPLE: &[char] = &[
    '$', '`', '|', ';', '&', '>', '<', '\\', '{', '}', '(', ')', '#',
];

impl CiCommands {
    pub(super) fn read_workflows(place: &SurveyedFiles<'_>) -> Self {
        let mut ci = Self {
            found: Vec::new(),
            commands: Vec::new(),
            lines: Vec::new(),
        };
        let is_workflow = |path: &&str| {
            let name = path.strip_prefix(".github/workflows/");
            name.is_some_and(|name| {
                !name.contains('/') && matches!(extension(name), "yml" | "yaml")
            })
        };
        let files: Vec<&str> = place.files().filter(is_workflow).take(MAX_FILES).collect();
        if let Some(first) = files.first() {
            ci.found.push(DetectedFeature::new(
                "GitHub Actions",
                format!("there is `{first}`"),
            ));
        }
        for file in files {
            if !is_unrelated_job(file)
                && let Some(workflow) = place.read_yaml(file)
            {
                ci.add_github(file, &workflow);
            }
        }
        let gitlab = ".gitlab-ci.yml";
        if place.has_file(gitlab) {
            ci.found.push(DetectedFeature::new(
                "GitLab CI",
                format!("there is `{gitlab}`"),
            ));
            if let Some(pipeline) = place.read_yaml(gitlab) {
                ci.add_gitlab(gitlab, &pipeline);
            }
        }
        for (file, name) in [
            (".circleci/config.yml", "CircleCI"),
            (".travis.yml", "Travis CI"),
            ("azure-pipelines.yml", "Azure Pipelines"),
            ("Jenkinsfile", "Jenkins"),
            ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
        ] {
            if place.has_file(file) {
                ci.found
                    .push(DetectedFeature::new(name, format!("there is `{file}`")));
            }
        }
        ci
    }

    fn add_github(&mut self, file: &str, workflow: &Value) {
        let folder = |value: &Value| {
            string_at(value, &["defaults", "run", "working-directory"]).map(str::to_owned)
        };
        let all = folder(workflow);
        let jobs = workflow.get("jobs").and_then(Value::as_object);
        for (name, job) in jobs.into_iter().flatten() {
            let system = string_at(job, &["runs-on"]).unwrap_or_default();
            let is_other = system.starts_with("windows") || system.starts_with("macos");
            if is_other || is_unrelated_job(name) {
                continue;
            }
            let job_folder = folder(job).or_else(|| all.clone());
            let steps = job.get("steps").and_then(Value::as_array);
            for step in steps.into_iter().flatten() {
                let Some(run) = string_at(step, &["run"]) else {
                    continue;
                };
                let env = step.get("env").map(ToString::to_string);
                if env.is_some_and(|env| env.contains("secrets.")) {
                    continue;
                }
                let own = string_at(step, &["working-directory"]).map(str::to_owned);
                let folder = own.or_else(|| job_folder.clone());
                self.add_script(file, folder.as_deref().unwrap_or_default(), run);
            }
        }
    }

    fn add_gitlab(&mut self, file: &str, pipeline: &Value) {
        for (name, job) in pipeline.as_object().into_iter().flatten() {
            if is_unrelated_job(name) {
                continue;
            }
            match job.get("script") {
                Some(Value::String(line)) => self.add_script(file, "", line),
                Some(Value::Array(lines)) => {
                    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                    self.add_script(file, "", &lines.join("\n"));
                }
                _ => {}
            }
        }
    }

    /// Adds the commands of a script, one per line.
    fn add_script(&mut self, file: &str, folder: &str, script: &str) {
        if folder.contains('$') {
            return;
        }
        let mut folder = normalize_folder(folder);
        for line in script.replace("\\\n", " ").lines().map(str::trim) {
            if let Some(to) = line.strip_prefix("cd ") {
                let (to, rest) = to.split_once(" && ").unwrap_or((to, ""));
                if to.contains(NOT_SIMPLE) || to.contains("..") {
                    return;
                }
                folder = super::surveyed_files::join_path(&folder, &normalize_folder(to.trim()));
                if !rest.is_empty() {
                    self.add_line(file, &folder, rest);
                }
                continue;
            }
            self.add_line(file, &folder, line);
        }
    }

    fn add_line(&mut self, file: &str, folder: &str, line: &str) {
        let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        self.lines.push((line.clone(), file.to_owned()));
        if line.is_empty() || line.contains(NOT_SIMPLE) || line.len() > 200 {
            return;
        }
        if line.split(' ').any(|word| REFUSED.contains(&word)) {
            return;
        }
        self.commands.push(CiCommand {
            command: line,
            file: file.to_owned(),
            folder: folder.to_owned(),
        });
    }

    /// Returns the reason why a program counts as used: some line begins with it, whatever follows.
    pub(super) fn reason_for_use(&self, start: &str) -> Option<String> {
        let mut lines = self.lines.iter();
        let (_, file) = lines.find(|(line, _)| {
            let rest = line.strip_prefix(start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })?;
        Some(format!("`{file}` runs `{start}`"))
    }

    /// Returns the commands that are run in a folder.
    pub(super) fn commands_in<'c>(
        &'c self,
        folder: &'c str,
    ) -> impl Iterator<Item = &'c CiCommand> {
        self.commands.iter().filter(move |run| run.folder == folder)
    }
}

impl CiCommand {
    /// Returns the words of the command, without leading variable assignments.
    pub(super) fn words(&self) -> Vec<&str> {
        let words = self.command.split(' ');
        words
            .skip_while(|word| word.contains('=') && !word.starts_with('-'))
            .collect()
    }

    /// Returns true if the command begins with these words.
    pub(super) fn starts_with(&self, start: &[&str]) -> bool {
        self.words().starts_with(start)
    }

    /// Returns the reason for proposing the command.
    pub(super) fn reason(&self) -> String {
        format!("`{}` runs it", self.file)
    }
}

fn normalize_folder(folder: &str) -> String {
    let folder = folder.trim().trim_matches(['"', '\'']);
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    if folder == "." {
        String::new()
    } else {
        folder.to_owned()
    }
}

/// Returns true if a workflow or job does more than check a change.
fn is_unrelated_job(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ELSEWHERE.iter().any(|word| name.contains(word))
}
