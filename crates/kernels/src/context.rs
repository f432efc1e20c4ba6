//! The instruction set that a kernel runs on, and how a job is run in the version that is compiled for it.

use crate::isa::Isa;
use crate::simd::{AffineWords, ByteTables, I32s, Job, Scalar, Simd};
#[cfg(target_arch = "x86_64")]
use crate::simd::{with_avx2, with_avx512};

/// The instruction set that kernels use. It is passed to every kernel call; there is no global state.
///
/// Kernels use the threads of the rayon pool in which the caller runs (`ThreadPool::install`). Work is only split by
/// tiles of the output, so the number of threads does not change any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    isa: Isa,
}

impl Context {
    /// A context with the best instruction set that this machine has.
    pub fn detect() -> Context {
        Context { isa: Isa::detect() }
    }

    /// Uses the given instruction set, or the best one that this machine has if it does not have the given one.
    pub fn with_isa(isa: Isa) -> Context {
        Context {
            isa: isa.min(Isa::detect()),
        }
    }

    /// The instruction set that kernels use with this context. The constructors make sure that the machine has it.
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// Returns the context with which code that is compiled for the instruction set `S` calls other kernels.
    ///
    /// # Safety
    /// The machine must have the instruction set `S`.
    #[inline(always)]
    pub(crate) unsafe fn of<S: Simd>() -> Context {
        Context { isa: S::ISA }
    }

    /// Computes `out = table[input]` for the first bytes, and returns how many were computed. There are none if the
    /// machine has no instruction for lookups, or this context does not use it.
    pub(crate) fn permuted(self, table: &[u8; 256], input: &[u8], out: &mut [u8]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.permutes() {
            // SAFETY: the machine has AVX-512 and VBMI.
            return unsafe { crate::simd::permuted(table, input, out) };
        }
        #[cfg(target_arch = "x86_64")]
        if self.isa != Isa::Scalar {
            // SAFETY: the field `isa` says AVX2 or more only if the machine has it.
            return unsafe { crate::simd::shuffled(table, input, out) };
        }
        let _ = (table, input, out);
        0
    }

    /// Computes the first sums of codes, and returns how many were computed. There are none if this context does not use
    /// AVX-512.
    pub(crate) fn affine_sums(self, words: &AffineWords, operands: [&[u8]; 2], out: &mut [u8]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.isa == Isa::Avx512 {
            // SAFETY: the field `isa` says AVX-512 only if the machine has it.
            return unsafe { crate::simd::affine_sums(words, operands, out) };
        }
        let _ = (words, operands, out);
        0
    }

    /// True if [`Context::permuted_sums`] computes sums.
    pub(crate) fn permutes(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.isa == Isa::Avx512 && std::arch::is_x86_feature_detected!("avx512vbmi");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Computes `sums = tables[0][a] + tables[1][b]`, if this context [`permutes`](Context::permutes).
    pub(crate) fn permuted_sums(self, tables: &[ByteTables; 2], operands: [&[u8]; 2], sums: &mut [i32]) {
        #[cfg(target_arch = "x86_64")]
        if self.permutes() {
            // SAFETY: the machine has AVX-512 and VBMI.
            unsafe { crate::simd::permuted_sums(tables, operands, sums) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (tables, operands, sums);
    }

    /// True if [`Context::run_on_vectors`] runs jobs.
    pub(crate) fn has_vectors(self) -> bool {
        cfg!(target_arch = "x86_64") && self.isa != Isa::Scalar
    }

    /// Runs a job on vectors of this context's instruction set. If the instruction set has no vectors, this does
    /// nothing and returns false.
    pub(crate) fn run_on_vectors<J: VectorJob>(self, job: J) -> bool {
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                // SAFETY: the field `isa` is private, and every constructor allows only an instruction set that the
                // machine has.
                unsafe { on_avx2_vectors(job) };
                true
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                // SAFETY: as above, the field says AVX-512 only if the machine has it.
                unsafe { on_avx512_vectors(job) };
                true
            }
            _ => {
                drop(job);
                false
            }
        }
    }

    /// Runs a job, in the version that is compiled for this context's instruction set.
    #[inline]
    pub(crate) fn run<J: Job>(self, job: J) -> J::Output {
        match self.isa {
            Isa::Scalar => job.run::<Scalar>(),
            // SAFETY: the field `isa` is private, and every constructor allows only an instruction set that the machine
            // has.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { with_avx2(job) },
            // SAFETY: as above, the field says AVX-512 only if the machine has it.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { with_avx512(job) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => job.run::<Scalar>(),
        }
    }
}

/// A loop nest that is written by hand with vectors of i32. Mark `run` and everything that it calls
/// `#[inline(always)]`.
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has vectors so far")
)]
pub(crate) trait VectorJob {
    /// Runs the job.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    unsafe fn run<V: I32s>(self);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn on_avx2_vectors<J: VectorJob>(job: J) {
    // SAFETY: this function enables AVX2, so it is only called on machines that have AVX2.
    unsafe { job.run::<std::arch::x86_64::__m256i>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn on_avx512_vectors<J: VectorJob>(job: J) {
    // SAFETY: this function enables AVX-512, so it is only called on machines that have AVX-512.
    unsafe { job.run::<std::arch::x86_64::__m512i>() }
}
