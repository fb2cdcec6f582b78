//! Measures the crates of a workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::interface::PublicInterface;
use crate::modules::{SourceError, list_folder, load_crate};
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
    /// The names of those that do not fit on a screen.
    pub long_functions: Vec<String>,
    /// Public items that no other crate, test, benchmark or example names, and that are not part of
    /// one that is.
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
    let is_named = |name: &str| {
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
        unused_public: PublicInterface::from_modules(&modules).unused_items(is_named),
        decide_clones: items.decide_clones,
    })
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
    if folder.join("src/lib.rs").is_file() {
        // The program beside a library sees it from outside.
        collect_words_of_file(&folder.join("src/main.rs"), &mut words.targets)?;
    }
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
            collect_words_of_file(&path, words)?;
        }
    }
    Ok(())
}

fn collect_words_of_file(path: &Path, words: &mut BTreeSet<String>) -> Result<(), SourceError> {
    if path.is_file() {
        let text = fs::read_to_string(path).map_err(|source| SourceError::Io {
            path: path.to_owned(),
            source,
        })?;
        let found = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.extend(found.map(str::to_owned));
    }
    Ok(())
}

#[derive(Default)]
struct ItemCounter {
    types: TypeNames,
    functions: usize,
    long_functions: Vec<String>,
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

    fn add_function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        self.functions += 1;
        let span = signature.fn_token.span().join(body.span());
        let span = span.unwrap_or_else(|| body.span());
        let lines = span.end().line + 1 - span.start().line;
        if lines > LONG_FUNCTION {
            self.long_functions.push(signature.ident.to_string());
        }
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
        self.add_function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add_function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.decide_clones += usize::from(self.is_decide && call.method == "clone");
        visit::visit_expr_method_call(self, call);
    }
}

/// The measurements as a table in Markdown, and below it the cycles, the long functions and the unused
/// items by name.
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
            report.long_functions.len(),
            report.unused_public.len(),
            report.decide_clones,
        );
    }
    for report in reports {
        for cycle in &report.cycles {
            let _ = write!(text, "\n{}: {}\n", report.name, cycle.join(", "));
        }
        for (what, names) in [
            ("over 70 lines", &report.long_functions),
            ("unused outside", &report.unused_public),
        ] {
            if !names.is_empty() {
                let _ = write!(text, "\n{}, {what}: {}\n", report.name, names.join(", "));
            }
        }
    }
    text
}
