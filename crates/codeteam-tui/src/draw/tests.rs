//! What is on the screen, as text.

use codeteam_core::ids::EpochMillis;
use codeteam_core::untrusted_text::is_active_character;
use codeteam_engine::attempt_log::{LogAnchor, LogLine, LogLineKind, LogQuery};
use codeteam_engine::metrics::{
    MetricsRow, MetricsTable, ProjectMetrics, RunMetrics, WorkerSuccess,
};
use expect_test::{Expect, expect};

use crate::fixture::{TestScreen, ended};
use crate::message::{LoadedLog, Message};
use crate::state::Panel;

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "it is written in place")]
fn check(screen: &TestScreen, expected: Expect) {
    expected.assert_eq(&screen.text());
}

fn screen(columns: u16, rows: u16, keys: &[&str]) -> TestScreen {
    let mut screen = TestScreen::new(columns, rows);
    screen.press(keys);
    screen
}

#[test]
fn the_inbox_shows_what_needs_a_person() {
    check(
        &screen(80, 24, &[]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow

            >decide    task-002       Is this change what you want?                      1m











            --------------------------------------------------------------------------------
            run       2026-11-19_044353_count-words-and-characters
            goal      Count words and characters
            asks
              Is this change what you want?
            command   codeteam answer 2026-11-19_044353_count-words-and-characters accept
            command   codeteam answer 2026-11-19_044353_count-words-and-characters reject
            command   codeteam edit 2026-11-19_044353_count-words-and-characters

            Enter open  d diff  v report  u go on  Esc back  / filter  ? keys  q leave
        "]],
    );
    check(
        &screen(120, 40, &[]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow  9 metrics

            >decide    task-002       Is this change what you want?        1m  | run       2026-11-19_044353_count-words-and-charact
                                                                               |           ers
                                                                               | goal      Count words and characters
                                                                               | asks
                                                                               |   Is this change what you want?
                                                                               | command   codeteam answer
                                                                               |           2026-11-19_044353_count-words-and-charact
                                                                               |           ers accept
                                                                               | command   codeteam answer
                                                                               |           2026-11-19_044353_count-words-and-charact
                                                                               |           ers reject
                                                                               | command   codeteam edit
                                                                               |           2026-11-19_044353_count-words-and-charact
                                                                               |           ers
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |

            Enter open  d diff  v report  u go on  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_list_of_runs() {
    check(
        &screen(80, 24, &["2"]),
        expect![[r"
            codeteam  1 inbox(1) [2 runs] 3 run  4 plan  5 cost  7 timeline  8 workflow

            >needs you   1m     1/5 Count words and characters   Is this change what you wan
             done        1d         Add a --json flag            completed: 3 of 3 tasks
             failed      2d         Rename the module            failed: 3 of 3 tasks


















            Enter open  u go on  R retry  X end it  d diff  Esc back  ? keys  q leave
        "]],
    );
}

#[test]
fn a_run_is_a_tree() {
    check(
        &screen(80, 24, &["3"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow
            needs you  2026-11-19_044353_count-words-and-characters
            >needs you - Count words and characters  Is this change what you want?
             done        + plan
             done        + task-001 Count characters
             needs you   - task-002 Print the counts as JSON  Is this change what you wan…
             done          + code
             done          + verify  rejects: style
             done          + code, visit 2
             done          + verify, visit 2  approves
             done          - review  approves
             done              reviewer (scripted)  approves                            0s
             waiting       task-003 Describe the output  for task-002
             waiting       task-004 Read from standard input  for task-002
            --------------------------------------------------------------------------------
            run       2026-11-19_044353_count-words-and-characters
            goal      Count words and characters
            now       Is this change what you want?
            driver    a process drives it
            waits     waiting on: a person (task-002)
            tasks     1 of 5 tasks done, 1 failed
            … 10 more lines

            Enter open  d diff  L log  F findings  v report  R retry  X end  ? keys  q leave
        "]],
    );
}

/// The keys that unfold a task and one of its steps in the tree of a run.
const UNFOLD: [&str; 6] = ["3", "j", "j", "j", "j", "l"];

#[test]
fn beside_the_tree_is_what_is_selected() {
    check(
        &screen(120, 40, &UNFOLD),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow  9 metrics
            needs you  2026-11-19_044353_count-words-and-characters
             needs you - Count words and characters  Is this change what yo…   | step      code
             done        + plan                                                | of        task-002
             done        + task-001 Count characters                           | attempt   coder done
             needs you   - task-002 Print the counts as J…  Is this change …   |
            >done          - code                                              |
             done              coder (scripted)                           0s   |
             done          + verify  rejects: style                            |
             done          + code, visit 2                                     |
             done          + verify, visit 2  approves                         |
             done          - review  approves                                  |
             done              reviewer (scripted)  approves              0s   |
             waiting       task-003 Describe the output  for task-002          |
             waiting       task-004 Read from standard in…  for task-002       |
             failed      + task-005 Package it  `code` gave up: There is no…   |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |

            Enter open  d diff  L log  F findings  v report  R retry  K leave out  X end  u go on  Esc back  ? keys  q leave
        "]],
    );
}

#[test]
fn a_large_terminal_shows_it_all() {
    check(
        &screen(200, 60, &UNFOLD),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow  9 metrics
            needs you  2026-11-19_044353_count-words-and-characters
             needs you - Count words and characters  Is this change what you want?                                         | step      code
             done        + plan                                                                                            | of        task-002
             done        + task-001 Count characters                                                                       | attempt   coder done
             needs you   - task-002 Print the counts as JSON  Is this change what you want?                                |
            >done          - code                                                                                          |
             done              coder (scripted)                                                                       0s   |
             done          + verify  rejects: style                                                                        |
             done          + code, visit 2                                                                                 |
             done          + verify, visit 2  approves                                                                     |
             done          - review  approves                                                                              |
             done              reviewer (scripted)  approves                                                          0s   |
             waiting       task-003 Describe the output  for task-002                                                      |
             waiting       task-004 Read from standard input  for task-002                                                 |
             failed      + task-005 Package it  `code` gave up: There is no build backend to use                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |
                                                                                                                           |

            Enter open  d diff  L log  F findings  v report  R retry  K leave out  X end  u go on  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn a_small_terminal_shows_less() {
    check(
        &screen(60, 20, &["3"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost
            needs you  2026-11-19_044353_count-words-and-characters
            >needs you - Count words and characters  Is this change w…
             done        + plan
             done        + task-001 Count characters
             needs you   - task-002 Print the counts …  Is this chang…
             done          + code
             done          + verify  rejects: style
             done          + code, visit 2
             done          + verify, visit 2  approves
             done          - review  approves
             done              reviewer (scripted)  approves        0s
             waiting       task-003 Describe the outp…  for task-002
             waiting       task-004 Read from standar…  for task-002
             failed      + task-005 Package it  `code` gave up: There…




            Enter open  d diff  L log  F findings  ? keys  q leave
        "]],
    );
    check(
        &screen(60, 20, &["Enter"]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost
            needs you > question of task-002  2026-11-19_044353_count-w…
            task      task-002 Print the counts as JSON
            asked by  judge

            Is this change what you want?

            files     2 files  +6 -2
                          +1 -0     src/format.py
                          +5 -2     src/report.py
            review    PASS reviewer, 1 of 1 approve: Works as asked
            checks    noted Tests Proved: the change touches no tests
            checks    PASS tests, style, 8 rules of codeteam's own
            -- 2 more lines: PgDn --------------------------------------
            >accept       answer so, and go on
             reject       answer so, and go on
             edit         change it yourself, and have it checked
            [A]pprove  [R]eject  [D]iff  [C]omments  [S]kip  [N]ote

            Enter choose  n note  v report  Esc back  ? keys  q leave
        "]],
    );
    check(
        &screen(30, 8, &["3"]),
        expect![[r"
        too small: 40 x 10 at least







    "]],
    );
}

#[test]
fn the_approval_panel_has_the_facts_and_the_answers() {
    check(
        &screen(80, 24, &["Enter"]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow
            needs you > question of task-002  2026-11-19_044353_count-words-and-characters
            task      task-002 Print the counts as JSON
            asked by  judge

            Is this change what you want?

            files     2 files  +6 -2
                          +1 -0     src/format.py
                          +5 -2     src/report.py
            review    PASS reviewer, 1 of 1 approve: Works as asked
            checks    noted Tests Proved: the change touches no tests
            checks    PASS tests, style, 8 rules of codeteam's own
            finding   F1 minor src/report.py:6: The file is never closed
            finding   F2 info src/format.py:1: WIDTH is not used


            --------------------------------------------------------------------------------
            >accept       answer so, and go on
             reject       answer so, and go on
             edit         change it yourself, and have it checked
            [A]pprove  [R]eject  [D]iff  [C]omments  [S]kip  [N]ote

            Enter choose  n note  v report  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
    check(
        &screen(120, 40, &["Enter"]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow  9 metrics
            needs you > question of task-002  2026-11-19_044353_count-words-and-characters
            task      task-002 Print the counts as JSON
            asked by  judge

            Is this change what you want?

            files     2 files  +6 -2
                          +1 -0     src/format.py
                          +5 -2     src/report.py
            review    PASS reviewer, 1 of 1 approve: Works as asked
            checks    noted Tests Proved: the change touches no tests
            checks    PASS tests, style, 8 rules of codeteam's own
            finding   F1 minor src/report.py:6: The file is never closed
            finding   F2 info src/format.py:1: WIDTH is not used


















            ------------------------------------------------------------------------------------------------------------------------
            >accept       answer so, and go on
             reject       answer so, and go on
             edit         change it yourself, and have it checked
            [A]pprove  [R]eject  [D]iff  [C]omments  [S]kip  [N]ote

            Enter choose  n note  v report  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn a_patch_with_a_comment_and_a_viewed_file() {
    let mut screen = screen(80, 24, &["Enter", "d", "Space", "}", "]", "j", "j", "c"]);
    screen.type_text("Only where it is needed.");
    check(
        &screen,
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow
            needs you > question of task-002 > diff of task-002, 2 files +6 -2  2026-11-19_…
             + src/format.py  +1 -0  viewed
             - src/report.py  +5 -2
             @@ -1,4 +1,7 @@
                 1     1  import json
            >          2 +import sys
                 2     3
                 3       -# TODO: characters
                 4       -print(json.dumps({}))
                       4 +from count import count, count_characters
                       5 +
            +- Comment on src/report.py:2 -------------------------------------------------+
            | Only where it is needed.                                                     |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            | Enter: done   Alt-Enter, Ctrl-J: new line   Esc: nothing happens             |
            +------------------------------------------------------------------------------+
        "]],
    );
    screen.press(&["Enter"]);
    check(
        &screen,
        expect![[r#"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow
            needs you > question of task-002 > diff of task-002, 2 files +6 -2  2026-11-19_…
             + src/format.py  +1 -0  viewed
             - src/report.py  +5 -2
             @@ -1,4 +1,7 @@
                 1     1  import json
            >          2 +import sys
                         # Only where it is needed.
                 2     3
                 3       -# TODO: characters
                 4       -print(json.dumps({}))
                       4 +from count import count, count_characters
                       5 +
                       6 +text = open(sys.argv[1]).read()
                       7 +print(json.dumps({"words": count(text), "characters": count_chara…







            1 comment kept; `r` sends all as one rejection
            Enter open  c comment  r reject  a approve  Space viewed  ? keys  q leave
        "#]],
    );
}

#[test]
fn both_versions_side_by_side() {
    let mut wide = screen(150, 24, &["Enter", "d"]);
    wide.press(&["s"]);
    check(
        &wide,
        expect![[r#"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow  9 metrics
            needs you > question of task-002 > diff of task-002, 2 files +6 -2  2026-11-19_044353_count-words-and-characters
            >- src/format.py  +1 -0
                         new file mode 100644
             @@ -0,0 +1 @@
                                                                                      |     1 +WIDTH = 80
             - src/report.py  +5 -2
             @@ -1,4 +1,7 @@
                 1  import json                                                       |     1  import json
                                                                                      |     2 +import sys
                 2                                                                    |     3
                 3 -# TODO: characters                                                |     4 +from count import count, count_characters
                 4 -print(json.dumps({}))                                             |     5 +
                                                                                      |     6 +text = open(sys.argv[1]).read()
                                                                                      |     7 +print(json.dumps({"words": count(text), "characters": count_chara…








            Enter open  c comment  r reject  a approve  Space viewed  ] hunk  } file  v range  Esc back  / search  : command  ? keys  q leave
        "#]],
    );
    // The line that was selected stays selected, also back again.
    wide.press(&["n", "n", "s"]);
    let marked = |screen: &TestScreen| {
        let text = screen.text();
        let line = text.lines().find(|line| line.starts_with('>'));
        line.unwrap_or_default().trim().to_owned()
    };
    let below = marked(&wide);
    wide.press(&["s", "s"]);
    assert_eq!(marked(&wide), below);
    let mut narrow = screen(100, 24, &["Enter", "d", "s"]);
    let text = narrow.press(&[]).text();
    assert!(
        text.contains("needs 140 columns, and this screen has 100"),
        "{text}"
    );
}

#[test]
fn findings_with_their_details() {
    check(
        &screen(80, 24, &["3", "F"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow
            needs you > findings  2026-11-19_044353_count-words-and-characters
            >open      minor    task-002 F1   src/report.py:6 The file is never closed
             open      info     task-002 F2   src/format.py:1 WIDTH is not used










            --------------------------------------------------------------------------------
            finding   F1 task-002, open, minor
            at        src/report.py:6
            found by  review in round 2
            The file is never closed
              Use a with statement, so that the file is closed even if count fails.



            Enter open  d diff  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_report_is_worded_as_everywhere() {
    check(
        &screen(80, 24, &["Enter", "v"]),
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow
            needs you > question of task-002 > report on task-002  2026-11-19_044353_count-…
            PASS    task task-002: Print the counts as JSON
                    round 2, tree 2a09cd0cef, 2 files +6 -2

            Checks
              NONE      Tests Proved (no tests in the change)
              PASS      tests, style
              PASS      plays fair: scope, tests_kept, gate_kept, secrets, stubs, hard_code…

            Verifiers
              PASS      Reviewer
                        F1 minor  src/report.py:6  The file is never closed
                        F2 info  src/format.py:1  WIDTH is not used

            Before
              round 1   verify: the check `style` failed

            Files
              +1 -0     src/format.py
              +5 -2     src/report.py


            d diff  Esc back  / search  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_plan_with_its_dependencies() {
    check(
        &screen(80, 24, &["4", "j", "j"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs  3 run [4 plan] 5 cost  7 timeline  8 workflow
            needs you  2026-11-19_044353_count-words-and-characters
             done      task-001 Count characters
             needs you task-002 Print the counts as JSON
            >waiting   task-003 Describe the output                           after task-002
             waiting   task-004 Read from standard input                      after task-002
             failed    task-005 Package it







            --------------------------------------------------------------------------------
            task      task-003
            title     Describe the output
            stands    waiting for task-002
            after     task-002 Print the counts as JSON (needs you)
            files     README.md
            what to do
            … 3 more lines

            Enter open  d diff  v report  K leave out  R retry  Esc back  ? keys  q leave
        "]],
    );
    check(
        &screen(120, 40, &["4", "j"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs  3 run [4 plan] 5 cost  7 timeline  8 workflow  9 metrics
            needs you  2026-11-19_044353_count-words-and-characters
             done      task-001 Count characters                               | task      task-002
            >needs you task-002 Print the counts as JSON                       | title     Print the counts as JSON
             waiting   task-003 Describe the output             after task-002 | stands    needs you Is this change what you want?
             waiting   task-004 Read from standard input        after task-002 | before    task-003, task-004
             failed    task-005 Package it                                     | files     src/report.py, src/format.py
                                                                               | what to do
                                                                               |   Write src/report.py, which prints both counts as
                                                                               |   one JSON object
                                                                               | done if
                                                                               |   python src/report.py prints one JSON object
                                                                               |   Both counts are in it
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |
                                                                               |

            Enter open  d diff  v report  K leave out  R retry  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_cost_by_worker_role_and_task() {
    check(
        &screen(80, 24, &["5"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs  3 run  4 plan [5 cost] 7 timeline  8 workflow
            needs you  2026-11-19_044353_count-words-and-characters
            spent     at an unknown price
                      0 tokens, 13 attempts
            limits    none are set

            by worker                    attempts failed     time     tokens        money
            scripted                           13      1       1s          -      unknown

            by role                      attempts failed     time     tokens        money
            coder                               4      1       0s          -      unknown
            prompter                            2      0       0s          -      unknown
            architecture                        1      0       0s          -      unknown
            security                            1      0       0s          -      unknown
            performance                         1      0       0s          -      unknown
            task_completion                     1      0       0s          -      unknown
            planner                             1      0       0s          -      unknown
            committer                           1      0       0s          -      unknown
            reviewer                            1      0       0s          -      unknown

            codeteam's own work          attempts failed     time     tokens        money
            verify                              3      0       0s          -            -

            Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_metrics_of_all_runs() {
    let mut screen = screen(80, 40, &["9"]);
    assert!(screen.text().contains("counting the runs"));
    let row = |name: &str, count, succeeded, microusd| MetricsRow {
        name: name.to_owned(),
        count,
        succeeded,
        retried: count - succeeded,
        total_millis: 0,
        median_millis: Some(45_000),
        p90_millis: Some(190_000),
        tokens: 1_000,
        microusd,
        unpriced: u64::from(microusd.is_none()),
    };
    let run = |day: u64, has_succeeded, money| RunMetrics {
        run: format!("run-{day}"),
        started_at: EpochMillis(1_795_000_000_000 + day * 86_400_000),
        has_succeeded,
        tokens: 500,
        spent: vec![("claude".to_owned(), money)],
        ..RunMetrics::default()
    };
    let success = |step: &str, worker: &str, count, succeeded| WorkerSuccess {
        step: step.to_owned(),
        worker: worker.to_owned(),
        count,
        succeeded,
    };
    let metrics = ProjectMetrics {
        runs: vec![
            run(0, Some(true), Some(1_200_000)),
            run(1, Some(false), Some(300_000)),
            run(2, None, None),
        ],
        tables: vec![MetricsTable {
            by: "role".to_owned(),
            rows: vec![
                row("coder", 40, 35, Some(1_500_000)),
                row("planner", 3, 3, None),
            ],
        }],
        by_step_and_worker: vec![
            success("code", "claude", 30, 27),
            success("code", "codex", 10, 8),
            success("plan", "claude", 3, 3),
        ],
        rounds: vec![(1, 12), (2, 3)],
    };
    screen.send(Message::MetricsLoaded(Box::new(Ok(metrics))));
    check(
        &screen,
        expect![[r"
        codeteam  1 inbox(1)  2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow

        runs      3 runs of the last 30 days: 1 done, 1 failed, 1 not ended
        spent     $1.5000, 1500 tokens

        by role                ended  success   again    median      90 %        money
        coder                     40     87 %       5       45s    3m 10s      $1.5000
        planner                    3   100 %?       0       45s    3m 10s      unknown

        success at    claude          codex
        code          90 % of 30      80 % of 10
        plan          100 %? of 3

        cost a day
          Nov 18 ################################################## $1.2000
          Nov 19 ############ $0.3000

        rounds a task
               1 ################################################## 12 tasks
               2 ############ 3 tasks



















        Esc back  / filter  : command  ? keys  q leave
    "]],
    );
    screen.press(&["/"]);
    screen.type_text("plan");
    assert!(!screen.text().contains("coder"), "{}", screen.text());
}

#[test]
fn the_timeline_as_bars() {
    check(
        &screen(80, 24, &["7"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs  3 run  4 plan  5 cost [7 timeline] 8 workflow
            needs you  2026-11-19_044353_count-words-and-characters
            >run planner                =..........................................      0s
             task-001 prompter          =..........................................      0s
             task-002 coder             =..........................................      0s
             task-001 coder             =..........................................      0s
             task-002 verify            =..........................................      0s
             task-001 verify            .=.........................................      0s
             task-002 coder             .=.........................................      0s
             task-001 architecture      .=.........................................      0s
             task-001 task_completion   .=.........................................      0s
             task-001 security          .=.........................................      0s
             task-001 performance       .=.........................................      0s
             task-002 verify            .=.........................................      0s
             task-002 reviewer          ..=........................................      0s
             task-001 committer         .........................................=.      0s
             task-001 commit            ..........................................=      0s
             task-005 prompter          ..........................................=      0s
             task-005 coder             ..........................................=      0s




            Enter open  t bars/events  L log  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn the_workflow_with_the_steps_that_are_under_way() {
    for (columns, rows) in [(80, 24), (60, 20), (200, 60)] {
        let text = screen(columns, rows, &["8"]).text();
        // The task that waits for a person is on the screen, however far below its step is.
        for shown in ["> │ ○ judge", ">   task-002"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
    }
    let text = screen(200, 60, &["8"]).text();
    for shown in [
        "`>` under way   `+` reached before",
        "+ ● plan",
        "  ○ accept",
        "> ■ tasks",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains(">   run"), "{text}");
}

#[test]
fn the_keys_of_a_panel() {
    check(
        &screen(80, 24, &["Enter", "?"]),
        expect![[r"
            codeteam+- keys of this panel -----------------------------------------+low
            needs yo| a A           approve                                        |acters
            task    | r R           reject, with your words                        |
            asked by| d D           the diff                                       |
                    | c C           comment on lines of the diff                   |
            Is this | s S           decide later, and go to the next               |
                    | n N           a note that goes with your decision            |
            files   | Ctrl-S        sign your vote with your ssh key, or not       |
                    | u             go on with a run that nobody drives            |
                    | e i           answer in your own words                       |
            review  | v V           the whole report                               |
            checks  | F             the findings                                   |
            checks  | X             end the run                                    |
            finding |                                                              |
            finding | k Up          up                                             |
                    | j Down        down                                           |
                    | PgUp Ctrl-B   a page up                                      |
            --------| PgDn Ctrl-F   a page down                                    |--------
            >accept | Ctrl-U        half a page up                                 |
             reject | Ctrl-D        half a page down                               |
             edit   | g Home        to the top                                     |
            [A]pprov| G End         to the end                                     |
                    +-- j k: 20 more ----------------------------------------------+
            Enter choose  n note  v report  Esc back  / filter  : command  ? keys  q leave
        "]],
    );
}

#[test]
fn a_question_before_something_is_done() {
    check(
        &screen(80, 24, &["3", "X"]),
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow
            needs you  2026-11-19_044353_count-words-and-characters
            >needs you - Count words and characters  Is this change what you want?
             done        + plan
             done        + task-001 Count characters
             needs you   - task-002 Print the counts as JSON  Is this change what you wan…
             done          + code
             done          + verify  rejects: style
             done  +- End this run? ------------------------------------------------+
             done  | 2026-11-19_044353_count-words-and-characters                   |
             done  | Its workers are ended. Commits on its branch stay; `R` takes   |
             done  | it up again.                                                   |   0s
             waitin|                                                                |
             waitin| y: yes   n, Esc: no                                            |
            -------+----------------------------------------------------------------+-------
            run       2026-11-19_044353_count-words-and-characters
            goal      Count words and characters
            now       Is this change what you want?
            driver    a process drives it
            waits     waiting on: a person (task-002)
            tasks     1 of 5 tasks done, 1 failed
            … 10 more lines

            Enter open  d diff  L log  F findings  v report  R retry  X end  ? keys  q leave
        "]],
    );
}

#[test]
fn words_are_typed_in_a_box() {
    let mut screen = screen(80, 24, &["Enter", "r"]);
    screen.type_text("The file is never closed.");
    screen.press(&["Alt-Enter"]);
    screen.type_text("Use a with statement.");
    check(
        &screen,
        expect![[r"
            codeteam [1 inbox(1)] 2 runs  3 run  4 plan  5 cost  7 timeline  8 workflow
            needs you > question of task-002  2026-11-19_044353_count-words-and-characters
            task      task-002 Print the counts as JSON
            asked by  judge

            Is this change what you want?

            files     2 files  +6 -2
                          +1 -0     src/format.py
                          +5 -2     src/report.py
            review    PASS reviewer, 1 of 1 approve: Works as asked
            checks    noted Tests Proved: the change touches no tests
            +- Reject task-002: what is wrong? --------------------------------------------+
            | The file is never closed.                                                    |
            | Use a with statement.                                                        |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            |                                                                              |
            | Enter: done   Alt-Enter, Ctrl-J: new line   Esc: nothing happens             |
            +------------------------------------------------------------------------------+
        "]],
    );
}

fn log_lines(count: usize) -> Vec<LogLine> {
    (0..count)
        .map(|number| LogLine {
            number,
            kind: match number % 5 {
                3 => LogLineKind::Tool,
                4 => LogLineKind::Problem,
                _ => LogLineKind::Text,
            },
            text: format!("line {number} of the output\n  and what belongs to it"),
        })
        .collect()
}

fn open_log(screen: &mut TestScreen, lines: Vec<LogLine>, total: usize) {
    screen.press(&["L"]);
    let Some(Panel::Log(log)) = screen.app.panel() else {
        panic!("no output is shown");
    };
    let fence = log.target.fence;
    let query = LogQuery {
        anchor: LogAnchor::End,
        count: 500,
        only: None,
        containing: String::new(),
    };
    screen.send(Message::LogLoaded(LoadedLog {
        fence,
        query,
        total,
        lines,
    }));
}

#[test]
fn the_output_of_an_attempt() {
    // Task 2, visit 1 of its first step.
    let mut screen = screen(80, 24, &["3", "/"]);
    screen.type_text("task-002");
    screen.press(&["Enter", "j"]);
    open_log(&mut screen, log_lines(30), 30);
    check(
        &screen,
        expect![[r"
            codeteam  1 inbox(1)  2 runs [3 run] 4 plan  5 cost  7 timeline  8 workflow
            needs you > output of task-002 reviewer (scripted), 30 lines  2026-11-19_044353…
                20 line 20 of the output
                     and what belongs to it
                21 line 21 of the output
                     and what belongs to it
                22 line 22 of the output
                     and what belongs to it
                23 line 23 of the output
                     and what belongs to it
                24 line 24 of the output
                     and what belongs to it
                25 line 25 of the output
                     and what belongs to it
                26 line 26 of the output
                     and what belongs to it
                27 line 27 of the output
                     and what belongs to it
                28 line 28 of the output
                     and what belongs to it
                29 line 29 of the output
            >        and what belongs to it

            f follow  e problems  t tools  w wrap  Esc back  / search  ? keys  q leave
        "]],
    );
}

/// Every panel, at every size, with texts that are attacks.
#[test]
fn nothing_that_others_wrote_acts_on_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{202e}x\u{9b}31m\u{2028}\u{200d}日本語\t👩‍👩‍👧";
    let roots = ["1", "2", "3", "4", "5", "7", "9"];
    for columns in [1, 12, 40, 41, 60, 80, 111, 200] {
        for rows in [1, 5, 10, 11, 18, 24, 50] {
            let mut screen = TestScreen::new(columns, rows);
            screen.send(Message::RunsChanged(vec![ended(
                hostile, hostile, hostile, 1,
            )]));
            screen.send(Message::Noted(hostile.to_owned()));
            assert_harmless(&screen);
            for root in roots {
                for then in ["", "Enter", "d", "F", "v", "L", "?", "X", ":", "/"] {
                    screen.press(&["Esc", "Esc", "Esc", root]);
                    if !then.is_empty() {
                        screen.press(&[then]);
                    }
                    screen.send(Message::Pasted(hostile.to_owned()));
                    assert_harmless(&screen);
                    screen.press(&["Esc"]);
                }
            }
        }
    }
}

#[track_caller]
fn assert_harmless(screen: &TestScreen) {
    let text = screen.text().replace('\n', "");
    assert!(!text.contains(is_active_character), "{text:?}");
}

#[test]
fn an_output_that_attacks_is_only_shown() {
    let mut screen = screen(80, 24, &["3"]);
    let attack = LogLine {
        number: 0,
        kind: LogLineKind::Text,
        text: "\u{1b}[2J\u{1b}]52;c;AAAA\u{7}\u{202e}gone\r\nsecond".to_owned(),
    };
    open_log(&mut screen, vec![attack], 1);
    assert_harmless(&screen);
    assert!(screen.text().contains("\u{fffd}[2J"), "{}", screen.text());
}
