//! Scenarios: a small script in, a transcript out.
//!
//! A line of a script is something the world does:
//!
//! ```text
//! run/one code writes a.rs=1        the worker at that step answers, having written files
//! run/one code says {"blocked":…}   it answers this, and has written nothing
//! run/one code reports {"summary":…} it answers this, and has written a file of its own
//! run/one code fails timeout        it fails: timeout, crash, overloaded, odd, quota 60s, busy 60s,
//!                                   cost, tokens
//! run/one code uses 500 20          it has used 500 tokens and 20 of money so far
//! run/one code sees 1285            its context was assembled, with so many tokens
//! run/one code asks api.example     it has reached this host
//! run/one review approves           a gatekeeper approves, or `rejects "why"`; `review/1` is a slot
//! run/one test passes               a gate passes, or `fails "why"`, or passes and `notes b.rs`
//! run/one test leaves a b           it passes, though tests fail that failed before the run
//! run/one commit goes               git, or the host, does what is due
//! run/one commit breaks "why"       it cannot be done at all
//! run/one commit stumbles "why"     the same, and the machine is to blame
//! person run/one yes note: why      a person answers; `stale` before the answer names an old one
//! as ben person run/one approve     the same, by somebody else; `as nobody` is somebody unknown
//! run/one commit reads 2 auth       the risk is read: two files, and the named sets they are in
//! as ben delegate run/one dora       hands a vote on a change to somebody else
//! run/one commit reaches slack      a notification is delivered; `reaches_nobody` is the other case
//! person run/one edit writes a=1    a person answers with a change of their own
//! reply run/one yes                 a session answers in a person's name
//! accept                            a person takes a change as it is, unasked
//! give workers with a=1             the run passes into other hands, with what was made
//! abort | retry [frame] | skip task | plan one: a.rs; two: b.rs < one
//! raise 100                         a higher limit of money; `raise minutes 5`, `raise tokens 9`
//! retry with plan one: a.rs b.rs    the same, with the plan as a person has changed it
//! repin test make check             a gate has other checks from now on
//! crash                             codeteam dies; `crash after run/one commit` does that first
//! +5s                               time passes
//! rollback to task one              the run is taken back; `to phase a`, `before task one`, `to event 9`;
//!                                   `expecting c3` at the end names the commit that was seen
//! limited claude 60s                another run tells of a usage limit
//! push a.rs=9                       someone else commits to the branch
//! again                             the last input arrives once more
//! due                               shows what is due
//! ```
//!
//! What is before a line `---` happens and is not written down; `start` writes down how the run
//! begins.

use std::collections::BTreeMap;

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::budget::Usage;
use codeteam_core::event::UnsubmittedChange;
use codeteam_core::failure::{FailureCause, FailureFacts, FailureStage, ReachedQuota};
use codeteam_core::findings::{ReportedFinding, Severity};
use codeteam_core::frame::{FrameChange, SlotWork};
use codeteam_core::ids::{AttemptId, FramePath, Tree};
use codeteam_core::input::{Decision, WorkerOutcome};
use codeteam_core::operator::Operator;
use codeteam_core::risk::{PathSetMatch, RiskFacts};
use codeteam_core::role::{Contract, RoleKind};
use codeteam_core::rollback::{RollbackPoint, RollbackTarget};
use codeteam_core::workflow::{Check, CheckKind};
use codeteam_core::{Effect, Event, Input, due};
use serde_json::{Value, json};

use crate::fixture::{RunSetup, identity, plan};
use crate::git;
use crate::observed::observed;
use crate::transcript::{describe_effect, describe_event};
use crate::world::SimulatedWorld;

/// Plays a script and writes down what happened.
pub(crate) fn play(start: &RunSetup, script: &str) -> String {
    let (_, transcript) = play_out(start, script);
    transcript
}

/// The same, with the world it ended in.
pub(crate) fn play_out(start: &RunSetup, script: &str) -> (SimulatedWorld, String) {
    let mut world = SimulatedWorld::begin(start);
    let mut lines: Vec<String> = Vec::new();
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match line {
            "---" => {
                lines.clear();
                continue;
            }
            "start" => {
                let first = world.log.iter().map(|l| Event::read(1, l).unwrap());
                lines.extend(first.map(|event| describe_event(&event)));
                continue;
            }
            _ => lines.push(format!("> {line}")),
        }
        if line == "due" {
            lines.extend(due(&world.run).iter().map(describe_effect));
            continue;
        }
        let events = command(&mut world, line);
        lines.extend(events.iter().map(describe_event));
        lines.extend(world.report_cancelled().iter().map(describe_event));
    }
    (world, lines.join("\n") + "\n")
}

/// Plays one more line of a script.
pub(crate) fn play_line(world: &mut SimulatedWorld, line: &str) {
    command(world, line);
}

pub(crate) fn command(world: &mut SimulatedWorld, line: &str) -> Vec<Event> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let at = world.now;
    match verb {
        "crash" => {
            if let Some(which) = rest.strip_prefix("after ") {
                let (effect, _) = flight(world, which);
                let _unheard = world.perform_git(&effect);
            }
            world.crash()
        }
        "again" => {
            let input = world.inputs.last().cloned().unwrap();
            world.assert_repeats_change_nothing(&input);
            world.feed(&input)
        }
        "limited" => {
            let (account, time) = rest.split_once(' ').unwrap();
            let (account, until) = (account.into(), at.plus(millis(time)));
            world.feed(&Input::AccountLimited { at, account, until })
        }
        "push" => {
            let (file, content) = rest.split_once('=').unwrap();
            world.git.push(file, content);
            Vec::new()
        }
        "plan" => {
            let plan = Box::new(plan(&rest.replace(';', "\n")));
            let by = "ann".to_owned();
            world.feed(&Input::PlanEdited { at, by, plan })
        }
        "reply" => {
            let (frame, said) = rest.split_once(' ').unwrap();
            let asked = world.questions();
            let question = asked.iter().find(|q| q.id.frame.as_str() == frame);
            let question = question.unwrap().id.clone();
            let (by, answer) = ("session".to_owned(), said.to_owned());
            world.feed(&Input::Replied {
                at,
                by,
                question,
                answer,
            })
        }
        "as" => {
            let (who, rest) = rest.split_once(' ').unwrap();
            let (verb, rest) = rest.split_once(' ').unwrap();
            let known = (who != "nobody").then(|| identity(who));
            let decision = decision(world, verb, rest);
            world.decide_as(who, known, decision)
        }
        "person" | "abort" | "retry" | "skip" | "raise" | "accept" | "give" | "repin"
        | "rollback" => {
            let decision = decision(world, verb, rest);
            world.decide(decision)
        }
        "disk" => {
            let bytes = rest.parse().unwrap();
            world.feed(&Input::DiskMeasured { at, bytes })
        }
        _ if verb.starts_with('+') => {
            let at = at.plus(millis(&verb[1..]));
            world.wake(at)
        }
        _ => {
            let (effect, done) = flight(world, line);
            if let Some(used) = done.strip_prefix("uses ") {
                let id = effect.attempt().unwrap().clone();
                let usage = used_so_far(used);
                return world.feed(&Input::UsageMeasured { at, id, usage });
            }
            if let Some(input) = observed(&effect, &done, at) {
                return world.feed(&input);
            }
            let input = perform(world, &effect, &done);
            world.land(&input)
        }
    }
}

/// `500 20`: tokens, and money if it is known.
fn used_so_far(text: &str) -> Usage {
    let mut numbers = text.split(' ').map(|number| number.parse().unwrap());
    Usage {
        input_tokens: numbers.next().unwrap(),
        cost_microusd: numbers.next(),
        ..Usage::default()
    }
}

fn decision(world: &SimulatedWorld, verb: &str, rest: &str) -> Decision {
    let (rest, note) = rest.split_once("note:").unwrap_or((rest, ""));
    let (rest, note) = (rest.trim(), note.trim().to_owned());
    match verb {
        "abort" => Decision::Abort {
            reason: rest.to_owned(),
        },
        "retry" => {
            let (rest, revised) = rest.split_once("with plan ").unwrap_or((rest, ""));
            let rest = rest.trim();
            let revised = Some(revised).filter(|text| !text.is_empty());
            Decision::Retry {
                frame: (!rest.is_empty()).then(|| FramePath::from(rest)),
                note,
                plan: revised.map(|text| Box::new(plan(&text.replace(';', "\n")))),
                checks: BTreeMap::new(),
            }
        }
        "repin" => {
            let (step, command) = rest.split_once(' ').unwrap();
            let check = Check {
                name: command.to_owned(),
                what: CheckKind::Command(command.to_owned()),
                timeout_ms: 1_000,
            };
            Decision::Repin {
                checks: BTreeMap::from([(step.into(), vec![check])]),
            }
        }
        "delegate" => {
            let (frame, to) = rest.split_once(' ').unwrap();
            let asked = world.questions();
            let question = asked.iter().find(|q| q.id.frame.as_str() == frame);
            Decision::Delegate {
                question: question.unwrap().id.clone(),
                to: to.into(),
                note,
            }
        }
        "skip" => Decision::Skip { task: rest.into() },
        "rollback" => rollback(rest),
        "accept" => Decision::Accept { frame: None, note },
        "give" => reassign(world, rest),
        "raise" => {
            let mut limits = codeteam_core::budget::BudgetLimits::default();
            let (what, value) = rest.split_once(' ').unwrap_or(("money", rest));
            let value: u64 = value.parse().unwrap();
            match what {
                "minutes" => limits.wall_ms = Some(value * 60_000),
                "tokens" => limits.tokens = Some(value),
                "outage" => limits.outage_ms = Some(value * 60_000),
                _ => limits.money_microusd = Some(value),
            }
            Decision::RaiseLimits { limits }
        }
        _ => {
            let (frame, answer) = rest.split_once(' ').unwrap();
            let asked = world.questions();
            let question = asked.iter().find(|q| q.id.frame.as_str() == frame);
            let mut id = question
                .unwrap_or_else(|| panic!("no question in {frame}"))
                .id
                .clone();
            let answer = match answer.strip_prefix("stale ") {
                Some(answer) => {
                    id.fence -= 1;
                    answer
                }
                None => answer,
            };
            let (answer, written) = match answer.split_once(" writes ") {
                Some((answer, written)) => (answer, Some(written)),
                None => (answer, None),
            };
            let change = written.map(|written| {
                let from = world.run.frames[&id.frame].tree.clone();
                Box::new(write(world, &id, &from, written))
            });
            Decision::Answer {
                question: id,
                answer: answer.to_owned(),
                note,
                change,
            }
        }
    }
}

fn reassign(world: &SimulatedWorld, rest: &str) -> Decision {
    let (to, written) = rest.split_once(" with ").unwrap_or((rest, ""));
    let change = (!written.is_empty()).then(|| {
        let frame = FramePath::root();
        let from = &world.run.frames[&frame];
        let id = from.slots[0].id.clone();
        let (tree, change) = write(world, &id, &from.tree, written);
        Box::new(UnsubmittedChange {
            frame,
            tree,
            change,
        })
    });
    let to = if to == "workers" {
        Operator::Workers
    } else {
        Operator::Session
    };
    Decision::Reassign { to, change }
}

fn rollback(rest: &str) -> Decision {
    let (rest, expected) = match rest.split_once(" expecting ") {
        Some((rest, commit)) => (rest, Some(commit.into())),
        None => (rest, None),
    };
    let mut words = rest.split(' ');
    let before = words.next() == Some("before");
    let (kind, name) = (words.next().unwrap(), words.next().unwrap());
    let target = match kind {
        "task" => RollbackTarget::Task(name.into()),
        "phase" => RollbackTarget::Phase(name.into()),
        _ => RollbackTarget::Event(name.parse().unwrap()),
    };
    Decision::Rollback {
        to: RollbackPoint { target, before },
        expected,
        reason: String::new(),
    }
}

/// What is in flight at `frame step[/slot]`, and what is said of it after that.
fn flight(world: &SimulatedWorld, line: &str) -> (Effect, String) {
    let mut words = line.splitn(3, ' ');
    let (frame, place) = (words.next().unwrap(), words.next().unwrap_or(""));
    let (step, slot) = place.split_once('/').unwrap_or((place, "0"));
    let found = world.flights.iter().find(|(id, _)| {
        id.frame.as_str() == frame && id.step.as_str() == step && id.slot.to_string() == slot
    });
    let Some((_, effect)) = found else {
        let flights: Vec<String> = world.flights.keys().map(ToString::to_string).collect();
        panic!("nothing is under way for `{line}`; but {flights:?}");
    };
    (effect.clone(), words.next().unwrap_or("").to_owned())
}

fn perform(world: &mut SimulatedWorld, effect: &Effect, done: &str) -> Input {
    let (at, id) = (world.now, effect.attempt().unwrap().clone());
    let (verb, rest) = done.split_once(' ').unwrap_or((done, ""));
    let rest = rest.trim_matches('"');
    match (effect, verb) {
        (_, "breaks" | "stumbles") => Input::EffectFailed {
            at,
            id,
            trouble: (verb == "stumbles").then_some(FailureCause::Machine),
            message: rest.to_owned(),
        },
        (Effect::RunGate { step, .. }, "passes") => world.judged(&id, step, None),
        (Effect::RunGate { step, .. }, "fails") => world.judged(&id, step, Some(rest)),
        (Effect::RunGate { step, .. }, "notes") => {
            let mut judged = world.judged(&id, step, None);
            if let Input::GateFinished { results, .. } = &mut judged {
                results[0].findings.push(ReportedFinding {
                    severity: Severity::Info,
                    title: "not a file of the task".to_owned(),
                    file: Some(rest.to_owned()),
                    ..ReportedFinding::default()
                });
            }
            judged
        }
        (Effect::RunGate { step, .. }, "leaves") => {
            let mut judged = world.judged(&id, step, None);
            if let Input::GateFinished { results, .. } = &mut judged {
                results[0].still_failing = rest.split(' ').map(str::to_owned).collect();
            }
            judged
        }
        (Effect::Publish { .. }, _) => Input::Published {
            at,
            id,
            ok: verb == "goes",
            output: rest.to_owned(),
        },
        (Effect::AssessRisk { tree, .. }, "reads") => Input::RiskRead {
            at,
            id,
            tree: tree.clone(),
            facts: Box::new(risk_facts(rest)),
        },
        (Effect::Notify { .. }, _) => Input::Notified {
            at,
            id,
            channels: (verb == "reaches")
                .then(|| rest.to_owned())
                .into_iter()
                .collect(),
        },
        (Effect::StartWorker { .. }, _) => work(world, &id, verb, done),
        _ => world.perform_git(effect).unwrap(),
    }
}

/// `2 auth keys`: the number of files, and the sets that they are in; `unread` if signatures could
/// not be compared.
fn risk_facts(text: &str) -> RiskFacts {
    let mut words = text.split(' ');
    let mut facts = RiskFacts {
        files: words.next().unwrap().parse().unwrap(),
        ..RiskFacts::default()
    };
    for word in words {
        if word == "unread" {
            facts.unread.push("run.sh".to_owned());
        } else {
            facts.paths.push(PathSetMatch {
                set: word.to_owned(),
                files: vec![format!("{word}.rs")],
                more: 0,
            });
        }
    }
    facts
}

fn work(world: &SimulatedWorld, id: &AttemptId, verb: &str, done: &str) -> Input {
    let told = build_assignment(&world.run, id).unwrap();
    let rest = done.split_once(' ').map_or("", |(_, rest)| rest);
    let reason = rest.trim_matches('"');
    let end = match (verb, told.kind) {
        ("fails", _) => WorkerOutcome::Failed(trouble(rest, told.worker.as_str())),
        ("says" | "reports", _) => WorkerOutcome::Answered(rest.to_owned()),
        ("writes", _) => answered(&change(told.expected.contract, rest)),
        ("approves", _) => answered(&verdict(&told, true, "fine")),
        ("rejects", _) => answered(&verdict(&told, false, reason)),
        ("goes", RoleKind::Scribe) => answered(&json!({"message": "Do it"})),
        ("goes", RoleKind::Designer) => answered(&json!({"design": "a table"})),
        ("goes", RoleKind::Analyst) => answered(&json!({"confirmed_requirements": "by mail"})),
        _ => panic!("a {} cannot do `{done}`", told.kind.as_str()),
    };
    let mut input = world.exited(id, end, 100);
    if let Input::WorkerExited { report, .. } = &mut input
        && told.writable
    {
        let own = format!("{}.rs={}", id.frame.name(), id.fence);
        let written = match verb {
            "writes" => rest,
            "reports" => own.as_str(),
            _ => "",
        };
        report.change = Some(write(world, id, &told.tree, written));
    }
    input
}

/// What an implementer says of the files it has written.
fn change(contract: Contract, written: &str) -> Value {
    let files = || written.split(' ').filter_map(|w| w.split_once('='));
    let edits = || files().map(|(path, content)| json!({"path": path, "content": content}));
    let names = || files().map(|(path, _)| path);
    match contract {
        Contract::Native | Contract::TeamMcp => json!({"summary": "done"}),
        Contract::Strict => json!({"edits": edits().collect::<Vec<_>>()}),
        Contract::Supervisor => json!({"status": "SUCCESS", "files_created": [],
            "files_modified": names().collect::<Vec<_>>(), "tests_written": []}),
        other => panic!(
            "nobody makes a change under the contract {}",
            other.as_str()
        ),
    }
}

fn verdict(told: &Assignment, approved: bool, reason: &str) -> Value {
    let choice = |yes: &'static str, no: &'static str| if approved { yes } else { no };
    let issues = if approved { vec![] } else { vec![reason] };
    match told.expected.contract {
        Contract::Native => json!({"verdict": choice("approve", "reject"), "reason": reason}),
        Contract::TeamMcp => json!({"approved": approved, "reason": reason, "issues": issues}),
        Contract::Strict => {
            let task = told.task.as_ref().map_or("", |task| task.id.as_str());
            json!({"task_id": task, "passed": approved, "report": reason})
        }
        Contract::Supervisor => {
            let issues = issues
                .iter()
                .map(|i| json!({"severity": "major", "title": i}));
            json!({"status": choice("APPROVED", "CHANGES_REQUESTED"), "suggestions": [],
                "issues": issues.collect::<Vec<_>>()})
        }
        other => panic!(
            "`says` what is answered under the contract {}",
            other.as_str()
        ),
    }
}

fn write(
    world: &SimulatedWorld,
    id: &AttemptId,
    from: &Tree,
    written: &str,
) -> (Tree, FrameChange) {
    let mut files = git::files(from);
    for (file, content) in written.split(' ').filter_map(|w| w.split_once('=')) {
        files.insert(file.to_owned(), content.to_owned());
    }
    let tree = git::tree(&files);
    let base = &world.run.frames[&id.frame].base.tree;
    (tree.clone(), git::change(&id.without_fence(), base, &tree))
}

fn answered(value: &serde_json::Value) -> WorkerOutcome {
    WorkerOutcome::Answered(value.to_string())
}

fn trouble(what: &str, worker: &str) -> FailureFacts {
    let (what, rest) = what.split_once(' ').unwrap_or((what, ""));
    let mut facts = FailureFacts::default();
    match what {
        "timeout" => {
            facts.stage = FailureStage::TimedOut;
            facts.message = "it ran too long".into();
        }
        "crash" => {
            facts.signal = Some(11);
            facts.message = "it crashed".into();
        }
        "overloaded" => facts.http_status = Some(529),
        "quota" => {
            facts.quota = Some(ReachedQuota {
                account: worker.into(),
                resets_in_ms: Some(millis(rest)),
                resets_at: None,
            });
        }
        "login" => {
            facts.trouble = Some(FailureCause::Login);
            facts.message = "it is not logged in".into();
        }
        "busy" => {
            facts.http_status = Some(429);
            facts.retry_after_ms = (!rest.is_empty()).then(|| millis(rest));
        }
        "unreachable" => {
            facts.trouble = Some(FailureCause::Unreachable);
            facts.message = "connection refused".into();
        }
        "cost" => {
            facts.trouble = Some(FailureCause::Cost);
            facts.message = "it used up its money".into();
        }
        "tokens" => {
            facts.trouble = Some(FailureCause::Tokens);
            facts.message = "it used up its tokens".into();
        }
        "loop" => {
            facts.trouble = Some(FailureCause::Loop);
            facts.message = "it made the same calls again and again".into();
        }
        _ => facts.message = "something odd".into(),
    }
    facts
}

fn millis(text: &str) -> u64 {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.trim_end_matches('s'), 1_000),
    };
    number.parse::<u64>().unwrap() * unit
}

/// What an attempt does, for transcripts.
pub(crate) fn work_of(work: &SlotWork) -> String {
    match work {
        SlotWork::Role(role) => role.to_string(),
        SlotWork::Gate(step) => format!("the checks of `{step}`"),
        SlotWork::Rebase => "rebase".to_owned(),
        SlotWork::Assess => "read the risk".to_owned(),
        SlotWork::Integrate => "integrate".to_owned(),
        SlotWork::Publish => "publish".to_owned(),
        SlotWork::Deliver => "deliver".to_owned(),
        SlotWork::MoveBranch => "move the branch".to_owned(),
        SlotWork::WriteInterfaces => "write the interfaces".to_owned(),
    }
}
