//! The version of the format in which people write files: there is one so far.

use crate::yaml::{Diagnostic, YamlNode};

/// How the version that this program reads is written, in the configuration, workflows and roles alike.
const KNOWN: [&str; 2] = ["1", "1.0"];

/// Why a file cannot be read by its `version`, if it says one that this program does not know.
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
    Some(Diagnostic::at(said.place, message).hint(hint))
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
