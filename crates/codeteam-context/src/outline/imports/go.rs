//! Imports of Go.

use tree_sitter::Node;

use super::{ChildVisit, ImportCollector, ImportForm, walk};

/// Finds them.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    walk(root, |node, _| match node.kind() {
        "import_spec" => {
            let path = found.field(node, "path").unwrap_or("");
            let path = path.trim_matches(['"', '`']);
            found.add(node, path, Vec::new(), ImportForm::Import);
            if let Some(import) = found.imports.last_mut()
                && !import.statement.starts_with("import")
            {
                // In a block, one line does not say what it is.
                import.statement.insert_str(0, "import ");
            }
            ChildVisit::Skipped
        }
        // Imports stand at the top, and nowhere else.
        "source_file" | "import_declaration" | "import_spec_list" | "ERROR" => ChildVisit::Seen,
        _ => ChildVisit::Skipped,
    });
}
