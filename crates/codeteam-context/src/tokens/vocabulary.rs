//! The tokens of `o200k`, in tables that the build script laid out and that are used in place.

use super::hash;

/// Puts a table where an entry never lies across two cache lines.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

macro_rules! table {
    ($name:literal) => {{
        static TABLE: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name)));
        &TABLE.0
    }};
}

/// Returns true if a [`hash::key`] is a token.
#[inline]
pub(super) fn has_key(key: u128) -> bool {
    let (pilots, slots) = (table!("short.pilots"), table!("short.slots"));
    let hash = hash::hash_key(key);
    may_have(table!("short.filter"), hash) && slot_entry(pilots, slots, hash) == key.to_le_bytes()
}

/// Returns true if these bytes, which are more than fit into a key, are a token.
pub(super) fn has_long(bytes: &[u8]) -> bool {
    let (pilots, slots) = (table!("long.pilots"), table!("long.slots"));
    let entry = u32::from_le_bytes(slot_entry(pilots, slots, hash::hash_bytes(bytes)));
    let (start, length) = ((entry >> 8) as usize, (entry & 0xff) as usize);
    table!("long.text").get(start..start + length) == Some(bytes)
}

/// The token that two neighbours merge to, which is the rank of that merge, too.
#[inline]
pub(super) fn merged(left: u32, right: u32) -> Option<u32> {
    let (pilots, slots) = (table!("pairs.pilots"), table!("pairs.slots"));
    let pair = hash::pair(left, right);
    let hash = hash::hash_pair(pair);
    if !may_have(table!("pairs.filter"), hash) {
        return None;
    }
    let entry = u64::from_le_bytes(slot_entry(pilots, slots, hash));
    let rank = entry & ((1 << hash::RANK_BITS) - 1);
    (entry >> hash::RANK_BITS == pair).then_some(rank as u32)
}

/// The token of a single byte.
#[inline]
pub(super) fn byte_token(byte: u8) -> u32 {
    u32::from_le_bytes(at(table!("bytes"), usize::from(byte)))
}

/// Returns true if a hash may be in a table.
#[inline]
fn may_have(filter: &[u8], hash: u64) -> bool {
    let (word, bits) = hash::filter_bits(hash);
    u64::from_le_bytes(at(filter, word)) & bits == bits
}

/// Returns the entry at a hash's place.
#[inline]
fn slot_entry<const N: usize>(pilots: &[u8], slots: &[u8], hash: u64) -> [u8; N] {
    let pilot = at(pilots, hash::bucket(hash, pilots.len() / 2));
    let slot = hash::slot(hash, u16::from_le_bytes(pilot), slots.len() / N);
    at(slots, slot)
}

#[inline]
fn at<const N: usize>(table: &[u8], index: usize) -> [u8; N] {
    let entry = table[index * N..].first_chunk();
    *entry.unwrap_or(&[0; N])
}
