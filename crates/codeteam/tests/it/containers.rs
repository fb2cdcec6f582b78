//! Runs whose workers and gates are confined by podman, where it starts.

use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::project::Project;
use crate::samples::THREE_TASKS;

/// The image, or nothing where there are no containers and none are demanded.
#[expect(clippy::disallowed_methods, reason = "set by hand, and by `check`")]
fn image() -> Option<&'static str> {
    static IMAGE: OnceLock<Option<String>> = OnceLock::new();
    let found = IMAGE.get_or_init(|| {
        if !rustix::process::geteuid().is_root() {
            // These projects have homes of their own, and so has podman its images.
            let _ = writeln!(std::io::stderr(), "containers are tested as root only");
            return None;
        }
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../codeteam-sandbox/tests/image.sh"
        );
        let made = Project::program(Path::new(script)).output().unwrap();
        if made.status.success() {
            return Some(String::from_utf8(made.stdout).unwrap().trim().to_owned());
        }
        let demanded = std::env::var_os("CODETEAM_TEST_CONTAINERS").is_some_and(|v| v == "1");
        let why = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(!demanded, "no containers: {why}");
        let _ = writeln!(std::io::stderr(), "containers are not tested: {why}");
        None
    });
    found.as_deref()
}

/// A project whose runs are confined by containers.
fn contained() -> Option<Project> {
    let image = image()?;
    let project = Project::new();
    let gate = "for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done";
    project.config(&format!(
        "worker: scripted\nsandbox: {{ backend: container, image: {image} }}\nverification:\n  commands:\n    - {{ name: tests, command: '{gate}' }}\n"
    ));
    project.commit("in containers");
    project.trust();
    Some(project)
}

/// The containers, running or not, that see something of the project.
fn left(project: &Project) -> Vec<String> {
    let mut podman = Project::program(Path::new("podman"));
    let listed = podman.args(["ps", "--all", "--format", "{{.Names}} {{.Mounts}}"]);
    let listed = String::from_utf8(listed.output().unwrap().stdout).unwrap();
    let home = project.home().display().to_string();
    let lines = listed.lines().filter(|line| line.contains(&home));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_run_in_containers_is_a_run_like_any_other() {
    let Some(project) = contained() else { return };
    let before = project.checkout();
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "x", "--script", &script])
        .expect(0)
        .says(&["check passed: ", "done: x"]);
    assert_eq!(project.committed_file("two.txt"), "right");
    let said = project.shown_run()["confinement"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(said.starts_with("confined by podman (image localhost/codeteam-test:"));
    assert_eq!(project.checkout(), before);
    assert_eq!(project.worktrees(), Vec::<std::path::PathBuf>::new());
    assert_eq!(left(&project), Vec::<String>::new());
    project.run(&["doctor"]).expect(0);
}

#[test]
fn a_worker_in_a_container_sees_and_reaches_as_little() {
    let Some(project) = contained() else { return };
    project.write_outside("secret", "the-secret");
    let script = THREE_TASKS.replacen(
        "plays:\n",
        &format!(
            "plays:\n  - match: {{ role: coder }}\n    do:\n      - run: 'for f in {home}/secret {root}/.codeteam/state.db {root}/.git/config {root}/hello.txt; do if cat $f; then echo SAW $f; fi; done; git status; git commit -q --allow-empty -m x && echo COMMITTED; echo one > one.txt; (setsid sleep 1000 >/dev/null 2>&1 &)'\n      - submit: {{ summary: Made }}\n",
            home = project.home().display(),
            root = project.root().display()
        ),
        1,
    );
    let script = project.script(&script);
    let plan = project.write_outside("plan.yml", "description: d\ntasks: [ { id: one } ]\n");
    let done = project
        .run(&["-v", "run", "x", "--script", &script, "--plan", &plan])
        .expect(0);
    done.says(&["On branch work", "COMMITTED"])
        .lacks(&["| SAW", "the-secret"]);
    assert_eq!(project.committed_file("one.txt"), "one");
    assert_eq!(project.survivors(), Vec::<String>::new());
    assert_eq!(left(&project), Vec::<String>::new());
}

#[test]
fn a_missing_image_is_said_before_anything_starts() {
    if image().is_none() {
        return;
    }
    let project = Project::new();
    project.config("sandbox: { backend: container, image: localhost/nobody-made-this }\n");
    project.trust();
    let script = project.script(THREE_TASKS);
    project
        .run(&["run", "x", "--script", &script])
        .expect(1)
        .says(&["localhost/nobody-made-this", "`codeteam sandbox image`"]);
    project.run(&["status"]).expect(0).says(&[]);
    assert_eq!(project.worktrees(), Vec::<std::path::PathBuf>::new());
}
