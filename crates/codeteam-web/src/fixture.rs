//! All pages of a run that was made with scripted workers: five tasks, of which one is done, one waits
//! for a person, two wait for that one, and one has failed. Or the same with an attack in every text.

mod facts;
mod pages;

use std::path::PathBuf;

use codeteam_core::Event;
use codeteam_core::approval::IdentityProof;
use codeteam_core::findings::{Finding, FindingState, ReportedFinding, Severity};
use codeteam_core::ids::{EpochMillis, FindingId, PersonName, StepId, Tree};
use codeteam_core::risk::RiskLevel;
use codeteam_report::feed::TimelineEntry;
use codeteam_report::report::build_report;
use codeteam_report::review::LineComment;
use codeteam_report::view::{
    ApprovalView, AttemptTimeline, AttemptView, ChangeView, LoadedRun, QuestionView, RunListItem,
    RunReplay, TaskCounts, TimeoutView, VoteView,
};

use crate::page::{Notice, ProjectLink, ReviewDraft, RunHead, RunRow, Shell, Theme};

const LOG: &str = include_str!("../../codeteam-tui/src/recorded/several-tasks.jsonl");

const PATCH: &str = include_str!("fixture.patch");

/// A text that does harm wherever it is not escaped.
pub(crate) const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>]]>--></title></textarea></pre></svg>{{ 7 * 7 }}{% raw %}<style>*{display:none}</style><a href=\"javascript:alert(1)\">\u{202e}\u{1b}[31m\u{0}\u{2028}&lt;b&gt;";

/// A run with everything that its pages show.
pub(crate) struct Fixture {
    run: LoadedRun,
    attempts: Vec<AttemptView>,
    entries: Vec<TimelineEntry>,
    is_hostile: bool,
}

impl Fixture {
    /// The run as it was recorded.
    pub(crate) fn recorded() -> Self {
        Self::read(LOG.lines().map(str::to_owned), false)
    }

    /// The same with an attack in every text.
    pub(crate) fn hostile() -> Self {
        let lines = LOG.lines().map(|line| {
            let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
            poison(&mut value["event"]);
            value.to_string()
        });
        Self::read(lines, true)
    }

    fn read(lines: impl Iterator<Item = String>, is_hostile: bool) -> Self {
        let (mut replay, mut timeline) = (RunReplay::default(), AttemptTimeline::default());
        let mut entries = Vec::new();
        for line in lines {
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            let event = Event::read(1, &value["event"].to_string()).unwrap();
            let at = EpochMillis(value["at"].as_u64().unwrap());
            let seq = value["seq"].as_u64().unwrap();
            replay.apply_event(&event);
            timeline.record_event(at, &event);
            entries.push(TimelineEntry::new(
                replay.snapshot().as_run(),
                seq,
                at,
                event,
            ));
        }
        let mut attempts = timeline.take_changed();
        // Scripted workers cost nothing; pages have more to show if they do.
        for (at, attempt) in (1_u64..).zip(&mut attempts) {
            if attempt.by_worker && at % 5 != 0 {
                attempt.usage.input_tokens = 12_000 + at * 830;
                attempt.usage.cached_input_tokens = 9_000;
                attempt.usage.output_tokens = 900 + at * 31;
                attempt.usage.cost_microusd = Some(84_000 + at * 7_900);
            }
        }
        Self {
            run: replay.snapshot(),
            attempts,
            entries,
            is_hostile,
        }
    }

    fn text(&self, text: &str) -> String {
        if self.is_hostile {
            format!("{text} {ATTACK}")
        } else {
            text.to_owned()
        }
    }

    fn now(&self) -> EpochMillis {
        EpochMillis(self.run.started_at.0 + 80_000)
    }

    /// What is around a page.
    pub(crate) fn shell(&self, here: &str, theme: Theme) -> Shell {
        let project = |key: &str, name: &str| ProjectLink {
            key: key.to_owned(),
            name: self.text(name),
            folder: self.text(&format!("/home/anna/{name}")),
            problem: None,
        };
        Shell {
            is_bare: false,
            person: self.text("anna (uid 1000)"),
            form_token: self.text("4f1c9a"),
            is_read_only: false,
            is_one_run: false,
            inbox_count: 2,
            projects: vec![project("words-1f", "words"), project("site-2a", "site")],
            project: Some("words-1f".to_owned()),
            notice: self.is_hostile.then(|| Notice {
                is_ok: false,
                text: ATTACK.to_owned(),
                output: vec![ATTACK.to_owned()],
            }),
            now: self.now(),
            here: self.text(here),
            theme,
        }
    }

    fn head(&self) -> RunHead {
        RunHead {
            project: "words-1f".to_owned(),
            run: self.run.clone(),
            is_driven: false,
            next_steps: self.run.view().clone().with_driver(false).next_steps,
            kept: if self.is_hostile {
                vec![ATTACK.to_owned()]
            } else {
                Vec::new()
            },
        }
    }

    fn row(&self, goal: &str, status: &str, age: i64, is_open: bool) -> RunRow {
        let started = i64::try_from(self.run.started_at.0).unwrap() - age;
        RunRow {
            project: "words-1f".to_owned(),
            item: RunListItem {
                run: if is_open {
                    self.run.id.0.clone()
                } else {
                    format!("2026-11-1{}_101500_{}", age % 9, status)
                },
                goal: self.text(goal),
                status: self.text(status),
                headline: self.text(&self.run.headline),
                created_at: started,
                updated_at: started + 17_000,
                events: self.run.events,
                frames: self.run.frames.clone(),
                questions: self.run.questions.len(),
                task_counts: Some(TaskCounts::of_run(&self.run)),
            },
            is_driven: is_open,
            loaded: is_open.then(|| self.run.clone()),
        }
    }

    fn finding(
        &self,
        id: &str,
        severity: Severity,
        file: Option<&str>,
        line: Option<u32>,
    ) -> Finding {
        Finding {
            id: FindingId(id.to_owned()),
            report: ReportedFinding {
                severity,
                title: self.text("An empty file makes it fail"),
                detail: self.text("`text` is empty then, and `count` divides by its length.\nReturn 0 for an empty text."),
                file: file.map(str::to_owned),
                line,
            },
            step: StepId("review".to_owned()),
            slot: 0,
            round: 1,
            state: FindingState::Open,
        }
    }

    fn change(&self) -> ChangeView {
        let frame = self.run.frame_named("task-002").unwrap().path.clone();
        let as_frame = self.run.as_frame(&frame).unwrap();
        let report = build_report(self.run.as_run(), as_frame).unwrap();
        let mut report = report.with_line_counts(PATCH.as_bytes());
        report.findings = vec![
            self.finding("F1", Severity::Major, Some("src/report.py"), Some(6)),
            self.finding("F2", Severity::Minor, Some("src/report.py"), None),
            self.finding("F3", Severity::Info, None, None),
        ];
        ChangeView {
            report,
            version: 1,
            frame,
            added: 14,
            removed: 6,
            diff: None,
            rejected_by: Vec::new(),
            objections: Vec::new(),
            proposal: None,
            report_file: PathBuf::from(".codeteam/reports/task-002.md"),
        }
    }

    fn question(&self) -> QuestionView {
        self.run.questions[0].clone()
    }

    /// The question as it would be if a policy asked for an approval.
    fn approval(&self) -> QuestionView {
        let mut asked = self.question();
        asked.approval = Some(ApprovalView {
            risk: RiskLevel::High,
            reasons: vec![
                self.text("`src/auth/session.py` is code for signing in"),
                self.text("2 findings are left"),
            ],
            requirements: vec![self.text("2 of anna, ben, eva")],
            missing: vec![self.text("1 more of anna, eva")],
            votes: vec![VoteView {
                person: PersonName(self.text("ben")),
                known_by: IdentityProof::Uid(1001),
                note: self.text("Looks right to me"),
            }],
            tree: Tree("2a09cd0cef956683a5b7f3e7585f5a7e69fd821a".to_owned()),
            asked_at: self.run.started_at,
            goes_on_at: Some(EpochMillis(self.now().0 + 1_500_000)),
            nobody_notified: true,
            notified_again_at: None,
            delegations: Vec::new(),
            timeout: Some(TimeoutView {
                at: EpochMillis(self.now().0 + 900_000),
                action: "remind",
                text: self.text("people are reminded"),
            }),
        });
        asked.objections = vec![self.text("style")];
        asked
    }

    fn review(&self) -> ReviewDraft {
        ReviewDraft {
            comments: vec![(
                7,
                LineComment {
                    path: "src/report.py".to_owned(),
                    line: Some(4),
                    last: Some(5),
                    is_old: false,
                    quoted: self.text("text = open(sys.argv[1]).read()"),
                    text: self.text("Use `with`, so that the file is closed."),
                },
            )],
            viewed: vec![("src/format.py".to_owned(), "00".repeat(32))],
            last_seen: Some("1d39b7caac10".to_owned()),
        }
    }
}

/// Puts an attack behind every text of an event that nothing else refers to.
fn poison(value: &mut serde_json::Value) {
    const TEXTS: [&str; 17] = [
        "goal",
        "title",
        "description",
        "summary",
        "text",
        "why",
        "reason",
        "message",
        "detail",
        "because",
        "proof",
        "note",
        "strategy",
        "confinement",
        "headline",
        "question",
        "remedy",
    ];
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    serde_json::Value::String(text)
                        if TEXTS.contains(&key.as_str()) && text.contains(' ') =>
                    {
                        text.push_str(ATTACK);
                    }
                    serde_json::Value::Array(items) if key == "acceptance" || key == "points" => {
                        items.push(ATTACK.into());
                    }
                    serde_json::Value::Array(items) if key == "files" => {
                        items.push(format!("src/{ATTACK}").into());
                    }
                    value => poison(value),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(poison),
        _ => {}
    }
}
