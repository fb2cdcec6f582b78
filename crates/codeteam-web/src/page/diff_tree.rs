//! The files of a change as a tree of folders.

use codeteam_report::patch::PatchDocument;

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeLine {
    /// How many folders it is within.
    pub(super) depth: usize,
    /// The name of the file, or of the folder with those that have nothing else in them.
    pub(super) name: String,
    /// The number of the file in the patch; `None` for a folder.
    pub(super) file: Option<usize>,
}

/// Returns the files in the order of the patch, with a line for each folder that begins.
pub(super) fn file_tree(patch: &PatchDocument) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    // The paths of the folders that the last file is in.
    let mut open: Vec<String> = Vec::new();
    for (number, file) in patch.files.iter().enumerate() {
        let (folder, name) = match file.path.rsplit_once('/') {
            Some((folder, name)) => (folder, name),
            None => ("", file.path.as_str()),
        };
        while let Some(last) = open.last() {
            let is_within = folder == last || folder.starts_with(&format!("{last}/"));
            if is_within {
                break;
            }
            open.pop();
        }
        let inner = match open.last() {
            Some(last) => folder.strip_prefix(last.as_str()).unwrap_or(folder),
            None => folder,
        };
        let inner = inner.trim_start_matches('/');
        if !inner.is_empty() {
            lines.push(TreeLine {
                depth: open.len(),
                name: format!("{inner}/"),
                file: None,
            });
            open.push(folder.to_owned());
        }
        lines.push(TreeLine {
            depth: open.len(),
            name: name.to_owned(),
            file: Some(number),
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_begin_where_files_need_them() {
        let paths = [
            "a.rs",
            "src/b.rs",
            "src/c/d.rs",
            "src/c/e.rs",
            "src/f.rs",
            "t/u/v.rs",
        ];
        let headers =
            paths.map(|path| format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"));
        let patch = headers.concat();
        let tree = file_tree(&PatchDocument::parse(patch.as_bytes()));
        let tree: Vec<String> = tree
            .into_iter()
            .map(|line| format!("{}{}", " ".repeat(line.depth), line.name))
            .collect();
        assert_eq!(
            tree,
            [
                "a.rs", "src/", " b.rs", " c/", "  d.rs", "  e.rs", " f.rs", "t/u/", " v.rs"
            ]
        );
    }
}
