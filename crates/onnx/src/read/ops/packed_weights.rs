//! Reads operators of ONNX Runtime whose weights are codes, packed into bytes: MatMulNBits and GatherBlockQuantized.
//! The weights keep their codes, as weights of a DequantizeLinear do, if a grid can express them. A grid has scales other
//! than 0 and integers as zero points, and its blocks divide the axis. Other weights become floats.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Add, Gather};
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{grid_of, matrix_product};

pub(super) const ROWS: &[Row] = &[
    Row::of_runtime("MatMulNBits", matmul),
    Row::of_runtime("GatherBlockQuantized", gather),
];

/// Codes with a scale and a zero point for each block of `block` codes along `axis`.
struct Blocks {
    elem: Elem,
    shape: Vec<u64>,
    /// One byte for each code. A code of type int4 is stored in two's complement.
    codes: Vec<u8>,
    axis: usize,
    block: u64,
    /// In the order of the codes, with one position of the axis for each block.
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

impl Blocks {
    fn code(&self, byte: u8) -> f32 {
        match self.elem {
            Elem::I4 => f32::from(byte.cast_signed()),
            _ => f32::from(byte),
        }
    }

    /// The number of blocks along the axis.
    fn count(&self) -> u64 {
        self.shape[self.axis].div_ceil(self.block)
    }

    /// The block of each code.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let inner: u64 = self.shape[self.axis + 1..].iter().product();
        let (extent, block, count) = (self.shape[self.axis], self.block, self.count());
        (0..self.codes.len() as u64).map(move |index| {
            let (outer, at, rest) = (index / inner / extent, index / inner % extent, index % inner);
            ((outer * count + at / block) * inner + rest) as usize
        })
    }

    /// The weights as an operand: codes on a grid if there is one, and otherwise floats, (code − zero point)·scale.
    fn real(mut self, reader: &mut OperatorReader<'_, '_>) -> Result<Arg, Refusal> {
        let places: Vec<usize> = self.places().collect();
        // With a scale of 0, all codes of a block mean 0. So does the zero point, with any scale.
        let is_whole = |zero: f32| zero.fract() == 0.0 && zero.abs() <= 255.0;
        if self.zeros.iter().all(|&zero| is_whole(zero)) {
            for (code, &place) in self.codes.iter_mut().zip(&places) {
                if self.scales[place] == 0.0 {
                    *code = self.zeros[place] as i16 as u8;
                }
            }
            let scales: Vec<f32> = self.scales.iter().map(|&s| if s == 0.0 { 1.0 } else { s }).collect();
            let zeros: Vec<i32> = self.zeros.iter().map(|&zero| zero as i32).collect();
            let extent = self.shape[self.axis];
            let (axis, block) = match (self.count(), self.shape.len()) {
                _ if extent.is_multiple_of(self.block) => (Some(self.axis), u32::try_from(self.block).ok()),
                // A row or column that is shorter than a block has one scale for each position of the other axis. Negative
                // scales only exist for blocks.
                (1, 2) if self.scales.iter().all(|&scale| scale >= 0.0) => (Some(1 - self.axis), None),
                (1, 2) => (Some(self.axis), u32::try_from(extent).ok()),
                _ => (None, None),
            };
            let axis = axis.filter(|_| scales.len() > 1);
            let is_fit = axis.is_some() || scales.len() == 1;
            if let (true, Some(grid)) = (is_fit, grid_of(&scales, &zeros, self.elem, axis, block)) {
                let codes = TensorData::from_unpacked(self.elem, &self.shape, self.codes.into())?;
                return Ok(reader.real(&Arg::Constant(codes), &grid)?.unwrap_or(Arg::Absent));
            }
        }
        let number = |(&byte, &place): (&u8, &usize)| (self.code(byte) - self.zeros[place]) * self.scales[place];
        let numbers: Vec<f32> = self.codes.iter().zip(&places).map(number).collect();
        Ok(Arg::Constant(reader.floats_of(&self.shape, &numbers)?))
    }
}

/// Reads MatMulNBits: A·Wᵀ + bias, with W of shape [N, K]. The attribute `accuracy_level` allows ONNX Runtime to round
/// the operand A to fewer bits; here, A is not rounded.
fn matmul(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["accuracy_level"]);
    reader.only("weight_prepacked", 0)?;
    let bits = bits(reader)?;
    if reader.has(4) {
        return Err(Refusal::unsupported(
            "its operand `g_idx` is not read; weights whose rows are in their order, without `g_idx`, are",
        ));
    }
    let (rows, inner, block) = (
        needed(reader, "N")?,
        needed(reader, "K")?,
        needed(reader, "block_size")?,
    );
    check_block(block)?;
    let blocks = inner.div_ceil(block);
    let bytes = (block * bits).div_ceil(8);
    let shape = [inner, rows];
    reader.room(&shape)?;
    let packed = constant(reader, 1, "weights")?;
    if packed.elem() != Elem::U8 || packed.len() as u64 != rows * blocks * bytes {
        let text = format!(
            "its weights are {} of shape {:?}; u8 of shape {:?} is needed",
            packed.elem(),
            packed.shape(),
            [rows, blocks, bytes]
        );
        return Err(Refusal::invalid(ReasonCode::OperandType, text));
    }
    let scales = constant(reader, 2, "scales")?;
    let scales = counted(&scales.to_f32()?, rows * blocks, "scales")?;
    let zeros = match reader.has(3) {
        false => vec![(1u32 << (bits - 1)) as f32; scales.len()],
        true => {
            let zeros = constant(reader, 3, "zero points")?;
            match zeros.elem() {
                Elem::U8 => {
                    let width = (blocks * bits).div_ceil(8);
                    let zeros = counted(&zeros.unpacked(), rows * width, "bytes of zero points")?;
                    let row = |row: u64| unpacked(&zeros[(row * width) as usize..], bits).take(blocks as usize);
                    (0..rows)
                        .flat_map(|at| row(at).map(f32::from).collect::<Vec<_>>())
                        .collect()
                }
                _ => counted(&zeros.to_f32()?, rows * blocks, "zero points")?,
            }
        }
    };
    // The operand is transposed here, because a matrix product has its weights in columns.
    let stored = packed.unpacked();
    let mut codes = vec![0; (inner * rows) as usize];
    let stride = (blocks * bytes) as usize;
    for (row, bytes) in stored.chunks(stride.max(1)).enumerate() {
        for (at, code) in unpacked(bytes, bits).take(inner as usize).enumerate() {
            codes[at * rows as usize + row] = code;
        }
    }
    let weights = Blocks {
        elem: if bits == 4 { Elem::U4 } else { Elem::U8 },
        shape: shape.to_vec(),
        codes,
        axis: 0,
        block,
        scales: turned(&scales, blocks as usize),
        zeros: turned(&zeros, blocks as usize),
    };
    let weights = weights.real(reader)?;
    if !reader.has(5) {
        return reader.finish(matrix_product(), &[Arg::Operand(0), weights]);
    }
    let product = reader.product(&Arg::Operand(0), &weights)?;
    reader.finish(Add {}, &[product, Arg::Operand(5)])
}

/// Reads GatherBlockQuantized: rows of a table of codes, as real numbers.
fn gather(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let bits = bits(reader)?;
    let data = constant(reader, 0, "data")?;
    let rank = data.shape().len();
    let axis = reader.int("gather_axis")?.unwrap_or(0);
    let axis = reader.axis(axis, rank)?;
    let along = reader.int("quantize_axis")?.unwrap_or(1);
    let along = reader.axis(along, rank)?;
    let block = reader.int("block_size")?.unwrap_or(128);
    let block = u64::try_from(block).unwrap_or(0);
    check_block(block)?;
    let mut shape = data.shape().to_vec();
    let (elem, default) = match (data.elem(), bits) {
        (elem @ (Elem::I4 | Elem::U4), 4) => (elem, 0.0),
        (Elem::U8, 4) => (Elem::U4, 8.0),
        (Elem::U8, _) => (Elem::U8, 128.0),
        (elem, bits) => {
            let text = format!(
                "data of type {elem} with {bits} bits; int4 and uint4 of 4 bits, and uint8 of 4 and 8 are read"
            );
            return Err(Refusal::unsupported(text));
        }
    };
    let per_byte = if data.elem() == Elem::U8 { 8 / bits } else { 1 };
    if data.elem() == Elem::U8 && (axis != 0 || along + 1 != rank || rank < 2) {
        let text = format!(
            "data of type u8 is gathered along axis 0 and has blocks along its last axis, not {axis} and {along}"
        );
        return Err(Refusal::invalid(ReasonCode::Axis, text));
    }
    shape[along] *= per_byte;
    reader.room(&shape)?;
    let is_packed = per_byte > 1;
    let codes: Vec<u8> = match is_packed {
        true => unpacked(&data.unpacked(), bits).collect(),
        false => data.unpacked().to_vec(),
    };
    let mut of_blocks = shape.clone();
    of_blocks[along] = shape[along].div_ceil(block);
    let count = of_blocks.iter().product();
    let scales = constant(reader, 2, "scales")?;
    let scales = counted(&scales.to_f32()?, count, "scales")?;
    let zeros = match reader.has(3) {
        false => vec![default; scales.len()],
        true => {
            let zeros = constant(reader, 3, "zero points")?;
            let blocks = of_blocks[along] as usize;
            let width = blocks.div_ceil(per_byte as usize);
            let stored = zeros.unpacked();
            match is_packed {
                true => {
                    let rows = count / (blocks as u64).max(1);
                    let stored = counted(&stored, rows * width as u64, "bytes of zero points")?;
                    let row = |row: &[u8]| unpacked(row, bits).take(blocks).map(f32::from).collect::<Vec<_>>();
                    stored.chunks(width.max(1)).flat_map(row).collect()
                }
                false if elem == Elem::I4 => {
                    let stored = counted(&stored, count, "zero points")?;
                    stored.iter().map(|byte| f32::from(byte.cast_signed())).collect()
                }
                false => {
                    let stored = counted(&stored, count, "zero points")?;
                    stored.iter().map(|&byte| f32::from(byte)).collect()
                }
            }
        }
    };
    let table = Blocks {
        elem,
        shape,
        codes,
        axis: along,
        block,
        scales,
        zeros,
    };
    let table = table.real(reader)?;
    let indices = reader.indices(1)?;
    reader.finish(Gather { axis: axis as i64 }, &[table, indices])
}

/// The number of bits of a code.
fn bits(reader: &mut OperatorReader<'_, '_>) -> Result<u64, Refusal> {
    match reader.int("bits")?.unwrap_or(4) {
        4 => Ok(4),
        8 => Ok(8),
        other => Err(Refusal::unsupported(format!("`bits` is {other}; 4 and 8 are read"))),
    }
}

fn check_block(block: u64) -> Result<(), Refusal> {
    match block >= 16 && block.is_power_of_two() && u32::try_from(block).is_ok() {
        true => Ok(()),
        false => Err(Refusal::invalid(
            ReasonCode::Blocks,
            format!("`block_size` is {block}; a power of two from 16 on is needed"),
        )),
    }
}

/// An attribute that is an extent, and has to be given.
fn needed(reader: &mut OperatorReader<'_, '_>, key: &'static str) -> Result<u64, Refusal> {
    match reader.int(key)? {
        Some(value @ 1..=0xffff_ffff) => Ok(value.unsigned_abs()),
        other => Err(Refusal::invalid(
            ReasonCode::Blocks,
            format!("`{key}` is {}; an extent of 1 or more is needed", other.unwrap_or(0)),
        )),
    }
}

/// An operand that has to be given, and known now.
fn constant(reader: &mut OperatorReader<'_, '_>, position: usize, what: &str) -> Result<TensorData, Refusal> {
    let missing = || Refusal::invalid(ReasonCode::MissingOperand, format!("its {what} are missing"));
    reader.known(position, what)?.ok_or_else(missing)
}

/// Checks that a list has this many entries.
fn counted<T: Clone>(list: &[T], count: u64, what: &str) -> Result<Vec<T>, Refusal> {
    match list.len() as u64 == count {
        true => Ok(list.to_vec()),
        false => Err(Refusal::invalid(
            ReasonCode::OperandType,
            format!("{} {what}; {count} are needed", list.len()),
        )),
    }
}

/// The codes in bytes. If a byte has two codes, the first is in its lower half.
fn unpacked(bytes: &[u8], bits: u64) -> impl Iterator<Item = u8> + '_ {
    let per_byte = if bits == 4 { 2 } else { 1 };
    bytes.iter().flat_map(move |&byte| {
        let codes = if per_byte == 2 {
            [byte & 15, byte >> 4]
        } else {
            [byte, 0]
        };
        codes.into_iter().take(per_byte)
    })
}

/// The transpose of a matrix with rows of this width.
fn turned(matrix: &[f32], width: usize) -> Vec<f32> {
    (0..width)
        .flat_map(|column| matrix.iter().skip(column).step_by(width.max(1)).copied())
        .collect()
}
