//! Resolves a path of the model to a place in the work tree.
//!
//! The sandbox guards the rest of the system; this gives the model an error that it can understand.

use std::path::{Component, Path, PathBuf};

/// The real place of a path, which is inside the root even if links are
/// followed. An absolute one is fine if it leads there.
pub(super) fn resolve_inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let outside = || format!("`{path}` is not inside the work tree");
    let mut place = PathBuf::new();
    for part in root.join(path).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            other => place.push(other),
        }
    }
    // What does not exist yet cannot lead out; what is above it can.
    let mut existing = place.as_path();
    loop {
        match existing.canonicalize() {
            Ok(real) if real.starts_with(root) => return Ok(place),
            Ok(_) => return Err(outside()),
            Err(_) if existing.is_symlink() => {
                return Err(format!("`{path}` is a link that leads nowhere"));
            }
            Err(_) => existing = existing.parent().ok_or_else(outside)?,
        }
    }
}

/// The same for something that is going to be written.
pub(super) fn resolve_for_writing(root: &Path, path: &str) -> Result<PathBuf, String> {
    let place = resolve_inside(root, path)?;
    if place == root || path.ends_with('/') {
        return Err(format!("`{path}` is not the name of a file"));
    }
    let mut parts = place.strip_prefix(root).unwrap_or(&place).components();
    if parts.any(|part| part.as_os_str() == ".git") {
        return Err(format!("`{path}` belongs to git and is not yours to write"));
    }
    Ok(place)
}

/// A place as the model names it.
pub(super) fn display_path(root: &Path, place: &Path) -> String {
    let relative = place.strip_prefix(root).unwrap_or(place);
    if relative.as_os_str().is_empty() {
        return ".".to_owned();
    }
    relative.display().to_string()
}
