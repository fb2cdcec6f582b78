//! Which names lead where, and how much a reference says.

use std::ops::Range;

use super::Focus;
use crate::index::{Defined, Index, Name};
use crate::language::Language;
use crate::outline::Kind;

/// A name that more files define leads nowhere: nobody can tell which is meant.
const MANY: usize = 12;

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
pub(super) struct Names {
    families: Vec<u8>,
    /// By file: where its spots begin; and the end of all.
    starts: Vec<usize>,
    spots: Vec<Spot>,
    /// By name: its spots, in the order of the files.
    by_name: Vec<(u32, u32)>,
    found: Vec<u32>,
    /// By spot: what a reference says.
    weights: Vec<f64>,
}

/// A name that a file defines.
#[derive(Clone, Copy)]
struct Spot {
    name: Name,
    file: u32,
    /// Whether it is nothing but the name of methods.
    method: bool,
    kind: f64,
    aside: bool,
}

impl Names {
    pub(super) fn new(index: &Index, focus: &Focus) -> Self {
        let families: Vec<_> = (0..index.len())
            .map(|file| family(index.language(file)))
            .collect();
        let mut starts = vec![0];
        let mut spots: Vec<Spot> = Vec::new();
        for (file, number) in (0..index.len()).zip(0_u32..) {
            add(index, file, number, &mut spots);
            starts.push(spots.len());
        }
        let (by_name, found) = grouped(index.names(), &spots);
        let mut names = Self {
            families,
            starts,
            spots,
            by_name,
            found,
            weights: Vec::new(),
        };
        names.weights = names.weigh(index, focus);
        names
    }

    /// How many spots there are.
    pub(super) fn spots(&self) -> usize {
        self.spots.len()
    }

    /// The spots of a file.
    pub(super) fn spots_of(&self, file: usize) -> Range<usize> {
        self.starts[file]..self.starts[file + 1]
    }

    /// The spot of a name in a file.
    pub(super) fn spot(&self, file: usize, name: Name) -> Option<u32> {
        let all = self.named(name);
        let at = all.binary_search_by_key(&file, |spot| self.spots[*spot as usize].file as usize);
        Some(all[at.ok()?])
    }

    /// The spots of a name, in all languages.
    fn named(&self, name: Name) -> &[u32] {
        let (start, end) = self.by_name[name as usize];
        &self.found[start as usize..end as usize]
    }

    /// Those that a file can mean by a name: none if there are too many, or if one is its own.
    fn meant(&self, file: usize, name: Name) -> impl Iterator<Item = u32> + Clone {
        let family = self.families[file];
        let same =
            self.named(name).iter().copied().filter(move |spot| {
                self.families[self.spots[*spot as usize].file as usize] == family
            });
        let few = same.clone().nth(MANY).is_none();
        let own = same
            .clone()
            .any(|spot| self.spots[spot as usize].file as usize == file);
        same.filter(move |_| few && !own)
    }

    /// What a reference to each spot says.
    fn weigh(&self, index: &Index, focus: &Focus) -> Vec<f64> {
        let mut sizes = [0_u32; 5];
        for family in &self.families {
            sizes[usize::from(*family)] += 1;
        }
        let mut referring = vec![0_u32; self.spots.len()];
        for file in 0..index.len() {
            for (name, _) in index.references(file) {
                for spot in self.meant(file, *name) {
                    referring[spot as usize] += 1;
                }
            }
        }
        let weights = self.spots.iter().zip(&referring).map(|(spot, referring)| {
            let name = index.name(spot.name);
            let family = self.families[spot.file as usize];
            let files = f64::from(sizes[usize::from(family)]);
            let rare = (1.0 + files / f64::from((*referring).max(1))).ln() / (1.0 + files).ln();
            let mentioned = focus.names.iter().any(|mentioned| mentioned == name);
            let aside = if spot.aside { ASIDE } else { 1.0 };
            let wanted = if mentioned { 10.0 } else { 1.0 };
            rare * spot.kind * aside * wanted * shape(name)
        });
        weights.collect()
    }

    /// The ways out of a file: to which spot, and how much it says. `named` is as long as there are
    /// files, and all 0.
    pub(super) fn ways(
        &self,
        index: &Index,
        file: usize,
        named: &mut [u32],
        ways: &mut Vec<(u32, f64)>,
    ) {
        let references = index.references(file);
        let mut noted = Vec::new();
        for (name, _) in references {
            for spot in self.meant(file, *name) {
                let spot = self.spots[spot as usize];
                if !spot.method {
                    named[spot.file as usize] += 1;
                    noted.push(spot.file);
                }
            }
        }
        for (name, times) in references {
            let meant = self.meant(file, *name);
            // What is aside takes less of what several share.
            let share: f64 = meant
                .clone()
                .map(|spot| {
                    if self.spots[spot as usize].aside {
                        ASIDE
                    } else {
                        1.0
                    }
                })
                .sum();
            for at in meant {
                let spot = self.spots[at as usize];
                let chance = if spot.method && named[spot.file as usize] == 0 {
                    BY_CHANCE
                } else {
                    1.0
                };
                let ambiguous = share.max(1.0) * (1.0 + share.max(1.0).ln());
                let weight = f64::from(*times).sqrt() * chance * self.weights[at as usize];
                ways.push((at, weight / ambiguous));
            }
        }
        for file in noted {
            named[file as usize] = 0;
        }
    }
}

/// Adds the spots of a file, each name once.
fn add(index: &Index, file: usize, number: u32, spots: &mut Vec<Spot>) {
    let first = spots.len();
    let aside = is_aside(index.path(file));
    let private = index.language(file) == Language::Python;
    let mut definitions: Vec<&Defined> = index
        .definitions(file)
        .iter()
        .filter(|defined| defined.reachable() && (defined.public || private))
        .collect();
    definitions.sort_by_key(|defined| defined.name);
    for defined in definitions {
        let method = defined.kind == Kind::Method;
        let kind = of_kind(defined.kind) * if defined.public { 1.0 } else { 0.1 };
        match spots.last_mut() {
            Some(last) if spots_end(last, number, defined.name) => {
                last.method &= method;
                last.kind = last.kind.max(kind);
            }
            _ => spots.push(Spot {
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

fn spots_end(last: &Spot, file: u32, name: Name) -> bool {
    last.file == file && last.name == name
}

/// By name: where its spots begin and end in the list of them.
fn grouped(names: usize, spots: &[Spot]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut by_name = vec![(0_u32, 0_u32); names];
    for spot in spots {
        by_name[spot.name as usize].1 += 1;
    }
    let mut next = 0;
    for (start, end) in &mut by_name {
        *start = next;
        next += *end;
        *end = *start;
    }
    let mut found = vec![0; spots.len()];
    for (at, spot) in (0_u32..).zip(spots) {
        let end = &mut by_name[spot.name as usize].1;
        found[*end as usize] = at;
        *end += 1;
    }
    (by_name, found)
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
