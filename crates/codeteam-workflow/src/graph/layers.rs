//! Computes a layered layout: every box lies below the boxes that lead to it, and edges run through
//! the gaps between the layers.
//!
//! The layer of a box is the length of the longest path from the start. Between two layers of boxes
//! there is a layer for edge labels, and an edge that crosses a layer gets a place of its own in
//! it. That way no line crosses a box and no label covers another.

/// The gap between two layers.
const GAP: f64 = 15.0;
/// The gap between two neighbouring boxes.
const APART: f64 = 30.0;
/// The gap between a line or a label and its neighbour.
const NEAR: f64 = 14.0;
/// The height of a label.
const WORD: f64 = 14.0;
/// The gap between two lines at the same side of a box.
const PORT: f64 = 22.0;
const SWEEPS: usize = 12;

/// The width and height of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct BoxSize {
    pub w: f64,
    pub h: f64,
}

/// The position and size of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Rect {
    pub(super) fn right(self) -> f64 {
        self.x + self.w
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.h
    }

    pub(super) fn centre(self) -> f64 {
        self.x + self.w / 2.0
    }
}

/// An edge that leads down.
#[derive(Clone, Copy, Debug)]
pub(super) struct ForwardEdge {
    pub from: usize,
    pub to: usize,
    /// The width of the label.
    pub word: Option<f64>,
    /// Whether this is the usual way, which should be drawn straight.
    pub usual: bool,
}

/// The widths to keep free at the left and at the right of a box.
pub(super) type SideMargins = (f64, f64);

/// The finished layout, in the order of the boxes and edges that [`lay_out`] was given.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphLayout {
    /// The rectangle of each box.
    pub boxes: Vec<Rect>,
    /// The layer of each box.
    pub layer_of: Vec<usize>,
    /// The top and bottom of each layer.
    pub layers: Vec<(f64, f64)>,
    /// The line of each edge.
    pub lines: Vec<EdgeLine>,
    /// The size of the whole layout.
    pub size: BoxSize,
}

/// An edge as it is drawn: straight down within each run, curved from one run to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgeLine {
    pub runs: Vec<(f64, f64, f64)>,
    /// The middle of the label.
    pub word: Option<(f64, f64)>,
}

/// Something that takes up room in a layer: a box, or the place where an edge passes.
#[derive(Clone, Debug)]
struct LayerItem {
    size: BoxSize,
    layer: usize,
    /// The horizontal middle.
    x: f64,
    /// The connected items in the layers above and below.
    up: Vec<(usize, EdgeWeight)>,
    down: Vec<(usize, EdgeWeight)>,
    is_box: bool,
    free: SideMargins,
}

/// The strength with which an edge pulls its ends towards each other.
type EdgeWeight = usize;

/// Lays out boxes. `edges` must be free of cycles and lead from lower to higher numbers.
pub(super) fn lay_out(
    sizes: &[BoxSize],
    free: &[SideMargins],
    edges: &[ForwardEdge],
) -> GraphLayout {
    let mut plan = LayerPlan::new(sizes, free, edges);
    plan.order();
    plan.spread();
    plan.finish(edges)
}

/// A layout under construction. [`lay_out`] calls `order`, `spread` and `finish`, in this order.
struct LayerPlan {
    items: Vec<LayerItem>,
    layers: Vec<Vec<usize>>,
    /// The items of each edge, from box to box.
    chains: Vec<Vec<usize>>,
    boxes: usize,
}

impl LayerPlan {
    fn new(sizes: &[BoxSize], free: &[SideMargins], edges: &[ForwardEdge]) -> Self {
        let mut rank = vec![0_usize; sizes.len()];
        for from in 0..sizes.len() {
            for edge in edges.iter().filter(|e| e.from == from) {
                rank[edge.to] = rank[edge.to].max(rank[from] + 2);
            }
        }
        let item = |size: BoxSize, layer: usize, is_box: bool| LayerItem {
            size,
            layer,
            x: 0.0,
            up: Vec::new(),
            down: Vec::new(),
            is_box,
            free: (0.0, 0.0),
        };
        let boxed = sizes.iter().zip(&rank);
        let mut items: Vec<LayerItem> = boxed.map(|(s, rank)| item(*s, *rank, true)).collect();
        for (item, free) in items.iter_mut().zip(free) {
            item.free = *free;
        }
        let mut chains = Vec::new();
        for edge in edges {
            let mut chain = vec![edge.from];
            for layer in rank[edge.from] + 1..rank[edge.to] {
                let word = edge.word.filter(|_| layer == rank[edge.from] + 1);
                let size = BoxSize {
                    w: word.unwrap_or(0.0),
                    h: word.map_or(0.0, |_| WORD),
                };
                chain.push(items.len());
                items.push(item(size, layer, false));
            }
            chain.push(edge.to);
            for pair in chain.windows(2) {
                // A passing line pulls more strongly than a box, so that long edges become
                // straight.
                let passes = pair.iter().all(|i| !items[*i].is_box);
                let pull = match (edge.usual, passes) {
                    (true, _) => 12,
                    (false, true) => 4,
                    (false, false) => 1,
                };
                items[pair[0]].down.push((pair[1], pull));
                items[pair[1]].up.push((pair[0], pull));
            }
            chains.push(chain);
        }
        let mut layers = vec![Vec::new(); rank.iter().max().map_or(0, |r| r + 1)];
        for (i, item) in items.iter().enumerate() {
            layers[item.layer].push(i);
        }
        Self {
            items,
            layers,
            chains,
            boxes: sizes.len(),
        }
    }

    /// Reorders each layer by the positions of its neighbours and keeps the order with the fewest
    /// crossings.
    fn order(&mut self) {
        let (mut best, mut fewest) = (self.layers.clone(), self.crossings());
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let count = self.layers.len();
            for n in 0..count {
                let layer = if down { n } else { count - 1 - n };
                self.sort(layer, down);
            }
            let crossings = self.crossings();
            if crossings < fewest {
                (best, fewest) = (self.layers.clone(), crossings);
            }
        }
        self.layers = best;
    }

    fn sort(&mut self, layer: usize, down: bool) {
        let places = self.places();
        let mut keyed: Vec<(f64, usize)> = self.layers[layer]
            .iter()
            .enumerate()
            .map(|(place, &i)| {
                let item = &self.items[i];
                let beside = if down { &item.up } else { &item.down };
                let at = beside.iter().map(|(n, _)| count(places[*n]));
                (mean(at).unwrap_or(count(place)), i)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.layers[layer] = keyed.into_iter().map(|(_, i)| i).collect();
    }

    /// Returns the index of each item in its layer.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.items.len()];
        for layer in &self.layers {
            for (place, &i) in layer.iter().enumerate() {
                places[i] = place;
            }
        }
        places
    }

    fn crossings(&self) -> usize {
        let places = self.places();
        let mut crossings = 0;
        for layer in &self.layers {
            let edges = layer.iter().flat_map(|&i| {
                let down = self.items[i].down.iter();
                down.map(move |&(to, _)| (i, to))
            });
            let ends: Vec<(usize, usize)> = edges.map(|(a, b)| (places[a], places[b])).collect();
            for (n, a) in ends.iter().enumerate() {
                let rest = ends[n + 1..].iter();
                crossings += rest
                    .filter(|b| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1))
                    .count();
            }
        }
        crossings
    }

    /// Gives every item a horizontal position: near its neighbours, and clear of what stands next
    /// to it.
    fn spread(&mut self) {
        for layer in 0..self.layers.len() {
            let wanted = vec![0.0; self.layers[layer].len()];
            self.settle(layer, &wanted);
        }
        // The last sweep goes down, so that a step stands below the one it follows.
        for sweep in 0..=2 * SWEEPS {
            let count = self.layers.len();
            for n in 0..count {
                let down = sweep % 2 == 0;
                let layer = if down { n } else { count - 1 - n };
                let wanted: Vec<f64> = self.layers[layer]
                    .iter()
                    .map(|&i| self.wanted(i, down))
                    .collect();
                self.settle(layer, &wanted);
            }
        }
    }

    fn wanted(&self, i: usize, down: bool) -> f64 {
        let item = &self.items[i];
        let beside = if down { &item.up } else { &item.down };
        let pulls = beside.iter();
        let pulls = pulls.flat_map(|(n, pull)| std::iter::repeat_n(self.items[*n].x, *pull));
        mean(pulls).unwrap_or(item.x)
    }

    /// Moves the items of a layer as near to the wanted positions as their order and distances
    /// allow.
    fn settle(&mut self, layer: usize, wanted: &[f64]) {
        let items = &self.layers[layer];
        let mut offsets = vec![0.0; items.len()];
        for n in 1..items.len() {
            let (a, b) = (&self.items[items[n - 1]], &self.items[items[n]]);
            let apart = if a.is_box && b.is_box { APART } else { NEAR };
            let free = a.free.1 + b.free.0;
            offsets[n] = offsets[n - 1] + f64::midpoint(a.size.w, b.size.w) + apart + free;
        }
        // Neighbours that want to be closer than allowed move as a group. The more strongly pulled
        // a member is, the less it moves.
        let mut groups: Vec<(f64, f64, usize)> = Vec::new();
        for (n, (want, offset)) in wanted.iter().zip(&offsets).enumerate() {
            let mut group = (want - offset, self.weight(items[n]), 1);
            while let Some(&(at, weight, size)) = groups.last() {
                if at <= group.0 {
                    break;
                }
                groups.pop();
                let both = weight + group.1;
                let at = (at * weight + group.0 * group.1) / both;
                group = (at, both, size + group.2);
            }
            groups.push(group);
        }
        let placed = groups
            .into_iter()
            .flat_map(|(at, _, size)| std::iter::repeat_n(at, size));
        let placed: Vec<f64> = placed.zip(&offsets).map(|(at, o)| at + o).collect();
        for (n, x) in placed.into_iter().enumerate() {
            let i = self.layers[layer][n];
            self.items[i].x = x;
        }
    }

    /// Returns how strongly an item is held in place by its edges.
    fn weight(&self, i: usize) -> f64 {
        let item = &self.items[i];
        let pulls = item.up.iter().chain(&item.down).map(|(_, pull)| *pull);
        let most = pulls.max().unwrap_or(1);
        count(most * most)
    }

    fn finish(mut self, edges: &[ForwardEdge]) -> GraphLayout {
        let left = |item: &LayerItem| item.x - item.size.w / 2.0;
        let least = self.items.iter().map(left).fold(f64::INFINITY, f64::min);
        for item in &mut self.items {
            item.x -= least;
        }
        let (mut layers, mut y) = (Vec::new(), 0.0);
        for (n, layer) in self.layers.iter().enumerate() {
            let heights = layer.iter().map(|i| self.items[*i].size.h);
            let height = heights.fold(0.0, f64::max);
            if n > 0 {
                y += GAP;
            }
            layers.push((y, y + height));
            y += height;
        }
        let boxes: Vec<Rect> = self.items[..self.boxes]
            .iter()
            .map(|item| {
                let (top, bottom) = layers[item.layer];
                Rect {
                    x: item.x - item.size.w / 2.0,
                    y: f64::midpoint(top, bottom) - item.size.h / 2.0,
                    w: item.size.w,
                    h: item.size.h,
                }
            })
            .collect();
        let lines = self.lines(edges, &boxes, &layers);
        let right = self.items.iter().map(|item| item.x + item.size.w / 2.0);
        GraphLayout {
            layer_of: self.items[..self.boxes].iter().map(|i| i.layer).collect(),
            size: BoxSize {
                w: right.fold(0.0, f64::max),
                h: y,
            },
            boxes,
            layers,
            lines,
        }
    }

    fn lines(&self, edges: &[ForwardEdge], boxes: &[Rect], layers: &[(f64, f64)]) -> Vec<EdgeLine> {
        let start = |n: usize| self.port(n, edges, &|e| (edges[e].from, self.chains[e][1]));
        let end = |n: usize| {
            self.port(n, edges, &|e| {
                let chain = &self.chains[e];
                (edges[e].to, chain[chain.len() - 2])
            })
        };
        let mut lines = Vec::new();
        for (n, edge) in edges.iter().enumerate() {
            let (from, to) = (boxes[edge.from], boxes[edge.to]);
            let (_, bottom) = layers[self.items[edge.from].layer];
            let (top, _) = layers[self.items[edge.to].layer];
            let mut line = EdgeLine::default();
            line.runs
                .push((from.centre() + start(n), from.bottom(), bottom));
            let chain = &self.chains[n];
            for &i in &chain[1..chain.len() - 1] {
                let item = &self.items[i];
                let (top, bottom) = layers[item.layer];
                line.runs.push((item.x, top, bottom));
                if item.size.w > 0.0 {
                    line.word = Some((item.x, f64::midpoint(top, bottom)));
                }
            }
            line.runs.push((to.centre() + end(n), top, to.y));
            lines.push(line);
        }
        lines
    }

    /// Returns how far from the middle of its box an edge starts or ends. The usual edge is in the
    /// middle; the edges at the same box stand side by side, ordered by where they come from or
    /// lead to. `of` returns an edge's box and its neighbour.
    fn port(
        &self,
        edge: usize,
        edges: &[ForwardEdge],
        of: &dyn Fn(usize) -> (usize, usize),
    ) -> f64 {
        let (at, _) = of(edge);
        let mut same: Vec<usize> = (0..edges.len()).filter(|e| of(*e).0 == at).collect();
        same.sort_by(|a, b| {
            let (x, y) = (self.items[of(*a).1].x, self.items[of(*b).1].x);
            x.total_cmp(&y).then(a.cmp(b))
        });
        let place = same.iter().position(|e| *e == edge).unwrap_or(0);
        let usual: Vec<usize> = (0..same.len()).filter(|n| edges[same[*n]].usual).collect();
        let middle = match usual[..] {
            [usual] => count(usual),
            _ => (count(same.len()) - 1.0) / 2.0,
        };
        let apart = PORT.min(self.items[at].size.w / 2.0 / count(same.len()).max(1.0));
        (count(place) - middle) * apart
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// Converts a number of things to `f64`.
pub(super) fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
