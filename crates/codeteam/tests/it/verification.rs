//! What codeteam verifies itself beside commands: lengths, rings of imports, tests that prove
//! something.

use serde_json::Value;

use crate::misbehaviour::ONE;
use crate::project::{Done, Project};

/// A script in which the coder does this in its first round and that in its second.
fn rounds(first: &str, second: &str) -> String {
    format!(
        "version: 1\nplays:\n  - match: {{ role: coder, round: 1 }}\n    do:\n{first}      - \
         submit: {{ summary: First }}\n  - match: {{ role: coder }}\n    do:\n{second}      - \
         submit: {{ summary: Second }}\n  - match: {{ role: reviewer }}\n    do: [ {{ submit: {{ \
         verdict: approve, reason: Good }} }} ]\n"
    )
}

fn write(path: &str, content: &str) -> String {
    let content = serde_json::to_string(content).unwrap();
    format!("      - write: {{ path: {path}, content: {content} }}\n")
}

fn run(project: &Project, script: &str) -> Done {
    let (script, workflow) = (project.script(script), project.workflow(ONE));
    project.run(&[
        "-v",
        "run",
        "x",
        "--script",
        &script,
        "--workflow",
        &workflow,
    ])
}

/// The results of the gates, one list a gate.
fn results(project: &Project) -> Vec<Vec<Value>> {
    let gates = project.events().into_iter().map(|e| e["event"].clone());
    gates
        .filter(|event| event["type"] == "gate_judged")
        .map(|event| event["results"].as_array().unwrap().clone())
        .collect()
}

/// The result of one check in the first gate, second gate, …
fn of<'r>(gates: &'r [Vec<Value>], name: &str) -> Vec<&'r Value> {
    let named = |gate: &'r Vec<Value>| gate.iter().find(|result| result["name"] == name);
    gates.iter().map(|gate| named(gate).unwrap()).collect()
}

#[test]
fn what_is_too_long_or_goes_round_in_rings_goes_back_to_the_coder() {
    let project = Project::new();
    let old = "x = 1\n".repeat(60);
    project.write("app/old.py", &old);
    project.write("app/a.py", "from app import b\n");
    project.write("app/b.py", "");
    project.config(
        "worker: scripted\nverification:\n  metrics: { max_file_lines: 50, max_function_lines: 10, max_import_cycles: 0 }\n",
    );
    project.commit("sources");
    let long = format!("def get_user():\n{}", "    x = 1\n".repeat(14));
    let short = format!("def get_user():\n{}", "    x = 1\n".repeat(8));
    let script = rounds(
        &[
            write("app/b.py", "import os\nfrom app import a\n"),
            write("app/user.py", &(long + &"y = 2\n".repeat(40))),
            write("app/old.py", &format!("x = 2\n{}", &old[6..])),
        ]
        .concat(),
        &[
            write("app/b.py", "import os\n"),
            write("app/user.py", &short),
        ]
        .concat(),
    );
    run(&project, &script).expect(0).says(&[
        "check failed: File Length, Method Length, Import Cycles",
        "back to code",
    ]);
    let gates = results(&project);
    let [first, second] = of(&gates, "File Length")[..] else {
        panic!("{gates:?}");
    };
    assert_eq!(first["class"], "metric");
    assert_eq!(
        first["measures"],
        serde_json::json!([
            { "of": "File Length (app/b.py)", "passed": true, "found": "2/50 lines" },
            { "of": "File Length (app/old.py)", "passed": true, "found": "60/50 lines" },
            { "of": "File Length (app/user.py)", "passed": false, "found": "55/50 lines" },
        ])
    );
    assert!(
        first["summary"]
            .as_str()
            .unwrap()
            .starts_with("app/user.py:51: the file has 55 lines, the limit is 50;"),
        "{first}"
    );
    assert_eq!(
        (&second["passed"], &second["remark"]),
        (&true.into(), &"noted".into())
    );
    let length = of(&gates, "Method Length");
    assert_eq!(length[0]["measures"][0]["of"], "Method Length (get_user)");
    assert_eq!(length[0]["measures"][0]["found"], "15/10 lines");
    assert_eq!(length[1]["measures"][0]["found"], "9/10 lines");
    let rings = of(&gates, "Import Cycles");
    let said = rings[0]["summary"].as_str().unwrap();
    assert!(
        said.starts_with("app/b.py:2: `from app import a` closes a ring of imports (app/a.py"),
        "{said}"
    );
    assert_eq!(rings[1]["passed"], true);
}

#[test]
fn a_workflows_gate_can_name_a_limit() {
    let project = Project::new();
    project.config("worker: scripted\nverification: { metrics: { max_file_lines: 1 } }\n");
    let workflow = ONE.replace("gate: project", "gate: file_length");
    let script = rounds(&write("a.py", "a\nb\n"), &write("a.py", "a\n"));
    let (script, workflow) = (project.script(&script), project.workflow(&workflow));
    let args = ["run", "x", "--script", &script, "--workflow", &workflow];
    project.run(&args).expect(0);
    assert_eq!(project.made("a.py"), "a");
    assert_eq!(results(&project).len(), 2);
}
