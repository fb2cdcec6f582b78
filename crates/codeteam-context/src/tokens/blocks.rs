//! Splits plain text many pieces at a time: 64 bytes at once, one bit for each.
//!
//! In ASCII, where a piece begins follows from the characters next to it, so that a few operations
//! on masks find all beginnings of a block. What does not follow from neighbours is left to
//! [`super::pieces`], which says the same where both can.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// The starts of pieces in a block that begins with one.
pub(super) struct PieceStarts {
    /// The places at which pieces begin, as bits, as far as the block can tell.
    pub(super) bits: u64,
    /// Whether the block could tell up to its end.
    pub(super) whole: bool,
}

/// Finds where pieces begin.
#[inline]
pub(super) fn find_piece_starts(block: &[u8; BLOCK]) -> PieceStarts {
    let is = ByteMasks::from_block(block);
    let newline = is.newline;
    let blank = is.control | is.space;
    let space = blank & !newline;
    let lower = is.letter & !is.upper;
    let other = !(is.letter | is.number | blank | is.foreign);
    // Behind a space or others, another one belongs to what began before it.
    let joined = other & ((other | is.space) << 1);

    let mut bits = 1
        | (is.upper & (lower << 1))
        | (is.letter & ((is.number | newline | joined) << 1))
        | (other & !joined)
        | (newline & ((is.letter | is.number) << 1))
        | (space & !(blank << 1))
        | (space & !(blank >> 1))
        | (space & (newline << 1))
        | (is.number & !(is.number << 1));
    // Numbers go by three.
    let four = is.number & (is.number << 1) & (is.number << 2) & (is.number << 3);
    let mut more = (bits << 3) & four;
    while more & !bits != 0 {
        bits |= more;
        more = (bits << 3) & four;
    }

    let hard = is.foreign
        // A contraction, perhaps.
        | (is.quote & (is.letter << 1) & (is.letter >> 1 | 1 << 63))
        // A slash that may belong to others in the line before.
        | slashes(block, other & (newline << 1))
        // White space between line ends, perhaps.
        | blank_lines(space, newline);
    let known = hard.trailing_zeros();
    // Of white space at the end it depends on what follows it.
    let end = if known == 0 {
        0
    } else {
        let open = (space << (64 - known)).leading_ones();
        known.saturating_sub(open)
    };
    let trusted = if end >= 64 { u64::MAX } else { (1 << end) - 1 };
    PieceStarts {
        bits: bits & trusted | 1,
        whole: hard == 0,
    }
}

/// Finds the slashes among some bytes.
#[inline]
fn slashes(block: &[u8; BLOCK], mut bits: u64) -> u64 {
    let mut slashes = 0;
    while bits != 0 {
        let at = bits.trailing_zeros() as usize;
        slashes |= u64::from(block[at] == b'/') << at;
        bits &= bits - 1;
    }
    slashes
}

/// The first white space behind a line end, if a line end follows any such.
#[inline]
fn blank_lines(space: u64, newline: u64) -> u64 {
    let first = space & (newline << 1);
    let behind = space.wrapping_add(first) & !space;
    if behind & newline == 0 { 0 } else { first }
}

/// The classes of a block's bytes, a bit for each.
struct ByteMasks {
    letter: u64,
    upper: u64,
    number: u64,
    space: u64,
    /// The other white space, line ends among it.
    control: u64,
    newline: u64,
    quote: u64,
    /// Not ASCII.
    foreign: u64,
}

const HIGH: u64 = every(0x80);

const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl ByteMasks {
    #[inline]
    fn from_block(block: &[u8; BLOCK]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let foreign = if words.iter().fold(0, |all, word| all | word) & HIGH == 0 {
            0
        } else {
            gather(words)
        };
        let mask = |test: fn(u64) -> u64| gather(words.map(|word| test(word & !HIGH)));
        Self {
            letter: mask(|low| within(low | every(0x20), b'a', b'z')) & !foreign,
            upper: mask(|low| within(low, b'A', b'Z')) & !foreign,
            number: mask(|low| within(low, b'0', b'9')) & !foreign,
            space: mask(|low| equals(low, b' ')) & !foreign,
            control: mask(|low| within(low, b'\t', b'\r')) & !foreign,
            newline: mask(|low| equals(low, b'\n') | equals(low, b'\r')) & !foreign,
            quote: mask(|low| equals(low, b'\'')) & !foreign,
            foreign,
        }
    }
}

/// Of eight bytes below 0x80, sets the highest bit of those from `first` to `last`.
#[inline]
const fn within(low: u64, first: u8, last: u8) -> u64 {
    (low + every(0x80 - first)) & !(low + every(0x7f - last))
}

/// Of eight bytes below 0x80, sets the highest bit of those that equal `byte`, and of no others.
#[inline]
const fn equals(low: u64, byte: u8) -> u64 {
    HIGH - (low ^ every(byte))
}

/// The highest bit of each byte, as bits in a row.
#[inline]
fn gather(words: [u64; 8]) -> u64 {
    // Moves the highest bit of byte i to bit 56 + i; nothing else gets there.
    const TOGETHER: u64 = 0x0002_0408_1020_4081;
    let bytes = words.map(|word| (word & HIGH).wrapping_mul(TOGETHER).to_be_bytes()[0]);
    u64::from_le_bytes(bytes)
}
