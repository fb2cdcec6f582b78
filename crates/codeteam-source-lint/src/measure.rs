//! Measures the crates of a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Item, Visibility};

use crate::modules::{ModuleSource, SourceError, load_crate};
use crate::references::ModuleGraph;

/// A function that is longer does not fit on a screen.
const LONG_FUNCTION: usize = 70;

/// Names that every module may have one of.
const COMMON_NAMES: [&str; 3] = ["Error", "Args", "Config"];

/// What was measured of one crate.
#[derive(Clone, Debug)]
pub struct CrateReport {
    /// Its name.
    pub name: String,
    /// Lines of its source, tests within it left out where they have files of their own.
    pub lines: usize,
    /// How many top-level modules it has.
    pub modules: usize,
    /// Its top-level modules that depend on each other in a cycle.
    pub cycles: Vec<Vec<String>>,
    /// The names of its types.
    pub types: TypeNames,
    /// How many functions it has.
    pub functions: usize,
    /// Those that do not fit on a screen.
    pub long_functions: usize,
    /// Public items that no other crate, test, benchmark or example names.
    pub unused_public: Vec<String>,
    /// How often the functions below `decide` clone something.
    pub decide_clones: usize,
}

/// The names of a crate's types: structs, enums, traits and aliases, without `Error`, `Args` and
/// `Config`.
#[derive(Clone, Debug, Default)]
pub struct TypeNames {
    counts: BTreeMap<String, usize>,
}

impl TypeNames {
    /// How many types are declared.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// The names that more than one type has.
    pub fn shared(&self) -> Vec<&str> {
        let several = self.counts.iter().filter(|(_, count)| **count > 1);
        several.map(|(name, _)| name.as_str()).collect()
    }

    /// The share of types, in percent, whose name another type of the crate has as well.
    pub fn shared_percent(&self) -> usize {
        let shared: usize = self.counts.values().filter(|count| **count > 1).sum();
        percent(shared, self.total())
    }

    /// The share of types, in percent, whose name is one word.
    pub fn one_word_percent(&self) -> usize {
        let one_word = self.counts.iter().filter(|(name, _)| is_one_word(name));
        percent(one_word.map(|(_, count)| count).sum(), self.total())
    }
}

fn percent(part: usize, total: usize) -> usize {
    (part * 100).div_ceil(total.max(1))
}

fn is_one_word(name: &str) -> bool {
    name.chars().skip(1).all(|c| !c.is_ascii_uppercase())
}

/// Measures every crate below `crates` of a workspace, sorted by name.
pub fn measure_workspace(root: &Path) -> Result<Vec<CrateReport>, SourceError> {
    let mut folders: Vec<PathBuf> = list_folder(&root.join("crates"))?;
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    let words = folders
        .iter()
        .map(|folder| Ok((folder.clone(), words_below(folder)?)))
        .collect::<Result<BTreeMap<_, _>, SourceError>>()?;
    folders
        .iter()
        .map(|folder| measure_crate(folder, &words))
        .collect()
}

fn measure_crate(
    folder: &Path,
    words: &BTreeMap<PathBuf, CrateWords>,
) -> Result<CrateReport, SourceError> {
    let source = folder.join("src");
    let roots = ["lib.rs", "main.rs"].map(|name| source.join(name));
    let mut modules = Vec::new();
    for root in roots.iter().filter(|root| root.is_file()) {
        modules.extend(load_crate(root)?);
    }
    let graph = ModuleGraph::from_modules(&modules);
    let mut items = ItemCounter::default();
    for module in &modules {
        items.is_decide = module.path.first().is_some_and(|name| name == "decide");
        for item in &module.items {
            items.visit_item(item);
        }
    }
    let top: BTreeSet<&String> = modules.iter().filter_map(|m| m.path.first()).collect();
    let is_used = |name: &str| {
        words.iter().any(|(other, words)| {
            let own_targets = other == folder && words.targets.contains(name);
            own_targets || (other != folder && words.knows(name))
        })
    };
    Ok(CrateReport {
        name: folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        lines: modules.iter().map(|module| module.lines).sum(),
        modules: top.len(),
        cycles: graph.cycles(),
        types: items.types,
        functions: items.functions,
        long_functions: items.long_functions,
        unused_public: public_items(&modules)
            .into_iter()
            .filter(|name| !is_used(name))
            .collect(),
        decide_clones: items.decide_clones,
    })
}

/// The names of a crate's public items, methods left out.
fn public_items(modules: &[ModuleSource]) -> BTreeSet<String> {
    let items = modules.iter().flat_map(|module| &module.items);
    items
        .filter_map(|item| match item {
            Item::Const(item) => Some((&item.vis, &item.ident)),
            Item::Enum(item) => Some((&item.vis, &item.ident)),
            Item::Fn(item) => Some((&item.vis, &item.sig.ident)),
            Item::Static(item) => Some((&item.vis, &item.ident)),
            Item::Struct(item) => Some((&item.vis, &item.ident)),
            Item::Trait(item) => Some((&item.vis, &item.ident)),
            Item::Type(item) => Some((&item.vis, &item.ident)),
            _ => None,
        })
        .filter(|(visibility, _)| matches!(visibility, Visibility::Public(_)))
        .map(|(_, name)| name.to_string())
        .collect()
}

/// The words that a crate's files contain.
struct CrateWords {
    source: BTreeSet<String>,
    /// In tests, benchmarks and examples, which see a crate from outside.
    targets: BTreeSet<String>,
}

impl CrateWords {
    fn knows(&self, name: &str) -> bool {
        self.source.contains(name) || self.targets.contains(name)
    }
}

fn words_below(folder: &Path) -> Result<CrateWords, SourceError> {
    let mut words = CrateWords {
        source: BTreeSet::new(),
        targets: BTreeSet::new(),
    };
    collect_words(&folder.join("src"), &mut words.source)?;
    for name in ["tests", "benches", "examples"] {
        collect_words(&folder.join(name), &mut words.targets)?;
    }
    Ok(words)
}

fn collect_words(folder: &Path, words: &mut BTreeSet<String>) -> Result<(), SourceError> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in list_folder(folder)? {
        if path.is_dir() {
            collect_words(&path, words)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).map_err(|source| SourceError::Io {
                path: path.clone(),
                source,
            })?;
            let found = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(found.map(str::to_owned));
        }
    }
    Ok(())
}

fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
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

#[derive(Default)]
struct ItemCounter {
    types: TypeNames,
    functions: usize,
    long_functions: usize,
    is_decide: bool,
    decide_clones: usize,
}

impl ItemCounter {
    fn add_type(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        if !COMMON_NAMES.contains(&name.as_str()) {
            *self.types.counts.entry(name).or_default() += 1;
        }
    }

    fn add_function(&mut self, span: proc_macro2::Span) {
        self.functions += 1;
        let lines = span.end().line + 1 - span.start().line;
        self.long_functions += usize::from(lines > LONG_FUNCTION);
    }
}

impl<'ast> Visit<'ast> for ItemCounter {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add_type(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add_type(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add_type(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add_function(
            item.sig
                .fn_token
                .span()
                .join(item.block.span())
                .unwrap_or_else(|| item.block.span()),
        );
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add_function(
            item.sig
                .fn_token
                .span()
                .join(item.block.span())
                .unwrap_or_else(|| item.block.span()),
        );
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.decide_clones += usize::from(self.is_decide && call.method == "clone");
        visit::visit_expr_method_call(self, call);
    }
}

/// The measurements as a table in Markdown, and the cycles below it.
pub fn render_reports(reports: &[CrateReport]) -> String {
    let mut text = String::from(
        "| crate | lines | modules | in cycles | types | shared | one word | functions | over 70 lines | public, unused outside | clones in `decide` |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for report in reports {
        let in_cycles: usize = report.cycles.iter().map(Vec::len).sum();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {in_cycles} | {} | {} % | {} % | {} | {} | {} | {} |",
            report.name,
            report.lines,
            report.modules,
            report.types.total(),
            report.types.shared_percent(),
            report.types.one_word_percent(),
            report.functions,
            report.long_functions,
            report.unused_public.len(),
            report.decide_clones,
        );
    }
    for report in reports {
        for cycle in &report.cycles {
            let _ = write!(text, "\n{}: {}\n", report.name, cycle.join(", "));
        }
    }
    text
}
