//! Resolves imports of Python.
//!
//! The search roots are unknown, because `sys.path` is. They are inferred: a package's folder has
//! an `__init__.py`, and the folder above the uppermost one is a root. Folders without one may be
//! packages too, and are tried last.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::manifests::{is_python_manifest, normalize_package_name, python_packages};
use super::paths::{PathTable, ancestors, folder_of, join_below, name_of};
use super::standard_libraries::is_python_library;
use super::{ImportTarget, ManifestReader};
use crate::language::Language;
use crate::outline::Import;

/// The number of roots tried on either side of a file's own position, and of the uppermost ones.
const NEIGHBOURS: usize = 8;

/// The size limit of the cache of roots.
const MAX_TRIED: usize = 100_000;

/// Resolves Python imports.
pub(super) struct PythonResolver<'a> {
    /// The roots that contain a module or package of each name.
    roots: HashMap<&'a str, PackageRoots<'a>>,
    /// Folders that are declared as packages by an `__init__` file.
    own: HashSet<&'a str>,
    /// Caches the roots to try for a name in a folder, the best first.
    tried: RefCell<RootCache<'a>>,
    /// The modules of packages that manifests name.
    packages: BTreeSet<String>,
    paths: &'a PathTable<'a>,
}

/// The roots to try, by name and folder.
type RootCache<'a> = HashMap<(&'a str, &'a str), Rc<[&'a str]>>;

#[derive(Default)]
struct PackageRoots<'a> {
    /// All roots, in order.
    all: Vec<&'a str>,
    /// Some of the roots closest to the top.
    upper: Vec<&'a str>,
}

/// The target of a dotted name.
enum PythonModule {
    File(u32),
    /// A package without a file of its own.
    Folder,
}

impl<'a> PythonResolver<'a> {
    pub(super) fn new(paths: &'a PathTable<'a>, read: &ManifestReader<'_>) -> Self {
        let mut python = Self {
            roots: HashMap::new(),
            own: HashSet::new(),
            tried: RefCell::new(HashMap::new()),
            packages: BTreeSet::new(),
            paths,
        };
        let files = || {
            paths
                .files_in_language(Language::Python)
                .map(|(_, path)| path)
        };
        if files().next().is_none() {
            return python;
        }
        let inits = files().filter(|path| matches!(name_of(path), "__init__.py" | "__init__.pyi"));
        let own = inits.map(folder_of).filter(|folder| !folder.is_empty());
        python.own = own.collect();
        for path in files() {
            let name = name_of(path);
            let stem = name.split('.').next().unwrap_or(name);
            let folder = folder_of(path);
            if !python.is_package(folder) {
                python.roots.entry(stem).or_default().all.push(folder);
            }
        }
        for path in paths.all.iter().filter(|path| is_python_manifest(path)) {
            if let Some(text) = read(path) {
                python_packages(path, &text, &mut python.packages);
            }
        }
        for folder in paths.folders().filter(|folder| !folder.is_empty()) {
            let above = folder_of(folder);
            if !python.is_package(above) {
                python
                    .roots
                    .entry(name_of(folder))
                    .or_default()
                    .all
                    .push(above);
            }
        }
        for roots in python.roots.values_mut() {
            roots.all.sort_unstable();
            roots.all.dedup();
            roots.upper.clone_from(&roots.all);
            roots.upper.sort_by_key(|root| root.matches('/').count());
            roots.upper.truncate(NEIGHBOURS);
        }
        python
    }

    pub(super) fn resolve(&self, file: u32, import: &Import) -> ImportTarget {
        let folder = folder_of(self.paths.path(file));
        let module = import.module.as_str();
        let dots = module.bytes().take_while(|byte| *byte == b'.').count();
        if dots > 0 {
            return match ancestors(folder).nth(dots - 1) {
                Some(base) => self.resolve_relative(base, &module[dots..], import),
                None => ImportTarget::Nowhere,
            };
        }
        let first = module.split('.').next().unwrap_or(module);
        let own = ancestors(folder).find(|folder| !self.is_package(folder));
        let own = own.unwrap_or("");
        if is_python_library(first) {
            // Only a module in the file's own root can shadow one of the standard library.
            let is_beside = self.has_root(first, own);
            let lead = is_beside
                .then(|| self.resolve_from_root(own, module, import))
                .flatten();
            return lead.unwrap_or_else(|| ImportTarget::Package(first.to_owned()));
        }
        let is_needed = self.packages.contains(&normalize_package_name(first));
        for root in self.roots_for(first, own, folder).iter().copied() {
            // A lone file far away with the name of a package is not meant.
            let is_far = ancestors(folder).all(|above| above != root);
            if is_needed && is_far && !self.is_package(&join_below(root, first)) {
                continue;
            }
            if let Some(lead) = self.resolve_from_root(root, module, import) {
                return lead;
            }
        }
        if is_needed {
            return ImportTarget::Package(first.to_owned());
        }
        // A script in a package's folder finds the files next to it, but not everything that may be
        // created there.
        let beside = (!self.paths.accepts_planned_files())
            .then(|| self.resolve_from_root(folder, module, import));
        beside.flatten().unwrap_or(ImportTarget::Nowhere)
    }

    /// Returns true if a folder is declared as a package.
    fn is_package(&self, folder: &str) -> bool {
        self.own.contains(folder)
    }

    fn has_root(&self, first: &str, root: &str) -> bool {
        let roots = self.roots.get(first);
        roots.is_some_and(|roots| roots.all.binary_search(&root).is_ok())
    }

    /// Returns the roots to try, the best first: the file's own, those above it, those nearby, and
    /// the uppermost ones.
    fn roots_for(&self, first: &str, own: &'a str, folder: &'a str) -> Rc<[&'a str]> {
        let Some((first, roots)) = self.roots.get_key_value(first) else {
            return Rc::new([]);
        };
        let mut known = self.tried.borrow_mut();
        if let Some(tried) = known
            .get(&(*first, folder))
            .filter(|_| !self.paths.accepts_planned_files())
        {
            return Rc::clone(tried);
        }
        let tried: Rc<[&str]> = self.sort_roots(first, roots, own, folder).into();
        if known.len() < MAX_TRIED && !self.paths.accepts_planned_files() {
            known.insert((first, folder), Rc::clone(&tried));
        }
        tried
    }

    fn sort_roots(
        &self,
        first: &str,
        roots: &PackageRoots<'a>,
        own: &'a str,
        folder: &'a str,
    ) -> Vec<&'a str> {
        let mut tried: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut add = |root: &'a str| {
            if seen.insert(root) {
                tried.push(root);
            }
        };
        for root in std::iter::once(own).chain(ancestors(folder)) {
            if roots.all.binary_search(&root).is_ok() {
                add(root);
            }
        }
        let place = roots.all.partition_point(|root| *root < folder);
        let (before, after) = roots.all.split_at(place);
        let near = before.iter().rev().take(NEIGHBOURS);
        let near = near.chain(after.iter().take(NEIGHBOURS));
        near.chain(&roots.upper).for_each(|root| add(root));
        // Declared packages and files take precedence over mere folders.
        let (sure, others): (Vec<&str>, Vec<&str>) = tried.into_iter().partition(|root| {
            let base = join_below(root, first);
            self.is_package(&base) || self.module_file(&base).is_some()
        });
        [sure, others].concat()
    }

    /// Resolves an import whose module is searched from a root.
    fn resolve_from_root(&self, root: &str, module: &str, import: &Import) -> Option<ImportTarget> {
        let base = join_below(root, &module.replace('.', "/"));
        match self.resolve_module(&base, import) {
            ImportTarget::Nowhere => None,
            // A folder of the same name may be anything.
            ImportTarget::Here if !self.is_package(&base) => None,
            lead => Some(lead),
        }
    }

    /// Resolves a relative import.
    fn resolve_relative(&self, base: &str, module: &str, import: &Import) -> ImportTarget {
        let base = if module.is_empty() {
            base.to_owned()
        } else {
            join_below(base, &module.replace('.', "/"))
        };
        self.resolve_module(&base, import)
    }

    /// Resolves an import whose module would be at `base`: to the submodules that it names, or else
    /// to the module itself.
    fn resolve_module(&self, base: &str, import: &Import) -> ImportTarget {
        let Some(module) = self.find_module(base) else {
            return ImportTarget::Nowhere;
        };
        let mut files = Vec::new();
        let mut is_lost = false;
        for name in &import.names {
            match (self.find_module(&join_below(base, name)), &module) {
                (Some(PythonModule::File(file)), _) => files.push(file),
                (_, PythonModule::File(file)) => files.push(*file),
                (Some(PythonModule::Folder), _) => {}
                (None, PythonModule::Folder) => is_lost = true,
            }
        }
        if let (PythonModule::File(file), true) = (&module, import.names.is_empty()) {
            files.push(*file);
        }
        match (files.is_empty(), is_lost) {
            (false, _) => ImportTarget::To(files),
            (true, true) => ImportTarget::Nowhere,
            (true, false) => ImportTarget::Here,
        }
    }

    fn find_module(&self, base: &str) -> Option<PythonModule> {
        match self.module_file(base) {
            Some(file) => Some(PythonModule::File(file)),
            None => self.paths.has_folder(base).then_some(PythonModule::Folder),
        }
    }

    /// Returns the file of a module or package.
    fn module_file(&self, base: &str) -> Option<u32> {
        let ends = [
            "/__init__.py",
            ".py",
            ".pyi",
            "/__init__.pyi",
            ".pyx",
            ".pyw",
        ];
        ends.iter().find_map(|end| {
            let path = format!("{base}{end}");
            let path = path.strip_prefix('/').unwrap_or(&path);
            self.paths.find(path)
        })
    }
}
