//! The files that ship with codeteam, as they are in the repository.

/// A file: its path below `data`, and its text.
type BuiltInFile = (&'static str, &'static str);

/// All files, sorted by path.
const FILES: &[BuiltInFile] = include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// Returns the default configuration.
pub fn config() -> &'static str {
    text("config.yml").unwrap_or_default()
}

/// Returns the levels by which a risk is shown where no approval policy is configured.
pub(crate) fn default_approval_gates() -> &'static str {
    text("approval_gates.yml").unwrap_or_default()
}

/// Returns the text of a file.
pub fn text(path: &str) -> Option<&'static str> {
    let found = FILES.binary_search_by_key(&path, |(known, _)| known).ok()?;
    Some(FILES[found].1)
}

/// Returns the files of a folder with this ending, by their names without folder and ending.
pub fn folder(
    folder: &'static str,
    ending: &'static str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| {
        let name = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((name.strip_suffix(ending)?, *text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_path() {
        assert!(text("roles/adversarial/qa.yml").is_some());
        assert!(text("roles/nobody.yml").is_none());
        assert!(folder("roles", ".yml").any(|(name, _)| name == "strict/coder"));
    }
}
