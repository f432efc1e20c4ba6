//! Chains at the end of convolutions and matrix products: accumulators become codes or real numbers in the tile in which they
//! were computed.

use super::silu_of_sums::SiluOfSums;
use super::{ChainJob, ChainSlice, FloatChain};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::{
    Axis, Codes, Loops, OutputTile, Sums,
    batch::{Direct, Elements, Tile, TileJob},
};
use crate::mixed::CodeSlice;
use strait_requantize::IntType;

/// The loops of a chain whose only operand are accumulators.
struct ChainLoops {
    chain: FloatChain,
    /// The kernel for sums in registers, if there is one.
    direct: Option<Box<dyn Direct>>,
    /// The kernel for SiLU of sums in memory, if the chain is that.
    silu: Option<SiluOfSums>,
}

impl FloatChain {
    /// Returns the loops that apply this chain to their accumulators. Their results are the codes of the quantization, or, if
    /// there is none, the bits of the real numbers, as if these were elements of type I32. `None` if the chain has another
    /// operand than accumulators of 32 bits.
    pub fn loops(self) -> Option<Box<dyn Loops>> {
        let [Some(grids)] = &self.operands[..] else { return None };
        if grids.element != IntType::I32 {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        let direct = super::direct::direct(&self);
        #[cfg(not(target_arch = "x86_64"))]
        let direct = None;
        Some(Box::new(ChainLoops {
            silu: SiluOfSums::new(&self),
            chain: self,
            direct,
        }))
    }

    /// The type of the results of the loops.
    pub(super) fn elements(&self) -> Elements {
        self.narrowing
            .as_ref()
            .map_or(Elements::F32, super::Narrowing::elements)
    }

    /// Computes one result as it is defined, and writes its bytes. `operand` has one element, of this channel.
    pub(super) fn define(&self, operand: ChainSlice<'_>, channel: usize, to: &mut [u8]) {
        let real = self.element(&[operand], 0, channel);
        match &self.narrowing {
            Some(narrowing) => {
                let code = narrowing.quantization.eval(real).to_le_bytes();
                to.copy_from_slice(&code[..to.len()]);
            }
            None => to.copy_from_slice(&real.to_ne_bytes()),
        }
    }
}

impl Loops for ChainLoops {
    fn out(&self) -> IntType {
        match self.chain.elements() {
            Elements::Codes(out) => out,
            Elements::F32 => IntType::I32,
        }
    }

    fn channels(&self) -> Option<usize> {
        self.chain.channels
    }

    fn codes(&self) -> Option<Codes<'_>> {
        let out = self.out();
        let kernel = self.direct.as_deref()?;
        Some(Codes {
            kernel,
            out,
            bounds: [out.min(), out.max()],
        })
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        let Sums::I32(sums) = sums else {
            return Err(KernelError::Shape(
                "a chain of float steps takes sums of 32 bits".into(),
            ));
        };
        if let Some(silu) = &self.silu {
            let out = self.out();
            let tile = Tile {
                out: self.chain.elements(),
                bounds: [out.min(), out.max()],
                source: sums,
                stride,
                place,
            };
            if cx.run_on_vectors(TileJob::new(tile, silu, &silu.constants)) {
                return Ok(());
            }
        }
        let operand = ChainSlice::Codes(CodeSlice::I32(sums));
        let narrowing = self.chain.narrowing.as_ref();
        let ran = cx.run_on_vectors(ChainJob {
            chain: &self.chain,
            operands: &[operand],
            narrowing,
            reals: narrowing.is_none().then_some(*place),
            first: 0,
            stride,
            place,
        });
        if ran {
            return Ok(());
        }
        let width = self.chain.elements().bytes();
        for row in 0..place.rows {
            // SAFETY: tiles of different tasks do not overlap, and the borrow ends before the next row.
            let to = unsafe { place.bytes(width, row, 0, place.columns) };
            for (column, to) in to.chunks_exact_mut(width).enumerate() {
                let across = if place.axis == Axis::Rows { row } else { column };
                let operand = operand.part(row * stride + column, 1);
                self.chain.define(operand, place.first_channel + across, to);
            }
        }
        Ok(())
    }
}
