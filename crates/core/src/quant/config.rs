//! One config: scheme, state and grid of one operand or result.

use super::{params::QuantParams, port::Port, scheme::Scheme};
use crate::ids::{ConfigId, DataId, NodeId};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Where a config stands; written by [`QuantTable::transition`](super::QuantTable::transition) alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No grid yet.
    Initial,
    /// It has a grid of its own.
    Activated,
    /// It reads the grid of the config that dominates it.
    Overlapped,
    /// Its grid is derived from others.
    Passive,
    /// Its grid is to be derived from others that have none yet.
    PassiveInitial,
    /// The parameter was turned into integers.
    Baked,
    /// A passive parameter was turned into integers.
    PassiveBaked,
    /// Not quantized; what it was is kept.
    Float,
}

impl State {
    /// Every state.
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

/// Who made a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An observer, from statistics or from the elements of a constant.
    Observed,
    /// A range that a rule of the configuration states.
    Rule,
    /// It came with the model, or from a record. It is pinned: nothing but another given grid changes it.
    Given,
    /// It follows from the grids of other configs.
    Derived,
    /// An observed grid that had to be made coarser.
    Coarsened,
}

impl Origin {
    /// Every origin.
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

/// Scale and zero point, and who made them.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Scale and zero point.
    pub params: Arc<QuantParams>,
    /// Who made them.
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

/// Origin of the grid of a passive config in the grids of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// That of another config.
    Same(ConfigId),
    /// The product of two scales, with zero point 0: of an accumulator, and of the bias that is added to it. The first
    /// has one scale; the second may have one for each channel.
    Product(ConfigId, ConfigId),
    /// That of another config with its lowest bits taken off, so many of them: the scale is 2^bits times as large, and the
    /// zero point, a multiple of 2^bits, that much smaller. A plain shift leads from the one to the other.
    Shifted(ConfigId, u8),
}

impl Derivation {
    /// The configs that it rests on.
    pub fn masters(self) -> impl Iterator<Item = ConfigId> {
        let masters = match self {
            Derivation::Same(master) | Derivation::Shifted(master, _) => [Some(master), None],
            Derivation::Product(first, second) => [Some(first), Some(second)],
        };
        masters.into_iter().flatten()
    }
}

/// The integers of a parameter: a tensor of the module's pool, of the parameter's shape and the scheme's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterCodes {
    /// The tensor.
    pub data: DataId,
    /// They came with the model, or from a record. They are pinned, and so are all grids that they rest on.
    pub given: bool,
}

/// Quantization of one operand or result of one node, or of one input or output of the graph.
#[derive(Clone, Debug)]
pub struct QuantConfig {
    /// The node; of an input or an output of the graph the [`NodeId::OUTSIDE`].
    pub node: NodeId,
    /// Which of its operands or results.
    pub port: Port,
    /// Policy, type, range and rounding.
    pub scheme: Scheme,
    /// Its own grid, which the others of its set read if it is the set's root.
    pub(super) own: Option<Grid>,
    /// In the states passive and passive baked: where its grid comes from.
    pub(super) derivation: Option<Derivation>,
    pub(super) state: State,
    /// In the state float: the state that is restored.
    pub(super) stored: State,
    /// In the states baked and passive baked, and in front of them where they are given: the integers.
    pub(super) codes: Option<ParameterCodes>,
    /// Where there are codes: the configs whose grids they rest on, itself among them.
    pub(super) holds: SmallVec<[ConfigId; 1]>,
    /// The number of codes that rest on its grid, which stays while there are any.
    pub(super) held: u32,
    /// True if it was taken out of the table; its id is given to no other.
    pub(super) withdrawn: bool,
}

/// A request to change a config's state.
#[derive(Clone, Debug)]
pub enum Move {
    /// Give it a grid.
    Activate(Grid),
    /// Let it read another's grid from now on.
    DominatedBy(ConfigId),
    /// Let its grid follow from others'.
    MasteredBy(Derivation),
    /// Its parameter is already integers, on the grid that it has: they are taken when it is baked.
    Give(DataId),
    /// Its parameter becomes these integers.
    Bake(DataId),
    /// Undo `Bake`; codes that were given stay given.
    Unbake,
    /// Take it out of quantization.
    Dequantize,
    /// Undo `Dequantize`.
    Restore,
    /// Forget the grid.
    Reset,
}

impl Move {
    /// The state that the request leads to, as messages say it.
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
