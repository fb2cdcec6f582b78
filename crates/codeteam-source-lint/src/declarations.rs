//! Where every name is declared, so that a document can promise that one search finds it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use crate::modules::{SourceError, is_for_tests, list_folder};

/// The files that declare a name, by name; a file stands there once for each declaration. Variants
/// are under `Enum::Variant`.
pub type DeclarationIndex = BTreeMap<String, Vec<PathBuf>>;

/// Finds the declarations of functions, methods, types, traits and variants in the source of every
/// crate below `crates`, tests left out. Paths are relative to the workspace.
pub fn index_declarations(root: &Path) -> Result<DeclarationIndex, SourceError> {
    let mut index = DeclarationIndex::new();
    for folder in list_folder(&root.join("crates"))? {
        index_folder(root, &folder.join("src"), &mut index)?;
    }
    Ok(index)
}

fn index_folder(
    root: &Path,
    folder: &Path,
    index: &mut DeclarationIndex,
) -> Result<(), SourceError> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in list_folder(folder)? {
        let name = path.file_stem().unwrap_or_default();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            index_folder(root, &path, index)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).map_err(|source| SourceError::Io {
                path: path.clone(),
                source,
            })?;
            let syntax = syn::parse_file(&text).map_err(|source| SourceError::Syntax {
                path: path.clone(),
                source,
            })?;
            let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
            DeclarationCollector { file, index }.visit_file(&syntax);
        }
    }
    Ok(())
}

struct DeclarationCollector<'a> {
    file: PathBuf,
    index: &'a mut DeclarationIndex,
}

impl DeclarationCollector<'_> {
    fn add(&mut self, name: String) {
        let files = self.index.entry(name).or_default();
        files.push(self.file.clone());
    }
}

impl<'ast> Visit<'ast> for DeclarationCollector<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.add(signature.ident.to_string());
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(item.ident.to_string());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(item.ident.to_string());
        for variant in &item.variants {
            self.add(format!("{}::{}", item.ident, variant.ident));
        }
    }
}
