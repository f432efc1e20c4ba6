//! Makes random inputs.

use crate::random::Random;
use std::collections::BTreeMap;
use strait_core::{Elem, F16, Graph, Op};
use strait_execute::{Port, Tensor};

/// For each integer input, by name: the smallest and the largest number that random inputs may have. The graph does not
/// say which numbers are valid as indices of a table, lengths or classes. The ranges are those of the calibration
/// samples, whose numbers are valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(pub BTreeMap<String, [i64; 2]>);

/// Random inputs for the ports of a graph. They depend only on seed and index, not on earlier random inputs.
pub(crate) fn random<'a>(
    graph: &Graph,
    ports: impl Iterator<Item = &'a Port>,
    seed: u64,
    index: usize,
    ranges: &Ranges,
) -> Result<Vec<Tensor>, strait_core::TensorError> {
    // The mixing function is a bijection, so samples with the same seed and different indices start from different
    // states.
    let mut random = Random::new(Random::new(seed.wrapping_add(index as u64)).bits());
    ports
        .map(|port| {
            Tensor::from_bytes(
                port.elem,
                &port.shape,
                &input(graph, port, &mut random, index == 0, ranges),
            )
        })
        .collect()
}

/// Makes the bytes of a random input. Floats are spread around all codes of the grid that they are quantized to, so
/// that every code occurs and rounding matters. An input of codes can have all codes. Other integers come from the
/// input's range in `ranges`.
fn input(graph: &Graph, port: &Port, random: &mut Random, extreme: bool, ranges: &Ranges) -> Vec<u8> {
    let count = port.shape.iter().product();
    if let (false, Some(&[low, high])) = (port.elem.is_float(), ranges.0.get(&port.name)) {
        let mut whole = |_: usize| random.whole(low, high, extreme).to_le_bytes();
        return (0..count)
            .flat_map(|at| whole(at).into_iter().take(port.elem.size()))
            .collect();
    }
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
        Elem::Bool => (0..count).map(|_: usize| random.bits() as u8 & 1).collect(),
        Elem::F16 | Elem::BF16 => {
            let format = port.elem.half_float().unwrap_or(F16);
            let bits = (0..count).flat_map(|_: usize| format.encode(real().into()).to_le_bytes());
            bits.collect()
        }
        // Indices or lengths without a known range. 0 is valid for both.
        elem @ (Elem::I32 | Elem::I64 | Elem::U32 | Elem::U64) => vec![0; count * elem.size()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::text::parse;
    use strait_execute::{Plan, PlanOptions};

    #[test]
    fn integers_are_in_the_range_of_their_input_and_reach_its_ends() {
        let text = "strait 1 float\ngraph @main(%ids: i64[1,64], %byte: u8[1,64], %mask: bool[1,64], %other: i32[4]) {\n  \
                    return %ids, %byte, %mask, %other\n}";
        let module = parse(text).unwrap();
        let plan = Plan::new(&module, module.main, &PlanOptions::default()).unwrap();
        let ranges = Ranges([("ids".to_owned(), [-7, 1 << 40]), ("byte".to_owned(), [3, 5])].into());
        let drawn = |index| random(module.main(), plan.inputs(), 0, index, &ranges).unwrap();
        let first = drawn(0);
        let ids = first[0].values::<i64>().unwrap();
        assert!(ids.contains(&-7) && ids.contains(&(1 << 40)) && ids.iter().all(|id| (-7..=1 << 40).contains(id)));
        let later = drawn(3);
        assert!(
            later[1]
                .values::<u8>()
                .unwrap()
                .iter()
                .all(|byte| (3..=5).contains(byte))
        );
        let mask = later[2].view().bytes().to_vec();
        assert!(mask.contains(&0) && mask.contains(&1) && mask.iter().all(|&bit| bit <= 1));
        assert_eq!(later[3].values::<i32>().unwrap(), [0; 4]);
        assert_eq!(drawn(3), later);
    }
}
