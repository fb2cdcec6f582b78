//! Where a pack goes: to standard output, into a file, onto the clipboard, or nowhere.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codeteam_context::pack::{Error, PackReport, is_pack};

use super::{Args, clipboard};
use crate::cli::CliContext;
use crate::output::harmless;
use crate::problem::Problem;

/// How much of a file must be seen to tell a pack.
const START: u64 = 64;

/// Where a pack goes.
pub(super) struct PackTarget {
    place: PackDestination,
    interrupted: Arc<AtomicBool>,
    search: std::ffi::OsString,
}

enum PackDestination {
    Standard,
    Clipboard,
    /// Only the report is wanted.
    Nowhere,
    /// A file, which appears when all of it is written.
    File(PathBuf),
    /// A pipe or a device, which is written to as it is.
    Device(PathBuf),
}

impl PackTarget {
    /// Where the arguments say, if it may be written there.
    pub(super) fn new(args: &Args, scene: &CliContext) -> Result<Self, Problem> {
        let place = match &args.output {
            _ if args.copy => PackDestination::Clipboard,
            _ if args.tree => PackDestination::Nowhere,
            Some(path) if path.as_os_str() == "-" && scene.json => {
                let problem = "the pack and its report cannot both go to standard output";
                return Err(Problem::user(problem).hint(
                    "`--json` alone prints the report; with `--output FILE` the pack goes there",
                ));
            }
            Some(path) if path.as_os_str() == "-" => PackDestination::Standard,
            Some(path) => file(&scene.folder.join(path), path, args.force)?,
            None if scene.json => PackDestination::Nowhere,
            None => PackDestination::Standard,
        };
        Ok(Self {
            place,
            interrupted: Arc::default(),
            search: scene.env.path.clone(),
        })
    }

    /// Files that are this pack, or about to be.
    pub(super) fn own_files(&self) -> Vec<PathBuf> {
        match &self.place {
            PackDestination::File(path) => vec![path.clone()],
            // A shell may have sent it into the folder that is packed.
            PackDestination::Standard => vec![PathBuf::from("/proc/self/fd/1")],
            PackDestination::Clipboard | PackDestination::Nowhere | PackDestination::Device(_) => {
                Vec::new()
            }
        }
    }

    /// Whether the user wants it no longer.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Has a pack written. Nothing comes back if its reader went away.
    pub(super) fn write(
        &self,
        pack: impl FnOnce(&mut dyn Write) -> Result<PackReport, Error>,
    ) -> Result<Option<PackReport>, Problem> {
        let written = match &self.place {
            PackDestination::Standard if io::stdout().is_terminal() => {
                let mut out = SanitizingWriter {
                    out: io::stdout().lock(),
                    rest: Vec::new(),
                };
                pack(&mut out)
            }
            PackDestination::Standard => pack(&mut io::stdout().lock()),
            PackDestination::Nowhere => pack(&mut io::sink()),
            PackDestination::Clipboard => {
                let mut text = Vec::new();
                let report = pack(&mut text).map_err(problem)?;
                clipboard::copy(&self.search, &text)?;
                return Ok(Some(report));
            }
            PackDestination::Device(path) => {
                let mut opened = File::options()
                    .write(true)
                    .open(path)
                    .map_err(|error| cannot(path, &error))?;
                pack(&mut opened)
            }
            PackDestination::File(path) => return self.to_file(path, pack).map(Some),
        };
        match written {
            Ok(report) => Ok(Some(report)),
            Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(problem(error)),
        }
    }

    fn to_file(
        &self,
        path: &Path,
        pack: impl FnOnce(&mut dyn Write) -> Result<PackReport, Error>,
    ) -> Result<PackReport, Problem> {
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // Without it, what is half written stays behind.
            let _ = signal_hook::flag::register(signal, Arc::clone(&self.interrupted));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".codeteam-pack-")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| cannot(path, &error))?;
        let mut out = InterruptibleWriter {
            out: file.as_file_mut(),
            stop: &self.interrupted,
        };
        let report = match pack(&mut out) {
            Err(_) if self.interrupted() => return Ok(PackReport::default()),
            written => written.map_err(problem)?,
        };
        file.persist(path)
            .map_err(|error| cannot(path, &error.error))?;
        Ok(report)
    }
}

/// What a file on the command line is, and whether it may be written over.
fn file(path: &Path, said: &Path, force: bool) -> Result<PackDestination, Problem> {
    let Ok(found) = path.metadata() else {
        let folder = path.parent().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(
                Problem::user(format!("`{}` cannot be written", said.display()))
                    .hint("its folder is not there; make it first"),
            );
        }
        return Ok(PackDestination::File(path.to_owned()));
    };
    let kind = found.file_type();
    if kind.is_dir() {
        return Err(Problem::user(format!("`{}` is a folder", said.display()))
            .hint("name a file to be written"));
    }
    if kind.is_fifo() || kind.is_char_device() || kind.is_socket() || kind.is_block_device() {
        return Ok(PackDestination::Device(path.to_owned()));
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    if !force && !(read.is_ok() && (start.is_empty() || is_pack(&start))) {
        return Err(Problem::user(format!(
            "`{}` is there and is no pack, so it was not written over",
            said.display()
        ))
        .hint("name another file, or add `--force`"));
    }
    // Through a link, what it leads to is written, and the link stays.
    Ok(PackDestination::File(
        path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    ))
}

fn cannot(path: &Path, error: &io::Error) -> Problem {
    Problem::environment(format!("`{}` cannot be written", path.display())).caused_by(error)
}

fn problem(error: Error) -> Problem {
    match error {
        Error::Budget { .. } => Problem::user(error.to_string()).hint(
            "give it more, leave out the list of files (`--no-list`), or count with `--tree` first",
        ),
        Error::Write(error) => Problem::environment("could not write the pack").caused_by(&error),
    }
}

/// Ends with an error as soon as the user says so.
struct InterruptibleWriter<'w> {
    out: &'w mut File,
    stop: &'w AtomicBool,
}

impl Write for InterruptibleWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A terminal, on which files only appear: their control characters do nothing.
struct SanitizingWriter<W> {
    out: W,
    /// The start of a character whose end is still to come.
    rest: Vec<u8>,
}

impl<W: Write> Write for SanitizingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let whole = match str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let (text, rest) = self.rest.split_at(whole);
        let text = harmless(&String::from_utf8_lossy(text)).into_owned();
        self.rest = rest.to_vec();
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_shown_no_control_characters() {
        let mut shown = SanitizingWriter {
            out: Vec::new(),
            rest: Vec::new(),
        };
        for byte in "é\u{1b}[2Jx\u{9b}名\n".bytes() {
            shown.write_all(&[byte]).unwrap();
        }
        assert_eq!(
            String::from_utf8(shown.out).unwrap(),
            "é\u{fffd}[2Jx\u{fffd}名\n"
        );
    }
}
