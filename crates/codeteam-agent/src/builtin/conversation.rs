//! The conversation with the model, and how it is kept short enough.

use serde_json::value::RawValue;

/// The most characters of a tool result that are kept.
pub(super) const RESULT_CHARS: usize = 30_000;

/// The number of characters of a token, roughly.
const CHARS_PER_TOKEN: usize = 4;

/// The number of newest turns that keep their results as long as there is any other way.
const KEPT_TURNS: usize = 4;

/// A result is not cut shorter than this.
const LEAST_CHARS: usize = 600;

/// One turn of the conversation.
#[derive(Debug)]
pub(super) enum Turn {
    /// A prompt for the model.
    Prompt(String),
    /// A reply of the model, in the form that its API expects to get back.
    Reply(Box<RawValue>),
    /// The results of the model's tool calls.
    Results(Vec<ToolResult>),
}

/// The result of a tool call.
#[derive(Debug, Clone)]
pub(super) struct ToolResult {
    /// The call it belongs to; empty if the API does not name calls.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) ok: bool,
    /// Whether the text was dropped to make room.
    pub(super) dropped: bool,
}

impl Turn {
    fn chars(&self) -> usize {
        match self {
            Self::Prompt(text) => text.len(),
            Self::Reply(raw) => raw.get().len(),
            Self::Results(results) => results.iter().map(|result| result.text.len()).sum(),
        }
    }
}

/// Returns the size of a conversation in characters.
pub(super) fn conversation_chars(turns: &[Turn]) -> usize {
    turns.iter().map(Turn::chars).sum()
}

/// Returns the most characters of one result in a conversation with this token limit: a quarter of
/// it.
pub(super) fn max_result_chars(limit_tokens: usize) -> usize {
    let quarter = limit_tokens.saturating_mul(CHARS_PER_TOKEN) / 4;
    quarter.clamp(LEAST_CHARS, RESULT_CHARS)
}

/// Estimates how many tokens a number of characters are.
pub(super) fn estimate_tokens(chars: usize) -> usize {
    chars / CHARS_PER_TOKEN
}

/// Drops the oldest results when the conversation nears its limit, down to half of it: APIs can
/// cache a beginning that stays the same, so it is changed rarely. `fixed` is the size of what
/// every request also has, in characters.
pub(super) fn shrink_conversation(turns: &mut [Turn], fixed: usize, limit_tokens: usize) -> usize {
    let limit = limit_tokens.saturating_mul(CHARS_PER_TOKEN);
    let mut size = fixed + self::conversation_chars(turns);
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

/// Cuts the newest results, the longest first, if nothing else makes enough room. Returns how many.
fn shorten_newest(turns: &mut [Turn], mut size: usize, limit: usize) -> usize {
    let mut shortened = 0;
    while size > limit / 10 * 8 {
        let results = turns.iter_mut().filter_map(|turn| match turn {
            Turn::Results(results) => Some(results),
            Turn::Prompt(_) | Turn::Reply(_) => None,
        });
        let longest = results.flatten().max_by_key(|result| result.text.len());
        let Some(longest) = longest.filter(|result| result.text.len() > LEAST_CHARS) else {
            break;
        };
        let before = longest.text.len();
        longest.text = truncate_middle(&longest.text, (before / 2).max(LEAST_CHARS / 2));
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
pub(super) fn truncate_middle(text: &str, limit: usize) -> String {
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
pub(super) fn short_first_line(text: &str) -> String {
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
        assert_eq!(shrink_conversation(&mut turns, 0, 4000), 0, "there is room");
        // 10 000 of 12 000 characters; 6 000 are to be left.
        assert_eq!(shrink_conversation(&mut turns, 0, 3000), 5);
        let is_dropped = |turn: &Turn| matches!(turn, Turn::Results(all) if all[0].dropped);
        assert!(turns[..5].iter().all(is_dropped));
        assert!(!turns[5..].iter().any(is_dropped));
        // However short the limit, something of the newest stays.
        assert_eq!(shrink_conversation(&mut turns, 0, 10), 1 + 4);
        assert!(!turns[6..].iter().any(is_dropped));
        let kept = |turn: &Turn| matches!(turn, Turn::Results(all) if all[0].text.contains("xxx"));
        assert!(turns[6..].iter().all(kept));
    }

    #[test]
    fn one_long_result_is_cut_where_the_context_is_small() {
        let mut turns = vec![results(30_000)];
        assert!(shrink_conversation(&mut turns, 2_000, 8_000) > 0);
        assert!(conversation_chars(&turns) <= 8_000 * CHARS_PER_TOKEN / 10 * 8);
        assert_eq!(max_result_chars(8_000), 8_000);
        assert_eq!(max_result_chars(150_000), RESULT_CHARS);
    }

    #[test]
    fn a_text_is_cut_in_its_middle_between_characters() {
        assert_eq!(truncate_middle("short", 5), "short");
        let text = "ä".repeat(100);
        let short = truncate_middle(&text, 21);
        assert_eq!(
            short,
            "äääää\n(… 180 bytes left out here …)\näääää".to_owned()
        );
    }

    #[test]
    fn a_brief_text_is_one_line() {
        assert_eq!(short_first_line(" one "), "one");
        assert_eq!(short_first_line("one\ntwo"), "one…");
        assert_eq!(short_first_line(&"ü".repeat(200)).chars().count(), 161);
        assert_eq!(short_first_line(""), "");
    }
}
