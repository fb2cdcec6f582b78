//! Makes cases: valid files, changed in their structure, then in their text.

use std::fmt::Write as _;

use codeteam_workflow::yaml::{
    OriginComments, SourcePosition, YamlKey, YamlNode, YamlScalar, YamlValue, write,
};

use super::corpus::{FuzzCorpus, NAMES, nasty};
use super::random::RandomSource;

/// Up to three files, which may name each other by [`NAMES`].
pub(crate) fn case(corpus: &FuzzCorpus, random: &mut RandomSource) -> Vec<String> {
    let files = 1 + random.below(NAMES.len());
    let mut texts: Vec<String> = (0..files).map(|_| file(corpus, random)).collect();
    if random.one_in(12) {
        texts[0] = bomb(random);
    }
    texts
}

fn file(corpus: &FuzzCorpus, random: &mut RandomSource) -> String {
    if random.one_in(8) {
        // As it stands, with only its text harmed.
        let mut text = random.pick(&corpus.texts).clone();
        for _ in 0..random.below(4) {
            text = harm(corpus, random, &text);
        }
        return text;
    }
    let mut node = corpus.tree(random).clone();
    for _ in 0..random.below(5) {
        change(corpus, random, &mut node);
    }
    let mut text = write(&node, OriginComments::Omitted);
    if random.one_in(6) {
        text = harm(corpus, random, &text);
    }
    text
}

/// One change to a tree.
fn change(corpus: &FuzzCorpus, random: &mut RandomSource, node: &mut YamlNode) {
    match random.below(10) {
        0 => {
            let other = corpus.tree(random).clone();
            let part = somewhere(random, &other).clone();
            *place(random, node) = part;
        }
        1 => {
            let value = nasty(random);
            *place(random, node) = value;
        }
        2 => {
            let word = YamlNode::at(
                SourcePosition::NONE,
                YamlValue::Scalar(YamlScalar::plain(random.pick(&corpus.words))),
            );
            *leaf(random, node) = word;
        }
        3 => family(random, node),
        4 => steps(corpus, random, node),
        _ => keys(corpus, random, node),
    }
}

/// Changes the keys of a mapping.
fn keys(corpus: &FuzzCorpus, random: &mut RandomSource, node: &mut YamlNode) {
    let Some(entries) = map(random, node) else {
        return;
    };
    let index = random.below(entries.len());
    match random.below(6) {
        0 if !entries.is_empty() => {
            entries.remove(index);
        }
        1 if !entries.is_empty() => {
            let (_, value) = entries[index].clone();
            let name = random.pick(&corpus.words).clone();
            put(entries, &name, value);
        }
        2 if !entries.is_empty() => {
            let name = random.pick(&corpus.values).0.clone();
            if entries.iter().all(|(key, _)| key.name != name) {
                entries[index].0.name = name;
            }
        }
        3 if !entries.is_empty() => {
            let other = random.below(entries.len());
            let value = entries[index].1.clone();
            entries[index].1 = std::mem::replace(&mut entries[other].1, value);
        }
        _ => {
            let (name, values) = random.pick(&corpus.values);
            let value = random.pick(values).clone();
            put(entries, name, value);
        }
    }
}

/// Lets files build on each other, and on what there is.
fn family(random: &mut RandomSource, node: &mut YamlNode) {
    let parents = [
        "one",
        "two",
        "three",
        "_base",
        "enterprise",
        "standard",
        "implementer",
        "reviewer",
    ];
    let parent = YamlNode::text(*random.pick(&parents));
    if node.as_map().is_some() {
        let key = if random.one_in(5) {
            "template"
        } else {
            "extends"
        };
        node.set(key, parent);
        if random.one_in(3) {
            node.take("steps");
            node.take("kind");
        }
    }
}

/// Steps that name each other, stand beside each other, or are left out.
fn steps(corpus: &FuzzCorpus, random: &mut RandomSource, node: &mut YamlNode) {
    let mut names = Vec::new();
    names_of(node, &mut names);
    names.extend(
        [
            "plan",
            "tasks",
            "implement",
            "commit",
            "review",
            "publish",
            "ask",
        ]
        .map(str::to_owned),
    );
    let target = |random: &mut RandomSource| YamlNode::text(random.pick(&names).clone());
    if random.one_in(3) {
        let list = (0..random.below(3)).map(|_| target(random)).collect();
        node.set(
            "disable",
            YamlNode::at(SourcePosition::NONE, YamlValue::List(list)),
        );
    }
    let mut step = YamlNode::empty(SourcePosition::NONE);
    for key in ["next", "on_fail", "on_reject"] {
        if random.one_in(2) {
            step.set(key, target(random));
        }
    }
    if random.one_in(2) {
        let side = if random.one_in(2) { "after" } else { "before" };
        let beside = random.pick(&names).clone();
        step.set("position", YamlNode::text(format!("{side} {beside}")));
    }
    let does = [
        "role",
        "gate",
        "person",
        "publish",
        "commit",
        "each",
        "when",
        "human_approval",
        "answers",
    ];
    let does = *random.pick(&does);
    if let Some((_, values)) = corpus.values.iter().find(|(key, _)| key == does) {
        step.set(does, random.pick(values).clone());
    }
    if does == "person" {
        let mut answers = YamlNode::empty(SourcePosition::NONE);
        answers.set("yes", target(random));
        step.set("answers", answers);
    }
    let name = random.pick(&names).clone();
    let into = if random.one_in(2) {
        "steps"
    } else {
        "overrides"
    };
    if node.as_map().is_none() {
        return;
    }
    if node.get(into).and_then(YamlNode::as_map).is_none() {
        node.set(into, YamlNode::empty(SourcePosition::NONE));
    }
    let new = if random.one_in(2) {
        format!("{name}-2")
    } else {
        name
    };
    if let Some(into) = node.get_mut(into) {
        into.set(&new, step);
    }
}

fn names_of(node: &YamlNode, names: &mut Vec<String>) {
    for key in ["steps", "overrides"] {
        for (key, step) in node.get(key).and_then(YamlNode::as_map).unwrap_or_default() {
            names.push(key.name.clone());
            names_of(step, names);
        }
    }
    if let Some(inner) = node.get("workflow") {
        names_of(inner, names);
    }
}

fn put(entries: &mut Vec<(YamlKey, YamlNode)>, name: &str, value: YamlNode) {
    entries.retain(|(key, _)| key.name != name);
    let (name, place) = (name.to_owned(), SourcePosition::NONE);
    entries.push((YamlKey { name, place }, value));
}

/// Any part of a tree, upper ones more often.
fn place<'a>(random: &mut RandomSource, node: &'a mut YamlNode) -> &'a mut YamlNode {
    let children = count(node);
    if children == 0 || random.one_in(4) {
        return node;
    }
    let index = random.below(children);
    match &mut node.value {
        YamlValue::List(list) => place(random, &mut list[index]),
        YamlValue::Map(entries) => place(random, &mut entries[index].1),
        YamlValue::Scalar(_) => unreachable!("a scalar has no parts"),
    }
}

fn leaf<'a>(random: &mut RandomSource, node: &'a mut YamlNode) -> &'a mut YamlNode {
    let children = count(node);
    if children == 0 {
        return node;
    }
    let index = random.below(children);
    match &mut node.value {
        YamlValue::List(list) => leaf(random, &mut list[index]),
        YamlValue::Map(entries) => leaf(random, &mut entries[index].1),
        YamlValue::Scalar(_) => unreachable!("a scalar has no parts"),
    }
}

fn map<'a>(
    random: &mut RandomSource,
    node: &'a mut YamlNode,
) -> Option<&'a mut Vec<(YamlKey, YamlNode)>> {
    let part = place(random, node);
    part.as_map_mut()
}

fn somewhere<'a>(random: &mut RandomSource, node: &'a YamlNode) -> &'a YamlNode {
    let children = count(node);
    if children == 0 || random.one_in(4) {
        return node;
    }
    let index = random.below(children);
    match &node.value {
        YamlValue::List(list) => somewhere(random, &list[index]),
        YamlValue::Map(entries) => somewhere(random, &entries[index].1),
        YamlValue::Scalar(_) => node,
    }
}

fn count(node: &YamlNode) -> usize {
    match &node.value {
        YamlValue::Scalar(_) => 0,
        YamlValue::List(list) => list.len(),
        YamlValue::Map(entries) => entries.len(),
    }
}

/// One change to a text, whatever it says.
fn harm(corpus: &FuzzCorpus, random: &mut RandomSource, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let at = random.below(bytes.len());
    let to = at + random.below(bytes.len() - at);
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..to.min(at + 200))),
        2 => {
            let other = random.pick(&corpus.texts).as_bytes();
            let from = random.below(other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        3 => {
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        4 => {
            let insert = [
                "&a ", "*a", "\t", "---\n", "? ", "- ", "!!str ", "|\n", ">\n", "\"", "'", "{",
                "[", "<<: *a\n", "#", ": ",
            ];
            let insert = random.pick(&insert).as_bytes().to_vec();
            bytes.splice(at..at, insert);
        }
        5 => {
            let part = bytes[at..to.min(at + 400)].to_vec();
            let again = part.repeat(1 + random.below(50));
            bytes.splice(at..at, again);
        }
        6 => {
            // An anchor on one line, aliases on others.
            let lines: Vec<&str> = text.lines().collect();
            let anchor = random.below(lines.len());
            let mut out = String::new();
            for (index, line) in lines.iter().enumerate() {
                let _ = match line.split_once(": ") {
                    Some((key, value)) if index == anchor => writeln!(out, "{key}: &a {value}"),
                    Some((key, _)) if random.one_in(5) => writeln!(out, "{key}: *a"),
                    _ => writeln!(out, "{line}"),
                };
            }
            return out;
        }
        _ => bytes = text.replace('\n', "\r\n").into_bytes(),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Aliases of aliases, in the three ways they can multiply.
fn bomb(random: &mut RandomSource) -> String {
    let wide = 2 + random.below(20);
    let mut text = match random.below(3) {
        0 => "steps: &l0 { a: { role: implementer } }\n".to_owned(),
        1 => format!("rules: &l0 [{}]\n", vec!["x"; wide].join(", ")),
        _ => format!("prompt: &l0 {}\n", "x".repeat(1 + random.below(20_000))),
    };
    for level in 1..2 + random.below(12) {
        let below = format!("*l{}", level - 1);
        let said = match random.below(3) {
            0 => format!("[{}]", vec![below; wide].join(", ")),
            1 => {
                let entries: Vec<String> = (0..wide).map(|n| format!("a{n}: {below}")).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            _ => format!("{{ <<: [{}] }}", vec![below; wide].join(", ")),
        };
        let _ = writeln!(text, "k{level}: &l{level} {said}");
    }
    text
}

/// Files that say very much: what takes time by the square of it shows here.
pub(crate) fn crowds() -> Vec<String> {
    const MANY: usize = 5_000;
    let lines =
        |line: &dyn Fn(usize) -> String| -> String { (0..MANY).map(|n| line(n) + "\n").collect() };
    let chain = |n: usize| match n {
        0 => "done".to_owned(),
        n => format!("s{}", n - 1),
    };
    vec![
        lines(&|n| format!("k{n}: 1")),
        format!("agents:\n{}", lines(&|n| format!("  a{n}: {{}}"))),
        format!(
            "roles:\n{}",
            lines(&|n| format!("  r{n}: {{ extends: r{} }}", n + 1))
        ),
        format!("settings:\n{}", lines(&|n| format!("  s{n}: true"))),
        format!(
            "checks:\n{}extends: standard\n",
            lines(&|n| format!("  c{n}: make"))
        ),
        format!("rules:\n{}", lines(&|n| format!("  - rule {n}"))),
        format!("sequence:\n{}", lines(&|_| "  - implementer".to_owned())),
        format!(
            "extends: standard\ndisable:\n{}",
            lines(&|_| "  - review".to_owned())
        ),
        format!(
            "hooks:\n  pre_commit:\n{}extends: standard\n",
            lines(&|n| format!("    - h{n}"))
        ),
        format!(
            "steps:\n{}",
            lines(&|n| format!("  s{n}: {{ role: implementer, next: {} }}", chain(n)))
        ),
        format!(
            "extends: standard\nsteps:\n{}",
            lines(&|n| format!("  s{n}: {{ gate: project, position: after implement }}"))
        ),
        format!(
            "steps:\n  ask:\n    person: Which?\n    answers:\n{}",
            lines(&|n| format!("      a{n}: done"))
        ),
        format!(
            "tasks:\n{}",
            lines(&|n| format!(
                "  - {{ id: t{n}, description: x, dependencies: [{}] }}",
                if n > 0 {
                    format!("t{}", n - 1)
                } else {
                    String::new()
                }
            ))
        ),
        format!(
            "kind: implementer\nallowed_tools:\n{}",
            lines(&|n| format!("  - t{n}"))
        ),
        format!(
            "kind: implementer\ngates:\n{}",
            lines(&|n| match n % 4 {
                0 => format!("  - {{ name: g{n}, command: make }}"),
                _ => String::new(),
            })
        ),
        format!(
            "kind: implementer\nconfig:\n{}",
            lines(&|n| format!("  c{n}: 1"))
        ),
        format!("a: {}\n", "x".repeat(1 << 20)),
        format!("{}: 1\n", "x".repeat(1 << 20)),
        "- ".repeat(MANY),
        "[".repeat(MANY),
        "{a: ".repeat(MANY),
        format!("a: {}\n", "? ".repeat(MANY)),
        lines(&|n| format!("k{n}: &a{n} x")),
        lines(&|_| "---".to_owned()),
        lines(&|_| "# x".to_owned()),
    ]
}
