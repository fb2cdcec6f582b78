//! How many tokens a repository's files have, without writing them anywhere.

use std::io;
use std::path::Path;

use super::{Error, Options, Report, pack};
use crate::files::Files;
use crate::redact::Redactor;
use crate::tree::Progress;

/// What a pack of these files would have in it.
pub fn weigh(
    files: &impl Files,
    options: &Options,
    redactor: &Redactor,
    cache: Option<&Path>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, Error> {
    pack(files, options, redactor, cache, &mut io::sink(), progress)
}
