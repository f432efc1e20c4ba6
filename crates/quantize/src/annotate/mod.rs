//! Annotate: a quantization config per operand of every node that the target computes, with its grid.
//!
//! [`place()`] dispatches nodes to accelerator and host. The passes then make configs, bind those that share a grid, and find
//! the grids, one file each. What they decide in a region of the graph (`scope.rs`) depends on nothing outside of it, so
//! that after a refusal only the regions around it are annotated anew ([`Progress`]).

mod binding;
mod draft;
mod effect;
mod equal_sums;
mod given;
mod given_away;
mod grid;
mod grids;
mod model_grids;
mod noise;
mod order;
mod passes;
mod place;
mod progress;
mod ranges;
mod reach;
mod requantized;
mod revise;
pub(crate) mod roles;
mod scope;
mod stated;
mod types;
mod unlike;
mod weights;
mod weights_alone;
mod widen;

pub use draft::Overlapped;
pub use given::Given;
pub use given_away::{GivenAway, Loss};
pub use grid::grid;
pub use grids::{GridWish, GridWishes};
pub use model_grids::{ModelGrids, take_model_grids};
pub use place::{Placing, Wish, denied, place, refused_by_code};
pub use progress::{Findings, Progress, annotate, refuse};
pub use ranges::{Coarser, RangeFrom};
pub use requantized::{Requantized, RequantizedLoss, requantized};
pub use stated::{Misfit, Stated};
pub use types::TypeWishes;
pub use unlike::{Place, Unlike, UnlikePart};
pub use weights::{Raised, Unfit};
pub use widen::widen;

use crate::observers::ObserverChoice;
use crate::statistics::Observation;
use roles::Roles;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use strait_core::{NodeId, Port, ValueId};
use strait_target::TargetSpec;
use strait_target::spec::{Alignment, Alignments, WeightPer};

/// Directives of the configuration for single values and nodes, by source name resolved to ids.
#[derive(Clone, Debug, Default)]
pub struct Directives {
    /// Ranges of single values, where they do not come from the default observer.
    pub ranges: BTreeMap<ValueId, RangeFrom>,
    /// The same of single operands, by position. Such an operand has a grid of its own; other readers of its value do not
    /// see it.
    pub operands: BTreeMap<(NodeId, usize), RangeFrom>,
    /// Granularity of the scales of weights, for single nodes.
    pub weight_per: BTreeMap<NodeId, WeightPer>,
    /// Inputs that share a scale of their weights, where scales are by block.
    pub weight_block: BTreeMap<NodeId, NonZeroU32>,
    /// Neighbouring outputs of single nodes that share a scale of their weights, where scales are by channel.
    pub weight_ties: BTreeMap<NodeId, NonZeroU32>,
    /// The observer of weights.
    pub weight_observer: ObserverChoice,
    /// Observers of weights other than that, for single nodes.
    pub weight_observers: BTreeMap<NodeId, ObserverChoice>,
    /// Choice where a bias or a scale does not fit.
    pub weight_unfit: Unfit,
    /// Choices other than that, for single nodes.
    pub weights_unfit: BTreeMap<NodeId, Unfit>,
    /// Which grids the operands and results of single nodes share.
    pub alignments: BTreeMap<NodeId, Alignment>,
    /// Single nodes whose results are made on the grid that all readers want, or are not.
    pub simplify: BTreeMap<NodeId, bool>,
    /// Grids and codes that are known before.
    pub given: BTreeMap<(NodeId, Port), Given>,
}

impl Directives {
    /// The choice where a bias or a scale of a node does not fit.
    pub fn unfit(&self, node: NodeId) -> Unfit {
        self.weights_unfit.get(&node).copied().unwrap_or(self.weight_unfit)
    }

    /// The one for the range of an operand.
    fn of_operand(&self, node: NodeId, port: Port) -> Option<&RangeFrom> {
        match port {
            Port::Operand(index) => self.operands.get(&(node, index)),
            Port::Result(_) | Port::Input(_) | Port::Output(_) => None,
        }
    }
}

/// Everything that annotation depends on besides the graph.
#[derive(Clone)]
pub struct Annotation<'a> {
    /// The target's table.
    pub spec: &'a TargetSpec,
    /// Statistics by value name.
    pub observation: &'a Observation,
    /// The observer where no directive names another.
    pub observer: ObserverChoice,
    /// Granularity of the scales of weights where no directive says, as far as the op's row and the type of the weights have it.
    pub weight_per: Option<WeightPer>,
    /// Inputs that share a scale of weights, where scales are by block and no directive says. None: as the table prefers.
    pub weight_block: Option<NonZeroU32>,
    /// Types that the configuration wants; placing had the same ones.
    pub types: TypeWishes,
    /// Which grids the operands and results of nodes share, by the kinds of ops.
    pub alignments: Alignments,
    /// Exceptions.
    pub directives: Directives,
    /// Where the configuration wants nodes to run.
    pub placing: &'a Placing,
}

impl Annotation<'_> {
    /// Which nodes compute on codes, and by which recipes.
    fn roles(&self) -> Roles<'_> {
        Roles {
            spec: self.spec,
            types: &self.types,
            given: Some(&self.directives.given),
        }
    }
}

impl<'a> Annotation<'a> {
    /// As the target's table says, from the extremes of what was observed.
    pub fn new(spec: &'a TargetSpec, observation: &'a Observation, placing: &'a Placing) -> Annotation<'a> {
        Annotation {
            spec,
            observation,
            observer: ObserverChoice::default(),
            weight_per: None,
            weight_block: None,
            types: TypeWishes::default(),
            alignments: spec.passes.alignment,
            directives: Directives::default(),
            placing,
        }
    }
}

/// Reason why annotation failed.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// A defect of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// The most often that the scale of a grid may double for the sake of a shift, or for that of a form that does not cover
/// what its site can reach. Past 2^7 an 8-bit grid has one code for each sign left, and float on the host serves better.
/// It also means that scales settle.
const MOST_DOUBLINGS: u32 = 7;

/// The same as a factor.
const COARSEST: f64 = (1u32 << MOST_DOUBLINGS) as f64;
