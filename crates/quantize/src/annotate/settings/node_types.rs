//! The types that a node should compute on, and the pair of types in the target's table that follows from them.

use strait_core::{Reason, ReasonCode, Term};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, Pair};

/// The types that a node should compute on. A type is `None` if nothing chooses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTypes {
    /// The types of activations and weights that are chosen for this node alone.
    pub own: (Option<Activation>, Option<Integer>),
    /// The types that are chosen for all nodes. They are used if the target's table supports them for the op.
    pub all: (Option<Activation>, Option<Integer>),
    /// True if the node should run in float, with float weights.
    pub is_plain: bool,
}

impl NodeTypes {
    /// The type of activations that is chosen. If another type is chosen for all nodes, the choice for this node has priority.
    pub fn activation(self) -> Option<Activation> {
        self.own.0.or(self.all.0)
    }

    /// The type of weights that is chosen. If another type is chosen for all nodes, the choice for this node has priority.
    pub fn weight(self) -> Option<Integer> {
        self.own.1.or(self.all.1)
    }

    /// Returns the pair of types that a node computes on. It is the first pair of the table for the node's op that fits
    /// the types chosen for this node and, if possible, the types chosen for all nodes. Float activations are used if
    /// they are chosen, or if the table has the op only on float activations. Returns `None` if the table has no row
    /// for the op.
    pub fn pair(self, spec: &TargetSpec, term: Term) -> Option<Pair> {
        let (own, activation, weight) = (self.own, self.activation(), self.weight());
        let tries = [(activation, weight), (activation, own.1), (own.0, weight), own];
        let reals = spec.pairs_of(term).all(|pair| pair.is_weight_only());
        tries.into_iter().find_map(|(activation, weight)| {
            spec.pairs_of(term).find(|pair| {
                activation.map_or(reals || !pair.is_weight_only(), |activation| {
                    activation == pair.activation
                }) && weight.is_none_or(|weight| weight == pair.weight)
            })
        })
    }

    /// If float activations are chosen, returns the pair of types for a weight-only node on the host. It is the first
    /// pair with the type of weights that is chosen for this node and, if possible, for all nodes.
    pub fn pair_on_host(self, spec: &TargetSpec, term: Term) -> Option<Pair> {
        if self.activation() != Some(Activation::Float32) || self.is_plain {
            return None;
        }
        let having = |weight: Option<Integer>| {
            let mut pairs = spec.weight_only_pairs(term);
            pairs.find(|pair| weight.is_none_or(|weight| weight == pair.weight))
        };
        having(self.weight()).or_else(|| having(self.own.1))
    }

    /// If a node is on the host although the target has its op, returns the reason: float activations are chosen, and
    /// the target has no weight-only version of the op.
    pub(crate) fn stays_float(self, spec: &TargetSpec, term: Term) -> Option<Reason> {
        let is_weight_only = self.pair(spec, term).is_some_and(|pair| pair.is_weight_only());
        let float = self.activation() == Some(Activation::Float32) && !is_weight_only;
        (float && spec.op_row(term).is_some()).then(|| {
            let text = match self.pair_on_host(spec, term) {
                Some(pair) => format!("no row takes {pair} for `{term}`: the host computes it"),
                None => format!("activations are float32, and the target has no such pair for `{term}`"),
            };
            Reason::new(ReasonCode::Configuration, text)
        })
    }
}
