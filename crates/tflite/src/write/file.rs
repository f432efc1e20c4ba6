//! The tables of a file: tensors, operators and constants become a flatbuffer.

use super::flatbuffer::{Field, Table, TooLarge, encode};
use super::metadata::{About, NAME};
use crate::names::{operator_number, type_number};
use bytes::Bytes;
use std::collections::BTreeMap;
use strait_core::{Elem, QuantParams};

/// A tensor of a file.
#[derive(Clone)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// The extents, those for one sample if the number of samples is open.
    pub(super) shape: Vec<u64>,
    /// The axis whose extent depends on the number of samples, if this number is open.
    pub(super) batch: Option<usize>,
    pub(super) elem: Elem,
    /// The grid; its axis is an axis of the stored tensor.
    pub(super) grid: Option<QuantParams>,
    /// The bytes of a constant.
    pub(super) data: Option<Bytes>,
}

/// An operator of a file. Absent operands are −1.
pub(super) struct Operator {
    pub(super) name: &'static str,
    pub(super) version: i32,
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    /// The number of the kind of options, and the options.
    pub(super) options: Option<(i8, Table)>,
}

/// The graph of a file.
#[derive(Default)]
pub(super) struct File {
    pub(super) tensors: Vec<Tensor>,
    pub(super) operators: Vec<Operator>,
    /// The names of the inputs and outputs for users, and their tensors.
    pub(super) inputs: Vec<(String, i32)>,
    pub(super) outputs: Vec<(String, i32)>,
}

/// The version of the format.
const VERSION: u32 = 3;

/// The largest operator number that fits into the older of the two fields for operator numbers. Readers take the larger
/// number of the two fields.
const LAST_OLD: i32 = 127;

impl File {
    pub(super) fn encode(self, about: &About) -> Result<Vec<u8>, TooLarge> {
        // Buffer 0 has no bytes. Tensors that are not constants refer to it. Equal constants share a buffer.
        let (mut buffers, mut of_bytes) = (vec![Table::default()], BTreeMap::new());
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for tensor in self.tensors {
            let buffer = match &tensor.data {
                None => 0,
                Some(data) => *of_bytes.entry(data.clone()).or_insert_with(|| {
                    buffers.push(Table::default().with(0, Field::Bytes(data.clone())));
                    buffers.len() as u32 - 1
                }),
            };
            tensors.push(encode_tensor(tensor, buffer));
        }
        let metadata = about.encode(&self.inputs, &self.outputs)?;
        buffers.push(Table::default().with(0, Field::Bytes(metadata.into())));
        let metadata = Table::default()
            .with(0, Field::Text(NAME.into()))
            .with(1, Field::UInt(buffers.len() as u32 - 1));
        let mut codes: Vec<(&'static str, i32)> = Vec::new();
        let mut operators = Vec::with_capacity(self.operators.len());
        for operator in self.operators {
            let code = (operator.name, operator.version);
            let index = codes.iter().position(|own| *own == code).unwrap_or_else(|| {
                codes.push(code);
                codes.len() - 1
            });
            let mut table = Table::default()
                .with(1, Field::Ints(operator.inputs))
                .with(2, Field::Ints(operator.outputs));
            if index > 0 {
                table = table.with(0, Field::UInt(index as u32));
            }
            if let Some((kind, options)) = operator.options {
                table = table.with(3, Field::Byte(kind)).with(4, Field::Table(options));
            }
            operators.push(table);
        }
        let positions = |tensors: &[(String, i32)]| Field::Ints(tensors.iter().map(|(_, index)| *index).collect());
        let graph = Table::default()
            .with(0, Field::Tables(tensors))
            .with(1, positions(&self.inputs))
            .with(2, positions(&self.outputs))
            .with(3, Field::Tables(operators))
            .with(4, Field::Text("main".into()));
        let named = |tensors: Vec<(String, i32)>| {
            let map = |(name, index): (String, i32)| {
                let map = Table::default().with(0, Field::Text(name));
                if index == 0 {
                    map
                } else {
                    map.with(1, Field::UInt(index as u32))
                }
            };
            Field::Tables(tensors.into_iter().map(map).collect())
        };
        let signature = Table::default()
            .with(0, named(self.inputs))
            .with(1, named(self.outputs))
            .with(2, Field::Text("serving_default".into()));
        let model = Table::default()
            .with(0, Field::UInt(VERSION))
            .with(1, Field::Tables(codes.into_iter().map(encode_code).collect()))
            .with(2, Field::Tables(vec![graph]))
            .with(3, Field::Text("Strait".into()))
            .with(4, Field::Tables(buffers))
            .with(6, Field::Tables(vec![metadata]))
            .with(7, Field::Tables(vec![signature]));
        about.append(encode(model, *b"TFL3")?)
    }
}

fn encode_code((name, version): (&'static str, i32)) -> Table {
    let number = operator_number(name).unwrap_or_default();
    let old = number.min(LAST_OLD) as i8;
    Table::default().byte(0, old, 0).int(2, version, 1).int(3, number, 0)
}

fn encode_tensor(tensor: Tensor, buffer: u32) -> Table {
    let shape: Vec<i32> = tensor.shape.iter().map(|&extent| extent as i32).collect();
    let mut signature = shape.clone();
    let open = tensor
        .batch
        .and_then(|axis| signature.get_mut(axis))
        .map(|extent| *extent = -1);
    let table = match open {
        Some(()) => Table::default().with(7, Field::Ints(signature)),
        None => Table::default(),
    };
    let table = table
        .with(0, Field::Ints(shape))
        .byte(1, type_number(tensor.elem).unwrap_or_default(), 0)
        .with(3, Field::Text(tensor.name))
        .byte(8, 1, 0);
    let table = if buffer == 0 {
        table
    } else {
        table.with(2, Field::UInt(buffer))
    };
    let Some(grid) = tensor.grid else { return table };
    let scales = grid.scale.values().to_vec();
    let zero = |at: usize| grid.zero_point.get(at).copied().unwrap_or_default();
    let zeros = (0..scales.len()).map(|at| i64::from(zero(at))).collect();
    let axis = grid.axis.filter(|_| scales.len() > 1).unwrap_or_default();
    let grid = Table::default()
        .with(2, Field::Floats(scales))
        .with(3, Field::Longs(zeros))
        .int(6, axis.into(), 0);
    table.with(4, Field::Table(grid))
}
