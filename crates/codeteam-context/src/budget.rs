//! Makes a context fit: parts in the order of their priority, shortened and left out from the end.
//!
//! The lowest part is shortened, from its last item to its first, before any of it is left out; then
//! the part above it. What is shortened or left out comes back where there is room after all, the
//! highest first. Whoever asks hears of everything that is not shown as it is.

use std::cell::OnceCell;
use std::fmt::Write as _;

use crate::language::Language;
use crate::outline;
use crate::tokens;

/// What a heading and a fence take, about.
const FRAME: usize = 16;
/// A token has seldom more bytes. Blanks have, by the hundred: what they take is counted, too.
const BYTES_PER_TOKEN: usize = 16;
/// How many lines of a text that has no grammar stay when it is shortened.
const BEGINNING: usize = 40;

/// How much a part is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartRequirement {
    /// All of it, as it is.
    Whole,
    /// All of it, shortened if need be.
    Shortened,
    /// As much as there is room for.
    Wanted,
}

/// How an item is shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShorteningMethod {
    /// Not at all.
    No,
    /// By its signatures.
    Signatures(Language),
    /// Its beginning.
    Beginning,
    /// Its beginning and its end.
    Ends,
    /// A diff: without the lines round the changed ones.
    Diff,
    /// By this text.
    By(String),
}

/// Something that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextItem {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub text: String,
    /// How it is shortened.
    pub short: ShorteningMethod,
    /// Whether the text is already less than the whole.
    pub shortened: bool,
}

/// A part of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextPart {
    /// What it is called.
    pub name: String,
    /// How much it is needed.
    pub need: PartRequirement,
    /// What is in it, the most important first.
    pub items: Vec<ContextItem>,
}

/// A context that fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedContext {
    /// Its parts, in their order. All are there, also those of which nothing is shown.
    pub parts: Vec<FittedPart>,
    /// How many tokens it is, with what was there before.
    pub tokens: usize,
}

/// What is shown of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedPart {
    /// What it is called.
    pub name: String,
    /// What is shown, in its order.
    pub items: Vec<FittedItem>,
    /// The names of what is not shown.
    pub dropped: Vec<String>,
    /// How many tokens it is.
    pub tokens: usize,
}

/// What is shown of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FittedItem {
    /// What it is called.
    pub name: String,
    /// What is shown of it.
    pub text: String,
    /// Whether that is less than the whole.
    pub shortened: bool,
    /// Whether it is so for want of room.
    pub squeezed: bool,
}

/// What is needed is too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the context cannot fit into {budget} tokens: {}", sizes(.parts))]
pub struct ContextTooLarge {
    /// How many tokens it may be.
    pub budget: usize,
    /// What is needed: its name, how long it is, and how long at least.
    pub parts: Vec<(String, usize, usize)>,
}

fn sizes(parts: &[(String, usize, usize)]) -> String {
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

/// How an item is shown at the moment.
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
    /// The shortened text with its size, if it has one; made when it is first asked for.
    short: OnceCell<Option<(String, usize)>>,
    shown: DisplayLevel,
}

impl MeasuredItem {
    fn new(item: ContextItem) -> Self {
        Self {
            tokens: weigh(&item.name, &item.text),
            item,
            short: OnceCell::new(),
            shown: DisplayLevel::Whole,
        }
    }

    /// How long it is shortened, if that helps.
    fn shortened(&self) -> Option<usize> {
        let (item, tokens) = (&self.item, self.tokens);
        let short = self.short.get_or_init(|| {
            let text = shorten(&item.text, &item.short)?;
            let size = weigh(&item.name, &text);
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

fn weigh(name: &str, text: &str) -> usize {
    let size = tokens::count(text).max(text.len() / BYTES_PER_TOKEN);
    tokens::count(name) + size + FRAME
}

/// Makes parts fit into a budget. `fixed` is what is there in any case, with its sizes.
pub fn fit(
    parts: Vec<ContextPart>,
    fixed: &[(&str, usize)],
    budget: usize,
) -> Result<FittedContext, ContextTooLarge> {
    let mut weighed = weigh_parts(parts);
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
        .map(|(name, _, items)| settled(name, items));
    Ok(FittedContext {
        parts: parts.collect(),
        tokens: total,
    })
}

/// What is needed in any case and nothing else, as short as it can be, whether that fits or not.
pub fn least(parts: Vec<ContextPart>, fixed: &[(&str, usize)]) -> FittedContext {
    let mut weighed = weigh_parts(parts);
    let fixed: usize = fixed.iter().map(|(_, size)| size).sum();
    let items = weighed.iter().flat_map(|(_, _, items)| items);
    let mut total = fixed + items.map(|item| item.tokens).sum::<usize>();
    shrink(&mut weighed, 0, &mut total);
    let parts = weighed
        .into_iter()
        .map(|(name, _, items)| settled(name, items));
    FittedContext {
        parts: parts.collect(),
        tokens: total,
    }
}

fn weigh_parts(parts: Vec<ContextPart>) -> Vec<(String, PartRequirement, Vec<MeasuredItem>)> {
    let weigh = |part: ContextPart| {
        let items = part.items.into_iter().map(MeasuredItem::new).collect();
        (part.name, part.need, items)
    };
    parts.into_iter().map(weigh).collect()
}

/// Shortens and leaves out, from the end, until it fits or no more can be done.
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

/// Brings back what there is room for after all, the highest first.
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

fn settled(name: String, items: Vec<MeasuredItem>) -> FittedPart {
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

/// A shorter form of a text, if it has one.
fn shorten(text: &str, how: &ShorteningMethod) -> Option<String> {
    match how {
        ShorteningMethod::No => None,
        ShorteningMethod::Signatures(language) => outline::signatures(text, *language),
        ShorteningMethod::Beginning => ends(text, BEGINNING, 0),
        ShorteningMethod::Ends => ends(text, BEGINNING / 2, BEGINNING),
        ShorteningMethod::Diff => bare_diff(text),
        ShorteningMethod::By(text) => Some(text.clone()),
    }
}

/// The first and the last lines, with a word on what is between them.
fn ends(text: &str, first: usize, last: usize) -> Option<String> {
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

/// A diff with nothing but its changed lines, under where they are.
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
    // The next file's begins on a line of its own.
    left_out.then(|| kept.join("\n") + "\n")
}

#[cfg(test)]
mod tests;
