//! Splits one stream into lines, within bounds.
//!
//! The splitter is pure. Whatever a command writes, it holds at most one line of capped length.

/// The output of the splitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPiece<'a> {
    /// A line, without its newline.
    Line { raw: &'a [u8], truncated: bool },
    /// From here on the stream is counted but not delivered. Emitted once.
    LimitReached,
}

/// Splits the bytes of one stream into lines.
#[derive(Debug)]
pub(super) struct LineSplitter {
    line_bytes: usize,
    total_bytes: u64,
    line: Vec<u8>,
    /// The unfinished line, if there is one, even if none of its bytes were kept.
    open: Option<OpenLine>,
    marked: bool,
    received: u64,
    dropped: u64,
}

#[derive(Debug, Clone, Copy)]
struct OpenLine {
    truncated: bool,
    /// Whether the line began past the limit and is not delivered.
    muted: bool,
}

impl LineSplitter {
    pub(super) fn new(line_bytes: usize, total_bytes: u64) -> Self {
        Self {
            line_bytes,
            total_bytes,
            line: Vec::new(),
            open: None,
            marked: false,
            received: 0,
            dropped: 0,
        }
    }

    /// Returns the number of bytes fed so far, newlines included.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of bytes that were not delivered.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn feed(&mut self, chunk: &[u8], emit: &mut dyn FnMut(OutputPiece<'_>)) {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (body, ends) = match part.split_last() {
                Some((b'\n', body)) => (body, true),
                _ => (part, false),
            };
            let open = self.keep(body);
            if ends {
                self.received += 1;
                self.dropped += u64::from(open.muted);
                self.end(open, emit);
            } else {
                self.open = Some(open);
            }
        }
    }

    /// Ends the stream; the last line needs no newline.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(OutputPiece<'_>)) {
        if let Some(open) = self.open {
            self.end(open, emit);
        }
    }

    /// Adds as much of `body` to the unfinished line as there is room for. The line may begin here.
    fn keep(&mut self, body: &[u8]) -> OpenLine {
        let left = self.total_bytes.saturating_sub(self.received);
        let mut open = self.open.unwrap_or(OpenLine {
            truncated: false,
            muted: left == 0,
        });
        let room = self
            .line_bytes
            .saturating_sub(self.line.len())
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let (kept, lost) = body.split_at(body.len().min(room));
        self.line.extend_from_slice(kept);
        open.truncated |= !lost.is_empty();
        self.received += body.len() as u64;
        self.dropped += lost.len() as u64;
        open
    }

    fn end(&mut self, open: OpenLine, emit: &mut dyn FnMut(OutputPiece<'_>)) {
        if !open.muted {
            emit(OutputPiece::Line {
                raw: &self.line,
                truncated: open.truncated,
            });
        }
        let is_past_limit = open.muted || (open.truncated && self.received > self.total_bytes);
        if is_past_limit && !self.marked {
            self.marked = true;
            emit(OutputPiece::LimitReached);
        }
        self.line.clear();
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the chunks and renders the pieces, `~` for a cut line.
    fn split(line_bytes: usize, total_bytes: u64, chunks: &[&str]) -> (Vec<String>, LineSplitter) {
        let mut splitter = LineSplitter::new(line_bytes, total_bytes);
        let mut seen = Vec::new();
        let mut emit = |piece: OutputPiece<'_>| {
            seen.push(match piece {
                OutputPiece::Line { raw, truncated } => {
                    let cut = if truncated { "~" } else { "" };
                    format!("{}{cut}", String::from_utf8_lossy(raw))
                }
                OutputPiece::LimitReached => "LIMIT".to_owned(),
            });
        };
        for chunk in chunks {
            splitter.feed(chunk.as_bytes(), &mut emit);
        }
        splitter.finish(&mut emit);
        (seen, splitter)
    }

    #[test]
    fn lines_may_span_chunks() {
        let (seen, _) = split(80, 800, &["on", "e\n\ntw", "o\nlast"]);
        assert_eq!(seen, ["one", "", "two", "last"]);
    }

    #[test]
    fn a_long_line_keeps_its_beginning() {
        let (seen, splitter) = split(4, 800, &["abc", "def", "ghi\nxy\n"]);
        assert_eq!(seen, ["abcd~", "xy"]);
        assert_eq!((splitter.received(), splitter.dropped()), (13, 5));
        assert!(splitter.line.capacity() < 64);
    }

    #[test]
    fn a_line_of_exactly_the_cap_is_whole() {
        assert_eq!(split(3, 800, &["abc\n"]).0, ["abc"]);
    }

    #[test]
    fn past_the_total_lines_are_counted_only() {
        let (seen, splitter) = split(80, 6, &["ab\ncd\nef\n", "gh\n"]);
        assert_eq!(seen, ["ab", "cd", "LIMIT"]);
        assert_eq!((splitter.received(), splitter.dropped()), (12, 6));
    }

    #[test]
    fn a_line_across_the_total_is_cut() {
        let (seen, splitter) = split(80, 4, &["ab\ncdef"]);
        assert_eq!(seen, ["ab", "c~", "LIMIT"]);
        assert_eq!(splitter.dropped(), 3);
    }

    #[test]
    fn output_of_exactly_the_total_is_whole() {
        assert_eq!(split(80, 6, &["ab\ncd\n"]).0, ["ab", "cd"]);
    }
}
