use std::collections::BTreeSet;

use codeteam_context::language::Language;

use super::{find_mutants, walk};
use crate::change::ChangeSet;
use crate::proof::TestPatterns;

/// Returns what becomes of each line, as `line: was -> became`, in the order of the text.
fn all(path: &str, text: &str) -> Vec<String> {
    let language = Language::from_path(path).unwrap();
    let lines: BTreeSet<u32> = (1..1_000).collect();
    let mutants = walk::mutate_text(path, text, language, &lines);
    let describe = |mutant: &super::Mutant| {
        let changed = mutant.apply(text).unwrap();
        assert_ne!(changed, text);
        let tree = codeteam_context::outline::parse_source(&changed, language).unwrap();
        assert!(!tree.root_node().has_error(), "{mutant}: {changed}");
        format!("{}: {} -> {}", mutant.line, mutant.was, mutant.became)
    };
    mutants.iter().map(describe).collect()
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(all(path, text), expected, "{text}");
}

#[test]
fn python() {
    check(
        "a.py",
        "import os\n\
         LIMIT: int = 10\n\
         @cache(maxsize=7)\n\
         def f(items, x=None):\n\
         \x20   assert x != 3\n\
         \x20   if not items:\n\
         \x20       return []\n\
         \x20   log.debug(\"a\", 1)\n\
         \x20   self.seen += len(items)\n\
         \x20   items.sort()\n\
         \x20   name = \"a\" + x\n\
         \x20   if x is not None and 0 < x not in items:\n\
         \x20       raise ValueError(x + 1)\n\
         \x20   return x * 2 if ready() else True\n\
         if __name__ == \"__main__\":\n\
         \x20   f(1)\n",
        &[
            "2: 10 -> 11",
            "6: not items -> items",
            "7: [] -> None",
            "9: self.seen += len(items) -> ",
            "10: items.sort() -> ",
            "12: and -> or",
            "12: is not -> is",
            "12: < -> <=",
            "12: not in -> in",
            "12: 0 -> 1",
            "13: raise ValueError(x + 1) -> ",
            "14: x * 2 if ready() else True -> None",
            "14: ready() -> not (ready())",
            "14: * -> /",
            "14: 2 -> 3",
            "14: True -> False",
        ],
    );
}

#[test]
fn javascript_and_typescript() {
    let text = "import a from \"a\";\n\
                export function f(x) {\n\
                \x20 console.log(1);\n\
                \x20 if (!x) throw new Error(2 + 3);\n\
                \x20 this.n = x > 1.5 ? 1 : 0x10;\n\
                \x20 g(x);\n\
                \x20 return x === undefined || x - 1;\n\
                }\n";
    let expected = [
        "4: !x -> x",
        "4: throw new Error(2 + 3); -> ",
        "5: this.n = x > 1.5 ? 1 : 0x10; -> ",
        "5: > -> >=",
        "5: 1.5 -> 2.5",
        "5: 1 -> 2",
        "6: g(x); -> ",
        "7: x === undefined || x - 1 -> undefined",
        "7: || -> &&",
        "7: === -> !==",
        "7: - -> +",
        "7: 1 -> 2",
    ];
    check("a.js", text, &expected);
    check("a.ts", text, &expected);
    check(
        "a.ts",
        "const x: Array<3> = 1;\nenum E { A = 1 }\ntype T = 5;\n",
        &["1: 1 -> 2"],
    );
}

#[test]
fn rust() {
    check(
        "a.rs",
        "const N: [u8; 3] = [0u8; 3];\n\
         fn f(x: &[u32]) -> Option<u32> {\n\
         \x20   if let Some(1) = g() { println!(\"{}\", 1); }\n\
         \x20   if x.is_empty() { return None; }\n\
         \x20   total += 1;\n\
         \x20   x.t.0 == 1 && true\n\
         }\n\
         fn g() -> bool { h(); ready() }\n\
         #[cfg(test)]\n\
         mod tests { fn a() -> bool { 1 < 2 } }\n\
         #[test]\n\
         fn b() { assert_eq!(1, 1); c(1 < 2); }\n",
        &[
            "1: 0u8 -> 1u8",
            "1: 3 -> 4",
            "6: x.t.0 == 1 && true -> None",
            "3: 1 -> 2",
            "4: x.is_empty() -> !(x.is_empty())",
            "5: total += 1; -> ",
            "5: 1 -> 2",
            "6: && -> ||",
            "6: == -> !=",
            "6: 1 -> 2",
            "6: true -> false",
            "8: ready() -> !(ready())",
            "8: h(); -> ",
        ],
    );
}

#[test]
fn go_and_java() {
    check(
        "a.go",
        "package a\n\
         func F(x int) bool {\n\
         \tif err := g(); err != nil {\n\
         \t\treturn false\n\
         \t}\n\
         \tc.n = 1\n\
         \ty := 2\n\
         \tx++\n\
         \th(x)\n\
         \treturn ok(y)\n\
         }\n\
         func G() string { return name() }\n",
        &[
            "3: != -> ==",
            "4: false -> true",
            "6: c.n = 1 -> ",
            "6: 1 -> 2",
            "7: 2 -> 3",
            "8: x++ -> ",
            "9: h(x) -> ",
            "10: ok(y) -> !(ok(y))",
            "12: name() -> \"\"",
        ],
    );
    check(
        "A.java",
        "class A {\n\
         \x20 @Size(max = 3) int n;\n\
         \x20 int f(int x) {\n\
         \x20   if (!ready(x)) { throw new E(1); }\n\
         \x20   this.n = 2;\n\
         \x20   log.info(\"a\");\n\
         \x20   System.out.println(1);\n\
         \x20   list.add(x);\n\
         \x20   return x + n;\n\
         \x20 }\n\
         }\n",
        &[
            "4: !ready(x) -> ready(x)",
            "4: throw new E(1); -> ",
            "5: this.n = 2; -> ",
            "5: 2 -> 3",
            "8: list.add(x); -> ",
            "9: x + n -> 0",
            "9: + -> -",
        ],
    );
}

fn plan(files: &[(&str, Option<&str>, Option<&str>)]) -> super::MutantPlan {
    let tests = TestPatterns::new(&["tests/**".to_owned()]);
    let change = ChangeSet::between_texts(files);
    find_mutants(&change, &tests, &|language| language == Language::Python)
}

#[test]
fn only_changed_lines_of_product_code_with_tests_are_mutated() {
    let found = plan(&[
        ("a.js", None, Some("f(1);\n")),
        ("a.py", Some("x = 1\ny = 2\n"), Some("x = 1\ny = 3\n")),
        ("gen.py", None, Some("# @generated\nx = 1\n")),
        ("gone.py", Some("x = 1\n"), None),
        ("notes.md", None, Some("1 < 2\n")),
        ("tests/test_a.py", None, Some("assert f(1) == 2\nx = 1\n")),
        ("vendor/b.py", None, Some("x = 1\n")),
    ]);
    let words: Vec<String> = found.mutants.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["`3` became `4` at a.py:2"]);
    assert_eq!(found.untested, ["a.js"]);
    assert_eq!(
        found.mutants[0].apply("x = 1\ny = 3\n").unwrap(),
        "x = 1\ny = 4\n"
    );
    assert_eq!(found.mutants[0].apply("x"), None);
}

#[test]
fn every_beginning_is_spread_over_the_change() {
    let text: String = (0..64).fold(String::new(), |text, n| text + &format!("x = y < {n}\n"));
    let found = plan(&[("a.py", None, Some(&text))]).mutants;
    assert_eq!(found.len(), 128);
    let lines: Vec<u32> = found.iter().map(|mutant| mutant.line).collect();
    assert_eq!(lines[..8], [1, 33, 17, 49, 9, 41, 25, 57]);
    // The operator of every line comes before any second mutant.
    assert!(found[..64].iter().all(|mutant| mutant.was == "<"));
    let again = plan(&[("a.py", None, Some(&text))]).mutants;
    assert_eq!(found, again);
    let keys: BTreeSet<String> = found.iter().map(super::Mutant::key).collect();
    assert_eq!(keys.len(), found.len());
}

#[test]
fn what_is_crafted_takes_no_time() {
    let deep = format!("x = {}1{}\n", "(".repeat(50_000), ")".repeat(50_000));
    let many = format!("x = [{}]\n", "1 < 2, ".repeat(100_000));
    for text in [deep.as_str(), many.as_str(), "x = 1 <\n", "\u{0}(((", ""] {
        let found = plan(&[("a.py", None, Some(text))]);
        assert!(found.mutants.len() <= 3, "{}", found.mutants.len());
    }
}
