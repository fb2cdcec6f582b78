//! The environment that a Python project is installed into, and how something is run in it.

use std::fmt::Write as _;

use super::needs::{DependencyOrigin, PythonDependencies};
use crate::survey::ProposedSetup;
use crate::survey::place::{SurveyedFiles, at};
use crate::survey::units::{BuildUnit, quoted};

/// What installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PythonInstallerKind {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    Pip,
}

/// What installs, and how it is known.
pub(super) struct PythonInstaller {
    pub(super) kind: PythonInstallerKind,
    pub(super) why: String,
    lock: Option<&'static str>,
}

/// Makes an environment that git does not see; only newer Pythons do that by themselves.
const VENV: &str = "python3 -m venv .venv && echo '*' > .venv/.gitignore";

const REGISTRIES: [&str; 2] = ["pypi.org", "files.pythonhosted.org"];

impl PythonInstallerKind {
    pub(super) fn word(self) -> &'static str {
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
    pub(super) fn of(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> Self {
        let locks = [
            ("uv.lock", PythonInstallerKind::Uv),
            ("poetry.lock", PythonInstallerKind::Poetry),
            ("pdm.lock", PythonInstallerKind::Pdm),
            ("Pipfile.lock", PythonInstallerKind::Pipenv),
        ];
        let found: Vec<_> = locks
            .iter()
            .filter(|(lock, _)| place.has(&unit.path(lock)))
            .collect();
        let manifest = unit.path("pyproject.toml");
        let parsed = place.toml(&manifest).unwrap_or_default();
        let has = |tool: &str| at(&parsed, &["tool", tool]).is_some();
        let (kind, why, lock) = match found.first() {
            Some((lock, kind)) => (
                *kind,
                format!("there is `{}`", unit.path(lock)),
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
            place.note(format!(
                "there are `{first}` and `{second}`: {} was taken",
                kind.word()
            ));
        }
        Self { kind, why, lock }
    }

    /// Runs a tool that is installed from there.
    pub(super) fn run(&self, line: &str, place: &DependencyOrigin, is_installed: bool) -> String {
        match (self.kind, place) {
            (PythonInstallerKind::Uv, DependencyOrigin::Group(group, _)) => {
                format!("uv run --group {} {line}", quoted(group))
            }
            (PythonInstallerKind::Uv, DependencyOrigin::Extra(extra, _)) => {
                format!("uv run --extra {} {line}", quoted(extra))
            }
            (PythonInstallerKind::Uv, _) => format!("uv run {line}"),
            (PythonInstallerKind::Poetry, _) => format!("poetry run {line}"),
            (PythonInstallerKind::Pdm, _) => format!("pdm run {line}"),
            (PythonInstallerKind::Pipenv, _) => format!("pipenv run {line}"),
            (PythonInstallerKind::Pip, _) if is_installed => format!(".venv/bin/python -m {line}"),
            (PythonInstallerKind::Pip, _) => format!("python3 -m {line}"),
        }
    }

    /// Runs the interpreter.
    pub(super) fn python(&self, line: &str, is_installed: bool) -> String {
        match self.kind {
            PythonInstallerKind::Uv => format!("uv run python {line}"),
            PythonInstallerKind::Poetry => format!("poetry run python {line}"),
            PythonInstallerKind::Pdm => format!("pdm run python {line}"),
            PythonInstallerKind::Pipenv => format!("pipenv run python {line}"),
            PythonInstallerKind::Pip if is_installed => format!(".venv/bin/python {line}"),
            PythonInstallerKind::Pip => format!("python3 {line}"),
        }
    }

    /// Installs what is needed, into the work tree: a home does not last.
    pub(super) fn setup(
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
                let _ = write!(text, " {option} {}", quoted(name));
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
                let wanted = pip(needs, used, &groups, &extras, &mut inputs)?;
                // The pip of an older Python knows no groups.
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
                Some(lock) => format!("`{}` names what is installed", unit.path(lock)),
                None => format!("`{}` names what is installed", unit.manifest),
            },
        })
    }
}

/// Where it is installed from. A package that is built with cargo needs its registry too.
fn registries(needs: &PythonDependencies) -> Vec<String> {
    let mut hosts = REGISTRIES.to_vec();
    if needs.is_built_with_cargo {
        hosts.extend(["index.crates.io", "static.crates.io"]);
    }
    hosts.into_iter().map(str::to_owned).collect()
}

/// What pip installs, if there is anything.
fn pip(
    needs: &PythonDependencies,
    used: &[DependencyOrigin],
    groups: &[&str],
    extras: &[&str],
    inputs: &mut Vec<String>,
) -> Option<String> {
    let mut wanted = Vec::new();
    // Only files that are needed: others are for documentation, or for other versions.
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
        wanted.push(format!("-r {}", quoted(file)));
        inputs.push(file.clone());
    }
    if needs.is_package {
        inputs.extend(needs.manifests.iter().cloned());
        wanted.push(if extras.is_empty() {
            "-e .".to_owned()
        } else {
            format!("-e {}", quoted(&format!(".[{}]", extras.join(","))))
        });
    }
    wanted.extend(
        groups
            .iter()
            .map(|group| format!("--group {}", quoted(group))),
    );
    if used.contains(&DependencyOrigin::Nowhere) {
        wanted.push("pytest".to_owned());
    }
    (needs.is_installed() && !wanted.is_empty()).then(|| wanted.join(" "))
}

/// A command without the environment it is run in: `uv run pytest -q` is `pytest -q`. None if it is
/// run in one that is not the project's own.
pub(super) fn bare(words: &[&str]) -> Option<String> {
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
