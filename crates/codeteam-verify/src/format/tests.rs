use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::*;

/// Files by their paths; folders are the beginnings of paths.
struct Files(BTreeMap<&'static str, &'static str>);

impl FormatSurroundings for Files {
    fn link_target(&self, path: &str) -> LinkTarget {
        let folder = format!("{path}/");
        match self.0.get(path) {
            Some(text) if Path::new(path).extension() == Some("md".as_ref()) => {
                LinkTarget::Markdown((*text).to_owned())
            }
            Some(_) => LinkTarget::Present,
            None if self.0.keys().any(|known| known.starts_with(&folder)) => LinkTarget::Present,
            None => LinkTarget::Missing,
        }
    }
}

fn faults(text: &str, rules: &FormatRules) -> Vec<String> {
    let files = Files(BTreeMap::from([
        ("README.md", "# Über alles\n\n## Steps\n\n## Steps\n"),
        (
            "docs/other.md",
            "<a id=\"there\"></a>\n# `code` and *more*!\n",
        ),
        ("docs/img/a b.png", ""),
        ("src/main.rs", ""),
    ]));
    check_format("docs/report.md", text, rules, None, &files)
}

fn words(text: &str, min: Option<u64>, max: Option<u64>) -> Vec<String> {
    let rules = FormatRules {
        words: Some(WordBounds { min, max }),
        ..FormatRules::default()
    };
    faults(text, &rules)
}

#[test]
fn what_is_missing_and_what_is_too_much_is_named() {
    let rules = FormatRules {
        contains: vec![
            "## Sources".to_owned(),
            "TAM".to_owned(),
            r"/^\| *Provider/".to_owned(),
        ],
        lacks: vec!["TODO".to_owned(), "/lorem +ipsum/".to_owned()],
        ..FormatRules::default()
    };
    assert_eq!(
        faults(
            "# Report\n\n| Provider |\n\nTODO: TAM\nlorem  ipsum\n",
            &rules
        ),
        [
            "docs/report.md: it does not contain `## Sources`; add it",
            "docs/report.md:5: it contains `TODO`; take that out",
            "docs/report.md:6: it contains `/lorem +ipsum/`; take that out",
        ]
    );
    let good = "## Sources\n| Provider | TAM |\n";
    assert_eq!(faults(good, &rules), Vec::<String>::new());
}

#[test]
fn words_have_a_letter_or_a_digit() {
    assert_eq!(words("one, two - 3 | --- 四\n", Some(4), Some(4)).len(), 0);
    let few = "docs/report.md: it has 2 words, 3 fewer than the 5 that are asked for";
    assert_eq!(words("one two", Some(5), None), [few]);
    let many = "docs/report.md: it has 3 words, 1 more than the 2 that are allowed";
    assert_eq!(words("one two three", None, Some(2)), [many]);
}

#[test]
fn json_is_compared_with_its_schema() {
    let schema = json!({
        "$defs": { "name": { "type": "string", "pattern": "^[a-z]+$" } },
        "type": "object",
        "required": ["name", "revenue"],
        "properties": { "name": { "$ref": "#/$defs/name" }, "revenue": { "type": "number", "minimum": 0 } },
    });
    assert_eq!(schema_problem(&schema), None);
    let files = Files(BTreeMap::new());
    let check = |text: &str| {
        let rules = FormatRules::default();
        check_format("a.json", text, &rules, Some(&schema), &files)
    };
    assert_eq!(check(r#"{ "name": "care", "revenue": 1.5 }"#).len(), 0);
    let told = check(r#"{ "name": "Care" }"#).join("\n");
    assert!(told.contains("a.json: at `/name`"), "{told}");
    assert!(
        told.contains("\"revenue\" is a required property"),
        "{told}"
    );
    let told = check("{\n").join("\n");
    assert!(told.starts_with("a.json:2: invalid JSON"), "{told}");
}

#[test]
fn a_schema_reaches_nobody() {
    let schema = json!({ "$ref": "https://example.invalid/schema.json" });
    assert!(schema_problem(&schema).is_some());
    let schema = json!({ "$ref": "file:///etc/hostname" });
    assert!(schema_problem(&schema).is_some());
    let schema = json!({ "type": 7 });
    assert!(schema_problem(&schema).is_some());
}

#[test]
fn links_lead_to_files_and_headings() {
    let rules = FormatRules {
        links: true,
        ..FormatRules::default()
    };
    let good = "
# A heading: with `code`, twice

[a](../README.md) [b](/README.md#steps-1) [c](../README.md#%C3%BCber-alles) [d](img)
![e](<img/a b.png>) ![f](img/a%20b.png) [g](#a-heading-with-code-twice) [h](other.md#there)
[i](other.md#code-and-more) [j](https://example.com/x) [k](mailto:a@b.c) [l](../src/main.rs#L3)
<https://example.com> [m][ref] `[n](nowhere.md)` [o](../README.md?plain=1)

```
[p](nowhere.md)
```

[ref]: other.md
";
    assert_eq!(faults(good, &rules), Vec::<String>::new());
    let bad = "[a](nowhere.md)\n[b](#nothing)\n\n[c](other.md#nothing)\n![d](../../etc/passwd)\n[e][x]\n\n[x]: gone/\n";
    assert_eq!(
        faults(bad, &rules),
        [
            "docs/report.md:1: the link to `nowhere.md` leads nowhere: there is no `docs/nowhere.md`",
            "docs/report.md:2: the link to `#nothing` leads to no heading of this file",
            "docs/report.md:4: the link to `other.md#nothing` leads to no heading of `docs/other.md`",
            "docs/report.md:5: the link to `../../etc/passwd` leads out of the repository",
            "docs/report.md:6: the link to `gone/` leads nowhere: there is no `docs/gone`",
        ]
    );
}

#[test]
fn many_faults_of_a_kind_are_counted() {
    let links: Vec<String> = (0..25).map(|n| format!("[x](gone-{n}.md)")).collect();
    let text = links.join("\n");
    let rules = FormatRules {
        links: true,
        ..FormatRules::default()
    };
    let told = faults(&text, &rules);
    assert_eq!(told.len(), 11);
    assert_eq!(told[10], "and 15 more of this kind");
}

/// Each target is looked at once, however many links lead there.
#[test]
fn a_file_full_of_links_is_checked_in_time() {
    let line = "[x](other.md#there) [y](../README.md#gone)\n";
    let text = line.repeat(40_000);
    let rules = FormatRules {
        links: true,
        ..FormatRules::default()
    };
    let told = faults(&text, &rules);
    assert_eq!(told.len(), 11);
    assert_eq!(told[10], "and 2490 more of this kind");
}
