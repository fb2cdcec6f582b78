//! Two real packages from `PyPI`, each with one line broken, and what a model would do about it. They
//! are fetched into `target/peers`; nothing of theirs is kept in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use codeteam_e2e::{Play, Scenario, Turn};
use serde_json::json;

use super::Outcome;

/// The packages with which the tests run.
const TEST_PACKAGES: [&str; 2] = ["pytest==8.4.2", "freezegun==1.5.5"];

/// A package and the one-line fix that is asked for.
pub(crate) struct BrokenPackage {
    pub(crate) name: &'static str,
    version: &'static str,
    /// The file, its correct line, and the broken line.
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// The text that the model searches for, and the line from which it reads.
    searches: &'static str,
    first_line: u32,
    /// The tests, and what they need before the command.
    tests: &'static str,
    variables: &'static str,
    /// The goal, and the planner's task for it.
    pub(crate) goal: &'static str,
    task: &'static str,
}

pub(crate) const PACKAGES: [BrokenPackage; 2] = [
    BrokenPackage {
        name: "boltons",
        version: "26.2.0",
        file: "boltons/strutils.py",
        right: "    indented_lines = [(margin + line if key(line) else line)\n",
        wrong: "    indented_lines = [(margin + line)\n",
        searches: "def indent",
        first_line: 700,
        tests: "tests/test_strutils.py",
        variables: "",
        goal: "Mend `indent` in boltons/strutils.py: empty lines must not get the margin.",
        task: "`indent` puts the margin before empty lines too. Its argument `key` decides which \
               lines get the margin, and by default it leaves empty lines alone.",
    },
    BrokenPackage {
        name: "humanize",
        version: "4.16.0",
        file: "src/humanize/number.py",
        right: "        result = f\"{value:,}\"\n",
        wrong: "        result = f\"{value}\"\n",
        searches: "def intcomma",
        first_line: 145,
        tests: "tests/test_number.py",
        variables: "PYTHONPATH=src ",
        goal: "Mend `intcomma` in src/humanize/number.py: whole numbers are to be grouped by \
               thousands.",
        task: "`intcomma` prints whole numbers without any separator. Without `ndigits` it is to \
               group the digits by thousands, as it does with `ndigits`.",
    },
];

impl BrokenPackage {
    /// The command that runs its tests.
    fn test_command(&self, python: &Path) -> String {
        let (variables, tests) = (self.variables, self.tests);
        let python = python.display();
        format!("{variables}{python} -B -m pytest -q -p no:cacheprovider {tests}")
    }

    /// The user's configuration: how it is checked, and a set-up that can be counted.
    pub(crate) fn config(&self, venv: &Path) -> String {
        let tests = self.test_command(&venv.join("bin/python"));
        let venv = venv.display();
        format!(
            "setup: {{ command: \"printf 'set-up-%s\\\\n' {DONE}\", inputs: [pyproject.toml] }}\n\
             sandbox: {{ toolchains: [\"{venv}\"] }}\n\
             verification:\n  commands:\n    - {{ name: tests, command: \"{tests}\" }}\n"
        )
    }

    /// Returns the model's acts, which are the same for every contender.
    pub(crate) fn scenario(&self, venv: &Path) -> Scenario {
        let file = self.file;
        let tests = self.test_command(&venv.join("bin/python"));
        let look = json!({"file_path": file, "offset": self.first_line, "limit": 40});
        let work = || {
            Play::new()
                .turn(Turn::new().run(&format!("grep -n '{}' {file}", self.searches)))
                .turn(Turn::new().call("Read", look.clone()))
                .turn(Turn::new().edit(file, self.wrong, self.right))
                .turn(Turn::new().run(&format!("{tests} | tail -1")))
        };
        let plan = json!({"plan": {"description": self.task, "tasks": [{
            "id": "task-001", "title": "Mend it", "description": self.task, "files": [file],
            "acceptance": [format!("`{}` passes", self.tests)], "dependencies": [],
        }]}});
        let done = || Turn::submit(json!({"summary": "Mended it", "files": [file]}));
        let verdict = json!({"verdict": "approve", "reason": "It does what is asked."});
        let assembly = json!({"assignments": [{
            "task": "task-001", "roles": ["developer"], "reason": "It is code."}]});
        let score = json!({"overall_score": 90, "criteria_scores": [
            {"criterion": 1, "score": 90, "reason": "The tests pass."}]});
        let mut scenario = Scenario::new()
            .play(Play::new().role("planner").turn(Turn::submit(plan.clone())))
            .play(Play::new().role("decomposer").turn(Turn::submit(plan)))
            .play(Play::new().role("assembler").turn(Turn::submit(assembly)))
            .play(
                Play::new()
                    .role("quality_validator")
                    .turn(Turn::submit(score)),
            )
            .play(work().role("coder").turn(done()))
            .play(work().role("developer").turn(done()))
            .play(work().role("executor").turn(done()));
        for scribe in ["prompter", "committer"] {
            let text = Turn::submit(json!({"message": "fix: mend one line"}));
            scenario = scenario.play(Play::new().role(scribe).turn(text));
        }
        let judges = [
            "architecture",
            "task_completion",
            "security",
            "performance",
            "reviewer",
        ];
        for judge in judges {
            let judging = Play::new().role(judge).turn(Turn::submit(verdict.clone()));
            scenario = scenario.play(judging);
        }
        scenario.play(work().turn(Turn::say("It is mended, and its test passes.")))
    }

    /// A repository with the package as one commit, the line broken.
    pub(crate) fn repository(&self, peers: &Path, at: &Path) -> Outcome<()> {
        let source = self.fetch(peers)?;
        must(Command::new("cp").arg("-r").arg(source).arg(at))?;
        let file = at.join(self.file);
        let text = fs::read_to_string(&file)?;
        if text.matches(self.right).count() != 1 {
            return Err(format!("`{}` is not what the benchmark knows", self.file).into());
        }
        fs::write(&file, text.replace(self.right, self.wrong))?;
        fs::write(at.join(".gitignore"), "__pycache__/\n*.pyc\n")?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "-A"],
            &["commit", "--quiet", "-m", "first"],
        ] {
            must(super::git(at).args(args))?;
        }
        Ok(())
    }

    fn fetch(&self, peers: &Path) -> Outcome<PathBuf> {
        let called = format!("{}-{}", self.name, self.version);
        let folder = peers.join(&called);
        if !folder.exists() {
            let package = format!("{}=={}", self.name, self.version);
            let options = ["-m", "pip", "download", "--quiet", "--no-deps"];
            let mut pip = Command::new("python3");
            pip.args(options)
                .args(["--no-binary", ":all:", &package, "-d"]);
            must(pip.arg(peers))?;
            let mut tar = Command::new("tar");
            tar.args(["xzf", &format!("{called}.tar.gz")]);
            must(tar.current_dir(peers))?;
        }
        Ok(folder)
    }
}

/// A text that the set-up prints, in two parts, so that its command is not taken for its output.
const DONE: &str = "of-the-benchmark";

/// Counts how often the set-up ran, from the output of a run.
pub(crate) fn count_set_ups(said: &str) -> usize {
    let printed = format!("set-up-{DONE}");
    said.lines().filter(|line| line.contains(&printed)).count()
}

/// A virtual environment that can run the packages' tests.
pub(crate) fn create_environment(peers: &Path) -> Outcome<PathBuf> {
    let venv = peers.join("cost-venv");
    if !venv.join("bin/pytest").exists() {
        must(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        must(pip.args(["install", "--quiet"]).args(TEST_PACKAGES))?;
    }
    Ok(venv)
}

pub(crate) fn must(command: &mut Command) -> Outcome<()> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}
