//! Renders a map as text.

use std::collections::{BTreeMap, BTreeSet};

use super::{MapCandidate, MappedDefinition, MappedFile, RepositoryMap};
use crate::graph::ImportanceRanks;
use crate::index::SourceIndex;
use crate::outline::Outline;
use crate::tokens::TokenCounter;

/// Renders the map of these definitions and of the ones that contain them.
pub(super) fn render_map(
    index: &SourceIndex,
    ranks: &ImportanceRanks,
    candidates: &[MapCandidate],
    counter: &mut TokenCounter,
) -> RepositoryMap {
    let mut files: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for candidate in candidates {
        let shown = files.entry(candidate.file).or_default();
        let outline = index.outline(candidate.file);
        let mut next = Some(candidate.definition);
        // A definition that is already shown is shown together with everything that contains it.
        while let Some(at) = next.filter(|at| shown.insert(*at)) {
            let inside = outline.definitions.get(at).and_then(|it| it.inside);
            next = inside.map(|inside| inside as usize);
        }
    }
    let mut map = RepositoryMap::default();
    for (file, shown) in files {
        let outline = index.outline(file);
        let part = mapped_file(index, ranks, file, &shown);
        if !map.text.is_empty() {
            map.text.push('\n');
        }
        write_file(&part, outline, &shown, &mut map.text);
        map.files.push(part);
    }
    map.tokens = counter.count(&map.text);
    map
}

fn mapped_file(
    index: &SourceIndex,
    ranks: &ImportanceRanks,
    file: usize,
    shown: &BTreeSet<usize>,
) -> MappedFile {
    let outline = index.outline(file);
    let mut depths: BTreeMap<usize, usize> = BTreeMap::new();
    let definitions = shown.iter().map(|at| {
        let definition = &outline.definitions[*at];
        let depth = definition
            .inside
            .and_then(|inside| depths.get(&(inside as usize)))
            .map_or(0, |depth| depth + 1);
        depths.insert(*at, depth);
        MappedDefinition {
            name: definition.name.clone(),
            kind: definition.kind,
            line: definition.line,
            depth,
            signature: definition.signature.clone(),
            score: ranks.definitions[file][*at],
        }
    });
    MappedFile {
        path: index.path(file).to_owned(),
        rank: ranks.files[file],
        definitions: definitions.collect(),
    }
}

fn write_file(part: &MappedFile, outline: &Outline, shown: &BTreeSet<usize>, out: &mut String) {
    out.push_str(&part.path);
    out.push_str(":\n");
    let mut next = 0;
    let mut depth = 0;
    for (at, definition) in shown.iter().zip(&part.definitions) {
        if *at > next {
            gap(depth.min(definition.depth), out);
        }
        depth = definition.depth;
        indent(depth, out);
        out.push_str(&definition.signature);
        out.push('\n');
        next = at + 1;
    }
    if outline.definitions.len() > next {
        gap(0, out);
    }
}

fn gap(depth: usize, out: &mut String) {
    indent(depth, out);
    out.push_str("⋮\n");
}

fn indent(depth: usize, out: &mut String) {
    // Nobody nests deeper on purpose.
    for _ in 0..depth.min(8) {
        out.push_str("    ");
    }
}
