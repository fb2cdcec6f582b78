//! No sequence of calls, however long or strange, completes a task without every gate having approved
//! exactly what is committed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::raw::RawClient;
use super::{approval, change, design, project, rejection, requirements};
use crate::project::Project;

/// An action of a session.
#[derive(Clone, Debug)]
enum SessionAction {
    /// The action that is expected; an implementer may still get it wrong.
    Right {
        good: bool,
    },
    /// Approves, whoever's turn it is.
    Approve {
        named: ClaimedRole,
    },
    /// Hands something in, whoever's turn it is.
    Submit {
        what: usize,
        named: ClaimedRole,
    },
    /// Changes the file: for the better, or not.
    Edit {
        good: bool,
        text: u8,
    },
    /// Answers in a person's place.
    Resume(usize),
    Look,
    Start {
        another: bool,
    },
    Abort,
    /// Dies, and comes back.
    Die,
}

/// The role that a session claims to be.
#[derive(Clone, Copy, Debug)]
enum ClaimedRole {
    Nobody,
    Qa,
    Reviewer,
    Coder,
}

impl ClaimedRole {
    fn role(self) -> Value {
        match self {
            Self::Nobody => Value::Null,
            Self::Qa => json!("qa"),
            Self::Reviewer => json!("reviewer"),
            Self::Coder => json!("coder"),
        }
    }
}

const REPLIES: [&str; 6] = ["yes", "no", "continue", "fail", "approve", "mail"];

fn named() -> impl Strategy<Value = ClaimedRole> {
    prop_oneof![
        3 => Just(ClaimedRole::Nobody),
        1 => Just(ClaimedRole::Qa),
        1 => Just(ClaimedRole::Reviewer),
        1 => Just(ClaimedRole::Coder),
    ]
}

fn deed() -> impl Strategy<Value = SessionAction> {
    prop_oneof![
        16 => prop::bool::weighted(0.6).prop_map(|good| SessionAction::Right { good }),
        5 => named().prop_map(|named| SessionAction::Approve { named }),
        3 => (0..7usize, named()).prop_map(|(what, named)| SessionAction::Submit { what, named }),
        5 => (any::<bool>(), 0..4u8).prop_map(|(good, text)| SessionAction::Edit { good, text }),
        2 => (0..REPLIES.len()).prop_map(SessionAction::Resume),
        1 => Just(SessionAction::Look),
        1 => any::<bool>().prop_map(|another| SessionAction::Start { another }),
        1 => Just(SessionAction::Abort),
        1 => Just(SessionAction::Die),
    ]
}

fn submission(what: usize) -> Value {
    match what {
        0 => requirements(),
        1 => design(),
        2 => change(),
        3 => rejection("not shown"),
        4 => json!({"questions": ["why?"]}),
        5 => json!({"blocked": "no"}),
        _ => json!({"task_complete": true, "success": true}),
    }
}

/// A session, and what a person beside it has seen.
struct PropertySession {
    project: Project,
    raw: Option<RawClient>,
    edits: u32,
    /// By run: one may wait while another goes on.
    books: HashMap<String, ApprovalLedger>,
    completed: u32,
}

#[derive(Default)]
struct ApprovalLedger {
    /// The roles that have approved the latest change.
    approved: Vec<String>,
    /// The file as it was then.
    taken: Option<String>,
}

impl PropertySession {
    fn new() -> Self {
        let project = project();
        let raw = Some(RawClient::new(&project));
        Self {
            project,
            raw,
            edits: 0,
            books: HashMap::new(),
            completed: 0,
        }
    }

    fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.raw.as_mut().unwrap().call(name, arguments)
    }

    fn file(&self) -> Option<String> {
        std::fs::read_to_string(self.project.path("reset.txt")).ok()
    }

    fn edit(&mut self, good: bool, text: &str) {
        self.edits += 1;
        let word = if good { "works" } else { "broken" };
        let text = format!("{word} {text} {}\n", self.edits);
        self.project.write("reset.txt", &text);
    }

    /// Submits, and keeps the books: they are by what was asked and what was answered.
    fn submit(&mut self, arguments: Value) {
        let before = self.call("get_status", json!({}));
        let role = before["next"]["role"].as_str().unwrap_or("").to_owned();
        let file = self.file();
        let answer = self.call("submit", arguments.clone());
        if answer["type"] == "refused" {
            return;
        }
        let said = &arguments["submission"];
        let book = self.book(&before);
        if role == "coder" && said.get("summary").is_some() {
            book.approved.clear();
            book.taken = file;
        } else if said["approved"] == true {
            book.approved.push(role);
        } else if said["approved"] == false {
            book.approved.clear();
        }
        self.look_at(&answer);
    }

    /// The book of the run that an answer is about.
    fn book(&mut self, answer: &Value) -> &mut ApprovalLedger {
        let run = answer["run"].as_str().unwrap().to_owned();
        self.books.entry(run).or_default()
    }

    /// If it is complete, that it may be.
    fn look_at(&mut self, answer: &Value) {
        if answer["type"] != "task_complete" {
            return;
        }
        self.completed += 1;
        let book = std::mem::take(self.book(answer));
        assert_eq!(book.approved, ["qa", "reviewer"], "{answer}");
        let taken = book.taken.unwrap();
        assert!(taken.contains("works"), "{taken}");
        let branch = answer["git_branch"].as_str().unwrap();
        let committed = self.project.git(&["show", &format!("{branch}:reset.txt")]);
        assert_eq!(committed, taken.trim_end());
        let trailer = "--format=%(trailers:key=Codeteam-Verified,valueonly)";
        let verified = self.project.git(&["log", "-1", trailer, branch]);
        let tree = self
            .project
            .git(&["rev-parse", &format!("{branch}^{{tree}}")]);
        assert!(verified.contains(&tree), "{verified} is not {tree}");
    }

    fn right(&mut self, good: bool) {
        let status = self.call("get_status", json!({}));
        let next = &status["next"];
        match (next["type"].as_str(), next["role_type"].as_str()) {
            (Some("role_assignment"), Some("analyst")) => {
                self.submit(json!({ "submission": requirements() }));
            }
            (Some("role_assignment"), Some("designer")) => {
                self.submit(json!({ "submission": design() }));
            }
            (Some("role_assignment"), Some("implementer")) => {
                self.edit(good, "by the book");
                self.submit(json!({ "submission": change() }));
            }
            (Some("role_assignment"), _) => self.submit(json!({ "submission": approval() })),
            (Some("task_paused" | "task_rebound_offer"), _) => {
                self.reply("no");
            }
            (Some("task_escalate"), _) if status["state"] == "escalated" => {
                self.reply("continue");
            }
            _ => self.start(false),
        }
    }

    fn reply(&mut self, input: &str) {
        let answer = self.call("resume", json!({ "input": input }));
        assert_ne!(answer["type"], "task_complete", "no word completes a task");
    }

    fn start(&mut self, another: bool) {
        self.call(
            "start_task",
            json!({"task": "Add a reset", "another": another}),
        );
    }

    fn act(&mut self, deed: &SessionAction) {
        match deed {
            SessionAction::Right { good } => self.right(*good),
            SessionAction::Approve { named } => {
                self.submit(json!({"submission": approval(), "role": named.role()}));
            }
            SessionAction::Submit { what, named } => {
                self.submit(json!({"submission": submission(*what), "role": named.role()}));
            }
            SessionAction::Edit { good, text } => self.edit(*good, &text.to_string()),
            SessionAction::Resume(which) => self.reply(REPLIES[*which]),
            SessionAction::Look => {
                self.call("get_history", json!({}));
            }
            SessionAction::Start { another } => self.start(*another),
            SessionAction::Abort => {
                self.call("abort", json!({}));
            }
            SessionAction::Die => {
                self.raw.take().unwrap().kill();
                self.raw = Some(RawClient::new(&self.project));
            }
        }
    }
}

#[test]
fn nothing_is_complete_that_not_every_gate_has_approved() {
    let completed = AtomicU32::new(0);
    let config = Config {
        cases: 8,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..Config::default()
    };
    let deeds = proptest::collection::vec(deed(), 20..45);
    let played = TestRunner::new(config).run(&deeds, |deeds| {
        let mut play = PropertySession::new();
        play.start(false);
        for deed in &deeds {
            play.act(deed);
        }
        completed.fetch_add(play.completed, Ordering::Relaxed);
        Ok(())
    });
    if let Err(error) = played {
        panic!("{error}");
    }
    assert!(completed.into_inner() > 0, "none came to its end");
}
