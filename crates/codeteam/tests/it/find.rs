//! `codeteam find`.

use serde_json::json;

use crate::project::Project;

/// A repository with a little history.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "web/router.py",
        "class Router:\n    def match_route(self): ...\n",
    );
    project.write("web/signing.py", "def sign(value): ...\n");
    project.commit("A router");
    project.write("web/signing.py", "def sign(value, key): ...\n");
    project.commit("Reject tampered logins");
    project
}

#[test]
fn files_are_found_and_it_is_said_why() {
    let project = project();
    for _ in 0..2 {
        // The second time from the cache.
        let done = project.run(&["find", "match", "routes"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let first: Vec<&str> = done.stdout.lines().take(2).collect();
        assert!(
            first[0].starts_with("  1  ██████████  ") && first[0].ends_with("web/router.py"),
            "{first:?}"
        );
        assert!(first[1].contains("the path has `routes`"), "{first:?}");
    }
    assert!(project.home().join(".cache/codeteam/context").is_dir());
}

#[test]
fn as_json_for_programs() {
    let project = project();
    let value = project.json(&["find", "tampered logins", "--json"]);
    let first = &value["found"][0];
    assert_eq!(first["path"], "web/signing.py");
    assert_eq!(first["signals"]["message"], 1.0);
    let why = json!({
        "signal": "message", "commits": 1, "subject": "Reject tampered logins",
        "text": "a past commit with similar words changed it: “Reject tampered logins”",
    });
    assert_eq!(first["why"][0], why);
    assert_eq!(
        (&value["commits"], &value["notes"]),
        (&json!(3), &json!([]))
    );

    // It needs no configuration, so a broken one changes nothing.
    project.config("a: [\n");
    let again = project.json(&["find", "tampered logins", "--json"]);
    assert_eq!(again["found"][0], *first);
    std::fs::remove_dir_all(project.root().join(".codeteam")).unwrap();

    // A new commit is taken into account.
    project.write("hello.txt", "zebras\n");
    project.commit("Elephants");
    let value = project.json(&["find", "elephants", "--json"]);
    assert_eq!(
        (&value["found"][0]["path"], &value["commits"]),
        (&json!("hello.txt"), &json!(4))
    );

    let value = project.json(&["find", "tampered logins", "--json", "--no-history"]);
    assert_eq!(
        (&value["found"], &value["commits"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn only_below_a_folder_and_only_so_many() {
    let project = project();
    project.write("docs/router.md", "The router.\n");
    let all = project.run(&["find", "router"]).stdout;
    assert!(
        all.contains("docs/router.md") && all.contains("web/router.py"),
        "{all}"
    );
    let below = project.run(&["find", "router", "--path", "web"]).stdout;
    assert!(
        !below.contains("docs/router.md") && below.contains("web/router.py"),
        "{below}"
    );
    let one = project.run(&["find", "router", "--limit", "1"]).stdout;
    assert_eq!(one.lines().count(), 2, "{one}");
}

#[test]
fn what_cannot_be_looked_for() {
    let project = project();
    for (args, code, said) in [
        (&["find", " "][..], 2, "there is nothing to look for"),
        (
            &["find", "x", "--path", "absent"],
            2,
            "hint: name a folder or a file that is there",
        ),
        (&["find", "x", "--path", ".."], 2, "is not below"),
        (&["find", "x", "--limit", "0"], 2, "1 or more"),
    ] {
        let done = project.run(args);
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{args:?}: {}", done.stderr);
    }
    let done = project.run(&["find", "zzzzzz"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""));
    assert!(
        done.stderr.contains("no file has anything of it"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_folder_that_is_no_repository_can_be_looked_into() {
    let project = Project::empty();
    project.write("a/router.py", "class Router: ...\n");
    let done = project.run(&["find", "router"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("a/router.py"), "{}", done.stdout);
}

#[test]
fn a_configuration_that_names_a_model_is_told_that_there_are_none_any_more() {
    let project = project();
    project.config("embeddings: model\n");
    let script = project.script("version: 1\nplays: []\n");
    let done = project.run(&["run", "x", "--script", &script]).expect(2);
    done.says(&[
        "`embeddings`: codeteam no longer finds files with an embedding model",
        "leave it out; files are found by words, names, imports and past commits",
    ]);
}

#[test]
fn no_reason_tells_a_secret() {
    let key = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let project = project();
    project.write("web/signing.py", "def sign(value, key, more): ...\n");
    project.write(&format!("web/{key}.py"), "def tampered(): ...\n");
    project.commit(&format!("Reject tampered logins with {key}"));
    for args in [
        &["find", "tampered logins"][..],
        &["find", "tampered logins", "--json"],
    ] {
        let done = project.run(args);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(!done.stdout.contains(&key), "{}", done.stdout);
        assert!(done.stdout.contains("[redacted: "), "{}", done.stdout);
    }
}
