//! Loads the modules of a crate as syntax trees, without those that are compiled for tests only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, ItemMod};

/// Why the source could not be read.
#[derive(Debug)]
pub enum SourceError {
    /// A file cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is not Rust.
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: syn::Error,
    },
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { path, .. } => write!(f, "could not read `{}`", path.display()),
            Self::Syntax { path, source } => write!(f, "`{}`: {source}", path.display()),
        }
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Syntax { source, .. } => Some(source),
        }
    }
}

/// Lists a folder, sorted by name.
pub(crate) fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let failed = |source| SourceError::Io {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// One module of a crate.
pub(crate) struct ModuleSource {
    /// Its path from the crate's root; empty for the root itself.
    pub(crate) path: Vec<String>,
    /// Its items, without modules and without what is compiled for tests only.
    pub(crate) items: Vec<Item>,
    /// The lines of its file, or 0 for a module inside another one's file.
    pub(crate) lines: usize,
}

/// Reads the modules that are reachable from a crate's root file.
pub(crate) fn load_crate(root: &Path) -> Result<Vec<ModuleSource>, SourceError> {
    let mut modules = Vec::new();
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    load_file(root, &folder, &[], &mut modules)?;
    Ok(modules)
}

fn load_file(
    file: &Path,
    children: &Path,
    path: &[String],
    modules: &mut Vec<ModuleSource>,
) -> Result<(), SourceError> {
    let text = fs::read_to_string(file).map_err(|source| SourceError::Io {
        path: file.to_owned(),
        source,
    })?;
    let syntax = syn::parse_file(&text).map_err(|source| SourceError::Syntax {
        path: file.to_owned(),
        source,
    })?;
    load_items(syntax.items, children, path, text.lines().count(), modules)
}

/// Adds a module, then its children. `children` is the folder that their files are in.
fn load_items(
    items: Vec<Item>,
    children: &Path,
    path: &[String],
    lines: usize,
    modules: &mut Vec<ModuleSource>,
) -> Result<(), SourceError> {
    let mut own = Vec::new();
    let mut nested = Vec::new();
    for item in items {
        match item {
            Item::Mod(module) if !is_for_tests(&module.attrs) => nested.push(module),
            Item::Mod(_) => {}
            item if is_for_tests(item_attributes(&item)) => {}
            item => own.push(item),
        }
    }
    modules.push(ModuleSource {
        path: path.to_vec(),
        items: own,
        lines,
    });
    for module in nested {
        load_module(module, children, path, modules)?;
    }
    Ok(())
}

fn load_module(
    module: ItemMod,
    children: &Path,
    parent: &[String],
    modules: &mut Vec<ModuleSource>,
) -> Result<(), SourceError> {
    let name = module.ident.to_string();
    let mut path = parent.to_vec();
    path.push(name.clone());
    let below = children.join(&name);
    if let Some((_, items)) = module.content {
        return load_items(items, &below, &path, 0, modules);
    }
    let file = [children.join(format!("{name}.rs")), below.join("mod.rs")]
        .into_iter()
        .find(|file| file.is_file());
    match file {
        Some(file) => load_file(&file, &below, &path, modules),
        // It is elsewhere (`#[path]`), and part of another crate or of a build script.
        None => Ok(()),
    }
}

pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test")
    })
}

pub(crate) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
