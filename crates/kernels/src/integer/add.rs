//! Elementwise sums of two operands. Before the sum, both operands are converted to a common grid.

use super::{
    bytes::flip,
    elementwise::{Broadcast, Operand, binary, check_operands, each_piece},
    loops::{Addend, Loops},
    sums::{Carrier, Sums},
    tiles::PIECE,
};
use crate::context::Context;
use crate::simd::Job;
use crate::{
    error::KernelError,
    simd::{ByteTables, Simd},
};
use strait_requantize::IntType;

impl Addend<'_> {
    fn check(&self, element: IntType) -> Result<(), KernelError> {
        match *self {
            Addend::Table(_) if element.bits() != 8 => Err(KernelError::Shape(format!(
                "a table of 256 entries for an operand of {element}"
            ))),
            Addend::Codes { bits, .. } if bits > 31 => {
                Err(KernelError::Size(format!("a shift of 32-bit numbers by {bits} bits")))
            }
            Addend::Codes { loops: Some(loops), .. } if loops.out() != IntType::I32 => Err(
                KernelError::Requantization(format!("the operand of a sum is requantized into {}", loops.out())),
            ),
            _ => Ok(()),
        }
    }

    /// Computes the accumulators of an operand, for the elements from index `from` on.
    fn accumulators(
        &self,
        cx: &Context,
        operand: &Operand<'_>,
        from: usize,
        out: &mut [i32],
    ) -> Result<(), KernelError> {
        operand.widen(from, out);
        match *self {
            Addend::Table(table) => {
                let lowest = operand.element.min();
                // The index in the table is the 8-bit code minus the smallest code of its type.
                out.iter_mut().for_each(|x| *x = table[(*x - lowest) as usize & 0xFF]);
            }
            Addend::Codes {
                zero,
                bits,
                loops,
                negative,
            } => {
                cx.run(ShiftJob { zero, bits, codes: out });
                if let Some(loops) = loops {
                    let shifted = out.to_vec();
                    loops.requantize(cx, [1, 1, out.len()], IntType::I32, bytes(&shifted), bytes_mut(out))?;
                }
                if negative {
                    // If the negation wraps, it is still right modulo 2^32.
                    out.iter_mut().for_each(|x| *x = x.wrapping_neg());
                }
            }
        }
        Ok(())
    }
}

impl dyn Loops + '_ {
    /// Adds two tensors of codes of up to 16 bits element by element, in 32 bits. `addends` says for each operand how
    /// an accumulator is computed from a code. The accumulators of both operands are added.
    pub fn add(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        addends: [Addend<'_>; 2],
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        if let [Addend::Table(a), Addend::Table(b)] = addends {
            let [flip_a, flip_b] = elements.map(flip);
            let (extent, strides) = shape.last();
            if strides == [1, 1] && extent == shape.elements() && cx.permutes() {
                check_operands(shape, elements, operands)?;
                let tables = [ByteTables::new(a, flip_a), ByteTables::new(b, flip_b)];
                return each_piece(self, shape, (Carrier::I32, 1), out, |from, _, place| {
                    let mut sums = [0; PIECE];
                    let [a, b] = [0, 1].map(|o| &operands[o][from[o]..][..place.columns]);
                    cx.permuted_sums(&tables, [a, b], &mut sums[..place.columns]);
                    self.finish(*cx, Sums::I32(&sums), place.columns, place)
                });
            }
            let sum = move |x: u8, y: u8| a[usize::from(x ^ flip_a)].wrapping_add(b[usize::from(y ^ flip_b)]);
            return binary(self, cx, shape, elements, operands, out, sum);
        }
        check_operands(shape, elements, operands)?;
        for (addend, element) in addends.iter().zip(elements) {
            addend.check(element)?;
        }
        // Both operands are requantized, too. A result takes as long as about eight multiply-adds.
        each_piece(self, shape, (Carrier::I32, 8), out, |from, strides, place| {
            let mut sums = [[0; PIECE]; 2];
            for (o, sums) in sums.iter_mut().enumerate() {
                let operand = Operand {
                    element: elements[o],
                    data: operands[o],
                    stride: strides[o],
                };
                addends[o].accumulators(cx, &operand, from[o], &mut sums[..place.columns])?;
            }
            let [mut sums, others] = sums;
            cx.run(AddJob(&mut sums, &others));
            self.finish(*cx, Sums::I32(&sums), place.columns, place)
        })
    }
}

/// Subtracts a zero point from codes and shifts the differences left.
struct ShiftJob<'a> {
    zero: i32,
    bits: u8,
    codes: &'a mut [i32],
}

impl Job for ShiftJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        for x in self.codes {
            *x = x.wrapping_sub(self.zero) << self.bits;
        }
    }
}

/// Adds the second array to the first.
struct AddJob<'a>(&'a mut [i32; PIECE], &'a [i32; PIECE]);

impl Job for AddJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        for (sum, &other) in self.0.iter_mut().zip(self.1) {
            *sum = sum.wrapping_add(other);
        }
    }
}

/// The numbers as bytes, in the same memory.
fn bytes(numbers: &[i32]) -> &[u8] {
    // SAFETY: every byte of a number is a valid u8, and the slice has as many bytes as the numbers.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The numbers as bytes that can be written, in the same memory.
fn bytes_mut(numbers: &mut [i32]) -> &mut [u8] {
    // SAFETY: the slice has as many bytes as the numbers, and every pattern of bytes is a valid i32.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}
