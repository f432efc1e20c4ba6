//! Numbers of ONNX's element types against numbers of ours.
//!
//! Floats may be computed in another width. Integers and truth values must be equal.

use half::{bf16, f16};
use strait_core::Elem;

/// An element type of ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bfloat16,
    Float16,
    Float,
    Double,
    Bool,
    /// With its number of bytes.
    Int(usize),
    Uint(usize),
}

impl Kind {
    /// The type by its name in ONNX, in small letters.
    pub(crate) fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "bfloat16" => Kind::Bfloat16,
            "float16" => Kind::Float16,
            "float" => Kind::Float,
            "double" => Kind::Double,
            "bool" => Kind::Bool,
            "int8" => Kind::Int(1),
            "int16" => Kind::Int(2),
            "int32" => Kind::Int(4),
            "int64" => Kind::Int(8),
            "uint8" => Kind::Uint(1),
            "uint16" => Kind::Uint(2),
            "uint32" => Kind::Uint(4),
            "uint64" => Kind::Uint(8),
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Kind::Bool => 1,
            Kind::Bfloat16 | Kind::Float16 => 2,
            Kind::Float => 4,
            Kind::Double => 8,
            Kind::Int(size) | Kind::Uint(size) => size,
        }
    }

    /// Ours, under its name in ONNX.
    fn of(elem: Elem) -> Option<Kind> {
        Some(match elem {
            Elem::F16 => Kind::Float16,
            Elem::BF16 => Kind::Bfloat16,
            Elem::F32 => Kind::Float,
            Elem::F64 => Kind::Double,
            Elem::Bool => Kind::Bool,
            Elem::U32 => Kind::Uint(4),
            Elem::U64 => Kind::Uint(8),
            Elem::I8 => Kind::Int(1),
            Elem::I16 => Kind::Int(2),
            Elem::I32 => Kind::Int(4),
            Elem::I64 => Kind::Int(8),
            Elem::U8 => Kind::Uint(1),
            Elem::U16 => Kind::Uint(2),
            Elem::I4 | Elem::U4 => return None,
        })
    }

    /// True if numbers of this type may be computed as `ours`.
    fn may_be(self, ours: Kind) -> bool {
        match self {
            Kind::Bfloat16 | Kind::Float16 | Kind::Float | Kind::Double => {
                matches!(ours, Kind::Bfloat16 | Kind::Float16 | Kind::Float | Kind::Double)
            }
            kind => kind == ours,
        }
    }
}

/// Elements as one of three kinds of number.
enum Numbers {
    Reals(Vec<f64>),
    /// An unsigned integer of 64 bits as its bits.
    Integers(Vec<i64>),
    Truths(Vec<bool>),
}

fn read(kind: Kind, bytes: &[u8]) -> Numbers {
    let chunks = bytes.chunks_exact(kind.size());
    // Little-endian bytes as the low ones of eight.
    let wide = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    };
    let reals = |real: fn(u64) -> f64| Numbers::Reals(bytes.chunks_exact(kind.size()).map(|c| real(wide(c))).collect());
    match kind {
        Kind::Bfloat16 => reals(|bits| bf16::from_bits(bits as u16).to_f64()),
        Kind::Float16 => reals(|bits| f16::from_bits(bits as u16).to_f64()),
        Kind::Float => reals(|bits| f32::from_bits(bits as u32).into()),
        Kind::Double => reals(f64::from_bits),
        Kind::Bool => Numbers::Truths(chunks.map(|c| c[0] != 0).collect()),
        Kind::Uint(_) => Numbers::Integers(chunks.map(|c| wide(c) as i64).collect()),
        Kind::Int(size) => {
            let shift = 64 - 8 * size;
            Numbers::Integers(chunks.map(|c| (wide(c) << shift) as i64 >> shift).collect())
        }
    }
}

/// Elements of one type as those of ours, rounded to nearest.
pub(crate) fn convert(kind: Kind, bytes: &[u8], elem: Elem) -> Result<Vec<u8>, String> {
    let ours = Kind::of(elem).filter(|ours| kind.may_be(*ours));
    let ours = ours.ok_or_else(|| format!("an input of type {kind:?} is taken as {elem}"))?;
    Ok(match read(kind, bytes) {
        Numbers::Truths(_) => bytes.to_vec(),
        Numbers::Integers(values) => values
            .iter()
            .flat_map(|value| value.to_le_bytes().into_iter().take(ours.size()))
            .collect(),
        Numbers::Reals(values) => match ours {
            Kind::Float16 => values.iter().flat_map(|v| f16::from_f64(*v).to_le_bytes()).collect(),
            Kind::Bfloat16 => values.iter().flat_map(|v| bf16::from_f64(*v).to_le_bytes()).collect(),
            Kind::Float => values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect(),
            _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        },
    })
}

/// The first difference, if there is one. A NaN equals a NaN, an infinity itself alone.
pub(crate) fn compare(
    kind: Kind,
    expected: &[u8],
    elem: Elem,
    found: &[u8],
    relative: f64,
    absolute: f64,
) -> Result<(), String> {
    let ours = Kind::of(elem).filter(|ours| kind.may_be(*ours));
    let ours = ours.ok_or_else(|| format!("{elem} instead of {kind:?}"))?;
    match (read(kind, expected), read(ours, found)) {
        (Numbers::Reals(expected), Numbers::Reals(found)) => {
            // As what the operator gives, which has a largest number.
            let rounded = |value: f64| match kind {
                Kind::Bfloat16 => bf16::from_f64(value).to_f64(),
                Kind::Float16 => f16::from_f64(value).to_f64(),
                _ => value,
            };
            let close = |e: f64, f: f64| {
                e == f
                    || (e.is_nan() && f.is_nan())
                    || (e.is_finite() && (e - f).abs() <= absolute + relative * e.abs())
            };
            let found: Vec<f64> = found.into_iter().map(rounded).collect();
            first(&expected, &found, |e, f| close(*e, *f))
        }
        (Numbers::Integers(expected), Numbers::Integers(found)) => first(&expected, &found, |e, f| e == f),
        (Numbers::Truths(expected), Numbers::Truths(found)) => first(&expected, &found, |e, f| e == f),
        _ => Err(format!("{elem} instead of {kind:?}")),
    }
}

fn first<T: std::fmt::Display>(expected: &[T], found: &[T], equal: impl Fn(&T, &T) -> bool) -> Result<(), String> {
    let mut pairs = expected.iter().zip(found).enumerate();
    let count = expected.iter().zip(found).filter(|(e, f)| !equal(e, f)).count();
    match pairs.find(|(_, (e, f))| !equal(e, f)) {
        None => Ok(()),
        Some((position, (e, f))) => Err(format!(
            "element {position} is {f} instead of {e}; {count} of {} differ",
            expected.len()
        )),
    }
}
