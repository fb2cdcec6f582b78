//! Edits Codex' project file, for which Codex has no command: one table is added or removed, and
//! the rest stays exactly the same.

use std::fmt::Write as _;

use toml::Table;

use super::entry::{NAME, ServerEntry};

const LIST: &str = "mcp_servers";

/// Returns the text with the entry added or replaced; `None` if it is written in a form that cannot
/// be edited here, such as inside another table or on one line.
pub(super) fn with_entry(text: &str, entry: &ServerEntry) -> Option<String> {
    let mut after = without_entry(text)?;
    if !after.is_empty() {
        if !after.ends_with('\n') {
            after.push('\n');
        }
        if !after.ends_with("\n\n") {
            after.push('\n');
        }
    }
    // A JSON string is also a TOML string; the result is parsed again below.
    let quoted = |word: &String| serde_json::Value::from(word.as_str()).to_string();
    let args: Vec<String> = entry.args.iter().map(quoted).collect();
    let command = quoted(&entry.command);
    let args = args.join(", ");
    let _ = write!(
        after,
        "[{LIST}.{NAME}]\ncommand = {command}\nargs = [{args}]\n"
    );
    let mut wanted = parse(text)?;
    let list = wanted
        .entry(LIST)
        .or_insert_with(|| Table::new().into())
        .as_table_mut()?;
    let mut told = Table::new();
    told.insert("command".to_owned(), entry.command.clone().into());
    told.insert("args".to_owned(), entry.args.clone().into());
    list.insert(NAME.to_owned(), told.into());
    (parse(&after)? == wanted).then_some(after)
}

/// Returns the text without the entry, if it can be removed.
pub(super) fn without_entry(text: &str) -> Option<String> {
    let mut wanted = parse(text)?;
    let Some(list) = wanted.get_mut(LIST).and_then(|list| list.as_table_mut()) else {
        return Some(text.to_owned());
    };
    if list.remove(NAME).is_none() {
        return Some(text.to_owned());
    }
    let mut kept = String::new();
    let mut inside = false;
    // Comments and blank lines of the entry, which may also belong to what follows it.
    let mut between = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = table_name(line) {
            inside = name.starts_with(&[LIST, NAME]);
            if !inside {
                kept.push_str(between.trim_start_matches('\n'));
            }
            between.clear();
        }
        match line.trim() {
            _ if !inside => kept.push_str(line),
            remark if remark.is_empty() || remark.starts_with('#') => between.push_str(line),
            _ => between.clear(),
        }
    }
    if inside {
        // The entry was the last one, so the blank lines before it are removed as well.
        let end = kept.trim_end_matches('\n').len();
        kept.truncate((end + 1).min(kept.len()));
    }
    (drop_empty_list(parse(&kept)?) == drop_empty_list(wanted)).then_some(kept)
}

/// Removes an empty server list.
fn drop_empty_list(mut table: Table) -> Table {
    let list = table.get(LIST).and_then(|list| list.as_table());
    if list.is_some_and(Table::is_empty) {
        table.remove(LIST);
    }
    table
}

fn parse(text: &str) -> Option<Table> {
    text.parse().ok()
}

/// Returns the name of the table that a line begins, if it begins one. A line inside a multi-line
/// string that only looks like one is detected by comparing the results.
fn table_name(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let name = line.strip_prefix('[')?.trim_start_matches('[');
    let (name, _) = name.split_once(']')?;
    Some(
        name.split('.')
            .map(|part| part.trim().trim_matches(['"', '\'']))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> ServerEntry {
        ServerEntry {
            command: "codeteam".to_owned(),
            args: vec!["mcp".to_owned()],
        }
    }

    const OWN: &str = "[mcp_servers.codeteam]\ncommand = \"codeteam\"\nargs = [\"mcp\"]\n";

    #[test]
    fn it_is_added_after_what_is_there_and_taken_out_again() {
        let before = "# mine\nmodel = 'x' # why\n\n[mcp_servers.other]\ncommand = \"y\"\n";
        let after = with_entry(before, &entry()).unwrap();
        assert_eq!(after, format!("{before}\n{OWN}"));
        assert_eq!(without_entry(&after).unwrap(), before);
        assert_eq!(with_entry("", &entry()).unwrap(), OWN);
        assert_eq!(without_entry(OWN).unwrap(), "");
        assert_eq!(
            with_entry("a = 1", &entry()).unwrap(),
            format!("a = 1\n\n{OWN}")
        );
    }

    #[test]
    fn another_one_is_replaced_with_all_that_belongs_to_it() {
        let before = "[mcp_servers.\"codeteam\"] # old\ncommand = \"z\"\n\
                      [mcp_servers.codeteam.env]\nA = \"1\"\n\n[mcp_servers.codeteam2]\ncommand = \"c\"\n";
        let after = with_entry(before, &entry()).unwrap();
        assert_eq!(
            after,
            format!("[mcp_servers.codeteam2]\ncommand = \"c\"\n\n{OWN}")
        );
        assert_eq!(with_entry(&after, &entry()).unwrap(), after);
    }

    #[test]
    fn remarks_on_what_follows_stay() {
        let text = format!("a = 1\n\n{OWN}\n# the other\n[mcp_servers.other]\ncommand = \"y\"\n");
        let after = "a = 1\n\n# the other\n[mcp_servers.other]\ncommand = \"y\"\n";
        assert_eq!(without_entry(&text).unwrap(), after);
    }

    #[test]
    fn what_cannot_be_done_without_harm_is_not_done() {
        for text in [
            "mcp_servers = { codeteam = { command = \"z\" } }\n",
            "mcp_servers.codeteam.command = \"z\"\n",
            "mcp_servers = { other = { command = \"z\" } }\n",
            "no toml",
            "a = '''\n[mcp_servers.codeteam]\n'''\n[mcp_servers.codeteam]\ncommand = \"z\"\n",
        ] {
            assert_eq!(with_entry(text, &entry()), None, "{text}");
        }
    }

    #[test]
    fn words_that_need_quotes_have_them() {
        let odd = ServerEntry {
            command: "/a \"b\"\\c".to_owned(),
            args: Vec::new(),
        };
        assert!(with_entry("", &odd).is_some());
    }
}
