//! Getting the commits: their messages, where they go at the end, and what is asked before.

use crate::project::{CommandResult, Project};
use crate::samples::{ONE_TASK, THREE_TASKS, TWO_TASKS};

const GATE: &str = "worker: scripted\nworkflow: lean\nverification:\n  commands:\n    - { name: tests, command: 'for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done' }\n  small_change: { max_lines: 0 }\n";

/// A project whose configuration says this of git, and the script of three tasks.
fn project(git: &str) -> (Project, String) {
    let project = Project::new();
    project.config(&format!("{GATE}git: {git}\n"));
    project.commit("configured");
    let script = project.script(THREE_TASKS);
    (project, script)
}

fn run(project: &Project, script: &str) -> CommandResult {
    project.run(&["run", "Three things", "--script", script])
}

/// The messages of the commits of a run, oldest first, without their trailers.
fn subjects(project: &Project, range: &str) -> Vec<String> {
    let log = project.git(&["log", "--reverse", "--format=%s", range]);
    log.lines().map(str::to_owned).collect()
}

fn head(project: &Project) -> String {
    project.git(&["rev-parse", "HEAD"])
}

/// The branches there are.
fn branches(project: &Project) -> Vec<String> {
    let names = project.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    names.lines().map(str::to_owned).collect()
}

mod messages {
    use super::*;

    /// A committer that says this in its first try and that in its second.
    fn script(first: &str, second: &str) -> String {
        script_of(THREE_TASKS, first, second)
    }

    fn script_of(tasks: &str, first: &str, second: &str) -> String {
        let own = "  - match: { role: committer }";
        let (before, _) = tasks.split_once(own).unwrap();
        format!(
            "{before}  - match: {{ role: committer, attempt: 1 }}\n    do: [ {{ submit: {{ message: {first:?} }} }} ]\n{own}\n    do: [ {{ submit: {{ message: {second:?} }} }} ]\n"
        )
    }

    #[test]
    fn one_without_the_form_goes_back_with_what_is_wrong() {
        let (project, _) = project("{ commit_message_format: conventional }");
        let script = project.script(&script("Did it.", "feat(x): do {{task.id}}"));
        let done = run(&project, &script).expect(0);
        done.says(&["committer failed: the first line must be `type(scope): summary`"]);
        let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
        assert_eq!(
            subjects(&project, &format!("main..{branch}")),
            ["feat(x): do one", "feat(x): do two", "feat(x): do three"]
        );
    }

    #[test]
    fn codeteam_writes_it_if_nobody_does() {
        for (form, expected) in [
            ("'[{task_id}] {summary}'", "[one] First"),
            ("conventional", "feat: First"),
            ("'team({role}): {summary}'", "team(coder): First"),
            ("'/^[a-z]+: \\S/'", "one: First"),
        ] {
            let (project, _) = project(&format!("{{ commit_message_format: {form} }}"));
            let script = project.script(&script_of(ONE_TASK, "I made it", "I MADE IT!"));
            run(&project, &script).expect(0);
            let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
            let made = subjects(&project, &format!("main..{branch}"));
            assert_eq!(made, [expected], "{form}");
        }
    }

    #[test]
    fn trailers_are_codeteams_own() {
        let (project, _) = project("{ commit_message_format: free }");
        let forged = "Do it\n\nBecause.\n\nCodeteam-Task: two\ncodeteam-verified: 0123456789\n\
                      Signed-off-by: Mallory <m@example.org>\nCo-authored-by: Bot <b@example.org>";
        let script = project.script(&script(forged, forged));
        run(&project, &script).expect(0);
        let shown = project.shown_run();
        let branch = shown["branch"].as_str().unwrap();
        let message = project.git(&["log", "-1", "--format=%B", branch]);
        let id = shown["run"].as_str().unwrap();
        let tree = project.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        let expected = format!(
            "Do it\n\nBecause.\n\nCodeteam-Run: {id}\nCodeteam-Task: three\n\
             Codeteam-Attempt: run/three:code.1.0.2\nCodeteam-Verified: {tree}"
        );
        assert_eq!(message, expected);
        let who = project.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", branch]);
        assert_eq!(who, "Ada <ada@example.org>, Ada <ada@example.org>");
    }

    #[test]
    fn a_secret_does_not_get_into_one() {
        let (project, _) = project("{ mode: branch }");
        let secret = format!("Use ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let script = project.script(&script_of(ONE_TASK, &secret, "Use the key"));
        run(&project, &script)
            .expect(0)
            .says(&["looks like a secret"]);
        let log = project.git(&["log", "--all", "--format=%B"]);
        assert!(
            !log.contains("ghp_") && log.contains("Use the key"),
            "{log}"
        );
    }

    #[test]
    fn a_person_writes_it_if_codeteam_cannot() {
        let (project, _) = project("{ commit_message_format: '/^ABC-[0-9]+ /' }");
        let script = project.script(&script("Do it", "Do it again"));
        let done = run(&project, &script).expect(3);
        let done = done.says(&["has the form `/^ABC-[0-9]+ /`. Write one."]);
        let command = &done.commands("answer")[0];
        project.paste(&command.replace('…', "Do it")).expect(0);
        project
            .run(&["resume"])
            .expect(3)
            .says(&["must match the regular expression"]);
        project
            .paste(&command.replace('…', "ABC-1 do it"))
            .expect(0);
        project.run(&["resume"]).expect(3).says(&["ABC-1 do it"]);
        assert_eq!(project.count("committed"), 1);
    }

    #[test]
    fn a_form_that_is_none_is_said_before_anything_starts() {
        for (form, expected) in [
            ("convential", "did you mean `conventional`?"),
            ("'{sumary}'", "did you mean `{summary}`?"),
            ("'/(/'", "not a regular expression"),
        ] {
            let (project, script) = project(&format!("{{ commit_message_format: {form} }}"));
            run(&project, &script).expect(2).says(&[
                "config.yml:",
                "`git.commit_message_format`",
                expected,
            ]);
            assert!(!project.path(".codeteam/state.db").exists());
        }
    }
}

#[test]
fn without_an_identity_nothing_starts() {
    let (project, script) = project("{ mode: branch }");
    std::fs::remove_file(project.home().join(".gitconfig")).unwrap();
    run(&project, &script).expect(2).says(&[
        "git does not know who you are",
        "hint: `git config --global user.name",
        "nothing was started",
    ]);
    assert!(!project.path(".codeteam/state.db").exists());
    // It may also come from the environment, as in git.
    let done = project
        .codeteam(&["run", "x", "--script", &script])
        .env("GIT_AUTHOR_NAME", "Bea")
        .env("GIT_AUTHOR_EMAIL", "bea@example.org")
        .output()
        .unwrap();
    CommandResult::from(done).expect(0);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let who = project.git(&["log", "-1", "--format=%an <%ae>, %cn", &branch]);
    assert_eq!(who, "Bea <bea@example.org>, Bea");
}

mod current {
    use super::*;

    #[test]
    fn the_users_branch_is_moved_forward() {
        for git in ["{ mode: current }", "{ auto_branch: false }"] {
            let (project, _) = project(git);
            let script = project.script(ONE_TASK);
            project.git(&["remote", "add", "origin", "../origin"]);
            let before = project.git(&["rev-parse", "--short=10", "HEAD"]);
            let done = run(&project, &script).expect(0).says(&[
                "at the end main is moved forward",
                "main was moved forward to",
                &format!("branch  main, moved forward from {before}"),
                "push    git push -u origin main",
                &format!("undo    git reset --keep {before}"),
            ]);
            let shown = project.shown_run();
            assert_eq!(head(&project), shown["tip"].as_str().unwrap());
            assert_eq!(shown["branch"], "main");
            assert_eq!(branches(&project), ["main"]);
            assert_eq!(project.read("one.txt"), "done\n");
            assert_eq!(project.git(&["status", "--porcelain"]), "");
            // What it prints works, and so does having it again after it was taken back.
            for word in ["look", "undo"] {
                let prefix = format!("  {word:<7} ");
                let line = done.stderr.lines().find_map(|l| l.strip_prefix(&prefix));
                project.paste(line.unwrap()).expect(0);
            }
            assert!(!project.path("one.txt").exists());
            project.run(&["merge"]).expect(0);
            assert_eq!(project.read("one.txt"), "done\n");
            project
                .run(&["merge"])
                .expect(0)
                .says(&["main has everything"]);
        }
    }

    /// A run that stops before its last task, and goes on after something has happened.
    fn meanwhile(happens: impl FnOnce(&Project)) -> (Project, CommandResult) {
        let (project, _) = project("{ mode: current }");
        let script = project.script(TWO_TASKS);
        let args = ["run", "x", "--script", &script, "--max-attempts", "5"];
        project.run(&args).expect(4);
        happens(&project);
        let before = (head(&project), project.git(&["status", "--porcelain"]));
        let done = project.run(&["resume", "--max-attempts", "100"]).expect(0);
        let after = (head(&project), project.git(&["status", "--porcelain"]));
        assert_eq!(before, after, "{}", done.stderr);
        let done = done.says(&[
            "the commits stay where they are",
            "not moved:",
            "branch  codeteam/",
        ]);
        (project, done)
    }

    #[test]
    fn not_if_it_has_moved() {
        let (project, done) = meanwhile(|project| {
            project.write("mine.txt", "mine\n");
            project.commit("mine");
        });
        done.says(&["`main` has moved since the run began, to"]);
        // The work is there to be merged.
        project.run(&["merge"]).expect(0);
        assert_eq!(project.read("two.txt"), "right\n");
        assert_eq!(project.read("mine.txt"), "mine\n");
    }

    #[test]
    fn not_if_something_is_uncommitted() {
        let (project, done) = meanwhile(|project| project.write("hello.txt", "changed\n"));
        done.says(&[
            "the checkout has uncommitted changes: `hello.txt`",
            "merge   codeteam merge",
        ]);
        assert_eq!(project.read("hello.txt"), "changed\n");
    }

    #[test]
    fn not_if_an_untracked_file_is_in_the_way() {
        let (project, done) = meanwhile(|project| project.write("two.txt", "mine\n"));
        done.says(&["two.txt"]);
        assert_eq!(project.read("two.txt"), "mine\n");
    }

    #[test]
    fn not_if_another_branch_is_checked_out() {
        let (_, done) = meanwhile(|project| {
            project.git(&["switch", "--quiet", "--create", "other"]);
        });
        done.says(&["`main` is not checked out any more, `other` is"]);
    }

    #[test]
    fn not_if_none_is() {
        let (_, done) = meanwhile(|project| {
            project.git(&["switch", "--quiet", "--detach"]);
        });
        done.says(&["`main` is not checked out any more, no branch is"]);
        let (project, _) = project("{ mode: current }");
        let script = project.script(ONE_TASK);
        project.git(&["switch", "--quiet", "--detach"]);
        let before = head(&project);
        run(&project, &script).expect(0).says(&[
            "no branch is moved forward, because HEAD is detached",
            "no branch was checked out when the run began",
        ]);
        assert_eq!(head(&project), before);
    }

    #[test]
    fn nor_by_a_run_that_fails() {
        let (project, _) = project("{ mode: current }");
        let script = project.script(TWO_TASKS);
        let before = head(&project);
        let args = ["run", "x", "--script", &script, "--max-attempts", "5"];
        project.run(&args).expect(4);
        project.run(&["abort"]).expect(0);
        assert_eq!(head(&project), before);
        assert_eq!(branches(&project).len(), 2);
    }
}

mod patch {
    use super::*;

    #[test]
    fn a_patch_is_left_and_no_branch() {
        let (project, script) =
            project("{ mode: none, commit_message_format: '[{task_id}] {summary}' }");
        let before = project.checkout();
        let done = run(&project, &script).expect(0);
        let done = done.says(&[
            "started without a branch",
            "the changes are in .codeteam/runs/",
        ]);
        assert_eq!(project.checkout(), before);
        assert_eq!(branches(&project), ["main"]);
        let line = |word: &str| {
            let prefix = format!("  {word:<7} ");
            let found = done.stderr.lines().find_map(|l| l.strip_prefix(&prefix));
            found
                .unwrap_or_else(|| panic!("no {word}: {}", done.stderr))
                .to_owned()
        };
        project.paste(&line("look")).expect(0);
        project.paste(&line("apply")).expect(0);
        assert_eq!(project.read("three.txt"), "done\n");
        assert_eq!(project.git(&["rev-list", "--count", "main"]), "2");
        project.git(&["reset", "--hard", "--quiet"]);
        let am = line("or").replace(" (with its commits)", "");
        project.paste(&am).expect(0);
        assert_eq!(
            subjects(&project, "main~3..main"),
            ["[one] First", "[two] Second", "[three] Third"]
        );
        let tip = project.shown_run()["tree"].as_str().unwrap().to_owned();
        assert_eq!(project.git(&["rev-parse", "HEAD^{tree}"]), tip);
        // Nothing is lost, and it can be merged all the same.
        let id = project.shown_run()["run"].as_str().unwrap().to_owned();
        let kept = project.git(&["rev-parse", &format!("refs/codeteam/{id}/tip^{{tree}}")]);
        assert_eq!(kept, tip);
        project.git(&["reset", "--hard", "--quiet", "HEAD~3"]);
        project.run(&["merge", "--no-ff"]).expect(0);
        let message = project.git(&["log", "-1", "--format=%s"]);
        assert_eq!(message, format!("Merge run {id}"));
    }

    #[test]
    fn a_workflow_that_publishes_has_nothing_to_publish() {
        let (project, script) = project("{ mode: none }");
        let set = "workflow={ extends: lean, settings: { auto_pr: true } }";
        let args = ["run", "x", "--script", &script, "--set", set];
        project.run(&args).expect(2).says(&[
            "with `git.mode: none` there is none",
            "hint: set `git.mode`",
        ]);
    }
}

/// Whatever codeteam dies after, the commits are handed over as if nothing had happened.
#[test]
fn killed_while_it_hands_over() {
    for (mode, moved) in [("current", true), ("none", false)] {
        let project = || {
            let (project, _) = project(&format!("{{ mode: {mode} }}"));
            let script = project.script(ONE_TASK);
            (project, script)
        };
        let events = {
            let (project, script) = project();
            run(&project, &script).expect(0);
            let count = project.events().len();
            assert_eq!(project.count("delivered"), 1);
            count
        };
        let mut failpoints: Vec<String> = (events - 6..=events)
            .map(|n| format!("appended:{n}"))
            .collect();
        failpoints.extend((4..8).map(|n| format!("performed:{n}")));
        let mut killed = 0;
        for failpoint in failpoints {
            let (project, script) = project();
            let output = project
                .codeteam(&["run", "One thing", "--script", &script])
                .env("CODETEAM_FAILPOINT", &failpoint)
                .output()
                .unwrap();
            if output.status.code().is_some() {
                continue;
            }
            killed += 1;
            project.run(&["resume"]).expect(0);
            assert_eq!(branches(&project), ["main"], "{failpoint}");
            assert_eq!(project.path("one.txt").exists(), moved, "{failpoint}");
            assert_eq!(project.git(&["status", "--porcelain"]), "", "{failpoint}");
            let shown = project.shown_run();
            assert_eq!(shown["status"], "completed");
            if !moved {
                let file = shown["delivered"]["patch"]["file"].as_str().unwrap();
                assert!(project.read(file).contains("+done"), "{failpoint}");
            }
        }
        assert!(killed >= 8, "killed {killed} times only");
    }
}

mod asked {
    use super::*;

    #[test]
    fn before_the_first_commit_with_what_it_would_be() {
        let (project, script) = project("{ dry_run_preview: true, mode: current }");
        let done = run(&project, &script).expect(3).says(&[
            "git preview:",
            "branch  codeteam/",
            "base    main (",
            "then    at the end main is moved forward to it",
            "commit  Do one",
            "files   one.txt       +1 -0",
            "tests/one.sh  +1 -0",
            "on      codeteam/",
            "(at the end main is moved forward to it)",
            "trailer Codeteam-Run: ",
            "Codeteam-Task: one",
            "This would be committed. Commit it?",
        ]);
        assert_eq!(branches(&project), ["main"]);
        let shown = project.run(&["show"]).expect(0);
        assert!(shown.stderr.contains("commit  Do one"), "{}", shown.stderr);
        let commands = done.commands("answer");
        assert_eq!(commands.len(), 3, "{commands:?}");
        project.paste(&commands[0]).expect(0);
        project.run(&["resume"]).expect(0);
        assert_eq!(project.count("asked"), 1);
        assert_eq!(project.read("three.txt"), "done\n");
    }

    #[test]
    fn before_a_run_starts_and_before_it_is_merged() {
        let (project, script) = project("{ dry_run_preview: true, mode: branch }");
        let mut refused = project.terminal(&["run", "x", "--script", &script]);
        refused.until("Start the run? [Y/n]");
        refused.line("n");
        refused.until("nothing was started");
        refused.end(0);
        assert_eq!(branches(&project), ["main"]);
        let done = run(&project, &script).expect(3);
        project.paste(&done.commands("answer")[0]).expect(0);
        project.run(&["resume"]).expect(0);
        let before = head(&project);
        let mut refused = project.terminal(&["merge"]);
        refused.until("commit  Do one");
        refused.until("files   one.txt");
        refused.until("target  main (");
        refused.until("Merge it? [Y/n]");
        refused.line("n");
        refused.until("nothing was merged");
        refused.end(0);
        assert_eq!(head(&project), before);
        let merged = project.run(&["merge"]).expect(0);
        merged.says(&["git preview:", "target  main ("]);
        assert_ne!(head(&project), before);
    }

    #[test]
    fn at_a_terminal_it_is_shown_and_asked_there() {
        let (project, script) = project("{ mode: branch }");
        let args = ["run", "x", "--preview", "--script", &script];
        let mut run = project.terminal(&args);
        run.until("base    main (");
        run.until("Start the run? [Y/n]");
        run.line("y");
        run.until("commit  Do one");
        run.until("tests/one.sh  +1 -0");
        run.until("This would be committed. Commit it?");
        run.until("> ");
        run.line("/commit");
        run.end(0);
        assert_eq!(project.committed_file("three.txt"), "done");
    }

    #[test]
    fn by_the_flag_alone_and_approve_says_yes() {
        let (project, _) = project("{ mode: branch }");
        let script = project.script(ONE_TASK);
        project
            .run(&["run", "x", "--preview", "--script", &script])
            .expect(3)
            .says(&["(nothing is merged or pushed)"]);
        project.run(&["approve"]).expect(0);
        project.run(&["resume"]).expect(0);
    }

    #[test]
    fn before_every_commit_if_they_are_not_automatic() {
        let (project, script) = project("{ auto_commit: false }");
        run(&project, &script).expect(3);
        project.run(&["approve"]).expect(0);
        project.run(&["resume"]).expect(3).says(&["commit  Do two"]);
        // What is sent back is done again, and asked about again.
        project.run(&["reject", "-m", "not like that"]).expect(0);
        let again = project.run(&["resume"]).expect(3);
        again.says(&[
            "coder at work (scripted), round 3",
            "This is the change of round 2 again, which `ada` rejected",
        ]);
    }

    #[test]
    fn what_is_left_is_not_committed_and_not_lost() {
        let (project, script) = project("{ auto_commit: false }");
        let done = run(&project, &script).expect(3);
        let leave = &done.commands("answer")[2];
        assert!(leave.ends_with(" leave"), "{leave}");
        project.paste(leave).expect(0);
        project.run(&["resume"]).expect(1);
        assert_eq!(branches(&project), ["main"]);
        assert!(!project.worktrees().is_empty());
        project.run(&["retry"]).expect(3);
        project.run(&["approve"]).expect(0);
        project.run(&["resume"]).expect(3).says(&["committed"]);
    }
}

#[test]
fn the_plans_file_tells_what_is_committed() {
    let (project, script) = project("{ auto_commit: false }");
    run(&project, &script).expect(3);
    let plan = || project.read(".codeteam/planning/feature-0001/plan.yml");
    assert!(!plan().contains("completed"), "{}", plan());
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(3);
    let completed = plan().matches("status: \"completed\"").count();
    assert_eq!(completed, 1, "{}", plan());
}
