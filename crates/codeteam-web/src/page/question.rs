//! A question or an approval, with the facts that a decision needs and the forms that make it.

use codeteam_core::approval::IdentityProof;
use codeteam_core::ids::TaskId;
use codeteam_core::risk::RiskLevel;
use codeteam_report::describe::first_line;
use codeteam_report::patch::PatchDocument;
use codeteam_report::review::LineComment;
use codeteam_report::view::{ApprovalView, IdleDeadline, QuestionView};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{QuestionPage, ReviewDraft, Shell};
use super::lists::idle_deadline_values;
use super::run_head::{RunLinks, RunTab, head_values};
use super::task::change_values;
use crate::routes::{RunAction, RunPlace};

/// The most tasks of a plan that are listed with the question about it.
const MOST_TASKS: usize = 60;

pub(super) fn question_content(shell: &Shell, page: &QuestionPage) -> PageContent {
    let (head, asked) = (&page.head, &page.question);
    let links = RunLinks::of_head(head);
    let question = &asked.question;
    let place = asked.place();
    let task = asked.task.as_ref();
    let task = task.and_then(|id| head.run.task(id.as_str()));
    let change = page.change.as_ref();
    let values = context! {
        head => head_values(shell, head, RunTab::Other),
        place,
        place_href => links.task(place),
        title => task.map(|task| task.title.as_str()),
        asked_by => asked.asked_by.as_str(),
        text => question.text.as_str(),
        points => question.points.clone(),
        approval => asked.approval.as_ref().map(approval_values),
        idle_deadline => idle_deadline(shell, page),
        objections => asked.objections.clone(),
        change => change.map(|change| change_values(links, place, change)),
        acceptance => task.map(|task| task.acceptance.clone()),
        plan => plan_values(links, page),
        plan_href => links.page(RunPlace::Plan),
        diff => asked.about_change.then(|| links.page(RunPlace::Diff(place.to_owned()))),
        files => changed_files(links, page),
        comments => comment_values(links, &page.review),
        forms => form_values(links, page),
        now => shell.now.0,
    };
    let title = first_line(&question.text);
    PageContent::new(
        "question.html",
        title,
        &["run-head", "question-facts", "question-forms"],
        values,
    )
}

/// Returns the deadline that passes without effect, because nobody drives the run.
fn idle_deadline(shell: &Shell, page: &QuestionPage) -> Option<Value> {
    let approval = page.question.approval.as_ref();
    let approval = approval.filter(|_| !page.head.is_driven)?;
    let deadline = IdleDeadline::of_approval(&page.head.run.id, approval, shell.now)?;
    Some(idle_deadline_values(&deadline))
}

fn approval_values(approval: &ApprovalView) -> Value {
    let votes = approval.votes.iter().map(|vote| {
        let known = match &vote.known_by {
            IdentityProof::Uid(uid) => format!("user id {uid}"),
            IdentityProof::Signature(_) => "signed".to_owned(),
        };
        context! { person => vote.person.as_str(), known, note => vote.note.as_str() }
    });
    let delegations = approval.delegations.iter().map(|moved| {
        context! { from => moved.from.as_str(), to => moved.to.as_str() }
    });
    context! {
        risk => approval.risk.as_str(),
        is_high => approval.risk >= RiskLevel::High,
        reasons => approval.reasons.clone(),
        requirements => approval.requirements.clone(),
        missing => approval.missing.clone(),
        votes => votes.collect::<Value>(),
        delegations => delegations.collect::<Value>(),
        asked_at => approval.asked_at.0,
        goes_on_at => approval.goes_on_at.map(|at| at.0),
        nobody_notified => approval.nobody_notified,
        tree => codeteam_report::describe::short_id(approval.tree.as_str()),
        timeout => approval.timeout.as_ref().map(|timeout| {
            context! { at => timeout.at.0, text => timeout.text.as_str() }
        }),
    }
}

/// Returns the tasks of the plan if the question is about it.
fn plan_values(links: RunLinks<'_>, page: &QuestionPage) -> Option<Value> {
    let (asked, run) = (&page.question, &page.head.run);
    let is_about_plan = !asked.about_change && asked.question.id.frame.is_root() && run.has_plan;
    if !is_about_plan {
        return None;
    }
    let tasks = run.tasks.iter().take(MOST_TASKS).map(|task| {
        let after: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        context! {
            id => task.id.as_str(), title => task.title.as_str(), href => links.task(task.id.as_str()),
            after => after.join(", "), acceptance => task.acceptance.clone(), files => task.files.clone(),
        }
    });
    Some(context! {
        tasks => tasks.collect::<Value>(),
        description => run.plan_description.as_str(),
        left_out => run.tasks.len().saturating_sub(MOST_TASKS),
    })
}

/// Returns the files of the change, if nothing of it was judged that would list them.
fn changed_files(links: RunLinks<'_>, page: &QuestionPage) -> Vec<Value> {
    if page
        .change
        .as_ref()
        .is_some_and(|change| !change.report.files.is_empty())
    {
        return Vec::new();
    }
    let patch = PatchDocument::parse(&page.patch);
    let diff = links.page(RunPlace::Diff(page.question.place().to_owned()));
    let files = patch.files.iter().take(200);
    files
        .map(|file| {
            context! {
                path => file.path.as_str(), added => file.added, removed => file.removed,
                href => format!("{diff}?file={}", crate::routes::encode(&file.path)),
            }
        })
        .collect()
}

/// Returns the comments that were written and not sent.
pub(super) fn comment_values(links: RunLinks<'_>, review: &ReviewDraft) -> Vec<Value> {
    let comments = review.comments.iter();
    comments
        .map(|(id, comment)| comment_value(*id, comment, &links.action(RunAction::Uncomment)))
        .collect()
}

fn comment_value(id: u64, comment: &LineComment, action: &str) -> Value {
    context! {
        id, action,
        place => comment.place(),
        quoted => comment.quoted.as_str(),
        text => comment.text.as_str(),
    }
}

/// Returns the forms that decide.
fn form_values(links: RunLinks<'_>, page: &QuestionPage) -> Value {
    let asked = &page.question;
    let question = &asked.question;
    let may_override = question.answers.iter().any(|answer| answer == "override");
    let accepts = asked.choices.iter().find(|choice| choice.accepts);
    let rejects = asked.choices.iter().find(|choice| choice.rejects);
    let is_approval = asked.approval.is_some();
    let others = asked.choices.iter().filter(|choice| {
        let is_shown = is_approval
            || accepts.is_some_and(|own| own.answer == choice.answer)
            || rejects.is_some_and(|own| own.answer == choice.answer);
        !is_shown && !choice.edits && choice.answer != "override"
    });
    let others = others.map(|choice| {
        context! { answer => choice.answer.as_str(), about => choice.about }
    });
    context! {
        question => question.id.to_string(),
        approve => (is_approval || accepts.is_some()).then(|| links.action(RunAction::Approve)),
        approve_about => approve_words(asked),
        reject => (is_approval || rejects.is_some()).then(|| links.action(RunAction::Reject)),
        reject_about => rejects.map(|choice| choice.about),
        answer => links.action(RunAction::Answer),
        others => others.collect::<Value>(),
        takes_text => question.answers.is_empty(),
        takes_points => question.answers.is_empty() && question.points.len() > 1,
        overrides => may_override.then(|| links.action(RunAction::Override)),
        delegate => (is_approval && !page.people.is_empty()).then(|| links.action(RunAction::Delegate)),
        people => page.people.clone(),
        typed => page.is_grave.then(|| asked.place().to_owned()),
        edit => asked.edit_answer().map(|_| format!("codeteam edit {} --task {}", page.head.run.id, asked.place())),
        is_driven => page.head.is_driven,
    }
}

/// Says what approving does.
fn approve_words(asked: &QuestionView) -> Option<String> {
    if !asked.objections.is_empty() {
        return Some(format!("overrules {}", asked.objections.join(", ")));
    }
    let accepts = asked.choices.iter().find(|choice| choice.accepts);
    accepts.map(|choice| choice.about.to_owned())
}
