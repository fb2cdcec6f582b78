//! Splits plain text many pieces at a time: 64 bytes at once, one bit for each.
//!
//! In ASCII, where a piece begins follows from the characters next to it, so that a few operations
//! on masks find all beginnings of a block. What does not follow from neighbours is left to
//! [`super::pieces`], which says the same where both can.

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Where pieces begin in a block that begins with one.
pub(super) struct Starts {
    /// The places at which pieces begin, as bits, as far as the block can tell.
    pub(super) bits: u64,
    /// Whether the block could tell up to its end.
    pub(super) whole: bool,
}

/// Finds where pieces begin.
#[inline]
pub(super) fn starts(block: &[u8; BLOCK]) -> Starts {
    let is = Masks::of(block);
    let (blank, newline) = (is.blank, is.newline);
    let space = blank & !newline;
    let lower = is.letter & !is.upper;
    let other = !(is.letter | is.number | blank | is.foreign);
    // Behind a blank or others, another one belongs to what began before it.
    let joined = other & ((other | is.blank_proper) << 1);

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
        | (is.slash & (newline << 1))
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
    Starts {
        bits: bits & trusted | 1,
        whole: hard == 0,
    }
}

/// The first white space behind a line end, if a line end follows any such.
#[inline]
fn blank_lines(space: u64, newline: u64) -> u64 {
    let first = space & (newline << 1);
    let behind = space.wrapping_add(first) & !space;
    if behind & newline == 0 { 0 } else { first }
}

/// What the bytes of a block are, a bit for each.
struct Masks {
    letter: u64,
    upper: u64,
    number: u64,
    blank: u64,
    blank_proper: u64,
    newline: u64,
    slash: u64,
    quote: u64,
    foreign: u64,
}

const HIGH: u64 = every(0x80);

const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Masks {
    #[inline]
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let mask = |test: fn(u64) -> u64| gather(words.map(|word| test(word & !HIGH) & !word));
        Self {
            letter: mask(|low| within(low | every(0x20), b'a', b'z')),
            upper: mask(|low| within(low, b'A', b'Z')),
            number: mask(|low| within(low, b'0', b'9')),
            blank: mask(|low| within(low, b'\t', b'\r') | equals(low, b' ')),
            blank_proper: mask(|low| equals(low, b' ')),
            newline: mask(|low| equals(low, b'\n') | equals(low, b'\r')),
            slash: mask(|low| equals(low, b'/')),
            quote: mask(|low| equals(low, b'\'')),
            foreign: gather(words),
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
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    words.iter().rev().fold(0, |bits, word| {
        (bits << 8) | (((word & HIGH) >> 7).wrapping_mul(TOGETHER) >> 56)
    })
}
