//! One form as another: each with its mathematics, none with a tolerance.

use crate::{
    Narrowing, Per, Requantization, Rounding, Step,
    form::{self, Affine, Arithmetic},
    thresholds::{DecideError, Thresholds, common_channels},
};

impl Requantization {
    /// The general fixed-point form of the forms that have one, else `None`. Equal on the form's domain.
    ///
    /// Every form that multiplies integers and rounds once is a special case: those with a narrowing, `Gemmlowp` with one
    /// rounding or no shift to the right, `SixteenByEight`, `TosaRescale` where it rounds once, `AscendDequantS16` without
    /// ReLU.
    pub fn to_fixed(&self) -> Option<Requantization> {
        let affine = self.affine()?;
        let rounding = affine.values().first()?.rounding;
        Some(fixed(&affine, rounding, self))
    }

    /// The scalars of every channel of a legal form that multiplies integers, rounds once and has no ReLU in it.
    fn affine(&self) -> Option<Per<Affine>> {
        if self.range() != [self.out().min(), self.out().max()] {
            return None;
        }
        let at = |channel| match self.channel(channel).ok()?.arithmetic() {
            Arithmetic::Affine(a) => Some(a),
            _ => None,
        };
        match self.channels() {
            None => Some(Per::Tensor(at(0)?)),
            Some(count) => (0..count).map(at).collect::<Option<_>>().map(Per::Channel),
        }
    }
}

/// `Fixed` from its scalars, with the output type and the zero point of `like`.
fn fixed(affine: &Per<Affine>, rounding: Rounding, like: &Requantization) -> Requantization {
    let zp = affine.values().first().map_or(0, |a| a.zero_point);
    let narrowing = Narrowing {
        shift: affine.map(|a| a.shift),
        rounding,
        out: like.out(),
    };
    Requantization::Fixed(form::Fixed {
        sc: affine.map(|a| a.factor),
        add: affine.map(|a| a.addend),
        zp,
        narrowing,
    })
}

/// A chain of steps as thresholds: equal to it on each channel's interval, constant outside.
///
/// `intervals` has both ends included; the chain's result must fit the eight bits of its last step.
pub fn to_steps(steps: &[Step], intervals: &Per<(i64, i64)>) -> Result<Requantization, DecideError> {
    let out = steps.last().ok_or(DecideError::Empty)?.out();
    let count = common_channels(steps.iter(), intervals)?;
    let channels = (0..count.unwrap_or(1)).map(|c| {
        let no_interval = DecideError::Channels {
            expected: count.unwrap_or(1),
            found: c,
        };
        Thresholds::of(steps, c, *intervals.get(c).ok_or(no_interval)?)
    });
    let channels = channels.collect::<Result<Vec<_>, _>>()?;
    let lowest = channels.iter().map(Thresholds::lowest).min().unwrap_or(out.min());
    // A channel that starts above the common lowest value has reached the codes up to its own at its lower end.
    let list = |t: &Thresholds| {
        (i64::from(lowest) + 1..=i64::from(t.highest()))
            .map(|code| {
                let at = t.reaching(code as i32);
                i32::try_from(at).map_err(|_| DecideError::Wide(at))
            })
            .collect::<Result<_, _>>()
    };
    let thresholds = channels.iter().map(list).collect::<Result<_, _>>()?;
    let form = Requantization::Steps(form::Steps {
        thresholds,
        lowest,
        out,
    });
    form.check()?;
    Ok(form)
}
