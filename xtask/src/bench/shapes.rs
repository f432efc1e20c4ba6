//! Graphs for measuring how cost grows: many nodes on tiny tensors. Each shape of graph makes a different part of the
//! compiler work hard.

use super::onnx::{
    Attribute::{Integer, Integers},
    Data, F32, File,
};
use super::random::Random;

/// Number of channels of most tensors. Their shape is [1, CHANNELS, SIDE, SIDE].
const CHANNELS: usize = 4;
const SIDE: usize = 4;
const IMAGE: [usize; 4] = [1, CHANNELS, SIDE, SIDE];

/// The target that most measured compilations are for.
pub(super) const TARGET: &str = "generic-int8";

/// Shape of the input of every graph, without the batch dimension.
pub(super) const INPUT: [usize; 3] = [CHANNELS, SIDE, SIDE];

/// A family of graphs that differ only in their number of nodes.
pub(super) struct Shape {
    /// Name of the shape in the output.
    pub(super) name: &'static str,
    /// Makes a model with about the given number of nodes, as the bytes of a file.
    pub(super) model: fn(usize) -> Vec<u8>,
    /// True if the limits for seconds and bytes hold for this shape. Shapes with larger tensors or with other ops have
    /// no such limits.
    pub(super) is_marked: bool,
    /// The target that the model is compiled for.
    pub(super) target: &'static str,
    /// Additional lines of the configuration. They begin in the table `[output]`.
    pub(super) settings: &'static str,
}

impl Shape {
    /// A shape for [`TARGET`] with default settings, for which only the growth of the cost is limited.
    const fn new(name: &'static str, model: fn(usize) -> Vec<u8>) -> Shape {
        Shape {
            name,
            model,
            is_marked: false,
            target: TARGET,
            settings: "",
        }
    }
}

/// All families of graphs that are measured.
pub(super) const SHAPES: &[Shape] = &[
    Shape {
        is_marked: true,
        ..Shape::new("chains of residual blocks", |nodes| residual(nodes, None))
    },
    Shape::new("one value that all nodes read, on three grids", readers),
    Shape::new("concatenations of 1,000 operands", concatenations),
    Shape::new("moves that share one grid", moves),
    Shape::new("residual blocks, every hundredth node refused", |nodes| {
        residual(nodes, Some(REFUSED))
    }),
    // All sums have to share one scale. `emit` is empty because the target's package is an archive, which
    // cannot contain so many tensors.
    Shape {
        target: "sima",
        settings: "emit = []\n[quantize]\nalignment = { elementwise = \"large\" }\n",
        ..Shape::new("residual blocks, the operands of a sum on one grid", |nodes| {
            residual(nodes, None)
        })
    },
];

/// One in this many nodes is refused.
const REFUSED: usize = 100;
/// Number of operands of a large concatenation.
const OPERANDS: usize = 1000;

/// Makes 1 × 1 convolutions, each with its own weights.
struct Convolutions {
    random: Random,
}

impl Convolutions {
    fn add(&mut self, graph: &mut File, [x, y]: [&str; 2], channels: usize, size: f32) {
        let weight = format!("{y}_w");
        let values: Vec<f32> = (0..CHANNELS * channels)
            .map(|_| size * self.random.normal() as f32)
            .collect();
        constant(graph, &weight, &[CHANNELS, channels, 1, 1], &values);
        graph.node("Conv", &[x, &weight], y, &[]);
    }
}

fn constant(graph: &mut File, name: &str, extents: &[usize], values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    graph.constant(name, F32, extents, Data::Raw(&bytes));
}

fn begun() -> (File, Convolutions) {
    (File::new("x", &IMAGE), Convolutions { random: Random(0) })
}

/// A chain has at most this many blocks. Numbers grow by about 1.2 % in each block, so that those of a chain with 14,000 blocks
/// become infinite after half of them. All layers after that would compute zeros or stay on the host, as in no network.
const CHAIN: usize = 250;

/// Chains of blocks, which all read the input, and whose results are added. A block has seven nodes: Conv,
/// BatchNormalization, Relu, Conv, Identity, Add (of the block's input), Relu. With `refused`, one in this many nodes is a
/// sum that no form can compute, because the scales of its operands differ too much. This is only noticed when the sum is
/// lowered.
fn residual(nodes: usize, refused: Option<usize>) -> Vec<u8> {
    let (mut graph, mut conv) = begun();
    constant(&mut graph, "zero", &[], &[0.0]);
    constant(&mut graph, "tiny", &[], &[1e-20]);
    let (mut x, mut total) = ("x".to_owned(), None);
    let mut marked = 0;
    for block in 0..(nodes / 7).max(1) {
        let name = |part: &str| format!("b{block}_{part}");
        if block > 0 && block % CHAIN == 0 {
            total = Some(joined(&mut graph, total, x, &name("total")));
            x = "x".to_owned();
        }
        let [c1, n, r, c2, i, a, y] = ["c1", "n", "r", "c2", "i", "a", "y"].map(name);
        let statistics = ["g", "b", "m", "v"].map(name);
        for (name, value) in statistics.iter().zip([1.0, 0.0, 0.0, 1.0]) {
            constant(&mut graph, name, &[CHANNELS], &[value; CHANNELS]);
        }
        conv.add(&mut graph, [&x, &c1], CHANNELS, 0.3);
        let [g, b, m, v] = &statistics;
        graph.node("BatchNormalization", &[&c1, g, b, m, v], &n, &[]);
        graph.node("Relu", &[&n], &r, &[]);
        conv.add(&mut graph, [&r, &c2], CHANNELS, 0.3);
        graph.node("Identity", &[&c2], &i, &[]);
        graph.node("Add", &[&i, &x], &a, &[]);
        graph.node("Relu", &[&a], &y, &[]);
        x = y;
        if refused.is_some_and(|every| graph.nodes() / every > marked) {
            marked += 1;
            let [c, t, a] = ["c3", "t", "s"].map(name);
            conv.add(&mut graph, [&x, &c], CHANNELS, 0.3);
            graph.node("Clip", &[&c, "zero", "tiny"], &t, &[]);
            graph.node("Add", &[&t, &x], &a, &[]);
            x = a;
        }
    }
    let total = joined(&mut graph, total, x, "total");
    graph.written(&[(&total, &IMAGE)])
}

/// Adds the result of a chain to the sum of those before it, if there is one.
fn joined(graph: &mut File, total: Option<String>, x: String, name: &str) -> String {
    let Some(total) = total else { return x };
    graph.node("Add", &[&total, &x], name, &[]);
    name.to_owned()
}

/// A value with many readers. One third of the nodes concatenate the value in one way, one third in another way, and
/// one third are convolutions that read it. So the value is needed with the scales of both concatenations and with its
/// own scale. Nodes that only move elements would keep the value's own scale, so they are not used here.
fn readers(nodes: usize) -> Vec<u8> {
    let (mut graph, mut conv) = begun();
    conv.add(&mut graph, ["x", "v"], CHANNELS, 0.5);
    conv.add(&mut graph, ["x", "wide"], CHANNELS, 5.0);
    conv.add(&mut graph, ["x", "wider"], CHANNELS, 50.0);
    let mut joined = [vec!["wide".to_owned()], vec!["wider".to_owned()], Vec::new()];
    while graph.nodes() + 3 < nodes.max(9) {
        let at = graph.nodes() % 3;
        let name = format!("r{}", graph.nodes());
        match at {
            2 => conv.add(&mut graph, ["v", &name], CHANNELS, 0.5),
            _ => graph.node("Concat", &["v", "v"], &name, &[("axis", Integer(1))]),
        }
        joined[at].push(name);
    }
    let names = ["first", "second", "third"];
    for (name, operands) in names.iter().zip(&joined) {
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        graph.node("Concat", &operands, name, &[("axis", Integer(1))]);
    }
    let [first, second, third] = joined.each_ref().map(Vec::len);
    let channels = [2 * first - 1, 2 * second - 1, third].map(|times| CHANNELS * times);
    let extents = channels.map(|channels| [1, channels, SIDE, SIDE]);
    let outputs: Vec<(&str, &[usize])> = names.iter().copied().zip(extents.iter().map(|e| &e[..])).collect();
    graph.written(&outputs)
}

/// Convolutions side by side. The results of a thousand of them at a time are concatenated, and another convolution
/// reads the concatenation.
fn concatenations(nodes: usize) -> Vec<u8> {
    let (mut graph, mut conv) = begun();
    let mut x = "x".to_owned();
    for block in 0..(nodes / OPERANDS).max(1) {
        let operands: Vec<String> = (0..OPERANDS).map(|at| format!("b{block}_{at}")).collect();
        for operand in &operands {
            conv.add(&mut graph, [&x, operand], CHANNELS, 0.5);
        }
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let [joined, y] = ["joined", "y"].map(|part| format!("b{block}_{part}"));
        graph.node("Concat", &operands, &joined, &[("axis", Integer(1))]);
        conv.add(&mut graph, [&joined, &y], CHANNELS * OPERANDS, 0.01);
        x = y;
    }
    graph.written(&[(&x, &IMAGE)])
}

/// Pools and transpositions in a row between two convolutions.
fn moves(nodes: usize) -> Vec<u8> {
    let (mut graph, mut conv) = begun();
    conv.add(&mut graph, ["x", "m0"], CHANNELS, 0.5);
    let mut x = "m0".to_owned();
    while graph.nodes() + 1 < nodes {
        let y = format!("m{}", graph.nodes());
        match graph.nodes() % 2 {
            0 => graph.node("Transpose", &[&x], &y, &[("perm", Integers(&[0, 1, 3, 2]))]),
            _ => pool(&mut graph, [&x, &y]),
        }
        x = y;
    }
    conv.add(&mut graph, [&x, "y"], CHANNELS, 0.5);
    graph.written(&[("y", &IMAGE)])
}

/// Adds a 3 × 3 max pool.
fn pool(graph: &mut File, [x, y]: [&str; 2]) {
    let attributes = [("kernel_shape", Integers(&[3, 3])), ("pads", Integers(&[1, 1, 1, 1]))];
    graph.node("MaxPool", &[x], y, &attributes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_same_each_time_and_grows_with_its_nodes() {
        for shape in SHAPES {
            assert_eq!((shape.model)(3000), (shape.model)(3000), "{}", shape.name);
            let (one, ten) = ((shape.model)(2000).len(), (shape.model)(20_000).len());
            assert!((8 * one..12 * one).contains(&ten), "{}: {one} {ten}", shape.name);
        }
    }
}
