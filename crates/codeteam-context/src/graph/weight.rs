//! How much a reference to a name says.

use super::Focus;
use crate::index::Index;
use crate::language::Language;
use crate::outline::Kind;

/// Languages that can refer to each other.
pub(super) fn family(language: Language) -> usize {
    match language {
        Language::Python => 0,
        Language::JavaScript | Language::TypeScript | Language::Tsx => 1,
        Language::Rust => 2,
        Language::Go => 3,
        Language::Java => 4,
    }
}

const FAMILIES: usize = 5;

/// No slot.
const NONE: u32 = u32::MAX;

/// The names that are defined, by family, each with its weight. Where one is kept is its slot.
pub(super) struct Weights {
    slots: Vec<[u32; FAMILIES]>,
    each: Vec<f64>,
    files: Vec<u32>,
}

/// What is counted of a name in a family.
#[derive(Clone, Default)]
struct Seen {
    name: u32,
    /// How many files define it.
    files: u32,
    /// The last of them.
    last: Option<u32>,
    /// How many refer to it.
    referring: u32,
    public: bool,
    kind: f64,
}

impl Weights {
    pub(super) fn new(index: &Index, focus: &Focus) -> Self {
        let mut slots = vec![[NONE; FAMILIES]; index.names()];
        let mut seen: Vec<Seen> = Vec::new();
        let mut sizes = [0_u32; FAMILIES];
        for (file, number) in (0..index.len()).zip(0_u32..) {
            let family = family(index.language(file));
            sizes[family] += 1;
            for defined in index.definitions(file).iter().filter(|it| it.reachable()) {
                let slot = &mut slots[defined.name as usize][family];
                if *slot == NONE {
                    *slot = u32::try_from(seen.len()).unwrap_or(NONE);
                    seen.push(Seen {
                        name: defined.name,
                        ..Seen::default()
                    });
                }
                let seen = &mut seen[*slot as usize];
                if seen.last.replace(number) != Some(number) {
                    seen.files += 1;
                }
                seen.public |= defined.public;
                seen.kind = seen.kind.max(of_kind(defined.kind));
            }
        }
        let mut families = vec![0; seen.len()];
        for file in 0..index.len() {
            let family = family(index.language(file));
            for (name, _) in index.references(file) {
                let slot = slots[*name as usize][family];
                if slot != NONE {
                    seen[slot as usize].referring += 1;
                    families[slot as usize] = family;
                }
            }
        }
        let weights = seen.iter().zip(&families).map(|(seen, family)| {
            let name = index.name(seen.name);
            let mentioned = focus.names.iter().any(|mentioned| mentioned == name);
            seen.weight(name, sizes[*family]) * if mentioned { 10.0 } else { 1.0 }
        });
        Self {
            each: weights.collect(),
            files: seen.iter().map(|seen| seen.files).collect(),
            slots,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.each.len()
    }

    /// Where a name of a family is kept.
    pub(super) fn slot(&self, family: usize, name: u32) -> Option<u32> {
        let slot = self.slots[name as usize][family];
        (slot != NONE).then_some(slot)
    }

    /// What one reference to it says.
    pub(super) fn of(&self, slot: u32) -> f64 {
        self.each[slot as usize]
    }

    /// How many files define each.
    pub(super) fn files(&self) -> &[u32] {
        &self.files
    }
}

impl Seen {
    /// Rare names say more than common ones, long ones more than short ones, and one that many files
    /// define says little about any of them.
    fn weight(&self, name: &str, files: u32) -> f64 {
        let files = f64::from(files.max(1));
        let referring = f64::from(self.referring.max(1));
        let rare = (1.0 + files / referring).ln() / (1.0 + files).ln();
        let ambiguous = 1.0 / (1.0 + f64::from(self.files.max(1)).ln());
        let private = if self.public { 1.0 } else { 0.1 };
        rare * ambiguous * private * self.kind * shape(name)
    }
}

fn of_kind(kind: Kind) -> f64 {
    match kind {
        Kind::Type | Kind::Interface | Kind::Function | Kind::Macro | Kind::Alias => 1.0,
        Kind::Value => 0.7,
        Kind::Method => 0.5,
        Kind::Module => 0.3,
        Kind::Impl => 0.0,
    }
}

/// What a name's form says: `parse_header` is surely meant, `get` may be anyone's.
fn shape(name: &str) -> f64 {
    let mut previous = None;
    let mut compound = false;
    for char in name.trim_matches('_').chars() {
        let hump = char.is_uppercase() && previous.is_some_and(char::is_lowercase);
        compound |= char == '_' || char == '-' || hump;
        previous = Some(char);
    }
    match name.len() {
        0..=2 => 0.05,
        _ if compound => 1.0,
        3 => 0.2,
        4..=7 if name.starts_with(char::is_lowercase) => 0.4,
        _ => 0.8,
    }
}
