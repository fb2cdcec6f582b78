//! Where imports of JavaScript and TypeScript lead.

mod config;
mod patterns;

use std::collections::{BTreeSet, HashMap};

use self::config::{PathSettings, TsConfigTable};
use self::patterns::StarPatterns;
use super::known::is_node;
use super::manifests::{self, PackageJson};
use super::paths::{PathTable, below, folder_of, join, name_of, upwards};
use super::{ImportTarget, ManifestReader};
use crate::language::Language;
use crate::outline::Import;

/// What may be left out at the end of a path, the first best.
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

/// What is written for a file, and what the file may be before it is compiled.
const COMPILED: &[(&str, &[&str])] = &[
    (".d.ts", &[".ts", ".tsx"]),
    (".d.mts", &[".mts"]),
    (".js", &[".ts", ".tsx", ".d.ts", ".jsx"]),
    (".jsx", &[".tsx"]),
    (".mjs", &[".mts", ".ts"]),
    (".cjs", &[".cts", ".ts"]),
];

/// What is known of JavaScript.
pub(super) struct ScriptResolver<'a> {
    /// Packages of the repository by their folder.
    packages: HashMap<&'a str, ScriptPackage>,
    /// And their folders by name.
    named: HashMap<String, &'a str>,
    /// What packages depend on.
    needs: BTreeSet<String>,
    configs: TsConfigTable<'a>,
    /// Files by their paths without an end; none where there are several.
    stems: HashMap<&'a str, Option<u32>>,
    paths: &'a PathTable<'a>,
}

/// A package, ready to be asked.
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
            let language = Language::of(path);
            language.is_some_and(|language| {
                use Language::{JavaScript, Tsx, TypeScript};
                matches!(language, JavaScript | TypeScript | Tsx)
            })
        };
        if !paths.all.iter().any(is_script) {
            return script;
        }
        for path in paths.named("package.json") {
            let package = read(path).and_then(|text| manifests::package_json(&text));
            if let Some(package) = package {
                script.add(folder_of(path), package);
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

    fn add(&mut self, folder: &'a str, package: PackageJson) {
        self.needs.extend(package.needs);
        if let Some(name) = package.name {
            // Of two with the same name the upper one is meant.
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
        // Loaders before it, and questions after it, are for bundlers.
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
            let found = path.and_then(|path| self.path(&path));
            return found.unwrap_or(ImportTarget::Nowhere);
        }
        if is_node(written) {
            return ImportTarget::Package(written.to_owned());
        }
        let found = self.aliased(folder, written);
        if let Some(lead) = found.or_else(|| self.packaged(folder, written)) {
            return lead;
        }
        let name = package_name(written);
        let typed = format!("@types/{}", name.trim_start_matches('@').replace('/', "__"));
        if self.needs.contains(name) || self.needs.contains(&typed) || written.contains(':') {
            return ImportTarget::Package(name.to_owned());
        }
        if let Some(lead) = self.customary(folder, written) {
            return lead;
        }
        // Packages of one scope come together.
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

    /// What the nearest configuration says.
    fn aliased(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        let PathSettings { base, paths } = self.configs.of(folder)?;
        for target in paths.targets(written) {
            let found = join("", &target).and_then(|path| self.path(&path));
            if found.is_some() {
                return found;
            }
        }
        let base = base.as_deref()?;
        let path = join(base, written)?;
        // Not everything that may come to lie there.
        let first = below(base, written.split('/').next().unwrap_or(""));
        let is_there = !self.paths.is_loose() || self.paths.has_folder(&first);
        is_there.then(|| self.path(&path)).flatten()
    }

    /// A package of the repository, or what the own one calls by a name of its own.
    fn packaged(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        if written.starts_with('#') {
            let own = upwards(folder).find(|folder| self.packages.contains_key(folder))?;
            let targets = self.packages[own].imports.targets(written);
            return self.first_of(own, &targets);
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
        let found = self.first_of(folder, &targets);
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
        let found = self.first_of(folder, &within);
        // A package without a file that is known is still one of the repository.
        found.or_else(|| (!self.paths.is_loose()).then_some(ImportTarget::Here))
    }

    /// The first of some paths of a package that leads to a file; what is built is looked for where
    /// it is built from.
    fn first_of(&self, folder: &str, paths: &[String]) -> Option<ImportTarget> {
        for path in paths {
            let found = join(folder, path).and_then(|path| self.exact(&path));
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
            // `dist/types/x.d.ts` and `dist/esm/x.js` come from `src/x.ts`.
            let inner = rest.split_once('/').map(|(_, inner)| inner);
            for rest in std::iter::once(rest).chain(inner) {
                let source = join(folder, &format!("src/{rest}"));
                let found = source.and_then(|path| self.exact(&path));
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// What many projects take for granted: `@/` and `~/` are their own files, `/` is the top.
    fn customary(&self, folder: &str, written: &str) -> Option<ImportTarget> {
        let rest = ["@/", "~/", "@site/", "/"]
            .iter()
            .find_map(|start| written.strip_prefix(start))?;
        let own = upwards(folder).find(|folder| self.packages.contains_key(folder));
        let own = own.unwrap_or("");
        let tops = [
            below(own, "src"),
            own.to_owned(),
            below(own, "app"),
            String::new(),
        ];
        tops.iter().find_map(|top| {
            let path = join(top, rest)?;
            self.path(&path)
        })
    }

    /// The file that a path stands for.
    fn path(&self, path: &str) -> Option<ImportTarget> {
        let found = self.exact(path).or_else(|| {
            let entry = self.packages.get(path)?;
            self.first_of(path, &entry.main)
        });
        // Else the only file of that name, whatever it is written in.
        found.or_else(|| ImportTarget::file(self.stems.get(path).copied().flatten()))
    }

    /// The file that a path stands for, if no package says another.
    fn exact(&self, path: &str) -> Option<ImportTarget> {
        for end in ENDS {
            let whole = format!("{path}{end}");
            // Of the top itself nothing stands before the end.
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

/// The package that a path begins with: `react`, `@scope/name`.
fn package_name(written: &str) -> &str {
    let skipped = usize::from(written.starts_with('@'));
    let mut ends = written.match_indices('/').map(|(at, _)| at);
    ends.nth(skipped).map_or(written, |end| &written[..end])
}
