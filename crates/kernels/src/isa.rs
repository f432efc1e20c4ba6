//! Instruction sets.

/// The instruction set that a kernel runs on. It never changes a bit of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Only the instructions that the compiler may use on every machine of this architecture. Fused multiply-adds may
    /// become calls of the C library, which are correct but slow.
    Scalar,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and VNNI. A machine that has AVX-512 without VNNI uses `Avx2`.
    Avx512,
}

impl Isa {
    /// The best instruction set that this machine has.
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

    /// Every instruction set that this machine has, beginning with the simplest.
    pub fn available() -> impl Iterator<Item = Isa> {
        let best = Isa::detect();
        [Isa::Scalar, Isa::Avx2, Isa::Avx512]
            .into_iter()
            .filter(move |&isa| isa <= best)
    }

    /// The name of the instruction set in reports and after `--isa`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Scalar => "scalar",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512-vnni",
        }
    }
}
