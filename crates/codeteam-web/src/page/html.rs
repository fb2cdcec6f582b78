//! Writes texts of others into HTML and SVG, where no template does it.

use codeteam_core::untrusted_text::is_active_character;

/// Appends a text, escaped for the content of an element and for a quoted attribute. Characters that
/// act on a page instead of being displayed are replaced by a mark.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c if is_active_character(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Returns a text, escaped likewise.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_escaped(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_acts_on_the_page() {
        assert_eq!(
            escaped("<a href=\"x\" b='y'>&\u{1b}[31m\u{202e}x\u{0}\n\t"),
            "&lt;a href=&quot;x&quot; b=&#x27;y&#x27;&gt;&amp;\u{fffd}[31m\u{fffd}x\u{fffd}\n\t"
        );
    }
}
