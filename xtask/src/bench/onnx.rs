//! Writes ONNX files field by field, with only those parts of the format that the benchmarks need.

/// A Protocol Buffers message that is built field by field.
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
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// A graph of operators on small images that grows node by node.
pub(super) struct Builder {
    graph: Message,
    nodes: usize,
}

impl Builder {
    /// A graph with one input.
    pub(super) fn new(input: &str, extents: &[usize]) -> Builder {
        let mut graph = Message::default();
        graph.bytes(2, b"graph");
        graph.bytes(11, &value(input, extents));
        Builder { graph, nodes: 0 }
    }

    /// Number of nodes so far.
    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, name: &str, extents: &[usize], values: &[f32]) {
        let mut tensor = Message::default();
        extents.iter().for_each(|&extent| tensor.number(1, extent as u64));
        tensor.number(2, 1);
        tensor.bytes(8, name.as_bytes());
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        tensor.bytes(9, &bytes);
        self.graph.bytes(5, &tensor.0);
    }

    /// Adds a node with one result. Its attributes are integers or lists of integers.
    pub(super) fn node(&mut self, op: &str, inputs: &[&str], output: &str, attributes: &[(&str, Attribute<'_>)]) {
        let mut node = Message::default();
        inputs.iter().for_each(|input| node.bytes(1, input.as_bytes()));
        node.bytes(2, output.as_bytes());
        node.bytes(3, format!("{output}_node").as_bytes());
        node.bytes(4, op.as_bytes());
        for (name, value) in attributes {
            node.bytes(5, &value.written(name));
        }
        self.graph.bytes(1, &node.0);
        self.nodes += 1;
    }

    /// Completes the graph with these outputs, and returns the bytes of the ONNX file.
    pub(super) fn file(mut self, outputs: &[(&str, &[usize])]) -> Vec<u8> {
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

/// Value of an attribute.
pub(super) enum Attribute<'a> {
    /// One integer.
    Integer(u64),
    /// Several integers.
    Integers(&'a [u64]),
}

impl Attribute<'_> {
    fn written(&self, name: &str) -> Vec<u8> {
        let mut attribute = Message::default();
        attribute.bytes(1, name.as_bytes());
        match self {
            Attribute::Integer(value) => {
                attribute.number(3, *value);
                attribute.number(20, 2);
            }
            Attribute::Integers(values) => {
                values.iter().for_each(|&value| attribute.number(8, value));
                attribute.number(20, 7);
            }
        }
        attribute.0
    }
}

/// An input or output of the graph, of 32-bit floats.
fn value(name: &str, extents: &[usize]) -> Vec<u8> {
    let mut shape = Message::default();
    for &extent in extents {
        let mut dim = Message::default();
        dim.number(1, extent as u64);
        shape.bytes(1, &dim.0);
    }
    let mut of_tensor = Message::default();
    of_tensor.number(1, 1);
    of_tensor.bytes(2, &shape.0);
    let mut of_value = Message::default();
    of_value.bytes(1, &of_tensor.0);
    let mut value = Message::default();
    value.bytes(1, name.as_bytes());
    value.bytes(2, &of_value.0);
    value.0
}
