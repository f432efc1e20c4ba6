//! A quantization config: the scheme, state and grid of one operand or result.

use super::{params::QuantParams, port::Port, scheme::Scheme};
use crate::ids::{ConfigId, DataId, NodeId};
use crate::named::named;
use smallvec::SmallVec;
use std::sync::Arc;

named! {
    /// The state of a config. Only [`QuantTable::transition`](super::QuantTable::transition) changes it.
    State {
        /// The config has no grid yet.
        Initial = "initial",
        /// The config has a grid of its own.
        Activated = "activated",
        /// The config has no grid of its own. It reads the grid of another config, its dominator.
        Overlapped = "overlapped",
        /// The config's grid is derived from other grids.
        Passive = "passive",
        /// The config's grid will be derived from other grids, but some of these other grids do not exist yet.
        PassiveInitial = "passive_initial",
        /// The config belongs to a parameter that was converted to codes.
        Baked = "baked",
        /// The config belongs to a parameter that was converted to codes, and its grid is derived.
        PassiveBaked = "passive_baked",
        /// The operand or result is not quantized. The config's previous state is stored.
        Float = "float",
    }
}

named! {
    /// Who chose a grid.
    Origin {
        /// An observer chose it, from statistics or from the elements of a constant.
        Observed = "observed",
        /// A rule of the configuration states the range from which the grid was computed.
        Rule = "rule",
        /// The model or a calibration record states the grid. The grid is pinned: only another grid from the model or a
        /// calibration record can replace it.
        Given = "given",
        /// It is derived from the grids of other configs.
        Derived = "derived",
        /// An observer chose it, and it was made coarser afterwards.
        Coarsened = "coarsened",
    }
}

/// Scale and zero point, and who chose them.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Scale and zero point.
    pub params: Arc<QuantParams>,
    /// Who chose scale and zero point.
    pub origin: Origin,
}

impl Grid {
    /// Makes a grid, with the information who chose it.
    pub fn new(params: impl Into<Arc<QuantParams>>, origin: Origin) -> Grid {
        Grid {
            params: params.into(),
            origin,
        }
    }
}

/// How the grid of a passive config is derived from other grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// The grid is that of another config.
    Same(ConfigId),
    /// The scale is the product of the scales of two configs, and the zero point is 0. This is the grid of an
    /// accumulator and of the bias that is added to it. The first config has one scale; the second may have one for
    /// each channel.
    Product(ConfigId, ConfigId),
    /// The grid of another config's codes after a right shift by this number of bits. The scale is multiplied by
    /// 2^bits, and the zero point is divided by 2^bits. So the other config's zero point must be a multiple of 2^bits.
    Shifted(ConfigId, u8),
}

impl Derivation {
    /// Returns the configs from whose grids this grid is derived.
    pub fn masters(self) -> impl Iterator<Item = ConfigId> {
        let masters = match self {
            Derivation::Same(master) | Derivation::Shifted(master, _) => [Some(master), None],
            Derivation::Product(first, second) => [Some(first), Some(second)],
        };
        masters.into_iter().flatten()
    }
}

named! {
    /// Who chose the codes of a parameter.
    CodesOrigin {
        /// Each element was rounded to the nearest code.
        Rounded = "rounded",
        /// An optimisation chose the codes from samples. If the grid changes, the codes are made anew.
        Optimised = "optimised",
        /// The model or a calibration record gives the codes. Then the codes cannot change, and neither can the grids
        /// on which they depend.
        Given = "given",
    }
}

/// The constant with the codes of a parameter. It has the shape of the parameter and the type of the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterCodes {
    /// The constant with the codes.
    pub data: DataId,
    /// Who chose the codes.
    pub origin: CodesOrigin,
}

/// The quantization of one operand or result of a node, or of one input or output of the graph.
#[derive(Clone, Debug)]
pub struct QuantConfig {
    /// The node, or [`NodeId::OUTSIDE`] for an input or output of the graph.
    pub node: NodeId,
    /// The operand or result of the node, or the input or output of the graph.
    pub port: Port,
    /// Policy, type, range and rounding.
    pub scheme: Scheme,
    /// The config's own grid. If the config is the root of a set, all configs of the set read this grid.
    pub(super) own: Option<Grid>,
    /// How the grid is derived, if the state is passive or passive baked.
    pub(super) derivation: Option<Derivation>,
    pub(super) state: State,
    /// The state before the config was excluded from quantization. `Restore` returns to it.
    pub(super) stored: State,
    /// The codes of a parameter, in the states baked and passive baked. If the model or a calibration record gives the
    /// codes, they are here in earlier states, too.
    pub(super) codes: Option<ParameterCodes>,
    /// The configs whose grids determine the codes, including this config. Empty without codes.
    pub(super) holds: SmallVec<[ConfigId; 1]>,
    /// The number of parameters with codes that depend on this config's grid. The grid cannot change unless this is 0.
    pub(super) held: u32,
    /// True if the config was removed from the table. Its id is never used again.
    pub(super) withdrawn: bool,
}

/// A request to change the state of a config.
#[derive(Clone, Debug)]
pub enum Move {
    /// Give this grid to the config.
    Activate(Grid),
    /// Let the config read another config's grid.
    DominatedBy(ConfigId),
    /// Derive the config's grid from other grids.
    MasteredBy(Derivation),
    /// Store codes that the model or a calibration record gives for the parameter. `Bake` then uses these codes.
    Give(DataId),
    /// Record the codes to which the parameter was converted, by rounding each element.
    Bake(DataId),
    /// Record the codes to which an optimisation converted the parameter.
    Choose(DataId),
    /// Undo `Bake` or `Choose`. Codes that the model or a calibration record gives are kept.
    Unbake,
    /// Exclude the config from quantization.
    Dequantize,
    /// Undo `Dequantize`: return to the previous state.
    Restore,
    /// Remove the config's grid.
    Reset,
}

impl Move {
    /// Returns the name of the state that the request leads to, for error messages.
    pub(super) fn target(&self) -> &'static str {
        match self {
            Move::Activate(_) => "activated",
            Move::DominatedBy(_) => "overlapped",
            Move::MasteredBy(_) => "passive",
            Move::Give(_) => "one of given codes",
            Move::Bake(_) | Move::Choose(_) => "baked",
            Move::Unbake => "what it was before it was baked",
            Move::Dequantize => "float",
            Move::Restore => "what it was before",
            Move::Reset => "initial",
        }
    }
}
