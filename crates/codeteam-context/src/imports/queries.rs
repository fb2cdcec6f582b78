//! What can be asked of the graph.

use std::collections::BTreeSet;

use super::{ExternalImport, ImportEdge, ImportGraph, ImportStatement, at};
use crate::outline::ImportForm;

/// Which way imports are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportDirection {
    /// To what is imported.
    Imports,
    /// To what imports.
    Importers,
}

/// A file that was reached, and over how many imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedFile<'g> {
    /// Its path.
    pub path: &'g str,
    /// How many imports lie between, at least one.
    pub distance: u32,
}

impl ImportGraph {
    /// All files, in the order of their paths.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The files that a file imports, in their order.
    pub fn imports_of(&self, path: &str) -> Vec<&str> {
        let found = self
            .number(path)
            .map(|file| self.next(file, ImportDirection::Imports));
        self.names(found.unwrap_or_default())
    }

    /// The files that import a file, in their order.
    pub fn importers_of(&self, path: &str) -> Vec<&str> {
        let found = self.number(path);
        let found = found.map(|file| self.next(file, ImportDirection::Importers));
        self.names(found.unwrap_or_default())
    }

    /// Every import of a file by another, as their paths. A file of Go imports every file of a
    /// package, so that there may be very many.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = (0_u32..).zip(&self.files);
        files.flat_map(|(file, path)| {
            let to = self.names(self.next(file, ImportDirection::Imports));
            to.into_iter().map(move |to| (path.as_str(), to))
        })
    }

    /// The files that can be reached from some others over at most so many imports, the nearest
    /// first; not those others themselves.
    pub fn reach(&self, from: &[&str], way: ImportDirection, depth: u32) -> Vec<ReachedFile<'_>> {
        let mut seen = vec![false; self.files.len() + self.groups.len()];
        let mut open: Vec<u32> = from.iter().filter_map(|path| self.number(path)).collect();
        for file in &open {
            seen[at(*file)] = true;
        }
        let mut reached = Vec::new();
        for distance in 1..=depth {
            let mut next = BTreeSet::new();
            for file in &open {
                self.each_next(*file, way, &mut seen, &mut next);
            }
            if next.is_empty() {
                break;
            }
            let found = next.iter().map(|file| ReachedFile {
                path: &self.files[at(*file)],
                distance,
            });
            reached.extend(found);
            open = next.into_iter().collect();
        }
        reached
    }

    /// What shows that a file imports another, in the order of the lines; nothing if it does not.
    pub fn why(&self, from: &str, to: &str) -> Vec<ImportStatement<'_>> {
        let (Some(from), Some(to)) = (self.number(from), self.number(to)) else {
            return Vec::new();
        };
        let groups = self.within.get(&to).map_or(&[][..], Vec::as_slice);
        let leads = |edge: &&ImportEdge| edge.to == to || groups.contains(&edge.to);
        let edges = self.out[at(from)].iter().filter(leads);
        edges.map(|edge| self.shown(edge.shown)).collect()
    }

    /// The imports of a file that lead to no file, in the order of the lines.
    pub fn outside(&self, path: &str) -> Vec<ExternalImport<'_>> {
        let found = self.number(path).and_then(|file| self.outside.get(&file));
        found
            .into_iter()
            .flatten()
            .map(|away| ExternalImport {
                shown: self.shown(away.shown),
                module: &away.module,
                package: away.package.as_deref(),
            })
            .collect()
    }

    /// Files that import each other, however far round, at least two together; in the order of
    /// their paths. Imports of types do not count, as nothing is loaded by them, nor do parts of a
    /// file that lie elsewhere.
    pub fn cycles(&self) -> Vec<Vec<&str>> {
        let mut cycles: Vec<Vec<&str>> = Vec::new();
        for mut component in self.components() {
            component.retain(|node| at(*node) < self.files.len());
            if component.len() > 1 {
                cycles.push(self.names(component.into_iter().collect()));
            }
        }
        cycles.sort();
        cycles
    }

    fn number(&self, path: &str) -> Option<u32> {
        let found = self.files.binary_search_by(|file| file.as_str().cmp(path));
        found.ok().and_then(|at| u32::try_from(at).ok())
    }

    fn names(&self, files: BTreeSet<u32>) -> Vec<&str> {
        let files = files.into_iter();
        files.map(|file| self.files[at(file)].as_str()).collect()
    }

    fn shown(&self, number: u32) -> ImportStatement<'_> {
        let seen = &self.shown[at(number)];
        ImportStatement {
            line: seen.line,
            statement: &self.text[seen.statement.clone()],
            form: seen.form,
        }
    }

    /// The members of a node that is no file.
    fn members(&self, node: u32) -> Option<&[u32]> {
        let group = at(node).checked_sub(self.files.len())?;
        self.groups.get(group).map(Vec::as_slice)
    }

    fn next(&self, file: u32, way: ImportDirection) -> BTreeSet<u32> {
        let mut seen = BTreeSet::from([file]);
        let mut next = BTreeSet::new();
        match way {
            ImportDirection::Imports => {
                for edge in &self.out[at(file)] {
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
                let groups = self.within.get(&file).into_iter().flatten();
                for node in std::iter::once(&file).chain(groups) {
                    next.extend(&self.back[at(*node)]);
                }
            }
        }
        next.remove(&file);
        next
    }

    /// The same, but each node once in all.
    fn each_next(
        &self,
        file: u32,
        way: ImportDirection,
        seen: &mut [bool],
        next: &mut BTreeSet<u32>,
    ) {
        let mut add = |node: u32, seen: &mut [bool]| {
            let is_new = !std::mem::replace(&mut seen[at(node)], true);
            if is_new && at(node) < self.files.len() {
                next.insert(node);
            }
            is_new
        };
        match way {
            ImportDirection::Imports => {
                for edge in &self.out[at(file)] {
                    let is_new = add(edge.to, seen);
                    for member in self.members(edge.to).filter(|_| is_new).unwrap_or(&[]) {
                        add(*member, seen);
                    }
                }
            }
            ImportDirection::Importers => {
                for importer in &self.back[at(file)] {
                    add(*importer, seen);
                }
                for group in self.within.get(&file).into_iter().flatten() {
                    if add(*group, seen) {
                        for importer in &self.back[at(*group)] {
                            add(*importer, seen);
                        }
                    }
                }
            }
        }
    }

    /// The nodes that a node needs when it is loaded.
    fn loaded(&self, node: u32) -> Vec<u32> {
        if let Some(members) = self.members(node) {
            return members.to_vec();
        }
        let loads = |edge: &&ImportEdge| {
            let form = self.shown[at(edge.shown)].form;
            form != ImportForm::Types && form != ImportForm::Part
        };
        let mut to: Vec<u32> = self.out[at(node)]
            .iter()
            .filter(loads)
            .map(|e| e.to)
            .collect();
        to.sort_unstable();
        to.dedup();
        to
    }

    /// The strongly connected components, by Tarjan's algorithm without recursion.
    fn components(&self) -> Vec<Vec<u32>> {
        let nodes = self.files.len() + self.groups.len();
        let mut state = TarjanSearch::new(nodes);
        for start in 0..u32::try_from(nodes).unwrap_or(u32::MAX) {
            if state.index[at(start)].is_none() {
                state.visit(start, |node| self.loaded(node));
            }
        }
        state.components
    }
}

/// Where the search for components stands. What has not been met has no number.
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
        self.index[at(node)] = Some(self.met);
        self.low[at(node)] = self.met;
        self.met += 1;
        self.stack.push(node);
        self.on_stack[at(node)] = true;
    }

    fn visit(&mut self, start: u32, next: impl Fn(u32) -> Vec<u32>) {
        self.enter(start);
        let mut path = vec![(start, next(start).into_iter())];
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            if let Some(to) = rest.next() {
                match self.index[at(to)] {
                    None => {
                        self.enter(to);
                        path.push((to, next(to).into_iter()));
                    }
                    Some(index) if self.on_stack[at(to)] => {
                        self.low[at(node)] = self.low[at(node)].min(index);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let low = self.low[at(node)];
            if let Some((above, _)) = path.last() {
                self.low[at(*above)] = self.low[at(*above)].min(low);
            }
            if Some(low) == self.index[at(node)] {
                self.close(node);
            }
        }
    }

    /// All that was met since a node is one component with it.
    fn close(&mut self, node: u32) {
        let from = self.stack.iter().rposition(|other| *other == node);
        let component = self.stack.split_off(from.unwrap_or(0));
        for member in &component {
            self.on_stack[at(*member)] = false;
        }
        self.components.push(component);
    }
}
