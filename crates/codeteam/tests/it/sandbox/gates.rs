//! The reach of checks, and what they find and leave.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::json;

use super::{NO_SANDBOX, attack, attack_by, by, coder, coder_of, found, reviewer, test_that_runs};
use crate::misbehaviour::ONE;
use crate::project::Project;

/// A gate that tries to call home. Returns what it said, and whether anyone heard it.
fn call_home(more: &[&str]) -> (Vec<String>, bool) {
    let project = Project::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let call = format!(
        "
        env | grep -i proxy
        for to in 127.0.0.1:{port} localhost:{port} 127.0.0.1:3128 192.0.2.1:80; do
            perl -MIO::Socket::INET -e '
                $s = IO::Socket::INET->new(PeerAddr => shift, Timeout => 2); print $s ? \"through\\n\" : \"refused\\n\"' $to
        done"
    );
    let plays = [coder(&test_that_runs(&by("gate", &call))), reviewer("")];
    let done = attack(&project, &plays, more).expect(0);
    listener.set_nonblocking(true).unwrap();
    let heard = match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    };
    let said = done.said("gate").into_iter().map(str::to_owned).collect();
    (said, heard)
}

#[test]
fn a_gate_reaches_nobody() {
    let (said, heard) = call_home(&[]);
    assert_eq!(said, ["refused"; 4]);
    assert!(!heard);
}

#[test]
fn without_a_sandbox_it_reaches_the_host() {
    let (said, heard) = call_home(&[NO_SANDBOX]);
    assert_eq!(said[0], "through");
    assert!(heard);
}

#[test]
fn a_gate_finds_the_change_and_nothing_else() {
    let project = Project::new();
    let check = by(
        "gate",
        "ls -A; cat made.txt; node_modules/.bin/tool; tool; git status --porcelain",
    );
    let plant = format!(
        "printf 'node_modules/\\ntests-pass\\n' > .gitignore
        mkdir -p node_modules/.bin; printf '#!/bin/sh\\necho cheated\\n' > node_modules/.bin/tool; chmod +x node_modules/.bin/tool
        echo cheated > tests-pass; echo cheated > .git/info; mkfifo pipe
        mkdir -p ~/bin /tmp/bin; cp node_modules/.bin/tool ~/bin; cp node_modules/.bin/tool /tmp/bin
        git config alias.status '!echo cheated'
        {}",
        test_that_runs(&check)
    );
    let done = attack(&project, &[coder(&plant), reviewer("")], &[]).expect(0);
    let said = done.said("gate");
    assert_eq!(
        said[..6],
        [
            ".codeteam",
            ".git",
            ".gitignore",
            "hello.txt",
            "made.txt",
            "tests"
        ]
    );
    assert_eq!(said[6], "made");
    assert!(!said.contains(&"cheated"), "{said:#?}");
}

#[test]
fn what_a_gate_writes_is_not_part_of_the_change() {
    let project = Project::new();
    let write = "echo gate > made.txt; echo gate > by-gate.txt; rm hello.txt; git add -A; git commit -q -m gate; echo gate > ../by-gate.txt; true";
    let look = by("reviewer", "cat made.txt hello.txt; ls");
    let plays = [coder(&test_that_runs(write)), reviewer(&look)];
    let done = attack(&project, &plays, &[]).expect(0);
    assert_eq!(
        done.said("reviewer"),
        ["made", "hello", "hello.txt", "made.txt", "tests"]
    );
    assert_eq!(project.committed_files(), ["made.txt", "tests/attack.sh"]);
    assert_eq!(project.committed_file("made.txt"), "made");
    assert!(found(&project, "by-gate.txt").is_empty());
}

/// A change that is sent back must not decide how its successor is judged.
#[test]
fn what_the_code_of_an_earlier_round_left_in_the_gate_is_gone() {
    let project = Project::new();
    project.write(".gitignore", "left\n");
    project.commit("ignored");
    let plays = [
        coder_of(
            &json!({ "role": "coder", "round": 1 }),
            &test_that_runs("echo cheated > left; exit 1"),
        ),
        coder(&test_that_runs(&by("gate", "cat left; echo looked"))),
        reviewer(""),
    ];
    let done = attack(&project, &plays, &[]).expect(0);
    let said = done.said("gate");
    assert!(!said.contains(&"cheated"), "{said:#?}");
}

/// Or codeteam itself would wait for ever.
#[test]
fn a_pipe_in_a_files_place_cannot_be_read() {
    let project = Project::new();
    let workflow = ONE.replace(
        "gate: project",
        "gate: [ { name: swap, command: mkfifo built.txt }, { name: content, file: built.txt, contains: made } ]",
    );
    let done = attack_by(&project, &workflow, &[coder("")], &[]);
    done.expect(1)
        .says(&["checking: swap", "check failed: content"]);
}
