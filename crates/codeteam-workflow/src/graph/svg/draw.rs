//! Writes outlines, lines and labels as SVG elements. Every text goes through `escaped`.

use std::fmt::Write as _;

use codeteam_core::untrusted_text::is_active_character;

use super::{SLANT, radius};
use crate::graph::NodeShape;
use crate::graph::back_edges::BackRoute;
use crate::graph::layers::{EdgeLine, Rect};

/// Draws the outline of a step.
pub(super) fn outline(out: &mut String, shape: NodeShape, rect: Rect) {
    let (left, top) = (rect.x, rect.y);
    let (right, bottom) = (rect.right(), rect.bottom());
    let middle = f64::midpoint(top, bottom);
    let corners = |class: &str, points: &[(f64, f64)]| {
        let points = points.iter();
        let points: Vec<String> = points
            .map(|(x, y)| format!("{},{}", px(*x), px(*y)))
            .collect();
        let points = points.join(" ");
        format!("<polygon class=\"s {class}\" points=\"{points}\"/>")
    };
    let rounded = |class: &str, rx: f64| {
        format!(
            "<rect class=\"s {class}\" {} rx=\"{}\"/>",
            rect_attributes(rect),
            px(rx)
        )
    };
    let drawn = match shape {
        NodeShape::Role => rounded("role", 6.0),
        NodeShape::Person => rounded("person", radius(rect)),
        NodeShape::Each => rounded("each", 8.0),
        NodeShape::Gate => corners(
            "gate",
            &[
                (left + SLANT, top),
                (right - SLANT, top),
                (right, middle),
                (right - SLANT, bottom),
                (left + SLANT, bottom),
                (left, middle),
            ],
        ),
        NodeShape::Publish => corners(
            "publish",
            &[
                (left + SLANT, top),
                (right, top),
                (right - SLANT, bottom),
                (left, bottom),
            ],
        ),
        NodeShape::Commit => {
            let (near, far) = (px(left + 5.0), px(right - 5.0));
            let (from, to) = (px(top), px(bottom));
            let whole = rounded("commit", 2.0);
            format!("{whole}<path class=\"s commit\" d=\"M{near} {from}V{to}M{far} {from}V{to}\"/>")
        }
    };
    let _ = writeln!(out, "{drawn}");
}

/// Draws an edge: straight down within layers, and curved through the gaps between them.
pub(super) fn draw_line(out: &mut String, line: &EdgeLine, x: f64, y: f64) {
    let mut path = String::new();
    let mut before: Option<(f64, f64)> = None;
    for (at, top, bottom) in &line.runs {
        let (at, top, bottom) = (at + x, top + y, bottom + y);
        match before {
            None => {
                let _ = write!(path, "M{} {}", px(at), px(top));
            }
            Some((from, _)) if (from - at).abs() < 0.5 => {
                let _ = write!(path, "L{} {}", px(at), px(top));
            }
            Some((from, start)) => {
                let middle = px(f64::midpoint(start, top));
                let _ = write!(
                    path,
                    "C{} {middle} {} {middle} {} {}",
                    px(from),
                    px(at),
                    px(at),
                    px(top)
                );
            }
        }
        if bottom > top {
            let _ = write!(path, "V{}", px(bottom));
        }
        before = Some((at, bottom));
    }
    let _ = writeln!(
        out,
        "<path class=\"l\" d=\"{path}\" marker-end=\"url(#a)\"/>"
    );
}

/// Draws a back edge as a line with rounded corners.
pub(super) fn draw_route(out: &mut String, route: &BackRoute, x: f64, y: f64) {
    const ROUND: f64 = 6.0;
    let points: Vec<(f64, f64)> = route.points.iter().map(|p| (p.0 + x, p.1 + y)).collect();
    let place = |(across, down): (f64, f64)| format!("{} {}", px(across), px(down));
    // A short distance from one point towards another.
    let towards = |from: (f64, f64), to: (f64, f64)| {
        let length = (to.0 - from.0).hypot(to.1 - from.1).max(0.01);
        let part = (ROUND / length).min(0.5);
        (
            from.0 + (to.0 - from.0) * part,
            from.1 + (to.1 - from.1) * part,
        )
    };
    let mut path = format!("M{}", place(points[0]));
    for three in points.windows(3) {
        let corner = three[1];
        let (start, end) = (towards(corner, three[0]), towards(corner, three[2]));
        let _ = write!(path, "L{}Q{} {}", place(start), place(corner), place(end));
    }
    let _ = write!(path, "L{}", place(points[points.len() - 1]));
    let _ = writeln!(
        out,
        "<path class=\"l b\" d=\"{path}\" marker-end=\"url(#b)\"/>"
    );
}

pub(super) fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    if words.is_empty() {
        return;
    }
    let (x, y, words) = (px(x), px(y), escaped(words));
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    let _ = writeln!(out, "<text{class} x=\"{x}\" y=\"{y}\">{words}</text>");
}

pub(super) fn rect_attributes(rect: Rect) -> String {
    let Rect { x, y, w, h } = rect;
    let (x, y, w, h) = (px(x), px(y), px(w), px(h));
    format!("x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"")
}

/// Formats a length with at most one decimal.
pub(super) fn px(length: f64) -> String {
    let text = format!("{:.1}", length + 0.0);
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

pub(super) fn escaped(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_active_character(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
