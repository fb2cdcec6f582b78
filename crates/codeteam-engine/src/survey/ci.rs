//! What continuous integration runs: the best hint at how a project is checked.
//!
//! Only single, simple commands count. What needs a secret, another system, a release or a variable
//! of the runner is left out, and so is everything that installs.

use serde_json::Value;

use super::DetectedFeature;
use super::place::{SurveyedFiles, ending, string};

/// What the workflows run.
pub(super) struct CiCommands {
    /// The systems there are.
    pub(super) found: Vec<DetectedFeature>,
    /// Their simple commands.
    commands: Vec<CiCommand>,
    /// Everything they run, with the file it stands in.
    lines: Vec<(String, String)>,
}

/// One simple command.
#[derive(Clone, Debug)]
pub(super) struct CiCommand {
    /// The command.
    pub(super) command: String,
    /// The file it stands in.
    pub(super) file: String,
    folder: String,
}

/// How many workflow files are read.
const MAX_FILES: usize = 40;

/// Words in the names of workflows and jobs that do something else than checking a change.
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

/// Words that mean that a command installs, changes or sends something.
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

/// Characters that make a command more than one simple command.
const NOT_SIMPLE: &[char] = &[
    '$', '`', '|', ';', '&', '>', '<', '\\', '{', '}', '(', ')', '#',
];

impl CiCommands {
    pub(super) fn read(place: &SurveyedFiles<'_>) -> Self {
        let mut ci = Self {
            found: Vec::new(),
            commands: Vec::new(),
            lines: Vec::new(),
        };
        let is_workflow = |path: &&str| {
            let name = path.strip_prefix(".github/workflows/");
            name.is_some_and(|name| !name.contains('/') && matches!(ending(name), "yml" | "yaml"))
        };
        let files: Vec<&str> = place.files().filter(is_workflow).take(MAX_FILES).collect();
        if let Some(first) = files.first() {
            ci.found.push(DetectedFeature::new(
                "GitHub Actions",
                format!("there is `{first}`"),
            ));
        }
        for file in files {
            if !is_elsewhere(file)
                && let Some(workflow) = place.yaml(file)
            {
                ci.github(file, &workflow);
            }
        }
        let gitlab = ".gitlab-ci.yml";
        if place.has(gitlab) {
            ci.found.push(DetectedFeature::new(
                "GitLab CI",
                format!("there is `{gitlab}`"),
            ));
            if let Some(pipeline) = place.yaml(gitlab) {
                ci.gitlab(gitlab, &pipeline);
            }
        }
        for (file, name) in [
            (".circleci/config.yml", "CircleCI"),
            (".travis.yml", "Travis CI"),
            ("azure-pipelines.yml", "Azure Pipelines"),
            ("Jenkinsfile", "Jenkins"),
            ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
        ] {
            if place.has(file) {
                ci.found
                    .push(DetectedFeature::new(name, format!("there is `{file}`")));
            }
        }
        ci
    }

    fn github(&mut self, file: &str, workflow: &Value) {
        let folder = |value: &Value| {
            string(value, &["defaults", "run", "working-directory"]).map(str::to_owned)
        };
        let all = folder(workflow);
        let jobs = workflow.get("jobs").and_then(Value::as_object);
        for (name, job) in jobs.into_iter().flatten() {
            let system = string(job, &["runs-on"]).unwrap_or_default();
            let is_other = system.starts_with("windows") || system.starts_with("macos");
            if is_other || is_elsewhere(name) {
                continue;
            }
            let job_folder = folder(job).or_else(|| all.clone());
            let steps = job.get("steps").and_then(Value::as_array);
            for step in steps.into_iter().flatten() {
                let Some(run) = string(step, &["run"]) else {
                    continue;
                };
                let env = step.get("env").map(ToString::to_string);
                if env.is_some_and(|env| env.contains("secrets.")) {
                    continue;
                }
                let own = string(step, &["working-directory"]).map(str::to_owned);
                let folder = own.or_else(|| job_folder.clone());
                self.lines(file, folder.as_deref().unwrap_or_default(), run);
            }
        }
    }

    fn gitlab(&mut self, file: &str, pipeline: &Value) {
        for (name, job) in pipeline.as_object().into_iter().flatten() {
            if is_elsewhere(name) {
                continue;
            }
            match job.get("script") {
                Some(Value::String(line)) => self.lines(file, "", line),
                Some(Value::Array(lines)) => {
                    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                    self.lines(file, "", &lines.join("\n"));
                }
                _ => {}
            }
        }
    }

    /// The commands of a script, one a line.
    fn lines(&mut self, file: &str, folder: &str, script: &str) {
        if folder.contains('$') {
            return;
        }
        let mut folder = clean(folder);
        for line in script.replace("\\\n", " ").lines().map(str::trim) {
            if let Some(to) = line.strip_prefix("cd ") {
                let (to, rest) = to.split_once(" && ").unwrap_or((to, ""));
                if to.contains(NOT_SIMPLE) || to.contains("..") {
                    return;
                }
                folder = super::place::join(&folder, &clean(to.trim()));
                if !rest.is_empty() {
                    self.line(file, &folder, rest);
                }
                continue;
            }
            self.line(file, &folder, line);
        }
    }

    fn line(&mut self, file: &str, folder: &str, line: &str) {
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

    /// Why a program counts as used: a line begins with it, however the line goes on.
    pub(super) fn mentions(&self, start: &str) -> Option<String> {
        let mut lines = self.lines.iter();
        let (_, file) = lines.find(|(line, _)| {
            let rest = line.strip_prefix(start);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })?;
        Some(format!("`{file}` runs `{start}`"))
    }

    /// The commands that are run in a folder.
    pub(super) fn of<'c>(&'c self, folder: &'c str) -> impl Iterator<Item = &'c CiCommand> {
        self.commands.iter().filter(move |run| run.folder == folder)
    }
}

impl CiCommand {
    /// Its words, without variables that are set for it.
    pub(super) fn words(&self) -> Vec<&str> {
        let words = self.command.split(' ');
        words
            .skip_while(|word| word.contains('=') && !word.starts_with('-'))
            .collect()
    }

    /// Whether it begins with these words.
    pub(super) fn starts_with(&self, start: &[&str]) -> bool {
        self.words().starts_with(start)
    }

    /// Why it is proposed.
    pub(super) fn why(&self) -> String {
        format!("`{}` runs it", self.file)
    }
}

fn clean(folder: &str) -> String {
    let folder = folder.trim().trim_matches(['"', '\'']);
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    if folder == "." {
        String::new()
    } else {
        folder.to_owned()
    }
}

/// Whether something is about more than checking a change.
fn is_elsewhere(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ELSEWHERE.iter().any(|word| name.contains(word))
}
