//! Finds the parts of an output that is a concatenation. For each element of the output, this module tells from which
//! tensor the element comes.

use strait_core::{Module, NodeId, TensorData, ValueId};
use strait_execute::evaluate;
use strait_quantize::parts;

/// The largest number of parts. If an output has more parts, only the whole output is reported.
const MOST: usize = 16;

/// The tensors that are concatenated into an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcatenatedParts {
    /// The parts, in the order of the concatenation.
    pub values: Vec<ValueId>,
    /// Names of the parts.
    pub names: Vec<String>,
    /// For each element of the output, the index of the part that it comes from.
    pub of: Vec<usize>,
    /// The nodes between the parts and the output, which concatenate and move the elements.
    pub joined: Vec<NodeId>,
}

impl ConcatenatedParts {
    /// The parts of an output of a float module. `None` if the output is not a concatenation.
    pub fn of_output(module: &Module, index: usize) -> Option<ConcatenatedParts> {
        let graph = module.main();
        let output = *graph.outputs().get(index)?;
        let joined = parts(graph, output);
        if !(2..=MOST).contains(&joined.len()) {
            return None;
        }
        let part = |(index, &value): (usize, &ValueId)| {
            let shape: Option<Vec<u64>> = graph
                .value(value)?
                .ty
                .shape
                .iter()
                .map(|extent| extent.fixed())
                .collect();
            let shape = shape?;
            let count: u64 = shape.iter().product();
            // The indices of parts are so small that floats represent them exactly.
            let numbers = vec![index as f32; usize::try_from(count).ok()?];
            Some((value, TensorData::from_values(&shape, &numbers).ok()?))
        };
        let mut numbered: Vec<(ValueId, TensorData)> = joined.iter().enumerate().map(part).collect::<Option<_>>()?;
        // Every part is filled with its own index. Then the nodes between the parts and the output are run. Each
        // element of the result is the index of the part from which it comes.
        let mut behind = vec![output];
        let mut at = 0;
        while let Some(&value) = behind.get(at) {
            at += 1;
            if joined.contains(&value) {
                continue;
            }
            let (_, node) = graph.producer(value)?;
            let read = node.inputs.iter().copied().flatten();
            behind.extend(read.filter(|&value| graph.data_of(value).is_none() || joined.contains(&value)));
        }
        let mut nodes = Vec::new();
        for value in behind.into_iter().rev() {
            if numbered.iter().any(|(known, _)| *known == value) {
                continue;
            }
            let (id, node) = graph.producer(value)?;
            nodes.push(id);
            let tensor = |value: ValueId| {
                let known = numbered.iter().find(|(known, _)| *known == value);
                known
                    .map(|(_, tensor)| tensor)
                    .or_else(|| module.constant(graph, value))
            };
            let operands: Vec<Option<&TensorData>> = node.inputs.iter().map(|operand| tensor((*operand)?)).collect();
            let result = evaluate(&node.op, &operands).ok()?.into_iter().next()?;
            numbered.push((value, result));
        }
        let (_, of) = numbered.into_iter().find(|(value, _)| *value == output)?;
        let name = |&value: &ValueId| {
            graph
                .value(value)
                .map_or("", |value| module.name(value.name))
                .to_owned()
        };
        Some(ConcatenatedParts {
            names: joined.iter().map(name).collect(),
            values: joined,
            of: of.to_f32().ok()?.iter().map(|&part| part as usize).collect(),
            joined: nodes,
        })
    }

    /// The elements of an output that belong to one part.
    pub fn numbers<'n>(&'n self, part: usize, output: &'n [f32]) -> impl Iterator<Item = f32> + 'n {
        let numbers = output.iter().zip(&self.of);
        numbers.filter_map(move |(&number, &of)| (of == part).then_some(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_followed_to_where_moves_take_them() {
        let text = "strait 1 float
            graph @main(%a: f32[1,2,2], %b: f32[1,1,2]) {
              %c: f32[1,3,2] = concat(%a, %b) {axis=1}
              %t: f32[1,2,3] = transpose(%c) {permutation=[0,2,1]}
              %u: f32[1,2,4] = concat(%t, @k) {axis=2}
              %y: f32[8] = reshape(%u) {shape=[8]}
              return %y, %a
            }
            data @k: f32[1,2,1] = inline [5.0,6.0]";
        let module = strait_core::text::parse(text).unwrap();
        let parts = ConcatenatedParts::of_output(&module, 0).unwrap();
        assert_eq!(parts.names, ["a", "b", "k"]);
        assert_eq!(parts.of, [0, 0, 1, 2, 0, 0, 1, 2]);
        let graph = module.main();
        let joined = parts.joined.iter().map(|&id| graph.node(id).unwrap().op.term().name());
        assert_eq!(joined.collect::<Vec<_>>(), ["concat", "transpose", "concat", "reshape"]);
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert_eq!(parts.numbers(1, &numbers).collect::<Vec<_>>(), [3.0, 7.0]);
        assert_eq!(ConcatenatedParts::of_output(&module, 1), None);
    }
}
