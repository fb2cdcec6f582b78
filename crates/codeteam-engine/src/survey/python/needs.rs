//! What a Python project depends on, and where it says so.

use serde_json::Value;

use super::runner::PythonInstallerKind as Installer;
use super::{default_groups, has_scripts};
use crate::survey::place::{SurveyedFiles, at, keys, split, string, strings};
use crate::survey::units::BuildUnit;

/// Where a dependency is named, which decides how it gets installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DependencyOrigin {
    /// With the project itself.
    Main(String),
    /// In a group that is installed by default.
    Default(String),
    /// In a group that must be asked for.
    Group(String, String),
    /// In an extra of the project.
    Extra(String, String),
    /// In a requirements file.
    Requirements(String),
    /// Used, but named by no file that is installed from.
    Nowhere,
}

impl DependencyOrigin {
    /// The file that names it.
    pub(super) fn file(&self) -> &str {
        match self {
            Self::Main(file)
            | Self::Default(file)
            | Self::Requirements(file)
            | Self::Group(_, file)
            | Self::Extra(_, file) => file,
            Self::Nowhere => "",
        }
    }
}

/// What a project depends on.
#[derive(Default)]
pub(super) struct PythonDependencies {
    all: Vec<(String, DependencyOrigin)>,
    /// Whether it installs programs.
    pub(super) has_program: bool,
    /// Whether it can be installed itself.
    pub(super) is_package: bool,
    /// Whether it, or a member of its workspace, has a part in Rust.
    pub(super) is_built_with_cargo: bool,
    /// The files that make it a package.
    pub(super) manifests: Vec<String>,
    /// Files of requirements.
    pub(super) requirements: Vec<String>,
}

impl PythonDependencies {
    pub(super) fn read(place: &SurveyedFiles<'_>, unit: &BuildUnit, installer: Installer) -> Self {
        let mut needs = Self::default();
        let names = ["pyproject.toml", "setup.cfg", "setup.py"];
        let names = names.iter().filter(|name| place.has(&unit.path(name)));
        needs.manifests = names.map(|name| (*name).to_owned()).collect();
        needs.manifest(place, unit, installer);
        needs.requirement_files(place, unit);
        needs.setup_cfg(place, unit);
        needs.tox(place, unit);
        needs
    }

    /// Adds what is installed along with it.
    pub(super) fn include(&mut self, other: &Self) {
        self.all.extend(other.all.iter().cloned());
    }

    /// Whether there is anything to install it from.
    pub(super) fn is_installed(&self) -> bool {
        self.is_package || !self.requirements.is_empty()
    }

    /// Where something is named that is installed; the surest place first.
    pub(super) fn find(&self, name: &str) -> Option<DependencyOrigin> {
        let found = self.all.iter().filter(|(known, _)| known == name);
        found.map(|(_, place)| place).min().cloned()
    }

    /// The file that names it as something the project needs to run.
    pub(super) fn at_run_time(&self, name: &str) -> Option<&str> {
        let is_main = |place: &DependencyOrigin| match place {
            DependencyOrigin::Main(_) => true,
            DependencyOrigin::Requirements(file) => is_for_running(file),
            _ => false,
        };
        let mut found = self.all.iter();
        let (_, place) = found.find(|(known, place)| known == name && is_main(place))?;
        Some(place.file())
    }

    fn add(&mut self, requirement: &str, place: DependencyOrigin) {
        if let Some(name) = name_of(requirement) {
            self.all.push((name, place));
        }
    }

    fn manifest(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit, installer: Installer) {
        let file = unit.path("pyproject.toml");
        let has_setup = place.has(&unit.path("setup.py"));
        self.is_package |= has_setup;
        let Some(manifest) = place.toml(&file) else {
            return;
        };
        self.has_program |= has_scripts(&manifest);
        let backend = string(&manifest, &["build-system", "build-backend"]).unwrap_or_default();
        let tools = strings(&manifest, &["build-system", "requires"]);
        let has_rust = tools.iter().any(|tool| tool.starts_with("setuptools-rust"));
        self.is_built_with_cargo |= backend.starts_with("maturin") || has_rust;
        let is_built = manifest.get("build-system").is_some();
        self.is_package |= manifest.get("project").is_some() && (is_built || has_setup);
        for one in strings(&manifest, &["project", "dependencies"]) {
            self.add(one, DependencyOrigin::Main(file.clone()));
        }
        for extra in keys(&manifest, &["project", "optional-dependencies"]) {
            for one in strings(&manifest, &["project", "optional-dependencies", extra]) {
                self.add(one, DependencyOrigin::Extra(extra.to_owned(), file.clone()));
            }
        }
        let defaults = default_groups(&manifest, installer);
        for group in keys(&manifest, &["dependency-groups"]) {
            let is_default = defaults.iter().any(|known| known == group || known == "*");
            let place = if is_default {
                DependencyOrigin::Default(file.clone())
            } else {
                DependencyOrigin::Group(group.to_owned(), file.clone())
            };
            // What a group includes is better had from the group that is included, unless it is
            // there anyway.
            let depth = if is_default { 8 } else { 0 };
            for one in group_of(&manifest, group, depth) {
                self.add(&one, place.clone());
            }
        }
        for table in [
            ["tool", "uv", "dev-dependencies"],
            ["tool", "pdm", "dev-dependencies"],
        ] {
            for one in strings(&manifest, &table) {
                self.add(one, DependencyOrigin::Default(file.clone()));
            }
        }
        self.poetry(&manifest, &file);
    }

    fn poetry(&mut self, manifest: &Value, file: &str) {
        let poetry = ["tool", "poetry"];
        let Some(poetry) = at(manifest, &poetry) else {
            return;
        };
        for one in keys(poetry, &["dependencies"]) {
            self.add(one, DependencyOrigin::Main(file.to_owned()));
        }
        for one in keys(poetry, &["dev-dependencies"]) {
            self.add(one, DependencyOrigin::Default(file.to_owned()));
        }
        for group in keys(poetry, &["group"]) {
            let is_optional = at(poetry, &["group", group, "optional"]).and_then(Value::as_bool);
            for one in keys(poetry, &["group", group, "dependencies"]) {
                let place = match is_optional {
                    Some(true) => DependencyOrigin::Group(group.to_owned(), file.to_owned()),
                    _ => DependencyOrigin::Default(file.to_owned()),
                };
                self.add(one, place);
            }
        }
    }

    fn requirement_files(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit) {
        let is_one = |path: &&str| {
            let rest = path[unit.folder.len()..].trim_start_matches('/');
            let (folder, name) = split(rest);
            let is_text = name.strip_suffix(".txt");
            let is_named = |name: &str| name.contains("requirements") || folder == "requirements";
            matches!(folder, "" | "requirements") && is_text.is_some_and(is_named)
        };
        let files: Vec<&str> = place.below(&unit.folder).filter(is_one).take(20).collect();
        for file in files {
            let text = place.text(file).unwrap_or_default();
            let inside = file[unit.folder.len()..].trim_start_matches('/').to_owned();
            for line in text.lines().map(str::trim) {
                if !line.starts_with(['#', '-']) {
                    self.add(line, DependencyOrigin::Requirements(file.to_owned()));
                }
            }
            self.requirements.push(inside);
        }
        let pipfile = unit.path("Pipfile");
        if let Some(pipfile_text) = place.toml(&pipfile) {
            for one in keys(&pipfile_text, &["packages"]) {
                self.add(one, DependencyOrigin::Main(pipfile.clone()));
            }
            for one in keys(&pipfile_text, &["dev-packages"]) {
                self.add(one, DependencyOrigin::Default(pipfile.clone()));
            }
        }
    }

    /// `install_requires` and extras of `setup.cfg`, by their indentation.
    fn setup_cfg(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit) {
        let file = unit.path("setup.cfg");
        let Some(text) = place.text(&file) else {
            return;
        };
        let (mut section, mut key) = (String::new(), String::new());
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(name) = line.strip_prefix('[') {
                name.trim_end_matches(']').clone_into(&mut section);
                key.clear();
                self.is_package |= section == "metadata";
                self.has_program |= section == "options.entry_points";
            } else if line.starts_with([' ', '\t']) {
                match (section.as_str(), key.as_str()) {
                    ("options", "install_requires") => {
                        self.add(trimmed, DependencyOrigin::Main(file.clone()));
                    }
                    ("options.extras_require", extra) if !extra.is_empty() => {
                        let place = DependencyOrigin::Extra(extra.to_owned(), file.clone());
                        self.add(trimmed, place);
                    }
                    _ => {}
                }
            } else if let Some((name, _)) = line.split_once('=') {
                name.trim().clone_into(&mut key);
            }
        }
    }

    /// `deps` of tox: they say what is used, and nothing here installs them.
    fn tox(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit) {
        let text = place.text(&unit.path("tox.ini")).unwrap_or_default();
        let names = |line: &str| name_of(line).as_deref() == Some("pytest");
        if text.lines().any(names) && self.find("pytest").is_none() {
            self.all
                .push(("pytest".to_owned(), DependencyOrigin::Nowhere));
        }
    }
}

/// A group's requirements, with those of groups it includes down to a depth.
fn group_of(manifest: &Value, group: &str, depth: usize) -> Vec<String> {
    let list = at(manifest, &["dependency-groups", group]).and_then(Value::as_array);
    let mut found = Vec::new();
    for one in list.into_iter().flatten() {
        if let Some(one) = one.as_str() {
            found.push(one.to_owned());
        } else if let Some(other) = one.get("include-group").and_then(Value::as_str)
            && depth > 0
        {
            found.extend(group_of(manifest, other, depth - 1));
        }
    }
    found
}

/// The normalised name of a requirement: `PyJWT[crypto] >= 2` is `pyjwt`.
fn name_of(requirement: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let requirement = requirement.trim().trim_start_matches(['"', '\'']);
    let end = requirement
        .find(|c| !is_part(c))
        .unwrap_or(requirement.len());
    let name = &requirement[..end];
    (!name.is_empty()).then(|| name.to_ascii_lowercase().replace(['_', '.'], "-"))
}

/// Whether a file of requirements is about running and not about developing.
fn is_for_running(file: &str) -> bool {
    let (_, name) = split(file);
    let others = ["dev", "test", "lint", "doc", "ci", "build", "typing"];
    // What the root's plain file names may be either; it is what most projects run with.
    name == "requirements.txt" || !others.iter().any(|word| name.contains(word))
}
