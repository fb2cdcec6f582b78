//! Writes the lines of a file's change as the rows of a table, with findings and comments below the
//! lines that they are about.
//!
//! Tens of thousands of lines are written at once, so this is no template. Every text goes through
//! [`push_escaped`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use codeteam_report::patch::{PatchDocument, PatchFile, PatchRow, PatchRowKind, order_lines};

use super::html::push_escaped;
use super::word_changes::changed_words;

/// The side of a change and the number of a line: `true` is before the change.
pub(super) type LineNumber = (bool, u32);

/// What stands below lines, as HTML: findings and comments.
pub(super) type LineNotes = BTreeMap<LineNumber, String>;

/// A file's lines, with what is needed to write them.
#[derive(Clone, Copy)]
pub(super) struct FileLines<'a> {
    pub(super) patch: &'a PatchDocument,
    pub(super) file: &'a PatchFile,
    /// The number of the file in the patch, for ids.
    pub(super) number: usize,
    pub(super) is_split: bool,
    pub(super) notes: &'a LineNotes,
}

/// After so many rows another table begins: a browser lays out only the tables that are in view.
const TABLE_ROWS: usize = 500;

/// Returns the rows of a file, in as many tables as are needed.
pub(super) fn write_tables(lines: FileLines<'_>) -> String {
    let rows = lines.patch.rows(lines.file);
    let kinds: Vec<PatchRowKind> = rows.iter().map(|row| row.kind).collect();
    let pairs = order_lines(&kinds, true);
    let mut out = String::with_capacity(rows.len() * 120);
    begin_table(&mut out, lines.is_split, rows.len());
    if lines.is_split {
        for (written, (at, beside)) in pairs.into_iter().enumerate() {
            if written > 0 && written % TABLE_ROWS == 0 {
                end_table(&mut out);
                begin_table(&mut out, true, rows.len());
            }
            write_split(&mut out, lines, rows, at, beside);
        }
        end_table(&mut out);
        return out;
    }
    // Both lines of a pair, by the number of each.
    let mut partners = vec![None; rows.len()];
    for (at, beside) in pairs {
        if let Some(beside) = beside {
            partners[at] = Some(beside);
            partners[beside] = Some(at);
        }
    }
    for (at, row) in rows.iter().enumerate() {
        if at > 0 && at % TABLE_ROWS == 0 {
            end_table(&mut out);
            begin_table(&mut out, false, rows.len());
        }
        let words = partners[at].map(|other| {
            let (old, new) = if row.kind == PatchRowKind::Removed {
                (at, other)
            } else {
                (other, at)
            };
            let changed = changed_words(lines.patch.text(&rows[old]), lines.patch.text(&rows[new]));
            if row.kind == PatchRowKind::Removed {
                changed.0
            } else {
                changed.1
            }
        });
        write_unified(&mut out, lines, row, &words.unwrap_or_default());
    }
    end_table(&mut out);
    out
}

/// Begins a table of a file with so many rows.
fn begin_table(out: &mut String, is_split: bool, rows: usize) {
    let kind = if is_split { "split" } else { "unified" };
    let class = if rows > TABLE_ROWS {
        " class=\"chunk\""
    } else {
        ""
    };
    let _ = writeln!(out, "<div{class}><table class=\"diff {kind}\"><tbody>");
}

fn end_table(out: &mut String) {
    out.push_str("</tbody></table></div>\n");
}

fn class_of(kind: PatchRowKind) -> &'static str {
    match kind {
        PatchRowKind::Hunk => "hunk",
        PatchRowKind::Context => "same",
        PatchRowKind::Added => "add",
        PatchRowKind::Removed => "del",
        PatchRowKind::Remark => "remark",
    }
}

fn write_unified(out: &mut String, lines: FileLines<'_>, row: &PatchRow, words: &[Range<usize>]) {
    let class = class_of(row.kind);
    let text = lines.patch.text(row);
    if matches!(row.kind, PatchRowKind::Hunk | PatchRowKind::Remark) {
        write_wide(out, class, text, 3);
        return;
    }
    let _ = write!(
        out,
        "<tr class=\"{class}\" id=\"{}\">",
        row_id(lines.number, row)
    );
    write_number(out, row.old, true);
    write_number(out, row.new, false);
    out.push_str("<td class=\"code\">");
    push_words(out, text, words, row.kind);
    out.push_str("</td></tr>\n");
    write_notes(out, lines.notes, &[row], 3);
}

fn write_split(
    out: &mut String,
    lines: FileLines<'_>,
    rows: &[PatchRow],
    at: usize,
    beside: Option<usize>,
) {
    let row = &rows[at];
    let text = lines.patch.text(row);
    let number = lines.number;
    match (row.kind, beside) {
        (PatchRowKind::Hunk | PatchRowKind::Remark, _) => {
            write_wide(out, class_of(row.kind), text, 4);
        }
        (PatchRowKind::Context, _) => {
            let _ = write!(out, "<tr class=\"same\" id=\"{}\">", row_id(number, row));
            for (line, is_old) in [(row.old, true), (row.new, false)] {
                write_number(out, line, is_old);
                out.push_str("<td class=\"code\">");
                push_escaped(out, text);
                out.push_str("</td>");
            }
            out.push_str("</tr>\n");
            write_notes(out, lines.notes, &[row], 4);
        }
        (_, Some(old)) => {
            let old = &rows[old];
            let old_text = lines.patch.text(old);
            let (in_old, in_new) = changed_words(old_text, text);
            let _ = write!(out, "<tr class=\"both\" id=\"{}\">", row_id(number, row));
            write_side(out, old, old_text, &in_old);
            write_side(out, row, text, &in_new);
            out.push_str("</tr>\n");
            write_notes(out, lines.notes, &[old, row], 4);
        }
        (kind, None) => {
            let _ = write!(out, "<tr class=\"both\" id=\"{}\">", row_id(number, row));
            if kind == PatchRowKind::Removed {
                write_side(out, row, text, &[]);
                out.push_str("<td class=\"no void\"></td><td class=\"code void\"></td>");
            } else {
                out.push_str("<td class=\"no void\"></td><td class=\"code void\"></td>");
                write_side(out, row, text, &[]);
            }
            out.push_str("</tr>\n");
            write_notes(out, lines.notes, &[row], 4);
        }
    }
}

fn write_side(out: &mut String, row: &PatchRow, text: &str, words: &[Range<usize>]) {
    let is_old = row.kind == PatchRowKind::Removed;
    let class = class_of(row.kind);
    let line = if is_old { row.old } else { row.new };
    let _ = write!(
        out,
        "<td class=\"no {class}\" data-{}=\"{}\">{}</td><td class=\"code {class}\">",
        if is_old { "old" } else { "new" },
        line.unwrap_or(0),
        line.unwrap_or(0),
    );
    push_words(out, text, words, row.kind);
    out.push_str("</td>");
}

/// Returns the id of a row: the file, the side and the number of the line.
fn row_id(file: usize, row: &PatchRow) -> String {
    match (row.kind, row.old, row.new) {
        (PatchRowKind::Removed, Some(old), _) | (_, Some(old), None) => format!("f{file}o{old}"),
        (_, _, Some(new)) => format!("f{file}n{new}"),
        (_, None, None) => format!("f{file}"),
    }
}

fn write_wide(out: &mut String, class: &str, text: &str, columns: usize) {
    let _ = write!(out, "<tr class=\"{class}\"><td colspan=\"{columns}\">");
    push_escaped(out, text);
    out.push_str("</td></tr>\n");
}

fn write_number(out: &mut String, line: Option<u32>, is_old: bool) {
    match line {
        Some(line) => {
            let side = if is_old { "old" } else { "new" };
            let _ = write!(out, "<td class=\"no\" data-{side}=\"{line}\">{line}</td>");
        }
        None => out.push_str("<td class=\"no\"></td>"),
    }
}

/// Writes a line with the words marked that were changed.
fn push_words(out: &mut String, text: &str, words: &[Range<usize>], kind: PatchRowKind) {
    let element = if kind == PatchRowKind::Removed {
        "del"
    } else {
        "ins"
    };
    let mut at = 0;
    for word in words {
        push_escaped(out, text.get(at..word.start).unwrap_or_default());
        let _ = write!(out, "<{element}>");
        push_escaped(out, text.get(word.clone()).unwrap_or_default());
        let _ = write!(out, "</{element}>");
        at = word.end;
    }
    push_escaped(out, text.get(at..).unwrap_or_default());
}

/// Writes what stands below a line, or below two that stand side by side.
fn write_notes(out: &mut String, notes: &LineNotes, rows: &[&PatchRow], columns: usize) {
    if notes.is_empty() {
        return;
    }
    for row in rows {
        let key = match row.kind {
            PatchRowKind::Removed => row.old.map(|line| (true, line)),
            _ => row.new.map(|line| (false, line)),
        };
        if let Some(html) = key.and_then(|key| notes.get(&key)) {
            let _ = writeln!(
                out,
                "<tr class=\"notes\"><td colspan=\"{columns}\">{html}</td></tr>"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ <b>\n <i>\n-let a = one;\n+let a = two;\n last\n";

    fn rows(is_split: bool, notes: &LineNotes) -> String {
        let patch = PatchDocument::parse(PATCH.as_bytes());
        let file = &patch.files[0];
        write_tables(FileLines {
            patch: &patch,
            file,
            number: 0,
            is_split,
            notes,
        })
    }

    #[test]
    fn one_column_has_all_lines_in_their_order() {
        expect_test::expect![[r#"
            <div><table class="diff unified"><tbody>
            <tr class="hunk"><td colspan="3">@@ -1,3 +1,3 @@ &lt;b&gt;</td></tr>
            <tr class="same" id="f0n1"><td class="no" data-old="1">1</td><td class="no" data-new="1">1</td><td class="code">&lt;i&gt;</td></tr>
            <tr class="del" id="f0o2"><td class="no" data-old="2">2</td><td class="no"></td><td class="code">let a = <del>one</del>;</td></tr>
            <tr class="add" id="f0n2"><td class="no"></td><td class="no" data-new="2">2</td><td class="code">let a = <ins>two</ins>;</td></tr>
            <tr class="same" id="f0n3"><td class="no" data-old="3">3</td><td class="no" data-new="3">3</td><td class="code">last</td></tr>
            </tbody></table></div>
        "#]].assert_eq(&rows(false, &LineNotes::new()));
    }

    #[test]
    fn many_lines_stand_in_several_tables() {
        let lines = "+x\n".repeat(1_200);
        let patch = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,1200 @@\n{lines}");
        let patch = PatchDocument::parse(patch.as_bytes());
        for is_split in [false, true] {
            let html = write_tables(FileLines {
                patch: &patch,
                file: &patch.files[0],
                number: 0,
                is_split,
                notes: &LineNotes::new(),
            });
            assert_eq!(html.matches("<table").count(), 3);
            assert_eq!(html.matches("</table></div>").count(), 3);
            assert_eq!(html.matches("<tr").count(), 1_201);
        }
    }

    #[test]
    fn two_columns_put_a_line_beside_the_one_in_its_place() {
        let notes = LineNotes::from([((true, 2), "<p>why</p>".to_owned())]);
        expect_test::expect![[r#"
            <div><table class="diff split"><tbody>
            <tr class="hunk"><td colspan="4">@@ -1,3 +1,3 @@ &lt;b&gt;</td></tr>
            <tr class="same" id="f0n1"><td class="no" data-old="1">1</td><td class="code">&lt;i&gt;</td><td class="no" data-new="1">1</td><td class="code">&lt;i&gt;</td></tr>
            <tr class="both" id="f0n2"><td class="no del" data-old="2">2</td><td class="code del">let a = <del>one</del>;</td><td class="no add" data-new="2">2</td><td class="code add">let a = <ins>two</ins>;</td></tr>
            <tr class="notes"><td colspan="4"><p>why</p></td></tr>
            <tr class="same" id="f0n3"><td class="no" data-old="3">3</td><td class="code">last</td><td class="no" data-new="3">3</td><td class="code">last</td></tr>
            </tbody></table></div>
        "#]].assert_eq(&rows(true, &notes));
    }
}
