//! `tsconfig.json` and `jsconfig.json`, with what they build on.

use std::collections::{BTreeSet, HashMap};

use super::patterns::StarPatterns;
use crate::imports::ManifestReader;
use crate::imports::manifests::{TsConfig, ts_config};
use crate::imports::paths::{PathTable, folder_of, join, upwards};

/// How many files one may build on.
const MAX_EXTENDS: usize = 16;

/// What holds below a folder.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSettings {
    /// From where names without a beginning are looked for.
    pub(super) base: Option<String>,
    /// Names, and paths from the top.
    pub(super) paths: StarPatterns,
}

/// What holds below each folder that says something.
#[derive(Debug, Default)]
pub(super) struct TsConfigTable<'a> {
    settings: HashMap<&'a str, PathSettings>,
}

/// What has been gathered of a file and those it builds on.
#[derive(Default)]
struct MergedTsConfig {
    base: Option<String>,
    /// Patterns, with paths from the top.
    paths: Option<Vec<(String, Vec<String>)>>,
}

impl<'a> TsConfigTable<'a> {
    /// Reads them all. `named` knows the folders of packages.
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
            for path in paths.named(name) {
                let mut gathered = reader.gather(path);
                if gathered.paths.is_none() {
                    // Where a file only refers to others, theirs count.
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

    /// What holds in a folder.
    pub(super) fn of(&self, folder: &str) -> Option<&PathSettings> {
        upwards(folder).find_map(|folder| self.settings.get(folder))
    }
}

struct TsConfigReader<'r, 'a, F> {
    paths: &'r PathTable<'a>,
    read: &'r ManifestReader<'r>,
    named: &'r F,
}

impl<'a, F: Fn(&str) -> Option<&'a str>> TsConfigReader<'_, 'a, F> {
    fn parse(&self, path: &str) -> Option<TsConfig> {
        ts_config(&(self.read)(path)?)
    }

    /// What a file says, and before it what it builds on.
    fn gather(&self, path: &str) -> MergedTsConfig {
        let mut gathered = MergedTsConfig::default();
        let mut open = vec![path.to_owned()];
        let mut seen = BTreeSet::new();
        // The nearest counts most, so that what is found first stays.
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
                gathered.paths = Some(from_top(from, paths));
            }
            gathered.base = gathered.base.or(base);
            let above = config.extends.iter();
            open.extend(above.filter_map(|other| self.extended(folder, other)));
        }
        gathered
    }

    /// The file that another builds on.
    fn extended(&self, folder: &str, other: &str) -> Option<String> {
        let path = if other.starts_with('.') {
            join(folder, other)?
        } else {
            // A package of the repository, and a file of it.
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
            .filter_map(|other| self.extended(folder, &format!("./{other}")))
            .collect()
    }
}

/// Patterns with paths from the top.
fn from_top(folder: &str, paths: Vec<(String, Vec<String>)>) -> Vec<(String, Vec<String>)> {
    let paths = paths.into_iter();
    paths
        .map(|(pattern, targets)| {
            let targets = targets.iter().filter_map(|target| join(folder, target));
            let targets = targets.collect();
            (pattern, targets)
        })
        .collect()
}
