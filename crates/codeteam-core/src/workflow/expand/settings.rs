//! The settings that every workflow has.

/// A switch of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct WorkflowSetting {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub changes: &'static str,
}

/// The settings that mean something in every workflow. One that a workflow asks for by `when`
/// means what the workflow says, and nothing else.
pub const SETTINGS: &[WorkflowSetting] = &[
    WorkflowSetting {
        name: "parallel_reviews",
        changes: "`false`: the roles of a step judge one after the other, not side by side; the \
                  first rejection goes back at once.",
    },
    WorkflowSetting {
        name: "require_tests",
        changes: "`true`: before each commit it is checked that the change touches a test file \
                  (`verification.test_paths`).",
    },
    WorkflowSetting {
        name: "human_approval",
        changes: "`false`: no step's `human_approval` is asked for. `true`: where no step asks a \
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
        changes: "`true`: before each commit it is checked that the change touches a changelog.",
    },
    WorkflowSetting {
        name: "dual_review",
        changes: "`true`: every gatekeeper that judges alone judges twice, independently; both \
                  must approve.",
    },
    WorkflowSetting {
        name: "audit_trail",
        changes: "`true`: what every worker was told and said is kept as files in the run's \
                  folder, `audit/`.",
    },
];
