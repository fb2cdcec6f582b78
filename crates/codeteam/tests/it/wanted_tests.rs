//! Tests that somebody has asked to be changed.

use std::fmt::Write as _;

use crate::dishonest::{failed, result, write};
use crate::project::Project;

/// A module, its test, and a program of the tests that the gate runs.
fn slug_project() -> Project {
    let project = Project::empty();
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.write(
        "slug.py",
        "def slug(text):\n    return '-'.join(text.split())\n",
    );
    project.write("test_slug.py", &slug_test("a-b"));
    project.write("tests/t.sh", "exec python3 -m unittest -q\n");
    project.write(".gitignore", "__pycache__/\n");
    project.config(
        "worker: scripted\nverification:\n  commands:\n    - { name: Tests, command: sh tests/t.sh, timeout_seconds: 60 }\n",
    );
    project.commit("first");
    project
}

fn slug_test(joined: &str) -> String {
    format!(
        "import unittest\n\nfrom slug import slug\n\n\nclass TestSlug(unittest.TestCase):\n    def test_slug(self):\n        self.assertEqual(slug('a b'), '{joined}')\n"
    )
}

/// A worker that joins with underscores and changes the test accordingly, and whoever else plays.
fn underscores(planner: &str, more: &[String]) -> String {
    let code = "def slug(text):\n    return '_'.join(text.split())\n";
    let actions = [
        write("slug.py", code),
        write("test_slug.py", &slug_test("a_b")),
    ];
    let mut text =
        format!("version: 1\nplays:\n{planner}  - match: {{ kind: implementer }}\n    do:\n");
    for action in actions.iter().chain(more) {
        writeln!(text, "      - {action}").unwrap();
    }
    text.push_str("      - submit: { summary: Joined with underscores }\n");
    text.push_str("  - match: { kind: gatekeeper }\n    do: [ { submit: { verdict: approve, reason: Fine } } ]\n");
    text.push_str(
        "  - match: { kind: scribe }\n    do: [ { submit: { message: Join with underscores } } ]\n",
    );
    text
}

#[test]
fn tests_may_change_where_the_goal_says_so() {
    let goal = "Join with an underscore in slug.py; update the existing test in test_slug.py";
    let project = slug_project();
    let program = write("tests/t.sh", "exec python3 -m unittest -q test_slug\n");
    let run = |goal: &str, more: &[String]| {
        let script = project.script(&underscores("", more));
        project.run(&["run", goal, "--workflow", "solo", "--script", &script])
    };
    // A goal by which the test has to pass does not allow that it is changed.
    run(
        "Join with an underscore in slug.py so that test_slug.py passes",
        &[],
    )
    .expect(1);
    let names = failed(&project);
    assert!(names.contains(&"tests_kept".to_owned()), "{names:?}");
    run(goal, &[]).expect(0);
    let kept = result(&project, "tests_kept");
    let kept = kept["summary"].as_str().unwrap();
    let says =
        "test_slug.py: changed, because the goal, the task, its requirements or its design say so";
    assert!(kept.contains(says), "{kept}");
    assert_eq!(project.committed_files(), ["slug.py", "test_slug.py"]);
    // The goal says nothing of the program that the gate runs, and the worker is told what to say.
    run(goal, std::slice::from_ref(&program)).expect(1);
    let refused = result(&project, "gate_kept");
    let refused = refused["summary"].as_str().unwrap();
    let says = "does not name it as a file to change: leave it as it was\nTests that are meant to \
                change have to be named";
    assert!(refused.contains(says), "{refused}");
    run(&format!("{goal} and the program tests/t.sh"), &[program]).expect(0);
    let files = ["slug.py", "test_slug.py", "tests/t.sh"];
    assert_eq!(project.committed_files(), files);
}

#[test]
fn tests_may_change_where_the_task_says_so() {
    let project = slug_project();
    let run = |description: &str| {
        let planner = format!(
            "  - match: {{ kind: planner }}\n    do:\n      - submit:\n          plan:\n            description: Underscores\n            tasks: [ {{ id: T1, title: Underscores, description: '{description}', files: [slug.py] }} ]\n"
        );
        let script = project.script(&underscores(&planner, &[]));
        let goal = "Use underscores in slugs";
        project.run(&["run", goal, "--workflow", "lean", "--script", &script])
    };
    run("Join with an underscore. See test_slug.py for more.").expect(1);
    let names = failed(&project);
    assert!(names.contains(&"tests_kept".to_owned()), "{names:?}");
    run("Join with an underscore. Update test_slug.py.").expect(0);
    assert_eq!(project.committed_files(), ["slug.py", "test_slug.py"]);
}
