//! The one meaning of a pattern of files, wherever one is written: a role's `exclude`, a task's
//! `files`, risky paths, the files of tests, the conditions of a step.
//!
//! - Patterns are seen from the top of the tree: `*.rs` is there only, `**/*.rs` anywhere.
//! - `*` and `?` stay within a folder, `**` goes across folders. `[ab]` is one of these characters,
//!   `{a,b}` one of these texts.
//! - A pattern that names a folder means everything below it; with a `/` at its end it means nothing
//!   else. `.` is everything.
//! - Brackets and braces are also taken literally, because folders have such names: `app/[id]/**` is
//!   the folder `app/[id]` too.
//!
//! Matching is a function of the pattern and the path: no file is looked at. What `.gitignore` means
//! by its patterns is another matter, for the crate `ignore`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

pub use globset::escape;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// A pattern that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is not a valid pattern of files: {why}")]
pub struct InvalidPattern {
    /// The pattern as it is written.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

/// The length of a pattern above which it is only taken literally: no path is that long, and what
/// ignores case would take minutes to be built.
const LONGEST: usize = 4_096;

/// A set of file patterns.
///
/// [`new`](Self::new) refuses what it does not understand, which is right where somebody can still
/// correct it. Where nothing can fail any more, [`lenient`](Self::lenient) takes it literally.
#[derive(Clone, Debug, Default)]
pub struct FilePatterns {
    globs: GlobSet,
    /// Patterns that no matcher can be built for, such as one of a million characters.
    paths: Vec<String>,
    case: LetterCase,
}

impl FilePatterns {
    /// Parses patterns.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        Self::compile(patterns, LetterCase::Distinct)
    }

    /// Parses case-insensitive patterns: `README*` also matches `Readme.md`.
    pub fn case_insensitive<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidPattern> {
        Self::compile(patterns, LetterCase::Ignored)
    }

    fn compile<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        case: LetterCase,
    ) -> Result<Self, InvalidPattern> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            for glob in globs(pattern.as_ref(), case)? {
                set.add(glob);
            }
        }
        let set = set.build().map_err(|error| InvalidPattern {
            pattern: error.glob().unwrap_or_default().to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self {
            globs: set,
            paths: Vec::new(),
            case,
        })
    }

    /// Parses patterns; one that cannot be parsed matches what it names literally.
    pub fn lenient<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        Self::compile_leniently(patterns, LetterCase::Distinct)
    }

    /// Does the same as [`lenient`](Self::lenient), but ignores case: `**/*auth*` also matches
    /// `src/AuthController.java`.
    pub fn lenient_case_insensitive<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        Self::compile_leniently(patterns, LetterCase::Ignored)
    }

    fn compile_leniently<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        case: LetterCase,
    ) -> Self {
        let all: Vec<S> = patterns.into_iter().collect();
        let is_long = |pattern: &str| pattern.len() > LONGEST;
        // Nearly always all of them can be parsed.
        if !all.iter().any(|pattern| is_long(pattern.as_ref()))
            && let Ok(set) = Self::compile(&all, case)
        {
            return set;
        }
        let mut set = Self {
            case,
            ..Self::default()
        };
        let mut builder = GlobSetBuilder::new();
        for pattern in &all {
            let pattern = pattern.as_ref();
            let both = [pattern.to_owned(), escape_brackets(pattern)];
            let can_be_built = |it: &&String| !is_long(it) && Self::compile([it], case).is_ok();
            match both.iter().find(can_be_built) {
                Some(valid) => {
                    let globs = globs(valid, case).unwrap_or_default();
                    for glob in globs {
                        builder.add(glob);
                    }
                }
                None => set.paths.push(plain(pattern).to_owned()),
            }
        }
        // Each of them can be built alone; together they may still be too much.
        match builder.build() {
            Ok(globs) => set.globs = globs,
            Err(_) => set.paths = all.iter().map(|it| plain(it.as_ref()).to_owned()).collect(),
        }
        set
    }

    /// Does the same as [`lenient`](Self::lenient), and remembers the last few lists: a kernel asks about
    /// the same risky paths again and again, and compiling them costs far more than matching.
    pub fn remembered(patterns: &[String]) -> Arc<Self> {
        static LAST: Mutex<VecDeque<(Vec<String>, Arc<FilePatterns>)>> =
            Mutex::new(VecDeque::new());
        const MOST: usize = 8;
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.iter().find(|(list, _)| list == patterns) {
            return Arc::clone(known);
        }
        let compiled = Arc::new(Self::lenient(patterns));
        last.truncate(MOST - 1);
        last.push_front((patterns.to_vec(), Arc::clone(&compiled)));
        compiled
    }

    /// Parses patterns of files that must not be seen. A pattern of everything below a folder hides
    /// the folder too, and one that cannot be parsed hides what it names literally.
    pub fn for_hidden_files<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        let mut all = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut folder = pattern;
            while let Some(short) = folder
                .strip_suffix('/')
                .or_else(|| folder.strip_suffix("/**"))
            {
                folder = short;
            }
            if folder.len() < pattern.len() && !folder.is_empty() {
                all.push(folder.to_owned());
            }
            all.push(pattern.to_owned());
        }
        Self::lenient(all)
    }

    /// Returns true if one of the patterns matches.
    pub fn matches(&self, path: &str) -> bool {
        let names_it = |named: &String| match self.case {
            LetterCase::Distinct => is_at_or_below(path, named),
            LetterCase::Ignored => is_at_or_below(&path.to_lowercase(), &named.to_lowercase()),
        };
        self.globs.is_match(path) || self.paths.iter().any(names_it)
    }
}

/// Returns true if a single pattern matches a path. For many paths, build [`FilePatterns`] once.
pub fn file_matches(pattern: &str, path: &str) -> bool {
    if !pattern.contains(['*', '?', '[', '{', '\\']) {
        let named = plain(pattern);
        let is_all = is_everything(pattern);
        return is_all || is_at_or_below(path, named) && !(pattern.ends_with('/') && path == named);
    }
    FilePatterns::lenient([pattern]).matches(path)
}

/// Returns true if a pattern matches exactly this path, not what is below it. Other tools write such
/// patterns: the members of a workspace. `packages/**` is also `packages` itself.
pub fn path_matches(pattern: &str, path: &str) -> bool {
    let pattern = plain(pattern);
    let either = [Some(pattern), pattern.strip_suffix("/**")];
    either.into_iter().flatten().any(|pattern| {
        let glob = glob(pattern, LetterCase::Distinct).map(|glob| glob.compile_matcher());
        pattern == path || glob.is_ok_and(|glob| glob.is_match(path))
    })
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum LetterCase {
    #[default]
    Distinct,
    Ignored,
}

/// Returns a pattern without what may be written around it.
fn plain(pattern: &str) -> &str {
    pattern.trim_start_matches("./").trim_end_matches('/')
}

/// Returns true for `.`, `./` and `/`.
fn is_everything(pattern: &str) -> bool {
    !pattern.is_empty() && matches!(plain(pattern), "" | ".")
}

fn is_at_or_below(path: &str, named: &str) -> bool {
    let rest = path.strip_prefix(named);
    !named.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the globs that a pattern stands for.
fn globs(pattern: &str, case: LetterCase) -> Result<Vec<Glob>, InvalidPattern> {
    let invalid = |error: globset::Error| InvalidPattern {
        pattern: pattern.to_owned(),
        why: error.kind().to_string(),
    };
    if is_everything(pattern) {
        return Ok(vec![glob("**", case).map_err(invalid)?]);
    }
    let meant = plain(pattern);
    let mut readings = vec![meant.to_owned()];
    let literal = escape_brackets(meant);
    if literal != meant {
        readings.push(literal);
    }
    let mut globs = Vec::new();
    for reading in readings {
        if !pattern.ends_with('/') {
            globs.push(glob(&reading, case).map_err(invalid)?);
        }
        globs.push(glob(&format!("{reading}/**"), case).map_err(invalid)?);
    }
    Ok(globs)
}

fn glob(pattern: &str, case: LetterCase) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .case_insensitive(case == LetterCase::Ignored)
        .build()
}

/// Returns a pattern whose brackets, braces and backslashes stand for themselves.
fn escape_brackets(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        match c {
            '[' | ']' | '{' | '}' | '\\' => plain.extend(['[', c, ']']),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
