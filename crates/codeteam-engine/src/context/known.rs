//! What can be worked out of a tree's files: by [`crate::find`] for a person, by a sight for a role.

use std::path::Path;

use codeteam_context::files::Files;
use codeteam_context::find::{Sketches, is_generated};
use codeteam_context::imports::{self, Graph, Source};
use codeteam_context::index::Index;
use codeteam_context::outline::Outline;

/// Which file imports which.
pub(crate) fn imports(files: &dyn Files, index: &Index) -> Graph {
    let sources: Vec<Source<'_>> = (0..index.len())
        .map(|file| Source {
            path: index.path(file),
            imports: &index.outline(file).imports,
        })
        .collect();
    Graph::of(&sources, &imports::reader(files))
}

/// The words of all files.
pub(crate) fn sketches(files: &dyn Files, index: &Index, cache: Option<&Path>) -> Sketches {
    let outline = |path: &str, _: &str| {
        let file = index.file(path).filter(|_| !is_generated(path));
        file.map_or_else(Outline::default, |file| index.outline(file).clone())
    };
    Sketches::take(files, &outline, cache)
}
