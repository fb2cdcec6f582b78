//! Lists all files of a tree in a compact form for people and models: like `ls -R`, indented.

use std::collections::BTreeMap;

/// The largest number of lines in a listing.
const MAX_LINES: usize = 2_000;

/// Draws the tree of these paths, sorted by name.
pub fn draw_tree(paths: &[&str]) -> String {
    let mut paths: Vec<Vec<&str>> = paths.iter().map(|path| path.split('/').collect()).collect();
    paths.sort_unstable();
    let (mut lines, mut before) = (Vec::new(), Vec::new());
    let mut told = 0;
    for path in &paths {
        let Some((name, folders)) = path.split_last() else {
            continue;
        };
        let shared = folders.iter().zip(&before).take_while(|(a, b)| a == b);
        let shared = shared.count();
        if lines.len() + folders.len() - shared >= MAX_LINES {
            break;
        }
        for (depth, folder) in folders.iter().enumerate().skip(shared) {
            lines.push(draw_line(depth, folder, "/"));
        }
        lines.push(draw_line(folders.len(), name, ""));
        before = folders.to_vec();
        told += 1;
    }
    if told < paths.len() {
        lines.push(format!("… and {} more files", paths.len() - told));
    }
    lines.join("\n")
}

/// Draws only the folders of that tree down to a depth, each with the number of files below it.
pub fn draw_folders(paths: &[&str], depth: usize) -> String {
    let mut counts: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut top = 0;
    for path in paths {
        let mut parts: Vec<&str> = path.split('/').collect();
        parts.pop();
        top += usize::from(parts.is_empty());
        for length in 1..=parts.len().min(depth) {
            *counts.entry(parts[..length].to_vec()).or_default() += 1;
        }
    }
    let mut lines: Vec<String> = counts
        .iter()
        .take(MAX_LINES)
        .filter_map(|(parts, count)| {
            let name = parts.last()?;
            Some(draw_line(
                parts.len() - 1,
                name,
                &format!("/ ({count} files)"),
            ))
        })
        .collect();
    if counts.len() > MAX_LINES {
        lines.push(format!("… and {} more folders", counts.len() - MAX_LINES));
    }
    if top > 0 {
        lines.push(format!("and {top} other files"));
    }
    lines.join("\n")
}

fn draw_line(depth: usize, name: &str, end: &str) -> String {
    let name = name.replace(char::is_control, "?");
    format!("{}{name}{end}", "  ".repeat(depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_under_their_folders() {
        let paths = ["src/b.rs", "README.md", "src/a/x.rs", "src/a/y.rs", "a\nb"];
        let map = draw_tree(&paths);
        assert_eq!(
            map,
            "README.md\na?b\nsrc/\n  a/\n    x.rs\n    y.rs\n  b.rs"
        );
    }

    #[test]
    fn folders_are_counted() {
        let paths = ["src/b.rs", "README.md", "src/a/x.rs", "src/a/deep/y.rs"];
        let shown = draw_folders(&paths, 2);
        assert_eq!(shown, "src/ (3 files)\n  a/ (2 files)\nand 1 other files");
    }

    #[test]
    fn a_large_tree_is_cut_and_says_so() {
        let paths: Vec<String> = (0..5_000).map(|i| format!("src/{i:04}.rs")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let map = draw_tree(&paths);
        assert_eq!(map.lines().count(), MAX_LINES + 1);
        assert!(map.ends_with("… and 3001 more files"), "{map}");
    }
}
