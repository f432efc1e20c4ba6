//! Cases for the keys of `[passes]`.

use super::super::Effect::{Bits, Error, Placement};
use super::{Case, case, given};

pub(super) const CASES: &[Case] = &[
    // A sum and its ReLU before a pool on the host.
    given(
        "passes.computing",
        Placement,
        &[(
            "[op.max_pool]\nrecipe = \"max_pool\"",
            "[op.max_pool]\nrun = \"host\"\nwhy = \"why C\"",
        )],
        &[(
            "[\"conv\", \"gemm\", \"matmul\"]",
            "[\"conv\", \"gemm\", \"matmul\", \"add\"]",
        )],
    ),
    case(
        "passes.passive",
        Bits,
        &[("[\"max_pool\", \"reshape\"]", "[\"global_average_pool\"]")],
    ),
    case("passes.activation", Bits, &[("[\"relu\", \"clip\"]\n\n", "[]\n\n")]),
    case(
        "passes.alignment.activation",
        Bits,
        &[("activation    = \"output\"", "activation    = \"none\"")],
    ),
    case(
        "passes.alignment.elementwise",
        Bits,
        &[("elementwise   = \"none\"", "elementwise   = \"output\"")],
    ),
    case(
        "passes.alignment.concat",
        Error,
        &[("concat        = \"output\"", "concat        = \"least\"")],
    ),
    case(
        "passes.alignment.pooling",
        Bits,
        &[("pooling       = \"none\"", "pooling       = \"input\"")],
    ),
    case(
        "passes.alignment.resize",
        Error,
        &[("resize        = \"none\"", "resize        = \"least\"")],
    ),
    given(
        "passes.alignment.passive",
        Bits,
        &[("[\"max_pool\", \"reshape\"]", "[\"global_average_pool\"]")],
        &[("passive       = \"input\"", "passive       = \"none\"")],
    ),
    case(
        "passes.alignment.simplify",
        Bits,
        &[("simplify      = true", "simplify      = false")],
    ),
    given(
        "passes.alignment.force_overlap",
        Bits,
        &[("elementwise   = \"none\"", "elementwise   = \"output\"")],
        &[("force_overlap = false", "force_overlap = true")],
    ),
];
