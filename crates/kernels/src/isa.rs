//! Instruction sets, and how one piece of Rust code is compiled for each of them.

#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{I32s, Scalar, Simd};

/// The instruction set that a kernel runs on. The choice never changes a bit of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Only the instructions that the compiler assumes every machine to have. Fused multiply-adds may become calls into
    /// the C library: correct, but slow.
    Scalar,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI. A machine that has AVX-512 without VNNI uses `Avx2`.
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

    /// The name that reports and `--isa` use.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512-vnni",
        }
    }
}

/// The instruction set to use, passed to every kernel call. There is no global state.
///
/// Kernels use the threads of the rayon pool that the caller runs in (`ThreadPool::install`). Work is split by output
/// tile only, so the number of threads does not change any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    isa: Isa,
}

impl Context {
    /// Chooses the best instruction set of this machine.
    pub fn detect() -> Context {
        Context { isa: Isa::detect() }
    }

    /// Chooses the given instruction set, or the best one that this machine has if the given one is better than that.
    pub fn with_isa(isa: Isa) -> Context {
        Context {
            isa: isa.min(Isa::detect()),
        }
    }

    /// The instruction set in use. The machine is known to have it.
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// A context for code that is already compiled for the instruction set `S`.
    ///
    /// # Safety
    /// The machine has the instruction set.
    #[inline(always)]
    pub(crate) unsafe fn of<S: Simd>() -> Context {
        Context { isa: S::ISA }
    }

    /// Runs a job on vectors of this context's instruction set. If the set has no vectors, it does nothing and returns
    /// false.
    pub(crate) fn run_on_vectors<J: VectorJob>(self, job: J) -> bool {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                // SAFETY: the field is private, and every constructor allows only an instruction set that the machine
                // has.
                unsafe { on_avx2_vectors(job) };
                true
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                // SAFETY: as above, the machine has AVX-512.
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
            // SAFETY: the field is private, and every constructor allows only an instruction set that the machine has.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { with_avx2(job) },
            // SAFETY: as above, the machine has AVX-512.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { with_avx512(job) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => job.run::<Scalar>(),
        }
    }
}

/// A loop nest that the compiler vectorises. Mark `run` and everything that its inner loops call `#[inline(always)]`.
/// The code is then compiled once for each instruction set, inside the function that enables the set.
pub(crate) trait Job {
    /// What the job returns.
    type Output;
    /// Runs the job.
    fn run<S: Simd>(self) -> Self::Output;
}

/// A loop nest written by hand for vectors of i32. Mark `run` and everything that it calls `#[inline(always)]`.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has vectors so far")
)]
pub(crate) trait VectorJob {
    /// Runs the job.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    unsafe fn run<V: I32s>(self);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn on_avx2_vectors<J: VectorJob>(job: J) {
    // SAFETY: this function is compiled for AVX2, so the machine has it.
    unsafe { job.run::<std::arch::x86_64::__m256i>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn on_avx512_vectors<J: VectorJob>(job: J) {
    // SAFETY: this function is compiled for AVX-512, so the machine has it.
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
