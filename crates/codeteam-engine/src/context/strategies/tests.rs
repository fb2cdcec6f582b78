use super::*;

fn parsed(text: &str) -> Result<Strategy, String> {
    let mut sources = SourceFiles::default();
    let strategy = read(&mut sources, "wide.yml", "wide", text);
    strategy.map_err(|faults| sources.to_problems(faults).to_string())
}

#[test]
fn the_built_in_ones_are_there() {
    let strategies = StrategyCatalog::load(&[]).unwrap();
    let names: Vec<&String> = strategies.known.keys().collect();
    assert_eq!(
        names,
        [
            "implementer_targeted",
            "investigator_wide",
            "planner_docset",
            "reviewer_diff",
            "security_audit"
        ]
    );
    assert!(strategies.custom_texts().is_empty());
    assert!(
        strategies
            .known
            .values()
            .all(|strategy| strategy.budget.is_some())
    );
}

#[test]
fn the_last_folder_counts_most_and_is_pinned() {
    let (user, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (folder, budget) in [(&user, 1_000), (&project, 2_000)] {
        let folder = folder.path().join("strategies");
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join("mine.yml"),
            format!("budget: {budget}\nparts: [diff]\n"),
        )
        .unwrap();
        fs::write(folder.join("notes.txt"), "no strategy").unwrap();
    }
    let folders = [
        (user.path().to_owned(), None),
        (project.path().to_owned(), Some(project.path())),
    ];
    let strategies = StrategyCatalog::load(&folders).unwrap();
    assert_eq!(strategies.get("mine").unwrap().budget, Some(2_000));
    let pinned = StrategyCatalog::from_pinned(&strategies.custom_texts()).unwrap();
    assert_eq!(pinned.get("mine"), strategies.get("mine"));

    let role: Role = serde_json::from_value(serde_json::json!({
        "name": "coder", "kind": "implementer", "context": { "strategy": "mine" },
    }))
    .unwrap();
    assert_eq!(strategies.budget(&role, 10, 50_000), 2_000);
    assert_eq!(strategies.budget(&role, 10, 500), 500);
    strategies.check(&role).unwrap();
    let said = StrategyCatalog::load(&[])
        .unwrap()
        .check(&role)
        .unwrap_err();
    assert_eq!(
        said.to_string(),
        "role `coder`: there is no context strategy `mine`"
    );
}

#[test]
fn parts_are_ordered_by_their_priority() {
    let strategy = parsed(
        "token_budget: 25000\n\
         parts:\n  - {name: imports, include: $TARGET_IMPORTS, form: signatures, limit: 3}\n  - git_diff\n  - {name: target_file, include: [$TARGET, 'src/**']}\n  - tree\n\
         priority_order: [system_prompt, task_description, target_file, imports]\n",
    )
    .unwrap();
    let names: Vec<&str> = strategy
        .parts
        .iter()
        .map(|part| part.name.as_str())
        .collect();
    assert_eq!(names, ["target", "imports", "diff", "tree"]);
    assert_eq!(strategy.budget, Some(25_000));
    assert_eq!(strategy.parts[1].limit, Some(3));
    assert_eq!(strategy.parts[1].form, strategy::FileForm::Signatures);
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, said) in [
        ("budget: 1\n", "a strategy has `parts`"),
        ("parts: [dif]\n", "did you mean `diff`?"),
        (
            "parts: [diff, git_diff]\n",
            "wide.yml:1:15: there are two parts `diff`",
        ),
        (
            "parts: [system]\n",
            "`system` is always there, and comes first",
        ),
        (
            "parts: [{name: diff, include: a}]\n",
            "the part `diff` is not made of files",
        ),
        (
            "parts: [{name: a, include: [$TARGT]}]\n",
            "did you mean `$TARGET`?",
        ),
        (
            "parts: [{name: a, include: ['a[']}]\n",
            "wide.yml:1:9: `a[` is not a valid pattern of files",
        ),
        ("parts: [{name: a, include: a, froms: whole}]\n", "froms"),
        (
            "parts: [diff]\npriority_order: [target]\n",
            "wide.yml:2:18: there is no part `target`",
        ),
        (
            "name: other\nparts: [diff]\n",
            "wide.yml:1:7: the file is called `wide`, the strategy `other`",
        ),
        (
            "algorithm: {}\nparts: [diff]\n",
            "a context strategy has no `algorithm`",
        ),
        ("tasks: []\n", "a context strategy has no `tasks`"),
    ] {
        let error = parsed(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}
