//! What is known of one content.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::names::{NameId, NameTable};
use crate::language::Language;
use crate::outline::{Definition, DefinitionKind, Import, Outline, Reference, outline};

/// A content's hash.
pub(super) type ContentHash = [u8; blake3::OUT_LEN];

/// A definition, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DefinitionSummary {
    /// Its name.
    pub(crate) name: NameId,
    /// What it is.
    pub(crate) kind: DefinitionKind,
    /// Whether other files can see it.
    pub(crate) public: bool,
    /// Whether it is in a function, so that nobody outside can mean it.
    pub(crate) local: bool,
}

impl DefinitionSummary {
    /// Whether other files can mean it by its name.
    pub(crate) fn reachable(self) -> bool {
        self.kind.names() && !self.local
    }
}

/// The outline of a content, with its names as numbers.
#[derive(Debug)]
pub(super) struct OutlineRecord {
    pub(super) hash: ContentHash,
    pub(super) language: Language,
    pub(super) definitions: Vec<DefinitionSummary>,
    pub(super) references: Vec<(NameId, u32)>,
    /// The definitions in full and the imports, packed.
    pub(super) packed: Vec<u8>,
    pub(super) outline: OnceLock<Outline>,
}

impl OutlineRecord {
    /// The outline in full.
    pub(super) fn outline(&self, names: &NameTable) -> &Outline {
        self.outline.get_or_init(|| {
            let (definitions, imports) = self.unpacked();
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

    /// What is imported, unpacked for this once.
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

/// What was read of a file whose content was not known. All of a tree may be held at once: what is
/// packed is not held besides.
pub(super) struct ParsedFile {
    pub(super) hash: ContentHash,
    pub(super) language: Language,
    /// Definitions that have no numbers yet, and their names.
    definitions: Vec<(String, DefinitionSummary)>,
    references: Vec<Reference>,
    packed: Vec<u8>,
}

impl ParsedFile {
    pub(super) fn new(hash: ContentHash, language: Language, text: &str) -> Self {
        let outline = outline(text, language);
        let packed = postcard::to_stdvec(&(&outline.definitions, &outline.imports));
        Self {
            hash,
            language,
            packed: packed.unwrap_or_default(),
            definitions: definitions(outline.definitions),
            references: outline.references,
        }
    }

    /// With the numbers of its names.
    pub(super) fn numbered(self, names: &mut NameTable) -> OutlineRecord {
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

fn definitions(all: Vec<Definition>) -> Vec<(String, DefinitionSummary)> {
    let kinds: Vec<DefinitionKind> = all.iter().map(|definition| definition.kind).collect();
    let defined = |definition: &Definition| DefinitionSummary {
        name: 0,
        kind: definition.kind,
        public: definition.public,
        local: definition.inside.is_some_and(|inside| {
            matches!(
                kinds[inside as usize],
                DefinitionKind::Function | DefinitionKind::Method
            )
        }),
    };
    let all = all.into_iter();
    all.map(|definition| {
        let defined = defined(&definition);
        (definition.name, defined)
    })
    .collect()
}
