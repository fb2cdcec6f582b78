//! All roles there are, in layers, and how one builds on another.
//!
//! A role builds on the one it `extends`. One that says neither `extends` nor its `kind` builds on
//! the next source of the same role; so a file of a few lines changes a built-in role.
//!
//! What a workflow calls `coder` has several sources, in this order: the workflow's own `roles`; then
//! layer by layer, the project's, the user's and the built-in ones, and in each layer first the role of
//! that workflow (`adversarial/coder`), then the shared one (`coder`). So the `coder` of a project is the
//! coder of every workflow, and `adversarial/coder` is one for that workflow alone. A shared role that
//! takes the place of a workflow's own keeps its `contract` and `mode`, unless it says others: they are
//! the form in which the workflow expects the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::file::{RoleFile, RoleGate};
use super::{Role, RoleKind};
use crate::format_version::version_fault;
use crate::ids::is_plain;
use crate::misplaced::DocumentKind;
use crate::yaml::{
    Diagnostic, SourcePosition, YamlNode, YamlScalar, YamlValue, meant, merge, typed_by_key,
};

/// How long a chain of `extends` may be.
const MAX_DEPTH: usize = 16;

/// Where a role comes from; later ones count more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLayer {
    /// It ships with codeteam.
    BuiltIn,
    /// The user's own.
    User,
    /// The project's.
    Project,
    /// The workflow's own.
    Workflow,
}

impl SourceLayer {
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
pub struct RoleCatalog {
    /// By name; the entries of one name by layer. Shared, so that a clone costs little.
    entries: BTreeMap<String, BTreeMap<SourceLayer, Arc<CatalogEntry>>>,
    /// The kinds that sequences give to roles which do not say theirs, by the roles' names.
    kinds: BTreeMap<String, RoleKind>,
}

#[derive(Clone, Debug)]
struct CatalogEntry {
    node: YamlNode,
    /// The prompt has a file of its own, which stands in place of any it builds on.
    own_prompt: bool,
    /// Why its file cannot be read, if it cannot.
    faults: Vec<Diagnostic>,
}

impl CatalogEntry {
    fn new(node: YamlNode) -> Self {
        Self {
            node,
            own_prompt: false,
            faults: Vec::new(),
        }
    }
}

/// Where something is said of a role: under which full name, and in which layer.
pub type RoleSource = (String, SourceLayer);

/// A role with everything it builds on.
#[derive(Clone, Debug)]
pub struct ResolvedRole {
    /// The role as a run pins it.
    pub role: Role,
    /// Its own gates.
    pub gates: Vec<RoleGate>,
    /// What it is good at.
    pub strengths: Vec<String>,
    /// All that is said of it, with places.
    pub node: YamlNode,
    /// What is nearest of all that is said of it.
    pub top: RoleSource,
    /// The roles it builds on, nearest first, with their layers.
    pub chain: Vec<RoleSource>,
}

impl RoleCatalog {
    /// Adds what a file or a workflow says of a role, over what its layer said before.
    pub fn add(&mut self, layer: SourceLayer, name: &str, mut node: YamlNode) {
        in_own_words(&mut node);
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = match layers.remove(&layer).map(Arc::unwrap_or_clone) {
            Some(known) => CatalogEntry {
                node: merge(known.node, node),
                ..known
            },
            None => CatalogEntry::new(node),
        };
        layers.insert(layer, Arc::new(entry));
    }

    /// Adds a role whose file cannot be read: whatever would build on it is refused with this reason.
    pub fn add_broken(&mut self, layer: SourceLayer, name: &str, fault: Diagnostic) {
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = layers
            .entry(layer)
            .or_insert_with(|| Arc::new(CatalogEntry::new(YamlNode::empty(fault.place))));
        Arc::make_mut(entry).faults.push(fault);
    }

    /// Gives a role a kind in case nothing else does.
    pub fn add_kind(&mut self, name: &str, kind: RoleKind) {
        self.kinds.entry(name.to_owned()).or_insert(kind);
    }

    /// Adds a prompt that has a file of its own.
    pub fn add_prompt(
        &mut self,
        layer: SourceLayer,
        name: &str,
        place: SourcePosition,
        prompt: &str,
    ) {
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = layers
            .entry(layer)
            .or_insert_with(|| Arc::new(CatalogEntry::new(YamlNode::empty(place))));
        let entry = Arc::make_mut(entry);
        let text = YamlValue::Scalar(YamlScalar::text(prompt));
        entry.node.set("prompt", YamlNode::at(place, text));
        entry.own_prompt = true;
    }

    /// Forgets the roles of one layer.
    pub fn forget(&mut self, layer: SourceLayer) {
        for layers in self.entries.values_mut() {
            layers.remove(&layer);
        }
        self.entries.retain(|_, layers| !layers.is_empty());
    }

    /// The names there are, each with the topmost layer that says something of it.
    pub fn names(&self) -> impl Iterator<Item = (&str, SourceLayer)> {
        let top =
            |layers: &BTreeMap<SourceLayer, Arc<CatalogEntry>>| layers.keys().next_back().copied();
        self.entries
            .iter()
            .filter_map(move |(name, layers)| Some((name.as_str(), top(layers)?)))
    }

    /// The layers that say something of a role.
    pub fn layers(&self, name: &str) -> impl Iterator<Item = SourceLayer> {
        let layers = self.entries.get(name).into_iter();
        layers.flat_map(|layers| layers.keys().copied())
    }

    /// What a layer says of a role.
    pub fn said(&self, name: &str, layer: SourceLayer) -> Option<&YamlNode> {
        let entry = self.entries.get(name)?.get(&layer)?;
        Some(&entry.node)
    }

    /// Whether anything is said of a role of this full name.
    pub fn knows(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The sources of what a workflow calls by a name, the nearest first: see the head of this file.
    /// `scopes` are the names of the workflow and of those it extends.
    pub fn sources(&self, scopes: &[String], name: &str) -> Vec<RoleSource> {
        const SHARED: [SourceLayer; 3] = [
            SourceLayer::Project,
            SourceLayer::User,
            SourceLayer::BuiltIn,
        ];
        let mut found = Vec::new();
        let mut add = |full: String, layer: SourceLayer| {
            if self
                .entries
                .get(&full)
                .is_some_and(|layers| layers.contains_key(&layer))
            {
                found.push((full, layer));
            }
        };
        add(name.to_owned(), SourceLayer::Workflow);
        for layer in SHARED {
            for scope in scopes {
                add(format!("{scope}/{name}"), layer);
            }
            add(name.to_owned(), layer);
        }
        found
    }

    /// The sources of a role that is named in full, by a person or by `extends`: only those of that
    /// name, and below them the shared role that it is a form of.
    fn sources_of(&self, full: &str) -> Vec<RoleSource> {
        let short = full.rsplit_once('/').map(|(_, short)| short);
        let names = [Some(full), short].into_iter().flatten();
        let sources = names.flat_map(|name| {
            let layers = self.entries.get(name).into_iter().flatten();
            layers.rev().map(|(layer, _)| (name.to_owned(), *layer))
        });
        sources.collect()
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

    /// A role by its full name, with everything it builds on: as the workflow of its folder has it.
    pub fn resolve(&self, name: &str) -> Result<ResolvedRole, Vec<Diagnostic>> {
        match name.rsplit_once('/') {
            Some((scope, short)) => self.resolve_called(&[scope.to_owned()], short, name),
            None => self.resolve_called(&[], name, name),
        }
    }

    /// What a workflow calls by a name, with everything it builds on; nothing if there is no such role.
    pub fn resolve_in(
        &self,
        scopes: &[String],
        name: &str,
    ) -> Option<Result<ResolvedRole, Vec<Diagnostic>>> {
        let (full, _) = self.sources(scopes, name).into_iter().next()?;
        Some(self.resolve_called(scopes, name, &full))
    }

    /// Puts the sources of a role together. `full` is what the role is called in messages.
    fn resolve_called(
        &self,
        scopes: &[String],
        name: &str,
        full: &str,
    ) -> Result<ResolvedRole, Vec<Diagnostic>> {
        let sources = self.sources(scopes, name);
        let mut chain = Vec::new();
        let mut node = self.merged(full, &sources, SourcePosition::NONE, &mut chain)?;
        self.keep_form(&sources, &mut node);
        if node.get("kind").is_none()
            && let Some(kind) = self.kinds.get(name)
        {
            node.set("kind", YamlNode::text(kind.as_str()));
        }
        let file: RoleFile = typed_by_key(&node)?;
        let kind = Self::check(full, &node, &file)?;
        let chain_below = chain.split_off(1);
        Ok(ResolvedRole {
            gates: file.gates.clone(),
            strengths: file.strengths.clone(),
            role: file.role(full, kind),
            node,
            top: chain.remove(0),
            chain: chain_below,
        })
    }

    /// A shared role in the place of a workflow's own answers in the form that the workflow expects.
    fn keep_form(&self, sources: &[RoleSource], node: &mut YamlNode) {
        let own = sources.iter().position(|(name, _)| name.contains('/'));
        let Some(own) = own.filter(|at| *at > 0) else {
            return;
        };
        let (name, _) = &sources[own];
        let Ok(own) = self.merged(name, &sources[own..], SourcePosition::NONE, &mut Vec::new())
        else {
            return;
        };
        let same_kind = match node.get("kind").and_then(YamlNode::as_text) {
            Some(kind) => own.get("kind").and_then(YamlNode::as_text) == Some(kind),
            None => true,
        };
        for key in ["contract", "mode"] {
            if let Some(said) = own
                .get(key)
                .filter(|_| same_kind && node.get(key).is_none())
            {
                node.set(key, said.clone());
            }
        }
    }

    fn check(name: &str, node: &YamlNode, file: &RoleFile) -> Result<RoleKind, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let place = |key: &str| node.get(key).map_or(node.place, |node| node.place);
        let last = name.rsplit('/').next().unwrap_or(name);
        if !name.split('/').all(is_plain) {
            let message = format!("`{name}` cannot be the name of a role");
            faults.push(Diagnostic::at(node.place, message));
        }
        if let Some(said) = file.name.as_deref().filter(|said| *said != last) {
            let message = format!("the role `{name}` calls itself `{said}`");
            let hint = "leave `name` out, or give the file that name";
            faults.push(Diagnostic::at(place("name"), message).hint(hint));
        }
        if file.prompt.as_deref().is_some_and(|p| p.len() > 200_000) {
            let message = format!("the prompt of `{name}` is longer than 200,000 bytes");
            faults.push(Diagnostic::at(place("prompt"), message));
        }
        match file.kind {
            Some(kind) if faults.is_empty() => return Ok(kind),
            Some(_) => {}
            None => faults.push(
                Diagnostic::at(node.place, format!("the role `{name}` has no `kind`"))
                    .hint("say what it owes, or which role it `extends`"),
            ),
        }
        Err(faults)
    }

    /// What the sources of a role say together, the first over the others.
    fn merged(
        &self,
        name: &str,
        sources: &[RoleSource],
        named_at: SourcePosition,
        chain: &mut Vec<RoleSource>,
    ) -> Result<YamlNode, Vec<Diagnostic>> {
        let found = sources.split_first().and_then(|(link, rest)| {
            let entry = self.entries.get(&link.0)?.get(&link.1)?;
            Some((link, rest, entry))
        });
        let Some((link, rest, entry)) = found else {
            let fault = Diagnostic::at(named_at, format!("there is no role `{name}`"));
            return Err(vec![fault.maybe(self.meant(&[], name))]);
        };
        if !entry.faults.is_empty() {
            return Err(entry.faults.clone());
        }
        let faulty = |message: String| Err(vec![Diagnostic::at(named_at, message)]);
        if chain.contains(link) {
            let names: Vec<String> = chain.iter().map(|(n, _)| format!("`{n}`")).collect();
            let round = format!("{} → `{}`", names.join(" → "), link.0);
            return faulty(format!("the roles extend each other in a circle: {round}"));
        }
        if chain.len() >= MAX_DEPTH {
            return faulty(format!(
                "`{name}` is the end of more than {MAX_DEPTH} roles that extend each other"
            ));
        }
        chain.push(link.clone());
        let mut own = entry.node.clone();
        advise(&own)?;
        let extends = own.take("extends");
        let below = match &extends {
            Some(node) => {
                let Some(parent) = node.as_text() else {
                    let message = format!("expected the name of a role, found {}", node.kind());
                    return Err(vec![Diagnostic::at(node.place, message)]);
                };
                Some(self.parent(link, rest, parent, node.place, chain)?)
            }
            None if own.get("kind").is_none() && !rest.is_empty() => {
                Some(self.merged(name, rest, own.place, chain)?)
            }
            None => None,
        };
        let replaces = entry.own_prompt || extends.is_none();
        Ok(put_together(below, own, replaces))
    }

    /// What a role builds on that it names by `extends`. Its own name, in short or in full, means its
    /// next source; another name means a role of the same folder if there is one, else a shared one.
    fn parent(
        &self,
        (own, _): &RoleSource,
        rest: &[RoleSource],
        parent: &str,
        named_at: SourcePosition,
        chain: &mut Vec<RoleSource>,
    ) -> Result<YamlNode, Vec<Diagnostic>> {
        let (folder, short) = match own.rsplit_once('/') {
            Some((folder, short)) => (Some(folder), short),
            None => (None, own.as_str()),
        };
        if parent == own || parent == short {
            // `extends: adversarial/coder` in a role of that name means only what is called so.
            let rest: Vec<RoleSource> = rest
                .iter()
                .filter(|source| parent != own || folder.is_none() || source.0 == *own)
                .cloned()
                .collect();
            if rest.is_empty() {
                let message = format!("`{own}` extends itself");
                let hint = "no layer below has a role of this name";
                return Err(vec![Diagnostic::at(named_at, message).hint(hint)]);
            }
            return self.merged(own, &rest, named_at, chain);
        }
        let near = folder.map(|folder| format!("{folder}/{parent}"));
        let near = near.filter(|near| self.entries.contains_key(near));
        let full = near.unwrap_or_else(|| parent.to_owned());
        self.merged(&full, &self.sources_of(&full), named_at, chain)
    }

    /// Everything that is wrong with any role.
    pub fn faults(&self) -> Vec<Diagnostic> {
        let names: BTreeSet<&String> = self.entries.keys().collect();
        let faults = names
            .into_iter()
            .filter_map(|name| self.resolve(name).err());
        faults.flatten().collect()
    }
}

/// Other words for the same thing, so that layers meet.
fn in_own_words(node: &mut YamlNode) {
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
        let mut said = std::mem::replace(context, YamlNode::empty(place));
        if said.as_list().is_none() {
            said = YamlNode::at(place, YamlValue::List(vec![said]));
        }
        context.set("include", said);
    } else if let Some(budget) = context.take("token_budget") {
        context.set("budget", budget);
    }
}

/// A role over the one it builds on. Prompts are put one after the other, unless the upper one
/// stands in place of the lower.
fn put_together(below: Option<YamlNode>, mut own: YamlNode, replaces: bool) -> YamlNode {
    let additions = own.take("system_prompt_additions");
    let mut below = below.unwrap_or_else(|| YamlNode::empty(own.place));
    let inherited = below.take("prompt");
    let prompt = own.take("prompt");
    let parts = match (inherited, prompt) {
        (_, Some(prompt)) if replaces => vec![prompt],
        (inherited, prompt) => inherited.into_iter().chain(prompt).collect(),
    };
    let parts: Vec<YamlNode> = parts.into_iter().chain(additions).collect();
    let mut merged = merge(below, own);
    let texts: Vec<&str> = parts.iter().filter_map(YamlNode::as_text).collect();
    if let Some(last) = parts.last() {
        let texts: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
        let text = YamlValue::Scalar(YamlScalar::text(texts.join("\n\n")));
        merged.set("prompt", YamlNode::at(last.place, text));
    }
    merged
}

/// Keys that other tools have and codeteam does differently.
fn advise(node: &YamlNode) -> Result<(), Vec<Diagnostic>> {
    const KNOWN: &[(&str, &str)] = &[
        (
            "flags",
            "leave them out: codeteam knows how to call each CLI",
        ),
        (
            "quality_threshold",
            "leave it out: no score is compared with it yet; say in the prompt what is good enough, and \
             let a gatekeeper reject the rest",
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
    let faults: Vec<Diagnostic> = entries
        .iter()
        .filter_map(|(key, _)| {
            let (_, advice) = KNOWN.iter().find(|(known, _)| *known == key.name)?;
            let message = format!("a role has no `{}`", key.name);
            Some(Diagnostic::at(key.place, message).hint(*advice))
        })
        .collect();
    if node.as_map().is_none() {
        let message = format!("expected a role, found {}", node.kind());
        return Err(vec![Diagnostic::at(node.place, message)]);
    }
    let mut misplaced = DocumentKind::Role.misplaced(node);
    misplaced.extend(version_fault(node));
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
pub(crate) fn unknown(
    book: &RoleCatalog,
    scopes: &[String],
    name: &str,
    place: SourcePosition,
) -> Diagnostic {
    let few = || meant(name, std::iter::empty());
    let hint = book.meant(scopes, name).or_else(few);
    let hint = hint.or_else(|| Some("`codeteam role list` names those there are".to_owned()));
    Diagnostic::at(place, format!("there is no role `{name}`")).maybe(hint)
}

#[cfg(test)]
mod tests;
