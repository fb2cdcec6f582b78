//! The workflow `team`: a goal that needs research, words and code, carried out by the real CLIs
//! together, and by the built-in worker alone.

use codeteam_e2e::{Play, Protocol, RecordedRequests, Scenario, Turn};
use serde_json::{Value, json};

use super::project::{CommandResult, Project};

const REPORT: &str = "# Elderly care\n\nTwo providers share the market.\n";
const PAGE: &str = "<h1>Elderly care</h1>\n";
const DIGEST: &str = "Two providers, with their shares, in docs/research.md.";

/// Who takes the parts that depend on what the workers can do.
#[derive(Clone, Copy)]
struct TeamCast {
    researcher: &'static str,
    helper: &'static str,
}

/// A score with these points for each of so many criteria.
fn score(points: u32, criteria: u32, issues: &[&str]) -> Turn {
    let each = (1..=criteria).map(|n| json!({ "criterion": n, "score": points, "reason": "seen" }));
    Turn::submit(json!({
        "overall_score": points, "criteria_scores": each.collect::<Vec<Value>>(),
        "issues": issues, "suggestions": [],
    }))
}

fn decides(task: &str, round: u32, decision: Value) -> Play {
    let play = Play::new().role("leader").task(task).round(round);
    play.turn(Turn::submit(decision))
}

fn scores(task: &str, round: u32) -> Play {
    Play::new()
        .role("quality_validator")
        .task(task)
        .round(round)
}

/// The decomposer and the assembler.
fn plans(scenario: Scenario, cast: TeamCast) -> Scenario {
    let plan = json!({ "plan": { "description": "Research, a report and a page", "tasks": [
        { "id": "research", "title": "Research the market", "description": "Find the providers.",
          "dependencies": [], "files": ["docs/research.md"],
          "acceptance": ["names two providers", "gives a source for each"] },
        { "id": "report", "title": "Write the report", "description": "Write what was found.",
          "dependencies": ["research"], "files": ["docs/report.md"],
          "acceptance": ["says what the research found"] },
        { "id": "page", "title": "Build the page", "description": "Show the report.",
          "dependencies": ["report"], "files": ["page.html"],
          "acceptance": ["has the report's title"] },
    ] } });
    let assembly = json!({ "assignments": [
        { "task": "research", "roles": [cast.researcher], "alternatives": [], "reason": "It looks things up" },
        { "task": "report", "roles": ["writer"], "alternatives": [cast.helper], "reason": "It is words" },
        { "task": "page", "roles": ["developer"], "alternatives": [], "reason": "It is code" },
    ] });
    scenario
        .play(Play::new().role("decomposer").turn(Turn::submit(plan)))
        .play(Play::new().role("assembler").turn(Turn::submit(assembly)))
}

/// The research: a first score that cannot be, a second one that is too low, and a refined task.
fn research(scenario: Scenario, cast: TeamCast) -> Scenario {
    let found = |round: u32| {
        let long =
            "The largest provider has a third of the market, the second a fifth. ".repeat(10);
        let text = format!("# Round {round}\n\nOne and Two ([source](https://example.org)).\n");
        Play::new()
            .role(cast.researcher)
            .task("research")
            .round(round)
            .turn(Turn::new().write("docs/research.md", &text))
            .turn(Turn::submit(json!({
                "summary": long, "files": ["docs/research.md"], "notes": ["Shares are of 2024."],
            })))
    };
    scenario
        .play(found(1))
        .play(found(2))
        .play(scores("research", 1).attempt(1).turn(score(101, 2, &[])))
        .play(scores("research", 1).turn(score(60, 2, &["one source is missing"])))
        .play(scores("research", 2).turn(score(90, 2, &[])))
        .play(decides(
            "research",
            1,
            json!({
                "intervention": "enhance", "reason": "It was not said which providers.",
                "criteria": ["names the two largest providers", "gives a source for each"],
            }),
        ))
        .play(
            Play::new()
                .role("reporter")
                .task("research")
                .turn(Turn::submit(json!({ "message": DIGEST }))),
        )
}

/// The report, for which the writer needs help, and the page.
fn writing(scenario: Scenario, cast: TeamCast) -> Scenario {
    let written = |round: u32| {
        let text = format!("{REPORT}\nRound {round}.\n");
        Play::new()
            .role("writer")
            .task("report")
            .round(round)
            .turn(Turn::new().write("docs/report.md", &text))
            .turn(Turn::submit(
                json!({ "summary": "Wrote the report", "files": ["docs/report.md"] }),
            ))
    };
    let helps = Play::new()
        .role(cast.helper)
        .task("report")
        .turn(Turn::submit(json!({
            "summary": "The shares add up.", "files": [], "notes": ["A third is 33 percent."],
        })));
    let built = Play::new()
        .role("developer")
        .task("page")
        .turn(Turn::new().write("page.html", PAGE))
        .turn(Turn::submit(
            json!({ "summary": "Built the page", "files": ["page.html"] }),
        ));
    scenario
        .play(helps)
        .play(written(1))
        .play(written(2))
        .play(built)
        .play(scores("report", 1).turn(score(50, 1, &["the shares are unclear"])))
        .play(scores("report", 2).turn(score(85, 1, &[])))
        .play(scores("page", 1).turn(score(80, 1, &[])))
        .play(decides(
            "report",
            1,
            json!({
                "intervention": "escalate", "reason": "The figures need a second look.",
                "role": cast.helper, "request": "Check the shares.",
            }),
        ))
}

fn scenario(start: Scenario, cast: TeamCast) -> Scenario {
    writing(research(plans(start, cast), cast), cast)
}

/// A project whose check says nothing about documents, and this user's configuration.
fn project(scenario: Scenario, user: &str) -> Project {
    let project = Project::new(scenario);
    let check = "test ! -e page.html || grep -q \"<h1>\" page.html";
    project.write(
        ".codeteam/config.yml",
        &format!("verification:\n  commands:\n    - {{ name: page, command: '{check}' }}\n"),
    );
    project.git(&["add", "-A"]);
    project.git(&["commit", "--quiet", "-m", "a check of the page"]);
    project.user_config(user);
    project
}

#[track_caller]
fn run(project: &Project, more: &[&str]) -> CommandResult {
    let mut args = vec!["run", "Research the elderly care market, and show it"];
    args.extend(["--workflow", "team"]);
    args.extend(more);
    project.run(&args)
}

/// What was asked of a role for a task, as one text.
fn told(asked: &RecordedRequests, role: &str, task: &str, round: u32) -> String {
    let asked = asked.of_role(role).of_task(task);
    let asked = asked.filtered(|request| request.marks.round == Some(round));
    asked.iter().next().unwrap().user_text()
}

/// Checks what the goal has become, which is the same whoever works.
#[track_caller]
fn is_done(project: &Project, cast: TeamCast) -> RecordedRequests {
    assert_eq!(project.commits(), 3);
    assert_eq!(project.committed_file("page.html"), PAGE.trim_end());
    assert!(project.committed_file("docs/report.md").starts_with(REPORT));
    assert!(
        project
            .committed_file("docs/research.md")
            .starts_with("# Round 2")
    );
    let decided = project.events("intervened");
    let decided: Vec<_> = decided
        .iter()
        .map(|event| event["intervention"].as_str().unwrap())
        .collect();
    let expected = ["enhance", "continue", "escalate", "continue", "continue"];
    assert_eq!(decided, expected);
    let failures = project.failures();
    let [(_, action, message)] = &failures[..] else {
        panic!("only the impossible score is refused: {failures:?}");
    };
    assert_eq!(action, "retry_with_feedback");
    assert!(message.contains("101 is not a whole number"), "{message}");

    let asked = project.asked();
    let writer = told(&asked, "writer", "report", 1);
    for wanted in [
        &format!("## From `research` by {}", cast.researcher),
        DIGEST,
        "The full text is in `.codeteam/upstream/research.md`.",
        "Shares are of 2024.",
    ] {
        assert!(writer.contains(wanted), "{wanted}: {writer}");
    }
    assert!(told(&asked, "writer", "report", 2).contains("A third is 33 percent."));
    let leader = told(&asked, "leader", "research", 1);
    for wanted in ["60 of 100; 70 are needed.", "- report: Write the report"] {
        assert!(leader.contains(wanted), "{wanted}: {leader}");
    }
    let validator = told(&asked, "quality_validator", "research", 2);
    assert!(validator.contains("- names two providers"), "{validator}");
    asked
}

/// Returns a file of the newest run.
fn run_file(project: &Project, name: &str) -> String {
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let path = project.root().join(".codeteam/runs").join(run).join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn three_clis_take_a_goal_from_research_to_a_page() {
    let cast = TeamCast {
        researcher: "market_researcher",
        helper: "market_researcher",
    };
    let project = project(
        scenario(Scenario::new(), cast),
        "roles:
  team/decomposer: { worker: claude }
  team/assembler: { worker: codex }
  team/market_researcher: { worker: gemini }
  team/writer: { worker: codex }
  team/developer: { worker: claude }
  team/quality_validator: { worker: codex }
  team/leader: { worker: claude }
  team/reporter: { worker: gemini }
workers: { codex: { model: model-large, small_model: model-small } }
prices: { model-large: { input: 1.25, output: 10 } }
",
    );
    run(&project, &[]).expect(0);
    let asked = is_done(&project, cast);
    for (role, protocol) in [
        ("decomposer", Protocol::Anthropic),
        ("assembler", Protocol::Responses),
        ("market_researcher", Protocol::Gemini),
        ("writer", Protocol::Responses),
        ("developer", Protocol::Anthropic),
        ("quality_validator", Protocol::Responses),
        ("leader", Protocol::Anthropic),
        ("reporter", Protocol::Gemini),
    ] {
        let of_role = asked.of_role(role);
        assert!(!of_role.is_empty(), "{role}");
        assert_eq!(of_role.of_protocol(protocol).len(), of_role.len(), "{role}");
    }
    // Scores are given by a small model, and by nobody else.
    for request in &asked {
        let model = &request.asked.as_ref().unwrap().model;
        let is_small = request.marks.role.as_deref() == Some("quality_validator");
        assert_eq!(
            model == "model-small",
            is_small,
            "{}",
            request.summary_line()
        );
    }
    // Whoever assigns roles is told what they cost.
    let assembler = asked.of_role("assembler").0[0].user_text();
    let price = "worker: codex (model-large); a million tokens cost $1.25 read and $10 written";
    assert!(assembler.contains(price), "{assembler}");
    // A role with a planner is asked for a plan, by whichever worker carries it out.
    for (role, task) in [("market_researcher", "research"), ("developer", "page")] {
        let told = told(&asked, role, task, 1);
        assert!(told.contains("Plan before you act:"), "{role}: {told}");
        assert!(told.contains("You have 30 turns;"), "{role}: {told}");
    }
    let deliverable = run_file(&project, "DELIVERABLE.md");
    for file in ["docs/research.md", "docs/report.md", "page.html"] {
        assert!(deliverable.contains(file), "{file}: {deliverable}");
    }
    assert!(run_file(&project, "QUALITY_REPORT.md").contains("| research | 1 | 60 | 70 |"));
    // What each CLI did is read from its own transcript.
    for (task, file) in [
        ("research", "docs/research.md"),
        ("report", "docs/report.md"),
        ("page", "page.html"),
    ] {
        let run = project.shown_run()["run"].as_str().unwrap().to_owned();
        let traced = project
            .run(&["trace", &run, task, "--all"])
            .expect(0)
            .stdout;
        assert!(traced.contains(file), "{task}: {traced}");
    }
}

#[test]
fn the_builtin_worker_takes_the_same_goal_to_its_end() {
    // Without a key for a search nobody is offered the market researcher.
    let cast = TeamCast {
        researcher: "writer",
        helper: "developer",
    };
    let steps = json!({ "steps": [{ "thought": "nothing is there", "action": "write_file" }] });
    let plans_first = Play::new()
        .says("first make a plan")
        .turn(Turn::say(&steps.to_string()));
    let project = project(
        scenario(Scenario::new().play(plans_first), cast),
        "workers: { builtin: { protocol: anthropic, model: claude-x } }\n",
    );
    run(&project, &["--worker", "builtin"]).expect(0);
    let asked = is_done(&project, cast);
    assert_eq!(asked.of_protocol(Protocol::Anthropic).len(), asked.len());
    let assembler = asked
        .of_role("assembler")
        .iter()
        .next()
        .unwrap()
        .user_text();
    assert!(assembler.contains("- writer: "), "{assembler}");
    assert!(!assembler.contains("- market_researcher: "), "{assembler}");
}
