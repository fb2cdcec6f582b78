//! All files of a tree in a few lines each person and model can read: `ls -R`, indented.

/// How many lines a map has.
const MAX_LINES: usize = 2_000;

/// The tree that these paths make, in the order of their names.
pub(super) fn of(paths: &[String]) -> String {
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
            lines.push(line(depth, folder, "/"));
        }
        lines.push(line(folders.len(), name, ""));
        before = folders.to_vec();
        told += 1;
    }
    if told < paths.len() {
        lines.push(format!("… and {} more files", paths.len() - told));
    }
    lines.join("\n")
}

fn line(depth: usize, name: &str, end: &str) -> String {
    let name = name.replace(char::is_control, "?");
    format!("{}{name}{end}", "  ".repeat(depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_under_their_folders() {
        let paths = ["src/b.rs", "README.md", "src/a/x.rs", "src/a/y.rs", "a\nb"];
        let map = of(&paths.map(str::to_owned));
        assert_eq!(
            map,
            "README.md\na?b\nsrc/\n  a/\n    x.rs\n    y.rs\n  b.rs"
        );
    }

    #[test]
    fn a_large_tree_is_cut_and_says_so() {
        let paths: Vec<String> = (0..5_000).map(|i| format!("src/{i:04}.rs")).collect();
        let map = of(&paths);
        assert_eq!(map.lines().count(), MAX_LINES + 1);
        assert!(map.ends_with("… and 3001 more files"), "{map}");
    }
}
