use super::Epilogue;

/// No requantization: the accumulators themselves, for loops whose result is `i32`.
#[derive(Clone, Copy, Debug)]
pub struct Accumulators;

impl Epilogue for Accumulators {
    type Constants = ();

    fn channels(&self) -> Option<usize> {
        None
    }

    #[inline(always)]
    fn constants(&self, _: usize) {}

    #[inline(always)]
    fn lane(&self, (): (), accumulator: i32) -> i32 {
        accumulator
    }
}
