//! The stored outline of one content.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::names::{NameId, NameTable};
use crate::language::Language;
use crate::outline::{Definition, DefinitionKind, Import, Outline, Reference, outline};

/// The hash of a content.
pub(super) type ContentHash = [u8; blake3::OUT_LEN];

/// A short description of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DefinitionSummary {
    /// The number of its name.
    pub(crate) name: NameId,
    /// The kind of definition.
    pub(crate) kind: DefinitionKind,
    /// Whether other files can see it.
    pub(crate) public: bool,
    /// Whether it is inside a function, so that nothing outside can refer to it.
    pub(crate) local: bool,
}

impl DefinitionSummary {
    /// Returns true if other files can refer to it by name.
    pub(crate) fn is_reachable(self) -> bool {
        self.kind.has_own_name() && !self.local
    }
}

/// The outline of a content, with its names as numbers.
#[derive(Debug)]
pub(super) struct OutlineRecord {
    pub(super) hash: ContentHash,
    pub(super) language: Language,
    pub(super) definitions: Vec<DefinitionSummary>,
    pub(super) references: Vec<(NameId, u32)>,
    /// The full definitions without their names, and the imports, packed.
    pub(super) packed: Box<[u8]>,
    pub(super) outline: OnceLock<Outline>,
}

impl OutlineRecord {
    /// Returns the full outline, unpacked once.
    pub(super) fn outline(&self, names: &NameTable) -> &Outline {
        self.outline.get_or_init(|| {
            let (mut definitions, imports) = self.unpacked();
            for (definition, defined) in definitions.iter_mut().zip(&self.definitions) {
                names.get(defined.name).clone_into(&mut definition.name);
            }
            let references = self.references.iter().map(|(name, count)| Reference {
                name: names.get(*name).to_owned(),
                count: *count,
            });
            Outline {
                definitions,
                references: references.collect(),
                imports,
            }
        })
    }

    /// Returns the imports without keeping the unpacked outline.
    pub(super) fn imports(&self) -> Vec<Import> {
        match self.outline.get() {
            Some(outline) => outline.imports.clone(),
            None => self.unpacked().1,
        }
    }

    fn unpacked(&self) -> (Vec<Definition>, Vec<Import>) {
        postcard::from_bytes(&self.packed).unwrap_or_default()
    }
}

/// The parsed form of a file whose content was not cached. It takes far more memory than a record,
/// so only a window of files is in this form at once.
pub(super) struct ParsedFile {
    pub(super) hash: ContentHash,
    pub(super) language: Language,
    /// The definitions with their names, which have no numbers yet.
    definitions: Vec<(String, DefinitionSummary)>,
    references: Vec<Reference>,
    packed: Box<[u8]>,
}

impl ParsedFile {
    pub(super) fn parse(hash: ContentHash, language: Language, text: &str) -> Self {
        let mut outline = outline(text, language);
        // The names have numbers in the record: here they would take a third of its memory.
        let own_names = outline.definitions.iter_mut();
        let own_names = own_names.map(|definition| std::mem::take(&mut definition.name));
        let own_names: Vec<String> = own_names.collect();
        let packed = postcard::to_stdvec(&(&outline.definitions, &outline.imports));
        Self {
            hash,
            language,
            packed: packed.unwrap_or_default().into_boxed_slice(),
            definitions: definitions(own_names, &outline.definitions),
            references: outline.references,
        }
    }

    /// Converts it into a record and numbers its names.
    pub(super) fn into_record(self, names: &mut NameTable) -> OutlineRecord {
        let definitions = self
            .definitions
            .into_iter()
            .map(|(name, defined)| DefinitionSummary {
                name: names.add(&name),
                ..defined
            });
        let definitions = definitions.collect();
        let references = self.references.iter();
        let references = references
            .map(|reference| (names.add(&reference.name), reference.count))
            .collect();
        OutlineRecord {
            hash: self.hash,
            language: self.language,
            definitions,
            references,
            packed: self.packed,
            outline: OnceLock::new(),
        }
    }
}

fn definitions(names: Vec<String>, all: &[Definition]) -> Vec<(String, DefinitionSummary)> {
    let summary = |definition: &Definition| DefinitionSummary {
        name: 0,
        kind: definition.kind,
        public: definition.public,
        local: definition.inside.is_some_and(|inside| {
            matches!(
                all[inside as usize].kind,
                DefinitionKind::Function | DefinitionKind::Method
            )
        }),
    };
    names.into_iter().zip(all.iter().map(summary)).collect()
}
