//! Workers, gates and people that do what a seed says.

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::budget::Usage;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage, ReachedQuota};
use codeteam_core::frame::{Question, QuestionKind};
use codeteam_core::ids::AttemptId;
use codeteam_core::input::{Decision, WorkerOutcome, WorkerReport};
use codeteam_core::plan::{Phase, PhaseStart, Plan, Task};
use codeteam_core::risk::{PathSetMatch, RiskFacts};
use codeteam_core::role::{Contract, RoleKind};
use codeteam_core::{Effect, Input};
use serde_json::{Value, json};

use crate::git;
use crate::world::SimulatedWorld;

/// A generator that gives the same numbers everywhere.
#[derive(Clone)]
pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n.max(1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let n = u64::try_from(from.len()).unwrap();
        &from[usize::try_from(self.below(n)).unwrap()]
    }
}

/// Performs what is in flight; `trouble` is how often, in percent, something goes wrong.
pub(crate) fn perform(
    world: &mut SimulatedWorld,
    luck: &mut SeededRandom,
    effect: &Effect,
    trouble: u64,
) -> Input {
    let (at, id) = (world.now, effect.attempt().unwrap().clone());
    let is_rollback = matches!(effect, Effect::MoveBranch { .. });
    if luck.percent(if is_rollback { trouble } else { trouble / 8 }) {
        let message = "the disk is gone".to_owned();
        let trouble = luck.percent(50).then_some(FailureCause::Machine);
        return Input::EffectFailed {
            at,
            id,
            trouble,
            message,
        };
    }
    match effect {
        Effect::StartWorker { .. } => work(world, luck, &id, trouble),
        Effect::RunGate { step, .. } => {
            let wrong = luck.percent(trouble).then_some("1 test failed");
            world.judged(&id, step, wrong)
        }
        Effect::Publish { .. } => Input::Published {
            at,
            id,
            ok: !luck.percent(trouble),
            output: "remote: ok".to_owned(),
        },
        Effect::AssessRisk { tree, .. } => Input::RiskRead {
            at,
            id,
            tree: tree.clone(),
            facts: Box::new(some_facts(luck)),
        },
        Effect::Notify { .. } => Input::Notified {
            at,
            id,
            channels: luck
                .percent(80)
                .then(|| "terminal".to_owned())
                .into_iter()
                .collect(),
        },
        _ => world.perform_git(effect).unwrap(),
    }
}

fn some_facts(luck: &mut SeededRandom) -> RiskFacts {
    let files = 1 + u32::from(luck.percent(50));
    let sets = ["auth", "keys"].into_iter().filter(|_| luck.percent(30));
    let paths = sets.map(|set| PathSetMatch {
        set: set.to_owned(),
        files: vec![format!("{set}.rs")],
        more: 0,
    });
    RiskFacts {
        files,
        paths: paths.collect(),
        ..RiskFacts::default()
    }
}

fn work(world: &SimulatedWorld, luck: &mut SeededRandom, id: &AttemptId, trouble: u64) -> Input {
    let told = build_assignment(&world.run, id).unwrap();
    let end = if luck.percent(trouble) {
        misfortune(luck, &told)
    } else {
        WorkerOutcome::Answered(answer(luck, &told, trouble).to_string())
    };
    // One that has nothing reserved is cheap; none spends more than it may.
    let own = world.run.roles[&told.role]
        .max_cost_microusd
        .unwrap_or(1_000);
    let cap = told
        .limits
        .max_cost_microusd
        .map_or(own, |most| most.min(own));
    let usage = Usage {
        cached_input_tokens: 0,
        input_tokens: 100,
        output_tokens: 10,
        cost_microusd: (!luck.percent(trouble)).then(|| luck.below(cap + 1)),
    };
    let change = told.writable.then(|| write(luck, &told, trouble));
    let at = world.now;
    let change = change.map(|tree| {
        let base = &world.run.frames[&id.frame].base.tree;
        let change = git::change(&id.without_fence(), base, &tree);
        (tree, change)
    });
    let report = WorkerReport {
        session: luck.percent(50).then(|| "s".to_owned()),
        log: None,
        edited: Vec::new(),
        failed_write: None,
        end,
        usage,
        model: None,
        transcript: None,
        change,
    };
    Input::WorkerExited {
        at,
        id: id.clone(),
        report: Box::new(report),
    }
}

fn misfortune(luck: &mut SeededRandom, told: &Assignment) -> WorkerOutcome {
    let mut facts = FailureFacts::default();
    match luck.below(8) {
        0 => facts.stage = FailureStage::TimedOut,
        1 => facts.signal = Some(9),
        2 => facts.exit = Some(2),
        3 => facts.http_status = Some(529),
        4 => {
            facts.quota = Some(ReachedQuota {
                account: told.worker.as_str().into(),
                resets_in_ms: Some(1_000 + luck.below(60_000)),
                resets_at: None,
            });
        }
        5 => return WorkerOutcome::Answered("I am done!".to_owned()),
        6 => return WorkerOutcome::Answered(json!({"blocked": "no access"}).to_string()),
        _ => facts.message = "something odd".into(),
    }
    WorkerOutcome::Failed(facts)
}

fn answer(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    let team = told.expected.contract == Contract::TeamMcp;
    match told.expected.contract {
        Contract::Assembly => return assembly(luck, told, trouble),
        Contract::Quality => return quality(luck, told, trouble),
        Contract::Intervention => return intervention(luck, told, trouble),
        _ => {}
    }
    match told.kind {
        RoleKind::Analyst if luck.percent(trouble) => json!({"questions": ["Which mail service?"]}),
        RoleKind::Analyst if team => json!({"confirmed_requirements": "reset by mail"}),
        RoleKind::Analyst => json!({"requirements": "reset by mail"}),
        RoleKind::Designer if told.earlier.phase.is_some() => breakdown(luck, told, trouble),
        RoleKind::Designer => json!({"design": "a table of tokens"}),
        RoleKind::Planner if luck.percent(if told.expected.asks { 50 } else { trouble / 3 }) => {
            json!({"questions": ["Which mail service?"], "context": "By mail."})
        }
        RoleKind::Planner => json!({"plan": some_plan(luck, true)}),
        RoleKind::Implementer if told.expected.requests && luck.percent(trouble) => {
            let one = luck.pick(&told.locked);
            json!({"interface_change": {"interface": one.file.name, "phase": one.phase,
                "definition": format!("v{}", luck.below(5)), "reason": "it lacks something"}})
        }
        RoleKind::Implementer => json!({"summary": "done", "files": []}),
        RoleKind::Scribe if !told.expected.candidates.is_empty() && !luck.percent(trouble) => {
            let chosen = luck.pick(&told.expected.candidates);
            json!({"message": format!("{chosen}\nMuch waits for it.")})
        }
        RoleKind::Scribe if told.expected.shortens => json!({"message": "It was hard."}),
        RoleKind::Scribe => json!({"message": format!("Do {}", told.place.step)}),
        RoleKind::Gatekeeper if team => {
            let approved = !luck.percent(2 * trouble);
            let issues = if approved {
                vec![]
            } else {
                vec![format!("issue {}", luck.below(4))]
            };
            json!({"approved": approved, "reason": "seen", "issues": issues})
        }
        RoleKind::Gatekeeper => verdict(luck, told, trouble),
    }
}

/// A designer that breaks its phase down, now and then into what cannot be built.
fn breakdown(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    let phase = told.earlier.phase.as_ref().unwrap();
    let plan = told.earlier.plan.as_ref().unwrap();
    let locks = told
        .expected
        .outputs
        .iter()
        .any(|output| output == "interfaces");
    if !phase.tasks.is_empty() && luck.percent(50) && !locks {
        return json!({"design": "as planned"});
    }
    let mut ids: Vec<String> = plan.tasks.iter().map(|task| task.id.0.clone()).collect();
    let mut components = Vec::new();
    for n in 0..=luck.below(3) {
        let id = format!("{}-{n}", phase.phase.id);
        let files = ["a.rs", "b.rs", "src/", "src/x.rs"];
        let file = (*luck.pick(&files)).to_owned();
        let own = ids
            .iter()
            .filter(|known| known.starts_with(phase.phase.id.as_str()));
        let mut on: Vec<String> = own.take(usize::from(luck.percent(40))).cloned().collect();
        if luck.percent(trouble) && !ids.is_empty() {
            on.push(luck.pick(&ids).clone());
        }
        components.push(json!({"id": id, "files": [file], "depends_on": on}));
        ids.push(id);
    }
    if !locks {
        return json!({"design": "in parts", "components": components});
    }
    let text = format!("v{}", luck.below(3));
    let interface = json!({"name": phase.phase.id, "type": "text", "definition": text});
    json!({"design": "in parts", "components": components, "interfaces": [interface]})
}

/// An assembler that sometimes forgets a task, names nobody, or names who does not exist.
fn assembly(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    let mut assignments = Vec::new();
    for task in &told.team.unassigned {
        if luck.percent(trouble) {
            continue;
        }
        let mut roles: Vec<String> = Vec::new();
        for role in &told.team.roles {
            if luck.percent(40) {
                roles.push(role.name.0.clone());
            }
        }
        if roles.is_empty() && !luck.percent(trouble) {
            roles.push("developer".to_owned());
        }
        if luck.percent(trouble / 2) {
            roles.push("nobody".to_owned());
        }
        assignments.push(json!({"task": task, "roles": roles, "reason": "it can",
            "alternatives": ["writer"]}));
    }
    json!({"assignments": assignments})
}

/// A validator that is hard to please, and sometimes gives scores that do not exist.
fn quality(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    if luck.percent(trouble / 2) {
        let score = *luck.pick(&[101_i64, -1, 100_000]);
        return json!({"overall_score": score});
    }
    let low = if trouble > 0 { 30 } else { 80 };
    let criteria = told.task.as_ref().map_or(0, |task| task.acceptance.len());
    let extra = usize::from(luck.percent(trouble / 4));
    let scores: Vec<Value> = (1..=criteria + extra)
        .map(|n| json!({"criterion": n, "score": 50}))
        .collect();
    json!({"overall_score": low + luck.below(101 - low), "criteria_scores": scores,
        "issues": ["it is short"]})
}

/// A leader that chooses anything, whether it may or not.
fn intervention(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    let why = "because";
    let quality = told.team.quality.as_ref();
    let is_low = quality.is_some_and(|found| found.score.overall_score < found.threshold);
    if trouble == 0 && (is_low || told.team.failure.is_some() || told.judged.change.is_none()) {
        // In a kind world a leader does not insist on what it may not do.
        let retries = told
            .team
            .interventions_left
            .first()
            .map_or(0, |left| left.1);
        let what = if retries > 0 { "retry" } else { "terminate" };
        return json!({"intervention": what, "reason": why});
    }
    let role = told.team.roles.first().map(|role| role.name.0.clone());
    match luck.below(if trouble > 0 { 9 } else { 4 }) {
        0..=3 => json!({"intervention": "continue", "reason": why}),
        4 => json!({"intervention": "retry", "reason": why}),
        5 => json!({"intervention": "enhance", "reason": why,
            "description": format!("In other words {}", luck.below(5)), "criteria": ["it is seen"]}),
        6 => json!({"intervention": "escalate", "reason": why, "role": role, "request": "look"}),
        7 => {
            json!({"intervention": "escalate", "reason": why, "role": "nobody", "request": "look"})
        }
        _ => json!({"intervention": "terminate", "reason": why, "ends_run": luck.percent(20)}),
    }
}

fn verdict(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> Value {
    let mut resolved: Vec<Value> = Vec::new();
    for finding in &told.feedback.findings {
        if !luck.percent(trouble) {
            let state = luck.pick(&["fixed", "withdrawn"]);
            resolved.push(json!({"id": finding.id, "state": state}));
        }
    }
    let mut findings: Vec<Value> = Vec::new();
    for n in 0..3 {
        if luck.percent(trouble) {
            let severity = luck.pick(&["minor", "major", "critical"]);
            let title = format!("finding {} {n}", luck.below(5));
            findings.push(json!({"severity": severity, "title": title}));
        }
    }
    let verdict = if luck.percent(trouble) {
        "reject"
    } else {
        "approve"
    };
    json!({"verdict": verdict, "reason": "seen", "findings": findings, "resolved": resolved})
}

/// An implementer writes its task's files, and sometimes others.
fn write(luck: &mut SeededRandom, told: &Assignment, trouble: u64) -> codeteam_core::ids::Tree {
    let mut files = git::files(&told.tree);
    if luck.percent(trouble / 3) {
        return git::tree(&files);
    }
    let who = told.task.as_ref().map_or("goal", |t| t.id.as_str());
    let mut names: Vec<String> = match &told.task {
        Some(task) if !task.files.is_empty() => task.files.clone(),
        _ => vec!["main.rs".to_owned()],
    };
    if luck.percent(trouble) {
        names.push("hot.txt".to_owned());
    }
    for name in names {
        let name = if name.ends_with('/') {
            format!("{name}{who}")
        } else {
            name
        };
        // Now and then it does what it did before.
        let nth = if luck.percent(trouble / 2) {
            0
        } else {
            told.id.fence
        };
        files.insert(name, format!("{who}.{nth}"));
    }
    if luck.percent(trouble) {
        let list = files.entry("shared.txt".to_owned()).or_default();
        *list = format!("{list}+{who}.{}", told.id.fence);
    }
    git::tree(&files)
}

/// What a person says to a question.
pub(crate) fn reply(
    world: &SimulatedWorld,
    luck: &mut SeededRandom,
    question: &Question,
    trouble: u64,
) -> Decision {
    let mut id = question.id.clone();
    let mut answer = if question.answers.is_empty() {
        "use the usual one".to_owned()
    } else if luck.percent(trouble)
        || (question.kind == QuestionKind::Step && (question.answers.len() < 3 || luck.percent(40)))
    {
        luck.pick(&question.answers).clone()
    } else {
        question.answers[0].clone()
    };
    if question.answers.is_empty() && luck.percent(30) {
        "/save_plan".clone_into(&mut answer);
    }
    let mut change = None;
    if answer == "edit" && !luck.percent(trouble) {
        let frame = &world.run.frames[&id.frame];
        let mut files = git::files(&frame.tree);
        files.insert("by-hand.txt".to_owned(), id.fence.to_string());
        let tree = git::tree(&files);
        let made = git::change(&id.without_fence(), &frame.base.tree, &tree);
        change = Some(Box::new((tree, made)));
    }
    if luck.percent(trouble / 3) {
        id.fence -= 1;
    }
    if luck.percent(trouble / 3) {
        answer = String::new();
    }
    Decision::Answer {
        question: id,
        answer,
        note: if luck.percent(20) {
            "mind the tests".to_owned()
        } else {
            String::new()
        },
        change,
    }
}

/// A small plan: tasks with dependencies, files and, if wanted, phases.
pub(crate) fn some_plan(luck: &mut SeededRandom, phased: bool) -> Plan {
    const FILES: [&str; 7] = [
        "a.rs",
        "b.rs",
        "c.rs",
        "src/",
        "src/x.rs",
        "src/y.rs",
        "secret.txt",
    ];
    let some: Vec<Phase> = (0..=luck.below(3))
        .map(|i| Phase {
            id: format!("p{i}").as_str().into(),
            sequence: u32::try_from(luck.below(i + 1)).unwrap(),
            starts_after: if luck.percent(40) {
                PhaseStart::Interfaces
            } else {
                PhaseStart::Completion
            },
            ..Phase::default()
        })
        .collect();
    let mut tasks: Vec<Task> = Vec::new();
    for i in 0..=luck.below(5) {
        let mut files: Vec<String> = Vec::new();
        for _ in 0..luck.below(3) {
            let file = (*luck.pick(&FILES)).to_owned();
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let mut task = Task {
            id: format!("t{i}").as_str().into(),
            title: format!("Do t{i}"),
            files,
            phase: phased.then(|| luck.pick(&some).id.clone()),
            ..Task::default()
        };
        if let Some(on) = tasks.get(usize::try_from(luck.below(6)).unwrap()) {
            task.dependencies.push(on.id.clone());
        }
        tasks.push(task);
    }
    let mut plan = Plan {
        description: "Some plan".to_owned(),
        phases: if phased { some } else { Vec::new() },
        tasks,
        ..Plan::default()
    };
    let wrong = !plan.check(100).is_empty() || (phased && plan.phase_order_problem().is_some());
    if wrong {
        plan.tasks.iter_mut().for_each(|t| t.dependencies.clear());
    }
    plan
}
