//! The rules by which layers are merged, the same everywhere: scalars override, mappings merge
//! deeply, lists append, and lists that are an order or a restriction replace.

use std::collections::BTreeMap;

use super::node::{YamlKey, YamlNode, YamlValue};

/// Above this size, mappings are merged with an index instead of a linear search.
const FEW: usize = 64;

/// Lists that are an order or a restriction: the upper layer replaces the lower one.
pub(crate) const REPLACED: &[&str] = &[
    "sequence",
    "roles",
    "small_change",
    "allowed_tools",
    "approvers",
    "priority_order",
    "continuation_roles",
    "worker",
    "workers",
    "checks",
];

/// Merges two layers. A null (`~`) in the upper layer removes the value of the lower one.
#[must_use]
pub fn merge(below: YamlNode, above: YamlNode) -> YamlNode {
    merge_at("", below, above)
}

fn merge_at(key: &str, below: YamlNode, above: YamlNode) -> YamlNode {
    match (below.value, above.value) {
        (YamlValue::Map(entries), YamlValue::Map(over)) => {
            // A mapping keeps the position where it was first opened; its entries have positions of
            // their own.
            YamlNode::at(below.place, YamlValue::Map(merge_entries(entries, over)))
        }
        (YamlValue::List(mut list), YamlValue::List(over)) if !REPLACED.contains(&key) => {
            list.extend(over);
            YamlNode::at(above.place, YamlValue::List(list))
        }
        (_, value) => YamlNode::at(above.place, value),
    }
}

fn merge_entries(
    mut entries: Vec<(YamlKey, YamlNode)>,
    over: Vec<(YamlKey, YamlNode)>,
) -> Vec<(YamlKey, YamlNode)> {
    let index = (entries.len() * over.len() > FEW * FEW).then(|| {
        let names = entries.iter().map(|(key, _)| key.name.clone());
        names.zip(0..).collect::<BTreeMap<String, usize>>()
    });
    // `over` has every key only once, so the search can skip the entries that it adds itself.
    let below = entries.len();
    let mut taken_back = Vec::new();
    for (name, node) in over {
        let known = match &index {
            Some(index) => index.get(&name.name).copied(),
            None => entries[..below]
                .iter()
                .position(|(key, _)| key.name == name.name),
        };
        match known {
            Some(index) if node.is_null() => taken_back.push(index),
            Some(index) => {
                let (key, old) = &mut entries[index];
                key.place = name.place;
                let below = std::mem::replace(old, YamlNode::empty(node.place));
                *old = merge_at(&name.name, below, node);
            }
            None => entries.push((name, node)),
        }
    }
    if !taken_back.is_empty() {
        taken_back.sort_unstable();
        let mut at = 0..;
        entries.retain(|_| {
            let here = at.next().unwrap_or_default();
            taken_back.binary_search(&here).is_err()
        });
    }
    entries
}
