//! Writes ONNX files field by field. It knows only the fields that the models of benchmarks have. `xtask` uses this file,
//! too, so it depends on nothing.

/// A message of Protocol Buffers that is built field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint((field << 3) | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// Where the elements of a constant are stored.
#[derive(Clone, Copy)]
pub(crate) enum Data<'a> {
    /// The elements are in the model file.
    Raw(&'a [u8]),
    /// The elements are in another file. The fields are the file's name, the offset, and the number of bytes.
    Beside(&'a str, usize, usize),
}

/// The numbers of element types in the ONNX format.
pub(crate) const F32: u64 = 1;
pub(crate) const I64: u64 = 7;

/// The message for a constant.
fn tensor(name: &str, elem: u64, extents: &[usize], data: Data<'_>) -> Message {
    let mut tensor = Message::default();
    extents.iter().for_each(|&extent| tensor.number(1, extent as u64));
    tensor.number(2, elem);
    tensor.bytes(8, name.as_bytes());
    match data {
        Data::Raw(bytes) => tensor.bytes(9, bytes),
        Data::Beside(file, offset, length) => {
            let entries = [
                ("location", file.into()),
                ("offset", offset.to_string()),
                ("length", length.to_string()),
            ];
            for (key, value) in entries {
                let mut entry = Message::default();
                entry.bytes(1, key.as_bytes());
                entry.bytes(2, value.as_bytes());
                tensor.bytes(13, &entry.0);
            }
            tensor.number(14, 1);
        }
    }
    tensor
}

/// The value of an attribute.
pub(crate) enum Attribute<'a> {
    Integer(i64),
    Integers(&'a [i64]),
    /// A tensor of I64: its shape and its elements.
    Tensor(&'a [usize], &'a [i64]),
}

impl Attribute<'_> {
    fn written(&self, name: &str) -> Vec<u8> {
        let mut attribute = Message::default();
        attribute.bytes(1, name.as_bytes());
        let kind = match self {
            Attribute::Integer(value) => {
                attribute.number(3, *value as u64);
                2
            }
            Attribute::Tensor(extents, values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                attribute.bytes(5, &tensor("", I64, extents, Data::Raw(&bytes)).0);
                4
            }
            Attribute::Integers(values) => {
                values.iter().for_each(|&value| attribute.number(8, value as u64));
                7
            }
        };
        attribute.number(20, kind);
        attribute.0
    }
}

/// A file that is built node by node.
pub(crate) struct File {
    graph: Message,
    nodes: usize,
}

impl File {
    /// Creates a model with one input of 32-bit floats.
    pub(crate) fn new(input: &str, extents: &[usize]) -> File {
        let mut graph = Message::default();
        graph.bytes(2, b"graph");
        graph.bytes(11, &value(input, extents));
        File { graph, nodes: 0 }
    }

    /// Number of nodes that have been added.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Adds a constant.
    pub(crate) fn constant(&mut self, name: &str, elem: u64, extents: &[usize], data: Data<'_>) {
        self.graph.bytes(5, &tensor(name, elem, extents, data).0);
    }

    /// Adds a node with one result. The name of the node has the form that exporters use.
    pub(crate) fn node(&mut self, op: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute<'_>)]) {
        let mut node = Message::default();
        inputs.iter().for_each(|input| node.bytes(1, input.as_bytes()));
        node.bytes(2, output.as_bytes());
        node.bytes(3, output.trim_end_matches("_output_0").as_bytes());
        node.bytes(4, op.as_bytes());
        for (name, value) in attributes {
            node.bytes(5, &value.written(name));
        }
        self.graph.bytes(1, &node.0);
        self.nodes += 1;
    }

    /// Adds the outputs, each with its shape, and returns the bytes of the finished file.
    pub(crate) fn written(mut self, outputs: &[(&str, &[usize])]) -> Vec<u8> {
        for (output, extents) in outputs {
            self.graph.bytes(12, &value(output, extents));
        }
        let mut operators = Message::default();
        operators.bytes(1, b"");
        operators.number(2, 17);
        let mut model = Message::default();
        model.number(1, 8);
        model.bytes(7, &self.graph.0);
        model.bytes(8, &operators.0);
        model.0
    }
}

/// The declaration of an input or output of 32-bit floats.
fn value(name: &str, extents: &[usize]) -> Vec<u8> {
    let mut shape = Message::default();
    for &extent in extents {
        let mut dim = Message::default();
        dim.number(1, extent as u64);
        shape.bytes(1, &dim.0);
    }
    let mut of_tensor = Message::default();
    of_tensor.number(1, F32);
    of_tensor.bytes(2, &shape.0);
    let mut of_value = Message::default();
    of_value.bytes(1, &of_tensor.0);
    let mut value = Message::default();
    value.bytes(1, name.as_bytes());
    value.bytes(2, &of_value.0);
    value.0
}
