//! Tokenises the tags of a template: enough to locate a name, and to refuse whatever could turn a
//! small template into a large text.
//!
//! **A template chooses and prints; it creates no values.** Fuel counts steps, not bytes, so
//! constructs that could double a text or a list at each step, or store it (`~`, `+`, `*`, lists of
//! variables, `set`, captured blocks, macros), are refused. As a result every value is a part of
//! the template's input, every step costs at most that much, and all output goes through one
//! bounded writer.

use std::ops::Range;

/// A construct that is refused, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedSyntax {
    pub(super) at: Range<usize>,
    pub(super) message: String,
    pub(super) hint: &'static str,
}

/// One `{{ … }}` or `{% … %}`.
#[derive(Debug)]
pub(super) struct TemplateTag<'t> {
    pub(super) is_statement: bool,
    pub(super) tokens: Vec<TagToken<'t>>,
}

/// A token of a tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagToken<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Text,
    Number,
    Sign,
}

/// Words that are not values.
const KEYWORDS: &[&str] = &[
    "and", "else", "elif", "for", "if", "in", "include", "is", "not", "or",
];

/// The permitted statements, which only choose and print.
const STATEMENTS: &[&str] = &["if", "elif", "else", "endif", "for", "endfor", "include"];

impl TagToken<'_> {
    pub(super) fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    fn is(&self, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text == sign
    }

    fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text == word
    }

    /// Returns true if a value may end with this token.
    fn ends_value(&self) -> bool {
        match self.kind {
            TokenKind::Word => !KEYWORDS.contains(&self.text),
            TokenKind::Text | TokenKind::Number => true,
            TokenKind::Sign => matches!(self.text, ")" | "]"),
        }
    }
}

/// Returns all tags of a template that parses.
pub(super) fn tags(source: &str) -> Vec<TemplateTag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        let start = at + found;
        at = match source.as_bytes().get(start + 1) {
            Some(b'#') => source[start..]
                .find("#}")
                .map_or(source.len(), |end| start + end + 2),
            Some(b'{') => tag(source, start, "}}", &mut tags),
            Some(b'%') => {
                let end = tag(source, start, "%}", &mut tags);
                let is_raw = tags
                    .last()
                    .is_some_and(|tag| matches!(&tag.tokens[..], [only] if only.is_word("raw")));
                if is_raw {
                    tags.pop();
                    after_raw(source, end)
                } else {
                    end
                }
            }
            _ => start + 1,
        };
    }
    tags
}

/// Returns the position after the tag that ends a `raw` block, or the end of the text.
fn after_raw(source: &str, mut at: usize) -> usize {
    while let Some(found) = source[at..].find("{%") {
        let start = at + found + 2;
        let rest = source[start..].trim_start_matches(['-', '+']).trim_start();
        if rest.starts_with("endraw") {
            return source[start..]
                .find("%}")
                .map_or(source.len(), |end| start + end + 2);
        }
        at = start;
    }
    source.len()
}

/// Reads one tag and returns the position where it ends.
fn tag<'t>(source: &'t str, start: usize, end: &str, tags: &mut Vec<TemplateTag<'t>>) -> usize {
    let mut tokens = Vec::new();
    let mut at = start + 2;
    if source[at..].starts_with(['-', '+']) {
        at += 1;
    }
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let unmarked = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        if unmarked.starts_with(end) {
            at = source.len() - unmarked.len() + end.len();
            break;
        }
        let (kind, length) = match first {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '"' | '\'' => (TokenKind::Text, quotation(rest, first)),
            c if c.is_ascii_digit() => (TokenKind::Number, run(rest, |c| c.is_ascii_digit())),
            c if c.is_alphabetic() || c == '_' => (
                TokenKind::Word,
                run(rest, |c| c.is_alphanumeric() || c == '_'),
            ),
            c => (TokenKind::Sign, c.len_utf8()),
        };
        tokens.push(TagToken {
            kind,
            text: &rest[..length],
            at,
        });
        at += length;
    }
    tags.push(TemplateTag {
        is_statement: end == "%}",
        tokens,
    });
    at
}

fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

fn quotation(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == mark => return i + 1,
            _ => {}
        }
    }
    text.len()
}

impl<'t> TemplateTag<'t> {
    /// Returns the templates that the tag includes.
    pub(super) fn includes(&self) -> impl Iterator<Item = TagToken<'t>> + '_ {
        let is_include =
            self.is_statement && self.tokens.first().is_some_and(|t| t.is_word("include"));
        let texts = self
            .tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Text);
        texts.copied().filter(move |_| is_include)
    }

    /// Returns the filters that the tag uses.
    pub(super) fn filters(&self) -> impl Iterator<Item = TagToken<'t>> + '_ {
        let pairs = self.tokens.windows(2);
        pairs.filter_map(|pair| {
            (pair[0].is("|") && pair[1].kind == TokenKind::Word).then_some(pair[1])
        })
    }

    /// Returns the first construct in the tag that templates may not use.
    pub(super) fn find_refused(&self) -> Option<RefusedSyntax> {
        if let Some(refused) = self.statement() {
            return Some(refused);
        }
        // The kind of each open bracket determines whether commas may occur in it, and whether only
        // constants may.
        let mut open: Vec<BracketKind> = Vec::new();
        let mut before: Option<&TagToken<'_>> = None;
        let mut is_target = self.tokens.first().is_some_and(|t| t.is_word("for"));
        for (i, token) in self.tokens.iter().enumerate() {
            let follows_value = before.is_some_and(TagToken::ends_value);
            let inside = open.last().copied();
            if token.is_word("in") {
                is_target = false;
            }
            if inside == Some(BracketKind::Constants) && !is_constant(token) {
                return Some(refuse(
                    token,
                    "a list may only have constants in it",
                    "a template only prints values and cannot make any",
                ));
            }
            match token.text {
                _ if token.kind != TokenKind::Sign => {}
                "(" if follows_value => open.push(BracketKind::Call),
                "(" => open.push(BracketKind::Group),
                "[" if follows_value => open.push(BracketKind::Group),
                "[" => open.push(BracketKind::Constants),
                ")" | "]" => drop(open.pop()),
                "," if is_target
                    || matches!(inside, Some(BracketKind::Call | BracketKind::Constants)) => {}
                "-" if !follows_value
                    && self
                        .tokens
                        .get(i + 1)
                        .is_some_and(|t| t.kind == TokenKind::Number) => {}
                "," | "{" | "}" | "~" | "+" | "-" | "*" | "/" | "%" => {
                    return Some(refuse(
                        token,
                        &format!("`{}` cannot be used here", token.text),
                        "a template only prints values and cannot make any; \
                         write `{{ a }}{{ b }}` for `a ~ b`",
                    ));
                }
                _ => {}
            }
            before = Some(token);
        }
        None
    }

    fn statement(&self) -> Option<RefusedSyntax> {
        let first = self.tokens.first().filter(|_| self.is_statement)?;
        if !STATEMENTS.contains(&first.text) {
            return Some(refuse(
                first,
                &format!("`{}` cannot be used here", first.text),
                "there are `if`, `for`, `include` and `raw`",
            ));
        }
        let last = self.tokens.last()?;
        if first.is_word("for") && last.is_word("recursive") {
            return Some(refuse(
                last,
                "a loop cannot be recursive",
                "include a template instead",
            ));
        }
        let named = self.tokens.get(1);
        if first.is_word("include") && named.is_none_or(|token| token.kind != TokenKind::Text) {
            return Some(refuse(
                named.unwrap_or(first),
                "what is included must be named as it is",
                "write `{% include \"name.md.j2\" %}`",
            ));
        }
        None
    }
}

/// The kinds of brackets: arguments of a call, a group or an index, or a list of constants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BracketKind {
    Call,
    Group,
    Constants,
}

fn is_constant(token: &TagToken<'_>) -> bool {
    match token.kind {
        TokenKind::Text | TokenKind::Number => true,
        TokenKind::Word => matches!(
            token.text,
            "true" | "false" | "none" | "True" | "False" | "None"
        ),
        TokenKind::Sign => matches!(token.text, "," | "]" | "-" | "."),
    }
}

fn refuse(token: &TagToken<'_>, message: &str, hint: &'static str) -> RefusedSyntax {
    RefusedSyntax {
        at: token.range(),
        message: message.to_owned(),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> Option<String> {
        let found = tags(source).iter().find_map(TemplateTag::find_refused)?;
        Some(source[found.at].to_owned())
    }

    #[test]
    fn what_chooses_and_prints_is_allowed() {
        for source in [
            "{{ a }}{{ a.b }}{{ a[0] }}{{ a[-1] }}{{ config[\"k-e~y\"] | default(\"a + b\") }}",
            "{%- if kind in [\"a\", 'b', 1, -1, true] and not (x or y) -%}{% elif a == 1 %}{% endif %}",
            "{% for a, b in c %}{{ loop.index }}{% else %}{% endfor %}",
            "{% include \"a\" %}{{ a | join(\", \") }}{{ \"x\" if a else \"y\" }}",
            "{# a ~ b #}{% raw %}{{ a ~ b }}{% macro %}{% endraw %}{ ~ + }",
        ] {
            assert_eq!(refused(source), None, "{source}");
        }
    }

    #[test]
    fn what_makes_values_is_not() {
        for (source, what) in [
            ("{{ a ~ a }}", "~"),
            ("{{ a + a }}", "+"),
            ("{{ 'a' * 9 }}", "*"),
            ("{{ a - 1 }}", "-"),
            ("{{ [a, a] }}", "a"),
            ("{% for b in [[1], [1]] %}{% endfor %}", "["),
            ("{{ (a, a) }}", ","),
            ("{% for b in a, a %}{% endfor %}", ","),
            ("{% set b = a %}", "set"),
            ("{{ {'a': b} }}", "{"),
            ("{% set a %}x{% endset %}", "set"),
            ("{% macro m() %}{% endmacro %}", "macro"),
            ("{% filter upper %}{% endfilter %}", "filter"),
            ("{% with a = 1 %}{% endwith %}", "with"),
            ("{% for a in b recursive %}{% endfor %}", "recursive"),
            ("{% include a %}", "a"),
            ("{% extends \"a\" %}", "extends"),
        ] {
            assert_eq!(refused(source).as_deref(), Some(what), "{source}");
        }
    }
}
