//! A tree of source files by rule: types with methods and functions, in five languages, that call
//! each other across files, some names far more often than others.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Words that names are made of.
const WORDS: [&str; 40] = [
    "account", "batch", "cache", "delta", "event", "filter", "graph", "handle", "index", "journal",
    "kernel", "ledger", "message", "node", "order", "packet", "query", "record", "session",
    "token", "user", "value", "worker", "yield", "zone", "buffer", "channel", "driver", "engine",
    "frame", "gate", "header", "image", "job", "key", "limit", "merge", "notice", "option",
    "policy",
];

/// Numbers by rule, the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// Small numbers far more often than large ones.
    fn skewed(&mut self, limit: usize) -> usize {
        let first = self.below(limit);
        let second = self.below(first + 1);
        self.below(second + 1)
    }
}

/// Writes so many files below a folder.
pub(crate) fn write(top: &Path, files: usize) {
    let mut dice = Dice(7);
    for number in 0..files {
        let path = top.join(path(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text(number, files, &mut dice)).unwrap();
    }
}

/// Where a file is.
fn path(number: usize) -> String {
    let (word, below) = (WORDS[number % 40], WORDS[number / 40 % 40]);
    let end = ["py", "ts", "rs", "go", "java"][number % 5];
    format!("{word}/{below}/{word}{number}.{end}")
}

fn text(number: usize, files: usize, dice: &mut Dice) -> String {
    match number % 5 {
        0 => python(number, files, dice),
        1 => typescript(number, files, dice),
        2 => rust(number, files, dice),
        3 => go(number, files, dice),
        _ => java(number, files, dice),
    }
}

/// Writes a history for `git fast-import`: every tenth file is as large as those of [`write`], the
/// others are cut short. Most commits change some files that are there already.
pub(crate) fn write_history(out: &mut impl Write, files: usize, commits: usize) -> io::Result<()> {
    let mut dice = Dice(11);
    let mut texts: Vec<String> = Vec::with_capacity(files);
    for commit in 0..commits {
        let message = format!(
            "{}: {} the {} of {}\n\nSo that every {} has its {}.\n",
            WORDS[dice.below(40)],
            ["Fix", "Add", "Move", "Speed up"][dice.below(4)],
            WORDS[dice.below(40)],
            WORDS[dice.below(40)],
            WORDS[dice.below(40)],
            WORDS[dice.below(40)],
        );
        writeln!(out, "commit refs/heads/main")?;
        writeln!(
            out,
            "committer A <a@example.org> {} +0000",
            1_600_000_000 + 600 * commit
        )?;
        writeln!(out, "data {}\n{message}", message.len())?;
        let until = files * (commit + 1) / commits.div_ceil(4);
        let mut changed: Vec<usize> = Vec::new();
        while texts.len() < until.min(files) {
            let number = texts.len();
            let mut text = text(number, files, &mut dice);
            if !number.is_multiple_of(10) {
                let some = text.len() / (2 + dice.below(6));
                text.truncate(text[..some].rfind('\n').unwrap_or(0) + 1);
            }
            texts.push(text);
            changed.push(number);
        }
        for _ in 0..=dice.below(5) {
            let number = dice.skewed(texts.len());
            if !changed.contains(&number) {
                let line = texts[number].find('\n').unwrap_or(0) + 1;
                let mark = if number.is_multiple_of(5) { "#" } else { "//" };
                texts[number].insert_str(line, &format!("{mark} In {commit}.\n"));
                changed.push(number);
            }
        }
        for number in changed {
            let text = &texts[number];
            writeln!(out, "M 100644 inline {}", path(number))?;
            writeln!(out, "data {}\n{text}", text.len())?;
        }
    }
    writeln!(out, "done")
}

/// The name of what a file defines.
fn name(file: usize, part: usize) -> String {
    let mut name = String::new();
    for word in [WORDS[file % 40], WORDS[(file / 40 + part) % 40]] {
        name.push_str(&word[..1].to_uppercase());
        name.push_str(&word[1..]);
    }
    write!(name, "{}", file % 1_000).unwrap();
    name
}

/// The name of another file of the same language, and of one of its parts.
fn other(number: usize, files: usize, dice: &mut Dice) -> (String, String) {
    let file = dice.skewed(files / 5) * 5 + number % 5;
    (
        name(file, dice.below(3)),
        WORDS[(file + dice.below(6)) % 40].to_owned(),
    )
}

fn python(number: usize, files: usize, dice: &mut Dice) -> String {
    let mut text = "\"\"\"Made by rule.\"\"\"\n\nimport os\nfrom typing import Any\n\n".to_owned();
    for part in 0..3 {
        let base = other(number, files, dice).0;
        writeln!(
            text,
            "\n\nclass {}({base}):\n    \"\"\"One of many.\"\"\"\n",
            name(number, part)
        )
        .unwrap();
        for method in 0..6 {
            let (kind, call) = other(number, files, dice);
            let (second, again) = other(number, files, dice);
            let word = WORDS[(number + method) % 40];
            write!(
                text,
                "    def {word}_{part}(self, {word}: {kind}, limit: int = {method}) -> Any:\n        \
                 # What there is is looked at once.\n        \
                 found = [{call}_0(item) for item in self.items if item.{call}_1 > limit]\n        \
                 if not found or len(found) > {number}:\n            \
                 raise {second}(f\"no {{limit}} of {{self.{again}_2}}\", {word})\n        \
                 for at, item in enumerate(found):\n            \
                 self.seen[item.name] = {second}(at, item, os.path.join(str(limit), \"{word}\"))\n        \
                 return {{\"{word}\": found, \"limit\": limit, \"total\": sum(found)}}\n\n"
            )
            .unwrap();
        }
    }
    text
}

fn typescript(number: usize, files: usize, dice: &mut Dice) -> String {
    let mut text = "import { join } from 'node:path'\n\n".to_owned();
    for part in 0..3 {
        let base = other(number, files, dice).0;
        let own = name(number, part);
        writeln!(text, "/** One of many. */\nexport class {own} extends {base}<string> {{\n  private seen = new Map<string, number>()\n").unwrap();
        for method in 0..6 {
            let (kind, call) = other(number, files, dice);
            let (second, again) = other(number, files, dice);
            let word = WORDS[(number + method) % 40];
            write!(
                text,
                "  async {word}{part}({word}: {kind}, limit = {method}): Promise<{second}[]> {{\n    \
                 // What there is is looked at once.\n    \
                 const found = this.items.filter((item) => item.{call}0 > limit)\n    \
                 if (!found.length || found.length > {number}) {{\n      \
                 throw new {second}(`no ${{limit}} of ${{this.{again}1}}`, {word})\n    }}\n    \
                 for (const [at, item] of found.entries()) {{\n      \
                 this.seen.set(join(item.name, '{word}'), await new {kind}().{again}2(at))\n    }}\n    \
                 return found.map((item) => ({{ ...item, {word}, limit, total: found.length }}))\n  }}\n\n"
            )
            .unwrap();
        }
        text.push_str("}\n\n");
    }
    text
}

fn rust(number: usize, files: usize, dice: &mut Dice) -> String {
    let mut text = "//! Made by rule.\n\nuse std::collections::BTreeMap;\n\n".to_owned();
    for part in 0..3 {
        let base = other(number, files, dice).0;
        let own = name(number, part);
        write!(text, "/// One of many.\n#[derive(Debug, Clone)]\npub struct {own} {{\n    inner: {base},\n    seen: BTreeMap<String, usize>,\n}}\n\nimpl {own} {{\n").unwrap();
        for method in 0..6 {
            let (kind, call) = other(number, files, dice);
            let (second, again) = other(number, files, dice);
            let word = WORDS[(number + method) % 40];
            write!(
                text,
                "    /// Looks at it.\n    pub fn {word}_{part}(&mut self, {word}: &{kind}, limit: usize) -> Result<Vec<{second}>, String> {{\n        \
                 let found: Vec<_> = {word}.{call}_0().filter(|item| item.size() > limit).collect();\n        \
                 if found.is_empty() || found.len() > {number} {{\n            \
                 return Err(format!(\"no {{limit}} of {{:?}}\", self.inner.{again}_1(limit)));\n        }}\n        \
                 for (at, item) in found.iter().enumerate() {{\n            \
                 self.seen.insert(item.name().to_owned(), {second}::new(at).total() + limit);\n        }}\n        \
                 Ok(found.into_iter().map({second}::from).collect())\n    }}\n\n"
            )
            .unwrap();
        }
        text.push_str("}\n\n");
    }
    text
}

fn go(number: usize, files: usize, dice: &mut Dice) -> String {
    let mut text = format!(
        "package {}\n\nimport (\n\t\"fmt\"\n\t\"sort\"\n)\n\n",
        WORDS[number % 40]
    );
    for part in 0..3 {
        let base = other(number, files, dice).0;
        let own = name(number, part);
        write!(text, "// {own} is one of many.\ntype {own} struct {{\n\t*{base}\n\tseen map[string]int\n}}\n\n").unwrap();
        for method in 0..6 {
            let (kind, call) = other(number, files, dice);
            let (second, again) = other(number, files, dice);
            let word = WORDS[(number + method) % 40];
            write!(
                text,
                "// Find{word} looks at it.\nfunc (s *{own}) Find{word}{part}({word} *{kind}, limit int) ([]{second}, error) {{\n\
                 \tvar found []{second}\n\tfor at, item := range {word}.Find{call}0(limit) {{\n\
                 \t\tif item.Size() > limit && at < {number} {{\n\t\t\tfound = append(found, New{second}(item, s.seen))\n\t\t}}\n\t}}\n\
                 \tif len(found) == 0 {{\n\t\treturn nil, fmt.Errorf(\"no %d of %v\", limit, s.Find{again}1({word}, {method}))\n\t}}\n\
                 \tsort.Slice(found, func(a, b int) bool {{ return found[a].Name < found[b].Name }})\n\
                 \ts.seen[\"{word}\"] += len(found)\n\treturn found, nil\n}}\n\n"
            )
            .unwrap();
        }
    }
    text
}

fn java(number: usize, files: usize, dice: &mut Dice) -> String {
    let mut text = format!(
        "package made.{};\n\nimport java.util.*;\n\n",
        WORDS[number % 40]
    );
    for part in 0..3 {
        let base = other(number, files, dice).0;
        let own = name(number, part);
        write!(text, "/** One of many. */\nclass {own} extends {base} {{\n    private final Map<String, Integer> seen = new HashMap<>();\n\n").unwrap();
        for method in 0..6 {
            let (kind, call) = other(number, files, dice);
            let (second, again) = other(number, files, dice);
            let word = WORDS[(number + method) % 40];
            write!(
                text,
                "    /** Looks at it. */\n    public List<{second}> {word}{part}({kind} {word}, int limit) {{\n        \
                 List<{second}> found = new ArrayList<>();\n        \
                 for (var item : {word}.{call}0(limit)) {{\n            \
                 if (item.size() > limit && found.size() < {number}) {{\n                \
                 found.add(new {second}(item, seen.getOrDefault(\"{word}\", {method})));\n            }}\n        }}\n        \
                 if (found.isEmpty()) {{\n            \
                 throw new IllegalStateException(\"no \" + limit + \" of \" + {again}1({word}, limit));\n        }}\n        \
                 seen.merge(\"{word}\", found.size(), Integer::sum);\n        return found;\n    }}\n\n"
            )
            .unwrap();
        }
        text.push_str("}\n\n");
    }
    text
}
