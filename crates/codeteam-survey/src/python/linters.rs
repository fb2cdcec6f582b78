//! Proposes linters, formatters and type checkers for Python.

use super::PythonProject;
use crate::surveyed_files::{is_sample, value_at};
use crate::{CheckPurpose, DetectedFeature, SurveyDraft};
use codeteam_core::shell::shell_word;

/// A tool that may be configured.
struct PythonLinter {
    /// The package of the tool.
    name: &'static str,
    /// The first words of a call.
    call: &'static str,
    purpose: CheckPurpose,
    /// The command to propose if CI does not run the tool.
    guess: &'static str,
    /// The path of its table in `pyproject.toml`.
    table: &'static [&'static str],
    /// Its configuration files.
    files: &'static [&'static str],
    /// Whether `setup.cfg` may have a section for it.
    in_cfg: bool,
}

const TOOLS: &[PythonLinter] = &[
    PythonLinter {
        name: "ruff",
        call: "ruff check",
        purpose: CheckPurpose::Lint,
        guess: "ruff check .",
        table: &["tool", "ruff"],
        files: &["ruff.toml", ".ruff.toml"],
        in_cfg: false,
    },
    PythonLinter {
        name: "ruff",
        call: "ruff format",
        purpose: CheckPurpose::Format,
        guess: "ruff format --check .",
        // A configuration of ruff does not imply that it is used as a formatter.
        table: &["tool", "ruff", "format"],
        files: &[],
        in_cfg: false,
    },
    PythonLinter {
        name: "black",
        call: "black",
        purpose: CheckPurpose::Format,
        guess: "black --check .",
        table: &["tool", "black"],
        files: &[],
        in_cfg: false,
    },
    PythonLinter {
        name: "flake8",
        call: "flake8",
        purpose: CheckPurpose::Lint,
        guess: "flake8",
        table: &["tool", "flake8"],
        files: &[".flake8"],
        in_cfg: true,
    },
    PythonLinter {
        name: "mypy",
        call: "mypy",
        purpose: CheckPurpose::Types,
        guess: "mypy",
        table: &["tool", "mypy"],
        files: &["mypy.ini", ".mypy.ini"],
        in_cfg: true,
    },
];

impl PythonProject<'_> {
    /// Proposes the tools that are configured, or that CI runs, if they would be installed. Returns
    /// which ones were proposed.
    pub(super) fn propose_linters(&mut self, sheet: &mut SurveyDraft) -> Vec<&'static str> {
        let mut proposed = Vec::new();
        for tool in TOOLS {
            if self.propose(tool, sheet) {
                proposed.push(tool.call);
            }
        }
        // Pyright downloads itself at the first run, so it cannot be a check.
        let pyright = self.configured_in(&["tool", "pyright"], &["pyrightconfig.json"]);
        let pyright = pyright.map(|why| DetectedFeature::new("pyright", why));
        sheet.linters.extend(pyright);
        proposed
    }

    fn propose(&mut self, tool: &PythonLinter, sheet: &mut SurveyDraft) -> bool {
        let start: Vec<&str> = tool.call.split(' ').collect();
        let run = self.ci_command(&start, is_check_only);
        let configured = self.configured_in(tool.table, tool.files);
        // A project that has migrated to ruff may still have the old table.
        let is_stale =
            tool.name == "black" && self.configured_in(TOOLS[0].table, TOOLS[0].files).is_some();
        let configured = configured.filter(|_| !is_stale);
        let configured = configured.or_else(|| self.in_cfg(tool.name).filter(|_| tool.in_cfg));
        let why = run.as_ref().map(|(run, _)| run.reason());
        let Some(why) = why.or(configured) else {
            return false;
        };
        sheet
            .linters
            .push(DetectedFeature::new(tool.name, why.clone()));
        let Some(place) = self.installed_from(tool.name) else {
            return false;
        };
        if self.by_root.contains(&tool.call) {
            return false;
        }
        let line = match run {
            Some((_, line)) => line,
            None if tool.name == "mypy" => self.mypy_command(),
            None => tool.guess.to_owned(),
        };
        let is_installed = self.needs.is_installable();
        let command = self.runner.tool_command(&line, &place, is_installed);
        self.used.push(place);
        sheet.propose_check(self.unit, tool.purpose, &command, why);
        true
    }

    /// Returns the mypy command, with a path unless the configuration sets one.
    fn mypy_command(&self) -> String {
        let manifest = self
            .place
            .read_toml(&self.unit.path_from_root("pyproject.toml"));
        let manifest = manifest.unwrap_or_default();
        let knows = ["files", "packages", "modules"];
        let in_toml = knows
            .iter()
            .any(|key| value_at(&manifest, &["tool", "mypy", key]).is_some());
        let names = ["mypy.ini", ".mypy.ini", "setup.cfg"];
        let ini = self.place.first_existing(&self.unit.folder, &names);
        let ini = ini.and_then(|file| self.place.read_text(&file));
        let in_ini = ini.unwrap_or_default().lines().any(|line| {
            let key = line.split('=').next().unwrap_or_default().trim();
            knows.contains(&key)
        });
        if in_toml || in_ini {
            return "mypy".to_owned();
        }
        if self.place.has_folder(&self.unit.path_from_root("src")) {
            return "mypy src".to_owned();
        }
        // Tests and documentation are often not typed, so leave them out.
        let own = self.place.files_below(&self.unit.folder).find_map(|path| {
            let inside = path[self.unit.folder.len()..].trim_start_matches('/');
            let folder = inside.strip_suffix("/__init__.py")?;
            (!folder.contains('/') && !is_sample(inside)).then_some(folder)
        });
        format!("mypy {}", own.map_or_else(|| ".".to_owned(), shell_word))
    }
}

/// Returns true if a formatter or linter only checks and changes nothing.
fn is_check_only(line: &str) -> bool {
    let is_formatter = line.starts_with("black") || line.starts_with("ruff format");
    !is_formatter || line.contains("--check") || line.contains("--diff")
}
