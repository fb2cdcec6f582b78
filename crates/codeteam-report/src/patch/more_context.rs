//! Shows more of a file around its changes than git does.

use std::fmt::Write as _;
use std::ops::Range;

use super::{PatchDocument, PatchRow, PatchRowKind, parse_hunk};

/// A hunk, and where its lines are in the file before and after the change, numbered from 1.
struct FileHunk {
    rows: Vec<PatchRow>,
    old: Range<u32>,
    new: Range<u32>,
    /// What stands behind its ranges, such as the name of a function.
    heading: String,
}

impl PatchDocument {
    /// Shows so many more lines around each hunk of a file, whose content before the change this is.
    /// Returns false, and changes nothing, if the content is not that of the patch.
    pub fn add_context(&mut self, number: usize, content: &[u8], lines: u32) -> bool {
        let content = String::from_utf8_lossy(content);
        let content: Vec<&str> = content.lines().collect();
        let Some((remarks, hunks)) = self.split_hunks(number) else {
            return false;
        };
        if hunks.is_empty() || !self.fits_content(&hunks, &content) {
            return false;
        }
        let end = u32::try_from(content.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let mut rows = remarks;
        let mut group: Vec<PatchRow> = Vec::new();
        let mut group_start = (1, 1);
        let mut heading = String::new();
        let mut shown_until = 1;
        for (at, hunk) in hunks.iter().enumerate() {
            let before = hunk.old.start.saturating_sub(lines).max(shown_until);
            if before > shown_until || group.is_empty() {
                self.close_group(&mut rows, &mut group, group_start, &heading);
                let new = (hunk.new.start + before).saturating_sub(hunk.old.start);
                group_start = (before, new);
                heading.clone_from(&hunk.heading);
            }
            let same = (hunk.old.start, hunk.new.start);
            self.push_lines(&mut group, &content, before..hunk.old.start, same);
            group.extend(hunk.rows.iter().cloned());
            let next = hunks.get(at + 1).map_or(end, |next| next.old.start);
            let after = hunk.old.end.saturating_add(lines).min(next);
            let same = (hunk.old.end, hunk.new.end);
            self.push_lines(&mut group, &content, hunk.old.end..after, same);
            shown_until = after;
        }
        self.close_group(&mut rows, &mut group, group_start, &heading);
        self.replace_rows(number, rows);
        true
    }

    /// Returns what git says about a file, and its hunks.
    fn split_hunks(&self, number: usize) -> Option<(Vec<PatchRow>, Vec<FileHunk>)> {
        let (mut remarks, mut hunks): (Vec<PatchRow>, Vec<FileHunk>) = (Vec::new(), Vec::new());
        for row in self.rows(self.files.get(number)?) {
            if row.kind == PatchRowKind::Hunk {
                let text = self.text(row);
                let found = parse_hunk(text)?;
                // A range without lines names the line before it.
                let start = |line: u32, count: u32| if count == 0 { line + 1 } else { line };
                let old = start(found.old, found.old_left);
                let new = start(found.new, found.new_left);
                let heading = text.splitn(3, "@@").nth(2).unwrap_or_default();
                hunks.push(FileHunk {
                    rows: Vec::new(),
                    old: old..old + found.old_left,
                    new: new..new + found.new_left,
                    heading: heading.to_owned(),
                });
                continue;
            }
            match hunks.last_mut() {
                Some(hunk) => hunk.rows.push(row.clone()),
                None => remarks.push(row.clone()),
            }
        }
        Some((remarks, hunks))
    }

    /// Returns true if the lines that the patch shows are those of the content.
    fn fits_content(&self, hunks: &[FileHunk], content: &[&str]) -> bool {
        let rows = hunks.iter().flat_map(|hunk| &hunk.rows);
        let mut rows = rows.filter_map(|row| Some((row, row.old?)));
        rows.all(|(row, line)| {
            let known = usize::try_from(line)
                .ok()
                .and_then(|line| content.get(line.checked_sub(1)?));
            known.is_some_and(|known| *known == self.text(row).trim_end_matches('\r'))
        })
    }

    /// Adds lines that stay. `same` are the numbers of one line before and after the change.
    fn push_lines(
        &mut self,
        rows: &mut Vec<PatchRow>,
        content: &[&str],
        lines: Range<u32>,
        same: (u32, u32),
    ) {
        for line in lines {
            let text = usize::try_from(line)
                .ok()
                .and_then(|line| content.get(line.checked_sub(1)?));
            let Some(text) = text else { continue };
            let start = self.text.len();
            self.text.push(' ');
            self.text.push_str(text);
            rows.push(PatchRow {
                kind: PatchRowKind::Context,
                old: Some(line),
                new: Some((line + same.1).saturating_sub(same.0)),
                text: start..self.text.len(),
            });
        }
    }

    /// Adds the hunks that now touch each other as one, with a heading of its own.
    fn close_group(
        &mut self,
        rows: &mut Vec<PatchRow>,
        group: &mut Vec<PatchRow>,
        start: (u32, u32),
        heading: &str,
    ) {
        if group.is_empty() {
            return;
        }
        let count =
            |is_there: fn(&PatchRow) -> bool| group.iter().filter(|row| is_there(row)).count();
        let (old, new) = (
            count(|row| row.old.is_some()),
            count(|row| row.new.is_some()),
        );
        let from = self.text.len();
        let _ = write!(
            self.text,
            "@@ -{},{old} +{},{new} @@{heading}",
            start.0, start.1
        );
        rows.push(PatchRow {
            kind: PatchRowKind::Hunk,
            old: None,
            new: None,
            text: from..self.text.len(),
        });
        rows.append(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x b/x\nindex 1111..2222 100644\n--- a/x\n+++ b/x\n@@ -5,3 +5,4 @@ fn a()\n l5\n+new\n l6\n l7\n@@ -20,3 +21,2 @@\n l20\n-l21\n l22\n";

    /// The file before the change.
    fn content() -> String {
        let lines: Vec<String> = (1..=30).map(|n| format!("l{n}")).collect();
        lines.join("\n")
    }

    fn shown(lines: u32) -> Vec<String> {
        let mut patch = PatchDocument::parse(PATCH.as_bytes());
        assert_eq!(patch.files[0].old_blob.as_deref(), Some("1111"));
        assert!(patch.add_context(0, content().as_bytes(), lines));
        let rows = patch.rows(&patch.files[0]).iter();
        rows.map(|row| match row.kind {
            PatchRowKind::Hunk => patch.text(row).to_owned(),
            _ => format!(
                "{}/{} {}",
                row.old.unwrap_or(0),
                row.new.unwrap_or(0),
                patch.text(row)
            ),
        })
        .collect()
    }

    #[test]
    fn more_lines_stand_around_each_hunk_with_both_numbers() {
        assert_eq!(
            shown(2),
            [
                "@@ -3,7 +3,8 @@ fn a()",
                "3/3 l3",
                "4/4 l4",
                "5/5 l5",
                "0/6 new",
                "6/7 l6",
                "7/8 l7",
                "8/9 l8",
                "9/10 l9",
                "@@ -18,7 +19,6 @@",
                "18/19 l18",
                "19/20 l19",
                "20/21 l20",
                "21/0 l21",
                "22/22 l22",
                "23/23 l23",
                "24/24 l24",
            ]
        );
    }

    #[test]
    fn hunks_that_meet_become_one_and_the_file_has_an_end() {
        let all = shown(u32::MAX);
        assert_eq!(all.len(), 1 + 31);
        assert_eq!(all[0], "@@ -1,30 +1,30 @@ fn a()");
        assert_eq!(all[1], "1/1 l1");
        assert_eq!(all[31], "30/30 l30");
        assert_eq!(all.iter().filter(|line| line.starts_with("@@")).count(), 1);
    }

    #[test]
    fn another_content_changes_nothing() {
        let mut patch = PatchDocument::parse(PATCH.as_bytes());
        let before = patch.clone();
        assert!(!patch.add_context(0, b"something else\n", 5));
        assert!(!patch.add_context(7, content().as_bytes(), 5));
        assert_eq!(patch, before);
    }

    #[test]
    fn a_new_file_has_no_more() {
        let text = "diff --git a/x b/x\nindex 0000..1111 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
        let mut patch = PatchDocument::parse(text.as_bytes());
        assert_eq!(patch.files[0].old_blob, None);
        assert!(patch.add_context(0, b"", 5));
        assert_eq!(patch.rows(&patch.files[0]).len(), 2);
    }
}
