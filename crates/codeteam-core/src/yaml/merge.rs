//! How layers are put together, the same everywhere: scalars override, mappings merge deeply,
//! lists append, and an order or a restriction replaces.

use super::node::{Node, Value};

/// Lists that are an order or a restriction: what is said above stands in place of what is below.
pub const REPLACED: &[&str] = &[
    "sequence",
    "roles",
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
pub fn merge(below: Node, above: Node) -> Node {
    merge_at("", below, above)
}

fn merge_at(key: &str, below: Node, above: Node) -> Node {
    match (below.value, above.value) {
        (Value::Map(mut entries), Value::Map(over)) => {
            for (name, node) in over {
                let known = entries.iter().position(|(key, _)| key.name == name.name);
                match known {
                    Some(index) if node.is_null() => {
                        entries.remove(index);
                    }
                    Some(index) => {
                        let (key, old) = &mut entries[index];
                        let old = std::mem::replace(old, Node::empty(node.place));
                        entries[index].1 = merge_at(&key.name.clone(), old, node);
                        entries[index].0.place = name.place;
                    }
                    None => entries.push((name, node)),
                }
            }
            // A mapping is where it was first opened; its entries have places of their own.
            Node::at(below.place, Value::Map(entries))
        }
        (Value::List(mut list), Value::List(over)) if !REPLACED.contains(&key) => {
            list.extend(over);
            Node::at(above.place, Value::List(list))
        }
        (_, value) => Node::at(above.place, value),
    }
}
