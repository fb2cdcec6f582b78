//! Looking at runs and looking after what they leave.

use std::fmt::Write as _;

use crate::exits::waiting_for;
use crate::project::Project;
use crate::samples::{ONE_TASK, THREE_TASKS};

/// A run that failed with work in its worktree: on no branch, and dear.
fn failed() -> Project {
    let project = Project::new();
    let script = "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - write: { path: dear.txt, content: \"dear\\n\" }\n      - write: { path: ignored.log, content: \"noise\\n\" }\n      - submit: { blocked: Half way }\n";
    let plan = project.write_outside("plan.yml", "description: d\ntasks: [ { id: one } ]\n");
    let script = project.script(script);
    let args = ["run", "x", "--script", &script, "--plan", &plan];
    project.run(&args).expect(1);
    assert_eq!(project.worktrees().len(), 1);
    project
}

#[test]
fn pruning_keeps_what_no_branch_has_and_restoring_brings_it_back() {
    let project = failed();
    let would = project.json(&["prune", "--dry-run", "--json"]);
    assert_eq!(would["removed"].as_array().unwrap().len(), 1);
    assert_eq!(project.worktrees().len(), 1, "only said");

    let pruned = project.run(&["prune"]).expect(0);
    pruned.says(&[
        "removed the worktree `run+one` of ",
        "kept as refs/codeteam/",
    ]);
    assert!(project.worktrees().is_empty());
    project
        .run(&["prune"])
        .expect(0)
        .says(&["nothing to remove"]);

    let listed = project.run(&["restore"]).expect(0);
    assert!(
        listed.stdout.starts_with("one  refs/codeteam/"),
        "{}",
        listed.stdout
    );
    let there = project.home().join("back");
    let to = there.to_str().unwrap();
    project
        .run(&["restore", "--task", "one", "--to", to])
        .expect(0)
        .says(&["restored one"]);
    assert_eq!(
        std::fs::read_to_string(there.join("dear.txt")).unwrap(),
        "dear\n"
    );
    assert_eq!(
        std::fs::read_to_string(there.join("hello.txt")).unwrap(),
        "hello\n"
    );
    let json = project.json(&["restore", "--task", "one", "--to", "sub/back", "--json"]);
    assert!(json["folder"].as_str().unwrap().ends_with("sub/back"));
}

#[test]
fn restoring_never_writes_over_anything() {
    let project = failed();
    project.run(&["prune"]).expect(0);
    project.write("full/file.txt", "mine\n");
    let refused = project
        .run(&["restore", "--task", "one", "--to", "full"])
        .expect(2);
    refused.says(&["full", "hint: "]);
    assert_eq!(project.read("full/file.txt"), "mine\n");
    assert!(!project.path("full/dear.txt").exists());
    project
        .run(&["restore", "--task", "nobody"])
        .expect(2)
        .says(&["nothing was kept of `nobody`", "kept: one"]);
}

#[test]
fn a_pruned_run_can_be_taken_up_again() {
    let project = failed();
    project.run(&["prune"]).expect(0);
    project.script(THREE_TASKS);
    project.run(&["retry"]).expect(0);
    assert_eq!(project.committed_file("one.txt"), "one");
}

#[test]
fn a_run_under_way_is_not_pruned() {
    let project = Project::new();
    let go = project.go();
    let script = project.script(&waiting_for(go.to_str().unwrap()));
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("waiting now");
    project
        .run(&["prune"])
        .expect(0)
        .says(&["left ", "someone drives its run"]);
    assert!(!project.worktrees().is_empty());
    std::fs::write(&go, "").unwrap();
    run.end().expect(0);
}

#[test]
fn a_diff_of_all_and_of_one_task() {
    let project = Project::new();
    let script = project.script(THREE_TASKS);
    project.run(&["run", "x", "--script", &script]).expect(0);
    let all = project.run(&["diff"]).expect(0).stdout;
    for line in ["+one", "+right", "+done"] {
        assert!(all.contains(line), "{all}");
    }
    let two = project.run(&["diff", "--task", "two"]).expect(0).stdout;
    assert!(two.contains("+right") && !two.contains("+one\n"), "{two}");
    let names = project
        .run(&["diff", "--task", "three", "--names"])
        .expect(0)
        .stdout;
    assert_eq!(names, "three.txt\n");
    // What it prints is a patch.
    std::fs::write(project.home().join("all.patch"), all).unwrap();
    project.git(&[
        "apply",
        "--check",
        project.home().join("all.patch").to_str().unwrap(),
    ]);
    project
        .run(&["diff", "--task", "tow"])
        .expect(2)
        .says(&["no change of `tow`", "hint: "]);
}

#[test]
fn a_diff_is_a_patch_whatever_the_files_are() {
    let project = Project::new();
    let files = r#"printf 'caf\351\n' > latin.txt; printf '\000\001' > bin.dat; printf x > "a b.txt"; printf x > "$(printf 'new\nline')"; ln -s /nowhere link; mkfifo pipe"#;
    let path = project.shown_folder().join("files.sh");
    std::fs::write(&path, files).unwrap();
    let files = path.display();
    let script = THREE_TASKS.replacen(
        "plays:\n",
        &format!("plays:\n  - match: {{ role: coder }}\n    do: [ {{ run: sh {files} }}, {{ submit: {{ summary: Strange }} }} ]\n"),
        1,
    );
    let script = project.script(&script);
    let plan = project.write_outside("plan.yml", "description: d\ntasks: [ { id: one } ]\n");
    project
        .run(&["run", "x", "--script", &script, "--plan", &plan])
        .expect(0);
    project.paste("codeteam diff | git apply --index").expect(0);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let tree = project.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    assert_eq!(project.git(&["write-tree"]), tree);
}

#[test]
fn a_diff_of_a_task_under_way() {
    let project = Project::new();
    let review = "  - match: { role: reviewer }\n    do: [ { submit: { verdict: approve, reason: Good } } ]\n";
    let wait = format!(
        "  - match: {{ role: reviewer }}\n    do: [ {{ text: looking at it }}, {{ wait_for: {{ path: {} }} }}, {{ submit: {{ verdict: approve, reason: Good }} }} ]\n",
        project.go().display()
    );
    let script = project.script(&THREE_TASKS.replace(review, &wait));
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("looking at it");
    let diff = project.run(&["diff", "--task", "one"]).expect(0).stdout;
    assert!(diff.contains("+one"), "{diff}");
    std::fs::write(project.go(), "").unwrap();
    run.end().expect(0);
}

#[test]
fn what_can_be_done_next_is_in_json() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let args = ["run", "x", "--script", &script, "--max-attempts", "2"];
    project.run(&args).expect(4);
    let run = project.shown_run();
    let id = run["run"].as_str().unwrap();
    assert_eq!(run["version"], 1);
    let step = &run["next_steps"][0];
    assert_eq!(
        step["command"],
        format!("codeteam resume {id} --max-attempts N")
    );
    assert_eq!(step["action"]["type"], "resume");
    assert_eq!(step["action"]["raise"], "attempts");
    assert_eq!(step["note"], "2 made");

    let done = ["resume", "--max-attempts", "100", "--json"];
    let done = project.run(&done).expect(0).value();
    let merge = done["next_steps"].as_array().unwrap().last().unwrap();
    assert_eq!(merge["command"], format!("codeteam merge {id}"));
    assert_eq!(merge["action"]["type"], "merge");
    let listed = project.run(&["status", "--json"]).expect(0).value();
    assert_eq!(listed[0]["questions"], 0);
}

#[test]
fn a_followed_log_ends_with_the_run() {
    let project = Project::new();
    let go = project.go();
    let script = project.script(&waiting_for(go.to_str().unwrap()));
    let mut run = project.start(&["-v", "run", "x", "--script", &script]);
    run.until("waiting now");
    let follow = project.start(&["log", "-f"]);
    let json = project.start(&["log", "-f", "--json"]);
    std::fs::write(&go, "").unwrap();
    run.end().expect(0);
    let told = follow.end().expect(0).stdout;
    assert!(told.contains("started on branch"), "{told}");
    assert!(told.ends_with("the run is done\n"), "{told}");
    let lines = json.end().expect(0).stdout;
    let whole = project.run(&["log", "--json"]).expect(0).stdout;
    assert_eq!(lines, whole);
}

#[test]
fn a_followed_log_says_when_nobody_drives() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    let args = ["run", "x", "--script", &script, "--max-attempts", "2"];
    project.run(&args).expect(4);
    let mut follow = project.start(&["log", "-f"]);
    follow.until("nobody drives");
    project.run(&["resume", "--max-attempts", "100"]).expect(0);
    let told = follow.end().expect(0).stdout;
    assert!(told.ends_with("the run is done\n"), "{told}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    project.run(&["run", "x", "--script", &script]).expect(0);
    let done = project.paste("codeteam log | head -n 1");
    assert_eq!(done.stderr, "");
    assert_eq!(done.stdout.lines().count(), 1);
}

#[test]
fn runs_are_found_by_a_part_of_their_name() {
    let project = Project::new();
    let script = project.script(ONE_TASK);
    for goal in ["paint the fence", "paint the door"] {
        project.run(&["run", goal, "--script", &script]).expect(0);
    }
    assert_eq!(
        project.json(&["show", "fence", "--json"])["goal"],
        "paint the fence"
    );
    project
        .run(&["show", "paint"])
        .expect(2)
        .says(&["`paint` could mean more than one run", "hint: "]);
    let all = project.run(&["status"]).expect(0).stdout;
    assert_eq!(all.matches("completed").count(), 2, "{all}");
    assert!(
        all.find("door") < all.find("fence"),
        "the newest first: {all}"
    );
}

#[test]
fn a_doctor_says_what_is_well_and_what_is_not() {
    let project = Project::new();
    let well = project.run(&["doctor"]).expect(0);
    assert!(!well.stdout.contains("BAD"), "{}", well.stdout);
    assert!(
        !project.path(".codeteam/state.db").exists(),
        "looking makes nothing"
    );
    project.config("verification: [\n");
    project.write(".codeteam/state.db", "no database\n");
    let ill = project.run(&["doctor"]).expect(1).stdout;
    assert_eq!(ill.matches("BAD").count(), 2, "{ill}");
    assert!(
        ill.contains("config.yml:1:") && ill.contains("state.db"),
        "{ill}"
    );
    let checks = project.run(&["doctor", "--json"]).expect(1).value();
    let bad: Vec<_> = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["ok"] == false)
        .collect();
    assert!(bad.iter().all(|c| c["remedy"].is_string()), "{bad:?}");

    let nowhere = Project::empty();
    let ill = nowhere.run(&["doctor"]).expect(1).stdout;
    assert!(ill.contains("BAD   git"), "{ill}");
}

#[test]
fn a_doctor_finds_a_place_that_cannot_be_written() {
    let project = Project::new();
    std::fs::write(project.home().join(".local"), "a file in the way").unwrap();
    let ill = project.run(&["doctor"]).expect(1).stdout;
    assert!(
        ill.contains("BAD   worktrees") && ill.contains("XDG_STATE_HOME"),
        "{ill}"
    );
}

#[test]
fn a_demo_replaces_the_last_one_and_nothing_else() {
    let project = Project::empty();
    for _ in 0..2 {
        let done = project.run(&["demo", "--dir", "demo"]).expect(0);
        let done = done.says(&["goal:", "done:"]);
        for word in ["look", "story"] {
            let start = format!("  {word} ");
            let line = done
                .stderr
                .lines()
                .find_map(|line| line.strip_prefix(&start));
            let command = line
                .unwrap_or_else(|| panic!("no {word}:\n{}", done.stderr))
                .trim();
            let shown = project.paste(command).expect(0);
            assert!(!shown.stdout.is_empty(), "{command}");
        }
    }
    let run = project.json(&["demo", "--dir", "demo", "--json"]);
    assert_eq!(run["status"], "completed");
    // What somebody has added to it stays.
    for file in ["demo/sample/notes.txt", "demo/notes.txt"] {
        project.write(file, "mine\n");
        let refused = project.run(&["demo", "--dir", "demo"]).expect(2);
        refused.says(&["did not make, and would lose them", "`--dir`"]);
        assert_eq!(project.read(file), "mine\n");
        std::fs::remove_file(project.path(file)).unwrap();
    }
    project.write("mine/file.txt", "mine\n");
    let refused = project.run(&["demo", "--dir", "mine"]).expect(2);
    refused.says(&["was not made by a demo", "hint: "]);
    assert_eq!(project.read("mine/file.txt"), "mine\n");
}

/// So many tasks that a run of them is packed while it is under way.
const MANY: usize = 130;

/// The arguments of a run of many small tasks.
fn long_run(project: &Project) -> Vec<String> {
    let mut plan = String::from("description: Many small tasks\ntasks:\n");
    for n in 0..MANY {
        let file = format!("part-{}/file-{n}", n / 50);
        let _ = writeln!(plan, "  - {{ id: t{n}, title: {file}, files: [{file}] }}");
    }
    let plan = project.write_outside("plan.yml", &plan);
    let script = project.script(
        "version: 1\nplays:\n  - match: { kind: implementer }\n    do:\n      - write: { path: '{{task.title}}', content: \"{{task.id}}\\n\" }\n      - submit: { summary: done }\n",
    );
    let workflow = project.workflow(
        "name: many\nstart: tasks\nroles:\n  maker: { kind: implementer }\nsteps:\n  tasks:\n    each: task\n    next: done\n    steps:\n      make: { role: maker, next: check }\n      check: { gate: [ { command: 'true' } ], next: commit }\n      commit: { commit: branch, next: done }\n",
    );
    let args = [
        "run",
        "--quiet",
        "--no-sandbox",
        "--plan",
        &plan,
        "--script",
        &script,
        "--workflow",
        &workflow,
    ];
    args.map(str::to_owned).to_vec()
}

/// The files below a folder.
fn count_files(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { count_files(&path) } else { 1 })
        .sum()
}

#[test]
fn a_long_run_that_is_killed_while_it_is_packed_ends_packed_and_whole() {
    let project = Project::new();
    let args = long_run(&project);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // The packing begins after 1,500 events, and anew with every driver after that.
    for (args, failpoint) in [
        (&args[..], "appended:1503"),
        (&["resume", "--quiet"], "appended:4"),
        (&["resume", "--quiet"], "appended:30"),
    ] {
        let killed = project
            .codeteam(args)
            .env("CODETEAM_FAILPOINT", failpoint)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&killed.stderr);
        assert_eq!(killed.status.code(), None, "{failpoint}: {said}");
    }
    project.run(&["resume", "--quiet"]).expect(0);
    let run = project.shown_run();
    assert_eq!(run["status"], "completed");
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(project.trees(branch).len(), MANY);
    assert_eq!(project.git(&["status", "--porcelain"]), "");

    project.git(&["fsck", "--full", "--strict"]);
    let counted = project.git(&["count-objects"]);
    let loose: usize = counted.split(' ').next().unwrap().parse().unwrap();
    assert!(loose < MANY, "{counted}");
    let bodies = project.path(".codeteam/bodies");
    assert!(count_files(&bodies) < 30, "{}", count_files(&bodies));
    assert!(count_files(&bodies.join("packs")) >= 2);

    // Everything that was packed is still shown.
    for task in ["t0", "t64", "t129"] {
        let report = project.json(&["report", "--task", task, "--json"]);
        assert_eq!(report["result"], "pass", "{report}");
        assert_eq!(
            report["files"][0]["lines"][0], 1,
            "the diff is read: {report}"
        );
        let diff = project.run(&["diff", "--task", task]).expect(0);
        assert!(
            diff.stdout.contains(&format!("+{task}\n")),
            "{}",
            diff.stdout
        );
    }

    // What is answered from the snapshot is what the log says.
    let state = project.home().join(".local/state/codeteam");
    let mut kept = std::fs::read_dir(state).unwrap().flatten();
    let snapshots = kept.find_map(|entry| {
        let snapshots = entry.path().join(".snapshots");
        snapshots.is_dir().then_some(snapshots)
    });
    let snapshots = snapshots.expect("the run is long");
    assert_eq!(count_files(&snapshots), 1);
    std::fs::remove_dir_all(&snapshots).unwrap();
    assert_eq!(project.shown_run(), run);
    assert_eq!(count_files(&snapshots), 1, "it was worth a new one");
    assert_eq!(project.shown_run(), run);
}

/// Completes a run of one task and returns its id.
fn completed(project: &Project) -> String {
    let script = project.script(ONE_TASK);
    let run = project.json(&["run", "x", "--script", &script, "--json"]);
    assert_eq!(run["status"], "completed", "{run}");
    run["run"].as_str().unwrap().to_owned()
}

#[test]
fn pruning_to_a_bound_removes_texts_of_completed_runs_alone() {
    let project = failed();
    let failed = project.shown_run();
    let first = completed(&project);
    let second = completed(&project);
    let bodies = project.path(".codeteam/bodies");
    let before = count_files(&bodies);
    let folder = |run: &str| project.path(&format!(".codeteam/runs/{run}"));
    let report = project.path(".codeteam/reports/one.md");
    assert!(std::fs::read_to_string(&report).unwrap().contains(&second));

    let would = project.json(&["prune", "--keep-mb", "0", "--dry-run", "--json"]);
    assert_eq!(would["texts"]["runs"], serde_json::json!([first, second]));
    assert_eq!(count_files(&bodies), before, "only said");
    let kept = project.json(&["prune", "--keep-mb", "1000", "--json"]);
    assert!(kept["texts"].is_null(), "{kept}");

    project
        .run(&["prune", "--keep-mb", "0"])
        .expect(0)
        .says(&["removed transcripts, diffs and files of 2 completed runs"]);
    let left = count_files(&bodies);
    assert!(0 < left && left < before, "{left} of {before}");
    assert!(!folder(&first).exists() && !folder(&second).exists());
    assert!(!report.exists());
    assert!(folder(failed["run"].as_str().unwrap()).exists());

    for args in [
        &["status"][..],
        &["show", &second],
        &["log", &second],
        &["report", &second],
        &["diff", &second],
    ] {
        project.run(args).expect(0);
    }
    let still = project.json(&["show", failed["run"].as_str().unwrap(), "--json"]);
    assert_eq!(still, failed);
    let again = project.json(&["prune", "--keep-mb", "0", "--json"]);
    assert!(again["texts"].is_null(), "{again}");
}

#[test]
fn a_bound_in_the_users_configuration_acts_when_a_run_ends() {
    let project = failed();
    let failed = project.shown_run();
    let first = completed(&project);
    let second = completed(&project);
    let folder = |run: &str| project.path(&format!(".codeteam/runs/{run}"));
    assert!(folder(&first).exists() && folder(&second).exists());
    project.user_config("limits: { max_kept_mb: 0 }\n");
    let script = project.script(ONE_TASK);
    project
        .run(&["run", "x", "--script", &script])
        .expect(0)
        .says(&[
            "of 2 completed runs were removed",
            "`limits.max_kept_mb` is 0",
        ]);
    assert!(!folder(&first).exists() && !folder(&second).exists());
    // The run that has just ended keeps its own, and so does one that has not completed.
    let third = project.shown_run()["run"].as_str().unwrap().to_owned();
    assert!(folder(&third).exists());
    assert!(folder(failed["run"].as_str().unwrap()).exists());
    project.run(&["show", &first]).expect(0);
}

#[test]
fn a_run_with_a_disk_limit_removes_nothing_of_earlier_runs() {
    let project = Project::new();
    let first = completed(&project);
    let folder = project.path(&format!(".codeteam/runs/{first}"));
    let before = count_files(&folder);
    let script = project.script(ONE_TASK);
    let args = ["run", "x", "--script", &script, "--max-disk-mb", "1"];
    // It may end at its limit; the limit may come from a repository, and decides nothing else.
    project.run(&args);
    assert_eq!(count_files(&folder), before);
    project.run(&["report", &first]).expect(0);
}
