//! Compares the target's own model of its arithmetic with the requantization forms of a compiled model. Some targets
//! supply a model of their arithmetic, as a program, in addition to their table.
//!
//! For each channel, the comparison covers every accumulator at which the result changes to another code, the two
//! neighbours of each such accumulator, and both ends of the domain. A larger accumulator never gives a smaller code,
//! so between these accumulators the code does not change. If the target's model is monotone too, agreement at these
//! points proves that the target's model and the form are the same function. A 32-bit result has too many codes to
//! compare all of them, so only codes at equal distances are compared.

use strait_core::{Elem, Module};
use strait_kernels::integer::Loops;
use strait_kernels::{Context, KernelError};
use strait_requantize::{IntType, Requantization};
use strait_target::{Target, TargetSpec};

use crate::{
    LayerError,
    shares::{self, Shares},
};

/// If a channel has at most this many codes, all its codes are compared. Types of up to 16 bits never have more.
const ALL_CODES: i64 = 1 << 16;

/// The approximate number of codes that are compared if a channel has more than [`ALL_CODES`].
const SOME_CODES: i64 = 1 << 10;

/// The largest number of accumulators in one call of the target's model. This limits the memory.
const AT_A_TIME: usize = 1 << 20;

/// Compares every requantization of the main graph that the target's own model covers. Returns the number of layers
/// that the model covers and the number of layers that it does not cover. Returns `None` if the target has no such
/// model.
///
/// # Errors
/// The first accumulator at which model and form give different codes, with its layer, or an error of the target's
/// model.
pub(crate) fn hold(target: &dyn Target, module: &Module) -> Result<Option<Shares>, LayerError> {
    let held = shares::shares(target, module)?;
    if held.is_none() {
        return Ok(None);
    }
    let mut compared = Vec::new();
    for node in shares::layers(module) {
        for form in shares::requantizations(module, node) {
            // Layers without weights often have the same requantization, which is then compared only once.
            if compared.contains(&form) {
                continue;
            }
            compared.push(form);
            let (form, clamp, wide) = form;
            one(target, form, clamp, wide).map_err(|text| shares::of_layer(module, node, &text))?;
        }
    }
    Ok(held)
}

/// Compares one requantization with the target's own model. If the model does not cover the requantization, nothing is
/// compared.
fn one(target: &dyn Target, form: &Requantization, clamp: Option<[i32; 2]>, wide: bool) -> Result<(), String> {
    let own = target.own_loops(form, clamp).map_err(|error| error.to_string())?;
    let Some(own) = own else { return Ok(()) };
    let layer = Layer {
        form,
        clamp,
        loops: own.as_ref(),
        wide,
    };
    let Some(differs) = layer.difference().map_err(|error| error.to_string())? else {
        return Ok(());
    };
    let spec = target.spec();
    Err(format!(
        "of the accumulator {} in channel {} the model of the target `{}` makes {}, and its form `{}` says {}",
        differs.accumulator,
        differs.channel,
        spec.id,
        differs.found,
        row(spec, form, clamp),
        differs.expected
    ))
}

/// The name of the table row that the form `form` with the clamp `clamp` belongs to.
fn row<'a>(spec: &'a TargetSpec, form: &Requantization, clamp: Option<[i32; 2]>) -> &'a str {
    let mut rows = spec.form.iter();
    let row = rows.find(|(_, row)| row.accepts(form, clamp).is_ok());
    row.map_or("", |(name, _)| name)
}

/// A requantization, and the functions of the target's own model that compute it.
struct Layer<'a> {
    form: &'a Requantization,
    clamp: Option<[i32; 2]>,
    loops: &'a dyn Loops,
    wide: bool,
}

/// An accumulator for which the target's own model and the form give different codes.
struct Difference {
    channel: usize,
    accumulator: i64,
    expected: i32,
    found: i32,
}

impl Layer<'_> {
    fn difference(&self) -> Result<Option<Difference>, KernelError> {
        for codes in self.codes().chunks((AT_A_TIME / self.channels() / 3).max(1)) {
            if let Some(found) = self.compare(&self.accumulators(codes), each(codes))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The codes that are compared. There are none if the clamp allows no code of the form's range.
    fn codes(&self) -> Vec<i64> {
        let [least, most] = self.form.range();
        let [low, high] = self.clamp.unwrap_or([least, most]);
        // The clamp turns all codes beyond one of its ends into that end.
        let (least, most) = (i64::from(least.max(low)), i64::from(most.min(high)));
        let distance = match most - least {
            ..ALL_CODES => 1,
            more => more / SOME_CODES + 1,
        };
        (least..=most).step_by(distance as usize).collect()
    }

    fn channels(&self) -> usize {
        self.form.channels().unwrap_or(1).max(1)
    }

    /// Returns the accumulators to compare, one channel after the other, with the same number for each channel. They
    /// are the two ends of the form's domain and, for each code in `codes`, the smallest accumulator that gives this
    /// code, with its two neighbours.
    fn accumulators(&self, codes: &[i64]) -> Vec<i64> {
        let narrow = (i64::from(i32::MIN), i64::from(i32::MAX));
        let ends = if self.wide { (i64::MIN, i64::MAX) } else { narrow };
        let mut all = Vec::with_capacity(self.channels() * each(codes));
        for channel in 0..self.channels() {
            let Ok(scalars) = self.form.channel(channel) else {
                continue;
            };
            let (low, high) = scalars.domain().into_inner();
            let inside = |x: i64| x.max(low).min(high).clamp(ends.0, ends.1);
            all.extend([inside(low), inside(high)]);
            for &code in codes {
                let step = scalars.least_reaching(code);
                all.extend([step.saturating_sub(1), step, step.saturating_add(1)].map(inside));
            }
        }
        all
    }

    fn compare(&self, accumulators: &[i64], each: usize) -> Result<Option<Difference>, KernelError> {
        let cx = Context::detect();
        let extents = [1, accumulators.len() / each, each];
        let width = Elem::from(self.form.out()).size();
        let mut codes = vec![0u8; accumulators.len() * width];
        if self.wide {
            self.loops.requantize_wide(&cx, extents, accumulators, &mut codes)?;
        } else {
            // `ends` limits the accumulators to 32 bits, so this cast changes nothing.
            let narrow: Vec<i32> = accumulators.iter().map(|&x| x as i32).collect();
            let narrow = bytemuck::cast_slice(&narrow);
            self.loops.requantize(&cx, extents, IntType::I32, narrow, &mut codes)?;
        }
        let [low, high] = self.clamp.unwrap_or([i32::MIN, i32::MAX]);
        let rows = accumulators.chunks_exact(each).zip(codes.chunks_exact(each * width));
        for (channel, (accumulators, codes)) in rows.enumerate() {
            let Ok(scalars) = self.form.channel(channel) else {
                continue;
            };
            for (&accumulator, bytes) in accumulators.iter().zip(codes.chunks_exact(width)) {
                let Ok(expected) = scalars.eval(accumulator) else {
                    continue;
                };
                let (expected, found) = (expected.min(high).max(low), self.form.out().decode(bytes).unwrap_or(0));
                if found != expected {
                    return Ok(Some(Difference {
                        channel,
                        accumulator,
                        expected,
                        found,
                    }));
                }
            }
        }
        Ok(None)
    }
}

/// The number of accumulators that are compared in each channel, if the codes in `codes` are compared.
fn each(codes: &[i64]) -> usize {
    3 * codes.len() + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_kernels::integer::standard;
    use strait_requantize::form::ArithFolded;
    use strait_requantize::{Narrowing, Rounding};

    /// The codes that are compared for a form. The loops give the code of the form for all of them.
    fn codes(out: IntType, clamp: Option<[i32; 2]>) -> Vec<i64> {
        let narrowing = Narrowing {
            shift: 3.into(),
            rounding: Rounding::HalfEven,
            out,
        };
        let form: Requantization = ArithFolded { narrowing }.into();
        // For a clamp that allows no code, there are no loops.
        let loops = standard(&form, clamp).or_else(|_| standard(&form, None)).unwrap();
        let layer = Layer {
            form: &form,
            clamp,
            loops: loops.as_ref(),
            wide: false,
        };
        assert!(layer.difference().unwrap().is_none());
        layer.codes()
    }

    #[test]
    fn all_codes_of_8_and_16_bits_are_looked_at_and_some_of_32() {
        assert_eq!(codes(IntType::I8, None), (-128..=127).collect::<Vec<i64>>());
        assert_eq!(codes(IntType::U16, None).len(), 1 << 16);
        let some = codes(IntType::I32, None);
        assert!(some.len() > 1000 && some.len() <= 1025, "{}", some.len());
        assert!(some.is_sorted() && some[0] == i64::from(i32::MIN) && some[1000] > 1_000_000_000);
    }

    #[test]
    fn beyond_a_clamp_there_is_nothing_to_look_at() {
        assert_eq!(codes(IntType::I8, Some([0, 6])), (0..=6).collect::<Vec<i64>>());
        for beyond in [[500, 600], [1_000_000, 2_000_000], [i32::MIN, -1_000_000]] {
            assert!(codes(IntType::I8, Some(beyond)).is_empty());
        }
    }
}
