//! Resolves imports of JavaScript and TypeScript.

mod config;
mod patterns;

use std::collections::{BTreeSet, HashMap};

use self::config::{PathSettings, TsConfigTable};
use self::patterns::StarPatterns;
use super::manifests::{self, PackageJson};
use super::paths::{PathTable, ancestors, folder_of, join, join_below, name_of};
use super::standard_libraries::is_node_library;
use super::{ImportTarget, ManifestReader};
use crate::language::Language;
use crate::outline::Import;

/// The endings that an import may omit, the preferred ones first.
const ENDS: &[&str] = &[
    "",
    ".ts",
    ".tsx",
    ".d.ts",
    ".mts",
    ".cts",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".json",
    ".vue",
    ".svelte",
    "/index.ts",
    "/index.tsx",
    "/index.d.ts",
    "/index.mts",
    "/index.js",
    "/index.jsx",
    "/index.mjs",
    "/index.cjs",
    "/index.vue",
];

/// The extension written in an import, and the extensions that the source file may have.
const COMPILED: &[(&str, &[&str])] = &[
    (".d.ts", &[".ts", ".tsx"]),
    (".d.mts", &[".mts"]),
    (".js", &[".ts", ".tsx", ".d.ts", ".jsx"]),
    (".jsx", &[".tsx"]),
    (".mjs", &[".mts", ".ts"]),
    (".cjs", &[".cts", ".ts"]),
];

/// Resolves JavaScript and TypeScript imports.
pub(super) struct ScriptResolver<'a> {
    /// The packages of the repository, by folder.
    packages: HashMap<&'a str, ScriptPackage>,
    /// The folders of these packages, by name.
    named: HashMap<String, &'a str>,
    /// The dependencies of all packages.
    needs: BTreeSet<String>,
    configs: TsConfigTable<'a>,
    /// Files by their paths without extension; `None` where there are several.
    stems: HashMap<&'a str, Option<u32>>,
    paths: &'a PathTable<'a>,
}

/// A package with its entry points.
struct ScriptPackage {
    main: Vec<String>,
    exports: StarPatterns,
    imports: StarPatterns,
}

impl<'a> ScriptResolver<'a> {
    pub(super) fn new(paths: &'a PathTable<'a>, read: &ManifestReader<'_>) -> Self {
        let mut script = Self {
            packages: HashMap::new(),
            named: HashMap::new(),
            needs: BTreeSet::new(),
            configs: TsConfigTable::default(),
            stems: HashMap::new(),
            paths,
        };
        let is_script = |path: &&str| {
            let language = Language::from_path(path);
            language.is_some_and(|language| {
                use Language::{JavaScript, Tsx, TypeScript};
                matches!(language, JavaScript | TypeScript | Tsx)
            })
        };
        if !paths.all.iter().any(is_script) {
            return script;
        }
        for path in paths.paths_named("package.json") {
            let package = read(path).and_then(|text| manifests::parse_package_json(&text));
            if let Some(package) = package {
                script.add_package(folder_of(path), package);
            }
        }
        script.configs = TsConfigTable::read(paths, read, |name| script.folder_named(name));
        for (number, path) in (0..).zip(&paths.all) {
            let name = name_of(path);
            if let Some((stem, _)) = name.split_once('.').filter(|(stem, _)| !stem.is_empty()) {
                let stem = &path[..path.len() - name.len() + stem.len()];
                let several = script.stems.entry(stem).or_insert(Some(number));
                if *several != Some(number) {
                    *several = None;
                }
            }
        }
        script
    }

    fn add_package(&mut self, folder: &'a str, package: PackageJson) {
        self.needs.extend(package.needs);
        if let Some(name) = package.name {
            // Of two packages with the same name, the upper one wins.
            self.named.entry(name).or_insert(folder);
        }
        let entry = ScriptPackage {
            main: package.main,
            exports: StarPatterns::new(package.exports),
            imports: StarPatterns::new(package.imports),
        };
        self.packages.insert(folder, entry);
    }

    fn folder_named(&self, name: &str) -> Option<&'a str> {
        self.named.get(name).copied()
    }

    pub(super) fn resolve(&self, file: u32, import: &Import) -> ImportTarget {
        let folder = folder_of(self.paths.path(file));
        // Loader prefixes and query suffixes are meant for bundlers.
        let written = import.module.rsplit('!').next().unwrap_or("");
        let written = written.split('?').next().unwrap_or("");
        if written.is_empty() {
            return ImportTarget::Nowhere;
        }
        if written == "."
            || written == ".."
            || written.starts_with("./")
            || written.starts_with("../")
        {
            let path = join(folder, written);
            let found = path.and_then(|path| self.resolve_path(&path));
            return found.unwrap_or(ImportTarget::Nowhere);
        }
        if is_node_library(written) {
            return ImportTarget::Package(written.to_owned());
        }
        let found = self.resolve_alias(folder, written);
        if let Some(lead) = found.or_else(|| self.resolve_package(folder, written)) {
            return lead;
        }
        let name = package_name(written);
        let typed = format!("@types/{}", name.trim_start_matches('@').replace('/', "__"));
        if self.needs.contains(name) || self.needs.contains(&typed) || written.contains(':') {
            return ImportTarget::Package(name.to_owned());
        }
        if let Some(lead) = self.resolve_convention(folder, written) {
            return lead;
        }
        // Packages of one scope usually come together.
        let scope = name.split_once('/').map(|(scope, _)| format!("{scope}/"));
        let is_family = scope.is_some_and(|scope| {
            let mut alike = self.needs.range(scope.clone()..);
            alike.next().is_some_and(|need| need.starts_with(&scope))
        });
        if is_family {
            ImportTarget::Package(name.to_owned())
        } else {
            ImportTarget::Nowhere
        }
    }

    /// Resolves an import with the aliases of the nearest configuration.
    fn resolve_alias(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        let PathSettings { base, paths } = self.configs.settings_for(folder)?;
        for target in paths.targets(written) {
            let found = join("", &target).and_then(|path| self.resolve_path(&path));
            if found.is_some() {
                return found;
            }
        }
        let base = base.as_deref()?;
        let path = join(base, written)?;
        // A planned folder must not match every bare name.
        let first = join_below(base, written.split('/').next().unwrap_or(""));
        let is_there = !self.paths.accepts_planned_files() || self.paths.has_folder(&first);
        is_there.then(|| self.resolve_path(&path)).flatten()
    }

    /// Resolves a package of the repository, or a `#` import of the file's own package.
    fn resolve_package(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        if written.starts_with('#') {
            let own = ancestors(folder).find(|folder| self.packages.contains_key(folder))?;
            let targets = self.packages[own].imports.targets(written);
            return self.resolve_first(own, &targets);
        }
        let name = package_name(written);
        let folder = self.folder_named(name)?;
        let entry = self.packages.get(folder)?;
        let rest = written[name.len()..].trim_start_matches('/');
        let asked = if rest.is_empty() {
            ".".to_owned()
        } else {
            format!("./{rest}")
        };
        let targets = entry.exports.targets(&asked);
        let found = self.resolve_first(folder, &targets);
        if found.is_some() {
            return found;
        }
        let within = if rest.is_empty() {
            let mut within = entry.main.clone();
            within.extend(["src/index", "index", "lib/index", "src/main"].map(str::to_owned));
            within
        } else {
            vec![
                rest.to_owned(),
                format!("src/{rest}"),
                format!("lib/{rest}"),
            ]
        };
        let found = self.resolve_first(folder, &within);
        // A package without a known file still belongs to the repository.
        found.or_else(|| (!self.paths.accepts_planned_files()).then_some(ImportTarget::Here))
    }

    /// Returns the first of a package's paths that resolves to a file. Build output is resolved to
    /// its sources.
    fn resolve_first(&self, folder: &str, paths: &[String]) -> Option<ImportTarget> {
        for path in paths {
            let found = join(folder, path).and_then(|path| self.resolve_exact(&path));
            if found.is_some() {
                return found;
            }
            let plain = path.trim_start_matches("./");
            let Some((built, rest)) = plain.split_once('/') else {
                continue;
            };
            if !matches!(
                built,
                "dist" | "build" | "lib" | "out" | "es" | "esm" | "cjs"
            ) {
                continue;
            }
            // `dist/types/x.d.ts` and `dist/esm/x.js` are built from `src/x.ts`.
            let inner = rest.split_once('/').map(|(_, inner)| inner);
            for rest in std::iter::once(rest).chain(inner) {
                let source = join(folder, &format!("src/{rest}"));
                let found = source.and_then(|path| self.resolve_exact(&path));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// Resolves common conventions: `@/` and `~/` are the project's own files, `/` is the top.
    fn resolve_convention(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        let rest = ["@/", "~/", "@site/", "/"]
            .iter()
            .find_map(|start| written.strip_prefix(start))?;
        let own = ancestors(folder).find(|folder| self.packages.contains_key(folder));
        let own = own.unwrap_or("");
        let tops = [
            join_below(own, "src"),
            own.to_owned(),
            join_below(own, "app"),
            String::new(),
        ];
        tops.iter().find_map(|top| {
            let path = join(top, rest)?;
            self.resolve_path(&path)
        })
    }

    /// Returns the file that a path stands for.
    fn resolve_path(&self, path: &str) -> Option<ImportTarget> {
        let found = self.resolve_exact(path).or_else(|| {
            let entry = self.packages.get(path)?;
            self.resolve_first(path, &entry.main)
        });
        // Otherwise, take the only file of that name, whatever its extension.
        found.or_else(|| ImportTarget::from_file(self.stems.get(path).copied().flatten()))
    }

    /// Returns the file that a path stands for, without consulting packages.
    fn resolve_exact(&self, path: &str) -> Option<ImportTarget> {
        for end in ENDS {
            let whole = format!("{path}{end}");
            // For the top itself the path before the ending is empty.
            if let Some(file) = self.paths.find(whole.trim_start_matches('/')) {
                return Some(ImportTarget::To(vec![file]));
            }
        }
        for (compiled, sources) in COMPILED {
            let Some(stem) = path.strip_suffix(compiled) else {
                continue;
            };
            for source in *sources {
                if let Some(file) = self.paths.find(&format!("{stem}{source}")) {
                    return Some(ImportTarget::To(vec![file]));
                }
            }
        }
        None
    }
}

/// Returns the package that a path starts with: `react`, `@scope/name`.
fn package_name(written: &str) -> &str {
    let skipped = usize::from(written.starts_with('@'));
    let mut ends = written.match_indices('/').map(|(at, _)| at);
    ends.nth(skipped).map_or(written, |end| &written[..end])
}
