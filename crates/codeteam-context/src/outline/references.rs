//! The names a file refers to.
//!
//! What is bound within the file (parameters, variables) is no reference, unless it is imported:
//! `user` in `def show(user)` has nothing to do with whatever else is called `user`.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// A name that is referred to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u32,
}

/// What a name is where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NameRole {
    /// Nothing is said of it.
    #[default]
    Unsaid,
    /// It stands for something: a variable, a function, a module.
    Plain,
    /// It stands for something of something: `user.name`, or it is a type.
    Sure,
    /// It is bound here, to be used in this file.
    Bound,
    /// It is a type's or function's own parameter, or of the language's own library, and never
    /// anything else in this file.
    Own,
    /// It is imported here.
    Imported,
    /// It is handed out here.
    Exported,
    /// It is none that counts: a label, a key, what is defined here.
    Nothing,
}

/// The names of a file, as they are met.
#[derive(Default)]
pub(super) struct NameCollector<'t> {
    plain: HashMap<&'t str, u32>,
    sure: HashMap<&'t str, u32>,
    bound: HashSet<&'t str>,
    own: HashSet<&'t str>,
    imported: HashSet<&'t str>,
    pub(super) exported: HashSet<&'t str>,
    /// Something is imported: the file is a module.
    pub(super) module: bool,
}

impl<'t> NameCollector<'t> {
    /// Takes one note of a name.
    pub(super) fn note(&mut self, name: &'t str, role: NameRole) {
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

    /// Whether a name is known to be none of the project's.
    pub(super) fn is_own(&self, name: &str) -> bool {
        self.own.contains(name)
    }

    /// All that is referred to, in order.
    pub(super) fn references(self) -> Vec<Reference> {
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
