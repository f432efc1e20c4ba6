//! The rules over the float graph.
//!
//! A rule looks at one node and answers with a patch, a reason, or nothing ([`strait_core::Outcome`]); it never changes
//! anything itself. [`canonical`] is the set that every model goes through before anything is observed, and is free of
//! any target; [`of_target`] is the set for those that a target's table switches on, and [`on_grids`] for those of them that
//! look at final grids. [`for_runtimes`] is the set for the Q/DQ file. `docs/rules.md` lists them, made from the documentation of the files in [`rules`].

mod blocks;
mod matching;
mod pattern;
mod permute;
mod product;
mod region;
mod rounding;
mod rows;
pub mod rules;
mod view;

use std::collections::BTreeSet;
use strait_core::{Rule, RuleSet};
use strait_target::spec::FloatRule;

/// The rules that make a graph canonical, in the order in which they are tried at a node.
///
/// Behind them: no identity and no constant subexpression is left, batch normalization is part of its producer where that
/// is a product, every product with a constant matrix is a `gemm` whose weights are [outputs, inputs], and functions that
/// exporters take apart (silu, gelu, mish, hard swish, PReLU with one slope, layer normalization) are one node again.
pub fn canonical() -> RuleSet {
    RuleSet::new(for_all())
}

/// The rules that a target's table switches on, in front of those for every target: what a rule of the target makes is
/// canonical, too. What makes the opposite of it is left out, and so is what looks at grids: see [`on_grids`].
pub fn of_target(switched_on: &[FloatRule]) -> RuleSet {
    let own = switched_on.iter().filter(|&&word| !is_on_grids(word));
    let own = own.map(|&word| rule(word));
    let opposite = |other: &dyn Rule| switched_on.iter().any(|&word| opposite(word) == Some(other.name()));
    let others = for_all().into_iter().filter(|other| !opposite(other.as_ref()));
    RuleSet::new(own.chain(others).collect())
}

/// The names of all rules, as configurations and reports speak of them.
pub fn names() -> BTreeSet<&'static str> {
    every().map(|rule| rule.name()).collect()
}

/// The names of the rules that take a layer into another one.
pub fn fusions() -> BTreeSet<&'static str> {
    every()
        .filter(|rule| rule.is_fusion())
        .map(|rule| rule.name())
        .collect()
}

fn every() -> impl Iterator<Item = Box<dyn Rule>> {
    let of_targets = FloatRule::ALL.iter().map(|&word| rule(word));
    for_all().into_iter().chain(of_targets).chain(of_runtimes())
}

/// The rules that a target's table switches on for the graph that is written, in which values are quantized on their final grids.
pub fn on_grids(switched_on: &[FloatRule]) -> RuleSet {
    let own = switched_on.iter().filter(|&&word| is_on_grids(word));
    RuleSet::new(own.map(|&word| rule(word)).collect())
}

/// The rules for the Q/DQ file, which other runtimes read. They compute the same numbers.
pub fn for_runtimes() -> RuleSet {
    RuleSet::new(of_runtimes())
}

fn of_runtimes() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(rules::RoundingBeforeClamp),
        Box::new(rules::RoundingBeforeConcat),
        Box::new(rules::BoundsBehindGrid),
        Box::new(rules::BoundBeforeWideGrid),
    ]
}

fn is_on_grids(word: FloatRule) -> bool {
    word == FloatRule::Relu6ToRelu
}

fn for_all() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(rules::DeadNode),
        Box::<rules::FoldConstants>::default(),
        Box::new(rules::WithoutElements),
        Box::new(rules::RemoveIdentity),
        Box::new(rules::MergeReshapes),
        Box::new(rules::MergeTransposes),
        Box::new(rules::TransposeToReshape),
        Box::new(rules::CancelTransposes),
        Box::new(rules::ClampBeforeMove),
        Box::new(rules::GatherToSlice),
        Box::new(rules::CanonicalGemm),
        Box::new(rules::MatMulToGemm),
        Box::new(rules::BranchesToGroupedConv),
        Box::new(rules::BatchNormalizationSpelledOut),
        Box::new(rules::BatchNormalizationIntoProducer),
        Box::new(rules::BatchNormalizationIntoBranches),
        Box::new(rules::ConstantsIntoBatchNormalization),
        Box::new(rules::ScalarIntoProducer),
        Box::new(rules::FactorsIntoProducer),
        Box::new(rules::BatchNormalizationIntoReader),
        Box::new(rules::ConvTransposeToConv),
        Box::new(rules::DilatedConv),
        Box::new(rules::BiasIntoProducer),
        Box::new(rules::PadIntoConv),
        Box::new(rules::TakenApart),
        Box::new(rules::PRelu),
        Box::new(rules::LayerNormalization),
        Box::new(rules::RmsNormalization),
        Box::new(rules::AffineIntoNormalization),
        Box::new(rules::SoftmaxTakenApart),
        Box::new(rules::SumToMean),
        Box::new(rules::ExpandIntoReader),
        Box::new(rules::ConcatWithoutEmpty),
        Box::new(rules::DivisionToMultiplication),
        Box::new(rules::SquareToMultiplication),
    ]
}

fn rule(word: FloatRule) -> Box<dyn Rule> {
    match word {
        FloatRule::AveragePoolToConv => Box::new(rules::AveragePoolToConv),
        FloatRule::BatchNormalizationToConv => Box::new(rules::BatchNormalizationToConv),
        FloatRule::Relu6ToRelu => Box::new(rules::Relu6ToRelu),
        FloatRule::SiluToSigmoid => Box::new(rules::SiluToSigmoid),
    }
}

/// The rule for every target that would undo one of a target.
fn opposite(word: FloatRule) -> Option<&'static str> {
    match word {
        FloatRule::AveragePoolToConv | FloatRule::BatchNormalizationToConv | FloatRule::Relu6ToRelu => None,
        FloatRule::SiluToSigmoid => Some("function"),
    }
}
