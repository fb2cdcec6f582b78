//! Which files are left out, by the files that say so: `.gitignore` and the like.
//!
//! They are read as files of a stranger: a link in place of one is not followed, and however long or
//! odd they are, they can only be slow to a degree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What git goes by.
pub(super) const GIT: &str = ".gitignore";
/// What codeteam goes by, and before that.
pub(super) const OWN: &str = ".codeteamignore";
/// The longest file of patterns that is read.
pub(super) const LONGEST: u64 = 4 << 20;
/// How many patterns are compiled together.
const TOGETHER: usize = 500;

/// The patterns of a folder, and those of the folders above it.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    git: IgnorePatterns,
    own: IgnorePatterns,
    /// How much of a path leads to this folder.
    strip: usize,
    /// What leads from this folder to where paths begin, if it is above that.
    prefix: Vec<u8>,
    /// Whether this folder or one above it has patterns of codeteam's own.
    any_own: bool,
}

impl IgnoreRules {
    /// Rules of a folder below those of the ones above it. `folder` is its path.
    pub(super) fn below(
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

    /// Rules of a folder above the tree. `prefix` leads from it to the tree.
    pub(super) fn outside(
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

    /// Whether what lies at a path is left out.
    pub(super) fn leave_out(&self, path: &[u8], folder: bool) -> bool {
        let own = self
            .any_own
            .then(|| self.says(path, folder, |rules| &rules.own));
        let said = own.flatten();
        said.or_else(|| self.says(path, folder, |rules| &rules.git))
            .unwrap_or(false)
    }

    /// What the innermost patterns say that say anything.
    fn says(&self, path: &[u8], folder: bool, of: fn(&Self) -> &IgnorePatterns) -> Option<bool> {
        let mut rules = Some(self);
        while let Some(now) = rules {
            let patterns = of(now);
            if !patterns.sets.is_empty() {
                let said = if now.prefix.is_empty() {
                    patterns.says(path.get(now.strip..).unwrap_or(path), folder)
                } else {
                    patterns.says(&[&now.prefix, path].concat(), folder)
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

/// Patterns of one file, in its order.
#[derive(Debug, Default)]
pub(super) struct IgnorePatterns {
    sets: Vec<Gitignore>,
}

impl IgnorePatterns {
    /// Reads the patterns of a file. A line that is none says nothing, as with git.
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

    /// Whether a path is left out (`Some(true)`) or taken; the last pattern that matches counts.
    pub(super) fn says(&self, path: &[u8], folder: bool) -> Option<bool> {
        let path = Path::new(OsStr::from_bytes(path));
        let mut said = self.sets.iter().rev().map(|set| set.matched(path, folder));
        said.find_map(|said| match said {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        })
    }
}

/// Compiles patterns, in halves if they are too much together.
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
        // A pattern that is too much by itself.
        Err(_) => {}
    }
}

/// What a person asked for by patterns.
#[derive(Debug)]
pub(super) struct PathFilter {
    include: Option<Gitignore>,
    exclude: Gitignore,
}

impl PathFilter {
    /// Compiles them, or says which one is none.
    pub(super) fn new(
        include: &[String],
        exclude: &[String],
    ) -> Result<Self, (String, ignore::Error)> {
        let include = (!include.is_empty()).then(|| strict(include)).transpose()?;
        let exclude = strict(exclude)?;
        Ok(Self { include, exclude })
    }

    /// Whether a folder is excluded, with all that is in it.
    pub(super) fn excludes_folder(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.exclude.matched(path, true).is_ignore()
    }

    /// Whether a file in a folder that is not excluded is wanted.
    pub(super) fn file(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        if self.exclude.matched(path, false).is_ignore() {
            return false;
        }
        let include = self.include.as_ref();
        include.is_none_or(|include| include.matched_path_or_any_parents(path, false).is_ignore())
    }
}

fn strict(patterns: &[String]) -> Result<Gitignore, (String, ignore::Error)> {
    let mut builder = GitignoreBuilder::new(".");
    builder.allow_unclosed_class(false);
    for pattern in patterns {
        // `./src` and `src/` are what shells complete to.
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
        Arc::new(IgnoreRules::outside(None, b"", git, own))
    }

    #[test]
    fn the_innermost_and_last_pattern_counts() {
        let top = rules("*.log\n/build\n# no\n!keep.log\ntmp/\n", "");
        assert!(top.leave_out(b"a.log", false) && top.leave_out(b"x/a.log", false));
        assert!(!top.leave_out(b"x/keep.log", false));
        assert!(top.leave_out(b"build", true) && !top.leave_out(b"x/build", true));
        assert!(top.leave_out(b"x/tmp", true) && !top.leave_out(b"x/tmp", false));
        let inner = IgnorePatterns::parse(b"!a.log\n/only\n");
        let below = IgnoreRules::below(&top, b"x/y", inner, IgnorePatterns::default());
        assert!(!below.leave_out(b"x/y/a.log", false) && below.leave_out(b"x/y/b.log", false));
        assert!(below.leave_out(b"x/y/only", false) && !below.leave_out(b"x/y/z/only", false));
    }

    #[test]
    fn codeteams_own_patterns_come_first() {
        let top = rules("*.log\n", "*.md\n!a.log\n");
        assert!(top.leave_out(b"b.md", false) && !top.leave_out(b"a.log", false));
        let inner = IgnorePatterns::parse(b"!b.md\na.log");
        let below = IgnoreRules::below(&top, b"x", inner, IgnorePatterns::default());
        assert!(below.leave_out(b"x/b.md", false) && !below.leave_out(b"x/a.log", false));
    }

    #[test]
    fn patterns_above_the_tree_count_from_where_they_are() {
        let top = IgnorePatterns::parse(b"/web/dist\n/dist2\n");
        let rules = IgnoreRules::outside(None, b"web", top, IgnorePatterns::default());
        assert!(rules.leave_out(b"dist", true) && !rules.leave_out(b"dist2", true));
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
        assert!(rules.leave_out(b"x.last", false) && !rules.leave_out(b"x.rs", false));
        assert!(rules.leave_out(b"q/a777/w/xbyc777z/e", false));
        let stars = format!("{}x", "**/".repeat(20_000));
        let rules = self::rules(&stars, "");
        assert!(rules.leave_out(b"a/x", false));
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
            assert!(wanted.file(path.as_bytes()), "{path}");
        }
        for path in ["lib/a.rs", "src/a.snap"] {
            assert!(!wanted.file(path.as_bytes()), "{path}");
        }
        assert!(wanted.excludes_folder(b"x/tests") && !wanted.excludes_folder(b"x"));
        assert!(all(&["/src/"], &[]).file(b"src/a") && !all(&["/src/"], &[]).file(b"x/src/a"));
        assert!(all(&[], &[]).file(b"anything"));
        assert!(PathFilter::new(&["a[".to_owned()], &[]).is_err());
    }
}
