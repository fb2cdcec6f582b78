//! Routes the edges that lead back along the sides of a layout. Every step that is a target of back
//! edges gets one lane, which all edges to it share. The label of an edge stands where the edge
//! leaves its box.

use std::collections::BTreeMap;

use super::layers::{GraphLayout, count};

/// The distance between two lanes.
const LANE: f64 = 14.0;
/// The distance between two lines that run along the same layer.
const STEP: f64 = 5.0;
/// The distance between a box and a label, and between a label and the first lane.
const NEAR: f64 = 7.0;
/// The distance between a layer and a line that runs along it.
const ALONG: f64 = 6.0;
/// The distance from the middle of a box's top edge at which a line enters it from above.
const ENTRY: f64 = 26.0;

/// An edge that leads back, with the width of its label.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackEdge {
    pub from: usize,
    pub to: usize,
    pub word: f64,
}

/// An edge as it is drawn: a line with corners.
#[derive(Clone, Debug)]
pub(super) struct BackRoute {
    pub points: Vec<(f64, f64)>,
    /// The anchor of the label, which is its left or right end depending on the side, and its
    /// baseline.
    pub word: (f64, f64),
    pub side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Left,
    Right,
}

/// All routes, and the room that they take on each side of the layout.
pub(super) struct BackRoutes {
    pub routes: Vec<BackRoute>,
    pub left: f64,
    pub right: f64,
}

/// Returns the height that a box needs for the lines at its sides.
pub(super) fn height(box_index: usize, ups: &[BackEdge]) -> f64 {
    let out = ups.iter().filter(|up| up.from == box_index).count();
    let into = usize::from(ups.iter().any(|up| up.to == box_index));
    count(out + into + 1) * 15.0
}

/// Returns the margins that each box must keep free at its sides for the labels of the edges that
/// leave it there.
pub(super) fn side_margins(layout: &GraphLayout, ups: &[BackEdge]) -> Vec<(f64, f64)> {
    let router = BackRouter { layout, ups };
    let mut free = vec![(0.0_f64, 0.0_f64); layout.boxes.len()];
    for up in ups {
        let side = router.side(up);
        let words = up.word + 2.0 * NEAR;
        match side {
            _ if !router.leaves(up.from, side) => {}
            Side::Left => free[up.from].0 = free[up.from].0.max(words),
            Side::Right => free[up.from].1 = free[up.from].1.max(words),
        }
    }
    free
}

/// Routes all edges that lead back. `inset` returns how far inside its rectangle the outline of a
/// box lies, at a given side and fraction of its height.
pub(super) fn route_back_edges(
    layout: &GraphLayout,
    ups: &[BackEdge],
    inset: &dyn Fn(usize, Side, f64) -> f64,
) -> BackRoutes {
    let router = BackRouter { layout, ups };
    let sides: Vec<Side> = ups.iter().map(|up| router.side(up)).collect();
    let lanes = router.lanes(&sides);
    // The labels of edges that run below a layer stand side by side, outside all boxes.
    let before = |n: usize| {
        let along = router.along(n, &sides).into_iter();
        along.map(|n| ups[n].word + NEAR).sum::<f64>() + NEAR
    };
    let reach = |side: Side| {
        let mine = (0..ups.len()).filter(|n| sides[*n] == side);
        let ends = mine.map(|n| {
            let up = ups[n];
            let from = layout.boxes[up.from];
            match side {
                _ if !router.leaves(up.from, side) => before(n) + up.word + NEAR,
                Side::Left => NEAR + up.word + NEAR - from.x,
                Side::Right => from.right() + NEAR + up.word + NEAR - layout.size.w,
            }
        });
        ends.fold(LANE, f64::max)
    };
    let (left, right) = (reach(Side::Left), reach(Side::Right));
    let lane_x = |lane: usize, side: Side| match side {
        Side::Left => -left - count(lane) * LANE,
        Side::Right => layout.size.w + right + count(lane) * LANE,
    };
    let mut found = Vec::new();
    for (n, up) in ups.iter().enumerate() {
        let side = sides[n];
        let x = lane_x(lanes[&(up.to, side)], side);
        let mut points = router.way_out(n, &sides, inset);
        let (_, y) = points[points.len() - 1];
        let way_in = router.way_in(n, &sides, inset);
        points.push((x, y));
        points.push((x, way_in[0].1));
        let start = points[0];
        let word = match side {
            Side::Left if router.leaves(up.from, side) => (start.0 - NEAR, y - 4.0),
            Side::Right if router.leaves(up.from, side) => (start.0 + NEAR, y - 4.0),
            Side::Left => (lane_x(0, side) + before(n) + up.word, y - 4.0),
            Side::Right => (lane_x(0, side) - before(n) - up.word, y - 4.0),
        };
        points.extend(way_in);
        found.push(BackRoute { points, word, side });
    }
    let room = |side: Side, reach: f64| {
        let mine = lanes.iter().filter(|((_, s), _)| *s == side);
        let most = mine.map(|(_, lane)| *lane).max();
        most.map_or(0.0, |lane| reach + count(lane) * LANE + NEAR)
    };
    BackRoutes {
        left: room(Side::Left, left),
        right: room(Side::Right, right),
        routes: found,
    }
}

/// Routes the back edges (`ups`) around the boxes of a finished layout.
struct BackRouter<'a> {
    layout: &'a GraphLayout,
    ups: &'a [BackEdge],
}

impl BackRouter<'_> {
    /// Returns true if no other box of the layer lies between this one and the side.
    fn leaves(&self, node: usize, side: Side) -> bool {
        let mine = self.layout.boxes[node];
        let layer = self.layout.layer_of[node];
        let beside = self.layout.boxes.iter().zip(&self.layout.layer_of);
        let mut beside = beside.filter(|(_, l)| **l == layer).map(|(b, _)| b);
        !beside.any(|b| match side {
            Side::Left => b.x < mine.x,
            Side::Right => b.x > mine.x,
        })
    }

    fn side(&self, up: &BackEdge) -> Side {
        let both = |side| self.leaves(up.from, side) && self.leaves(up.to, side);
        match () {
            () if both(Side::Right) => Side::Right,
            () if both(Side::Left) => Side::Left,
            () if self.leaves(up.from, Side::Right) => Side::Right,
            () if self.leaves(up.from, Side::Left) => Side::Left,
            () => Side::Right,
        }
    }

    /// Assigns a lane to every step that is led back to; shorter lanes are nearer to the boxes.
    fn lanes(&self, sides: &[Side]) -> BTreeMap<(usize, Side), usize> {
        let mut spans: BTreeMap<(usize, Side), (f64, f64)> = BTreeMap::new();
        for (up, side) in self.ups.iter().zip(sides) {
            let (from, to) = (self.layout.boxes[up.from], self.layout.boxes[up.to]);
            let span = spans.entry((up.to, *side)).or_insert((to.y, to.bottom()));
            *span = (span.0.min(to.y) - LANE, span.1.max(from.bottom()) + LANE);
        }
        let mut sorted: Vec<((usize, Side), (f64, f64))> = spans.into_iter().collect();
        sorted.sort_by(|a, b| (a.1.1 - a.1.0).total_cmp(&(b.1.1 - b.1.0)));
        let mut taken: Vec<(Side, usize, (f64, f64))> = Vec::new();
        for ((_, side), span) in &sorted {
            let is_free = |lane: usize| {
                let clash = |other: &(f64, f64)| other.0 < span.1 && span.0 < other.1;
                !taken
                    .iter()
                    .any(|(s, l, other)| s == side && *l >= lane && clash(other))
            };
            let lane = (0..=taken.len()).find(|lane| is_free(*lane)).unwrap_or(0);
            taken.push((*side, lane, *span));
        }
        let lanes = sorted.iter().map(|(key, _)| *key);
        lanes.zip(taken.iter().map(|(_, lane, _)| *lane)).collect()
    }

    /// Returns the position of a line on a side of a box, as a fraction of its height. The line
    /// that leads into the box comes first.
    fn port(&self, node: usize, side: Side, sides: &[Side], out: Option<usize>) -> f64 {
        let at = |n: &usize| sides[*n] == side;
        let into = (0..self.ups.len()).filter(at);
        let into = usize::from(into.clone().any(|n| self.ups[n].to == node));
        let outs = (0..self.ups.len()).filter(at);
        let outs: Vec<usize> = outs.filter(|n| self.ups[*n].from == node).collect();
        let place = match out {
            Some(n) => into + outs.iter().position(|o| *o == n).unwrap_or(0),
            None => 0,
        };
        (count(place) + 1.0) / (count(into + outs.len()) + 1.0)
    }

    /// Returns the points from a box to where the line can leave sideways without hitting another
    /// box.
    fn way_out(
        &self,
        n: usize,
        sides: &[Side],
        inset: &dyn Fn(usize, Side, f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let (node, side) = (self.ups[n].from, sides[n]);
        let rect = self.layout.boxes[node];
        if self.leaves(node, side) {
            let share = self.port(node, side, sides, Some(n));
            let y = rect.y + rect.h * share;
            let x = match side {
                Side::Left => rect.x + inset(node, side, share),
                Side::Right => rect.right() - inset(node, side, share),
            };
            return vec![(x, y)];
        }
        let (_, bottom) = self.layout.layers[self.layout.layer_of[node]];
        let beside = count(self.along(n, sides).len());
        let x = rect.centre() + ENTRY.min(rect.w / 3.0) + beside * STEP;
        let x = x.min(rect.right() - STEP);
        vec![
            (x, rect.bottom()),
            (x, bottom + ALONG + STEP.min(beside * STEP)),
        ]
    }

    /// Returns the edges before this one that run below the same layer to the same side.
    fn along(&self, n: usize, sides: &[Side]) -> Vec<usize> {
        let layer = |n: usize| self.layout.layer_of[self.ups[n].from];
        let same = |other: &usize| {
            let side = sides[*other];
            side == sides[n]
                && layer(*other) == layer(n)
                && !self.leaves(self.ups[*other].from, side)
        };
        (0..n).filter(same).collect()
    }

    /// Returns the points from the lane into the target box.
    fn way_in(
        &self,
        n: usize,
        sides: &[Side],
        inset: &dyn Fn(usize, Side, f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let (node, side) = (self.ups[n].to, sides[n]);
        let rect = self.layout.boxes[node];
        if self.leaves(node, side) {
            let share = self.port(node, side, sides, None);
            let y = rect.y + rect.h * share;
            let x = match side {
                Side::Left => rect.x + inset(node, side, share),
                Side::Right => rect.right() - inset(node, side, share),
            };
            return vec![(x, y)];
        }
        let (top, _) = self.layout.layers[self.layout.layer_of[node]];
        let aside = ENTRY.min(rect.w / 3.0);
        let x = match side {
            Side::Left => rect.centre() - aside,
            Side::Right => rect.centre() + aside,
        };
        vec![(x, top - ALONG), (x, rect.y)]
    }
}
