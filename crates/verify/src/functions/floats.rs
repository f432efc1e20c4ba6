//! Compares two quantizations of floats, each followed by steps.
//!
//! With a positive scale, a larger float never gets a smaller code, and [`ordered`] gives the floats consecutive
//! numbers in their order. NaN has no place in this order and is evaluated separately.

use super::{Function, Undecided, walk};
use crate::intervals::Interval;
use strait_requantize::certificate::{ordered, unordered};
use strait_requantize::{FromFloat, Step, Verdict};

/// Finds the largest difference between two quantizations of floats, each followed by its steps. Compares them on NaN
/// and on the floats in an interval, which is given by positions in the order of the floats.
pub(crate) fn compare_floats(
    before: (&FromFloat, &[Step]),
    after: (&FromFloat, &[Step]),
    Interval { low, high }: Interval,
) -> Result<Verdict, Undecided> {
    let places = -(1i64 << 31)..1 << 31;
    if low > high || !places.contains(&low) || !places.contains(&high) {
        return Err(Undecided::Interval(low, high));
    }
    let check = |(from, steps): (&FromFloat, &[Step])| {
        if !from.is_legal() {
            return Err(Undecided::Scale(from.scale));
        }
        // A quantization of floats has a single grid, so the steps after it must not have channels either.
        match steps.iter().find_map(|step| step.form.channels()) {
            Some(found) => Err(Undecided::Channels { expected: 1, found }),
            None => Ok(()),
        }
    };
    check(before)?;
    check(after)?;
    let (before_steps, after_steps) = (Function::new(before.1, 0)?, Function::new(after.1, 0)?);
    let f = |x: f32| before_steps.eval(before.0.eval(x).into()).map_err(Undecided::from);
    let g = |x: f32| after_steps.eval(after.0.eval(x).into()).map_err(Undecided::from);
    let nan = [f(f32::NAN)?, g(f32::NAN)?];
    let mut found = walk::compare(|place| f(unordered(place)), |place| g(unordered(place)), (low, high))?;
    found.of += 1;
    found.add(nan, ordered(f32::NAN), 1);
    Ok(found.into())
}
