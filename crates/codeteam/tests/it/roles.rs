//! `codeteam role`: roles in their layers, through the real binary.

use expect_test::expect;
use serde_json::Value;

use crate::project::Project;

/// The entry of a role in `role list --json`.
fn listed(project: &Project, name: &str) -> Value {
    let all = project.json(&["role", "list", "--json"]);
    let all = all.as_array().unwrap();
    let found = all.iter().find(|role| role["name"] == name);
    found.cloned().unwrap_or_default()
}

fn user_role(project: &Project, name: &str, text: &str) {
    let folder = project.home().join(".config/codeteam/roles");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.yml")), text).unwrap();
}

#[test]
fn roles_are_listed_by_layer() {
    let project = Project::new();
    project.write(".codeteam/roles/coder.yml", "model: swift\n");
    project.write(
        ".codeteam/roles/reviewer.yml",
        "kind: gatekeeper\ndescription: Mine\n",
    );
    project.write(".codeteam/roles/torn.yml", "kind: [\n");
    user_role(
        &project,
        "rusty",
        "extends: rust_dev\ndescription: Mine, too\n",
    );
    let list = project.run(&["role", "list"]).expect(0);
    // The widths of columns depend on what else there is.
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        cells
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    let lines: Vec<String> = list.stdout.lines().take(6).map(cells).collect();
    expect![[r"
        NAME | KIND | LAYER | EXTENDS | DESCRIPTION
        coder | implementer | project | coder (built-in) | Implements one task from its brief, then fixes what verification finds (in adversarial, codeteam, enterprise, feature, lean, security_critical, strict, team)
        reviewer | gatekeeper | project | - | in place of the built-in one: Mine (in adversarial, codeteam, enterprise, feature, lean, mvp, open_source, security_critical, standard)
        torn | ? | project | - | cannot be used

        rusty | implementer | user | rust_dev | Mine, too (in enterprise, feature, security_critical, team)"]]
    .assert_eq(&lines.join("\n"));
    list.says(&["codeteam role validate"]);
    assert_eq!(listed(&project, "coder")["extends"], "coder");
    assert_eq!(listed(&project, "reviewer")["hides"], "built-in");
    assert_eq!(listed(&project, "adversarial/qa")["layer"], "built-in");
    assert!(listed(&project, "torn")["problem"].is_string());
}

#[test]
fn a_role_is_shown_as_its_files_say_it() {
    let project = Project::new();
    project.write(".codeteam/roles/coder.yml", "# quick\nmodel: swift\n");
    project.config("roles:\n  coder: { max_turns: 3 }\nworker: scripted\n");
    let shown = project.run(&["role", "show", "coder"]).expect(0).stdout;
    let top = "# --- project: .codeteam/config.yml:2\nmax_turns: 3\n\n# --- project: .codeteam/roles/coder.yml\n# quick\nmodel: swift\n\n# --- built-in role `coder`\n";
    assert!(shown.starts_with(top), "{shown}");
    let told = project.json(&["role", "show", "coder", "--json"]);
    assert_eq!(told[1]["text"], "# quick\nmodel: swift\n");
    // One that cannot be used can still be looked at.
    project.write(".codeteam/roles/torn.yml", "kind: [\n");
    let torn = project.run(&["role", "show", "torn"]).expect(0).stdout;
    assert!(torn.ends_with("torn.yml\nkind: [\n"), "{torn}");
    let torn = project.run(&["role", "show", "torn", "--resolved"]);
    torn.expect(2).says(&["torn.yml:1:7: invalid YAML"]);
    project
        .run(&["role", "show", "codr"])
        .expect(2)
        .says(&["there is no role `codr`", "did you mean `coder`?"]);
}

#[test]
fn a_resolved_role_says_where_everything_comes_from() {
    let project = Project::new();
    project.write(
        ".codeteam/roles/coder.yml",
        "extends: coder\nmodel: swift\nsystem_prompt_additions: |\n  Be kind.\n",
    );
    user_role(&project, "coder", "context:\n  budget: 100\n");
    let shown = project.run(&["role", "show", "--resolved", "coder"]);
    let shown = shown.expect(0).stdout;
    let head: Vec<&str> = shown
        .lines()
        .take_while(|l| !l.starts_with("description"))
        .collect();
    expect![[r"
        # coder (project), builds on coder (user), then coder (built-in), then implementer (built-in)
        # its prompt, part by part:
        #   built-in role `implementer`:12
        #   built-in role `coder`:5
        #   .codeteam/roles/coder.yml:4"]]
    .assert_eq(&head.join("\n"));
    let has = |key: &str, origin: &str| {
        let line = shown.lines().find(|line| line.trim().starts_with(key));
        let line = line.unwrap_or_default();
        assert!(line.ends_with(origin), "{key}: {line}");
    };
    has("kind: implementer", "# built-in role `implementer`:3");
    has("budget: 100", "# ~/.config/codeteam/roles/coder.yml:2");
    has("model: swift", "# .codeteam/roles/coder.yml:2");
    assert!(shown.ends_with("\n  Be kind.\n"), "{shown}");
    let told = project.json(&["role", "show", "--resolved", "coder", "--json"]);
    assert_eq!(told["role"]["context"]["budget"], 100);
    assert_eq!(told["origins"]["model"]["origin"]["line"], 2);
    assert_eq!(told["chain"][2]["name"], "implementer");
}

#[test]
fn a_new_role_can_be_used_as_it_is() {
    let project = Project::new();
    for (args, file) in [
        (&["plain"][..], ".codeteam/roles/plain.yml"),
        (
            &["judge", "--kind", "gatekeeper"],
            ".codeteam/roles/judge.yml",
        ),
        (
            &["quick", "--extends", "coder"],
            ".codeteam/roles/quick.yml",
        ),
        (&["coder"], ".codeteam/roles/coder.yml"),
        (&["adversarial/qa"], ".codeteam/roles/adversarial/qa.yml"),
        (
            &["boxed", "--folder", "--extends", "reviewer"],
            ".codeteam/agents/boxed/agent.yaml",
        ),
    ] {
        let done = project.run(&[&["role", "new"], args].concat()).expect(0);
        assert_eq!(done.stdout.lines().next(), Some(file));
        project.paste(&done.commands("check")[0]).expect(0);
        let text = project.read(file);
        let line = text.lines().next().unwrap();
        let schema = line
            .strip_prefix("# yaml-language-server: $schema=")
            .unwrap();
        let schema = project.path(file).parent().unwrap().join(schema);
        assert!(schema.is_file(), "{}", schema.display());
        // What is commented out would be accepted, too.
        let open: Vec<String> = text.lines().skip(1).map(uncommented).collect();
        project.write(file, &format!("{}\n", open.join("\n")));
        project.run(&["role", "validate", args[0]]).expect(0);
    }
    project.run(&["config", "validate"]).expect(0);
    let prompt = project.read(".codeteam/agents/boxed/prompt.md");
    assert!(
        prompt.starts_with("<!-- ") && prompt.len() > 500,
        "{prompt}"
    );
    assert_eq!(listed(&project, "plain")["kind"], "implementer");
    assert_eq!(listed(&project, "coder")["extends"], "coder");
}

/// A line without the mark that makes a comment of it, where it is a key.
fn uncommented(line: &str) -> String {
    match line.strip_prefix("# ") {
        Some(key) if key.starts_with(char::is_lowercase) || key.starts_with(' ') => key.to_owned(),
        _ => line.to_owned(),
    }
}

#[test]
fn a_new_role_is_never_written_over_another() {
    let project = Project::new();
    let new = |args: &[&str]| project.run(&[&["role", "new"], args].concat());
    project.write(".codeteam/roles/one.yaml", "kind: scribe # mine\n");
    project.write(".codeteam/agents/two/prompt.md", "Mine.\n");
    for name in ["one", "two"] {
        for more in [&[][..], &["--folder"]] {
            let done = new(&[&[name], more].concat()).expect(2);
            done.says(&["there is `.codeteam/", "it was not touched"]);
        }
    }
    assert_eq!(
        project.read(".codeteam/roles/one.yaml"),
        "kind: scribe # mine\n"
    );
    assert!(!project.path(".codeteam/agents/one").exists());
    new(&["x", "--extends", "codr"])
        .expect(2)
        .says(&["did you mean `coder`?"]);
    for bad in ["a b", "../up", "a/b/c", ".hidden", ""] {
        new(&["--", bad])
            .expect(2)
            .says(&["cannot be the name of a role"]);
    }
    new(&["a/b", "--folder"]).expect(0);
    assert!(project.path(".codeteam/agents/a/b/prompt.md").is_file());
    new(&["a/b"]).expect(2).says(&["there is"]);
    new(&["x", "--extends", "coder", "--kind", "scribe"]).expect(2);
    new(&["x", "--kind", "boss"])
        .expect(2)
        .says(&["gatekeeper"]);
    assert!(!project.path(".codeteam/roles/x.yml").exists());
}

#[test]
fn roles_of_ones_own_need_no_repository() {
    let project = Project::empty();
    project
        .run(&["role", "new", "mine"])
        .expect(2)
        .says(&["is not in a git repository", "`--user`"]);
    let done = project.run(&["role", "new", "mine", "--user"]).expect(0);
    assert_eq!(done.stdout, "~/.config/codeteam/roles/mine.yml\n");
    assert!(
        project
            .home()
            .join(".config/codeteam/schema/role.json")
            .is_file()
    );
    assert_eq!(listed(&project, "mine")["layer"], "user");
    project.run(&["role", "eject", "coder", "--user"]).expect(0);
    assert_eq!(listed(&project, "coder")["layer"], "user");
    assert_eq!(listed(&project, "coder")["hides"], "built-in");
    project.run(&["role", "validate"]).expect(0);
}

#[test]
fn a_tool_that_no_worker_has_is_refused_with_those_there_are() {
    let project = Project::new();
    project.write(
        ".codeteam/roles/mine.yml",
        "extends: coder\nallowed_tools: [read_file, Bash, fly]\n",
    );
    project.run(&["role", "validate", "mine"]).expect(2).says(&[
        "mine.yml:2:34: no worker has a tool `fly`",
        "tools of your own come from an MCP server",
    ]);
    project.write(
        ".codeteam/roles/mine.yml",
        "extends: coder\nallowed_tools: [read_file, fly]\nmcp_servers: [birds]\n",
    );
    project.config("worker: scripted\nmcp_servers: { birds: { command: birds } }\n");
    project.run(&["role", "validate", "mine"]).expect(0);
}

#[test]
fn everything_wrong_with_roles_is_said_at_once() {
    let project = Project::new();
    let good = project.run(&["role", "validate"]).expect(0).stdout;
    assert!(good.starts_with("nothing is wrong with these "), "{good}");
    project.config("worker: scripted\nmcp_servers: { tickets: { command: t } }\n");
    project.trust();
    project.write(
        ".codeteam/roles/mine.yml",
        "extends: coder\ncontext: { strategy: planer_docset }\nworker: [claude, clod]\nmcp_servers: [tickts]\ndescripton: x\nmax_turns: few\n",
    );
    project.write(
        ".codeteam/roles/lost.yml",
        "extends: nobody_at_all\nmode: quick\n",
    );
    project.write(".codeteam/roles/a.yml", "extends: b\n");
    project.write(".codeteam/roles/b.yml", "extends: a\n");
    let says = [
        "mine.yml:2:22: there is no context strategy `planer_docset` (did you mean `planner_docset`?)",
        "mine.yml:3:18: codeteam does not know the worker `clod`",
        "mine.yml:4:15: no MCP server `tickts` is configured (did you mean `tickets`?)",
        "mine.yml:5:1: unknown key `descripton` (did you mean `description`?)",
        "mine.yml:6:12: expected a whole number, found `few`",
    ];
    project
        .run(&["role", "validate", "mine"])
        .expect(2)
        .says(&says);
    project
        .run(&["role", "validate"])
        .expect(2)
        .says(&says)
        .says(&[
            "lost.yml:1:10: there is no role `nobody_at_all`",
            "lost.yml:2:7: unknown word `quick` (known here: `tools`, `edits`)",
            "extend each other in a circle",
        ]);
    project
        .run(&["role", "validate", "coder", "reviewer"])
        .expect(0);
    project
        .run(&["role", "validate", "coder", "codr"])
        .expect(2)
        .says(&["there is no role `codr`"]);
}

#[test]
fn a_built_in_role_is_ejected_once() {
    let project = Project::new();
    let before = project.json(&["role", "show", "--resolved", "coder", "--json"]);
    let done = project.run(&["role", "eject", "coder"]).expect(0);
    assert_eq!(done.stdout, ".codeteam/roles/coder.yml\n");
    let text = project.read(".codeteam/roles/coder.yml");
    let line = "# yaml-language-server: $schema=../schema/role.json\n";
    assert!(text.starts_with(line), "{text}");
    let after = project.json(&["role", "show", "--resolved", "coder", "--json"]);
    assert_eq!(after["role"], before["role"]);
    assert_eq!(after["layer"], "project");
    project.write(".codeteam/roles/coder.yml", "kind: implementer # mine\n");
    project
        .run(&["role", "eject", "coder"])
        .expect(2)
        .says(&["there is `.codeteam/roles/coder.yml` already"]);
    assert_eq!(
        project.read(".codeteam/roles/coder.yml"),
        "kind: implementer # mine\n"
    );
    project.run(&["role", "eject", "strict/coder"]).expect(0);
    let text = project.read(".codeteam/roles/strict/coder.yml");
    assert!(text.starts_with("# yaml-language-server: $schema=../../schema/role.json\n"));
    project.write(".codeteam/roles/mine.yml", "kind: scribe\n");
    project
        .run(&["role", "eject", "mine"])
        .expect(2)
        .says(&["`mine` is not built in", "`.codeteam/roles/mine.yml`"]);
    project
        .run(&["role", "eject", "codr"])
        .expect(2)
        .says(&["did you mean `coder`?"]);
}

#[test]
fn a_prompt_is_judged_with_the_role() {
    let project = Project::new();
    let text = "kind: implementer\nprompt: |\n  Do it.\n  See {{ taks.title }} now.\n";
    project.write(".codeteam/roles/mine.yml", text);
    project.write(".codeteam/roles/child.yml", "extends: mine\n");
    project.write(
        ".codeteam/roles/other.yml",
        "extends: coder\ntemplate: nope\n",
    );
    for args in [
        &["role", "validate", "--json"],
        &["config", "validate", "--json"],
    ] {
        let told = project.run(args).expect(2).value();
        let problems = told["problems"].as_array().unwrap();
        assert_eq!(
            problems.len(),
            2,
            "what is inherited is said once: {told:#}"
        );
        let found = |n: usize| {
            let file = problems[n]["file"].as_str().unwrap();
            let file = file.rsplit('/').next().unwrap().to_owned();
            (
                file,
                problems[n]["line"].clone(),
                problems[n]["column"].clone(),
            )
        };
        assert_eq!(found(0), ("mine.yml".to_owned(), 4.into(), 10.into()));
        assert_eq!(found(1), ("other.yml".to_owned(), 2.into(), 11.into()));
        assert_eq!(problems[0]["hint"], "did you mean `task`?");
    }
}

#[test]
fn a_prompt_is_rendered_as_a_worker_would_get_it() {
    let project = Project::new();
    project.config("worker: scripted\nrules: [ Be kind ]\n");
    project.write(
        ".codeteam/roles/coder.yml",
        "extends: coder\nprompt: Sing while you work.\n",
    );
    let plan = project.write_outside(
        "plan.yml",
        "description: Greet people\ntasks: [ { id: t1, title: Say hello, files: [hello.txt], acceptance: [It is loud] } ]\n",
    );
    let args = ["role", "render", "coder", "--task", "t1", "--plan", &plan];
    let done = project.run(&args).expect(0);
    let (system, user) = done.stdout.split_once("--- user prompt\n").unwrap();
    assert!(system.starts_with("--- system prompt\n"), "{system}");
    assert!(system.contains("Sing while you work."), "{system}");
    for told in [
        "Greet people",
        "Say hello",
        "hello.txt",
        "It is loud",
        "Be kind",
    ] {
        assert!(user.contains(told), "{told}: {user}");
    }
    let tokens = done.stderr.trim().strip_suffix(" tokens").unwrap();
    let tokens: u64 = tokens.parse().unwrap();
    let told = project.json(&[&args[..], &["--json"]].concat());
    assert_eq!(told["tokens"], tokens);
    assert!(
        told["system"]
            .as_str()
            .unwrap()
            .contains("Sing while you work.")
    );
    // What a project says of a shared role adds to the role that a workflow has of its own.
    let other = ["role", "render", "coder", "--workflow", "strict", "--json"];
    let other = project.json(&other);
    let system = other["system"].as_str().unwrap();
    assert!(system.contains("giving complete files"), "{system}");
    assert!(system.contains("Sing while you work."), "{system}");
    assert!(!project.path(".codeteam/state.db").exists(), "nothing runs");

    let render = |args: &[&str]| project.run(&[&["role", "render"], args].concat());
    render(&["coder", "--task", "t2", "--plan", &plan])
        .expect(2)
        .says(&["the plan has no task `t2`", "hint: "]);
    render(&["coder", "--task", "t1"])
        .expect(2)
        .says(&["--plan"]);
    render(&["codr"]).expect(2).says(&["did you mean `coder`?"]);
    render(&["coder", "--workflow", "strct"])
        .expect(2)
        .says(&["did you mean `strict`?"]);
    let nowhere = Project::empty();
    nowhere
        .run(&["role", "render", "coder"])
        .expect(2)
        .says(&["is not in a git repository"]);
}

#[test]
fn what_is_rendered_is_what_a_worker_is_told() {
    let project = Project::new();
    let told = r"$(tr '\\0' '\\n' </proc/$PPID/cmdline | grep 'assignment.json$')";
    let script = project.script(&format!(
        "version: 1\nplays:\n  - do: [ {{ run: \"cp {told} told.json\" }}, {{ submit: {{ summary: Made it }} }} ]\n"
    ));
    project.write(
        ".codeteam/roles/worker_bee.yml",
        "kind: implementer\nprompt: Be busy with {{ goal }}.\n",
    );
    project.write(".codeteam/workflows/hive.yml", FLOW);
    let rendered = project.json(&[
        "role",
        "render",
        "worker_bee",
        "--workflow",
        "hive",
        "--goal",
        "honey",
        "--json",
    ]);
    let run = ["run", "honey", "--script", &script, "--workflow", "hive"];
    project.run(&run).expect(3);
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(0);
    let told: Value = serde_json::from_str(&project.committed_file("told.json")).unwrap();
    let texts = texts(&told);
    for part in ["system", "user"] {
        let part = rendered[part].as_str().unwrap();
        assert!(part.contains("honey"), "{part}");
        assert!(texts.contains(&part), "{part}\n{told:#}");
    }
}

/// All texts in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(entries) => entries.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

const FLOW: &str = "start: code\nsteps:\n  code: { role: worker_bee, next: ask }\n  ask:\n    person: Is it good?\n    answers: { approve: commit, reject: { next: code, rejects: true } }\n  commit: { commit: branch, next: done }\n";

const BEE: &str = "version: 1\nplays:\n  - match: { role: worker_bee }\n    do: [ { write: { path: made.txt, content: \"round {{round}}\\n\" } }, { submit: { summary: Made it } } ]\n";

#[test]
fn a_run_under_way_keeps_the_roles_and_the_workflow_it_began_with() {
    let project = Project::new();
    let script = project.script(BEE);
    project.write(
        ".codeteam/roles/worker_bee.yml",
        "kind: implementer\nprompt: Be busy.\n",
    );
    project.write(".codeteam/workflows/hive.yml", FLOW);
    let args = ["run", "x", "--script", &script, "--workflow", "hive"];
    project.run(&args).expect(3);
    let pinned = |project: &Project| project.events()[0]["event"].clone();
    let before = pinned(&project);
    assert_eq!(before["roles"]["worker_bee"]["prompt"], "Be busy.");

    project.write(
        ".codeteam/roles/worker_bee.yml",
        "kind: gatekeeper\nprompt: Be lazy.\n",
    );
    project.write(
        ".codeteam/workflows/hive.yml",
        "start: nowhere\nsteps: {}\n",
    );
    project.run(&["reject", "-m", "Again"]).expect(0);
    project
        .run(&["resume"])
        .expect(3)
        .says(&["worker_bee at work", "Is it good?"]);
    project.run(&["approve"]).expect(0);
    project.run(&["resume"]).expect(0);
    assert_eq!(project.committed_file("made.txt"), "round 2");
    assert_eq!(pinned(&project), before);

    // A new run has the new files.
    project.run(&args).expect(2).says(&["hive.yml:"]);
}
