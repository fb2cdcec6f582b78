//! Edits opencode's file, because its own command needs a person: one entry is added or removed.
//! The rest keeps its meaning; a file with comments is left alone.

use serde_json::{Map, Value, json};

use super::entry::{ExistingEntry, NAME, ServerEntry};

const LIST: &str = "mcp";

/// Returns the text with the entry added or replaced; `None` if it cannot be parsed here.
pub(super) fn with_entry(text: &str, entry: &ServerEntry) -> Option<String> {
    let mut all = parse(text)?;
    if all.is_empty() {
        all.insert(
            "$schema".to_owned(),
            json!("https://opencode.ai/config.json"),
        );
    }
    let list = all.entry(LIST).or_insert_with(|| json!({}));
    let mut command = vec![entry.command.clone()];
    command.extend(entry.args.iter().cloned());
    let told = json!({ "type": "local", "command": command, "enabled": true });
    list.as_object_mut()?.insert(NAME.to_owned(), told);
    to_text(&all)
}

/// Returns the text without the entry; empty if there was nothing else.
pub(super) fn without_entry(text: &str) -> Option<String> {
    let mut all = parse(text)?;
    let list = all.get_mut(LIST).and_then(Value::as_object_mut);
    let Some(list) = list.filter(|list| list.contains_key(NAME)) else {
        return Some(text.to_owned());
    };
    list.shift_remove(NAME);
    if list.is_empty() {
        all.shift_remove(LIST);
    }
    if all.keys().all(|key| key == "$schema") {
        return Some(String::new());
    }
    to_text(&all)
}

/// Parses the entry under codeteam's name.
pub(super) fn find_entry(text: &str) -> ExistingEntry {
    let Some(all) = parse(text) else {
        return ExistingEntry::Unknown;
    };
    let Some(entry) = all.get(LIST).and_then(|list| list.get(NAME)) else {
        return ExistingEntry::Nothing;
    };
    let words = entry.get("command").and_then(Value::as_array);
    let words = words.into_iter().flatten().map(|word| word.as_str());
    let words: Option<Vec<String>> = words.map(|word| word.map(str::to_owned)).collect();
    let mut words = words.unwrap_or_default().into_iter();
    ExistingEntry::Entry(words.next().map(|command| ServerEntry {
        command,
        args: words.collect(),
    }))
}

fn parse(text: &str) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_str(text).ok()
}

fn to_text(all: &Map<String, Value>) -> Option<String> {
    let text = serde_json::to_string_pretty(all).ok()?;
    Some(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_put_in_and_taken_out_again() {
        let entry = ServerEntry {
            command: "codeteam".to_owned(),
            args: vec!["mcp".to_owned()],
        };
        let new = with_entry("", &entry).unwrap();
        expect_test::expect![[r#"
            {
              "$schema": "https://opencode.ai/config.json",
              "mcp": {
                "codeteam": {
                  "type": "local",
                  "command": [
                    "codeteam",
                    "mcp"
                  ],
                  "enabled": true
                }
              }
            }
        "#]]
        .assert_eq(&new);
        assert_eq!(with_entry(&new, &entry).unwrap(), new);
        assert_eq!(without_entry(&new).unwrap(), "");
        let before = "{\n  \"theme\": \"x\",\n  \"mcp\": {\n    \"other\": {}\n  }\n}\n";
        let both = with_entry(before, &entry).unwrap();
        assert_eq!(without_entry(&both).unwrap(), before);
        assert_eq!(with_entry("{ // mine\n}", &entry), None);
    }
}
