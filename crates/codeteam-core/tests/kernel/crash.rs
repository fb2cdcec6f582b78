//! A run that is killed anywhere ends as if nothing had happened.

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::failure::{FailureFacts, FailureStage};
use codeteam_core::ids::{AttemptId, TaskId};
use codeteam_core::input::{WorkerOutcome, WorkerReport};
use codeteam_core::plan::PhaseStart;
use codeteam_core::role::{Contract, RoleKind};
use codeteam_core::{Effect, Input};
use serde_json::{Value, json};

use crate::fixture::{EACH_TASK, LED, LOCKED, PHASES, RunSetup, SEQUENCE};
use crate::git;
use crate::world::{SimulatedWorld, spent};

/// When codeteam dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CrashPoint {
    /// What is due has not been done.
    BeforePerforming,
    /// It has been done, and nobody has heard of it.
    AfterPerforming,
}

/// How a run ended: the trees on its branch and where each task stands.
type RunEnding = (Vec<String>, Vec<(String, String)>, String);

/// Runs to the end with workers that answer by what they are asked, dying at the given turns.
fn run(start: &RunSetup, deaths: &[(usize, CrashPoint)]) -> (RunEnding, usize) {
    let mut world = SimulatedWorld::begin(start);
    let mut turn = 0;
    while !world.run.is_terminal() {
        assert!(turn < 500, "it does not end");
        let death = deaths.iter().find(|(at, _)| *at == turn).map(|(_, d)| *d);
        if death == Some(CrashPoint::BeforePerforming) {
            world.crash();
        }
        let next = world.flights.values().next().cloned();
        if let Some(effect) = next {
            let input = perform(&mut world, &effect);
            if death == Some(CrashPoint::AfterPerforming) {
                world.crash();
            } else {
                world.land(&input);
            }
        } else if let Some(question) = world.questions().first().cloned() {
            world.decide(codeteam_core::input::Decision::Answer {
                answer: question
                    .answers
                    .first()
                    .cloned()
                    .unwrap_or("by mail".into()),
                question: question.id,
                note: String::new(),
                change: None,
            });
        } else {
            let until = world.next_wake().unwrap();
            world.wake(until);
        }
        turn += 1;
    }
    let statuses = world.run.tasks.iter();
    let statuses = statuses.map(|(t, r)| (t.0.clone(), r.status.as_str().to_owned()));
    let outcome = format!("{:?}", world.run.outcome);
    ((world.git.history(), statuses.collect(), outcome), turn)
}

fn perform(world: &mut SimulatedWorld, effect: &Effect) -> Input {
    let (at, id) = (world.now, effect.attempt().unwrap().clone());
    match effect {
        Effect::StartWorker { .. } => work(world, &id),
        Effect::RunGate { step, tree, .. } => {
            // The second task's first change does not pass.
            let wrong = tree.0.contains("two.rs=two.r1").then_some("1 test failed");
            world.judged(&id, step, wrong)
        }
        Effect::Publish { .. } => Input::Published {
            at,
            id,
            ok: true,
            output: String::new(),
        },
        _ => world.perform_git(effect).unwrap(),
    }
}

fn work(world: &SimulatedWorld, id: &AttemptId) -> Input {
    let told = build_assignment(&world.run, id).unwrap();
    let who = told.task.as_ref().map_or("goal", |t| t.id.as_str());
    let answer = match told.kind {
        _ if told.expected.contract == Contract::Assembly => assembly(&told),
        _ if told.expected.contract == Contract::Quality => {
            // The first result of each task is not good enough.
            let points = if told.place.generation == 1 { 40 } else { 80 };
            let criteria = told.task.as_ref().map_or(0, |task| task.acceptance.len());
            let scores: Vec<_> = (1..=criteria)
                .map(|n| json!({"criterion": n, "score": points}))
                .collect();
            json!({"overall_score": points, "criteria_scores": scores})
        }
        _ if told.expected.contract == Contract::Intervention => intervention(&told),
        RoleKind::Analyst if told.earlier.answers.is_empty() => json!({"questions": ["How?"]}),
        RoleKind::Analyst => json!({"requirements": "by mail"}),
        RoleKind::Designer => match &told.earlier.phase {
            Some(phase) => {
                let interface = json!({"name": phase.phase.id, "type": "text", "definition": "v1"});
                json!({"design": "in parts", "interfaces": [interface]})
            }
            None => json!({"design": "a table"}),
        },
        // One task needs another interface than the one that is locked.
        RoleKind::Implementer
            if told.expected.requests && who == "two" && told.place.generation == 1 =>
        {
            json!({"interface_change": {"interface": told.locked[0].file.name,
                "definition": "v2", "reason": "something is missing"}})
        }
        RoleKind::Implementer => json!({"summary": "done"}),
        RoleKind::Gatekeeper
            if told.expected.contract == codeteam_core::role::Contract::TeamMcp =>
        {
            // Two rounds are rejected.
            json!({"approved": told.place.round > 2, "reason": "seen", "issues": if told.place.round > 2 { vec![] } else { vec!["one"] }})
        }
        RoleKind::Gatekeeper => json!({"verdict": "approve", "reason": "seen"}),
        RoleKind::Scribe => json!({"message": format!("Do {who}")}),
        RoleKind::Planner => json!({"blocked": "there is a plan"}),
    };
    let mut end = WorkerOutcome::Answered(answer.to_string());
    if told.kind == RoleKind::Implementer && who == "three" && told.place.attempt == 1 {
        end = WorkerOutcome::Failed(FailureFacts {
            stage: FailureStage::TimedOut,
            ..FailureFacts::default()
        });
    }
    let change = told.writable.then(|| {
        let mut files = git::files(&told.tree);
        // Roles that take turns do not write the same.
        let by = match told.role.as_str() {
            "writer" => ".words",
            _ => "",
        };
        let content = format!("{who}{by}.r{}", told.place.round);
        files.insert(format!("{who}.rs"), content.clone());
        let list = files.entry("shared.txt".to_owned()).or_default();
        *list = format!("{list}+{content}");
        let tree = git::tree(&files);
        let base = &world.run.frames[&id.frame].base.tree;
        (tree.clone(), git::change(&id.without_fence(), base, &tree))
    });
    Input::WorkerExited {
        at: world.now,
        id: id.clone(),
        report: Box::new(WorkerReport {
            session: None,
            log: None,
            edited: Vec::new(),
            failed_write: None,
            end,
            usage: spent(100),
            model: None,
            transcript: None,
            change,
        }),
    }
}

/// The first task is for two roles, the others for one.
fn assembly(told: &Assignment) -> Value {
    let one = |task: &TaskId| {
        let roles = match task.as_str() {
            "one" => vec!["writer", "developer"],
            _ => vec!["developer"],
        };
        json!({"task": task, "roles": roles, "reason": "they can"})
    };
    let assignments: Vec<Value> = told.team.unassigned.iter().map(one).collect();
    json!({"assignments": assignments})
}

/// Each task gets another intervention, and then goes on.
fn intervention(told: &Assignment) -> Value {
    let task = told.task.as_ref().map_or("", |task| task.id.as_str());
    match (task, told.place.generation) {
        ("one", 1) => json!({"intervention": "enhance", "reason": "it was unclear",
            "criteria": ["names five"]}),
        ("two", 1) => json!({"intervention": "escalate", "reason": "it lacks words",
            "role": "writer", "request": "Write"}),
        (_, 1) => json!({"intervention": "retry", "reason": "again"}),
        _ => json!({"intervention": "continue", "reason": "good"}),
    }
}

fn ends_the_same_wherever_it_dies(start: &RunSetup) {
    let (undisturbed, turns) = run(start, &[]);
    assert!(undisturbed.2.contains("Completed"), "{undisturbed:?}");
    for turn in 0..turns {
        for death in [CrashPoint::BeforePerforming, CrashPoint::AfterPerforming] {
            let (ending, _) = run(start, &[(turn, death)]);
            assert_eq!(ending, undisturbed, "after dying at turn {turn}, {death:?}");
            let again = [(turn, death), (turn + 1, CrashPoint::AfterPerforming)];
            let (ending, _) = run(start, &again);
            assert_eq!(
                ending, undisturbed,
                "after dying twice from turn {turn}, {death:?}"
            );
        }
    }
}

#[test]
fn tasks_side_by_side_with_a_failing_gate_and_a_retry() {
    let start = RunSetup::for_workflow(EACH_TASK).plan(
        "one: one.rs
         two: two.rs
         three: three.rs < one",
    );
    ends_the_same_wherever_it_dies(&start);
}

#[test]
fn a_team_with_turns_scores_and_interventions() {
    let start = RunSetup::for_workflow(LED).plan(
        "one: one.rs
         two: two.rs
         three: three.rs < one",
    );
    ends_the_same_wherever_it_dies(&start);
}

#[test]
fn a_sequence_with_a_question_and_rejections() {
    ends_the_same_wherever_it_dies(&RunSetup::for_workflow(SEQUENCE));
}

#[test]
fn phases_one_of_whose_locked_interfaces_is_changed() {
    let mut start = RunSetup::for_workflow(LOCKED).plan(
        "one@first: one.rs
         two@first: two.rs
         three@second: three.rs",
    );
    let plan = start.plan.as_mut().unwrap();
    plan.phases[1].starts_after = PhaseStart::Interfaces;
    let (ending, _) = run(&start, &[]);
    let changed = |tree: &String| tree.contains("interfaces/first.md=v2");
    assert!(ending.0.iter().any(changed), "{ending:?}");
    ends_the_same_wherever_it_dies(&start);
}

#[test]
fn phases() {
    // Publishing is the one thing that is not repeated without asking; the person says it is done.
    let start = RunSetup::for_workflow(PHASES).plan(
        "one@first: one.rs
         two@first: two.rs
         three@second: three.rs",
    );
    ends_the_same_wherever_it_dies(&start);
}
