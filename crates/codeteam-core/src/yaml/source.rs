//! Where things stand: sources, places in them, and what is wrong there.

use std::fmt;

/// A place in one of the [`SourceFiles`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Which source, from 1; 0 is none.
    pub source: u32,
    /// The line, from 1; 0 is the source as a whole.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl SourcePosition {
    /// Nowhere: what codeteam itself says.
    pub const NONE: Self = Self {
        source: 0,
        line: 0,
        column: 0,
    };
}

/// No more is told at a time.
const MAX_PROBLEMS: usize = 100;

/// The texts that nodes come from.
#[derive(Clone, Debug, Default)]
pub struct SourceFiles(Vec<SourceFile>);

#[derive(Clone, Debug)]
struct SourceFile {
    file: String,
    text: String,
}

impl SourceFiles {
    /// Adds a source: a file as the user would name it, and its text.
    pub fn add(&mut self, file: &str, text: &str) -> u32 {
        self.0.push(SourceFile {
            file: file.to_owned(),
            text: text.to_owned(),
        });
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The name of the source of a place.
    pub fn file(&self, place: SourcePosition) -> Option<&str> {
        self.source(place).map(|source| source.file.as_str())
    }

    /// The text of a source by its name; the last one of that name.
    pub fn text(&self, file: &str) -> Option<&str> {
        let mut named = self.0.iter().rev().filter(|source| source.file == file);
        named.next().map(|source| source.text.as_str())
    }

    /// Gives every source the name that a function makes of its own: a shorter one for people.
    pub fn rename(&mut self, name: impl Fn(&str) -> String) {
        for source in &mut self.0 {
            source.file = name(&source.file);
        }
    }

    /// `file:line`, as far as it is known.
    pub fn describe(&self, place: SourcePosition) -> String {
        let file = self.file(place).unwrap_or("built-in");
        match place.line {
            0 => file.to_owned(),
            line => format!("{file}:{line}"),
        }
    }

    /// What is wrong, in words for people, in the order of places.
    pub fn problems(&self, faults: impl IntoIterator<Item = Diagnostic>) -> FileProblems {
        let mut faults: Vec<Diagnostic> = faults.into_iter().collect();
        faults.sort_by_key(|fault| fault.place);
        faults.dedup();
        let more = faults.len().saturating_sub(MAX_PROBLEMS);
        faults.truncate(MAX_PROBLEMS);
        let problems = faults.into_iter().map(|fault| self.problem(fault));
        let mut problems: Vec<FileProblem> = problems.collect();
        if more > 0 {
            problems.push(FileProblem::of("", format!("and {more} more")));
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

/// One thing that is wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub place: SourcePosition,
    /// What is wrong, and with what.
    pub message: String,
    /// What to write instead, where that can be said.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A fault at a place.
    pub fn at(place: SourcePosition, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            hint: None,
        }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a remedy, if there is one.
    #[must_use]
    pub fn maybe(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// One thing wrong with a file a person wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProblem {
    /// The file, as the user would name it.
    pub file: String,
    /// The line, from 1; 0 where the problem is about the whole file.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The line's text.
    pub text: Option<String>,
    /// What is wrong, and with what.
    pub message: String,
    /// What to write instead, where that can be said.
    pub hint: Option<String>,
}

impl FileProblem {
    /// A problem with a file as a whole.
    pub fn of(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// The same problem with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
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
        // A long line says nothing at a glance.
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

/// Everything that is wrong, in the order of files and lines; at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileProblems {
    /// At least one problem.
    pub problems: Vec<FileProblem>,
}

impl FileProblems {
    /// One problem with a file as a whole.
    pub fn one(problem: FileProblem) -> Self {
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
