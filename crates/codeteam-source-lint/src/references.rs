//! Which top-level modules of a crate refer to which others, and the cycles among them.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use crate::modules::ModuleSource;

/// The references between the top-level modules of a crate. The crate's root is not among them: it
/// declares and re-exports all others.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleGraph {
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl ModuleGraph {
    pub(crate) fn from_modules(modules: &[ModuleSource]) -> Self {
        let names: BTreeSet<&str> = modules
            .iter()
            .filter_map(|module| module.path.first().map(String::as_str))
            .collect();
        let reexports = root_reexports(modules, &names);
        let mut edges: BTreeMap<String, BTreeSet<String>> = names
            .iter()
            .map(|name| ((*name).to_owned(), BTreeSet::new()))
            .collect();
        for module in modules {
            let Some(own) = module.path.first() else {
                continue;
            };
            let mut collector = PathCollector {
                module: &module.path,
                found: BTreeSet::new(),
            };
            for item in &module.items {
                collector.visit_item(item);
            }
            for name in collector.found {
                let target = names.get(name.as_str()).map(|name| (*name).to_owned());
                let target = target.or_else(|| reexports.get(&name).cloned());
                if let Some(target) = target.filter(|target| target != own)
                    && let Some(known) = edges.get_mut(own)
                {
                    known.insert(target);
                }
            }
        }
        Self { edges }
    }

    /// The groups of modules that depend on each other in a cycle, each sorted by name.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        for name in self.edges.keys() {
            if found.iter().any(|cycle| cycle.contains(name)) {
                continue;
            }
            let below = self.reachable_from(name);
            let cycle: Vec<String> = below
                .iter()
                .filter(|other| self.reachable_from(other).contains(name))
                .cloned()
                .collect();
            if cycle.len() > 1 {
                found.push(cycle);
            }
        }
        found
    }

    fn reachable_from(&self, name: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(name) = open.pop() {
            for next in self.edges.get(&name).into_iter().flatten() {
                if found.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        found
    }
}

/// The names that the crate's root re-exports, by the module that they come from.
fn root_reexports(modules: &[ModuleSource], names: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let roots = modules.iter().filter(|module| module.path.is_empty());
    for item in roots.flat_map(|module| &module.items) {
        let Item::Use(item) = item else {
            continue;
        };
        let mut paths = Vec::new();
        flatten_use(&item.tree, &mut Vec::new(), &mut paths);
        for path in paths {
            let mut parts = path
                .iter()
                .skip_while(|part| *part == "self" || *part == "crate");
            let module = parts.next().filter(|name| names.contains(name.as_str()));
            if let (Some(module), Some(name)) = (module, path.last()) {
                found.insert(name.clone(), module.clone());
            }
        }
    }
    found
}

/// All paths that a `use` names; the last part is the name that is brought into scope.
fn flatten_use(tree: &UseTree, above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let with = |above: &[String], last: String| {
        let mut path = above.to_vec();
        path.push(last);
        path
    };
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            flatten_use(&path.tree, above, found);
            above.pop();
        }
        UseTree::Name(name) => found.push(with(above, name.ident.to_string())),
        UseTree::Rename(rename) => {
            let mut path = with(above, rename.ident.to_string());
            path.push(rename.rename.to_string());
            found.push(path);
        }
        UseTree::Glob(_) => found.push(with(above, "*".to_owned())),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten_use(tree, above, found);
            }
        }
    }
}

/// Collects the first part below the crate's root of all paths that a module names.
struct PathCollector<'a> {
    module: &'a [String],
    found: BTreeSet<String>,
}

impl PathCollector<'_> {
    fn add(&mut self, path: &[String]) {
        let mut at: Option<Vec<String>> = None;
        for (place, part) in path.iter().enumerate() {
            at = match (part.as_str(), at) {
                ("crate", None) if place == 0 => Some(Vec::new()),
                ("self", None) if place == 0 => Some(self.module.to_vec()),
                ("super", None) if place == 0 => Some(parent(self.module)),
                ("super", Some(module)) => Some(parent(&module)),
                (_, None) => return,
                (name, Some(mut module)) => {
                    if module.is_empty() {
                        self.found.insert(name.to_owned());
                        return;
                    }
                    module.push(name.to_owned());
                    Some(module)
                }
            };
        }
    }

    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut words: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(word) => words.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => words.push(":".to_owned()),
                TokenTree::Group(group) => {
                    words.push("(".to_owned());
                    self.add_tokens(group.stream());
                }
                other => words.push(other.to_string()),
            }
        }
        for start in 0..words.len() {
            if !matches!(words[start].as_str(), "crate" | "super") {
                continue;
            }
            let mut path = vec![words[start].clone()];
            let mut rest = &words[start + 1..];
            while let [one, two, word, after @ ..] = rest
                && one == ":"
                && two == ":"
            {
                path.push(word.clone());
                rest = after;
            }
            self.add(&path);
        }
    }
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

impl<'ast> Visit<'ast> for PathCollector<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten_use(&item.tree, &mut Vec::new(), &mut paths);
        for path in paths {
            self.add(&path);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.add(&parts);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &[&str], text: &str) -> ModuleSource {
        ModuleSource {
            path: path.iter().map(|part| (*part).to_owned()).collect(),
            items: syn::parse_file(text).unwrap().items,
            lines: 0,
        }
    }

    #[test]
    fn a_cycle_is_found_however_its_references_are_written() {
        let modules = [
            module(&[], "pub use self::b::Thing;"),
            module(&["a"], "use crate::Thing;"),
            module(
                &["b", "inner"],
                "fn f() { println!(\"{}\", crate::c::NAME); }",
            ),
            module(&["b"], "pub struct Thing;"),
            module(&["c", "deep", "er"], "use super::super::super::{a::x, d};"),
            module(&["d"], "use std::fmt; fn f(x: crate::e::E) {}"),
            module(&["e"], "pub struct E;"),
        ];
        let graph = ModuleGraph::from_modules(&modules);
        assert_eq!(graph.cycles(), [["a", "b", "c"]]);
    }
}
