//! The workflows and plans the tests run.

use std::collections::{BTreeMap, BTreeSet};

use codeteam_core::approval::{
    ApprovalAction, ApprovalLevel, ApprovalPolicy, ApprovalRules, ApprovalTimeout, Identity,
    IdentityProof, Person, TimeoutAction,
};
use codeteam_core::budget::BudgetLimits;
use codeteam_core::event::{BaselineFailure, RunStarted};
use codeteam_core::fork::ForkOrigin;
use codeteam_core::ids::{EpochMillis, TaskId};
use codeteam_core::message::MessageFormat;
use codeteam_core::operator::Operator;
use codeteam_core::plan::{Phase, Plan, Task};
use codeteam_core::risk::RiskCondition;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::workflow::{DeliveryMethod, StepKind};
use codeteam_workflow::language::{CompiledWorkflow, compile_file};

use crate::git::FakeGit;

pub(crate) const EACH_TASK: &str = include_str!("../workflows/each-task.yml");
pub(crate) const SEQUENCE: &str = include_str!("../workflows/sequence.yml");
pub(crate) const HALTING: &str = include_str!("../workflows/halting.yml");
pub(crate) const PHASES: &str = include_str!("../workflows/phases.yml");
pub(crate) const TALKING: &str = include_str!("../workflows/talking.yml");
/// One change in a session's hands, with gates, several judges at a step, and a person outside.
pub(crate) const SESSION: &str = include_str!("../workflows/session.yml");
/// A team with an assembler, a validator that scores and a leader that intervenes.
pub(crate) const LED: &str = include_str!("../workflows/led.yml");
/// A designer for each phase breaks it down.
pub(crate) const FEATURE: &str = include_str!("../workflows/feature.yml");
/// The same, with interfaces that are locked before anybody builds on them.
pub(crate) const LOCKED: &str = include_str!("../workflows/locked.yml");
pub(crate) const ALL: [&str; 9] = [
    EACH_TASK, SEQUENCE, HALTING, PHASES, TALKING, SESSION, LED, FEATURE, LOCKED,
];

/// How a run is to start.
#[derive(Clone, Debug)]
pub(crate) struct RunSetup {
    pub compiled: CompiledWorkflow,
    pub plan: Option<Plan>,
    pub limits: BudgetLimits,
    pub message: MessageFormat,
    pub goal_files: Vec<String>,
    pub hands: Operator,
    pub baseline: Vec<BaselineFailure>,
    pub must_pass: bool,
    pub approval: Option<Box<ApprovalRules>>,
    pub earlier: BTreeMap<TaskId, TaskStatus>,
    pub forked_from: Option<Box<ForkOrigin>>,
}

impl RunSetup {
    pub(crate) fn for_workflow(workflow: &str) -> Self {
        let compiled =
            compile_file("workflow.yml", workflow, &[]).unwrap_or_else(|e| panic!("{e}"));
        Self {
            compiled,
            plan: None,
            limits: BudgetLimits::default(),
            message: MessageFormat::default(),
            goal_files: Vec::new(),
            hands: if workflow == SESSION {
                Operator::Session
            } else {
                Operator::Workers
            },
            baseline: Vec::new(),
            must_pass: false,
            approval: None,
            earlier: BTreeMap::new(),
            forked_from: None,
        }
    }

    /// Where these tests of a check failed before anything was changed, and only new failures count.
    pub(crate) fn baseline(mut self, check: &str, command: &str, tests: &[&str]) -> Self {
        self.baseline.push(BaselineFailure {
            check: check.to_owned(),
            command: command.to_owned(),
            tests: tests.iter().map(|&test| test.to_owned()).collect(),
        });
        self
    }

    /// Where checks that failed before anything was changed must pass in the end.
    pub(crate) fn must_pass(mut self) -> Self {
        self.must_pass = true;
        self
    }

    /// With a plan in short: `a: x.rs` or `b: y.rs z.rs < a` or, in phases, `b@two: y.rs`.
    pub(crate) fn plan(mut self, lines: &str) -> Self {
        self.plan = Some(plan(lines));
        self
    }

    /// Where an earlier run has completed these tasks of the plan.
    pub(crate) fn done_before(mut self, tasks: &[&str]) -> Self {
        let done = tasks.iter();
        self.earlier = done
            .map(|&task| (task.into(), TaskStatus::Completed))
            .collect();
        self
    }

    /// With a goal that names these files.
    pub(crate) fn goal_files(mut self, files: &[&str]) -> Self {
        self.goal_files = files.iter().map(|&file| file.to_owned()).collect();
        self
    }

    /// Where a change of at most two lines in two files is small, unless it touches what is risky.
    pub(crate) fn small_changes(mut self) -> Self {
        self.compiled.workflow.small_change = Some(codeteam_core::workflow::SmallChangeLimits {
            max_lines: 2,
            max_files: 2,
            risky_paths: vec!["**/*auth*".to_owned()],
        });
        self
    }

    /// With messages of this form.
    pub(crate) fn message(mut self, format: &str) -> Self {
        self.message = MessageFormat::parse(format).unwrap();
        self
    }

    /// With commits that are handed over like this.
    pub(crate) fn deliver(mut self, how: DeliveryMethod) -> Self {
        self.compiled.workflow.add_delivery_step(how);
        self
    }

    pub(crate) fn cap(mut self, cap: usize) -> Self {
        for step in self.compiled.workflow.steps.values_mut() {
            if let StepKind::Each { cap: old, .. } = &mut step.kind {
                *old = cap;
            }
        }
        self
    }

    /// Where changes need an approval: one level a line, `high: require anna if changes_auth_code`.
    /// The actions are `auto`, `5min`, `require` and `2 of`; who follows may approve. What happens if
    /// they do not stands after `then`: `30min remind`, `30min reject`, `30min escalate dora`. The run
    /// was begun by cem, and olga may override.
    pub(crate) fn approval(mut self, lines: &str) -> Self {
        let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
        let levels = lines.map(approval_level).collect();
        self.approval = Some(Box::new(ApprovalRules {
            policies: vec![ApprovalPolicy::new(levels)],
            overriders: BTreeSet::from(["olga".into()]),
            began: Some(identity("cem")),
            people: ["anna", "ben", "cem", "dora", "eve"]
                .map(|name| (name.into(), Person::default()))
                .into(),
            ..ApprovalRules::default()
        }));
        self
    }

    pub(crate) fn disk(mut self, bytes: u64) -> Self {
        self.limits.disk_bytes = Some(bytes);
        self
    }

    pub(crate) fn minutes(mut self, minutes: u64) -> Self {
        self.limits.wall_ms = Some(minutes * 60_000);
        self
    }

    pub(crate) fn tokens(mut self, tokens: u64) -> Self {
        self.limits.tokens = Some(tokens);
        self
    }

    pub(crate) fn task_money(mut self, microusd: u64) -> Self {
        self.limits.task_money_microusd = Some(microusd);
        self
    }

    pub(crate) fn money(mut self, microusd: u64) -> Self {
        self.limits.money_microusd = Some(microusd);
        self
    }

    pub(crate) fn started(&self, git: &FakeGit) -> Box<RunStarted> {
        Box::new(RunStarted {
            strategies: std::collections::BTreeMap::new(),
            message: self.message.clone(),
            run: "20250108-reset".into(),
            at: EpochMillis(1_000),
            goal: match &self.goal_files[..] {
                [] => "Add a password reset".to_owned(),
                files => format!("Add a password reset in {}", files.join(" and ")),
            },
            goal_files: self.goal_files.clone(),
            goal_tests: self
                .goal_files
                .iter()
                .filter(|file| file.starts_with("tests/"))
                .cloned()
                .collect(),
            workflow: self.compiled.workflow.clone(),
            roles: self.compiled.roles.clone(),
            base: git.tip(),
            branch: "codeteam/20250108-reset".to_owned(),
            plan: self.plan.clone(),
            earlier: self.earlier.clone(),
            earlier_phases: std::collections::BTreeSet::new(),
            forked_from: self.forked_from.clone(),
            limits: self.limits,
            plan_id: String::new(),
            max_tasks: 100,
            confinement: "none".to_owned(),
            sandbox: codeteam_core::event::SandboxKind::default(),
            accounts: std::collections::BTreeMap::new(),
            resting: std::collections::BTreeMap::new(),
            rules: Vec::new(),
            templates: std::collections::BTreeMap::new(),
            hands: self.hands,
            basis: None,
            edited_config: Vec::new(),
            choices: None,
            baseline: self.baseline.clone(),
            must_pass: self.must_pass,
            network: Vec::new(),
            access: codeteam_core::event::RunAccess::default(),
            approval: self.approval.clone(),
        })
    }
}

/// A person, as known by their user id.
pub(crate) fn identity(person: &str) -> Identity {
    Identity {
        person: person.into(),
        proof: IdentityProof::Uid(1_000),
    }
}

fn approval_level(line: &str) -> ApprovalLevel {
    let (name, rest) = line.split_once(": ").unwrap();
    let (rest, conditions) = rest.split_once(" if ").unwrap_or((rest, ""));
    let (rest, timeout) = rest.split_once(" then ").unwrap_or((rest, ""));
    let (action, who) = if let Some((count, who)) = rest.split_once(" of ") {
        (
            ApprovalAction::RequireMultiApproval {
                min_approvers: count.parse().unwrap(),
            },
            who,
        )
    } else {
        let (action, who) = rest.split_once(' ').unwrap_or((rest, ""));
        let action = match action.strip_suffix("min") {
            Some(minutes) => ApprovalAction::NotifyAndTimeout {
                timeout_ms: minutes.parse::<u64>().unwrap() * 60_000,
            },
            None if action == "auto" => ApprovalAction::AutoApprove,
            None => ApprovalAction::RequireApproval,
        };
        (action, who)
    };
    let conditions = conditions.split(", ").filter(|text| !text.is_empty());
    ApprovalLevel {
        name: name.to_owned(),
        conditions: conditions
            .map(|text| RiskCondition::parse(text).unwrap())
            .collect(),
        action,
        approvers: (!who.is_empty()).then(|| who.split(' ').map(Into::into).collect()),
        channel: None,
        timeout: (!timeout.is_empty()).then(|| approval_timeout(timeout)),
    }
}

fn approval_timeout(text: &str) -> ApprovalTimeout {
    let (minutes, then) = text.split_once("min ").unwrap();
    ApprovalTimeout {
        after_ms: minutes.parse::<u64>().unwrap() * 60_000,
        then: match then.split_once(' ') {
            Some(("escalate", to)) => TimeoutAction::Escalate {
                to: to.split(' ').map(Into::into).collect(),
            },
            _ if then == "reject" => TimeoutAction::Reject,
            _ => TimeoutAction::Remind,
        },
    }
}

/// A plan in short; phases are numbered in the order they are first named.
pub(crate) fn plan(lines: &str) -> Plan {
    let mut plan = Plan {
        description: "Reset passwords".to_owned(),
        ..Plan::default()
    };
    for line in lines.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (head, rest) = line.split_once(':').unwrap_or((line, ""));
        let (files, on) = rest.split_once('<').unwrap_or((rest, ""));
        let (id, phase) = match head.split_once('@') {
            Some((id, phase)) => (id, Some(phase)),
            None => (head, None),
        };
        if let Some(phase) = phase
            && !plan.phases.iter().any(|p| p.id.as_str() == phase)
        {
            let sequence = u32::try_from(plan.phases.len()).unwrap();
            plan.phases.push(Phase {
                id: phase.into(),
                sequence,
                ..Phase::default()
            });
        }
        plan.tasks.push(Task {
            id: id.into(),
            title: format!("Do {id}"),
            dependencies: on.split_whitespace().map(TaskId::from).collect(),
            files: files.split_whitespace().map(str::to_owned).collect(),
            phase: phase.map(Into::into),
            ..Task::default()
        });
    }
    plan
}
