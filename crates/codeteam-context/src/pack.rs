//! A whole repository as one text: its tree, then its files, without their secrets.
//!
//! - **Same files, same bytes**, whatever the number of threads and whatever is in the cache.
//! - **No file is more than data**: whatever is in it, it cannot end the block it stands in.
//! - **It streams.** Files are read, redacted and counted ahead by all cores, but only so far: memory
//!   does not grow with the repository, but for its names.
//! - Tokens are those of each part by itself: the content of a file, what stands round it.

mod budget;
mod counts;
mod make;
mod ordered;
mod rank;
mod renamed;
mod rules;
mod structure;
mod style;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

pub use self::style::{PackStyle, is_pack};

use self::counts::ContentCounts;
use self::make::{FileRenderer, PackedForm, RenderedFile};
use self::ordered::ordered;
use self::renamed::RenamedFiles;
use self::style::{PackFooter, PackHeader};
use crate::files::{FileSet, SkippedPath};
use crate::redact::Redactor;
use crate::tokens;
use crate::tree::FileProgress;

/// How many of those left out are named, where no budget says it.
const NAMED: usize = 200;

/// How a pack is made.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// What it is a pack of, as its first lines say.
    pub name: String,
    /// Its form.
    pub style: PackStyle,
    /// Whether it begins with the tree of folders and files.
    pub tree: bool,
    /// Whether tokens are counted. A budget counts them in any case.
    pub tokens: bool,
    /// Whether of files in a known language only the signatures are taken.
    pub compress: bool,
    /// How many tokens it may have.
    pub budget: Option<usize>,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            name: String::new(),
            style: PackStyle::default(),
            tree: true,
            tokens: true,
            compress: false,
            budget: None,
        }
    }
}

/// What a pack has in it, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackReport {
    /// The files in it, in their order.
    pub files: Vec<PackedFile>,
    /// What is there and could not be taken, in the order of the paths.
    pub skipped: Vec<SkippedPath>,
    /// What was left out for the budget, in the order of the paths.
    pub dropped: Vec<PackedFile>,
    /// How many tokens the contents of the files have, and the whole; if they were counted.
    pub tokens: Option<PackTokens>,
    /// How long the whole is.
    pub bytes: u64,
}

/// A file of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedFile {
    /// Where it is in the repository.
    pub path: String,
    /// How long what is taken of it is.
    pub bytes: u64,
    /// How many tokens that has, if they were counted.
    pub tokens: Option<usize>,
    /// How many secrets were taken out.
    pub redactions: usize,
    /// Whether only its signatures were taken.
    pub compressed: bool,
}

/// Tokens of a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackTokens {
    /// Of the contents of its files.
    pub files: usize,
    /// Of all of it.
    pub output: usize,
}

/// Why there is no pack.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be written.
    #[error("could not write the pack")]
    Write(#[from] io::Error),
    /// Not even what stands before and after the files fits into the budget.
    #[error("a budget of {budget} tokens is too small: {needed} are needed before the first file")]
    Budget {
        /// The budget.
        budget: usize,
        /// How much is needed without any file.
        needed: usize,
    },
}

/// Writes a pack of files. What was counted is kept in the cache folder, if there is one.
pub fn pack(
    files: &impl FileSet,
    options: &PackOptions,
    redactor: &Redactor,
    cache: Option<&Path>,
    out: &mut dyn Write,
    progress: &(dyn Fn(FileProgress) + Sync),
) -> Result<PackReport, Error> {
    match RenamedFiles::new(files, redactor) {
        Some(renamed) => written(&renamed, options, redactor, cache, out, progress),
        None => written(files, options, redactor, cache, out, progress),
    }
}

fn written(
    files: &impl FileSet,
    options: &PackOptions,
    redactor: &Redactor,
    cache: Option<&Path>,
    out: &mut dyn Write,
    progress: &(dyn Fn(FileProgress) + Sync),
) -> Result<PackReport, Error> {
    let maker = FileRenderer::new(files, options, redactor, cache);
    let mut pack = PackWriter {
        out: io::BufWriter::with_capacity(256 << 10, out),
        counts: maker.counts,
        report: PackReport {
            skipped: files.skipped().to_vec(),
            ..PackReport::default()
        },
        tokens: PackTokens::default(),
        asked: Vec::new(),
    };
    let plan = match options.budget {
        None => budget::everything(&maker),
        Some(tokens) => budget::choose(&maker, tokens, progress)?,
    };
    pack.frame(&plan.head)?;
    pack.report.dropped = plan.dropped;
    pack.report.skipped.extend(plan.skipped);
    let sizes: Vec<u64> = plan
        .files
        .iter()
        .map(|file| files.list()[file.at].bytes)
        .collect();
    let (mut read, mut first) = (0, true);
    ordered(
        &sizes,
        |n| maker.written(&plan.files[n]),
        |n, made| {
            read += sizes[n];
            progress(FileProgress::Read {
                files: n + 1,
                of: sizes.len(),
                bytes: read,
            });
            let path = &files.list()[plan.files[n].at].path;
            match made {
                Ok(made) => pack.file(path, &made, options.style, &mut first),
                Err(why) => {
                    let path = path.clone();
                    pack.report.skipped.push(SkippedPath { path, why });
                    Ok(())
                }
            }
        },
    )?;
    pack.report.skipped.sort_unstable();
    let end = end(&pack.report, options.style, plan.for_end);
    pack.frame(&end)?;
    maker.keep(pack.asked);
    pack.out.flush()?;
    pack.report.tokens = maker.counts.then_some(pack.tokens);
    Ok(pack.report)
}

/// A pack that is being written.
struct PackWriter<'o> {
    out: io::BufWriter<&'o mut dyn Write>,
    counts: bool,
    report: PackReport,
    tokens: PackTokens,
    asked: Vec<ContentCounts>,
}

impl PackWriter<'_> {
    /// Writes what stands round the files.
    fn frame(&mut self, text: &str) -> io::Result<()> {
        if self.counts {
            self.tokens.output += tokens::count(text);
        }
        self.put(text)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        self.report.bytes += text.len() as u64;
        self.out.write_all(text.as_bytes())
    }

    fn file(
        &mut self,
        path: &str,
        made: &RenderedFile,
        style: PackStyle,
        first: &mut bool,
    ) -> Result<(), Error> {
        if !std::mem::take(first) {
            self.frame(style.between())?;
        }
        for part in [&made.open, &made.text, &made.close] {
            self.put(part)?;
        }
        self.tokens.files += made.tokens;
        self.tokens.output += made.written;
        self.asked.extend(made.known);
        self.report.files.push(PackedFile {
            path: path.to_owned(),
            bytes: made.bytes,
            tokens: self.counts.then_some(made.tokens),
            redactions: made.redactions,
            compressed: made.form == PackedForm::Signatures,
        });
        Ok(())
    }
}

/// What stands after the files: what is left out, as far as there is room for it.
fn end(report: &PackReport, style: PackStyle, room: Option<usize>) -> String {
    let skipped = report.skipped.iter();
    let skipped = skipped.map(|skipped| (skipped.path.clone(), skipped.why.to_string()));
    let dropped = report.dropped.iter();
    let dropped = dropped.map(|file| (file.path.clone(), "over the budget".to_owned()));
    let mut all: Vec<_> = skipped.chain(dropped).collect();
    all.sort_unstable();
    let of = |named: usize| {
        style.end(&PackFooter {
            left_out: &all[..named],
            more: all.len() - named,
        })
    };
    let mut named = all.len().min(NAMED);
    let mut end = of(named);
    while room.is_some_and(|room| tokens::count(&end) > room) && named > 0 {
        named /= 2;
        end = of(named);
    }
    end
}

/// What stands before the files.
fn head(
    files: &impl FileSet,
    options: &PackOptions,
    depth: Option<usize>,
    note: Option<&str>,
) -> String {
    let paths = files.list().iter().map(|file| file.path.as_str());
    let tree = depth.map(|depth| structure::draw(&paths.collect::<Vec<_>>(), depth));
    options.style.head(&PackHeader {
        name: &options.name,
        tree: tree.as_deref(),
        note,
    })
}
