//! Files that were made to hurt: deep, long, broken.

use codeteam_context::language::Language;
use codeteam_context::outline::{outline, signatures};

/// Looks at a text in every language, on a small stack.
fn survives(text: &str) {
    let look = || {
        for language in Language::ALL {
            outline(text, language);
            signatures(text, language);
        }
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn_scoped(scope, look).unwrap().join().unwrap();
    });
}

#[test]
fn deep_nesting() {
    for pair in ["()", "[]", "{}", "<>"] {
        let (open, close) = pair.split_at(1);
        survives(&open.repeat(10_000));
        survives(&format!(
            "x = {}{}",
            open.repeat(10_000),
            close.repeat(10_000)
        ));
    }
    survives(&"if (a) { ".repeat(10_000));
    survives(&"function f() { ".repeat(3_000));
    survives(&"class A { class B { ".repeat(3_000));
    survives(&"mod a { fn b() { ".repeat(3_000));
    survives(&"f(x => ".repeat(5_000));
    survives(&"a.b.".repeat(10_000));
    survives(&"-".repeat(20_000));
    let mut python = String::new();
    for depth in 0..400 {
        python.push_str(&" ".repeat(depth));
        python.push_str("def f():\n");
    }
    survives(&python);
}

#[test]
fn long_lines_and_nonsense() {
    survives(&"a".repeat(1 << 20));
    survives(&format!("x = \"{}\"", "b".repeat(1 << 20)));
    survives(&"def ".repeat(20_000));
    survives(&"/*a*/".repeat(10_000));
    survives(&"//\n".repeat(10_000));
    survives(&"# a\n".repeat(10_000));
    survives(&"\"".repeat(10_001));
    survives(&"\u{202e}\u{feff}é\r\n\0".repeat(5_000));
    survives(&"@a\n".repeat(5_000));
    survives(&"`${".repeat(5_000));
}

#[test]
fn a_packed_file_is_not_looked_into() {
    let packed = "function a(){return b}".repeat(5_000);
    assert_eq!(outline(&packed, Language::JavaScript).definitions, []);
    assert_eq!(signatures(&packed, Language::JavaScript), None);
}

#[test]
fn what_can_be_understood_is_told() {
    let text = "def good():\n    return 1\n\ndef broken(:\n    return ]\n\nclass Fine:\n    def also(self):\n        pass\n";
    let outline = outline(text, Language::Python);
    let names: Vec<_> = outline.definitions.iter().map(|it| &*it.name).collect();
    assert!(
        names.contains(&"good") && names.contains(&"Fine") && names.contains(&"also"),
        "{names:?}"
    );
}

#[test]
fn signatures_of_what_is_mostly_broken_are_none() {
    assert_eq!(
        signatures("}}} ((( ??? fn fn fn == ==\n", Language::Rust),
        None
    );
    assert_eq!(signatures("", Language::Go), None);
    assert_eq!(signatures("const A: u8 = 1;\n", Language::Rust), None);
}

#[test]
fn a_signature_stays_on_one_line_and_short() {
    let text = format!("fn long({}) {{}}\n", "argument: SomeType,\n".repeat(500));
    let outline = outline(&text, Language::Rust);
    let signature = &outline.definitions[0].signature;
    assert!(signature.len() < 450 && !signature.contains('\n'));
    assert!(signature.starts_with("fn long(argument: SomeType, argument"));
    assert!(signature.ends_with('…'));
}

#[test]
fn functions_are_told_with_their_lines() {
    let text = "class A {\n  m() {\n    function inner() {\n      return 1\n    }\n  }\n}\n";
    let outline = outline(text, Language::JavaScript);
    let functions: Vec<_> = outline
        .functions()
        .map(|it| (&*it.name, it.line, it.last_line))
        .collect();
    assert_eq!(functions, [("m", 2, 6), ("inner", 3, 5)]);
}
