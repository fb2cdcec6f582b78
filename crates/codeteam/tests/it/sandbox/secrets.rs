//! What is on the host and nobody's business inside: attack 1, and what environments have.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{NO_SANDBOX, attack, by, cast, coder, play, reviewer, test_that_runs};
use crate::misbehaviour::ONE;
use crate::project::{Done, Project};

const READERS: [&str; 3] = ["coder", "reviewer", "gate"];

/// What is only in one place each, and where.
struct Secrets(Vec<(&'static str, String)>);

fn put(path: &Path, text: &str) -> String {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    path.display().to_string()
}

impl Secrets {
    fn of(project: &Project) -> Self {
        let home = project.home();
        let config = std::fs::read_to_string(project.path(".codeteam/config.yml")).unwrap();
        project.config(&format!("# my-config\n{config}"));
        Self(vec![
            ("my-ssh-key", put(&home.join(".ssh/id"), "my-ssh-key\n")),
            (
                "my-login",
                put(&home.join(".claude/.credentials.json"), "my-login\n"),
            ),
            (
                "my-config",
                project.path(".codeteam/config.yml").display().to_string(),
            ),
            ("my-notes", put(&project.path("notes.txt"), "my-notes\n")),
            (
                "SQLite format 3",
                project.path(".codeteam/state.db").display().to_string(),
            ),
            (
                "work-of-another-run",
                other_run(project).display().to_string(),
            ),
        ])
    }

    /// Reads all of them, with whatever else an environment gives away.
    fn read(&self) -> String {
        let files: Vec<&str> = self.0.iter().map(|(_, path)| path.as_str()).collect();
        let files = files.join(" ");
        format!(
            "for file in {files}; do head -c 100 $file | tr -d '\\000'; echo; done\nenv\nfor file in /proc/*/environ; do tr '\\000' '\\n' < $file; done"
        )
    }
}

/// A run of which a worktree is left, in which there is work of another run.
fn other_run(project: &Project) -> PathBuf {
    let leaves = play(
        &json!({ "role": "coder" }),
        "echo work-of-another-run > other.txt",
        &json!({ "blocked": "Enough" }),
    );
    attack(project, &[leaves], &[]).expect(1);
    project.worktrees()[0].join("tree/other.txt")
}

fn stolen(more: &[&str]) -> (Vec<String>, Done) {
    let project = Project::new();
    let secrets = Secrets::of(&project);
    let read = secrets.read();
    let plays = [
        coder(&format!(
            "{}\n{}",
            by("coder", &read),
            test_that_runs(&by("gate", &read))
        )),
        reviewer(&by("reviewer", &read)),
    ];
    let args = cast(&project, ONE, &plays);
    let mut command = project.codeteam(&[]);
    command.args(args).args(more).env("MY_WORD", "my-word");
    let done = Done::from(command.output().unwrap()).expect(0);
    let mut stolen = Vec::new();
    let names = secrets.0.iter().map(|(secret, _)| *secret);
    for secret in names.chain(["my-word"]) {
        for whose in READERS {
            if done.said(whose).iter().any(|line| line.contains(secret)) {
                stolen.push(format!("{whose}: {secret}"));
            }
        }
    }
    (stolen, done)
}

#[test]
fn nobody_reads_what_is_not_shown() {
    let (stolen, done) = stolen(&[]);
    assert_eq!(stolen, Vec::<String>::new());
    for whose in READERS {
        // They did try, and did read environments: their own.
        let said = done.said(whose);
        assert!(said.contains(&"HOME=/home/agent"), "{said:#?}");
    }
}

#[test]
fn without_a_sandbox_all_of_it_is_read() {
    let (stolen, _) = stolen(&[NO_SANDBOX]);
    assert_eq!(stolen.len(), 7 * READERS.len(), "{stolen:#?}");
}
