//! Resolves imports of Go: to all files of a package's folder except its tests.

use std::collections::{HashMap, HashSet};

use super::manifests::{self, GoMod};
use super::paths::{PathTable, folder_of, join, join_below};
use super::{ImportTarget, ManifestReader};
use crate::language::Language;
use crate::outline::Import;

/// Resolves Go imports.
pub(super) struct GoResolver<'a> {
    /// The modules of the repository, by module path.
    modules: HashMap<String, String>,
    /// Modules that the repository requires.
    required: HashSet<String>,
    /// The groups, by folder.
    folders: HashMap<&'a str, u32>,
    /// The files of each folder, which become nodes of their own.
    pub(super) groups: Vec<Vec<u32>>,
    paths: &'a PathTable<'a>,
}

impl<'a> GoResolver<'a> {
    pub(super) fn new(paths: &'a PathTable<'a>, read: &ManifestReader<'_>) -> Self {
        let mut go = Self {
            modules: HashMap::new(),
            required: HashSet::new(),
            folders: HashMap::new(),
            groups: Vec::new(),
            paths,
        };
        for path in paths.paths_named("go.mod") {
            let Some(text) = read(path) else { continue };
            let folder = folder_of(path);
            let GoMod {
                name,
                required,
                replaced,
            } = manifests::parse_go_mod(&text);
            // Of two modules with the same name, the upper one wins.
            go.modules.entry(name).or_insert_with(|| folder.to_owned());
            go.required.extend(required);
            for (name, to) in replaced {
                if let Some(folder) = join(folder, &to) {
                    go.modules.entry(name).or_insert(folder);
                }
            }
        }
        let first = u32::try_from(paths.all.len()).unwrap_or(u32::MAX);
        for (number, path) in paths.files_in_language(Language::Go) {
            if path.ends_with("_test.go") {
                continue;
            }
            let next = first.saturating_add(u32::try_from(go.groups.len()).unwrap_or(u32::MAX));
            let group = *go.folders.entry(folder_of(path)).or_insert(next);
            match go.groups.get_mut(super::node_index(group - first)) {
                Some(members) => members.push(number),
                None => go.groups.push(vec![number]),
            }
        }
        go
    }

    pub(super) fn resolve(&self, file: u32, import: &Import) -> ImportTarget {
        let path = import.module.as_str();
        if path.starts_with("./") || path.starts_with("../") {
            let folder = join(folder_of(self.paths.path(file)), path);
            return folder.map_or(ImportTarget::Nowhere, |folder| self.package_target(&folder));
        }
        // Find the longest module that is a prefix of the path.
        for (module, rest) in prefixes(path) {
            if let Some(folder) = self.modules.get(module) {
                let folder = join_below(folder, rest);
                return self.package_target(&folder);
            }
            if self.required.contains(module) {
                let vendored = self.folders.get(format!("vendor/{path}").as_str());
                return match vendored {
                    Some(group) => ImportTarget::To(vec![*group]),
                    None => ImportTarget::Package(module.to_owned()),
                };
            }
        }
        let first = path.split('/').next().unwrap_or("");
        if first.contains('.') {
            ImportTarget::Nowhere
        } else {
            ImportTarget::Package(path.to_owned())
        }
    }

    fn package_target(&self, folder: &str) -> ImportTarget {
        if let Some(group) = self.folders.get(folder) {
            return ImportTarget::To(vec![*group]);
        }
        let planned = self.paths.find(&format!("{folder}/x.go"));
        ImportTarget::from_file(planned).unwrap_or(ImportTarget::Nowhere)
    }
}

/// Returns the prefixes of a path with the rest after each, from the whole path to its first part.
fn prefixes(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.rmatch_indices('/').map(|(at, _)| at);
    std::iter::once((path, "")).chain(ends.map(|at| (&path[..at], &path[at + 1..])))
}
