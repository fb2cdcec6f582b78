//! What can be worked out of a tree's files: by [`crate::find`] for a person, by a sight for a role.

use std::path::Path;

use codeteam_context::files::Files;
use codeteam_context::find::{Sketches, is_generated};
use codeteam_context::imports::{self, Graph, Source};
use codeteam_context::index::Index;
use codeteam_context::outline::Outline;

/// Which file imports which.
pub(crate) fn imports(files: &dyn Files, index: &Index) -> Graph {
    // All of them: manifests say what is a package.
    let sources: Vec<Source<'_>> = files
        .list()
        .iter()
        .map(|file| Source {
            path: &file.path,
            imports: match index.file(&file.path) {
                Some(at) => &index.outline(at).imports,
                None => &[],
            },
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
