//! Looks up entries in the tables. The build script includes this file, so that what it lays out is
//! found again; it uses nothing but the standard library.

/// The most bytes that a [`key`] holds.
pub(crate) const SHORT: usize = 15;
/// Bits of a token's rank.
pub(crate) const RANK_BITS: u32 = 18;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd1b5_4a32_d192_ed03;
const THIRD: u64 = 0xa076_1d64_78bd_642f;

/// Up to [`SHORT`] bytes as one number: the bytes, then in the last one their length. Its upper half
/// is left to callers.
pub(crate) fn key(bytes: &[u8]) -> u128 {
    let mut own = [0; 16];
    own[..bytes.len()].copy_from_slice(bytes);
    own[SHORT] = bytes.len() as u8;
    u128::from_le_bytes(own)
}

/// The [`key`] of the bytes from a place on, of which there are at least 16.
#[inline]
pub(crate) fn key_at(text: &[u8], start: usize, length: usize) -> u128 {
    let own = text[start..]
        .first_chunk()
        .map_or(0, |own| u128::from_le_bytes(*own));
    own & !(u128::MAX << (8 * length)) | (length as u128) << 120
}

/// The hash of a [`key`].
#[inline]
pub(crate) fn hash_key(key: u128) -> u64 {
    fold(key as u64 ^ FIRST, (key >> 64) as u64 ^ SECOND)
}

/// The hash of any bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    for part in bytes.chunks(8) {
        let mut own = [0; 8];
        own[..part.len()].copy_from_slice(part);
        hash = fold(hash ^ FIRST, u64::from_le_bytes(own) ^ THIRD);
    }
    hash
}

/// Two neighbouring tokens as one number.
#[inline]
pub(crate) fn pair(left: u32, right: u32) -> u64 {
    (u64::from(left) << RANK_BITS) | u64::from(right)
}

/// The hash of a [`pair`].
#[inline]
pub(crate) fn hash_pair(pair: u64) -> u64 {
    fold(pair ^ SECOND, FIRST)
}

/// Returns the place of a hash among `places`, a power of two.
#[inline]
pub(crate) fn place(hash: u64, places: usize) -> usize {
    hash as usize & (places - 1)
}

/// Words of a filter.
pub(crate) const FILTER: usize = 1 << 14;

/// Returns the word of a filter and its bits that are set for a hash in the table.
#[inline]
pub(crate) fn filter_bits(hash: u64) -> (usize, u64) {
    let bits = 1 << (hash & 63) | 1 << ((hash >> 6) & 63);
    ((hash >> 12) as usize % FILTER, bits)
}

/// Returns the bucket of a hash.
#[inline]
pub(crate) fn bucket(hash: u64, buckets: usize) -> usize {
    (((hash >> 32) * buckets as u64) >> 32) as usize
}

/// Returns the slot of a hash, given its bucket's pilot.
#[inline]
pub(crate) fn slot(hash: u64, pilot: u16, slots: usize) -> usize {
    let mixed = (hash ^ u64::from(pilot).wrapping_mul(THIRD)).wrapping_mul(SECOND);
    (((mixed >> 32) * slots as u64) >> 32) as usize
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
