//! Finds what has no place in modules that only record: sentences, and defaults of policies.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, LitStr, Macro};

use crate::modules::{SourceError, load_crate};

/// Finds sentences and policies in one module of a crate and in those below it, each with the module it
/// is in. A literal with a space in it is a sentence, and so is everything that is formatted; a type whose
/// name ends in `Policy` is a policy.
pub fn find_policy_and_prose(
    crate_root: &Path,
    module: &[&str],
) -> Result<Vec<String>, SourceError> {
    let mut found = Vec::new();
    for source in load_crate(crate_root)? {
        if !source
            .path
            .iter()
            .map(String::as_str)
            .take(module.len())
            .eq(module.iter().copied())
        {
            continue;
        }
        let mut finder = ProseFinder::default();
        for item in &source.items {
            finder.visit_item(item);
        }
        let place = source.path.join("::");
        found.extend(finder.found.iter().map(|what| format!("{place}: {what}")));
    }
    Ok(found)
}

#[derive(Default)]
struct ProseFinder {
    found: Vec<String>,
}

impl ProseFinder {
    fn check_text(&mut self, text: &str) {
        if text.trim().contains(char::is_whitespace) {
            self.found.push(format!("{text:?}"));
        }
    }

    fn check_word(&mut self, word: &str) {
        if word.ends_with("Policy") {
            self.found.push(format!("`{word}`"));
        }
    }

    fn check_tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.check_tokens(group.stream()),
                TokenTree::Ident(word) => self.check_word(&word.to_string()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                        self.check_text(&text.value());
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for ProseFinder {
    // Comments and reasons for lints are for the reader of the source.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.check_text(&text.value());
    }

    fn visit_ident(&mut self, word: &'ast proc_macro2::Ident) {
        self.check_word(&word.to_string());
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let name = invocation.path.segments.last();
        let name = name.map(|segment| segment.ident.to_string());
        if let Some(name @ ("format" | "write" | "writeln")) = name.as_deref() {
            self.found.push(format!("`{name}!`"));
        }
        self.check_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_and_policies_are_found_and_comments_are_not() {
        let source = r#"
            /// A comment of several words.
            #[expect(clippy::x, reason = "a reason of several words")]
            fn apply(run: &mut Run) {
                run.word = "word";
                run.text = "two words".to_owned();
                run.more = format!("{}", run.word);
                run.open = matches!(run.text, "in a macro");
                run.policy = crate::breaker::BreakerPolicy::default();
            }
        "#;
        let mut finder = ProseFinder::default();
        finder.visit_file(&syn::parse_file(source).unwrap());
        assert_eq!(
            finder.found,
            [
                "\"two words\"",
                "`format!`",
                "\"in a macro\"",
                "`BreakerPolicy`"
            ]
        );
    }
}
