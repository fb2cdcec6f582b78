//! Tokens are counted as `bpe-openai` counts them, whatever the text.

use std::fs;
use std::path::Path;

use codeteam_context::tokens::{self, TokenCounter};
use proptest::prelude::*;

/// Some characters of each class that the pattern distinguishes: letters of all kinds, those of
/// contractions, marks, numbers, white space, and others.
const NASTY: &str = "astrevlmdzASTRELZK\
    ſKéÉßǅᾈʰªאعロ漢ก\u{301}\u{20dd}\u{903}\u{fe0f}\
    019٣½Ⅷ𝟘\
    \t\n\r\u{b}\u{c}\u{20}\u{85}\u{a0}\u{2003}\u{2028}\u{3000}\
    \u{200b}\u{200d}\u{feff}\u{1c}\0\u{7f}'’\"/\\_-.,({=#。€😀🏽🇪\u{e000}\u{10ffff}\u{378}";

/// Fewer, for strings of three.
const FEW: &str = "asSTlſǅʰロ\u{301}1½ \t\n\r\u{a0}'/.😀";

/// Pieces of source code.
const CODE: &str = "foo|Bar|HTTPServer|camelCase|snake_case|x|I|don't|it's|WE'LL|'|'save|\"|(|)|();\n|{\n|}\n|}\n\n\
    |// |/// |/*|*/|\n|\r\n|\n\n|    |        |                    |\t|\t\t| |  |   \n|=|==|=>|->|::|.|,|, |;|;\n\
    |0|12|345|6789|1234567890|0x1F|#|# |-----|--------------------------------------------------------------------\
    |é|naïve|→|日本語|🎉|\u{a0}|…|/|\n/|\n//|supercalifragilisticexpialidocious|aaaaaaaaaaaaaaaaaaaaaaaa|dGhpcyBpcyBi";

fn nasty() -> Vec<String> {
    NASTY.chars().map(String::from).collect()
}

fn few() -> Vec<String> {
    FEW.chars().map(String::from).collect()
}

fn code() -> Vec<String> {
    CODE.split('|').map(String::from).collect()
}

#[track_caller]
fn same(text: &str) {
    let wanted = bpe_openai::o200k_base().count(text);
    assert_eq!(tokens::count(text), wanted, "{text:?}");
}

#[test]
fn one_two_and_three_characters_in_every_order() {
    for one in nasty() {
        same(&one);
        for two in nasty() {
            same(&format!("{one}{two}"));
        }
    }
    for one in few() {
        for two in few() {
            for three in few() {
                same(&format!("{one}{two}{three}"));
            }
        }
    }
}

#[test]
fn the_files_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut counted = 0;
    for entry in ignore::Walk::new(root).flatten() {
        if let Ok(text) = fs::read_to_string(entry.path()) {
            let wanted = bpe_openai::o200k_base().count(&text);
            assert_eq!(tokens::count(&text), wanted, "{}", entry.path().display());
            counted += 1;
        }
    }
    assert!(counted > 500, "{counted} files");
}

#[test]
fn long_runs() {
    let units = "a A aA Aa ab 1 é 漢 ロA \u{301} 😀 = / \n/ ' 's x' -= aaaab \u{3000} 𝟘 ACGT ha";
    let blanks = [" ", "\t", "\n", " \n", "\r\n"];
    for unit in units.split(' ').chain(blanks) {
        for times in [
            1, 2, 3, 5, 15, 16, 17, 31, 33, 63, 64, 65, 129, 1000, 5000, 20_000,
        ] {
            let text = unit.repeat(times);
            same(&text);
            same(&format!("{text}a"));
            same(&format!("b {text} "));
        }
    }
}

#[test]
fn every_token_by_itself_and_twice() {
    let bpe = &bpe_openai::o200k_base().bpe;
    let mut counter = TokenCounter::new();
    for token in 0..u32::try_from(bpe.num_tokens()).unwrap() {
        if let Ok(text) = str::from_utf8(bpe.token_bytes(token)) {
            let twice = format!("{text}{text}");
            let wanted = bpe_openai::o200k_base().count(text);
            assert_eq!(counter.count(text), wanted, "{text:?}");
            let wanted = bpe_openai::o200k_base().count(&twice);
            assert_eq!(counter.count(&twice), wanted, "{twice:?}");
        }
    }
}

#[test]
fn the_vocabulary_is_the_one_of_bpe_openai() {
    let bpe = &bpe_openai::o200k_base().bpe;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/o200k.vocab");
    let bytes = fs::read(path).unwrap();
    let mut rest = bytes.as_slice();
    for token in 0..u32::try_from(bpe.num_tokens()).unwrap() {
        let (length, after) = rest.split_first().unwrap();
        let (own, after) = after.split_at(usize::from(*length));
        assert_eq!(own, bpe.token_bytes(token), "{token}");
        rest = after;
    }
    assert_eq!(rest, [0_u8; 0]);
}

/// A small generator of numbers, always the same ones.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn text(&mut self, parts: &[String], most: usize) -> String {
        let length = self.roll(most) + 1;
        (0..length)
            .map(|_| parts[self.roll(parts.len())].as_str())
            .collect()
    }
}

#[test]
fn tens_of_thousands_of_texts() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (nasty, few, code) = (nasty(), few(), code());
    for round in 0..40_000 {
        let text = match round % 4 {
            0 => dice.text(&nasty, 12),
            1 => dice.text(&few, 40),
            2 => dice.text(&code, 60),
            _ => {
                let letters = dice.roll(200) + 1;
                (0..letters)
                    .map(|_| char::from(u8::try_from(dice.roll(128)).unwrap()))
                    .collect()
            }
        };
        same(&text);
    }
}

/// The longest beginning that ends with a piece, has the same pieces by itself, and has at most so
/// many tokens.
fn longest(text: &str, max: usize) -> usize {
    let tokenizer = bpe_openai::o200k_base();
    let pieces: Vec<&str> = tokenizer.split(text).collect();
    let (mut best, mut length, mut count) = (0, 0, 0);
    for (i, piece) in pieces.iter().enumerate() {
        length += piece.len();
        count += tokenizer.bpe.count(piece.as_bytes());
        if count > max {
            break;
        }
        if tokenizer
            .split(&text[..length])
            .eq(pieces[..=i].iter().copied())
        {
            best = length;
        }
    }
    best
}

#[test]
fn a_beginning_of_so_many_tokens() {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(100);
    for max in [0, 1, 2, 3, 9, 10, 11, 500, 999, 1000, 1001, usize::MAX] {
        let length = tokens::prefix_length(&text, max);
        assert_eq!(length, longest(&text, max), "{max}");
        assert_eq!(tokens::count(&text[..length]), max.min(1001), "{max}");
    }
    assert_eq!(tokens::prefix_length("", 1), 0);
    assert_eq!(
        tokens::prefix_length("supercalifragilisticexpialidocious", 3),
        0
    );
    assert_eq!(tokens::prefix_length(&"a".repeat(1 << 20), 1000), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn beginnings(
        parts in prop::collection::vec(prop::sample::select([nasty(), code()].concat()), 0..100),
        max in 0_usize..200,
    ) {
        let text = parts.concat();
        prop_assert_eq!(tokens::prefix_length(&text, max), longest(&text, max));
    }

    #[test]
    fn any_text(text in any::<String>()) {
        same(&text);
    }

    #[test]
    fn nasty_texts(parts in prop::collection::vec(prop::sample::select(nasty()), 0..100)) {
        same(&parts.concat());
    }

    #[test]
    fn texts_like_code(parts in prop::collection::vec(prop::sample::select(code()), 0..200)) {
        same(&parts.concat());
    }
}
