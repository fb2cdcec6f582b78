//! A task, or a run as a whole: what it is to do, who has worked on it, what was said about it.

use codeteam_core::findings::{Finding, FindingState, Severity};
use codeteam_report::describe::first_line;
use codeteam_report::view::{ChangeView, TaskView, frame_standing, task_standing};
use minijinja::{Value, context};

use super::PageContent;
use super::data::{Shell, TaskPage};
use super::run_head::{RunLinks, RunTab, head_values};
use super::timeline::attempt_row;
use crate::routes::{RunAction, RunPlace};

pub(super) fn task_content(shell: &Shell, page: &TaskPage) -> PageContent {
    let (head, run) = (&page.head, &page.head.run);
    let links = RunLinks::of_head(head);
    let task = run.task(&page.place);
    let frame = run.frame_named(&page.place);
    let (state, words) = match (task, frame) {
        (Some(task), _) => task_standing(run, task),
        (None, Some(frame)) => frame_standing(run, frame),
        (None, None) => codeteam_report::view::loaded_standing(run, head.is_driven),
    };
    let attempts = page.attempts.iter().rev();
    let feedback = frame.map(|frame| &frame.feedback).into_iter().flatten();
    let feedback = feedback.map(|said| {
        context! { from => said.from.as_str(), text => said.text.as_str() }
    });
    let has_change = frame.is_some_and(codeteam_report::view::FrameView::has_change)
        || task.is_some_and(|task| !task.commits.is_empty())
        || (page.place == "run" && run.has_commits());
    let findings = frame.map(|frame| frame.findings.as_slice());
    let findings = findings.or_else(|| task.map(|task| task.findings.as_slice()));
    let values = context! {
        head => head_values(shell, head, RunTab::Other),
        place => page.place.as_str(),
        title => task.map_or(page.place.as_str(), |task| task.title.as_str()),
        state => state.word(),
        words,
        task => task.map(|task| task_values(links, run, task)),
        step => frame.map(|frame| frame.step.as_str()),
        round => frame.map(|frame| frame.round),
        ended => frame.is_some_and(|frame| frame.ended.is_some()),
        objections => frame.map(|frame| frame.objections.clone()),
        feedback => feedback.collect::<Value>(),
        findings => finding_values(links, &page.place, findings.unwrap_or_default()),
        attempts => attempts.map(|attempt| attempt_row(links, attempt, shell)).collect::<Value>(),
        change => page.change.as_ref().map(|change| change_values(links, &page.place, change)),
        question => page.question.as_ref().map(|asked| context! {
            href => links.question(asked), text => first_line(&asked.question.text),
        }),
        diff => has_change.then(|| links.page(RunPlace::Diff(page.place.clone()))),
        retry => links.action(RunAction::Retry),
        skip => links.action(RunAction::Skip),
    };
    let title = task.map_or(page.place.as_str(), |task| task.title.as_str());
    PageContent::new(
        "task.html",
        title,
        &["run-head", "task-state", "task-change", "task-attempts"],
        values,
    )
}

fn task_values(
    links: RunLinks<'_>,
    run: &codeteam_report::view::RunView,
    task: &TaskView,
) -> Value {
    let link = |id: &str| {
        let state = run.task(id).map(|task| task_standing(run, task).0.word());
        context! { id, href => links.task(id), state => state.unwrap_or("waiting") }
    };
    let dependents = run
        .tasks
        .iter()
        .filter(|other| other.dependencies.contains(&task.id));
    context! {
        id => task.id.as_str(),
        description => task.description.as_str(),
        acceptance => task.acceptance.clone(),
        files => task.files.clone(),
        roles => task.roles.iter().map(codeteam_core::ids::RoleName::as_str).collect::<Value>(),
        phase => task.phase.as_ref().map(codeteam_core::ids::PhaseId::as_str),
        rounds => task.rounds,
        why => task.why.as_deref(),
        commits => task.commits.iter().map(codeteam_core::ids::Commit::as_str).collect::<Value>(),
        dependencies => task.dependencies.iter().map(|id| link(id.as_str())).collect::<Value>(),
        dependents => dependents.take(50).map(|task| link(task.id.as_str())).collect::<Value>(),
        is_failed => task.status == codeteam_core::schedule::TaskStatus::Failed,
        is_pending => matches!(
            task.status,
            codeteam_core::schedule::TaskStatus::Pending | codeteam_core::schedule::TaskStatus::Failed
                | codeteam_core::schedule::TaskStatus::Blocked
        ),
    }
}

/// Returns findings for a list, the worst first.
pub(super) fn finding_values(links: RunLinks<'_>, place: &str, findings: &[Finding]) -> Vec<Value> {
    let mut findings: Vec<&Finding> = findings.iter().collect();
    findings.sort_by_key(|finding| {
        let is_open = finding.state == FindingState::Open;
        std::cmp::Reverse((is_open, finding.report.severity))
    });
    let diff = links.page(RunPlace::Diff(place.to_owned()));
    findings
        .into_iter()
        .map(|finding| finding_value(&diff, finding))
        .collect()
}

/// Returns a finding for a template. `diff` is the page with the change that it is about.
pub(super) fn finding_value(diff: &str, finding: &Finding) -> Value {
    let report = &finding.report;
    let file = report.file.as_deref();
    context! {
        id => finding.id.as_str(),
        severity => severity_word(report.severity),
        state => match finding.state {
            FindingState::Open => "open",
            FindingState::Fixed => "fixed",
            FindingState::Withdrawn => "withdrawn",
        },
        title => report.title.as_str(),
        detail => report.detail.as_str(),
        step => finding.step.as_str(),
        round => finding.round,
        file,
        line => report.line,
        href => file.map(|file| format!("{diff}?file={}", crate::routes::encode(file))),
    }
}

pub(super) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Minor => "minor",
        Severity::Major => "major",
        Severity::Critical => "critical",
    }
}

/// Returns everything that was judged about a change.
pub(super) fn change_values(links: RunLinks<'_>, place: &str, change: &ChangeView) -> Value {
    let report = &change.report;
    let diff = links.page(RunPlace::Diff(place.to_owned()));
    let files = report.files.iter().map(|file| {
        context! {
            path => file.path.as_str(),
            added => file.lines.map(|lines| lines.0),
            removed => file.lines.map(|lines| lines.1),
            href => format!("{diff}?file={}", crate::routes::encode(&file.path)),
        }
    });
    let checks = report.checks.iter().map(check_values);
    let passed = report.checks.iter().filter(|checked| checked.result.passed);
    let passed = passed.count();
    let verifiers = report.verifiers.iter().map(|verifier| {
        let ballots = verifier.ballots.iter().map(|ballot| {
            context! {
                word => match ballot.vote {
                    Some(true) => "approves",
                    Some(false) => "rejects",
                    None => "abstained",
                },
                reason => ballot.reason.as_str(),
            }
        });
        context! {
            heading => verifier.heading(&report.subject),
            result => verifier.result.as_str(),
            approve => verifier.approve,
            of => verifier.of,
            ballots => ballots.collect::<Value>(),
        }
    });
    let earlier = report.earlier.iter().map(|rejection| {
        context! {
            round => rejection.round, step => rejection.step.as_str(),
            by => rejection.by.as_deref(), why => rejection.why.clone(), edited => rejection.edited,
        }
    });
    let proposal = change.proposal.as_ref().map(|proposal| {
        context! {
            message => proposal.message.as_str(), trailers => proposal.trailers.as_str(),
            branch => proposal.branch.as_str(), then => proposal.then.as_str(),
        }
    });
    context! {
        result => report.result.as_str(),
        round => report.round,
        files => files.collect::<Value>(),
        added => change.added,
        removed => change.removed,
        checks => checks.collect::<Value>(),
        passed_checks => passed,
        failed_checks => report.checks.len() - passed,
        verifiers => verifiers.collect::<Value>(),
        findings => finding_values(links, place, &report.findings),
        earlier => earlier.collect::<Value>(),
        decided => report.decided.as_ref().map(|decided| context! {
            by => decided.by.as_str(), answer => decided.answer.as_str(),
            note => decided.note.as_str(), over => decided.over.clone(),
        }),
        proposal,
        diff,
    }
}

fn check_values(checked: &codeteam_report::report::ReportedCheck) -> Value {
    let result = &checked.result;
    context! {
        name => result.name.as_str(),
        gate => checked.gate.as_str(),
        passed => result.passed,
        summary => result.summary.as_str(),
        still_failing => result.still_failing.clone(),
        coverage => result.coverage.as_ref().map(ToString::to_string),
        exit => result.exit,
    }
}
