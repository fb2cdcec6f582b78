//! The floor: walks with `ignore`, reads, counts with `bpe-openai` on all cores, writes.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Outcome;

pub(crate) fn run(folder: &Path) -> Outcome<()> {
    let found: Mutex<Vec<PathBuf>> = Mutex::default();
    ignore::WalkBuilder::new(folder)
        .hidden(false)
        .build_parallel()
        .run(|| {
            Box::new(|entry| {
                if let Ok(entry) = entry
                    && entry.file_type().is_some_and(|kind| kind.is_file())
                {
                    found.lock().unwrap().push(entry.into_path());
                }
                ignore::WalkState::Continue
            })
        });
    let mut files = found.into_inner().unwrap();
    files.sort();
    let done: Vec<Mutex<Option<(String, usize)>>> =
        files.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let threads = thread::available_parallelism()?;
    thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| {
                let counter = bpe_openai::o200k_base();
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let at = files.binary_search(file).unwrap();
                    if let Ok(text) = fs::read_to_string(file) {
                        let count = counter.count(&text);
                        *done[at].lock().unwrap() = Some((text, count));
                    }
                }
            });
        }
    });
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut total = 0;
    for (file, done) in files.iter().zip(done) {
        if let Some((text, count)) = done.into_inner().unwrap() {
            writeln!(out, ">>>> {}\n{text}", file.display())?;
            total += count;
        }
    }
    writeln!(out, "{total} tokens")?;
    Ok(out.flush()?)
}
