//! The ledger adds up to what the run itself counts, and knows no price that nobody named.

use codeteam_core::{Event, Run, apply};
use serde_json::json;

use super::*;

const LOGS: [&str; 4] = [
    include_str!("../../../../codeteam-core/tests/golden/v1-halting.jsonl"),
    include_str!("../../../../codeteam-core/tests/golden/v1-phases.jsonl"),
    include_str!("../../../../codeteam-core/tests/golden/v1-sequence.jsonl"),
    include_str!("../../../../codeteam-core/tests/golden/v1-tasks.jsonl"),
];

fn event(value: serde_json::Value) -> Event {
    serde_json::from_value(value).unwrap()
}

fn id(frame: &str, step: &str, fence: u64) -> serde_json::Value {
    json!({ "frame": frame, "step": step, "generation": 1, "slot": 0, "attempt": 1, "fence": fence })
}

fn started(frame: &str, role: &str, fence: u64) -> Event {
    event(json!({
        "type": "attempt_started", "id": id(frame, role, fence), "work": { "role": role },
        "worker": "claude", "tree": "t",
    }))
}

fn submitted(frame: &str, role: &str, fence: u64, usage: &serde_json::Value, model: &str) -> Event {
    event(json!({
        "type": "submission_received", "id": id(frame, role, fence), "model": model, "usage": usage,
        "submission": { "kind": "text", "message": "done" },
    }))
}

#[test]
fn it_adds_up_to_what_the_run_counts() {
    for log in LOGS {
        let (mut run, mut ledger) = (Run::default(), CostLedger::default());
        for line in log.lines() {
            let event = Event::read(1, line).unwrap();
            ledger.observe(&event);
            apply(&mut run, &event);
        }
        let costs = ledger.with_running();
        let tokens = costs.total.input_tokens + costs.total.output_tokens;
        assert_eq!(costs.total.attempts, run.budget.attempts);
        assert_eq!(tokens, run.budget.tokens);
        assert_eq!(costs.total.unpriced_attempts, run.budget.unpriced);
        let sides = [
            costs.models.values().collect::<Vec<_>>(),
            costs.roles.values().collect(),
            costs.workers.values().collect(),
            costs.tasks.values().collect(),
        ];
        for side in sides {
            let attempts: u64 = side.iter().map(|sum| sum.attempts).sum();
            assert_eq!(attempts, costs.total.attempts);
        }
    }
}

#[test]
fn a_price_that_nobody_named_is_unknown() {
    let mut ledger = CostLedger::default();
    let opened = event(json!({
        "type": "frame_opened", "frame": "run/one", "item": { "task": "one" },
        "base": { "commit": "c", "tree": "t" },
    }));
    ledger.observe(&opened);
    let free = json!({ "input_tokens": 10, "output_tokens": 1 });
    let priced = json!({ "input_tokens": 20, "output_tokens": 2, "cost_microusd": 500 });
    ledger.observe(&started("run", "planner", 1));
    ledger.observe(&submitted("run", "planner", 1, &free, "opus"));
    // What is below the frame of a task is part of the task.
    ledger.observe(&started("run/one/helper", "coder", 2));
    ledger.observe(&submitted("run/one/helper", "coder", 2, &priced, "sonnet"));
    // The same launch is counted once.
    assert!(!ledger.observe(&submitted("run/one/helper", "coder", 2, &priced, "sonnet")));
    ledger.observe(&started("run/one", "coder", 3));
    let costs = ledger.with_running();
    assert_eq!(costs.models[&Some("opus".to_owned())].money_microusd, None);
    assert_eq!(costs.models[&Some("opus".to_owned())].unpriced_attempts, 1);
    assert_eq!(
        costs.models[&Some("sonnet".to_owned())].money_microusd,
        Some(500)
    );
    assert_eq!(costs.models[&None].running_attempts, 1);
    let task = &costs.tasks[&Some("one".into())];
    assert_eq!((task.attempts, task.running_attempts), (2, 1));
    assert_eq!(costs.tasks[&None].attempts, 1);
    assert_eq!(costs.total.input_tokens, 30);
    // An attempt under way has no price yet, which is not the same as none.
    assert_eq!(costs.total.unpriced_attempts, 1);
}
