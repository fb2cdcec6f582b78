//! Resolves imports of Java: to the file of a class, by its package.

use std::collections::{BTreeSet, HashMap};

use super::manifests::java_groups;
use super::paths::{PathTable, ancestors, folder_of, name_of};
use super::standard_libraries::is_java_library;
use super::{ImportTarget, ManifestReader, SourceFile};
use crate::language::Language;
use crate::outline::{Import, ImportForm};

/// The largest number of a file's names that are looked up in wildcard-imported packages;
/// `MAX_WHOLE` limits the packages.
const MAX_AROUND: usize = 4_000;
const MAX_WHOLE: usize = 64;

/// Resolves Java imports.
pub(super) struct JavaResolver<'a> {
    /// The files by the full name of their class, in the order of their paths.
    classes: HashMap<String, Vec<u32>>,
    /// The packages that have files.
    packages: BTreeSet<String>,
    /// The first three parts of these packages.
    own: BTreeSet<String>,
    /// The package prefixes that manifests declare as dependencies.
    groups: BTreeSet<String>,
    paths: &'a PathTable<'a>,
}

/// The context that applies to every import of a file.
#[derive(Default)]
pub(super) struct JavaFileScope<'s> {
    /// The packages imported with a wildcard.
    whole: Vec<&'s str>,
    /// The names that may come from these packages.
    named: Vec<&'s str>,
}

impl<'s> JavaFileScope<'s> {
    pub(super) fn from_imports(imports: &'s [Import]) -> Self {
        let mut around = Self::default();
        for import in imports {
            let Some(name) = import.names.first() else {
                continue;
            };
            match import.form {
                ImportForm::Mention if around.named.len() < MAX_AROUND => around.named.push(name),
                ImportForm::Import if name == "*" && around.whole.len() < MAX_WHOLE => {
                    around.whole.push(&import.module);
                }
                _ => {}
            }
        }
        around
    }
}

impl<'a> JavaResolver<'a> {
    pub(super) fn new(
        paths: &'a PathTable<'a>,
        sources: &[&SourceFile<'_>],
        read: &ManifestReader<'_>,
    ) -> Self {
        let mut java = Self {
            classes: HashMap::new(),
            packages: BTreeSet::new(),
            own: BTreeSet::new(),
            groups: BTreeSet::new(),
            paths,
        };
        let files = || {
            let files = paths.files_in_language(Language::Java);
            files.filter_map(|(number, _)| Some((number, sources.get(super::node_index(number))?)))
        };
        // The folders in which packages begin, according to existing files.
        let mut roots: BTreeSet<&str> = BTreeSet::new();
        for (_, source) in files() {
            if let Some(package) = declared_package(source) {
                let package = package.replace('.', "/");
                let folder = folder_of(source.path).strip_suffix(package.as_str());
                roots.extend(folder.map(|root| root.trim_end_matches('/')));
            }
        }
        for (number, source) in files() {
            let package = declared_package(source).map(str::to_owned);
            let package = package.unwrap_or_else(|| inferred_package(source.path, &roots));
            let name = name_of(source.path).trim_end_matches(".java");
            let class = qualified_name(&package, name);
            java.classes.entry(class).or_default().push(number);
            let mut third = package.match_indices('.').map(|(at, _)| at);
            let third = third.nth(2).map_or(package.as_str(), |end| &package[..end]);
            java.own.insert(third.to_owned());
            java.packages.insert(package);
        }
        if java.classes.is_empty() {
            return java;
        }
        for path in &paths.all {
            let name = name_of(path);
            let is_build = name == "pom.xml"
                || name.ends_with(".gradle")
                || name.ends_with(".gradle.kts")
                || name.ends_with(".versions.toml");
            if is_build && let Some(text) = read(path) {
                java.groups.extend(java_groups(&text));
            }
        }
        java
    }

    pub(super) fn resolve(
        &self,
        file: u32,
        import: &Import,
        around: &JavaFileScope<'_>,
    ) -> ImportTarget {
        match (import.form, import.names.first()) {
            (ImportForm::Mention, Some(name)) => {
                self.resolve_mention(file, &import.module, name, around)
            }
            (_, Some(name)) if name == "*" => self.resolve_wildcard(file, import, around),
            (_, name) => {
                let full = name.map_or(import.module.clone(), |name| {
                    qualified_name(&import.module, name)
                });
                self.resolve_class(file, &full)
                    .unwrap_or_else(|| self.external_target(&full))
            }
        }
    }

    /// Returns the file of a class, or of its outer class, or of the class whose member it is.
    fn resolve_class(&self, file: u32, full: &str) -> Option<ImportTarget> {
        let mut name = full;
        loop {
            if let Some(files) = self.classes.get(name) {
                return ImportTarget::from_file(self.paths.nearest(files, file));
            }
            let (outer, _) = name.rsplit_once('.')?;
            // Packages are in lower case, so what is above one is not a class.
            let last = outer.rsplit('.').next().unwrap_or("");
            if !last.starts_with(char::is_uppercase) {
                return self.resolve_planned_package(full);
            }
            name = outer;
        }
    }

    /// Returns the planned folder of a package, if `full` belongs to it.
    fn resolve_planned_package(&self, full: &str) -> Option<ImportTarget> {
        if !self.paths.accepts_planned_files() {
            return None;
        }
        let (package, _) = full.rsplit_once('.')?;
        let package = package.replace('.', "/");
        let mut open = self.paths.planned_folders().filter(|(folder, _)| {
            let before = folder.strip_suffix(package.as_str());
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        ImportTarget::from_file(open.next().map(|(_, number)| number))
    }

    /// Resolves a name in the code: a class of the same package, or of one that is imported with a
    /// wildcard.
    fn resolve_mention(
        &self,
        file: u32,
        package: &str,
        name: &str,
        around: &JavaFileScope<'_>,
    ) -> ImportTarget {
        let package = package.trim_start_matches('.');
        let whole = around.whole.iter().copied();
        for package in std::iter::once(package).chain(whole) {
            if let Some(files) = self.classes.get(&qualified_name(package, name)) {
                let found = self.paths.nearest(files, file);
                return ImportTarget::from_file(found).unwrap_or(ImportTarget::Nowhere);
            }
        }
        ImportTarget::Nowhere
    }

    /// Resolves `a.b.*`: the classes of the package that the file names, or a class with its
    /// members.
    fn resolve_wildcard(
        &self,
        file: u32,
        import: &Import,
        around: &JavaFileScope<'_>,
    ) -> ImportTarget {
        let module = import.module.as_str();
        if !self.packages.contains(module) {
            let class = self.resolve_class(file, module);
            return class.unwrap_or_else(|| self.external_target(module));
        }
        if !around.whole.contains(&module) {
            return ImportTarget::Here;
        }
        let mut found = Vec::new();
        for name in &around.named {
            let files = self.classes.get(&qualified_name(module, name));
            found.extend(files.and_then(|files| self.paths.nearest(files, file)));
        }
        if found.is_empty() {
            ImportTarget::Here
        } else {
            ImportTarget::To(found)
        }
    }

    fn external_target(&self, full: &str) -> ImportTarget {
        let ends: Vec<usize> = full.match_indices('.').map(|(at, _)| at).collect();
        let beginning = |parts: usize| ends.get(parts - 1).map_or(full, |end| &full[..*end]);
        // A package so close to the repository's own packages would be one of them.
        if ends.len() > 2 && self.own.contains(beginning(3)) {
            return ImportTarget::Nowhere;
        }
        let known = |part: &str| self.groups.contains(part);
        if is_java_library(full) || known(beginning(2)) || known(beginning(1)) {
            ImportTarget::Package(beginning(2).to_owned())
        } else {
            ImportTarget::Nowhere
        }
    }
}

/// Returns the package that a file declares.
fn declared_package<'s>(source: &SourceFile<'s>) -> Option<&'s str> {
    let mut within = source
        .imports
        .iter()
        .filter(|i| i.form == ImportForm::Within);
    within.next().map(|import| import.module.as_str())
}

/// Infers the package of a file that declares none, from the roots of others or by convention.
fn inferred_package(path: &str, roots: &BTreeSet<&str>) -> String {
    let folder = folder_of(path);
    let mut above = ancestors(folder);
    let root = above.find(|above| roots.contains(above)).map(str::to_owned);
    let below = match root {
        Some(root) => folder[root.len()..].trim_start_matches('/'),
        None => match folder.rfind("/java/").map(|at| at + "/java/".len()) {
            Some(at) => &folder[at..],
            None if folder.ends_with("/java") || folder == "src" => "",
            None => folder.strip_prefix("src/").unwrap_or(folder),
        },
    };
    below.replace('/', ".")
}

fn qualified_name(package: &str, name: &str) -> String {
    if package.is_empty() {
        name.to_owned()
    } else {
        format!("{package}.{name}")
    }
}
