//! Lists what needs a person, in the runs of one project or of all projects of the user. Every
//! surface shows this list, in this order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use codeteam_core::Event;
use codeteam_core::ids::{AttemptId, EpochMillis, FramePath, RunId};
use codeteam_core::input::Decision;
use codeteam_core::untrusted_text::one_line;
use codeteam_report::describe;
use codeteam_report::view::{InboxItem, LoadedRun, VoteStanding};

use crate::clock::now;
use crate::engine::{Engine, Error, KeptDecision};
use crate::env::Env;
use crate::known_projects::known_projects;
use crate::session;

/// What needs a person in all projects of the user.
#[derive(Default)]
pub struct GlobalInbox {
    /// What needs a person, what matters most first.
    pub items: Vec<InboxItem>,
    /// The projects that cannot be read, and why.
    pub unread: Vec<(PathBuf, Error)>,
}

/// Lists what needs a person in the runs of a project, what matters most first: open questions,
/// reached limits, and runs that nobody drives.
pub fn list_inbox(engine: &Engine) -> Result<Vec<InboxItem>, Error> {
    const ENDED: [&str; 3] = ["completed", "failed", "aborted"];
    let mut items = Vec::new();
    for row in engine.store.runs()? {
        if !ENDED.contains(&row.status.as_str()) {
            let updated = EpochMillis(u64::try_from(row.updated_at).unwrap_or(0));
            items.extend(items_of_run(engine, &RunId(row.id), updated)?);
        }
    }
    items.sort_by_key(InboxItem::order);
    Ok(items)
}

/// Does the same for all projects in which the user has started runs. The items name their projects.
/// A project that cannot be read hides no other one.
pub fn list_global_inbox(env: &Env, program: &Path) -> GlobalInbox {
    let mut inbox = GlobalInbox::default();
    for root in known_projects(env) {
        match list_project(&root, env, program) {
            Ok(items) => inbox.items.extend(items),
            Err(error) => inbox.unread.push((root, error)),
        }
    }
    inbox.items.sort_by_key(InboxItem::order);
    inbox
}

fn list_project(root: &Path, env: &Env, program: &Path) -> Result<Vec<InboxItem>, Error> {
    let found = Engine::open_existing(root, env.clone(), program.to_owned())?;
    let Some(engine) = found else {
        return Ok(Vec::new());
    };
    let project = root.display().to_string();
    let items = list_inbox(&engine)?.into_iter();
    Ok(items.map(|item| item.in_project(&project)).collect())
}

fn items_of_run(
    engine: &Engine,
    id: &RunId,
    updated: EpochMillis,
) -> Result<Vec<InboxItem>, Error> {
    let run = engine.load_run_view(id)?;
    if run.is_ended() {
        return Ok(Vec::new());
    }
    if let Some(item) = InboxItem::of_idle_run(&run) {
        let is_idle = !session::is_driven(engine, id)?;
        let item = InboxItem {
            since: updated,
            ..item
        };
        return Ok(is_idle.then_some(item).into_iter().collect());
    }
    let mut questions = run.questions.iter();
    let asked = if questions.all(|asked| asked.question.asked_at.is_some()) {
        BTreeMap::new()
    } else {
        times_of_questions(engine, id)?
    };
    let mut items = InboxItem::of_run(&run, |question| {
        let asked = asked.get(&question.id).copied();
        question.asked_at.or(asked).unwrap_or(run.started_at)
    });
    let kept = engine.kept_decisions(id)?;
    if !session::is_driven(engine, id)? {
        let undriven = items
            .into_iter()
            .map(|item| item.without_driver(&run, now()));
        items = undriven.collect();
    }
    for item in &mut items {
        item.your_vote = own_vote(engine, &run, item);
        item.decided = decisions_about(&kept, item);
    }
    Ok(items)
}

/// Returns when each question of a run was asked, for a run whose log does not say it in the
/// questions themselves.
fn times_of_questions(
    engine: &Engine,
    id: &RunId,
) -> Result<BTreeMap<AttemptId, EpochMillis>, Error> {
    let mut asked = BTreeMap::new();
    engine.each_event(id, 0, |_, at, event| {
        if let Event::Asked { question, .. } = event {
            asked.insert(question.id, at);
        }
    })?;
    Ok(asked)
}

/// Says whether the vote of this user is wanted.
fn own_vote(engine: &Engine, run: &LoadedRun, item: &InboxItem) -> Option<VoteStanding> {
    let question = item.question_id.as_ref()?;
    let mut open = run.questions.iter();
    let asked = open.find(|asked| asked.question.id == *question)?;
    let person = engine.identity_in_run(run.as_run()).person;
    VoteStanding::of_person(run.as_run(), &asked.question, &person)
}

/// Describes the decisions that are kept until somebody drives the run, as far as they are about an
/// item.
fn decisions_about(kept: &[KeptDecision], item: &InboxItem) -> Vec<String> {
    let is_about = |decision: &Decision| match decision {
        Decision::Answer { question, .. } | Decision::Delegate { question, .. } => {
            item.question_id.as_ref() == Some(question)
        }
        Decision::Accept { frame, .. } => {
            let name = frame.as_ref().map(FramePath::name);
            name.is_none_or(|name| name == item.task)
        }
        Decision::Skip { task } => task.as_str() == item.task,
        Decision::Retry { .. }
        | Decision::Abort { .. }
        | Decision::Rollback { .. }
        | Decision::RaiseLimits { .. } => true,
        _ => false,
    };
    let about = kept.iter().filter(|kept| is_about(&kept.decision));
    let lines = about.map(|kept| {
        let what = describe::describe_decision(&kept.decision);
        one_line(&format!("{what} (by {})", kept.by))
    });
    lines.collect()
}
