//! The outlines, signatures and maps of sample projects, as they are kept in `samples`.

use std::fmt::Write as _;

use codeteam_context::language::Language;
use codeteam_context::outline::{Outline, outline, signatures};
use expect_test::expect_file;

use crate::folder::{PROJECTS, sample};

#[test]
fn outlines() {
    for project in PROJECTS {
        let mut all = String::new();
        for (path, text) in sample(project) {
            let language = Language::of(&path).unwrap();
            writeln!(all, "== {path}").unwrap();
            shown(&outline(&text, language), &mut all);
        }
        expect_file![format!("../samples/{project}.outline.txt")].assert_eq(&all);
    }
}

#[test]
fn declarations_only() {
    for project in PROJECTS {
        let mut all = String::new();
        for (path, text) in sample(project) {
            let language = Language::of(&path).unwrap();
            let shown = signatures(&text, language);
            writeln!(all, "== {path}").unwrap();
            all.push_str(&shown.unwrap_or_else(|| "(nothing gained)\n".to_owned()));
        }
        expect_file![format!("../samples/{project}.signatures.txt")].assert_eq(&all);
    }
}

fn shown(outline: &Outline, out: &mut String) {
    for definition in &outline.definitions {
        let mut depth = 0;
        let mut inside = definition.inside;
        while let Some(at) = inside {
            depth += 1;
            inside = outline.definitions[at as usize].inside;
        }
        writeln!(
            out,
            "{:>3}-{:<3} {:<9} {} {}{:<13} {}",
            definition.line,
            definition.last_line,
            format!("{:?}", definition.kind).to_lowercase(),
            if definition.public { '+' } else { '-' },
            "    ".repeat(depth),
            definition.name,
            definition.signature,
        )
        .unwrap();
    }
    let references: Vec<_> = outline
        .references
        .iter()
        .map(|reference| match reference.count {
            1 => reference.name.clone(),
            count => format!("{}*{count}", reference.name),
        })
        .collect();
    for line in references.chunks(12) {
        writeln!(out, "  > {}", line.join(" ")).unwrap();
    }
}
