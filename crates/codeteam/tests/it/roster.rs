//! The roles of the default workflow that are asked only at times: who shortens a log, and who says
//! which task comes first.

use serde_json::Value;

use crate::project::Project;

/// Everybody but the coder, the summarizer and the situation role.
const OTHERS: &str = "
  - match: { role: prompter }
    do: [ { submit: { message: Look at hello.txt first. } } ]
  - match: { role: committer }
    do: [ { submit: { message: 'Do {{task.id}}' } } ]
  - match: { kind: gatekeeper }
    do: [ { submit: { verdict: approve, reason: Good } } ]
";

/// A project in which the default workflow is followed, with this in its configuration.
fn project(config: &str) -> Project {
    let project = Project::new();
    project.config(&format!(
        "worker: scripted\n{config}verification:\n  commands:\n    - {{ name: tests, command: 'for t in tests/*.sh; do [ ! -e \"$t\" ] || sh \"$t\" || exit 1; done' }}\n"
    ));
    project
}

fn events(project: &Project, kind: &str) -> Vec<Value> {
    let events = project.events().into_iter().map(|e| e["event"].clone());
    events.filter(|event| event["type"] == kind).collect()
}

#[test]
fn a_long_log_is_shortened_and_the_original_stays() {
    let project =
        project("workflow: codeteam\nagents: { coder: { log_summarize_threshold: 50 } }\n");
    let plan = project.write_outside(
        "plan.yml",
        "description: Greet\ntasks: [ { id: greet, description: Greet, files: [greet.sh, tests/greet.sh] } ]\n",
    );
    let script = project.script(&format!(
        "version: 1\nplays:{OTHERS}
  - match: {{ role: summarizer }}
    do: [ {{ submit: {{ message: 'Done: greet.sh. Failures: it printed Hi.' }} }} ]
  - match: {{ role: coder, round: 1 }}
    do:
      - write: {{ path: greet.sh, content: \"echo Hi\\n\" }}
      - write: {{ path: tests/greet.sh, content: \"[ \\\"$(sh greet.sh)\\\" = Hello ]\\n\" }}
      - submit: {{ summary: 'I wrote a greeting, {}' }}
  - match: {{ role: coder }}
    do:
      - write: {{ path: greet.sh, content: \"echo Hello\\n\" }}
      - submit: {{ summary: It says Hello now }}
",
        "and thought about it at length. ".repeat(10)
    ));
    let done = project.run(&["-v", "run", "--plan", &plan, "--script", &script]);
    done.expect(0)
        .says(&["summarizer at work", "summarizer wrote"]);

    let submitted = events(&project, "submission_received");
    let shortened: Vec<&Value> = submitted.iter().filter(|e| !e["log"].is_null()).collect();
    assert_eq!(shortened.len(), 1, "{submitted:#?}");
    let run = project.shown_run()["run"].as_str().unwrap().to_owned();
    let log = project.read(&format!(".codeteam/runs/{run}/greet/CODER_LOG.md"));
    assert!(
        log.contains("Done: greet.sh. Failures: it printed Hi."),
        "{log}"
    );
    assert!(!log.contains("thought about it"), "{log}");
    assert!(log.contains("It says Hello now"), "{log}");
    // The original is where the event says.
    let name = shortened[0]["log"].as_str().unwrap();
    let kept = crate::package::body_of(&project, name);
    assert!(kept.contains("thought about it at length"), "{kept}");
}

#[test]
fn a_role_says_which_task_comes_first_where_it_is_asked() {
    let plan = "description: Two\ntasks:\n  - { id: one, description: One, files: [one.txt] }\n  - { id: two, description: Two, files: [two.txt] }\n";
    let script = format!(
        "version: 1\nplays:{OTHERS}
  - match: {{ role: situation }}
    do: [ {{ submit: {{ message: \"two\\nMore depends on it.\" }} }} ]
  - match: {{ role: coder }}
    do:
      - write: {{ path: '{{{{task.id}}}}.txt', content: done }}
      - submit: {{ summary: Done }}
"
    );
    let settings = "workflow:\n  extends: codeteam\n  settings: { situation: true }\n  overrides: { tasks: { cap: 1 } }\n";
    for (config, order) in [("workflow: codeteam\n", "one"), (settings, "two")] {
        let project = project(config);
        let plan = project.write_outside("plan.yml", plan);
        let script = project.script(&script);
        project
            .run(&["run", "--plan", &plan, "--script", &script])
            .expect(0);
        let opened = events(&project, "frame_opened");
        let first = opened[0]["frame"].as_str().unwrap();
        assert!(first.ends_with(order), "{config}: {first}");
        let chosen = events(&project, "task_chosen").len();
        assert_eq!(chosen, usize::from(order == "two"));
    }
}
