//! The world a run lives in: its log, its clock, what is in flight, and the loop of the design:
//! input → decide → append → apply → start what is due and missing, cancel what is not due.

use std::collections::BTreeMap;
use std::rc::Rc;

use codeteam_core::approval::Identity;
use codeteam_core::budget::Usage;
use codeteam_core::checks::CheckResult;
use codeteam_core::failure::FailureFacts;
use codeteam_core::frame::Question;
use codeteam_core::ids::{AttemptId, EpochMillis, StepId};
use codeteam_core::input::{Decision, IntegrationOutcome, WorkerOutcome, WorkerReport};
use codeteam_core::locks::LockedFile;
use codeteam_core::risk::RiskFacts;
use codeteam_core::workflow::StepKind;
use codeteam_core::{Effect, Event, Input, Run, Transition, apply, decide, due};

use crate::fixture::{RunSetup, identity};
use crate::git::{self, FakeGit};
use crate::invariants::{InvariantWatch, settled};

/// A run and everything around it.
#[derive(Clone)]
pub(crate) struct SimulatedWorld {
    pub run: Run,
    /// The durable log: one line of JSON per event.
    pub log: Vec<String>,
    /// The events of the log as they were read from it, once: to read is most of a replay.
    pub events: Vec<Rc<Event>>,
    pub git: FakeGit,
    pub now: EpochMillis,
    /// What is being performed.
    pub flights: BTreeMap<AttemptId, Effect>,
    /// What was cancelled and has not yet told what it spent.
    pub cancelled: Vec<AttemptId>,
    /// Everything that was fed, in order.
    pub inputs: Vec<Input>,
    watch: InvariantWatch,
}

impl SimulatedWorld {
    pub(crate) fn begin(start: &RunSetup) -> Self {
        Self::begin_on(start, FakeGit::new())
    }

    /// Begins on a branch that has commits already.
    pub(crate) fn begin_on(start: &RunSetup, git: FakeGit) -> Self {
        let mut world = Self {
            run: Run::default(),
            log: Vec::new(),
            events: Vec::new(),
            now: EpochMillis(1_000),
            flights: BTreeMap::new(),
            cancelled: Vec::new(),
            inputs: Vec::new(),
            watch: InvariantWatch::default(),
            git,
        };
        let began = Input::Began(start.started(&world.git));
        world.feed(&began);
        world
    }

    /// One turn of the loop.
    pub(crate) fn feed(&mut self, input: &Input) -> Vec<Event> {
        let events = self.append(input);
        self.inputs.push(input.clone());
        self.compare_due();
        events
    }

    /// Decides, appends and applies, and holds every promise against the result.
    fn append(&mut self, input: &Input) -> Vec<Event> {
        let Transition { events, run: after } = decide(&self.run, input);
        let lines: Vec<String> = events.iter().map(json).collect();
        let again: Vec<String> = decide(&self.run, input).events.iter().map(json).collect();
        assert_eq!(lines, again, "the same input gives the same events");
        // What the log tells is applied beside the live run; whole replays happen at crashes.
        let mut told = self.run.clone();
        for (event, line) in events.iter().zip(&lines) {
            self.watch.before(&self.run, event);
            apply(&mut self.run, event);
            self.watch.after(&self.run, event);
            let read = Event::read(event.version(), line).unwrap();
            assert_eq!(read, *event, "{line}");
            apply(&mut told, &read);
            self.events.push(Rc::new(read));
        }
        assert!(told == self.run, "the log tells another story");
        assert!(after == self.run, "the events make another run of it");
        self.log.extend(lines);
        settled(&self.run, &due(&self.run));
        events
    }

    fn compare_due(&mut self) {
        let mut wanted: BTreeMap<AttemptId, Effect> = BTreeMap::new();
        for effect in due(&self.run) {
            if let Some(id) = effect.attempt() {
                wanted.insert(id.clone(), effect);
            }
        }
        for (id, flight) in std::mem::take(&mut self.flights) {
            match wanted.get(&id) {
                Some(effect) => assert_eq!(*effect, flight, "what is due changed in flight"),
                None => self.cancelled.push(id),
            }
        }
        self.flights = wanted;
    }

    /// Takes a flight that has ended out of the air and feeds what it reports.
    pub(crate) fn land(&mut self, input: &Input) -> Vec<Event> {
        let id = attempt_of(input).cloned();
        if let Some(id) = &id {
            self.flights.remove(id);
        }
        self.feed(input)
    }

    /// codeteam dies and another process takes over: only the log is left.
    pub(crate) fn crash(&mut self) -> Vec<Event> {
        let lost: Vec<(AttemptId, Usage)> = self
            .flights
            .keys()
            .chain(&self.cancelled)
            .map(|id| (id.clone(), spent(50)))
            .collect();
        self.flights.clear();
        self.cancelled.clear();
        let rebuilt = Run::replay(self.events.iter().map(Rc::as_ref));
        assert!(rebuilt == self.run, "replay is not what was");
        self.run = rebuilt;
        let at = self.now;
        self.feed(&Input::Resumed { at, lost })
    }

    /// Cancelled work tells what it had spent.
    pub(crate) fn report_cancelled(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(id) = self.cancelled.pop() {
            let facts = FailureFacts {
                message: "cancelled".to_owned(),
                ..FailureFacts::default()
            };
            let input = self.exited(&id, WorkerOutcome::Failed(facts), 10);
            events.extend(self.feed(&input));
        }
        events
    }

    pub(crate) fn exited(&self, id: &AttemptId, end: WorkerOutcome, cost: u64) -> Input {
        Input::WorkerExited {
            at: self.now,
            id: id.clone(),
            report: Box::new(WorkerReport {
                session: None,
                log: None,
                edited: Vec::new(),
                failed_write: None,
                end,
                usage: spent(cost),
                model: None,
                transcript: None,
                change: None,
            }),
        }
    }

    /// What a gate reports: `None` if all is well, or what is wrong.
    pub(crate) fn judged(&self, id: &AttemptId, step: &StepId, wrong: Option<&str>) -> Input {
        let checks = match self.run.step(step).map(|s| &s.kind) {
            Some(StepKind::Gate { checks }) => checks.clone(),
            _ => Vec::new(),
        };
        let results = checks.iter().enumerate().map(|(i, check)| CheckResult {
            name: check.name.clone(),
            passed: wrong.is_none() || i > 0,
            summary: wrong.filter(|_| i == 0).unwrap_or("").to_owned(),
            ..CheckResult::default()
        });
        let tree = match self.flights.get(id) {
            Some(Effect::RunGate { tree, .. }) => tree.clone(),
            _ => self.run.tip.tree.clone(),
        };
        Input::GateFinished {
            at: self.now,
            id: id.clone(),
            tree,
            results: results.collect(),
        }
    }

    /// Performs a git effect; what it did stays done even if nobody hears of it.
    pub(crate) fn perform_git(&mut self, effect: &Effect) -> Option<Input> {
        let at = self.now;
        match effect {
            Effect::Rebase {
                id,
                base,
                tree,
                onto,
            } => Some(Input::Rebased {
                at,
                id: id.clone(),
                outcome: git::rebase(id, base, tree, onto),
            }),
            Effect::Integrate {
                id,
                tree,
                onto,
                message,
                ..
            } => {
                let outcome = self.git.integrate(id, tree, onto, message);
                if let IntegrationOutcome::Committed { tree: made, .. } = &outcome {
                    assert_eq!(made, tree, "an attempt's name was used for two trees");
                }
                let id = id.clone();
                Some(Input::Integrated { at, id, outcome })
            }
            Effect::Deliver { id, how, tip, .. } => Some(Input::Delivered {
                at,
                id: id.clone(),
                outcome: self.git.deliver(how, tip),
            }),
            Effect::MoveBranch { id, to } => Some(Input::BranchMoved {
                at,
                id: id.clone(),
                found: Some(self.git.move_back(to)),
            }),
            Effect::WriteInterfaces { id, base, files } => {
                let mut all = git::files(&base.tree);
                for file in files {
                    all.insert(file.path.clone(), file.content.trim().to_owned());
                }
                let tree = git::tree(&all);
                let change = git::change(&id.without_fence(), &base.tree, &tree);
                let locked = files.iter().map(|file| LockedFile {
                    name: file.name.clone(),
                    path: file.path.clone(),
                    blob: file.content.trim().to_owned(),
                });
                Some(Input::InterfacesWritten {
                    at,
                    id: id.clone(),
                    change: (tree != base.tree).then(|| Box::new(change)),
                    tree,
                    files: locked.collect(),
                })
            }
            Effect::AssessRisk { id, base, tree } => {
                let changed = git::change("", &base.tree, tree);
                let facts = RiskFacts {
                    files: u32::try_from(changed.files.len()).unwrap(),
                    ..RiskFacts::default()
                };
                Some(Input::RiskRead {
                    at,
                    id: id.clone(),
                    tree: tree.clone(),
                    facts: Box::new(facts),
                })
            }
            _ => None,
        }
    }

    pub(crate) fn decide(&mut self, decision: Decision) -> Vec<Event> {
        self.decide_as("ann", Some(identity("ann")), decision)
    }

    pub(crate) fn decide_as(
        &mut self,
        by: &str,
        identity: Option<Identity>,
        decision: Decision,
    ) -> Vec<Event> {
        let input = Input::Decided {
            at: self.now,
            by: by.to_owned(),
            identity,
            decision,
        };
        self.feed(&input)
    }

    pub(crate) fn questions(&self) -> Vec<Question> {
        let asks = due(&self.run).into_iter().filter_map(|e| match e {
            Effect::Ask(question) => Some(*question),
            _ => None,
        });
        asks.collect()
    }

    /// When the next wait ends.
    pub(crate) fn next_wake(&self) -> Option<EpochMillis> {
        codeteam_core::due::next_wake(&self.run)
    }

    pub(crate) fn wake(&mut self, at: EpochMillis) -> Vec<Event> {
        self.now = self.now.max(at);
        let at = self.now;
        self.feed(&Input::Woke { at })
    }

    /// One decision ends it, wherever it stands; tried on a copy.
    pub(crate) fn assert_abort_ends_it(&self) {
        if self.run.is_terminal() {
            return;
        }
        let abort = Input::Decided {
            at: self.now,
            by: "ann".to_owned(),
            identity: None,
            decision: Decision::Abort {
                reason: "enough".to_owned(),
            },
        };
        let run = decide(&self.run, &abort).run;
        assert!(run.is_terminal() && due(&run).is_empty());
    }

    /// What the same input does a second time: nothing, or it is refused.
    pub(crate) fn assert_repeats_change_nothing(&self, input: &Input) {
        for event in decide(&self.run, input).events {
            let refused = matches!(event, Event::DecisionRefused { .. });
            assert!(refused, "a repeated {input:?} caused {event:?}");
        }
    }
}

pub(crate) fn spent(cost_microusd: u64) -> Usage {
    Usage {
        cached_input_tokens: 0,
        input_tokens: 10,
        output_tokens: 1,
        cost_microusd: Some(cost_microusd),
    }
}

pub(crate) fn json(event: &Event) -> String {
    serde_json::to_string(event).unwrap()
}

/// The attempt an input is the result of.
pub(crate) fn attempt_of(input: &Input) -> Option<&AttemptId> {
    match input {
        Input::WorkerExited { id, .. }
        | Input::GateFinished { id, .. }
        | Input::Rebased { id, .. }
        | Input::Integrated { id, .. }
        | Input::Published { id, .. }
        | Input::Delivered { id, .. }
        | Input::BranchMoved { id, .. }
        | Input::InterfacesWritten { id, .. }
        | Input::RiskRead { id, .. }
        | Input::Notified { id, .. }
        | Input::EffectFailed { id, .. } => Some(id),
        _ => None,
    }
}
