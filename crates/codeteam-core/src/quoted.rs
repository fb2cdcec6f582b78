//! Texts of others in Markdown: they say what they say, and nothing around them is taken for it.

/// What of a text can be seen, line ends and tabs apart.
pub fn visible(text: &str) -> String {
    let acts = |c: char| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !matches!(c, '\n' | '\t')) || turns
    };
    text.chars().filter(|c| !acts(*c)).collect()
}

/// A text in one line, without anything that acts on a terminal or a page.
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" "))
}

/// A text as a quotation: no line of it can be taken for one of what it stands in.
pub fn quote(text: &str) -> String {
    let text = visible(text);
    let lines = text.trim().lines().map(|line| {
        let line = format!("> {}", line.trim_end());
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
