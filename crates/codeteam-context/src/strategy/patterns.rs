//! Files by patterns: `*` within a part of a path, `**` across parts, a folder for all below it.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// A pattern that means nothing.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern of files: {why}")]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

/// Patterns of files.
#[derive(Clone, Debug, Default)]
pub struct FilePatterns(Option<GlobSet>);

impl FilePatterns {
    /// Reads patterns.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        Self::read(patterns, false)
    }

    /// Reads patterns that match in capitals and in small letters: `README*` is `Readme.md`, too.
    pub(super) fn in_any_case(patterns: &[&str]) -> Result<Self, InvalidPattern> {
        Self::read(patterns, true)
    }

    fn read<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        any_case: bool,
    ) -> Result<Self, InvalidPattern> {
        let mut set = GlobSetBuilder::new();
        let mut any = false;
        for pattern in patterns {
            any = true;
            let pattern = pattern.as_ref();
            let plain = pattern.trim_start_matches("./").trim_end_matches('/');
            if !pattern.ends_with('/') {
                set.add(glob(pattern, plain, any_case)?);
            }
            set.add(glob(pattern, &format!("{plain}/**"), any_case)?);
        }
        if !any {
            return Ok(Self(None));
        }
        let set = set.build().map_err(|error| InvalidPattern {
            pattern: error.glob().unwrap_or_default().to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self(Some(set)))
    }

    /// Reads patterns of what must not be seen. Each hides what it means, and also what it means if its
    /// brackets and braces are taken as they are written; one that means nothing hides only that.
    pub fn hiding<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        let mut all = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut plain = String::new();
            for c in pattern.chars() {
                match c {
                    '[' | ']' | '{' | '}' | '\\' => plain.extend(['[', c, ']']),
                    c => plain.push(c),
                }
            }
            if Self::new([pattern]).is_ok() {
                all.push(pattern.to_owned());
            }
            all.push(plain);
        }
        Self::new(all)
    }

    /// Whether one of them matches.
    pub fn matches(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|set| set.is_match(path))
    }
}

fn glob(written: &str, pattern: &str, any_case: bool) -> Result<Glob, InvalidPattern> {
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(any_case)
        .build();
    glob.map_err(|error| InvalidPattern {
        pattern: written.to_owned(),
        why: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::FilePatterns;

    #[test]
    fn what_is_hidden_is_hidden_either_way() {
        let hides =
            |pattern: &str, path: &str| FilePatterns::hiding([pattern]).unwrap().matches(path);
        for (pattern, path) in [
            ("tests", "tests/a/b.py"),
            ("**/*.{env,key}", "a/b.key"),
            ("a[1].py", "a[1].py"),
            ("a[1].py", "a1.py"),
            ("a/[b", "a/[b"),
            (r"a\b{", r"a\b{"),
        ] {
            assert!(hides(pattern, path), "{pattern} {path}");
        }
        assert!(!hides("a[1].py", "a2.py"));
    }

    #[test]
    fn files_and_folders_are_matched() {
        let matches =
            |pattern: &str, path: &str| FilePatterns::new([pattern]).unwrap().matches(path);
        for (pattern, path) in [
            ("src/**/*.py", "src/a/b.py"),
            ("src/**/*.py", "src/b.py"),
            ("docs/", "docs/a/b.md"),
            ("docs", "docs/a/b.md"),
            ("CONTRIBUTING*", "CONTRIBUTING.md"),
            ("**/*.{ts,tsx}", "a/b.tsx"),
            ("./README.md", "README.md"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("src/*.py", "src/a/b.py"),
            ("docs/", "docs"),
            ("README.md", "a/README.md"),
            ("*.rs", "src/a.rs"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
        assert!(!FilePatterns::new::<&str>([]).unwrap().matches("a"));
        let error = FilePatterns::new(["a/[b"]).unwrap_err().to_string();
        assert!(
            error.starts_with("`a/[b` is no pattern of files: "),
            "{error}"
        );
    }
}
