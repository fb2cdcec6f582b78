//! Writes `data/o200k.vocab`, the tokens of OpenAI's `o200k_base` in the order of their ranks, each
//! after its length. The vocabulary is MIT-licensed (openai/tiktoken).
//!
//! `cargo run -p codeteam-context --example vocabulary`

use std::fs;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let bpe = &bpe_openai::o200k_base().bpe;
    let mut out = Vec::new();
    for rank in 0..u32::try_from(bpe.num_tokens()).map_err(io::Error::other)? {
        let token = bpe.token_bytes(rank);
        out.push(u8::try_from(token.len()).map_err(io::Error::other)?);
        out.extend(token);
    }
    fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data/o200k.vocab"),
        out,
    )
}
