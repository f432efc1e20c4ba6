//! Settings of one layer, value or operand. What they do not say, the defaults do.

use crate::observers::ObserverChoice;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use strait_target::spec::{Activation, Alignment, Integer, Observer, WeightPer};

/// Settings of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerSettings {
    /// Positions of the rules that made it, in rising order.
    pub rules: Vec<usize>,
    /// Where it runs. None: where it serves best.
    pub run: Option<Run>,
    /// The type of the activations that it computes on.
    pub activation: Option<Activation>,
    /// Grids of these activations.
    pub grid: GridSettings,
    /// Its weights.
    pub weights: WeightSettings,
    /// Which grid its operands and results share.
    pub alignment: Option<Alignment>,
    /// True if its results are made on the grid that all readers agree on.
    pub simplify: Option<bool>,
}

/// Settings of the weights of one layer, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightSettings {
    /// Their type.
    pub ty: Option<Integer>,
    /// Their grid.
    pub grid: GridSettings,
    /// Granularity of their scales, as far as the op's row and their type have it.
    pub per: Option<WeightPer>,
    /// Inputs that share a scale, where scales are by block.
    pub block: Option<NonZeroU32>,
    /// Neighbouring outputs that share a scale, where scales are by channel.
    pub ties: Option<NonZeroU32>,
    /// The observer of their ranges.
    pub observer: Option<ObserverChoice>,
    /// Choice where a bias or a scale does not fit.
    pub unfit: Option<Unfit>,
}

/// Settings of one value, as it leaves the node that makes it, or the host that hands it over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueSettings {
    /// Positions of the rules that made it, in rising order.
    pub rules: Vec<usize>,
    /// Its type, where the node has that.
    pub ty: Option<Integer>,
    /// The source of its range.
    pub range: Option<RangeFrom>,
    /// Its grid.
    pub grid: GridSettings,
}

/// Settings of one operand. One with a range of its own has a grid of its own; other readers of its value do not see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperandSettings {
    /// Positions of the rules that made it, in rising order.
    pub rules: Vec<usize>,
    /// The source of its range.
    pub range: Option<RangeFrom>,
    /// Its grid. Where operands and results share a grid, this is for all of them.
    pub grid: GridSettings,
}

/// Kind of the grids of some codes, as far as the target's table leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GridSettings {
    /// True: the zero point is 0, though the table may have others. False: it need not be.
    pub symmetric: Option<bool>,
    /// True: scales are powers of two, though the table has others. False: they need not be.
    pub power_of_two: Option<bool>,
}

impl GridSettings {
    /// True if nothing is said.
    pub fn is_none(&self) -> bool {
        *self == GridSettings::default()
    }

    /// Key by key, what `self` does not say as `other` does.
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
    /// On the host, and why.
    Float(String),
    /// On the accelerator, also where it would serve better on the host; or an error.
    Integer,
}

/// Consequence where a bias or a scale of weights does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unfit {
    /// The scale of the channel's weights is raised until it fits; the report names the channel and the factor.
    #[default]
    Coarser,
    /// The layer runs in float, on the host, and the report warns of it.
    Float,
    /// The compilation fails; it names the layer and the channel.
    Error,
}

/// Source of the range of a value or an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum RangeFrom {
    /// A rule says it: smallest and largest number. No statistics override it.
    Rule([f32; 2]),
    /// It is that of the grid that the model has, which the target cannot have.
    Grid([f32; 2]),
    /// It is made from what was observed.
    Observer(ObserverChoice),
}

impl RangeFrom {
    /// True if it is made from the largest elements along an axis, which are observed where that is asked for.
    pub(crate) fn is_ranked(&self) -> bool {
        matches!(self, RangeFrom::Observer(choice) if choice.observer == Observer::Isotone)
    }
}
