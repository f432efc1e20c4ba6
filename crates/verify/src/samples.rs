//! Inputs that nobody has chosen.

use crate::random::Random;
use strait_core::{Elem, Graph, Op};
use strait_execute::{Port, Tensor};

/// Random inputs for the ports of a graph: the same for the same seed and index, whatever was drawn before.
pub(crate) fn random<'a>(
    graph: &Graph,
    ports: impl Iterator<Item = &'a Port>,
    seed: u64,
    index: usize,
) -> Result<Vec<Tensor>, strait_core::TensorError> {
    // The mixer is a bijection, so samples of one seed start from different states that have nothing in common.
    let mut random = Random::new(Random::new(seed.wrapping_add(index as u64)).bits());
    ports
        .map(|port| Tensor::from_bytes(port.elem, &port.shape, &input(graph, port, &mut random, index == 0)))
        .collect()
}

/// The bytes of a random input: real numbers around every code of the grid that it is quantized to, so that every code
/// occurs and rounding matters; codes for an input that is one.
fn input(graph: &Graph, port: &Port, random: &mut Random, extreme: bool) -> Vec<u8> {
    let count = port.shape.iter().product();
    let quantized = graph.uses(port.value).find_map(|u| {
        let node = graph.node(u.node).filter(|n| matches!(n.op, Op::Quantize(_)))?;
        let result = graph.value(*node.outputs.first()?)?;
        let grid = result.quant.as_ref()?;
        Some((
            *grid.scale.get(0)?,
            *grid.zero_point.get(0)?,
            result.ty.elem.int_type()?,
        ))
    });
    let mut real = || match quantized {
        Some((scale, zero, codes)) => {
            let code = random.between(codes.min(), codes.max(), extreme);
            scale * ((i64::from(code) - i64::from(zero)) as f32 + random.fraction())
        }
        None => 2.0 * random.fraction(),
    };
    match port.elem {
        Elem::F32 => (0..count).flat_map(|_: usize| real().to_le_bytes()).collect(),
        Elem::F64 => (0..count)
            .flat_map(|_: usize| f64::from(real()).to_le_bytes())
            .collect(),
        Elem::I8 | Elem::U8 => (0..count).map(|_: usize| random.bits() as u8).collect(),
        Elem::I4 => (0..count)
            .map(|_: usize| ((random.bits() as i8) << 4 >> 4).cast_unsigned())
            .collect(),
        Elem::U4 => (0..count).map(|_: usize| random.bits() as u8 & 15).collect(),
        Elem::I16 | Elem::U16 => (0..count)
            .flat_map(|_: usize| (random.bits() as i16).to_le_bytes())
            .collect(),
        // Indices, shapes and conditions: 0 is one of each.
        elem @ (Elem::F16 | Elem::I32 | Elem::I64 | Elem::Bool) => vec![0; count * elem.size()],
    }
}
