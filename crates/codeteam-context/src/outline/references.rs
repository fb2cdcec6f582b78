//! Collects the names that a file refers to.
//!
//! A name bound within the file (a parameter or variable) is not a reference, unless it is
//! imported: `user` in `def show(user)` has nothing to do with whatever else is called `user`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// A name that a file refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name itself.
    pub name: String,
    /// The number of occurrences.
    pub count: u32,
}

/// The role of a name at one place of the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NameRole {
    /// The rules say nothing about it.
    #[default]
    Unsaid,
    /// It stands for something: a variable, a function, a module.
    Plain,
    /// It is a member of something, such as `user.name`, or a type.
    Sure,
    /// It is bound here, for use in this file.
    Bound,
    /// It is a type's or function's own parameter, or belongs to the language's library, and never
    /// means anything else in this file.
    Own,
    /// It is imported here.
    Imported,
    /// It is exported here.
    Exported,
    /// It does not count: a label, a key, or something defined here.
    Nothing,
}

/// Collects the names of a file.
#[derive(Default)]
pub(super) struct NameCollector<'t> {
    plain: HashMap<&'t str, u32>,
    sure: HashMap<&'t str, u32>,
    bound: HashSet<&'t str>,
    own: HashSet<&'t str>,
    imported: HashSet<&'t str>,
    pub(super) exported: HashSet<&'t str>,
    /// Whether something is imported, which makes the file a module.
    pub(super) module: bool,
}

impl<'t> NameCollector<'t> {
    /// Records an occurrence of a name.
    pub(super) fn record(&mut self, name: &'t str, role: NameRole) {
        // One letter says nothing.
        if name.len() < 2 {
            return;
        }
        match role {
            NameRole::Unsaid | NameRole::Nothing => {}
            NameRole::Bound => {
                self.bound.insert(name);
            }
            NameRole::Own => {
                self.own.insert(name);
            }
            NameRole::Plain => *self.plain.entry(name).or_default() += 1,
            NameRole::Sure => *self.sure.entry(name).or_default() += 1,
            NameRole::Imported => {
                self.imported.insert(name);
                self.module = true;
                *self.sure.entry(name).or_default() += 1;
            }
            NameRole::Exported => {
                self.exported.insert(name);
                *self.plain.entry(name).or_default() += 1;
            }
        }
    }

    /// Returns true if a name is known not to belong to the project.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.own.contains(name)
    }

    /// Returns everything that is referred to, in order.
    pub(super) fn into_references(self) -> Vec<Reference> {
        let mut counts = self.sure;
        for (name, count) in self.plain {
            if !self.bound.contains(name) || self.imported.contains(name) {
                *counts.entry(name).or_default() += count;
            }
        }
        let mut references: Vec<_> = counts
            .into_iter()
            .filter(|(name, _)| !self.own.contains(name))
            .collect();
        references.sort_unstable();
        references
            .into_iter()
            .map(|(name, count)| Reference {
                name: name.to_owned(),
                count,
            })
            .collect()
    }
}
