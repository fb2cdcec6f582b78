//! `codeteam map`: prints the definitions of a repository that matter most.

use std::path::{Path, PathBuf};

use codeteam_context::graph::{TaskFocus, rank_by_references};
use codeteam_context::index::SourceIndex;
use codeteam_context::map::{MapOptions, RepositoryMap, draw_map};
use codeteam_context::tree::{self, FileTree};
use codeteam_engine::engine::{self, CommandLocation};
use serde_json::{Value, json};

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, eprint_line, escape_control, print_text};
use crate::progress::{ScanProgressLine, Verbosity};
use codeteam_engine::problem::Problem;

/// Arguments of `map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder or a file. All of the repository if left out.
    path: Option<PathBuf>,
    /// Show what matters to this: a file, a folder, or the name of a definition.
    #[arg(long, value_name = "FILE|NAME")]
    focus: Vec<String>,
    /// The most tokens to use.
    #[arg(long, value_name = "TOKENS", default_value = "2048", value_parser = output::number)]
    budget: usize,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let shown = args.path.as_deref().unwrap_or(&scene.folder);
    let path = scene.folder.join(shown).canonicalize().map_err(|error| {
        Problem::user(format!("`{}` cannot be mapped", shown.display()))
            .caused_by(&error)
            .hint("name a folder or a file that is there")
    })?;
    // Git itself is not needed for a map, so it is not called.
    let top = path.ancestors().find(|folder| folder.join(".git").exists());
    let ground = CommandLocation {
        root: top.map(Path::to_owned),
        env: scene.env.clone(),
    };
    let (config, _) = ground.load_config(&[]).map_err(engine::Error::from)?;
    let redactor = ground.redactor(&config)?;
    let root = top.map_or_else(|| map_root(&path, scene), Path::to_owned);
    let root = root.as_path();
    let line = ScanProgressLine::new(scene.detail);
    let tree = FileTree::walk(root, &tree::TreeOptions::default(), &|progress| {
        line.show(progress);
    })
    .map_err(|error| Problem::environment(error.to_string()).caused_by(&error))?;
    let cache = scene.env.context_cache(root);
    let index = SourceIndex::build(&tree, cache.as_deref(), &|files, of| {
        line.show_files_read(files, of);
    });
    line.show_work("ranking the definitions");
    let (focus, unknown) = focus(args, scene, root, &index);
    let options = MapOptions {
        below: if args.path.is_some() {
            relative(&path, root).unwrap_or_default()
        } else {
            String::new()
        },
        ..MapOptions::new(args.budget)
    };
    let mut map = draw_map(&index, &rank_by_references(&index, &focus, &[]), &options);
    let hits = map.redact(&redactor);
    line.clear();
    if scene.json {
        output::print_json(&map_to_json(&map, hits.values().sum()))?;
    } else {
        print_text(&escape_control(&map.text))?;
    }
    for focus in unknown {
        eprint_line(&format!(
            "note: `{focus}` is not a source file here, and nothing is defined by that name"
        ));
    }
    if scene.detail >= Verbosity::Normal
        && !(0..index.len()).any(|file| options.includes_path(index.path(file)))
    {
        eprint_line(&match options.below.as_str() {
            "" => "no file is in a language codeteam knows".to_owned(),
            below => format!(
                "there is nothing to map in `{}`: it is ignored, or in no language codeteam knows",
                escape_control(below)
            ),
        });
    } else if scene.detail >= Verbosity::Normal && map.files.is_empty() {
        eprint_line("nothing fits: give it more with `--budget`");
    }
    Ok(Exit::Done)
}

/// Returns the root of a map outside any repository: the current folder if it contains the path, or
/// else the path's own folder.
fn map_root(path: &Path, scene: &CliContext) -> PathBuf {
    let here = scene.folder.canonicalize().ok();
    here.filter(|here| path.starts_with(here))
        .unwrap_or_else(|| match path.parent() {
            Some(parent) if !path.is_dir() => parent.to_owned(),
            _ => path.to_owned(),
        })
}

/// Returns the focus of the map, and the names that do not exist.
fn focus(
    args: &Args,
    scene: &CliContext,
    root: &Path,
    index: &SourceIndex,
) -> (TaskFocus, Vec<String>) {
    let mut focus = TaskFocus::default();
    let mut unknown = Vec::new();
    for wanted in &args.focus {
        let named = [scene.folder.join(wanted), root.join(wanted)];
        let path = named
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .find_map(|path| relative(&path, root));
        let below = |path: &str| {
            let files = (0..index.len()).map(|file| index.path(file).to_owned());
            let folder = format!("{path}/");
            files
                .filter(|file| path.is_empty() || file == path || file.starts_with(&folder))
                .collect()
        };
        let files: Vec<String> = path.as_deref().map(below).unwrap_or_default();
        if !files.is_empty() {
            focus.files.extend(files);
        } else if index.definitions_named(wanted).next().is_some() {
            focus.names.push(wanted.clone());
        } else {
            unknown.push(wanted.clone());
        }
    }
    (focus, unknown)
}

/// Returns a path relative to the top.
fn relative(path: &Path, root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let rest = path.strip_prefix(root).ok()?;
    Some(rest.to_string_lossy().into_owned())
}

fn map_to_json(map: &RepositoryMap, redactions: usize) -> Value {
    json!({
        "tokens": map.tokens, "files": map.files, "left_out": map.left_out,
        "redactions": redactions, "text": map.text,
    })
}
