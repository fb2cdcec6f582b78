//! Scripts and workflows that several tests play.

/// A plan of three tasks, one after the other, with a failing gate and a failing attempt.
pub(crate) const THREE_TASKS: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do:
      - usage: { input_tokens: 10, output_tokens: 5, cost_usd: 0.001 }
      - submit:
          plan:
            description: Three small things
            tasks:
              - { id: one, title: First, files: [one.txt, tests/one.sh] }
              - { id: two, title: Second, dependencies: [one], files: [two.txt, tests/two.sh] }
              - { id: three, title: Third, dependencies: [two], files: [three.txt] }
  # The gate fails in the first round of task two.
  - match: { role: coder, task: two, round: 1 }
    do:
      - write: { path: two.txt, content: "wrong\n" }
      - write: { path: tests/two.sh, content: "grep -q right two.txt\n" }
      - submit: { summary: Second thing, files: [two.txt] }
  - match: { role: coder, task: two }
    do:
      - write: { path: two.txt, content: "right\n" }
      - write: { path: tests/two.sh, content: "grep -q right two.txt\n" }
      - submit: { summary: Second thing mended, files: [two.txt] }
  # The first attempt of task three is no answer.
  - match: { role: coder, task: three, attempt: 1 }
    do:
      - write: { path: three.txt, content: "half done\n" }
      - submit: { summry: oops }
  - match: { role: coder, task: three }
    do:
      - write: { path: three.txt, content: "done\n" }
      - submit: { summary: Third thing }
  - match: { role: coder }
    do:
      - write: { path: one.txt, content: "one\n" }
      - write: { path: tests/one.sh, content: "test -e one.txt\n" }
      - usage: { input_tokens: 100, output_tokens: 50, cost_usd: 0.01 }
      - submit: { summary: First thing }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
  - match: { role: committer }
    do: [ { submit: { message: "Do {{task.id}}" } } ]
"#;

/// Two of them, for what is done again and again: the second has all that goes wrong.
pub(crate) const TWO_TASKS: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do:
      - submit:
          plan:
            description: Two small things
            tasks:
              - { id: one, title: First, files: [one.txt] }
              - { id: two, title: Second, dependencies: [one], files: [two.txt, tests/two.sh] }
  - match: { role: coder, task: one }
    do:
      - write: { path: one.txt, content: "one\n" }
      - usage: { input_tokens: 100, output_tokens: 50, cost_usd: 0.01 }
      - submit: { summary: First thing }
  # The gate fails in the first round.
  - match: { role: coder, round: 1 }
    do:
      - write: { path: two.txt, content: "wrong\n" }
      - write: { path: tests/two.sh, content: "grep -q right two.txt\n" }
      - submit: { summary: Second thing }
  # The first attempt of the second round is no answer.
  - match: { role: coder, round: 2, attempt: 1 }
    do:
      - write: { path: two.txt, content: "half done\n" }
      - submit: { summry: oops }
  - match: { role: coder }
    do:
      - write: { path: two.txt, content: "right\n" }
      - write: { path: tests/two.sh, content: "grep -q right two.txt\n" }
      - submit: { summary: Second thing mended }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
  - match: { role: committer }
    do: [ { submit: { message: "Do {{task.id}}" } } ]
"#;

/// One task, of which nothing goes wrong.
pub(crate) const ONE_TASK: &str = r#"
version: 1
plays:
  - match: { role: planner }
    do: [ { submit: { plan: { description: One, tasks: [ { id: one, title: First, files: [one.txt] } ] } } } ]
  - match: { role: coder }
    do:
      - write: { path: one.txt, content: "done\n" }
      - submit: { summary: One thing }
  - match: { role: reviewer }
    do: [ { submit: { verdict: approve, reason: Good } } ]
  - match: { role: committer }
    do: [ { submit: { message: "Do {{task.id}}" } } ]
"#;

/// The default workflow, one task at a time, so that two runs make the same commits.
pub(crate) const ONE_BY_ONE: &str =
    include_str!("../../../codeteam-engine/data/workflows/lean.yml");
