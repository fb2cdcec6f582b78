//! What a text must contain, as people write it: the text itself, or a regular expression between
//! slashes.

use regex::{Regex, RegexBuilder};

/// The largest size of a compiled regular expression.
const COMPILED_BYTES: usize = 1 << 20;

/// A text, or a regular expression, that is looked for in a file.
#[derive(Clone, Debug)]
pub enum TextPattern {
    /// Exactly this text.
    Literal(String),
    /// Whatever it matches; `^` and `$` are the ends of lines.
    Expression(Regex),
}

impl TextPattern {
    /// Parses a pattern: `/…/` is a regular expression, everything else stands for itself. The error
    /// says what is wrong with the expression.
    pub fn parse(pattern: &str) -> Result<Self, String> {
        let inner = pattern.strip_prefix('/');
        let inner = inner.and_then(|inner| inner.strip_suffix('/'));
        let Some(inner) = inner.filter(|inner| !inner.is_empty()) else {
            return Ok(Self::Literal(pattern.to_owned()));
        };
        let compiled = RegexBuilder::new(inner)
            .multi_line(true)
            .size_limit(COMPILED_BYTES)
            .build();
        compiled.map(Self::Expression).map_err(|error| {
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default();
            let why = last.trim_start_matches("error: ");
            format!("is not a regular expression: {why}")
        })
    }

    /// Returns where in a text it is found first.
    pub fn find(&self, text: &str) -> Option<usize> {
        match self {
            Self::Literal(literal) => text.find(literal.as_str()),
            Self::Expression(regex) => regex.find(text).map(|found| found.start()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_make_an_expression_and_nothing_else_does() {
        for literal in ["a/b (", "//", "/", "/usr/bin ("] {
            let pattern = TextPattern::parse(literal).unwrap();
            assert_eq!(pattern.find(&format!("x{literal}")), Some(1), "{literal}");
        }
        let problem = TextPattern::parse("/(/").unwrap_err();
        assert!(problem.contains("unclosed group"), "{problem}");
        let pattern = TextPattern::parse("/^b+$/").unwrap();
        assert_eq!(pattern.find("a\nbb\n"), Some(2));
        assert_eq!(pattern.find("a bb"), None);
    }

    #[test]
    fn an_expression_that_grows_too_large_is_refused() {
        assert!(TextPattern::parse(r"/((\w{500}){500}){500}/").is_err());
    }
}
