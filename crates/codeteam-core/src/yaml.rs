//! Reads YAML with places: every problem carries the line and column it stands at.

use serde::de::DeserializeOwned;

/// One thing wrong with a file a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; 0 where the problem is about the whole file.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong, and with what.
    pub message: String,
    /// What to write instead, where that can be said.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(location: serde_saphyr::Location, message: impl Into<String>) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
            message: message.into(),
            hint: None,
        }
    }

    /// The same problem with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything that is wrong with one file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    /// The file, as the user would name it.
    pub file: String,
    /// At least one problem.
    pub problems: Vec<Problem>,
}

impl std::fmt::Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            let Problem {
                line,
                column,
                message,
                hint,
            } = problem;
            write!(f, "{}", self.file)?;
            if *line > 0 {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {message}")?;
            if let Some(hint) = hint {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

/// Parses a YAML document; the parser's own budget refuses alias bombs and absurd sizes.
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Problems> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((0, 0), |l| (l.line(), l.column()));
        let message = first_line(&error.without_snippet().to_string());
        Problems {
            file: file.to_owned(),
            problems: vec![Problem {
                line,
                column,
                message,
                hint: None,
            }],
        }
    })
}

fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("invalid YAML");
    let line = line.trim_start_matches("error: ").trim();
    // The parser says the place too; it is in front of the message already.
    match line.rfind(" at line ") {
        Some(end) if line[end..].contains(", column ") => line[..end].to_owned(),
        _ => line.to_owned(),
    }
}

/// The nearest of `words` to `typed`, if it is near enough to be what was meant.
pub fn nearest<'a>(typed: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    words
        .into_iter()
        .map(|word| (distance(typed, word), word))
        .filter(|(distance, word)| *distance <= 1 + word.len().max(typed.len()) / 4)
        .min()
        .map(|(_, word)| word)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let words = ["implement", "review", "commit"];
        assert_eq!(nearest("implemnt", words), Some("implement"));
        assert_eq!(nearest("comit", words), Some("commit"));
        assert_eq!(nearest("banana", words), None);
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
        for (name, of) in ["b", "c", "d", "e", "f", "g", "h", "i"]
            .iter()
            .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
        {
            let many = vec![format!("*{of}"); 10].join(", ");
            text = format!("{text}{name}: &{name} [{many}]\n");
        }
        assert!(parse::<serde_json::Value>("bomb.yml", &text).is_err());
    }
}
