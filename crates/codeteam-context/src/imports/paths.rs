//! The paths that imports may lead to.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use crate::language::Language;

/// Paths, in their order, each of which has a number.
#[derive(Debug, Default)]
pub(super) struct PathTable<'a> {
    pub(super) all: Vec<&'a str>,
    numbers: HashMap<&'a str, u32>,
    /// Every folder that has something in it, the top as an empty text.
    folders: HashSet<&'a str>,
    /// Folders that will be filled, without the `/` at their end.
    open: HashMap<&'a str, u32>,
    /// Whether a file counts as found that would lie in one of those.
    is_loose: Cell<bool>,
}

impl<'a> PathTable<'a> {
    /// Takes paths in their order, each once.
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

    /// The path of a number.
    pub(super) fn path(&self, number: u32) -> &'a str {
        self.all.get(super::at(number)).copied().unwrap_or("")
    }

    /// The files written in a language, with their numbers.
    pub(super) fn written_in(&self, language: Language) -> impl Iterator<Item = (u32, &'a str)> {
        let all = (0..).zip(self.all.iter().copied());
        all.filter(move |(_, path)| Language::of(path) == Some(language))
    }

    /// The number of a path that is there, or will be.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        let found = self.numbers.get(path).copied();
        if found.is_some() || !self.is_loose.get() {
            return found;
        }
        self.opened(folder_of(path))
    }

    /// The folder that will be filled and that a folder is, or lies in.
    pub(super) fn opened(&self, folder: &str) -> Option<u32> {
        let mut folders = upwards(folder);
        folders.find_map(|folder| self.open.get(folder).copied())
    }

    /// Whether a path is in the list as it is.
    pub(super) fn has(&self, path: &str) -> bool {
        self.numbers.contains_key(path)
    }

    /// Whether a folder has something in it, or will have.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    /// Every folder that has something in it.
    pub(super) fn folders(&self) -> impl Iterator<Item = &'a str> {
        self.folders.iter().copied()
    }

    /// Whether there are folders that will be filled.
    pub(super) fn has_folders(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether files count as found that would lie in a folder that will be filled.
    pub(super) fn is_loose(&self) -> bool {
        self.is_loose.get()
    }

    /// Folders that will be filled, with their numbers.
    pub(super) fn open(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.open.iter().map(|(folder, number)| (*folder, *number))
    }

    /// While `look` looks, every file is found that would lie in a folder that will be filled.
    pub(super) fn loosen(&self, look: impl FnOnce()) {
        self.is_loose.set(true);
        look();
        self.is_loose.set(false);
    }

    /// The one of some files, in their order, that has most of its folders in common with another.
    pub(super) fn nearest(&self, sorted: &[u32], to: u32) -> Option<u32> {
        // What has most in common with a path stands right before or after its place.
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

    /// The paths whose last part is `name`, in their order.
    pub(super) fn named(&self, name: &str) -> Vec<&'a str> {
        let all = self.all.iter().copied();
        all.filter(|path| name_of(path) == name).collect()
    }
}

/// The folder of a path; the top is an empty text.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A path below a folder, as it stands.
pub(super) fn below(folder: &str, path: &str) -> String {
    match (folder.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{path}"),
    }
}

/// A path from a folder, with its `.` and `..` taken out; none if it leaves the tree.
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

/// A folder and those above it, the nearest first, the top last.
pub(super) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| {
        (!folder.is_empty()).then(|| folder_of(folder))
    })
}
