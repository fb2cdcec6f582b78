//! Lays out the tables of the token counter, so that nothing is parsed at run time.
//!
//! From `data/o200k.vocab`: the short tokens, the long ones, the pairs that merge and the tokens of
//! single bytes. From `data/unicode.classes`: the class of each character. The tokens and pairs are
//! perfect hash tables: a bucket's pilot sends each of its members to a slot of its own.

#![allow(
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "this is how cargo and a build script talk; numbers are small"
)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[allow(dead_code, reason = "the counter uses the rest")]
#[path = "src/tokens/hash.rs"]
mod hash;

/// Members of a bucket, on average. More take longer to place, fewer take more room.
const BUCKET: usize = 3;
/// Out of a hundred slots, this many are filled.
const FILLED: usize = 95;
/// Characters of one block of the classes.
const BLOCK: usize = 128;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/tokens/hash.rs");
    println!("cargo::rerun-if-changed=data/o200k.vocab");
    println!("cargo::rerun-if-changed=data/unicode.classes");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let vocabulary = fs::read("data/o200k.vocab")?;
    let tokens = read_tokens(&vocabulary);
    write_short(&tokens, &out)?;
    write_long(&tokens, &out)?;
    write_pairs(&tokens, &out)?;
    write_classes(&fs::read_to_string("data/unicode.classes")?, &out)
}

fn read_tokens(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut tokens = Vec::new();
    while let Some((&length, after)) = rest.split_first() {
        let (token, after) = after.split_at(usize::from(length));
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Tokens that fit into a key, as keys.
fn write_short(tokens: &[&[u8]], out: &Path) -> io::Result<()> {
    let short = tokens.iter().filter(|token| token.len() <= hash::SHORT);
    let keys: Vec<u128> = short.map(|token| hash::key(token)).collect();
    let hashes: Vec<u64> = keys.iter().map(|&key| hash::hash_key(key)).collect();
    write_filter("short", &hashes, out)?;
    write_table("short", &hashes, out, |member| {
        member.map_or(0, |i| keys[i]).to_le_bytes()
    })
}

/// The other tokens: where each begins in a text of all of them, and its length.
fn write_long(tokens: &[&[u8]], out: &Path) -> io::Result<()> {
    let long = tokens.iter().filter(|token| token.len() > hash::SHORT);
    let mut text: Vec<u8> = Vec::new();
    let (mut hashes, mut entries) = (Vec::new(), Vec::new());
    for token in long {
        hashes.push(hash::hash_bytes(token));
        entries.push((text.len() as u32) << 8 | token.len() as u32);
        text.extend(*token);
    }
    fs::write(out.join("long.text"), text)?;
    write_table("long", &hashes, out, |member| {
        member.map_or(0, |i| entries[i]).to_le_bytes()
    })
}

/// Writes the two tokens that each token is merged from, and the tokens of single bytes.
fn write_pairs(tokens: &[&[u8]], out: &Path) -> io::Result<()> {
    let mut bytes = [0_u32; 256];
    let mut known: HashMap<u64, u32> = HashMap::with_capacity(tokens.len());
    for (rank, token) in tokens.iter().enumerate() {
        if let [byte] = token {
            bytes[usize::from(*byte)] = rank as u32;
            continue;
        }
        let mut parts: Vec<u32> = token.iter().map(|&byte| bytes[usize::from(byte)]).collect();
        while parts.len() > 2 {
            let merge = parts.windows(2).enumerate().filter_map(|(at, two)| {
                let merged = known.get(&hash::pair(two[0], two[1]))?;
                Some((*merged, at))
            });
            let (merged, at) = merge.min().expect("a token is made of earlier ones");
            parts[at] = merged;
            parts.remove(at + 1);
        }
        known.insert(hash::pair(parts[0], parts[1]), rank as u32);
    }
    let bytes: Vec<u8> = bytes.iter().flat_map(|rank| rank.to_le_bytes()).collect();
    fs::write(out.join("bytes"), bytes)?;

    let mut pairs: Vec<(u64, u32)> = known.into_iter().collect();
    pairs.sort_unstable();
    let hashes: Vec<u64> = pairs.iter().map(|two| hash::hash_pair(two.0)).collect();
    write_filter("pairs", &hashes, out)?;
    write_table("pairs", &hashes, out, |member| {
        let entry = member.map(|i| pairs[i].0 << hash::RANK_BITS | u64::from(pairs[i].1));
        entry.unwrap_or(u64::MAX).to_le_bytes()
    })
}

/// Writes `name.pilots` and `name.slots`; `entry` gives a slot's bytes for its member or for none.
fn write_table<const N: usize>(
    name: &str,
    hashes: &[u64],
    out: &Path,
    entry: impl Fn(Option<usize>) -> [u8; N],
) -> io::Result<()> {
    let (pilots, slots) = place(hashes);
    let pilots: Vec<u8> = pilots.into_iter().flat_map(u16::to_le_bytes).collect();
    fs::write(out.join(format!("{name}.pilots")), pilots)?;
    let slots: Vec<u8> = slots.into_iter().flat_map(entry).collect();
    fs::write(out.join(format!("{name}.slots")), slots)
}

/// Writes `name.filter`, by which most of what is not in a table is known at once.
fn write_filter(name: &str, hashes: &[u64], out: &Path) -> io::Result<()> {
    let mut filter = vec![0_u64; hash::FILTER];
    for &hash in hashes {
        let (word, bits) = hash::filter_bits(hash);
        filter[word] |= bits;
    }
    let filter: Vec<u8> = filter.into_iter().flat_map(u64::to_le_bytes).collect();
    fs::write(out.join(format!("{name}.filter")), filter)
}

/// Finds a pilot for each bucket, the fullest first, that sends its members to free slots.
fn place(hashes: &[u64]) -> (Vec<u16>, Vec<Option<usize>>) {
    let mut buckets = vec![Vec::new(); hashes.len().div_ceil(BUCKET)];
    let count = buckets.len();
    for (member, &hash) in hashes.iter().enumerate() {
        buckets[hash::bucket(hash, count)].push(member);
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&bucket| Reverse(buckets[bucket].len()));
    let mut pilots = vec![0_u16; count];
    let mut slots = vec![None; hashes.len() * 100 / FILLED + 1];
    for bucket in order {
        let members = &buckets[bucket];
        let fits = |pilot: u16| -> Option<Vec<usize>> {
            let mut own = Vec::with_capacity(members.len());
            for &member in members {
                let slot = hash::slot(hashes[member], pilot, slots.len());
                if slots[slot].is_some() || own.contains(&slot) {
                    return None;
                }
                own.push(slot);
            }
            Some(own)
        };
        let (pilot, own) = (0..=u16::MAX)
            .find_map(|pilot| Some((pilot, fits(pilot)?)))
            .expect("there is a pilot for each bucket: fill fewer slots otherwise");
        pilots[bucket] = pilot;
        for (slot, &member) in own.into_iter().zip(members) {
            slots[slot] = Some(member);
        }
    }
    (pilots, slots)
}

/// The classes as blocks that differ, and which block each stretch of characters has.
fn write_classes(text: &str, out: &Path) -> io::Result<()> {
    let mut classes = vec![0_u8; 0x11_0000];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let mut number = |radix| {
            let word = words.next().expect("a line has three words");
            usize::from_str_radix(word, radix).expect("a word is a number")
        };
        let (first, last, class) = (number(16), number(16), number(10));
        classes[first..=last].fill(class as u8);
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut index = Vec::new();
    for block in classes.chunks(BLOCK) {
        let seen = blocks.iter().position(|&other| other == block);
        index.push(u8::try_from(seen.unwrap_or(blocks.len())).expect("blocks are few"));
        if seen.is_none() {
            blocks.push(block);
        }
    }
    fs::write(out.join("classes.index"), index)?;
    fs::write(out.join("classes.blocks"), blocks.concat())
}
