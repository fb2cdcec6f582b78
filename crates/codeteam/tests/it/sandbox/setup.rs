//! The set-up of a worktree: `setup` and `.worktreeinclude`.

use serde_json::{Value, json};

use super::network::{THROUGH, asked, host, lonely, nobody_came};
use super::{ONE, attack, by, cast, coder, coder_of, play, reviewer, test_that_runs};
use crate::project::{CommandResult, Project};

/// A project whose set-up writes down what it was made with.
fn counting(inputs: &str) -> Project {
    let project = Project::new();
    project.write(".gitignore", "ready\n");
    project.write("lock.txt", "1\n");
    project.write("sub/lock.txt", "1\n");
    project.config(&format!(
        "setup: {{ command: 'echo $(cat lock.txt) $(cat sub/lock.txt) >> ready', inputs: {inputs} }}\nverification:\n  commands: [ {{ name: count, command: 'echo \"gate> $(cat ready)\"' }} ]\n"
    ));
    project.commit("second");
    project
}

/// Counts how often the set-up command was run.
fn set_ups(done: &CommandResult) -> usize {
    let lines = done.stderr.lines();
    lines.filter(|line| line.contains("| setting up:")).count()
}

/// Three rounds, the second of which does this. Says what each coder and gate found.
fn three_rounds(project: &Project, change: &str) -> (Vec<String>, Vec<String>, CommandResult) {
    let count = by("coder", "cat ready");
    let rejects = json!({ "verdict": "reject", "reason": "Again" });
    let in_round = |role: &str, round: u64| json!({ "role": role, "round": round });
    let rejected = |round| {
        play(
            &in_round("reviewer", round),
            &by("reviewer", "ls ready"),
            &rejects,
        )
    };
    let plays: Vec<Value> = vec![
        coder_of(&in_round("coder", 1), &format!("{count}; echo 1 > 1")),
        coder_of(
            &in_round("coder", 2),
            &format!("{count}; {change}; echo 2 > 2"),
        ),
        coder(&format!("{count}; echo 3 > 3")),
        rejected(1),
        rejected(2),
        reviewer(""),
    ];
    let done = attack(project, &plays, &[]).expect(0);
    let said = |whose| done.said(whose).into_iter().map(str::to_owned).collect();
    (said("coder"), said("gate"), done)
}

#[test]
fn set_up_runs_once_for_each_content_of_its_inputs() {
    let project = counting("[ lock.txt ]");
    let (coder, gate, done) = three_rounds(&project, "true");
    assert_eq!(coder, ["1 1", "1 1", "1 1"]);
    assert_eq!(gate, ["1 1", "1 1", "1 1"]);
    assert_eq!(set_ups(&done), 1, "{}", done.stderr);
    // The next run finds what this one has made.
    let (coder, _, done) = three_rounds(&project, "true");
    assert_eq!(coder, ["1 1", "1 1", "1 1"]);
    assert_eq!(set_ups(&done), 0, "{}", done.stderr);
    let project = counting("[ lock.txt ]");
    let (coder, gate, done) = three_rounds(&project, "echo 2 > lock.txt");
    assert_eq!(coder, ["1 1", "1 1", "2 1"]);
    assert_eq!(gate, ["1 1", "2 1", "2 1"]);
    assert_eq!(set_ups(&done), 2, "{}", done.stderr);
    let project = counting("[ '**/lock.txt' ]");
    let (coder, _, _) = three_rounds(&project, "echo 2 > sub/lock.txt");
    assert_eq!(coder, ["1 1", "1 1", "1 2"], "inputs are patterns");
    // Whoever names none has it run for every tree that is judged.
    let project = counting("[]");
    let (_, gate, done) = three_rounds(&project, "echo 2 > lock.txt");
    assert_eq!(gate, ["1 1", "2 1", "2 1"]);
    assert_eq!(set_ups(&done), 4, "{}", done.stderr);
}

/// A worker's changes of its copy, or to the set-up through its files, do not reach anybody else.
#[test]
fn what_is_shared_is_made_of_the_inputs_alone() {
    let project = Project::new();
    project.write(".gitignore", "ready\n");
    project.write("lock.txt", "1\n");
    project.write("install.sh", "echo fine > ready\n");
    project.config("setup: { command: 'sh install.sh', inputs: [ lock.txt ] }\nverification:\n  commands: [ { name: look, command: 'echo \"gate> $(cat ready) $(pwd)\"' } ]\n");
    project.commit("second");
    let plays = [
        coder("echo evil > ready; echo 'echo evil > ready' > install.sh; echo 2 > lock.txt"),
        reviewer(""),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(done.said("gate"), ["fine /codeteam/tree"]);
    let done = attack(&project, &[coder("true"), reviewer("")], &[]).expect(0);
    assert_eq!(done.said("gate"), ["fine /codeteam/tree"]);
}

/// A virtual environment has the path in it that it was made at.
#[test]
fn what_has_paths_in_it_works_in_every_worktree() {
    let project = Project::new();
    project.write(".gitignore", "tool\n");
    project.write("name.txt", "old\n");
    project.config("setup: { command: 'printf \"#!/bin/sh\\ncat $PWD/name.txt\\n\" > tool; chmod +x tool', inputs: [ lock.txt ] }\nverification:\n  commands: [ { name: look, command: 'echo \"gate> $(./tool)\"' } ]\n");
    project.commit("second");
    let tell = by("coder", "./tool; echo new > name.txt; ./tool");
    let done = attack(&project, &[coder(&tell), reviewer("")], &[]).expect(0);
    assert_eq!(done.said("coder"), ["old", "new"]);
    assert_eq!(done.said("gate"), ["new"]);
}

/// A project whose `.gitignore` does not name what its set-up installs.
#[test]
fn what_set_up_leaves_is_no_part_of_a_change() {
    let project = Project::new();
    project.config("setup: { command: 'mkdir -p node_modules/a; echo a > node_modules/a/a.js; echo b > node_modules/b.js; echo 1 > made.lock; echo 1 > other.lock' }\nverification:\n  commands: [ { name: look, command: 'echo \"gate> $(cat node_modules/a/a.js)\"' } ]\n");
    project.commit("second");
    let rejects = json!({ "verdict": "reject", "reason": "Again" });
    let status = by("coder", "git status --porcelain; cat node_modules/b.js");
    let plays = [
        coder_of(
            &json!({ "role": "coder", "round": 1 }),
            &format!("{status}; echo 2 > made.lock; echo new > new.txt"),
        ),
        coder(&format!("{status}; echo newer > new.txt")),
        play(&json!({ "role": "reviewer", "round": 1 }), "true", &rejects),
        reviewer(""),
    ];
    let notes = [
        "set-up leaves 4 files that no `.gitignore` names (`node_modules/`, `made.lock`, `other.lock`)",
        "add `/node_modules/` to `.gitignore`; commit or ignore `made.lock`, `other.lock`",
    ];
    let done = attack(&project, &plays, &[]).expect(0).says(&notes);
    assert_eq!(done.said("gate").last(), Some(&"a"));
    assert_eq!(
        done.said("coder")[0],
        "b",
        "git shows the worker none of it"
    );
    assert_eq!(
        project.committed_files(),
        ["made.lock", "made.txt", "new.txt"]
    );
    // What is known of the commit already is said again.
    attack(&project, &plays, &[]).expect(0).says(&notes);
}

/// Codeteam itself would wait for a pipe for ever.
#[test]
fn a_pipe_in_an_inputs_place_is_refused_and_holds_nothing_up() {
    let project = counting("[ lock.txt ]");
    let first = json!({ "role": "coder", "attempt": 1 });
    let plays = [
        coder_of(&first, "rm lock.txt; mkfifo lock.txt"),
        coder(&by("coder", "cat lock.txt; cat ready")),
        reviewer(""),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(done.said("coder"), ["1", "1 1"]);
    done.says(&["`lock.txt` is a named pipe, which git cannot record: it was removed"]);
}

#[test]
fn a_set_up_that_fails_is_known_before_a_model_is_asked() {
    let project = Project::new();
    project.config("setup: { command: 'echo no such package; exit 3' }\n");
    let plays = [coder(&by("coder", "cat ready")), reviewer("")];
    let done = attack(&project, &plays, &[]).expect(1).says(&[
        "the set-up command `echo no such package; exit 3` failed",
        "no such package",
        "exit code 3",
        "repair `setup` in `.codeteam/config.yml`, then start the run again",
        "nothing was started, and no model was asked",
    ]);
    let done = done.lacks(&["codeteam resume"]);
    assert!(done.said("coder").is_empty(), "no worker has started");
    assert_eq!(project.survivors(), Vec::<String>::new());
    assert!(!project.path(".codeteam/runs").exists());
}

#[test]
fn a_failed_set_up_stops_the_run_until_it_is_mended() {
    let project = Project::new();
    let plays = [coder(&by("coder", "cat ready")), reviewer("")];
    // It stops before its first worker, and is taken up with another configuration.
    attack(&project, &plays, &["--max-attempts", "0"]).expect(4);
    project.config("setup: { command: 'echo no such package; exit 3' }\n");
    let resume = ["-v", "resume", "--max-attempts", "5"];
    project.run(&resume).expect(1).says(&["no such package"]);
    assert_eq!(project.shown_run()["status"], "running");
    project.config("setup: { command: 'echo mended > ready' }\n");
    let done = project.run(&["-v", "resume"]).expect(0);
    assert_eq!(done.said("coder"), ["mended"]);
    let tries = project.events();
    let failed = tries
        .iter()
        .filter(|e| e["event"]["type"] == "attempt_failed");
    assert_eq!(failed.count(), 0, "it used up no try");
}

#[test]
fn set_up_reaches_registries_and_nothing_else() {
    let project = Project::new();
    let (registry, answering) = host();
    let (other, listener) = lonely();
    project.user_config(&format!(
        "sandbox: {{ registries: [ {{ host: 'localhost:{registry}', private: true }} ], hosts: [ {{ host: 'localhost:{other}', private: true }} ] }}\n"
    ));
    project.write(
        "install.sh",
        &format!(
            "{THROUGH}\nthrough localhost:{registry}; through localhost:{other}; test -z \"$FAIL\""
        ),
    );
    project.write(".gitignore", "said\n");
    project.config("setup: { command: 'sh install.sh > said' }\n");
    project.commit("second");
    let call = format!("cat said; {THROUGH}through localhost:{registry}");
    let plays = [coder(&by("coder", &call)), reviewer("")];
    let done = attack(&project, &plays, &["--max-attempts", "1"]).expect(4);
    assert_eq!(done.said("coder"), ["200", "welcome", "403", "403"]);
    answering.join().unwrap();
    nobody_came(&listener);
    let asked = asked(&project);
    let of_setup = asked.iter().find(|host| host["allowed"] == 1).unwrap();
    assert_eq!(of_setup["host"], format!("localhost:{registry}"));
    for port in [registry, other] {
        let is_denied =
            |host: &&Value| host["host"] == format!("localhost:{port}") && host["denied"] == 1;
        assert!(asked.iter().any(|host| is_denied(&host)), "{asked:#?}");
    }
    // A host that set-up was refused is named when it fails.
    project.config("setup: { command: 'FAIL=1 sh install.sh' }\n");
    let done = attack(&project, &plays, &[]).expect(1);
    done.says(&[
        &format!("it was refused localhost:{other}"),
        "sandbox.registries",
    ]);
}

#[test]
fn a_registry_of_ones_own_network_is_told_apart() {
    let project = Project::new();
    let (port, listener) = lonely();
    project.write(
        "install.sh",
        &format!("{THROUGH}\nthrough localhost:{port}; exit 1"),
    );
    project.config(&format!(
        "sandbox: {{ registries: [ 'localhost:{port}' ] }}\nsetup: {{ command: sh install.sh }}\n"
    ));
    project.trust();
    project.commit("second");
    let plays = [coder("true"), reviewer("")];
    attack(&project, &plays, &[]).expect(1).says(&[
        &format!("it was refused localhost:{port}, which is named under `sandbox.registries`"),
        "leads to an address that is not public",
        "private: true",
    ]);
    nobody_came(&listener);
    let doctor = project.run(&["doctor"]);
    let said = "`localhost` leads to an address that is not public, so set-up is refused it";
    assert!(doctor.stdout.contains(said), "{}", doctor.stdout);
    project.user_config(&format!(
        "sandbox: {{ registries: [ {{ host: 'localhost:{port}', private: true }} ] }}\n"
    ));
    let doctor = project.run(&["doctor"]);
    assert!(!doctor.stdout.contains(said), "{}", doctor.stdout);
}

#[test]
fn set_up_is_confined() {
    let project = Project::new();
    let key = project.write_outside("key", "my-key\n");
    project.write(".gitignore", "said\n");
    project.config(&format!(
        "setup: {{ command: 'cat {key} > said 2>&1; env >> said; echo x > {}/planted; git config core.fsmonitor x; true' }}\n",
        project.home().display()
    ));
    project.commit("second");
    let look = by("coder", "cat said; git config core.fsmonitor");
    let done = attack(&project, &[coder(&look), reviewer("")], &[]).expect(0);
    let said = done.said("coder");
    assert!(said.contains(&"HOME=/home/agent"), "{said:#?}");
    assert!(!said.contains(&"my-key"), "{said:#?}");
    assert!(!project.home().join("planted").exists());
}

#[test]
fn files_that_git_ignores_are_brought_along_by_name_and_never_collected() {
    let project = Project::new();
    project.write(".gitignore", "*.local\n");
    project.write(
        ".worktreeinclude",
        "settings.local\nsub/*.local\nhello.txt\nuntracked.txt\n",
    );
    project.trust();
    project.commit("second");
    for name in [
        "settings.local",
        "sub/more.local",
        "unnamed.local",
        "untracked.txt",
    ] {
        project.write(name, "mine\n");
    }
    project.write("hello.txt", "changed\n");
    let list =
        "cat hello.txt; find . -name '*.local' | sort; ls untracked.txt; git status --porcelain";
    let tell = format!(
        "{}\nrm .gitignore; echo worker >> settings.local; {}",
        by("coder", list),
        test_that_runs(&by("gate", list))
    );
    let before = project.checkout();
    let done = attack(&project, &[coder(&tell), reviewer("")], &[]).expect(0);
    let none = "ls: cannot access 'untracked.txt': No such file or directory";
    let brought = ["hello", "./settings.local", "./sub/more.local", none];
    assert_eq!(done.said("coder"), brought);
    assert_eq!(done.said("gate")[..4], brought);
    assert_eq!(
        project.committed_files(),
        [".gitignore", "made.txt", "tests/attack.sh"]
    );
    assert_eq!(project.checkout(), before);
    let objects = project.git(&["cat-file", "--batch-all-objects", "--batch-check"]);
    let mine = project.git(&["hash-object", "settings.local"]);
    assert!(!objects.contains(&mine), "not even as an object");
}

#[test]
fn set_up_and_workers_find_the_certificates_that_the_user_names() {
    let project = Project::new();
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n";
    let network = project.write_outside("network.pem", certificate);
    let own = project.write_outside("own.pem", &format!("{certificate}{key}"));
    project.config("setup: { command: 'cat \"$SSL_CERT_FILE\" > ready; test -z \"$PIP_CERT\"' }\nverification:\n  commands: [ { name: look, command: 'grep CERTIFICATE ready' } ]\n");
    project.write(".gitignore", "ready\n");
    project.commit("second");
    let look = by(
        "coder",
        "grep BEGIN $NODE_EXTRA_CA_CERTS; echo ${PIP_CERT:-none}",
    );
    let plays = [coder(&look), reviewer("")];
    let args = cast(&project, ONE, &plays);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = project
        .codeteam(&args)
        .env("SSL_CERT_FILE", &network)
        .env("NODE_EXTRA_CA_CERTS", &network)
        .env("PIP_CERT", &own)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    assert!(told.contains("-----BEGIN CERTIFICATE-----"), "{told}");
    assert!(told.contains("none") && !told.contains("PRIVATE"), "{told}");
}
