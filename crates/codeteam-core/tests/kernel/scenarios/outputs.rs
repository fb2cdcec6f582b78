//! Declared outputs: an answer that lacks one goes back to whoever gave it.

use expect_test::expect;

use crate::fixture::RunSetup;
use crate::scenario::play;

const OUTPUTS: &str = r#"
name: outputs
start: plan
roles:
  cutter: { kind: planner, worker: claude }
  modeler: { kind: designer, worker: claude }
  maker: { kind: implementer, worker: claude }
steps:
  plan: { role: cutter, outputs: [plan, file_targets], next: model }
  model: { role: modeler, outputs: [threat_model, interfaces, what comes to mind], next: tasks }
  tasks:
    each: task
    next: done
    steps:
      make: { role: maker, outputs: [code, docs/*.md], next: commit }
      commit: { commit: branch, on_conflict: make }
"#;

#[test]
fn an_answer_without_a_declared_output_goes_back_with_its_name() {
    let transcript = play(
        &RunSetup::for_workflow(OUTPUTS),
        r###"
        run plan says {"plan":{"tasks":[{"id":"a"}]}}
        run plan says {"plan":{"tasks":[{"id":"a","files":["a","docs/"]}]}}
        run model says {"design":"nothing"}
        run model says {"design":"Text.\n\n## Threat model\n\nNone."}
        run model says {"design":"## threat_model\n\nNone.","interfaces":["f()"]}
        run/a make writes a=1
        run/a make writes a=1 docs/a.md=1"###,
    );
    expect![[r###"
        > run plan says {"plan":{"tasks":[{"id":"a"}]}}
          run:plan.1.0.1#1 failed: logic → retry_with_feedback: `file_targets` is missing: task `a` names no `files`
          run:plan.1.0.2 queued
          run:plan.1.0.2#2 started: cutter on claude
        > run plan says {"plan":{"tasks":[{"id":"a","files":["a","docs/"]}]}}
          run:plan.1.0.2#2 answered
          plan proposed: 1 tasks
          run at model.1 (next)
          run:model.1.0.1#3 started: modeler on claude
        > run model says {"design":"nothing"}
          run:model.1.0.1#3 failed: logic → retry_with_feedback: `threat_model` is missing: write it as a section of `design`, under the heading `## threat_model`
          run:model.1.0.2 queued
          run:model.1.0.2#4 started: modeler on claude
        > run model says {"design":"Text.\n\n## Threat model\n\nNone."}
          run:model.1.0.2#4 failed: logic → retry_with_feedback: `interfaces` is missing: each one needs a `name`, a `type` and its whole `definition`
          run:model.1.0.3 queued
          run:model.1.0.3#5 started: modeler on claude
        > run model says {"design":"## threat_model\n\nNone.","interfaces":["f()"]}
          run:model.1.0.3#5 answered
          run at tasks.1 (next)
          run/a opened on c0
          run/a at make.1 (start)
          run/a:make.1.0.1#6 started: maker on claude
        > run/a make writes a=1
          run/a:make.1.0.1#6 failed: logic → retry_with_feedback: `docs/*.md` is missing: the change touches no such file
          run/a:make.1.0.2 queued
          run/a:make.1.0.2#7 started: maker on claude
        > run/a make writes a=1 docs/a.md=1
          run/a:make.1.0.2#7 answered, tree README.md=0,a=1,docs/a.md=1
          run/a at commit.1 (next)
          run/a:commit.1.0.1#8 started: integrate
    "###]].assert_eq(&transcript);
}
