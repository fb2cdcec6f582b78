//! Workflows and plays that several tests share.

use codeteam_e2e::{Play, Scenario, Turn};
use serde_json::json;

/// Code, gate, review, commit; `coder` and `reviewer` are more keys of those roles.
pub(crate) fn one(coder: &str, reviewer: &str) -> String {
    format!(
        "
name: one
start: code
roles:
  coder: {{ kind: implementer, prompt: You write code., {coder} }}
  reviewer: {{ kind: gatekeeper, prompt: You review code., {reviewer} }}
steps:
  code: {{ role: coder, next: verify }}
  verify: {{ gate: project, next: review, on_fail: code }}
  review: {{ role: reviewer, next: commit, on_reject: code }}
  commit: {{ commit: branch, next: done }}
"
    )
}

/// Code and commit alone; `coder` is more keys of the role and `step` of the step. Tries follow
/// each other at once.
pub(crate) fn alone(coder: &str, step: &str) -> String {
    format!(
        "
name: alone
start: code
roles:
  coder: {{ kind: implementer, prompt: You write code., {coder} }}
steps:
  code:
    role: coder
    retry: {{ max_attempts: 3, initial_delay_ms: 1 }}
    next: commit
    {step}
  commit: {{ commit: branch, next: done }}
"
    )
}

pub(crate) const WRONG: &str = "echo $(($1 - $2))\n";
pub(crate) const RIGHT: &str = "echo $(($1 + $2))\n";

/// A coder whose first change does not pass the gate and who corrects it, and a reviewer who
/// approves.
pub(crate) fn two_rounds() -> Scenario {
    Scenario::new()
        .play(
            Play::new()
                .named("first round")
                .role("coder")
                .round(1)
                .turn(Turn::say("I write it.").write("add.sh", WRONG))
                .turn(Turn::submit(
                    json!({"summary": "wrote add.sh", "files": ["add.sh"]}),
                )),
        )
        .play(
            Play::new()
                .named("second round")
                .role("coder")
                .round(2)
                .turn(Turn::new().read("add.sh").run("env"))
                .turn(Turn::say("I mend it.").edit("add.sh", WRONG, RIGHT))
                .turn(Turn::submit(
                    json!({"summary": "mended add.sh", "files": ["add.sh"]}),
                )),
        )
        .play(
            Play::new()
                .named("review")
                .role("reviewer")
                .turn(Turn::new().read("add.sh"))
                .turn(Turn::submit(
                    json!({"verdict": "approve", "reason": "it adds"}),
                )),
        )
}

/// Writes the right `add.sh` and hands it in.
pub(crate) fn writes(play: Play) -> Play {
    play.turn(Turn::new().write("add.sh", RIGHT))
        .turn(written())
}

/// Hands in that `add.sh` is written.
pub(crate) fn written() -> Turn {
    Turn::submit(json!({"summary": "wrote add.sh", "files": ["add.sh"]}))
}
