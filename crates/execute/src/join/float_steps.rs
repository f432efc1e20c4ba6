//! A chain of float steps that was found in a graph.

use crate::reference::{Grid, Grids};
use smallvec::SmallVec;
use strait_core::{NodeId, ValueId};
use strait_kernels::KernelError;
use strait_kernels::mixed::{Activation, FloatChain};
use strait_requantize::IntType;
use strait_requantize::quantize::Quantization;

/// The chain that makes a value.
pub(super) struct Found {
    /// The nodes, in order.
    pub(super) nodes: Vec<NodeId>,
    pub(super) operands: SmallVec<[Operand; 2]>,
    pub(super) activation: Activation,
}

impl Found {
    /// The kernel of the chain. `None` if there is none.
    pub(super) fn kernel(&self, quantization: Option<Quantization>) -> Result<Option<FloatChain>, KernelError> {
        let operands: SmallVec<[_; 2]> = self
            .operands
            .iter()
            .map(|of| {
                of.codes
                    .as_ref()
                    .map(|(element, grids)| (*element, grids.per(Grid::dequantization)))
            })
            .collect();
        FloatChain::new(&operands, self.activation, quantization)
    }
}

/// A value that a chain reads, with the type and the grids of its codes. `None` if its elements are real numbers.
pub(super) struct Operand {
    pub(super) value: ValueId,
    pub(super) codes: Option<(IntType, Grids)>,
}
