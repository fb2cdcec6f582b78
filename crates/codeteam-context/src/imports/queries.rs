//! Queries on the import graph.

use std::collections::BTreeSet;

use super::{ExternalImport, ImportEdge, ImportGraph, ImportStatement, node_index};
use crate::outline::ImportForm;

/// The direction in which imports are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportDirection {
    /// To the imported files.
    Imports,
    /// To the importing files.
    Importers,
}

/// A file that was reached, with its distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedFile<'g> {
    /// The path of the file.
    pub path: &'g str,
    /// The number of imports in between, at least one.
    pub distance: u32,
}

impl ImportGraph {
    /// Returns all files, in the order of their paths.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns the files that a file imports, in order.
    pub fn imports_of(&self, path: &str) -> Vec<&str> {
        let found = self
            .node_number(path)
            .map(|file| self.neighbours(file, ImportDirection::Imports));
        self.paths_of_nodes(found.unwrap_or_default())
    }

    /// Returns the files that import a file, in order.
    pub fn importers_of(&self, path: &str) -> Vec<&str> {
        let found = self.node_number(path);
        let found = found.map(|file| self.neighbours(file, ImportDirection::Importers));
        self.paths_of_nodes(found.unwrap_or_default())
    }

    /// Returns every pair of importing and imported file. A Go file imports every file of a
    /// package, so there may be very many.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = (0_u32..).zip(&self.files);
        files.flat_map(|(file, path)| {
            let to = self.paths_of_nodes(self.neighbours(file, ImportDirection::Imports));
            to.into_iter().map(move |to| (path.as_str(), to))
        })
    }

    /// Returns the files that are reachable from others over at most `depth` imports, the nearest
    /// first, without the starting files.
    pub fn reachable_files(
        &self,
        from: &[&str],
        way: ImportDirection,
        depth: u32,
    ) -> Vec<ReachedFile<'_>> {
        let mut seen = vec![false; self.files.len() + self.groups.len()];
        let mut open: Vec<u32> = from
            .iter()
            .filter_map(|path| self.node_number(path))
            .collect();
        for file in &open {
            seen[node_index(*file)] = true;
        }
        let mut reached = Vec::new();
        for distance in 1..=depth {
            let mut next = BTreeSet::new();
            for file in &open {
                self.collect_neighbours(*file, way, &mut seen, &mut next);
            }
            if next.is_empty() {
                break;
            }
            let found = next.iter().map(|file| ReachedFile {
                path: &self.files[node_index(*file)],
                distance,
            });
            reached.extend(found);
            open = next.into_iter().collect();
        }
        reached
    }

    /// Returns the statements by which a file imports another, in the order of the lines; empty if
    /// it does not.
    pub fn import_statements(&self, from: &str, to: &str) -> Vec<ImportStatement<'_>> {
        let (Some(from), Some(to)) = (self.node_number(from), self.node_number(to)) else {
            return Vec::new();
        };
        let groups = self.groups_of_file.get(&to).map_or(&[][..], Vec::as_slice);
        let leads = |edge: &&ImportEdge| edge.to == to || groups.contains(&edge.to);
        let edges = self.imports_of_file[node_index(from)].iter().filter(leads);
        edges.map(|edge| self.statement(edge.statement)).collect()
    }

    /// Returns the imports of a file that resolve to no file, in the order of the lines.
    pub fn external_imports(&self, path: &str) -> Vec<ExternalImport<'_>> {
        let found = self
            .node_number(path)
            .and_then(|file| self.outside.get(&file));
        found
            .into_iter()
            .flatten()
            .map(|away| ExternalImport {
                import: self.statement(away.statement),
                module: &away.module,
                package: away.package.as_deref(),
            })
            .collect()
    }

    /// Returns the groups of at least two files that import each other, directly or indirectly, in
    /// the order of their paths. Type-only imports do not count, because nothing is loaded by them,
    /// nor do parts of a file that are in another file.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let mut cycles: Vec<Vec<&str>> = Vec::new();
        for mut component in self.components() {
            component.retain(|node| node_index(*node) < self.files.len());
            if component.len() > 1 {
                cycles.push(self.paths_of_nodes(component.into_iter().collect()));
            }
        }
        cycles.sort();
        cycles
    }

    fn node_number(&self, path: &str) -> Option<u32> {
        let found = self.files.binary_search_by(|file| file.as_str().cmp(path));
        found.ok().and_then(|at| u32::try_from(at).ok())
    }

    fn paths_of_nodes(&self, files: BTreeSet<u32>) -> Vec<&str> {
        let files = files.into_iter();
        files
            .map(|file| self.files[node_index(file)].as_str())
            .collect()
    }

    fn statement(&self, number: u32) -> ImportStatement<'_> {
        let seen = &self.statements[node_index(number)];
        ImportStatement {
            line: seen.line,
            statement: &self.text[seen.statement.clone()],
            form: seen.form,
        }
    }

    /// Returns the members of a node that is a group.
    fn members(&self, node: u32) -> Option<&[u32]> {
        let group = node_index(node).checked_sub(self.files.len())?;
        self.groups.get(group).map(Vec::as_slice)
    }

    fn neighbours(&self, file: u32, way: ImportDirection) -> BTreeSet<u32> {
        let mut seen = BTreeSet::from([file]);
        let mut next = BTreeSet::new();
        match way {
            ImportDirection::Imports => {
                for edge in &self.imports_of_file[node_index(file)] {
                    match self.members(edge.to) {
                        Some(members) if seen.insert(edge.to) => next.extend(members),
                        Some(_) => {}
                        None => {
                            next.insert(edge.to);
                        }
                    }
                }
            }
            ImportDirection::Importers => {
                let groups = self.groups_of_file.get(&file).into_iter().flatten();
                for node in std::iter::once(&file).chain(groups) {
                    next.extend(&self.importers_of_node[node_index(*node)]);
                }
            }
        }
        next.remove(&file);
        next
    }

    /// Adds the neighbours of a file to `next`, each node only once overall.
    fn collect_neighbours(
        &self,
        file: u32,
        way: ImportDirection,
        seen: &mut [bool],
        next: &mut BTreeSet<u32>,
    ) {
        let mut add = |node: u32, seen: &mut [bool]| {
            let is_new = !std::mem::replace(&mut seen[node_index(node)], true);
            if is_new && node_index(node) < self.files.len() {
                next.insert(node);
            }
            is_new
        };
        match way {
            ImportDirection::Imports => {
                for edge in &self.imports_of_file[node_index(file)] {
                    let is_new = add(edge.to, seen);
                    for member in self.members(edge.to).filter(|_| is_new).unwrap_or(&[]) {
                        add(*member, seen);
                    }
                }
            }
            ImportDirection::Importers => {
                for importer in &self.importers_of_node[node_index(file)] {
                    add(*importer, seen);
                }
                for group in self.groups_of_file.get(&file).into_iter().flatten() {
                    if add(*group, seen) {
                        for importer in &self.importers_of_node[node_index(*group)] {
                            add(*importer, seen);
                        }
                    }
                }
            }
        }
    }

    /// Returns the nodes that a node needs when it is loaded.
    fn load_dependencies(&self, node: u32) -> Vec<u32> {
        if let Some(members) = self.members(node) {
            return members.to_vec();
        }
        let loads = |edge: &&ImportEdge| {
            let form = self.statements[node_index(edge.statement)].form;
            form != ImportForm::Types && form != ImportForm::Part
        };
        let mut to: Vec<u32> = self.imports_of_file[node_index(node)]
            .iter()
            .filter(loads)
            .map(|e| e.to)
            .collect();
        to.sort_unstable();
        to.dedup();
        to
    }

    /// Returns the strongly connected components, by Tarjan's algorithm without recursion.
    fn components(&self) -> Vec<Vec<u32>> {
        let nodes = self.files.len() + self.groups.len();
        let mut state = TarjanSearch::new(nodes);
        for start in 0..u32::try_from(nodes).unwrap_or(u32::MAX) {
            if state.index[node_index(start)].is_none() {
                state.visit(start, |node| self.load_dependencies(node));
            }
        }
        state.components
    }
}

/// The state of Tarjan's search. Nodes not visited yet have no index.
struct TarjanSearch {
    index: Vec<Option<u32>>,
    low: Vec<u32>,
    met: u32,
    stack: Vec<u32>,
    on_stack: Vec<bool>,
    components: Vec<Vec<u32>>,
}

impl TarjanSearch {
    fn new(nodes: usize) -> Self {
        Self {
            index: vec![None; nodes],
            low: vec![0; nodes],
            met: 0,
            stack: Vec::new(),
            on_stack: vec![false; nodes],
            components: Vec::new(),
        }
    }

    fn enter(&mut self, node: u32) {
        self.index[node_index(node)] = Some(self.met);
        self.low[node_index(node)] = self.met;
        self.met += 1;
        self.stack.push(node);
        self.on_stack[node_index(node)] = true;
    }

    fn visit(&mut self, start: u32, next: impl Fn(u32) -> Vec<u32>) {
        self.enter(start);
        let mut path = vec![(start, next(start).into_iter())];
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            if let Some(to) = rest.next() {
                match self.index[node_index(to)] {
                    None => {
                        self.enter(to);
                        path.push((to, next(to).into_iter()));
                    }
                    Some(index) if self.on_stack[node_index(to)] => {
                        self.low[node_index(node)] = self.low[node_index(node)].min(index);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let low = self.low[node_index(node)];
            if let Some((above, _)) = path.last() {
                self.low[node_index(*above)] = self.low[node_index(*above)].min(low);
            }
            if Some(low) == self.index[node_index(node)] {
                self.close(node);
            }
        }
    }

    /// Pops the component that a node is the root of.
    fn close(&mut self, node: u32) {
        let from = self.stack.iter().rposition(|other| *other == node);
        let component = self.stack.split_off(from.unwrap_or(0));
        for member in &component {
            self.on_stack[node_index(*member)] = false;
        }
        self.components.push(component);
    }
}
