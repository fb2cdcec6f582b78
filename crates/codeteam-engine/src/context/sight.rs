//! What is known of a project while a prompt is made. What costs something is found out when a part
//! asks for it, and once.

use codeteam_context::files::Files;
use codeteam_context::strategy::Project;

/// A project, seen for one task.
pub(crate) struct Sight<'a> {
    files: &'a dyn Files,
}

impl<'a> Sight<'a> {
    /// Sees a project by its files.
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files }
    }

    /// The map of the repository within so many tokens.
    pub(crate) fn map(&self, _tokens: usize) -> String {
        String::new()
    }
}

impl Project for Sight<'_> {
    fn files(&self) -> &dyn Files {
        self.files
    }

    fn imports_of(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }

    fn importers_of(&self, _path: &str, _steps: usize) -> Vec<String> {
        Vec::new()
    }

    fn relevant(&self, _limit: usize) -> Vec<String> {
        Vec::new()
    }

    fn is_interface(&self, _path: &str) -> bool {
        false
    }
}
