//! A report for a terminal: one line a check and a verifier, what is wrong below it, and where the
//! whole of it is.

use codeteam_core::event::{CheckResult, FrameOutcome};
use codeteam_core::findings::Finding;
use codeteam_core::workflow::CheckClass;

use super::markdown::{lower, said, word};
use super::text::one_line;
use super::{
    ReportSubject, ReportVerdict, ReviewChoices, VerificationReport, VerifierReport, words,
};

/// Lines of a failing check's output.
const LINES: usize = 6;
/// Findings of one verifier.
const FINDINGS: usize = 6;
/// Files.
const FILES: usize = 8;
/// Earlier rounds.
const ROUNDS: usize = 4;
/// Lines of one finding.
const WRAPPED: usize = 3;
/// How far a line below another is indented.
const BELOW: usize = 12;
/// How wide a line is where nobody says.
const WIDTH: usize = 100;

/// A line, in pieces.
pub type ScreenLine = Vec<ScreenSpan>;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenSpan {
    /// How it looks, where there are colours. Nothing is said by it alone.
    pub tone: TextTone,
    /// What it says.
    pub text: String,
}

/// How a piece of a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTone {
    /// As text.
    Plain,
    /// As a heading.
    Strong,
    /// As something that is fine.
    Good,
    /// As something that is not.
    Bad,
    /// As something to look at.
    Warn,
    /// As something beside.
    Faint,
}

impl VerificationReport {
    /// The report in lines of so many characters. `whole` is where all of it can be read.
    pub fn screen(&self, width: usize, whole: Option<&str>) -> Vec<ScreenLine> {
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
    /// Adds a line, as much of it as there is room for.
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

    /// A line below another.
    fn below(&mut self, text: &str) {
        self.push(vec![plain(format!("{:BELOW$}{text}", ""))]);
    }

    /// A text below a line, on as many as three.
    fn wrapped(&mut self, text: &str) {
        let room = self.width - BELOW;
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let Some(last) = lines.last_mut() else { return };
            let fits = last.chars().count() + 1 + word.chars().count() <= room;
            if last.is_empty() {
                last.push_str(word);
            } else if fits || lines.len() == WRAPPED {
                // What the last line has no room for is cut off with it.
                if let Some(last) = lines.last_mut() {
                    last.push(' ');
                    last.push_str(word);
                }
            } else {
                lines.push(format!("   {word}"));
            }
        }
        for line in lines {
            self.below(&line);
        }
    }

    fn head(&mut self, report: &VerificationReport) {
        let kind = report.subject.kind().to_lowercase();
        let name = one_line(report.name());
        let tone = tone(report.result);
        let title = one_line(&report.title);
        let about = if title == report.name() || matches!(report.subject, ReportSubject::Run(_)) {
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
        let tree = crate::tell::short(report.tree.as_str());
        let text = format!("        round {}, tree {tree}{files}", report.round);
        self.push(vec![faint(text)]);
        if !report.edited_config.is_empty() {
            let told = crate::tell::edited_config(&report.edited_config);
            self.push(vec![plain(format!("        {}", one_line(&told)))]);
        }
        for commit in &report.commits {
            let commit = crate::tell::short(commit.as_str());
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
        for class in [CheckClass::Static, CheckClass::Metric, CheckClass::Proof] {
            for result in report.of_class(class) {
                self.check(result);
            }
        }
        // Rules that are kept are one line.
        let rules = report.of_class(CheckClass::Honesty);
        let (kept, broken): (Vec<&CheckResult>, Vec<&CheckResult>) = rules
            .into_iter()
            .partition(|r| r.passed && r.remark.is_none());
        for result in broken {
            self.check(result);
        }
        if !kept.is_empty() {
            let names: Vec<String> = kept.iter().map(|r| one_line(&r.name)).collect();
            self.row(
                "PASS",
                TextTone::Good,
                &format!("plays fair: {}", names.join(", ")),
            );
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
        let word = word(result);
        let (word, more) = word.split_once(' ').unwrap_or((word, ""));
        let tone = match (result.passed, result.remark) {
            (false, _) => TextTone::Bad,
            (true, None) => TextTone::Good,
            (true, Some(_)) => TextTone::Warn,
        };
        let wrong = result.measures.iter().filter(|m| !m.passed);
        let measured = match (result.measures.len(), wrong.clone().count()) {
            (0, _) => String::new(),
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
        for measure in wrong.take(LINES) {
            self.below(&format!(
                "{}: {}",
                one_line(&measure.of),
                one_line(&measure.found)
            ));
        }
        if super::markdown::tells(result) {
            // What failed is said last.
            let lines = said(&result.summary);
            for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
                self.below(&super::text::visible(line).replace('\t', "  "));
            }
        }
    }

    fn verifiers(&mut self, report: &VerificationReport) {
        if report.verifiers.is_empty() {
            return;
        }
        self.heading("Verifiers");
        for verifier in &report.verifiers {
            self.verifier(verifier);
        }
    }

    fn verifier(&mut self, verifier: &VerifierReport) {
        let votes = match verifier.of {
            1 => String::new(),
            of => format!(", {} of {of} approve", verifier.approve),
        };
        let name = format!("{}{votes}", words(&verifier.role));
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
        self.row(verifier.result.as_str(), tone(verifier.result), &text);
        for finding in verifier.findings.iter().take(FINDINGS) {
            self.wrapped(&found(finding));
        }
        if let Some(more) = verifier
            .findings
            .len()
            .checked_sub(FINDINGS)
            .filter(|n| *n > 0)
        {
            self.below(&format!("and {more} more"));
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
            .map(|f| format!("{} {}", f.id, lower(f.state)))
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

/// A finding in a line.
fn found(finding: &Finding) -> String {
    let report = &finding.report;
    let place = match (&report.file, report.line) {
        (Some(file), Some(line)) => format!("  {}:{line}", one_line(file)),
        (Some(file), None) => format!("  {}", one_line(file)),
        _ => String::new(),
    };
    let severity = lower(report.severity);
    format!(
        "{} {severity}{place}  {}",
        finding.id,
        one_line(&report.title)
    )
}

fn tone(mark: ReportVerdict) -> TextTone {
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
