//! All roles there are, in layers, and how one builds on another.
//!
//! A role builds on the one it `extends`. One that says neither `extends` nor its `kind` builds on
//! the role of its own name in the layer below; so a file of a few lines changes a built-in role.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file::{Gate, RoleFile};
use super::{Kind, Role};
use crate::ids::is_plain;
use crate::misplaced::Document;
use crate::yaml::{Fault, Node, Place, Scalar, Value, meant, merge, typed_by_key};

/// How long a chain of `extends` may be.
const MAX_DEPTH: usize = 16;

/// Where a role comes from; later ones count more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// It ships with codeteam.
    BuiltIn,
    /// The user's own.
    User,
    /// The project's.
    Project,
    /// The workflow's own.
    Workflow,
}

impl Layer {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Workflow => "workflow",
        }
    }
}

/// All roles there are.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// By name; the entries of one name by layer. Shared, so that a clone costs little.
    entries: BTreeMap<String, BTreeMap<Layer, Arc<Entry>>>,
}

#[derive(Clone, Debug)]
struct Entry {
    node: Node,
    /// The prompt has a file of its own, which stands in place of any it builds on.
    own_prompt: bool,
}

/// A role with everything it builds on.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The role as a run pins it.
    pub role: Role,
    /// Its own gates.
    pub gates: Vec<Gate>,
    /// What it is good at.
    pub strengths: Vec<String>,
    /// All that is said of it, with places.
    pub node: Node,
    /// The roles it builds on, nearest first, with their layers.
    pub chain: Vec<(String, Layer)>,
}

impl Book {
    /// Adds what a file or a workflow says of a role, over what its layer said before.
    pub fn add(&mut self, layer: Layer, name: &str, mut node: Node) {
        in_own_words(&mut node);
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = match layers.remove(&layer).map(Arc::unwrap_or_clone) {
            Some(known) => Entry {
                node: merge(known.node, node),
                ..known
            },
            None => Entry {
                node,
                own_prompt: false,
            },
        };
        layers.insert(layer, Arc::new(entry));
    }

    /// Adds a prompt that has a file of its own.
    pub fn add_prompt(&mut self, layer: Layer, name: &str, place: Place, prompt: &str) {
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = layers.entry(layer).or_insert_with(|| {
            Arc::new(Entry {
                node: Node::empty(place),
                own_prompt: false,
            })
        });
        let entry = Arc::make_mut(entry);
        let text = Value::Scalar(Scalar::text(prompt));
        entry.node.set("prompt", Node::at(place, text));
        entry.own_prompt = true;
    }

    /// Forgets the roles of one layer.
    pub fn forget(&mut self, layer: Layer) {
        for layers in self.entries.values_mut() {
            layers.remove(&layer);
        }
        self.entries.retain(|_, layers| !layers.is_empty());
    }

    /// The names there are, each with the topmost layer that says something of it.
    pub fn names(&self) -> impl Iterator<Item = (&str, Layer)> {
        let top = |layers: &BTreeMap<Layer, Arc<Entry>>| layers.keys().next_back().copied();
        self.entries
            .iter()
            .filter_map(move |(name, layers)| Some((name.as_str(), top(layers)?)))
    }

    /// The layers that say something of a role.
    pub fn layers(&self, name: &str) -> impl Iterator<Item = Layer> {
        let layers = self.entries.get(name).into_iter();
        layers.flat_map(|layers| layers.keys().copied())
    }

    /// What a layer says of a role.
    pub fn said(&self, name: &str, layer: Layer) -> Option<&Node> {
        let entry = self.entries.get(name)?.get(&layer)?;
        Some(&entry.node)
    }

    /// The full name of what a workflow calls by a name: its own first, then the shared ones.
    pub fn find(&self, scopes: &[String], name: &str) -> Option<String> {
        let own = scopes.iter().map(|scope| format!("{scope}/{name}"));
        // What a workflow says of its roles itself is nearest.
        let inline = self.entries.get(name);
        if inline.is_some_and(|layers| layers.contains_key(&Layer::Workflow)) {
            return Some(name.to_owned());
        }
        own.chain([name.to_owned()])
            .find(|name| self.entries.contains_key(name))
    }

    /// The nearest name to one that is unknown, as a hint.
    pub fn meant(&self, scopes: &[String], name: &str) -> Option<String> {
        let known = self.entries.keys().map(|known| {
            let own = scopes.iter().find_map(|scope| known.strip_prefix(scope));
            own.and_then(|own| own.strip_prefix('/')).unwrap_or(known)
        });
        let near = crate::yaml::nearest(name, known)?;
        Some(format!("did you mean `{near}`?"))
    }

    /// A role by its full name, with everything it builds on.
    pub fn resolve(&self, name: &str) -> Result<Resolved, Vec<Fault>> {
        let mut chain = Vec::new();
        let node = self.merged(name, Layer::Workflow, Place::NONE, &mut chain)?;
        let file: RoleFile = typed_by_key(&node)?;
        let kind = Self::check(name, &node, &file)?;
        Ok(Resolved {
            gates: file.gates.clone(),
            strengths: file.strengths.clone(),
            role: file.role(name, kind),
            node,
            chain: chain.split_off(1.min(chain.len())),
        })
    }

    fn check(name: &str, node: &Node, file: &RoleFile) -> Result<Kind, Vec<Fault>> {
        let mut faults = Vec::new();
        let place = |key: &str| node.get(key).map_or(node.place, |node| node.place);
        let last = name.rsplit('/').next().unwrap_or(name);
        if !name.split('/').all(is_plain) {
            let message = format!("`{name}` cannot be the name of a role");
            faults.push(Fault::at(node.place, message));
        }
        if let Some(said) = file.name.as_deref().filter(|said| *said != last) {
            let message = format!("the role `{name}` calls itself `{said}`");
            let hint = "leave `name` out, or give the file that name";
            faults.push(Fault::at(place("name"), message).hint(hint));
        }
        if let Some(share) = file.quality_threshold
            && !(0.0..=1.0).contains(&share)
        {
            let message = format!("`quality_threshold` is {share}, not between 0 and 1");
            faults.push(Fault::at(place("quality_threshold"), message));
        }
        if file.prompt.as_deref().is_some_and(|p| p.len() > 200_000) {
            let message = format!("the prompt of `{name}` is longer than 200,000 bytes");
            faults.push(Fault::at(place("prompt"), message));
        }
        match file.kind {
            Some(kind) if faults.is_empty() => return Ok(kind),
            Some(_) => {}
            None => faults.push(
                Fault::at(node.place, format!("the role `{name}` has no `kind`"))
                    .hint("say what it owes, or which role it `extends`"),
            ),
        }
        Err(faults)
    }

    /// What all files say of a role together, looking from a layer down.
    fn merged(
        &self,
        name: &str,
        from: Layer,
        named_at: Place,
        chain: &mut Vec<(String, Layer)>,
    ) -> Result<Node, Vec<Fault>> {
        let layers = self.entries.get(name);
        let found = layers.and_then(|layers| layers.range(..=from).next_back());
        let Some((&layer, entry)) = found else {
            let fault = Fault::at(named_at, format!("there is no role `{name}`"));
            return Err(vec![fault.maybe(self.meant(&[], name))]);
        };
        let link = (name.to_owned(), layer);
        let faulty = |message: String| Err(vec![Fault::at(named_at, message)]);
        if chain.contains(&link) {
            let names: Vec<String> = chain.iter().map(|(n, _)| format!("`{n}`")).collect();
            let round = format!("{} → `{name}`", names.join(" → "));
            return faulty(format!("the roles extend each other in a circle: {round}"));
        }
        if chain.len() >= MAX_DEPTH {
            return faulty(format!(
                "`{name}` is the end of more than {MAX_DEPTH} roles that extend each other"
            ));
        }
        chain.push(link);
        let mut own = entry.node.clone();
        advise(&own)?;
        let extends = own.take("extends");
        let below = match &extends {
            Some(node) => {
                let Some(parent) = node.as_text() else {
                    let message = format!("expected the name of a role, found {}", node.kind());
                    return Err(vec![Fault::at(node.place, message)]);
                };
                let parent = self.parent(name, parent);
                let from = if parent == name {
                    match below(layer) {
                        Some(lower) if self.has(name, lower) => lower,
                        _ => {
                            let message = format!("`{name}` extends itself");
                            let hint = "no layer below has a role of this name";
                            return Err(vec![Fault::at(node.place, message).hint(hint)]);
                        }
                    }
                } else {
                    Layer::Workflow
                };
                Some(self.merged(&parent, from, node.place, chain)?)
            }
            None => match below(layer) {
                Some(lower) if own.get("kind").is_none() && self.has(name, lower) => {
                    Some(self.merged(name, lower, own.place, chain)?)
                }
                _ => None,
            },
        };
        let replaces = entry.own_prompt || extends.is_none();
        Ok(put_together(below, own, replaces))
    }

    /// `extends: coder` in `adversarial/…` means a role of the same folder, if there is one.
    fn parent(&self, name: &str, parent: &str) -> String {
        let folder = name.rsplit_once('/').map(|(folder, _)| folder);
        let near = folder.map(|folder| format!("{folder}/{parent}"));
        match near {
            Some(near) if near != name && self.entries.contains_key(&near) => near,
            _ => parent.to_owned(),
        }
    }

    fn has(&self, name: &str, from: Layer) -> bool {
        let layers = self.entries.get(name);
        layers.is_some_and(|layers| layers.range(..=from).next_back().is_some())
    }

    /// Everything that is wrong with any role.
    pub fn faults(&self) -> Vec<Fault> {
        let names: BTreeSet<&String> = self.entries.keys().collect();
        let faults = names
            .into_iter()
            .filter_map(|name| self.resolve(name).err());
        faults.flatten().collect()
    }
}

/// Other words for the same thing, so that layers meet.
fn in_own_words(node: &mut Node) {
    for (other, own) in [("type", "kind"), ("cli", "worker")] {
        if node.get(own).is_none()
            && let Some(said) = node.take(other)
        {
            node.set(own, said);
        }
    }
    let Some(context) = node.get_mut("context") else {
        return;
    };
    if context.as_list().is_some() || context.as_text().is_some() {
        let place = context.place;
        let mut said = std::mem::replace(context, Node::empty(place));
        if said.as_list().is_none() {
            said = Node::at(place, Value::List(vec![said]));
        }
        context.set("include", said);
    } else if let Some(budget) = context.take("token_budget") {
        context.set("budget", budget);
    }
}

fn below(layer: Layer) -> Option<Layer> {
    match layer {
        Layer::Workflow => Some(Layer::Project),
        Layer::Project => Some(Layer::User),
        Layer::User => Some(Layer::BuiltIn),
        Layer::BuiltIn => None,
    }
}

/// A role over the one it builds on. Prompts are put one after the other, unless the upper one
/// stands in place of the lower.
fn put_together(below: Option<Node>, mut own: Node, replaces: bool) -> Node {
    let additions = own.take("system_prompt_additions");
    let mut below = below.unwrap_or_else(|| Node::empty(own.place));
    let inherited = below.take("prompt");
    let prompt = own.take("prompt");
    let parts = match (inherited, prompt) {
        (_, Some(prompt)) if replaces => vec![prompt],
        (inherited, prompt) => inherited.into_iter().chain(prompt).collect(),
    };
    let parts: Vec<Node> = parts.into_iter().chain(additions).collect();
    let mut merged = merge(below, own);
    let texts: Vec<&str> = parts.iter().filter_map(Node::as_text).collect();
    if let Some(last) = parts.last() {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
        let text = Value::Scalar(Scalar::text(texts.join("\n\n")));
        merged.set("prompt", Node::at(last.place, text));
    }
    merged
}

/// Keys that other tools have and codeteam does differently.
fn advise(node: &Node) -> Result<(), Vec<Fault>> {
    const KNOWN: &[(&str, &str)] = &[
        (
            "flags",
            "leave them out: codeteam knows how to call each CLI",
        ),
        (
            "version",
            "leave it out: a role is versioned with the project",
        ),
        ("author", "leave it out: git knows who wrote it"),
        ("dependencies", "name what it builds on with `extends`"),
        (
            "preferred_worker",
            "name workers with `worker`, the first that can is used",
        ),
        (
            "fallback_worker",
            "name it after the first in `worker: [first, second]`",
        ),
    ];
    let entries = node.as_map().unwrap_or_default();
    let faults: Vec<Fault> = entries
        .iter()
        .filter_map(|(key, _)| {
            let (_, advice) = KNOWN.iter().find(|(known, _)| *known == key.name)?;
            let message = format!("a role has no `{}`", key.name);
            Some(Fault::at(key.place, message).hint(*advice))
        })
        .collect();
    if node.as_map().is_none() {
        let message = format!("expected a role, found {}", node.kind());
        return Err(vec![Fault::at(node.place, message)]);
    }
    let misplaced = Document::Role.misplaced(node);
    if !misplaced.is_empty() {
        return Err(misplaced);
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// The hint for a role that a workflow names and nobody knows.
pub(crate) fn unknown(book: &Book, scopes: &[String], name: &str, place: Place) -> Fault {
    let few = || meant(name, std::iter::empty());
    let hint = book.meant(scopes, name).or_else(few);
    let hint = hint.or_else(|| Some("`codeteam role list` names those there are".to_owned()));
    Fault::at(place, format!("there is no role `{name}`")).maybe(hint)
}

#[cfg(test)]
mod tests;
