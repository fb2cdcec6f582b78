//! Extracts imports of Go.

use tree_sitter::Node;

use super::{ChildVisit, ImportCollector, ImportForm, walk};

/// Finds all imports.
pub(super) fn find(root: Node<'_>, found: &mut ImportCollector<'_>) {
    walk(root, |node, _| match node.kind() {
        "import_spec" => {
            let path = found.field(node, "path").unwrap_or("");
            let path = path.trim_matches(['"', '`']);
            found.add(node, path, Vec::new(), ImportForm::Import);
            if let Some(import) = found.imports.last_mut()
                && !import.statement.starts_with("import")
            {
                // Inside an import block the line alone does not say what it is.
                import.statement.insert_str(0, "import ");
            }
            ChildVisit::Skipped
        }
        // Imports are only at the top level.
        "source_file" | "import_declaration" | "import_spec_list" | "ERROR" => ChildVisit::Seen,
        _ => ChildVisit::Skipped,
    });
}
