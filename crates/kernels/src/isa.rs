//! Instruction sets, and how one piece of Rust is compiled for each.

#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{I32s, Scalar, Simd};

/// The instruction set that a kernel runs on. Which one never changes a bit of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// The compiler's baseline. Fused multiply-adds may be calls into the C library: right, not fast.
    Scalar,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI. (A machine without VNNI runs as AVX2.)
    Avx512,
}

impl Isa {
    /// The best instruction set of this machine.
    pub fn detect() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
            match (avx2, avx512 && has!("avx512vnni")) {
                (true, true) => Isa::Avx512,
                (true, false) => Isa::Avx2,
                (false, _) => Isa::Scalar,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::Scalar
    }

    /// Every instruction set that this machine can run, the simplest first.
    pub fn available() -> impl Iterator<Item = Isa> {
        let best = Isa::detect();
        [Isa::Scalar, Isa::Avx2, Isa::Avx512]
            .into_iter()
            .filter(move |&isa| isa <= best)
    }

    /// The name in reports and in `--isa`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512-vnni",
        }
    }
}

/// Instruction set of a kernel call; passed to each call, so there is no global state.
///
/// Threads are those of the rayon pool that the caller runs in (`ThreadPool::install`). Work is split by output tile
/// only, so their number changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    isa: Isa,
}

impl Context {
    /// The best instruction set of this machine.
    pub fn detect() -> Context {
        Context { isa: Isa::detect() }
    }

    /// A given instruction set, lowered to the best one that this machine has.
    pub fn with_isa(isa: Isa) -> Context {
        Context {
            isa: isa.min(Isa::detect()),
        }
    }

    /// The instruction set in use. This machine has it.
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// That of code that is compiled for `S`.
    ///
    /// # Safety
    /// The machine has the instruction set.
    #[inline(always)]
    pub(crate) unsafe fn of<S: Simd>() -> Context {
        Context { isa: S::ISA }
    }

    /// Runs a job on vectors of this context's instruction set; false, and nothing is done, where it has none.
    pub(crate) fn run_on_vectors<J: VectorJob>(self, job: J) -> bool {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                // SAFETY: the field is private, and what makes a context gives only what the machine has.
                unsafe { on_avx2_vectors(job) };
                true
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                // SAFETY: as above.
                unsafe { on_avx512_vectors(job) };
                true
            }
            _ => {
                drop(job);
                false
            }
        }
    }

    /// Runs a job compiled for this context's instruction set.
    #[inline]
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self.isa {
            Isa::Scalar => job.run::<Scalar>(),
            // SAFETY: the field is private, and what makes a context gives only what the machine has.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { with_avx2(job) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { with_avx512(job) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => job.run::<Scalar>(),
        }
    }
}

/// A loop nest that the compiler vectorises. `run` must be `#[inline(always)]`, and so must all that it calls in its
/// inner loops: then it is compiled once for each instruction set, inside the function that enables it.
pub(crate) trait Job {
    /// Its result.
    type Output;
    /// Does it.
    fn run<S: Simd>(self) -> Self::Output;
}

/// A loop nest written for vectors of i32. `run` must be `#[inline(always)]`, as must all that it calls.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has vectors so far")
)]
pub(crate) trait VectorJob {
    /// Does it.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    unsafe fn run<V: I32s>(self);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn on_avx2_vectors<J: VectorJob>(job: J) {
    // SAFETY: this is compiled for them.
    unsafe { job.run::<std::arch::x86_64::__m256i>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn on_avx512_vectors<J: VectorJob>(job: J) {
    // SAFETY: this is compiled for them.
    unsafe { job.run::<std::arch::x86_64::__m512i>() }
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
