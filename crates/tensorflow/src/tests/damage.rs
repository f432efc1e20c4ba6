//! Tests that reading a damaged file ends with an error or a module, and needs no more memory than the size of the file
//! justifies.

use strait_import::{Decoded, ReadError, ReadOptions};

use super::make::{encoded, error, extents, floats, ints, list, node, placeholder, read, text, truth};
use crate::Model;
use crate::proto::{NodeDef, TensorProto, Value};

/// A small network with operators of many kinds.
fn network() -> Vec<NodeDef> {
    vec![
        placeholder("x", Some(&[1, 8, 8, 2])),
        floats("w", &[3, 3, 2, 4], &[0.25; 72]),
        floats("b", &[4], &[1.0, 2.0, 3.0, 4.0]),
        node("conv", "Conv2D", &["x", "w"])
            .float()
            .with("strides", ints(&[1, 2, 2, 1]))
            .with("dilations", ints(&[1, 1, 1, 1]))
            .with("padding", text("SAME"))
            .with("data_format", text("NHWC")),
        node("bias", "BiasAdd", &["conv", "b"]).float(),
        truth("training", false),
        node("switch", "Switch", &["bias", "training"]).float(),
        node("relu", "Relu", &["switch"]).float(),
        node("pool", "MaxPool", &["relu"])
            .float()
            .with("ksize", ints(&[1, 2, 2, 1]))
            .with("strides", ints(&[1, 2, 2, 1]))
            .with("padding", text("VALID")),
        list("begin", &[0, 0, 0, 0]),
        list("end", &[1, 2, 2, 0]),
        list("strides", &[1, 1, 1, 1]),
        node("part", "StridedSlice", &["pool", "begin", "end", "strides"])
            .float()
            .with("end_mask", Value::Int(8))
            .with("shrink_axis_mask", Value::Int(1)),
        list("block", &[2]),
        list("crops", &[0, 0]),
        node("batches", "SpaceToBatchND", &["part", "block", "crops"]).float(),
        list("shape", &[1, -1]),
        node("flat", "Reshape", &["batches", "shape"]).float(),
        list("axis", &[-1]),
        node("sum", "Sum", &["flat", "axis"])
            .float()
            .with("keep_dims", Value::Flag(true)),
        list("copies", &[1, 3]),
        node("tiled", "Tile", &["sum", "copies"]).float(),
        node("y", "Softmax", &["tiled"]).float(),
    ]
}

/// A small generator with a full period (Knuth's constants), so that the test sees the same damage every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Reads damaged bytes. Any result is accepted, but not a panic.
fn survives(bytes: Vec<u8>) -> Result<(), ReadError> {
    let module = Model::decode(bytes.into())?.read(&ReadOptions::default())?;
    assert_eq!(
        strait_core::verifier::verify(&module),
        Ok(()),
        "what is read holds the invariants"
    );
    Ok(())
}

#[test]
fn the_whole_network_is_read() {
    read(network()).unwrap();
}

#[test]
fn a_graph_that_is_cut_anywhere_survives() {
    let whole = encoded(network());
    for length in 0..whole.len() {
        // If the file is cut between two nodes, the rest is a valid graph.
        let _ = survives(whole[..length].to_vec());
    }
}

#[test]
fn garbled_graphs_do_not_panic() {
    let whole = encoded(network());
    let mut random = Random(2);
    let mut refused = 0;
    for _ in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                _ => drop(bytes.drain(at..at + random.below(bytes.len() - at).min(8))),
            }
        }
        refused += usize::from(survives(bytes).is_err());
    }
    assert!(refused > 1000, "{refused} of 6000 were noticed");
}

#[test]
fn attributes_and_lists_with_extreme_numbers_do_not_panic() {
    let extreme = [
        i64::MIN,
        i64::MIN + 1,
        -1,
        0,
        1,
        i64::from(i32::MAX),
        i64::from(u32::MAX),
        i64::MAX,
    ];
    let numbers = [i32::MIN, -2, -1, 0, 1, 2, i32::MAX];
    for position in 0..network().len() {
        let node = &network()[position];
        for key in node.attr.keys() {
            for &value in &extreme {
                let mut nodes = network();
                let changed = match nodes[position].attr[key].value {
                    Some(Value::Int(_)) => Value::Int(value),
                    Some(Value::List(ref list)) => ints(&vec![value; list.i.len()]),
                    Some(Value::Shape(ref shape)) => Value::Shape(extents(&vec![value; shape.dim.len()])),
                    Some(Value::Type(_)) => Value::Type(value as i32),
                    _ => continue,
                };
                nodes[position] = nodes[position].clone().with(key, changed);
                let _ = survives(encoded(nodes));
            }
        }
        let Some(Value::Tensor(tensor)) = node.attr.get("value").and_then(|attr| attr.value.clone()) else {
            continue;
        };
        for &value in &numbers {
            let mut nodes = network();
            let count = tensor.int_val.len();
            let changed = TensorProto {
                int_val: vec![value; count],
                ..*tensor.clone()
            };
            nodes[position] = node.clone().with("value", Value::Tensor(Box::new(changed)));
            let _ = survives(encoded(nodes));
        }
    }
}

#[test]
fn results_of_any_number_take_no_memory_for_those_in_between() {
    for result in ["4000000000", "99999999999999999999999", "70000"] {
        let nodes = vec![
            placeholder("x", Some(&[4])),
            node("y", "Relu", &[&format!("x:{result}")]).float(),
        ];
        assert!(read(nodes).is_err());
    }
    let split = node("s", "Split", &["x", "x"]).with("num_split", Value::Int(i64::MAX));
    assert!(read(vec![placeholder("x", Some(&[4])), split]).is_err());
}

#[test]
fn constants_of_few_bytes_take_no_more_memory_than_there_is_for_them() {
    let large = |name: &str| {
        let tensor = TensorProto {
            dtype: 1,
            tensor_shape: Some(extents(&[1 << 29])),
            float_val: vec![1.0],
            ..TensorProto::default()
        };
        node(name, "Const", &[])
            .with("dtype", Value::Type(1))
            .with("value", Value::Tensor(Box::new(tensor)))
    };
    let nodes = vec![
        placeholder("x", Some(&[1])),
        large("k"),
        node("y", "Add", &["x", "k"]).float(),
    ];
    let text = error(read(nodes));
    assert!(
        text.contains("the constant `k:0`: a constant of shape [536870912] is written as few values"),
        "{text}"
    );
}
