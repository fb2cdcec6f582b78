//! Identifies the rules for finding secrets and counting tokens by a checksum of their sources, so
//! that results computed with other rules are never reused.

/// Names a source file and includes its bytes.
macro_rules! source {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../", $name)))
    };
}

/// All source files of the rules. Only their checksum ends up in the program.
const SOURCES: &[(&str, &[u8])] = &[
    source!("redact.rs"),
    source!("redact/anchors.rs"),
    source!("redact/assignment.rs"),
    source!("redact/assignment/read.rs"),
    source!("redact/credentials.rs"),
    source!("redact/formats.rs"),
    source!("redact/known_secrets.rs"),
    source!("redact/line.rs"),
    source!("redact/literals.rs"),
    source!("redact/logins.rs"),
    source!("redact/pem.rs"),
    source!("redact/surroundings.rs"),
    source!("redact/value.rs"),
    source!("tokens.rs"),
    source!("tokens/blocks.rs"),
    source!("tokens/classes.rs"),
    source!("tokens/hash.rs"),
    source!("tokens/merge.rs"),
    source!("tokens/pieces.rs"),
    source!("tokens/vocabulary.rs"),
];

/// The FNV-1a checksum of all sources.
pub(super) const SUM: u64 = {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < SOURCES.len() {
        let mut rest: &[u8] = SOURCES[at].1;
        while let [byte, after @ ..] = rest {
            sum = (sum ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
            rest = after;
        }
        at += 1;
    }
    sum
};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::SOURCES;

    #[test]
    fn every_source_counts() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        let mut folders = vec![top.join("redact"), top.join("tokens")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(&top).unwrap().display().to_string());
                }
            }
        }
        found.extend(["redact.rs".to_owned(), "tokens.rs".to_owned()]);
        found.sort();
        let named: Vec<_> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert_eq!(named, found);
    }
}
