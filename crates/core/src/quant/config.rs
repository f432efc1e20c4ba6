//! A quantization config: the scheme, state and grid of one operand or result.

use super::{params::QuantParams, port::Port, scheme::Scheme};
use crate::ids::{ConfigId, DataId, NodeId};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The state of a config. Only [`QuantTable::transition`](super::QuantTable::transition) changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The config has no grid yet.
    Initial,
    /// The config has a grid of its own.
    Activated,
    /// The config reads the grid of another one, which dominates it.
    Overlapped,
    /// The config's grid is derived from other grids.
    Passive,
    /// The config's grid will be derived from other grids, which do not exist yet.
    PassiveInitial,
    /// The parameter was turned into integers.
    Baked,
    /// A passive parameter was turned into integers.
    PassiveBaked,
    /// The operand or result is not quantized. The previous state of the config is kept.
    Float,
}

impl State {
    /// All states.
    pub const ALL: [State; 8] = [
        State::Initial,
        State::Activated,
        State::Overlapped,
        State::Passive,
        State::PassiveInitial,
        State::Baked,
        State::PassiveBaked,
        State::Float,
    ];

    /// The name in text forms and messages.
    pub fn name(self) -> &'static str {
        match self {
            State::Initial => "initial",
            State::Activated => "activated",
            State::Overlapped => "overlapped",
            State::Passive => "passive",
            State::PassiveInitial => "passive_initial",
            State::Baked => "baked",
            State::PassiveBaked => "passive_baked",
            State::Float => "float",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a grid comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An observer, from statistics or from the elements of a constant.
    Observed,
    /// From a range that a rule of the configuration states.
    Rule,
    /// From the model, or from a record. It is pinned: only another given grid can change it.
    Given,
    /// Derived from the grids of other configs.
    Derived,
    /// From an observer, but made coarser afterwards.
    Coarsened,
}

impl Origin {
    /// All origins.
    pub const ALL: [Origin; 5] = [
        Origin::Observed,
        Origin::Rule,
        Origin::Given,
        Origin::Derived,
        Origin::Coarsened,
    ];

    /// The name in text forms and reports.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Observed => "observed",
            Origin::Rule => "rule",
            Origin::Given => "given",
            Origin::Derived => "derived",
            Origin::Coarsened => "coarsened",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Scale and zero point, and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Scale and zero point.
    pub params: Arc<QuantParams>,
    /// Where scale and zero point come from.
    pub origin: Origin,
}

impl Grid {
    /// A grid with its origin.
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
    /// The scale is the product of two scales, and the zero point is 0. This is the grid of an accumulator, and of the
    /// bias that is added to it. The first config has one scale; the second may have one for each channel.
    Product(ConfigId, ConfigId),
    /// The grid is that of another config with this number of low bits removed: the scale is 2^bits times as large, and
    /// the zero point, a multiple of 2^bits, is divided by that. A plain shift converts codes.
    Shifted(ConfigId, u8),
}

impl Derivation {
    /// The configs that the grid is derived from.
    pub fn masters(self) -> impl Iterator<Item = ConfigId> {
        let masters = match self {
            Derivation::Same(master) | Derivation::Shifted(master, _) => [Some(master), None],
            Derivation::Product(first, second) => [Some(first), Some(second)],
        };
        masters.into_iter().flatten()
    }
}

/// The codes of a parameter. They are a constant of the module, with the parameter's shape and the scheme's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterCodes {
    /// The constant that has the codes.
    pub data: DataId,
    /// True if the codes come from the model, or from a record. They are then pinned, and so are all grids that they
    /// depend on.
    pub given: bool,
}

/// The quantization of one operand or result of a node, or of one input or output of the graph.
#[derive(Clone, Debug)]
pub struct QuantConfig {
    /// The node, or [`NodeId::OUTSIDE`] for an input or output of the graph.
    pub node: NodeId,
    /// Which operand, result, input or output it is.
    pub port: Port,
    /// Policy, type, range and rounding.
    pub scheme: Scheme,
    /// The config's own grid. If the config is the root of its set, the others in the set read this grid.
    pub(super) own: Option<Grid>,
    /// In the states passive and passive baked: how its grid is derived.
    pub(super) derivation: Option<Derivation>,
    pub(super) state: State,
    /// In the state float: the state to restore.
    pub(super) stored: State,
    /// The codes, in the states baked and passive baked, and before that if they were given.
    pub(super) codes: Option<ParameterCodes>,
    /// If there are codes: the configs whose grids they depend on, including this one.
    pub(super) holds: SmallVec<[ConfigId; 1]>,
    /// How many codes depend on this config's grid. It cannot change while there are any.
    pub(super) held: u32,
    /// True if the config was removed from the table. Its id is not used again.
    pub(super) withdrawn: bool,
}

/// A request to change the state of a config.
#[derive(Clone, Debug)]
pub enum Move {
    /// Give the config a grid.
    Activate(Grid),
    /// Let the config read another config's grid from now on.
    DominatedBy(ConfigId),
    /// Derive the config's grid from other grids.
    MasteredBy(Derivation),
    /// Record that the parameter already has codes on its grid. They are used when it is baked.
    Give(DataId),
    /// Turn the parameter into these codes.
    Bake(DataId),
    /// Undo `Bake`. Given codes stay given.
    Unbake,
    /// Exclude the config from quantization.
    Dequantize,
    /// Undo `Dequantize`.
    Restore,
    /// Forget the config's grid.
    Reset,
}

impl Move {
    /// The state that the request leads to, for messages.
    pub(super) fn target(&self) -> &'static str {
        match self {
            Move::Activate(_) => "activated",
            Move::DominatedBy(_) => "overlapped",
            Move::MasteredBy(_) => "passive",
            Move::Give(_) => "one of given codes",
            Move::Bake(_) => "baked",
            Move::Unbake => "what it was before it was baked",
            Move::Dequantize => "float",
            Move::Restore => "what it was before",
            Move::Reset => "initial",
        }
    }
}
