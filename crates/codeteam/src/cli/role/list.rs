//! `codeteam role list`: lists all roles.

use codeteam_engine::engine;
use codeteam_engine::library::Library;
use codeteam_workflow::roles::{ResolvedRole, SourceLayer};
use serde::Serialize;

use crate::cli::CliContext;
use crate::cli::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{self, eprint_line, one_line, print_line, stdout_width, truncate};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `role list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// A role in the list.
#[derive(Debug, Serialize)]
struct RoleRow {
    name: String,
    /// `None` if the role cannot be used.
    kind: Option<&'static str>,
    layer: &'static str,
    /// The role it builds on; its own name is the one of a lower layer.
    extends: Option<String>,
    /// The layer of that role.
    #[serde(skip)]
    extends_layer: Option<&'static str>,
    /// The layer whose role of the same name it stands in place of.
    hides: Option<&'static str>,
    description: String,
    /// Its strengths.
    strengths: Vec<String>,
    /// The files that say something of it, the nearest first.
    files: Vec<String>,
    /// The workflows that it has a say in.
    workflows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn main(_: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let said = LoadedConfig::read(scene, &[])?;
    let mut library = said.library();
    let mut users = library.workflows_by_role(&said.config.surroundings());
    let names = library.role_names().into_iter();
    let mut rows: Vec<(SourceLayer, RoleRow)> = names.map(|name| row(&library, name)).collect();
    for (_, row) in &mut rows {
        row.workflows = users.remove(&row.name).into_iter().flatten().collect();
    }
    // The layers closest to the user come first.
    rows.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.name.cmp(&right.name)));
    let rows: Vec<RoleRow> = rows.into_iter().map(|(_, row)| row).collect();
    if scene.json {
        output::print_json(&rows)?;
        return Ok(Exit::Done);
    }
    for line in table(&rows, stdout_width()) {
        print_line(&line)?;
    }
    let broken = rows.iter().filter(|row| row.problem.is_some()).count();
    if broken > 0 && scene.detail >= Verbosity::Normal {
        eprint_line("note: `codeteam role validate` explains what cannot be used");
    }
    Ok(Exit::Done)
}

fn row(library: &Library, name: &str) -> (SourceLayer, RoleRow) {
    let layers = library.layers_of(name);
    let layer = layers.first().copied().unwrap_or(SourceLayer::BuiltIn);
    let resolved = library.resolve(name).map_err(engine::Error::from);
    let resolved = resolved.as_ref();
    let next = |resolved: &ResolvedRole| resolved.chain.first().cloned();
    let parent = resolved.ok().and_then(next);
    let goes_on = parent.as_ref().is_some_and(|(parent, _)| parent == name);
    let hidden = layers.get(1).filter(|_| !goes_on && resolved.is_ok());
    let row = RoleRow {
        name: name.to_owned(),
        kind: resolved.ok().map(|resolved| resolved.role.kind.as_str()),
        layer: layer.as_str(),
        extends_layer: parent.as_ref().map(|(_, layer)| layer.as_str()),
        extends: parent.map(|(parent, _)| parent),
        hides: hidden.map(|layer| layer.as_str()),
        description: resolved
            .map(|resolved| resolved.role.description.clone())
            .unwrap_or_default(),
        strengths: resolved
            .map(|resolved| resolved.strengths.clone())
            .unwrap_or_default(),
        files: library
            .files_of(name)
            .iter()
            .map(|(_, file)| file.clone())
            .collect(),
        workflows: Vec::new(),
        problem: resolved.err().map(ToString::to_string),
    };
    (layer, row)
}

/// Formats a table with a group for each layer. On a narrow terminal the layer is the title of its
/// group.
fn table(rows: &[RoleRow], room: usize) -> Vec<String> {
    const HEAD: [&str; 5] = ["NAME", "KIND", "LAYER", "EXTENDS", "DESCRIPTION"];
    let is_narrow = room < 130;
    let columns: &[usize] = if is_narrow { &[0, 1] } else { &[0, 1, 2, 3] };
    let head = HEAD.map(str::to_owned);
    let lines: Vec<[String; 5]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = lines.iter().chain([&head]);
        let cells = cells.map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(|&column| width(column)).collect();
    let lead = if is_narrow { "  " } else { "" };
    let written = |line: &[String; 5]| {
        let cells = columns.iter().zip(&widths);
        let cells = cells.map(|(&column, &width)| format!("{:<width$}  ", line[column]));
        let start = format!("{lead}{}", cells.collect::<String>());
        let text = truncate(&line[4], room.saturating_sub(start.chars().count()));
        format!("{start}{text}").trim_end().to_owned()
    };
    let mut table = vec![written(&head)];
    let mut last = None;
    for (row, line) in rows.iter().zip(&lines) {
        if last != Some(row.layer) {
            if is_narrow {
                table.push(row.layer.to_owned());
            } else if last.is_some() {
                table.push(String::new());
            }
            last = Some(row.layer);
        }
        table.push(written(line));
    }
    table
}

fn cells(row: &RoleRow) -> [String; 5] {
    let extends = match (&row.extends, row.extends_layer) {
        (Some(parent), Some(layer)) if *parent == row.name => format!("{parent} ({layer})"),
        (Some(parent), _) => parent.clone(),
        (None, _) => "-".to_owned(),
    };
    let description = match (&row.problem, row.hides) {
        (Some(_), _) => "cannot be used".to_owned(),
        (None, Some(layer)) => format!("in place of the {layer} one: {}", row.description),
        (None, None) => row.description.clone(),
    };
    // For the user's own roles it is worth knowing which workflows use them.
    let description = match row.workflows.as_slice() {
        _ if row.problem.is_some() || row.layer == SourceLayer::BuiltIn.as_str() => description,
        [] => format!("{description} (in no workflow)"),
        names => format!("{description} (in {})", names.join(", ")),
    };
    [
        one_line(&row.name),
        row.kind.unwrap_or("?").to_owned(),
        row.layer.to_owned(),
        one_line(&extends),
        one_line(&description),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_80_columns_has_room_for_it() {
        let row = |name: &str, layer| RoleRow {
            name: name.to_owned(),
            kind: Some("implementer"),
            layer,
            extends: None,
            extends_layer: None,
            hides: None,
            description: "Implements one task from its brief, then fixes what is found".to_owned(),
            strengths: Vec::new(),
            files: Vec::new(),
            workflows: vec!["lean".to_owned()],
            problem: None,
        };
        let rows = [
            row("coder", "project"),
            row("a_rather_long_name", "built-in"),
        ];
        let lines = table(&rows, 80);
        let expected = [
            "  NAME                KIND         DESCRIPTION",
            "project",
            "  coder               implementer  Implements one task from its brief, then fix…",
            "built-in",
            "  a_rather_long_name  implementer  Implements one task from its brief, then fix…",
        ];
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
        assert!(table(&rows, usize::MAX)[1].ends_with("fixes what is found (in lean)"));
    }
}
