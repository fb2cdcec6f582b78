use proptest::prelude::*;

use super::*;

/// A text of about so many tokens, that can be shortened to a tenth.
fn item(name: &str, tokens: usize) -> ContextItem {
    ContextItem {
        name: name.to_owned(),
        text: " word".repeat(tokens),
        shortening: ShorteningMethod::By(" word".repeat(tokens / 10)),
        shortened: false,
    }
}

fn part(name: &str, need: PartRequirement, sizes: &[usize]) -> ContextPart {
    let items = sizes.iter().enumerate();
    ContextPart {
        name: name.to_owned(),
        need,
        items: items
            .map(|(i, size)| item(&format!("{name}{i}"), *size))
            .collect(),
    }
}

/// `a0 a1~ -a2`: whole, shortened, left out.
fn shown(fitted: &FittedContext) -> String {
    let parts = fitted.parts.iter().map(|part| {
        let items = part.items.iter().map(|item| {
            let mark = if item.shortened { "~" } else { "" };
            format!("{}{mark}", item.name)
        });
        let dropped = part.dropped.iter().map(|name| format!("-{name}"));
        items.chain(dropped).collect::<Vec<_>>().join(" ")
    });
    parts.collect::<Vec<_>>().join(" | ")
}

fn parts() -> Vec<ContextPart> {
    vec![
        part("a", PartRequirement::Shortened, &[1_000, 1_000]),
        part("b", PartRequirement::Wanted, &[1_000, 1_000]),
        part("c", PartRequirement::Wanted, &[1_000, 1_000]),
    ]
}

#[test]
fn the_lowest_part_goes_first() {
    let fixed = [("system", 400), ("task", 600)];
    let at = |budget| fit_context(parts(), &fixed, budget).map(|fitted| shown(&fitted));
    assert_eq!(at(8_000).unwrap(), "a0 a1 | b0 b1 | c0 c1");
    assert_eq!(at(6_800).unwrap(), "a0 a1 | b0 b1 | c0 c1~");
    assert_eq!(at(5_500).unwrap(), "a0 a1 | b0 b1 | c0~ c1~");
    assert_eq!(at(5_230).unwrap(), "a0 a1 | b0 b1 | c0~ -c1");
    assert_eq!(at(4_300).unwrap(), "a0 a1 | b0 b1~ | c0~ -c1");
    assert_eq!(at(3_500).unwrap(), "a0 a1 | b0~ b1~ | c0~ -c1");
    assert_eq!(at(1_300).unwrap(), "a0~ a1~ | -b0 -b1 | -c0 -c1");
    let error = at(1_200).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the context cannot fit into 1200 tokens: system 400, task 600, a 2036 (shortened 236), \
         together 1236 at least"
    );
}

#[test]
fn what_must_be_whole_is_not_shortened() {
    let mut parts = parts();
    parts[0].need = PartRequirement::Whole;
    let error = fit_context(parts, &[], 2_000).unwrap_err();
    assert_eq!(error.parts, [("a".to_owned(), 2_036, 2_036)]);
}

#[test]
fn texts_are_shortened_by_what_they_are() {
    let lines: Vec<String> = (1..=100).map(|i| format!("line {i}")).collect();
    let text = lines.join("\n");
    let beginning = shorten(&text, &ShorteningMethod::Beginning).unwrap();
    assert!(
        beginning.starts_with("line 1\n")
            && beginning.ends_with("line 40\n[… 60 lines left out …]")
    );
    let both = shorten(&text, &ShorteningMethod::Ends).unwrap();
    assert!(
        both.contains("line 20\n[… 40 lines left out …]\nline 61\n") && both.ends_with("line 100")
    );
    assert_eq!(shorten("short", &ShorteningMethod::Beginning), None);

    let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@ fn a\n one\n-two\n+2\n\n three\n";
    assert_eq!(
        shorten(diff, &ShorteningMethod::Diff).unwrap(),
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@ fn a\n-two\n+2\n"
    );
}

fn any_parts() -> impl Strategy<Value = Vec<ContextPart>> {
    let need = prop_oneof![
        Just(PartRequirement::Whole),
        Just(PartRequirement::Shortened),
        Just(PartRequirement::Wanted)
    ];
    let one = (need, prop::collection::vec(0_usize..300, 0..4));
    prop::collection::vec(one, 0..5).prop_map(|parts| {
        let parts = parts.into_iter().enumerate();
        parts
            .map(|(i, (need, sizes))| part(&format!("p{i}-"), need, &sizes))
            .collect()
    })
}

proptest! {
    #[test]
    fn it_fits_or_what_is_needed_does_not(parts in any_parts(), budget in 0_usize..2_000) {
        let all: usize = parts.iter().flat_map(|part| &part.items).map(|item| count_item_tokens(&item.name, &item.text)).sum();
        match fit_context(parts.clone(), &[("fixed", 100)], budget) {
            Ok(fitted) => {
                prop_assert!(fitted.tokens <= budget);
                let mut sum = 100;
                for (part, wanted) in fitted.parts.iter().zip(&parts) {
                    let shown: usize = part.items.iter().map(|item| count_item_tokens(&item.name, &item.text)).sum();
                    prop_assert_eq!(shown, part.tokens);
                    prop_assert_eq!(part.items.len() + part.dropped.len(), wanted.items.len());
                    let whole = part.dropped.is_empty() && part.items.iter().all(|item| !item.shortened);
                    prop_assert!(whole || wanted.need != PartRequirement::Whole);
                    prop_assert!(part.dropped.is_empty() || wanted.need == PartRequirement::Wanted);
                    sum += shown;
                }
                prop_assert_eq!(sum, fitted.tokens);
                if all + 100 <= budget {
                    prop_assert!(fitted.parts.iter().all(|part| part.dropped.is_empty()));
                }
            }
            Err(error) => {
                let least: usize = error.parts.iter().map(|(_, _, least)| least).sum();
                prop_assert!(least > budget, "{error}");
            }
        }
    }
}

#[test]
fn what_has_few_tokens_and_many_bytes_takes_room_too() {
    let blank = ContextItem {
        name: "blank".to_owned(),
        text: " ".repeat(1 << 20),
        shortening: ShorteningMethod::No,
        shortened: false,
    };
    let part = ContextPart {
        name: "related".to_owned(),
        need: PartRequirement::Wanted,
        items: vec![blank; 20],
    };
    let fitted = fit_context(vec![part], &[], 200_000).unwrap();
    assert_eq!(fitted.parts[0].items.len(), 3);
}
