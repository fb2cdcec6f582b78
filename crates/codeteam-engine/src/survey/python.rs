//! Python: who installs, what is installed, and what checks.

mod linters;
mod needs;
mod runner;

use super::ci::{CiCommand, CiCommands};
use super::place::{SurveyedFiles, at, ending, is_foreign, split, string, strings};
use super::units::{BuildUnit, Ecosystem};
use super::{CheckPurpose, DetectedFeature, SurveyDraft};
use needs::{DependencyOrigin, PythonDependencies};
use runner::PythonInstaller;

/// Packages, the framework they are, and the pack they speak for.
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

/// What one look at a project needs.
struct PythonProject<'a> {
    place: &'a SurveyedFiles<'a>,
    unit: &'a BuildUnit,
    needs: PythonDependencies,
    runner: &'a PythonInstaller,
    ci: &'a CiCommands,
    /// What the chosen tools have to be installed with.
    used: Vec<DependencyOrigin>,
    /// Whether there is a workspace, and whether its root's pytest is told where all tests are.
    is_workspace: bool,
    covers_all: bool,
    /// Tools that the workspace's root runs for all.
    by_root: Vec<&'static str>,
    /// Other projects, whose files are not this one's even if they are below it.
    apart: Vec<&'a BuildUnit>,
}

pub(super) fn look<'a>(
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
    let runner = PythonInstaller::of(place, unit);
    let mut root = PythonDependencies::read(place, unit, runner.kind);
    sheet
        .managers
        .push(DetectedFeature::new(runner.kind.word(), runner.why.clone()));
    let before = sheet.checks.len();
    let manifest = place.toml(&unit.path("pyproject.toml")).unwrap_or_default();
    let covers_all = at(&manifest, &["tool", "pytest"]).is_some()
        || place.has(&unit.path("pytest.ini"))
        || place.has(&unit.path("pytest.toml"));
    let mut used = Vec::new();
    let mut by_root = Vec::new();
    for one in std::iter::once(unit).chain(members.iter().copied()) {
        let mut needs = PythonDependencies::read(place, one, runner.kind);
        root.is_built_with_cargo |= needs.is_built_with_cargo;
        if one != unit {
            // A member is installed into the environment of all.
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
        let done = project.linters(sheet);
        if one == unit {
            by_root = done;
        }
        project.tests(sheet);
        used.append(&mut project.used);
    }
    let is_only = all
        .iter()
        .all(|other| other == unit || other.member_of.is_some());
    if is_only || sheet.checks.len() > before {
        let is_workspace = !members.is_empty();
        let setup = runner.setup(unit, &root, &used, is_workspace);
        sheet
            .setups
            .extend(setup.map(|setup| (unit.clone(), setup)));
    }
}

impl PythonProject<'_> {
    /// The test files of this project.
    fn test_files(&self) -> impl Iterator<Item = &str> {
        let others = self
            .apart
            .iter()
            .filter(|other| other.folder.len() > self.unit.folder.len());
        let others: Vec<String> = others.map(|other| format!("{}/", other.folder)).collect();
        let below = self.place.below(&self.unit.folder);
        below.filter(move |path| {
            is_test(path) && !others.iter().any(|other| path.starts_with(other.as_str()))
        })
    }

    fn frameworks(&self, sheet: &mut SurveyDraft) {
        for (name, framework, pack) in FRAMEWORKS {
            let Some(file) = self.needs.at_run_time(name) else {
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
            .below(&self.unit.folder)
            .find(|path| split(path).1 == "py.typed" && !is_foreign(path));
        if let Some(file) = typed {
            sheet.packs.push(DetectedFeature::new(
                "types",
                format!("`{file}` says that types are published"),
            ));
        }
    }

    /// A tool with its place in the environment: none if nothing would install it.
    fn installed(&self, tool: &str) -> Option<DependencyOrigin> {
        self.needs.find(tool)
    }

    /// A section of `pyproject.toml`, or a file.
    fn configured(&self, section: &[&str], files: &[&str]) -> Option<String> {
        let manifest = self.unit.path("pyproject.toml");
        let value = self.place.toml(&manifest);
        if value
            .as_ref()
            .is_some_and(|value| at(value, section).is_some())
        {
            return Some(format!("`{manifest}` has `[{}]`", section.join(".")));
        }
        let file = self.place.first(&self.unit.folder, files)?;
        Some(format!("there is `{file}`"))
    }

    /// What `setup.cfg` or `tox.ini` has a section for.
    fn in_cfg(&self, section: &str) -> Option<String> {
        let files = ["setup.cfg", "tox.ini"].map(|name| self.unit.path(name));
        let file = files.into_iter().find(|file| {
            let text = self.place.text(file).unwrap_or_default();
            text.lines()
                .any(|line| line.trim_end() == format!("[{section}]"))
        })?;
        Some(format!("`{file}` has `[{section}]`"))
    }

    /// What CI runs of a tool: the first command that fits, and what it is without the environment
    /// it is run in.
    fn run(&self, start: &[&str], fits: fn(&str) -> bool) -> Option<(&CiCommand, String)> {
        self.ci.of(&self.unit.folder).find_map(|run| {
            let line = runner::bare(&run.words())?;
            let words: Vec<&str> = line.split(' ').collect();
            (words.starts_with(start) && fits(&line)).then_some((run, line))
        })
    }

    fn tests(&mut self, sheet: &mut SurveyDraft) {
        let first = self.test_files().next().map(str::to_owned);
        // A workspace's root tests what is its own, and a member what its root does not.
        let is_root = self.unit.member_of.is_none();
        let is_left_out = match (is_root, self.covers_all) {
            (true, covers_all) => self.is_workspace && !covers_all && first.is_none(),
            (false, covers_all) => covers_all || first.is_none(),
        };
        if is_left_out {
            return;
        }
        let place = self.installed("pytest");
        if let Some(why) = self.why_pytest(first.as_deref(), place.as_ref()) {
            sheet
                .runners
                .push(DetectedFeature::new("pytest", why.clone()));
            let run = self.run(&["pytest"], is_whole);
            let (line, why) = match run {
                Some((run, line)) => (line, run.why()),
                None => ("pytest".to_owned(), why),
            };
            let place = place.unwrap_or_else(|| {
                self.place.note(format!(
                    "pytest is used in `{}` but no file names it as a dependency",
                    if self.unit.folder.is_empty() {
                        "."
                    } else {
                        &self.unit.folder
                    }
                ));
                DependencyOrigin::Nowhere
            });
            let command = self.runner.run(&line, &place, self.needs.is_installed());
            self.used.push(place);
            if first.is_none() {
                self.place
                    .note("there is no test yet: pytest fails until there is one");
            }
            sheet.check(self.unit, CheckPurpose::Tests, &command, why);
            return;
        }
        let manage = self.unit.path("manage.py");
        let is_django = self.needs.at_run_time("django").is_some() && self.place.has(&manage);
        if let (true, Some(first)) = (is_django, &first) {
            let why = format!("there is `{manage}`, and tests such as `{first}`");
            sheet
                .runners
                .push(DetectedFeature::new("Django's", why.clone()));
            let command = self
                .runner
                .python("manage.py test", self.needs.is_installed());
            sheet.check(self.unit, CheckPurpose::Tests, &command, why);
        } else if let Some(first) = self.test_files().find(|path| self.is_found(path)) {
            let why = format!("there are tests, such as `{first}`, and nothing names pytest");
            let folder = match self.place.has_folder(&self.unit.path("tests")) {
                false => "",
                true if self.place.has(&self.unit.path("tests/__init__.py")) => " -s tests -t .",
                true => " -s tests",
            };
            let line = format!("-m unittest discover{folder}");
            let command = self.runner.python(&line, self.needs.is_installed());
            sheet
                .runners
                .push(DetectedFeature::new("unittest", why.clone()));
            sheet.check(self.unit, CheckPurpose::Tests, &command, why);
        }
    }

    /// Whether unittest finds a file: at the top, in `tests`, or in a package.
    fn is_found(&self, path: &str) -> bool {
        let (folder, name) = split(path);
        let is_near = [self.unit.folder.clone(), self.unit.path("tests")]
            .iter()
            .any(|f| f == folder);
        let is_in_package = self.place.has(&format!("{folder}/__init__.py"));
        name.starts_with("test") && (is_near || is_in_package)
    }

    /// Why pytest is what runs the tests, if it is.
    fn why_pytest(&self, first: Option<&str>, place: Option<&DependencyOrigin>) -> Option<String> {
        if let Some((run, _)) = self.run(&["pytest"], |_| true) {
            return Some(format!("`{}` runs `pytest`", run.file));
        }
        if place == Some(&DependencyOrigin::Nowhere) {
            return Some(format!("`{}` names `pytest`", self.unit.path("tox.ini")));
        }
        if let Some(place) = place {
            return Some(format!("`{}` names `pytest`", place.file()));
        }
        let configured = self
            .configured(
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
        // A test says itself what it is for.
        let first = first?;
        let mut tests = self.test_files().take(5);
        let imports = |path: &str| {
            let text = self.place.text(path).unwrap_or_default();
            text.lines()
                .any(|line| line.starts_with("import pytest") || line.starts_with("from pytest"))
        };
        tests
            .any(imports)
            .then(|| format!("`{first}` and others import it"))
    }
}

/// Whether a file holds tests, by its name.
pub(super) fn is_test(path: &str) -> bool {
    let (_, name) = split(path);
    let is_named = name.starts_with("test_") || name.ends_with("_test.py") || name == "tests.py";
    is_named && ending(name) == "py" && !is_foreign(path)
}

/// Whether a call of pytest runs all tests: no marks, no single files, nothing for a server.
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

/// The scripts that a project installs.
fn has_scripts(manifest: &serde_json::Value) -> bool {
    let places = [&["project", "scripts"][..], &["tool", "poetry", "scripts"]];
    places.iter().any(|path| at(manifest, path).is_some())
}

/// The groups that are installed without being asked for, by who installs.
fn default_groups(
    manifest: &serde_json::Value,
    installer: runner::PythonInstallerKind,
) -> Vec<String> {
    match installer {
        runner::PythonInstallerKind::Uv => {}
        runner::PythonInstallerKind::Pip => return Vec::new(),
        // The others install all that are not optional.
        _ => return vec!["*".to_owned()],
    }
    let path = ["tool", "uv", "default-groups"];
    match string(manifest, &path) {
        Some("all") => vec!["*".to_owned()],
        _ if at(manifest, &path).is_some() => strings(manifest, &path)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        _ => vec!["dev".to_owned()],
    }
}
