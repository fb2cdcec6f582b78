//! Packs a folder, for those who measure or try it out: `pack FOLDER [CACHE] [--no-tokens]`.

#![expect(clippy::print_stderr, reason = "it says what it did")]

use std::io;
use std::path::Path;
use std::time::Instant;

use codeteam_context::pack::{Options, pack};
use codeteam_context::redact::Redactor;
use codeteam_context::tree::{self, Tree};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (flags, args): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| arg.starts_with("--"));
    let started = Instant::now();
    let root = args.first().map_or(Path::new("."), Path::new);
    let tree = Tree::walk(root, &tree::Options::default(), &|_| {})?;
    let walked = started.elapsed();
    let options = Options {
        tokens: !flags.iter().any(|flag| flag == "--no-tokens"),
        ..Options::default()
    };
    let cache = args.get(1).map(Path::new);
    let redactor = Redactor::new([]);
    let report = pack(
        &tree,
        &options,
        &redactor,
        cache,
        &mut io::stdout().lock(),
        &|_| {},
    )?;
    eprintln!(
        "{} files, {} bytes, {:?}; walked in {walked:?}, packed in {:?}",
        report.files.len(),
        report.bytes,
        report.tokens,
        started.elapsed()
    );
    Ok(())
}
