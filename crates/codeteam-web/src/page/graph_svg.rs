//! Draws the tasks of a plan with what they depend on, as SVG: a column for each layer, a box for each
//! task, a line from each dependency. The style sheet gives the colours.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::html::{escaped, push_escaped};
use super::marks::find_mark;

const BOX_WIDTH: usize = 212;
const BOX_HEIGHT: usize = 52;
const COLUMN_GAP: usize = 56;
const ROW_GAP: usize = 14;
const MARGIN: usize = 8;
/// The most characters of a title in a box.
const TITLE_CHARS: usize = 28;

/// A task as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphTask {
    pub(super) id: String,
    pub(super) title: String,
    /// Its state in words.
    pub(super) state: &'static str,
    /// Where a click leads.
    pub(super) href: String,
    /// The ids of the tasks that must be complete before it starts.
    pub(super) dependencies: Vec<String>,
}

/// Draws tasks that are given layer by layer.
pub(super) fn draw_tasks(layers: &[Vec<GraphTask>]) -> String {
    let layers = order_layers(layers);
    let rows = layers.iter().map(Vec::len).max().unwrap_or(0);
    let height = 2 * MARGIN + rows * (BOX_HEIGHT + ROW_GAP);
    let width = 2 * MARGIN + layers.len() * (BOX_WIDTH + COLUMN_GAP);
    let width = width.saturating_sub(COLUMN_GAP);
    let mut places = BTreeMap::new();
    for (column, layer) in layers.iter().enumerate() {
        let own = layer.len() * (BOX_HEIGHT + ROW_GAP);
        let top = (height - own) / 2;
        for (row, task) in layer.iter().enumerate() {
            let x = MARGIN + column * (BOX_WIDTH + COLUMN_GAP);
            let y = top + row * (BOX_HEIGHT + ROW_GAP);
            places.insert(task.id.as_str(), (x, y));
        }
    }
    let mut out = format!(
        "<svg class=\"graph task-graph\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"group\" aria-label=\"Tasks and what they depend on\">\n"
    );
    for task in layers.iter().flatten() {
        draw_edges(&mut out, task, &places);
    }
    for task in layers.iter().flatten() {
        if let Some(place) = places.get(task.id.as_str()) {
            draw_task(&mut out, task, *place);
        }
    }
    out.push_str("</svg>");
    out
}

/// Puts each task near those that it depends on, so that fewer lines cross.
fn order_layers(layers: &[Vec<GraphTask>]) -> Vec<Vec<&GraphTask>> {
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ordered = Vec::new();
    for layer in layers {
        let mut layer: Vec<&GraphTask> = layer.iter().collect();
        layer.sort_by_key(|task| {
            let found = task.dependencies.iter();
            let found: Vec<usize> = found
                .filter_map(|id| rows.get(id.as_str()).copied())
                .collect();
            // In hundredths of a row, so that tasks between two rows stand between them.
            found.iter().sum::<usize>() * 100 / found.len().max(1)
        });
        for (row, task) in layer.iter().enumerate() {
            rows.insert(&task.id, row);
        }
        ordered.push(layer);
    }
    ordered
}

fn draw_edges(out: &mut String, task: &GraphTask, places: &BTreeMap<&str, (usize, usize)>) {
    let Some((x, y)) = places.get(task.id.as_str()) else {
        return;
    };
    for from in &task.dependencies {
        let Some((from_x, from_y)) = places.get(from.as_str()) else {
            continue;
        };
        let (start, end) = (from_x + BOX_WIDTH, x.saturating_sub(1));
        let (from_y, to_y) = (from_y + BOX_HEIGHT / 2, y + BOX_HEIGHT / 2);
        let bend = COLUMN_GAP / 2;
        let _ = writeln!(
            out,
            "<path class=\"edge\" d=\"M{start} {from_y}C{} {from_y} {} {to_y} {end} {to_y}\"/>\
             <path class=\"head\" d=\"M{} {}L{end} {to_y}L{} {}z\"/>",
            start + bend,
            end.saturating_sub(bend),
            end.saturating_sub(7),
            to_y.saturating_sub(4),
            end.saturating_sub(7),
            to_y + 4,
        );
    }
}

fn draw_task(out: &mut String, task: &GraphTask, (x, y): (usize, usize)) {
    let (class, _, picture) = find_mark(task.state);
    let _ = write!(
        out,
        "<a href=\"{}\" class=\"node node-{class}\"><title>",
        escaped(&task.href)
    );
    push_escaped(out, &format!("{} {}: {}", task.id, task.title, task.state));
    let _ = write!(
        out,
        "</title><rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" \
         height=\"{BOX_HEIGHT}\" rx=\"6\"/><svg class=\"mark-{class}\" x=\"{}\" y=\"{}\" \
         width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">{picture}</svg>",
        x + 10,
        y + 9,
    );
    let _ = write!(
        out,
        "<text class=\"name\" x=\"{}\" y=\"{}\">",
        x + 33,
        y + 21
    );
    push_escaped(out, &cut(&task.id, 16));
    let _ = write!(
        out,
        "</text><text class=\"state\" x=\"{}\" y=\"{}\">{}</text>",
        x + BOX_WIDTH - 10,
        y + 21,
        task.state,
    );
    let _ = write!(
        out,
        "<text class=\"title\" x=\"{}\" y=\"{}\">",
        x + 11,
        y + 41
    );
    push_escaped(out, &cut(&task.title, TITLE_CHARS));
    out.push_str("</text></a>\n");
}

/// Returns the beginning of a text, with a mark if something is left out.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, after: &[&str]) -> GraphTask {
        GraphTask {
            id: id.to_owned(),
            title: "<script>alert(1)</script>".to_owned(),
            state: "working",
            href: "/p/x\"onload=\"y".to_owned(),
            dependencies: after.iter().map(|&id| id.to_owned()).collect(),
        }
    }

    #[test]
    fn every_task_is_a_link_and_every_dependency_a_line() {
        let layers = [
            vec![task("a", &[]), task("b", &[])],
            vec![task("c", &["b"]), task("d", &["a", "gone"])],
        ];
        let drawn = draw_tasks(&layers);
        assert_eq!(drawn.matches("<a href=").count(), 4);
        assert_eq!(drawn.matches("class=\"edge\"").count(), 2);
        assert!(!drawn.contains("<script"));
        assert!(!drawn.contains("\"onload"));
        // What depends on the upper task stands above.
        let at = |name: &str| drawn.find(&format!(">{name}</text>")).unwrap();
        assert!(at("d") < at("c"));
    }

    #[test]
    fn long_titles_are_cut_at_a_character() {
        assert_eq!(cut("äöüäöü", 4), "äöü…");
        assert_eq!(cut("abc", 3), "abc");
    }
}
