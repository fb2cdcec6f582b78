//! Extracts imports of Rust: `use`, `mod x;`, `extern crate`, and paths in the code. Macro bodies
//! are not inspected.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{ChildVisit, Import, ImportCollector, ImportForm, children, line, one_line, walk};

/// The largest number of names in the tree of one `use`.
const MAX_LEAVES: usize = 2_000;

/// The largest number of segments in a path.
const MAX_DEPTH: usize = 32;

/// Paths that begin with one of these resolve to no other file.
const NOWHERE: &[&str] = &[
    "std", "core", "alloc", "bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "usize",
    "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
];

/// Finds all imports and mentioned paths.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    let mut state = RustImportFinder {
        inside: Vec::new(),
        local: BTreeSet::new(),
        met: BTreeSet::new(),
        paths: Vec::new(),
    };
    walk(root, |node, depth| {
        while state.inside.last().is_some_and(|(at, _)| *at >= depth) {
            state.inside.pop();
        }
        match node.kind() {
            "use_declaration" => state.add_use(node, found),
            "extern_crate_declaration" => {
                let name = found.field(node, "name").unwrap_or("");
                if name != "self" {
                    found.add(node, &format!("::{name}"), Vec::new(), ImportForm::Import);
                }
            }
            "mod_item" => {
                let name = found.field(node, "name").unwrap_or("").to_owned();
                if node.child_by_field_name("body").is_some() {
                    state.local.insert(name.clone());
                    state.inside.push((depth, name));
                    return ChildVisit::Seen;
                }
                state.add_mod(node, name, found);
            }
            "scoped_identifier" | "scoped_type_identifier" => state.note_path(node, found),
            _ => return ChildVisit::Seen,
        }
        ChildVisit::Skipped
    });
    state.finish(found);
}

struct RustImportFinder<'t> {
    /// The enclosing inline modules with their depths.
    inside: Vec<(usize, String)>,
    /// Names that this file defines.
    local: BTreeSet<String>,
    /// Prefixes of paths that were encountered.
    met: BTreeSet<String>,
    /// The first occurrences of these paths.
    paths: Vec<(Node<'t>, Vec<String>)>,
}

impl<'t> RustImportFinder<'t> {
    /// Adds `use a::{b, c::d as e, f::*}`: one import for each path before a name.
    fn add_use(&mut self, node: Node<'_>, found: &mut ImportCollector<'_>) {
        let Some(tree) = node.child_by_field_name("argument") else {
            return;
        };
        let leaves = leaves(tree, found);
        let mut imports: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for UseLeaf { mut path, alias } in leaves {
            let is_lone = path.len() < 2;
            let name = if is_lone { None } else { path.pop() };
            match alias {
                Some(alias) => self.local.insert(alias),
                None => match name.as_deref() {
                    Some("self") => self.local.insert(path.last().cloned().unwrap_or_default()),
                    Some(name) => self.local.insert(name.to_owned()),
                    None => false,
                },
            };
            let path = self.at_top(path);
            match imports.iter_mut().find(|(known, _)| *known == path) {
                Some((_, names)) => names.extend(name),
                None => imports.push((path, name.into_iter().collect())),
            }
        }
        for (path, names) in imports {
            found.add(node, &path.join("::"), names, ImportForm::Import);
        }
    }

    /// Adds `mod x;`, which may have a path attribute.
    fn add_mod(&self, node: Node<'_>, name: String, found: &mut ImportCollector<'_>) {
        if self.inside.len() > MAX_DEPTH {
            return;
        }
        let mut before = node.prev_named_sibling();
        while let Some(attribute) = before.filter(|node| node.kind() == "attribute_item") {
            if let Some(path) = path_attribute(found.text(attribute)) {
                let folders: Vec<&str> = self.inside.iter().map(|(_, n)| n.as_str()).collect();
                let inside = if folders.is_empty() {
                    String::new()
                } else {
                    format!("{}/", folders.join("/"))
                };
                let path = format!("./{inside}{path}");
                found.add(node, &path, vec![name], ImportForm::Part);
                return;
            }
            before = attribute.prev_named_sibling();
        }
        let mut path = vec!["self".to_owned()];
        path.extend(self.inside.iter().map(|(_, name)| name.clone()));
        path.push(name);
        found.add(node, &path.join("::"), Vec::new(), ImportForm::Part);
    }

    /// Records a path in the code.
    fn note_path(&mut self, node: Node<'t>, found: &ImportCollector<'_>) {
        let text = found.text(node);
        let mut path: Vec<String> = Vec::new();
        for part in text.split("::") {
            let part = part.trim();
            let is_name = part.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_name || (part.is_empty() && !path.is_empty()) || path.len() > MAX_DEPTH {
                break;
            }
            path.push(part.to_owned());
        }
        let Some(first) = path.first().filter(|_| path.len() > 1) else {
            return;
        };
        if first.starts_with(char::is_uppercase) || NOWHERE.contains(&first.as_str()) {
            return;
        }
        let path = self.at_top(path);
        if path.len() > 1 && self.met.insert(path[..path.len() - 1].join("::")) {
            self.paths.push((node, path));
        }
    }

    /// Rewrites a path as the top of the file would write it.
    fn at_top(&self, path: Vec<String>) -> Vec<String> {
        if self.inside.is_empty() || self.inside.len() > MAX_DEPTH {
            return path;
        }
        let up = path
            .iter()
            .take_while(|part| *part == "super" || *part == "self")
            .count();
        if up == 0 {
            return path;
        }
        let ups = path[..up].iter().filter(|part| *part == "super").count();
        let depth = self.inside.len();
        let mut whole = Vec::new();
        if ups > depth {
            whole.extend(vec!["super".to_owned(); ups - depth]);
        } else {
            whole.push("self".to_owned());
            whole.extend(self.inside[..depth - ups].iter().map(|(_, n)| n.clone()));
        }
        whole.extend_from_slice(&path[up..]);
        whole
    }

    /// Finishes the collection: imports of the file's own names are not imports of other files, and
    /// paths that begin with an imported name are covered by that import.
    fn finish(self, found: &mut ImportCollector<'_>) {
        let declared = |import: &Import| {
            let form = import.form == ImportForm::Part;
            form.then(|| import.module.strip_prefix("self::").map(str::to_owned))?
        };
        let declared: BTreeSet<String> = found.imports.iter().filter_map(declared).collect();
        for import in &mut found.imports {
            let first = import.module.split("::").next().unwrap_or("");
            let is_local = self.local.contains(first) && import.module != first;
            let is_lone = self.local.contains(first) && !import.names.is_empty();
            // A single name is mostly a macro.
            let is_own = first.starts_with(char::is_uppercase)
                || (import.module == first && import.names.is_empty())
                || ((is_local || is_lone) && !declared.contains(first));
            if import.form == ImportForm::Import && is_own {
                import.form = ImportForm::Mention;
            }
        }
        for (node, path) in self.paths {
            let first = path[0].as_str();
            let is_imported = self.local.contains(first) && !declared.contains(first);
            if !is_imported && let Some((name, module)) = path.split_last() {
                let shown = one_line(found.text(node));
                let names = vec![name.clone()];
                found.add_shown(
                    line(node),
                    shown,
                    &module.join("::"),
                    names,
                    ImportForm::Mention,
                );
            }
        }
    }
}

/// Returns the value of `#[path = "x.rs"]`.
fn path_attribute(attribute: &str) -> Option<&str> {
    let inner = attribute.strip_prefix("#[")?.trim_start();
    let rest = inner.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    let rest = rest.trim_start().strip_prefix('"')?;
    rest.split('"').next()
}

/// One name of a `use` tree.
struct UseLeaf {
    path: Vec<String>,
    alias: Option<String>,
}

/// Returns the names of a `use` tree, in order.
fn leaves(tree: Node<'_>, found: &ImportCollector<'_>) -> Vec<UseLeaf> {
    let mut leaves = Vec::new();
    let mut open: Vec<(Node<'_>, Vec<String>)> = vec![(tree, Vec::new())];
    while let Some((node, before)) = open.pop() {
        if leaves.len() >= MAX_LEAVES {
            break;
        }
        if before.len() > MAX_DEPTH {
            continue;
        }
        let with = |text: &str| {
            let mut path = before.clone();
            let parts = text.split("::").map(str::trim).enumerate();
            // A leading `::` is kept as an empty first segment.
            let parts = parts.filter(|(at, part)| !part.is_empty() || *at == 0);
            path.extend(parts.map(|(_, part)| part.to_owned()));
            path
        };
        match node.kind() {
            "use_list" => {
                let inner = children(node).into_iter().rev();
                open.extend(inner.map(|node| (node, before.clone())));
            }
            "scoped_use_list" => {
                let path = match found.field(node, "path") {
                    Some(path) => with(path),
                    None => before.clone(),
                };
                let list = node.child_by_field_name("list");
                open.extend(list.map(|list| (list, path)));
            }
            "use_as_clause" => {
                let path = with(found.field(node, "path").unwrap_or(""));
                let alias = found.field(node, "alias").map(str::to_owned);
                leaves.push(UseLeaf { path, alias });
            }
            "use_wildcard" => {
                let path = node.named_child(0).map(|path| found.text(path));
                let mut path = path.map_or_else(|| before.clone(), with);
                path.push("*".to_owned());
                leaves.push(UseLeaf { path, alias: None });
            }
            "identifier" | "self" | "super" | "crate" | "scoped_identifier" | "metavariable" => {
                let path = with(found.text(node));
                leaves.push(UseLeaf { path, alias: None });
            }
            _ => {}
        }
    }
    leaves
}
