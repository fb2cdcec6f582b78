//! Draws the tree of folders and files by indentation.

use std::ops::Range;

/// The deepest indentation; anything deeper is drawn at the same column.
const INDENT: usize = 32;

/// Draws a tree of sorted paths. Below `depth`, folders only show how many files they have. A
/// folder that contains only a folder shares its line.
pub(super) fn draw_tree(paths: &[&str], depth: usize) -> String {
    let mut out = String::new();
    // What is still to be drawn: a range of paths, how much of them is drawn already, and their
    // depth.
    let mut open: Vec<(Range<usize>, usize, usize)> = vec![(0..paths.len(), 0, 0)];
    while let Some((range, drawn, level)) = open.pop() {
        let mut at = range.start;
        while at < range.end {
            let rest = &paths[at][drawn..];
            let indent = "  ".repeat(level.min(INDENT));
            let Some(slash) = rest.find('/') else {
                out.extend([indent.as_str(), rest, "\n"]);
                at += 1;
                continue;
            };
            let (folder, end) = folder(&paths[..range.end], at, drawn, slash);
            let name = &paths[at][drawn..folder];
            if level >= depth {
                let files = end - at;
                let s = if files == 1 { "" } else { "s" };
                out.extend([&indent, name, &format!(" ({files} file{s})\n")]);
                at = end;
                continue;
            }
            out.extend([&indent, name, "\n"]);
            open.push((end..range.end, drawn, level));
            open.push((at..end, folder, level + 1));
            break;
        }
    }
    out
}

/// Returns where the name of the folder at a path ends, including single nested folders, and where
/// its range of paths ends.
fn folder(paths: &[&str], at: usize, drawn: usize, slash: usize) -> (usize, usize) {
    let mut length = drawn + slash + 1;
    let start = &paths[at][..length];
    let end = at + paths[at..].partition_point(|path| path.starts_with(start));
    let (first, last) = (paths[at], paths[end - 1]);
    while let Some(slash) = first[length..].find('/') {
        let next = length + slash + 1;
        if last.get(..next) != first.get(..next) {
            break;
        }
        length = next;
    }
    (length, end)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::draw_tree;

    #[test]
    fn a_tree_is_drawn() {
        let paths = [
            "a-b",
            "a/b/c/one",
            "a/b/c/two",
            "a0",
            "d/e",
            "d/f/g",
            "d/f/h/i",
            "é/x",
        ];
        expect![[r"
            a-b
            a/b/c/
              one
              two
            a0
            d/
              e
              f/
                g
                h/
                  i
            é/
              x
        "]]
        .assert_eq(&draw_tree(&paths, usize::MAX));
        expect![[r"
            a-b
            a/b/c/
              one
              two
            a0
            d/
              e
              f/ (2 files)
            é/
              x
        "]]
        .assert_eq(&draw_tree(&paths, 1));
        assert_eq!(
            draw_tree(&paths, 0),
            "a-b\na/b/c/ (2 files)\na0\nd/ (3 files)\né/ (1 file)\n"
        );
        assert_eq!(draw_tree(&[], 9), "");
    }

    #[test]
    fn depth_is_no_danger() {
        let deep: Vec<String> = (1..3_000)
            .map(|n| format!("{}f{n}", "d/".repeat(n)))
            .collect();
        let mut paths: Vec<&str> = deep.iter().map(String::as_str).collect();
        paths.sort_unstable();
        let drawn = draw_tree(&paths, usize::MAX);
        assert_eq!(
            drawn
                .lines()
                .filter(|line| line.trim().starts_with('f'))
                .count(),
            paths.len()
        );
        assert!(drawn.len() < 500_000, "{}", drawn.len());
    }
}
