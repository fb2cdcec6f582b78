//! Resolves imports of Rust: to the file of the deepest module that a path names.
//!
//! The modules are those that `mod x;` declares, starting at the roots of each package. A file that
//! nothing declares is assigned the module that its path suggests.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::manifests::{self, CargoToml};
use super::paths::{PathTable, ancestors, folder_of, join, join_below, name_of};
use super::standard_libraries::is_rust_library;
use super::{ImportTarget, ManifestReader, SourceFile};
use crate::language::Language;
use crate::outline::{Import, ImportForm};

/// The number of file visits allowed while following modules, beyond one per file.
const MAX_VISITS: usize = 200_000;

/// The largest number of path segments considered.
const MAX_PARTS: usize = 32;

/// Resolves Rust imports.
pub(super) struct RustResolver<'a> {
    /// The crate roots.
    roots: Vec<u32>,
    /// The files of modules, by root and module path.
    modules: HashMap<(u32, String), u32>,
    /// The root and module path of each file.
    owners: HashMap<u32, (u32, String)>,
    /// The roots of libraries, by their names in code.
    libraries: HashMap<String, u32>,
    /// The dependencies: the name in code, and the package's name.
    needs: BTreeMap<String, String>,
    paths: &'a PathTable<'a>,
}

impl<'a> RustResolver<'a> {
    pub(super) fn new(
        paths: &'a PathTable<'a>,
        sources: &[&SourceFile<'_>],
        read: &ManifestReader<'_>,
    ) -> Self {
        let mut rust = Self {
            roots: Vec::new(),
            modules: HashMap::new(),
            owners: HashMap::new(),
            libraries: HashMap::new(),
            needs: BTreeMap::new(),
            paths,
        };
        let files = paths.files_in_language(Language::Rust);
        let files: Vec<u32> = files.map(|(number, _)| number).collect();
        if files.is_empty() {
            return rust;
        }
        let mut packages = HashMap::new();
        for path in paths.paths_named("Cargo.toml") {
            let found = read(path).and_then(|text| manifests::parse_cargo_toml(&text));
            packages.insert(folder_of(path), found.unwrap_or_default());
        }
        rust.find_roots(&files, &packages);
        rust.follow_modules(sources);
        rust.place_undeclared_files(&files);
        rust
    }

    /// Finds the crate roots, libraries first.
    fn find_roots(&mut self, files: &[u32], packages: &HashMap<&str, CargoToml>) {
        let mut others = Vec::new();
        let mut said = HashSet::new();
        for (folder, package) in packages {
            said.extend(package.roots.iter().filter_map(|path| join(folder, path)));
            self.needs.extend(package.needs.iter().cloned());
        }
        for file in files {
            let path = self.paths.path(*file);
            let package =
                ancestors(folder_of(path)).find_map(|folder| Some((folder, packages.get(folder)?)));
            let Some((folder, package)) = package else {
                // Without a manifest, roots are found by convention only.
                match name_of(path) {
                    "lib.rs" => self.roots.push(*file),
                    "main.rs" => others.push(*file),
                    _ => {}
                }
                continue;
            };
            let inner = path[folder.len()..].trim_start_matches('/');
            let library = package.library_path.as_deref().unwrap_or("src/lib.rs");
            if inner == library.trim_start_matches("./") {
                self.roots.push(*file);
                let name = package.library.as_ref().or(package.name.as_ref());
                if let Some(name) = name {
                    self.libraries.entry(name.clone()).or_insert(*file);
                }
            } else if is_root(inner) || said.contains(path) {
                others.push(*file);
            }
        }
        self.roots.extend(others);
    }

    /// Follows all `mod x;` declarations from the roots.
    fn follow_modules(&mut self, sources: &[&SourceFile<'_>]) {
        let mut visits = sources.len() + MAX_VISITS;
        for root in self.roots.clone() {
            let mut seen = HashSet::new();
            let mut open = VecDeque::from([(root, String::new(), ModuleNesting::Beside)]);
            while let Some((file, module, nesting)) = open.pop_front() {
                let Some(left) = visits.checked_sub(1) else {
                    return;
                };
                visits = left;
                if !seen.insert(file) {
                    continue;
                }
                self.modules.entry((root, module.clone())).or_insert(file);
                let owner = (root, module.clone());
                self.owners.entry(file).or_insert(owner);
                let imports = sources
                    .get(super::node_index(file))
                    .map_or(&[][..], |s| s.imports);
                for part in imports
                    .iter()
                    .filter(|import| import.form == ImportForm::Part)
                {
                    if let Some((child, name, nesting)) = self.declared_module(file, nesting, part)
                    {
                        let module = in_module(&module, &name);
                        open.push_back((child, module, nesting));
                    }
                }
            }
        }
    }

    /// Returns the file that a `mod x;` declares, the name of its module, and where its own
    /// submodules are.
    fn declared_module(
        &self,
        file: u32,
        nesting: ModuleNesting,
        part: &Import,
    ) -> Option<(u32, String, ModuleNesting)> {
        let path = self.paths.path(file);
        let folder = match nesting {
            ModuleNesting::Beside => folder_of(path).to_owned(),
            ModuleNesting::Below => path.strip_suffix(".rs")?.to_owned(),
        };
        if let Some(said) = part.module.strip_prefix("./") {
            let name = part.names.first()?.clone();
            let places = [folder_of(path), folder.as_str()];
            let mut found = places
                .iter()
                .filter_map(|folder| self.paths.find(&join(folder, said)?));
            return Some((found.next()?, name, ModuleNesting::Beside));
        }
        let name = part.module.strip_prefix("self::")?;
        let base = join_below(&folder, &name.replace("::", "/"));
        let found = self.paths.find(&format!("{base}.rs"));
        let found = found.map(|file| (file, ModuleNesting::Below));
        let (file, nesting) = found.or_else(|| {
            let file = self.paths.find(&format!("{base}/mod.rs"))?;
            Some((file, ModuleNesting::Beside))
        })?;
        Some((file, name.to_owned(), nesting))
    }

    /// Assigns undeclared files the module that their paths suggest.
    fn place_undeclared_files(&mut self, files: &[u32]) {
        let mut folders: HashMap<&str, u32> = HashMap::new();
        for root in &self.roots {
            // The first root is the library, if there is one.
            let folder = folder_of(self.paths.path(*root));
            folders.entry(folder).or_insert(*root);
        }
        for file in files {
            if self.owners.contains_key(file) {
                continue;
            }
            let path = self.paths.path(*file);
            let above = ancestors(folder_of(path));
            let found = above
                .into_iter()
                .find_map(|folder| Some((folder, *folders.get(folder)?)));
            let Some((folder, root)) = found else {
                continue;
            };
            let inner = path[folder.len()..].trim_start_matches('/');
            let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
            let module = inner.replace('/', "::");
            self.modules.entry((root, module.clone())).or_insert(*file);
            self.owners.insert(*file, (root, module));
        }
    }

    pub(super) fn resolve(&self, file: u32, import: &Import) -> ImportTarget {
        if import.form == ImportForm::Part {
            let path = self.paths.path(file);
            let is_root = self
                .owners
                .get(&file)
                .is_some_and(|(root, _)| *root == file);
            let is_beside = is_root || name_of(path) == "mod.rs";
            let nestings = if is_beside {
                [ModuleNesting::Beside, ModuleNesting::Below]
            } else {
                [ModuleNesting::Below, ModuleNesting::Beside]
            };
            let mut found = nestings
                .into_iter()
                .filter_map(|nesting| self.declared_module(file, nesting, import));
            let found = found.next().map(|(file, ..)| file);
            return ImportTarget::from_file(found).unwrap_or(ImportTarget::Nowhere);
        }
        let parts: Vec<&str> = import.module.split("::").take(MAX_PARTS).collect();
        if import.names.is_empty() {
            return self.resolve_path(file, &parts);
        }
        let mut found = Vec::new();
        let mut last = ImportTarget::Here;
        for name in &import.names {
            let mut whole = parts.clone();
            if name != "self" && name != "*" {
                whole.push(name);
            }
            match self.resolve_path(file, &whole) {
                ImportTarget::To(files) => found.extend(files),
                other => last = other,
            }
        }
        if found.is_empty() {
            last
        } else {
            ImportTarget::To(found)
        }
    }

    /// Resolves a path.
    fn resolve_path(&self, file: u32, parts: &[&str]) -> ImportTarget {
        let Some((first, rest)) = parts.split_first() else {
            return ImportTarget::Here;
        };
        let owner = self.owners.get(&file);
        match (*first, owner) {
            ("crate", Some((root, _))) => self.deepest_module(*root, "", rest),
            ("self" | "super", Some((root, module))) => {
                let ups = parts.iter().take_while(|part| is_up(part)).count();
                let mut module = module.as_str();
                for _ in parts[..ups].iter().filter(|part| **part == "super") {
                    module = module.rsplit_once("::").map_or("", |(above, _)| above);
                }
                self.deepest_module(*root, module, &parts[ups..])
            }
            // Inside a macro, or in a file that belongs to no crate.
            ("crate" | "self" | "super" | "$crate", _) => ImportTarget::Here,
            ("", _) => match rest.split_first() {
                Some((name, rest)) => self.resolve_in_crate(name, rest),
                None => ImportTarget::Here,
            },
            (name, Some((root, module))) => {
                let own = in_module(module, name);
                let from_root = (*root, name.to_owned());
                if self.modules.contains_key(&(*root, own)) {
                    self.deepest_module(*root, module, parts)
                } else if self.libraries.contains_key(name) || is_rust_library(name) {
                    self.resolve_in_crate(name, rest)
                } else if !self.needs.contains_key(name) && self.modules.contains_key(&from_root) {
                    // In the 2015 edition paths start at the crate root.
                    self.deepest_module(*root, "", parts)
                } else {
                    self.resolve_in_crate(name, rest)
                }
            }
            (name, None) => self.resolve_in_crate(name, rest),
        }
    }

    /// Resolves a path into another crate.
    fn resolve_in_crate(&self, name: &str, rest: &[&str]) -> ImportTarget {
        let package = self.needs.get(name).map_or(name, String::as_str);
        let library = self.libraries.get(name);
        match library.or_else(|| self.libraries.get(package)) {
            Some(root) => self.deepest_module(*root, "", rest),
            None if is_rust_library(name) || self.needs.contains_key(name) => {
                ImportTarget::Package(name.to_owned())
            }
            None => ImportTarget::Nowhere,
        }
    }

    /// Returns the file of the deepest module on a path that starts at a module.
    fn deepest_module(&self, root: u32, module: &str, rest: &[&str]) -> ImportTarget {
        let mut path = module.to_owned();
        let mut found = None;
        for part in rest.iter().take(MAX_PARTS) {
            path = in_module(&path, part);
            found = self.modules.get(&(root, path.clone())).or(found);
        }
        let folder = folder_of(self.paths.path(root));
        if found.is_none() && self.paths.has_planned_folders() && !rest.is_empty() {
            let first = in_module(module, rest[0]).replace("::", "/");
            let planned = self.paths.planned_folder_of(&join_below(folder, &first));
            if planned.is_some() {
                return ImportTarget::from_file(planned).unwrap_or(ImportTarget::Nowhere);
            }
        }
        let found = found.or_else(|| {
            // The name belongs to the module itself, or to an inline module of its file.
            let mut above = Some(module);
            std::iter::from_fn(|| {
                let module = above?;
                above = match module {
                    "" => None,
                    _ => Some(module.rsplit_once("::").map_or("", |(above, _)| above)),
                };
                Some(module)
            })
            .find_map(|module| self.modules.get(&(root, module.to_owned())))
        });
        ImportTarget::from_file(found.copied()).unwrap_or(ImportTarget::Here)
    }
}

/// The place of the submodules of a module's file.
#[derive(Clone, Copy)]
enum ModuleNesting {
    /// In the same folder, as for `lib.rs` and `mod.rs`.
    Beside,
    /// In a folder named after the file.
    Below,
}

fn is_up(part: &str) -> bool {
    part == "self" || part == "super"
}

fn in_module(module: &str, name: &str) -> String {
    match (module.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => module.to_owned(),
        _ => format!("{module}::{name}"),
    }
}

/// Returns true if a file is a crate root by its position in the package.
fn is_root(inner: &str) -> bool {
    let parts: Vec<&str> = inner.split('/').collect();
    matches!(
        parts.as_slice(),
        ["build.rs"]
            | ["src", "main.rs" | "lib.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "examples" | "benches", _]
            | ["tests" | "examples" | "benches", _, "main.rs"]
    )
}
