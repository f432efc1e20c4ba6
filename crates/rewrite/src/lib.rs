//! The rewrite rules for the float graph.
//!
//! A rule looks at one node and returns a patch, a reason why the rule does not apply, or no match
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
mod miss;
mod pattern;
mod permute;
mod product;
mod region;
mod rounding;
mod rows;
mod rule;
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
/// - Every matrix product with a constant matrix is a `gemm` with weights [outputs, inputs].
/// - Functions that exporters write as several nodes (silu, gelu, mish, hard swish, PReLU with one slope, layer
///   normalization) are one node again.
pub fn canonical() -> RuleSet {
    RuleSet::new(for_all())
}

/// The rules that a target's table switches on, followed by the rules for every target. So the results of the target's
/// rules become canonical too. A rule for every target is left out if it would undo one of the target's rules. Rules
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
        Box::new(rules::rounding_before_clamp::RULE),
        Box::new(rules::rounding_before_concat::RULE),
        Box::new(rules::bounds_behind_grid::RULE),
        Box::new(rules::bound_before_wide_grid::RULE),
    ]
}

fn is_on_grids(word: FloatRule) -> bool {
    word == FloatRule::Relu6ToRelu
}

fn for_all() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(rules::dead_node::RULE),
        Box::<rules::fold_constants::FoldConstants>::default(),
        Box::new(rules::without_elements::RULE),
        Box::new(rules::remove_identity::RULE),
        Box::new(rules::merge_reshapes::RULE),
        Box::new(rules::merge_transposes::RULE),
        Box::new(rules::transpose_to_reshape::RULE),
        Box::new(rules::cancel_transposes::RULE),
        Box::new(rules::clamp_before_move::RULE),
        Box::new(rules::gather_to_slice::RULE),
        Box::new(rules::canonical_gemm::RULE),
        Box::new(rules::matmul_to_gemm::RULE),
        Box::new(rules::branches_to_grouped_conv::RULE),
        Box::new(rules::batch_normalization_spelled_out::RULE),
        Box::new(rules::batch_normalization_into_producer::RULE),
        Box::new(rules::batch_normalization_into_branches::RULE),
        Box::new(rules::constants_into_batch_normalization::RULE),
        Box::new(rules::scalar_into_producer::RULE),
        Box::new(rules::factors_into_producer::RULE),
        Box::new(rules::batch_normalization_into_reader::RULE),
        Box::new(rules::conv_transpose_to_conv::RULE),
        Box::new(rules::dilated_conv::RULE),
        Box::new(rules::bias_into_producer::RULE),
        Box::new(rules::pad_into_conv::RULE),
        Box::new(rules::reversed_channels_into_conv::RULE),
        Box::new(rules::function::RULE),
        Box::new(rules::prelu::RULE),
        Box::new(rules::layer_normalization::RULE),
        Box::new(rules::rms_normalization::RULE),
        Box::new(rules::affine_into_normalization::RULE),
        Box::new(rules::softmax_taken_apart::RULE),
        Box::new(rules::sum_to_mean::RULE),
        Box::new(rules::expand_into_reader::RULE),
        Box::new(rules::concat_without_empty::RULE),
        Box::new(rules::division_to_multiplication::RULE),
        Box::new(rules::square_to_multiplication::RULE),
    ]
}

fn rule(word: FloatRule) -> Box<dyn Rule> {
    match word {
        FloatRule::AveragePoolToConv => Box::new(rules::average_pool_to_conv::RULE),
        FloatRule::BatchNormalizationToConv => Box::new(rules::batch_normalization_to_conv::RULE),
        FloatRule::Relu6ToRelu => Box::new(rules::relu6_to_relu::RULE),
        FloatRule::SiluToSigmoid => Box::new(rules::silu_to_sigmoid::RULE),
    }
}

/// The rule for every target that would undo the rule `word` of a target, if there is one.
fn opposite(word: FloatRule) -> Option<&'static str> {
    match word {
        FloatRule::AveragePoolToConv | FloatRule::BatchNormalizationToConv | FloatRule::Relu6ToRelu => None,
        FloatRule::SiluToSigmoid => Some("function"),
    }
}
