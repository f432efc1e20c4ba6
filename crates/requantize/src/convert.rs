//! One form as another: each with its mathematics, none with a tolerance.

use crate::{
    Narrowing, OutsideDomain, Per, Requantization, Rounding, Step,
    form::{self, Affine, Arithmetic},
    thresholds::{DecideError, Thresholds, common_channels},
};

impl Requantization {
    /// The integer multiply-shift forms as a plain shift where they are one, else `None`. Equal on the form's domain.
    ///
    /// round((x * 2^k + 0) / 2^s) + 0 = round(x / 2^(s - k)) for k <= s; a factor of one is k = 0.
    pub fn to_arith_folded(&self) -> Option<Requantization> {
        let affine = self.affine()?;
        let shift = |a: &Affine| {
            let exponent = u8::try_from(a.factor.trailing_zeros()).ok()?;
            let plain = a.factor.count_ones() == 1 && a.addend == 0 && a.zero_point == 0;
            if plain { a.shift.checked_sub(exponent) } else { None }
        };
        let shift = affine.try_map(|a| shift(a).ok_or(())).ok()?;
        let rounding = self.narrowing()?.rounding;
        Some(Requantization::ArithFolded(form::ArithFolded {
            narrowing: Narrowing {
                shift,
                rounding,
                out: self.out(),
            },
        }))
    }

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

    /// The clamp behind this form that does what `clamp` does in front of it; `None` where it would differ by channel.
    ///
    /// A form f does not decrease, so f(clamp(x, a, b)) = clamp(f(x), f(a), f(b)), wherever f is defined.
    pub fn clamp_behind(&self, clamp: [i32; 2]) -> Result<Option<[i32; 2]>, OutsideDomain> {
        let mut common = None;
        for channel in 0..self.channels().unwrap_or(1) {
            let [low, high] = clamp.map(|end| self.eval(channel, i64::from(end)));
            let moved = [low?, high?];
            if *common.get_or_insert(moved) != moved {
                return Ok(None);
            }
        }
        Ok(common)
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
