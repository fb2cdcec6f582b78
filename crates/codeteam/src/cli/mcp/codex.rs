//! Codex' file of a project, which it has no command for: one table is put in or taken out, and not
//! a letter of the rest is changed.

use std::fmt::Write as _;

use toml::Table;

use super::entry::{NAME, ServerEntry};

const LIST: &str = "mcp_servers";

/// The text with the entry in place of one that may be there. `None` if it is written in a way that
/// this cannot change: inside another table, on one line.
pub(super) fn with(text: &str, entry: &ServerEntry) -> Option<String> {
    let mut after = without(text)?;
    if !after.is_empty() {
        if !after.ends_with('\n') {
            after.push('\n');
        }
        if !after.ends_with("\n\n") {
            after.push('\n');
        }
    }
    // A text of JSON is one of TOML too; what came of it is read back below.
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

/// The text without the entry, if it can be done.
pub(super) fn without(text: &str) -> Option<String> {
    let mut wanted = parse(text)?;
    let Some(list) = wanted.get_mut(LIST).and_then(|list| list.as_table_mut()) else {
        return Some(text.to_owned());
    };
    if list.remove(NAME).is_none() {
        return Some(text.to_owned());
    }
    let mut kept = String::new();
    let mut inside = false;
    // Remarks and blank lines of the entry, which may also belong to what follows it.
    let mut between = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = table(line) {
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
        // With the blank lines before it, since it was the last.
        let end = kept.trim_end_matches('\n').len();
        kept.truncate((end + 1).min(kept.len()));
    }
    (without_empty(parse(&kept)?) == without_empty(wanted)).then_some(kept)
}

/// A list that is empty need not be there.
fn without_empty(mut table: Table) -> Table {
    let list = table.get(LIST).and_then(|list| list.as_table());
    if list.is_some_and(Table::is_empty) {
        table.remove(LIST);
    }
    table
}

fn parse(text: &str) -> Option<Table> {
    text.parse().ok()
}

/// The name of the table that a line begins, if it begins one. What only looks like it, in a text
/// of several lines, is found out by comparing what is left.
fn table(line: &str) -> Option<Vec<&str>> {
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
        let after = with(before, &entry()).unwrap();
        assert_eq!(after, format!("{before}\n{OWN}"));
        assert_eq!(without(&after).unwrap(), before);
        assert_eq!(with("", &entry()).unwrap(), OWN);
        assert_eq!(without(OWN).unwrap(), "");
        assert_eq!(with("a = 1", &entry()).unwrap(), format!("a = 1\n\n{OWN}"));
    }

    #[test]
    fn another_one_is_replaced_with_all_that_belongs_to_it() {
        let before = "[mcp_servers.\"codeteam\"] # old\ncommand = \"z\"\n\
                      [mcp_servers.codeteam.env]\nA = \"1\"\n\n[mcp_servers.codeteam2]\ncommand = \"c\"\n";
        let after = with(before, &entry()).unwrap();
        assert_eq!(
            after,
            format!("[mcp_servers.codeteam2]\ncommand = \"c\"\n\n{OWN}")
        );
        assert_eq!(with(&after, &entry()).unwrap(), after);
    }

    #[test]
    fn remarks_on_what_follows_stay() {
        let text = format!("a = 1\n\n{OWN}\n# the other\n[mcp_servers.other]\ncommand = \"y\"\n");
        let after = "a = 1\n\n# the other\n[mcp_servers.other]\ncommand = \"y\"\n";
        assert_eq!(without(&text).unwrap(), after);
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
            assert_eq!(with(text, &entry()), None, "{text}");
        }
    }

    #[test]
    fn words_that_need_quotes_have_them() {
        let odd = ServerEntry {
            command: "/a \"b\"\\c".to_owned(),
            args: Vec::new(),
        };
        assert!(with("", &odd).is_some());
    }
}
