//! The settings that every workflow has.

/// A switch that changes how a workflow is expanded.
#[derive(Clone, Copy, Debug)]
pub struct WorkflowSetting {
    /// The key below `settings`.
    pub name: &'static str,
    /// The effect of the setting, in words for people.
    pub changes: &'static str,
}

/// The settings that have a meaning in every workflow. If a workflow tests a setting with `when`,
/// the setting means only what the workflow makes of it.
pub const SETTINGS: &[WorkflowSetting] = &[
    WorkflowSetting {
        name: "parallel_reviews",
        changes: "`false`: the roles of a step judge one after the other, not in parallel; the \
                  first rejection goes back at once.",
    },
    WorkflowSetting {
        name: "require_tests",
        changes: "`true`: before each commit of a change it is checked that it touches a test file \
                  (`verification.test_paths`).",
    },
    WorkflowSetting {
        name: "human_approval",
        changes: "`false`: every step's `human_approval` is ignored. `true`: if no step asks a \
                  person, each commit does.",
    },
    WorkflowSetting {
        name: "security_review",
        changes: "`true`: before each commit the role that `security_role` names judges the \
                  change, unless there is a step `security_review`. `false`: that step is left out.",
    },
    WorkflowSetting {
        name: "auto_pr",
        changes: "`true`: at the end a person is asked whether to open a draft pull request, unless \
                  there is a `publish` step. `false`: `publish` steps are left out.",
    },
    WorkflowSetting {
        name: "require_changelog",
        changes: "`true`: before each commit of a change it is checked that it touches a changelog.",
    },
    WorkflowSetting {
        name: "dual_review",
        changes: "`true`: every gatekeeper that judges alone judges twice, independently; both \
                  must approve.",
    },
    WorkflowSetting {
        name: "audit_trail",
        changes: "`true`: the prompt and the answer of every worker are kept as files in the run's \
                  folder, `audit/`.",
    },
    WorkflowSetting {
        name: "team_files",
        changes: "`true`: the run's folder also has `workflow_state.json`, `DELIVERABLE.md`, which \
                  puts the results of the tasks together, `QUALITY_REPORT.md`, `INTERVENTIONS.md`, and \
                  `traces/`, which show how workers arrived at their answers.",
    },
    WorkflowSetting {
        name: "measurable_criteria",
        changes: "`true`: a plan with a task that has no criteria, or with a criterion that only \
                  praises, goes back to the planner once.",
    },
];
