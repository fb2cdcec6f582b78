//! What is read, what is refused, and what a worker is told of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn form(kind: RoleKind) -> AnswerForm {
    AnswerForm {
        kind,
        contract: Contract::Native,
        mode: EditMode::Tools,
        asks: false,
        requests: false,
    }
}

fn refused(kind: RoleKind, text: &str) -> String {
    parse(form(kind), text).unwrap_err()
}

#[test]
fn a_verdict_said_twice_approves_nothing() {
    let text = r#"{"verdict":"reject","reason":"x","verdict":"approve"}"#;
    assert!(refused(RoleKind::Gatekeeper, text).contains("`verdict` occurs twice"));
}

#[test]
fn a_planner_asks_or_gives_a_plan() {
    let talking = AnswerForm {
        asks: true,
        requests: false,
        ..form(RoleKind::Planner)
    };
    let asked = parse(talking, r#"{"questions":["Which?"],"plan":null}"#);
    assert!(matches!(asked, Ok(Submission::Questions(_))), "{asked:?}");
    let plan = json!({"description": "d", "tasks": [{"id": "a"}]});
    for mut answer in [
        json!({}),
        json!({"questions": null, "context": null}),
        json!({"questions": [], "context": "", "partial_spec": ""}),
    ] {
        answer["plan"] = plan.clone();
        let planned = parse(talking, &answer.to_string());
        assert!(matches!(planned, Ok(Submission::Plan(_))), "{planned:?}");
    }
    let refused = |form, answer: Value| parse(form, &answer.to_string()).unwrap_err();
    let both = json!({"plan": plan, "questions": ["Which?"]});
    assert_eq!(
        refused(talking, both),
        "ask, or give the plan: not both at once"
    );
    let neither = json!({"questions": []});
    assert_eq!(
        refused(talking, neither),
        "`questions` must hold at least one question"
    );
    let unknown = refused(talking, json!({"plan": plan, "quest": []}));
    assert!(unknown.contains("`quest`"), "{unknown}");
    let late = json!({"questions": ["Which?"]});
    assert_eq!(
        refused(form(RoleKind::Planner), late),
        "it asked questions (`Which?`), but the plan was wanted: nobody answers questions now, so give \
         the plan with what is known"
    );
}

#[test]
fn unknown_and_missing_keys_are_named() {
    let unknown = refused(
        RoleKind::Gatekeeper,
        r#"{"verdict":"approve","reason":"x","lgtm":true}"#,
    );
    assert!(unknown.contains("unknown field `lgtm`"), "{unknown}");
    let missing = refused(RoleKind::Implementer, r#"{"files":[]}"#);
    assert!(missing.contains("missing field `summary`"), "{missing}");
    assert!(refused(RoleKind::Scribe, "APPROVED").contains("not valid JSON"));
    assert!(refused(RoleKind::Scribe, r#"{"message":"  "}"#).contains("must not be empty"));
}

#[test]
fn every_kind_may_be_blocked() {
    for kind in RoleKind::ALL {
        let parsed = parse(form(kind), r#"{"blocked":"no access","summary":null}"#);
        assert!(matches!(parsed, Ok(Submission::Blocked(_))));
    }
}

#[test]
fn who_is_blocked_is_not_done() {
    let both = r#"{"blocked":"","message":"ready"}"#;
    assert_eq!(refused(RoleKind::Scribe, both), BLOCKED_ALONE);
}

#[test]
fn the_examples_fit_their_contracts() {
    for form in AnswerForm::all() {
        let text = example(form).to_string();
        let parsed = parse(form, &text);
        let done = matches!(&parsed, Ok(s) if !matches!(s, Submission::Blocked(_)));
        assert!(done, "{form:?}: {text}: {parsed:?}");
    }
}

#[test]
fn every_form_may_be_blocked_and_must_say_why() {
    for form in AnswerForm::all() {
        let (why, silence, key) = if form.contract == Contract::Strict {
            (
                r#"{"status":"error","reason":"no access"}"#,
                r#"{"status":"error","reason":" "}"#,
                "reason",
            )
        } else {
            (
                r#"{"blocked":"no access"}"#,
                r#"{"blocked":" "}"#,
                "blocked",
            )
        };
        let parsed = parse(form, why);
        assert!(matches!(parsed, Ok(Submission::Blocked(_))), "{form:?}");
        let silent = parse(form, silence).unwrap_err();
        assert_eq!(silent, format!("`{key}` must not be empty"), "{form:?}");
    }
}

/// Every copy of a value in which one of its objects, at any depth, was changed.
fn with_each_object(
    value: &Value,
    change: &dyn Fn(&mut serde_json::Map<String, Value>),
) -> Vec<Value> {
    let mut copies = Vec::new();
    match value {
        Value::Object(fields) => {
            let mut own = fields.clone();
            change(&mut own);
            copies.push(Value::Object(own));
            for (key, inner) in fields {
                for changed in with_each_object(inner, change) {
                    let mut copy = fields.clone();
                    copy[key] = changed;
                    copies.push(Value::Object(copy));
                }
            }
        }
        Value::Array(items) => {
            for (i, inner) in items.iter().enumerate() {
                for changed in with_each_object(inner, change) {
                    let mut copy = items.clone();
                    copy[i] = changed;
                    copies.push(Value::Array(copy));
                }
            }
        }
        _ => {}
    }
    copies
}

#[test]
fn a_key_that_nobody_asked_for_is_refused_at_any_depth() {
    for form in AnswerForm::all() {
        let add = |fields: &mut serde_json::Map<String, Value>| {
            fields.insert("lgtm".to_owned(), json!(true));
        };
        for text in with_each_object(&example(form), &add) {
            let refused = parse(form, &text.to_string()).unwrap_err();
            assert!(
                refused.contains("unknown field `lgtm`"),
                "{form:?}: {refused}"
            );
        }
    }
}

#[test]
fn a_key_that_occurs_twice_is_refused_in_every_form() {
    for form in AnswerForm::all() {
        let example = example(form);
        let text = example.to_string();
        for (key, value) in example.as_object().unwrap() {
            let again = format!(
                "{},{}:{value}}}",
                text.strip_suffix('}').unwrap(),
                json!(key)
            );
            let refused = parse(form, &again).unwrap_err();
            assert!(
                refused.contains(&format!("`{key}` occurs twice")),
                "{refused}"
            );
        }
    }
}

/// Some JSON, made of the words that the forms are made of.
fn some_json() -> impl Strategy<Value = Value> {
    let mut words: Vec<String> = Vec::new();
    for form in AnswerForm::all() {
        let properties = answer_schema(form)["properties"]
            .as_object()
            .unwrap()
            .clone();
        words.extend(properties.keys().cloned());
        words.extend(example(form).to_string().split('"').map(str::to_owned));
    }
    let word = proptest::sample::select(words);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// One key of an example holds something else: it is read or refused in words, and what is
    /// read is what was owed.
    #[test]
    fn whatever_a_key_holds_is_read_or_refused_in_words(at in any::<proptest::sample::Index>(), other in some_json()) {
        for form in AnswerForm::all() {
            let mut answer = example(form);
            let fields = answer.as_object_mut().unwrap();
            let key = fields.keys().nth(at.index(fields.len())).unwrap().clone();
            fields.insert(key, other.clone());
            match parse(form, &answer.to_string()) {
                Err(words) => prop_assert!(!words.trim().is_empty()),
                Ok(submission) => {
                    let owed = match form.kind {
                        _ if form.contract == Contract::Assembly => {
                            matches!(submission, Submission::Assembly(_))
                        }
                        _ if form.contract == Contract::Quality => {
                            matches!(submission, Submission::Quality(_))
                        }
                        _ if form.contract == Contract::Intervention => {
                            matches!(submission, Submission::Intervention(_))
                        }
                        RoleKind::Analyst => matches!(submission, Submission::Requirements(_)),
                        RoleKind::Designer => matches!(submission, Submission::Design(_)),
                        RoleKind::Planner => matches!(submission, Submission::Plan(_)),
                        RoleKind::Implementer => matches!(submission, Submission::Change(_)),
                        RoleKind::Gatekeeper => matches!(submission, Submission::Verdict(_)),
                        RoleKind::Scribe => matches!(submission, Submission::Text(_)),
                    };
                    prop_assert!(owed || matches!(submission, Submission::Blocked(_)));
                }
            }
        }
    }
}

#[test]
fn the_team_contract_reads_as_the_native_one() {
    let text = r#"{"approved":false,"reason":"No integration test","issues":["Only unit tests"]}"#;
    let form = AnswerForm {
        contract: Contract::TeamMcp,
        ..form(RoleKind::Gatekeeper)
    };
    let Ok(Submission::Verdict(v)) = parse(form, text) else {
        panic!("not a verdict")
    };
    assert_eq!(
        (v.verdict, v.findings[0].title.as_str()),
        (VerdictChoice::Reject, "Only unit tests")
    );
}

#[test]
fn a_wrong_value_is_named_by_its_place() {
    let text = r#"{"verdict":"reject","reason":"x","findings":[{"title":"a"},{"title":"b","severity":"bad"}]}"#;
    let refused = refused(RoleKind::Gatekeeper, text);
    assert!(
        refused.starts_with("at `findings[1].severity`: unknown variant `bad`"),
        "{refused}"
    );
}

#[test]
fn what_is_too_long_or_too_deep_is_refused() {
    let long = format!(r#"{{"message":"{}"}}"#, "a".repeat(MAX_BYTES));
    assert!(refused(RoleKind::Scribe, &long).contains("at most 8"));
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(RoleKind::Scribe, &deep).contains("recursion limit"));
}

#[test]
fn edits_are_whole_files_of_the_worktree() {
    let edits = AnswerForm {
        mode: EditMode::Edits,
        asks: false,
        requests: false,
        ..form(RoleKind::Implementer)
    };
    let said = |edit: &str| parse(edits, &format!(r#"{{"summary":"x","edits":[{edit}]}}"#));
    assert!(said(r#"{"path":"src/a.rs","content":""}"#).is_ok());
    assert!(said(r#"{"path":"a","delete":true,"content":null}"#).is_ok());
    for path in [
        "",
        "/etc/passwd",
        "../a",
        "a/../../b",
        ".git/config",
        "a/.GIT/hooks/x",
        "a/",
        "./a",
    ] {
        let edit = json!({"path": path, "content": "x"}).to_string();
        assert!(
            said(&edit)
                .unwrap_err()
                .contains("not a file of the worktree"),
            "{path}"
        );
    }
    assert!(said(r#"{"path":"a"}"#).unwrap_err().contains("either"));
    assert!(
        said(r#"{"path":"a","content":"x","delete":true}"#)
            .unwrap_err()
            .contains("either")
    );
    let twice = r#"{"path":"a","content":"x"},{"path":"a","content":"y"}"#;
    assert!(said(twice).unwrap_err().contains("edited twice"));
    assert!(said("").unwrap_err().contains("every file that changes"));
    let unasked = r#"{"summary":"x","edits":[{"path":"a","content":"x"}]}"#;
    assert!(refused(RoleKind::Implementer, unasked).contains("not asked for"));
}

#[test]
fn a_file_is_called_from_the_top_from_the_root_or_from_a_folder() {
    for called in [
        "a/b.rs",
        "./a/b.rs",
        "/home/me/project/a/b.rs",
        "b.rs",
        "./b.rs",
    ] {
        assert!(names_path(called, "a/b.rs"), "{called}");
    }
    for called in [
        "",
        "./",
        "/",
        "c.rs",
        ".rs",
        "project/a/b.rs",
        "/home/xa/b.rs",
        "a",
        "a/",
    ] {
        assert!(!names_path(called, "a/b.rs"), "{called}");
    }
}
