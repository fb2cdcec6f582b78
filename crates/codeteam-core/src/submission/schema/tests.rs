//! What workers read, and that it fits what is read of them.

use expect_test::{Expect, expect};

use super::*;
use crate::submission::example;

/// What a value has against a schema. Knows the few words that schemas here are made of, and no
/// others, so that none of them is overlooked.
fn objection(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let Value::Object(words) = schema else {
        assert_eq!(schema, &Value::Bool(true), "{place}");
        return None;
    };
    words.iter().find_map(|(word, said)| match word.as_str() {
        "type" => {
            let is = |name: &Value| match name.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "null" => value.is_null(),
                other => panic!("{place}: the type `{other}`"),
            };
            let fits = said
                .as_array()
                .map_or_else(|| is(said), |all| all.iter().any(is));
            (!fits).then(|| format!("{place} is not of the type {said}"))
        }
        "enum" => {
            let fits = said.as_array().unwrap().contains(value);
            (!fits).then(|| format!("{place} is none of {said}"))
        }
        "properties" => {
            said.as_object().unwrap().iter().find_map(|(key, inner)| {
                objection(inner, value.get(key)?, &format!("{place}.{key}"))
            })
        }
        "required" => said.as_array().unwrap().iter().find_map(|key| {
            let missing = value.get(key.as_str().unwrap()).is_none();
            missing.then(|| format!("{place} lacks {key}"))
        }),
        "additionalProperties" => {
            assert_eq!(said, &Value::Bool(false), "{place}");
            let known = &words["properties"];
            let mut keys = value.as_object().into_iter().flat_map(Map::keys);
            let unknown = keys.find(|key| known.get(key).is_none())?;
            Some(format!("{place} has `{unknown}`"))
        }
        "items" => {
            let mut items = value.as_array().into_iter().flatten();
            items.find_map(|item| objection(said, item, &format!("{place}[]")))
        }
        "minimum" => {
            let fits = value.as_u64().is_none_or(|n| n >= said.as_u64().unwrap());
            (!fits).then(|| format!("{place} is below {said}"))
        }
        "maximum" => {
            let fits = value.as_u64().is_none_or(|n| n <= said.as_u64().unwrap());
            (!fits).then(|| format!("{place} is above {said}"))
        }
        "description" | "default" => None,
        other => panic!("{place}: the word `{other}`"),
    })
}

#[test]
fn every_schema_accepts_its_example_and_nothing_else() {
    for form in AnswerForm::all() {
        let schema = answer_schema(form);
        let answer = example(form);
        assert_eq!(objection(&schema, &answer, "answer"), None, "{form:?}");
        let blocked = if form.contract == Contract::Strict {
            json!({"status": "error", "reason": "no access"})
        } else {
            json!({"blocked": "no access"})
        };
        assert_eq!(objection(&schema, &blocked, "answer"), None, "{form:?}");
        let mut more = answer.clone();
        more["lgtm"] = true.into();
        assert!(objection(&schema, &more, "answer").is_some(), "{form:?}");
        for key in answer.as_object().unwrap().keys() {
            let mut wrong = answer.clone();
            wrong[key] = json!({"of": ["another", "type"]});
            assert!(
                objection(&schema, &wrong, "answer").is_some(),
                "{form:?}: {key}"
            );
        }
    }
}

#[test]
fn a_schema_says_no_more_than_every_api_knows() {
    for form in AnswerForm::all() {
        let text = answer_schema(form).to_string();
        for word in ["$ref", "$defs", "format", "oneOf", "maxLength", "pattern"] {
            assert!(!text.contains(&format!("\"{word}\":")), "{word} in {text}");
        }
    }
}

/// A schema as an outline: a key a line, a `?` for what may be left out, and what is said of it.
fn outline(properties: &Value, required: &Value, depth: usize, out: &mut String) {
    use std::fmt::Write as _;
    for (key, own) in properties.as_object().unwrap() {
        let always = required.as_array().is_some_and(|r| r.contains(&json!(key)));
        let mark = if always || depth == 0 { "" } else { "?" };
        let inner = if own["type"] == "array" {
            &own["items"]
        } else {
            own
        };
        let shape = match (own["type"] == "array", own.get("enum")) {
            (true, _) => format!("[{}]", inner["type"].as_str().unwrap_or("any")),
            (false, Some(words)) => words.to_string(),
            (false, None) => own["type"].to_string().replace('"', ""),
        };
        let said = own["description"]
            .as_str()
            .unwrap_or("-")
            .replace('\n', " ");
        let _ = writeln!(out, "{}{key}{mark}: {shape}: {said}", "  ".repeat(depth));
        if inner["properties"].is_object() {
            outline(&inner["properties"], &inner["required"], depth + 1, out);
        }
    }
}

fn check(contract: Contract, kind: RoleKind, mode: EditMode, expected: &Expect) {
    let form = AnswerForm {
        kind,
        contract,
        mode,
        asks: false,
        requests: false,
    };
    assert_eq!(form.missing_form(), None);
    let mut text = String::new();
    outline(
        &answer_schema(form)["properties"],
        &Value::Null,
        0,
        &mut text,
    );
    expected.assert_eq(&text);
}

#[test]
fn a_verdict() {
    check(
        Contract::Native,
        RoleKind::Gatekeeper,
        EditMode::Tools,
        &expect![[r#"
        verdict: ["approve","reject"]: Approve or reject.
        reason: string: Why.
        findings: [object]: New findings.
          severity?: ["info","minor","major","critical"]: How bad.
          title: string: One line.
          detail?: string: What is wrong, why, and what to do.
          file?: [string,null]: Where.
          line?: [integer,null]: Where in the file.
        resolved: [object]: Answers to open findings, by id.
          id: string: Which finding.
          state: ["open","fixed","withdrawn"]: How it stands now.
        blocked: string: Only if you cannot go on: why. No other key then.
    "#]],
    );
}

#[test]
fn a_team() {
    check(
        Contract::TeamMcp,
        RoleKind::Analyst,
        EditMode::Tools,
        &expect![[r#"
        questions: [string]: At least one question.
        context: string: What is understood so far.
        partial_spec: [string,null]: Requirements that are clear already.
        confirmed_requirements: string: The confirmed requirements.
        blocked: string: Only if you cannot go on: why. No other key then.
    "#]],
    );
    check(
        Contract::TeamMcp,
        RoleKind::Implementer,
        EditMode::Tools,
        &expect![[r#"
            summary: string: What was done.
            files_changed: [string]: The files that were changed.
            proof: string: What shows that it works: what was run, and what came of it.
            concerns: [string]: What is doubtful or left open.
            notes: [string]: What those should know who build on this, if anything.
            blocked: string: Only if you cannot go on: why. No other key then.
        "#]],
    );
    check(
        Contract::TeamMcp,
        RoleKind::Gatekeeper,
        EditMode::Tools,
        &expect![[r#"
        approved: boolean: Whether it may go on.
        reason: string: Why.
        issues: [string]: What is wrong with it.
        blocked: string: Only if you cannot go on: why. No other key then.
    "#]],
    );
}

#[test]
fn strict() {
    check(
        Contract::Strict,
        RoleKind::Planner,
        EditMode::Tools,
        &expect![[r#"
            plan_id: string: The id that you were told; `plan_0001` if you were told none.
            tasks: [object]: Small tasks that can each be tested, in the order they are done: each starts when the one before it is complete.
              id: string: `T1`, `T2` and so on, in order.
              title: string: What to do, in a few words.
              rationale: string: Why. At most 4000 characters, like every text.
              acceptance: string: What can be seen to hold when it is done.
              artifacts: [string]: Every file it may change or make, relative to the project; at least one.
            status: ["error"]: Only if you cannot go on: `error`. No other key than `reason` then.
            reason: string: Only with `status`: why you cannot go on, in short.
        "#]],
    );
    check(
        Contract::Strict,
        RoleKind::Implementer,
        EditMode::Edits,
        &expect![[r#"
            edits: [object]: Every file that changes or is new, each once, in the order of their paths.
              path: string: Where it is, relative to the project.
              content: string: All of its text, from the first line to the last.
            status: ["error"]: Only if you cannot go on: `error`. No other key than `reason` then.
            reason: string: Only with `status`: why you cannot go on, in short.
        "#]],
    );
    check(
        Contract::Strict,
        RoleKind::Gatekeeper,
        EditMode::Tools,
        &expect![[r#"
            task_id: string: The task that was judged.
            passed: boolean: Whether it passed.
            report: string: What shows it: the output of the tests. Of more than 4000 characters give the first 2500, a line `...`, and the last 1000.
            status: ["error"]: Only if you cannot go on: `error`. No other key than `reason` then.
            reason: string: Only with `status`: why you cannot go on, in short.
        "#]],
    );
}

#[test]
fn supervisor() {
    check(
        Contract::Supervisor,
        RoleKind::Planner,
        EditMode::Tools,
        &expect![[r#"
            status: ["COMPLETE","NEEDS_REFINEMENT","BLOCKED"]: `COMPLETE` if the plan can be carried out as it is; `NEEDS_REFINEMENT` only sends it back to you. `BLOCKED` if you cannot plan: say in `risks` what keeps you from it.
            phases: [object]: What is built first, what next.
              id: string: Its id, unique among phases and components: letters, digits, `-`, `_` and `.`.
              title?: string: What it is about.
              description?: string: What it has to achieve.
              sequence?: [integer,null]: Its place: phases with the same number run side by side, and those with a higher one later. Without it they run in the order they are listed.
              starts_after?: ["completion","interfaces"]: `interfaces`: it starts as soon as the interfaces of the phases before it are locked, while their components are still being built. `completion`: when those phases are complete.
              components: [object]: What is built in it.
                id: string: Its id, unique among phases and components: letters, digits, `-`, `_` and `.`.
                title?: string: What it is, in a few words.
                description?: string: What to do, and what must hold when it is done.
                files: [string]: Every file (or folder, with a trailing `/`) it may touch, relative to the project. One that names none is worked on alone.
                depends_on?: [string]: Components that must be complete first: `component`, or `phase.component`.
                acceptance?: [string]: What must hold when it is done.
                assigned_role?: [string,null]: The role that carries it out, if it is one of the roles to choose from.
              interfaces?: [object]: What its components rely on. It is fixed before work on them starts.
                name: string: Its name.
                type: string: What it is written in: `typescript_interface`, `openapi`.
                definition: string: All of it, in that notation.
                file?: [string,null]: The file it belongs into, relative to the project; otherwise its name and type choose one.
            dependencies: [object]: Dependencies that the components do not name themselves.
              component: string: The component that waits: `component`, or `phase.component`.
              depends_on: [string]: What it waits for.
            estimated_components: integer: How many components there will be, as far as can be said.
            risks: [string]: What could go wrong.
            blocked: string: Only if you cannot go on: why. No other key then.
        "#]],
    );
    check(
        Contract::Supervisor,
        RoleKind::Designer,
        EditMode::Tools,
        &expect![[r#"
            components: [object]: What is to be built, in parts that can be worked on side by side where nothing is in the way.
              id: string: Its id, unique among phases and components: letters, digits, `-`, `_` and `.`.
              title?: string: What it is, in a few words.
              description?: string: What to do, and what must hold when it is done.
              files: [string]: Every file (or folder, with a trailing `/`) it may touch, relative to the project. One that names none is worked on alone.
              depends_on?: [string]: Components that must be complete first: `component`, or `phase.component`.
              acceptance?: [string]: What must hold when it is done.
              assigned_role?: [string,null]: The role that carries it out, if it is one of the roles to choose from.
            interfaces: [object]: What the parts rely on. It is fixed before work on them starts.
              name: string: Its name.
              type: string: What it is written in: `typescript_interface`, `openapi`.
              definition: string: All of it, in that notation.
              file?: [string,null]: The file it belongs into, relative to the project; otherwise its name and type choose one.
            blocked: string: Only if you cannot go on: why. No other key then.
        "#]],
    );
    check(
        Contract::Supervisor,
        RoleKind::Implementer,
        EditMode::Tools,
        &expect![[r#"
            status: ["SUCCESS","PARTIAL","FAILED"]: `SUCCESS` if all of it is done. `PARTIAL` or `FAILED` if it is not: say in `blockers` what keeps you from going on.
            files_created: [string]: Files that are new.
            files_modified: [string]: Files that were there and are changed.
            tests_written: [string]: Files of tests that were written or changed.
            blockers: [string]: What keeps you from going on; nothing with `SUCCESS`.
            blocked: string: Only if you cannot go on: why. No other key then.
        "#]],
    );
    check(
        Contract::Supervisor,
        RoleKind::Gatekeeper,
        EditMode::Tools,
        &expect![[r#"
            status: ["APPROVED","CHANGES_REQUESTED","REJECTED"]: `APPROVED` if nothing has to change; `CHANGES_REQUESTED` if something has; `REJECTED` if the approach is wrong.
            issues: [object]: What is wrong. One that is serious enough holds the change up, whatever the status says; one that you do not name again counts as fixed.
              severity: ["info","minor","major","critical"]: How bad.
              title?: string: One line.
              description?: string: What is wrong, and why. Either this or `title` must be there.
              file?: [string,null]: Where.
              line?: [integer,null]: Where in the file.
              suggestion?: string: What to do about it.
            suggestions: [string]: What could be better and holds nothing up.
            security_concerns: [string]: What could be misused, leaked or broken into, one line each. They count as `major` issues.
            blocked: string: Only if you cannot go on: why. No other key then.
        "#]],
    );
}
