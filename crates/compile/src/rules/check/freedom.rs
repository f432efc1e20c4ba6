//! Checks whether the target allows the kinds of grids that rules choose: zero points other than 0, scales that are not
//! powers of two, and weight scales that are powers of two. The last kind is not allowed if the target derives weight
//! scales from other scales.

use std::collections::BTreeSet;

use strait_document::KeyPath;
use strait_target::{
    TargetSpec,
    spec::{Integer, Pair, Recipe, ScaleSet},
};

use super::{
    super::{Activations, RuleError, Weights},
    Side,
};

/// A kind of grid that a rule may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Freedom {
    /// Zero points other than 0.
    ZeroPoints,
    /// Scales that are not powers of two.
    Scales,
    /// Scales of weights that are powers of two.
    Powers,
}

/// The kinds of grids that the settings of activations and weights choose.
pub(super) fn freedoms(activations: &Activations, weights: &Weights) -> Vec<(Freedom, Side)> {
    let of = |side: Side, symmetric: Option<bool>, scale: Option<ScaleSet>| {
        let zeros = (symmetric == Some(false)).then_some(Freedom::ZeroPoints);
        let scales = match scale {
            Some(ScaleSet::Any) => Some(Freedom::Scales),
            Some(ScaleSet::PowerOfTwo) if side == Side::Weights => Some(Freedom::Powers),
            _ => None,
        };
        zeros.into_iter().chain(scales).map(move |freedom| (freedom, side))
    };
    let activations = of(Side::Activations, activations.symmetric, activations.scale);
    activations
        .chain(of(Side::Weights, weights.symmetric, weights.scale))
        .collect()
}

impl Freedom {
    /// The key with which a rule chooses this kind of grid.
    pub(super) fn key(self) -> &'static str {
        match self {
            Freedom::ZeroPoints => "symmetric",
            Freedom::Scales | Freedom::Powers => "scale",
        }
    }

    /// True if the target allows the choice for codes of type `t`.
    pub(super) fn is_left(self, spec: &TargetSpec, side: Side, t: Integer) -> bool {
        let (symmetric, scale) = match side {
            Side::Activations => (spec.types.activation(t).symmetric, spec.types.activation(t).scale),
            Side::Weights => (spec.types.weight(t).symmetric, spec.types.weight(t).scale),
        };
        match self {
            Freedom::ZeroPoints => !symmetric,
            Freedom::Scales => scale == ScaleSet::Any,
            Freedom::Powers => scale == ScaleSet::PowerOfTwo || !makes_scales(spec),
        }
    }

    /// The error if the target does not allow the choice for codes of type `t`.
    pub(super) fn denied(
        self,
        key: KeyPath,
        spec: &TargetSpec,
        (side, t): (Side, Integer),
        pairs: &[Pair],
    ) -> RuleError {
        let (what, id) = (side.name(), &spec.id);
        let (message, instead) = match self {
            Freedom::ZeroPoints => (
                format!("the zero points of {t} {what} are 0 in the target `{id}`"),
                "leave it out, or write true",
            ),
            Freedom::Scales => (
                format!("the scales of {t} {what} are powers of two in the target `{id}`"),
                "leave it out, or write \"power_of_two\"",
            ),
            Freedom::Powers => (
                format!("the target `{id}` makes the scales of weights from those of activations"),
                "leave it out, or write \"any\"",
            ),
        };
        let types: BTreeSet<Integer> = pairs.iter().filter_map(|&pair| side.of(pair)).collect();
        let others = types.into_iter().filter(|&t| self.is_left(spec, side, t));
        let others: Vec<&str> = others.map(Integer::name).collect();
        RuleError::unsupported(key, message).help(match others.is_empty() {
            true => instead.to_owned(),
            false => format!(
                "{instead}, or choose a type of {what} that has others: {}",
                others.join(", ")
            ),
        })
    }
}

/// True if the target derives scales of weights from other scales. It does so if accumulators are requantized by a
/// shift alone, or if two accumulators need the same grid.
fn makes_scales(spec: &TargetSpec) -> bool {
    let mut rows = spec.op.values();
    rows.any(|row| row.leaves_a_shift() || row.recipe == Some(Recipe::AddShifted))
}
