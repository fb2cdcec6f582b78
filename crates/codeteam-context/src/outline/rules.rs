//! The meaning of each grammar's nodes, and the single tree walk that applies it.
//!
//! Each language is a table ([`GrammarRules`]) in a file of its own. The walk keeps its own stack,
//! so no nesting is too deep for it.

mod go;
mod java;
mod javascript;
mod python;
mod rust;

use std::sync::LazyLock;

use tree_sitter::{Node, TreeCursor};

use super::definitions::{Definition, DefinitionKind, DefinitionNode};
use super::references::{NameCollector, NameRole, Reference};
use crate::language::Language;

/// The meaning of a grammar's nodes.
pub(super) struct GrammarRules {
    /// Node kinds that may define something; [`GrammarRules::define`] decides.
    defines: &'static [&'static str],
    /// Collects the definitions of a node.
    define: for<'t> fn(Node<'t>, &NodeContext<'_, 't>, &mut NodeOutput<'t>),
    /// Node kinds that are functions, including anonymous ones. The body is the field `body`.
    pub(super) functions: &'static [&'static str],
    /// Node kinds that are names, with their default role.
    names: &'static [(&'static str, NameRole)],
    /// The role of a name or list by parent kind and field. An empty field name means no field.
    places: &'static [(&'static str, &'static str, NameRole)],
    /// Node kinds that pass their own role on to the names inside.
    lists: &'static [&'static str],
    /// Node kinds that access a member, with the field that holds the object.
    members: &'static [(&'static str, &'static str)],
    /// Node kinds that are not inspected at all.
    skipped: &'static [&'static str],
    /// Adjusts the definitions once all names are known.
    finish: fn(&mut [Definition], &NameCollector<'_>),
}

/// The position of a node.
pub(super) struct NodeContext<'a, 't> {
    /// The text of the whole file.
    text: &'t str,
    /// The ancestors, from the file down.
    above: &'a [Node<'t>],
    /// The definition that contains it.
    inside: Option<&'a Definition>,
    /// Whether it is inside a function, named or anonymous.
    in_function: bool,
}

impl<'t> NodeContext<'_, 't> {
    fn parent(&self) -> Option<Node<'t>> {
        self.above.last().copied()
    }

    /// Returns true if the parent is of this kind.
    fn is_in(&self, kind: &str) -> bool {
        self.parent().is_some_and(|node| node.kind() == kind)
    }

    fn text(&self, node: Node<'t>) -> &'t str {
        &self.text[node.byte_range()]
    }

    fn field(&self, node: Node<'t>, field: &str) -> Option<&'t str> {
        node.child_by_field_name(field).map(|node| self.text(node))
    }

    /// Returns true if it is inside a type, an interface, or an implementation of one.
    fn in_type(&self) -> bool {
        self.inside.is_some_and(|inside| {
            matches!(
                inside.kind,
                DefinitionKind::Type | DefinitionKind::Interface | DefinitionKind::Impl
            )
        })
    }
}

/// The contribution of a node.
#[derive(Default)]
pub(super) struct NodeOutput<'t> {
    found: Vec<DefinitionNode<'t>>,
    exported: Vec<&'t str>,
    imported: Vec<&'t str>,
    /// Names of the language's own library.
    foreign: Vec<&'t str>,
}

/// Rules, indexed by the numbers of a grammar's kinds and fields.
struct RuleTable {
    rules: &'static GrammarRules,
    kinds: Vec<NodeMeaning>,
    places: Vec<NameRole>,
    fields: usize,
}

#[expect(clippy::struct_excessive_bools, reason = "any of them may be so")]
#[derive(Clone, Copy, Default)]
struct NodeMeaning {
    name: NameRole,
    defines: bool,
    function: bool,
    list: bool,
    skipped: bool,
    parent: bool,
}

impl RuleTable {
    fn new(language: Language) -> Self {
        let grammar = language.grammar();
        let rules = rules(language);
        let fields = grammar.field_count() + 1;
        let mut kinds = vec![NodeMeaning::default(); grammar.node_kind_count()];
        let mut places = vec![NameRole::Unsaid; kinds.len() * fields];
        let id = |kind: &str| usize::from(grammar.id_for_node_kind(kind, true));
        for kind in rules.defines {
            kinds[id(kind)].defines = true;
        }
        for kind in rules.functions {
            kinds[id(kind)].function = true;
        }
        for (kind, role) in rules.names {
            kinds[id(kind)].name = *role;
        }
        for kind in rules.lists {
            kinds[id(kind)].list = true;
        }
        for kind in rules.skipped {
            kinds[id(kind)].skipped = true;
        }
        for (kind, field, role) in rules.places {
            let field = grammar.field_id_for_name(field).map_or(0, u16::from);
            kinds[id(kind)].parent = true;
            places[id(kind) * fields + usize::from(field)] = *role;
        }
        // Kinds that are not in the grammar have the number 0, which is that of the end of the
        // text.
        kinds[0] = NodeMeaning::default();
        Self {
            rules,
            kinds,
            places,
            fields,
        }
    }

    fn meaning(&self, node: Node<'_>) -> NodeMeaning {
        let kind = usize::from(node.kind_id());
        self.kinds.get(kind).copied().unwrap_or_default()
    }

    /// Returns the role of a node by its position.
    fn role(&self, above: &ParentNode, cursor: &TreeCursor<'_>) -> NameRole {
        if above.parent {
            let field = cursor.field_id().map_or(0, u16::from);
            let role = self.places[usize::from(above.kind) * self.fields + usize::from(field)];
            if role != NameRole::Unsaid {
                return role;
            }
        }
        above.role
    }
}

fn table(language: Language) -> &'static RuleTable {
    static TABLES: [LazyLock<RuleTable>; 7] = [
        LazyLock::new(|| RuleTable::new(Language::Python)),
        LazyLock::new(|| RuleTable::new(Language::JavaScript)),
        LazyLock::new(|| RuleTable::new(Language::TypeScript)),
        LazyLock::new(|| RuleTable::new(Language::Tsx)),
        LazyLock::new(|| RuleTable::new(Language::Rust)),
        LazyLock::new(|| RuleTable::new(Language::Go)),
        LazyLock::new(|| RuleTable::new(Language::Java)),
    ];
    &TABLES[match language {
        Language::Python => 0,
        Language::JavaScript => 1,
        Language::TypeScript => 2,
        Language::Tsx => 3,
        Language::Rust => 4,
        Language::Go => 5,
        Language::Java => 6,
    }]
}

/// Returns the rules of a language.
pub(super) fn rules(language: Language) -> &'static GrammarRules {
    match language {
        Language::Python => &python::RULES,
        Language::JavaScript | Language::TypeScript | Language::Tsx => &javascript::RULES,
        Language::Rust => &rust::RULES,
        Language::Go => &go::RULES,
        Language::Java => &java::RULES,
    }
}

/// An ancestor of the current node, with the role that it passes on.
struct ParentNode {
    kind: u16,
    parent: bool,
    role: NameRole,
}

/// A single walk over a tree.
struct OutlineWalk<'t> {
    table: &'static RuleTable,
    text: &'t str,
    nodes: Vec<Node<'t>>,
    above: Vec<ParentNode>,
    names: NameCollector<'t>,
    definitions: Vec<Definition>,
    /// The enclosing definitions with their depths.
    open: Vec<(usize, u32)>,
    /// The depths of the enclosing functions.
    functions: Vec<usize>,
}

/// Returns the definitions below a node in the order of the lines, and the names that are referred
/// to.
pub(super) fn collect_names(
    root: Node<'_>,
    text: &str,
    language: Language,
) -> (Vec<Definition>, Vec<Reference>) {
    let table = table(language);
    let mut walk = OutlineWalk {
        table,
        text,
        nodes: Vec::new(),
        above: Vec::new(),
        names: NameCollector::default(),
        definitions: Vec::new(),
        open: Vec::new(),
        functions: Vec::new(),
    };
    walk.visit_all(root);
    let mut definitions = walk.definitions;
    (table.rules.finish)(&mut definitions, &walk.names);
    for at in 0..definitions.len() {
        let shut = definitions[at].inside.is_some_and(|inside| {
            let inside = &definitions[inside as usize];
            !inside.public
                || matches!(
                    inside.kind,
                    DefinitionKind::Function | DefinitionKind::Method
                )
        });
        definitions[at].public &= !shut;
    }
    (definitions, walk.names.into_references())
}

impl<'t> OutlineWalk<'t> {
    fn visit_all(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        loop {
            if self.enter(&cursor) && cursor.goto_first_child() {
                continue;
            }
            self.leave();
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.leave();
            }
        }
    }

    /// Visits a node, and returns true if its children are to be visited.
    fn enter(&mut self, cursor: &TreeCursor<'t>) -> bool {
        let node = cursor.node();
        let meaning = self.table.meaning(node);
        let role = self
            .above
            .last()
            .map_or(NameRole::Unsaid, |above| self.table.role(above, cursor));
        if meaning.name != NameRole::Unsaid && !self.is_foreign(node) {
            let role = if role == NameRole::Unsaid {
                meaning.name
            } else {
                role
            };
            self.names.record(&self.text[node.byte_range()], role);
        }
        if meaning.defines {
            self.define(node);
        }
        if meaning.function {
            self.functions.push(self.nodes.len());
        }
        self.nodes.push(node);
        self.above.push(ParentNode {
            kind: node.kind_id(),
            parent: meaning.parent,
            role: if meaning.list { role } else { NameRole::Unsaid },
        });
        !meaning.skipped
    }

    /// Returns true if a name belongs to a package of the language's own library.
    fn is_foreign(&self, node: Node<'t>) -> bool {
        let Some(parent) = self.nodes.last() else {
            return false;
        };
        let mut members = self.table.rules.members.iter();
        let Some((_, field)) = members.find(|(kind, _)| parent.kind() == *kind) else {
            return false;
        };
        let of = parent.child_by_field_name(field);
        of.is_some_and(|of| of.id() != node.id() && self.names.is_own(&self.text[of.byte_range()]))
    }

    fn leave(&mut self) {
        self.nodes.pop();
        self.above.pop();
        let depth = self.nodes.len();
        while self.open.last().is_some_and(|(at, _)| *at >= depth) {
            self.open.pop();
        }
        while self.functions.last().is_some_and(|at| *at >= depth) {
            self.functions.pop();
        }
    }

    fn define(&mut self, node: Node<'t>) {
        let inside = self.open.last().map(|(_, at)| *at);
        let place = NodeContext {
            text: self.text,
            above: &self.nodes,
            inside: inside.map(|at| &self.definitions[at as usize]),
            in_function: !self.functions.is_empty(),
        };
        let mut out = NodeOutput::default();
        (self.table.rules.define)(node, &place, &mut out);
        self.names.exported.extend(out.exported);
        for name in out.foreign {
            self.names.record(name, NameRole::Own);
        }
        for name in out.imported {
            self.names.record(name, NameRole::Imported);
        }
        let Ok(first) = u32::try_from(self.definitions.len()) else {
            return;
        };
        if !out.found.is_empty() {
            self.open.push((self.nodes.len(), first));
        }
        let kept = out
            .found
            .into_iter()
            .map(|found| found.into_definition(inside));
        self.definitions.extend(kept);
    }
}
