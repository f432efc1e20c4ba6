//! Makes ONNX files from short texts with a line for each node, constant, input and output. It writes the messages
//! itself, so that no test model passes through the code under test.

use strait_core::{Elem, TensorData};

/// A Protocol Buffers message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn int(&mut self, field: u64, number: i64) {
        self.varint(field << 3);
        self.varint(number as u64);
    }

    fn float(&mut self, field: u64, number: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(number.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }
}

/// ONNX's number for an element type.
fn number(elem: Elem) -> i64 {
    let numbers = [
        (Elem::F32, 1),
        (Elem::U8, 2),
        (Elem::I8, 3),
        (Elem::U16, 4),
        (Elem::I16, 5),
        (Elem::I32, 6),
        (Elem::I64, 7),
        (Elem::U4, 21),
        (Elem::I4, 22),
    ];
    numbers.into_iter().find(|&(of, _)| of == elem).unwrap().1
}

/// Parses a type such as `f32[1,2]`.
fn ty(text: &str) -> (Elem, Vec<u64>) {
    let (elem, dims) = text.trim().strip_suffix(']').unwrap().split_once('[').unwrap();
    let dims = dims.split(',').filter(|dim| !dim.is_empty());
    (
        Elem::parse(elem).unwrap(),
        dims.map(|dim| dim.parse().unwrap()).collect(),
    )
}

/// Parses `x: f32[1,2]`, `x: f32[n,2]`, or just a name.
fn port(message: &mut Message, text: &str) {
    let (name, ty_text) = text
        .split_once(": ")
        .map_or((text, None), |(name, ty)| (name, Some(ty)));
    message.text(1, name);
    let Some((elem, shape)) = ty_text.and_then(|ty| ty.strip_suffix(']')?.split_once('[')) else {
        return;
    };
    let elem = Elem::parse(elem).unwrap();
    message.message(2, |ty| {
        ty.message(1, |tensor| {
            tensor.int(1, number(elem));
            tensor.message(2, |dims| {
                for extent in shape.split(',').filter(|extent| !extent.is_empty()) {
                    dims.message(1, |dim| match extent.parse() {
                        Ok(extent) => dim.int(1, extent),
                        Err(_) => dim.text(2, extent),
                    });
                }
            });
        });
    });
}

/// Parses `w: i8[2] = 1 -2`.
fn constant(message: &mut Message, text: &str) {
    let (head, values) = text.split_once(" = ").unwrap();
    let (name, ty_text) = head.split_once(": ").unwrap();
    let (elem, shape) = ty(ty_text);
    let values = values.split_whitespace();
    let tensor = match elem {
        Elem::F32 => TensorData::from_values(&shape, &values.map(|x| x.parse::<f32>().unwrap()).collect::<Vec<_>>()),
        elem => TensorData::from_integers(elem, &shape, &values.map(|x| x.parse().unwrap()).collect::<Vec<_>>()),
    };
    let tensor = tensor.unwrap();
    for &extent in &shape {
        message.int(1, extent as i64);
    }
    message.int(2, number(elem));
    message.text(8, name);
    message.bytes(9, tensor.bytes());
}

/// Parses `y, z = Op(x, , w) {axis=0, alpha=0.5, perm=[0, 1], mode='linear'}`. In `com.microsoft.Op(…)` the operator
/// has that domain.
fn node(message: &mut Message, text: &str) {
    let (call, attributes) = text.split_once(" {").unwrap_or((text, ""));
    let (outputs, call) = call.split_once(" = ").unwrap();
    let (op, inputs) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
    for name in inputs.split(", ") {
        message.text(1, name.trim());
    }
    for name in outputs.split(", ") {
        message.text(2, name);
    }
    let (domain, op) = op.rsplit_once('.').unwrap_or(("", op));
    // A node has the name of its first output.
    message.text(3, outputs.split(", ").next().unwrap());
    message.text(4, op);
    message.text(7, domain);
    for attribute in attributes
        .trim_end_matches('}')
        .split("; ")
        .filter(|text| !text.is_empty())
    {
        let (name, value) = attribute.split_once('=').unwrap();
        message.message(5, |message| {
            message.text(1, name);
            if let Some(list) = value.strip_prefix('[') {
                for number in list.trim_end_matches(']').split(',') {
                    message.int(8, number.trim().parse().unwrap());
                }
                message.int(20, 7);
            } else if let Some(word) = value.strip_prefix('\'') {
                message.text(4, word.trim_end_matches('\''));
                message.int(20, 3);
            } else if let Ok(number) = value.parse() {
                message.int(3, number);
                message.int(20, 2);
            } else {
                message.float(2, value.parse().unwrap());
                message.int(20, 1);
            }
        });
    }
}

/// The bytes of a model.
pub(super) fn file(text: &str) -> Vec<u8> {
    let mut model = Message::default();
    model.int(1, 10);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with(';'))
        .collect();
    model.message(7, |graph| {
        graph.text(2, "form");
        for line in &lines {
            match line.split_once(' ').unwrap() {
                ("opset", _) => {}
                ("input", rest) => graph.message(11, |message| port(message, rest)),
                ("output", rest) => graph.message(12, |message| port(message, rest)),
                ("const", rest) => graph.message(5, |message| constant(message, rest)),
                _ => graph.message(1, |message| node(message, line)),
            }
        }
    });
    let set = lines.iter().find_map(|line| line.strip_prefix("opset ")).unwrap();
    for (domain, version) in [("", set.parse().unwrap()), ("com.microsoft", 1)] {
        model.message(8, |message| {
            message.text(1, domain);
            message.int(2, version);
        });
    }
    model.0
}
