//! What files mean, by a static embedding model in a folder of the user's: optional.
//!
//! Such a model is a table with a vector for each of its tokens; a text means the mean of its tokens.
//! Two files are read: `model.safetensors` with the table, and `tokenizer.json` in Hugging Face's
//! form. Texts are given to it word by word, as [`super::words`] splits them: identifiers are
//! no words to a model of language.

mod table;
mod tokens;

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use self::table::EmbeddingTable;
use self::tokens::WordTokenizer;
use super::CandidateFile;
use super::words::{self, FnvBuildHasher};
use crate::cache;
use crate::files::{FileContent, FileSet};

/// What changes when a file's vector becomes another.
const VERSION: u32 = 1;
/// How much of a file's beginning is read for its meaning.
const HEAD: usize = 4000;
/// How much a word of a path counts beside one of a text.
const PATH: f32 = 6.0;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// One of its files cannot be read.
    #[error("could not read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One of its files is something else.
    #[error("`{}` is no static embedding model that can be used: {what}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// No model's file is larger.
const MAX_BYTES: u64 = 2 << 30;

/// A static embedding model.
#[derive(Debug)]
pub struct EmbeddingModel {
    table: EmbeddingTable,
    tokenizer: WordTokenizer,
    /// By what its vectors are told from those of another.
    id: [u8; 16],
}

impl EmbeddingModel {
    /// Reads a model from its folder.
    pub fn load(folder: &Path) -> Result<Self, Error> {
        let read = |name: &str| {
            let path = folder.join(name);
            let is_plain = |found: Metadata| found.is_file() && found.len() <= MAX_BYTES;
            match path.metadata().map(is_plain) {
                // A pipe would be waited for.
                Ok(false) => {
                    let what = "it is no plain file, or larger than any model".to_owned();
                    Err(Error::Wrong { path, what })
                }
                _ => match std::fs::read(&path) {
                    Ok(bytes) => Ok((path, bytes)),
                    Err(source) => Err(Error::Read { path, source }),
                },
            }
        };
        let (tokenizer_path, tokenizer) = read("tokenizer.json")?;
        let (table_path, table) = read("model.safetensors")?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&tokenizer).update(&table);
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let tokenizer = WordTokenizer::read(&tokenizer).map_err(|what| Error::Wrong {
            path: tokenizer_path,
            what,
        })?;
        let table =
            EmbeddingTable::read(table, tokenizer.tokens()).map_err(|what| Error::Wrong {
                path: table_path,
                what,
            })?;
        Ok(Self {
            table,
            tokenizer,
            id,
        })
    }

    /// How near each candidate is to a text, from 0 to 1 for the nearest, in their order; `files` are
    /// those they come from. Vectors are kept in the folder of the cache.
    pub fn nearness(
        &self,
        text: &str,
        candidates: &[CandidateFile<'_>],
        files: &dyn FileSet,
        cache: Option<&Path>,
    ) -> Vec<f32> {
        let place = cache.map(|folder| folder.join(format!("meanings-{}", short(self.id))));
        let known: Vec<([u8; 16], Vec<i8>)> = place
            .as_ref()
            .and_then(|place| cache::load(place, VERSION))
            .unwrap_or_default();
        let mut known: HashMap<[u8; 16], Vec<i8>> = known.into_iter().collect();
        let before = known.len();
        let mut reader = TextEmbedder::new(self);
        let mut kept = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let key = key(candidate);
            let vector = known.remove(&key);
            let vector = vector.unwrap_or_else(|| reader.file(candidate, files));
            kept.push((key, vector));
        }
        if kept.len() != before || !known.is_empty() {
            // What cannot be kept is worked out again.
            let _ = place.map(|place| cache::save(&place, VERSION, &kept));
        }
        let query = reader.text(text);
        spread(
            kept.iter()
                .map(|(_, vector)| nearness(&query, vector))
                .collect(),
        )
    }
}

/// From 0 for what is no nearer than most to 1 for the nearest.
fn spread(mut near: Vec<f32>) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "thousands of files")]
    let mean = near.iter().sum::<f32>() / near.len().max(1) as f32;
    let most = near.iter().copied().fold(mean, f32::max);
    for value in &mut near {
        let above = (*value - mean).max(0.0);
        *value = if most > mean {
            above / (most - mean)
        } else {
            0.0
        };
    }
    near
}

fn short(id: [u8; 16]) -> String {
    let mut eight = [0; 8];
    eight.copy_from_slice(&id[..8]);
    format!("{:016x}", u64::from_be_bytes(eight))
}

/// What a file's vector depends on.
fn key(candidate: &CandidateFile<'_>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(candidate.path.as_bytes()).update(&[0]);
    hasher.update(&candidate.sketch.hash);
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    key
}

/// Reads meanings, and remembers those of words.
struct TextEmbedder<'m> {
    model: &'m EmbeddingModel,
    words: HashMap<String, Vec<f32>, FnvBuildHasher>,
}

impl<'m> TextEmbedder<'m> {
    fn new(model: &'m EmbeddingModel) -> Self {
        Self {
            model,
            words: HashMap::default(),
        }
    }

    /// What a text means.
    fn text(&mut self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.model.table.width()];
        self.add(text, 1.0, &mut sum);
        sum
    }

    /// What a file means, by its path and its beginning.
    fn file(&mut self, candidate: &CandidateFile<'_>, files: &dyn FileSet) -> Vec<i8> {
        let mut sum = vec![0.0; self.model.table.width()];
        self.add(candidate.path, PATH, &mut sum);
        let list = files.list();
        let at = list.binary_search_by(|file| file.path.as_str().cmp(candidate.path));
        if let Ok(FileContent::Text(text)) = at.map(|at| files.read(at)) {
            let head = text.floor_char_boundary(HEAD);
            self.add(&text[..head], 1.0, &mut sum);
        }
        quantized(&sum)
    }

    fn add(&mut self, text: &str, weight: f32, sum: &mut [f32]) {
        let Self { model, words } = self;
        words::each_run(text, |run| {
            words::each_part(run, |part| {
                let word = part.to_lowercase();
                if words::is_stop(&word) {
                    return;
                }
                let vector = words.entry(word).or_insert_with_key(|word| {
                    let mut vector = vec![0.0; sum.len()];
                    for token in model.tokenizer.word(word) {
                        model.table.add(token, &mut vector);
                    }
                    vector
                });
                for (sum, value) in sum.iter_mut().zip(vector) {
                    *sum += weight * *value;
                }
            });
        });
    }
}

/// A vector's direction, in a byte for each number.
#[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
fn quantized(vector: &[f32]) -> Vec<i8> {
    let most = vector
        .iter()
        .fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
    vector
        .iter()
        .map(|value| (value / most * 127.0).round() as i8)
        .collect()
}

/// The cosine between two directions.
fn nearness(one: &[f32], other: &[i8]) -> f32 {
    let (mut dot, mut a, mut b) = (0.0_f32, 0.0_f32, 0.0_f32);
    for (one, other) in one.iter().zip(other) {
        let other = f32::from(*other);
        dot += one * other;
        a += one * one;
        b += other * other;
    }
    if a > 0.0 && b > 0.0 {
        dot / (a * b).sqrt()
    } else {
        0.0
    }
}
