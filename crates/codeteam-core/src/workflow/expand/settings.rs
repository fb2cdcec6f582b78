//! The settings that every workflow has.

/// A switch of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it changes.
    pub changes: &'static str,
}

/// The settings that mean something in every workflow. One that a workflow asks for by `when`
/// means what the workflow says, and nothing else.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "parallel_reviews",
        changes: "`false`: the roles of a step judge one after the other, not side by side; the \
                  first rejection goes back at once.",
    },
    Setting {
        name: "require_tests",
        changes: "`true`: before each commit it is checked that the change touches a test file \
                  (`verification.test_paths`).",
    },
    Setting {
        name: "human_approval",
        changes: "`false`: no step's `human_approval` is asked for. `true`: where no step asks a \
                  person, each commit does.",
    },
    Setting {
        name: "security_review",
        changes: "`true`: before each commit the role that `security_role` names judges the \
                  change, unless there is a step `security_review`. `false`: that step is left out.",
    },
    Setting {
        name: "auto_pr",
        changes: "`true`: at the end a person is asked whether to open a draft pull request, unless \
                  there is a `publish` step. `false`: `publish` steps are left out.",
    },
    Setting {
        name: "require_changelog",
        changes: "`true`: before each commit it is checked that the change touches a changelog.",
    },
    Setting {
        name: "dual_review",
        changes: "`true`: every gatekeeper that judges alone judges twice, independently; both \
                  must approve.",
    },
    Setting {
        name: "audit_trail",
        changes: "`true`: what every worker was told and said is kept as files in the run's \
                  folder, `audit/`.",
    },
];
