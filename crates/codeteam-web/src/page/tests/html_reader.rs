//! Reads HTML strictly enough to see what a browser would make of it.

/// An opening tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HtmlTag {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// The text up to the next tag, if that is within it.
    pub(super) text_after: String,
}

impl HtmlTag {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The elements that have no end.
const VOID: [&str; 7] = ["br", "input", "link", "meta", "wbr", "!doctype", "img"];

/// Returns the opening tags of a text, in their order; says what is wrong if they do not fit each
/// other.
pub(super) fn read_tags(html: &str) -> Result<Vec<HtmlTag>, String> {
    let mut tags: Vec<HtmlTag> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    // Whether the last tag has not ended yet.
    let mut is_inside = false;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        if text.contains('>') {
            return Err(format!("a bare `>` in {text:?}"));
        }
        if let (true, Some(tag)) = (is_inside, tags.last_mut()) {
            tag.text_after.push_str(text);
        }
        rest = &rest[at + 1..];
        let end = tag_end(rest).ok_or_else(|| format!("a tag without an end: {rest:.80}"))?;
        let inner = &rest[..end];
        rest = &rest[end + 1..];
        if let Some(name) = inner.strip_prefix('/') {
            is_inside = false;
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> ends nothing"));
            }
            continue;
        }
        let is_closed = inner.ends_with('/');
        let tag = parse_tag(inner.trim_end_matches('/'))?;
        if !is_closed && !VOID.contains(&tag.name.as_str()) {
            open.push(tag.name.clone());
        }
        is_inside = true;
        tags.push(tag);
    }
    match open.as_slice() {
        [] => Ok(tags),
        open => Err(format!("not ended: {open:?}")),
    }
}

/// Returns where a tag ends; a `>` in quotes does not end it.
fn tag_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    text.char_indices().find_map(|(at, c)| {
        is_quoted ^= c == '"';
        (c == '>' && !is_quoted).then_some(at)
    })
}

fn parse_tag(inner: &str) -> Result<HtmlTag, String> {
    let (name, mut rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let mut tag = HtmlTag {
        name: name.to_lowercase(),
        ..HtmlTag::default()
    };
    if !tag
        .name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '!')
    {
        return Err(format!("no tag: {inner:.80}"));
    }
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(tag);
        }
        let end = rest
            .find(|c: char| c == '=' || c.is_whitespace())
            .unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        if attribute.is_empty() || attribute.contains(['"', '\'', '<']) {
            return Err(format!("no attribute: {rest:.80}"));
        }
        let value = match after.strip_prefix("=\"") {
            Some(after) => {
                let end = after
                    .find('"')
                    .ok_or_else(|| format!("no end: {after:.80}"))?;
                rest = &after[end + 1..];
                &after[..end]
            }
            None if after.starts_with('=') => return Err(format!("no quotes: {rest:.80}")),
            None => {
                rest = after;
                ""
            }
        };
        tag.attributes
            .push((attribute.to_lowercase(), value.to_owned()));
    }
}

/// Returns what a person reads, with a line for each block.
pub(super) fn visible_text(html: &str) -> String {
    const INLINE: [&str; 17] = [
        "a", "span", "strong", "code", "time", "wbr", "svg", "path", "circle", "rect", "ins",
        "del", "label", "input", "kbd", "td", "th",
    ];
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at].replace('\n', " "));
        rest = &rest[at + 1..];
        let end = tag_end(rest).unwrap();
        let inner = &rest[..end];
        rest = &rest[end + 1..];
        let name: String = inner
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_alphanumeric())
            .collect();
        if let (true, Ok(tag)) = (
            name == "button" && !inner.starts_with('/'),
            parse_tag(inner),
        ) {
            let _ = tag;
            text.push_str("\n[button] ");
        } else if name == "textarea" && !inner.starts_with('/') {
            text.push_str("\n[text] ");
        } else if ["td", "th"].contains(&name.as_str()) {
            text.push(' ');
        } else if !INLINE.contains(&name.as_str()) {
            text.push('\n');
        }
    }
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines = lines.filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(|line| format!("{line}\n")).collect();
    lines.concat()
}
