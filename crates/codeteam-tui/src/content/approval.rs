//! A question to a person, with the facts that a decision needs.

use codeteam_core::approval::IdentityProof;
use codeteam_core::findings::FindingState;
use codeteam_core::ids::TaskId;
use codeteam_core::risk::RiskLevel;
use codeteam_core::workflow::CheckClass;
use codeteam_report::describe::format_future_time;
use codeteam_report::report::{ReportVerdict, ScreenLine, TextTone};
use codeteam_report::view::{BreakdownView, ChangeView, IdleDeadline, QuestionView};

use super::{field, line, span};
use crate::state::{App, ApprovalPanel};
use crate::text::{clean, count, wrap_block};

/// The most files that are listed.
const MOST_FILES: usize = 12;
/// The most tasks of a plan that are listed.
const MOST_TASKS: usize = 40;
/// The most findings that are listed.
const MOST_FINDINGS: usize = 8;

/// Returns what there is to know before deciding.
pub(crate) fn approval_facts(app: &App, panel: &ApprovalPanel, columns: usize) -> Vec<ScreenLine> {
    let run = panel.run.as_str();
    let Some(asked) = app.question(run, &panel.question) else {
        // Until the command has ended, nobody knows whose answer was taken.
        let mut commands = app
            .commands
            .iter()
            .filter(|command| command.ended.is_none());
        if commands.any(|command| command.decides.as_ref() == Some(&panel.question)) {
            return vec![line(TextTone::Strong, "Your answer is being sent …")];
        }
        return vec![
            line(TextTone::Strong, "This question is no longer open."),
            line(
                TextTone::Plain,
                "Somebody has answered it, or the run has moved on. `Esc` goes back.",
            ),
        ];
    };
    let question = &asked.question;
    let mut lines = Vec::new();
    let place = question.id.frame.name();
    let task = asked.task.as_ref();
    let task = task.and_then(|id| app.run_view(run)?.view().task(id.as_str()));
    let subject = match task {
        Some(task) => format!("{} {}", task.id, task.title),
        None => place.to_owned(),
    };
    let label = if task.is_some() { "task" } else { "about" };
    lines.extend(field(label, TextTone::Strong, &subject, columns));
    lines.extend(field("asked by", TextTone::Plain, &asked.asked_by, columns));
    if !app.is_driven(run) {
        let text = "nobody drives the run: your decision is kept until it is resumed";
        lines.extend(field("note", TextTone::Warn, text, columns));
    }
    lines.push(Vec::new());
    for text in wrap_block(&question.text, columns) {
        lines.push(line(TextTone::Strong, text));
    }
    // The points of a question for approval are the risk and what is needed, which follow below.
    if !question.answers.is_empty() && asked.approval.is_none() {
        for point in &question.points {
            for (at, text) in wrap_block(point.trim(), columns.saturating_sub(4))
                .into_iter()
                .enumerate()
            {
                let sign = if at == 0 { "  - " } else { "    " };
                lines.push(line(TextTone::Plain, format!("{sign}{text}")));
            }
        }
    }
    lines.push(Vec::new());
    for text in asked.breakdown.iter().flat_map(BreakdownView::to_lines) {
        lines.push(line(TextTone::Plain, text));
    }
    lines.extend(risk_lines(asked, columns));
    lines.extend(deadline_lines(app, panel, asked, columns));
    lines.extend(change_facts(app, panel, asked, columns));
    if !asked.about_change && question.id.frame.is_root() {
        lines.extend(plan_lines(app, run, columns));
    }
    if let Some(note) = app.notes.get(&question.id.to_string()) {
        lines.extend(field("your note", TextTone::Plain, note, columns));
    }
    lines
}

/// Returns the risk of the change with its reasons, who has voted, and what is still needed.
fn risk_lines(asked: &QuestionView, columns: usize) -> Vec<ScreenLine> {
    let Some(approval) = &asked.approval else {
        return Vec::new();
    };
    let tone = if approval.risk >= RiskLevel::High {
        TextTone::Bad
    } else {
        TextTone::Warn
    };
    let mut lines = field("risk", tone, approval.risk.as_str(), columns);
    for reason in &approval.reasons {
        lines.extend(field("", TextTone::Plain, reason, columns));
    }
    for vote in &approval.votes {
        let known = match &vote.known_by {
            IdentityProof::Uid(uid) => format!("uid {uid}"),
            IdentityProof::Signature(_) => "signed".to_owned(),
        };
        let note = match vote.note.as_str() {
            "" => String::new(),
            note => format!(": {note}"),
        };
        let text = format!("{} approves ({known}){note}", vote.person);
        lines.extend(field("vote", TextTone::Good, &text, columns));
    }
    for missing in &approval.missing {
        lines.extend(field("needs", TextTone::Warn, missing, columns));
    }
    for moved in &approval.delegations {
        let text = format!("{} votes in the place of {}", moved.to, moved.from);
        lines.extend(field("", TextTone::Plain, &text, columns));
    }
    if let Some(timeout) = &approval.timeout {
        let text = format!("{}: {}", format_future_time(timeout.at), timeout.text);
        lines.extend(field("at", TextTone::Plain, &text, columns));
    }
    let deadline = match approval.goes_on_at {
        Some(at) => {
            let at = format_future_time(at);
            format!("it goes on at {at} unless somebody rejects it")
        }
        None if approval.nobody_notified => {
            let again = approval.notified_again_at.map(format_future_time);
            let again = again.map(|at| format!("; while codeteam runs, it tries again at {at}"));
            let again = again.unwrap_or_default();
            format!("nobody could be notified, so it waits for a person{again}")
        }
        None => String::new(),
    };
    if !deadline.is_empty() {
        lines.extend(field("deadline", TextTone::Warn, &deadline, columns));
    }
    lines
}

/// Returns the deadline that passes without effect, if nobody drives the run.
fn deadline_lines(
    app: &App,
    panel: &ApprovalPanel,
    asked: &QuestionView,
    columns: usize,
) -> Vec<ScreenLine> {
    let idle = asked.approval.as_ref();
    let idle = idle.filter(|_| !app.is_driven(panel.run.as_str()));
    let deadline =
        idle.and_then(|approval| IdleDeadline::of_approval(&panel.run, approval, app.now));
    let Some(deadline) = deadline else {
        return Vec::new();
    };
    let text = format!("{} (here: `u`)", deadline.to_line());
    let tone = if deadline.is_over {
        TextTone::Bad
    } else {
        TextTone::Warn
    };
    field("time", tone, &text, columns)
}

fn change_facts(
    app: &App,
    panel: &ApprovalPanel,
    asked: &QuestionView,
    columns: usize,
) -> Vec<ScreenLine> {
    let place = panel.question.frame.name();
    let report = app.report.as_ref();
    let report = report.filter(|report| report.run == panel.run && report.place == place);
    let mut lines = Vec::new();
    match report.map(|report| &report.change) {
        Some(Ok(change)) => {
            lines.extend(file_lines(change, columns));
            lines.extend(review_lines(change, columns));
            lines.extend(finding_lines(change, columns));
            if let Some(proposal) = &change.proposal {
                lines.extend(field("commit", TextTone::Plain, &proposal.message, columns));
                let branch = format!("on {}; {}", proposal.branch, proposal.then);
                lines.extend(field("", TextTone::Faint, &branch, columns));
            }
        }
        None if asked.about_change => {
            lines.push(line(TextTone::Faint, "reading what was said about it …"));
        }
        Some(Err(_)) | None => {}
    }
    if !asked.objections.is_empty() {
        let against = asked.objections.join(", ");
        let text = format!("approving overrules {against}");
        lines.extend(field("against", TextTone::Bad, &text, columns));
    }
    let key = (panel.run.0.clone(), place.to_owned());
    let comments = app.comments.get(&key).map_or(0, Vec::len);
    if comments > 0 {
        let text = format!("{}, which go with a rejection", count(comments, "comment"));
        lines.extend(field("yours", TextTone::Plain, &text, columns));
    }
    lines
}

/// Returns the tasks of the plan, if there is one that was not begun: it is what the question is about.
fn plan_lines(app: &App, run: &str, columns: usize) -> Vec<ScreenLine> {
    let tasks = app.run_view(run).map(|run| run.view().tasks.as_slice());
    let tasks = tasks.unwrap_or_default();
    let mut lines = Vec::new();
    for task in tasks.iter().take(MOST_TASKS) {
        let after: Vec<&str> = task.dependencies.iter().map(TaskId::as_str).collect();
        let after = match after.as_slice() {
            [] => String::new(),
            after => format!(" (after {})", after.join(", ")),
        };
        let text = format!("{}{after}", task.title);
        lines.extend(field(task.id.as_str(), TextTone::Plain, &text, columns));
    }
    if tasks.len() > MOST_TASKS {
        let more = format!("and {} more tasks (`4`)", tasks.len() - MOST_TASKS);
        lines.push(line(TextTone::Faint, more));
    }
    lines
}

fn file_lines(change: &ChangeView, columns: usize) -> Vec<ScreenLine> {
    let files = &change.report.files;
    let mut lines = vec![vec![
        span(TextTone::Faint, format!("{:<10}", "files")),
        span(TextTone::Plain, count(files.len(), "file")),
        span(TextTone::Good, format!("  +{}", change.added)),
        span(TextTone::Bad, format!(" -{}", change.removed)),
    ]];
    for file in files.iter().take(MOST_FILES) {
        let (added, removed) = match file.lines {
            Some((added, removed)) => (format!("+{added}"), format!("-{removed}")),
            None => ("binary".to_owned(), String::new()),
        };
        let room = columns.saturating_sub(24);
        lines.push(vec![
            span(TextTone::Good, format!("{added:>16} ")),
            span(TextTone::Bad, format!("{removed:<6} ")),
            span(TextTone::Plain, crate::text::fit(&clean(&file.path), room)),
        ]);
    }
    if files.len() > MOST_FILES {
        let more = format!("{:10}and {} more", "", files.len() - MOST_FILES);
        lines.push(line(TextTone::Faint, more));
    }
    lines
}

fn review_lines(change: &ChangeView, columns: usize) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    for verifier in &change.report.verifiers {
        let tone = match verifier.result {
            ReportVerdict::Pass => TextTone::Good,
            ReportVerdict::Fail => TextTone::Bad,
            ReportVerdict::Pending => TextTone::Faint,
        };
        let abstained = verifier.ballots.iter().filter(|b| b.vote.is_none()).count();
        let abstained = match abstained {
            0 => String::new(),
            n => format!(", {n} abstained"),
        };
        let reason = verifier.ballots.iter().find(|b| !b.reason.is_empty());
        let reason = reason.map_or(String::new(), |b| format!(": {}", clean(&b.reason)));
        let text = format!(
            "{} {}, {} of {} approve{abstained}{reason}",
            verifier.result.as_str(),
            verifier.role,
            verifier.approve,
            verifier.of
        );
        lines.extend(field("review", tone, &text, columns));
    }
    let (passed, failed): (Vec<_>, Vec<_>) = change
        .report
        .checks
        .iter()
        .partition(|check| check.result.passed);
    for check in failed {
        let text = format!("FAIL {}: {}", check.result.name, check.result.summary);
        let mut wrapped = field("checks", TextTone::Bad, &text, columns);
        wrapped.truncate(4);
        lines.extend(wrapped);
    }
    let checks = change.report.checks.iter();
    for covered in checks.filter_map(|check| check.result.coverage.as_ref()) {
        lines.extend(field(
            "covered",
            TextTone::Plain,
            &covered.to_string(),
            columns,
        ));
    }
    // What a check has to say although it passed is worth a line; the others fit into one.
    let (plain, noted): (Vec<_>, Vec<_>) = passed
        .into_iter()
        .partition(|check| check.result.summary.is_empty());
    for check in noted {
        let text = format!("noted {}: {}", check.result.name, check.result.summary);
        let mut wrapped = field("checks", TextTone::Plain, &text, columns);
        wrapped.truncate(2);
        lines.extend(wrapped);
    }
    let (rules, own): (Vec<_>, Vec<_>) = plain
        .into_iter()
        .partition(|check| check.result.class == CheckClass::Honesty);
    let mut names: Vec<&str> = own.iter().map(|c| c.result.name.as_str()).collect();
    let rules = match rules.len() {
        0 => String::new(),
        n => format!("{} of codeteam's own", count(n, "rule")),
    };
    if !rules.is_empty() {
        names.push(&rules);
    }
    if !names.is_empty() {
        let text = format!("PASS {}", names.join(", "));
        lines.extend(field("checks", TextTone::Good, &text, columns));
    }
    lines
}

fn finding_lines(change: &ChangeView, columns: usize) -> Vec<ScreenLine> {
    let findings = change.report.findings.iter();
    let mut open: Vec<_> = findings
        .filter(|finding| finding.state == FindingState::Open)
        .collect();
    open.sort_by_key(|finding| std::cmp::Reverse(finding.report.severity));
    let mut lines = Vec::new();
    for finding in open.iter().take(MOST_FINDINGS) {
        let report = &finding.report;
        let severity = format!("{:?}", report.severity).to_lowercase();
        let at = match (&report.file, report.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, _) => String::new(),
        };
        let text = format!("{} {severity} {at}{}", finding.id, report.title);
        let mut wrapped = field("finding", TextTone::Warn, &text, columns);
        wrapped.truncate(2);
        lines.extend(wrapped);
    }
    if open.len() > MOST_FINDINGS {
        let more = format!("{:10}and {} more (`F`)", "", open.len() - MOST_FINDINGS);
        lines.push(line(TextTone::Faint, more));
    }
    lines
}

/// Returns the answers that can be chosen, one row each: the answers themselves, or what must be
/// written.
pub(crate) fn answer_rows(app: &App, panel: &ApprovalPanel) -> Vec<ScreenLine> {
    let Some(asked) = app.question(panel.run.as_str(), &panel.question) else {
        return Vec::new();
    };
    let question = &asked.question;
    if !question.answers.is_empty() {
        let rows = asked.choices.iter().map(|choice| {
            let tone = match (choice.accepts, choice.rejects) {
                (true, _) => TextTone::Good,
                (_, true) => TextTone::Bad,
                _ => TextTone::Plain,
            };
            vec![
                span(tone, format!("{:<12} ", clean(&choice.answer))),
                span(TextTone::Plain, choice.about),
            ]
        });
        return rows.collect();
    }
    if question.points.len() < 2 {
        let text = match question.points.first() {
            Some(point) => format!("answer: {}", clean(point)),
            None => "write the answer".to_owned(),
        };
        return vec![line(TextTone::Plain, text)];
    }
    let points = question.points.iter().enumerate();
    let mut rows: Vec<ScreenLine> = points
        .map(|(at, point)| {
            let reply = panel.replies.get(&at);
            let mut row = vec![span(
                TextTone::Plain,
                format!("{}. {}", at + 1, clean(point)),
            )];
            if let Some(reply) = reply {
                row.push(span(TextTone::Good, format!("  -> {}", clean(reply))));
            }
            row
        })
        .collect();
    let answered = panel.replies.len();
    let text = format!("send ({answered} of {} answered)", question.points.len());
    rows.push(line(TextTone::Strong, text));
    rows
}

#[cfg(test)]
mod tests {
    use codeteam_core::ids::EpochMillis;
    use codeteam_report::view::{ApprovalView, DelegationView, VoteView};

    use super::*;
    use crate::fixture::TestScreen;

    #[test]
    fn risk_comes_with_its_reasons_votes_and_what_is_missing() {
        let screen = TestScreen::new(80, 24);
        let mut asked = screen.app.shown_run().unwrap().questions[0].clone();
        assert!(risk_lines(&asked, 60).is_empty(), "no policy asks");
        asked.approval = Some(ApprovalView {
            risk: RiskLevel::Critical,
            reasons: vec!["`api/auth.py` is auth code".to_owned()],
            requirements: vec!["2 of anna, ben".to_owned()],
            missing: vec!["1 more of ben".to_owned()],
            votes: vec![VoteView {
                person: "anna".into(),
                known_by: IdentityProof::Uid(1000),
                note: "Read it\u{1b}[2J".to_owned(),
            }],
            tree: "0".into(),
            asked_at: EpochMillis(0),
            goes_on_at: None,
            nobody_notified: true,
            notified_again_at: None,
            delegations: vec![DelegationView {
                from: "cem".into(),
                to: "dora".into(),
            }],
            timeout: None,
        });
        let lines = risk_lines(&asked, 60).into_iter().map(|line| {
            let texts = line.into_iter().map(|span| span.text);
            texts.collect::<String>()
        });
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "risk      critical",
                "          `api/auth.py` is auth code",
                "vote      anna approves (uid 1000): Read it\u{fffd}[2J",
                "needs     1 more of ben",
                "          dora votes in the place of cem",
                "deadline  nobody could be notified, so it waits for a person",
            ]
        );
    }
}
