//! Decides which files are packed, and how much of each.
//!
//! With a budget the files are sorted by usefulness (see `usefulness_rank`). If they do not all
//! fit, each file, starting with the least useful, is reduced to its signatures, or dropped if it
//! has none; then the reduced files are dropped in the same order. Files that explain what the
//! repository is are dropped last. Any room left at the end is given back, the most useful first.

use super::count_cache::ContentCounts;
use super::render::{FileRenderer, PackedForm, PlannedFile, RenderedFile};
use super::usefulness::{FileKind, file_kind, usefulness_rank};
use super::{Error, PackedFile, header_text};
use crate::files::{FileSet, SkipReason, SkippedPath};
use crate::language::Language;
use crate::ordered_work::run_in_order;
use crate::tokens;
use crate::tree::FileProgress;

/// The depths at which the tree is drawn until it fits; the last one draws nothing.
const DEPTHS: [usize; 8] = [usize::MAX, 8, 6, 4, 3, 2, 1, 0];
/// The number of files reduced together.
const TOGETHER: usize = 256;

/// What is to be written.
pub(super) struct PackPlan {
    pub(super) head: String,
    pub(super) files: Vec<PlannedFile>,
    pub(super) dropped: Vec<PackedFile>,
    pub(super) skipped: Vec<SkippedPath>,
    /// The token limit of the text after the files.
    pub(super) for_end: Option<usize>,
}

/// Plans all files, without a budget.
pub(super) fn plan_all(maker: &FileRenderer<'_, impl FileSet>) -> PackPlan {
    let (files, options) = (maker.files, maker.options);
    let form = if options.compress {
        PackedForm::Signatures
    } else {
        PackedForm::Whole
    };
    let all = (0..files.list().len()).map(|at| PlannedFile {
        at,
        form,
        found: None,
    });
    PackPlan {
        head: header_text(files, options, options.tree.then_some(usize::MAX), None),
        files: all.collect(),
        dropped: Vec::new(),
        skipped: Vec::new(),
        for_end: None,
    }
}

/// Plans the files that fit a budget.
pub(super) fn plan_within_budget(
    maker: &FileRenderer<'_, impl FileSet>,
    budget: usize,
    progress: &(dyn Fn(FileProgress) + Sync),
) -> Result<PackPlan, Error> {
    let (files, options) = (maker.files, maker.options);
    let form = if options.compress {
        PackedForm::Signatures
    } else {
        PackedForm::Whole
    };
    let all: Vec<usize> = (0..files.list().len()).collect();
    let (mut weighed, mut skipped) = (Vec::new(), Vec::new());
    let mut read = 0;
    measure_files(maker, &all, form, |at, made| {
        let file = &files.list()[at];
        read += file.bytes;
        progress(FileProgress::Read {
            files: at + 1,
            of: all.len(),
            bytes: read,
        });
        match made {
            Ok(made) => weighed.push(MeasuredFile::new(at, &file.path, &made)),
            Err(why) => skipped.push(SkippedPath {
                path: file.path.clone(),
                reason: why,
            }),
        }
    });
    maker.save_counts(weighed.iter().filter_map(|file| file.found).collect());
    let note = format!(
        "This pack was made for at most {budget} tokens: some files may be left out, and some have \
         only their signatures."
    );
    let mut start = header_text(files, options, None, Some(&note));
    if options.tree {
        let room = budget / 10 + tokens::count(&start);
        let trees = DEPTHS
            .iter()
            .map(|depth| header_text(files, options, Some(*depth), Some(&note)));
        start = { trees }
            .find(|head| tokens::count(head) <= room)
            .unwrap_or(start);
    }
    // The list of omitted files needs room, too.
    let for_end = (budget / 20).clamp(30, 2_000);
    let needed = tokens::count(&start) + for_end;
    let Some(room) = budget.checked_sub(needed) else {
        return Err(Error::Budget { budget, needed });
    };
    fit_files(maker, &mut weighed, room);
    let mut dropped = Vec::new();
    let mut taken = Vec::new();
    for file in weighed {
        match file.choice {
            Some(form) => taken.push(PlannedFile {
                at: file.at,
                form,
                found: file.found,
            }),
            None => dropped.push(PackedFile {
                path: files.list()[file.at].path.clone(),
                bytes: files.list()[file.at].bytes,
                tokens: Some(file.tokens),
                redactions: 0,
                compressed: false,
            }),
        }
    }
    Ok(PackPlan {
        head: start,
        files: taken,
        dropped,
        skipped,
        for_end: Some(for_end),
    })
}

/// A file with its costs and the chosen form.
struct MeasuredFile {
    at: usize,
    kind: FileKind,
    tokens: usize,
    /// The tokens of the whole file as written.
    whole: usize,
    /// The tokens of its signatures as written, if they were measured and exist.
    signatures: Option<usize>,
    whole_form: PackedForm,
    choice: Option<PackedForm>,
    found: Option<ContentCounts>,
}

impl MeasuredFile {
    fn new(at: usize, path: &str, made: &RenderedFile) -> Self {
        Self {
            at,
            kind: file_kind(path),
            tokens: made.tokens,
            whole: made.written,
            signatures: None,
            whole_form: made.form,
            choice: Some(made.form),
            found: made.known,
        }
    }

    fn cost(&self, choice: Option<PackedForm>) -> usize {
        match choice {
            None => 0,
            Some(form) if form == self.whole_form => self.whole,
            Some(_) => self.signatures.unwrap_or(self.whole),
        }
    }
}

/// Chooses forms until everything fits.
fn fit_files(maker: &FileRenderer<'_, impl FileSet>, files: &mut [MeasuredFile], room: usize) {
    let list = maker.files.list();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&n| usefulness_rank(&list[files[n].at].path, files[n].tokens));
    let mut total: usize = files.iter().map(|file| file.whole).sum();
    if total <= room {
        return;
    }
    let change = |file: &mut MeasuredFile, choice: Option<PackedForm>, total: &mut usize| {
        *total = *total - file.cost(file.choice) + file.cost(choice);
        file.choice = choice;
    };
    let cut: Vec<usize> = order
        .iter()
        .rev()
        .copied()
        .filter(|&n| files[n].kind != FileKind::Key)
        .collect();
    for some in cut.chunks(TOGETHER) {
        if total <= room {
            break;
        }
        measure_signatures(maker, files, some);
        for &n in some {
            if total > room {
                let choice = files[n].signatures.map(|_| PackedForm::Signatures);
                change(&mut files[n], choice, &mut total);
            }
        }
    }
    for &n in order.iter().rev() {
        if total > room {
            change(&mut files[n], None, &mut total);
        }
    }
    for &n in &order {
        let file = &mut files[n];
        let spent = total - file.cost(file.choice);
        let whole = Some(file.whole_form);
        if file.choice != whole && spent + file.whole <= room {
            change(file, whole, &mut total);
        } else if file.choice.is_none() && file.signatures.is_some_and(|cost| spent + cost <= room)
        {
            change(file, Some(PackedForm::Signatures), &mut total);
        }
    }
}

/// Measures the signatures of some files.
fn measure_signatures(
    maker: &FileRenderer<'_, impl FileSet>,
    files: &mut [MeasuredFile],
    some: &[usize],
) {
    let list = maker.files.list();
    let can = |n: &&usize| {
        let file = &files[**n];
        file.whole_form == PackedForm::Whole && Language::from_path(&list[file.at].path).is_some()
    };
    let can: Vec<usize> = some.iter().filter(can).copied().collect();
    let places: Vec<usize> = can.iter().map(|&n| files[n].at).collect();
    let mut costs = Vec::new();
    measure_files(maker, &places, PackedForm::Signatures, |_, made| {
        costs.push(made);
    });
    for (&n, made) in can.iter().zip(costs) {
        let made = made.ok().filter(|made| made.form == PackedForm::Signatures);
        files[n].signatures = made
            .map(|made| made.written)
            .filter(|cost| *cost < files[n].whole);
    }
}

/// Renders files only to measure them; their texts are dropped.
fn measure_files(
    maker: &FileRenderer<'_, impl FileSet>,
    places: &[usize],
    form: PackedForm,
    mut take: impl FnMut(usize, Result<RenderedFile, SkipReason>),
) {
    let sizes: Vec<u64> = places
        .iter()
        .map(|&at| maker.files.list()[at].bytes)
        .collect();
    let made = |n: usize| {
        let made = maker.render_planned(&PlannedFile {
            at: places[n],
            form,
            found: None,
        });
        made.map(|made| RenderedFile {
            text: String::new(),
            ..made
        })
    };
    let all: Result<(), std::convert::Infallible> = run_in_order(&sizes, made, |n, made| {
        take(places[n], made);
        Ok(())
    });
    let Ok(()) = all;
}
