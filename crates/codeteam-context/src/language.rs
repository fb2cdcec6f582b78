//! The languages that have a grammar, and how a file's language is recognised.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A language with a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python, including stubs.
    Python,
    /// JavaScript, including JSX.
    JavaScript,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// Java.
    Java,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 7] = [
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Rust,
        Self::Go,
        Self::Java,
    ];

    /// Returns the language of a file, by its extension.
    pub fn from_path(path: &str) -> Option<Self> {
        Some(match Path::new(path).extension()?.to_str()? {
            "py" | "pyi" | "pyw" => Self::Python,
            "js" | "jsx" | "mjs" | "cjs" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "rs" => Self::Rust,
            "go" => Self::Go,
            "java" => Self::Java,
            _ => return None,
        })
    }

    /// Returns the tree-sitter grammar.
    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn files_are_known_by_the_end_of_their_name() {
        assert_eq!(Language::from_path("src/a.rs"), Some(Language::Rust));
        assert_eq!(Language::from_path("a/b.d.ts"), Some(Language::TypeScript));
        assert_eq!(Language::from_path("types.pyi"), Some(Language::Python));
        for path in ["README.md", "rs", ".rs", "Makefile", "a.RS.bak"] {
            assert_eq!(Language::from_path(path), None, "{path}");
        }
    }

    #[test]
    fn every_grammar_loads() {
        for language in Language::ALL {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&language.grammar()).unwrap();
            assert!(parser.parse("", None).is_some(), "{language:?}");
        }
    }
}
