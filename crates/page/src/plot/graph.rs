//! The graph: boxes with edges between them.

use crate::{
    layout::{GAP, Layout, RANK, layout},
    svg::{Short, Svg},
    words,
};

/// A box of the drawing: a layer, or several that are folded.
#[derive(Debug)]
pub(crate) struct Box {
    /// Where a click leads; empty if nowhere.
    pub(crate) href: String,
    pub(crate) op: String,
    pub(crate) name: String,
    /// What the tooltip says.
    pub(crate) title: String,
    /// What a search looks at.
    pub(crate) words: String,
    /// The classes that give the box its colours.
    pub(crate) class: String,
    /// The number of layers of the model that this box computes in one step.
    pub(crate) fused: usize,
}

/// A drawing of a graph.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) svg: String,
    pub(crate) size: [f64; 2],
}

const WIDTH: f64 = 196.0;
const HEIGHT: f64 = 36.0;

/// Draws boxes and edges. An edge is the position of its producer and of its reader.
pub(crate) fn drawing(boxes: &[Box], edges: &[(usize, usize)], title: &str) -> Drawing {
    let Layout {
        nodes,
        bends,
        columns,
        size,
    } = layout(boxes.len(), edges);
    let size = size.map(|length| length.max(WIDTH + 20.0));
    let mut svg = Svg::default();
    svg.open(
        "svg",
        &[
            ("class", &"graph"),
            ("viewBox", &format_args!("0 0 {} {}", Short(size[0]), Short(size[1]))),
            ("role", &"group"),
            ("aria-label", &title),
        ],
    );
    let mut lines = String::new();
    for (&(from, to), bends) in edges.iter().zip(&bends) {
        let (Some(&[x0, y0]), Some(&[x1, y1])) = (nodes.get(from), nodes.get(to)) else {
            continue;
        };
        lines += &curve([x0, y0 + HEIGHT], bends, [x1, y1], &columns);
    }
    svg.add("path", &[("class", &"edges"), ("d", &lines)]);
    for (own, &[x, y]) in boxes.iter().zip(&nodes) {
        let left = x - WIDTH / 2.0;
        let element = if own.href.is_empty() { "g" } else { "a" };
        let class = format_args!("node {}", own.class);
        let attributes: [(&str, &dyn std::fmt::Display); 3] =
            [("class", &class), ("href", &own.href), ("data-words", &own.words)];
        svg.open(
            element,
            if own.href.is_empty() {
                &attributes[..1]
            } else {
                &attributes
            },
        );
        svg.words("title", &[], &own.title);
        if own.fused > 1 {
            svg.rect("fusion", [left - 4.0, y - 4.0], [WIDTH + 8.0, HEIGHT + 8.0]);
        }
        svg.rect("box", [left, y], [WIDTH, HEIGHT]);
        svg.label("op", [left + 8.0, y + 15.0], &own.op);
        svg.label("name", [left + 8.0, y + 29.0], &words::shortened(&own.name, 28));
        if own.fused > 1 {
            svg.label(
                "parts end",
                [left + WIDTH - 7.0, y + 15.0],
                &format!("{} in one", own.fused),
            );
        }
        svg.close(element);
    }
    svg.close("svg");
    Drawing {
        svg: svg.into_text(),
        size,
    }
}

/// A smooth line from the lower side of a box through bends to the upper side of another.
fn curve(from: [f64; 2], bends: &[[f64; 2]], to: [f64; 2], columns: &[f64]) -> String {
    let mut line = format!("M{} {}", Short(from[0]), Short(from[1]));
    let mut at = from;
    let mut bend = |[x, y]: [f64; 2]| {
        let middle = (at[1] + y) / 2.0;
        let (x0, x1, y1, middle) = (Short(at[0]), Short(x), Short(y), Short(middle));
        // A place that is not below the last one is in another column: the line leads through the gap in front of it.
        let before = columns.partition_point(|left| *left <= x).checked_sub(1);
        let gap = before
            .and_then(|column| columns.get(column))
            .map_or(0.0, |left| left - GAP / 2.0);
        line += &match (at[0] == x, y <= at[1]) {
            (_, true) => format!("V{}H{}V{}H{x1}V{y1}", Short(at[1] + 12.0), Short(gap), Short(y - 12.0)),
            (true, false) => format!("V{y1}"),
            (false, false) => format!("C{x0} {middle} {x1} {middle} {x1} {y1}"),
        };
        at = [x, y];
    };
    for &[x, y] in bends {
        bend([x, y]);
        bend([x, y + HEIGHT.min(RANK)]);
    }
    bend(to);
    line
}
