//! The rewrite rules for the float graph.
//!
//! A rule looks at one node and returns a patch, a reason why it does not apply, or no match
//! ([`strait_core::Outcome`]). A rule never changes the graph itself. The sets of rules are:
//! - [`canonical`]: rules that are applied to every model before anything is observed. They are the same for every
//!   target.
//! - [`of_target`]: rules that a target's table switches on.
//! - [`on_grids`]: those rules of a target that depend on final grids.
//! - [`for_runtimes`]: rules for the Q/DQ file.
//!
//! `docs/rules.md` lists all rules. It is generated from the documentation of the files in [`rules`].

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

/// The rules that bring a graph into canonical form, in the order in which they are tried at a node.
///
/// After these rules, the graph has the following properties:
/// - There are no identities and no constant subexpressions.
/// - Batch normalization is folded into the op before it if that is a convolution, transposed convolution or gemm.
/// - Every product with a constant matrix is a `gemm` with weights [outputs, inputs].
/// - Functions that exporters write as several nodes (silu, gelu, mish, hard swish, PReLU with one slope, layer
///   normalization) are one node again.
pub fn canonical() -> RuleSet {
    RuleSet::new(for_all())
}

/// The rules that a target's table switches on, followed by the rules for every target. So the results of the target's
/// rules become canonical too. If a rule for every target would undo one of the target's rules, it is left out. Rules
/// that depend on grids are left out too: see [`on_grids`].
pub fn of_target(switched_on: &[FloatRule]) -> RuleSet {
    let own = switched_on.iter().filter(|&&word| !is_on_grids(word));
    let own = own.map(|&word| rule(word));
    let opposite = |other: &dyn Rule| switched_on.iter().any(|&word| opposite(word) == Some(other.name()));
    let others = for_all().into_iter().filter(|other| !opposite(other.as_ref()));
    RuleSet::new(own.chain(others).collect())
}

/// The names of all rules, as they appear in configurations and reports.
pub fn names() -> BTreeSet<&'static str> {
    every().map(|rule| rule.name()).collect()
}

/// The names of the rules that fold a layer into another one.
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

/// The rules that a target's table switches on for the exported graph. In this graph, values are quantized on their
/// final grids.
pub fn on_grids(switched_on: &[FloatRule]) -> RuleSet {
    let own = switched_on.iter().filter(|&&word| is_on_grids(word));
    RuleSet::new(own.map(|&word| rule(word)).collect())
}

/// The rules for the Q/DQ file, which other runtimes read. They do not change the numbers.
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

/// The rule for every target that would undo the rule `word` of a target, if there is one.
fn opposite(word: FloatRule) -> Option<&'static str> {
    match word {
        FloatRule::AveragePoolToConv | FloatRule::BatchNormalizationToConv | FloatRule::Relu6ToRelu => None,
        FloatRule::SiluToSigmoid => Some("function"),
    }
}
