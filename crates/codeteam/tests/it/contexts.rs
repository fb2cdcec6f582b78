//! The parts of a project that roles are shown in real runs: chosen by their strategies, within
//! their budgets, without secrets, and recorded in the log.

use serde_json::Value;

use crate::project::Project;

/// A coder and a reviewer on one task, every prompt kept.
const FLOW: &str = r"
start: work
settings: { audit_trail: true }
roles:
  coder: { kind: implementer, context: { strategy: implementer_targeted } }
  reviewer: { kind: gatekeeper, context: { strategy: reviewer_diff } }
steps:
  work:
    each: task
    next: done
    steps:
      code: { role: coder, next: review }
      review: { role: reviewer, next: commit, on_reject: code }
      commit: { commit: branch, next: done }
";

const PLAN: &str = r"
plan_id: feature-0001
description: Greet people
tasks:
  - id: task-001
    title: Greet users by name
    files: [src/api.py]
";

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn project() -> Project {
    let project = Project::new();
    project.write("README.md", "# Greetings\n");
    project.write("CONTRIBUTING.md", "Short names.\n");
    project.write("src/models.py", "class User:\n    name = 'a'\n");
    project.write(
        "src/api.py",
        "from models import User\n\n\ndef greet(user: User) -> str:\n    return user.name\n",
    );
    project.write(
        "src/web.py",
        "from api import greet\n\n\ndef page():\n    return greet(None)\n",
    );
    project.write("src/settings.py", &format!("GITHUB_TOKEN = '{TOKEN}'\n"));
    project.commit("a project");
    project
}

/// A change that is rejected once, and the prompts of all attempts by their files' names.
fn run(project: &Project, flow: &str) -> Vec<(String, String)> {
    let script = project.script(
        r#"
version: 1
plays:
  - match: { role: coder, round: 1 }
    do:
      - write: { path: src/api.py, content: "from models import User\n\n\ndef greet(user: User) -> str:\n    return 'Hi ' + user.name\n" }
      - submit: { summary: Made it }
  - match: { role: coder }
    do:
      - write: { path: src/new.py, content: "HELLO = 'Hello '\n" }
      - submit: { summary: Made it better }
  - match: { role: reviewer, round: 1 }
    do: [{ submit: { verdict: reject, reason: Hello is nicer } }]
  - match: { role: reviewer }
    do: [{ submit: { verdict: approve, reason: Good } }]
"#,
    );
    let (workflow, plan) = (
        project.workflow(flow),
        project.write_outside("plan.yml", PLAN),
    );
    let args = [
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--plan",
        &plan,
    ];
    project.run(&args).expect(0);
    let mut prompts = Vec::new();
    let runs = std::fs::read_dir(project.path(".codeteam/runs")).unwrap();
    for run in runs {
        let audit = run.unwrap().path().join("audit");
        for file in std::fs::read_dir(audit).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.contains("prompt") {
                prompts.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    prompts.sort();
    prompts
}

/// The prompt of a step in a round.
fn prompt<'a>(prompts: &'a [(String, String)], role: &str, round: u32) -> &'a str {
    let (role, round) = (format!("Role: {role}\n"), format!("Round: {round}\n"));
    let mut found = prompts
        .iter()
        .filter(|(_, text)| text.contains(&role) && text.contains(&round));
    &found.next().unwrap().1
}

fn in_order(text: &str, places: &[&str]) {
    let found: Vec<usize> = places
        .iter()
        .map(|place| {
            text.find(place)
                .unwrap_or_else(|| panic!("{place}: {text}"))
        })
        .collect();
    assert!(found.is_sorted(), "{found:?} {text}");
}

fn packed(project: &Project) -> Vec<Value> {
    let events = project.events().into_iter();
    let packed = events.filter(|event| event["event"]["type"] == "context_packed");
    packed
        .map(|event| event["event"]["packed"].clone())
        .collect()
}

#[test]
fn each_role_is_shown_what_its_strategy_says() {
    let project = project();
    let prompts = run(&project, FLOW);
    let coder = prompt(&prompts, "coder", 1);
    in_order(
        coder,
        &[
            "### Files that the task is about\n\n#### src/api.py\n",
            "### What they import\n\n#### src/models.py\n",
            "### What imports them\n\n#### src/web.py",
            "### All files\n",
        ],
    );
    assert!(
        !coder.contains("## What has been changed so far"),
        "{coder}"
    );
    let reviewer = prompt(&prompts, "reviewer", 1);
    in_order(
        reviewer,
        &[
            "## The change\n\n```diff\ndiff --git a/src/api.py",
            "### The changed files\n\n#### src/api.py\n",
            "### The project's standards for code\n\n#### CONTRIBUTING.md\n",
            "### What the change affects\n\n#### src/web.py",
        ],
    );
    assert!(
        !reviewer.contains("## What has changed since"),
        "{reviewer}"
    );

    // The second round: what is new for each of them.
    let coder = prompt(&prompts, "coder", 2);
    in_order(
        coder,
        &[
            "## What has been changed so far\n\n```diff\n",
            "+    return 'Hi ' + user.name",
        ],
    );
    let reviewer = prompt(&prompts, "reviewer", 2);
    let since = reviewer
        .find("## What has changed since you judged it before")
        .unwrap();
    let all = reviewer.find("## The change").unwrap();
    assert!(since < all, "{reviewer}");
    assert!(reviewer[since..all].contains("src/new.py"), "{reviewer}");
    assert!(!reviewer[since..all].contains("src/api.py"), "{reviewer}");
    assert!(reviewer[all..].contains("src/api.py"), "{reviewer}");

    let packed = packed(&project);
    assert_eq!(packed.len(), prompts.len());
    assert_eq!(packed[0]["strategy"], "implementer_targeted");
    let (tokens, budget) = (&packed[0]["tokens"], &packed[0]["budget"]);
    assert!(tokens.as_u64().unwrap() <= budget.as_u64().unwrap());
}

#[test]
fn secrets_are_taken_out_and_counted_by_file() {
    let project = project();
    let flow = FLOW.replace(
        "{ strategy: implementer_targeted }",
        "{ strategy: implementer_targeted, include: ['src/settings.py'] }",
    );
    let prompts = run(&project, &flow);
    assert!(prompts.iter().all(|(_, prompt)| !prompt.contains(TOKEN)));
    assert!(prompt(&prompts, "coder", 1).contains("GITHUB_TOKEN = '[redacted: "));
    let packed = packed(&project);
    assert_eq!(
        packed[0]["redacted"],
        serde_json::json!({ "src/settings.py": 1 })
    );
    let told = project.run(&["log"]).expect(0).stdout;
    assert!(
        told.contains("secrets taken out: 1, in src/settings.py"),
        "{told}"
    );
    let log = project
        .events()
        .iter()
        .map(Value::to_string)
        .collect::<String>();
    assert!(!log.contains(TOKEN));
}

#[test]
fn what_does_not_fit_is_said_to_the_worker_and_in_the_log() {
    let project = project();
    let lines: Vec<String> = (0..400).map(|i| format!("    total += {i}\n")).collect();
    let body = lines.concat();
    let long = format!(
        "class User:\n    name = 'a'\n\n\ndef sum():\n    total = 0\n{body}    return total\n"
    );
    project.write("src/models.py", &long);
    project.commit("long");
    let flow = FLOW.replace(
        "{ strategy: implementer_targeted }",
        "{ strategy: implementer_targeted, budget: 1700 }",
    );
    let prompts = run(&project, &flow);
    let coder = prompt(&prompts, "coder", 1);
    in_order(
        coder,
        &[
            "#### src/models.py (shortened)",
            "def sum():",
            "## Shortened for lack of room\n\n- What they import: src/models.py",
        ],
    );
    assert!(!coder.contains("total += 200"), "{coder}");
    let packed = packed(&project);
    let imports = packed[0]["parts"].as_array().unwrap().iter();
    let imports: Vec<&Value> = imports.filter(|part| part["name"] == "imports").collect();
    assert_eq!(imports[0]["compressed"]["names"][0], "src/models.py");
    let told = project.run(&["log"]).expect(0).stdout;
    assert!(told.contains("shortened: 1 of imports"), "{told}");
}

#[test]
fn what_cannot_fit_is_an_error_with_its_sizes() {
    let project = project();
    let flow = FLOW.replace(
        "{ strategy: implementer_targeted }",
        "{ strategy: implementer_targeted, budget: 200 }",
    );
    let script = project.script("version: 1\nplays: []\n");
    let (workflow, plan) = (
        project.workflow(&flow),
        project.write_outside("plan.yml", PLAN),
    );
    let args = [
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--plan",
        &plan,
    ];
    let done = project.run(&args);
    assert_ne!(done.code, Some(0));
    let said = [done.stdout, done.stderr].concat();
    assert!(
        said.contains("the context cannot fit into 200 tokens: system "),
        "{said}"
    );
    assert!(said.contains("raise the role's `context.budget`"), "{said}");
    // Trying again does not make it shorter, and no worker was started for it.
    assert_eq!(project.count("attempt_started"), 1);
}

#[test]
fn a_project_has_its_own_strategies_and_files_for_roles() {
    let project = project();
    project.write(
        ".codeteam/strategies/narrow.yml",
        "budget: 9000\nparts:\n  - {name: my_words, include: ['*.md']}\n  - tree\n",
    );
    project.config("context:\n  always: [CONTRIBUTING.md]\n  coder: [src/web.py]\n");
    let flow = FLOW.replace("implementer_targeted", "narrow");
    let prompts = run(&project, &flow);
    in_order(
        prompt(&prompts, "coder", 1),
        &[
            "### For every role\n\n#### CONTRIBUTING.md",
            "### my words\n\n#### README.md",
            "### For this role\n\n#### src/web.py",
            "### All files",
        ],
    );
    assert!(!prompt(&prompts, "reviewer", 1).contains("### For this role"));
    assert_eq!(packed(&project)[0]["budget"], 9_000);

    // A mistake is found before anything starts.
    let before = project.count("run_started");
    project.write(
        ".codeteam/strategies/narrow.yml",
        "parts: [{name: a, include: [$TARGTE]}]\n",
    );
    let (workflow, plan) = (
        project.workflow(&flow),
        project.write_outside("plan.yml", PLAN),
    );
    let script = project.script("version: 1\nplays: []\n");
    let args = [
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
        "--plan",
        &plan,
    ];
    project.run(&args).expect(2).says(&[
        "narrow.yml:1:9: `$TARGTE` is not a valid pattern of files: there is no such variable",
        "did you mean `$TARGET`?",
    ]);
    assert_eq!(project.count("run_started"), before);
}

#[test]
fn a_component_is_all_that_is_shown_if_the_step_says_so() {
    let project = project();
    project.write("lib/far.py", "def far():\n    pass\n");
    project.write(
        "src/api.py",
        "from lib.far import far\nfrom models import User\n\n\ndef greet(user: User):\n    far()\n",
    );
    project.write("lib/__init__.py", "");
    project.commit("farther");
    let all = run(&project, FLOW);
    assert!(prompt(&all, "coder", 1).contains("#### lib/far.py"));

    let project = self::project();
    project.write("lib/far.py", "def far():\n    pass\n");
    project.write("lib/__init__.py", "");
    project.write(
        "src/api.py",
        "from lib.far import far\nfrom models import User\n\n\ndef greet(user: User):\n    far()\n",
    );
    project.commit("farther");
    let flow = FLOW.replace(
        "role: coder,",
        "role: coder, context_scope: component_only,",
    );
    let near = run(&project, &flow);
    let coder = prompt(&near, "coder", 1);
    assert!(!coder.contains("#### lib/far.py"), "{coder}");
    assert!(coder.contains("#### src/models.py"), "{coder}");
}

#[test]
fn whoever_writes_tests_sees_interfaces_and_not_what_is_inside() {
    let project = project();
    project.write(
        "src/api.py",
        "def greet(name: str) -> str:\n    secret_way = 1\n    return _hidden(name)\n\n\ndef _hidden(name):\n    return name\n",
    );
    project.write("src/types.py", "class Greeting:\n    text: str\n");
    project.commit("insides");
    let flow = FLOW.replace(
        "{ strategy: implementer_targeted }",
        "{ include: [$INTERFACE_DEFINITIONS, $COMPONENT_PUBLIC_API], exclude: [$IMPLEMENTATION_INTERNALS] }",
    );
    let prompts = run(&project, &flow);
    let coder = prompt(&prompts, "coder", 1);
    assert!(coder.contains("def greet(name: str) -> str"), "{coder}");
    assert!(coder.contains("class Greeting"), "{coder}");
    assert!(
        !coder.contains("secret_way") && !coder.contains("_hidden"),
        "{coder}"
    );
}

#[test]
fn a_role_from_which_the_implementation_is_hidden_is_shown_its_interface() {
    let project = project();
    let flow = FLOW.replace(
        "{ kind: gatekeeper, ",
        "{ kind: gatekeeper, exclude: [$IMPLEMENTATION_INTERNALS], ",
    );
    let prompts = run(&project, &flow);
    let reviewer = prompt(&prompts, "reviewer", 1);
    assert!(
        reviewer.contains("def greet(user: User) -> str"),
        "{reviewer}"
    );
    assert!(!reviewer.contains("return 'Hi '"), "{reviewer}");
    // Who makes the change sees all of it.
    assert!(prompt(&prompts, "coder", 2).contains("return 'Hi '"));
    let unknown = FLOW.replace(
        "{ kind: gatekeeper, ",
        "{ kind: gatekeeper, exclude: [$TARGET], ",
    );
    let workflow = project.workflow(&unknown);
    let refused = project
        .run(&["run", "x", "--workflow", &workflow])
        .expect(2);
    refused.says(&["`exclude` takes patterns, and `$IMPLEMENTATION_INTERNALS`"]);
}

#[test]
fn what_a_role_must_not_see_is_in_no_part_and_a_judge_hears_of_its_change() {
    let project = project();
    project.write(
        "hidden/holdout.py",
        "from api import greet\n\n\ndef holdout_of_the_task():\n    return greet(1)\n",
    );
    project.commit("a holdout");
    let flow = FLOW
        .replace(
            "{ kind: implementer, ",
            "{ kind: implementer, exclude: ['hidden/'], ",
        )
        .replace(
            "{ kind: gatekeeper, ",
            "{ kind: gatekeeper, exclude: ['src/{api,web}.py'], ",
        );
    let prompts = run(&project, &flow);
    let coder = prompt(&prompts, "coder", 1);
    assert!(coder.contains("models.py"), "{coder}");
    for name in ["holdout_of_the_task", "hidden/", "holdout.py"] {
        assert!(!coder.contains(name), "{name}: {coder}");
    }
    let reviewer = prompt(&prompts, "reviewer", 1);
    assert!(!reviewer.contains("return 'Hi '"), "{reviewer}");
    assert!(
        reviewer.contains("changed, but not for you to see: src/api.py"),
        "{reviewer}"
    );
    let said = packed(&project).iter().any(|packed| {
        let text = packed.to_string();
        text.contains("changed, but not for you to see") && text.contains("src/api.py")
    });
    assert!(said, "{:?}", packed(&project));
}
