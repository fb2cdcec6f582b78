//! Surveys Python projects: the installer, the dependencies, and the checks.

mod dependencies;
mod installer;
mod linters;

use super::ci::{CiCommand, CiCommands};
use super::surveyed_files::{
    SurveyedFiles, is_third_party, split_path, string_at, strings_at, value_at,
};
use super::units::{BuildUnit, Ecosystem, is_python_test};
use super::{CheckPurpose, DetectedFeature, SurveyDraft};
use dependencies::{DependencyOrigin, PythonDependencies};
use installer::PythonInstaller;

/// Packages, the framework each one is, and the pack that it suggests.
const FRAMEWORKS: &[(&str, &str, Option<&str>)] = &[
    ("fastapi", "FastAPI", Some("api")),
    ("flask", "Flask", Some("api")),
    ("django", "Django", Some("api")),
    ("starlette", "Starlette", Some("api")),
    ("aiohttp", "aiohttp", None),
    ("litestar", "Litestar", Some("api")),
    ("sanic", "Sanic", Some("api")),
    ("pandas", "pandas", Some("data")),
    ("polars", "Polars", Some("data")),
    ("pyspark", "Spark", Some("data")),
    ("apache-airflow", "Airflow", Some("data")),
    ("dagster", "Dagster", Some("data")),
    ("prefect", "Prefect", Some("data")),
    ("dbt-core", "dbt", Some("data")),
    ("click", "click", Some("cli")),
    ("typer", "typer", Some("cli")),
    ("cleo", "cleo", Some("cli")),
    ("ccxt", "ccxt", Some("trading")),
    ("backtrader", "backtrader", Some("trading")),
    ("freqtrade", "freqtrade", Some("trading")),
    ("vectorbt", "vectorbt", Some("trading")),
    ("zipline-reloaded", "zipline", Some("trading")),
    ("alpaca-py", "alpaca", Some("trading")),
    ("ib-insync", "ib_insync", Some("trading")),
    ("nautilus-trader", "NautilusTrader", Some("trading")),
    ("web3", "web3", Some("contracts")),
    ("vyper", "Vyper", Some("contracts")),
    ("pyjwt", "PyJWT", Some("security")),
    ("python-jose", "python-jose", Some("security")),
    ("authlib", "Authlib", Some("security")),
    ("stripe", "Stripe", Some("security")),
    ("torch", "PyTorch", None),
];

/// Everything that the survey of one project needs.
struct PythonProject<'a> {
    place: &'a SurveyedFiles<'a>,
    unit: &'a BuildUnit,
    needs: PythonDependencies,
    runner: &'a PythonInstaller,
    ci: &'a CiCommands,
    /// Where the chosen tools must be installed from.
    used: Vec<DependencyOrigin>,
    /// Whether the project belongs to a workspace, and whether the pytest configuration of its root
    /// covers all tests.
    is_workspace: bool,
    covers_all: bool,
    /// The tools that the workspace's root runs for all members.
    by_root: Vec<&'static str>,
    /// Other projects, whose files do not belong to this one even if they are below it.
    apart: Vec<&'a BuildUnit>,
}

pub(super) fn survey_unit<'a>(
    place: &'a SurveyedFiles<'a>,
    unit: &'a BuildUnit,
    all: &'a [BuildUnit],
    ci: &'a CiCommands,
    sheet: &mut SurveyDraft,
) {
    let members = all.iter().filter(|other| {
        other.kind == Ecosystem::Python && other.member_of.as_deref() == Some(&unit.folder)
    });
    let members: Vec<&BuildUnit> = members.collect();
    let runner = PythonInstaller::detect(place, unit);
    let mut root = PythonDependencies::read(place, unit, runner.kind);
    sheet.managers.push(DetectedFeature::new(
        runner.kind.as_str(),
        runner.why.clone(),
    ));
    let before = sheet.checks.len();
    let manifest = place
        .read_toml(&unit.path_from_root("pyproject.toml"))
        .unwrap_or_default();
    let covers_all = value_at(&manifest, &["tool", "pytest"]).is_some()
        || place.has_file(&unit.path_from_root("pytest.ini"))
        || place.has_file(&unit.path_from_root("pytest.toml"));
    let mut used = Vec::new();
    let mut by_root = Vec::new();
    for one in std::iter::once(unit).chain(members.iter().copied()) {
        let mut needs = PythonDependencies::read(place, one, runner.kind);
        root.is_built_with_cargo |= needs.is_built_with_cargo;
        if one != unit {
            // A member is installed into the environment that all share.
            needs.include(&root);
        }
        let mut project = PythonProject {
            place,
            unit: one,
            needs,
            runner: &runner,
            ci,
            used: Vec::new(),
            is_workspace: !members.is_empty(),
            covers_all,
            by_root: by_root.clone(),
            apart: members
                .iter()
                .copied()
                .filter(|other| *other != one)
                .collect(),
        };
        project.frameworks(sheet);
        let done = project.propose_linters(sheet);
        if one == unit {
            by_root = done;
        }
        project.propose_tests(sheet);
        used.append(&mut project.used);
    }
    let is_only = all
        .iter()
        .all(|other| other == unit || other.member_of.is_some());
    if is_only || sheet.checks.len() > before {
        let is_workspace = !members.is_empty();
        let setup = runner.propose_setup(unit, &root, &used, is_workspace);
        sheet
            .setups
            .extend(setup.map(|setup| (unit.clone(), setup)));
    }
}

impl PythonProject<'_> {
    /// Returns the test files of this project.
    fn test_files(&self) -> impl Iterator<Item = &str> {
        let others = self
            .apart
            .iter()
            .filter(|other| other.folder.len() > self.unit.folder.len());
        let others: Vec<String> = others.map(|other| format!("{}/", other.folder)).collect();
        let below = self.place.files_below(&self.unit.folder);
        below.filter(move |path| {
            is_python_test(path) && !others.iter().any(|other| path.starts_with(other.as_str()))
        })
    }

    fn frameworks(&self, sheet: &mut SurveyDraft) {
        for (name, framework, pack) in FRAMEWORKS {
            let Some(file) = self.needs.runtime_manifest(name) else {
                continue;
            };
            if *pack == Some("cli") && !self.needs.has_program {
                continue;
            }
            let why = format!("`{file}` names `{name}`");
            sheet
                .frameworks
                .push(DetectedFeature::new(*framework, why.clone()));
            sheet
                .packs
                .extend(pack.map(|pack| DetectedFeature::new(pack, why)));
        }
        let typed = self
            .place
            .files_below(&self.unit.folder)
            .find(|path| split_path(path).1 == "py.typed" && !is_third_party(path));
        if let Some(file) = typed {
            sheet.packs.push(DetectedFeature::new(
                "types",
                format!("`{file}` says that types are published"),
            ));
        }
    }

    /// Returns where a tool is installed from; `None` if nothing would install it.
    fn installed_from(&self, tool: &str) -> Option<DependencyOrigin> {
        self.needs.find_origin(tool)
    }

    /// Returns the evidence for a configuration: a section of `pyproject.toml`, or a file.
    fn configured_in(&self, section: &[&str], files: &[&str]) -> Option<String> {
        let manifest = self.unit.path_from_root("pyproject.toml");
        let value = self.place.read_toml(&manifest);
        if value
            .as_ref()
            .is_some_and(|value| value_at(value, section).is_some())
        {
            return Some(format!("`{manifest}` has `[{}]`", section.join(".")));
        }
        let file = self.place.first_existing(&self.unit.folder, files)?;
        Some(format!("there is `{file}`"))
    }

    /// Returns the evidence for a section in `setup.cfg` or `tox.ini`.
    fn in_cfg(&self, section: &str) -> Option<String> {
        let files = ["setup.cfg", "tox.ini"].map(|name| self.unit.path_from_root(name));
        let file = files.into_iter().find(|file| {
            let text = self.place.read_text(file).unwrap_or_default();
            text.lines()
                .any(|line| line.trim_end() == format!("[{section}]"))
        })?;
        Some(format!("`{file}` has `[{section}]`"))
    }

    /// Returns the first suitable CI command for a tool, and the same command without the
    /// environment it is run in.
    fn ci_command(&self, start: &[&str], fits: fn(&str) -> bool) -> Option<(&CiCommand, String)> {
        self.ci.commands_in(&self.unit.folder).find_map(|run| {
            let line = installer::strip_runner(&run.words())?;
            let words: Vec<&str> = line.split(' ').collect();
            (words.starts_with(start) && fits(&line)).then_some((run, line))
        })
    }

    fn propose_tests(&mut self, sheet: &mut SurveyDraft) {
        let first = self.test_files().next().map(str::to_owned);
        // The root of a workspace tests its own files, and a member those that the root does not
        // cover.
        let is_root = self.unit.member_of.is_none();
        let is_left_out = match (is_root, self.covers_all) {
            (true, covers_all) => self.is_workspace && !covers_all && first.is_none(),
            (false, covers_all) => covers_all || first.is_none(),
        };
        if is_left_out {
            return;
        }
        let place = self.installed_from("pytest");
        if let Some(why) = self.why_pytest(first.as_deref(), place.as_ref()) {
            sheet
                .runners
                .push(DetectedFeature::new("pytest", why.clone()));
            let run = self.ci_command(&["pytest"], is_whole);
            let (line, why) = match run {
                Some((run, line)) => (line, run.reason()),
                None => ("pytest".to_owned(), why),
            };
            let place = place.unwrap_or_else(|| {
                self.place.add_note(format!(
                    "pytest is used in `{}` but no file names it as a dependency",
                    if self.unit.folder.is_empty() {
                        "."
                    } else {
                        &self.unit.folder
                    }
                ));
                DependencyOrigin::Nowhere
            });
            let command = self
                .runner
                .tool_command(&line, &place, self.needs.is_installable());
            self.used.push(place);
            if first.is_none() {
                self.place
                    .add_note("there is no test yet: pytest fails until there is one");
            }
            sheet.propose_check(self.unit, CheckPurpose::Tests, &command, why);
            return;
        }
        let manage = self.unit.path_from_root("manage.py");
        let is_django =
            self.needs.runtime_manifest("django").is_some() && self.place.has_file(&manage);
        if let (true, Some(first)) = (is_django, &first) {
            let why = format!("there is `{manage}`, and tests such as `{first}`");
            sheet
                .runners
                .push(DetectedFeature::new("Django's", why.clone()));
            let command = self
                .runner
                .python_command("manage.py test", self.needs.is_installable());
            sheet.propose_check(self.unit, CheckPurpose::Tests, &command, why);
        } else if let Some(first) = self.test_files().find(|path| self.is_discovered(path)) {
            let why = format!("there are tests, such as `{first}`, and nothing names pytest");
            let folder = match self.place.has_folder(&self.unit.path_from_root("tests")) {
                false => "",
                true if self
                    .place
                    .has_file(&self.unit.path_from_root("tests/__init__.py")) =>
                {
                    " -s tests -t ."
                }
                true => " -s tests",
            };
            let line = format!("-m unittest discover{folder}");
            let command = self
                .runner
                .python_command(&line, self.needs.is_installable());
            sheet
                .runners
                .push(DetectedFeature::new("unittest", why.clone()));
            sheet.propose_check(self.unit, CheckPurpose::Tests, &command, why);
        }
    }

    /// Returns true if unittest discovers a file: at the top, in `tests`, or in a package.
    fn is_discovered(&self, path: &str) -> bool {
        let (folder, name) = split_path(path);
        let is_near = [self.unit.folder.clone(), self.unit.path_from_root("tests")]
            .iter()
            .any(|f| f == folder);
        let is_in_package = self.place.has_file(&format!("{folder}/__init__.py"));
        name.starts_with("test") && (is_near || is_in_package)
    }

    /// Returns the evidence that pytest runs the tests, if it does.
    fn why_pytest(&self, first: Option<&str>, place: Option<&DependencyOrigin>) -> Option<String> {
        if let Some((run, _)) = self.ci_command(&["pytest"], |_| true) {
            return Some(format!("`{}` runs `pytest`", run.file));
        }
        if place == Some(&DependencyOrigin::Nowhere) {
            return Some(format!(
                "`{}` names `pytest`",
                self.unit.path_from_root("tox.ini")
            ));
        }
        if let Some(place) = place {
            return Some(format!("`{}` names `pytest`", place.file()));
        }
        let configured = self
            .configured_in(
                &["tool", "pytest"],
                &[
                    "pytest.ini",
                    "pytest.toml",
                    "conftest.py",
                    "tests/conftest.py",
                ],
            )
            .or_else(|| self.in_cfg("tool:pytest"))
            .or_else(|| self.in_cfg("pytest"));
        if configured.is_some() {
            return configured;
        }
        // A test itself shows what it is written for.
        let first = first?;
        let mut tests = self.test_files().take(5);
        let imports = |path: &str| {
            let text = self.place.read_text(path).unwrap_or_default();
            text.lines()
                .any(|line| line.starts_with("import pytest") || line.starts_with("from pytest"))
        };
        tests
            .any(imports)
            .then(|| format!("`{first}` and others import it"))
    }
}

/// Returns true if a call of pytest runs all tests: no marks, no single files, nothing for a
/// server.
fn is_whole(line: &str) -> bool {
    let narrow = [
        "-k",
        "-m",
        "--deselect",
        "--benchmark-only",
        "--doctest-modules",
        "--collect-only",
    ];
    let is_deep = |word: &str| !word.starts_with('-') && word.trim_end_matches('/').contains('/');
    let mut words = line.split(' ').skip(1);
    !words.any(|word| {
        let is_about_files = word.contains(".py") || is_deep(word) || word.starts_with("--cov");
        narrow.contains(&word) || is_about_files
    })
}

/// Returns true if a project installs scripts.
fn has_scripts(manifest: &serde_json::Value) -> bool {
    let places = [&["project", "scripts"][..], &["tool", "poetry", "scripts"]];
    places.iter().any(|path| value_at(manifest, path).is_some())
}

/// Returns the groups that the installer includes by default.
fn default_groups(
    manifest: &serde_json::Value,
    installer: installer::PythonInstallerKind,
) -> Vec<String> {
    match installer {
        installer::PythonInstallerKind::Uv => {}
        installer::PythonInstallerKind::Pip => return Vec::new(),
        // The others install all groups that are not optional.
        _ => return vec!["*".to_owned()],
    }
    let path = ["tool", "uv", "default-groups"];
    match string_at(manifest, &path) {
        Some("all") => vec!["*".to_owned()],
        _ if value_at(manifest, &path).is_some() => strings_at(manifest, &path)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        _ => vec!["dev".to_owned()],
    }
}
