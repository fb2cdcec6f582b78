//! Renders a report as Markdown, in the form that the design documents prescribe. Everything beyond
//! that form has sections of its own in the same style.

use std::fmt::Write as _;

use codeteam_core::checks::{CheckMeasure, CheckRemark, CheckResult};
use codeteam_core::findings::Finding;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::judgements::{ChangeDecision, GatekeeperVote, Rejection};
use codeteam_core::workflow::CheckClass;

use super::text::{code_block, inline_code, list_item, one_line, quote_lines};
use super::{ReportSubject, ReviewChoices, VerificationReport, VerifierReport, earlier_findings};

/// The largest number of passing metrics that are still listed.
const MEASURES: usize = 100;
/// The largest number of files listed.
const FILES: usize = 40;
/// The largest number of output lines listed one by one; longer output becomes a code block.
const LINES: usize = 6;

impl VerificationReport {
    /// Renders the whole report.
    pub fn to_markdown(&self) -> String {
        let mut out = self.head();
        let mut sections = Vec::new();
        let classes = [
            ("Static Checks", CheckClass::Static),
            ("Metric Checks", CheckClass::Metric),
            ("Tests Proved", CheckClass::Proof),
            ("Test Evidence", CheckClass::Evidence),
            ("Honesty Checks", CheckClass::Honesty),
        ];
        for (title, class) in classes {
            let results = self.checks_of_class(class);
            if class == CheckClass::Honesty && !results.is_empty() {
                sections.push((title.to_owned(), honesty_checks(&results)));
            } else if !results.is_empty() {
                sections.push((title.to_owned(), checks(&results)));
            }
        }
        for verifier in &self.verifiers {
            let title = format!("Agent: {}", verifier.heading(&self.subject));
            sections.push((title, verifier_section(verifier)));
        }
        let history = earlier_findings(self);
        if !history.is_empty() {
            sections.push(("Findings".to_owned(), findings(&history)));
        }
        if !self.earlier.is_empty() {
            sections.push(("Earlier Rounds".to_owned(), earlier(&self.earlier)));
        }
        if let Some(decision) = self.decision() {
            sections.push(("User Review".to_owned(), decision));
        }
        for (n, (title, body)) in (1..).zip(sections) {
            let _ = write!(out, "\n---\n\n## {n}. {title}\n\n{}\n", body.trim_end());
        }
        out
    }

    /// Renders the verdict of one verifier as a report of its own.
    pub fn verifier_markdown(&self, verifier: &VerifierReport) -> String {
        let mut out = self.title_line();
        let _ = write!(
            out,
            "\n## Agent: {}\n\n{}\n",
            verifier.heading(&self.subject),
            verifier_section(verifier).trim_end()
        );
        let own = earlier_findings(self);
        let own: Vec<&Finding> = own
            .into_iter()
            .filter(|f| f.step == verifier.step)
            .filter(|f| verifier.ballots.iter().any(|b| b.slot == f.slot))
            .collect();
        if !own.is_empty() {
            let _ = write!(out, "\n### Earlier Findings:\n{}", findings(&own));
        }
        let _ = write!(out, "\n---\n\n{}", self.about());
        out
    }

    fn title_line(&self) -> String {
        let name = one_line(self.subject_name());
        format!(
            "# Verification Report for {}: {name}\n",
            self.subject.kind()
        )
    }

    fn head(&self) -> String {
        let mut out = self.title_line();
        let _ = write!(out, "\n**Overall Result:** {}\n\n", self.result.as_str());
        let failed = self.failed_names();
        if let Some(decided) = self.accepted_over() {
            let _ = write!(out, "{}\n\n", overruled_text(decided));
        } else if !failed.is_empty() {
            let _ = write!(out, "**Failed:** {}\n\n", failed.join(", "));
        }
        out + &self.about()
    }

    /// Lists what was judged, as bullet points.
    fn about(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "- **Run:** {}", inline_code(self.run.as_str()));
        if self.title != self.subject_name() {
            let _ = writeln!(out, "- **About:** {}", one_line(&self.title));
        }
        let _ = writeln!(out, "- **Round:** {}", self.round);
        let _ = writeln!(out, "- **Tree:** {}", inline_code(self.tree.as_str()));
        if !self.files.is_empty() {
            let mut files: Vec<String> = Vec::new();
            for file in self.files.iter().take(FILES) {
                let lines = file.lines.map(|(a, r)| format!(" (+{a} -{r})"));
                files.push(format!(
                    "{}{}",
                    inline_code(&file.path),
                    lines.unwrap_or_default()
                ));
            }
            let more = match self.files.len().saturating_sub(FILES) {
                0 => String::new(),
                n => format!(", and {n} more"),
            };
            let _ = writeln!(out, "- **Files:** {}{more}", files.join(", "));
        }
        if !self.edited_config.is_empty() {
            let told = crate::describe::edited_config_warning(&self.edited_config);
            let _ = writeln!(out, "- **Configuration:** {}", one_line(&told));
        }
        for commit in &self.commits {
            let _ = writeln!(out, "- **Commit:** {}", inline_code(commit.as_str()));
        }
        if let Some(FrameOutcome::Failed(why) | FrameOutcome::Aborted(why)) = &self.ended {
            let _ = writeln!(out, "- **Given up:** {}", one_line(why));
        }
        out
    }

    fn decision(&self) -> Option<String> {
        match (&self.decided, &self.review) {
            (Some(decided), _) => Some(decision_text(decided)),
            (None, Some(review)) => Some(self.open(review)),
            (None, None) => None,
        }
    }

    /// Renders the commands with which a person decides.
    fn open(&self, review: &ReviewChoices) -> String {
        let mut out = "**Your Decision:**\n".to_owned();
        let task = match self.subject {
            ReportSubject::Task(_) | ReportSubject::Phase(_) => {
                format!(" --task {}", self.subject_name())
            }
            ReportSubject::Plan(_) | ReportSubject::Run(_) => String::new(),
        };
        let run = &self.run;
        let by_command = review.accept.is_some() && review.reject.is_some();
        if by_command && !matches!(self.subject, ReportSubject::Plan(_)) {
            let sends = if review.reverts {
                "Reverts changes and sends"
            } else {
                "Keeps the changes and sends"
            };
            let _ = writeln!(
                out,
                "- `/accept_changes` - Commits the current changes, ignoring any FAIL reports.\n\
                 - `/reject_changes [Your feedback here]` - {sends} the report back to the Coder with your \
                 additional feedback.",
            );
            let _ = writeln!(
                out,
                "- `codeteam approve {run}{task}`, `codeteam reject {run}{task} -m \"…\"` - The same from \
                 another terminal."
            );
        } else {
            let _ = writeln!(out, "{}\n", quote_lines(&review.question));
            for answer in review.accept.iter().chain(&review.reject) {
                let _ = writeln!(
                    out,
                    "- {}",
                    inline_code(&format!("codeteam answer {run} '{answer}'{task}"))
                );
            }
        }
        if review.edits {
            let _ = writeln!(
                out,
                "- {}",
                inline_code(&format!("codeteam edit {run}{task}"))
            );
        }
        for answer in &review.others {
            let _ = writeln!(
                out,
                "- {}",
                inline_code(&format!("codeteam answer {run} '{answer}'{task}"))
            );
        }
        out
    }
}

/// Renders a decision that was made. What it overrules is said at the top of the report.
fn decision_text(decided: &ChangeDecision) -> String {
    let mut out = format!(
        "**Your Decision:** {}, by {}\n",
        one_line(&decided.answer),
        one_line(&decided.by)
    );
    if !decided.note.trim().is_empty() {
        let _ = write!(out, "\n{}\n", quote_lines(&decided.note));
    }
    out
}

fn overruled_text(decided: &ChangeDecision) -> String {
    let names: Vec<String> = decided.over.iter().map(|n| one_line(n)).collect();
    format!(
        "**Accepted over failing checks by {}:** {}",
        one_line(&decided.by),
        names.join(", ")
    )
}

/// Returns the word for a check's result.
pub(super) fn result_word(result: &CheckResult) -> &'static str {
    match (result.passed, result.remark) {
        (false, _) => "FAIL",
        (true, None) if result.class == CheckClass::Proof && !result.summary.is_empty() => {
            "NONE (no tests in the change)"
        }
        (true, None) if result.class == CheckClass::Evidence && result.measures.is_empty() => {
            "NONE (nothing was tried)"
        }
        (true, None) => "PASS",
        (true, Some(CheckRemark::Noted)) => "PASS (noted)",
        (true, Some(CheckRemark::Unproved)) => "UNPROVED",
    }
}

/// Returns true if a check has more to say than its result word. What tests are worth is always said.
pub(super) fn has_details(result: &CheckResult) -> bool {
    let says_more =
        !result.passed || result.remark.is_some() || result.class == CheckClass::Evidence;
    says_more && !result.summary.trim().is_empty()
}

/// Renders the honesty checks: those that found something first, and the others in one line. Every
/// change keeps most of them, and eight lines that say so hide the one that does not.
fn honesty_checks(results: &[&CheckResult]) -> String {
    let (kept, found): (Vec<&CheckResult>, Vec<&CheckResult>) = results
        .iter()
        .copied()
        .partition(|result| result.passed && result.remark.is_none());
    let mut out = checks(&found);
    if !kept.is_empty() {
        let names: Vec<String> = kept.iter().map(|result| one_line(&result.name)).collect();
        let line = format!("- **{}:** PASS\n", names.join(", "));
        // Above the details, where the other results are.
        let at = out.find("\n### Details:\n").unwrap_or(out.len());
        out.insert_str(at, &line);
    }
    out
}

fn checks(results: &[&CheckResult]) -> String {
    let mut out = String::new();
    for result in results {
        if result.measures.is_empty() {
            let _ = writeln!(
                out,
                "- **{}:** {}",
                one_line(&result.name),
                result_word(result)
            );
        } else {
            measures(&mut out, result);
        }
        if let Some(coverage) = &result.coverage {
            let told = one_line(&coverage.to_string());
            let _ = writeln!(out, "- **Changed Lines Run:** {told}");
        }
    }
    let telling: Vec<&&CheckResult> = results.iter().filter(|r| has_details(r)).collect();
    if telling.is_empty() {
        return out;
    }
    out.push_str("\n### Details:\n");
    for result in &telling {
        details(&mut out, result, telling.len() > 1);
    }
    out
}

fn measures(out: &mut String, result: &CheckResult) {
    let (fine, wrong): (Vec<&CheckMeasure>, Vec<&CheckMeasure>) =
        result.measures.iter().partition(|m| m.passed);
    if !result.passed && wrong.is_empty() {
        let _ = writeln!(
            out,
            "- **{}:** {}",
            one_line(&result.name),
            result_word(result)
        );
    }
    let listed = result
        .measures
        .iter()
        .filter(|m| !m.passed || fine.len() <= MEASURES);
    for measure in listed {
        let word = if measure.passed { "PASS" } else { "FAIL" };
        let (of, found) = (one_line(&measure.of), one_line(&measure.found));
        let _ = writeln!(out, "- **{of}:** {word} ({found})");
    }
    if fine.len() > MEASURES {
        let name = one_line(&result.name);
        let _ = writeln!(
            out,
            "- **{name}:** {} more are within their limits",
            fine.len()
        );
    }
}

/// Appends the output of a check: a few lines as bullet points, more of them as a code block.
fn details(out: &mut String, result: &CheckResult, named: bool) {
    let lines = summary_lines(&result.summary);
    let name = one_line(&result.name);
    if lines.len() > LINES {
        let _ = writeln!(out, "- **{name}:**\n\n{}\n", code_block(&lines.join("\n")));
        return;
    }
    let indent = if named {
        let _ = writeln!(out, "- **{name}:**");
        "  "
    } else {
        ""
    };
    for line in lines {
        // A command's output is shown as code; the texts of codeteam's own checks are not.
        let line = match result.class {
            CheckClass::Static => inline_code(line),
            CheckClass::Metric | CheckClass::Proof | CheckClass::Honesty | CheckClass::Evidence => {
                one_line(line)
            }
        };
        let _ = writeln!(out, "{indent}- {line}");
    }
}

/// Returns the lines of a summary, without an exit code that says no more than FAIL does.
pub(super) fn summary_lines(summary: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = summary.lines().filter(|l| !l.trim().is_empty()).collect();
    let exit = |line: &&str| line.starts_with("(exit code ") && line.ends_with(')');
    if lines.len() > 1 && lines.last().is_some_and(exit) {
        lines.pop();
    }
    lines
}

fn verifier_section(verifier: &VerifierReport) -> String {
    let votes = match (verifier.of, verifier.ballots.len()) {
        (1, _) => String::new(),
        (of, spoken) if spoken < of => {
            format!(
                " ({} of {of} approve, {} to come)",
                verifier.approve,
                of - spoken
            )
        }
        (of, _) => format!(" ({} of {of} approve)", verifier.approve),
    };
    let mut out = format!("**Result:** {}{votes}\n", verifier.result.as_str());
    if !verifier.findings.is_empty() {
        out.push_str("\n### Feedback:\n");
        for (i, found) in verifier.findings.iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            out.push_str(&finding_section(found));
        }
    }
    match verifier.ballots.as_slice() {
        [] => {}
        [one] if verifier.of == 1 => {
            let _ = write!(out, "\n### Reason:\n{}\n", reason(one));
        }
        several => {
            out.push_str("\n### Reasons:\n");
            for ballot in several {
                let vote = match ballot.vote {
                    Some(true) => "PASS",
                    Some(false) => "FAIL",
                    None => "no verdict",
                };
                let _ = writeln!(out, "- **{}:** {vote}\n", ballot.slot + 1);
                for line in reason(ballot).lines() {
                    let _ = writeln!(out, "  {line}");
                }
                out.push('\n');
            }
        }
    }
    out
}

fn reason(ballot: &GatekeeperVote) -> String {
    let reason = ballot.reason.trim();
    match (ballot.vote, reason) {
        (_, "") => "> no reason was given".to_owned(),
        (None, why) => quote_lines(&format!("gave up: {why}")),
        (Some(_), why) => quote_lines(why),
    }
}

/// Renders a finding as bullet points.
fn finding_section(finding: &Finding) -> String {
    let report = &finding.report;
    let mut out = String::new();
    if let Some(file) = &report.file {
        let line = report.line.map(|n| format!(":{n}")).unwrap_or_default();
        let _ = writeln!(out, "- **File:** {}", inline_code(&format!("{file}{line}")));
    }
    let _ = writeln!(out, "- **Issue:** {}", one_line(&report.title));
    let FindingAdvice {
        violation,
        recommendation,
    } = split_detail(&report.detail);
    if !violation.is_empty() {
        let _ = writeln!(out, "- **Violation:** {}", list_item(&violation));
    }
    if !recommendation.is_empty() {
        let _ = writeln!(out, "- **Recommendation:** {}", list_item(&recommendation));
    }
    let _ = writeln!(
        out,
        "- **Finding:** {} ({}, round {})",
        finding.id,
        debug_word(finding.report.severity),
        finding.round
    );
    out
}

/// A finding's detail, split into what is wrong and what to do about it.
#[derive(Default)]
struct FindingAdvice {
    violation: String,
    recommendation: String,
}

/// Splits a detail by its labels. Without labels, the last of several paragraphs is the
/// recommendation.
fn split_detail(detail: &str) -> FindingAdvice {
    const WRONG: [&str; 3] = ["violation:", "why:", "problem:"];
    const REMEDY: [&str; 5] = ["recommendation:", "remedy:", "fix:", "suggestion:", "do:"];
    let detail = detail.trim();
    let mut found = FindingAdvice::default();
    let (mut labelled, mut to_remedy) = (false, false);
    for line in detail.lines() {
        let bare = line.trim_start().trim_start_matches(['-', '*', ' ']);
        let lower = bare.to_lowercase();
        let label = |labels: &[&str]| {
            labels
                .iter()
                .find(|l| lower.starts_with(*l))
                .map(|l| l.len())
        };
        let (text, remedy) = match (label(&WRONG), label(&REMEDY)) {
            (Some(len), _) => (bare.get(len..), Some(false)),
            (_, Some(len)) => (bare.get(len..), Some(true)),
            _ => (None, None),
        };
        labelled |= remedy.is_some();
        to_remedy = remedy.unwrap_or(to_remedy);
        let part = if to_remedy {
            &mut found.recommendation
        } else {
            &mut found.violation
        };
        let text = text.map_or(line, |t| t.trim_start_matches(['*', ' ']));
        part.push_str(text);
        part.push('\n');
    }
    if !labelled {
        let (wrong, remedy) = detail.rsplit_once("\n\n").unwrap_or((detail, ""));
        found = FindingAdvice {
            violation: wrong.to_owned(),
            recommendation: remedy.to_owned(),
        };
    }
    found.violation = found.violation.trim().to_owned();
    found.recommendation = found.recommendation.trim().to_owned();
    found
}

fn findings(findings: &[&Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let place = match (&finding.report.file, finding.report.line) {
            (Some(file), Some(line)) => format!("{}: ", inline_code(&format!("{file}:{line}"))),
            (Some(file), None) => format!("{}: ", inline_code(file)),
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "- **{}** ({}, {}, round {}): {place}{}",
            finding.id,
            debug_word(finding.report.severity),
            debug_word(finding.state),
            finding.round,
            one_line(&finding.report.title)
        );
    }
    out
}

fn earlier(rejections: &[Rejection]) -> String {
    let mut out = String::new();
    for rejection in rejections {
        let by = match &rejection.by {
            Some(by) => format!("{} ({})", one_line(by), rejection.step),
            None => rejection.step.0.clone(),
        };
        let what = if rejection.edited {
            "changed by hand by"
        } else {
            "sent back by"
        };
        let _ = writeln!(out, "- **Round {}:** {what} {by}", rejection.round);
        for why in &rejection.why {
            let _ = writeln!(out, "  - {}", one_line(why));
        }
    }
    out
}

/// Returns the word for a severity or a state.
pub(super) fn debug_word(value: impl std::fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}
