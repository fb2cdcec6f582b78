//! Comments on lines of a patch. They are collected, and go back as one rejection.

use std::fmt::Write as _;

/// A comment on one line or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineComment {
    /// The file.
    pub path: String,
    /// The number of the first line; `None` for the file as a whole.
    pub line: Option<u32>,
    /// The number of the last line.
    pub last: Option<u32>,
    /// Whether the numbers are those before the change, because the lines are removed.
    pub is_old: bool,
    /// The first line itself.
    pub quoted: String,
    /// What is said about it.
    pub text: String,
}

impl LineComment {
    /// Returns the file with the lines, as compilers write it.
    pub fn place(&self) -> String {
        let side = if self.is_old { " (before)" } else { "" };
        match (self.line, self.last) {
            (Some(line), Some(last)) if last > line => {
                format!("{}:{line}-{last}{side}", self.path)
            }
            (Some(line), _) => format!("{}:{line}{side}", self.path),
            (None, _) => self.path.clone(),
        }
    }
}

/// Makes one text for the next worker of a person's words and comments.
pub fn compose_rejection(words: &str, comments: &[LineComment]) -> String {
    let mut text = words.trim().to_owned();
    for comment in comments {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(text, "{}", comment.place());
        if !comment.quoted.trim().is_empty() {
            let _ = write!(text, "\n> {}", comment.quoted.trim_end());
        }
        let _ = write!(text, "\n{}", comment.text.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_back_as_one_text() {
        let comment = |line, last, is_old| LineComment {
            path: "src/a.rs".to_owned(),
            line,
            last,
            is_old,
            quoted: "  let x = 1;".to_owned(),
            text: "Name it.\n".to_owned(),
        };
        let comments = [
            comment(Some(3), Some(5), false),
            comment(Some(7), Some(7), true),
        ];
        assert_eq!(
            compose_rejection(" Not yet. ", &comments),
            "Not yet.\n\nsrc/a.rs:3-5\n>   let x = 1;\nName it.\n\nsrc/a.rs:7 (before)\n>   let x = 1;\nName it."
        );
        assert_eq!(compose_rejection("", &[]), "");
    }
}
