//! Makes frozen TensorFlow graphs as the bytes of a `GraphDef`, and compiles them for Ascend.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "not every test has nodes of every kind, and a test may panic"
)]

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, path::PathBuf};

use serde_json::Value;
use strait_builtin as _;
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;
use tempfile::TempDir;

/// A field of a message with bytes, which are a text or another message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut all = vec![(number << 3) | 2];
    all.extend(varint(bytes.len() as u64));
    all.extend(bytes);
    all
}

/// A field of a message with a number.
fn number(field: u8, value: u64) -> Vec<u8> {
    let mut all = vec![field << 3];
    all.extend(varint(value));
    all
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value as u8) | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// The value of an attribute that is a list of integers.
pub fn ints(values: &[i64]) -> Vec<u8> {
    let list: Vec<u8> = values.iter().flat_map(|&value| number(3, value as u64)).collect();
    field(1, &list)
}

/// The value of an attribute that is an integer.
pub fn int(value: i64) -> Vec<u8> {
    number(3, value as u64)
}

/// The value of an attribute that is a text.
pub fn text(text: &str) -> Vec<u8> {
    field(2, text.as_bytes())
}

fn extents(shape: &[i64]) -> Vec<u8> {
    let dims = shape.iter().map(|&extent| field(2, &number(1, extent as u64)));
    dims.flatten().collect()
}

fn node(name: &str, op: &str, operands: &[&str], attributes: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut all = field(1, name.as_bytes());
    all.extend(field(2, op.as_bytes()));
    all.extend(operands.iter().flat_map(|operand| field(3, operand.as_bytes())));
    for (key, value) in attributes {
        let entry = [field(1, key.as_bytes()), field(2, value)].concat();
        all.extend(field(5, &entry));
    }
    all
}

/// A node on floats.
pub fn layer(name: &str, op: &str, operands: &[&str], attributes: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let types = [("T", number(6, 1))];
    node(name, op, operands, &[attributes, &types].concat())
}

/// A float input.
pub fn placeholder(name: &str, shape: &[i64]) -> Vec<u8> {
    let attributes = [("dtype", number(6, 1)), ("shape", field(7, &extents(shape)))];
    node(name, "Placeholder", &[], &attributes)
}

fn tensor(name: &str, dtype: u64, shape: &[i64], content: &[u8]) -> Vec<u8> {
    let tensor = [number(1, dtype), field(2, &extents(shape)), field(4, content)].concat();
    node(
        name,
        "Const",
        &[],
        &[("dtype", number(6, dtype)), ("value", field(8, &tensor))],
    )
}

/// A float constant.
pub fn constant(name: &str, shape: &[i64], values: &[f32]) -> Vec<u8> {
    let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor(name, 1, shape, &content)
}

/// A constant list of integers; a single integer becomes a scalar.
pub fn list(name: &str, values: &[i32]) -> Vec<u8> {
    let content: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let shape = [values.len() as i64];
    tensor(name, 3, if values.len() == 1 { &[] } else { &shape }, &content)
}

/// The graph with these nodes.
pub fn graph(nodes: &[Vec<u8>]) -> Vec<u8> {
    nodes.iter().flat_map(|node| field(1, node)).collect()
}

/// Numbers that repeat after some time.
pub fn numbers(count: usize, size: f32) -> Vec<f32> {
    (0..count)
        .map(|index| ((index * 37 + 11) % 29) as f32 * size / 28.0 - size / 2.5)
        .collect()
}

pub fn weights(name: &str, shape: [i64; 4], size: f32) -> Vec<u8> {
    constant(name, &shape, &numbers(shape.iter().product::<i64>() as usize, size))
}

pub fn conv(name: &str, operands: [&str; 2]) -> Vec<u8> {
    layer(
        name,
        "Conv2D",
        &operands,
        &[("strides", ints(&[1, 1, 1, 1])), ("padding", text("SAME"))],
    )
}

/// Two convolutions, named as TensorFlow names them, with a bias and a ReLU6 in between. With `residual`, the input is
/// added before the ReLU6.
pub fn two(residual: bool) -> Vec<u8> {
    let mut nodes = vec![
        placeholder("x", &[1, 6, 6, 4]),
        weights("w", [3, 3, 4, 4], 0.6),
        weights("v", [1, 1, 4, 3], 1.0),
        constant("b", &[4], &[0.1, -0.2, 0.3, 0.0]),
        conv("Conv2D", ["x", "w"]),
        layer("BiasAdd", "BiasAdd", &["Conv2D", "b"], &[]),
    ];
    if residual {
        nodes.push(layer("add", "AddV2", &["BiasAdd", "x"], &[]));
    }
    nodes.push(layer(
        "Relu6",
        "Relu6",
        &[if residual { "add" } else { "BiasAdd" }],
        &[],
    ));
    nodes.push(conv("Conv2D_1", ["Relu6", "v"]));
    graph(&nodes)
}

/// The JSON files and the record of a graph that was compiled for `ascend`.
pub struct Made {
    folder: PathBuf,
}

impl Made {
    pub fn bytes(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder.join(file)).unwrap()
    }

    pub fn json(&self, file: &str) -> Value {
        serde_json::from_slice(&self.bytes(file)).unwrap()
    }

    /// The constant that a layer of the artifact adds.
    pub fn added(&self, layer: &str) -> Vec<f32> {
        let opened = Opened::open(&self.folder, &targets::registry([]).unwrap()).unwrap();
        let module = opened.module();
        let mut nodes = module.main().nodes().map(|(_, node)| node);
        let node = nodes.find(|node| module.name(node.name) == layer).unwrap();
        let mut operands = node.inputs.iter().flatten();
        let added = operands.find_map(|&operand| module.constant(module.main(), operand));
        added.unwrap().to_f32().unwrap().into_owned()
    }

    pub fn record(&self) -> String {
        String::from_utf8(self.bytes("record.txt")).unwrap()
    }

    /// For each layer of the record, the scale of its operand and the number of scales of its weights.
    pub fn layers(&self) -> BTreeMap<String, (f32, usize)> {
        let record = self.record();
        let layers = record.split("record {").skip(1).map(|layer| {
            let name = layer.split('"').nth(1).unwrap().to_owned();
            let scale = layer.split("scale_d: ").nth(1).unwrap().lines().next().unwrap();
            (name, (scale.parse().unwrap(), layer.matches("scale_w").count()))
        });
        layers.collect()
    }

    /// The operators of the deploy model, by name.
    pub fn deployed(&self) -> BTreeMap<String, String> {
        let names = self.json("net_quant.json");
        let ops = names["graph"][0]["op"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        ops.iter().map(|op| (text(&op["name"]), text(&op["type"]))).collect()
    }
}

pub fn compiled(folder: &Path, name: &str, graph: &[u8], lines: &str) -> Result<Made, String> {
    fs::write(folder.join("net.pb"), graph).unwrap();
    let out = folder.join(name);
    let data = if lines.contains("record") {
        ""
    } else {
        "calibration.data = \"random:16\"\n"
    };
    let text = format!(
        "schema = 1\nmodel.file = \"net.pb\"\ntarget.use = [\"ascend\"]\n{data}output.dir = \"{}\"\n{lines}",
        out.display()
    );
    let loaded = config::parse("deploy.toml", text, folder, &[] as &[Override]).map_err(|found| found.to_string())?;
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    pipeline::compile(&loaded, targets::registry([]).unwrap(), &session).map_err(|stop| stop.to_string())?;
    Ok(Made { folder: out })
}

/// Compiles a graph, and compiles it again from the record that was written. Integers, files and names must be the
/// same.
pub fn round_trip(graph: &[u8]) -> (TempDir, Made) {
    let folder = tempfile::tempdir().unwrap();
    let first = compiled(folder.path(), "first", graph, "").unwrap();
    fs::write(folder.path().join("record.txt"), first.record()).unwrap();
    let record = "calibration.record = \"record.txt\"\n";
    let second = compiled(folder.path(), "second", graph, record).unwrap();
    for file in [
        "model.strait",
        "record.txt",
        "net_deploy_model.onnx",
        "net_fake_quant_model.onnx",
        "net_quant.json",
    ] {
        assert!(first.bytes(file) == second.bytes(file), "{file}");
    }
    (folder, first)
}
