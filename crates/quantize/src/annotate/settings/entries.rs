//! Settings of one layer, value or operand. Where a setting is not made, the default applies.

use super::Exact;
use crate::observers::ObserverChoice;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::sync::Arc;
use strait_target::spec::{Activation, Alignment, Integer, Observer, WeightPer};

/// The settings of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerSettings {
    /// The indices of the rules that set something for the layer, in ascending order.
    pub rules: Vec<usize>,
    /// Where the layer runs. If `None`, the compiler chooses.
    pub run: Option<Run>,
    /// The type of the activations that the layer computes on.
    pub activation: Option<Activation>,
    /// The kind of grid for the activations that the layer computes on.
    pub grid: GridSettings,
    /// The settings of the layer's weights.
    pub weights: WeightSettings,
    /// Which grid the operands and results of the layer share.
    pub alignment: Option<Alignment>,
    /// True if the layer stores a result directly on the grid that all readers of the result want.
    pub simplify: Option<bool>,
}

/// The settings of the weights of one layer, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightSettings {
    /// The type of the weights.
    pub ty: Option<Integer>,
    /// The kind of grid for the weights.
    pub grid: GridSettings,
    /// The granularity of the scales. It is used if the op's row and the type of the weights support it.
    pub per: Option<WeightPer>,
    /// How many inputs share a scale, if scales are per block.
    pub block: Option<NonZeroU32>,
    /// How many neighbouring output channels share a scale, if scales are per channel.
    pub ties: Option<NonZeroU32>,
    /// The observer for the ranges of the weights.
    pub observer: Option<ObserverChoice>,
    /// What happens if a bias does not fit, or if a scale has to be larger than the weights need.
    pub unfit: Option<Unfit>,
}

/// The settings of one value. They apply to the codes that the producer of the value stores. If the value is an input,
/// they apply to the codes to which the host converts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueSettings {
    /// The indices of the rules that set something for the value, in ascending order.
    pub rules: Vec<usize>,
    /// The type of the value. It is used if the node that makes the value supports it.
    pub ty: Option<Integer>,
    /// Where the range of the value comes from.
    pub range: Option<RangeFrom>,
    /// Scale and zero point, if a file of parameters gives them. Statistics do not change them, and a range that a rule
    /// gives wins over them.
    pub exact: Option<Arc<Exact>>,
    /// The kind of grid for the value.
    pub grid: GridSettings,
}

/// The settings of one operand. If an operand has a range of its own, it has a grid of its own, and other readers of
/// its value are not affected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperandSettings {
    /// The indices of the rules that set something for the operand, in ascending order.
    pub rules: Vec<usize>,
    /// Where the range of the operand comes from.
    pub range: Option<RangeFrom>,
    /// Scale and zero point, if a file of parameters gives them for this operand and not for its value.
    pub exact: Option<Arc<Exact>>,
    /// The kind of grid for the operand. If the operands and results of the node share a grid, this setting applies to
    /// all of them.
    pub grid: GridSettings,
}

/// The kind of grid for some codes. These settings only matter where the target's table allows a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridSettings {
    /// If true, the zero point is 0, even if the table allows other zero points. If false, other zero points are
    /// possible.
    pub symmetric: Option<bool>,
    /// If true, scales are powers of two, even if the table allows other scales. If false, other scales are possible.
    pub power_of_two: Option<bool>,
}

impl GridSettings {
    /// True if neither setting is made.
    pub fn is_none(&self) -> bool {
        *self == GridSettings::default()
    }

    /// Takes from `other` each setting that is not made in `self`.
    #[must_use]
    pub(crate) fn or(self, other: GridSettings) -> GridSettings {
        GridSettings {
            symmetric: self.symmetric.or(other.symmetric),
            power_of_two: self.power_of_two.or(other.power_of_two),
        }
    }
}

/// Where a node runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Run {
    /// On the host, with the reason.
    Float(String),
    /// On the accelerator, even if the node would be better off on the host. If it cannot run there, compilation fails.
    Integer,
}

/// What happens if a bias or a scale of weights does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unfit {
    /// The scale of the channel's weights is raised as far as necessary. The report names the channel and the factor.
    #[default]
    Coarser,
    /// The layer runs in float on the host, and the report warns about it.
    Float,
    /// The compilation fails. The error names the layer and the channel.
    Error,
}

/// Where the range of a value or an operand comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum RangeFrom {
    /// A rule gives the range: the smallest and the largest number. Statistics do not change it.
    Rule([f32; 2]),
    /// The range of the model's own grid, which the target does not support.
    Grid([f32; 2]),
    /// An observer makes the range from the statistics.
    Observer(ObserverChoice),
}

impl RangeFrom {
    /// True if the range is computed from the largest elements along an axis. Statistics of these elements are
    /// collected only on request.
    pub(crate) fn is_ranked(&self) -> bool {
        matches!(self, RangeFrom::Observer(choice) if choice.observer == Observer::Isotone)
    }
}
