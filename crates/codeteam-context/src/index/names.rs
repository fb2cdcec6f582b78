//! Interns names as numbers.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

/// A name's number.
pub(crate) type NameId = u32;

/// Names, numbered in order of arrival.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    text: String,
    /// The end of each name in `text`.
    ends: Vec<u32>,
    /// The hash table for lookups; built when it is first needed.
    table: OnceLock<NameHashTable>,
}

/// An open-addressing hash table of name numbers with linear probing.
#[derive(Debug)]
struct NameHashTable {
    hasher: RandomState,
    places: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl NameTable {
    /// Creates a table from concatenated names and the end of each.
    pub(super) fn new(text: String, ends: Vec<u32>) -> Option<Self> {
        let mut last = 0;
        for end in &ends {
            if *end < last || !text.is_char_boundary(*end as usize) {
                return None;
            }
            last = *end;
        }
        Some(Self {
            text,
            ends,
            table: OnceLock::new(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, name: NameId) -> &str {
        get(&self.text, &self.ends, name)
    }

    /// Returns the text of the names from `first` on, and the end of each in it.
    pub(super) fn names_from(&self, first: usize) -> (&str, impl Iterator<Item = u32>) {
        let start = first.checked_sub(1).map_or(0, |last| self.ends[last]);
        let ends = self.ends[first..].iter().map(move |end| end - start);
        (&self.text[start as usize..], ends)
    }

    /// Returns the number of a name, if it has one.
    pub(super) fn find_id(&self, name: &str) -> Option<NameId> {
        let table = self
            .table
            .get_or_init(|| NameHashTable::new(&self.text, &self.ends));
        let place = table.place(name, &self.text, &self.ends);
        Some(table.places[place]).filter(|found| *found != FREE)
    }

    /// Returns the number of a name, and assigns one if it has none.
    pub(super) fn add(&mut self, name: &str) -> NameId {
        let (text, ends) = (&self.text, &self.ends);
        self.table.get_or_init(|| NameHashTable::new(text, ends));
        let Some(table) = self.table.get_mut() else {
            return FREE;
        };
        let place = table.place(name, &self.text, &self.ends);
        if table.places[place] != FREE {
            return table.places[place];
        }
        let number = u32::try_from(self.ends.len()).unwrap_or(FREE);
        table.places[place] = number;
        self.text.push_str(name);
        self.ends
            .push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
        if self.ends.len() * 4 > table.places.len() * 3 {
            *table = NameHashTable::new(&self.text, &self.ends);
        }
        number
    }
}

impl NameHashTable {
    fn new(text: &str, ends: &[u32]) -> Self {
        // At most three quarters of it are taken before it grows.
        let size = (ends.len() * 3 / 2 + 1).next_power_of_two().max(64);
        let mut table = Self {
            hasher: RandomState::new(),
            places: vec![FREE; size],
        };
        for number in 0..u32::try_from(ends.len()).unwrap_or(FREE) {
            let place = table.place(get(text, ends, number), text, ends);
            table.places[place] = number;
        }
        table
    }

    /// Returns the slot of a name, or the free slot where it would go.
    fn place(&self, name: &str, text: &str, ends: &[u32]) -> usize {
        let mask = self.places.len() - 1;
        let hash = self.hasher.hash_one(name);
        let mut place = usize::try_from(hash & 0xffff_ffff).unwrap_or(0) & mask;
        loop {
            let found = self.places[place];
            if found == FREE || get(text, ends, found) == name {
                return place;
            }
            place = (place + 1) & mask;
        }
    }
}

fn get<'n>(text: &'n str, ends: &[u32], name: NameId) -> &'n str {
    let at = name as usize;
    let start = at.checked_sub(1).map_or(0, |last| ends[last]);
    &text[start as usize..ends[at] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = NameTable::default();
        let numbers: Vec<_> = (0..1_000).map(|i| names.add(&format!("name{i}"))).collect();
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
        assert_eq!(names.add("name7"), 7);
        assert_eq!(names.find_id("name999"), Some(999));
        assert_eq!(names.find_id("name"), None);
        assert_eq!(names.get(12), "name12");
        let (text, ends) = names.names_from(0);
        let again = NameTable::new(text.to_owned(), ends.collect()).unwrap();
        assert_eq!(again.find_id("name500"), Some(500));
        let (text, ends) = names.names_from(998);
        assert_eq!((text, ends.collect()), ("name998name999", vec![7, 14]));
    }
}
