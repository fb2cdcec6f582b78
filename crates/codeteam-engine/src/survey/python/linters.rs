//! Linters, formatters and type checkers of Python.

use super::PythonProject;
use crate::survey::place::{at, is_sample};
use crate::survey::units::quoted;
use crate::survey::{CheckPurpose, DetectedFeature, SurveyDraft};

/// A tool that may be configured.
struct PythonLinter {
    /// Its package.
    name: &'static str,
    /// How a call of it begins.
    call: &'static str,
    purpose: CheckPurpose,
    /// How it is called if nobody says.
    guess: &'static str,
    /// Its table below `tool` in `pyproject.toml`.
    table: &'static [&'static str],
    /// Its files.
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
        // That ruff is configured does not say that it formats.
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
    /// Proposes the tools that are configured, or that CI runs, if they would be installed. Says
    /// which were proposed.
    pub(super) fn linters(&mut self, sheet: &mut SurveyDraft) -> Vec<&'static str> {
        let mut proposed = Vec::new();
        for tool in TOOLS {
            if self.propose(tool, sheet) {
                proposed.push(tool.call);
            }
        }
        // It downloads itself when it is first run, so it is no check.
        let pyright = self.configured(&["tool", "pyright"], &["pyrightconfig.json"]);
        let pyright = pyright.map(|why| DetectedFeature::new("pyright", why));
        sheet.linters.extend(pyright);
        proposed
    }

    fn propose(&mut self, tool: &PythonLinter, sheet: &mut SurveyDraft) -> bool {
        let start: Vec<&str> = tool.call.split(' ').collect();
        let run = self.run(&start, is_looking);
        let configured = self.configured(tool.table, tool.files);
        // A project that has gone over to ruff may still have the other's table.
        let is_stale =
            tool.name == "black" && self.configured(TOOLS[0].table, TOOLS[0].files).is_some();
        let configured = configured.filter(|_| !is_stale);
        let configured = configured.or_else(|| self.in_cfg(tool.name).filter(|_| tool.in_cfg));
        let why = run.as_ref().map(|(run, _)| run.why());
        let Some(why) = why.or(configured) else {
            return false;
        };
        sheet
            .linters
            .push(DetectedFeature::new(tool.name, why.clone()));
        let Some(place) = self.installed(tool.name) else {
            return false;
        };
        if self.by_root.contains(&tool.call) {
            return false;
        }
        let line = match run {
            Some((_, line)) => line,
            None if tool.name == "mypy" => self.mypy(),
            None => tool.guess.to_owned(),
        };
        let is_installed = self.needs.is_installed();
        let command = self.runner.run(&line, &place, is_installed);
        self.used.push(place);
        sheet.check(self.unit, tool.purpose, &command, why);
        true
    }

    /// mypy, told where to look unless its configuration says so.
    fn mypy(&self) -> String {
        let manifest = self.place.toml(&self.unit.path("pyproject.toml"));
        let manifest = manifest.unwrap_or_default();
        let knows = ["files", "packages", "modules"];
        let in_toml = knows
            .iter()
            .any(|key| at(&manifest, &["tool", "mypy", key]).is_some());
        let names = ["mypy.ini", ".mypy.ini", "setup.cfg"];
        let ini = self.place.first(&self.unit.folder, &names);
        let ini = ini.and_then(|file| self.place.text(&file));
        let in_ini = ini.unwrap_or_default().lines().any(|line| {
            let key = line.split('=').next().unwrap_or_default().trim();
            knows.contains(&key)
        });
        if in_toml || in_ini {
            return "mypy".to_owned();
        }
        if self.place.has_folder(&self.unit.path("src")) {
            return "mypy src".to_owned();
        }
        // Not tests and documentation, which are often not typed.
        let own = self.place.below(&self.unit.folder).find_map(|path| {
            let inside = path[self.unit.folder.len()..].trim_start_matches('/');
            let folder = inside.strip_suffix("/__init__.py")?;
            (!folder.contains('/') && !is_sample(inside)).then_some(folder)
        });
        format!("mypy {}", own.map_or_else(|| ".".to_owned(), quoted))
    }
}

/// Whether a formatter or linter is told to look and not to change.
fn is_looking(line: &str) -> bool {
    let is_formatter = line.starts_with("black") || line.starts_with("ruff format");
    !is_formatter || line.contains("--check") || line.contains("--diff")
}
