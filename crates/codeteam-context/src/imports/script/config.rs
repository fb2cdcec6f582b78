//! Reads `tsconfig.json` and `jsconfig.json`, including the configurations that they extend.

use std::collections::{BTreeSet, HashMap};

use super::patterns::StarPatterns;
use crate::imports::ManifestReader;
use crate::imports::manifests::{TsConfig, parse_ts_config};
use crate::imports::paths::{PathTable, ancestors, folder_of, join};

/// The largest number of files that one configuration may extend.
const MAX_EXTENDS: usize = 16;

/// The settings that apply below a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSettings {
    /// The base folder of bare names.
    pub(super) base: Option<String>,
    /// Path aliases, with targets relative to the top.
    pub(super) paths: StarPatterns,
}

/// The settings of each folder that has a configuration.
#[derive(Debug, Default)]
pub(super) struct TsConfigTable<'a> {
    settings: HashMap<&'a str, PathSettings>,
}

/// The merged settings of a file and of those it extends.
#[derive(Default)]
struct MergedTsConfig {
    base: Option<String>,
    /// Path aliases, with targets relative to the top.
    paths: Option<Vec<(String, Vec<String>)>>,
}

impl<'a> TsConfigTable<'a> {
    /// Reads all configurations. `named` maps package names to folders.
    pub(super) fn read(
        paths: &PathTable<'a>,
        read: &ManifestReader<'_>,
        named: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        let mut configs = Self::default();
        let reader = TsConfigReader {
            paths,
            read,
            named: &named,
        };
        for name in ["jsconfig.json", "tsconfig.json"] {
            for path in paths.paths_named(name) {
                let mut gathered = reader.gather(path);
                if gathered.paths.is_none() {
                    // If a file only references other projects, their settings apply.
                    let mut found = Vec::new();
                    for other in reader.references(path) {
                        let other = reader.gather(&other);
                        found.extend(other.paths.unwrap_or_default());
                        gathered.base = gathered.base.or(other.base);
                    }
                    gathered.paths = Some(found);
                }
                let settings = PathSettings {
                    base: gathered.base,
                    paths: StarPatterns::new(gathered.paths.unwrap_or_default()),
                };
                configs.settings.insert(folder_of(path), settings);
            }
        }
        configs
    }

    /// Returns the settings that apply in a folder.
    pub(super) fn settings_for(&self, folder: &str) -> Option<&PathSettings> {
        ancestors(folder).find_map(|folder| self.settings.get(folder))
    }
}

struct TsConfigReader<'r, 'a, F> {
    paths: &'r PathTable<'a>,
    read: &'r ManifestReader<'r>,
    named: &'r F,
}

impl<'a, F: Fn(&str) -> Option<&'a str>> TsConfigReader<'_, 'a, F> {
    fn parse(&self, path: &str) -> Option<TsConfig> {
        parse_ts_config(&(self.read)(path)?)
    }

    /// Merges a file's settings with those it extends.
    fn gather(&self, path: &str) -> MergedTsConfig {
        let mut gathered = MergedTsConfig::default();
        let mut open = vec![path.to_owned()];
        let mut seen = BTreeSet::new();
        // The nearest file takes precedence, so the first value found is kept.
        while let Some(path) = open.pop() {
            if seen.len() >= MAX_EXTENDS || !seen.insert(path.clone()) {
                continue;
            }
            let Some(config) = self.parse(&path) else {
                continue;
            };
            let folder = folder_of(&path);
            let base = config.base.as_deref().and_then(|base| join(folder, base));
            if let (None, Some(paths)) = (&gathered.paths, config.paths) {
                let from = base.as_deref().unwrap_or(folder);
                gathered.paths = Some(rebase_paths(from, paths));
            }
            gathered.base = gathered.base.or(base);
            let above = config.extends.iter();
            open.extend(above.filter_map(|other| self.extended_config(folder, other)));
        }
        gathered
    }

    /// Returns the path of an extended configuration.
    fn extended_config(&self, folder: &str, other: &str) -> Option<String> {
        let path = if other.starts_with('.') {
            join(folder, other)?
        } else {
            // A package of the repository, and a file in it.
            let skipped = usize::from(other.starts_with('@'));
            let end = other.match_indices('/').map(|(at, _)| at).nth(skipped);
            let (name, rest) = other.split_at(end.unwrap_or(other.len()));
            join((self.named)(name)?, rest)?
        };
        let ends = ["", ".json", "/tsconfig.json"];
        let mut candidates = ends.iter().map(|end| format!("{path}{end}"));
        candidates.find(|path| self.paths.has(path))
    }

    fn references(&self, path: &str) -> Vec<String> {
        let folder = folder_of(path);
        let references = self.parse(path).map(|config| config.references);
        let references = references.unwrap_or_default().into_iter();
        references
            .filter_map(|other| self.extended_config(folder, &format!("./{other}")))
            .collect()
    }
}

/// Makes the targets of path aliases relative to the top.
fn rebase_paths(folder: &str, paths: Vec<(String, Vec<String>)>) -> Vec<(String, Vec<String>)> {
    let paths = paths.into_iter();
    paths
        .map(|(pattern, targets)| {
            let targets = targets.iter().filter_map(|target| join(folder, target));
            let targets = targets.collect();
            (pattern, targets)
        })
        .collect()
}
