/// `lowest + #{t in thresholds : t <= x}`, where # is the number of thresholds t that are at most x. This is the
/// arithmetic of the form `Steps`. It is defined for all `i32`, because thresholds are `i32` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCount<'a> {
    /// The sorted thresholds. There are at most 255.
    pub thresholds: &'a [i32],
    /// The result below the first threshold.
    pub lowest: i32,
}

impl StepCount<'_> {
    pub(in crate::form) fn wide(&self, x: i64) -> i64 {
        let passed = self.thresholds.partition_point(|t| i64::from(*t) <= x);
        // There are at most 255 thresholds, so this cast changes nothing.
        i64::from(self.lowest) + passed as i64
    }

    /// Returns the smallest integer `x` with `wide(x) >= value`, where `wide` is the result before saturation. If all
    /// integers satisfy this, returns `i128::MIN`, and if none does, `i128::MAX`.
    pub(in crate::form) fn least_reaching(&self, value: i64) -> i128 {
        match value.saturating_sub(i64::from(self.lowest)) {
            ..=0 => i128::MIN,
            rank => match usize::try_from(rank - 1).ok().and_then(|i| self.thresholds.get(i)) {
                Some(threshold) => i128::from(*threshold),
                None => i128::MAX,
            },
        }
    }

    pub(in crate::form) fn is_identity(&self, out: crate::IntType) -> bool {
        // sat(x) is the smallest number of the type up to min, and grows by one at every integer from min + 1 to max.
        self.lowest == out.min() && self.thresholds.iter().copied().eq(out.min() + 1..=out.max())
    }
}
