//! Makes a folder of many small files and packs it: `many [FILES]`, a million if left out.

#![expect(clippy::print_stderr, reason = "it says what it did")]

use std::fs;
use std::io;
use std::time::Instant;

use codeteam_context::pack::{PackOptions, write_pack};
use codeteam_context::redact::Redactor;
use codeteam_context::tree::{self, FileTree};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |text| text.parse::<usize>())?;
    let place = tempfile::tempdir()?;
    let cache = tempfile::tempdir()?;
    for n in 0..files {
        let folder = place.path().join(format!("d{}/e{}", n / 100_000, n / 500));
        if n % 500 == 0 {
            fs::create_dir_all(&folder)?;
        }
        fs::write(
            folder.join(format!("f{n}.rs")),
            format!("fn f{n}() -> usize {{ {n} }}\n"),
        )?;
    }
    eprintln!("{files} files made");
    for round in ["cold", "warm"] {
        let started = Instant::now();
        let tree = FileTree::walk(place.path(), &tree::TreeOptions::default(), &|_| {})?;
        let walked = started.elapsed();
        let (options, redactor) = (PackOptions::default(), Redactor::new([]));
        let report = write_pack(
            &tree,
            &options,
            &redactor,
            Some(cache.path()),
            &mut io::sink(),
            &|_| {},
        )?;
        let (packed, took) = (report.files.len(), started.elapsed());
        eprintln!("{round}: {packed} files, walked in {walked:?}, packed in {took:?}");
    }
    Ok(())
}
