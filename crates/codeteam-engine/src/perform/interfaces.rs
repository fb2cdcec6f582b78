//! Writes the interfaces of a phase to their files.

use std::path::PathBuf;

use codeteam_core::frame::Tip;
use codeteam_core::ids::Tree;
use codeteam_core::input::Input;
use codeteam_core::locks::{InterfaceFile, LockedFile};

use super::{Error, Job, JobContext, frame_change, oid};
use crate::clock::now;
use codeteam_host::git::TreeEdit;

/// The mode of a regular file that cannot be executed.
const PLAIN_FILE: u32 = 0o100_644;

/// Writes interfaces into the tree of a base. The result depends on nothing else, so that it can be
/// repeated.
pub(super) fn write_interfaces(
    job: &Job,
    base: &Tip,
    files: &[InterfaceFile],
    context: &JobContext<'_>,
) -> Result<Input, Error> {
    let mut written = Input::InterfacesWritten {
        at: now(),
        id: job.id.clone(),
        tree: base.tree.clone(),
        change: None,
        files: Vec::new(),
    };
    if files.is_empty() {
        return Ok(written);
    }
    let workspace = job.prepare(context.engine, &base.tree)?;
    let from = oid(&base.tree.0)?;
    let (mut edits, mut locked) = (Vec::new(), Vec::new());
    for file in files {
        let blob = workspace.write_blob(file.content.as_bytes())?;
        locked.push(LockedFile {
            name: file.name.clone(),
            path: file.path.clone(),
            blob: blob.as_str().to_owned(),
        });
        edits.push(TreeEdit {
            path: PathBuf::from(&file.path),
            content: Some((PLAIN_FILE, blob)),
        });
    }
    let made = workspace.tree_with(&from, &edits)?;
    if let Input::InterfacesWritten {
        tree,
        change,
        files,
        ..
    } = &mut written
    {
        if made != from {
            let diff = workspace.diff(&from, &made)?;
            let by = job.id.without_fence();
            *change = Some(Box::new(frame_change(context.engine, by, &diff)?));
            *tree = Tree(made.as_str().to_owned());
        }
        *files = locked;
    }
    Ok(written)
}
