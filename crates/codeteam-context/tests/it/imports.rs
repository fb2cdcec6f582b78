//! Import graphs of small projects, written by hand, one a language; and what holds for all.

mod go;
mod java;
mod python;
mod rust;
mod scripts;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_context::imports::{ImportDirection, ImportGraph, ReachedFile, SourceFile};
use codeteam_context::language::Language;
use codeteam_context::outline::{Import, ImportForm, outline};
use expect_test::expect;
use proptest::prelude::*;

/// Files and their texts; a path alone is planned.
struct Project {
    files: BTreeMap<String, String>,
}

impl Project {
    /// Reads `=== path` lines, each followed by the file's text.
    fn of(text: &str) -> Self {
        let mut files = BTreeMap::new();
        for part in text.split("=== ").skip(1) {
            let (path, text) = part.split_once('\n').unwrap();
            files.insert(path.trim().to_owned(), text.to_owned());
        }
        Self { files }
    }

    fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    fn graph(&self) -> ImportGraph {
        let imports: Vec<(&String, Vec<Import>)> = self
            .files
            .iter()
            .map(|(path, text)| {
                let language = Language::from_path(path);
                let imports = language.map(|language| outline(text, language).imports);
                (path, imports.unwrap_or_default())
            })
            .collect();
        let sources: Vec<SourceFile<'_>> = imports
            .iter()
            .map(|(path, imports)| SourceFile { path, imports })
            .collect();
        ImportGraph::from_sources(&sources, &|path| self.files.get(path).cloned())
    }

    /// Every edge with its line, and what leads elsewhere.
    fn told(&self) -> String {
        let graph = self.graph();
        let mut out = String::new();
        for file in graph.files() {
            let mut lines: Vec<(u32, String)> = Vec::new();
            for to in graph.imports_of(file) {
                for shown in graph.import_statements(file, to) {
                    let form = match shown.form {
                        ImportForm::Import => "",
                        ImportForm::Types => " (types)",
                        ImportForm::Part => " (part)",
                        ImportForm::Mention => " (mention)",
                        ImportForm::Within => " (within)",
                    };
                    lines.push((shown.line, format!("{to}{form}")));
                }
            }
            for outside in graph.external_imports(file) {
                let package = outside.package.map_or_else(
                    || format!("? {}", outside.module),
                    |package| format!("[{package}]"),
                );
                lines.push((outside.import.line, package));
            }
            lines.sort();
            if !lines.is_empty() {
                writeln!(out, "{file}").unwrap();
            }
            for (line, to) in lines {
                writeln!(out, "  {line}: {to}").unwrap();
            }
        }
        out
    }
}

#[test]
fn what_will_be_written_is_found() {
    let project = Project::of(
        r#"
=== Cargo.toml
[package]
name = "shop"
=== src/lib.rs
mod cart;
mod pay;
use crate::pay::Card;
=== src/cart.rs
=== go.mod
module example.org/shop
=== main.go
import "example.org/shop/cart"
=== app.py
from shop.cart import Cart
from shop import later
from whole.inner.deep import x
import nowhere
=== web/index.ts
import { a } from "./later";
import { b } from "./whole/of/it";
import { c } from "elsewhere";
=== src/main/java/org/shop/A.java
package org.shop;
import org.shop.next.B;
import org.shop.other.C;
class A { Near near; }
"#,
    );
    let project = project
        .with("src/pay/", "")
        .with("cart/cart.go", "")
        .with("shop/cart.py", "")
        .with("shop/later.py", "")
        .with("whole/", "")
        .with("web/later.tsx", "")
        .with("web/whole/", "")
        .with("src/main/java/org/shop/next/B.java", "")
        .with("src/main/java/org/shop/other/", "")
        .with("src/main/java/org/shop/Near.java", "");
    expect![[r"
        app.py
          1: shop/cart.py
          2: shop/later.py
          3: whole/
          4: ? nowhere
        main.go
          1: cart/cart.go
        src/lib.rs
          1: src/cart.rs (part)
          2: src/pay/ (part)
          3: src/pay/
        src/main/java/org/shop/A.java
          2: src/main/java/org/shop/next/B.java
          3: src/main/java/org/shop/other/
          4: src/main/java/org/shop/Near.java (mention)
        web/index.ts
          1: web/later.tsx
          2: web/whole/
          3: ? elsewhere
    "]]
    .assert_eq(&project.told());
}

#[test]
fn the_graph_answers() {
    let project = Project::of(
        "
=== a.py
import b
import b
=== b.py
import c
=== c.py
import a
import d
=== d.py
if TYPE_CHECKING:
    import b
=== e.py
import d
",
    );
    let graph = project.graph();
    assert_eq!(graph.cycles(), [["a.py", "b.py", "c.py"]]);
    let lines: Vec<u32> = graph
        .import_statements("a.py", "b.py")
        .iter()
        .map(|s| s.line)
        .collect();
    assert_eq!(lines, [1, 2]);
    assert!(graph.import_statements("b.py", "a.py").is_empty());
    assert!(graph.import_statements("b.py", "nothing").is_empty());
    assert_eq!(graph.importers_of("d.py"), ["c.py", "e.py"]);
    assert!(graph.imports_of("nothing").is_empty());
    let reached = |way, depth| {
        let reached = graph.reachable_files(&["d.py"], way, depth).into_iter();
        let reached = reached.map(|ReachedFile { path, distance }| format!("{path}@{distance}"));
        reached.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(reached(ImportDirection::Importers, 0), "");
    assert_eq!(
        reached(ImportDirection::Importers, 2),
        "c.py@1 e.py@1 b.py@2"
    );
    assert_eq!(
        reached(ImportDirection::Importers, 99),
        "c.py@1 e.py@1 b.py@2 a.py@3"
    );
    assert_eq!(
        reached(ImportDirection::Imports, 99),
        "b.py@1 c.py@2 a.py@3"
    );
    assert_eq!(graph.edges().count(), 6);
}

#[test]
fn packages_of_go_import_each_other_as_a_whole() {
    let graph = Project::of(
        "
=== go.mod
module m
=== a/one.go
import \"m/b\"
=== a/two.go
=== b/b.go
import \"m/c\"
=== c/c.go
import \"m/a\"
",
    )
    .graph();
    assert_eq!(graph.cycles(), [["a/one.go", "b/b.go", "c/c.go"]]);
    let reached = graph.reachable_files(&["b/b.go"], ImportDirection::Imports, 9);
    let reached: Vec<&str> = reached.iter().map(|r| r.path).collect();
    assert_eq!(reached, ["c/c.go", "a/one.go", "a/two.go"]);
    let reached = graph.reachable_files(&["a/two.go"], ImportDirection::Importers, 9);
    let reached: Vec<&str> = reached.iter().map(|r| r.path).collect();
    assert_eq!(reached, ["c/c.go", "b/b.go", "a/one.go"]);
}

fn import(module: &str) -> Import {
    Import {
        module: module.to_owned(),
        statement: format!("import {module}"),
        line: 1,
        ..Import::default()
    }
}

#[test]
fn hostile_manifests_and_imports_end() {
    let paths: String = (0..50_000).fold(String::new(), |mut paths, n| {
        write!(paths, "\"p{n}/*\": [\"x{n}/*\"], \"*s{n}\": [\"y\"],").unwrap();
        paths
    });
    let project = Project::of("")
        .with("tsconfig.json", "{ \"extends\": [\"./a.json\", \"./tsconfig.json\"], \"references\": [{ \"path\": \".\" }] }")
        .with("a.json", "{ \"extends\": \"./tsconfig.json\" }")
        .with("b/tsconfig.json", &format!("{{ \"compilerOptions\": {{ \"paths\": {{ {paths} }} }} }}"))
        .with("c/tsconfig.json", &"[".repeat(100_000))
        .with("package.json", "{ \"name\": \"x\", \"main\": \".\", \"exports\": { \".\": \".\", \"./a\": \"./a\" } }")
        .with("Cargo.toml", &"[a.".repeat(10_000))
        .with("src/lib.rs", "#[path = \"lib.rs\"]\nmod a;\n#[path = \"b.rs\"]\nmod b;\n")
        .with("src/b.rs", "#[path = \"lib.rs\"]\nmod c;\nuse crate::b::c::b::c::D;")
        .with("go.mod", "module\nrequire (\nmodule (\n")
        .with("pom.xml", &"<dependency>".repeat(1_000))
        .with("pyproject.toml", "[project]\ndependencies = [\"\", \"[\", 1]\n")
        .with("b/x.ts", "import 'p7/a'; import 'x'; import 'x/a'; import '.'; import '../../..'; import '';")
        .with("x.js", "require('./'); require('x')");
    let graph = project.graph();
    assert!(graph.imports_of("x.js").is_empty());

    let dots = "../".repeat(300);
    let wild = [
        import(&".".repeat(900)),
        import(&dots),
        import(&format!("{dots}x")),
        import("*"),
        import("::::"),
        import("self::self::super::super"),
        import(&"a::".repeat(300)),
        import(&"a.".repeat(400)),
        import(&"/".repeat(900)),
        import("@"),
        import("@/"),
        import("#"),
        import("é"),
    ];
    let paths = ["a.py", "a.ts", "a.rs", "a.go", "a.java", "a/", "/", ""];
    let sources = paths.map(|path| SourceFile {
        path,
        imports: &wild,
    });
    let graph = ImportGraph::from_sources(&sources, &|_| None);
    assert_eq!(graph.files().len(), paths.len());
}

/// Builds a graph of this many files, all of which are alike and import many of the others.
fn large(files: usize) {
    let name = |n: usize| format!("pkg/mod_{n}.py");
    let paths: Vec<String> = (0..files).map(name).collect();
    let go: Vec<String> = (0..files).map(|n| format!("g/f{n}.go")).collect();
    let imports: Vec<Vec<Import>> = (0..files)
        .map(|n| {
            let others = (1..20).map(|by| (n * 31 + by * 17) % files);
            others.map(|n| import(&format!("pkg.mod_{n}"))).collect()
        })
        .collect();
    let one = [import("m/g")];
    let python = paths.iter().zip(&imports);
    let python = python.map(|(path, imports)| SourceFile { path, imports });
    let go = go.iter().map(|path| SourceFile {
        path,
        imports: &one,
    });
    let sources: Vec<SourceFile<'_>> = python.chain(go).collect();
    let graph = ImportGraph::from_sources(&sources, &|_| None);
    assert_eq!(graph.imports_of(&name(0)).len(), 19);
    let reached = graph.reachable_files(&[&name(0)], ImportDirection::Imports, u32::MAX);
    assert_eq!(reached.len(), files - 1);
    assert!(!graph.cycles().is_empty());
}

#[test]
fn very_many_files_are_no_trouble() {
    large(50_000);
}

/// A path of a file that some languages might look at, and nothing here imports.
fn stranger() -> impl Strategy<Value = String> {
    let folder = prop::sample::select(vec!["", "zz/", "src/zz/", "packages/zz/", "crates/zz/src/"]);
    let end = prop::sample::select(vec!["py", "ts", "rs", "go", "java", "md", "json"]);
    (folder, "[q-z]{6,9}", end).prop_map(|(folder, name, end)| format!("{folder}{name}.{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_file_that_nobody_imports_changes_nothing(path in stranger()) {
        for text in [python::PYTHON, scripts::SCRIPT, rust::RUST, go::GO, java::JAVA] {
            let before = Project::of(text);
            let after = Project::of(text).with(&path, "");
            prop_assert_eq!(before.told(), after.told());
        }
    }

    #[test]
    fn no_names_make_it_fail(
        paths in prop::collection::vec("[a-c./]{1,8}(\\.py|\\.ts|\\.rs|\\.go|\\.java|/)", 0..12),
        modules in prop::collection::vec("[a-c./:@#*\\\\]{1,12}", 0..12),
    ) {
        let imports: Vec<Import> = modules.iter().map(|module| {
            let mut import = import(module);
            import.names = vec![module.clone(), "*".to_owned()];
            import
        }).collect();
        let sources: Vec<SourceFile<'_>> = paths.iter().map(|path| SourceFile { path, imports: &imports }).collect();
        let graph = ImportGraph::from_sources(&sources, &|_| None);
        for file in graph.files() {
            for to in graph.imports_of(file) {
                prop_assert!(graph.importers_of(to).contains(&file));
                prop_assert!(!graph.import_statements(file, to).is_empty());
            }
        }
    }
}
