//! The material for cases: every file that ships with codeteam, every sample of the seeds, and
//! values that have broken parsers before.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use codeteam_engine::built_in;
use codeteam_workflow::yaml::{SourceFiles, SourcePosition, YamlNode, YamlScalar, YamlValue, read};

/// The names by which the files of one case refer to each other.
pub(crate) const NAMES: [&str; 3] = ["one", "two", "three"];

pub(crate) struct FuzzCorpus {
    /// All files as trees: workflows, roles, and the rest.
    pub(crate) trees: [Vec<YamlNode>; 3],
    /// All files as they stand.
    pub(crate) texts: Vec<String>,
    /// Every key, with values it has somewhere.
    pub(crate) values: Vec<(String, Vec<YamlNode>)>,
    /// Every short text: names of steps, of roles, of settings.
    pub(crate) words: Vec<String>,
}

impl FuzzCorpus {
    pub(crate) fn gather() -> Self {
        let mut texts: Vec<String> = vec![built_in::config().to_owned()];
        for folder in ["roles", "workflows"] {
            texts.extend(built_in::folder(folder, ".yml").map(|(_, text)| text.to_owned()));
        }
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/samples");
        let mut files = Vec::new();
        for seed in fs::read_dir(samples).unwrap() {
            let seed = fs::read_dir(seed.unwrap().path()).unwrap();
            files.extend(seed.map(|file| file.unwrap().path()));
        }
        files.sort();
        texts.extend(
            files
                .iter()
                .map(|path: &std::path::PathBuf| fs::read_to_string(Path::new(path)).unwrap()),
        );
        let mut corpus = Self {
            trees: <[Vec<YamlNode>; 3]>::default(),
            texts,
            values: Vec::new(),
            words: Vec::new(),
        };
        let mut values = BTreeMap::new();
        for text in &corpus.texts {
            // JSON is YAML, so what workers answer is a tree as well.
            if let Ok(node) = read(&mut SourceFiles::default(), "seed", text) {
                let is = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
                let kind = match () {
                    () if is(&["steps", "sequence", "workflow"]) => 0,
                    () if is(&["kind", "extends", "prompt"]) => 1,
                    () => 2,
                };
                corpus.trees[kind].push(node);
            }
        }
        for node in corpus.trees.iter().flatten() {
            note(node, &mut values, &mut corpus.words);
        }
        corpus.words.extend(NAMES.map(str::to_owned));
        corpus.words.sort();
        corpus.words.dedup();
        corpus.values = values.into_iter().collect();
        corpus
    }

    /// Any file; workflows are few, and can be wrong in most ways.
    pub(crate) fn tree(&self, random: &mut super::random::RandomSource) -> &YamlNode {
        let kind = [0, 0, 1, 2][random.below(4)];
        random.pick(&self.trees[kind])
    }
}

fn note(node: &YamlNode, values: &mut BTreeMap<String, Vec<YamlNode>>, words: &mut Vec<String>) {
    match &node.value {
        YamlValue::Scalar(scalar) if scalar.text.len() < 40 => words.push(scalar.text.clone()),
        YamlValue::Scalar(_) => {}
        YamlValue::List(list) => list.iter().for_each(|inner| note(inner, values, words)),
        YamlValue::Map(entries) => {
            for (key, inner) in entries {
                words.push(key.name.clone());
                let known = values.entry(key.name.clone()).or_default();
                if known.len() < 20 {
                    known.push(inner.clone());
                }
                note(inner, values, words);
            }
        }
    }
}

/// Values that nobody writes on purpose.
pub(crate) const NASTY: &[&str] = &[
    "",
    "~",
    "null",
    "true",
    "no",
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e308",
    ".nan",
    ".inf",
    "NaN",
    "0x",
    "0xffffffffffffffffffffffffffffffff",
    "0o777",
    "1_000",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "4294967296",
    "0.1.2",
    "2024-02-30",
    "2001-12-14t21:59:43.10-05:00",
    "12:30:45",
    "<<",
    "=",
    "!!binary",
    "*",
    "&a",
    "{{ x }}",
    "${x}",
    "$TARGET",
    "../../etc/passwd",
    "/",
    ".",
    "..",
    "a/b/c",
    "-",
    "--",
    "\u{0}",
    "\u{feff}",
    "\u{202e}x",
    "\u{2028}",
    "é",
    "👩‍👩‍👧",
    "ß",
    "İ",
    "a\nb",
    "\t",
    " ",
    "done",
    "fail",
    "project",
    "after",
    "before",
    "after one",
    "before two",
    "after after",
    "git commit",
    "git push",
    "gh pr create",
    "unlimited",
    "human_gate",
    "orchestrator_gate",
    "BOTH_APPROVED",
    "one",
    "two",
    "three",
    "one/two",
    "extends",
    "approve",
];

/// A value from [`NASTY`], or one that is too long, too deep or too many.
pub(crate) fn nasty(random: &mut super::random::RandomSource) -> YamlNode {
    let at = |value| YamlNode::at(SourcePosition::NONE, value);
    match random.below(24) {
        0 => YamlNode::text("x".repeat(1 + random.below(60_000))),
        1 => YamlNode::text("é\n".repeat(1 + random.below(5_000))),
        2 => at(YamlValue::List(vec![
            YamlNode::text("a");
            random.below(3_000)
        ])),
        3 => {
            let deep = random.below(80);
            (0..deep).fold(YamlNode::text("deep"), |inner, _| {
                at(YamlValue::List(vec![inner]))
            })
        }
        4 => {
            let deep = random.below(80);
            (0..deep).fold(YamlNode::text("deep"), |inner, _| {
                let mut map = YamlNode::empty(SourcePosition::NONE);
                map.set("steps", inner);
                map
            })
        }
        5 => YamlNode::empty(SourcePosition::NONE),
        6 => at(YamlValue::List(Vec::new())),
        7 | 8 => at(YamlValue::Scalar(YamlScalar::text(*random.pick(NASTY)))),
        _ => at(YamlValue::Scalar(YamlScalar::plain(*random.pick(NASTY)))),
    }
}
