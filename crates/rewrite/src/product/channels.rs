//! Finds the output channels of the weights of a layer (a conv, a transposed conv or a gemm).

use strait_core::Op;

/// Finds the output channel of a weight by its position in the tensor.
pub(super) struct Channels {
    /// The number of consecutive weights that belong to the same channel.
    step: usize,
    /// The number of channels whose weights follow each other in the tensor. In a transposed convolution, this is the
    /// number of channels of one group, whose weights follow each other for each input of the group. In other layers,
    /// it is the number of all channels.
    row: usize,
    groups: usize,
    /// The number of weights for all inputs of a group.
    group: usize,
}

impl Channels {
    pub(super) fn new(op: &Op, shape: &[u64]) -> Channels {
        let product = |extents: &[u64]| extents.iter().product::<u64>() as usize;
        match (op, shape) {
            (Op::ConvTranspose(op), &[inputs, outputs, ref kernel @ ..]) => {
                let groups = (op.groups as usize).max(1);
                let step = product(kernel);
                let row = outputs as usize;
                Channels {
                    step,
                    row,
                    groups,
                    group: (inputs as usize / groups) * row * step,
                }
            }
            _ => {
                let row = shape.first().map_or(0, |&outputs| outputs as usize);
                let step = product(shape.get(1..).unwrap_or_default());
                Channels {
                    step,
                    row,
                    groups: 1,
                    group: row * step,
                }
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.row * self.groups
    }

    /// The channel of a weight. For an empty tensor, which has no channels, the result has no meaning.
    pub(super) fn of(&self, element: usize) -> usize {
        let group = element / self.group.max(1);
        group * self.row + element / self.step.max(1) % self.row.max(1)
    }
}
