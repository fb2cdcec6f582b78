//! The catalog of all roles, in layers, and the rules by which one role builds on another.
//!
//! A role builds on the one it `extends`. A role with neither `extends` nor a `kind` builds on the
//! next source of the same role; so a file of a few lines can change a built-in role.
//!
//! The name `coder` in a workflow has several sources, in this order: the workflow's own `roles`;
//! then, layer by layer, the project's, the user's and the built-in ones, and within each layer
//! first the role of that workflow (`adversarial/coder`), then the shared one (`coder`). So a
//! project's `coder` is the coder of every workflow, and `adversarial/coder` is used in that
//! workflow alone. A shared role that replaces a workflow's own keeps the `contract` and `mode` of
//! that one, unless it sets others: they are the form in which the workflow expects the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codeteam_core::ids::is_valid_name;
use codeteam_core::role::{Role, RoleKind};
use codeteam_core::spelling::suggest_word;

use super::file::{RoleFile, RoleGate, ValidatorFile, quality_points};
use crate::format_version::version_fault;
use crate::misplaced_file::DocumentKind;
use crate::yaml::{
    Diagnostic, SourcePosition, YamlNode, YamlScalar, YamlValue, deserialize_by_key, merge,
};

/// The longest allowed chain of `extends`.
const MAX_DEPTH: usize = 16;

/// The layer that a role comes from; later ones take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLayer {
    /// The role ships with codeteam.
    BuiltIn,
    /// The role is the user's own.
    User,
    /// The role belongs to the project.
    Project,
    /// The role is defined in the workflow itself.
    Workflow,
}

impl SourceLayer {
    /// Returns the name of the layer, for output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
            Self::Workflow => "workflow",
        }
    }
}

/// All available roles, in layers.
///
/// Fill the catalog first: [`add`](Self::add) takes what a file or a workflow says about a role,
/// [`add_prompt`](Self::add_prompt) a prompt from a file of its own, and
/// [`add_broken`](Self::add_broken) the reason why a file cannot be read. Adding never fails; the
/// layers of a role are merged and checked only when it is resolved.
///
/// Then resolve roles: [`resolve_in`](Self::resolve_in) for a name in a workflow,
/// [`resolve`](Self::resolve) for a full name such as `adversarial/coder`. Both return either the
/// merged role or all its mistakes. A broken file therefore matters only to those who use the role.
///
/// The order of the sources is explained at the top of this module. The entries are shared, so a
/// clone of the catalog is cheap.
#[derive(Clone, Debug, Default)]
pub struct RoleCatalog {
    /// The entries by name and layer. They are shared, so that a clone is cheap.
    entries: BTreeMap<String, BTreeMap<SourceLayer, Arc<CatalogEntry>>>,
    /// The kinds that sequences assign to roles without a kind of their own, by role name.
    kinds: BTreeMap<String, RoleKind>,
}

#[derive(Clone, Debug)]
struct CatalogEntry {
    node: YamlNode,
    /// Whether the prompt has a file of its own; it then replaces any inherited prompt.
    own_prompt: bool,
    /// The reasons why the file cannot be read, if it cannot.
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

/// A source that defines a role: its full name and its layer.
pub type RoleSource = (String, SourceLayer);

/// A role merged with everything it builds on.
#[derive(Clone, Debug)]
pub struct ResolvedRole {
    /// The role as a run pins it.
    pub role: Role,
    /// The role's own gates.
    pub gates: Vec<RoleGate>,
    /// The role's validators.
    pub validators: Vec<ValidatorFile>,
    /// The role's strengths, for whoever chooses among roles.
    pub strengths: Vec<String>,
    /// The merged tree, with positions.
    pub node: YamlNode,
    /// The source that takes precedence over all others.
    pub top: RoleSource,
    /// The sources it builds on, nearest first.
    pub chain: Vec<RoleSource>,
}

impl RoleCatalog {
    /// Adds what a file or a workflow says about a role; it is merged over what the layer already
    /// has.
    pub fn add(&mut self, layer: SourceLayer, name: &str, mut node: YamlNode) {
        normalise_keys(&mut node);
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

    /// Adds a role whose file cannot be read. Every role that would build on it is refused with
    /// this reason.
    pub fn add_broken(&mut self, layer: SourceLayer, name: &str, fault: Diagnostic) {
        let layers = self.entries.entry(name.to_owned()).or_default();
        let entry = layers
            .entry(layer)
            .or_insert_with(|| Arc::new(CatalogEntry::new(YamlNode::empty(fault.place))));
        Arc::make_mut(entry).faults.push(fault);
    }

    /// Sets the kind of a role for the case that nothing else does.
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

    /// Removes all roles of one layer.
    pub fn remove_layer(&mut self, layer: SourceLayer) {
        for layers in self.entries.values_mut() {
            layers.remove(&layer);
        }
        self.entries.retain(|_, layers| !layers.is_empty());
    }

    /// Returns all names, each with the topmost layer that defines it.
    pub fn names(&self) -> impl Iterator<Item = (&str, SourceLayer)> {
        let top =
            |layers: &BTreeMap<SourceLayer, Arc<CatalogEntry>>| layers.keys().next_back().copied();
        self.entries
            .iter()
            .filter_map(move |(name, layers)| Some((name.as_str(), top(layers)?)))
    }

    /// Returns the layers that define a role.
    pub fn layers(&self, name: &str) -> impl Iterator<Item = SourceLayer> {
        let layers = self.entries.get(name).into_iter();
        layers.flat_map(|layers| layers.keys().copied())
    }

    /// Returns what one layer says about a role.
    pub fn layer_node(&self, name: &str, layer: SourceLayer) -> Option<&YamlNode> {
        let entry = self.entries.get(name)?.get(&layer)?;
        Some(&entry.node)
    }

    /// Returns true if any layer defines a role of this full name.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns the sources of a name in a workflow, the nearest first; see the top of this module.
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

    /// Returns the sources of a role that a person or `extends` names in full: those of exactly
    /// that name, and below them the shared role that it is a variant of.
    fn sources_of(&self, full: &str) -> Vec<RoleSource> {
        let short = full.rsplit_once('/').map(|(_, short)| short);
        let names = [Some(full), short].into_iter().flatten();
        let sources = names.flat_map(|name| {
            let layers = self.entries.get(name).into_iter().flatten();
            layers.rev().map(|(layer, _)| (name.to_owned(), *layer))
        });
        sources.collect()
    }

    /// Returns a hint with the known name nearest to an unknown one.
    pub fn suggest(&self, scopes: &[String], name: &str) -> Option<String> {
        let known = self.entries.keys().map(|known| {
            let own = scopes.iter().find_map(|scope| known.strip_prefix(scope));
            own.and_then(|own| own.strip_prefix('/')).unwrap_or(known)
        });
        let near = codeteam_core::spelling::nearest(name, known)?;
        Some(format!("did you mean `{near}`?"))
    }

    /// Resolves a role by its full name, the way the workflow of its folder sees it.
    pub fn resolve(&self, name: &str) -> Result<ResolvedRole, Vec<Diagnostic>> {
        match name.rsplit_once('/') {
            Some((scope, short)) => self.resolve_sources(&[scope.to_owned()], short, name),
            None => self.resolve_sources(&[], name, name),
        }
    }

    /// Resolves a name in a workflow. Returns `None` if there is no such role.
    pub fn resolve_in(
        &self,
        scopes: &[String],
        name: &str,
    ) -> Option<Result<ResolvedRole, Vec<Diagnostic>>> {
        let (full, _) = self.sources(scopes, name).into_iter().next()?;
        Some(self.resolve_sources(scopes, name, &full))
    }

    /// Merges and checks the sources of a role. `full` is the role's name in messages.
    fn resolve_sources(
        &self,
        scopes: &[String],
        name: &str,
        full: &str,
    ) -> Result<ResolvedRole, Vec<Diagnostic>> {
        let sources = self.sources(scopes, name);
        let mut chain = Vec::new();
        let mut node = self.merge_sources(full, &sources, SourcePosition::NONE, &mut chain)?;
        self.keep_contract(&sources, &mut node);
        if node.get("kind").is_none()
            && let Some(kind) = self.kinds.get(name)
        {
            node.set("kind", YamlNode::text(kind.as_str()));
        }
        let file: RoleFile = deserialize_by_key(&node)?;
        let kind = Self::check(full, &node, &file)?;
        let chain_below = chain.split_off(1);
        Ok(ResolvedRole {
            gates: file.gates.clone(),
            validators: file.validators.clone(),
            strengths: file.strengths.clone(),
            role: file.into_role(full, kind),
            node,
            top: chain.remove(0),
            chain: chain_below,
        })
    }

    /// Makes a shared role that replaces a workflow's own answer in the form that the workflow
    /// expects.
    fn keep_contract(&self, sources: &[RoleSource], node: &mut YamlNode) {
        let own = sources.iter().position(|(name, _)| name.contains('/'));
        let Some(own) = own.filter(|at| *at > 0) else {
            return;
        };
        let (name, _) = &sources[own];
        let Ok(own) =
            self.merge_sources(name, &sources[own..], SourcePosition::NONE, &mut Vec::new())
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
        if !name.split('/').all(is_valid_name) {
            let message = format!("`{name}` cannot be the name of a role");
            faults.push(Diagnostic::at(node.place, message));
        }
        if let Some(said) = file.name.as_deref().filter(|said| *said != last) {
            let message = format!("the role `{name}` calls itself `{said}`");
            let hint = "leave `name` out, or give the file that name";
            faults.push(Diagnostic::at(place("name"), message).with_hint(hint));
        }
        if file.prompt.as_deref().is_some_and(|p| p.len() > 200_000) {
            let message = format!("the prompt of `{name}` is longer than 200,000 bytes");
            faults.push(Diagnostic::at(place("prompt"), message));
        }
        if let Some(Err(message)) = file.quality_threshold.map(quality_points) {
            faults.push(Diagnostic::at(place("quality_threshold"), message));
        }
        if file.max_turns == Some(0) {
            let message = "`max_turns` is 0, so that the worker could not ask its model even once";
            let hint = "leave it out for no limit of its own";
            faults.push(Diagnostic::at(place("max_turns"), message).with_hint(hint));
        }
        let validators = node.get("validators").and_then(YamlNode::as_list);
        for (at, validator) in file.validators.iter().enumerate() {
            if let Err(why) = validator.to_check() {
                let said = validators.and_then(|nodes| nodes.get(at));
                let place = said.map_or_else(|| place("validators"), |said| said.place);
                let message = format!("a validator of `{name}` cannot be used: {why}");
                let hint = "such as `{ file: docs/report.md, contains: [\"## Sources\"], words: { min: 300 } }`";
                faults.push(Diagnostic::at(place, message).with_hint(hint));
            }
        }
        match file.kind {
            Some(kind) if faults.is_empty() => return Ok(kind),
            Some(_) => {}
            None => faults.push(
                Diagnostic::at(node.place, format!("the role `{name}` has no `kind`"))
                    .with_hint("give it a `kind`, or a role that it `extends`"),
            ),
        }
        Err(faults)
    }

    /// Merges the sources of a role; the first takes precedence over the others.
    fn merge_sources(
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
            return Err(vec![fault.with_optional_hint(self.suggest(&[], name))]);
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
        reject_foreign_keys(&own)?;
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
                Some(self.merge_sources(name, rest, own.place, chain)?)
            }
            None => None,
        };
        let replaces = entry.own_prompt || extends.is_none();
        Ok(merge_over(below, own, replaces))
    }

    /// Resolves what a role names with `extends`. Its own name, short or full, means its next
    /// source; another name means a role of the same folder if there is one, and otherwise a shared
    /// one.
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
            // `extends: adversarial/coder` in a role of that name means only sources of that full
            // name.
            let rest: Vec<RoleSource> = rest
                .iter()
                .filter(|source| parent != own || folder.is_none() || source.0 == *own)
                .cloned()
                .collect();
            if rest.is_empty() {
                let message = format!("`{own}` extends itself");
                let hint = "no layer below has a role of this name";
                return Err(vec![Diagnostic::at(named_at, message).with_hint(hint)]);
            }
            return self.merge_sources(own, &rest, named_at, chain);
        }
        let near = folder.map(|folder| format!("{folder}/{parent}"));
        let near = near.filter(|near| self.entries.contains_key(near));
        let full = near.unwrap_or_else(|| parent.to_owned());
        self.merge_sources(&full, &self.sources_of(&full), named_at, chain)
    }

    /// Returns everything that is wrong with any role.
    pub fn faults(&self) -> Vec<Diagnostic> {
        let names: BTreeSet<&String> = self.entries.keys().collect();
        let faults = names
            .into_iter()
            .filter_map(|name| self.resolve(name).err());
        faults.flatten().collect()
    }
}

/// Replaces synonymous keys by one spelling, so that the layers merge.
fn normalise_keys(node: &mut YamlNode) {
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

/// Merges a role over the one it builds on. Prompts are concatenated, unless the upper one replaces
/// the lower.
fn merge_over(below: Option<YamlNode>, mut own: YamlNode, replaces: bool) -> YamlNode {
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

/// Refuses keys of other tools that codeteam handles differently.
fn reject_foreign_keys(node: &YamlNode) -> Result<(), Vec<Diagnostic>> {
    const KNOWN: &[(&str, &str)] = &[
        (
            "flags",
            "leave them out: codeteam knows how to call each CLI",
        ),
        ("author", "leave it out: git knows who wrote it"),
        ("dependencies", "name what it builds on with `extends`"),
        (
            "preferred_worker",
            "name workers with `worker`; the first that can be used is",
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
            Some(Diagnostic::at(key.place, message).with_hint(*advice))
        })
        .collect();
    if node.as_map().is_none() {
        let message = format!("expected a role, found {}", node.kind());
        return Err(vec![Diagnostic::at(node.place, message)]);
    }
    let mut misplaced = DocumentKind::Role.find_misplaced(node);
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

/// Returns the diagnostic for a role that a workflow names and that does not exist.
pub(crate) fn unknown_role(
    book: &RoleCatalog,
    scopes: &[String],
    name: &str,
    place: SourcePosition,
) -> Diagnostic {
    let few = || suggest_word(name, std::iter::empty());
    let hint = book.suggest(scopes, name).or_else(few);
    let hint = hint.or_else(|| Some("`codeteam role list` lists all of them".to_owned()));
    Diagnostic::at(place, format!("there is no role `{name}`")).with_optional_hint(hint)
}

#[cfg(test)]
mod tests;
