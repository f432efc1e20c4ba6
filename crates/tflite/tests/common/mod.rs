//! Writes flatbuffers for tests: tables whose fields are given by their slots, one table after the other.
#![allow(dead_code, reason = "each test takes a part of it")]

/// A field of a table.
#[derive(Clone)]
pub(crate) enum Value {
    Bits(u64),
    Text(String),
    Table(Table),
    Tables(Vec<Table>),
    /// A list that refers to one table this many times. The table is only once in the file.
    Same(usize, Table),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Floats(Vec<f32>),
    Bytes(Vec<u8>),
}

/// A table: the slot and the value of each field.
#[derive(Clone, Default)]
pub(crate) struct Table(pub(crate) Vec<(usize, Value)>);

impl Table {
    pub(crate) fn with(mut self, field: usize, value: Value) -> Table {
        self.0.push((field, value));
        self
    }
    pub(crate) fn bits(self, field: usize, bits: u64) -> Table {
        self.with(field, Value::Bits(bits))
    }
    pub(crate) fn ints(self, field: usize, ints: &[i32]) -> Table {
        self.with(field, Value::Ints(ints.to_vec()))
    }
    pub(crate) fn text(self, field: usize, text: &str) -> Table {
        self.with(field, Value::Text(text.to_owned()))
    }
    pub(crate) fn tables(self, field: usize, tables: Vec<Table>) -> Table {
        self.with(field, Value::Tables(tables))
    }
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

fn point(out: &mut [u8], from: usize, to: usize) {
    out[from..from + 4].copy_from_slice(&((to - from) as u32).to_le_bytes());
}

fn vector(out: &mut Vec<u8>, count: usize, bytes: &[u8]) -> usize {
    align(out);
    // Elements of eight bytes are aligned.
    out.extend([0; 4]);
    let at = out.len();
    out.extend((count as u32).to_le_bytes());
    out.extend(bytes);
    at
}

fn table(out: &mut Vec<u8>, table: &Table) -> usize {
    align(out);
    let count = table.0.iter().map(|(field, _)| field + 1).max().unwrap_or(0);
    let map = out.len();
    let size = 8 + 8 * table.0.len();
    out.extend((4 + 2 * count as u16).to_le_bytes());
    out.extend((size as u16).to_le_bytes());
    out.resize(map + 4 + 2 * count, 0);
    align(out);
    let start = out.len();
    out.extend(((start - map) as i32).to_le_bytes());
    out.resize(start + size, 0);
    for (position, (field, value)) in table.0.iter().enumerate() {
        let place = 8 + 8 * position;
        out[map + 4 + 2 * field..][..2].copy_from_slice(&(place as u16).to_le_bytes());
        let at = start + place;
        let to = match value {
            Value::Bits(bits) => {
                out[at..at + 8].copy_from_slice(&bits.to_le_bytes());
                continue;
            }
            Value::Text(text) => {
                let to = vector(out, text.len(), text.as_bytes());
                out.push(0);
                to
            }
            Value::Table(inner) => self::table(out, inner),
            Value::Tables(tables) => {
                let to = vector(out, tables.len(), &vec![0; 4 * tables.len()]);
                for (index, inner) in tables.iter().enumerate() {
                    let inner = self::table(out, inner);
                    point(out, to + 4 + 4 * index, inner);
                }
                to
            }
            Value::Same(count, inner) => {
                let to = vector(out, *count, &vec![0; 4 * count]);
                let inner = self::table(out, inner);
                (0..*count).for_each(|index| point(out, to + 4 + 4 * index, inner));
                to
            }
            Value::Ints(ints) => vector(
                out,
                ints.len(),
                &ints.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>(),
            ),
            Value::Longs(ints) => vector(
                out,
                ints.len(),
                &ints.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>(),
            ),
            Value::Floats(all) => vector(
                out,
                all.len(),
                &all.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>(),
            ),
            Value::Bytes(bytes) => vector(out, bytes.len(), bytes),
        };
        point(out, at, to);
    }
    start
}

/// The file whose root is a table.
pub(crate) fn file(root: &Table) -> Vec<u8> {
    let mut out = vec![0; 8];
    out[4..].copy_from_slice(b"TFL3");
    let start = table(&mut out, root);
    point(&mut out, 0, start);
    out
}

/// A tensor of floats.
pub(crate) fn tensor(name: &str, shape: &[i32], buffer: u64) -> Table {
    Table::default().ints(0, shape).bits(2, buffer).text(3, name)
}

/// An operator of kind `code`.
pub(crate) fn operator(code: u64, inputs: &[i32], outputs: &[i32]) -> Table {
    Table::default().bits(0, code).ints(1, inputs).ints(2, outputs)
}

/// A kind of operator.
pub(crate) fn kind(number: u64, version: u64) -> Table {
    Table::default()
        .bits(0, number.min(127))
        .bits(2, version)
        .bits(3, number)
}

/// A graph.
pub(crate) fn graph(tensors: Vec<Table>, operators: Vec<Table>, inputs: &[i32], outputs: &[i32]) -> Table {
    Table::default()
        .tables(0, tensors)
        .ints(1, inputs)
        .ints(2, outputs)
        .tables(3, operators)
}

/// A model with one graph and these kinds of operators. The first buffer is empty.
pub(crate) fn model(kinds: Vec<Table>, graph: Table, buffers: &[&[f32]]) -> Table {
    let bytes = |floats: &&[f32]| floats.iter().flat_map(|n| n.to_le_bytes()).collect();
    let filled = buffers
        .iter()
        .map(|floats| Table::default().with(0, Value::Bytes(bytes(floats))));
    let buffers = std::iter::once(Table::default()).chain(filled).collect();
    Table::default()
        .bits(0, 3)
        .tables(1, kinds)
        .tables(2, vec![graph])
        .tables(4, buffers)
}

/// The model relu(x) + b. Its addition has a fused ReLU6.
pub(crate) fn small() -> Table {
    let options = Table::default().bits(0, 3);
    let add = operator(1, &[1, 2], &[3]).bits(3, 11).with(4, Value::Table(options));
    let tensors = vec![
        tensor("x", &[1, 2, 2], 0),
        tensor("relu", &[1, 2, 2], 0),
        tensor("b", &[2], 1),
        tensor("y", &[1, 2, 2], 0),
    ];
    let graph = graph(tensors, vec![operator(0, &[0], &[1]), add], &[0], &[3]);
    model(vec![kind(19, 1), kind(0, 1)], graph, &[&[0.5, 7.0]])
}
