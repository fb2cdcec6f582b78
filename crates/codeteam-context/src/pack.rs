//! Packs a whole repository into one text: its tree, then its files, without their secrets.
//!
//! - **Same files, same bytes**, whatever the number of threads and whatever is in the cache.
//! - **Files are data only**: whatever a file contains, it cannot end the block that it is in.
//! - **It streams.** Files are read, redacted and counted ahead on all cores within a bounded
//!   window, so memory does not grow with the repository except for its file names.
//! - Tokens are counted for each part separately: the content of a file, and the text around it.

mod budget;
mod count_cache;
mod renamed_files;
mod render;
mod rules_version;
mod structure;
mod style;
mod usefulness;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

pub use self::style::{PackStyle, is_pack};

use self::count_cache::ContentCounts;
use self::renamed_files::RenamedFiles;
use self::render::{FileRenderer, PackedForm, RenderedFile};
use self::style::{PackFooter, PackHeader};
use crate::files::{FileSet, SkippedPath};
use crate::ordered_work::run_in_order;
use crate::redact::Redactor;
use crate::tokens;
use crate::tree::FileProgress;

/// The largest number of omitted files listed if there is no budget.
const NAMED: usize = 200;

/// Options of a pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The name of what is packed, for the first lines.
    pub name: String,
    /// The output format.
    pub style: PackStyle,
    /// Whether the pack starts with the tree of folders and files.
    pub tree: bool,
    /// Whether tokens are counted. With a budget they always are.
    pub tokens: bool,
    /// Whether files in a known language are reduced to their signatures.
    pub compress: bool,
    /// The token budget.
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

/// What a pack contains, and what it leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackReport {
    /// The files in the pack, in order.
    pub files: Vec<PackedFile>,
    /// Paths that exist but could not be packed, in order.
    pub skipped: Vec<SkippedPath>,
    /// Files left out because of the budget, in the order of their paths.
    pub dropped: Vec<PackedFile>,
    /// The token counts, if tokens were counted.
    pub tokens: Option<PackTokens>,
    /// The size of the whole pack.
    pub bytes: u64,
}

/// A file of a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedFile {
    /// The path in the repository.
    pub path: String,
    /// The size of the packed content.
    pub bytes: u64,
    /// The number of tokens of that content, if tokens were counted.
    pub tokens: Option<usize>,
    /// The number of secrets removed.
    pub redactions: usize,
    /// Whether only its signatures were packed.
    pub compressed: bool,
}

/// The token counts of a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackTokens {
    /// The tokens of the file contents.
    pub files: usize,
    /// The tokens of the whole output.
    pub output: usize,
}

/// A pack could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output could not be written.
    #[error("could not write the pack")]
    Write(#[from] io::Error),
    /// Not even the text around the files fits the budget.
    #[error("a budget of {budget} tokens is too small: {needed} are needed before the first file")]
    Budget {
        /// The budget in tokens.
        budget: usize,
        /// The number of tokens needed without any file.
        needed: usize,
    },
}

/// Writes a pack of files to `out`, and reports what it contains.
///
/// Files whose names contain a secret are renamed first. With a budget, the files are measured
/// before anything is written; without one, they are rendered while writing. A file that cannot be
/// read, or that has changed since it was measured, is listed as skipped and does not fail the
/// pack. Counts are stored in the cache folder, if there is one; they never influence the output.
pub fn write_pack(
    files: &impl FileSet,
    options: &PackOptions,
    redactor: &Redactor,
    cache: Option<&Path>,
    out: &mut dyn Write,
    progress: &(dyn Fn(FileProgress) + Sync),
) -> Result<PackReport, Error> {
    match RenamedFiles::new(files, redactor) {
        Some(renamed) => write_files(&renamed, options, redactor, cache, out, progress),
        None => write_files(files, options, redactor, cache, out, progress),
    }
}

fn write_files(
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
        None => budget::plan_all(&maker),
        Some(tokens) => budget::plan_within_budget(&maker, tokens, progress)?,
    };
    pack.write_frame(&plan.head)?;
    pack.report.dropped = plan.dropped;
    pack.report.skipped.extend(plan.skipped);
    let sizes: Vec<u64> = plan
        .files
        .iter()
        .map(|file| files.list()[file.at].bytes)
        .collect();
    let (mut read, mut first) = (0, true);
    run_in_order(
        &sizes,
        |n| maker.render_planned(&plan.files[n]),
        |n, made| {
            read += sizes[n];
            progress(FileProgress::Read {
                files: n + 1,
                of: sizes.len(),
                bytes: read,
            });
            let path = &files.list()[plan.files[n].at].path;
            match made {
                Ok(made) => pack.write_file(path, &made, options.style, &mut first),
                Err(why) => {
                    let path = path.clone();
                    pack.report.skipped.push(SkippedPath { path, reason: why });
                    Ok(())
                }
            }
        },
    )?;
    pack.report.skipped.sort_unstable();
    let end = footer_text(&pack.report, options.style, plan.for_end);
    pack.write_frame(&end)?;
    maker.save_counts(pack.asked);
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
    /// Writes text around the files.
    fn write_frame(&mut self, text: &str) -> io::Result<()> {
        if self.counts {
            self.tokens.output += tokens::count(text);
        }
        self.write_text(text)
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        self.report.bytes += text.len() as u64;
        self.out.write_all(text.as_bytes())
    }

    fn write_file(
        &mut self,
        path: &str,
        made: &RenderedFile,
        style: PackStyle,
        first: &mut bool,
    ) -> Result<(), Error> {
        if !std::mem::take(first) {
            self.write_frame(style.file_separator())?;
        }
        for part in [&made.open, &made.text, &made.close] {
            self.write_text(part)?;
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

/// Returns the text after the files: the list of omitted ones, as far as there is room for it.
fn footer_text(report: &PackReport, style: PackStyle, room: Option<usize>) -> String {
    let skipped = report.skipped.iter();
    let skipped = skipped.map(|skipped| (skipped.path.clone(), skipped.reason.to_string()));
    let dropped = report.dropped.iter();
    let dropped = dropped.map(|file| (file.path.clone(), "over the budget".to_owned()));
    let mut all: Vec<_> = skipped.chain(dropped).collect();
    all.sort_unstable();
    let of = |named: usize| {
        style.footer(&PackFooter {
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

/// Returns the text before the files.
fn header_text(
    files: &impl FileSet,
    options: &PackOptions,
    depth: Option<usize>,
    note: Option<&str>,
) -> String {
    let paths = files.list().iter().map(|file| file.path.as_str());
    let tree = depth.map(|depth| structure::draw_tree(&paths.collect::<Vec<_>>(), depth));
    options.style.header(&PackHeader {
        name: &options.name,
        tree: tree.as_deref(),
        note,
    })
}
