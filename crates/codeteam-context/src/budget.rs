//! Makes a context fit a token budget: parts are taken in order of priority, and shortened or
//! dropped from the end.
//!
//! The lowest part is shortened first, from its last item to its first, before any of it is
//! dropped; then the part above it. Items that were shortened or dropped come back if there is room
//! after all, the highest first. The result lists everything that is not shown in full.

use std::cell::OnceCell;
use std::fmt::Write as _;

use crate::language::Language;
use crate::outline;
use crate::tokens;

/// The approximate size of a heading and a fence, in tokens.
const FRAME: usize = 16;
/// A token rarely has more bytes than this. Whitespace does, by the hundred, so tokens are counted
/// as well.
const BYTES_PER_TOKEN: usize = 16;
/// The number of lines kept when a text without a grammar is shortened.
const BEGINNING: usize = 40;

/// The importance of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRequirement {
    /// All of it must be shown in full.
    Whole,
    /// All of it must be shown, shortened if necessary.
    Shortened,
    /// As much as there is room for is shown.
    Wanted,
}

/// The way in which an item is shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShorteningMethod {
    /// It cannot be shortened.
    No,
    /// Reduced to its signatures.
    Signatures(Language),
    /// Cut after its beginning.
    Beginning,
    /// Reduced to its beginning and its end.
    Ends,
    /// A diff, reduced to the changed lines without their context.
    Diff,
    /// Replaced by this shorter text.
    By(String),
}

/// Something that may be shown, such as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextItem {
    /// The item's name, such as a path.
    pub name: String,
    /// The item's text.
    pub text: String,
    /// The way in which the item can be shortened.
    pub shortening: ShorteningMethod,
    /// Whether the text is already less than the whole.
    pub shortened: bool,
}

/// A part of a context before fitting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPart {
    /// The part's name.
    pub name: String,
    /// The importance of the part.
    pub need: PartRequirement,
    /// The items, the most important first.
    pub items: Vec<ContextItem>,
}

/// A context that fits its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedContext {
    /// All parts in order, including those of which nothing is shown.
    pub parts: Vec<FittedPart>,
    /// The total number of tokens, including what was fixed beforehand.
    pub tokens: usize,
}

/// The visible share of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedPart {
    /// The part's name.
    pub name: String,
    /// The visible items, in order.
    pub items: Vec<FittedItem>,
    /// The names of the items that are not shown.
    pub dropped: Vec<String>,
    /// The number of tokens of the visible items.
    pub tokens: usize,
}

/// The visible share of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedItem {
    /// The item's name.
    pub name: String,
    /// The visible text.
    pub text: String,
    /// Whether the text is less than the whole.
    pub shortened: bool,
    /// Whether it was shortened for lack of room.
    pub squeezed: bool,
}

/// The required parts do not fit the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the context cannot fit into {budget} tokens: {}", format_sizes(.parts))]
pub struct ContextTooLarge {
    /// The budget in tokens.
    pub budget: usize,
    /// The required parts: name, full size, and smallest possible size.
    pub parts: Vec<(String, usize, usize)>,
}

fn format_sizes(parts: &[(String, usize, usize)]) -> String {
    let mut said = String::new();
    let mut least = 0;
    for (name, whole, short) in parts {
        let _ = if short == whole {
            write!(said, "{name} {whole}, ")
        } else {
            write!(said, "{name} {whole} (shortened {short}), ")
        };
        least += short;
    }
    let _ = write!(said, "together {least} at least");
    said
}

/// The form in which an item is currently shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DisplayLevel {
    Whole,
    Shortened,
    Not,
}

/// An item with its sizes.
struct MeasuredItem {
    item: ContextItem,
    tokens: usize,
    /// The shortened text and its size, if there is one; computed lazily.
    short: OnceCell<Option<(String, usize)>>,
    shown: DisplayLevel,
}

impl MeasuredItem {
    fn new(item: ContextItem) -> Self {
        Self {
            tokens: count_item_tokens(&item.name, &item.text),
            item,
            short: OnceCell::new(),
            shown: DisplayLevel::Whole,
        }
    }

    /// Returns the shortened size, if shortening helps.
    fn shortened(&self) -> Option<usize> {
        let (item, tokens) = (&self.item, self.tokens);
        let short = self.short.get_or_init(|| {
            let text = shorten(&item.text, &item.shortening)?;
            let size = count_item_tokens(&item.name, &text);
            (size < tokens).then_some((text, size))
        });
        short.as_ref().map(|(_, size)| *size)
    }

    fn size(&self) -> usize {
        match (self.shown, self.short.get()) {
            (DisplayLevel::Not, _) => 0,
            (DisplayLevel::Shortened, Some(Some((_, size)))) => *size,
            _ => self.tokens,
        }
    }
}

fn count_item_tokens(name: &str, text: &str) -> usize {
    let size = tokens::count(text).max(text.len() / BYTES_PER_TOKEN);
    tokens::count(name) + size + FRAME
}

/// Fits parts into a budget. `fixed` lists what is there in any case, with its sizes.
///
/// Items are shortened and dropped from the end until the total fits, and then restored from the
/// front where there is room. Parts with [`PartRequirement::Whole`] are never touched, and those
/// with [`PartRequirement::Shortened`] never dropped; if these alone are too large, the result is a
/// [`ContextTooLarge`] that lists their sizes.
pub fn fit_context(
    parts: Vec<ContextPart>,
    fixed: &[(&str, usize)],
    budget: usize,
) -> Result<FittedContext, ContextTooLarge> {
    let mut weighed = measure_parts(parts);
    let fixed_size: usize = fixed.iter().map(|(_, size)| size).sum();
    let items = weighed.iter().flat_map(|(_, _, items)| items);
    let mut total = fixed_size + items.map(|item| item.tokens).sum::<usize>();
    if total > budget {
        shrink(&mut weighed, budget, &mut total);
    }
    if total > budget {
        return Err(cannot_fit(&weighed, fixed, budget));
    }
    restore(&mut weighed, budget, &mut total);
    let parts = weighed
        .into_iter()
        .map(|(name, _, items)| finish_part(name, items));
    Ok(FittedContext {
        parts: parts.collect(),
        tokens: total,
    })
}

/// Returns the required parts only, as short as possible, whether or not they fit.
pub fn minimal_context(parts: Vec<ContextPart>, fixed: &[(&str, usize)]) -> FittedContext {
    let mut weighed = measure_parts(parts);
    let fixed: usize = fixed.iter().map(|(_, size)| size).sum();
    let items = weighed.iter().flat_map(|(_, _, items)| items);
    let mut total = fixed + items.map(|item| item.tokens).sum::<usize>();
    shrink(&mut weighed, 0, &mut total);
    let parts = weighed
        .into_iter()
        .map(|(name, _, items)| finish_part(name, items));
    FittedContext {
        parts: parts.collect(),
        tokens: total,
    }
}

fn measure_parts(parts: Vec<ContextPart>) -> Vec<(String, PartRequirement, Vec<MeasuredItem>)> {
    let weigh = |part: ContextPart| {
        let items = part.items.into_iter().map(MeasuredItem::new).collect();
        (part.name, part.need, items)
    };
    parts.into_iter().map(weigh).collect()
}

/// Shortens and drops items from the end until everything fits or nothing more can be done.
fn shrink(
    parts: &mut [(String, PartRequirement, Vec<MeasuredItem>)],
    budget: usize,
    total: &mut usize,
) {
    for (_, need, items) in parts.iter_mut().rev() {
        if *need != PartRequirement::Whole {
            for item in items.iter_mut().rev() {
                if *total <= budget {
                    return;
                }
                if let Some(size) = item.shortened() {
                    *total -= item.tokens - size;
                    item.shown = DisplayLevel::Shortened;
                }
            }
        }
        if *need == PartRequirement::Wanted {
            for item in items.iter_mut().rev() {
                if *total <= budget {
                    return;
                }
                *total -= item.size();
                item.shown = DisplayLevel::Not;
            }
        }
    }
}

/// Restores items that fit after all, the highest first.
fn restore(
    parts: &mut [(String, PartRequirement, Vec<MeasuredItem>)],
    budget: usize,
    total: &mut usize,
) {
    for (_, _, items) in parts.iter_mut() {
        for item in items
            .iter_mut()
            .filter(|item| item.shown != DisplayLevel::Whole)
        {
            let room = budget - *total + item.size();
            if item.tokens <= room {
                *total = *total - item.size() + item.tokens;
                item.shown = DisplayLevel::Whole;
            } else if item.shown == DisplayLevel::Not
                && let Some(size) = item.shortened()
                && size <= room
            {
                *total += size;
                item.shown = DisplayLevel::Shortened;
            }
        }
    }
}

fn finish_part(name: String, items: Vec<MeasuredItem>) -> FittedPart {
    let mut part = FittedPart {
        name,
        ..FittedPart::default()
    };
    for weighed in items {
        part.tokens += weighed.size();
        let ContextItem {
            name,
            text,
            shortened,
            ..
        } = weighed.item;
        match (weighed.shown, weighed.short.into_inner()) {
            (DisplayLevel::Not, _) => part.dropped.push(name),
            (DisplayLevel::Shortened, Some(Some((text, _)))) => part.items.push(FittedItem {
                name,
                text,
                shortened: true,
                squeezed: true,
            }),
            _ => part.items.push(FittedItem {
                name,
                text,
                shortened,
                squeezed: false,
            }),
        }
    }
    part
}

fn cannot_fit(
    parts: &[(String, PartRequirement, Vec<MeasuredItem>)],
    fixed: &[(&str, usize)],
    budget: usize,
) -> ContextTooLarge {
    let fixed = fixed
        .iter()
        .map(|(name, size)| ((*name).to_owned(), *size, *size));
    let needed = parts
        .iter()
        .filter(|(_, need, items)| *need != PartRequirement::Wanted && !items.is_empty())
        .map(|(name, _, items)| {
            let whole = items.iter().map(|item| item.tokens).sum();
            (
                name.clone(),
                whole,
                items.iter().map(MeasuredItem::size).sum(),
            )
        });
    ContextTooLarge {
        budget,
        parts: fixed.chain(needed).collect(),
    }
}

/// Returns a shorter form of a text, if it has one.
fn shorten(text: &str, how: &ShorteningMethod) -> Option<String> {
    match how {
        ShorteningMethod::No => None,
        ShorteningMethod::Signatures(language) => outline::signatures(text, *language),
        ShorteningMethod::Beginning => first_and_last_lines(text, BEGINNING, 0),
        ShorteningMethod::Ends => first_and_last_lines(text, BEGINNING / 2, BEGINNING),
        ShorteningMethod::Diff => bare_diff(text),
        ShorteningMethod::By(text) => Some(text.clone()),
    }
}

/// Returns the first and last lines, with a note about the gap.
fn first_and_last_lines(text: &str, first: usize, last: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let left_out = lines.len().checked_sub(first + last).filter(|n| *n > 0)?;
    let gap = format!("[… {left_out} lines left out …]");
    let (head, rest) = lines.split_at(first);
    let tail = &rest[left_out..];
    let all: Vec<&str> = head
        .iter()
        .copied()
        .chain([gap.as_str()])
        .chain(tail.iter().copied())
        .collect();
    Some(all.join("\n"))
}

/// Returns a diff with only its changed lines, below their hunk headers.
fn bare_diff(text: &str) -> Option<String> {
    let mut inside = false;
    let mut kept = Vec::new();
    let mut left_out = false;
    for line in text.lines() {
        inside = match line.as_bytes() {
            [b'@', b'@', ..] => true,
            [b'd', b'i', b'f', b'f', b' ', ..] => false,
            _ => inside,
        };
        if inside && (line.starts_with(' ') || line.is_empty()) {
            left_out = true;
        } else {
            kept.push(line);
        }
    }
    // The next file's diff starts on a line of its own.
    left_out.then(|| kept.join("\n") + "\n")
}

#[cfg(test)]
mod tests;
