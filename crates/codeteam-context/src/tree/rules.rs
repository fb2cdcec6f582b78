//! Decides which files are left out, according to `.gitignore` and similar files.
//!
//! These files are untrusted: a link in place of one is not followed, and however long or odd they
//! are, the slowdown is bounded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The ignore file of git.
pub(super) const GIT: &str = ".gitignore";
/// The ignore file of codeteam, which takes precedence.
pub(super) const OWN: &str = ".codeteamignore";
/// The size limit of an ignore file.
pub(super) const LONGEST: u64 = 4 << 20;
/// The number of patterns compiled together.
const TOGETHER: usize = 500;

/// The patterns of a folder, with a reference to those of the folders above.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    git: IgnorePatterns,
    own: IgnorePatterns,
    /// The length of the path prefix that leads to this folder.
    strip: usize,
    /// The path from this folder to the top of the tree, if it is above that.
    prefix: Vec<u8>,
    /// Whether this folder or one above it has a `.codeteamignore`.
    any_own: bool,
}

impl IgnoreRules {
    /// Creates the rules of a folder below others. `folder` is its path.
    pub(super) fn for_subfolder(
        above: &Arc<Self>,
        folder: &[u8],
        git: IgnorePatterns,
        own: IgnorePatterns,
    ) -> Self {
        Self {
            any_own: above.any_own || !own.sets.is_empty(),
            above: Some(Arc::clone(above)),
            git,
            own,
            strip: if folder.is_empty() {
                0
            } else {
                folder.len() + 1
            },
            prefix: Vec::new(),
        }
    }

    /// Creates the rules of a folder above the tree. `prefix` leads from it to the tree.
    pub(super) fn for_outer_folder(
        above: Option<Arc<Self>>,
        prefix: &[u8],
        git: IgnorePatterns,
        own: IgnorePatterns,
    ) -> Self {
        let mut prefix = prefix.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Self {
            any_own: above.as_ref().is_some_and(|above| above.any_own) || !own.sets.is_empty(),
            above,
            git,
            own,
            strip: 0,
            prefix,
        }
    }

    /// Returns true if a path is left out.
    pub(super) fn ignores(&self, path: &[u8], folder: bool) -> bool {
        let own = self
            .any_own
            .then(|| self.innermost_match(path, folder, |rules| &rules.own));
        let said = own.flatten();
        said.or_else(|| self.innermost_match(path, folder, |rules| &rules.git))
            .unwrap_or(false)
    }

    /// Returns the decision of the innermost patterns that match.
    fn innermost_match(
        &self,
        path: &[u8],
        folder: bool,
        of: fn(&Self) -> &IgnorePatterns,
    ) -> Option<bool> {
        let mut rules = Some(self);
        while let Some(now) = rules {
            let patterns = of(now);
            if !patterns.sets.is_empty() {
                let said = if now.prefix.is_empty() {
                    patterns.match_path(path.get(now.strip..).unwrap_or(path), folder)
                } else {
                    patterns.match_path(&[&now.prefix, path].concat(), folder)
                };
                if said.is_some() {
                    return said;
                }
            }
            rules = now.above.as_deref();
        }
        None
    }
}

/// The patterns of one file, in order.
#[derive(Debug, Default)]
pub(super) struct IgnorePatterns {
    sets: Vec<Gitignore>,
}

impl IgnorePatterns {
    /// Parses the patterns of a file. An invalid line is ignored, as by git.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self::new(&lines.collect::<Vec<_>>())
    }

    fn new(lines: &[&str]) -> Self {
        let mut sets = Vec::new();
        for some in lines.chunks(TOGETHER) {
            compile(some, &mut sets);
        }
        Self { sets }
    }

    /// Returns whether a path is left out (`Some(true)`) or re-included; the last matching pattern
    /// wins.
    pub(super) fn match_path(&self, path: &[u8], folder: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(path));
        let mut said = self.sets.iter().rev().map(|set| set.matched(path, folder));
        said.find_map(|said| match said {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        })
    }
}

/// Compiles patterns, in halves if they are too large together.
fn compile(lines: &[&str], sets: &mut Vec<Gitignore>) {
    let mut builder = GitignoreBuilder::new(".");
    for line in lines {
        let _ = builder.add_line(None, line);
    }
    match builder.build() {
        Ok(set) if set.is_empty() => {}
        Ok(set) => sets.push(set),
        Err(_) if lines.len() > 1 => {
            let (first, second) = lines.split_at(lines.len() / 2);
            compile(first, sets);
            compile(second, sets);
        }
        // A single pattern that is too large is ignored.
        Err(_) => {}
    }
}

/// The include and exclude patterns that a person asked for.
#[derive(Debug)]
pub(super) struct PathFilter {
    include: Option<Gitignore>,
    exclude: Gitignore,
}

impl PathFilter {
    /// Compiles the patterns, or returns the invalid one.
    pub(super) fn new(
        include: &[String],
        exclude: &[String],
    ) -> Result<Self, (String, ignore::Error)> {
        let include = (!include.is_empty())
            .then(|| compile_patterns(include))
            .transpose()?;
        let exclude = compile_patterns(exclude)?;
        Ok(Self { include, exclude })
    }

    /// Returns true if a folder is excluded with everything in it.
    pub(super) fn excludes_folder(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.exclude.matched(path, true).is_ignore()
    }

    /// Returns true if a file in a folder that is not excluded is wanted.
    pub(super) fn wants_file(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        if self.exclude.matched(path, false).is_ignore() {
            return false;
        }
        let include = self.include.as_ref();
        include.is_none_or(|include| include.matched_path_or_any_parents(path, false).is_ignore())
    }
}

fn compile_patterns(patterns: &[String]) -> Result<Gitignore, (String, ignore::Error)> {
    let mut builder = GitignoreBuilder::new(".");
    builder.allow_unclosed_class(false);
    for pattern in patterns {
        // Shells complete to `./src` and `src/`.
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if let Err(error) = builder.add_line(None, pattern) {
            return Err((pattern.to_owned(), error));
        }
    }
    builder.build().map_err(|error| (patterns.join(" "), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(git: &str, own: &str) -> Arc<IgnoreRules> {
        let (git, own) = (
            IgnorePatterns::parse(git.as_bytes()),
            IgnorePatterns::parse(own.as_bytes()),
        );
        Arc::new(IgnoreRules::for_outer_folder(None, b"", git, own))
    }

    #[test]
    fn the_innermost_and_last_pattern_counts() {
        let top = rules("*.log\n/build\n# no\n!keep.log\ntmp/\n", "");
        assert!(top.ignores(b"a.log", false) && top.ignores(b"x/a.log", false));
        assert!(!top.ignores(b"x/keep.log", false));
        assert!(top.ignores(b"build", true) && !top.ignores(b"x/build", true));
        assert!(top.ignores(b"x/tmp", true) && !top.ignores(b"x/tmp", false));
        let inner = IgnorePatterns::parse(b"!a.log\n/only\n");
        let below = IgnoreRules::for_subfolder(&top, b"x/y", inner, IgnorePatterns::default());
        assert!(!below.ignores(b"x/y/a.log", false) && below.ignores(b"x/y/b.log", false));
        assert!(below.ignores(b"x/y/only", false) && !below.ignores(b"x/y/z/only", false));
    }

    #[test]
    fn codeteams_own_patterns_come_first() {
        let top = rules("*.log\n", "*.md\n!a.log\n");
        assert!(top.ignores(b"b.md", false) && !top.ignores(b"a.log", false));
        let inner = IgnorePatterns::parse(b"!b.md\na.log");
        let below = IgnoreRules::for_subfolder(&top, b"x", inner, IgnorePatterns::default());
        assert!(below.ignores(b"x/b.md", false) && !below.ignores(b"x/a.log", false));
    }

    #[test]
    fn patterns_above_the_tree_count_from_where_they_are() {
        let top = IgnorePatterns::parse(b"/web/dist\n/dist2\n");
        let rules = IgnoreRules::for_outer_folder(None, b"web", top, IgnorePatterns::default());
        assert!(rules.ignores(b"dist", true) && !rules.ignores(b"dist2", true));
    }

    #[test]
    fn broken_and_many_patterns_do_no_harm() {
        let mut text = String::from("[\n{a\n\\\n!\n/\n**\\\n");
        for n in 0..10_000 {
            use std::fmt::Write as _;
            writeln!(text, "**/a{n}/**/*b?[c-d]{n}*/**/e").unwrap();
        }
        text.push_str("*.last\n");
        let rules = rules(&text, "");
        assert!(rules.ignores(b"x.last", false) && !rules.ignores(b"x.rs", false));
        assert!(rules.ignores(b"q/a777/w/xbyc777z/e", false));
        let stars = format!("{}x", "**/".repeat(20_000));
        let rules = self::rules(&stars, "");
        assert!(rules.ignores(b"a/x", false));
    }

    #[test]
    fn what_is_included_may_be_a_folder() {
        let all = |include: &[&str], exclude: &[&str]| {
            let own = |texts: &[&str]| {
                texts
                    .iter()
                    .map(|&text| text.to_owned())
                    .collect::<Vec<_>>()
            };
            PathFilter::new(&own(include), &own(exclude)).unwrap()
        };
        let wanted = all(&["src", "*.toml"], &["tests", "*.snap"]);
        for path in [
            "src/a.rs",
            "src/b/c.rs",
            "Cargo.toml",
            "x/Cargo.toml",
            "x/src/a.rs",
        ] {
            assert!(wanted.wants_file(path.as_bytes()), "{path}");
        }
        for path in ["lib/a.rs", "src/a.snap"] {
            assert!(!wanted.wants_file(path.as_bytes()), "{path}");
        }
        assert!(wanted.excludes_folder(b"x/tests") && !wanted.excludes_folder(b"x"));
        assert!(
            all(&["/src/"], &[]).wants_file(b"src/a")
                && !all(&["/src/"], &[]).wants_file(b"x/src/a")
        );
        assert!(all(&[], &[]).wants_file(b"anything"));
        assert!(PathFilter::new(&["a[".to_owned()], &[]).is_err());
    }
}
