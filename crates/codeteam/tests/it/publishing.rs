//! A run that is pushed and becomes a pull request, found by its branch and never created twice. The
//! forge is a scripted stand-in for `gh`; the remote repository is real.

use std::os::unix::fs::PermissionsExt as _;

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// Keeps one pull request in the home folder, as `gh` would see it on the forge.
const GH: &str = r#"#!/bin/sh
echo "$@" | head -n 1 >> "$HOME/gh.log"
case "$1 $2" in
"pr list") if [ -e "$HOME/pr.url" ]; then cat "$HOME/pr.url"; fi ;;
"pr create")
    if [ -e "$HOME/pr.url" ]; then echo "a pull request exists already" >&2; exit 1; fi
    echo "https://forge.example/ada/project/pull/7" | tee "$HOME/pr.url" ;;
"pr edit") echo "$3" ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
while [ $# -gt 0 ]; do
    if [ "$1" = --body ]; then printf '%s' "$2" > "$HOME/pr.body"; fi
    shift
done
"#;

/// A project with a remote, and a forge that has no pull request yet.
fn project() -> Project {
    let project = Project::new();
    let forge = project.write_outside("forge.git", "");
    std::fs::remove_file(&forge).unwrap();
    project.git(&["init", "--quiet", "--bare", &forge]);
    project.git(&["remote", "add", "origin", &forge]);
    std::fs::create_dir_all(project.home().join("bin")).unwrap();
    let gh = project.write_outside("bin/gh", GH);
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    project
}

/// Runs codeteam with the stand-in before everything else in the path.
fn with_gh(project: &Project, args: &[&str]) -> std::process::Output {
    let mut command = project.codeteam(args);
    let path = command
        .get_envs()
        .find_map(|(name, value)| (name == "PATH").then_some(value?.to_owned()));
    let mut folders = vec![project.home().join("bin")];
    folders.extend(std::env::split_paths(&path.unwrap()));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    command.output().unwrap()
}

fn read(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.home().join(name)).unwrap()
}

#[test]
fn a_pull_request_is_opened_once_and_updated_after_that() {
    let project = project();
    let script = project.script(THREE_TASKS);
    let set = "workflow={ extends: lean, settings: { auto_pr: true } }";
    let asked = with_gh(
        &project,
        &["run", "Three things", "--script", &script, "--set", set],
    );
    assert_eq!(
        asked.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&asked.stderr)
    );
    project.run(&["answer", "open"]).expect(0);
    let done = with_gh(&project, &["resume"]);
    assert_eq!(
        done.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let url = "https://forge.example/ada/project/pull/7";
    let shown = project.shown_run();
    assert_eq!(shown["published_url"], url);
    let text = project.run(&["show"]).expect(0).stdout;
    assert!(text.contains(&format!("published {url}")), "{text}");
    let summary = format!(
        ".codeteam/runs/{}/summary.md",
        shown["run"].as_str().unwrap()
    );
    assert!(project.read(&summary).contains(url));
    let body = read(&project, "pr.body");
    for part in [
        "Three things",
        "one: First",
        "by codeteam, on each of the 3 commits: ",
        "the role `reviewer` (scripted",
        "`tests`",
        "Codeteam-Run:",
    ] {
        assert!(body.contains(part), "lacks {part}:\n{body}");
    }
    let branch = shown["branch"].as_str().unwrap();
    let pushed = |name: &str| {
        let found = project.git(&["ls-remote", "origin", &format!("refs/heads/{name}")]);
        found
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(pushed(branch), shown["tip"].as_str().unwrap());
    // Taken back and done again, the same pull request gets the new commits.
    project.run(&["rollback", "--to", "one", "--yes"]).expect(0);
    assert_eq!(with_gh(&project, &["resume"]).status.code(), Some(3));
    project.run(&["answer", "open"]).expect(0);
    let again = with_gh(&project, &["resume"]);
    assert_eq!(
        again.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    let now = project.shown_run();
    assert_ne!(now["tip"], shown["tip"]);
    assert_eq!(pushed(branch), now["tip"].as_str().unwrap());
    assert_eq!(now["published_url"], url);
    let calls = read(&project, "gh.log");
    assert_eq!(calls.matches("pr create").count(), 1, "{calls}");
    assert_eq!(calls.matches("pr edit").count(), 1, "{calls}");
}

/// A reviewer that only deletions concern, and two tasks of which the first touches a file that the
/// plan keeps for the second.
const OVERRULED: &str = "start: tasks\nroles:\n  coder: { kind: implementer }\n  reader: { kind: gatekeeper }\n  archivist: { kind: gatekeeper }\nsettings: { auto_pr: true }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      code: { role: coder, next: verify, retry: { max_attempts: 1 } }\n      verify: { gate: project, next: read }\n      read: { role: reader, next: keep }\n      keep: { role: archivist, when: { changed: ['archive/**'] }, next: commit }\n      commit: { commit: branch, next: done }\n";

#[test]
fn its_text_names_only_those_who_judged_and_says_what_was_overruled() {
    let project = project();
    project.config(
        "worker: scripted\nverification:\n  commands: [ { name: Tests, command: 'true' } ]\n",
    );
    project.commit("first");
    let script = project.script("version: 1\nplays:\n  - match: { role: coder, task: T1 }\n    do:\n      - write: { path: a.txt, content: a }\n      - write: { path: b.txt, content: b }\n      - submit: { summary: Done }\n  - match: { role: coder, task: T2 }\n    do:\n      - write: { path: c.txt, content: c }\n      - submit: { summary: Done }\n  - match: { kind: gatekeeper }\n    do: [ { submit: { verdict: approve, reason: Good } } ]\n");
    let flow = project.workflow(OVERRULED);
    let plan = project.write_outside(
        "plan.yml",
        "tasks:\n  - { id: T1, description: One, files: [ a.txt ] }\n  - { id: T2, description: Two, files: [ b.txt, c.txt ], dependencies: [ T1 ] }\n",
    );
    let start = [
        "run",
        "Do it",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &flow,
    ];
    let code = |output: &std::process::Output| output.status.code();
    assert_eq!(code(&with_gh(&project, &start)), Some(1));
    project.run(&["approve", "-m", "needed"]).expect(0);
    assert_eq!(code(&with_gh(&project, &["resume"])), Some(3));
    project.run(&["answer", "open"]).expect(0);
    assert_eq!(code(&with_gh(&project, &["resume"])), Some(0));
    let body = read(&project, "pr.body");
    let first = project.shown_run()["tasks"][0]["commits"][0]
        .as_str()
        .unwrap()[..10]
        .to_owned();
    for part in [
        "- by codeteam, on each of the 2 commits: `gate_kept`".to_owned(),
        "the role `reader` (scripted".to_owned(),
        format!("- {first} (T1) did not pass `scope`"),
        format!("accepted {first} (T1), though `scope` rejected it"),
    ] {
        assert!(body.contains(&part), "lacks {part}:\n{body}");
    }
    // What refused the first change kept its tests from being run.
    let tested: Vec<&str> = body
        .lines()
        .filter(|line| line.contains("`Tests`"))
        .collect();
    assert_eq!(tested.len(), 1, "{body}");
    assert!(
        !tested[0].contains(&first) && !tested[0].contains("each"),
        "{body}"
    );
    assert!(!body.contains("archivist"), "{body}");
}
