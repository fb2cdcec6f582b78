//! The name of the rules by which secrets are found and tokens counted: the sum of their sources. What
//! was worked out by other rules must not be taken for theirs.

/// A source and its name.
macro_rules! source {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../", $name)))
    };
}

/// All of them. Only their sum is in the program.
const SOURCES: &[(&str, &[u8])] = &[
    source!("redact.rs"),
    source!("redact/anchors.rs"),
    source!("redact/assignment.rs"),
    source!("redact/assignment/read.rs"),
    source!("redact/carried.rs"),
    source!("redact/formats.rs"),
    source!("redact/known.rs"),
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

/// Their sum, by FNV-1a.
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
