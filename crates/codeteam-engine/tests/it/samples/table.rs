//! The kind of each sample, and the expected result.

use codeteam_core::role::{Contract, EditMode, Role, RoleKind};
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::workflow::StepKind;
use codeteam_engine::config::Config;
use codeteam_workflow::language::CompiledWorkflow;

use super::LoadedSample;

/// One sample.
pub(super) struct Sample {
    pub(super) file: &'static str,
    pub(super) is: SampleKind,
    pub(super) then: ExpectedLoad,
}

/// As what it is read.
#[derive(Clone, Copy)]
pub(super) enum SampleKind {
    /// `.codeteam/config.yml`, with the workflow and the roles it names.
    Config,
    /// `.codeteam/roles/NAME.yml`.
    Role(&'static str),
    /// `.codeteam/agents/NAME/agent.yaml`.
    Agent(&'static str),
    /// `.codeteam/workflows/NAME.yml`.
    Workflow(&'static str),
    /// `plan.yml`.
    Plan,
    /// The answer of a worker.
    Submission(RoleKind, Contract, EditMode),
    /// `log.jsonl`.
    Log,
}

/// The expected result.
pub(super) enum ExpectedLoad {
    Loads(fn(&LoadedSample) -> bool),
    /// The place, and the hint.
    Refused(&'static str, &'static str),
}

const fn loads(file: &'static str, is: SampleKind, arrived: fn(&LoadedSample) -> bool) -> Sample {
    let then = ExpectedLoad::Loads(arrived);
    Sample { file, is, then }
}

const fn refused(
    file: &'static str,
    is: SampleKind,
    place: &'static str,
    advice: &'static str,
) -> Sample {
    let then = ExpectedLoad::Refused(place, advice);
    Sample { file, is, then }
}

const STRICT: Contract = Contract::Strict;
const TEAM: Contract = Contract::TeamMcp;
const TOOLS: EditMode = EditMode::Tools;
const PLANNER: SampleKind = SampleKind::Submission(RoleKind::Planner, STRICT, TOOLS);
const CODER: SampleKind = SampleKind::Submission(RoleKind::Implementer, STRICT, EditMode::Edits);
const TESTER: SampleKind = SampleKind::Submission(RoleKind::Gatekeeper, STRICT, TOOLS);
const BA: SampleKind = SampleKind::Submission(RoleKind::Analyst, TEAM, TOOLS);
const ARCHITECT: SampleKind = SampleKind::Submission(RoleKind::Designer, TEAM, TOOLS);
const TEAM_CODER: SampleKind = SampleKind::Submission(RoleKind::Implementer, TEAM, TOOLS);
const REVIEWER: SampleKind = SampleKind::Submission(RoleKind::Gatekeeper, TEAM, TOOLS);
const EXECUTOR: SampleKind = SampleKind::Submission(RoleKind::Implementer, Contract::Native, TOOLS);
const SCORER: SampleKind = SampleKind::Submission(RoleKind::Scribe, Contract::Native, TOOLS);
const SUPERVISED: SampleKind =
    SampleKind::Submission(RoleKind::Implementer, Contract::Supervisor, TOOLS);

const NO_JSON: &str = "the answer is not valid JSON";

pub(super) const SAMPLES: &[Sample] = &[
    // An answer is no place for a tool call: those go through the model's API.
    refused(
        "claude-code-auto/01-tool-call.json",
        EXECUTOR,
        "unknown field `tool_name`",
        "expected one of `summary`",
    ),
    refused(
        "claude-code-auto/02-quality-score.json",
        SCORER,
        NO_JSON,
        "near `\"overall_score\": 0-100,`",
    ),
    loads("code-team-framework/01-plan.yml", SampleKind::Plan, |l| {
        plan(l)
            .is_some_and(|(id, tasks, _)| id == "feature-0021" && tasks == ["task-001", "task-002"])
    }),
    loads(
        "code-team-framework/02-config.yml",
        SampleKind::Config,
        |l| {
            config(l).is_some_and(|(config, _)| {
                let checks = config.checks();
                checks[1].name == "Linter"
                    && config.verifier_instances["security"] == 1
                    && config.agents["coder"].log_summarize_threshold == Some(75_000)
                    && config.verification.metrics.max_method_lines == Some(80)
                    && checks[4].name == "Method Length"
            })
        },
    ),
    // What a planner is told, not what it answers.
    refused(
        "minimal-json-trio/01-planner-input.json",
        PLANNER,
        "`goal`",
        "expected `plan_id` or `tasks`",
    ),
    loads("minimal-json-trio/02-planner-output.json", PLANNER, |l| {
        tasks_of(l) == Some(1)
    }),
    refused(
        "minimal-json-trio/03-coder-input.json",
        CODER,
        "`task`",
        "expected `edits`",
    ),
    loads("minimal-json-trio/04-coder-output.json", CODER, |l| {
        edits(l, "relative/path1.py")
    }),
    refused(
        "minimal-json-trio/05-tester-input.json",
        TESTER,
        "`pytest_exit_code`",
        "expected one of `task_id`, `passed`, `report`",
    ),
    loads("minimal-json-trio/06-tester-output.json", TESTER, |l| {
        verdict(l) == Some((true, 0))
    }),
    // `[...]` stands for a list there.
    refused(
        "minimal-json-trio/07-log.json",
        SampleKind::Log,
        "line 1 column 100",
        "expected value",
    ),
    loads("minimal-json-trio/08-example-plan.json", PLANNER, |l| {
        tasks_of(l) == Some(1)
    }),
    loads("minimal-json-trio/09-example-edits.json", CODER, |l| {
        edits(l, "src/stats.py")
    }),
    loads("minimal-json-trio/10-example-verdict.json", TESTER, |l| {
        verdict(l) == Some((true, 0))
    }),
    loads(
        "minimal-json-trio/11-error.json",
        PLANNER,
        |l| matches!(l, LoadedSample::Submission(Submission::Blocked(why)) if why.blocked == "<short reason>"),
    ),
    // `"SUCCESS" | "BLOCKED"` stands for one of them.
    refused(
        "supervisor/01-worker-output.json",
        SUPERVISED,
        NO_JSON,
        "near `\"status\": \"SUCCESS\" |",
    ),
    loads(
        "supervisor/02-trader.yml",
        SampleKind::Role("trader"),
        |l| {
            role(l).is_some_and(|role| {
                role.kind == RoleKind::Implementer
                    && role
                        .prompt
                        .ends_with("All order sizes must respect position limits.")
                    && role.means.allowed_tools.len() == 3
                    && role.context.exclude == ["**/backtest/**"]
            })
        },
    ),
    loads(
        "supervisor/03-risk_manager.yml",
        SampleKind::Role("risk_manager"),
        |l| added(l, RoleKind::Gatekeeper, "slippage protection"),
    ),
    loads(
        "supervisor/04-quant_dev.yml",
        SampleKind::Role("quant_dev"),
        |l| added(l, RoleKind::Implementer, "(gaps, halts)"),
    ),
    loads(
        "supervisor/05-ui_designer.yml",
        SampleKind::Role("ui_designer"),
        |l| {
            added(l, RoleKind::Implementer, "State management patterns")
                && role(l).is_some_and(|role| role.workers[0].as_str() == "claude")
        },
    ),
    loads(
        "supervisor/06-state_architect.yml",
        SampleKind::Role("state_architect"),
        |l| added(l, RoleKind::Gatekeeper, "async state"),
    ),
    loads(
        "supervisor/07-cli_ux_dev.yml",
        SampleKind::Role("cli_ux_dev"),
        |l| added(l, RoleKind::Implementer, "exit codes"),
    ),
    loads(
        "supervisor/08-schema_guard.yml",
        SampleKind::Role("schema_guard"),
        |l| added(l, RoleKind::Gatekeeper, "partitioning strategies"),
    ),
    loads(
        "supervisor/09-etl_architect.yml",
        SampleKind::Role("etl_architect"),
        |l| {
            role(l).is_some_and(|role| {
                role.kind == RoleKind::Planner
                    && role
                        .context
                        .always_include
                        .ends_with(&["migrations/**".to_owned()])
            })
        },
    ),
    loads(
        "supervisor/10-api_dev.yml",
        SampleKind::Role("api_dev"),
        |l| added(l, RoleKind::Implementer, "Rate limiting awareness"),
    ),
    loads(
        "supervisor/11-security_auditor.yml",
        SampleKind::Role("security_auditor"),
        |l| added(l, RoleKind::Gatekeeper, "Security misconfiguration"),
    ),
    loads(
        "supervisor/12-infra_reviewer.yml",
        SampleKind::Role("infra_reviewer"),
        |l| added(l, RoleKind::Gatekeeper, "Rollback strategies"),
    ),
    refused(
        "supervisor/13-context-strategy.yml",
        SampleKind::Role("implementer_targeted"),
        "implementer_targeted.yml:9:1: a role has no `algorithm`",
        "say in `parts` which files it shows",
    ),
    refused(
        "supervisor/14-phase-output.yml",
        SampleKind::Config,
        "config.yml:2:1: a configuration has no `phase_output`",
        "this is what a designer submits, without the key and as JSON",
    ),
    loads(
        "supervisor/15-test_engineer.yml",
        SampleKind::Role("test_engineer"),
        |l| {
            added(l, RoleKind::Implementer, "what it's testing and why.")
                && role(l).is_some_and(|role| {
                    role.context
                        .exclude
                        .contains(&"$IMPLEMENTATION_INTERNALS".to_owned())
                })
        },
    ),
    // The steps that it only hints at (`# ... review and commit steps ...`) are missing.
    refused(
        "supervisor/16-with_test_engineer.yml",
        SampleKind::Workflow("with_test_engineer"),
        "with_test_engineer.yml:31:13: `next` of `integration_test_gate` leads to `review`",
        "add a step `review`, or name another one, `done` or `fail`",
    ),
    loads(
        "supervisor/17-_base.yml",
        SampleKind::Workflow("_base"),
        |l| {
            leads(
                l,
                &[
                    ("plan", "implement"),
                    ("implement", "commit"),
                    ("commit", "done"),
                ],
            ) && flow(l).is_some_and(|c| {
                matches!(
                    c.workflow.steps[&"commit".into()].kind,
                    StepKind::Commit { .. }
                )
            })
        },
    ),
    // Over codeteam's own `_base`, whose steps after the plan are those of each task.
    loads("supervisor/18-mvp.yml", SampleKind::Workflow("mvp"), |l| {
        leads(
            l,
            &[
                ("plan", "tasks"),
                ("implement", "quick_review"),
                ("quick_review", "commit"),
                ("commit", "done"),
            ],
        ) && plays(l, "implement", "implementer_fast")
    }),
    loads(
        "supervisor/19-enterprise.yml",
        SampleKind::Workflow("enterprise"),
        |l| {
            leads(
                l,
                &[
                    ("plan", "plan_review"),
                    ("interface_definition", "interface_definition-approval"),
                    ("implement", "unit_test_gate"),
                    ("integration_test_gate", "security_review"),
                    ("ci_gate", "commit-requirements"),
                ],
            ) && flow(l).is_some_and(|c| {
                let scope = &c.workflow.steps[&"ci_gate".into()].scope;
                scope
                    .as_ref()
                    .is_some_and(|scope| scope.as_str() == "tasks")
            })
        },
    ),
    refused(
        "supervisor/20-open_source.yml",
        SampleKind::Workflow("open_source"),
        "open_source.yml:36:7: `gh pr create` leaves this machine, and gates are confined",
        "make it a `publish` step, and let a `person` step lead to it",
    ),
    loads(
        "supervisor/21-security_critical.yml",
        SampleKind::Workflow("security_critical"),
        |l| {
            leads(
                l,
                &[
                    ("threat_modeling", "phases"),
                    ("penetration_test", "security_review"),
                ],
            ) && plays(l, "security_review", "security_auditor_external")
        },
    ),
    loads("supervisor/22-composition.yml", SampleKind::Config, |l| {
        plays(l, "implement", "quant_dev")
            && leads(
                l,
                &[
                    ("integration_test_gate", "risk_validation"),
                    ("risk_validation", "code_review"),
                ],
            )
    }),
    loads("supervisor/23-feature.yml", SampleKind::Plan, |l| {
        plan(l).is_some_and(|(id, tasks, on)| {
            id == "P1T5" && tasks.len() == 4 && on == ["auth_endpoints"]
        })
    }),
    refused(
        "supervisor/24-roles.yml",
        SampleKind::Config,
        "config.yml:5:5: a role has no `flags`",
        "leave them out: codeteam knows how to call each CLI",
    ),
    loads("supervisor/25-workflow.yml", SampleKind::Config, |l| {
        leads(
            l,
            &[
                ("plan", "plan_review"),
                ("test", "review"),
                ("review", "ci"),
                ("commit", "done"),
            ],
        )
    }),
    loads("supervisor/26-limits.yml", SampleKind::Config, |l| {
        config(l).is_some_and(|(config, compiled)| {
            config.limits.step_timeout_seconds == Some(300)
                && compiled.workflow.max_steps == Some(50)
        })
    }),
    loads("supervisor/27-continuity.yml", SampleKind::Config, |l| {
        config(l).is_some_and(|(config, _)| {
            config.continuity.continuation_roles == ["planner", "investigator"]
        })
    }),
    // Its policies are read; who uses which is said by a workflow.
    refused(
        "supervisor/28-retry_policies.yml",
        SampleKind::Config,
        "config.yml:23:1: a configuration has no `steps`",
        "below `workflow:`, there `overrides` in place of `steps` if it only changes some",
    ),
    refused(
        "supervisor/29-parse-feedback.json",
        SUPERVISED,
        NO_JSON,
        "near `{example}`",
    ),
    loads("supervisor/30-git.yml", SampleKind::Config, |l| {
        config(l).is_some_and(|(config, _)| {
            config.git.branch("2025-01-08_153042_add-users") == "ai/2025-01-08_153042-add-users"
        })
    }),
    refused(
        "supervisor/31-projects.yml",
        SampleKind::Config,
        "`cross_project_dependencies`: codeteam does not order work by packages yet",
        "say in the plan which tasks depend on which",
    ),
    refused(
        "supervisor/32-remote.yml",
        SampleKind::Config,
        "config.yml:4:11: the worker `local` has a `type`",
        "workers are subprocesses on this machine",
    ),
    refused(
        "supervisor/33-registry-role.yml",
        SampleKind::Role("risk-manager"),
        "risk-manager.yml:3:10: `version` is `1.2.0`, and this codeteam reads version 1",
        "it is the version of the format, not your own",
    ),
    loads("supervisor/34-adaptive.yml", SampleKind::Config, |l| {
        config(l).is_some_and(|(config, _)| {
            config
                .adaptive
                .as_ref()
                .is_some_and(|a| a.enabled && a.locked_assignments["planner"] == "claude")
        })
    }),
    loads(
        "supervisor/35-approval_policy.yml",
        SampleKind::Config,
        |l| {
            config(l).is_some_and(|(config, _)| {
                let gates = &config.project_approval_gates;
                let medium = gates["medium_risk"].timeout_minutes == Some(30);
                let critical = gates["critical"].min_approvers == Some(2);
                let approvers = gates["high_risk"].approvers.as_ref();
                gates.len() == 4
                    && medium
                    && critical
                    && approvers.is_some_and(|names| names.len() == 2)
            })
        },
    ),
    loads("team-mcp/01-sequence.yml", SampleKind::Config, |l| {
        leads(
            l,
            &[
                ("ba", "architect"),
                ("coder", "coder-checks"),
                ("qa", "reviewer"),
                ("reviewer", "commit"),
            ],
        )
    }),
    loads("team-mcp/02-config.yml", SampleKind::Config, |l| {
        config(l).is_some_and(|(config, compiled)| {
            config.rules.len() == 5
                && config.git.branch("r") == "team/r"
                && compiled.workflow.max_rounds == Some(5)
                && compiled.workflow.steps[&"qa".into()]
                    .rebound
                    .as_ref()
                    .is_some_and(|r| r.after == 3)
        })
    }),
    loads(
        "team-mcp/03-questions.json",
        BA,
        |l| matches!(l, LoadedSample::Submission(Submission::Questions(q)) if q.questions.len() == 3),
    ),
    loads(
        "team-mcp/04-requirements.json",
        BA,
        |l| matches!(l, LoadedSample::Submission(Submission::Requirements(r)) if r.requirements.contains("24h")),
    ),
    loads(
        "team-mcp/05-design.json",
        ARCHITECT,
        |l| matches!(l, LoadedSample::Submission(Submission::Design(d)) if d.patterns.len() == 3 && d.warnings.len() == 2),
    ),
    loads(
        "team-mcp/06-change.json",
        TEAM_CODER,
        |l| matches!(l, LoadedSample::Submission(Submission::Change(c)) if c.files.len() == 3 && c.concerns.len() == 1),
    ),
    loads("team-mcp/07-qa-rejects.json", REVIEWER, |l| {
        verdict(l) == Some((false, 3))
    }),
    loads("team-mcp/08-qa-approves.json", REVIEWER, |l| {
        verdict(l) == Some((true, 0))
    }),
    loads("team-mcp/09-reviewer-rejects.json", REVIEWER, |l| {
        verdict(l) == Some((false, 3))
    }),
    loads("team-mcp/10-reviewer-approves.json", REVIEWER, |l| {
        verdict(l) == Some((true, 0))
    }),
    loads("team-mcp/11-security-rejects.json", REVIEWER, |l| {
        verdict(l) == Some((false, 3))
    }),
    loads(
        "team-mcp/12-agent.yml",
        SampleKind::Agent("security"),
        |l| {
            role(l).is_some_and(|role| {
                role.kind == RoleKind::Gatekeeper
                    && role.prompt == "You are it."
                    && role.context.include == ["src/auth/**/*.py", "src/routes/**/*.py"]
            })
        },
    ),
    loads("team-mcp/13-custom-agent.yml", SampleKind::Config, |l| {
        leads(
            l,
            &[
                ("qa", "security"),
                ("security", "reviewer"),
                ("reviewer", "commit"),
            ],
        )
    }),
    loads("team-mcp/14-quick-tasks.yml", SampleKind::Config, |l| {
        leads(l, &[("coder-checks", "qa"), ("qa", "reviewer")])
    }),
    loads("team-mcp/15-solo-with-qa.yml", SampleKind::Config, |l| {
        leads(l, &[("qa", "commit"), ("commit", "done")])
    }),
    loads("team-mcp/16-full-team.yml", SampleKind::Config, |l| {
        leads(l, &[("architect", "coder"), ("security", "reviewer")])
    }),
    loads(
        "team-mcp/17-session-questions.json",
        BA,
        |l| matches!(l, LoadedSample::Submission(Submission::Questions(q)) if q.questions.len() == 4),
    ),
    loads(
        "team-mcp/18-session-design.json",
        ARCHITECT,
        |l| matches!(l, LoadedSample::Submission(Submission::Design(d)) if d.patterns[0] == "Reuse TokenService"),
    ),
    // `...` stands for more files.
    refused(
        "team-mcp/19-session-change.json",
        TEAM_CODER,
        NO_JSON,
        "near `src/auth/password_reset.py\", ...],`",
    ),
    loads("team-mcp/20-session-rejects.json", REVIEWER, |l| {
        verdict(l) == Some((false, 2))
    }),
];

type MendedSample = (
    &'static str,
    SampleKind,
    fn(&str) -> String,
    fn(&LoadedSample) -> bool,
);

/// The samples refused above, written as the hint says.
pub(super) const MENDED: &[MendedSample] = &[
    (
        "supervisor/01-worker-output.json",
        SUPERVISED,
        |_| {
            r#"{"status":"SUCCESS","files_created":[],"files_modified":["path/to/file.py"],"tests_written":[]}"#.to_owned()
        },
        |l| matches!(l, LoadedSample::Submission(Submission::Change(c)) if c.files == ["path/to/file.py"]),
    ),
    (
        "supervisor/14-phase-output.yml",
        SampleKind::Submission(RoleKind::Designer, Contract::Supervisor, TOOLS),
        as_json,
        |l| matches!(l, LoadedSample::Submission(Submission::Design(d)) if d.interfaces.len() == 3),
    ),
    (
        "supervisor/16-with_test_engineer.yml",
        SampleKind::Workflow("with_test_engineer"),
        |text| {
            format!(
                "{text}    review: {{ role: reviewer, on_reject: implement, next: commit }}\n    commit: {{ commit: branch }}\n"
            )
        },
        |l| {
            leads(
                l,
                &[("integration_test_gate", "review"), ("review", "commit")],
            )
        },
    ),
    (
        "supervisor/20-open_source.yml",
        SampleKind::Workflow("open_source"),
        |text| {
            let (before, _) = text.split_once("    next: create_pr").unwrap();
            format!(
                "{before}    next: commit\n  commit: {{ commit: branch, next: ask }}\n  \
                 ask: {{ person: Open it?, answers: {{ open: create_pr, leave: done }} }}\n  \
                 create_pr: {{ publish: gh pr create --draft }}\n"
            )
        },
        |l| {
            leads(
                l,
                &[("docs_check", "commit-requirements"), ("commit", "ask")],
            )
        },
    ),
    (
        "supervisor/24-roles.yml",
        SampleKind::Config,
        |text| without(text, &["flags:"]),
        |l| config(l).is_some_and(|(config, _)| config.roles.is_some()),
    ),
    (
        "supervisor/28-retry_policies.yml",
        SampleKind::Config,
        |text| {
            let (policies, steps) = text.split_once("steps:\n").unwrap();
            let steps: Vec<String> = steps.lines().map(|line| format!("  {line}")).collect();
            format!(
                "{policies}workflow:\n  extends: standard\n  overrides:\n{}\n",
                steps.join("\n")
            )
        },
        |l| {
            flow(l).is_some_and(|compiled| {
                let StepKind::Role(implement) = &compiled.workflow.steps[&"implement".into()].kind
                else {
                    return false;
                };
                implement.retry.max_attempts == 5 && implement.retry.initial_delay_ms == 1_000
            })
        },
    ),
    (
        "supervisor/32-remote.yml",
        SampleKind::Config,
        |text| {
            let (_, roles) = text.split_once("roles:\n").unwrap();
            format!(
                "roles:\n{}",
                without(roles, &["fallback_worker"])
                    .replace("preferred_worker: cloud_gpu", "worker: codex")
                    .replace("preferred_worker: ci_runner", "worker: claude")
            )
        },
        |l| config(l).is_some(),
    ),
    (
        "supervisor/33-registry-role.yml",
        SampleKind::Role("risk-manager"),
        |text| {
            let (text, _) = text.split_once("dependencies:").unwrap();
            without(text, &["version:", "author:"])
        },
        |l| added(l, RoleKind::Gatekeeper, "... (role prompt)"),
    ),
    (
        "minimal-json-trio/07-log.json",
        SampleKind::Log,
        |text| text.replace("[...]", "[]"),
        |l| matches!(l, LoadedSample::Log(lines) if lines.len() == 3 && lines[1]["role"] == "coder"),
    ),
    (
        "team-mcp/19-session-change.json",
        TEAM_CODER,
        |text| text.replace(", ...]", "]"),
        |l| matches!(l, LoadedSample::Submission(Submission::Change(c)) if c.files == ["src/auth/password_reset.py"]),
    ),
];

fn without(text: &str, words: &[&str]) -> String {
    let kept = text
        .split_inclusive('\n')
        .filter(|line| !words.iter().any(|word| line.contains(word)));
    kept.collect()
}

fn as_json(text: &str) -> String {
    let value: serde_json::Value = codeteam_workflow::yaml::parse("phase.yml", text).unwrap();
    value["phase_output"].to_string()
}

fn config(loaded: &LoadedSample) -> Option<(&Config, &CompiledWorkflow)> {
    match loaded {
        LoadedSample::Config(config, compiled) => Some((config, compiled)),
        _ => None,
    }
}

fn flow(loaded: &LoadedSample) -> Option<&CompiledWorkflow> {
    match loaded {
        LoadedSample::Config(_, compiled) | LoadedSample::Workflow(compiled) => Some(compiled),
        _ => None,
    }
}

fn role(loaded: &LoadedSample) -> Option<&Role> {
    match loaded {
        LoadedSample::Role(role) => Some(role),
        _ => None,
    }
}

/// Returns true if a role has the right kind, and its own words come after those it builds on.
fn added(loaded: &LoadedSample, kind: RoleKind, last: &str) -> bool {
    role(loaded).is_some_and(|role| {
        role.kind == kind && role.prompt.ends_with(last) && role.prompt.len() > 500
    })
}

/// A plan's id, its tasks, and what the last of them depends on.
fn plan(loaded: &LoadedSample) -> Option<(&str, Vec<&str>, Vec<&str>)> {
    let LoadedSample::Plan(loaded) = loaded else {
        return None;
    };
    let tasks = loaded.plan.tasks.iter().map(|task| task.id.as_str());
    let on = loaded.plan.tasks.last()?.dependencies.iter();
    let on = on.map(codeteam_core::ids::TaskId::as_str).collect();
    Some((&loaded.plan.plan_id, tasks.collect(), on))
}

fn tasks_of(loaded: &LoadedSample) -> Option<usize> {
    match loaded {
        LoadedSample::Submission(Submission::Plan(planned)) => Some(planned.plan.tasks.len()),
        _ => None,
    }
}

fn edits(loaded: &LoadedSample, path: &str) -> bool {
    matches!(loaded, LoadedSample::Submission(Submission::Change(change)) if change.edits[0].path == path)
}

/// Returns whether it approves, and how many findings it has.
fn verdict(loaded: &LoadedSample) -> Option<(bool, usize)> {
    match loaded {
        LoadedSample::Submission(Submission::Verdict(said)) => {
            Some((said.verdict == VerdictChoice::Approve, said.findings.len()))
        }
        _ => None,
    }
}

fn leads(loaded: &LoadedSample, pairs: &[(&str, &str)]) -> bool {
    let Some(compiled) = flow(loaded) else {
        return false;
    };
    pairs.iter().all(|(from, to)| {
        let step = compiled.workflow.steps.get(&(*from).into());
        step.is_some_and(|step| step.next.to_string() == *to)
    })
}

fn plays(loaded: &LoadedSample, step: &str, role: &str) -> bool {
    let step = flow(loaded).and_then(|compiled| compiled.workflow.steps.get(&step.into()));
    let Some(StepKind::Role(played)) = step.map(|step| &step.kind) else {
        return false;
    };
    played.slots.iter().any(|slot| slot.as_str() == role)
}
