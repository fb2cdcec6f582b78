//! Leftovers of workers, checks and others: pipes in place of files, folders that cannot be used, a
//! repository that is tidied up at the worst moment. Nothing hangs, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::failing::meeting;
use crate::misbehaviour::ONE;
use crate::project::{CommandResult, Project};

const GOOD: &str = "
  - match: { role: coder }
    do:
      - write: { path: made.txt, content: \"made\\n\" }
      - submit: { summary: Made it }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
";

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// A run in which the coder runs a command in its first try and ends in this way.
fn after(project: &Project, command: &str, then: &str, workflow: &str) -> CommandResult {
    let script = format!(
        "version: 1\nplays:\n  - match: {{ role: coder, attempt: 1 }}\n    do:\n      \
         - write: {{ path: made.txt, content: \"made\\n\" }}\n      \
         - run: {{ command: '{command}', must: true }}\n      - {then}\n{GOOD}"
    );
    let (script, workflow) = (project.script(&script), project.workflow(workflow));
    let args = ["-v", "run", "x", "--script", &script, "--workflow"];
    project.run(&[&args[..], &[&workflow]].concat())
}

/// Processes that are at work in the project's checkout.
fn at_work_in(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let inside =
        |path: &Path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    processes
        .map(|process| process.path())
        .filter(|path| inside(path))
        .map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default())
        .collect()
}

const SUBMIT: &str = "submit: { summary: Made it }";

#[test]
fn a_pipe_where_git_reads_holds_up_neither_the_run_nor_pruning() {
    for name in [".gitignore", "deep/er/.gitignore", ".gitattributes"] {
        let project = Project::new();
        let command = format!("mkdir -p deep/er; mkfifo {name}");
        let done = after(&project, &command, SUBMIT, ONE).expect(0);
        if name != ".gitattributes" {
            done.says(&[&format!("`{name}` is a named pipe"), "it was removed"]);
        }
        assert_eq!(project.committed_files(), ["made.txt"]);
        assert!(project.worktrees().is_empty());
    }
    // Left by a worker that then crashes, and by a check.
    let project = Project::new();
    after(&project, "mkfifo .gitignore", "crash: true", ONE).expect(0);
    assert_eq!(project.committed_files(), ["made.txt"]);

    let project = Project::new();
    project.config(
        "worker: scripted\nverification:\n  keep_worktree: true\n  commands:\n    \
         - { name: tests, command: 'mkfifo .gitignore; exit 1' }\n",
    );
    project.commit("a check");
    let workflow = ONE.replace("max_rounds: 3", "max_rounds: 1");
    let done = after(&project, "true", SUBMIT, &workflow);
    assert_ne!(done.code, Some(0));
    project.run(&["prune"]).expect(0);
    assert!(project.worktrees().is_empty());
}

#[test]
fn a_pipe_in_the_checkout_is_named_and_nothing_outlives_codeteam() {
    for name in [".gitignore", "src/.gitignore"] {
        let project = Project::new();
        let script = project.script(&format!("version: 1\nplays:\n{GOOD}"));
        pipe(&project.path(name));
        let said = format!("`{name}` is a named pipe");
        let run = project.run(&["run", "x", "--script", &script]);
        assert_ne!(run.code, Some(0));
        run.says(&[&said, "move it away"]);
        fs::remove_dir_all(project.path(".codeteam")).unwrap();
        let init = project.run(&["init"]);
        assert_ne!(init.code, Some(0));
        init.says(&[&said]);
        assert_eq!(at_work_in(&project.root()), Vec::<String>::new());
        // Killed while git waits.
        let mut child = project.codeteam(&["init"]).spawn().unwrap();
        let started = Instant::now();
        while at_work_in(&project.root()).len() < 2 {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "no git is seen"
            );
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        while !at_work_in(&project.root()).is_empty() {
            let left = at_work_in(&project.root());
            assert!(killed.elapsed() < Duration::from_secs(10), "{left:?}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn folders_without_rights_are_worked_with_and_removed() {
    let locked = "mkdir -p cache/mod; echo x > cache/mod/file; chmod 0555 cache/mod cache";
    let project = Project::new();
    after(&project, locked, "crash: true", ONE).expect(0);
    assert_eq!(project.committed_files(), ["made.txt"]);

    let closed = "mkdir closed; echo x > closed/file; chmod 000 closed";
    let project = Project::new();
    after(&project, closed, SUBMIT, ONE)
        .expect(0)
        .says(&["`closed`", "they can be now"]);
    assert_eq!(project.committed_files(), ["closed/file", "made.txt"]);

    let project = Project::new();
    after(&project, "chmod 000 .", "crash: true", ONE).expect(0);
    assert_eq!(project.committed_files(), ["made.txt"]);
    let project = Project::new();
    let workflow = ONE.replace("max_attempts: 4", "max_attempts: 1");
    let done = after(&project, "chmod 000 .", "crash: true", &workflow);
    assert_ne!(done.code, Some(0));
    project.run(&["prune"]).expect(0);
    assert!(project.worktrees().is_empty());
}

#[test]
fn no_gc_at_any_moment_costs_a_task() {
    let gc = |project: &Project| {
        project.git(&["reflog", "expire", "--expire=now", "--all"]);
        project.git(&["gc", "--quiet", "--prune=now"]);
    };
    let mut killed = 0;
    for n in (1..200).step_by(2) {
        let project = Project::new();
        let (script, plan) = meeting(&project, "left.txt", "right.txt");
        let args = ["run", "x", "--script", &script, "--plan", &plan];
        let failpoint = format!("performed:{n}");
        let output = project
            .codeteam(&args)
            .env("CODETEAM_FAILPOINT", &failpoint)
            .output()
            .unwrap();
        gc(&project);
        if output.status.code().is_some() {
            break;
        }
        killed += 1;
        let run = project.run(&["resume", "--json"]).expect(0).value();
        let branch = run["branch"].as_str().unwrap();
        assert_eq!(project.trees(branch).len(), 2, "{failpoint}");
        gc(&project);
        project.git(&["fsck", "--strict"]);
    }
    assert!(killed >= 5, "killed {killed} times only");
}

#[test]
fn what_must_be_encrypted_is_never_committed_in_plain_text() {
    let project = Project::new();
    project.write(".gitattributes", "secrets/** filter=crypt\n");
    project.commit("attributes");
    project.git(&["config", "filter.crypt.clean", "tr a-z A-Z"]);
    project.git(&["config", "filter.crypt.required", "true"]);
    let command = "mkdir secrets; echo key=plain > secrets/new.env";
    let done = after(&project, command, SUBMIT, ONE).expect(0);
    done.says(&["`secrets/new.env` (filter `crypt`)", "try 2"]);
    assert_eq!(project.committed_files(), ["made.txt"]);
    let all = project.git(&["log", "--all", "-p"]);
    assert!(!all.contains("key=plain"));
}

#[test]
fn what_half_removed_worktrees_left_is_emptied_by_prune() {
    let project = Project::new();
    let script = project.script(&format!("version: 1\nplays:\n{GOOD}"));
    let workflow = project.workflow(ONE);
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(0);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let state = project.home().join(".local/state/codeteam");
    let repository = fs::read_dir(state).unwrap().flatten();
    // The other folders are the records of this user's logs and projects.
    let is_record = |name: &str| name == "logs" || name.starts_with('.');
    let mut repository = repository
        .filter(|entry| entry.path().is_dir() && !is_record(&entry.file_name().to_string_lossy()));
    let trash = repository.next().unwrap().path().join(run).join(".trash");
    fs::create_dir_all(trash.join("run/tree/locked")).unwrap();
    fs::write(trash.join("run/tree/locked/file"), "left").unwrap();
    fs::set_permissions(
        trash.join("run/tree/locked"),
        fs::Permissions::from_mode(0o555),
    )
    .unwrap();
    project
        .run(&["prune"])
        .expect(0)
        .lacks(&["nothing to remove"]);
    let folder = trash.parent().unwrap();
    let left = fs::read_dir(folder).map(|left| left.flatten().collect::<Vec<_>>());
    assert!(left.is_err(), "{left:?}");
    project
        .run(&["prune"])
        .expect(0)
        .says(&["nothing to remove"]);
}

#[test]
fn a_commit_that_only_says_that_a_task_is_done_does_not_count() {
    let project = Project::new();
    let script = project.script(&format!("version: 1\nplays:\n{GOOD}"));
    let plan = project.write_outside(
        "plan.yml",
        "plan_id: mine\ntasks: [ { id: one }, { id: two } ]\n",
    );
    let output = project
        .codeteam(&["run", "x", "--script", &script, "--plan", &plan])
        .env("CODETEAM_FAILPOINT", "appended:8")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None);
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    for file in ["state.db", "state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(project.path(&format!(".codeteam/{file}")));
    }
    project.git(&["switch", "--quiet", "-c", "forged"]);
    for task in ["one", "two"] {
        project.write("backdoor.txt", task);
        project.git(&["add", "backdoor.txt"]);
        let tree = project.git(&["write-tree"]);
        let message = format!(
            "done\n\nCodeteam-Run: {run}\nCodeteam-Task: {task}\nCodeteam-Attempt: x\n\
             Codeteam-Verified: {tree}\n"
        );
        project.git(&["commit", "--quiet", "-m", &message]);
    }
    let json = project.json(&["status", "--json"]);
    assert_ne!(json[0]["state"], "PLAN_COMPLETE");
    assert_eq!(json[0]["tasks"]["one"], "pending", "{json}");
    assert_eq!(json[0]["claims"].as_array().unwrap().len(), 2);
    let status = project.run(&["status"]).expect(0);
    status.says(&["no report of its run names it", "does not count"]);
}

#[test]
fn ids_that_git_refuses_are_refused_when_the_plan_is_read() {
    let project = Project::new();
    for id in ["x.lock", "a..b", "x."] {
        let plan = project.write_outside("plan.yml", &format!("tasks: [ {{ id: {id} }} ]\n"));
        let done = project.run(&["run", "x", "--plan", &plan]).expect(2);
        done.says(&[&format!("`{id}` cannot be an id")]);
    }
}

/// The work trees that are kept for the next run.
fn kept(project: &Project) -> usize {
    let folders = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut found = 0;
    for repository in folders(&project.home().join(".local/state/codeteam")) {
        for boot in folders(&repository.join(".kept/confined")) {
            found += folders(&boot).len();
        }
    }
    found
}

#[test]
fn nothing_that_one_run_left_is_in_the_work_tree_of_the_next() {
    let project = Project::new();
    project.write(".gitignore", "built/\n*.log\n");
    project.commit("what is ignored");
    let leave = "cp -p hello.txt /tmp/ref; echo HELLO > hello.txt; touch -r /tmp/ref hello.txt; \
                 mkdir -p built/ro empty; echo x > built/ro/x; chmod 0555 built/ro; ln -s /etc out.log; \
                 git init -q built/nested; git config core.pager /bin/false; (setsid sleep 600 >/dev/null 2>&1 &)";
    after(&project, leave, SUBMIT, ONE).expect(0);
    // The time of the file is the old one, and the change is seen all the same.
    assert_eq!(project.committed_files(), ["hello.txt", "made.txt"]);
    let kind = rustix::fs::statfs(project.home()).unwrap().f_type;
    // Where times cannot be trusted, nothing is kept.
    let is_trusted = [0xef53, 0x5846_5342, 0x9123_683e].contains(&kind);
    assert_eq!(kept(&project) > 0, is_trusted);
    assert_eq!(project.survivors(), Vec::<String>::new());

    let look = "git status --porcelain --ignored | grep -v made.txt && exit 1; test ! -e empty; \
                test \"$(cat hello.txt)\" = hello && test -z \"$(git config core.pager)\"";
    after(&project, look, SUBMIT, ONE).expect(0);
    assert_eq!(project.committed_files(), ["made.txt"]);
    assert!(project.worktrees().is_empty());
    project
        .run(&["prune"])
        .expect(0)
        .says(&["work trees that were kept"]);
    assert_eq!(kept(&project), 0);
}
