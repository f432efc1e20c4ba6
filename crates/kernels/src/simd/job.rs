//! A job is a piece of kernel code that is generic over the instruction set. For each instruction set, a function here
//! inlines the job, so that it is compiled for that set.

use super::Simd;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512};

/// A loop nest that the compiler vectorises. Mark `run` and everything that its inner loops call `#[inline(always)]`.
/// The code is then compiled once for each instruction set, inside of the function that enables that set.
pub(crate) trait Job {
    /// What the job returns.
    type Output;
    /// Computes the job, in code that is compiled for the instruction set `S`.
    fn run<S: Simd>(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(crate) fn with_avx2<J: Job>(job: J) -> J::Output {
    job.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn with_avx512<J: Job>(job: J) -> J::Output {
    job.run::<Avx512>()
}
