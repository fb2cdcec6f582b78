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
    do: [ {{ text: "I use {key}" }}, {{ error: {{ message: "{own} was refused", status: 408 }} }}, {{ exit: 1 }} ]
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

/// A change, a person who judges it, and a commit.
const JUDGED: &str = "
name: judged
start: code
steps:
  code: { role: coder, next: judge }
  judge:
    person: Is it right?
    answers: { accept: commit, reject: { next: code, rejects: true } }
  commit: { commit: branch, next: done }
";

#[test]
fn what_a_person_says_is_kept_without_them() {
    let project = Project::new();
    let [key, token, own] = secrets();
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: coder }\n    do:\n      - write: { path: made.txt, content: \"{{round}}\" }\n      - submit: { summary: Made it }\n",
    );
    let workflow = project.workflow(JUDGED);
    let mut all = String::new();
    let mut say = |args: &[&str]| {
        let mut command = project.codeteam(args);
        let done = command.env("MY_SERVICE_TOKEN", &own).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        all.push_str(&said);
        said
    };
    let goal = format!("{token} pushes with {own}");
    let said = say(&["run", &goal, "--script", &script, "--workflow", &workflow]);
    assert!(
        said.contains("2 secrets were taken out of what you said"),
        "{said}"
    );
    assert_eq!(
        said.matches("taken out of what you said").count(),
        1,
        "{said}"
    );
    let said = say(&["reject", "-m", &format!("use {key}")]);
    assert!(
        said.contains("a secret was taken out of what you said"),
        "{said}"
    );
    say(&["resume"]);
    say(&["approve", "-m", &format!("{own} is fine")]);
    say(&["resume"]);
    say(&["run", &goal, "--script", &script, "--workflow", &workflow]);
    say(&["abort", "-m", &format!("{token} leaked")]);
    say(&["log", "--json"]);
    say(&["show", "--json"]);
    say(&["show"]);
    say(&["status"]);
    all.push_str(&project.git(&["log", "--all", "--format=%D %B"]));
    all.push_str(&project.git(&["for-each-ref"]));
    assert!(
        all.contains("pushes with [redacted: known secret]"),
        "{all}"
    );
    for secret in secrets() {
        // In names of branches and folders, too.
        for form in [secret.clone(), secret.to_lowercase().replace('_', "-")] {
            assert!(!all.contains(&form), "{form} in {all}");
        }
        assert_eq!(
            with(&project.path(".codeteam"), &secret),
            Vec::<String>::new()
        );
    }
}

#[test]
fn a_plan_is_kept_without_them() {
    let project = Project::new();
    let [_, token, _] = secrets();
    let script = project.script(
        "version: 1\nplays:\n  - match: { role: executor }\n    do:\n      - write: { path: made.txt, content: x }\n      - submit: { summary: Made it }\n",
    );
    // No description: the goal is what its tasks say.
    let plan =
        format!("tasks:\n  - {{ id: a, title: 'Use {token}', acceptance: ['{token} works'] }}\n");
    let plan = project.write_outside("plan.yml", &plan);
    let args = [
        "run",
        "--plan",
        &plan,
        "--workflow",
        "solo",
        "--script",
        &script,
    ];
    let done = project.run(&args).expect(0);
    let done = done.says(&[
        "2 secrets were taken out",
        "done: Use [redacted: github token]",
    ]);
    done.lacks(&[&token]);
    assert_eq!(
        with(&project.path(".codeteam"), &token),
        Vec::<String>::new()
    );
    let commits = project.git(&["log", "--all", "--format=%B"]);
    assert!(!commits.contains(&token), "{commits}");
}

#[test]
fn a_private_key_that_a_worker_prints_line_by_line_is_neither_shown_nor_kept() {
    let project = Project::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let key = [
        "-----BEGIN OPENSSH PRIVATE",
        " KEY-----\n",
        body,
        "\n",
        body,
    ]
    .concat();
    project.write(
        "key.txt",
        &format!("{key}\n-----END OPENSSH PRIVATE KEY-----\n"),
    );
    project.commit("a key");
    let script = project.script(
        r#"
version: 1
plays:
  - match: { role: coder, attempt: 1 }
    do: [ { run: "cat key.txt" }, { run: "cat key.txt >&2" }, { exit: 1 } ]
  - match: { role: coder }
    do: [ { write: { path: made.txt, content: x } }, { submit: { summary: Made it } } ]
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
"#,
    );
    let workflow = project.workflow(ONE);
    let args = [
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ];
    let done = project.run(&args).expect(0);
    done.says(&["[redacted: private key]"]).lacks(&[body]);
    assert_eq!(with(&project.path(".codeteam"), body), Vec::<String>::new());
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

#[test]
fn a_plan_that_names_things_by_a_secret_is_refused() {
    let [_, token, _] = secrets();
    let task = "{ id: one, title: First, files: [one.txt] }";
    for (plan, what) in [
        (
            format!("plan_id: {token}\ntasks: [{task}]\n"),
            "the plan's `plan_id`",
        ),
        (
            format!(
                "tasks: [{}]\n",
                task.replace("id: one", &format!("id: {token}"))
            ),
            "the `id` of task 1",
        ),
        (
            format!(
                "tasks: [{}]\n",
                task.replace("[one.txt]", &format!("[{token}.txt]"))
            ),
            "one of the `files` of task 1",
        ),
        (
            format!("forbidden: ['{token}/x']\ntasks: [{task}]\n"),
            "one of `forbidden`",
        ),
    ] {
        let project = Project::new();
        let script = project.script("version: 1\nplays: []\n");
        let plan = project.write_outside("plan.yml", &plan);
        let done = project.run(&["run", "--plan", &plan, "--script", &script]);
        let says = [
            what,
            "looks like a secret (github token)",
            "`redaction.allow`",
            "nothing was started",
        ];
        done.expect(2).says(&says).lacks(&[&token]);
        let kept = with(&project.path(".codeteam"), &token);
        assert_eq!(kept, Vec::<String>::new(), "{what}");
    }
}

#[test]
fn names_of_checks_and_of_files_are_shown_without_them() {
    let project = Project::new();
    let [_, token, _] = secrets();
    project.config(&format!(
        "verification:\n  commands: [{{ name: 'tests with {token}', command: 'true' }}]\n  honesty: {{ secrets: report }}\n"
    ));
    project.commit("a name");
    let script = project.script(&format!(
        r#"
version: 1
plays:
  - match: {{ role: coder }}
    do:
      - write: {{ path: "{token}.txt", content: "x" }}
      - submit: {{ summary: Made it }}
  - match: {{ role: reviewer }}
    do: [ {{ submit: {{ verdict: approve, reason: Good }} }} ]
"#
    ));
    let workflow = project.workflow(ONE);
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    let done = project.run(&args).expect(0);
    done.says(&["tests with [redacted: github token]"])
        .lacks(&[&token]);
    let report = project.run(&["report"]).expect(0);
    assert!(
        report.stdout.contains("[redacted: github token].txt"),
        "{}",
        report.stdout
    );
    assert!(!report.stdout.contains(&token), "{}", report.stdout);
    let kept = with(&project.path(".codeteam"), &token);
    let files = kept.iter().filter(|file| file.contains(".md"));
    assert_eq!(files.collect::<Vec<_>>(), Vec::<&String>::new());
}
