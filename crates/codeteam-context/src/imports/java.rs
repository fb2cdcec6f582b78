//! Where imports of Java lead: to the file of a class, by its package.

use std::collections::{BTreeSet, HashMap};

use super::known::is_java;
use super::manifests::java_groups;
use super::paths::{PathTable, folder_of, name_of, upwards};
use super::{ImportTarget, ManifestReader, SourceFile};
use crate::language::Language;
use crate::outline::{Import, ImportForm};

/// How many names of a file are looked for in packages that it imports as a whole, and how many of
/// those.
const MAX_AROUND: usize = 4_000;
const MAX_WHOLE: usize = 64;

/// What is known of Java.
pub(super) struct JavaResolver<'a> {
    /// Files by the full name of their class, in the order of their paths.
    classes: HashMap<String, Vec<u32>>,
    /// Packages that have files.
    packages: BTreeSet<String>,
    /// Their beginnings, of three parts.
    own: BTreeSet<String>,
    /// The beginnings of packages that manifests speak for.
    groups: BTreeSet<String>,
    paths: &'a PathTable<'a>,
}

/// What counts for every import of a file.
#[derive(Default)]
pub(super) struct JavaFileScope<'s> {
    /// The packages that it imports as a whole.
    whole: Vec<&'s str>,
    /// The names that it may mean by that.
    named: Vec<&'s str>,
}

impl<'s> JavaFileScope<'s> {
    pub(super) fn of(imports: &'s [Import]) -> Self {
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
            let files = paths.written_in(Language::Java);
            files.filter_map(|(number, _)| Some((number, sources.get(super::at(number))?)))
        };
        // Folders from which packages begin, as files say that are there.
        let mut roots: BTreeSet<&str> = BTreeSet::new();
        for (_, source) in files() {
            if let Some(package) = said(source) {
                let package = package.replace('.', "/");
                let folder = folder_of(source.path).strip_suffix(package.as_str());
                roots.extend(folder.map(|root| root.trim_end_matches('/')));
            }
        }
        for (number, source) in files() {
            let package = said(source).map(str::to_owned);
            let package = package.unwrap_or_else(|| inferred(source.path, &roots));
            let name = name_of(source.path).trim_end_matches(".java");
            let class = in_package(&package, name);
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
            (ImportForm::Mention, Some(name)) => self.mentioned(file, &import.module, name, around),
            (_, Some(name)) if name == "*" => self.whole(file, import, around),
            (_, name) => {
                let full = name.map_or(import.module.clone(), |name| {
                    in_package(&import.module, name)
                });
                self.class(file, &full).unwrap_or_else(|| self.away(&full))
            }
        }
    }

    /// The file of a class, or of the one around it, or of the one whose member it is.
    fn class(&self, file: u32, full: &str) -> Option<ImportTarget> {
        let mut name = full;
        loop {
            if let Some(files) = self.classes.get(name) {
                return ImportTarget::file(self.paths.nearest(files, file));
            }
            let (outer, _) = name.rsplit_once('.')?;
            // Packages are written small; what is above one is no class.
            let last = outer.rsplit('.').next().unwrap_or("");
            if !last.starts_with(char::is_uppercase) {
                return self.will_be(full);
            }
            name = outer;
        }
    }

    /// A folder that will be filled with a package, if `full` is of it.
    fn will_be(&self, full: &str) -> Option<ImportTarget> {
        if !self.paths.is_loose() {
            return None;
        }
        let (package, _) = full.rsplit_once('.')?;
        let package = package.replace('.', "/");
        let mut open = self.paths.open().filter(|(folder, _)| {
            let before = folder.strip_suffix(package.as_str());
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        ImportTarget::file(open.next().map(|(_, number)| number))
    }

    /// A name in the code: a class of the own package, or of one that is imported as a whole.
    fn mentioned(
        &self,
        file: u32,
        package: &str,
        name: &str,
        around: &JavaFileScope<'_>,
    ) -> ImportTarget {
        let package = package.trim_start_matches('.');
        let whole = around.whole.iter().copied();
        for package in std::iter::once(package).chain(whole) {
            if let Some(files) = self.classes.get(&in_package(package, name)) {
                let found = self.paths.nearest(files, file);
                return ImportTarget::file(found).unwrap_or(ImportTarget::Nowhere);
            }
        }
        ImportTarget::Nowhere
    }

    /// `a.b.*`: those of the package's classes that the file names, or a class and its members.
    fn whole(&self, file: u32, import: &Import, around: &JavaFileScope<'_>) -> ImportTarget {
        let module = import.module.as_str();
        if !self.packages.contains(module) {
            let class = self.class(file, module);
            return class.unwrap_or_else(|| self.away(module));
        }
        if !around.whole.contains(&module) {
            return ImportTarget::Here;
        }
        let mut found = Vec::new();
        for name in &around.named {
            let files = self.classes.get(&in_package(module, name));
            found.extend(files.and_then(|files| self.paths.nearest(files, file)));
        }
        if found.is_empty() {
            ImportTarget::Here
        } else {
            ImportTarget::To(found)
        }
    }

    fn away(&self, full: &str) -> ImportTarget {
        let ends: Vec<usize> = full.match_indices('.').map(|(at, _)| at).collect();
        let beginning = |parts: usize| ends.get(parts - 1).map_or(full, |end| &full[..*end]);
        // What lies so near to the repository's own packages would be one of its own.
        if ends.len() > 2 && self.own.contains(beginning(3)) {
            return ImportTarget::Nowhere;
        }
        let known = |part: &str| self.groups.contains(part);
        if is_java(full) || known(beginning(2)) || known(beginning(1)) {
            ImportTarget::Package(beginning(2).to_owned())
        } else {
            ImportTarget::Nowhere
        }
    }
}

/// The package that a file says it is in.
fn said<'s>(source: &SourceFile<'s>) -> Option<&'s str> {
    let mut within = source
        .imports
        .iter()
        .filter(|i| i.form == ImportForm::Within);
    within.next().map(|import| import.module.as_str())
}

/// The package of a file that says nothing, by the roots of others or by custom.
fn inferred(path: &str, roots: &BTreeSet<&str>) -> String {
    let folder = folder_of(path);
    let mut above = upwards(folder);
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

fn in_package(package: &str, name: &str) -> String {
    if package.is_empty() {
        name.to_owned()
    } else {
        format!("{package}.{name}")
    }
}
