//! Secrets that workers and checks print: nothing codeteam keeps or shows has them.

use std::fs;
use std::path::Path;

use crate::misbehaviour::ONE;
use crate::project::Project;

/// Made up, and put together here so that nobody takes this file for a leak.
fn secrets() -> [String; 3] {
    [
        ["sk-ant-", "api03-", &"Ab3dE7gH1jK5mN9p".repeat(5)].concat(),
        ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat(),
        // Not like any provider's, but the user's own.
        "correct-horse-battery-staple".to_owned(),
    ]
}

/// Every file below a folder that has this text in it.
fn with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(with(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn what_workers_and_checks_print_is_kept_without_them() {
    let project = Project::new();
    let [key, token, own] = secrets();
    project.write("leak.sh", &format!("echo {token} {own} >&2; exit 1\n"));
    project.config("verification:\n  commands: [{ name: leaks, command: sh leak.sh }]\n");
    project.commit("a check that leaks");
    let script = project.script(&format!(
        r#"
version: 1
plays:
  - match: {{ role: coder, attempt: 1, round: 1 }}
    do: [ {{ text: "I use {key}" }}, {{ error: {{ message: "{own} was refused", status: 529 }} }}, {{ exit: 1 }} ]
  - match: {{ role: coder }}
    do:
      - run: "echo {key} >&2; echo {own}"
      - write: {{ path: made.txt, content: "{{{{round}}}}" }}
      - submit: {{ summary: "Made it with {token}", concerns: ["{own}"] }}
"#
    ));
    let workflow = project.workflow(ONE);
    let mut run = project.codeteam(&[
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ]);
    run.env("MY_API_KEY", &own);
    let done = run.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("[redacted: "), "{said}");
    let mut all = said.into_owned();
    for args in [&["log", "--json"][..], &["show", "--json"], &["log", "-v"]] {
        all.push_str(&project.run(args).stdout);
    }
    for secret in secrets() {
        assert!(!all.contains(&secret), "{secret} in {all}");
        let kept = with(&project.path(".codeteam"), &secret);
        let kept: Vec<_> = kept
            .iter()
            .filter(|file| !file.ends_with("config.yml"))
            .collect();
        assert_eq!(kept, Vec::<&String>::new(), "{secret}");
    }
    // The rest of what was said is there.
    assert!(
        all.contains("was refused") && all.contains("Made it with"),
        "{all}"
    );
}

#[test]
fn what_is_allowed_stays() {
    let project = Project::new();
    let [_, token, _] = secrets();
    project.config("verification: { commands: [] }\nredaction: { allow: ['ghp_[A-Za-z0-9]+'] }\n");
    project.trust();
    project.commit("allowed");
    let script = project.script(&format!(
        "version: 1\nplays:\n  - match: {{ role: coder }}\n    do: [ {{ write: {{ path: a, content: x }} }}, {{ submit: {{ summary: 'the sample {token}' }} }} ]\n  - match: {{ role: reviewer }}\n    do: [ {{ submit: {{ verdict: approve, reason: Good }} }} ]\n"
    ));
    let workflow = project.workflow(ONE);
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(0).says(&[&token]);

    project.config("verification: { commands: [] }\nredaction: { allow: ['('] }\n");
    project.run(&args).expect(2).says(&[
        "config.yml:2:",
        "`(` is not a regular expression: unclosed group",
    ]);
}
