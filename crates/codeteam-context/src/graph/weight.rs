//! Which names lead where, and how much a reference says.

use std::ops::Range;

use super::TaskFocus;
use crate::index::{DefinitionSummary, NameId, SourceIndex};
use crate::language::Language;
use crate::outline::DefinitionKind;

/// A name that more files define leads nowhere: nobody can tell which is meant.
const MANY: usize = 12;

/// Where names of which there are too many begin.
const NOWHERE: u32 = u32::MAX;

/// How many kinds of languages there are that can refer to each other.
const FAMILIES: usize = 5;

/// What a method says that is called of something whose type is not named: it may be anyone's.
const BY_CHANCE: f64 = 0.15;

/// What a name says that only tests, samples and foreign code define.
const ASIDE: f64 = 0.1;

/// Languages that can refer to each other.
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
    /// By file: where its spots begin; and the end of all.
    starts: Vec<usize>,
    spots: Vec<DefinedName>,
    /// By name and family: where its spots are in `found`, in the order of the files.
    by_name: Vec<(u32, u32)>,
    found: Vec<u32>,
    /// By spot: what a reference says.
    weights: Vec<f64>,
}

/// A name that a file defines.
#[derive(Clone, Copy)]
struct DefinedName {
    name: NameId,
    file: u32,
    /// Whether it is nothing but the name of methods.
    method: bool,
    kind: f64,
    aside: bool,
}

impl DefinedNames {
    pub(super) fn new(index: &SourceIndex) -> Self {
        let families: Vec<_> = (0..index.len())
            .map(|file| family(index.language(file)))
            .collect();
        let mut starts = vec![0];
        let mut spots: Vec<DefinedName> = Vec::new();
        for (file, number) in (0..index.len()).zip(0_u32..) {
            add(index, file, number, &mut spots);
            starts.push(spots.len());
        }
        let (by_name, found) = grouped(index.names(), &spots, &families);
        Self {
            families,
            starts,
            spots,
            by_name,
            found,
            weights: Vec::new(),
        }
    }

    /// How many spots there are.
    pub(super) fn spots(&self) -> usize {
        self.spots.len()
    }

    /// The spots of a file.
    pub(super) fn spots_of(&self, file: usize) -> Range<usize> {
        self.starts[file]..self.starts[file + 1]
    }

    /// The spot of a name in a file; none if it leads nowhere.
    pub(super) fn spot(&self, file: usize, name: NameId) -> Option<u32> {
        let all = self.named(file, name);
        let at = all.binary_search_by_key(&file, |spot| self.spots[*spot as usize].file as usize);
        Some(all[at.ok()?])
    }

    /// The spots of a name in the languages that a file can refer to.
    fn named(&self, file: usize, name: NameId) -> &[u32] {
        let family = usize::from(self.families[file]);
        let (start, end) = self.by_name[name as usize * FAMILIES + family];
        &self.found[start as usize..end as usize]
    }

    /// What a file can mean by the names it refers to, name by name, with how often. What it defines
    /// itself, it means itself.
    fn meant(&self, index: &SourceIndex, file: usize, ways: &mut Vec<(u32, f64)>) {
        for (name, times) in index.references(file) {
            let spots = self.named(file, *name);
            let own = |spot: &u32| self.spots[*spot as usize].file as usize == file;
            if !spots.iter().any(own) {
                let times = f64::from(*times).sqrt();
                ways.extend(spots.iter().map(|spot| (*spot, times)));
            }
        }
    }

    /// All ways, out of one file after the other: to which spot, and how much it says.
    pub(super) fn ways(
        &mut self,
        index: &SourceIndex,
        focus: &TaskFocus,
    ) -> (Vec<(u32, f64)>, Vec<usize>) {
        let mut ways = Vec::new();
        let mut ends = Vec::with_capacity(index.len());
        for file in 0..index.len() {
            self.meant(index, file, &mut ways);
            ends.push(ways.len());
        }
        self.weigh(index, focus, &ways);
        let mut named = vec![false; index.len()];
        let mut start = 0;
        for end in &ends {
            self.judge(&mut ways[start..*end], &mut named);
            start = *end;
        }
        (ways, ends)
    }

    /// Finds out what a reference to each spot says.
    fn weigh(&mut self, index: &SourceIndex, focus: &TaskFocus, ways: &[(u32, f64)]) {
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
            let name = index.name(spot.name);
            let family = self.families[spot.file as usize];
            let files = f64::from(sizes[usize::from(family)]);
            let rare = (1.0 + files / f64::from(*referring)).ln() / (1.0 + files).ln();
            let mentioned = focus.names.iter().any(|mentioned| mentioned == name);
            let aside = if spot.aside { ASIDE } else { 1.0 };
            let wanted = if mentioned { 10.0 } else { 1.0 };
            rare * spot.kind * aside * wanted * shape(name)
        });
        self.weights = weights.collect();
    }

    /// Says of the ways out of a file, which so far say how often, how much they say. `named` is as
    /// long as there are files, and nothing in it is true.
    fn judge(&self, ways: &mut [(u32, f64)], named: &mut [bool]) {
        let spot = |at: u32| self.spots[at as usize];
        for (at, _) in &*ways {
            named[spot(*at).file as usize] |= !spot(*at).method;
        }
        for same in ways.chunk_by_mut(|a, b| spot(a.0).name == spot(b.0).name) {
            // What is aside takes less of what several share.
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
fn add(index: &SourceIndex, file: usize, number: u32, spots: &mut Vec<DefinedName>) {
    let first = spots.len();
    let aside = is_aside(index.path(file));
    let private = index.language(file) == Language::Python;
    let mut definitions: Vec<&DefinitionSummary> = index
        .definitions(file)
        .iter()
        .filter(|defined| defined.reachable() && (defined.public || private))
        .collect();
    definitions.sort_by_key(|defined| defined.name);
    for defined in definitions {
        let method = defined.kind == DefinitionKind::Method;
        let kind = of_kind(defined.kind) * if defined.public { 1.0 } else { 0.1 };
        match spots.last_mut() {
            Some(last) if spots_end(last, number, defined.name) => {
                last.method &= method;
                last.kind = last.kind.max(kind);
            }
            _ => spots.push(DefinedName {
                name: defined.name,
                file: number,
                method,
                kind,
                aside,
            }),
        }
    }
    // The order of the names' numbers must not show.
    spots[first..].sort_by(|a, b| index.name(a.name).cmp(index.name(b.name)));
}

fn spots_end(last: &DefinedName, file: u32, name: NameId) -> bool {
    last.file == file && last.name == name
}

/// By name and family: where its spots begin and end in the list of them.
fn grouped(names: usize, spots: &[DefinedName], families: &[u8]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let slot = |spot: &DefinedName| {
        let family = families[spot.file as usize];
        spot.name as usize * FAMILIES + usize::from(family)
    };
    let mut by_name = vec![(0_u32, 0_u32); names * FAMILIES];
    for spot in spots {
        by_name[slot(spot)].1 += 1;
    }
    let mut next = 0;
    for (start, end) in &mut by_name {
        let many = *end as usize > MANY;
        *start = if many { NOWHERE } else { next };
        next += if many { 0 } else { *end };
        *end = *start;
    }
    let mut found = vec![0; next as usize];
    for (at, spot) in (0_u32..).zip(spots) {
        let (start, end) = &mut by_name[slot(spot)];
        if *start != NOWHERE {
            found[*end as usize] = at;
            *end += 1;
        }
    }
    for place in by_name.iter_mut().filter(|(start, _)| *start == NOWHERE) {
        *place = (0, 0);
    }
    (by_name, found)
}

fn of_kind(kind: DefinitionKind) -> f64 {
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

/// Whether a file is a test, a sample, or someone else's.
fn is_aside(path: &str) -> bool {
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
