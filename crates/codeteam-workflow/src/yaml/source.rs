//! Sources, positions in them, and diagnostics at those positions.

use std::fmt;

/// A position in one of the [`SourceFiles`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// The number of the source, from 1; 0 means none.
    pub source: u32,
    /// The line, from 1; 0 means the source as a whole.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl SourcePosition {
    /// No position, for nodes that codeteam adds itself.
    pub const NONE: Self = Self {
        source: 0,
        line: 0,
        column: 0,
    };
}

/// The largest number of problems that are reported at once.
const MAX_PROBLEMS: usize = 100;

/// The texts of all files that nodes come from.
///
/// A [`SourcePosition`] holds only the number of its source, so positions are cheap to copy. This
/// type holds the names and texts for those numbers, and turns diagnostics into problems that a
/// person can read.
///
/// Use one instance for all files that are merged with each other: [`read`](super::read()) adds
/// each file, and [`to_problems`](Self::to_problems) afterwards finds the right file and line for
/// every mistake. A position from another instance would name the wrong file.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles(Vec<SourceFile>);

#[derive(Clone, Debug)]
struct SourceFile {
    file: String,
    text: String,
}

impl SourceFiles {
    /// Adds a source, with the file name that the user would use, and returns its number.
    pub fn add(&mut self, file: &str, text: &str) -> u32 {
        self.0.push(SourceFile {
            file: file.to_owned(),
            text: text.to_owned(),
        });
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Returns the file name of a position.
    pub fn file(&self, place: SourcePosition) -> Option<&str> {
        self.source(place).map(|source| source.file.as_str())
    }

    /// Returns the text of the last source with that file name.
    pub fn text(&self, file: &str) -> Option<&str> {
        let mut named = self.0.iter().rev().filter(|source| source.file == file);
        named.next().map(|source| source.text.as_str())
    }

    /// Renames every source, for example to a shorter name for people.
    pub fn rename(&mut self, name: impl Fn(&str) -> String) {
        for source in &mut self.0 {
            source.file = name(&source.file);
        }
    }

    /// Returns `file:line`, as far as they are known.
    pub fn describe(&self, place: SourcePosition) -> String {
        let file = self.file(place).unwrap_or("built-in");
        match place.line {
            0 => file.to_owned(),
            line => format!("{file}:{line}"),
        }
    }

    /// Turns diagnostics into problems for people, sorted by position.
    pub fn to_problems(&self, faults: impl IntoIterator<Item = Diagnostic>) -> FileProblems {
        let mut faults: Vec<Diagnostic> = faults.into_iter().collect();
        faults.sort_by_key(|fault| fault.place);
        faults.dedup();
        let more = faults.len().saturating_sub(MAX_PROBLEMS);
        faults.truncate(MAX_PROBLEMS);
        let problems = faults.into_iter().map(|fault| self.problem(fault));
        let mut problems: Vec<FileProblem> = problems.collect();
        if more > 0 {
            problems.push(FileProblem::for_file("", format!("and {more} more")));
        }
        FileProblems { problems }
    }

    fn problem(&self, fault: Diagnostic) -> FileProblem {
        let line = usize::try_from(fault.place.line).unwrap_or(0);
        let source = self.source(fault.place);
        let text = source
            .zip(line.checked_sub(1))
            .and_then(|(source, line)| source.text.lines().nth(line));
        FileProblem {
            file: source.map(|s| s.file.clone()).unwrap_or_default(),
            line: fault.place.line,
            column: fault.place.column,
            text: text.map(str::to_owned),
            message: fault.message,
            hint: fault.hint,
        }
    }

    fn source(&self, place: SourcePosition) -> Option<&SourceFile> {
        let index = usize::try_from(place.source).ok()?.checked_sub(1)?;
        self.0.get(index)
    }
}

/// A mistake at a position in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The position of the mistake.
    pub place: SourcePosition,
    /// The problem, and what it is about.
    pub message: String,
    /// The remedy, where there is one.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without a hint.
    pub fn at(place: SourcePosition, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds a hint with a remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a hint with a remedy, if there is one.
    #[must_use]
    pub fn with_optional_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// A mistake in a file that a person wrote, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProblem {
    /// The file, as the user would name it.
    pub file: String,
    /// The line, from 1; 0 if the problem concerns the whole file.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of the line.
    pub text: Option<String>,
    /// The problem, and what it is about.
    pub message: String,
    /// The remedy, where there is one.
    pub hint: Option<String>,
}

impl FileProblem {
    /// Creates a problem with a file as a whole.
    pub fn for_file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Adds a hint with a remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.file.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        // A long line would not help at a glance.
        if let Some(text) = self.text.as_deref().map(str::trim_end)
            && (1..=160).contains(&text.len())
        {
            let text = text.replace('\t', " ");
            let before = usize::try_from(self.column).unwrap_or(1).saturating_sub(1);
            write!(f, "\n    | {text}\n    | {:before$}^", "")?;
        }
        Ok(())
    }
}

/// All problems of one or more files, in the order of files and lines; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileProblems {
    /// At least one problem.
    pub problems: Vec<FileProblem>,
}

impl FileProblems {
    /// Wraps a single problem.
    pub fn from_problem(problem: FileProblem) -> Self {
        Self {
            problems: vec![problem],
        }
    }
}

impl fmt::Display for FileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}
