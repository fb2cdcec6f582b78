//! Writes a pack to standard output, into a file, onto the clipboard, or nowhere.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read as _, Write};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codeteam_context::pack::{Error, PackReport, is_pack};

use super::{Args, clipboard};
use crate::cli::CliContext;
use crate::output::escape_control;
use codeteam_engine::problem::Problem;

/// The number of bytes needed to recognise a pack.
const START: u64 = 64;

/// The destination of a pack.
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
    /// A pipe or device, which is written to directly.
    Device(PathBuf),
}

impl PackTarget {
    /// Returns the destination given by the arguments, if it may be written to.
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
            Some(path) => file_destination(&scene.folder.join(path), path, args.force)?,
            None if scene.json => PackDestination::Nowhere,
            None => PackDestination::Standard,
        };
        Ok(Self {
            place,
            interrupted: Arc::default(),
            search: scene.env.path.clone(),
        })
    }

    /// Returns the files that are this pack, or are about to be.
    pub(super) fn output_files(&self) -> Vec<PathBuf> {
        match &self.place {
            PackDestination::File(path) => vec![path.clone()],
            // A shell may have redirected it into the folder that is packed.
            PackDestination::Standard => vec![PathBuf::from("/proc/self/fd/1")],
            PackDestination::Clipboard | PackDestination::Nowhere | PackDestination::Device(_) => {
                Vec::new()
            }
        }
    }

    /// Returns true if the user has interrupted the command.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Writes a pack. Returns `None` if its reader has gone away.
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
                clipboard::copy_to_clipboard(&self.search, &text)?;
                return Ok(Some(report));
            }
            PackDestination::Device(path) => {
                let mut opened = File::options()
                    .write(true)
                    .open(path)
                    .map_err(|error| write_problem(path, &error))?;
                pack(&mut opened)
            }
            PackDestination::File(path) => return self.write_to_file(path, pack).map(Some),
        };
        match written {
            Ok(report) => Ok(Some(report)),
            Err(Error::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(problem(error)),
        }
    }

    fn write_to_file(
        &self,
        path: &Path,
        pack: impl FnOnce(&mut dyn Write) -> Result<PackReport, Error>,
    ) -> Result<PackReport, Problem> {
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // Without the handler, a half-written file would stay behind.
            let _ = signal_hook::flag::register(signal, Arc::clone(&self.interrupted));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .prefix(".codeteam-pack-")
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| write_problem(path, &error))?;
        let mut out = InterruptibleWriter {
            out: file.as_file_mut(),
            stop: &self.interrupted,
        };
        let report = match pack(&mut out) {
            Err(_) if self.interrupted() => return Ok(PackReport::default()),
            written => written.map_err(problem)?,
        };
        file.persist(path)
            .map_err(|error| write_problem(path, &error.error))?;
        Ok(report)
    }
}

/// Determines the kind of a file on the command line, and whether it may be overwritten.
fn file_destination(path: &Path, said: &Path, force: bool) -> Result<PackDestination, Problem> {
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
            "`{}` exists and is not a pack, so it was not overwritten",
            said.display()
        ))
        .hint("name another file, or add `--force`"));
    }
    // A link is kept, and its target is written.
    Ok(PackDestination::File(
        path.canonicalize().unwrap_or_else(|_| path.to_owned()),
    ))
}

fn write_problem(path: &Path, error: &io::Error) -> Problem {
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

/// Fails as soon as the user interrupts.
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

/// Writes to a terminal with the control characters of files made harmless.
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
        let text = escape_control(&String::from_utf8_lossy(text)).into_owned();
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
