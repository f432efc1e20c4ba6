//! Reads padding.

use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_core::op::{Identity, Pad, PadMode};
use strait_import::{Arg, Refusal};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[("Pad", pad), ("PadV2", pad), ("MirrorPad", mirror)];

/// The padding before and after each axis. Operand 1 has it as a matrix with one row for each axis.
pub(super) fn amounts(
    reader: &mut OperatorReader<'_, '_>,
    position: usize,
    what: &str,
    rows: usize,
) -> Result<Vec<[i64; 2]>, Refusal> {
    let list = reader.known_ints(position, what)?.unwrap_or_default();
    let wrong = || Refusal::invalid(ReasonCode::Pad, format!("its {what} is {list:?} for {rows} axes"));
    let pairs: Option<Vec<[i64; 2]>> = list.chunks(2).map(|pair| <[i64; 2]>::try_from(pair).ok()).collect();
    let pairs = pairs.ok_or_else(wrong)?;
    match pairs.len() == rows && list.iter().all(|&amount| (0..=i64::from(u32::MAX)).contains(&amount)) {
        true => Ok(pairs),
        false => Err(wrong()),
    }
}

/// A pad op with a constant. Its amounts have the order of the IR: first those before each axis, then those after.
pub(super) fn constant(amounts: &[[i64; 2]], value: f32) -> Pad {
    let begins = amounts.iter().map(|[begin, _]| *begin);
    let ends = amounts.iter().map(|[_, end]| *end);
    Pad {
        amounts: begins.chain(ends).collect::<SmallVec<[i64; 8]>>(),
        mode: PadMode::Constant,
        value,
    }
}

fn pad(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let amounts = amounts(reader, 1, "padding", rank)?;
    if reader.has(2) && !reader.ty(2)?.elem.is_float() {
        // The op cannot represent every integer as the value of the padding, but it can represent 0.
        let value = reader.known_ints(2, "value")?.unwrap_or_default();
        if value.iter().any(|&value| value != 0) {
            return Err(Refusal::Unsupported(format!(
                "integers are padded with {value:?}; 0 is read"
            )));
        }
        return reader.finish(constant(&amounts, 0.0), &[Arg::Operand(0)]);
    }
    let value = reader.known_float(2, "value")?.unwrap_or(0.0);
    reader.finish(constant(&amounts, value), &[Arg::Operand(0)])
}

/// Reads padding that mirrors at the border. The element at the border is repeated if the mode is SYMMETRIC.
fn mirror(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    let amounts = amounts(reader, 1, "padding", rank)?;
    match reader.text("mode", "")? {
        "REFLECT" => {
            let op = Pad {
                mode: PadMode::Reflect,
                ..constant(&amounts, 0.0)
            };
            reader.finish(op, &[Arg::Operand(0)])
        }
        "SYMMETRIC" => {
            let mirrored = reader.mirrored(&Arg::Operand(0), &amounts)?;
            reader.finish(Identity {}, &[mirrored])
        }
        other => Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    }
}
