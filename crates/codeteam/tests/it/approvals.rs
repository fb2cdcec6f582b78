//! Approval of changes by risk: who is asked, who may answer, how they are known, and what nobody
//! gets through.

use crate::project::{CommandResult, Project};

/// A coder, and a commit; no step asks anybody.
const FLOW: &str = r"
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: commit }
  commit: { commit: branch, next: done }
";

/// A coder that changes the code of a login.
const CODER: &str = r#"
version: 1
plays:
  - match: { role: coder }
    do:
      - write: { path: src/auth.py, content: "def login(user, round={{round}}):\n    pass\n" }
      - submit: { summary: Made it }
"#;

/// Whoever may approve, and changes that need it.
fn policy(approvers: &str, action: &str) -> String {
    format!(
        "approval_gates:\n  high_risk:\n    conditions: [ changes_auth_code ]\n    action: {action}\n    \
         approvers: [ {approvers} ]\n"
    )
}

fn people(more: &str) -> String {
    format!(
        "people:\n  ada: {{ uid: {} }}\n  anna: {{ uid: 54321{more} }}\n  ben: {{ uid: 54322 }}\ngroups: {{ security: [ anna, ben ] }}\n",
        Project::own_uid()
    )
}

fn project(config: &str) -> Project {
    let project = Project::new();
    project.user_config(config);
    project
}

/// Starts the run; it ends with this exit code.
fn start(project: &Project, code: i32) -> CommandResult {
    let (script, workflow) = (project.script(CODER), project.workflow(FLOW));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(code)
}

/// Returns why the last decision was refused.
fn refusal(project: &Project) -> String {
    let events = project.events();
    let mut refused = events
        .iter()
        .rev()
        .filter(|e| e["event"]["type"] == "decision_refused");
    let refused = refused.next().unwrap();
    refused["event"]["why"].as_str().unwrap().to_owned()
}

#[test]
fn a_risky_change_waits_and_the_inbox_says_what_answers_it() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("ada", "require_approval")
    ));
    start(&project, 3).says(&[
        "a person must decide: Approve this change? Its risk is high.",
        "`src/auth.py` is in `auth`",
        "needs 1 of ada",
    ]);
    let inbox = project.json(&["inbox", "--json"]);
    assert_eq!(inbox[0]["risk"], "high", "{inbox}");
    assert_eq!(inbox[0]["reason"], "question");
    assert_eq!(inbox[0]["your_vote"], "wanted");
    let asked = project.events();
    let asked = asked
        .iter()
        .find(|e| e["event"]["type"] == "approval_requested")
        .unwrap();
    assert_eq!(inbox[0]["question_id"], asked["event"]["question"]);
    let shown = project.run(&["inbox"]).expect(0);
    for part in ["high     ", "codeteam approve", "goal: x"] {
        assert!(shown.stdout.contains(part), "{}", shown.stdout);
    }
    let all = project.json(&["inbox", "--all", "--json"]);
    let place = all[0]["project"].as_str().unwrap();
    assert_eq!(place, project.root().display().to_string());

    let risk = project.json(&["risk", "--json"]);
    assert_eq!(risk[0]["risk"], "high", "{risk}");
    assert_eq!(risk[0]["in_force"], true);
    let told = project.run(&["risk"]).expect(0).stdout;
    for line in [
        "run: high risk",
        "changes_auth_code holds: `src/auth.py` is in `auth`",
    ] {
        assert!(told.contains(line), "{told}");
    }

    project.run(&["approve"]).expect(0);
    let shown = project.run(&["inbox"]).expect(0).stdout;
    assert!(
        shown.contains("decided: `approve` as the answer for the run (by ada)"),
        "{shown}"
    );
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by ada"]);
    let voted = project.events();
    let voted = voted
        .iter()
        .find(|e| e["event"]["type"] == "voted")
        .unwrap();
    assert_eq!(voted["event"]["by"]["person"], "ada");
    assert_eq!(voted["event"]["by"]["proof"]["uid"], Project::own_uid());
    assert!(project.committed_file("src/auth.py").contains("login"));
    assert_eq!(project.json(&["inbox", "--json"]), serde_json::json!([]));
}

#[test]
fn a_harmless_change_is_let_through_by_the_policy() {
    let config =
        "approval_gates: { all: { conditions: [ 'file_count < 9' ], action: auto_approve } }\n";
    let project = project(config);
    start(&project, 0).says(&["goes on by the approval policy: its risk is low"]);
    assert_eq!(project.count("approval_granted"), 1);
}

#[test]
fn a_rejection_goes_back_with_its_words() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("ada", "require_approval")
    ));
    start(&project, 3);
    project
        .run(&["reject", "-m", "Hash the password"])
        .expect(0);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["Hash the password", "round 2"]);
    assert_eq!(project.count("committed"), 0);
}

#[test]
fn nobody_is_somebody_else_by_a_variable() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("security", "require_approval")
    ));
    start(&project, 3);
    let mut command = project.codeteam(&["approve"]);
    command.env("USER", "anna").env("LOGNAME", "anna");
    let refused = CommandResult::from(command.output().unwrap());
    refused.expect(2).says(&[
        "your decision was refused: ada may not decide this: it needs 1 of anna, ben",
        "nothing was decided by it",
    ]);
    let inbox = project.json(&["inbox", "--json"]);
    assert_eq!(inbox[0]["your_vote"], "not_theirs", "{inbox}");
    let shown = project.run(&["inbox"]).expect(0).stdout;
    assert!(shown.contains("others decide this, not you"), "{shown}");
    // Nor does the process that drives the run believe it.
    post(&project, "approve", "");
    project.run(&["resume"]).expect(3);
    assert_eq!(
        refusal(&project),
        "ada may not decide this: it needs 1 of anna, ben"
    );

    // Nor can a variable or an option say who somebody is.
    let uid = Project::own_uid().to_string();
    let anna = ("CODETEAM_PEOPLE__ANNA__UID", uid.as_str());
    for command in ["approve", "resume"] {
        let mut command = project.codeteam(&[command]);
        command.env(anna.0, anna.1).output().unwrap();
    }
    assert_eq!((project.count("voted"), project.count("committed")), (0, 0));
    let (script, workflow) = (project.script(CODER), project.workflow(FLOW));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    let says = ["`people` says who may approve changes, so it stands in a file only"];
    let mut command = project.codeteam(&args);
    let done = command.env(anna.0, anna.1).output().unwrap();
    CommandResult::from(done).expect(2).says(&says);
    let set = format!("people.anna.uid={uid}");
    let args = [&args[..], &["--set", set.as_str()]].concat();
    project.run(&args).expect(2).says(&says);
}

#[test]
fn a_later_change_of_the_configuration_makes_nobody_an_approver() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("security", "require_approval")
    ));
    start(&project, 3);
    // The people of a run are those it began with.
    project.user_config(&format!(
        "people:\n  anna: {{ uid: {} }}\n  ben: {{ uid: 54322 }}\ngroups: {{ security: [ anna, ben ] }}\n{}",
        Project::own_uid(),
        policy("security", "require_approval")
    ));
    project.run(&["approve"]).expect(2);
    post(&project, "approve", "");
    project.run(&["resume"]).expect(3);
    assert_eq!(
        refusal(&project),
        "ada may not decide this: it needs 1 of anna, ben"
    );
}

/// Puts an answer of this user to the newest question for approval into the inbox, as a command
/// would that does not look whether it will be refused.
fn post(project: &Project, answer: &str, note: &str) {
    let events = project.events();
    let mut asked = events
        .iter()
        .rev()
        .filter(|e| e["event"]["type"] == "approval_requested");
    let decision = serde_json::json!({
        "decision": "answer", "question": asked.next().unwrap()["event"]["question"],
        "answer": answer, "note": note,
    });
    post_decision(project, &decision);
}

fn post_decision(project: &Project, decision: &serde_json::Value) {
    let posted =
        serde_json::json!({ "by": "ada", "uid": Project::own_uid(), "decision": decision });
    let log = rusqlite::Connection::open(project.path(".codeteam/state.db")).unwrap();
    let sql = "INSERT INTO inbox (run, at, data)
               SELECT (SELECT id FROM runs ORDER BY key DESC LIMIT 1), 0, ?1";
    assert_eq!(log.execute(sql, [posted.to_string()]).unwrap(), 1);
}

/// The waiting message of the inbox, with other words in it.
fn forge(project: &Project, change: &[(&str, &str)]) {
    let file = project.path(".codeteam/state.db");
    let log = rusqlite::Connection::open(file).unwrap();
    let data: String = log
        .query_row(
            "SELECT data FROM inbox ORDER BY id DESC LIMIT 1",
            (),
            |row| row.get(0),
        )
        .unwrap();
    let mut forged = data;
    for (from, to) in change {
        assert!(forged.contains(from), "{forged}");
        forged = forged.replace(from, to);
    }
    let sql = "INSERT INTO inbox (run, at, data) SELECT run, at, ?1 FROM inbox LIMIT 1";
    assert_eq!(log.execute(sql, [&forged]).unwrap(), 1);
}

#[test]
fn nobody_is_somebody_else_by_the_inbox_table() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("security", "require_approval")
    ));
    start(&project, 3);
    post(&project, "approve", "");
    let own = format!("\"uid\":{}", Project::own_uid());
    forge(&project, &[("\"by\":\"ada\"", "\"by\":\"anna\"")]);
    forge(&project, &[(&own, "\"uid\":54321")]);
    let done = project.run(&["resume"]).expect(3);
    done.says(&["it is not known who decided as `anna`"]);
    assert_eq!(project.count("voted"), 0);
    assert!(refusal(&project).contains("codeteam does not know who `anna` is"));
}

#[test]
fn a_log_that_others_may_write_speaks_for_nobody() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("ada", "require_approval")
    ));
    start(&project, 3);
    project.run(&["approve"]).expect(0);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(project.path(".codeteam/state.db"), open).unwrap();
    project
        .run(&["resume"])
        .expect(3)
        .says(&["others than its owner may write the log"]);
    assert_eq!(project.count("voted"), 0);
}

/// Makes a key pair and returns the file of the private key and the public key.
fn key(project: &Project, name: &str) -> (String, String) {
    let file = project.home().join(name);
    let mut command = Project::program("ssh-keygen".as_ref());
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
        .arg(&file);
    assert!(command.status().unwrap().success());
    let public = std::fs::read_to_string(file.with_extension("pub")).unwrap();
    (file.display().to_string(), public.trim().to_owned())
}

#[test]
fn a_signature_is_a_persons_own_and_is_worth_nothing_elsewhere() {
    let project = Project::new();
    let (anna, public) = key(&project, "anna");
    let (other, _) = key(&project, "other");
    let keys = format!(", signing_keys: [ '{public}' ]");
    project.user_config(&format!(
        "{}{}",
        people(&keys),
        policy("anna", "require_approval")
    ));
    start(&project, 3);

    // A key that nobody has, and no key at all.
    project
        .run(&["approve", "--sign", "--key", &other])
        .expect(2)
        .says(&["codeteam does not know who `ada` is"]);
    project
        .run(&["approve", "--sign"])
        .expect(2)
        .says(&["there is no key to sign with"]);

    // A signature over another answer.
    project
        .run(&["reject", "-m", "no", "--sign", "--key", &anna])
        .expect(0);
    forge(
        &project,
        &[("\"answer\":\"reject\"", "\"answer\":\"approve\"")],
    );
    let file = project.path(".codeteam/state.db");
    let log = rusqlite::Connection::open(file).unwrap();
    // Only the forged one is left.
    log.execute(
        "UPDATE inbox SET consumed_seq = 1 WHERE id = (SELECT max(id) - 1 FROM inbox)",
        (),
    )
    .unwrap();
    drop(log);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["its signature is not of anybody who is known here"]);
    assert_eq!(project.count("voted"), 0);

    project
        .run(&["approve", "--sign", "--key", &anna])
        .expect(0);
    forge(&project, &[]);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by anna"]);
    let votes = project.events();
    let votes: Vec<_> = votes
        .iter()
        .filter(|e| e["event"]["type"] == "voted")
        .collect();
    assert_eq!(votes.len(), 1, "a vote that is repeated counts once");
    assert!(votes[0]["event"]["by"]["proof"]["signature"].is_string());

    // The same vote on another run is nothing.
    start(&project, 3);
    let log = rusqlite::Connection::open(project.path(".codeteam/state.db")).unwrap();
    let sql = "INSERT INTO inbox (run, at, data) SELECT (SELECT id FROM runs ORDER BY key DESC LIMIT 1), at, data
               FROM inbox ORDER BY id DESC LIMIT 1";
    assert_eq!(log.execute(sql, ()).unwrap(), 1);
    drop(log);
    project.run(&["resume"]).expect(3);
    assert_eq!(project.count("voted"), 0);
}

#[test]
fn two_people_have_to_be_two_people() {
    let project = Project::new();
    let (anna, public) = key(&project, "anna");
    let keys = format!(", signing_keys: [ '{public}' ]");
    let action = "require_multi_approval";
    project.user_config(&format!(
        "{}{}",
        people(&keys),
        policy("ada, anna, ben", action)
    ));
    start(&project, 3).says(&["2 of ada, anna, ben, not counting ada, who began the run"]);
    project.run(&["approve"]).expect(2);
    post(&project, "approve", "");
    project
        .run(&["approve", "--sign", "--key", &anna])
        .expect(0);
    project.run(&["resume"]).expect(3);
    assert_eq!((project.count("voted"), project.count("committed")), (1, 0));

    // Where it is allowed, whoever began the run counts.
    let config = format!(
        "{}{}approvals: {{ allow_self: true }}\n",
        people(&keys),
        policy("ada, anna", action)
    );
    project.user_config(&config);
    start(&project, 3);
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(3);
    project
        .run(&["approve", "--sign", "--key", &anna])
        .expect(0);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by ada, anna"]);
}

#[test]
fn an_override_has_a_reason_and_is_no_verification() {
    let config = format!(
        "{}{}approvals: {{ overriders: [ ada ] }}\n",
        people(""),
        policy("security", "require_approval")
    );
    let project = project(&config);
    start(&project, 3);
    project
        .run(&["approve", "--override"])
        .expect(2)
        .says(&["your decision was refused: an override needs a reason"]);
    post(&project, "override", "");
    project.run(&["resume"]).expect(3);
    assert_eq!(refusal(&project), "an override needs a reason");
    project
        .run(&["approve", "--override", "-m", "the site is down"])
        .expect(0);
    project.run(&["resume"]).expect(0);
    let branch = project.shown_run()["branch"].as_str().unwrap().to_owned();
    let message = project.git(&["log", "-1", "--format=%B", &branch]);
    assert!(message.contains("Codeteam-Accepted-By: ada"), "{message}");
    assert!(!message.contains("Codeteam-Verified"), "{message}");
}

#[test]
fn a_worker_votes_for_nobody() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("ada", "require_approval")
    ));
    let binary = env!("CARGO_BIN_EXE_codeteam");
    let script = project.script(&format!(
        r#"
version: 1
plays:
  - match: {{ role: coder }}
    do:
      - write: {{ path: src/auth.py, content: "x = 1\n" }}
      - run: '{binary} -C {root} approve; {binary} -C {root} answer approve; cat {root}/.codeteam/state.db; true'
      - submit: {{ summary: Made it }}
"#,
        root = project.root().display()
    ));
    let workflow = project.workflow(FLOW);
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(3);
    assert_eq!(project.count("voted") + project.count("committed"), 0);
}

#[test]
fn a_repository_gives_itself_no_power() {
    let project = project(&format!(
        "{}{}",
        people(""),
        policy("ada", "require_approval")
    ));
    let uid = Project::own_uid();
    for (key, value) in [
        ("people", format!("{{ mallory: {{ uid: {uid} }} }}")),
        ("groups", "{ security: [ ada ] }".to_owned()),
        ("approvals", "{ overriders: [ ada ] }".to_owned()),
        (
            "notify",
            "{ channels: { x: { kind: command, command: [ touch, owned ] } } }".to_owned(),
        ),
    ] {
        project.config(&format!("worker: scripted\n{key}: {value}\n"));
        let said = format!("`{key}` decides");
        start(&project, 2).says(&[&said, "so the repository cannot say it"]);
    }
    // Its own policy is met as well as the user's, and cannot replace it.
    project.config(
        "worker: scripted\napproval_gates:\n  high_risk: { conditions: [], action: auto_approve }\n",
    );
    start(&project, 3).says(&["needs 1 of ada"]);
    // It adds to the sets of paths, and takes nothing out of them.
    for risk in ["~", "{ paths: ~ }", "{ paths: { auth: ~ } }"] {
        project.config(&format!("worker: scripted\nrisk: {risk}\n"));
        start(&project, 2).says(&["takes out paths by which the risk of a change is judged"]);
    }
}

#[test]
fn a_repository_can_ask_for_more() {
    let project = project("");
    project.config(
        "worker: scripted\napproval_gates:\n  high_risk: { conditions: [ changes_auth_code ], action: require_approval }\n",
    );
    start(&project, 3).says(&["needs 1 of the people who are known here"]);
    project.run(&["approve"]).expect(0);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by ada"]);
}

#[test]
fn a_policy_that_nobody_can_meet_is_refused_before_anything_starts() {
    let project = project(&policy("tech_lead", "require_approval"));
    start(&project, 2).says(&["names `tech_lead`, and neither `people` nor `groups`"]);
    project.user_config(
        "approval_gates: { high: { conditions: [ file_cuont < 3 ], action: require_approval } }\n",
    );
    start(&project, 2).says(&["did you mean `file_count`?"]);
    project.user_config(&format!(
        "{}people: {{ a: {{ uid: 7 }}, b: {{ uid: 7 }} }}\n",
        policy("a", "require_approval")
    ));
    start(&project, 2).says(&["one person with two votes"]);
}

#[test]
fn where_nobody_can_be_notified_nothing_goes_on_by_time() {
    let level = "approval_gates: { medium: { conditions: [ 'file_count < 9' ], action: notify_and_timeout, timeout_minutes: 1 } }\n";
    let project = project(level);
    start(&project, 3).says(&[
        "nobody could be notified, so it waits for a person; while codeteam runs, it tries again at",
        "--wait (time passes only while codeteam runs)",
    ]);
    assert_eq!(project.count("committed"), 0);
}

/// Moves the time at which an approval was asked for to two hours before, as if nobody had driven the
/// run since.
fn let_time_pass(project: &Project) {
    const GUARD: &str = "CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE (ABORT, 'events are append-only'); END;";
    let log = rusqlite::Connection::open(project.path(".codeteam/state.db")).unwrap();
    log.execute_batch("DROP TRIGGER events_are_never_changed")
        .unwrap();
    let sql =
        "UPDATE events SET data = json_set(data, '$.at', json_extract(data, '$.at') - 7200000)
               WHERE kind = 'approval_requested'";
    assert_eq!(log.execute(sql, ()).unwrap(), 1);
    log.execute_batch(GUARD).unwrap();
}

/// Resumes the run, and dies as soon as so many events are written.
fn die_in_resume(project: &Project, events: u64) {
    let mut command = project.codeteam(&["resume"]);
    command.env("CODETEAM_FAILPOINT", format!("appended:{events}"));
    let status = command.output().unwrap().status;
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(9), "{status}");
}

#[test]
fn a_deadline_that_passed_while_nobody_drove_is_said_and_acted_on_once() {
    let late = "    timeout_minutes: 90\n    on_timeout: escalate\n    escalate_to: [ ben ]\n";
    let project = project(&format!(
        "{}{}{late}",
        people(""),
        policy("anna", "require_approval")
    ));
    start(&project, 3);
    let id = project.shown_run()["run"].as_str().unwrap().to_owned();
    let resume = format!("codeteam resume {id} --wait");
    // Before its time, it is said what keeps the deadline.
    let note = format!("time passes only while codeteam runs: `{resume}`");
    for command in ["inbox", "status"] {
        let shown = project.run(&[command]).expect(0).stdout;
        assert!(shown.contains(&note), "{shown}");
    }
    let_time_pass(&project);
    let inbox = project.json(&["inbox", "--json"]);
    let deadline = &inbox[0]["idle_deadline"];
    assert_eq!(deadline["is_over"], true, "{inbox}");
    assert_eq!(deadline["command"], resume.as_str());
    for command in ["inbox", "status"] {
        let shown = project.run(&[command]).expect(0).stdout;
        assert!(shown.contains("overdue since "), "{shown}");
        let then = format!("once codeteam runs again, ben may approve it too: `{resume}`");
        assert!(shown.contains(&then), "{shown}");
    }
    assert_eq!(
        project.count("approval_timed_out"),
        0,
        "looking does nothing"
    );
    // Whoever resumes it dies right after the deadline was acted on, and somebody resumes it again.
    die_in_resume(&project, 1);
    assert_eq!(project.count("approval_timed_out"), 1);
    project.run(&["resume"]).expect(3);
    project.run(&["resume"]).expect(3);
    assert_eq!(project.count("approval_timed_out"), 1);
    let shown = project.run(&["inbox"]).expect(0).stdout;
    assert!(!shown.contains("overdue"), "{shown}");
    assert!(shown.contains("needs 1 of anna, ben"), "{shown}");
}

#[test]
fn an_overdue_rejection_waits_until_people_can_see_it() {
    let late = "    timeout_minutes: 90\n    on_timeout: reject\n";
    let project = project(&format!(
        "{}{}{late}",
        people(""),
        policy("ada", "require_approval")
    ));
    start(&project, 3);
    let_time_pass(&project);
    let shown = project.run(&["inbox"]).expect(0).stdout;
    let then = "it counts as rejected if nobody approves it within 10 minutes after that";
    assert!(shown.contains(then), "{shown}");
    die_in_resume(&project, 1);
    project.run(&["resume"]).expect(3);
    assert_eq!(project.count("frame_ended"), 0);
    // Who decides now still decides.
    project.run(&["approve"]).expect(0);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by ada"]);
}

#[test]
fn the_deadline_counts_from_the_delivery_and_a_vote_comes_before_it() {
    let level = "approval_gates: { medium: { conditions: [ 'file_count < 9' ], action: notify_and_timeout, notification: desk } }\n";
    let project = Project::new();
    let note = project.home().join("note.json");
    let command = format!("[ sh, -c, 'cat > {}' ]", note.display());
    project.user_config(&format!(
        "{level}notify: {{ channels: {{ desk: {{ kind: command, command: {command} }}, broken: {{ kind: command, command: [ \"false\" ] }} }} }}\n"
    ));
    let (script, workflow) = (project.script(CODER), project.workflow(FLOW));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    let mut run = project.start(&args);
    run.until("people were notified (desk); it goes on at");
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&note).unwrap()).unwrap();
    assert_eq!(told["type"], "codeteam.needs_you");
    let data = &told["data"];
    assert_eq!(
        (&data["risk"], &data["goal"]),
        (&"medium".into(), &"x".into())
    );
    let root = project.root();
    assert_eq!(data["project"], root.display().to_string());
    let name = root.file_name().unwrap().to_string_lossy();
    let title = format!("{name}: A change of medium risk in `run` goes on in ");
    assert!(
        data["title"].as_str().unwrap().starts_with(&title),
        "{told}"
    );
    // Its commands work as they are.
    let command = |command: &serde_json::Value| project.paste(command.as_str().unwrap());
    let shown = command(&data["command"]).expect(0);
    assert!(shown.stdout.contains("goal      x"), "{}", shown.stdout);
    let inbox = project.json(&["inbox", "--json"]);
    assert!(inbox[0]["goes_on_at"].is_u64(), "{inbox}");
    command(&data["answers"][0]).expect(0);
    run.until("approved by ada");
}

#[test]
fn whoever_votes_is_told_by_the_run_that_takes_the_vote() {
    let project = project(&format!(
        "{}{}approvals: {{ overriders: [ ada ] }}\n",
        people(""),
        policy("security", "require_approval")
    ));
    let (script, workflow) = (project.script(CODER), project.workflow(FLOW));
    let args = [
        "run",
        "x",
        "--wait",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ];
    let mut run = project.start(&args);
    run.until("a person must decide");
    project
        .run(&["approve"])
        .expect(2)
        .says(&["your decision was refused: ada may not decide this: it needs 1 of anna, ben"]);
    run.until("ada's decision cannot be followed");
    let said = project.run(&["approve", "--override", "-m", "the site is down"]);
    said.expect(0)
        .says(&["the change is approved; the codeteam that drives"]);
    run.until("committed");
    run.end().expect(0);
    assert_eq!(project.count("decision_refused"), 1);
}

#[test]
fn a_vote_is_handed_to_somebody_else() {
    let project = Project::new();
    let (anna, public) = key(&project, "anna");
    let keys = format!(", signing_keys: [ '{public}' ]");
    let late = "    timeout_minutes: 90\n    on_timeout: escalate\n    escalate_to: [ ben ]\n";
    project.user_config(&format!(
        "{}{}{late}",
        people(&keys),
        policy("ada", "require_approval")
    ));
    start(&project, 3).says(&[
        "needs 1 of ada; after 90 min ben may approve it too",
        "--wait (time passes only while codeteam runs)",
    ]);
    let shown = project.run(&["inbox"]).expect(0).stdout;
    assert!(shown.contains(": ben may approve it too"), "{shown}");
    let inbox = project.json(&["inbox", "--json"]);
    assert_eq!(inbox[0]["timeout"]["action"], "escalate", "{inbox}");

    // Nobody else can hand over the vote, not even whoever would get it, and the words of a signature
    // are no other words.
    project
        .run(&["delegate", "--to", "anna", "--sign", "--key", &anna])
        .expect(2)
        .says(&["anna has no vote of their own here"]);
    project
        .run(&["delegate", "--to", "nina"])
        .expect(2)
        .says(&["this run does not know `nina`"]);
    let events = project.events();
    let asked = events
        .iter()
        .find(|e| e["event"]["type"] == "approval_requested")
        .unwrap();
    let question = &asked["event"]["question"];
    post_decision(
        &project,
        &serde_json::json!({ "decision": "delegate", "question": question, "to": "nina", "note": "" }),
    );
    project.run(&["resume"]).expect(3);
    assert!(refusal(&project).contains("this run does not know `nina`"));

    project
        .run(&["delegate", "--to", "anna", "-m", "on leave"])
        .expect(0);
    let shown = project.run(&["status"]).expect(0).stdout;
    assert!(
        shown.contains("hand the vote to anna: \"on leave\""),
        "{shown}"
    );
    project
        .run(&["resume"])
        .expect(3)
        .says(&["hands their vote to anna (on leave)"]);
    post(&project, "approve", "");
    project.run(&["resume"]).expect(3);
    assert!(refusal(&project).contains("ada may not decide this: it needs 1 of anna"));
    project
        .run(&["approve", "--sign", "--key", &anna])
        .expect(0);
    project
        .run(&["resume"])
        .expect(0)
        .says(&["approved by anna"]);
}

#[test]
fn a_signed_delegation_is_no_vote_and_none_to_somebody_else() {
    let project = Project::new();
    let (anna, public) = key(&project, "anna");
    let keys = format!(", signing_keys: [ '{public}' ]");
    project.user_config(&format!(
        "{}{}",
        people(&keys),
        policy("anna", "require_approval")
    ));
    start(&project, 3);
    let delegate = ["delegate", "--to", "ben", "--sign", "--key", &anna];
    project.run(&delegate).expect(0);
    forge(&project, &[("\"to\":\"ben\"", "\"to\":\"ada\"")]);
    forge(
        &project,
        &[
            ("\"decision\":\"delegate\"", "\"decision\":\"answer\""),
            ("\"to\":\"ada\"", "\"answer\":\"approve\""),
        ],
    );
    project.run(&["resume"]).expect(3);
    assert_eq!(project.count("voted"), 0);
    let delegated = project.events();
    let delegated: Vec<_> = delegated
        .iter()
        .filter(|e| e["event"]["type"] == "approval_delegated")
        .collect();
    assert_eq!(delegated.len(), 1);
    assert_eq!(delegated[0]["event"]["to"], "ben");
}
