//! The types that one node is to compute on, and the pair of the table that this makes.

use strait_core::{Reason, ReasonCode, Term};
use strait_target::TargetSpec;
use strait_target::spec::{Activation, Integer, Pair};

/// The types that a node is to compute on, as far as anything is said of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTypes {
    /// Activations and weights of this node.
    pub own: (Option<Activation>, Option<Integer>),
    /// Those of all nodes, as far as the target's table has them.
    pub all: (Option<Activation>, Option<Integer>),
    /// True if the node is to be in float, weights and all.
    pub is_plain: bool,
}

impl NodeTypes {
    /// The type of activations.
    pub fn activation(self) -> Option<Activation> {
        self.own.0.or(self.all.0)
    }

    /// The type of weights.
    pub fn weight(self) -> Option<Integer> {
        self.own.1.or(self.all.1)
    }

    /// The pair that a node computes on: of those that the table has for its op the first with what is said of this node,
    /// and else of all nodes, as far as there is one. Real activations are taken where that is said, or where the op has
    /// no others. None where the table has no row for the op.
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

    /// The weight-only pair of a node on the host: where activations are to be real numbers, the
    /// first one with the weights that are said of this node, and else of all nodes, as far as there is one.
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

    /// Reason why a node is on the host though the target has its op: activations are to be real numbers, and the op is none
    /// that can be weight-only there.
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
