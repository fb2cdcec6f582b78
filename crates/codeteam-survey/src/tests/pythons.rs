//! Python projects.

use expect_test::expect;

use super::{SampleRepo, actions};

const TESTS: &[&str] = &["app/__init__.py", "tests/test_app.py"];

#[test]
fn uv() {
    let manifest = "[project]\nname='a'\ndependencies=['fastapi>=0.1', 'pyjwt[crypto]']\n\
        [dependency-groups]\ndev=['pytest>=8','ruff']\n[tool.ruff]\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", manifest)
        .files(&["uv.lock"])
        .files(TESTS);
    repo.gives(&expect![[r#"
        languages: Python 2
        frameworks: FastAPI, PyJWT
        managers: uv
        runners: pytest
        linters: ruff
        pack api: `pyproject.toml` names `fastapi`
        pack security: `pyproject.toml` names `pyjwt`
        cast: api_dev, None
        setup: uv sync --locked ["uv.lock", "pyproject.toml"] ["pypi.org", "files.pythonhosted.org"]
        check lint: uv run ruff check .
          `pyproject.toml` has `[tool.ruff]`
        check tests: uv run pytest
          `pyproject.toml` names `pytest`
    "#]]);
}

#[test]
fn uv_with_pytest_in_a_group_and_in_an_extra() {
    let group = "[project]\nname='a'\n[dependency-groups]\ntests=['pytest']\nall=[{include-group='tests'}]\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", group)
        .files(&["uv.lock"])
        .files(TESTS);
    let survey = repo.survey();
    assert_eq!(survey.checks[0].command, "uv run --group tests pytest");
    assert_eq!(
        survey.setup.unwrap().command,
        "uv sync --locked --group tests"
    );
    let extra = "[project]\nname='a'\n[project.optional-dependencies]\ntest=['pytest']\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", extra)
        .files(&["uv.lock"])
        .files(TESTS);
    let survey = repo.survey();
    assert_eq!(survey.checks[0].command, "uv run --extra test pytest");
    assert_eq!(
        survey.setup.unwrap().command,
        "uv sync --locked --extra test"
    );
    let named = "[project]\nname='a'\n[dependency-groups]\ntests=['pytest']\n[tool.uv]\ndefault-groups=['tests']\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", named)
        .files(&["uv.lock"])
        .files(TESTS);
    assert_eq!(repo.survey().checks[0].command, "uv run pytest");
}

#[test]
fn poetry() {
    let manifest = "[tool.poetry]\nname='a'\n[tool.poetry.dependencies]\npython='^3.11'\nclick='*'\n\
        [tool.poetry.group.dev.dependencies]\npytest='*'\nmypy='*'\nblack='*'\n\
        [tool.poetry.scripts]\na='a:main'\n[tool.mypy]\nfiles='a'\n[tool.black]\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", manifest)
        .files(&["poetry.lock"])
        .files(TESTS);
    repo.gives(&expect![[r#"
        languages: Python 2
        frameworks: click
        managers: poetry
        runners: pytest
        linters: black, mypy
        pack cli: `pyproject.toml` names `click`
        setup: POETRY_VIRTUALENVS_IN_PROJECT=true poetry install ["poetry.lock", "pyproject.toml"] ["pypi.org", "files.pythonhosted.org"]
        check format: poetry run black --check .
          `pyproject.toml` has `[tool.black]`
        check types: poetry run mypy
          `pyproject.toml` has `[tool.mypy]`
        check tests: poetry run pytest
          `pyproject.toml` names `pytest`
    "#]]);
}

#[test]
fn plain_pip_with_requirements() {
    let repo = SampleRepo::new()
        .file("requirements.txt", "Flask==3.0\n# pytest\n-r other.txt\n")
        .file("requirements-dev.txt", "pytest\nflake8\n")
        .file("setup.cfg", "[flake8]\nmax-line-length = 100\n")
        .files(TESTS);
    repo.gives(&expect![[r#"
        languages: Python 2
        frameworks: Flask
        managers: pip
        runners: pytest
        linters: flake8
        pack api: `requirements.txt` names `flask`
        cast: api_dev, None
        setup: python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install -r requirements-dev.txt -r requirements.txt ["requirements-dev.txt", "requirements.txt"] ["pypi.org", "files.pythonhosted.org"]
        check lint: .venv/bin/python -m flake8
          `setup.cfg` has `[flake8]`
        check tests: .venv/bin/python -m pytest
          `requirements-dev.txt` names `pytest`
    "#]]);
}

#[test]
fn a_package_with_setup_cfg() {
    let cfg = "[metadata]\nname = a\n[options]\ninstall_requires =\n    pandas>=2\n\n\
        [options.extras_require]\ntest =\n    pytest\n[tool:pytest]\ntestpaths = tests\n";
    let repo = SampleRepo::new()
        .file("setup.cfg", cfg)
        .files(&["setup.py"])
        .files(TESTS);
    repo.gives(&expect![[r#"
        languages: Python 3
        frameworks: pandas
        managers: pip
        runners: pytest
        pack data: `setup.cfg` names `pandas`
        cast: data_engineer, Some("schema_guard")
        setup: python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install -e '.[test]' ["setup.cfg", "setup.py"] ["pypi.org", "files.pythonhosted.org"]
        check tests: .venv/bin/python -m pytest
          `setup.cfg` names `pytest`
    "#]]);
}

#[test]
fn pytest_is_proposed_only_if_something_speaks_for_it() {
    // No tests, and nobody names it.
    let bare = SampleRepo::new()
        .file("pyproject.toml", "[project]\nname='a'\n")
        .files(&["a/__init__.py"]);
    assert_eq!(bare.survey().checks, []);
    // Tests of the standard library.
    let plain = SampleRepo::new()
        .file("pyproject.toml", "[project]\nname='a'\n")
        .file("tests/test_a.py", "import unittest\n")
        .files(&["a/__init__.py"]);
    assert_eq!(
        plain.survey().checks[0].command,
        "python3 -m unittest discover -s tests"
    );
    // A test that imports it.
    let importing = plain.file("tests/test_a.py", "import pytest\n");
    let survey = importing.survey();
    assert_eq!(survey.checks[0].command, "python3 -m pytest");
    assert!(
        survey.notes.iter().any(|n| n.contains("no file names it")),
        "{:?}",
        survey.notes
    );
    // A dependency, and no test yet.
    let early = SampleRepo::new()
        .file(
            "pyproject.toml",
            "[project]\nname='a'\n[dependency-groups]\ndev=['pytest']\n",
        )
        .files(&["a/__init__.py", "uv.lock"]);
    let survey = early.survey();
    assert_eq!(survey.checks[0].command, "uv run pytest");
    assert!(
        survey.notes.iter().any(|n| n.contains("no test yet")),
        "{:?}",
        survey.notes
    );
}

#[test]
fn what_ci_runs_is_run_in_the_project_s_own_environment() {
    let manifest = "[project]\nname='a'\n[dependency-groups]\ndev=['pytest','ruff','mypy']\n";
    let runs = [
        "pip install -e .",
        "ruff check src --output-format=concise",
        "ruff format .",
        "python -m mypy --strict src",
        "pytest -k slow",
        "python -m pytest -q -ra",
        "pytest tests/unit",
        "codecov",
    ];
    let repo = SampleRepo::new()
        .file("pyproject.toml", manifest)
        .file(".github/workflows/ci.yml", &actions(&runs))
        .files(&["uv.lock"])
        .files(TESTS);
    repo.gives(&expect![[r#"
        languages: Python 2
        managers: uv
        runners: pytest
        linters: ruff, mypy
        ci: GitHub Actions
        setup: uv sync --locked ["uv.lock", "pyproject.toml"] ["pypi.org", "files.pythonhosted.org"]
        check lint: uv run ruff check src --output-format=concise
          `.github/workflows/ci.yml` runs it
        check types: uv run mypy --strict src
          `.github/workflows/ci.yml` runs it
        check tests: uv run pytest -q -ra
          `.github/workflows/ci.yml` runs it
    "#]]);
}

#[test]
fn django_has_tests_of_its_own() {
    let repo = SampleRepo::new()
        .file("requirements.txt", "Django>=5\n")
        .files(&["manage.py", "shop/__init__.py", "shop/tests.py"]);
    assert_eq!(
        repo.survey().checks[0].command,
        ".venv/bin/python manage.py test"
    );
}

#[test]
fn data_and_trading() {
    let repo = SampleRepo::new()
        .file("requirements.txt", "apache-airflow\nccxt\n")
        .files(&["dags/load.py"]);
    let survey = repo.survey_with(&["codeteam", "security_critical"]);
    let packs: Vec<&str> = survey.packs.iter().map(|pack| pack.name.as_str()).collect();
    assert_eq!(packs, ["data", "trading"]);
    assert_eq!(survey.template.name, "security_critical");
    assert_eq!(repo.survey().template.name, "codeteam");
    assert_eq!(
        survey.cast, None,
        "two packs, neither of which clearly fits"
    );
}

#[test]
fn requirements_of_documentation_make_no_python_project() {
    let repo = SampleRepo::new()
        .file("Cargo.toml", "[package]\nname='a'\n")
        .files(&[
            "src/main.rs",
            "requirements.txt",
            "docs/requirements.txt",
            "docs/conf.py",
        ]);
    let survey = repo.survey();
    assert_eq!(survey.managers.len(), 1, "{:?}", survey.managers);
}

#[test]
fn scripts_with_tests_need_no_manifest() {
    let repo = SampleRepo::new().files(&["add.py", "tests/test_add.py"]);
    repo.gives(&expect![[r"
        languages: Python 2
        managers: pip
        runners: unittest
        check tests: python3 -m unittest discover -s tests
          there are tests, such as `tests/test_add.py`, and nothing names pytest
    "]]);
    let with_pytest = SampleRepo::new().file("test_add.py", "import pytest\n");
    assert_eq!(with_pytest.survey().checks[0].command, "python3 -m pytest");
    // What is beside a project of another kind is not asked for.
    let other = SampleRepo::new()
        .file("go.mod", "module a\n")
        .files(&["main.go", "scripts/test_all.py"]);
    let checks = other.survey().checks;
    assert!(
        checks.iter().all(|check| !check.command.contains("python")),
        "{checks:?}"
    );
}
