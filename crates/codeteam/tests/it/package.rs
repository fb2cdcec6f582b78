//! A package that was not made for codeteam, with the tests its authors wrote as the gate: three
//! tasks, one of them wrong at first.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::project::{CommandResult, Project};

/// The workers' actions. The prefix is counted in bytes at first, which its own test finds.
const SCRIPT: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do:
      - submit:
          plan:
            description: Two more metrics, and a word about them.
            tasks:
              - id: task-001
                title: Add a normalized Hamming similarity
                description: "`normalized_hamming` is 1.0 for equal strings, and an error where `hamming` is one."
                files: [src/lib.rs, tests/normalized_hamming.rs]
                acceptance: ["`normalized_hamming(\"hamming\", \"hammers\")` is 4/7"]
              - id: task-002
                title: Count the common prefix
                description: "`common_prefix_len` counts the characters that two strings begin with."
                dependencies: [task-001]
                files: [src/lib.rs, tests/common_prefix.rs]
                acceptance: ["letters of several bytes count once"]
              - id: task-003
                title: Tell users of both
                description: The README and the change log name the new functions.
                dependencies: [task-002]
                files: [README.md, CHANGELOG.md]
                acceptance: ["both are named in both files"]
  - match: { role: prompter }
    do: [ { submit: { message: "Everything is in src/lib.rs; each test file stands alone." } } ]
  - match: { role: coder, task: task-001 }
    do:
      - run: |
          cat >> src/lib.rs <<'END'

          /// Calculates a normalized score of the Hamming similarity between 0.0 and 1.0 (inclusive),
          /// where 1.0 means the strings are the same.
          pub fn normalized_hamming(a: &str, b: &str) -> Result<f64, StrSimError> {
              let distance = hamming(a, b)?;
              match a.chars().count() {
                  0 => Ok(1.0),
                  length => Ok(1.0 - (distance as f64) / (length as f64)),
              }
          }
          END
      - write:
          path: tests/normalized_hamming.rs
          content: |
            extern crate strsim;

            use strsim::normalized_hamming;

            #[test]
            fn what_differs_counts_against_the_length() {
                let score = normalized_hamming("hamming", "hammers").unwrap();
                assert!((score - 4.0 / 7.0).abs() < 1e-9);
            }

            #[test]
            fn empty_strings_are_equal_and_lengths_must_be() {
                assert_eq!(normalized_hamming("", "").ok(), Some(1.0));
                assert!(normalized_hamming("ham", "hamming").is_err());
            }
      - submit: { summary: Added `normalized_hamming`., files: [src/lib.rs, tests/normalized_hamming.rs] }
  - match: { role: coder, task: task-002, round: 1 }
    do:
      - run: |
          cat >> src/lib.rs <<'END'

          /// Counts the characters that both strings begin with.
          pub fn common_prefix_len(a: &str, b: &str) -> usize {
              a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
          }
          END
      - write:
          path: tests/common_prefix.rs
          content: |
            extern crate strsim;

            use strsim::common_prefix_len;

            #[test]
            fn characters_are_counted_and_not_bytes() {
                assert_eq!(common_prefix_len("hamming", "hammers"), 4);
                assert_eq!(common_prefix_len("žabka", "žába"), 1);
                assert_eq!(common_prefix_len("", "a"), 0);
            }
      - submit: { summary: Added `common_prefix_len`., files: [src/lib.rs, tests/common_prefix.rs] }
  - match: { role: coder, task: task-002 }
    do:
      - run: sed -i 's/a.bytes().zip(b.bytes())/a.chars().zip(b.chars())/' src/lib.rs
      - submit: { summary: Characters are counted now., files: [src/lib.rs, tests/common_prefix.rs] }
  - match: { role: coder, task: task-003 }
    do:
      - run: |
          sed -i 's/^## \[Unreleased\]$/&\n\n### Added\n\n- `normalized_hamming` and `common_prefix_len`/' CHANGELOG.md
          printf '\n`normalized_hamming` and `common_prefix_len` are new.\n' >> README.md
      - submit: { summary: Told users of both., files: [README.md, CHANGELOG.md] }
  - match: { role: committer, task: task-001 }
    do: [ { submit: { message: "feat: add a normalized Hamming similarity" } } ]
  - match: { role: committer, task: task-002 }
    do: [ { submit: { message: "feat: count the common prefix of two strings" } } ]
  - match: { role: committer }
    do: [ { submit: { message: "docs: name the new functions" } } ]
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"#;

/// Returns the folder in which cargo keeps the sources of a package that codeteam is built with.
/// Those for other systems need not be there.
fn sources(name: &str) -> PathBuf {
    let told = Project::cargo().arg("-vV").output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    let mut cargo = Project::cargo();
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline"]);
    cargo.args(["--filter-platform", host.unwrap()]);
    let output = cargo.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let known: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = known["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == name).unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else if !name.to_string_lossy().starts_with(".cargo") {
            fs::write(to.join(name), fs::read(&path).unwrap()).unwrap();
        }
    }
}

/// The folder of the toolchain that runs this test.
pub(crate) fn toolchain() -> PathBuf {
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let output = Project::program(&rustc)
        .args(["--print", "sysroot"])
        .output();
    let sysroot = String::from_utf8(output.unwrap().stdout).unwrap();
    PathBuf::from(sysroot.trim())
}

#[test]
fn a_package_of_others_is_taken_through_three_tasks_by_its_own_tests() {
    let project = Project::empty();
    copy(&sources("strsim"), &project.root());
    let toolchain = toolchain();
    let toolchain = toolchain.display();
    project.user_config(&format!(
        "workflow: codeteam\nsandbox:\n  toolchains: [ {toolchain} ]\n"
    ));
    project.write(".gitignore", "target\nCargo.lock\n");
    project.git(&["init", "--quiet", "--initial-branch=main"]);
    project.config(&format!(
        "worker: scripted\nverification:\n  commands:\n    - name: cargo test\n      command: >-\n        \
         PATH={toolchain}/bin:$PATH cargo test --offline --lib --tests\n  metrics: {{ \
         max_method_lines: 80 }}\ngit: {{ commit_message_format: conventional }}\n"
    ));
    project.commit("strsim as it is published");
    let before = project.checkout();

    let script = project.script(SCRIPT);
    let done: CommandResult = project.run(&["run", "Two more metrics", "--script", &script]);
    let done = done.expect(0);
    assert!(
        done.stderr.contains("check failed: cargo test"),
        "{}",
        done.stderr
    );

    // What its authors have tested was run every time.
    let gates: Vec<Value> = project
        .events()
        .into_iter()
        .map(|e| e["event"].clone())
        .collect();
    let gates: Vec<&Value> = gates
        .iter()
        .filter(|e| e["type"] == "gate_judged")
        .collect();
    let passed: Vec<bool> = gates
        .iter()
        .map(|gate| gate["passed"].as_bool().unwrap())
        .collect();
    assert_eq!(passed, [true, false, true, true]);
    let failed = gates[1]["results"][0]["summary"].as_str().unwrap();
    assert!(
        failed.contains("characters_are_counted_and_not_bytes"),
        "{failed}"
    );
    for gate in gates.iter().filter(|gate| gate["passed"] == true) {
        let body = gate["results"][0]["output"].as_str().unwrap();
        let output = body_of(&project, body);
        assert!(output.contains("test hamming_works ... ok"), "{output}");
    }

    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let subjects = project.git(&[
        "log",
        "--reverse",
        "--format=%s",
        &format!("main..{branch}"),
    ]);
    assert_eq!(
        subjects,
        "feat: add a normalized Hamming similarity\n\
         feat: count the common prefix of two strings\n\
         docs: name the new functions"
    );
    let verified = project.git(&["log", "--format=%B", &format!("main..{branch}")]);
    assert_eq!(verified.matches("Codeteam-Verified: ").count(), 3);
    let report = project.read(".codeteam/reports/task-002.md");
    assert!(report.contains("**Overall Result:** PASS"), "{report}");
    assert!(
        report.contains("- **Method Length (common_prefix_len):** PASS (3/80 lines)"),
        "{report}"
    );
    assert_eq!(
        project.checkout(),
        before,
        "the user's checkout is as it was"
    );
}

/// Returns the body with this name.
pub(crate) fn body_of(project: &Project, name: &str) -> String {
    fn find(folder: &Path, name: &str) -> Option<PathBuf> {
        let mut entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
        entries.find_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return find(&path, name);
            }
            let own = path.file_name()?.to_string_lossy().into_owned();
            let end = own.trim_end_matches(".zst");
            (name.ends_with(end) && end.len() > 16).then_some(path)
        })
    }
    let path = find(&project.path(".codeteam/bodies"), name).unwrap();
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}
