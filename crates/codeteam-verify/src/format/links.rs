//! Finds links of Markdown that lead nowhere: relative paths that do not exist, and anchors that no
//! heading has. Nothing is looked up in the network.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::FormatSurroundings;

/// What is at a path of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// Nothing.
    Missing,
    /// A folder, or a file that has no anchors.
    Present,
    /// Markdown, with its text.
    Markdown(String),
}

/// The most links of one file that are followed.
const MOST_LINKS: usize = 5_000;

/// A link that leads nowhere.
pub(super) struct BrokenLink {
    /// Where it is in the text.
    pub(super) at: usize,
    /// Its destination.
    pub(super) link: String,
    /// What is wrong with it.
    pub(super) why: String,
}

/// Returns the links of a Markdown text that lead nowhere.
pub(super) fn find_broken_links(
    path: &str,
    text: &str,
    surroundings: &dyn FormatSurroundings,
) -> Vec<BrokenLink> {
    let own = MarkdownDocument::parse(text);
    let mut targets = LinkTargets {
        surroundings,
        known: BTreeMap::new(),
    };
    let links = own.links.iter();
    links
        .filter_map(|(at, link)| {
            let why = targets.problem(path, &own, link)?;
            Some(BrokenLink {
                at: *at,
                link: link.clone(),
                why,
            })
        })
        .collect()
}

/// The files that links lead to, each looked at once.
struct LinkTargets<'a> {
    surroundings: &'a dyn FormatSurroundings,
    known: BTreeMap<String, KnownTarget>,
}

/// What is known of a file that links lead to.
enum KnownTarget {
    Missing,
    Present,
    /// Markdown, with its anchors.
    Anchored(BTreeSet<String>),
}

impl LinkTargets<'_> {
    /// Returns what is wrong with a link in a file, if anything is.
    fn problem(&mut self, from: &str, own: &MarkdownDocument, link: &str) -> Option<String> {
        let (file, anchor) = split_link(link);
        if file.is_empty() {
            let is_broken = anchor.is_some_and(|anchor| !own.anchors.contains(&anchor));
            return is_broken.then(|| "leads to no heading of this file".to_owned());
        }
        let Some(resolved) = resolve_path(from, &file) else {
            return Some("leads out of the repository".to_owned());
        };
        let surroundings = self.surroundings;
        let known = self.known.entry(resolved.clone()).or_insert_with(|| {
            match surroundings.link_target(&resolved) {
                LinkTarget::Missing => KnownTarget::Missing,
                LinkTarget::Present => KnownTarget::Present,
                LinkTarget::Markdown(text) => {
                    KnownTarget::Anchored(MarkdownDocument::parse(&text).anchors)
                }
            }
        });
        match (known, anchor) {
            (KnownTarget::Missing, _) => Some(format!("leads nowhere: there is no `{resolved}`")),
            (KnownTarget::Anchored(anchors), Some(anchor)) if !anchors.contains(&anchor) => {
                Some(format!("leads to no heading of `{resolved}`"))
            }
            (KnownTarget::Anchored(_) | KnownTarget::Present, _) => None,
        }
    }
}

/// The relative links of a Markdown text, and the anchors that links can lead to.
struct MarkdownDocument {
    /// Where each link is, and its destination.
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl MarkdownDocument {
    fn parse(text: &str) -> Self {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_HEADING_ATTRIBUTES;
        let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
        let mut uses: BTreeMap<String, u32> = BTreeMap::new();
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if is_relative(&dest_url) && links.len() < MOST_LINKS =>
                {
                    links.push((range.start, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { id, .. }) => {
                    anchors.extend(id.map(pulldown_cmark::CowStr::into_string));
                    heading = Some(String::new());
                }
                Event::End(TagEnd::Heading(_)) => {
                    let slug = heading_slug(&heading.take().unwrap_or_default());
                    let before = uses.entry(slug.clone()).or_default();
                    anchors.insert(match *before {
                        0 => slug,
                        number => format!("{slug}-{number}"),
                    });
                    *before += 1;
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    anchors.extend(html_anchors(&html));
                }
                _ => {}
            }
        }
        Self { links, anchors }
    }
}

/// Returns the anchor of a heading, as GitHub and most others make it.
fn heading_slug(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
}

/// Returns the anchors that a piece of HTML defines: `<a id="x">` and `<a name="x">`.
fn html_anchors(html: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    for attribute in [" id=", " name="] {
        for (at, _) in html.match_indices(attribute) {
            let rest = &html[at + attribute.len()..];
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                continue;
            };
            if let Some((anchor, _)) = rest[1..].split_once(quote) {
                anchors.push(anchor.to_owned());
            }
        }
    }
    anchors
}

/// Returns true if a link leads to something in the repository.
fn is_relative(link: &str) -> bool {
    let scheme = link.split_once(':').is_some_and(|(scheme, _)| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_word)
    });
    !link.is_empty() && !scheme && !link.starts_with("//")
}

/// Splits a link into its path and its anchor, both decoded.
fn split_link(link: &str) -> (String, Option<String>) {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(percent_decode(anchor))),
        None => (link, None),
    };
    let path = path.split('?').next().unwrap_or_default();
    (
        percent_decode(path),
        anchor.filter(|anchor| !anchor.is_empty()),
    )
}

/// Resolves a link of a file to a path relative to the root of the repository; `None` if it leads
/// out of it.
fn resolve_path(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').collect(),
    };
    // What a link leaves from is the folder of its file.
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = (*byte == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        decoded.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
