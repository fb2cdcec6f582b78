//! Repositories with more than one thing in them.

use expect_test::expect;

use super::SampleRepo;

const IGNORE: (&str, &str) = (".gitignore", "node_modules/\n");

#[test]
fn a_pnpm_workspace_without_scripts_at_its_root() {
    let package = r#"{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}}"#;
    let repo = SampleRepo::new()
        .file(IGNORE.0, IGNORE.1)
        .file(
            "package.json",
            r#"{"private": true, "packageManager": "pnpm@10.0.0"}"#,
        )
        .file(
            "pnpm-workspace.yaml",
            "packages:\n  - packages/*\n  - '!packages/old'\n",
        )
        .file("packages/a/package.json", package)
        .file("packages/b/package.json", package)
        .file("packages/old/package.json", package)
        .file("examples/demo/package.json", package)
        .files(&["pnpm-lock.yaml", "turbo.json", "packages/a/index.js"]);
    repo.gives(&expect![[r#"
        languages: JavaScript 1
        managers: pnpm, turborepo
        runners: mocha
        packages: packages/a (JavaScript), packages/b (JavaScript)
        setup: pnpm install --frozen-lockfile --store-dir node_modules/.pnpm-store ["pnpm-lock.yaml"] ["registry.npmjs.org"]
        check tests: pnpm -r run test
          2 packages of the workspace have the script `test`
    "#]]);
    // A placeholder in one of them would fail in all.
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    let survey = repo.file("packages/b/package.json", placeholder).survey();
    assert_eq!(survey.checks[0].command, "cd packages/a && pnpm test");
}

#[test]
fn an_npm_workspace_with_scripts_at_its_root() {
    let repo = SampleRepo::new()
        .file(IGNORE.0, IGNORE.1)
        .file("package.json", r#"{"workspaces": {"packages": ["apps/*"]}, "scripts": {"test": "npm test -ws"}}"#)
        .file("apps/web/package.json", r#"{"dependencies": {"react": "19"}, "scripts": {"test": "vitest", "lint": "eslint ."}}"#)
        .files(&["package-lock.json", "apps/web/src/a.tsx"]);
    repo.gives(&expect![[r#"
        languages: TypeScript 1
        frameworks: React
        managers: npm
        packages: apps/web (JavaScript)
        pack web: `apps/web/package.json` names `react`
        cast: component_builder, Some("state_architect")
        setup: npm ci ["package-lock.json"] ["registry.npmjs.org"]
        check apps/web: lint: cd apps/web && npm run lint
          `apps/web/package.json` has the script `lint`
        check tests: npm test
          `package.json` has the script `test`
    "#]]);
}

#[test]
fn a_cargo_workspace() {
    let repo = SampleRepo::new()
        .file("Cargo.toml", "[workspace]\nmembers=['crates/*']\nexclude=['apart']\n[workspace.lints.clippy]\npedantic='warn'\n")
        .file("crates/a/Cargo.toml", "[package]\nname='a'\n[dependencies]\nclap='4'\nb={path='../b'}\n")
        .file("crates/b/Cargo.toml", "[package]\nname='b'\n")
        .file("apart/Cargo.toml", "[package]\nname='c'\n")
        .file("fuzz/Cargo.toml", "[package]\nname='fuzz'\n[workspace]\n")
        .files(&["Cargo.lock", "rustfmt.toml", "crates/a/src/main.rs", "crates/b/src/lib.rs"]);
    repo.gives(&expect![[r#"
        languages: Rust 2
        managers: cargo
        runners: cargo test
        linters: rustfmt, clippy
        packages: apart (Rust), crates/a (Rust), crates/b (Rust)
        pack rust: there is `Cargo.toml`
        pack cli: `crates/a/Cargo.toml` names `clap`
        cast: rust_dev, Some("memory_safety_reviewer")
        cache: ~/.cargo/registry
        check format: cargo fmt --all --check
          there is `rustfmt.toml`
        check lint: cargo clippy --workspace --all-targets
          `Cargo.toml` has lints for it
        check tests: cargo test --workspace
          `Cargo.toml` is a cargo workspace
        check apart: tests: cd apart && cargo test
          there is `apart/Cargo.toml`
    "#]]);
}

#[test]
fn a_go_workspace() {
    let repo = SampleRepo::new()
        .file("go.work", "go 1.24\n\nuse (\n\t./api // the server\n\t./lib\n)\n")
        .file("api/go.mod", "module x/api\n\nrequire (\n\tgithub.com/go-chi/chi/v5 v5.0.0\n\tgolang.org/x/sys v0.1.0 // indirect\n)\n")
        .file("lib/go.mod", "module x/lib\n")
        .files(&["api/main.go", "lib/lib.go", "lib/lib_test.go"]);
    repo.gives(&expect![[r#"
        languages: Go 3
        frameworks: chi
        managers: go
        runners: go test
        packages: api (Go), lib (Go)
        pack go: there is `go.work`
        pack api: `api/go.mod` requires `github.com/go-chi/chi/v5`
        cast: go_dev, Some("concurrency_reviewer")
        cache: ~/go/pkg/mod
        check lint: go vet ./api/... ./lib/...
          there is `go.work`
        check tests: go test ./api/... ./lib/...
          there are tests, such as `lib/lib_test.go`
    "#]]);
}

#[test]
fn a_uv_workspace() {
    let root = "[project]\nname='root'\n[tool.uv.workspace]\nmembers=['libs/*']\n[dependency-groups]\ndev=['pytest','ruff']\n[tool.ruff]\n";
    let member = "[project]\nname='a'\ndependencies=['polars']\n[tool.ruff]\n";
    let repo = SampleRepo::new()
        .file("pyproject.toml", root)
        .file("libs/a/pyproject.toml", member)
        .file("libs/b/pyproject.toml", "[project]\nname='b'\n")
        .files(&[
            "uv.lock",
            "libs/a/a/__init__.py",
            "libs/a/tests/test_a.py",
            "libs/b/b.py",
        ]);
    repo.gives(&expect![[r#"
        languages: Python 3
        frameworks: Polars
        managers: uv
        runners: pytest
        linters: ruff
        packages: libs/a (Python), libs/b (Python)
        pack data: `libs/a/pyproject.toml` names `polars`
        cast: data_engineer, Some("schema_guard")
        setup: uv sync --locked --all-packages ["uv.lock", "pyproject.toml"] ["pypi.org", "files.pythonhosted.org"]
        check lint: uv run ruff check .
          `pyproject.toml` has `[tool.ruff]`
        check libs/a: tests: cd libs/a && uv run pytest
          `pyproject.toml` names `pytest`
    "#]]);
    // With its own word about tests, the root tests all.
    let survey = repo
        .file(
            "pyproject.toml",
            &format!("{root}[tool.pytest.ini_options]\ntestpaths=['libs']\n"),
        )
        .survey();
    let tests: Vec<&str> = survey.checks.iter().map(|c| c.command.as_str()).collect();
    assert_eq!(tests, ["uv run ruff check .", "uv run pytest"]);
}

#[test]
fn react_and_fastapi_beside_each_other() {
    let web = r#"{"dependencies": {"react": "19"}, "devDependencies": {"vitest": "3"}, "scripts": {"test": "vitest", "lint": "eslint ."}}"#;
    let api =
        "[project]\nname='api'\ndependencies=['fastapi']\n[dependency-groups]\ndev=['pytest']\n";
    let compose = "services:\n  db:\n    image: postgres:17\n  api:\n    build: backend\n";
    let repo = SampleRepo::new()
        .file(IGNORE.0, IGNORE.1)
        .file("frontend/package.json", web)
        .file("backend/pyproject.toml", api)
        .file("docker-compose.yml", compose)
        .files(&[
            "frontend/package-lock.json",
            "backend/uv.lock",
            "frontend/src/a.tsx",
            "backend/app/main.py",
            "backend/tests/test_main.py",
        ]);
    repo.gives(&expect![[r#"
        languages: Python 2, TypeScript 1
        frameworks: FastAPI, React
        managers: uv, npm
        runners: pytest, vitest
        services: db, api
        packages: backend (Python), frontend (JavaScript)
        pack web: `frontend/package.json` names `react`
        pack api: `backend/pyproject.toml` names `fastapi`
        setup: (cd backend && uv sync --locked) && (cd frontend && npm ci) ["backend/uv.lock", "backend/pyproject.toml", "frontend/package-lock.json"] ["pypi.org", "files.pythonhosted.org", "registry.npmjs.org"]
        check frontend: lint: cd frontend && npm run lint
          `frontend/package.json` has the script `lint`
        check backend: tests: cd backend && uv run pytest
          `backend/pyproject.toml` names `pytest`
        check frontend: tests: cd frontend && npx vitest run
          `frontend/package.json` has the script `test`
        note: checks have no network, so tests that need a service of docker compose fail there: give checks those that do not
    "#]]);
}
