//! The conversation with the model, and how it is kept short enough.

use serde_json::value::RawValue;

/// What is kept of one tool result.
pub(super) const RESULT_CHARS: usize = 30_000;

/// About how many characters a token has.
const CHARS_PER_TOKEN: usize = 4;

/// So many of the newest turns keep their results as long as there is any other way.
const KEPT_TURNS: usize = 4;

/// A result is not cut shorter than this.
const LEAST_CHARS: usize = 600;

/// One turn of the conversation.
#[derive(Debug)]
pub(super) enum Turn {
    /// What the model is told.
    Said(String),
    /// What the model replied, in the form its API wants to see it again.
    Replied(Box<RawValue>),
    /// What its tools gave.
    Results(Vec<ToolResult>),
}

/// What a tool gave.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    /// The call it belongs to; empty if the API does not name calls.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) ok: bool,
    /// Whether the text was taken away to make room.
    pub(super) dropped: bool,
}

impl Turn {
    fn chars(&self) -> usize {
        match self {
            Self::Said(text) => text.len(),
            Self::Replied(raw) => raw.get().len(),
            Self::Results(results) => results.iter().map(|result| result.text.len()).sum(),
        }
    }
}

/// How big a conversation is, in characters.
pub(super) fn size(turns: &[Turn]) -> usize {
    turns.iter().map(Turn::chars).sum()
}

/// How much of one result is kept in a conversation of so many tokens: a quarter of it at most.
pub(super) fn result_chars(limit_tokens: usize) -> usize {
    let quarter = limit_tokens.saturating_mul(CHARS_PER_TOKEN) / 4;
    quarter.clamp(LEAST_CHARS, RESULT_CHARS)
}

/// About how many tokens so many characters are.
pub(super) fn tokens(chars: usize) -> usize {
    chars / CHARS_PER_TOKEN
}

/// Takes the oldest results away when the conversation nears its limit, down to
/// half of it: what stays the same at its beginning is what APIs can cache, so
/// it is changed seldom. `fixed` is what every request also holds, in characters.
/// Says how many were taken away.
pub(super) fn make_room(turns: &mut [Turn], fixed: usize, limit_tokens: usize) -> usize {
    let limit = limit_tokens.saturating_mul(CHARS_PER_TOKEN);
    let mut size = fixed + self::size(turns);
    if size <= limit / 10 * 8 {
        return 0;
    }
    let old = turns.len().saturating_sub(KEPT_TURNS);
    let mut dropped = 0;
    for turn in &mut turns[..old] {
        let Turn::Results(results) = turn else {
            continue;
        };
        for result in results.iter_mut().filter(|result| !result.dropped) {
            if size <= limit / 2 {
                return dropped;
            }
            let stub = format!(
                "({} characters that `{}` gave here were taken away to make room; call it again \
                 if you need them)",
                result.text.len(),
                result.name
            );
            if stub.len() < result.text.len() {
                size -= result.text.len() - stub.len();
                result.text = stub;
                result.dropped = true;
                dropped += 1;
            }
        }
    }
    dropped + shorten_newest(&mut turns[old..], size, limit)
}

/// Cuts the newest results, the longest first, if nothing else makes enough room. Says how many.
fn shorten_newest(turns: &mut [Turn], mut size: usize, limit: usize) -> usize {
    let mut shortened = 0;
    while size > limit / 10 * 8 {
        let results = turns.iter_mut().filter_map(|turn| match turn {
            Turn::Results(results) => Some(results),
            Turn::Said(_) | Turn::Replied(_) => None,
        });
        let longest = results.flatten().max_by_key(|result| result.text.len());
        let Some(longest) = longest.filter(|result| result.text.len() > LEAST_CHARS) else {
            break;
        };
        let before = longest.text.len();
        longest.text = cut(&longest.text, (before / 2).max(LEAST_CHARS / 2));
        if longest.text.len() >= before {
            break;
        }
        size -= before - longest.text.len();
        shortened += 1;
    }
    shortened
}

/// A text of at most about `limit` bytes: its beginning and its end, and what is
/// missing between.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    format!(
        "{}\n(… {} bytes left out here …)\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// The first line of a text, short.
pub(super) fn brief(text: &str) -> String {
    const CHARS: usize = 160;
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default().trim_end();
    let is_whole = lines.next().is_none();
    let mut brief: String = first.chars().take(CHARS).collect();
    if !is_whole || brief.len() < first.len() {
        brief.push('…');
    }
    brief
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(chars: usize) -> Turn {
        Turn::Results(vec![ToolResult {
            id: String::new(),
            name: "read_file".to_owned(),
            text: "x".repeat(chars),
            ok: true,
            dropped: false,
        }])
    }

    #[test]
    fn the_oldest_results_make_room_and_the_newest_stay() {
        let mut turns: Vec<Turn> = (0..10).map(|_| results(1000)).collect();
        assert_eq!(make_room(&mut turns, 0, 4000), 0, "there is room");
        // 10 000 of 12 000 characters; 6 000 are to be left.
        assert_eq!(make_room(&mut turns, 0, 3000), 5);
        let is_dropped = |turn: &Turn| matches!(turn, Turn::Results(all) if all[0].dropped);
        assert!(turns[..5].iter().all(is_dropped));
        assert!(!turns[5..].iter().any(is_dropped));
        // However short the limit, something of the newest stays.
        assert_eq!(make_room(&mut turns, 0, 10), 1 + 4);
        assert!(!turns[6..].iter().any(is_dropped));
        let kept = |turn: &Turn| matches!(turn, Turn::Results(all) if all[0].text.contains("xxx"));
        assert!(turns[6..].iter().all(kept));
    }

    #[test]
    fn one_long_result_is_cut_where_the_context_is_small() {
        let mut turns = vec![results(30_000)];
        assert!(make_room(&mut turns, 2_000, 8_000) > 0);
        assert!(size(&turns) <= 8_000 * CHARS_PER_TOKEN / 10 * 8);
        assert_eq!(result_chars(8_000), 8_000);
        assert_eq!(result_chars(150_000), RESULT_CHARS);
    }

    #[test]
    fn a_text_is_cut_in_its_middle_between_characters() {
        assert_eq!(cut("short", 5), "short");
        let text = "ä".repeat(100);
        let short = cut(&text, 21);
        assert_eq!(
            short,
            "äääää\n(… 180 bytes left out here …)\näääää".to_owned()
        );
    }

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!(brief(" one "), "one");
        assert_eq!(brief("one\ntwo"), "one…");
        assert_eq!(brief(&"ü".repeat(200)).chars().count(), 161);
        assert_eq!(brief(""), "");
    }
}
