use crate::context::Context;
use crate::{
    error::{KernelError, expect_len},
    integer::{
        batch::{Constants, Element, Elements, Kernel, One, Source, Tile, TileJob, Two},
        bytes::{check_8_bits, signed},
        tiles::{Array, LONG_PIECE},
    },
    parallel::Shared,
    simd::I32s,
};
use strait_requantize::{IntType, mixed};

/// QLinearAdd of ONNX Runtime: adds two codes of 8 bits; the result is a code, too.
#[derive(Clone, Debug)]
pub struct QLinearAdd {
    form: mixed::QLinearAdd,
    vectors: Constants<3>,
}

/// Every result beyond this bound saturates in 8 bits.
const FAR: f32 = (1 << 9) as f32;

impl QLinearAdd {
    /// Prepares the function for these parameters.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if the parameters are not legal, or if results have more than 8 bits.
    pub fn new(form: mixed::QLinearAdd) -> Result<QLinearAdd, KernelError> {
        form.check()?;
        if form.out.bits() > 8 {
            return Err(KernelError::Requantization(format!(
                "QLinearAdd has codes of 8 bits, not {}",
                form.out
            )));
        }
        let constants = [form.a, form.b, form.offset].map(|x| x.to_bits() as i32);
        Ok(QLinearAdd {
            form,
            vectors: Constants::new(&[constants], true),
        })
    }

    /// The element type of the results.
    pub fn out(&self) -> IntType {
        self.form.out
    }

    /// Adds two arrays of the same length. Their elements have the type `element`, which is I8 or U8.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if the elements have any other type, or if the slices do not fit together.
    pub fn run(&self, cx: &Context, element: IntType, operands: [&[u8]; 2], out: &mut [u8]) -> Result<(), KernelError> {
        check_8_bits("an operand", element)?;
        match element {
            IntType::I8 => self.codes(*cx, operands.map(signed), out),
            _ => self.codes(*cx, operands, out),
        }
    }

    fn codes<T: Element<Lanes = One> + Into<i32>>(
        &self,
        cx: Context,
        operands: [&[T]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let count = operands[0].len();
        expect_len("the second operand", operands[1].len(), Some(count))?;
        expect_len("the output", out.len(), Some(count))?;
        Array::new([1, 1, count], None)?.for_each_tile(LONG_PIECE, &Shared::new(out), |start, place| {
            let source = operands.part(start, place.columns);
            let tile = Tile {
                out: Elements::Codes(self.form.out),
                bounds: [self.form.out.min(), self.form.out.max()],
                source,
                stride: place.columns,
                place,
            };
            if !cx.run_on_vectors(TileJob::new(tile, &Vectors, &self.vectors)) {
                // SAFETY: tiles of different tasks do not overlap, and the borrow ends with this tile, which is one row
                // of bytes.
                let out = unsafe { place.bytes(1, 0, 0, place.columns) };
                for ((to, &x), &y) in out.iter_mut().zip(source[0]).zip(source[1]) {
                    // The result is a code of 8 bits.
                    *to = self.form.eval(x.into(), y.into()) as u8;
                }
            }
            Ok(())
        })
    }
}

/// Computes `half_even(fma(a, x, fma(b, y, offset)))`. If the inner sum is infinite, the outer sum is infinite with the
/// same sign, so no result is NaN.
struct Vectors;

impl Kernel<3, Two> for Vectors {
    #[inline(always)]
    unsafe fn lanes<V: I32s>(&self, &[a, b, offset]: &[V; 3], [x, y]: [V; 2]) -> V {
        // SAFETY: the caller upholds the safety contract of this method.
        unsafe {
            let sum = offset.add_product_f32(b, y.to_f32()).add_product_f32(a, x.to_f32());
            let (far, near) = (V::splat(FAR.to_bits() as i32), V::splat((-FAR).to_bits() as i32));
            sum.min_f32(far).max_f32(near).round_f32()
        }
    }
}
