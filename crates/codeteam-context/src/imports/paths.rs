//! The paths that imports may resolve to.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::language::Language;

/// Numbered paths, in order.
///
/// A path that ends with `/` is a planned folder: its files do not exist yet. Lookups ignore
/// planned folders unless they run inside [`with_planned_files`](Self::with_planned_files), so that
/// existing files are always preferred.
#[derive(Debug, Default)]
pub(super) struct PathTable<'a> {
    pub(super) all: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
    /// Every folder with something in it; the top is the empty string.
    folders: HashSet<&'a str>,
    /// Planned folders, without their trailing `/`.
    open: HashMap<&'a str, u32>,
    /// Whether a file that would be in a planned folder counts as found.
    is_loose: Cell<bool>,
}

impl<'a> PathTable<'a> {
    /// Creates the table from sorted, distinct paths.
    pub(super) fn new(all: Vec<&'a str>) -> Self {
        let mut paths = Self::default();
        for (number, path) in (0..).zip(&all) {
            let mut folder = if let Some(folder) = path.strip_suffix('/') {
                paths.open.insert(folder, number);
                folder
            } else {
                paths.numbers.insert(path, number);
                folder_of(path)
            };
            while paths.folders.insert(folder) && !folder.is_empty() {
                folder = folder_of(folder);
            }
        }
        paths.all = all;
        paths
    }

    /// Returns the path of a number.
    pub(super) fn path(&self, number: u32) -> &'a str {
        self.all
            .get(super::node_index(number))
            .copied()
            .unwrap_or("")
    }

    /// Returns the files written in a language, with their numbers.
    pub(super) fn files_in_language(
        &self,
        language: Language,
    ) -> impl Iterator<Item = (u32, &'a str)> {
        let all = (0..).zip(self.all.iter().copied());
        all.filter(move |(_, path)| Language::from_path(path) == Some(language))
    }

    /// Returns the number of a path that exists or, where that is accepted, is planned.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        let found = self.numbers.get(path).copied();
        if found.is_some() || !self.is_loose.get() {
            return found;
        }
        self.planned_folder_of(folder_of(path))
    }

    /// Returns the planned folder that contains a folder, or is it.
    pub(super) fn planned_folder_of(&self, folder: &str) -> Option<u32> {
        let mut folders = ancestors(folder);
        folders.find_map(|folder| self.open.get(folder).copied())
    }

    /// Returns true if the list contains exactly this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.numbers.contains_key(path)
    }

    /// Returns true if a folder has, or will have, something in it.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Returns every folder with something in it.
    pub(super) fn folders(&self) -> impl Iterator<Item = &'a str> {
        self.folders.iter().copied()
    }

    /// Returns true if there are planned folders.
    pub(super) fn has_planned_folders(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns true if files that would be in a planned folder count as found.
    pub(super) fn accepts_planned_files(&self) -> bool {
        self.is_loose.get()
    }

    /// Returns the planned folders with their numbers.
    pub(super) fn planned_folders(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.open.iter().map(|(folder, number)| (*folder, *number))
    }

    /// Runs `look` with every file that would be in a planned folder counting as found.
    pub(super) fn with_planned_files(&self, look: impl FnOnce()) {
        self.is_loose.set(true);
        look();
        self.is_loose.set(false);
    }

    /// Returns the file, out of some sorted ones, that shares most leading folders with another.
    pub(super) fn nearest(&self, sorted: &[u32], to: u32) -> Option<u32> {
        // In sorted order, the closest path stands right before or after the position of `to`.
        let place = sorted.partition_point(|file| *file < to);
        let common = |file: u32| {
            let (a, b) = (self.path(file).split('/'), self.path(to).split('/'));
            a.zip(b).take_while(|(a, b)| a == b).count()
        };
        let before = place.checked_sub(1).and_then(|at| sorted.get(at)).copied();
        let after = sorted.get(place).copied();
        match (before, after) {
            (Some(before), Some(after)) if common(before) < common(after) => Some(after),
            (before, after) => before.or(after),
        }
    }

    /// Returns the paths whose last part is `name`, in order.
    pub(super) fn paths_named(&self, name: &str) -> Vec<&'a str> {
        let all = self.all.iter().copied();
        all.filter(|path| name_of(path) == name).collect()
    }
}

/// Returns the folder of a path; the top is the empty string.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Joins a folder and a path without normalising.
pub(super) fn join_below(folder: &str, path: &str) -> String {
    match (folder.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

/// Joins a folder and a path and resolves `.` and `..`; returns `None` if the result leaves the
/// tree.
pub(super) fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns a folder and its ancestors, the nearest first, the top last.
pub(super) fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        (!folder.is_empty()).then(|| folder_of(folder))
    })
}
