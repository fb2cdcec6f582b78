//! Renders a report for a terminal: one line per check and per verifier, problems indented below,
//! and the path of the full report.

use codeteam_core::checks::CheckResult;
use codeteam_core::findings::Finding;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::workflow::CheckClass;

use super::markdown::{debug_word, result_word, summary_lines};
use super::text::one_line;
use super::{
    ReportSubject, ReportVerdict, ReviewChoices, VerificationReport, VerifierReport, role_words,
};

/// The largest number of output lines shown for a failing check.
const LINES: usize = 6;
/// The largest number of findings shown per verifier.
const FINDINGS: usize = 6;
/// The largest number of files shown.
const FILES: usize = 8;
/// The largest number of earlier rounds shown.
const ROUNDS: usize = 4;
/// The largest number of lines that one finding is wrapped to.
const WRAPPED: usize = 3;
/// The indentation of a line below another.
const BELOW: usize = 12;
/// The line width if the terminal's width is unknown.
const WIDTH: usize = 100;

/// A line of styled spans.
pub type ScreenLine = Vec<ScreenSpan>;

/// A part of a line in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSpan {
    /// The style, for terminals with colours. No information is carried by style alone.
    pub tone: TextTone,
    /// The text of the span.
    pub text: String,
}

/// The style of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTone {
    /// Ordinary text.
    Plain,
    /// A heading.
    Strong,
    /// Something that is fine.
    Good,
    /// Something that is wrong.
    Bad,
    /// Something that deserves attention.
    Warn,
    /// Secondary information.
    Faint,
}

impl VerificationReport {
    /// Renders the report in lines of at most `width` characters. `whole` is the path of the full
    /// report.
    pub fn to_screen(&self, width: usize, whole: Option<&str>) -> Vec<ScreenLine> {
        let mut screen = ScreenWriter {
            lines: Vec::new(),
            width: if width == usize::MAX {
                WIDTH
            } else {
                width.clamp(40, 160)
            },
        };
        screen.head(self);
        screen.checks(self);
        screen.verifiers(self);
        screen.earlier(self);
        screen.files(self);
        screen.decision(self);
        if let Some(whole) = whole {
            screen.push(vec![]);
            screen.push(vec![faint(format!("the whole report: {whole}"))]);
        }
        screen.lines
    }
}

struct ScreenWriter {
    lines: Vec<ScreenLine>,
    width: usize,
}

impl ScreenWriter {
    /// Adds a line, cut off where it exceeds the width.
    fn push(&mut self, line: ScreenLine) {
        let mut room = self.width;
        let mut kept = Vec::new();
        for span in line {
            let length = span.text.chars().count();
            if length <= room {
                room -= length;
                kept.push(span);
                continue;
            }
            let text: String = span.text.chars().take(room.saturating_sub(1)).collect();
            kept.push(ScreenSpan {
                text: format!("{}…", text.trim_end()),
                ..span
            });
            break;
        }
        self.lines.push(kept);
    }

    fn heading(&mut self, text: &str) {
        self.push(vec![]);
        self.push(vec![strong(text)]);
    }

    /// Adds an indented line below another.
    fn push_indented(&mut self, text: &str) {
        self.push(vec![plain(format!("{:BELOW$}{text}", ""))]);
    }

    /// Adds a text below a line, wrapped to at most three lines.
    fn push_wrapped(&mut self, text: &str) {
        let room = self.width - BELOW;
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let Some(last) = lines.last_mut() else { return };
            let fits = last.chars().count() + 1 + word.chars().count() <= room;
            if last.is_empty() {
                last.push_str(word);
            } else if fits || lines.len() == WRAPPED {
                // The rest is appended to the last line, which is then cut off.
                if let Some(last) = lines.last_mut() {
                    last.push(' ');
                    last.push_str(word);
                }
            } else {
                lines.push(format!("   {word}"));
            }
        }
        for line in lines {
            self.push_indented(&line);
        }
    }

    fn head(&mut self, report: &VerificationReport) {
        let kind = report.subject.kind().to_lowercase();
        let name = one_line(report.subject_name());
        let tone = verdict_tone(report.result);
        let title = one_line(&report.title);
        let about =
            if title == report.subject_name() || matches!(report.subject, ReportSubject::Run(_)) {
                String::new()
            } else {
                format!(": {title}")
            };
        self.push(vec![
            ScreenSpan {
                tone,
                text: format!("{:<8}", report.result.as_str()),
            },
            strong(&format!("{kind} {name}")),
            plain(about),
        ]);
        let (added, removed) = report
            .files
            .iter()
            .filter_map(|f| f.lines)
            .fold((0, 0), |(a, r), (x, y)| (a + x, r + y));
        let counted = report.files.iter().any(|f| f.lines.is_some());
        let lines = if counted {
            format!(" +{added} -{removed}")
        } else {
            String::new()
        };
        let files = match report.files.len() {
            0 => String::new(),
            1 => format!(", 1 file{lines}"),
            n => format!(", {n} files{lines}"),
        };
        let tree = crate::describe::short_id(report.tree.as_str());
        let text = format!("        round {}, tree {tree}{files}", report.round);
        self.push(vec![faint(text)]);
        if !report.edited_config.is_empty() {
            let told = crate::describe::edited_config_warning(&report.edited_config);
            self.push(vec![plain(format!("        {}", one_line(&told)))]);
        }
        for commit in &report.commits {
            let commit = crate::describe::short_id(commit.as_str());
            self.push(vec![plain(format!("        committed {commit}"))]);
        }
        if let Some(FrameOutcome::Failed(why) | FrameOutcome::Aborted(why)) = &report.ended {
            self.push(vec![plain(format!("        given up: {}", one_line(why)))]);
        }
    }

    fn checks(&mut self, report: &VerificationReport) {
        if report.checks.is_empty() {
            return;
        }
        self.heading("Checks");
        let all = |is: fn(&CheckResult) -> bool| {
            let classes = [
                CheckClass::Static,
                CheckClass::Metric,
                CheckClass::Proof,
                CheckClass::Evidence,
                CheckClass::Honesty,
            ];
            let results = classes.map(|class| report.checks_of_class(class));
            let results = results.into_iter().flatten();
            results.filter(|result| is(result)).collect::<Vec<_>>()
        };
        // What failed comes first, and what has nothing more to say is summed up in one line.
        for result in all(|result| !result.passed) {
            self.check(result);
        }
        for result in all(|result| result.passed && !is_brief(result)) {
            self.check(result);
        }
        let (rules, others): (Vec<_>, Vec<_>) = all(|result| result.passed && is_brief(result))
            .into_iter()
            .partition(|result| result.class == CheckClass::Honesty);
        for (intro, results) in [("", others), ("plays fair: ", rules)] {
            let names: Vec<String> = results.iter().map(|r| one_line(&r.name)).collect();
            if !names.is_empty() {
                let text = format!("{intro}{}", names.join(", "));
                self.row("PASS", TextTone::Good, &text);
            }
        }
    }

    fn row(&mut self, word: &str, tone: TextTone, text: &str) {
        self.push(vec![
            plain("  ".to_owned()),
            ScreenSpan {
                tone,
                text: format!("{word:<8}"),
            },
            plain(format!("  {text}")),
        ]);
    }

    fn check(&mut self, result: &CheckResult) {
        let word = result_word(result);
        let (word, more) = word.split_once(' ').unwrap_or((word, ""));
        let tone = match (result.passed, result.remark) {
            (false, _) => TextTone::Bad,
            (true, None) => TextTone::Good,
            (true, Some(_)) => TextTone::Warn,
        };
        let wrong = result.measures.iter().filter(|m| !m.passed);
        let measured = match (result.measures.len(), wrong.clone().count()) {
            (0, _) => String::new(),
            (1, 0) if result.class == CheckClass::Evidence => {
                format!(" ({})", one_line(&result.measures[0].found))
            }
            (n, 0) => format!(" ({n} measured)"),
            (n, wrong) => format!(" ({wrong} of {n} measured)"),
        };
        let more = if more.is_empty() {
            String::new()
        } else {
            format!(" {more}")
        };
        let text = format!("{}{measured}{more}", one_line(&result.name));
        self.row(word, tone, &text);
        if let Some(coverage) = &result.coverage {
            self.push_indented(&one_line(&format!("changed lines that ran: {coverage}")));
        }
        for measure in wrong.take(LINES) {
            self.push_indented(&format!(
                "{}: {}",
                one_line(&measure.of),
                one_line(&measure.found)
            ));
        }
        if super::markdown::has_details(result) {
            // Show the end of the output: failures are usually printed last.
            let lines = summary_lines(&result.summary);
            for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
                self.push_indented(&super::text::strip_active(line).replace('\t', "  "));
            }
        }
    }

    fn verifiers(&mut self, report: &VerificationReport) {
        if report.verifiers.is_empty() {
            return;
        }
        self.heading("Verifiers");
        let (failed, others): (Vec<_>, Vec<_>) = report
            .verifiers
            .iter()
            .partition(|verifier| verifier.result == ReportVerdict::Fail);
        for verifier in failed.into_iter().chain(others) {
            self.verifier(verifier);
        }
    }

    fn verifier(&mut self, verifier: &VerifierReport) {
        let votes = match verifier.of {
            1 => String::new(),
            of => format!(", {} of {of} approve", verifier.approve),
        };
        let name = format!("{}{votes}", role_words(&verifier.role));
        let speaks = verifier.findings.is_empty();
        let against = verifier.ballots.iter().find(|b| b.vote != Some(true));
        let voice = against.or(verifier.ballots.first());
        let reason = voice.map(|b| match b.vote {
            Some(_) => one_line(&b.reason),
            None => format!("gave up: {}", one_line(&b.reason)),
        });
        let reason = reason.unwrap_or_default();
        let text = if speaks && !reason.is_empty() {
            format!("{name}: {reason}")
        } else {
            name
        };
        self.row(
            verifier.result.as_str(),
            verdict_tone(verifier.result),
            &text,
        );
        for finding in verifier.findings.iter().take(FINDINGS) {
            self.push_wrapped(&finding_line(finding));
        }
        if let Some(more) = verifier
            .findings
            .len()
            .checked_sub(FINDINGS)
            .filter(|n| *n > 0)
        {
            self.push_indented(&format!("and {more} more"));
        }
    }

    fn earlier(&mut self, report: &VerificationReport) {
        let answered: Vec<&Finding> = report
            .findings
            .iter()
            .filter(|f| f.state != codeteam_core::findings::FindingState::Open)
            .collect();
        if report.earlier.is_empty() && answered.is_empty() {
            return;
        }
        self.heading("Before");
        let skipped = report.earlier.len().saturating_sub(ROUNDS);
        if skipped > 0 {
            self.push(vec![faint(format!("  {skipped} earlier rounds"))]);
        }
        for rejection in report.earlier.iter().skip(skipped) {
            let by = rejection.by.as_deref().unwrap_or(rejection.step.as_str());
            let why = rejection.why.first().map(|w| one_line(w));
            let why = why.map(|w| format!(": {w}")).unwrap_or_default();
            let why = if rejection.edited {
                format!(" changed it by hand{why}")
            } else {
                why
            };
            let text = format!("  round {:<2}  {}{why}", rejection.round, one_line(by));
            self.push(vec![plain(text)]);
        }
        let answered: Vec<String> = answered
            .iter()
            .map(|f| format!("{} {}", f.id, debug_word(f.state)))
            .collect();
        if !answered.is_empty() {
            self.push(vec![plain(format!("  findings  {}", answered.join(", ")))]);
        }
    }

    fn files(&mut self, report: &VerificationReport) {
        if report.files.is_empty() {
            return;
        }
        self.heading("Files");
        for file in report.files.iter().take(FILES) {
            let lines = match file.lines {
                Some((added, removed)) => format!("+{added} -{removed}"),
                None => String::new(),
            };
            let text = format!("  {lines:<10}{}", one_line(&file.path));
            self.push(vec![plain(text)]);
        }
        if let Some(more) = report.files.len().checked_sub(FILES).filter(|n| *n > 0) {
            self.push(vec![faint(format!("  and {more} more"))]);
        }
    }

    fn decision(&mut self, report: &VerificationReport) {
        if let Some(decided) = &report.decided {
            self.push(vec![]);
            if report.accepted_over().is_some() {
                let over: Vec<String> = decided.over.iter().map(|n| one_line(n)).collect();
                let text = format!(
                    "accepted over failing checks by {}: {}",
                    one_line(&decided.by),
                    over.join(", ")
                );
                self.push(vec![ScreenSpan {
                    tone: TextTone::Warn,
                    text,
                }]);
            } else {
                let (by, answer) = (one_line(&decided.by), one_line(&decided.answer));
                self.push(vec![plain(format!("{by} answered: {answer}"))]);
            }
            if !decided.note.trim().is_empty() {
                self.push(vec![plain(format!("  “{}”", one_line(&decided.note)))]);
            }
            return;
        }
        if let Some(review) = report.review.as_ref().filter(|r| r.open) {
            self.open(report, review);
        }
    }

    fn open(&mut self, report: &VerificationReport, review: &ReviewChoices) {
        self.push(vec![]);
        self.push(vec![strong(&one_line(&review.question))]);
        let over = if report.result == ReportVerdict::Fail {
            ", over what failed"
        } else {
            ""
        };
        if let Some(accept) = &review.accept {
            self.push(vec![plain(format!(
                "  {:<10} lets it go on{over}",
                one_line(accept)
            ))]);
        }
        if let Some(reject) = &review.reject {
            let undone = if review.reverts { "undoes it and " } else { "" };
            let text = format!(
                "  {:<10} {undone}sends it back, with this report and what you say",
                one_line(reject)
            );
            self.push(vec![plain(text)]);
        }
        if review.edits {
            let text = format!("  {:<10} lets you change it and hand it back", "edit");
            self.push(vec![plain(text)]);
        }
        if !review.others.is_empty() {
            let others: Vec<String> = review.others.iter().map(|o| one_line(o)).collect();
            self.push(vec![plain(format!("  {}", others.join(", ")))]);
        }
    }
}

/// Returns true if a check that passed says nothing else.
fn is_brief(result: &CheckResult) -> bool {
    result_word(result) == "PASS"
        && result.coverage.is_none()
        && result.class != CheckClass::Evidence
        && !super::markdown::has_details(result)
}

/// Formats a finding as one line.
fn finding_line(finding: &Finding) -> String {
    let report = &finding.report;
    let place = match (&report.file, report.line) {
        (Some(file), Some(line)) => format!("  {}:{line}", one_line(file)),
        (Some(file), None) => format!("  {}", one_line(file)),
        _ => String::new(),
    };
    let severity = debug_word(report.severity);
    format!(
        "{} {severity}{place}  {}",
        finding.id,
        one_line(&report.title)
    )
}

fn verdict_tone(mark: ReportVerdict) -> TextTone {
    match mark {
        ReportVerdict::Pass => TextTone::Good,
        ReportVerdict::Fail => TextTone::Bad,
        ReportVerdict::Pending => TextTone::Warn,
    }
}

fn plain(text: String) -> ScreenSpan {
    ScreenSpan {
        tone: TextTone::Plain,
        text,
    }
}

fn strong(text: &str) -> ScreenSpan {
    ScreenSpan {
        tone: TextTone::Strong,
        text: text.to_owned(),
    }
}

fn faint(text: String) -> ScreenSpan {
    ScreenSpan {
        tone: TextTone::Faint,
        text,
    }
}
