//! Finds the scripts that the gate's commands lead to, although no command names them: `npm test`
//! runs a line of `package.json`, `make test` a recipe, and either runs `scripts/test.sh`, which
//! may source another file. A worker that edits one of them edits the gate.
//!
//! The files are those of the base: they decide what the checks were before the change. A word of a
//! command or script counts as a file if the base has a file of that name.

use std::collections::{BTreeMap, BTreeSet};

use super::gate_kept::recipes_for_commands;

/// How many hops from a command are followed.
const MAX_HOPS: u32 = 6;
/// How many words of one level are looked up.
const MAX_WORDS: usize = 2_000;
/// Folders whose files serve the project's own checks and builds, not its users.
const TOOL_FOLDERS: &[&str] = &[
    "scripts", "script", "tools", "tool", "ci", ".ci", ".github", "hack", "build", "bin", "dev",
    "support", "test", "tests", "testing", "spec", "e2e",
];
/// Makefiles and justfiles, in the order in which the programs look for them.
const MAKEFILES: &[&str] = &[
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
];
const PACKAGE: &str = "package.json";

/// A file of the base that a command of the gate leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateScript {
    /// Its path.
    pub path: String,
    /// What runs it: a command, a script of `package.json`, a recipe, or another file.
    pub run_by: String,
    /// Whether it certainly belongs to the checks. A file that a script names and that lies among
    /// the sources may be the product that the script tests.
    pub is_certain: bool,
}

/// Returns the texts of those of the given paths that are files.
type TextReader<'a, E> = dyn FnMut(&BTreeSet<String>) -> Result<BTreeMap<String, String>, E> + 'a;

/// A text with commands, and what it is called.
struct CommandText {
    text: String,
    name: String,
    /// The folder of the file it is from; empty for the top.
    folder: String,
    /// Whether it is a command of the gate, or a line that one runs, rather than a file.
    is_command: bool,
}

/// Follows the gate's commands through the files of the base.
///
/// `read` returns the texts of those of the given paths that are files of the base. It is called once
/// for each hop.
pub fn find_gate_scripts<E>(
    commands: &[String],
    read: &mut TextReader<'_, E>,
) -> Result<Vec<GateScript>, E> {
    let mut found: Vec<GateScript> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut level: Vec<CommandText> = commands
        .iter()
        .map(|command| CommandText {
            text: command.clone(),
            name: format!("`{command}`"),
            folder: String::new(),
            is_command: true,
        })
        .collect();
    for _ in 0..MAX_HOPS {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for from in &level {
            wanted.extend(indirect_files(&from.text));
            let words = path_words(&from.text);
            wanted.extend(words.flat_map(|word| candidate_paths(word, &from.folder)));
        }
        wanted.retain(|path| !seen.contains(path));
        let wanted: BTreeSet<String> = wanted.into_iter().take(MAX_WORDS).collect();
        if wanted.is_empty() {
            break;
        }
        let texts = read(&wanted)?;
        let mut next: Vec<CommandText> = Vec::new();
        for from in &level {
            next.extend(lines_run_by(from, &texts));
            for word in path_words(&from.text) {
                let mut paths = candidate_paths(word, &from.folder).into_iter();
                let Some(path) = paths.find(|path| texts.contains_key(path)) else {
                    continue;
                };
                let is_named_by_script = !from.is_command;
                if is_named_by_script && !is_program(&path, &texts[&path]) {
                    // Data, more likely of the product than of its tests.
                    continue;
                }
                if !seen.insert(path.clone()) {
                    continue;
                }
                found.push(GateScript {
                    run_by: from.name.clone(),
                    is_certain: from.is_command || is_tool_file(&path),
                    path: path.clone(),
                });
                let text = &texts[&path];
                if is_shell_script(&path, text) {
                    next.push(CommandText {
                        text: without_comments(text),
                        name: format!("`{path}`"),
                        folder: folder_of(&path).to_owned(),
                        is_command: false,
                    });
                }
            }
        }
        level = next;
    }
    Ok(found)
}

/// Returns the files in which the programs that a text runs look for what to do.
fn indirect_files(text: &str) -> Vec<String> {
    let mut files: Vec<&str> = Vec::new();
    if runs_one_of(text, &["npm", "pnpm", "yarn", "bun"]) {
        files.push(PACKAGE);
    }
    if runs_one_of(text, &["make", "gmake", "just"]) {
        files.extend(MAKEFILES);
    }
    files.into_iter().map(str::to_owned).collect()
}

fn runs_one_of(text: &str, programs: &[&str]) -> bool {
    words(text).any(|word| programs.contains(&word.rsplit('/').next().unwrap_or(word)))
}

/// Returns the lines of `package.json` and of makefiles that a text runs.
fn lines_run_by(from: &CommandText, texts: &BTreeMap<String, String>) -> Vec<CommandText> {
    let mut lines = Vec::new();
    let mut add = |text: String, name: String| {
        lines.push(CommandText {
            text,
            name,
            folder: String::new(),
            is_command: from.is_command,
        });
    };
    let files = indirect_files(&from.text);
    if let Some(text) = texts
        .get(PACKAGE)
        .filter(|_| files.iter().any(|file| file == PACKAGE))
    {
        for (name, script) in package_scripts(text, &from.text) {
            add(script, format!("the script `{name}` of `{PACKAGE}`"));
        }
    }
    let makefiles = files
        .iter()
        .filter(|file| MAKEFILES.contains(&file.as_str()));
    for file in makefiles.filter(|file| texts.contains_key(*file)) {
        let commands = [from.text.clone()];
        for (part, body) in recipes_for_commands(&texts[file], &commands) {
            add(body, format!("the {part} of `{file}`"));
        }
    }
    lines
}

/// Returns the scripts of a `package.json` that a command runs, with those that npm runs before and
/// after them.
fn package_scripts(text: &str, command: &str) -> Vec<(String, String)> {
    let Ok(file) = serde_json::from_str::<serde_json::Value>(text) else {
        return Vec::new();
    };
    let Some(scripts) = file["scripts"].as_object() else {
        return Vec::new();
    };
    let named: BTreeSet<&str> = words(command)
        .map(|word| if word == "t" { "test" } else { word })
        .filter(|word| scripts.contains_key(*word))
        .collect();
    let around = named.iter().flat_map(|name| {
        [
            format!("pre{name}"),
            (*name).to_owned(),
            format!("post{name}"),
        ]
    });
    around
        .filter_map(|name| {
            let script = scripts.get(&name)?.as_str()?.to_owned();
            Some((name, script))
        })
        .collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                ';' | '|' | '&' | '(' | ')' | '"' | '\'' | '`' | '=' | '<' | '>' | '{' | '}' | ','
            )
    };
    text.split(ends).filter(|word| !word.is_empty())
}

/// Returns the words of a text that may be paths of the repository.
fn path_words(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| {
        let is_path = |c: char| c.is_alphanumeric() || "._-+/@$".contains(c);
        !word.starts_with('-')
            && word.contains(['/', '.'])
            && word.len() <= 200
            && word.chars().all(is_path)
            && word.chars().any(char::is_alphabetic)
    })
}

/// Returns the paths that a word may mean: relative to the top, and to the folder of the script that
/// says it. The folder may be named by a variable, as in `$(dirname "$0")/common.sh`.
fn candidate_paths(word: &str, folder: &str) -> Vec<String> {
    // The end of `$(dirname "$0")/common.sh` is split off as `/common.sh`.
    let word = match word.split_once('/') {
        Some((first, rest)) if first.is_empty() || first.starts_with('$') => rest,
        _ => word,
    };
    if word.contains('$') {
        return Vec::new();
    }
    let mut paths: Vec<String> = ["", folder]
        .iter()
        .filter_map(|folder| normal_path(folder, word))
        .collect();
    paths.dedup();
    paths
}

/// Joins a folder and a relative path without `.` and `..`; `None` if it leads out of the repository.
fn normal_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_tool_file(path: &str) -> bool {
    let mut folders = folder_of(path).split('/');
    folders.any(|folder| TOOL_FOLDERS.contains(&folder))
}

/// Returns true if a file is something that is run.
fn is_program(path: &str, text: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        ".sh", ".bash", ".zsh", ".ksh", ".py", ".js", ".mjs", ".cjs", ".rb", ".pl", ".mk",
    ];
    text.starts_with("#!") || ENDINGS.iter().any(|end| path.ends_with(end))
}

fn is_shell_script(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = [".sh", ".bash", ".zsh", ".ksh"];
    let first = text.lines().next().unwrap_or_default();
    let by_line = first.starts_with("#!") && first.contains("sh");
    by_line || by_name.iter().any(|end| name.ends_with(end)) || !name.contains('.')
}

fn without_comments(text: &str) -> String {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    code.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(commands: &[&str], files: &[(&str, &str)]) -> Vec<(String, bool)> {
        let commands: Vec<String> = commands.iter().map(|c| (*c).to_owned()).collect();
        let scripts = find_gate_scripts::<()>(&commands, &mut |paths| {
            let known = files.iter().filter(|(path, _)| paths.contains(*path));
            Ok(known
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect())
        });
        let scripts = scripts.unwrap().into_iter();
        scripts
            .map(|script| (script.path, script.is_certain))
            .collect()
    }

    #[test]
    fn commands_are_followed_through_packages_recipes_and_scripts() {
        let package = r#"{"scripts": {"pretest": "node tools/build.js", "test": "sh run.sh", "dev": "sh dev.sh"}}"#;
        let files = [
            ("package.json", package),
            (
                "run.sh",
                "#!/bin/sh\n# not.sh\n. \"$(dirname \"$0\")/scripts/common.sh\"\nsrc/app --help\n",
            ),
            ("not.sh", ""),
            ("dev.sh", ""),
            ("tools/build.js", "require('./lib')"),
            ("scripts/common.sh", "./helper.sh\n"),
            ("scripts/helper.sh", "run data.txt\n"),
            ("data.txt", "1\n"),
            ("src/app", "#!/bin/sh\n"),
        ];
        let certain = |path: &str| (path.to_owned(), true);
        assert_eq!(
            found(&["npm test"], &files),
            [
                certain("tools/build.js"),
                certain("run.sh"),
                certain("scripts/common.sh"),
                // A script tests the product, which a task may change.
                ("src/app".to_owned(), false),
                certain("scripts/helper.sh"),
            ]
        );
        let make = "T = scripts/t.sh\ntest: build\n\tsh $(T)\nbuild:\n\t./b.sh\nclean:\n\t./c.sh\n";
        let files = [
            ("Makefile", make),
            ("scripts/t.sh", ""),
            ("b.sh", ""),
            ("c.sh", ""),
        ];
        let mut by_make = found(&["make -s test"], &files);
        by_make.sort();
        assert_eq!(by_make, [certain("b.sh"), certain("scripts/t.sh")]);
    }

    #[test]
    fn scripts_that_run_each_other_end() {
        let files = [("a.sh", "sh b.sh"), ("b.sh", "sh a.sh")];
        assert_eq!(found(&["sh a.sh"], &files).len(), 2);
        assert_eq!(found(&["sh ../a.sh"], &files), []);
    }
}
