//! Determines which definitions a name refers to, and how much a reference counts.

use std::ops::Range;

use super::TaskFocus;
use crate::index::{DefinitionSummary, NameId, SourceIndex};
use crate::language::Language;
use crate::outline::DefinitionKind;

/// A name that more files than this define is ignored, because nobody can tell which one is meant.
const MANY: usize = 12;

/// The number of language families whose members can refer to each other.
const FAMILIES: usize = 5;

/// The weight of a method called on something whose type is not named: it may be anyone's.
const BY_CHANCE: f64 = 0.15;

/// The weight of a name that only tests, samples and vendored code define.
const ASIDE: f64 = 0.1;

/// Returns the family of languages that can refer to each other.
fn family(language: Language) -> u8 {
    match language {
        Language::Python => 0,
        Language::JavaScript | Language::TypeScript | Language::Tsx => 1,
        Language::Rust => 2,
        Language::Go => 3,
        Language::Java => 4,
    }
}

/// The names that files define for others.
pub(super) struct DefinedNames {
    families: Vec<u8>,
    /// For each file, the index of its first spot, followed by the end of all.
    starts: Vec<usize>,
    spots: Vec<DefinedName>,
    /// For each name, the index of its first spot in `found`, followed by the end of all.
    name_starts: Vec<u32>,
    /// The spots by name, then by family, then in the order of the files.
    found: Vec<u32>,
    /// For each spot, the weight of a reference to it.
    weights: Vec<f64>,
}

/// A name that a file defines.
#[derive(Clone, Copy)]
struct DefinedName {
    name: NameId,
    file: u32,
    /// Whether the name belongs to methods only.
    method: bool,
    /// The kind and visibility of the weightiest definition. There is one of these for each definition
    /// of a tree, so the weight itself would take too much memory.
    kind: DefinitionKind,
    public: bool,
    aside: bool,
}

impl DefinedName {
    /// Returns the weight of what it defines.
    fn kind_weight(&self) -> f64 {
        visible_weight(self.kind, self.public)
    }
}

impl DefinedNames {
    pub(super) fn new(index: &SourceIndex) -> Self {
        let families: Vec<_> = (0..index.len())
            .map(|file| family(index.language(file)))
            .collect();
        let mut starts = vec![0];
        let mut spots: Vec<DefinedName> = Vec::new();
        for (file, number) in (0..index.len()).zip(0_u32..) {
            add_definitions(index, file, number, &mut spots);
            starts.push(spots.len());
        }
        let (name_starts, found) = group_by_name(index.name_count(), &spots, &families);
        Self {
            families,
            starts,
            spots,
            name_starts,
            found,
            weights: Vec::new(),
        }
    }

    /// Returns the number of spots.
    pub(super) fn definition_count(&self) -> usize {
        self.spots.len()
    }

    /// Returns the spots of a file.
    pub(super) fn definitions_in(&self, file: usize) -> Range<usize> {
        self.starts[file]..self.starts[file + 1]
    }

    /// Returns the spot of a name in a file; `None` if the name is ignored.
    pub(super) fn definition_of(&self, file: usize, name: NameId) -> Option<u32> {
        let all = self.definitions_named(file, name);
        let at = all.binary_search_by_key(&file, |spot| self.spots[*spot as usize].file as usize);
        Some(all[at.ok()?])
    }

    /// Returns the spots of a name in the languages that a file can refer to.
    fn definitions_named(&self, file: usize, name: NameId) -> &[u32] {
        let family = self.families[file];
        let at = name as usize;
        let range = self.name_starts[at] as usize..self.name_starts[at + 1] as usize;
        let named = &self.found[range];
        let family_of = |spot: &u32| self.families[self.spots[*spot as usize].file as usize];
        let start = named.partition_point(|spot| family_of(spot) < family);
        let mine = &named[start..];
        let mine = &mine[..mine.partition_point(|spot| family_of(spot) == family)];
        if mine.len() > MANY { &[] } else { mine }
    }

    /// Collects the spots that a file's references may mean, name by name, with how often. A name
    /// that the file defines itself always means its own definition.
    fn resolve_references(&self, index: &SourceIndex, file: usize, ways: &mut Vec<(u32, f64)>) {
        for (name, times) in index.references(file) {
            let spots = self.definitions_named(file, *name);
            let own = |spot: &u32| self.spots[*spot as usize].file as usize == file;
            if !spots.iter().any(own) {
                let times = f64::from(*times).sqrt();
                ways.extend(spots.iter().map(|spot| (*spot, times)));
            }
        }
    }

    /// Returns all edges, file by file: the spot and the weight.
    pub(super) fn weighted_edges(
        &mut self,
        index: &SourceIndex,
        focus: &TaskFocus,
    ) -> (Vec<(u32, f64)>, Vec<usize>) {
        let mut ways = Vec::new();
        let mut ends = Vec::with_capacity(index.len());
        for file in 0..index.len() {
            self.resolve_references(index, file, &mut ways);
            ends.push(ways.len());
        }
        self.weigh_definitions(index, focus, &ways);
        let mut named = vec![false; index.len()];
        let mut start = 0;
        for end in &ends {
            self.weigh_edges(&mut ways[start..*end], &mut named);
            start = *end;
        }
        (ways, ends)
    }

    /// Computes the weight of a reference to each spot.
    fn weigh_definitions(&mut self, index: &SourceIndex, focus: &TaskFocus, ways: &[(u32, f64)]) {
        let mut sizes = [0_u32; FAMILIES];
        for family in &self.families {
            sizes[usize::from(*family)] += 1;
        }
        let mut referring = vec![0_u32; self.spots.len()];
        for (spot, _) in ways {
            referring[*spot as usize] += 1;
        }
        let weights = self.spots.iter().zip(&referring).map(|(spot, referring)| {
            if *referring == 0 {
                return 0.0;
            }
            let name = index.name_text(spot.name);
            let family = self.families[spot.file as usize];
            let files = f64::from(sizes[usize::from(family)]);
            let rare = (1.0 + files / f64::from(*referring)).ln() / (1.0 + files).ln();
            let mentioned = focus.names.iter().any(|mentioned| mentioned == name);
            let aside = if spot.aside { ASIDE } else { 1.0 };
            let wanted = if mentioned { 10.0 } else { 1.0 };
            rare * spot.kind_weight() * aside * wanted * name_shape_weight(name)
        });
        self.weights = weights.collect();
    }

    /// Turns the reference counts of a file's edges into weights. `named` has one entry per file,
    /// all false.
    fn weigh_edges(&self, ways: &mut [(u32, f64)], named: &mut [bool]) {
        let spot = |at: u32| self.spots[at as usize];
        for (at, _) in &*ways {
            named[spot(*at).file as usize] |= !spot(*at).method;
        }
        for same in ways.chunk_by_mut(|a, b| spot(a.0).name == spot(b.0).name) {
            // Secondary files take a smaller share of an ambiguous name.
            let part = |(at, _): &(u32, f64)| if spot(*at).aside { ASIDE } else { 1.0 };
            let shared = same.iter().map(part).sum::<f64>().max(1.0);
            let ambiguous = shared * (1.0 + shared.ln());
            for (at, weight) in same {
                let by_chance = spot(*at).method && !named[spot(*at).file as usize];
                let chance = if by_chance { BY_CHANCE } else { 1.0 };
                *weight *= chance * self.weights[*at as usize] / ambiguous;
            }
        }
        for (at, _) in &*ways {
            named[spot(*at).file as usize] = false;
        }
    }
}

/// Adds the spots of a file, each name once.
fn add_definitions(index: &SourceIndex, file: usize, number: u32, spots: &mut Vec<DefinedName>) {
    let first = spots.len();
    let aside = is_secondary_file(index.path(file));
    let private = index.language(file) == Language::Python;
    let mut definitions: Vec<&DefinitionSummary> = index
        .definitions(file)
        .iter()
        .filter(|defined| defined.is_reachable() && (defined.public || private))
        .collect();
    definitions.sort_by_key(|defined| defined.name);
    for defined in definitions {
        let method = defined.kind == DefinitionKind::Method;
        match spots.last_mut() {
            Some(last) if spots_end(last, number, defined.name) => {
                last.method &= method;
                if visible_weight(defined.kind, defined.public) > last.kind_weight() {
                    (last.kind, last.public) = (defined.kind, defined.public);
                }
            }
            _ => spots.push(DefinedName {
                name: defined.name,
                file: number,
                method,
                kind: defined.kind,
                public: defined.public,
                aside,
            }),
        }
    }
    // The order must not depend on the numbers of names.
    spots[first..].sort_by(|a, b| index.name_text(a.name).cmp(index.name_text(b.name)));
}

fn spots_end(last: &DefinedName, file: u32, name: NameId) -> bool {
    last.file == file && last.name == name
}

/// Returns, for each name, the index of its first spot in the second list, and the spots by name, then
/// by family, then in the order of the files.
fn group_by_name(names: usize, spots: &[DefinedName], families: &[u8]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; names + 1];
    for spot in spots {
        starts[spot.name as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut found = vec![0; spots.len()];
    let mut next = starts.clone();
    for (at, spot) in (0_u32..).zip(spots) {
        let place = &mut next[spot.name as usize];
        found[*place as usize] = at;
        *place += 1;
    }
    for range in starts.windows(2) {
        let group = &mut found[range[0] as usize..range[1] as usize];
        group.sort_by_key(|spot| families[spots[*spot as usize].file as usize]);
    }
    (starts, found)
}

/// Returns the weight of a definition that other files may or may not be meant to see.
fn visible_weight(kind: DefinitionKind, public: bool) -> f64 {
    kind_weight(kind) * if public { 1.0 } else { 0.1 }
}

fn kind_weight(kind: DefinitionKind) -> f64 {
    match kind {
        DefinitionKind::Type
        | DefinitionKind::Interface
        | DefinitionKind::Function
        | DefinitionKind::Macro
        | DefinitionKind::Alias => 1.0,
        DefinitionKind::Value => 0.7,
        DefinitionKind::Method => 0.5,
        DefinitionKind::Module => 0.3,
        DefinitionKind::Impl => 0.0,
    }
}

/// Returns the weight of a name's form: `parse_header` is surely meant, `get` may be anyone's.
fn name_shape_weight(name: &str) -> f64 {
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

/// Returns true for tests, samples and vendored files.
fn is_secondary_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = |folder: &str| {
        matches!(
            folder,
            "test"
                | "tests"
                | "testing"
                | "testdata"
                | "__tests__"
                | "__mocks__"
                | "fixtures"
                | "e2e"
                | "spec"
                | "example"
                | "examples"
                | "samples"
                | "bench"
                | "benches"
                | "benchmarks"
                | "docs"
                | "vendor"
                | "third_party"
                | "node_modules"
        )
    };
    let stem = name.split('.').next().unwrap_or(name);
    folders.split('/').any(folder)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem == "conftest"
        || stem.ends_with("Test")
        || stem.ends_with("Tests")
        || name.contains(".test.")
        || name.contains(".spec.")
}
