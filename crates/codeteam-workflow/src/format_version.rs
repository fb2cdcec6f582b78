//! Checks the `version` key of the files that people write. There is only one format version so
//! far.

use crate::yaml::{Diagnostic, YamlNode};

/// The spellings of the version that this program reads. The configuration, workflows and roles all
/// share them.
const KNOWN: [&str; 2] = ["1", "1.0"];

/// Returns a diagnostic if the file has a `version` that this program does not know.
pub fn version_fault(file: &YamlNode) -> Option<Diagnostic> {
    let said = file.get("version").filter(|said| !said.is_null())?;
    if said
        .as_text()
        .is_some_and(|text| KNOWN.contains(&text.trim()))
    {
        return None;
    }
    let message = format!(
        "`version` is {}, and this codeteam reads version 1",
        said.kind()
    );
    let hint = "it is the version of the format, not your own: write `version: 1`, or update codeteam if \
                the file was written for a later one";
    Some(Diagnostic::at(said.place, message).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{SourceFiles, read};

    #[test]
    fn only_the_version_that_is_known_is_read() {
        let fault = |text: &str| {
            let node = read(&mut SourceFiles::default(), "f.yml", text).unwrap();
            version_fault(&node).map(|fault| fault.message)
        };
        for known in ["version: 1", "version: 1.0", "version:", "name: x"] {
            assert_eq!(fault(known), None, "{known}");
        }
        for (unknown, said) in [
            (
                "version: 99",
                "`version` is `99`, and this codeteam reads version 1",
            ),
            (
                "version: 1.2.0",
                "`version` is `1.2.0`, and this codeteam reads version 1",
            ),
            (
                "version: [1]",
                "`version` is a list, and this codeteam reads version 1",
            ),
        ] {
            assert_eq!(fault(unknown).as_deref(), Some(said));
        }
    }
}
