//! Chains of residual blocks as ONNX files: many nodes on tiny tensors, so that what grows with the graph shows.
//!
//! A block is seven nodes: Conv, BatchNormalization, Relu, Conv, Identity, Add (of the block's input), Relu.

/// Channels of every tensor, whose extents are [1, CHANNELS, 4, 4].
const CHANNELS: usize = 4;
const SIDE: usize = 4;

const NODES_OF_A_BLOCK: usize = 7;

/// A message of Protocol Buffers that grows field by field.
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

/// Numbers that are the same in every run: SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normally distributed: the sum of twelve uniform numbers has a variance of one.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The model with about so many nodes.
pub(super) fn model(nodes: usize) -> Vec<u8> {
    let mut random = Random(0);
    let mut graph = Message::default();
    let mut x = "x".to_owned();
    for block in 0..(nodes / NODES_OF_A_BLOCK).max(1) {
        let name = |part: &str| format!("b{block}_{part}");
        for weight in ["w1", "w2"] {
            let values: Vec<f32> = (0..CHANNELS * CHANNELS)
                .map(|_| (0.3 * random.normal()) as f32)
                .collect();
            graph.bytes(5, &tensor(&name(weight), &[CHANNELS, CHANNELS, 1, 1], &values));
        }
        for (part, value) in [("g", 1.0), ("b", 0.0), ("m", 0.0), ("v", 1.0)] {
            graph.bytes(5, &tensor(&name(part), &[CHANNELS], &[value; CHANNELS]));
        }
        let mut inside = |op: &str, inputs: &[&str], output: &str| {
            let inputs: Vec<String> = inputs.iter().map(|part| name(part)).collect();
            graph.bytes(1, &node(op, &inputs, &name(output)));
        };
        inside("BatchNormalization", &["c1", "g", "b", "m", "v"], "n1");
        inside("Relu", &["n1"], "r1");
        inside("Conv", &["r1", "w2"], "c2");
        inside("Identity", &["c2"], "i");
        inside("Relu", &["a"], "o");
        graph.bytes(1, &node("Conv", &[x.clone(), name("w1")], &name("c1")));
        graph.bytes(1, &node("Add", &[name("i"), x], &name("a")));
        x = name("o");
    }
    graph.bytes(2, b"residual");
    graph.bytes(11, &value("x"));
    graph.bytes(12, &value(&x));
    let mut operators = Message::default();
    operators.bytes(1, b"");
    operators.number(2, 17);
    let mut model = Message::default();
    model.number(1, 8);
    model.bytes(7, &graph.0);
    model.bytes(8, &operators.0);
    model.0
}

fn node(op: &str, inputs: &[String], output: &str) -> Vec<u8> {
    let mut node = Message::default();
    inputs.iter().for_each(|input| node.bytes(1, input.as_bytes()));
    node.bytes(2, output.as_bytes());
    node.bytes(3, format!("{output}_node").as_bytes());
    node.bytes(4, op.as_bytes());
    node.0
}

fn tensor(name: &str, dims: &[usize], values: &[f32]) -> Vec<u8> {
    let mut tensor = Message::default();
    dims.iter().for_each(|&dim| tensor.number(1, dim as u64));
    tensor.number(2, 1);
    tensor.bytes(8, name.as_bytes());
    tensor.bytes(9, &bytes(values));
    tensor.0
}

/// A graph's input or output of 32-bit floats.
fn value(name: &str) -> Vec<u8> {
    let mut shape = Message::default();
    for extent in [1, CHANNELS, SIDE, SIDE] {
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

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Normally distributed samples for a model's only input, as a file of numpy's.
pub(super) fn samples(count: usize, extents: &[usize]) -> Vec<u8> {
    let mut shape = vec![count.to_string()];
    shape.extend(extents.iter().map(usize::to_string));
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}",
        shape.join(", ")
    );
    // Ten bytes stand in front of the header, which ends in a line feed at a multiple of 64.
    let padded = (header.len() + 11).next_multiple_of(64) - 11;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(padded as u16 + 1).to_le_bytes());
    file.extend_from_slice(format!("{header:padded$}\n").as_bytes());
    let mut random = Random(1);
    let values: Vec<f32> = (0..count * extents.iter().product::<usize>())
        .map(|_| random.normal() as f32)
        .collect();
    file.extend_from_slice(&bytes(&values));
    file
}

/// The extents of the input of every [`model`], without the one for samples.
pub(super) const INPUT: [usize; 3] = [CHANNELS, SIDE, SIDE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_the_same_each_time_and_grows_by_blocks() {
        assert_eq!(model(70), model(70));
        let (one, ten) = (model(7).len(), model(70).len());
        assert!(one > 500 && (8 * one..11 * one).contains(&ten), "{one} {ten}");
    }

    #[test]
    fn a_file_of_samples_has_a_header_of_whole_lines() {
        let file = samples(4, &INPUT);
        let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!(((10 + length) % 64, file[9 + length]), (0, b'\n'));
        assert_eq!(file.len(), 10 + length + 4 * 4 * INPUT.iter().product::<usize>());
        assert!(file[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4, 4, 4), }"));
    }
}
