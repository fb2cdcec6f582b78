//! Detects the tool that installs a Python project, and builds the commands that run something in
//! its environment.

use std::fmt::Write as _;

use super::dependencies::{DependencyOrigin, PythonDependencies};
use crate::ProposedSetup;
use crate::surveyed_files::{SurveyedFiles, value_at};
use crate::units::BuildUnit;
use codeteam_core::shell::shell_word;

/// A tool that installs Python projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PythonInstallerKind {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    Pip,
}

/// The installer of a project, with the evidence for it.
pub(super) struct PythonInstaller {
    pub(super) kind: PythonInstallerKind,
    pub(super) why: String,
    lock: Option<&'static str>,
}

/// Creates an environment that git ignores; only newer versions of Python do that by themselves.
const VENV: &str = "python3 -m venv .venv && echo '*' > .venv/.gitignore";

const REGISTRIES: [&str; 2] = ["pypi.org", "files.pythonhosted.org"];

impl PythonInstallerKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Uv => "uv",
            Self::Poetry => "poetry",
            Self::Pdm => "pdm",
            Self::Pipenv => "pipenv",
            Self::Pip => "pip",
        }
    }
}

impl PythonInstaller {
    pub(super) fn detect(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> Self {
        let locks = [
            ("uv.lock", PythonInstallerKind::Uv),
            ("poetry.lock", PythonInstallerKind::Poetry),
            ("pdm.lock", PythonInstallerKind::Pdm),
            ("Pipfile.lock", PythonInstallerKind::Pipenv),
        ];
        let found: Vec<_> = locks
            .iter()
            .filter(|(lock, _)| place.has_file(&unit.path_from_root(lock)))
            .collect();
        let manifest = unit.path_from_root("pyproject.toml");
        let parsed = place.read_toml(&manifest).unwrap_or_default();
        let has = |tool: &str| value_at(&parsed, &["tool", tool]).is_some();
        let (kind, why, lock) = match found.first() {
            Some((lock, kind)) => (
                *kind,
                format!("there is `{}`", unit.path_from_root(lock)),
                Some(*lock),
            ),
            None if has("poetry") => (
                PythonInstallerKind::Poetry,
                format!("`{manifest}` has `[tool.poetry]`"),
                None,
            ),
            None if has("uv") => (
                PythonInstallerKind::Uv,
                format!("`{manifest}` has `[tool.uv]`"),
                None,
            ),
            None => (
                PythonInstallerKind::Pip,
                format!("there is `{}`, and no lock file", unit.manifest),
                None,
            ),
        };
        if let [(first, kind), (second, _), ..] = found[..] {
            place.add_note(format!(
                "there are `{first}` and `{second}`: {} was taken",
                kind.as_str()
            ));
        }
        Self { kind, why, lock }
    }

    /// Returns the command that runs a tool which is installed from the given origin.
    pub(super) fn tool_command(
        &self,
        line: &str,
        place: &DependencyOrigin,
        is_installed: bool,
    ) -> String {
        match (self.kind, place) {
            (PythonInstallerKind::Uv, DependencyOrigin::Group(group, _)) => {
                format!("uv run --group {} {line}", shell_word(group))
            }
            (PythonInstallerKind::Uv, DependencyOrigin::Extra(extra, _)) => {
                format!("uv run --extra {} {line}", shell_word(extra))
            }
            (PythonInstallerKind::Uv, _) => format!("uv run {line}"),
            (PythonInstallerKind::Poetry, _) => format!("poetry run {line}"),
            (PythonInstallerKind::Pdm, _) => format!("pdm run {line}"),
            (PythonInstallerKind::Pipenv, _) => format!("pipenv run {line}"),
            (PythonInstallerKind::Pip, _) if is_installed => format!(".venv/bin/python -m {line}"),
            (PythonInstallerKind::Pip, _) => format!("python3 -m {line}"),
        }
    }

    /// Returns the command that runs the interpreter.
    pub(super) fn python_command(&self, line: &str, is_installed: bool) -> String {
        match self.kind {
            PythonInstallerKind::Uv => format!("uv run python {line}"),
            PythonInstallerKind::Poetry => format!("poetry run python {line}"),
            PythonInstallerKind::Pdm => format!("pdm run python {line}"),
            PythonInstallerKind::Pipenv => format!("pipenv run python {line}"),
            PythonInstallerKind::Pip if is_installed => format!(".venv/bin/python {line}"),
            PythonInstallerKind::Pip => format!("python3 {line}"),
        }
    }

    /// Proposes the command that installs what is needed. It installs into the work tree, because a
    /// home directory does not persist.
    pub(super) fn propose_setup(
        &self,
        unit: &BuildUnit,
        needs: &PythonDependencies,
        used: &[DependencyOrigin],
        is_workspace: bool,
    ) -> Option<ProposedSetup> {
        let mut groups: Vec<&str> = Vec::new();
        let mut extras: Vec<&str> = Vec::new();
        for place in used {
            match place {
                DependencyOrigin::Group(name, _) if !groups.contains(&name.as_str()) => {
                    groups.push(name);
                }
                DependencyOrigin::Extra(name, _) if !extras.contains(&name.as_str()) => {
                    extras.push(name);
                }
                _ => {}
            }
        }
        let mut inputs: Vec<String> = self.lock.iter().map(|lock| (*lock).to_owned()).collect();
        let options = |option: &str, names: &[&str]| {
            names.iter().fold(String::new(), |mut text, name| {
                let _ = write!(text, " {option} {}", shell_word(name));
                text
            })
        };
        let manifest = "pyproject.toml".to_owned();
        let command = match self.kind {
            PythonInstallerKind::Uv => {
                let all = if is_workspace { " --all-packages" } else { "" };
                let frozen = if self.lock.is_some() { " --locked" } else { "" };
                inputs.push(manifest);
                let chosen = options("--group", &groups) + &options("--extra", &extras);
                format!("uv sync{frozen}{all}{chosen}")
            }
            PythonInstallerKind::Poetry => {
                inputs.push(manifest);
                let chosen = options("--with", &groups) + &options("--extras", &extras);
                format!("POETRY_VIRTUALENVS_IN_PROJECT=true poetry install{chosen}")
            }
            PythonInstallerKind::Pdm => {
                inputs.push(manifest);
                let chosen = options("-G", &groups) + &options("-G", &extras);
                format!("pdm install{chosen}")
            }
            PythonInstallerKind::Pipenv => {
                "PIPENV_VENV_IN_PROJECT=1 pipenv install --dev --deploy".to_owned()
            }
            PythonInstallerKind::Pip => {
                let wanted = pip_command(needs, used, &groups, &extras, &mut inputs)?;
                // The pip of an older Python does not support groups.
                let newer = if groups.is_empty() {
                    ""
                } else {
                    ".venv/bin/pip install -U pip && "
                };
                format!("{VENV} && {newer}.venv/bin/pip install {wanted}")
            }
        };
        Some(ProposedSetup {
            command,
            inputs,
            registries: registries(needs),
            why: match self.lock {
                Some(lock) => format!("`{}` names what is installed", unit.path_from_root(lock)),
                None => format!("`{}` names what is installed", unit.manifest),
            },
        })
    }
}

/// Returns the hosts to install from. A package that is built with cargo needs the registry of
/// cargo too.
fn registries(needs: &PythonDependencies) -> Vec<String> {
    let mut hosts = REGISTRIES.to_vec();
    if needs.is_built_with_cargo {
        hosts.extend(["index.crates.io", "static.crates.io"]);
    }
    hosts.into_iter().map(str::to_owned).collect()
}

/// Returns the arguments for pip, if there is anything to install.
fn pip_command(
    needs: &PythonDependencies,
    used: &[DependencyOrigin],
    groups: &[&str],
    extras: &[&str],
    inputs: &mut Vec<String>,
) -> Option<String> {
    let mut wanted = Vec::new();
    // Only the needed files: others are for documentation, or for other versions.
    let is_used = |file: &String| {
        used.iter().any(
            |place| matches!(place, DependencyOrigin::Requirements(path) if path.ends_with(file.as_str())),
        )
    };
    let is_plain = |file: &String| file == "requirements.txt" || file == "requirements/base.txt";
    let files = needs
        .requirements
        .iter()
        .filter(|file| is_plain(file) || is_used(file));
    for file in files {
        wanted.push(format!("-r {}", shell_word(file)));
        inputs.push(file.clone());
    }
    if needs.is_package {
        inputs.extend(needs.manifests.iter().cloned());
        wanted.push(if extras.is_empty() {
            "-e .".to_owned()
        } else {
            format!("-e {}", shell_word(&format!(".[{}]", extras.join(","))))
        });
    }
    wanted.extend(
        groups
            .iter()
            .map(|group| format!("--group {}", shell_word(group))),
    );
    if used.contains(&DependencyOrigin::Nowhere) {
        wanted.push("pytest".to_owned());
    }
    (needs.is_installable() && !wanted.is_empty()).then(|| wanted.join(" "))
}

/// Strips the environment from a command: `uv run pytest -q` becomes `pytest -q`. Returns `None` if
/// the environment is not the project's own.
pub(super) fn strip_runner(words: &[&str]) -> Option<String> {
    let mut rest = words;
    if let [
        "uv" | "poetry" | "pdm" | "pipenv" | "hatch",
        "run",
        inner @ ..,
    ] = rest
    {
        rest = inner;
    }
    if let [
        "python" | "python3" | ".venv/bin/python" | "venv/bin/python",
        "-m",
        inner @ ..,
    ] = rest
    {
        rest = inner;
    }
    let first = rest.first()?;
    (!first.starts_with('-')).then(|| rest.join(" "))
}
