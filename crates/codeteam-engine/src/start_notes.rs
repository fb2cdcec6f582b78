//! Collects what a person should know before a run starts, although it does not stop the run.

use codeteam_core::assembly::assigns_roles;
use codeteam_core::event::{RunStarted, SandboxKind};
use codeteam_report::describe;

use crate::config::GitMode;
use crate::engine::{Engine, Error};
use crate::workers;

/// Something to tell a person before a run starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartNote {
    /// How the run will behave here.
    Note(String),
    /// Configuration that has no effect or that cannot be read. It may contain absolute paths.
    Warning(String),
}

/// Collects the notes and warnings for a run that is about to start, in the order to show them.
pub fn start_notes(engine: &Engine, started: &RunStarted) -> Result<Vec<StartNote>, Error> {
    let mut notes = Vec::new();
    let from = describe::short_id(engine.head.commit.as_str());
    let mut note = |text: &str| notes.push(StartNote::Note(text.to_owned()));
    if engine.repo.is_dirty()? {
        note(&format!(
            "there are uncommitted changes; the run starts from commit {from} without them"
        ));
    }
    if started.workflow.delivery_step().is_some()
        && engine.config.git.effective_mode() == GitMode::Current
    {
        match &engine.head.branch {
            Some(branch) => note(&format!(
                "at the end {branch} is moved forward, if it has not moved and nothing is uncommitted"
            )),
            None => note("at the end no branch is moved forward, because HEAD is detached"),
        }
    }
    if engine.head.branch.is_none() {
        note(&format!(
            "HEAD is detached; the run starts from commit {from}"
        ));
    }
    if engine.has_no_checks(started) {
        note(
            "no checks are configured (`verification.commands` in `.codeteam/config.yml`), so codeteam's own rules \
             and reviewers judge alone",
        );
    }
    for said in workers::usage_warnings(&engine.config, &engine.env.keys, started) {
        note(&said);
    }
    let warnings = engine.warnings(started).into_iter();
    for warning in warnings.chain(planned_roles_without_effect(started)) {
        notes.push(StartNote::Warning(warning));
    }
    if started.sandbox == SandboxKind::None {
        notes.push(StartNote::Note(started.confinement.clone()));
    }
    Ok(notes)
}

/// Warns if a plan names roles, and the workflow does not leave that to it.
fn planned_roles_without_effect(started: &RunStarted) -> Option<String> {
    let mut tasks = started.plan.iter().flat_map(|plan| &plan.tasks);
    let task = tasks.find(|task| !task.roles.is_empty())?;
    let workflow = &started.workflow;
    (!assigns_roles(workflow)).then(|| {
        format!(
            "`role:` of task `{}` has no effect here: the workflow `{}` names its roles itself; with \
             `--workflow team` the roles of the plan do the work",
            task.id, workflow.name
        )
    })
}
