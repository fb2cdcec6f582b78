//! The files that ship with codeteam, as they are in the repository.

/// A file: its path below `data`, and its text.
type BuiltInFile = (&'static str, &'static str);

/// All of them, in the order of their paths.
const FILES: &[BuiltInFile] = include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// The default configuration.
pub fn config() -> &'static str {
    text("config.yml").unwrap_or_default()
}

/// The text of a file.
pub fn text(path: &str) -> Option<&'static str> {
    let found = FILES.binary_search_by_key(&path, |(known, _)| known).ok()?;
    Some(FILES[found].1)
}

/// The files of a folder that end in a way, by their names without folder and ending.
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
