//! The rows of a patch as they are listed: files, and the lines of those that are unfolded.

use std::collections::BTreeMap;

use codeteam_report::patch::{PatchDocument, PatchRowKind, order_lines};
use codeteam_report::review::LineComment;

use super::DiffPanel;

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffRow {
    /// The heading of a file.
    File(usize),
    /// A line of a file.
    Line {
        /// The file.
        file: usize,
        /// The line, among those of the file.
        line: usize,
        /// The removed line that stands to the left of it, where both versions stand side by side.
        beside: Option<usize>,
    },
    /// A comment that was written here, below its last line.
    Comment {
        /// The file.
        file: usize,
        /// The comment, among all.
        comment: usize,
    },
}

impl DiffRow {
    /// Returns the file that the row belongs to.
    pub(crate) fn file(self) -> usize {
        match self {
            Self::File(file) | Self::Line { file, .. } | Self::Comment { file, .. } => file,
        }
    }
}

/// Lists the rows of a patch. Files that were viewed as they are now, and those that nobody reads
/// line by line, are folded unless a person unfolds them. `is_paired` puts a removed line beside the
/// added line in its place.
pub(crate) fn list_diff_rows(
    patch: &PatchDocument,
    diff: &DiffPanel,
    is_paired: bool,
    viewed: Option<&BTreeMap<String, [u8; 32]>>,
    comments: &[LineComment],
) -> Vec<DiffRow> {
    let (folds, filter) = (&diff.folds, diff.cursor.filter.as_str());
    let mut rows = Vec::new();
    for (at, file) in patch.files.iter().enumerate() {
        if !crate::text::matches(&file.path, filter) {
            continue;
        }
        rows.push(DiffRow::File(at));
        let is_viewed = viewed.is_some_and(|viewed| viewed.get(&file.path) == Some(&file.digest));
        let is_open = folds
            .get(&file.path)
            .copied()
            .unwrap_or(!(is_viewed || file.is_bulky));
        let own = comments.iter().enumerate();
        let own: Vec<_> = own.filter(|(_, c)| c.path == file.path).collect();
        let push_comments = |rows: &mut Vec<DiffRow>, is_here: &dyn Fn(&LineComment) -> bool| {
            let here = own.iter().filter(|(_, comment)| is_here(comment));
            rows.extend(here.map(|(comment, _)| DiffRow::Comment {
                file: at,
                comment: *comment,
            }));
        };
        push_comments(&mut rows, &|comment| comment.line.is_none());
        if !is_open {
            continue;
        }
        let lines = patch.rows(file);
        let kinds: Vec<PatchRowKind> = lines.iter().map(|row| row.kind).collect();
        for (line, beside) in order_lines(&kinds, is_paired) {
            rows.push(DiffRow::Line {
                file: at,
                line,
                beside,
            });
            if own.is_empty() {
                continue;
            }
            for row in beside.into_iter().chain([line]).map(|at| &lines[at]) {
                let is_old = row.kind == PatchRowKind::Removed;
                let number = if is_old { row.old } else { row.new };
                push_comments(&mut rows, &|comment| {
                    number.is_some() && comment.is_old == is_old && comment.last == number
                });
            }
        }
    }
    rows
}
