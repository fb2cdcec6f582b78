//! Rust, Go, Java, contracts, and what is left.

use expect_test::expect;

use super::{SampleRepo, actions};

#[test]
fn a_single_crate_with_what_ci_runs() {
    let runs = [
        "cargo +nightly test",
        "cargo test --target wasm32-unknown-unknown",
        "cargo test --no-default-features",
        "cargo test --all-features",
        "cargo clippy --all-targets -- -D warnings",
        "cargo fmt -- --check",
        "cargo install cargo-deny",
    ];
    let repo = SampleRepo::new()
        .file(
            "Cargo.toml",
            "[package]\nname='a'\n[dependencies]\naxum='0.8'\n",
        )
        .file(".github/workflows/ci.yml", &actions(&runs))
        .files(&["src/main.rs"]);
    repo.gives(&expect![[r#"
        languages: Rust 1
        frameworks: axum
        managers: cargo
        runners: cargo test
        linters: rustfmt, clippy
        ci: GitHub Actions
        pack rust: there is `Cargo.toml`
        pack api: `Cargo.toml` names `axum`
        cast: rust_dev, Some("memory_safety_reviewer")
        cache: ~/.cargo/registry
        check format: cargo fmt -- --check
          `.github/workflows/ci.yml` runs it
        check lint: cargo clippy --all-targets -- -D warnings
          `.github/workflows/ci.yml` runs it
        check tests: cargo test --all-features
          `.github/workflows/ci.yml` runs it
        note: `Cargo.lock` is not tracked: without a network cargo may find no versions to build with; commit it, or name it in `.worktreeinclude`
    "#]]);
}

#[test]
fn a_crate_and_nothing_else() {
    let repo = SampleRepo::new()
        .file("Cargo.toml", "[package]\nname='a'\n")
        .files(&["src/lib.rs"]);
    let survey = repo.survey();
    assert_eq!(
        survey.checks.len(),
        1,
        "neither clippy nor rustfmt is spoken for"
    );
    assert_eq!(survey.checks[0].command, "cargo test");
    assert_eq!(survey.caches, []);
    // Whether warnings are errors is not guessed.
    let toolchain = "[toolchain]\nchannel='1.95'\ncomponents=['clippy','rustfmt']\n";
    let commands: Vec<String> = repo
        .file("rust-toolchain.toml", toolchain)
        .survey()
        .checks
        .into_iter()
        .map(|c| c.command)
        .collect();
    assert_eq!(
        commands,
        [
            "cargo fmt --check",
            "cargo clippy --all-targets",
            "cargo test"
        ]
    );
}

#[test]
fn go() {
    let repo = SampleRepo::new()
        .file(
            "go.mod",
            "module x\n\nrequire github.com/spf13/cobra v1.8.0\n",
        )
        .file(
            ".github/workflows/test.yaml",
            &actions(&["go mod download", "go test -race ./..."]),
        )
        .files(&["main.go", "main_test.go", ".golangci.yml", "tools/go.mod"]);
    repo.gives(&expect![[r#"
        languages: Go 2
        frameworks: cobra
        managers: go
        runners: go test
        linters: golangci-lint
        ci: GitHub Actions
        pack go: there is `go.mod`
        pack cli: `go.mod` requires `github.com/spf13/cobra`
        cast: go_dev, Some("concurrency_reviewer")
        cache: ~/go/pkg/mod
        check lint: go vet ./...
          there is `go.mod`
        check tests: go test -race ./...
          `.github/workflows/test.yaml` runs it
    "#]]);
}

#[test]
fn maven() {
    let pom = "<project><parent><artifactId>spring-boot-starter-parent</artifactId></parent>\
        <dependency><artifactId>spring-boot-starter-web</artifactId></dependency>\
        <dependency><artifactId>spring-boot-starter-test</artifactId></dependency></project>";
    let repo = SampleRepo::new().file("pom.xml", pom).files(&[
        "mvnw",
        "src/main/java/A.java",
        "module/pom.xml",
    ]);
    repo.gives(&expect![[r"
        languages: Java 1
        frameworks: Spring Boot
        managers: maven
        runners: junit
        packages: module (Java)
        pack api: `pom.xml` names `spring-boot-starter-web`
        cast: api_dev, None
        cache: ~/.m2/repository (copied)
        cache: ~/.m2/wrapper (copied)
        check tests: ./mvnw -q -B verify
          there is `pom.xml`
    "]]);
    assert_eq!(
        SampleRepo::new()
            .files(&["pom.xml", "A.java"])
            .survey()
            .checks[0]
            .command,
        "mvn -q -B verify"
    );
}

#[test]
fn gradle() {
    let repo = SampleRepo::new()
        .file("build.gradle.kts", "plugins { id(\"com.diffplug.spotless\") }\ntestImplementation(\"org.junit.jupiter:junit-jupiter\")\n")
        .files(&["settings.gradle.kts", "gradlew", "app/build.gradle.kts", "app/src/main/kotlin/A.kt"]);
    repo.gives(&expect![[r"
        languages: Kotlin 1
        managers: gradle
        runners: junit
        linters: spotless
        packages: app (Java)
        cache: ~/.gradle/caches (copied)
        cache: ~/.gradle/wrapper (copied)
        check tests: ./gradlew test
          there is `build.gradle.kts`
    "]]);
}

#[test]
fn contracts() {
    let manifest = r#"{"scripts": {"test": "hardhat test"}, "devDependencies": {"hardhat": "3"}}"#;
    let repo = SampleRepo::new()
        .file(".gitignore", "node_modules\n")
        .file("package.json", manifest)
        .files(&[
            "package-lock.json",
            "hardhat.config.ts",
            "foundry.toml",
            "contracts/A.sol",
            "test/A.t.sol",
        ]);
    repo.gives(&expect![[r#"
        languages: Solidity 2, TypeScript 1
        frameworks: Hardhat, Foundry
        managers: npm
        runners: forge
        pack contracts: `package.json` names `hardhat`
        setup: npm ci ["package-lock.json"] ["registry.npmjs.org"]
        cache: ~/.cache/hardhat-nodejs
        cache: ~/.svm
        check tests: npm test
          `package.json` has the script `test`
        check tests (Foundry): forge test --offline
          there are tests, such as `test/A.t.sol`
    "#]]);
}

#[test]
fn a_makefile_and_nothing_else() {
    let make = "test := no\nCC = cc\n\nlint:\n\tcppcheck .\n\ntest: build\n\t./run-tests\n\ncheck:\n\tdocker run x\n";
    let repo = SampleRepo::new().file("Makefile", make).files(&["main.c"]);
    repo.gives(&expect![[r"
        languages: C 1
        managers: make
        runners: make
        check lint: make lint
          `Makefile` has the target `lint`
        check tests: make test
          `Makefile` has the target `test`
    "]]);
    let survey = SampleRepo::new()
        .file(
            "justfile",
            "test filter='':\n    zig test\ntest:\n    zig build\n",
        )
        .survey();
    assert_eq!(survey.checks[0].command, "just test");
}

#[test]
fn infrastructure_but_not_in_tests() {
    let names = |files: &[&str]| -> Vec<String> {
        let survey = SampleRepo::new().files(files).survey();
        survey.packs.into_iter().map(|pack| pack.name).collect()
    };
    assert_eq!(names(&["main.tf"]), ["infrastructure"]);
    assert_eq!(names(&["k8s/app.yaml"]), ["infrastructure"]);
    assert_eq!(
        names(&["tests/corpus/main.tf", "docs/k8s/app.yaml"]),
        [""; 0]
    );
}

#[test]
fn an_empty_repository() {
    SampleRepo::new().gives(&expect![[r"
        note: no check was found: without one, only reviewers stand between a worker and a commit
    "]]);
    SampleRepo::new().files(&["README.md"]).gives(&expect![[r"
        note: no check was found: without one, only reviewers stand between a worker and a commit
    "]]);
}

#[test]
fn ci_is_read_with_its_folders_and_without_its_secrets() {
    let workflow = "jobs:\n  web:\n    runs-on: ubuntu-latest\n    defaults: { run: { working-directory: ./web } }\n    steps:\n\
        \x20     - run: npm ci\n      - run: npm run test:ci\n      - run: npm run test:unit\n        env: { TOKEN: '${{ secrets.T }}' }\n\
        \x20 deploy:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm run test:run\n\
        \x20 other:\n    runs-on: windows-latest\n    steps:\n      - run: npm run test:app\n";
    let manifest = r#"{"scripts": {"test": "all", "test:unit": "a", "test:ci": "b", "test:run": "c", "test:app": "d"}, "dependencies": {"a": "1"}}"#;
    let repo = SampleRepo::new()
        .file(".gitignore", "node_modules\n")
        .file("web/package.json", manifest)
        .file(".github/workflows/ci.yml", workflow)
        .files(&["web/package-lock.json"]);
    let survey = repo.survey();
    assert_eq!(survey.checks[0].command, "cd web && npm run test:ci");
    let gitlab =
        "stages: [test]\ntest:\n  script:\n    - cd web\n    - npm ci\n    - npm run test:run\n";
    let survey = SampleRepo::new()
        .file("web/package.json", manifest)
        .file(".gitlab-ci.yml", gitlab)
        .files(&["web/package-lock.json"])
        .survey();
    assert_eq!(survey.ci[0].name, "GitLab CI");
    assert_eq!(survey.checks[0].command, "cd web && npm run test:run");
}
