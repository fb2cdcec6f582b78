//! `codeteam init`: what it shows, what it writes, and what it leaves alone.

use std::os::unix::fs::symlink;

use expect_test::expect;

use crate::project::Project;

/// A small project in Rust that nobody has initialised.
fn project() -> Project {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write("Cargo.toml", "[package]\nname = \"hello\"\n");
    project.write("rustfmt.toml", "");
    project.write("src/main.rs", "fn main() {}\n");
    project
}

fn is_untouched(project: &Project) -> bool {
    !project.path(".codeteam").exists()
}

#[test]
fn without_a_terminal_it_shows_and_waits() {
    let project = project();
    let done = project.run(&["init"]).expect(3).says(&["--yes"]);
    assert!(is_untouched(&project));
    expect![[r"
        Languages: Rust (1 file)
        Built with:
          cargo: there is `Cargo.toml`
        Tests:
          cargo test: there is `Cargo.toml`
        Linters:
          rustfmt: there is `rustfmt.toml`
        Roles that fit:
          rust (rust_dev, memory_safety_reviewer): there is `Cargo.toml`
        Workflow: codeteam
          the usual one (plan, code, checks, review, commit)
        Checks:
          format: cargo fmt --check
            there is `rustfmt.toml`
          tests: cargo test
            there is `Cargo.toml`

        .codeteam/.gitignore (new, keeps what codeteam writes out of commits)
        .codeteam/schema/config.json (new, for editors)
        .codeteam/schema/role.json (new, for editors)
        .codeteam/schema/workflow.json (new, for editors)

        .codeteam/context/project.md (new)
          | # This project
          |
          | Every worker is told this, once somebody has filled it in. Say what nobody can
          | know from the code: what the project is for, what must never happen, how things are
          | done here.
          |
          | ## What it is
          |
          | (one paragraph)
          |
          | ## Layout
          |
          | - Languages: Rust
          |
          | ## Commands
          |
          | - format: `cargo fmt --check`
          | - tests: `cargo test`
          |
          | ## Conventions
          |
          | (what a newcomer gets wrong)

        .codeteam/config.yml (new)
          | # yaml-language-server: $schema=schema/config.json
          | # What codeteam knows of this project. Begun by `codeteam init`, yours to change.
          |
          | # How a run goes about it: the usual one (plan, code, checks, review, commit).
          | workflow:
          |   extends: codeteam
          |   overrides:
          |     # Roles of the pack `rust`: the code is Rust, and there is `Cargo.toml`.
          |     code: { role: rust_dev }
          |     review: { roles: [architecture, task_completion, security, performance, memory_safety_reviewer], small_change: [reviewer] }
          |
          | # What must hold before anything is committed. Run without a network.
          | verification:
          |   commands:
          |     # there is `rustfmt.toml`
          |     - name: format
          |       command: cargo fmt --check
          |     # there is `Cargo.toml`
          |     - name: tests
          |       command: cargo test
          |
          | # What a run may use up; without a limit, as much as it takes.
          | # limits:
          | #   max_cost_usd: 10
          | #   max_minutes: 120

    "]]
    .assert_eq(&done.stdout);
    // To look is no question.
    let dry = project.run(&["init", "--dry-run"]).expect(0);
    assert_eq!(dry.stdout, done.stdout);
    assert!(is_untouched(&project));
}

#[test]
fn with_yes_it_writes_what_it_showed_in_a_repository_without_commits_and_from_a_subfolder() {
    let project = project();
    let shown = project.run(&["init", "--dry-run"]).expect(0).stdout;
    let done = project.run(&["-C", "src", "init", "--yes"]).expect(0);
    assert_eq!(done.stdout, shown);
    done.says(&["wrote 6 files"]);
    for file in [".codeteam/config.yml", ".codeteam/context/project.md"] {
        let text = project.read(file);
        let mut lines = text.lines();
        assert!(
            lines.all(|line| shown.contains(format!("  | {line}").trim_end())),
            "{file}"
        );
    }
    assert!(project.path(".codeteam/.gitignore").exists());
    let config = project.read(".codeteam/config.yml");
    let first = config.lines().next();
    assert_eq!(
        first,
        Some("# yaml-language-server: $schema=schema/config.json")
    );
    assert!(!project.path("src/.codeteam").exists());
    // The second time there is nothing left to do.
    let again = project.run(&["init"]).expect(0).says(&["nothing to write"]);
    assert!(!again.stdout.contains("(new)"), "{}", again.stdout);
    // And what it wrote for people is for git.
    project.commit("with codeteam");
    let tracked = project.git(&["ls-files", ".codeteam"]);
    assert_eq!(
        tracked,
        ".codeteam/config.yml\n.codeteam/context/project.md\n.codeteam/schema/config.json\n\
         .codeteam/schema/role.json\n.codeteam/schema/workflow.json"
    );
}

#[test]
fn a_configuration_that_is_there_is_only_added_to() {
    let project = project();
    project.config("# mine\nworker: claude\nworkflow: strict # on purpose");
    let done = project.run(&["init", "--yes"]).expect(0);
    expect![[r"
        # mine
        worker: claude
        workflow: strict # on purpose

        # What must hold before anything is committed. Run without a network.
        verification:
          commands:
            # there is `rustfmt.toml`
            - name: format
              command: cargo fmt --check
            # there is `Cargo.toml`
            - name: tests
              command: cargo test
    "]]
    .assert_eq(&project.read(".codeteam/config.yml"));
    assert!(
        done.stdout
            .contains("--- a/.codeteam/config.yml\n+++ b/.codeteam/config.yml\n"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("+verification:"), "{}", done.stdout);
    let before = project.read(".codeteam/config.yml");
    project
        .run(&["init", "--yes"])
        .expect(0)
        .says(&["nothing to write"]);
    assert_eq!(project.read(".codeteam/config.yml"), before);
    // It can be used.
    project.commit("first");
    let checks = project.run(&["doctor", "--json"]).value();
    let checks = checks.as_array().unwrap();
    assert!(
        checks
            .iter()
            .all(|c| c["name"] != "config" || c["ok"] == true),
        "{checks:#?}"
    );
}

#[test]
fn a_configuration_in_another_form_is_left_alone() {
    let project = project();
    project.config("{ worker: claude }\n");
    project
        .run(&["init", "--yes"])
        .expect(0)
        .says(&["cannot be added to", "`workflow`, `verification`"]);
    assert_eq!(project.read(".codeteam/config.yml"), "{ worker: claude }\n");
    project.config("worker: [claude\n");
    project
        .run(&["init", "--yes"])
        .expect(2)
        .says(&["config.yml:", "nothing was written"]);
    assert_eq!(project.read(".codeteam/config.yml"), "worker: [claude\n");
}

#[test]
fn an_older_ignore_file_learns_what_is_new_and_a_person_s_own_stays() {
    let project = project();
    project.write(".codeteam/.gitignore", "/*\n!/config.yml\n!/mine/\n");
    project.run(&["init", "--yes"]).expect(0);
    let text = project.read(".codeteam/.gitignore");
    assert!(
        text.starts_with("/*\n!/config.yml\n!/mine/\n!/config.yaml\n"),
        "{text}"
    );
    assert!(text.contains("!/schema/\n"), "{text}");
    project.write(".codeteam/.gitignore", "*.db\n");
    project.run(&["init", "--yes"]).expect(0);
    assert_eq!(project.read(".codeteam/.gitignore"), "*.db\n");
}

#[test]
fn a_project_that_tells_workers_about_itself_is_not_told_about_again() {
    let project = project();
    project.write("AGENTS.md", "# Us\n");
    project
        .run(&["init", "--yes"])
        .expect(0)
        .says(&["wrote 5 files"]);
    assert!(!project.path(".codeteam/context").exists());
}

#[test]
fn the_workflow_can_be_chosen_and_must_be_there() {
    let project = project();
    project
        .run(&["init", "--yes", "--template", "stirct"])
        .expect(2)
        .says(&["there is no workflow `stirct`", "did you mean `strict`?"]);
    assert!(is_untouched(&project));
    project
        .run(&["init", "--yes", "--template", "strict"])
        .expect(0);
    let config = project.read(".codeteam/config.yml");
    assert!(config.contains("\nworkflow: strict\n"), "{config}");
    project.commit("first");
    let checks = project.run(&["doctor", "--json"]).value();
    let config = &checks
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["name"] == "config");
    assert_eq!(config.unwrap()["ok"], true, "{checks:#?}");
}

#[test]
fn json_has_everything_and_asks_nobody() {
    let project = project();
    let done = project.run(&["init", "--json"]).expect(3);
    let value = done.value();
    assert_eq!(value["written"], false);
    assert_eq!(value["survey"]["checks"][0]["command"], "cargo fmt --check");
    assert_eq!(value["survey"]["packs"][0]["why"], "there is `Cargo.toml`");
    assert_eq!(value["files"][0]["path"], ".codeteam/config.yml");
    assert!(is_untouched(&project));
    let value = project.json(&["init", "--json", "--yes"]);
    assert_eq!(value["written"], true);
    assert_eq!(
        value["files"][0]["text"],
        project.read(".codeteam/config.yml")
    );
}

#[test]
fn outside_of_a_repository_it_says_what_to_do() {
    let project = Project::empty();
    project
        .run(&["init", "--yes"])
        .expect(2)
        .says(&["not", "git init"]);
    assert!(is_untouched(&project));
}

#[test]
fn no_link_leads_a_write_out_of_the_repository() {
    let project = project();
    let outside = project.home().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    symlink(&outside, project.path(".codeteam")).unwrap();
    project
        .run(&["init", "--yes"])
        .expect(2)
        .says(&["`.codeteam` is a symbolic link"]);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::remove_file(project.path(".codeteam")).unwrap();
    std::fs::write(outside.join("config.yml"), "worker: claude\n").unwrap();
    std::fs::create_dir(project.path(".codeteam")).unwrap();
    symlink(
        outside.join("config.yml"),
        project.path(".codeteam/config.yml"),
    )
    .unwrap();
    project
        .run(&["init", "--yes"])
        .expect(2)
        .says(&["config.yml` is a symbolic link"]);
    assert_eq!(
        std::fs::read_to_string(outside.join("config.yml")).unwrap(),
        "worker: claude\n"
    );
    // A manifest behind a link is not read either.
    std::fs::remove_dir_all(project.path(".codeteam")).unwrap();
    std::fs::remove_file(project.path("Cargo.toml")).unwrap();
    symlink(outside.join("config.yml"), project.path("Cargo.toml")).unwrap();
    let done = project.run(&["init", "--dry-run"]).expect(0);
    assert!(
        done.stdout
            .contains("`Cargo.toml` was not read: it is, or is behind, a symbolic link"),
        "{}",
        done.stdout
    );
}

#[test]
fn names_of_files_cannot_write_configuration_or_move_the_cursor() {
    let project = project();
    project.write("go.mod", "module x\n");
    project.write("a\nworker: evil\n#\u{1b}[2J_test.go", "package a\n");
    project.run(&["init", "--yes"]).expect(0);
    let config = project.read(".codeteam/config.yml");
    assert!(
        !config.lines().any(|line| line.starts_with("worker")),
        "{config}"
    );
    assert!(!config.contains('\u{1b}'));
    let shown = project.run(&["init", "--dry-run"]).expect(0).stdout;
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn on_a_terminal_it_asks() {
    let project = project();
    let binary = env!("CARGO_BIN_EXE_codeteam");
    let ask = |answer: &str| {
        let line = format!("printf '{answer}' | script -qec '\"{binary}\" init' /dev/null");
        project.paste(&line)
    };
    let no = ask("n\\n");
    assert!(
        no.stdout.contains("Write these? [Y/n]"),
        "{}\n{}",
        no.stdout,
        no.stderr
    );
    assert!(no.stdout.contains("nothing was written"), "{}", no.stdout);
    assert!(is_untouched(&project));
    let yes = ask("what?\\ny\\n");
    assert_eq!(
        yes.stdout.matches("Write these?").count(),
        2,
        "{}",
        yes.stdout
    );
    assert!(
        project.path(".codeteam/config.yml").exists(),
        "{}",
        yes.stdout
    );
}

#[test]
fn what_set_up_installs_is_kept_out_of_commits() {
    let project = Project::new();
    project.write(
        "package.json",
        r#"{ "scripts": { "test": "node --test" }, "devDependencies": { "tap": "1" } }"#,
    );
    project.write("package-lock.json", "{}\n");
    project.write(".gitignore", "dist");
    let done = project.run(&["init", "--yes"]).expect(0);
    assert!(done.stdout.contains("+node_modules/"), "{}", done.stdout);
    assert_eq!(project.read(".gitignore"), "dist\nnode_modules/\n");
    project
        .run(&["init"])
        .expect(0)
        .says(&["nothing to write"])
        .lacks(&["has `sandbox` already"]);
}

#[test]
fn checks_that_are_configured_are_not_missed() {
    let project = Project::new();
    project.config("verification: { commands: [ { name: tests, command: sh t.sh } ] }\n");
    let shown = project.run(&["init", "--dry-run"]).expect(0).stdout;
    assert!(!shown.contains("no check was found"), "{shown}");
    project.config("worker: claude\n");
    let shown = project.run(&["init", "--dry-run"]).expect(0).stdout;
    assert!(shown.contains("no check was found"), "{shown}");
}
