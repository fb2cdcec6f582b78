//! JavaScript and TypeScript projects.

use expect_test::expect;

use super::{SampleRepo, actions};

const IGNORE: (&str, &str) = (".gitignore", "node_modules/\n");

fn repo(manifest: &str) -> SampleRepo {
    SampleRepo::new()
        .file("package.json", manifest)
        .file(IGNORE.0, IGNORE.1)
        .files(&["src/index.ts"])
}

#[test]
fn npm_and_jest() {
    let manifest = r#"{"scripts": {"test": "jest --watchAll", "lint": "eslint .", "format": "prettier --write ."},
        "dependencies": {"express": "5"}, "devDependencies": {"jest": "29", "eslint": "9"}}"#;
    repo(manifest)
        .files(&["package-lock.json"])
        .gives(&expect![[r#"
            languages: TypeScript 1
            frameworks: Express
            managers: npm
            runners: jest
            linters: eslint
            pack api: `package.json` names `express`
            cast: api_dev, None
            setup: npm ci ["package-lock.json"] ["registry.npmjs.org"]
            check lint: npm run lint
              `package.json` has the script `lint`
            check tests: npx jest --ci
              `package.json` has the script `test`
        "#]]);
}

#[test]
fn pnpm_and_vitest() {
    let manifest = r#"{"scripts": {"test": "vitest --coverage", "typecheck": "tsc --noEmit", "format:check": "prettier --check ."},
        "devDependencies": {"vitest": "3", "typescript": "5"}}"#;
    repo(manifest).files(&["pnpm-lock.yaml"]).gives(&expect![[r#"
        languages: TypeScript 1
        managers: pnpm
        runners: vitest
        linters: tsc
        setup: pnpm install --frozen-lockfile --store-dir node_modules/.pnpm-store ["pnpm-lock.yaml"] ["registry.npmjs.org"]
        check format: pnpm run format:check
          `package.json` has the script `format:check`
        check types: pnpm run typecheck
          `package.json` has the script `typecheck`
        check tests: pnpm exec vitest run --coverage
          `package.json` has the script `test`
    "#]]);
}

#[test]
fn a_react_front_end_with_yarn() {
    let manifest = r#"{"scripts": {"dev": "vite", "build": "tsc -b && vite build", "lint": "eslint .", "test": "vitest run"},
        "dependencies": {"react": "19", "react-dom": "19"}, "devDependencies": {"vite": "7", "vitest": "3", "typescript": "5"}}"#;
    repo(manifest)
        .files(&["yarn.lock", "src/App.test.tsx"])
        .gives(&expect![[r#"
            languages: TypeScript 2
            frameworks: React, Vite
            managers: yarn
            runners: vitest
            linters: tsc
            pack web: `package.json` names `react`
            cast: component_builder, Some("state_architect")
            setup: yarn install --frozen-lockfile ["yarn.lock"] ["registry.npmjs.org", "registry.yarnpkg.com"]
            check lint: yarn run lint
              `package.json` has the script `lint`
            check build: yarn run build
              `package.json` checks types with its script `build`
            check tests: yarn run test
              `package.json` has the script `test`
        "#]]);
}

#[test]
fn the_placeholder_is_no_test() {
    let placeholder = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}, "devDependencies": {"vitest": "3"}}"#;
    let survey = repo(placeholder).files(&["package-lock.json"]).survey();
    assert_eq!(survey.checks, []);
    // With a runner and something to run, the runner itself.
    let survey = repo(placeholder)
        .files(&["package-lock.json", "src/a.test.ts"])
        .survey();
    assert_eq!(survey.checks[0].command, "npx vitest run");
}

#[test]
fn tests_that_watch_are_made_to_end() {
    let test = |script: &str, lock: &str| {
        let manifest = format!(r#"{{"scripts": {{"test": "{script}"}}}}"#);
        let survey = repo(&manifest).files(&[lock]).survey();
        survey.checks[0].command.clone()
    };
    assert_eq!(test("vitest", "package-lock.json"), "npx vitest run");
    assert_eq!(
        test("vitest --watch --dom", "pnpm-lock.yaml"),
        "pnpm exec vitest run --dom"
    );
    assert_eq!(test("vitest run", "bun.lock"), "bun run test");
    assert_eq!(test("jest", "yarn.lock"), "yarn run jest --ci");
    assert_eq!(
        test("react-scripts test", "package-lock.json"),
        "CI=true npm test"
    );
    assert_eq!(test("tsc && vitest", "package-lock.json"), "npm test");
    assert_eq!(test("mocha", "pnpm-lock.yaml"), "pnpm test");
}

#[test]
fn two_lock_files() {
    let plain = r#"{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}}"#;
    let both = ["package-lock.json", "yarn.lock"];
    let survey = repo(plain).files(&both).survey();
    assert_eq!(survey.checks[0].command, "yarn run test");
    assert!(
        survey.notes[0].contains("`yarn.lock` and `package-lock.json`"),
        "{:?}",
        survey.notes
    );
    // What CI uses is what is used.
    let ci = repo(plain).files(&both).file(
        ".github/workflows/ci.yml",
        &actions(&["npm ci", "npm test"]),
    );
    assert_eq!(ci.survey().setup.unwrap().command, "npm ci");
    // And what the manifest says counts before all.
    let said = plain.replacen('{', r#"{"packageManager": "npm@11.0.0", "#, 1);
    assert_eq!(
        repo(&said).files(&both).survey().setup.unwrap().command,
        "npm ci"
    );
}

#[test]
fn how_each_manager_installs() {
    let manifest = r#"{"devDependencies": {"mocha": "1"}}"#;
    let setup = |files: &[&str]| repo(manifest).files(files).survey().setup.unwrap().command;
    assert_eq!(setup(&["package-lock.json"]), "npm ci");
    assert_eq!(setup(&["yarn.lock"]), "yarn install --frozen-lockfile");
    assert_eq!(setup(&["bun.lock"]), "bun install --frozen-lockfile");
    assert_eq!(
        setup(&["yarn.lock", ".yarnrc.yml"]),
        "YARN_ENABLE_GLOBAL_CACHE=false yarn install --immutable"
    );
    let linked = repo(manifest)
        .files(&["yarn.lock"])
        .file(".yarnrc.yml", "nodeLinker: node-modules\n");
    assert_eq!(
        linked.survey().setup.unwrap().command,
        "yarn install --immutable"
    );
}

#[test]
fn scripts_that_change_files_or_need_a_browser_are_no_checks() {
    let manifest = r#"{"scripts": {"lint": "eslint --fix .", "test": "playwright test", "test:unit": "vitest run",
        "check:types": "tsc", "types": "tsc -p types", "test:format": "prettier --check ."}}"#;
    let survey = repo(manifest).files(&["package-lock.json"]).survey();
    let commands: Vec<&str> = survey.checks.iter().map(|c| c.command.as_str()).collect();
    assert_eq!(
        commands,
        [
            "npm run test:format",
            "npm run check:types",
            "npm run test:unit"
        ]
    );
}

#[test]
fn the_script_that_ci_runs_is_the_better_one() {
    let manifest = r#"{"scripts": {"test": "npm run all", "test-ci": "mocha", "test:slow": "mocha slow", "lint": "a", "lint:ci": "b"}}"#;
    let runs = ["npm run test:slow", "npm run test-ci", "npm run lint:ci"];
    let repo = repo(manifest)
        .files(&["package-lock.json"])
        .file(".github/workflows/ci.yml", &actions(&runs));
    let commands: Vec<String> = repo
        .survey()
        .checks
        .into_iter()
        .map(|c| c.command)
        .collect();
    assert_eq!(commands, ["npm run lint:ci", "npm run test-ci"]);
}

#[test]
fn a_node_modules_that_is_not_ignored_is_pointed_out() {
    let manifest = r#"{"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}}"#;
    let repo = SampleRepo::new()
        .file("package.json", manifest)
        .files(&["package-lock.json"]);
    assert_eq!(repo.survey().unignored, ["node_modules/"]);
}
