//! Reads the dependencies of a Python project, and where each one is declared.

use serde_json::Value;

use super::installer::PythonInstallerKind as Installer;
use super::{default_groups, has_scripts};
use crate::surveyed_files::{SurveyedFiles, keys_at, split_path, string_at, strings_at, value_at};
use crate::units::BuildUnit;

/// Where a dependency is declared, which decides how it gets installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DependencyOrigin {
    /// With the project itself.
    Main(String),
    /// In a group that is installed by default.
    Default(String),
    /// In a group that must be requested.
    Group(String, String),
    /// In an extra of the project.
    Extra(String, String),
    /// In a requirements file.
    Requirements(String),
    /// Used, but declared in no file that anything is installed from.
    Nowhere,
}

impl DependencyOrigin {
    /// Returns the file that declares the dependency.
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

/// The dependencies of a project.
#[derive(Default)]
pub(super) struct PythonDependencies {
    all: Vec<(String, DependencyOrigin)>,
    /// Whether the project installs programs.
    pub(super) has_program: bool,
    /// Whether the project itself can be installed.
    pub(super) is_package: bool,
    /// Whether the project, or a member of its workspace, has a part in Rust.
    pub(super) is_built_with_cargo: bool,
    /// The files that make the project a package.
    pub(super) manifests: Vec<String>,
    /// The requirements files.
    pub(super) requirements: Vec<String>,
}

impl PythonDependencies {
    pub(super) fn read(place: &SurveyedFiles<'_>, unit: &BuildUnit, installer: Installer) -> Self {
        let mut needs = Self::default();
        let names = ["pyproject.toml", "setup.cfg", "setup.py"];
        let names = names
            .iter()
            .filter(|name| place.has_file(&unit.path_from_root(name)));
        needs.manifests = names.map(|name| (*name).to_owned()).collect();
        needs.manifest(place, unit, installer);
        needs.requirement_files(place, unit);
        needs.setup_cfg(place, unit);
        needs.tox(place, unit);
        needs
    }

    /// Adds the dependencies of another project that is installed along with this one.
    pub(super) fn include(&mut self, other: &Self) {
        self.all.extend(other.all.iter().cloned());
    }

    /// Returns true if there is anything to install from.
    pub(super) fn is_installable(&self) -> bool {
        self.is_package || !self.requirements.is_empty()
    }

    /// Returns where an installed dependency is declared; the most reliable place comes first.
    pub(super) fn find_origin(&self, name: &str) -> Option<DependencyOrigin> {
        let found = self.all.iter().filter(|(known, _)| known == name);
        found.map(|(_, place)| place).min().cloned()
    }

    /// Returns the file that declares a dependency as needed at run time.
    pub(super) fn runtime_manifest(&self, name: &str) -> Option<&str> {
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
        if let Some(name) = requirement_name(requirement) {
            self.all.push((name, place));
        }
    }

    fn manifest(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit, installer: Installer) {
        let file = unit.path_from_root("pyproject.toml");
        let has_setup = place.has_file(&unit.path_from_root("setup.py"));
        self.is_package |= has_setup;
        let Some(manifest) = place.read_toml(&file) else {
            return;
        };
        self.has_program |= has_scripts(&manifest);
        let backend = string_at(&manifest, &["build-system", "build-backend"]).unwrap_or_default();
        let tools = strings_at(&manifest, &["build-system", "requires"]);
        let has_rust = tools.iter().any(|tool| tool.starts_with("setuptools-rust"));
        self.is_built_with_cargo |= backend.starts_with("maturin") || has_rust;
        let is_built = manifest.get("build-system").is_some();
        self.is_package |= manifest.get("project").is_some() && (is_built || has_setup);
        for one in strings_at(&manifest, &["project", "dependencies"]) {
            self.add(one, DependencyOrigin::Main(file.clone()));
        }
        for extra in keys_at(&manifest, &["project", "optional-dependencies"]) {
            for one in strings_at(&manifest, &["project", "optional-dependencies", extra]) {
                self.add(one, DependencyOrigin::Extra(extra.to_owned(), file.clone()));
            }
        }
        let defaults = default_groups(&manifest, installer);
        for group in keys_at(&manifest, &["dependency-groups"]) {
            let is_default = defaults.iter().any(|known| known == group || known == "*");
            let place = if is_default {
                DependencyOrigin::Default(file.clone())
            } else {
                DependencyOrigin::Group(group.to_owned(), file.clone())
            };
            // A requirement of an included group is better taken from that group, unless the group
            // is installed by default anyway.
            let depth = if is_default { 8 } else { 0 };
            for one in group_requirements(&manifest, group, depth) {
                self.add(&one, place.clone());
            }
        }
        for table in [
            ["tool", "uv", "dev-dependencies"],
            ["tool", "pdm", "dev-dependencies"],
        ] {
            for one in strings_at(&manifest, &table) {
                self.add(one, DependencyOrigin::Default(file.clone()));
            }
        }
        self.poetry(&manifest, &file);
    }

    fn poetry(&mut self, manifest: &Value, file: &str) {
        let poetry = ["tool", "poetry"];
        let Some(poetry) = value_at(manifest, &poetry) else {
            return;
        };
        for one in keys_at(poetry, &["dependencies"]) {
            self.add(one, DependencyOrigin::Main(file.to_owned()));
        }
        for one in keys_at(poetry, &["dev-dependencies"]) {
            self.add(one, DependencyOrigin::Default(file.to_owned()));
        }
        for group in keys_at(poetry, &["group"]) {
            let is_optional =
                value_at(poetry, &["group", group, "optional"]).and_then(Value::as_bool);
            for one in keys_at(poetry, &["group", group, "dependencies"]) {
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
            let (folder, name) = split_path(rest);
            let is_text = name.strip_suffix(".txt");
            let is_named = |name: &str| name.contains("requirements") || folder == "requirements";
            matches!(folder, "" | "requirements") && is_text.is_some_and(is_named)
        };
        let files: Vec<&str> = place
            .files_below(&unit.folder)
            .filter(is_one)
            .take(20)
            .collect();
        for file in files {
            let text = place.read_text(file).unwrap_or_default();
            let inside = file[unit.folder.len()..].trim_start_matches('/').to_owned();
            for line in text.lines().map(str::trim) {
                if !line.starts_with(['#', '-']) {
                    self.add(line, DependencyOrigin::Requirements(file.to_owned()));
                }
            }
            self.requirements.push(inside);
        }
        let pipfile = unit.path_from_root("Pipfile");
        if let Some(pipfile_text) = place.read_toml(&pipfile) {
            for one in keys_at(&pipfile_text, &["packages"]) {
                self.add(one, DependencyOrigin::Main(pipfile.clone()));
            }
            for one in keys_at(&pipfile_text, &["dev-packages"]) {
                self.add(one, DependencyOrigin::Default(pipfile.clone()));
            }
        }
    }

    /// Reads `install_requires` and the extras of `setup.cfg`, by their indentation.
    fn setup_cfg(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit) {
        let file = unit.path_from_root("setup.cfg");
        let Some(text) = place.read_text(&file) else {
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

    /// Reads the `deps` of tox: they show what is used, but nothing here installs them.
    fn tox(&mut self, place: &SurveyedFiles<'_>, unit: &BuildUnit) {
        let text = place
            .read_text(&unit.path_from_root("tox.ini"))
            .unwrap_or_default();
        let names = |line: &str| requirement_name(line).as_deref() == Some("pytest");
        if text.lines().any(names) && self.find_origin("pytest").is_none() {
            self.all
                .push(("pytest".to_owned(), DependencyOrigin::Nowhere));
        }
    }
}

/// Returns the requirements of a group, including those of included groups down to a depth.
fn group_requirements(manifest: &Value, group: &str, depth: usize) -> Vec<String> {
    let list = value_at(manifest, &["dependency-groups", group]).and_then(Value::as_array);
    let mut found = Vec::new();
    for one in list.into_iter().flatten() {
        if let Some(one) = one.as_str() {
            found.push(one.to_owned());
        } else if let Some(other) = one.get("include-group").and_then(Value::as_str)
            && depth > 0
        {
            found.extend(group_requirements(manifest, other, depth - 1));
        }
    }
    found
}

/// Returns the normalised name of a requirement: `PyJWT[crypto] >= 2` is `pyjwt`.
fn requirement_name(requirement: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let requirement = requirement.trim().trim_start_matches(['"', '\'']);
    let end = requirement
        .find(|c| !is_part(c))
        .unwrap_or(requirement.len());
    let name = &requirement[..end];
    (!name.is_empty()).then(|| name.to_ascii_lowercase().replace(['_', '.'], "-"))
}

/// Returns true if a requirements file is for running the project and not for developing it.
fn is_for_running(file: &str) -> bool {
    let (_, name) = split_path(file);
    let others = ["dev", "test", "lint", "doc", "ci", "build", "typing"];
    // The plain file at the root may be for either; most projects use it to run.
    name == "requirements.txt" || !others.iter().any(|word| name.contains(word))
}
