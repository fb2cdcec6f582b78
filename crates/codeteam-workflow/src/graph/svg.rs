//! Writes a workflow as SVG: as a file that loads no fonts, scripts or images and has colours for light
//! and dark mode, or as a part of a page that has a style sheet of its own.

mod draw;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::ids::StepId;

use self::draw::{draw_line, draw_route, escaped, outline, px, rect_attributes, text};
use super::back_edges::{self, BackEdge, BackRoute, BackRoutes, Side};
use super::layers::{self, BoxSize, ForwardEdge, GraphLayout, Rect, count};
use super::{EdgeEnd, NodeShape, ScopeGraph, StepMark, StepNode, WorkflowGraph, columns, wrap};

/// The margin around the whole picture.
const MARGIN: f64 = 16.0;
/// The padding around the steps inside an `each` step.
const PAD: f64 = 16.0;
/// The distance of a box's text from its outline.
const INNER: f64 = 14.0;
const TITLE: f64 = 8.2;
const SMALL: f64 = 6.3;
const TITLE_LINE: f64 = 18.0;
const SMALL_LINE: f64 = 15.0;
/// The number of columns of small text in a box.
const WRAP: usize = 34;
/// The largest number of lines of small text in a box.
const LINES: usize = 4;
/// The slant of the outline of a gate or a publish step.
const SLANT: f64 = 11.0;

const STYLE: &str = "\
text{font:11px ui-sans-serif,system-ui,-apple-system,'Segoe UI',sans-serif;fill:#3d4550}\
.t{font-size:13px;font-weight:600;fill:#14181d}\
.m{text-anchor:middle}.e{text-anchor:end}\
.w{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.bg{fill:#fff}.s{stroke-width:1.4}\
.role{fill:#eaf2ff;stroke:#3b73c8}.gate{fill:#fff4dc;stroke:#b07a12}\
.person{fill:#e8f7ec;stroke:#2f8a4c}.each{fill:#f6f7f9;stroke:#8a94a3;stroke-dasharray:5 3}\
.commit{fill:#f2ecfc;stroke:#7a53b8}.publish{fill:#fdecec;stroke:#c04747}\
.end{fill:#fff;stroke:#69737f}.dot{fill:#69737f}\
.l{fill:none;stroke:#69737f;stroke-width:1.4}.b{stroke:#a4564a}.h{fill:#69737f}.hb{fill:#a4564a}\
@media (prefers-color-scheme:dark){\
text{fill:#b9c2cd}.t{fill:#f1f4f7}.bg{fill:#14181d}.w{stroke:#14181d}\
.role{fill:#16263f;stroke:#6ea3f0}.gate{fill:#33270c;stroke:#dba63c}\
.person{fill:#12301c;stroke:#5fbf7d}.each{fill:#1b2027;stroke:#76818f}\
.commit{fill:#271c3d;stroke:#ab86e6}.publish{fill:#391818;stroke:#ea7f7f}\
.end{fill:#14181d;stroke:#97a1ad}.dot{fill:#97a1ad}\
.l{stroke:#97a1ad}.b{stroke:#dd9488}.h{fill:#97a1ad}.hb{fill:#dd9488}}";

/// The heads of lines and of lines that lead back.
const HEADS: &str = "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" \
    markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
    <path class=\"h\" d=\"M0 0 8 4 0 8z\"/></marker><marker id=\"b\" viewBox=\"0 0 8 8\" refX=\"7.5\" \
    refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
    <path class=\"hb\" d=\"M0 0 8 4 0 8z\"/></marker></defs>\n";

/// Marks of steps, by their ids.
type StepMarks<'a> = &'a BTreeMap<StepId, StepMark>;

/// Writes a file.
pub(super) fn write(graph: &WorkflowGraph) -> String {
    let laid = ScopeLayout::from_scope(&graph.root);
    let size = laid.size();
    let heading = if graph.limits.is_empty() { 26.0 } else { 44.0 };
    let title = columns(&graph.name).max(1);
    let words = count(title) * TITLE;
    let width = size.w.max(words).max(count(columns(&graph.limits)) * SMALL) + 2.0 * MARGIN;
    let height = size.h + 2.0 * MARGIN + heading;
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
         height=\"{h}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n{HEADS}",
        escaped(&format!("workflow {}", graph.name)),
        w = px(width.ceil()),
        h = px(height.ceil()),
    );
    let _ = writeln!(out, "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>");
    text(&mut out, "t", MARGIN, MARGIN + 12.0, &graph.name);
    text(&mut out, "", MARGIN, MARGIN + 30.0, &graph.limits);
    laid.draw(&mut out, &BTreeMap::new(), MARGIN, MARGIN + heading);
    out.push_str("</svg>\n");
    out
}

/// Writes a part of a page. The page has the style sheet, and says the workflow's name.
pub(super) fn write_linked(graph: &WorkflowGraph, marks: StepMarks<'_>) -> String {
    let laid = ScopeLayout::from_scope(&graph.root);
    let size = laid.size();
    let mut out = format!(
        "<svg class=\"graph workflow-graph\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         role=\"group\" aria-label=\"{}\">\n{HEADS}",
        escaped(&format!("workflow {}", graph.name)),
        w = px((size.w + 2.0 * MARGIN).ceil()),
        h = px((size.h + 2.0 * MARGIN).ceil()),
    );
    laid.draw(&mut out, marks, MARGIN, MARGIN);
    out.push_str("</svg>\n");
    out
}

/// A figure in the layout: a step, or the start or an end of the scope.
#[derive(Clone, Debug)]
enum SvgFigure<'a> {
    Start,
    Step(&'a StepNode, Vec<String>, Option<Box<ScopeLayout<'a>>>),
    End(&'static str),
}

/// A scope with the positions of everything in it.
#[derive(Clone, Debug)]
struct ScopeLayout<'a> {
    figures: Vec<SvgFigure<'a>>,
    layout: GraphLayout,
    words: Vec<Option<String>>,
    routes: Vec<(BackRoute, String)>,
    left: f64,
    right: f64,
}

impl<'a> ScopeLayout<'a> {
    fn from_scope(scope: &'a ScopeGraph) -> Self {
        let steps = scope.nodes.len();
        let merged = scope.merge_edges();
        let mut figures = vec![SvgFigure::Start];
        figures.extend(scope.nodes.iter().map(figure));
        // The start comes before the first step, the ends after the last.
        let mut place = |to: EdgeEnd| match to {
            EdgeEnd::Node(i) => i + 1,
            EdgeEnd::Done | EdgeEnd::Fail => {
                let word = if to == EdgeEnd::Done { "done" } else { "fail" };
                let known = |f: &SvgFigure<'_>| matches!(f, SvgFigure::End(w) if *w == word);
                figures.iter().position(known).unwrap_or_else(|| {
                    figures.push(SvgFigure::End(word));
                    figures.len() - 1
                })
            }
        };
        let (mut downs, mut ups) = (Vec::new(), Vec::new());
        let (mut words, mut back_words) = (Vec::new(), Vec::new());
        if steps > 0 {
            downs.push(ForwardEdge {
                from: 0,
                to: 1,
                word: None,
                usual: true,
            });
            words.push(None);
        }
        for edge in merged {
            let (from, to, usual, label) = (edge.from + 1, place(edge.to), edge.usual, edge.label);
            let width = |label: &String| count(columns(label)) * SMALL;
            if edge.back {
                let word = label.as_ref().map_or(0.0, width);
                ups.push(BackEdge { from, to, word });
                back_words.push(label.unwrap_or_default());
            } else {
                let word = label.as_ref().map(|label| width(label) + 6.0);
                downs.push(ForwardEdge {
                    from,
                    to,
                    word,
                    usual,
                });
                words.push(label);
            }
        }
        let boxes: Vec<BoxSize> = figures
            .iter()
            .enumerate()
            .map(|(i, figure)| {
                let own = size(figure);
                let h = own.h.max(back_edges::height(i, &ups));
                BoxSize { h, ..own }
            })
            .collect();
        // Labels at the sides need room, but only a finished layout shows at which side. So lay out
        // twice.
        let layout = layers::lay_out(&boxes, &[], &downs);
        let layout = layers::lay_out(&boxes, &back_edges::side_margins(&layout, &ups), &downs);
        let inset = |i: usize, side: Side, share: f64| match &figures[i] {
            SvgFigure::Step(node, ..) => inset(node.shape, layout.boxes[i], side, share),
            SvgFigure::Start | SvgFigure::End(_) => 0.0,
        };
        let BackRoutes {
            routes,
            left,
            right,
        } = back_edges::route_back_edges(&layout, &ups, &inset);
        Self {
            routes: routes.into_iter().zip(back_words).collect(),
            figures,
            layout,
            words,
            left,
            right,
        }
    }

    fn size(&self) -> BoxSize {
        BoxSize {
            w: self.left + self.layout.size.w + self.right,
            h: self.layout.size.h,
        }
    }

    fn draw(&self, out: &mut String, marks: StepMarks<'_>, x: f64, y: f64) {
        let x = x + self.left;
        for (figure, rect) in self.figures.iter().zip(&self.layout.boxes) {
            let rect = Rect {
                x: rect.x + x,
                y: rect.y + y,
                ..*rect
            };
            draw_figure(out, marks, figure, rect);
        }
        for line in &self.layout.lines {
            draw_line(out, line, x, y);
        }
        for (route, _) in &self.routes {
            draw_route(out, route, x, y);
        }
        for (line, word) in self.layout.lines.iter().zip(&self.words) {
            if let (Some((at, middle)), Some(word)) = (line.word, word) {
                text(out, "w m", at + x, middle + 4.0 + y, word);
            }
        }
        for (route, word) in &self.routes {
            let class = match route.side {
                Side::Left => "w e",
                Side::Right => "w",
            };
            text(out, class, route.word.0 + x, route.word.1 + y, word);
        }
    }
}

fn figure(node: &StepNode) -> SvgFigure<'_> {
    let mut lines = wrap(&node.action, WRAP);
    if let Some(when) = &node.when {
        lines.extend(wrap(&format!("only if {when}"), WRAP));
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        if let Some(last) = lines.last_mut() {
            last.push('…');
        }
    }
    lines.extend(node.assignments.iter().flat_map(|line| wrap(line, WRAP)));
    let inner = node
        .inner
        .as_ref()
        .map(|scope| Box::new(ScopeLayout::from_scope(scope)));
    SvgFigure::Step(node, lines, inner)
}

fn size(figure: &SvgFigure<'_>) -> BoxSize {
    let (node, lines, inner) = match figure {
        SvgFigure::Start => return BoxSize { w: 12.0, h: 12.0 },
        SvgFigure::End(_) => return BoxSize { w: 56.0, h: 24.0 },
        SvgFigure::Step(node, lines, inner) => (node, lines, inner),
    };
    let small = lines.iter().map(|line| count(columns(line)) * SMALL);
    let words = small.fold(count(columns(&node.id)) * TITLE, f64::max);
    let head = TITLE_LINE + count(lines.len()) * SMALL_LINE;
    match inner {
        None => BoxSize {
            w: (words + 2.0 * (INNER + margin(node.shape))).max(90.0),
            h: head + INNER + 4.0,
        },
        Some(inner) => {
            let inner = inner.size();
            BoxSize {
                w: words.max(inner.w) + 2.0 * PAD,
                h: head + inner.h + 2.0 * PAD + 8.0,
            }
        }
    }
}

/// Returns the width that a shape takes away from its text at each side.
fn margin(shape: NodeShape) -> f64 {
    match shape {
        NodeShape::Gate | NodeShape::Publish => SLANT,
        NodeShape::Commit => 5.0,
        NodeShape::Role | NodeShape::Person | NodeShape::Each => 0.0,
    }
}

/// Returns how far inside its rectangle the outline of a shape lies, at a side and a fraction of
/// the height.
fn inset(shape: NodeShape, rect: Rect, side: Side, part: f64) -> f64 {
    match shape {
        NodeShape::Gate => SLANT * (2.0 * part - 1.0).abs(),
        NodeShape::Publish if side == Side::Right => SLANT * part,
        NodeShape::Publish => SLANT * (1.0 - part),
        NodeShape::Person => {
            let radius = radius(rect);
            let from_edge = (part * rect.h).min((1.0 - part) * rect.h);
            let up = (radius - from_edge).max(0.0);
            radius - (radius * radius - up * up).max(0.0).sqrt()
        }
        NodeShape::Role | NodeShape::Each | NodeShape::Commit => 0.0,
    }
}

fn radius(rect: Rect) -> f64 {
    (rect.h / 2.0).min(22.0)
}

fn draw_figure(out: &mut String, marks: StepMarks<'_>, figure: &SvgFigure<'_>, rect: Rect) {
    let Rect { x, y, w, h } = rect;
    match figure {
        SvgFigure::Start => {
            let (cx, cy) = (px(rect.centre()), px(y + h / 2.0));
            let _ = writeln!(
                out,
                "<circle class=\"dot\" cx=\"{cx}\" cy=\"{cy}\" r=\"6\"/>"
            );
        }
        SvgFigure::End(word) => {
            let _ = writeln!(
                out,
                "<rect class=\"s end\" {} rx=\"12\"/>",
                rect_attributes(rect)
            );
            text(out, "m", rect.centre(), y + 16.0, word);
        }
        SvgFigure::Step(node, lines, inner) => {
            let mark = marks.get(&node.step);
            open_mark(out, mark);
            outline(out, node.shape, rect);
            let head = TITLE_LINE + count(lines.len()) * SMALL_LINE;
            let mut line = if inner.is_some() {
                y + PAD - 2.0
            } else {
                y + (h - head) / 2.0
            };
            line += 13.0;
            let (class, at) = if inner.is_some() {
                ("", x + PAD)
            } else {
                (" m", x + w / 2.0)
            };
            text(out, &format!("t{class}"), at, line, &node.id);
            for small in lines {
                line += SMALL_LINE;
                text(out, class.trim(), at, line, small);
            }
            if let Some(mark) = mark {
                text(out, "w e badge", rect.right(), y - 4.0, &mark.badge);
                out.push_str(if mark.href.is_some() {
                    "</a>\n"
                } else {
                    "</g>\n"
                });
            }
            if let Some(inner) = inner {
                let across = (w - inner.size().w) / 2.0;
                inner.draw(out, marks, x + across, y + PAD + head + 8.0);
            }
        }
    }
}

/// Begins the element that a marked step is in: a link, if it leads anywhere.
fn open_mark(out: &mut String, mark: Option<&StepMark>) {
    let Some(mark) = mark else { return };
    let class = escaped(&mark.class);
    let _ = match &mark.href {
        Some(href) => writeln!(
            out,
            "<a href=\"{}\" class=\"step {class}\"><title>{}</title>",
            escaped(href),
            escaped(&mark.title)
        ),
        None => writeln!(
            out,
            "<g class=\"step {class}\"><title>{}</title>",
            escaped(&mark.title)
        ),
    };
}
