//! What a worker says in one attempt, kept line by line while it says it.
//!
//! A worker can say more than anybody wants to keep: a test that prints without end, or a loop. Its
//! beginning and its end are kept, and a line between them says how many bytes are left out. While
//! the worker runs, the beginning is one file and the end is in parts beside it, of which the last
//! two exist at any time; when it has ended they become one body.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use codeteam_core::budget::Usage;
use codeteam_core::ids::{BodyId, RunId};
use serde::{Deserialize, Serialize};

use super::files::failed;
use crate::dialect::{self, FoldSettings, LocalClock, OutputFold, WorkerEvent};
use crate::engine::Engine;
use crate::perform::Error;
use crate::process::{OutputLine, OutputStream};

/// How much of one line a transcript keeps.
const KEPT_BYTES: usize = 1 << 20;

/// As much of the beginning is kept ...
const HEAD_BYTES: u64 = 24 << 20;

/// ... and at least as much of the end, if there is more: it is where a worker says what went wrong.
const PART_BYTES: u64 = 4 << 20;

/// The stream of the line that says how much is left out.
const LEFT_OUT: &str = "left_out";

/// The stream of lines that say what the worker had spent when a part was begun.
const USAGE: &str = "usage";

pub(super) fn lock(transcript: &Mutex<Transcript>) -> MutexGuard<'_, Transcript> {
    transcript.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a worker said, line by line, on disk as it says it; what it asked of the network too.
pub(super) struct Transcript {
    path: PathBuf,
    /// The part that is written to.
    file: BufWriter<File>,
    /// Which part that is; 0 is the beginning.
    part: u64,
    /// How long it may become, and how long it is.
    room: u64,
    written: u64,
    /// How long the part before it is, unless that is the beginning.
    before: u64,
    left_out: u64,
    /// Whether a part has begun in which nobody has recorded yet what the worker had spent.
    owes_usage: bool,
    failed: Option<io::Error>,
}

#[derive(Serialize, Deserialize)]
struct TranscriptLine<'a> {
    stream: &'a str,
    text: Cow<'a, str>,
}

/// The first line: how the others are to be read.
#[derive(Serialize, Deserialize)]
struct TranscriptHeader {
    dialect: dialect::DialectName,
    model: Option<String>,
    before: Usage,
}

impl Transcript {
    pub(super) fn create(
        path: &Path,
        dialect: dialect::DialectName,
        listening: &FoldSettings,
    ) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        }
        let file = File::create(path).map_err(failed("write the transcript", path))?;
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
        };
        let spoken = serde_json::to_string(&spoken).unwrap_or_default();
        transcript.write("codeteam", spoken.into());
        Ok(transcript)
    }

    /// Adds a line of the worker. `true` if a new part has begun: what the parts before it told of the
    /// worker's spending may be left out later, so it is to be recorded now.
    pub(super) fn line(&mut self, stream: OutputStream, text: &str) -> bool {
        let stream = match stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        if text.len() <= KEPT_BYTES {
            self.write(stream, text.into());
        } else {
            let kept = text.floor_char_boundary(KEPT_BYTES);
            let left_out = text.len() - kept;
            let text = format!("{}[… {left_out} bytes left out]", &text[..kept]);
            self.write(stream, text.into());
        }
        self.owes_usage
    }

    /// Records what the worker has spent, for the case that codeteam dies before the worker ends.
    pub(super) fn record_usage(&mut self, usage: Usage) {
        self.owes_usage = false;
        let usage = serde_json::to_string(&usage).unwrap_or_default();
        self.write(USAGE, usage.into());
    }

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
        // What a worker has spent must be known even if codeteam dies the next moment.
        self.file.flush()
    }

    /// Goes on in a new file. Of those after the beginning, only the last one is kept besides.
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

    pub(super) fn keep(&mut self, engine: &Engine) -> Result<BodyId, Error> {
        if let Some(source) = self.failed.take() {
            return Err(failed("write the transcript", &self.path)(source));
        }
        let joined = self.join_parts();
        joined.map_err(failed("write the transcript", &self.path))?;
        Ok(BodyId(engine.bodies.adopt(&self.path)?))
    }

    /// Makes one file of all parts.
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

/// Where a part of the end of a transcript is while the worker runs.
fn part_path(transcript: &Path, part: u64) -> PathBuf {
    transcript.with_extension(format!("jsonl.{part}"))
}

/// All parts of a transcript that codeteam has not come to join, in their order.
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
        // The last line of a part before may be cut, where codeteam was killed.
        text.push('\n');
        text.push_str(&fs::read_to_string(part_path(transcript, part)).ok()?);
    }
    Some(text)
}

/// What a launch that died with codeteam had said it spent.
pub(crate) fn spent(engine: &Engine, run: &RunId, fence: u64) -> Option<Usage> {
    let path = engine.attempts_of(run).join(format!("{fence}.jsonl"));
    let text = read_parts(&path)?;
    let fold = replayed(&text)?;
    let usage = most_of(fold.usage(), recorded_usage(&text));
    let prices = &engine.config.prices;
    Some(crate::workers::prices::priced(usage, fold.model(), prices))
}

/// What the worker had spent by the last time it was recorded.
fn recorded_usage(transcript: &str) -> Usage {
    let lines = transcript.lines().rev();
    let mut usages = lines
        .filter_map(|line| serde_json::from_str::<TranscriptLine<'_>>(line).ok())
        .filter(|line| line.stream == USAGE);
    let last = usages.next();
    last.and_then(|line| serde_json::from_str(&line.text).ok())
        .unwrap_or_default()
}

/// The larger of both: with lines left out, neither can be too much.
fn most_of(one: Usage, other: Usage) -> Usage {
    Usage {
        input_tokens: one.input_tokens.max(other.input_tokens),
        cached_input_tokens: one.cached_input_tokens.max(other.cached_input_tokens),
        output_tokens: one.output_tokens.max(other.output_tokens),
        cost_microusd: one.cost_microusd.max(other.cost_microusd),
    }
}

/// What a worker said, heard once more from its transcript.
pub(crate) fn replayed(transcript: &str) -> Option<Box<dyn OutputFold>> {
    retold(transcript).map(|(fold, _)| fold)
}

/// The same, with all that it told.
pub(crate) fn retold(transcript: &str) -> Option<(Box<dyn OutputFold>, Vec<WorkerEvent>)> {
    let mut told = Vec::new();
    let mut lines = transcript
        .lines()
        .filter_map(|line| serde_json::from_str::<TranscriptLine<'_>>(line).ok());
    let spoken = lines.next().filter(|said| said.stream == "codeteam")?;
    let spoken: TranscriptHeader = serde_json::from_str(&spoken.text).ok()?;
    let mut fold = spoken.dialect.dialect().fold(&FoldSettings {
        account: spoken.dialect.as_str().into(),
        model: spoken.model,
        before: spoken.before,
        clock: LocalClock::read(),
        bare: false,
    });
    for said in lines {
        let stream = match said.stream {
            "stdout" => OutputStream::Stdout,
            "stderr" => OutputStream::Stderr,
            LEFT_OUT => {
                // Whatever the worker did there, nobody can say that it did not.
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
