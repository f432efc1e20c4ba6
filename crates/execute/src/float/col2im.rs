//! Col2Im: adds overlapping blocks of elements to form an image.

use super::conv_transpose::{behind, wide};
use crate::prelude::*;
use strait_kernels::float::{Blocks, col2im};

struct Col2Im {
    blocks: Blocks,
    /// The number of elements of one batch entry in the operand, and in the result.
    each: [usize; 2],
}

impl Executable for op::Col2Im {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (x, y) = (site.input(0)?, site.output()?);
        let positions: Vec<usize> = self.blocks()?.iter().map(|&count| count as usize).collect();
        let each = |dims: &[usize]| dims.iter().skip(1).product();
        Ok(Box::new(Col2Im {
            blocks: Blocks {
                image: behind(&wide(&self.image), 1)?,
                positions: behind(&positions, 1)?,
                kernel: behind(&wide(&self.block), 1)?,
                stride: behind(&wide(&self.stride), 1)?,
                dilation: behind(&wide(&self.dilation), 1)?,
                begin: behind(&wide(&self.pad[..self.pad.len() / 2]), 0)?,
            },
            each: [each(&x.dims), each(&y.dims)],
        }))
    }
}

impl Step for Col2Im {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let out = io.output::<f32>()?;
        let [from, to] = self.each;
        if from == 0 {
            out.fill(0.0);
            return Ok(());
        }
        for (x, out) in x.chunks_exact(from).zip(out.chunks_exact_mut(to.max(1))) {
            col2im(&self.blocks, x, None, out)?;
        }
        Ok(())
    }
}
