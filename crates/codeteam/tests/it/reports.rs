//! The files about a run that people read while it is judged: reports, criteria, feedback on the
//! plan, the coder's log. Also the state of a plan by these files alone.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::project::{CommandResult, Project};

/// A plan that is checked, then each task coded, checked, verified and judged by a person.
const JUDGED: &str = r"
start: plan
roles:
  planner: { kind: planner }
  plan_verifier: { kind: gatekeeper }
  coder: { kind: implementer }
  architecture: { kind: gatekeeper }
  security: { kind: gatekeeper }
steps:
  plan: { role: planner, when: { not: { plan: given } }, next: check }
  check: { role: plan_verifier, when: { not: { plan: given } }, next: tasks, on_reject: plan }
  tasks:
    each: task
    next: done
    steps:
      code: { role: coder, next: verify }
      verify: { gate: project, next: review, on_fail: code }
      review: { roles: [ architecture, architecture, architecture, security ], join: roles, next: judge, on_reject: judge }
      judge:
        person: Accept the changes?
        answers:
          accept: commit
          reject: { next: code, rejects: true }
      commit: { commit: branch, next: done }
";

const SCRIPT: &str = r#"
version: 1
plays:
  - match: { role: planner, generation: 1 }
    do: [ { submit: { plan: { plan_id: feature-0099, description: Two things, tasks: [ { id: one } ] } } } ]
  - match: { role: planner }
    do:
      - submit:
          plan:
            description: Two things
            tasks:
              - { id: one, title: First, description: Make one.txt, files: [one.txt, tests/one.sh], acceptance: ["one.txt is there", "it says one"] }
              - { id: two, title: Second, dependencies: [one], files: [two.txt] }
  - match: { role: plan_verifier, generation: 1 }
    do: [ { submit: { verdict: reject, reason: Who could tell, findings: [ { title: No acceptance, detail: Task one has none } ] } } ]
  - match: { role: plan_verifier }
    do: [ { submit: { verdict: approve, reason: Now one can, resolved: [ { id: F1, state: fixed } ] } } ]
  - match: { role: coder, task: one, round: 1 }
    do:
      - write: { path: one.txt, content: "wrong\n" }
      - write: { path: tests/one.sh, content: "grep -q one one.txt || { echo 'one.txt:1 does not say one'; exit 1; }\n" }
      - submit: { summary: First thing, proof: I ran it, concerns: [ Is it enough ] }
  - match: { role: coder, task: one }
    do:
      - write: { path: one.txt, content: "one {{round}}\n" }
      - write: { path: tests/one.sh, content: "grep -q one one.txt\n" }
      - submit: { summary: First thing mended }
  - match: { role: coder }
    do: [ { write: { path: two.txt, content: "two\n" } }, { submit: { summary: Second thing } } ]
  - match: { role: architecture, task: one, round: 2, slot: 1 }
    do: [ { submit: { verdict: reject, reason: "No", findings: [ { title: Wrong place, file: one.txt, line: 1, detail: "It belongs elsewhere.\n\nMove it." } ] } } ]
  - match: { role: security, task: one, round: 2 }
    do: [ { submit: { verdict: reject, reason: It holds a key } } ]
  - match: { kind: gatekeeper, task: one, generation: 2 }
    do: [ { submit: { verdict: approve, reason: Well cut, resolved: [ { id: F1, state: fixed } ] } } ]
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Well cut } } ]
"#;

struct JudgedProject {
    project: Project,
    script: String,
    workflow: String,
}

impl JudgedProject {
    fn new() -> Self {
        let project = Project::new();
        let (script, workflow) = (project.script(SCRIPT), project.workflow(JUDGED));
        Self {
            project,
            script,
            workflow,
        }
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let own = ["--script", &self.script, "--workflow", &self.workflow];
        [&["run"], more, &own].concat()
    }

    fn start(&self) -> CommandResult {
        self.project.run(&self.args(&["Make two things"])).expect(3)
    }

    /// Gives an answer and drives the run on.
    fn decide(&self, answer: &[&str], code: i32) -> CommandResult {
        self.project.run(answer).expect(0);
        self.project.run(&["resume"]).expect(code)
    }

    fn lose_the_log(&self) {
        for file in ["state.db", "state.db-wal", "state.db-shm"] {
            let _ = std::fs::remove_file(self.project.path(&format!(".codeteam/{file}")));
        }
    }

    fn has(&self, file: &str, texts: &[&str]) {
        let text = self.project.read(&format!(".codeteam/{file}"));
        for wanted in texts {
            assert!(text.contains(wanted), "{file} lacks {wanted:?}:\n{text}");
        }
    }

    fn run(&self) -> String {
        self.project.shown_run()["run"].as_str().unwrap().to_owned()
    }
}

const PLAN: &str = "planning/feature-0001";

#[test]
fn files_tell_what_was_judged_round_by_round() {
    let judged = JudgedProject::new();
    judged.start();
    let run = judged.run();
    // The planner's own name for the plan would be another one's folder.
    assert!(
        !judged
            .project
            .path(".codeteam/planning/feature-0099")
            .exists()
    );
    judged.has(&format!("{PLAN}/plan.yml"), &["status: \"accepted\""]);
    judged.has(
        &format!("{PLAN}/ACCEPTANCE_CRITERIA.md"),
        &[
            "# Acceptance Criteria: feature-0001",
            "## one: First",
            "- it says one",
            "## two: Second",
        ],
    );
    let feedback = judged
        .project
        .read(&format!(".codeteam/{PLAN}/FEEDBACK.md"));
    let at = |text: &str| {
        feedback
            .find(text)
            .unwrap_or_else(|| panic!("{text}\n{feedback}"))
    };
    assert!(at("## Round 2") < at("Now one can") && at("Now one can") < at("## Round 1"));
    assert!(at("Who could tell") < at("- **F1** (major, fixed): No acceptance"));

    judged.has(
        "reports/one.md",
        &[
            "# Verification Report for Task: one\n\n**Overall Result:** FAIL\n",
            "**Overall Result:** FAIL\n\n**Failed:** Security\n\n",
            "- **Round:** 2\n",
            "`one.txt` (+1 -0)",
            "- **tests:** PASS",
            "Agent: Code Verifier - Architecture\n\n**Result:** PASS (2 of 3 approve)",
            "- **File:** `one.txt:1`\n- **Issue:** Wrong place\n- **Violation:** It belongs elsewhere.\n- **Recommendation:** Move it.",
            "Agent: Code Verifier - Security\n\n**Result:** FAIL",
            "- **Round 1:** sent back by verify",
            "- `/accept_changes` - ",
        ],
    );
    judged.has(
        "reports/one-architecture.md",
        &["2 of 3 approve", "> Well cut", "Wrong place"],
    );
    judged.has(
        "reports/one-security.md",
        &["**Result:** FAIL", "> It holds a key"],
    );

    judged.decide(&["reject", "-m", "Refactor this"], 3);
    judged.has(
        "reports/one.md",
        &[
            "**Overall Result:** PASS",
            "- **Round:** 4\n",
            "- **F1** (major, fixed, round 2)",
            "sent back by ada (judge)\n  - Refactor this",
        ],
    );
    judged.decide(&["approve"], 3);
    judged.has(
        "reports/one.md",
        &["**Your Decision:** accept, by ada", "- **Commit:** `"],
    );
    judged.decide(&["approve"], 0);
    judged.has(
        &format!("runs/{run}/one/CODER_LOG.md"),
        &[
            "# Coder Log: one",
            "## Round 1: code",
            "First thing",
            "Proof, as claimed:\n\n> I ran it",
            "- Is it enough",
            "- tests: failed\n  > one.txt:1 does not say one",
            "### Verdict of architecture: rejected\n\n> No\n- Wrong place (one.txt)",
            "### Verdict of security: rejected\n\n> It holds a key\n",
            "### ada answered `reject`\n\n> Refactor this",
        ],
    );
    assert!(
        !judged
            .project
            .path(&format!(".codeteam/runs/{run}/CODER_LOG.md"))
            .exists()
    );
    let status = judged.project.git(&["status", "--porcelain"]);
    assert_eq!(status, "", "none of it is the user's to commit");
}

#[test]
fn accepting_over_what_failed_is_said_plainly() {
    let judged = JudgedProject::new();
    let asked = judged.start();
    asked.says(&["Codeteam-Accepted-By: whoever approves it"]);
    judged.decide(&["approve"], 3);
    judged.has(
        "reports/one.md",
        &["**Overall Result:** FAIL\n\n**Accepted over failing checks by ada:** security\n"],
    );
    let report = judged.project.json(&["report", "--task", "one", "--json"]);
    assert_eq!(report["decided"]["over"], serde_json::json!(["security"]));
    assert_eq!(report["result"], "fail");
}

#[test]
fn the_command_shows_what_waits_for_a_decision() {
    let judged = JudgedProject::new();
    judged.start();
    let shown = judged.project.run(&["report"]).expect(0);
    assert_eq!(
        shown.stdout,
        judged.project.read(".codeteam/reports/one.md")
    );
    let json = judged.project.json(&["report", "--json"]);
    assert_eq!(json["subject"], serde_json::json!({ "task": "one" }));
    assert_eq!(json["review"]["open"], true);
    let verifiers = json["verifiers"].as_array().unwrap();
    let votes: Vec<Value> = verifiers
        .iter()
        .map(|v| serde_json::json!([v["role"], v["result"], v["approve"], v["of"]]))
        .collect();
    assert_eq!(
        Value::from(votes),
        serde_json::json!([["architecture", "pass", 2, 3], ["security", "fail", 0, 1]])
    );
    judged
        .project
        .run(&["report", "--task", "two"])
        .expect(2)
        .says(&["nothing of `two` was judged yet"]);
    judged
        .project
        .run(&["report", "--task", "twoo"])
        .expect(2)
        .says(&["there is no task `twoo`", "`two`"]);
    judged.decide(&["approve"], 3);
    // What has ended is still there to be read.
    let one = judged.project.run(&["report", "--task", "one"]).expect(0);
    assert_eq!(one.stdout, judged.project.read(".codeteam/reports/one.md"));
    assert!(one.stdout.contains("- **Commit:** `"), "{}", one.stdout);
    let status = judged.project.run(&["status"]).expect(0).stdout;
    for wanted in [
        "CODING_AWAITING_TASK_SELECTION  run at tasks",
        "AWAITING_VERIFICATION_REVIEW  two at judge",
        "asks (two): Accept the changes? [accept, reject]",
    ] {
        assert!(status.contains(wanted), "{wanted}\n{status}");
    }
    judged.decide(&["approve"], 0);
    let status = judged.project.run(&["status"]).expect(0).stdout;
    assert!(status.contains("PLAN_COMPLETE"), "{status}");
    assert!(!status.contains("IDLE"), "{status}");
}

#[test]
fn the_state_of_the_orchestrator_is_said_when_nothing_is_under_way() {
    let project = Project::new();
    let state = |wanted: &str| {
        let status = project.run(&["status"]).expect(0).stdout;
        assert!(
            status.starts_with(wanted) || status.contains(&format!("\n{wanted}")),
            "{status}"
        );
    };
    state("IDLE");
    let change = "- match: { role: executor }\n    do: [ { write: { path: a.txt, content: CONTENT } }, { submit: { summary: Done } } ]";
    let scripted = |content: &str| {
        let text = format!(
            "version: 1\nplays:\n  {}\n",
            change.replace("CONTENT", content)
        );
        project.script(&text)
    };
    let plan = project.write_outside("plan.yml", "tasks: [ { id: a, title: Write a.txt } ]\n");
    let run = |script: &str| {
        project.run(&[
            "run",
            "--plan",
            &plan,
            "--workflow",
            "solo",
            "--script",
            script,
        ])
    };
    run(&scripted("x")).expect(0);
    state("PLAN_COMPLETE");
    let shown = project.run(&["show"]).expect(0).stdout;
    assert!(shown.contains("state     PLAN_COMPLETE"), "{shown}");
    project.write("tests/never.sh", "exit 1\n");
    project.commit("a test that fails");
    // The same change again: what rejects it is said with it.
    run(&scripted("y"))
        .expect(1)
        .says(&["was submitted again, which `verify` rejected: the check `tests` failed"]);
    state("HALTED_FOR_ERROR");
    let shown = project.run(&["show"]).expect(0).stdout;
    assert!(shown.contains("state     HALTED_FOR_ERROR"), "{shown}");
    let value = project.json(&["show", "--json"]);
    assert_eq!(value["team_state"], "HALTED_FOR_ERROR");
}

#[test]
fn criteria_that_a_person_changed_are_left() {
    let judged = JudgedProject::new();
    judged.start();
    let path = format!(".codeteam/{PLAN}/ACCEPTANCE_CRITERIA.md");
    judged.project.write(&path, "# Mine\n");
    judged.decide(&["approve"], 3);
    judged.decide(&["approve"], 0);
    assert_eq!(judged.project.read(&path), "# Mine\n");
}

#[test]
fn a_report_that_codeteam_did_not_write_is_left() {
    let judged = JudgedProject::new();
    judged
        .project
        .write(".codeteam/reports/one.md", "my notes\n");
    judged.start();
    assert_eq!(
        judged.project.read(".codeteam/reports/one.md"),
        "my notes\n"
    );
    let run = judged.run();
    judged.has(
        &format!("runs/{run}/reports/one.md"),
        &["**Overall Result:** FAIL"],
    );
}

/// All files that are written for people, without what differs from run to run.
fn written(project: &Project, run: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["planning", "reports", "runs"] {
        collect(&project.path(".codeteam"), Path::new(folder), &mut found);
    }
    // What was lost with codeteam has a cost, too.
    let differs = ["log.jsonl", "summary.md", "cost.json"];
    found.retain(|name, _| !differs.iter().any(|file| name.ends_with(file)));
    let plain = |text: &str| {
        let text = text.replace(run, "RUN");
        let lines = text.lines().map(|line| match line {
            _ if line.starts_with("- **Commit:**") => "- **Commit:**",
            _ => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    found
        .into_iter()
        .map(|(name, text)| (plain(&name), plain(&text)))
        .collect()
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten() {
        let name = folder.join(entry.unwrap().file_name());
        if root.join(&name).is_dir() {
            collect(root, &name, found);
        } else if let Ok(text) = std::fs::read_to_string(root.join(&name)) {
            found.insert(name.display().to_string(), text);
        }
    }
}

#[test]
fn the_files_are_the_same_however_often_codeteam_is_killed() {
    // Accepted at once: one decision a task, which waits in the inbox.
    let to_the_end = |judged: &JudgedProject| {
        while judged.project.run(&["approve"]).code == Some(0) {
            judged.project.run(&["resume"]);
        }
        written(&judged.project, &judged.run())
    };
    // One verifier only: of several, whoever is first comes first in the log.
    let alone = || {
        let judged = JudgedProject::new();
        let one = "architecture, architecture, architecture, security";
        judged
            .project
            .workflow(&JUDGED.replace(one, "architecture"));
        judged.project.script(&SCRIPT.replace("slot: 1", "slot: 0"));
        judged
    };
    let undisturbed = alone();
    undisturbed.start();
    let expected = to_the_end(&undisturbed);
    assert!(
        expected.contains_key("reports/two-architecture.md"),
        "{:?}",
        expected.keys()
    );
    let mut killed = 0;
    for n in (1..).step_by(7) {
        let judged = alone();
        let output = judged
            .project
            .codeteam(&judged.args(&["Make two things"]))
            .env("CODETEAM_FAILPOINT", format!("appended:{n}"))
            .output()
            .unwrap();
        if output.status.code().is_some() {
            break;
        }
        killed += 1;
        judged.project.run(&["resume"]).expect(3);
        let found = to_the_end(&judged);
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
            "killed at {n}"
        );
        for (name, text) in &expected {
            assert_eq!(&found[name], text, "{name}, killed at {n}");
        }
    }
    assert!(killed >= 6, "killed {killed} times only");
}

#[test]
fn without_the_log_files_and_git_say_where_the_plan_stands_and_work_goes_on() {
    let judged = JudgedProject::new();
    judged.start();
    judged.decide(&["approve"], 3);
    let (first, branch) = (
        judged.run(),
        judged.project.shown_run()["branch"]
            .as_str()
            .unwrap()
            .to_owned(),
    );
    judged.lose_the_log();
    let status = judged.project.run(&["status"]).expect(0);
    for wanted in [
        "1 of 2 tasks done",
        "state      CODING_AWAITING_TASK_SELECTION",
        "completed  one  First",
        "pending    two  Second  (last judged: PASS)",
        &branch,
    ] {
        assert!(
            status.stdout.contains(wanted),
            "{wanted}\n{}",
            status.stdout
        );
    }
    let json = judged.project.json(&["status", "--json"]);
    assert_eq!(json[0]["accepted"], true);
    assert_eq!(json[0]["runs"], serde_json::json!([first]));
    assert_eq!(json[0]["reports"]["two"]["result"], "PASS");
    let report = judged.project.run(&["report", "--task", "one"]).expect(0);
    assert_eq!(
        report.stdout,
        judged.project.read(".codeteam/reports/one.md")
    );
    assert!(
        !judged.project.path(".codeteam/state.db").exists(),
        "looking makes nothing"
    );

    // No goal, no plan: the accepted one that is not finished.
    judged.project.run(&judged.args(&[])).expect(3).says(&[
        "going on with",
        "1 of 2 tasks done",
        "which has the work so far",
    ]);
    judged
        .project
        .run(&judged.args(&[]))
        .expect(2)
        .says(&["has not ended", "codeteam resume"]);
    judged.decide(&["approve"], 0);
    assert_eq!(
        judged.project.committed_files(),
        ["one.txt", "tests/one.sh", "two.txt"]
    );
    judged.lose_the_log();
    let status = judged.project.run(&["status"]).expect(0).stdout;
    assert!(status.contains("PLAN_COMPLETE"), "{status}");
    judged
        .project
        .run(&["run"])
        .expect(2)
        .says(&["is done, and there is no goal", "hint: say what you want"]);
}

#[test]
fn what_was_merged_counts_though_the_branch_is_gone() {
    let judged = JudgedProject::new();
    judged.start();
    judged.decide(&["approve"], 3);
    let branch = judged.project.shown_run()["branch"]
        .as_str()
        .unwrap()
        .to_owned();
    judged
        .project
        .git(&["merge", "--quiet", "--ff-only", &branch]);
    judged.project.git(&["branch", "-D", &branch]);
    judged.lose_the_log();
    // As if codeteam had died before it wrote that the task is done.
    let plan = format!(".codeteam/{PLAN}/plan.yml");
    let text = judged
        .project
        .read(&plan)
        .replace("\"completed\"", "\"running\"");
    judged.project.write(&plan, &text);
    let json = judged.project.json(&["status", "--json"]);
    assert_eq!(json[0]["tasks"]["one"], "completed");
    assert_eq!(json[0]["branch"], Value::Null);
}

#[test]
fn a_draft_is_not_gone_on_with_by_itself() {
    let project = Project::new();
    let draft = "plan_id: mine\nstatus: draft\ntasks: [ { id: one } ]\n";
    project.write(".codeteam/planning/mine/plan.yml", draft);
    let status = project.run(&["status"]).expect(0);
    assert!(
        status.stdout.contains("PLANNING_AWAITING_REVIEW"),
        "{}",
        status.stdout
    );
    project
        .run(&["run"])
        .expect(2)
        .says(&["no plan is accepted", "codeteam run --plan"]);
    project.write(
        ".codeteam/planning/mine/plan.yml",
        &draft.replace("draft", "drafty"),
    );
    project
        .run(&["run", "--plan", ".codeteam/planning/mine/plan.yml"])
        .expect(2)
        .says(&["plan.yml:2:9", "drafty"]);
}

#[test]
fn plans_are_numbered_one_by_one() {
    let judged = JudgedProject::new();
    std::fs::create_dir_all(judged.project.path(".codeteam/planning/feature-0020")).unwrap();
    std::fs::create_dir_all(judged.project.path(".codeteam/planning/feature-4294967295")).unwrap();
    judged.start();
    let plan = |n: u32| {
        judged
            .project
            .path(&format!(".codeteam/planning/feature-{n:04}"))
    };
    assert!(plan(21).join("plan.yml").exists());
    // A run that has not ended keeps its number, though its folder is gone.
    std::fs::remove_dir_all(plan(21)).unwrap();
    std::fs::remove_dir_all(plan(20)).unwrap();
    judged.start();
    assert!(!plan(21).exists() && plan(22).join("plan.yml").exists());
    // Of several that start at once each has its own.
    let several: Vec<_> = (0..3)
        .map(|_| {
            judged
                .project
                .codeteam(&judged.args(&["Make two things"]))
                .output()
        })
        .collect();
    assert!(
        several
            .into_iter()
            .all(|done| done.unwrap().status.code() == Some(3))
    );
    let plans: Vec<bool> = (23..=25)
        .map(|n| plan(n).join("plan.yml").exists())
        .collect();
    assert_eq!(plans, [true; 3]);
}

#[test]
fn names_that_could_clash_do_not() {
    let judged = JudgedProject::new();
    let plan = "tasks: [ { id: one, files: [a] }, { id: one-security, files: [b] }, { id: log.jsonl, files: [c] } ]\n";
    let plan = judged.project.write_outside("plan.yml", plan);
    let script = r"
version: 1
plays:
  - match: { role: coder, task: one }
    do: [ { write: { path: a, content: a } }, { submit: { summary: A } } ]
  - match: { role: coder, task: one-security }
    do: [ { write: { path: b, content: b } }, { submit: { summary: B } } ]
  - match: { role: coder }
    do: [ { write: { path: c, content: c } }, { submit: { summary: C } } ]
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Fine } } ]
";
    judged.project.script(script);
    let at_once = JUDGED.replace("each: task\n", "each: task\n    cap: 3\n");
    judged.project.workflow(&at_once);
    let done = judged.project.run(&judged.args(&["x", "--plan", &plan]));
    done.expect(3);
    judged.has(
        "reports/one-security.md",
        &["# Verification Report for Task: one-security\n\n**Overall"],
    );
    judged.has(
        "reports/one@security.md",
        &["Task: one\n\n## Agent: Code Verifier - Security"],
    );
    judged.has(
        "reports/one-security-security.md",
        &["Task: one-security\n\n## Agent"],
    );
    let run = judged.run();
    judged.has(
        &format!("runs/{run}/@log.jsonl/CODER_LOG.md"),
        &["# Coder Log: log.jsonl"],
    );
}
