use std::collections::BTreeSet;
use std::fmt::Write as _;

use codeteam_core::plan::{Plan, Task};
use codeteam_core::retry;
use codeteam_core::role::{ExecutionOptions, RoleKind};
use codeteam_core::workflow::{CheckKind, ExitTarget, PersonAnswer, Rebound};
use proptest::prelude::*;

use super::back_edges::{BackEdge, Side};
use super::layers::{BoxSize, EdgeLine, ForwardEdge, GraphLayout, Rect};
use super::*;
use crate::language::compile_file;

fn graph(text: &str) -> WorkflowGraph {
    WorkflowGraph::from_compiled(
        &compile_file("flow.yml", text, &[]).unwrap_or_else(|e| panic!("{e}")),
    )
}

const FLOW: &str = "
name: flow
start: ask
limits: { max_rounds: 4 }
roles:
  maker: { kind: implementer }
  judge: { kind: gatekeeper }
steps:
  ask:
    person: Which way?
    when: { not: { any: [{ plan: present }, { setting: fast }] } }
    answers: { plain: make, careful: think, stop: fail }
    next: make
  think: { role: judge, next: make, on_fail: make, retry: none }
  make: { role: maker, next: judge }
  judge: { roles: [judge, judge], join: any, next: each, on_reject: make, max_rounds: 2, rebound: { after: 2, to: ask } }
  each:
    each: task
    next: push-it
    on_task_failure: halt
    steps:
      a-step-with-a-rather-long-name: { gate: [{ command: a }, { command: b }, { command: c }, { command: d }], next: done }
  push-it: { person: Go?, answers: { go: publish } }
  publish: { publish: git push, next: done, on_fail: push-it }
";

#[test]
fn steps_come_in_the_order_of_the_flow_with_all_their_exits() {
    expect_test::expect![[r#"
        flow
        at most 4 rounds and 100 steps, then it fails

        ○ ask      person: Which way?
        │          only if not (there is a plan or fast is on)
        │          ? plain → make
        │          ? careful → think
        │          ? stop → fail
        │          · left out → make
        ● think    gatekeeper: judge
        │          → make
        │          ✗ on_fail → make
        ● make     implementer: maker
        │          → judge
        ● judge    gatekeeper: judge ×2 (one approves)
        │          → each
        │          ↩ on_reject → make ↑ (at most 2 times)
        │          ↩ after 2 rejections → ask ↑
        ■ each     each task, one after the other, ends at the first failure
        │ ◆ a-step-with-a-rather-long-name
        │         gate: a, b, c and 1 more
        │         → done
        └          → push-it
        ○ push-it  person: Go?
        │          ? go → publish
        ▲ publish  publish: git push
                   → done
                   ✗ on_fail → push-it ↑
    "#]]
    .assert_eq(&graph(FLOW).text());
}

const TEAM: &str = "
name: team
start: tasks
roles:
  writer: { kind: implementer }
  coder: { kind: implementer }
  judge: { kind: gatekeeper }
steps:
  tasks:
    each: task
    next: done
    steps:
      work: { role: assigned, default_role: coder, next: judge }
      judge: { role: judge, next: done, on_reject: work, max_rounds: 2 }
";

#[test]
fn the_roles_of_a_plan_are_drawn_at_the_step_that_they_carry_out() {
    let compiled = compile_file("flow.yml", TEAM, &[]).unwrap_or_else(|e| panic!("{e}"));
    let task = |id: &str, roles: &[&str]| Task {
        id: id.into(),
        roles: roles.iter().map(|&role| role.into()).collect(),
        ..Task::default()
    };
    let attack = "x\u{202e}\"]";
    let few = [
        task("research", &["writer", attack]),
        task("report", &[]),
        task("page", &["coder"]),
    ];
    let drawn = |tasks: Vec<Task>| {
        let mut graph = WorkflowGraph::from_compiled(&compiled);
        let plan = Plan {
            tasks,
            ..Plan::default()
        };
        graph.root.add_assignments(&compiled.workflow, &plan);
        graph
    };
    let graph = drawn(few.to_vec());
    expect_test::expect![[r#"
        team
        at most 100 steps, then it fails

        ■ tasks  each task, one after the other
        │ ● work   implementer: as assigned, or coder
        │ │        research: writer, then x "]
        │ │        page: coder
        │ │        → judge
        │ ● judge  gatekeeper: judge
        │          → done
        │          ↩ on_reject → work ↑ (at most 2 times)
        └        → done
    "#]]
    .assert_eq(&graph.text());
    let mermaid = graph.mermaid();
    assert!(mermaid.lines().all(is_own), "{mermaid}");
    assert!(mermaid.contains("<br/>page: coder"), "{mermaid}");
    let svg = graph.svg().unwrap();
    let text = without_tags(&svg);
    assert!(text.contains("page: coder"), "{text}");
    let many = (0..1_000).map(|n| task(&format!("t{n}"), &["coder"]));
    let text = drawn(many.collect()).text();
    assert!(text.contains("and 980 more tasks"), "{text}");
}

#[test]
fn mermaid_has_a_subgraph_for_each_and_dotted_ways_back() {
    expect_test::expect![[r#"
        flowchart TD
          nstart((" "))
          n0(["ask<br/>person: Which way?<br/>only if not (there is a plan or fast is on)"])
          n1["think<br/>gatekeeper: judge"]
          n2["make<br/>implementer: maker"]
          n3["judge<br/>gatekeeper: judge #215;2 (one approves)"]
          subgraph n4["each<br/>each task, one after the other, ends at the first failure"]
            direction TB
            n4_start((" "))
            n4_0{{"a-step-with-a-rather-long-name<br/>gate: a, b, c and 1 more"}}
            n4_done(["done"])
            n4_start --> n4_0
            n4_0 --> n4_done
          end
          n5(["push-it<br/>person: Go?"])
          n6[/"publish<br/>publish: git push"/]
          ndone(["done"])
          nfail(["fail"])
          nstart --> n0
          n0 -->|"careful"| n1
          n0 -->|"plain, left out"| n2
          n0 -->|"stop"| nfail
          n1 -->|"next, on_fail"| n2
          n2 --> n3
          n3 -.->|"after 2 rejections"| n0
          n3 -.->|"on_reject"| n2
          n3 --> n4
          n4 --> n5
          n5 -->|"go"| n6
          n6 -.->|"on_fail"| n5
          n6 --> ndone
    "#]]
    .assert_eq(&graph(FLOW).mermaid());
}

#[test]
fn text_stays_within_eighty_columns() {
    let long = FLOW.replace("Which way?", &"a long question and ".repeat(20));
    for line in graph(&long).text().lines() {
        assert!(columns(line) <= 80, "{line}");
    }
}

#[test]
fn a_drawing_for_a_page_has_links_and_no_style_of_its_own() {
    let attack = "\"><script>\u{202e}";
    let mark = |href: Option<&str>| StepMark {
        href: href.map(str::to_owned),
        class: attack.to_owned(),
        badge: format!("task-001 {attack}"),
        title: attack.to_owned(),
    };
    let marks = BTreeMap::from([
        (StepId("ask".to_owned()), mark(Some("#step-ask"))),
        (StepId("think".to_owned()), mark(None)),
    ]);
    let svg = graph(FLOW).linked_svg(&marks).unwrap();
    assert!(svg.contains("<a href=\"#step-ask\" class=\"step "), "{svg}");
    assert_eq!(svg.matches("task-001").count(), 2);
    assert_eq!(svg.matches("<a ").count(), svg.matches("</a>").count());
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    for forbidden in ["<style", "style=", "<script", "\u{202e}", "http"] {
        assert!(!svg.contains(forbidden), "{forbidden}\n{svg}");
    }
}

#[test]
fn everything_a_workflow_names_is_in_the_picture() {
    let svg = graph(FLOW).svg().unwrap();
    for word in [
        "ask",
        "think",
        "careful",
        "on_reject",
        "after 2 rejections",
        "each task",
        "publish",
        "git push",
        "on_fail",
        "a, b, c and 1 more",
        "fail",
    ] {
        assert!(svg.contains(word), "{word}\n{svg}");
    }
    assert!(
        !svg.contains("http") || svg.matches("http").count() == 1,
        "only the name space"
    );
}

#[test]
fn a_control_character_never_reaches_a_terminal() {
    let flow = FLOW.replace("Which way?", "\"a\\e[31mred\\rb\\u202ec\"");
    let text = graph(&flow).text();
    assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']), "{text:?}");
    assert!(text.contains("a [31mred b c"), "{text}");
}

/// A workflow in which every text is a stranger's.
fn hostile(text: &str) -> CompiledWorkflow {
    let id = |n: u32| StepId(format!("{text}{n}"));
    let to = |n: u32| ExitTarget::Step(id(n));
    let step = |n: u32, kind: StepKind, next: ExitTarget| Step {
        id: id(n),
        scope: None,
        kind,
        when: Some(StepCondition::Setting(text.to_owned())),
        next,
        on_fail: Some(to(0)),
        max_rounds: None,
        rebound: Some(Rebound {
            after: 1,
            to: id(0),
        }),
    };
    let role = hostile_role(text);
    let work = RoleStep {
        slots: vec![role.name.clone()],
        join: JoinRule::All,
        on_reject: Some(to(0)),
        retry: retry::RetryPolicy::default(),
        timeout_ms: 1,
        stall_ms: 1,
        degrade: false,
        max_question_rounds: 1,
        allow_empty: false,
        outputs: Vec::new(),
        config: BTreeMap::new(),
        ..RoleStep::for_task_choice(&role.name)
    };
    let check = Check {
        name: text.to_owned(),
        what: CheckKind::Command(text.to_owned()),
        timeout_ms: 1,
    };
    let answer = |name: String, next: ExitTarget| PersonAnswer {
        name,
        next,
        rejects: false,
        resets: false,
        edits: false,
        reverts: false,
    };
    let person = StepKind::Person {
        question: text.to_owned(),
        answers: vec![
            answer(text.to_owned(), to(3)),
            answer(format!("{text}!"), ExitTarget::Fail),
        ],
        exhausted: false,
    };
    let command = text.to_owned();
    let steps = [
        step(0, StepKind::Role(Box::new(work)), to(1)),
        step(
            1,
            StepKind::Gate {
                checks: vec![check],
            },
            to(2),
        ),
        step(2, person, ExitTarget::Done),
        step(3, StepKind::Publish { command }, ExitTarget::Done),
    ];
    CompiledWorkflow {
        description: text.to_owned(),
        notes: Vec::new(),
        workflow: Workflow {
            name: text.to_owned(),
            start: id(0),
            steps: steps.into_iter().map(|s| (s.id.clone(), s)).collect(),
            max_steps: None,
            max_rounds: Some(3),
            max_stagnant_rounds: None,
            on_exhausted: ExhaustionPolicy::Ask,
            severity_floor: codeteam_core::findings::Severity::default(),
            settings: BTreeMap::new(),
            small_change: None,
            quality_threshold: None,
            digest_from: None,
        },
        assignable: BTreeSet::new(),
        roles: BTreeMap::from([(role.name.clone(), role)]),
        sources: BTreeMap::new(),
        rules: Vec::new(),
    }
}

/// A role in which every text is a stranger's.
fn hostile_role(text: &str) -> Role {
    Role {
        log_tokens: None,
        config: std::collections::BTreeMap::new(),
        stance: String::new(),
        template: None,
        name: RoleName(text.to_owned()),
        kind: RoleKind::Gatekeeper,
        contract: codeteam_core::role::Contract::Native,
        workers: Vec::new(),
        prompt: String::new(),
        model: None,
        exclude: Vec::new(),
        max_cost_microusd: None,
        means: ExecutionOptions::default(),
        description: String::new(),
        strengths: Vec::new(),
        context: codeteam_core::role::RoleContext::default(),
        quality_threshold: None,
        quality_check: None,
    }
}

/// The text of an SVG without its tags; panics if there is a tag that is not codeteam's own.
fn without_tags(svg: &str) -> String {
    let known = [
        "svg", "title", "style", "defs", "marker", "path", "rect", "text", "circle", "polygon",
    ];
    let mut rest = svg;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = after.split_once('>').unwrap();
        let name = tag.trim_start_matches('/');
        let name: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
        assert!(known.contains(&name.as_str()), "{tag}");
        assert!(!tag.contains("on_") && !tag.contains("href"), "{tag}");
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Returns true if a line of Mermaid is one that codeteam writes, whatever its labels are.
fn is_own(line: &str) -> bool {
    let mut parts = line.trim().split('"');
    // What is not within quotes is codeteam's own, what is within has no way out.
    let own = |c: char| c.is_ascii_alphanumeric() || " _-.>()[]{}/|".contains(c);
    let mut outside = true;
    parts.all(|part| {
        let fits = if outside {
            part.chars().all(own)
        } else {
            is_label(part)
        };
        outside = !outside;
        fits
    })
}

fn is_label(text: &str) -> bool {
    let text = text.replace("<br/>", "");
    let safe = |c: char| c.is_alphanumeric() || " ,?-_.#;:()'".contains(c);
    let styles = text.split(':').skip(1).any(|after| !after.starts_with(' '));
    let entities = text.split('#').skip(1);
    let mut numbers = entities.map(|e| e.split_once(';').map(|(number, _)| number));
    !styles
        && text.chars().all(safe)
        && numbers.all(|n| n.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit())))
        && text.matches(';').count() == text.matches('#').count()
}

const NASTY: [&str; 12] = [
    "\"]; click n0 call alert()",
    "</text><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "%%{init: {'theme':'dark'}}%%",
    "`**bold** _x_`",
    "end\nsubgraph x",
    "style x:y#z;",
    "#quot; &quot; &#34; &",
    "1. a list\n- b",
    "-->|\"x\"| n9",
    "]]> --> <!--",
    "\u{1b}[31m\u{0}\u{202e}",
];

#[test]
fn nasty_names_stay_names() {
    for text in NASTY {
        escapes(text);
    }
}

fn escapes(text: &str) {
    let graph = WorkflowGraph::from_compiled(&hostile(text));
    let svg = graph.svg().unwrap();
    let words = without_tags(&svg);
    let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
    for (at, _) in words.match_indices('&') {
        assert!(known.iter().any(|k| words[at..].starts_with(k)), "{svg}");
    }
    assert!(
        !words.contains(|c: char| c.is_control() && c != '\n'),
        "{svg:?}"
    );
    for line in graph.mermaid().lines() {
        assert!(is_own(line), "{line}");
    }
    for line in graph.text().lines() {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// Boxes of a layout with a way round them, and the edges between them.
fn laid(
    sizes: &[BoxSize],
    edges: &[ForwardEdge],
    ups: &[BackEdge],
) -> (GraphLayout, super::back_edges::BackRoutes) {
    let boxes: Vec<BoxSize> = sizes
        .iter()
        .enumerate()
        .map(|(i, size)| BoxSize {
            h: size.h.max(back_edges::height(i, ups)),
            ..*size
        })
        .collect();
    let layout = layers::lay_out(&boxes, &[], edges);
    let layout = layers::lay_out(&boxes, &back_edges::side_margins(&layout, ups), edges);
    let back = back_edges::route_back_edges(&layout, ups, &|_, _, _| 0.0);
    (layout, back)
}

fn overlap(a: Rect, b: Rect) -> bool {
    let near = 0.5;
    a.x + near < b.right()
        && b.x + near < a.right()
        && a.y + near < b.bottom()
        && b.y + near < a.bottom()
}

/// The points of a line as it is drawn.
fn points(line: &EdgeLine) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for pair in line.runs.windows(2) {
        let ((here, top, bottom), (next, start, _)) = (pair[0], pair[1]);
        points.extend([(here, top), (here, bottom)]);
        for n in 0..=20 {
            let share = f64::from(n) / 20.0;
            let rest = 1.0 - share;
            let middle = f64::midpoint(bottom, start);
            let between = |from: f64, first: f64, second: f64, to: f64| {
                let (near, far) = (rest * rest * rest, share * share * share);
                let (left, right) = (3.0 * rest * rest * share, 3.0 * rest * share * share);
                near * from + left * first + right * second + far * to
            };
            points.push((
                between(here, here, next, next),
                between(bottom, middle, middle, start),
            ));
        }
    }
    points.extend(line.runs.last().map(|(x, _, bottom)| (*x, *bottom)));
    points
}

/// Returns true if a polyline crosses a box.
fn crosses(points: &[(f64, f64)], rect: Rect) -> bool {
    points.windows(2).any(|pair| {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let way = Rect {
            x: x.min(to_x) - 0.5,
            y: y.min(to_y) - 0.5,
            w: (x - to_x).abs() + 1.0,
            h: (y - to_y).abs() + 1.0,
        };
        let within = Rect {
            x: rect.x + 1.0,
            y: rect.y + 1.0,
            w: rect.w - 2.0,
            h: rect.h - 2.0,
        };
        overlap(way, within)
    })
}

prop_compose! {
    fn some_graph()(
        sizes in prop::collection::vec((20_u32..260, 20_u32..120), 2..14),
        edges in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u32..120), 0..24),
    ) -> (Vec<BoxSize>, Vec<ForwardEdge>, Vec<BackEdge>) {
        let sizes: Vec<BoxSize> = sizes
            .into_iter()
            .map(|(w, h)| BoxSize { w: f64::from(w), h: f64::from(h) })
            .collect();
        let (mut downs, mut ups) = (Vec::new(), Vec::new());
        for n in 1..sizes.len() {
            downs.push(ForwardEdge { from: (n - 1) / 2, to: n, word: None, usual: n % 3 == 1 });
        }
        for (a, b, word) in edges {
            let (from, to, word) = (a.index(sizes.len()), b.index(sizes.len()), f64::from(word));
            if from < to {
                downs.push(ForwardEdge { from, to, word: Some(word), usual: false });
            } else {
                ups.push(BackEdge { from, to, word });
            }
        }
        (sizes, downs, ups)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_a_workflow_is_called_it_stays_a_label(text in "[ -~\\n\\PC]{0,40}") {
        escapes(&text);
    }

    #[test]
    fn boxes_and_words_have_places_of_their_own_and_no_line_crosses_a_box(
        (sizes, downs, ups) in some_graph()
    ) {
        let (layout, sides) = laid(&sizes, &downs, &ups);
        for (i, a) in layout.boxes.iter().enumerate() {
            for b in &layout.boxes[i + 1..] {
                prop_assert!(!overlap(*a, *b), "{a:?} {b:?}");
            }
            for (line, down) in layout.lines.iter().zip(&downs) {
                prop_assert!(!crosses(&points(line), *a), "{down:?} crosses {i}: {line:?} {a:?}");
                if let (Some((x, y)), Some(w)) = (line.word, down.word) {
                    let word = Rect { x: x - w / 2.0, y: y - 7.0, w, h: 14.0 };
                    prop_assert!(!overlap(word, *a), "{word:?} {a:?}");
                }
            }
            for (route, up) in sides.routes.iter().zip(&ups) {
                prop_assert!(!crosses(&route.points, *a), "{up:?} crosses {i}: {route:?} {a:?}");
                let x = match route.side {
                    Side::Left => route.word.0 - up.word,
                    Side::Right => route.word.0,
                };
                let word = Rect { x, y: route.word.1 - 9.0, w: up.word, h: 9.0 };
                prop_assert!(!overlap(word, *a), "{up:?}: {word:?} on {i}: {a:?}");
            }
        }
        let ends = layout.lines.iter().filter_map(|l| l.runs.last());
        prop_assert!(ends.clone().all(|(x, _, y)| x.is_finite() && y.is_finite()));
    }
}

#[test]
fn what_nobody_could_read_is_not_laid_out() {
    let flow = |steps: usize| {
        let mut text = String::from("start: s0\nsteps:\n");
        for i in 0..steps {
            let (next, back) = (i + 1, i * 7 % steps);
            let end = if next == steps {
                "done".to_owned()
            } else {
                format!("s{next}")
            };
            let step = "gate: [{ name: c, exists: a }]";
            writeln!(text, "  s{i}: {{ {step}, next: {end}, on_fail: s{back} }}").unwrap();
        }
        graph(&text)
    };
    assert!(flow(50).svg().is_some());
    let large = flow(900);
    assert!(large.svg().is_none());
    assert!(large.mermaid().contains("s899"));
}
