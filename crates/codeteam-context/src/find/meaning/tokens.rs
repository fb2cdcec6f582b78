//! The tokens of a word, by a `tokenizer.json` in Hugging Face's form.
//!
//! Of that form, what static embedding models use is read: `WordPiece`, `BPE` whose words begin with
//! `▁`, and `Unigram`. Words are given one by one and in lower case, so that what such a file says of
//! splitting a text into words, and of signs between them, does not matter here.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

/// What words of the latter two kinds begin with.
const BEGIN: char = '▁';
/// The longest word, in characters; beyond it is none.
const LONGEST: usize = 100;

/// Splits words into tokens.
#[derive(Debug)]
pub(super) struct WordTokenizer {
    kind: SubwordMethod,
    ids: HashMap<String, u32>,
    tokens: usize,
}

#[derive(Debug)]
enum SubwordMethod {
    /// The longest token that fits, again and again; all but the first begin with a prefix.
    WordPiece { prefix: String },
    /// Two tokens that stand beside each other become one, the pair that comes first in the list first.
    Bpe {
        merges: HashMap<(String, String), u32>,
    },
    /// The tokens that are likeliest together.
    Unigram { likely: HashMap<String, f64> },
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModelFile,
    #[serde(default)]
    pre_tokenizer: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum TokenizerModelFile {
    WordPiece {
        vocab: BTreeMap<String, u32>,
        continuing_subword_prefix: Option<String>,
    },
    #[serde(rename = "BPE")]
    Bpe {
        vocab: BTreeMap<String, u32>,
        merges: Vec<MergeRule>,
    },
    Unigram {
        vocab: Vec<(String, f64)>,
    },
}

/// Two tokens, as one text or as two.
#[derive(Deserialize)]
#[serde(untagged)]
enum MergeRule {
    Text(String),
    Two(String, String),
}

impl WordTokenizer {
    /// Reads one; what is wrong with it otherwise.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file: TokenizerFile = serde_json::from_slice(bytes).map_err(|error| {
            format!("it must be a tokenizer with a model `WordPiece`, `BPE` or `Unigram` ({error})")
        })?;
        if file.pre_tokenizer.to_string().contains("\"ByteLevel\"") {
            return Err(
                "its tokens are made of bytes (`ByteLevel`), which is not understood".to_owned(),
            );
        }
        let (kind, ids) = match file.model {
            TokenizerModelFile::WordPiece {
                vocab,
                continuing_subword_prefix,
            } => {
                let prefix = continuing_subword_prefix.unwrap_or_else(|| "##".to_owned());
                (
                    SubwordMethod::WordPiece { prefix },
                    vocab.into_iter().collect(),
                )
            }
            TokenizerModelFile::Bpe { vocab, merges } => {
                let two = |merge| match merge {
                    MergeRule::Two(one, other) => Some((one, other)),
                    MergeRule::Text(text) => text
                        .split_once(' ')
                        .map(|(a, b)| (a.to_owned(), b.to_owned())),
                };
                let merges = merges.into_iter().filter_map(two).zip(0..);
                (
                    SubwordMethod::Bpe {
                        merges: merges.collect(),
                    },
                    vocab.into_iter().collect(),
                )
            }
            TokenizerModelFile::Unigram { vocab } => {
                let ids: HashMap<String, u32> = vocab
                    .iter()
                    .map(|(token, _)| token.clone())
                    .zip(0..)
                    .collect();
                let likely = vocab.into_iter().collect();
                (SubwordMethod::Unigram { likely }, ids)
            }
        };
        let last = ids.values().max().ok_or("it has no tokens")?;
        let tokens = *last as usize + 1;
        Ok(Self { kind, ids, tokens })
    }

    /// How many tokens there are.
    pub(super) fn tokens(&self) -> usize {
        self.tokens
    }

    /// The tokens of a word; none if it is not made of any.
    pub(super) fn word(&self, word: &str) -> Vec<u32> {
        if word.chars().count() > LONGEST {
            return Vec::new();
        }
        match &self.kind {
            SubwordMethod::WordPiece { prefix } => self.pieces(word, prefix),
            SubwordMethod::Bpe { merges } => self.merged(word, merges),
            SubwordMethod::Unigram { likely } => self.likeliest(word, likely),
        }
    }

    fn pieces(&self, word: &str, prefix: &str) -> Vec<u32> {
        let mut found = Vec::new();
        let mut rest = word;
        while !rest.is_empty() {
            let before = if found.is_empty() { "" } else { prefix };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let piece = ends.into_iter().find_map(|end| {
                let id = self.ids.get(&format!("{before}{}", &rest[..end]))?;
                Some((*id, end))
            });
            let Some((id, end)) = piece else {
                return Vec::new();
            };
            found.push(id);
            rest = &rest[end..];
        }
        found
    }

    fn merged(&self, word: &str, merges: &HashMap<(String, String), u32>) -> Vec<u32> {
        let mut parts: Vec<String> = std::iter::once(BEGIN)
            .chain(word.chars())
            .map(String::from)
            .collect();
        loop {
            let pairs = parts.windows(2).enumerate().filter_map(|(at, pair)| {
                let rank = merges.get(&(pair[0].clone(), pair[1].clone()))?;
                Some((*rank, at))
            });
            let Some((_, at)) = pairs.min() else {
                break;
            };
            let other = parts.remove(at + 1);
            parts[at].push_str(&other);
        }
        parts
            .iter()
            .flat_map(|part| self.token_or_bytes(part))
            .collect()
    }

    /// A token, or those of its bytes if it is none.
    fn token_or_bytes(&self, part: &str) -> Vec<u32> {
        if let Some(id) = self.ids.get(part) {
            return vec![*id];
        }
        let bytes = part
            .bytes()
            .filter_map(|byte| self.ids.get(&format!("<0x{byte:02X}>")));
        bytes.copied().collect()
    }

    fn likeliest(&self, word: &str, likely: &HashMap<String, f64>) -> Vec<u32> {
        let text = format!("{BEGIN}{word}");
        let ends: Vec<usize> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        // For each place, the best way to it: how likely, and from where.
        let mut best: Vec<Option<(f64, usize)>> = vec![None; ends.len()];
        best[0] = Some((0.0, 0));
        for to in 1..ends.len() {
            for from in 0..to {
                let Some((before, _)) = best[from] else {
                    continue;
                };
                let Some(score) = likely.get(&text[ends[from]..ends[to]]) else {
                    continue;
                };
                if best[to].is_none_or(|(most, _)| before + score > most) {
                    best[to] = Some((before + score, from));
                }
            }
        }
        let mut found = Vec::new();
        let mut to = ends.len() - 1;
        while to > 0 {
            let Some((_, from)) = best[to] else {
                return Vec::new();
            };
            found.extend(self.ids.get(&text[ends[from]..ends[to]]));
            to = from;
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(json: &str, words: &[&str]) -> Vec<Vec<u32>> {
        let tokenizer = WordTokenizer::read(json.as_bytes()).unwrap();
        words.iter().map(|word| tokenizer.word(word)).collect()
    }

    #[test]
    fn pieces_of_words() {
        let json = r###"{"model":{"type":"WordPiece","vocab":{"pars":0,"##ing":1,"##e":2,"parse":3,"é":4}}}"###;
        assert_eq!(
            words(json, &["parsing", "parse", "é", "x", "parsx"]),
            [vec![0, 1], vec![3], vec![4], vec![], vec![]]
        );
    }

    #[test]
    fn pairs_are_merged_in_their_order() {
        let json = r#"{"model":{"type":"BPE","vocab":{"▁":0,"a":1,"b":2,"ab":3,"▁a":4,"▁ab":5,"<0xC3>":6,"<0xA9>":7},
            "merges":["a b",["▁","a"],"▁ ab"]}}"#;
        assert_eq!(
            words(json, &["ab", "aab", "é", "x"]),
            [vec![5], vec![4, 3], vec![0, 6, 7], vec![0]]
        );
    }

    #[test]
    fn the_likeliest_tokens() {
        let json = r#"{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁",-3],["▁a",-2],["b",-2],["▁ab",-5],["c",-1]]}}"#;
        assert_eq!(
            words(json, &["ab", "abc", "x"]),
            [vec![2, 3], vec![2, 3, 5], vec![]]
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (json, what) in [
            ("", "must be a tokenizer"),
            ("{}", "`model`"),
            (
                r#"{"model":{"type":"WordLevel","vocab":{}}}"#,
                "`WordLevel`",
            ),
            (r#"{"model":{"type":"WordPiece","vocab":{}}}"#, "no tokens"),
            (
                r#"{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":1},"merges":[]}}"#,
                "`ByteLevel`",
            ),
        ] {
            let error = WordTokenizer::read(json.as_bytes()).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
