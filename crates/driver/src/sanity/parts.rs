//! The parts of an output that is joined of several tensors: they may be of unlike size, and then the largest alone decides
//! on the SNR of the whole.

use strait_core::{Module, NodeId, Op, ValueId};

/// A stretch of an output along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The tensor that it is.
    pub(super) value: ValueId,
    pub(super) name: String,
    /// The node that joins it with others, and those behind it.
    pub(super) joined: Vec<NodeId>,
    pub(super) axis: usize,
    pub(super) from: usize,
    pub(super) extent: usize,
}

impl Part {
    /// The elements of a tensor of this shape that belong to the part.
    pub(super) fn of<'t>(&self, shape: &[usize], elements: &'t [f32]) -> impl Iterator<Item = &'t f32> {
        let inner: usize = shape.get(self.axis + 1..).unwrap_or_default().iter().product();
        let extent = shape.get(self.axis).copied().unwrap_or(1);
        let range = self.from..self.from + self.extent;
        let at = move |index: usize| (index / inner.max(1)) % extent.max(1);
        let elements = elements.iter().enumerate();
        elements.filter_map(move |(index, element)| range.contains(&at(index)).then_some(element))
    }
}

/// The parts of an output, behind transposes; none where it is not joined of several computed tensors.
pub(super) fn parts(module: &Module, output: ValueId) -> Vec<Part> {
    let graph = module.main();
    let rank = graph.value(output).map_or(0, |value| value.ty.shape.len());
    // The axis of the output that each axis of the value at hand is.
    let mut axes: Vec<usize> = (0..rank).collect();
    let (mut at, mut behind) = (output, Vec::new());
    loop {
        let Some((id, node)) = graph.producer(at) else {
            return Vec::new();
        };
        behind.insert(0, id);
        match &node.op {
            Op::Transpose(op) => {
                let Some(Some(operand)) = node.inputs.first() else {
                    return Vec::new();
                };
                let mut before = vec![0; rank];
                for (to, &from) in op.permutation.iter().enumerate() {
                    let (Some(place), Some(&axis)) = (before.get_mut(from as usize), axes.get(to)) else {
                        return Vec::new();
                    };
                    *place = axis;
                }
                (axes, at) = (before, *operand);
            }
            Op::Concat(op) => {
                let own = if op.axis < 0 { op.axis + rank as i64 } else { op.axis };
                let axis = usize::try_from(own).ok().and_then(|own| Some((own, *axes.get(own)?)));
                let Some((own, axis)) = axis else { return Vec::new() };
                let mut from = 0;
                let mut parts = Vec::new();
                for operand in node.inputs.iter().flatten() {
                    let Some(value) = graph.value(*operand) else {
                        return Vec::new();
                    };
                    let Some(extent) = value.ty.shape.get(own).and_then(|extent| extent.fixed()) else {
                        return Vec::new();
                    };
                    let extent = extent as usize;
                    if graph.data_of(*operand).is_none() && extent > 0 {
                        parts.push(Part {
                            value: *operand,
                            name: module.name(value.name).to_owned(),
                            joined: behind.clone(),
                            axis,
                            from,
                            extent,
                        });
                    }
                    from += extent;
                }
                return if parts.len() > 1 { parts } else { Vec::new() };
            }
            _ => return Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_behind_transposes_and_are_cut_out() {
        let text = "strait 1 float
            graph @main(%x: f32[1,2,3], %y: f32[1,1,3]) {
              %z: f32[1,3,3] = concat(%x, %y) {axis=-2}
              %t: f32[3,1,3] = transpose(%z) {permutation=[1,0,2]}
              %u: f32[3,3,1] = transpose(%t) {permutation=[2,0,1]}
              return %u, %x
            }";
        let module = strait_core::text::parse(text).unwrap();
        let outputs = module.main().outputs();
        let found = parts(&module, outputs[0]);
        let told: Vec<_> = (found.iter())
            .map(|part| (part.name.as_str(), part.axis, part.from, part.extent))
            .collect();
        // Axes of z: 0 → 2, 1 → 1, 2 → 0.
        assert_eq!(told, [("x", 1, 0, 2), ("y", 1, 2, 1)]);
        assert!(parts(&module, outputs[1]).is_empty());
        let elements: Vec<f32> = (0..9u8).map(f32::from).collect();
        let of = |part: &Part| part.of(&[3, 3, 1], &elements).copied().collect::<Vec<f32>>();
        assert_eq!(of(&found[0]), [0.0, 1.0, 3.0, 4.0, 6.0, 7.0]);
        assert_eq!(of(&found[1]), [2.0, 5.0, 8.0]);
    }
}
