//! `codeteam pack`: packs a repository, or any folder, into one text.

mod clipboard;
mod output;
mod tree;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use codeteam_context::pack::{self, PackOptions, PackReport, PackStyle};
use codeteam_context::redact::Redactor;
use codeteam_context::tree::{self as files, FileTree};
use codeteam_engine::engine::{self, CommandLocation};
use serde_json::{Value, json};

use self::output::PackTarget;
use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{eprint_line, format_bytes, group_digits, number, one_line, print_json};
use crate::progress::{ScanProgressLine, Verbosity};
use codeteam_engine::problem::Problem;

/// The number of largest files in the summary.
const LARGEST: usize = 5;

/// Arguments of `pack`.
#[expect(clippy::struct_excessive_bools, reason = "these are flags")]
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder or a file. The folder you are in if left out.
    path: Option<PathBuf>,
    /// Only files that match, written as in `.gitignore`; a folder means all that is below it.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// No files that match.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// The most tokens to use: the least useful files are cut down to their signatures, then left
    /// out.
    ///
    /// READMEs and manifests are the most useful, then source, tests, documents and examples, other
    /// files, and last what programs write: lock files, fixtures, snapshots. Of each kind small
    /// files come first.
    #[arg(long, value_name = "TOKENS", conflicts_with = "no_tokens", value_parser = number)]
    budget: Option<usize>,
    /// The form of the pack.
    #[arg(long, value_enum, default_value_t)]
    style: StyleArg,
    /// Only the signatures of files in a language codeteam knows.
    #[arg(long)]
    compress: bool,
    /// Write the pack to a file; `-` is standard output.
    #[arg(short, long, value_name = "FILE", conflicts_with = "tree")]
    output: Option<PathBuf>,
    /// Overwrite a file that is not a pack.
    #[arg(long, requires = "output")]
    force: bool,
    /// Put the pack on the clipboard.
    #[arg(long, conflicts_with_all = ["output", "tree"])]
    copy: bool,
    /// Show where the tokens are, by folders, and pack nothing.
    #[arg(long, conflicts_with = "no_tokens")]
    tree: bool,
    /// Leave out the list of folders and files that a pack begins with.
    #[arg(long)]
    no_list: bool,
    /// Count no tokens.
    #[arg(long)]
    no_tokens: bool,
    /// Leave out larger files: bytes, or with `k`, `M`, `G`.
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    max_file_size: u64,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum StyleArg {
    /// XML, contents as CDATA.
    #[default]
    Xml,
    /// Markdown, contents in fences.
    Markdown,
    /// One JSON object.
    Json,
    /// Text with lines of `=` between.
    Plain,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let root = scene.folder.join(path);
    let root = root.canonicalize().map_err(|error| {
        let problem = Problem::user(format!("`{}` cannot be packed", path.display()));
        problem
            .caused_by(&error)
            .hint("name a folder or a file that is there")
    })?;
    // Git itself is not needed for packing, so it is not called.
    let top = root.ancestors().find(|folder| folder.join(".git").exists());
    let ground = CommandLocation {
        root: top.map(Path::to_owned),
        env: scene.env.clone(),
    };
    let redactor = redactor(&ground)?;
    let cache = scene
        .env
        .context_cache(ground.root.as_deref().unwrap_or(&root));
    let line = ScanProgressLine::new(scene.detail);
    let target = PackTarget::new(args, scene)?;
    let tree = walk(args, &root, &target, &line)?;
    let options = PackOptions {
        name: pack_name(&root),
        style: args.style.into(),
        tree: !args.no_list,
        tokens: !args.no_tokens,
        compress: args.compress,
        budget: args.budget,
    };
    let progress = |progress| line.show(progress);
    let written = target.write(|out| {
        pack::write_pack(&tree, &options, &redactor, cache.as_deref(), out, &progress)
    });
    line.clear();
    let Some(report) = written? else {
        // The reader of the output has gone away.
        return Ok(Exit::Done);
    };
    if target.interrupted() {
        return Ok(Exit::Interrupted);
    }
    if args.tree {
        tree::print_tree(&report, scene)?;
    } else if scene.json {
        print_json(&report_to_json(&report, args))?;
    }
    if scene.detail >= Verbosity::Normal && !args.tree {
        print_summary(&report, args);
    }
    Ok(Exit::Done)
}

/// Returns the project's redactor, or the user's outside a project.
fn redactor(ground: &CommandLocation) -> Result<Redactor, Problem> {
    let (config, _) = ground.load_config(&[]).map_err(engine::Error::from)?;
    Ok(ground.redactor(&config)?)
}

fn walk(
    args: &Args,
    root: &Path,
    target: &PackTarget,
    line: &ScanProgressLine,
) -> Result<FileTree, Problem> {
    let options = files::TreeOptions {
        include: args.include.clone(),
        exclude: args.exclude.clone(),
        max_file_bytes: args.max_file_size,
        never: target.output_files(),
        ..files::TreeOptions::default()
    };
    FileTree::walk(root, &options, &|progress| line.show(progress)).map_err(|error| match error {
        files::Error::Pattern { .. } => Problem::user(error.to_string())
            .caused_by(&error)
            .hint("patterns are written as in `.gitignore`: `src/`, `*.rs`, `docs/**/*.md`"),
        files::Error::Read { .. } => Problem::environment(error.to_string()).caused_by(&error),
    })
}

/// Returns the name of a pack: that of its folder or file.
fn pack_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    one_line(&name.to_string_lossy())
}

fn report_to_json(report: &PackReport, args: &Args) -> Value {
    let skipped = report.skipped.iter();
    let skipped: Vec<Value> = skipped
        .map(|it| json!({"path": it.path, "why": it.reason.to_string()}))
        .collect();
    let output = args.output.as_ref().map(|path| path.display().to_string());
    json!({
        "files": report.files, "skipped": skipped, "dropped": report.dropped,
        "tokens": report.tokens, "bytes": report.bytes, "output": output,
    })
}

/// Prints a summary of what was packed.
fn print_summary(report: &PackReport, args: &Args) {
    let count = |n: usize, what: &str| {
        format!(
            "{} {what}{}",
            group_digits(n),
            if n == 1 { "" } else { "s" }
        )
    };
    let mut parts = vec![count(report.files.len(), "file")];
    parts.extend(report.tokens.map(|tokens| count(tokens.output, "token")));
    parts.push(format_bytes(report.bytes));
    let to = args.output.as_ref().filter(|path| path.as_os_str() != "-");
    let to = to.map_or_else(String::new, |path| format!(" into `{}`", path.display()));
    eprint_line(&format!("packed {}{to}", parts.join(", ")));
    if report.files.is_empty() && !args.include.is_empty() {
        eprint_line(
            "note: nothing matches `--include`; patterns are written as in `.gitignore`, and seen from the folder that is packed",
        );
    }
    let compressed = report.files.iter().filter(|file| file.compressed).count();
    if compressed > 0 {
        eprint_line(&format!(
            "  {} only by signatures",
            count(compressed, "file")
        ));
    }
    if !report.dropped.is_empty() {
        eprint_line(&format!(
            "  {} left out for the budget",
            count(report.dropped.len(), "file")
        ));
    }
    if !report.skipped.is_empty() {
        eprint_line(&format!(
            "  {} skipped (`--json` says why)",
            count(report.skipped.len(), "file")
        ));
    }
    let redacted: Vec<_> = report
        .files
        .iter()
        .filter(|file| file.redactions > 0)
        .collect();
    if !redacted.is_empty() {
        let secrets = redacted.iter().map(|file| file.redactions).sum();
        let named: Vec<_> = redacted
            .iter()
            .take(LARGEST)
            .map(|file| format!("`{}`", file.path))
            .collect();
        let more = if redacted.len() > LARGEST {
            ", …"
        } else {
            ""
        };
        eprint_line(&format!(
            "  {} redacted in {}{more}",
            count(secrets, "secret"),
            named.join(", ")
        ));
    }
    let mut largest: Vec<_> = report
        .files
        .iter()
        .filter(|file| file.tokens.is_some())
        .collect();
    largest.sort_by_key(|file| std::cmp::Reverse(file.tokens));
    if largest.len() > LARGEST {
        eprint_line("  the largest:");
        for file in largest.iter().take(LARGEST) {
            eprint_line(&format!(
                "  {:>10}  {}",
                group_digits(file.tokens.unwrap_or(0)),
                file.path
            ));
        }
    }
}

/// Parses a size: `2M`, `500k`, `1048576`.
fn size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(format!("`{unit}` is not a unit: write `k`, `M` or `G`")),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "write a number, such as `500k` or `2M`".to_owned())?;
    number
        .checked_shl(shift)
        .filter(|size| size >> shift == number)
        .ok_or_else(|| "that is too large".to_owned())
}

impl From<StyleArg> for PackStyle {
    fn from(style: StyleArg) -> Self {
        match style {
            StyleArg::Xml => Self::Xml,
            StyleArg::Markdown => Self::Markdown,
            StyleArg::Json => Self::Json,
            StyleArg::Plain => Self::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let all = [
            ("12", 12),
            ("1k", 1 << 10),
            ("2M", 2 << 20),
            ("3GiB", 3 << 30),
            ("0", 0),
            ("5kb", 5 << 10),
        ];
        for (text, expected) in all {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
        for text in ["", "k", "1x", "-1", "1.5M", "99999999999999999G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
