//! How layers are put together, the same everywhere: scalars override, mappings merge deeply,
//! lists append, and an order or a restriction replaces.

use std::collections::BTreeMap;

use super::node::{YamlKey, YamlNode, YamlValue};

/// A mapping of more entries is not searched from the start each time.
const FEW: usize = 64;

/// Lists that are an order or a restriction: what is said above stands in place of what is below.
pub const REPLACED: &[&str] = &[
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

/// What both layers say together. `nothing` (`~`) above takes back what is said below.
#[must_use]
pub fn merge(below: YamlNode, above: YamlNode) -> YamlNode {
    merge_at("", below, above)
}

fn merge_at(key: &str, below: YamlNode, above: YamlNode) -> YamlNode {
    match (below.value, above.value) {
        (YamlValue::Map(entries), YamlValue::Map(over)) => {
            // A mapping is where it was first opened; its entries have places of their own.
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
    // `over` has every key once, so what it brings itself need not be looked for.
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
