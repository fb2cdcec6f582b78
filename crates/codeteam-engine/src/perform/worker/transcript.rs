//! The transcript of one attempt, written line by line while the worker runs.
//!
//! A worker can print more than anybody wants to keep: a test that prints endlessly, or a loop. The
//! beginning and the end are kept, and a line between them says how many bytes are left out. While
//! the worker runs, the beginning is one file and the end is in part files next to it, of which
//! only the last two exist at any time; when it has ended they are joined into one body.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use codeteam_core::budget::Usage;
use codeteam_core::ids::{BodyId, RunId};
use serde::{Deserialize, Serialize};

use super::files::io_error;
use crate::dialect::{self, FoldSettings, LocalClock, OutputFold, TraceBuilder, WorkerEvent};
use crate::engine::Engine;
use crate::perform::Error;
use codeteam_host::process::{OutputLine, OutputStream};
use codeteam_report::view::TraceStepKind;

/// The maximum length of one line in a transcript.
const KEPT_BYTES: usize = 1 << 20;

/// The number of bytes kept from the beginning.
const HEAD_BYTES: u64 = 24 << 20;

/// The minimum number of bytes kept from the end, if there is more: that is where a worker says
/// what went wrong.
const PART_BYTES: u64 = 4 << 20;

/// The stream name of codeteam's own lines: the header, and remarks.
const HEADER: &str = "codeteam";

/// The stream name of the line that says how much is left out.
const LEFT_OUT: &str = "left_out";

/// The stream name of the line that has what the worker was told.
const PROMPT: &str = "prompt";

/// The stream name of lines that record the worker's usage at the beginning of a part.
const USAGE: &str = "usage";

pub(super) fn lock(transcript: &Mutex<Transcript>) -> MutexGuard<'_, Transcript> {
    transcript.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output of a worker, written to disk as it arrives, together with its network connections.
pub(super) struct Transcript {
    path: PathBuf,
    /// The part that is being written.
    file: BufWriter<File>,
    /// The number of that part; 0 is the beginning.
    part: u64,
    /// The maximum and the current length of the part.
    room: u64,
    written: u64,
    /// The length of the previous part, unless that is the beginning.
    before: u64,
    left_out: u64,
    /// Whether a part has begun in which the worker's usage has not been recorded yet.
    owes_usage: bool,
    failed: Option<io::Error>,
}

/// A line of the transcript file: the stream it came from, and its text.
#[derive(Serialize, Deserialize)]
struct TranscriptLine<'a> {
    stream: &'a str,
    text: Cow<'a, str>,
}

/// The first line of a transcript, which says how to interpret the others.
#[derive(Serialize, Deserialize)]
struct TranscriptHeader {
    dialect: dialect::DialectName,
    model: Option<String>,
    before: Usage,
    /// Whether the worker was asked to write a plan before it uses a tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    plans_first: bool,
}

impl Transcript {
    /// Creates the file and writes the header.
    pub(super) fn create(
        path: &Path,
        dialect: dialect::DialectName,
        listening: &FoldSettings,
    ) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io_error("make the folder", folder))?;
        }
        let file = File::create(path).map_err(io_error("write the transcript", path))?;
        let mut transcript = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            part: 0,
            room: HEAD_BYTES,
            written: 0,
            before: 0,
            left_out: 0,
            owes_usage: false,
            failed: None,
        };
        let spoken = TranscriptHeader {
            dialect,
            model: listening.model.clone(),
            before: listening.before,
            plans_first: listening.plans_first,
        };
        let spoken = serde_json::to_string(&spoken).unwrap_or_default();
        transcript.write(HEADER, spoken.into());
        Ok(transcript)
    }

    /// Adds a line of the worker. Returns `true` if a new part has begun: the earlier parts, with
    /// what they say about usage, may be dropped later, so the usage must be recorded now.
    pub(super) fn line(&mut self, stream: OutputStream, text: &str) -> bool {
        let stream = match stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        self.write(stream, shorten(text));
        self.owes_usage
    }

    /// Records what the worker is told.
    pub(super) fn record_prompt(&mut self, prompt: &str) {
        self.write(PROMPT, shorten(prompt));
    }

    /// Records the worker's usage, for the case that codeteam dies before the worker ends.
    pub(super) fn record_usage(&mut self, usage: Usage) {
        self.owes_usage = false;
        let usage = serde_json::to_string(&usage).unwrap_or_default();
        self.write(USAGE, usage.into());
    }

    /// Adds a line. The first error is remembered and returned by `keep`.
    pub(super) fn write(&mut self, stream: &str, text: Cow<'_, str>) {
        if self.failed.is_none()
            && let Err(error) = self.try_write(&TranscriptLine { stream, text })
        {
            self.failed = Some(error);
        }
    }

    fn try_write(&mut self, line: &TranscriptLine<'_>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let length = bytes.len() as u64;
        if self.written > 0 && self.written + length > self.room {
            self.begin_part()?;
        }
        self.written += length;
        self.file.write_all(&bytes)?;
        // Flush every line: the usage must be known even if codeteam dies the next moment.
        self.file.flush()
    }

    /// Continues in a new part file. Apart from the beginning, only the previous part is kept.
    fn begin_part(&mut self) -> io::Result<()> {
        if self.part > 1 {
            fs::remove_file(part_path(&self.path, self.part - 1))?;
            self.left_out += self.before;
        }
        self.before = if self.part > 0 { self.written } else { 0 };
        self.part += 1;
        self.file = BufWriter::new(File::create(part_path(&self.path, self.part))?);
        self.room = PART_BYTES;
        self.written = 0;
        self.owes_usage = true;
        Ok(())
    }

    /// Joins the parts and moves the transcript to the body store.
    pub(super) fn keep(&mut self, engine: &Engine) -> Result<BodyId, Error> {
        if let Some(source) = self.failed.take() {
            return Err(io_error("write the transcript", &self.path)(source));
        }
        let joined = self.join_parts();
        joined.map_err(io_error("write the transcript", &self.path))?;
        Ok(BodyId(engine.bodies.adopt(&self.path)?))
    }

    /// Joins all parts into one file.
    fn join_parts(&mut self) -> io::Result<()> {
        if self.part == 0 {
            return Ok(());
        }
        let mut whole = File::options().append(true).open(&self.path)?;
        if self.left_out > 0 {
            let text = format!("[{} bytes are left out here]", self.left_out);
            let line = TranscriptLine {
                stream: LEFT_OUT,
                text: text.into(),
            };
            let mut bytes = serde_json::to_vec(&line)?;
            bytes.push(b'\n');
            whole.write_all(&bytes)?;
        }
        for part in [self.part - 1, self.part]
            .into_iter()
            .filter(|part| *part > 0)
        {
            let path = part_path(&self.path, part);
            io::copy(&mut File::open(&path)?, &mut whole)?;
            fs::remove_file(&path)?;
        }
        self.part = 0;
        Ok(())
    }
}

/// Returns a text of at most `KEPT_BYTES`.
fn shorten(text: &str) -> Cow<'_, str> {
    if text.len() <= KEPT_BYTES {
        return text.into();
    }
    let kept = text.floor_char_boundary(KEPT_BYTES);
    let left_out = text.len() - kept;
    format!("{}[… {left_out} bytes left out]", &text[..kept]).into()
}

/// Returns the path of a part while the worker runs.
fn part_path(transcript: &Path, part: u64) -> PathBuf {
    transcript.with_extension(format!("jsonl.{part}"))
}

/// Reads all parts of a transcript that were not joined, in order.
fn read_parts(transcript: &Path) -> Option<String> {
    let mut text = fs::read_to_string(transcript).ok()?;
    let prefix = format!("{}.", transcript.file_name()?.to_str()?);
    let entries = fs::read_dir(transcript.parent()?).ok()?;
    let mut parts: Vec<u64> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.strip_prefix(&prefix)?.parse().ok()
        })
        .collect();
    parts.sort_unstable();
    for part in parts {
        // The last line of the previous part may be cut off, where codeteam was killed.
        text.push('\n');
        text.push_str(&fs::read_to_string(part_path(transcript, part)).ok()?);
    }
    Some(text)
}

/// Returns what a launch that is under way has written so far.
pub(crate) fn read_unfinished(engine: &Engine, run: &RunId, fence: u64) -> Option<String> {
    read_parts(&engine.attempts_folder(run).join(format!("{fence}.jsonl")))
}

/// Adds everything that a transcript says about how its worker worked to a trace.
pub(crate) fn trace_transcript(transcript: &str, trace: &mut TraceBuilder) {
    let mut lines = transcript
        .lines()
        .filter_map(|line| serde_json::from_str::<TranscriptLine<'_>>(line).ok());
    let header = lines.next().filter(|line| line.stream == HEADER);
    let header = header.and_then(|line| serde_json::from_str::<TranscriptHeader>(&line.text).ok());
    let Some(header) = header else {
        return trace.add(TraceStepKind::Error, "its transcript cannot be read");
    };
    if header.plans_first {
        trace.expect_plan();
    }
    let dialect = header.dialect.dialect();
    for line in lines {
        match line.stream {
            PROMPT => trace.add(TraceStepKind::Prompt, &line.text),
            "stdout" => {
                // What is not an event is noise, and kept in the transcript only.
                if let Ok(event) = serde_json::from_str(line.text.trim()) {
                    dialect.trace_event(&event, trace);
                }
            }
            LEFT_OUT | HEADER => trace.add(TraceStepKind::Note, &line.text),
            _ => {}
        }
    }
}

/// Returns the usage that a launch which died with codeteam had reported.
pub(crate) fn spent(engine: &Engine, run: &RunId, fence: u64) -> Option<Usage> {
    let path = engine.attempts_folder(run).join(format!("{fence}.jsonl"));
    let text = read_parts(&path)?;
    let fold = replayed(&text)?;
    let usage = most_of(fold.usage(), recorded_usage(&text));
    let prices = &engine.config.prices;
    Some(crate::workers::prices::with_cost(
        usage,
        fold.model(),
        prices,
    ))
}

/// Returns the usage that was recorded last.
fn recorded_usage(transcript: &str) -> Usage {
    let lines = transcript.lines().rev();
    let mut usages = lines
        .filter_map(|line| serde_json::from_str::<TranscriptLine<'_>>(line).ok())
        .filter(|line| line.stream == USAGE);
    let last = usages.next();
    last.and_then(|line| serde_json::from_str(&line.text).ok())
        .unwrap_or_default()
}

/// Returns the maximum of both: since lines may be missing, neither can be too high.
fn most_of(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.max(other.input_tokens),
        cached_input_tokens: one.cached_input_tokens.max(other.cached_input_tokens),
        output_tokens: one.output_tokens.max(other.output_tokens),
        cost_microusd: one.cost_microusd.max(other.cost_microusd),
    }
}

/// What a line of an output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLineKind {
    /// What the worker writes.
    Text,
    /// The worker uses a tool or changes a file.
    Tool,
    /// Something went wrong, or it was written to standard error.
    Problem,
}

/// Puts single lines of a transcript into words, for people. Each line is read by itself, so that a
/// part of a long transcript can be shown without what came before it.
pub(crate) struct TranscriptReader {
    fold: Option<Box<dyn OutputFold>>,
}

impl TranscriptReader {
    /// Creates a reader for the transcript whose first line this is.
    pub(crate) fn new(header: &str) -> Self {
        let said = serde_json::from_str::<TranscriptLine<'_>>(header).ok();
        let said = said.filter(|said| said.stream == HEADER);
        let header = said.and_then(|said| serde_json::from_str(&said.text).ok());
        Self {
            fold: header.map(header_fold),
        }
    }

    /// Returns what a line says to a person, and what kind of line it is.
    pub(crate) fn describe_line(&mut self, line: &str) -> Option<(LogLineKind, String)> {
        let said: TranscriptLine<'_> = serde_json::from_str(line).ok()?;
        let (fold, is_error) = match said.stream {
            "stdout" => (self.fold.as_mut(), false),
            "stderr" => (self.fold.as_mut(), true),
            LEFT_OUT => return Some((LogLineKind::Problem, said.text.into_owned())),
            HEADER if serde_json::from_str::<TranscriptHeader>(&said.text).is_err() => {
                return Some((LogLineKind::Text, said.text.into_owned()));
            }
            _ => return None,
        };
        let Some(fold) = fold else {
            return Some((LogLineKind::Text, said.text.into_owned()));
        };
        let raw = said.text.as_bytes().to_vec();
        let events = fold.line(&OutputLine {
            stream: if is_error {
                OutputStream::Stderr
            } else {
                OutputStream::Stdout
            },
            raw: &raw,
            text: said.text,
            truncated: false,
        });
        let texts: Vec<String> = events
            .iter()
            .filter_map(WorkerEvent::display_text)
            .collect();
        let is_problem = |event: &WorkerEvent| {
            matches!(event, WorkerEvent::Error { .. } | WorkerEvent::Limit { .. })
        };
        let is_tool = |event: &WorkerEvent| {
            matches!(event, WorkerEvent::Tool { .. } | WorkerEvent::File { .. })
        };
        let kind = if is_error || events.iter().any(is_problem) {
            LogLineKind::Problem
        } else if events.iter().any(is_tool) {
            LogLineKind::Tool
        } else {
            LogLineKind::Text
        };
        (!texts.is_empty()).then(|| (kind, texts.join("\n")))
    }
}

fn header_fold(header: TranscriptHeader) -> Box<dyn OutputFold> {
    header.dialect.dialect().fold(&FoldSettings {
        account: header.dialect.as_str().into(),
        model: header.model,
        before: header.before,
        clock: LocalClock::read(),
        bare: false,
        plans_first: header.plans_first,
    })
}

/// Replays a transcript through the fold of its dialect.
pub(crate) fn replayed(transcript: &str) -> Option<Box<dyn OutputFold>> {
    retold(transcript).map(|(fold, _)| fold)
}

/// Replays a transcript and returns all events as well.
pub(crate) fn retold(transcript: &str) -> Option<(Box<dyn OutputFold>, Vec<WorkerEvent>)> {
    let mut told = Vec::new();
    let mut lines = transcript
        .lines()
        .filter_map(|line| serde_json::from_str::<TranscriptLine<'_>>(line).ok());
    let spoken = lines.next().filter(|said| said.stream == HEADER)?;
    let spoken: TranscriptHeader = serde_json::from_str(&spoken.text).ok()?;
    let mut fold = header_fold(spoken);
    for said in lines {
        let stream = match said.stream {
            "stdout" => OutputStream::Stdout,
            "stderr" => OutputStream::Stderr,
            LEFT_OUT => {
                // The worker may have done anything in the lines that are missing.
                let event = said.text.into_owned();
                told.push(WorkerEvent::Unknown { event });
                continue;
            }
            _ => continue,
        };
        let raw = said.text.as_bytes().to_vec();
        told.extend(fold.line(&OutputLine {
            stream,
            raw: &raw,
            text: said.text,
            truncated: false,
        }));
    }
    Some((fold, told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(folder: &Path) -> Transcript {
        let listening = FoldSettings {
            account: "mine".into(),
            model: None,
            before: Usage::default(),
            clock: LocalClock::read(),
            bare: false,
            plans_first: false,
        };
        let path = folder.join("7.jsonl");
        Transcript::create(&path, dialect::DialectName::Scripted, &listening).unwrap()
    }

    fn text_event(text: &str) -> String {
        serde_json::json!({ "type": "text", "text": text }).to_string()
    }

    /// Says this many megabytes and records what was spent, as a worker's attempt does.
    fn say(transcript: &mut Transcript, megabytes: usize, spent: u64) {
        let line = text_event(&"x".repeat(1 << 10));
        for _ in 0..megabytes << 10 {
            if transcript.line(OutputStream::Stdout, &line) {
                transcript.record_usage(Usage {
                    output_tokens: spent,
                    ..Usage::default()
                });
            }
        }
    }

    fn size(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum()
    }

    #[test]
    fn the_beginning_and_the_end_of_a_long_transcript_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut transcript = create(folder.path());
        transcript.line(OutputStream::Stdout, &text_event("the first"));
        for megabytes in [20, 20, 20] {
            say(&mut transcript, megabytes, 1);
            let most = HEAD_BYTES + 2 * PART_BYTES + (1 << 20);
            assert!(size(folder.path()) < most, "{}", size(folder.path()));
        }
        transcript.line(OutputStream::Stdout, &text_event("the last"));
        let written = transcript.left_out + size(folder.path());
        transcript.join_parts().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let whole = fs::read_to_string(&transcript.path).unwrap();
        assert!(written > 60 << 20, "{written}");
        let left_out = format!("[{} bytes are left out here]", transcript.left_out);
        assert_eq!(whole.matches(&left_out).count(), 1);
        let (_, told) = retold(&whole).unwrap();
        let text = |text: &str| WorkerEvent::Text { text: text.into() };
        assert_eq!(told.first(), Some(&text("the first")));
        assert_eq!(told.last(), Some(&text("the last")));
        // What stands there says that something is not known.
        assert!(told.contains(&WorkerEvent::Unknown { event: left_out }));
    }

    #[test]
    fn a_transcript_that_fits_is_one_file_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut transcript = create(folder.path());
        say(&mut transcript, 20, 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        transcript.join_parts().unwrap();
        let whole = fs::read_to_string(&transcript.path).unwrap();
        assert!(!whole.contains("left out"));
        assert_eq!(whole.lines().count(), 1 + (20 << 10));
    }

    #[test]
    fn what_was_spent_in_lines_that_are_left_out_is_known_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let mut transcript = create(folder.path());
        say(&mut transcript, 30, 5);
        say(&mut transcript, 30, 70);
        // Codeteam dies: nobody joins the parts.
        let text = read_parts(&transcript.path).unwrap();
        assert_eq!(recorded_usage(&text).output_tokens, 70);
        assert!(replayed(&text).is_some());
    }
}
