//! The output of one attempt, read in windows: while a worker runs, and afterwards.
//!
//! An output may have hundreds of thousands of lines. [`AttemptLog`] remembers where every so many
//! lines begin and reads only the lines that are asked for, so its memory does not grow with them.
//! It reads the files that the worker's output is written to; nothing here writes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use codeteam_core::ids::{BodyId, RunId};

use crate::engine::Engine;
pub use crate::perform::LogLineKind;
use crate::perform::TranscriptReader;
use crate::problem::Problem;

/// The place of every line with such a number is remembered.
const INDEX_STEP: usize = 128;
/// How many bytes are read at once.
const CHUNK: usize = 64 << 10;
/// The longest line that is parsed. The output of a worker is cut to less.
const LONGEST_LINE: usize = 2 << 20;
/// The longest text of a line that is returned.
const LONGEST_TEXT: usize = 4 << 10;
/// A packed body is read into memory, up to here.
const LARGEST_PACKED: u64 = 16 << 20;
/// A query looks at so many lines at most.
const MOST_SCANNED: usize = 200_000;

/// The output of one attempt.
#[derive(Debug)]
pub struct AttemptLog {
    parts: Vec<LogPart>,
    /// The part and the offset at which the lines 0, `INDEX_STEP`, … begin.
    index: Vec<(usize, u64)>,
    lines: usize,
    /// The file that a running worker writes to.
    live: Option<PathBuf>,
}

/// A line of an output, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Its number in the file, from 0.
    pub number: usize,
    /// What it is.
    pub kind: LogLineKind,
    /// Its text, which may have several lines.
    pub text: String,
}

/// Where a window of an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogAnchor {
    /// It begins with this line.
    From(usize),
    /// It ends before this line.
    Until(usize),
    /// It ends with the last line.
    End,
}

/// Which lines are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogQuery {
    /// Where they are.
    pub anchor: LogAnchor,
    /// How many at most.
    pub count: usize,
    /// Only lines of this kind.
    pub only: Option<LogLineKind>,
    /// Only lines with this text, whatever its case.
    pub containing: String,
}

/// What is searched for in an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSearch {
    /// The text, whatever its case.
    pub text: String,
    /// Where the search begins: forward from this line, or backward before it.
    pub from: usize,
    /// Whether it goes backward.
    pub is_backward: bool,
    /// Only lines of this kind.
    pub only: Option<LogLineKind>,
    /// Only lines with this text, too.
    pub containing: String,
}

#[derive(Debug)]
struct LogPart {
    path: Option<PathBuf>,
    source: LogSource,
    /// The bytes whose lines are counted. They end with a line.
    indexed: u64,
}

#[derive(Debug)]
enum LogSource {
    File(File),
    Memory(Vec<u8>),
}

impl AttemptLog {
    /// Opens the output of an attempt: its body if it has ended, or else the file that is being
    /// written. A launch whose file does not exist yet has an empty output.
    pub fn open(
        engine: &Engine,
        run: &RunId,
        fence: u64,
        transcript: Option<&BodyId>,
    ) -> Result<Self, Problem> {
        let mut log = if let Some(body) = transcript {
            Self::of_body(engine, body)?
        } else {
            let folder = engine.attempts_folder(run);
            Self::with_live(folder.join(format!("{fence}.jsonl")))
        };
        log.refresh()
            .map_err(|e| Problem::environment("the output cannot be read").caused_by(&e))?;
        Ok(log)
    }

    fn with_live(path: PathBuf) -> Self {
        Self {
            parts: Vec::new(),
            index: Vec::new(),
            lines: 0,
            live: Some(path),
        }
    }

    fn of_body(engine: &Engine, body: &BodyId) -> Result<Self, Problem> {
        let unreadable =
            |e| Problem::environment("the output of the attempt cannot be read").caused_by(&e);
        let path = engine.bodies.path(body.as_str()).map_err(unreadable)?;
        let source = match File::open(&path) {
            Ok(file) => LogSource::File(file),
            Err(_) => LogSource::Memory(
                engine
                    .bodies
                    .get_prefix(body.as_str(), LARGEST_PACKED)
                    .map_err(unreadable)?,
            ),
        };
        Ok(Self {
            parts: vec![LogPart::new(None, source)],
            live: None,
            ..Self::with_live(PathBuf::new())
        })
    }

    /// Returns how many lines there are.
    pub fn line_count(&self) -> usize {
        self.lines
    }

    /// Takes in what was written since; returns true if there is more than before.
    pub fn refresh(&mut self) -> io::Result<bool> {
        if let Some(path) = self.live.clone() {
            self.find_parts(&path)?;
        }
        let before = self.lines;
        // The lines of a part are numbered after those of the part before, which grows no more.
        for at in 0..self.parts.len() {
            self.index_part(at)?;
        }
        Ok(self.lines != before)
    }

    /// Opens the files that have appeared. If an older one was dropped, everything is numbered
    /// again.
    fn find_parts(&mut self, live: &Path) -> io::Result<()> {
        let found = part_paths(live);
        let known = self.parts.iter().map(|part| part.path.as_deref());
        let is_continued = known.clone().eq(found
            .iter()
            .take(self.parts.len())
            .map(|p| Some(p.as_path())));
        if !is_continued && !found.is_empty() {
            self.parts.clear();
            self.index.clear();
            self.lines = 0;
        }
        for path in found.into_iter().skip(self.parts.len()) {
            let file = match File::open(&path) {
                Ok(file) => file,
                // It has just been joined into a body, or dropped.
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(e) => return Err(e),
            };
            self.parts
                .push(LogPart::new(Some(path), LogSource::File(file)));
        }
        Ok(())
    }

    fn index_part(&mut self, at: usize) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let mut offset = self.parts[at].indexed;
        loop {
            let n = self.parts[at].source.read_at(&mut chunk, offset)?;
            if n == 0 {
                return Ok(());
            }
            for (i, _) in chunk[..n].iter().enumerate().filter(|(_, b)| **b == b'\n') {
                if self.lines.is_multiple_of(INDEX_STEP) {
                    self.index.push((at, self.parts[at].indexed));
                }
                self.lines += 1;
                self.parts[at].indexed = offset + i as u64 + 1;
            }
            offset += n as u64;
        }
    }

    /// Reads the lines of a window. Lines that say nothing to a person are left out.
    pub fn read(&self, query: &LogQuery) -> io::Result<Vec<LogLine>> {
        let mut reader = TranscriptReader::new(&self.raw_lines(0, 1)?.concat());
        let mut found = Vec::new();
        let last = match query.anchor {
            LogAnchor::From(first) => {
                let mut at = first;
                let end = self.lines.min(first.saturating_add(MOST_SCANNED));
                while at < end && found.len() < query.count {
                    let next = self.lines.min(at + INDEX_STEP);
                    self.read_block(&mut reader, query, at..next, &mut found)?;
                    at = next;
                }
                found.truncate(query.count);
                return Ok(found);
            }
            LogAnchor::Until(line) => line.min(self.lines),
            LogAnchor::End => self.lines,
        };
        let mut until = last;
        while until > last.saturating_sub(MOST_SCANNED) && found.len() < query.count {
            let from = (until - 1) / INDEX_STEP * INDEX_STEP;
            let mut block = Vec::new();
            self.read_block(&mut reader, query, from..until, &mut block)?;
            block.append(&mut found);
            found = block;
            until = from;
        }
        let surplus = found.len().saturating_sub(query.count);
        found.drain(..surplus);
        Ok(found)
    }

    /// Returns the number of the next line that a search finds, and whether the search went on from
    /// the other end of the output.
    pub fn find(&self, search: &LogSearch) -> io::Result<Option<(usize, bool)>> {
        let from = search.from.min(self.lines);
        let (near, far) = if search.is_backward {
            (0..from, from..self.lines)
        } else {
            (from..self.lines, 0..from)
        };
        if let Some(line) = self.find_within(search, near)? {
            return Ok(Some((line, false)));
        }
        Ok(self.find_within(search, far)?.map(|line| (line, true)))
    }

    /// Returns the first line that a search finds among these lines, or the last one if it goes
    /// backward.
    fn find_within(
        &self,
        search: &LogSearch,
        lines: std::ops::Range<usize>,
    ) -> io::Result<Option<usize>> {
        let mut reader = TranscriptReader::new(&self.raw_lines(0, 1)?.concat());
        let query = LogQuery {
            anchor: LogAnchor::From(0),
            count: INDEX_STEP,
            only: search.only,
            containing: search.text.clone(),
        };
        let filter = search.containing.to_lowercase();
        let blocks = lines.start / INDEX_STEP..lines.end.div_ceil(INDEX_STEP);
        let blocks: Box<dyn Iterator<Item = usize>> = if search.is_backward {
            Box::new(blocks.rev())
        } else {
            Box::new(blocks)
        };
        for block in blocks {
            let start = (block * INDEX_STEP).max(lines.start);
            let end = ((block + 1) * INDEX_STEP).min(lines.end);
            let mut found = Vec::new();
            self.read_block(&mut reader, &query, start..end, &mut found)?;
            found.retain(|line| line.text.to_lowercase().contains(&filter));
            let line = if search.is_backward {
                found.last()
            } else {
                found.first()
            };
            if let Some(line) = line {
                return Ok(Some(line.number));
            }
        }
        Ok(None)
    }

    fn read_block(
        &self,
        reader: &mut TranscriptReader,
        query: &LogQuery,
        lines: std::ops::Range<usize>,
        found: &mut Vec<LogLine>,
    ) -> io::Result<()> {
        let raw = self.raw_lines(lines.start, lines.len())?;
        let wanted = query.containing.to_lowercase();
        for (number, raw) in lines.zip(raw) {
            let Some((kind, mut text)) = reader.describe_line(&raw) else {
                continue;
            };
            if query.only.is_some_and(|only| only != kind) || !text.to_lowercase().contains(&wanted)
            {
                continue;
            }
            text.truncate(text.floor_char_boundary(LONGEST_TEXT));
            found.push(LogLine { number, kind, text });
        }
        Ok(())
    }

    /// Reads lines as they are in the files.
    fn raw_lines(&self, first: usize, count: usize) -> io::Result<Vec<String>> {
        let count = count.min(self.lines.saturating_sub(first));
        let (Some(&(mut part, mut offset)), true) = (self.index.get(first / INDEX_STEP), count > 0)
        else {
            return Ok(Vec::new());
        };
        let mut skip = first % INDEX_STEP;
        let (mut lines, mut line) = (Vec::with_capacity(count), Vec::new());
        let mut chunk = vec![0; CHUNK];
        while part < self.parts.len() {
            let known = self.parts[part].indexed;
            let left = usize::try_from(known - offset).unwrap_or(CHUNK).min(CHUNK);
            let n = self.parts[part]
                .source
                .read_at(&mut chunk[..left], offset)?;
            if n == 0 {
                (part, offset) = (part + 1, 0);
                continue;
            }
            offset += n as u64;
            for piece in chunk[..n].split_inclusive(|b| *b == b'\n') {
                if line.len() < LONGEST_LINE && skip == 0 {
                    line.extend_from_slice(piece);
                }
                if !piece.ends_with(b"\n") {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                lines.push(String::from_utf8_lossy(&line).into_owned());
                line.clear();
                if lines.len() == count {
                    return Ok(lines);
                }
            }
        }
        Ok(lines)
    }
}

impl LogPart {
    fn new(path: Option<PathBuf>, source: LogSource) -> Self {
        Self {
            path,
            source,
            indexed: 0,
        }
    }
}

impl LogSource {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read_at(buffer, offset),
            Self::Memory(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let n = buffer.len().min(bytes.len() - start);
                buffer[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
        }
    }
}

/// Returns the files of an output that is being written, in order. Long outputs have several.
fn part_paths(live: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (live.parent(), live.file_name().and_then(|n| n.to_str()))
    else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut later: Vec<u64> = entries
        .filter_map(|entry| {
            let found = entry.file_name();
            found
                .to_str()?
                .strip_prefix(name)?
                .strip_prefix('.')?
                .parse()
                .ok()
        })
        .collect();
    later.sort_unstable();
    let later = later
        .into_iter()
        .map(|part| folder.join(format!("{name}.{part}")));
    let first = live.exists().then(|| live.to_owned());
    first.into_iter().chain(later).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn line(stream: &str, text: &str) -> String {
        format!(
            "{}\n",
            serde_json::json!({ "stream": stream, "text": text })
        )
    }

    fn header() -> String {
        let spoken = serde_json::json!({ "dialect": "scripted", "model": null, "before": {} });
        line("codeteam", &spoken.to_string())
    }

    fn said(text: &str) -> String {
        line(
            "stdout",
            &serde_json::json!({ "type": "text", "text": text }).to_string(),
        )
    }

    fn query(anchor: LogAnchor, count: usize) -> LogQuery {
        LogQuery {
            anchor,
            count,
            only: None,
            containing: String::new(),
        }
    }

    fn texts(log: &AttemptLog, query: &LogQuery) -> Vec<String> {
        let lines = log.read(query).unwrap().into_iter();
        lines
            .map(|line| format!("{} {}", line.number, line.text))
            .collect()
    }

    #[test]
    fn an_output_is_searched_in_both_directions_and_from_the_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.jsonl");
        let mut file = File::create(&path).unwrap();
        file.write_all(header().as_bytes()).unwrap();
        for n in 1..=1000 {
            let word = if n % 300 == 0 { "Needle" } else { "hay" };
            let text = format!("{word} {n}");
            file.write_all(said(&text).as_bytes()).unwrap();
        }
        let mut log = AttemptLog::with_live(path);
        log.refresh().unwrap();
        let search = |from, is_backward, containing: &str| {
            let search = LogSearch {
                text: "needle".to_owned(),
                from,
                is_backward,
                only: None,
                containing: containing.to_owned(),
            };
            log.find(&search).unwrap()
        };
        assert_eq!(search(0, false, ""), Some((300, false)));
        assert_eq!(search(301, false, ""), Some((600, false)));
        assert_eq!(search(901, false, ""), Some((300, true)));
        assert_eq!(search(300, true, ""), Some((900, true)));
        assert_eq!(search(901, true, ""), Some((900, false)));
        assert_eq!(search(301, false, "900"), Some((900, false)));
        assert_eq!(search(0, false, "hay"), None);
    }

    #[test]
    fn a_long_output_is_read_in_windows_and_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.jsonl");
        let mut log = AttemptLog::with_live(path.clone());
        assert!(!log.refresh().unwrap(), "nothing was written yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(header().as_bytes()).unwrap();
        for n in 1..=1000 {
            file.write_all(said(&format!("line {n}")).as_bytes())
                .unwrap();
        }
        assert!(log.refresh().unwrap());
        assert_eq!(log.line_count(), 1001);
        assert_eq!(
            texts(&log, &query(LogAnchor::End, 2)),
            ["999 line 999", "1000 line 1000"]
        );
        assert_eq!(
            texts(&log, &query(LogAnchor::From(255), 3))[0],
            "255 line 255"
        );
        assert_eq!(
            texts(&log, &query(LogAnchor::Until(257), 2)),
            ["255 line 255", "256 line 256"]
        );
        assert_eq!(
            texts(&log, &query(LogAnchor::From(0), 1)),
            ["1 line 1"],
            "the header is not shown"
        );
        // A line that is not complete yet is not shown.
        let more = said("the last");
        let (begun, rest) = more.split_at(9);
        file.write_all(begun.as_bytes()).unwrap();
        assert!(!log.refresh().unwrap());
        file.write_all(rest.as_bytes()).unwrap();
        assert!(log.refresh().unwrap());
        assert_eq!(texts(&log, &query(LogAnchor::End, 1)), ["1001 the last"]);
        // A very long output goes on in other files.
        std::fs::write(folder.path().join("7.jsonl.1"), said("in a part")).unwrap();
        assert!(log.refresh().unwrap());
        assert_eq!(
            texts(&log, &query(LogAnchor::End, 2)),
            ["1001 the last", "1002 in a part"]
        );
    }

    #[test]
    fn lines_are_chosen_by_kind_and_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.jsonl");
        let text = header() + &said("Fine") + &line("stderr", "warning: odd") + &said("also fine");
        std::fs::write(&path, text).unwrap();
        let mut log = AttemptLog::with_live(path);
        log.refresh().unwrap();
        let problems = LogQuery {
            only: Some(LogLineKind::Problem),
            ..query(LogAnchor::End, 9)
        };
        assert_eq!(texts(&log, &problems), ["2 warning: odd"]);
        let fine = LogQuery {
            containing: "FINE".to_owned(),
            ..query(LogAnchor::From(0), 9)
        };
        assert_eq!(texts(&log, &fine), ["1 Fine", "3 also fine"]);
    }

    #[test]
    fn a_packed_output_is_read_from_memory() {
        let bytes = (header() + &said("one") + &said("two")).into_bytes();
        let part = LogPart::new(None, LogSource::Memory(bytes));
        let mut log = AttemptLog {
            parts: vec![part],
            live: None,
            ..AttemptLog::with_live(PathBuf::new())
        };
        log.refresh().unwrap();
        assert_eq!(texts(&log, &query(LogAnchor::From(2), 5)), ["2 two"]);
    }
}
