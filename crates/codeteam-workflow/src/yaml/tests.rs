//! Reading, merging and writing YAML.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde::Deserialize;

use super::merge::REPLACED;
use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleFile {
    #[serde(default)]
    verification: Vec<String>,
    #[serde(default)]
    rounds: Option<u32>,
    #[serde(default)]
    share: Option<f64>,
    #[serde(default)]
    on: bool,
    #[serde(default)]
    word: Option<SampleWord>,
    #[serde(default)]
    inner: BTreeMap<String, WithPosition<String>>,
    #[serde(default)]
    worker: OneOrMany<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SampleWord {
    Alpha,
    Beta { size: u32 },
}

fn refused(text: &str, expected: &Expect) {
    let problems = parse::<SampleFile>("sample.yml", text).unwrap_err();
    expected.assert_eq(&problems.to_string());
}

#[test]
fn values_are_read_as_their_type() {
    let text = "verification: [1.10, 'two', yes]\nrounds: 0x10\nshare: .5\non: true\n\
                word: { beta: { size: 3 } }\ninner:\n  here: there\nworker: claude\n";
    let sample: SampleFile = parse("sample.yml", text).unwrap();
    assert_eq!(sample.verification, ["1.10", "two", "yes"]);
    assert_eq!((sample.rounds, sample.share), (Some(16), Some(0.5)));
    assert_eq!(sample.word, Some(SampleWord::Beta { size: 3 }));
    let here = &sample.inner["here"];
    assert_eq!((here.value.as_str(), here.place.line), ("there", 7));
    assert_eq!(sample.worker, OneOrMany(vec!["claude".to_owned()]));
}

#[test]
fn a_section_with_everything_commented_out_is_empty() {
    let sample: SampleFile =
        parse("sample.yml", "verification:\n#  - a\ninner:\nrounds:\n").unwrap();
    assert!(sample.verification.is_empty() && sample.rounds.is_none());
}

#[test]
fn mistakes_name_their_place_their_text_and_the_right_word() {
    refused(
        "verificaton: []\nronds: 3\n",
        &expect![[r"
            sample.yml:1:1: unknown key `verificaton` (did you mean `verification`?)
                | verificaton: []
                | ^
            sample.yml:2:1: unknown key `ronds` (did you mean `rounds`?)
                | ronds: 3
                | ^"]],
    );
    refused(
        "rounds: many\n",
        &expect![[r"
            sample.yml:1:9: expected a whole number, found `many`
                | rounds: many
                |         ^"]],
    );
    refused(
        "rounds: '3'\n",
        &expect![[r"
            sample.yml:1:9: expected a whole number, found `3` (write it without quotes)
                | rounds: '3'
                |         ^"]],
    );
    refused(
        "on: yes\n",
        &expect![[r"
            sample.yml:1:5: expected `true` or `false`, found `yes`
                | on: yes
                |     ^"]],
    );
    refused(
        "word: bata\n",
        &expect![[r"
            sample.yml:1:7: unknown word `bata` (did you mean `beta`?)
                | word: bata
                |       ^"]],
    );
    refused(
        "rounds: 1\nrounds: 2\n",
        &expect![[r"
            sample.yml:2:1: `rounds` occurs here twice
                | rounds: 2
                | ^"]],
    );
    refused(
        "a: [1\n",
        &expect![[r"
            sample.yml:1:4: invalid YAML: unclosed bracket '['
                | a: [1
                |    ^"]],
    );
    refused(
        "rounds: 1\n---\nrounds: 2\n",
        &expect![[r"
            sample.yml:3:1: a second document begins here (one file holds one document)
                | rounds: 2
                | ^"]],
    );
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        let many = vec![format!("*{of}"); 10].join(", ");
        text = format!("{text}{name}: &{name} [{many}]\n");
    }
    bombs(&text);
    // Few values, but long ones.
    let text = format!(
        "a: &a {}\nb: &b [{}]\n",
        "x".repeat(20_000),
        vec!["*a"; 100].join(", ")
    );
    bombs(&text);
    // Every level keeps a copy of all that is below it.
    let anchors: Vec<String> = (0..50).map(|n| format!("&n{n} [")).collect();
    let many = vec!["x"; 5_000].join(", ");
    let text = format!("{}{many}{}\n", anchors.concat(), "]".repeat(50));
    bombs(&text);
}

fn bombs(text: &str) {
    let problems = parse::<serde_json::Value>("bomb.yml", text).unwrap_err();
    assert!(
        problems.to_string().contains("repeat too much"),
        "{problems}"
    );
}

#[test]
fn what_is_taken_over_by_an_alias_counts_less_than_what_is_said() {
    let text = "base: &b { x: 1, y: 2 }\nown: { <<: *b, y: 3 }\n";
    let value: serde_json::Value = parse("a.yml", text).unwrap();
    assert_eq!(value["own"], serde_json::json!({ "y": 3, "x": 1 }));
}

/// Cases found by fuzzing.
#[test]
fn odd_keys_and_texts_are_written_so_that_they_read_back() {
    for text in [
        "\"... 4 passed\": 1\n",
        "[\"...\", \"... x\"]\n",
        "\"---\": a\n",
    ] {
        let node = tree(text);
        let written = write(&node, OriginComments::Omitted);
        let back = read(&mut SourceFiles::default(), "w.yml", &written);
        let back = back.unwrap_or_else(|fault| panic!("{fault:?}\n{written}"));
        assert!(same(&node, &back), "{written}");
    }
}

fn tree(text: &str) -> YamlNode {
    read(&mut SourceFiles::default(), "t.yml", text).unwrap()
}

fn json(node: &YamlNode) -> serde_json::Value {
    deserialize_node(node).unwrap()
}

#[test]
fn layers_are_put_together_by_the_rules() {
    let below =
        tree("a: 1\nmap: { x: 1, y: { deep: 1 } }\nlist: [1]\nallowed_tools: [a, b]\ngone: 1\n");
    let above =
        tree("a: 2\nmap: { y: { more: 2 } }\nlist: [2]\nallowed_tools: [c]\ngone: ~\nnew: 3\n");
    assert_eq!(
        json(&merge(below, above)),
        serde_json::json!({
            "a": 2, "map": { "x": 1, "y": { "deep": 1, "more": 2 } }, "list": [1, 2],
            "allowed_tools": ["c"], "new": 3,
        })
    );
}

/// Any tree, with keys that are few enough to meet each other.
fn any_node() -> impl Strategy<Value = YamlNode> {
    let key = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("roles".to_owned()),
        Just("list".to_owned()),
        "[a-z #:'\"\\-]{1,6}",
    ];
    let scalar = prop_oneof![
        any::<i32>().prop_map(|n| YamlScalar::plain(n.to_string())),
        any::<bool>().prop_map(|b| YamlScalar::plain(b.to_string())),
        Just(YamlScalar::plain("~")),
        "(?s).{0,12}".prop_map(YamlScalar::text),
        "[a-z \n:#'\"|>%@-]{0,20}".prop_map(YamlScalar::text),
    ];
    let leaf =
        scalar.prop_map(|s| YamlNode::at(SourcePosition::NONE, super::node::YamlValue::Scalar(s)));
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let map = prop::collection::btree_map(key.clone(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|list| YamlNode::at(
                SourcePosition::NONE,
                super::node::YamlValue::List(list)
            )),
            map.prop_map(|map| {
                let place = SourcePosition::NONE;
                let entries = map
                    .into_iter()
                    .map(|(name, node)| (YamlKey { name, place }, node));
                YamlNode::at(place, super::node::YamlValue::Map(entries.collect()))
            }),
        ]
    })
}

/// A mapping without `nothing` in it, as layers usually are.
fn layer() -> impl Strategy<Value = YamlNode> {
    let map = prop::collection::btree_map("[a-d]", any_node(), 0..4);
    map.prop_map(|map| {
        let place = SourcePosition::NONE;
        let entries = map
            .into_iter()
            .map(|(name, node)| (YamlKey { name, place }, node));
        let mut node = YamlNode::at(place, super::node::YamlValue::Map(entries.collect()));
        without_null(&mut node);
        node
    })
}

fn without_null(node: &mut YamlNode) {
    match &mut node.value {
        super::node::YamlValue::Scalar(_) => {}
        super::node::YamlValue::List(list) => list.iter_mut().for_each(without_null),
        super::node::YamlValue::Map(entries) => {
            entries.retain(|(_, node)| !node.is_null());
            for (_, node) in entries {
                without_null(node);
            }
        }
    }
}

fn same(a: &YamlNode, b: &YamlNode) -> bool {
    use super::node::YamlValue;
    match (&a.value, &b.value) {
        (YamlValue::Scalar(a), YamlValue::Scalar(b)) => {
            a == b
                || (a.is_null() && b.is_null())
                || (a.text == b.text && a.plain != b.plain && {
                    let plain = YamlScalar::plain(&a.text);
                    !plain.is_null()
                        && plain.as_bool().is_none()
                        && plain.as_number().is_none()
                        && plain.as_integer().is_none()
                })
        }
        (YamlValue::List(a), YamlValue::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (YamlValue::Map(a), YamlValue::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((k, a), (l, b))| k.name == l.name && same(a, b))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn an_empty_layer_changes_nothing(a in layer()) {
        let empty = || YamlNode::empty(SourcePosition::NONE);
        prop_assert_eq!(merge(a.clone(), empty()), a.clone());
        prop_assert_eq!(merge(empty(), a.clone()), a);
    }

    #[test]
    fn it_does_not_matter_which_layers_are_put_together_first(a in layer(), b in layer(), c in layer()) {
        // A key that changes from a mapping or a list to something else starts anew there.
        let left = merge(merge(a.clone(), b.clone()), c.clone());
        let right = merge(a.clone(), merge(b.clone(), c.clone()));
        if shapes_agree(&a, &b) && shapes_agree(&b, &c) && shapes_agree(&a, &c) {
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn what_is_above_is_in_the_result(a in layer(), b in layer()) {
        let both = merge(a.clone(), b.clone());
        for (key, node) in b.as_map().unwrap() {
            let merged = both.get(&key.name).unwrap();
            match &node.value {
                super::node::YamlValue::Scalar(_) => prop_assert_eq!(merged, node),
                super::node::YamlValue::List(list) => prop_assert!(merged.as_list().unwrap().ends_with(list)),
                super::node::YamlValue::Map(entries) => {
                    for (inner, _) in entries {
                        prop_assert!(merged.get(&inner.name).is_some());
                    }
                }
            }
        }
        for (key, _) in a.as_map().unwrap() {
            prop_assert!(both.get(&key.name).is_some());
        }
    }

    #[test]
    fn an_order_or_a_restriction_replaces_and_other_lists_append(
        key in prop_oneof![prop::sample::select(REPLACED).prop_map(str::to_owned), "[f-h]{3,5}"],
        below in prop::collection::vec(any::<u8>(), 0..4),
        above in prop::collection::vec(any::<u8>(), 0..4),
        depth in 0_usize..4,
    ) {
        let layer = |list: &[u8]| {
            let list = list.iter().map(|n| YamlNode::text(n.to_string())).collect();
            let list = YamlNode::at(SourcePosition::NONE, super::node::YamlValue::List(list));
            let keys = std::iter::repeat_n("inner", depth).chain([key.as_str()]).rev();
            keys.fold(list, |inner, key| {
                let mut map = YamlNode::empty(SourcePosition::NONE);
                map.set(key, inner);
                map
            })
        };
        let mut expected = above.clone();
        if !REPLACED.contains(&key.as_str()) {
            expected.splice(0..0, below.clone());
        }
        prop_assert_eq!(merge(layer(&below), layer(&above)), layer(&expected));
    }

    #[test]
    fn many_keys_are_merged_as_few_are(
        below in prop::collection::btree_map("[a-z]{2}", any::<u8>(), 0..120),
        above in prop::collection::btree_map("[a-z]{2}", prop::option::of(any::<u8>()), 0..120),
    ) {
        let mut expected = below.clone();
        let node = |value: Option<u8>| match value {
            Some(value) => YamlNode::text(value.to_string()),
            None => tree("a: ~").take("a").unwrap(),
        };
        let mut low = YamlNode::empty(SourcePosition::NONE);
        for (key, value) in &below {
            low.set(key, node(Some(*value)));
        }
        let mut high = YamlNode::empty(SourcePosition::NONE);
        for (key, value) in &above {
            high.set(key, node(*value));
            match value {
                Some(value) => { expected.insert(key.clone(), *value); }
                // What nobody said below cannot be taken back.
                None => { expected.remove(key); }
            }
        }
        let merged = merge(low, high);
        let said: BTreeMap<String, u8> = merged
            .as_map()
            .unwrap()
            .iter()
            .filter_map(|(key, node)| Some((key.name.clone(), node.as_text()?.parse().ok()?)))
            .collect();
        prop_assert_eq!(said, expected);
    }

    #[test]
    fn what_is_written_reads_back(a in layer()) {
        let text = write(&a, OriginComments::Omitted);
        let back = read(&mut SourceFiles::default(), "w.yml", &text);
        let back = back.map_err(|fault| TestCaseError::fail(format!("{fault:?}\n{text}")))?;
        prop_assert!(same(&a, &back), "{}\n{:?}\n{:?}", text, a, back);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}") {
        let _ = parse::<SampleFile>("any.yml", &text);
    }
}

fn shapes_agree(a: &YamlNode, b: &YamlNode) -> bool {
    use super::node::YamlValue;
    match (&a.value, &b.value) {
        (YamlValue::Map(a), YamlValue::Map(b)) => a.iter().all(|(key, node)| {
            b.iter()
                .filter(|(other, _)| other.name == key.name)
                .all(|(_, other)| shapes_agree(node, other))
        }),
        (YamlValue::Scalar(_), YamlValue::Scalar(_)) | (YamlValue::List(_), YamlValue::List(_)) => {
            true
        }
        _ => false,
    }
}
