//! Leaves out what differs in blanks only.

use super::{PatchDocument, PatchRow, PatchRowKind};

/// Blocks in which more pairs of lines would have to be compared are compared from both ends only.
const MOST_PAIRS: usize = 1 << 20;

impl PatchDocument {
    /// Makes lines that differ in blanks only lines that stay, and leaves out hunks in which nothing
    /// else has changed. Files keep their numbers and digests.
    pub fn ignore_blanks(&mut self) {
        for number in 0..self.files.len() {
            let rows = self.rows(&self.files[number]).to_vec();
            let mut kept: Vec<PatchRow> = Vec::with_capacity(rows.len());
            let mut hunk_start = None;
            let mut at = 0;
            while at < rows.len() {
                match rows[at].kind {
                    PatchRowKind::Hunk => {
                        drop_unchanged(&mut kept, hunk_start);
                        hunk_start = Some(kept.len());
                        kept.push(rows[at].clone());
                        at += 1;
                    }
                    PatchRowKind::Removed | PatchRowKind::Added => {
                        let length = change_length(&rows[at..]);
                        self.merge_block(&rows[at..at + length], &mut kept);
                        at += length;
                    }
                    PatchRowKind::Context | PatchRowKind::Remark => {
                        kept.push(rows[at].clone());
                        at += 1;
                    }
                }
            }
            drop_unchanged(&mut kept, hunk_start);
            self.replace_rows(number, kept);
        }
    }

    /// Adds a block of removed and added lines to `kept`, with those that are the same but for blanks as
    /// lines that stay.
    fn merge_block(&self, block: &[PatchRow], kept: &mut Vec<PatchRow>) {
        let of_kind = |kind: PatchRowKind| -> Vec<(&PatchRow, String)> {
            let rows = block.iter().filter(|row| row.kind == kind);
            rows.map(|row| (row, without_blanks(self.text(row))))
                .collect()
        };
        let (old, new) = (of_kind(PatchRowKind::Removed), of_kind(PatchRowKind::Added));
        let is_same = |i: usize, j: usize| old[i].1 == new[j].1;
        let (mut i, mut j) = (0, 0);
        for (old_at, new_at) in match_lines(old.len(), new.len(), is_same) {
            kept.extend(old[i..old_at].iter().map(|(row, _)| (*row).clone()));
            kept.extend(new[j..new_at].iter().map(|(row, _)| (*row).clone()));
            kept.push(PatchRow {
                kind: PatchRowKind::Context,
                old: old[old_at].0.old,
                ..new[new_at].0.clone()
            });
            (i, j) = (old_at + 1, new_at + 1);
        }
        kept.extend(old[i..].iter().map(|(row, _)| (*row).clone()));
        kept.extend(new[j..].iter().map(|(row, _)| (*row).clone()));
        let remarks = block.iter().filter(|row| row.kind == PatchRowKind::Remark);
        kept.extend(remarks.cloned());
    }
}

/// Removes the hunk that begins there if nothing has changed in it.
fn drop_unchanged(kept: &mut Vec<PatchRow>, hunk_start: Option<usize>) {
    let Some(start) = hunk_start else { return };
    let is_change =
        |row: &PatchRow| matches!(row.kind, PatchRowKind::Added | PatchRowKind::Removed);
    if !kept[start..].iter().any(is_change) {
        kept.truncate(start);
    }
}

/// Returns how many rows belong to the change at the beginning; remarks about a missing line end are
/// part of it.
fn change_length(rows: &[PatchRow]) -> usize {
    let is_part = |row: &&PatchRow| {
        matches!(
            row.kind,
            PatchRowKind::Added | PatchRowKind::Removed | PatchRowKind::Remark
        )
    };
    rows.iter().take_while(is_part).count()
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Returns the pairs of a longest common sequence, or of the common lines at both ends if there are too
/// many lines.
fn match_lines(
    old: usize,
    new: usize,
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let shorter = old.min(new);
    let before = (0..shorter).take_while(|at| is_same(*at, *at)).count();
    let left = shorter - before;
    let after = (1..=left)
        .take_while(|at| is_same(old - at, new - at))
        .count();
    let mut pairs: Vec<(usize, usize)> = (0..before).map(|at| (at, at)).collect();
    let (rows, columns) = (old - before - after, new - before - after);
    if rows.saturating_mul(columns) <= MOST_PAIRS {
        pairs.extend(
            common_lines(rows, columns, |i, j| is_same(before + i, before + j))
                .into_iter()
                .map(|(i, j)| (before + i, before + j)),
        );
    }
    pairs.extend((1..=after).rev().map(|at| (old - at, new - at)));
    pairs
}

/// Returns the pairs of a longest common sequence.
fn common_lines(
    rows: usize,
    columns: usize,
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let width = columns + 1;
    let mut lengths = vec![0_u32; (rows + 1) * width];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            lengths[i * width + j] = if is_same(i, j) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut pairs, mut i, mut j) = (Vec::new(), 0, 0);
    while i < rows && j < columns {
        if is_same(i, j) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(patch: &str) -> Vec<String> {
        let mut patch = PatchDocument::parse(patch.as_bytes());
        patch.ignore_blanks();
        let rows = patch.rows(&patch.files[0]).iter();
        rows.map(|row| {
            let sign = match row.kind {
                PatchRowKind::Hunk => "",
                PatchRowKind::Context => " ",
                PatchRowKind::Added => "+",
                PatchRowKind::Removed => "-",
                PatchRowKind::Remark => "#",
            };
            format!("{sign}{}", patch.text(row))
        })
        .collect()
    }

    const HEAD: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n";

    #[test]
    fn lines_that_only_moved_in_stay() {
        let patch = format!("{HEAD}@@ -1,3 +1,4 @@\n a\n-b;\n-c;\n+if d {{\n+    b;\n+    c;\n");
        assert_eq!(
            shown(&patch),
            ["@@ -1,3 +1,4 @@", " a", "+if d {", "     b;", "     c;"]
        );
    }

    #[test]
    fn a_hunk_of_blanks_is_left_out_and_others_are_not() {
        let patch = format!("{HEAD}@@ -1 +1 @@\n-a  b\n+a b\n@@ -9,2 +9,2 @@\n-one\n+two\n z\n");
        assert_eq!(shown(&patch), ["@@ -9,2 +9,2 @@", "-one", "+two", " z"]);
    }

    #[test]
    fn numbers_of_lines_and_digests_stay_those_of_the_change() {
        let text = format!("{HEAD}@@ -4 +7,2 @@\n-a\n+new\n+  a\n");
        let before = PatchDocument::parse(text.as_bytes());
        let mut after = before.clone();
        after.ignore_blanks();
        let rows = after.rows(&after.files[0]);
        assert_eq!((rows[2].old, rows[2].new), (Some(4), Some(8)));
        assert_eq!(after.files[0].digest, before.files[0].digest);
        assert_eq!(after.totals(), (1, 0));
    }

    #[test]
    fn long_blocks_are_compared_from_both_ends() {
        let block = |sign: char, middle: &str| {
            (0..1_500).fold(String::new(), |text, n| {
                let own = if n == 0 || n == 1_499 { "same" } else { middle };
                text + &format!("{sign}{own}{n}{sign}\n")
                    .replace("-\n", "\n")
                    .replace("+\n", " \n")
            })
        };
        let patch = format!(
            "{HEAD}@@ -1,1500 +1,1500 @@\n{}{}",
            block('-', "old"),
            block('+', "new")
        );
        let shown = shown(&patch);
        assert_eq!(shown[1], " same0 ");
        assert_eq!(shown.last().map(String::as_str), Some(" same1499 "));
        assert_eq!(shown.len(), 1 + 2 + 2 * 1_498);
    }
}
