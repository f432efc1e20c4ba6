//! The rules over the float graph.
//!
//! A rule looks at one node and answers with a patch, a reason, or nothing ([`strait_core::Outcome`]); it never changes
//! anything itself. [`canonical`] is the set that every model goes through before anything is observed, and is free of
//! any target. `docs/rules.md` lists them, made from the documentation of the files in [`rules`].

mod matching;
pub mod rules;

use strait_core::{Rule, RuleSet};

/// The rules that make a graph canonical, in the order in which they are tried at a node.
///
/// Behind them: no identity and no constant subexpression is left, batch normalization is part of its producer, every
/// product with a constant matrix is a `gemm` whose weights are [outputs, inputs], and functions that exporters take
/// apart (silu, gelu, mish, hard swish, layer normalization) are one node again.
pub fn canonical() -> RuleSet {
    let rules: Vec<Box<dyn Rule>> = vec![
        Box::new(rules::DeadNode),
        Box::<rules::FoldConstants>::default(),
        Box::new(rules::RemoveIdentity),
        Box::new(rules::MergeReshapes),
        Box::new(rules::MergeTransposes),
        Box::new(rules::CanonicalGemm),
        Box::new(rules::MatMulToGemm),
        Box::new(rules::BatchNormalizationIntoProducer),
        Box::new(rules::BatchNormalizationToConv),
        Box::new(rules::BiasIntoProducer),
        Box::new(rules::PadIntoConv),
        Box::new(rules::TakenApart),
        Box::new(rules::LayerNormalization),
    ];
    RuleSet::new(rules)
}
