use super::*;

fn matter() -> CommitFacts {
    CommitFacts {
        task_id: "task-001".to_owned(),
        is_task: true,
        plan_id: "feature-0021".to_owned(),
        run: "2025-01-08_153042_reset".to_owned(),
        role: "coder".to_owned(),
        headline: "Create the UserProfile model.".to_owned(),
        description: String::new(),
        files: vec!["src/profile.py".to_owned(), "src/models.py".to_owned()],
        marks: String::new(),
    }
}

fn format(text: &str) -> MessageFormat {
    MessageFormat::parse(text).unwrap()
}

/// What is said of each of these, or `fine`.
#[track_caller]
fn check(form: &str, messages: &[(&str, &str)]) {
    for (message, expected) in messages {
        let said = match format(form).check(&matter(), message) {
            Ok(()) => "fine".to_owned(),
            Err(wrong) => wrong,
        };
        assert!(said.contains(expected), "{form}: {message:?}: {said}");
    }
}

#[test]
fn conventional_messages() {
    let long = format!("feat: {}", "x".repeat(67));
    let fits = format!("feat: {}", "x".repeat(66));
    check(
        "conventional",
        &[
            ("feat: add a model", "fine"),
            ("fix(auth)!: refuse an empty name\n\nBecause.", "fine"),
            ("docs(user guide): say it", "fine"),
            (&fits, "fine"),
            (&long, "73 characters; 72 are the most"),
            ("feat: ünïcödé: with a colon", "fine"),
            ("feature: add a model", "the type one of feat, fix"),
            ("Feat: add a model", "the type one of"),
            ("add a model", "must be `type(scope): summary`"),
            ("feat:add a model", "must be `type(scope): summary`"),
            ("feat(): add a model", "in parentheses"),
            ("feat(auth: add a model", "in parentheses"),
            ("feat:  two spaces", "must be `type"),
            ("feat: add a model.", "full stop"),
            ("feat: add a model\nat once", "second line"),
            ("", "no first line"),
            ("\n\nfeat: x", "no first line"),
        ],
    );
}

#[test]
fn templates() {
    check(
        "[{task_id}] {summary}",
        &[
            ("[task-001] Add a model", "fine"),
            ("[task-001] Add a model.\n\nLong.", "fine"),
            ("[task-002] Add a model", "must be `[task-001] <summary>`"),
            ("Add a model", "but is `Add a model`"),
            ("[task-001] ", "must be"),
            ("[task-001] Add\nmore", "second line"),
        ],
    );
    check(
        "team({role}): {summary}",
        &[
            ("team(coder): Add a model", "fine"),
            ("team(qa): Add a model", "`team(coder): <summary>`"),
        ],
    );
    check(
        "{type}({scope}): {description} ({plan_id}, {run})",
        &[
            (
                "feat(src): it (feature-0021, 2025-01-08_153042_reset)",
                "fine",
            ),
            ("feat: it", "`<type>(<scope>): <description> (feature-0021"),
        ],
    );
    // What is between the placeholders is meant as it is written.
    check(
        "a.c* {summary}",
        &[("a.c* x", "fine"), ("abccc x", "must be")],
    );
}

#[test]
fn regular_expressions_and_any_text() {
    check(
        r"/^(ABC-\d+): \S/",
        &[
            ("ABC-12: do it\n\nAt last", "fine"),
            ("AB-12: do it", "must match the regular expression"),
        ],
    );
    check(
        "free",
        &[("Do it\nat once", "fine"), ("   \nx", "no first")],
    );
}

#[test]
fn what_no_message_may_have() {
    for form in ["free", "/./"] {
        check(
            form,
            &[
                ("Use [redacted: github token] here", "looks like a secret"),
                ("Do\u{1b}[31m it", "control character"),
                ("Do\0 it", "control character"),
                ("Do \u{202e}ti", "control character"),
                ("Do it\n\n\tindented", "fine"),
                (&"x".repeat(20_000), "bytes"),
            ],
        );
    }
}

#[test]
fn no_message_keeps_checks_from_running() {
    for mark in [
        "[skip ci]",
        "[CI Skip]",
        "[no ci]",
        "[skip actions]",
        "[ci-skip]",
        "***NO_CI***",
    ] {
        let text = format!("Do it\n\nBecause {mark} of that.");
        let wrong = format("free").check(&matter(), &text).unwrap_err();
        assert!(wrong.contains(mark), "{mark}: {wrong}");
    }
    assert_eq!(
        format("free").check(&matter(), "Do it [WIP], no ci"),
        Ok(())
    );
    // A form of the user's may have it.
    let own = format("{summary} [skip ci]");
    assert_eq!(own.check(&matter(), "Do it [skip ci]"), Ok(()));
    // Titles of tasks become messages.
    assert_eq!(clean::without_skip_markers("Add [skip ci] it"), "Add it");
}

#[test]
fn what_is_no_form() {
    for (text, expected) in [
        ("", "is not a form of messages"),
        ("conventionl", "did you mean `conventional`?"),
        ("Angular", "there are `conventional`, `free`"),
        ("{task_id}", "lacks `{summary}`"),
        ("{summery}", "did you mean `{summary}`?"),
        ("[{task_id] {summary}", "stands for nothing"),
        ("x {summary", "without its `}`"),
        ("{summary}\n\n{task_id}", "first line of messages only"),
        ("/(/", "not a regular expression"),
        ("/x", "ends with `/`"),
        ("//", "ends with `/`"),
    ] {
        let said = MessageFormat::parse(text).unwrap_err();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
}

#[test]
fn a_form_is_kept_as_it_is_written() {
    for text in ["free", "conventional", "[{task_id}] {summary}", r"/^A-\d+/"] {
        let json = serde_json::to_string(&format(text)).unwrap();
        assert_eq!(json, serde_json::to_string(text).unwrap());
        let read: MessageFormat = serde_json::from_str(&json).unwrap();
        assert_eq!(read, format(text));
    }
}

#[test]
fn what_codeteam_makes_itself_has_the_form() {
    let long = "Refactor the whole of the user authentication so that it uses a service class, \
                and a repository below it.";
    let headlines = [
        ("Create the UserProfile model.", "feat"),
        ("Fix the login", "fix"),
        ("Fixtures for the login", "feat"),
        ("fix(auth): refuse it", "fix"),
        ("wip: something", "feat"),
        (long, "refactor"),
        ("...", "feat"),
        ("Ünïcödé wördş ".repeat(9).trim(), "feat"),
    ]
    .map(|(headline, kind)| (headline.to_owned(), kind));
    for (headline, kind) in headlines {
        let matter = CommitFacts {
            headline,
            ..matter()
        };
        let made = format("conventional").compose(&matter).unwrap();
        assert!(made.starts_with(kind), "{made}");
        for form in [
            "free",
            "[{task_id}] {summary}",
            "{type}({scope}): {summary}",
            "{role} {plan_id} {run}: {description} ({summary})",
            r"/^\[task-\d+\] /",
            r"/^[a-z]+(\([a-z0-9-]+\))?: /",
        ] {
            let form = format(form);
            let made = form.compose(&matter).unwrap();
            assert_eq!(form.check(&matter, &made), Ok(()), "{form}: {made}");
            assert_eq!(clean_message(&made), made, "{form}");
        }
    }
    assert_eq!(format(r"/^JIRA-\d+ /").compose(&matter()), None);
    let made = format("conventional").compose(&CommitFacts {
        headline: long.to_owned(),
        ..matter()
    });
    assert_eq!(
        made.unwrap(),
        format!("refactor: Refactor the whole of the user authentication so that it…\n\n{long}")
    );
}

#[test]
fn the_type_is_what_the_files_tell() {
    for (files, kind) in [
        (&["README.md", "docs/x.png"][..], "docs"),
        (&["tests/test_a.py", "src/a_test.go"][..], "test"),
        (&["tests/test_a.py", "src/a.py"][..], "feat"),
        (&["src/latest.py"][..], "feat"),
        (&[][..], "feat"),
    ] {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let matter = CommitFacts { files, ..matter() };
        assert_eq!(matter.commit_type().0, kind, "{:?}", matter.files);
    }
}

#[test]
fn trailers_that_are_not_the_writers_are_taken_out() {
    for (text, cleaned) in [
        (
            "Do it\r\n\r\nBecause.  \r\n\r\n\r\nSigned-off-by: Mallory <m@example.org>\r\n",
            "Do it\n\nBecause.",
        ),
        (
            "Do it\n\nCodeteam-Verified: 0123\nCloses: #12\ncodeteam-TASK : other",
            "Do it\n\nCloses: #12",
        ),
        (
            "Do it\n\nCo-authored-by: A\n  and B\n\tand C\nRest",
            "Do it\n\nRest",
        ),
        ("Codeteam-Run: x", ""),
        (
            "Do it\n\nReviewed-by: A\nTested-by: B\nAcked-By: C\nApproved-by: D\nskip-checks: true\nRefs: #1",
            "Do it\n\nRefs: #1",
        ),
        ("Do it\n\n  Codeteam-Run: x\n> Codeteam-Run: y", "Do it"),
        // Not a trailer, but words.
        (
            "Make the codeteam-run folder\n\nSee codeteam-x y: it is long.",
            "Make the codeteam-run folder\n\nSee codeteam-x y: it is long.",
        ),
    ] {
        assert_eq!(clean_message(text), cleaned);
        assert_eq!(clean_message(cleaned), cleaned);
    }
}

#[test]
fn the_form_in_words() {
    let words = |text: &str| format(text).worker_instructions(&matter());
    assert_eq!(words("free"), None);
    let told = words("[{task_id}] {summary}").unwrap();
    assert!(told.contains("`[task-001] <summary>`"), "{told}");
    assert!(words("conventional").unwrap().contains("feat, fix"));
    assert!(words("/^A/").unwrap().contains("`/^A/`"));
}

#[test]
fn no_message_carries_a_patch() {
    for line in [
        "---",
        "diff --git a/x b/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "Index: x",
    ] {
        let text = format!("Do it\n\nBecause.\n{line}\nrest");
        let wrong = format("free").check(&matter(), &text).unwrap_err();
        assert!(wrong.contains("begins a patch"), "{line}: {wrong}");
    }
    let plain = "Do it\n\n- a point\n -- and more";
    assert_eq!(format("free").check(&matter(), plain), Ok(()));
}

#[test]
fn what_the_task_asks_for_stands_below_its_title() {
    let composed = |description: &str| {
        let matter = CommitFacts {
            description: description.to_owned(),
            ..matter()
        };
        format("free").compose(&matter).unwrap()
    };
    let title = "task-001: Create the UserProfile model.";
    let asked = "A profile has a name and a picture.\n\nIt is made with the user.";
    assert_eq!(composed(asked), format!("{title}\n\n{asked}"));
    // Nothing twice, and nothing that no message may have.
    assert_eq!(composed("Create the UserProfile model."), title);
    for refused in ["--- a/x\n+++ b/x", "Do it [skip ci]", "a\u{1b}[31m"] {
        assert_eq!(composed(refused), title, "{refused}");
    }
    assert_eq!(composed("Signed-off-by: Mallory <m@example.org>"), title);
}
