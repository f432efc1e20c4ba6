//! Checks what a certificate says about its own derivation: its argument (the kind of proof), and the digest of
//! everything that it was derived from.

use crate::chain::{Along, Base};
use crate::finding::Fault;
use crate::structure::{FusedSite, SiteKind};
use sha2::{Digest as _, Sha256};
use strait_core::{Graph, Kind, Module, TensorData};
use strait_requantize::certificate::Digest;
use strait_requantize::{Argument, Certificate};

/// Returns the faults that this check finds in a certificate.
pub(crate) fn check(
    module: &Module,
    graphs: [&Graph; 2],
    site: &FusedSite<'_>,
    certificate: &Certificate,
) -> impl Iterator<Item = Fault> {
    let argument = (!holds(&certificate.argument, site)).then(|| Fault::Argument {
        claimed: certificate.argument.name(),
        term: term(site.lowered.base),
    });
    let derived = derived_from(module, graphs, site, certificate);
    let grounds = (derived != Some(certificate.derived_from)).then_some(Fault::Grounds);
    argument.into_iter().chain(grounds)
}

/// True if the certificate's argument applies to the op that computes the accumulators.
fn holds(argument: &Argument, site: &FusedSite<'_>) -> bool {
    match (site.kind, site.lowered.base) {
        (SiteKind::Constants(_), _) => matches!(argument, Argument::EveryEntry { .. }),
        (SiteKind::Floats { .. }, _) => matches!(argument, Argument::OrderedFloats { .. }),
        (SiteKind::Accumulators, Base::Node(_, node)) => match node.op.term().kind() {
            Kind::Selects => *argument == Argument::Commutes,
            Kind::Accumulates | Kind::Integer => *argument == Argument::SameAccumulator,
            // Ops of these kinds have no accumulators, or divide the accumulators by themselves.
            Kind::Divides
            | Kind::Compares
            | Kind::Function
            | Kind::Real
            | Kind::Rearranges
            | Kind::Moves
            | Kind::Extends
            | Kind::Converts
            | Kind::Boundary
            | Kind::Elsewhere => false,
        },
        (SiteKind::Accumulators, Base::Value(_)) => *argument == Argument::SameAccumulator,
    }
}

fn term(base: Base<'_>) -> &'static str {
    match base {
        Base::Node(_, node) => node.op.term().name(),
        Base::Value(_) => "constant",
    }
}

/// The position of the operand of a `requantize` that selects the channels.
const PICKS: usize = 1;

/// Computes the digest of everything that a certificate is derived from. It is the SHA-256 of the following, in this
/// order. Numbers are 64 bits, little-endian.
/// - JSON with the argument (the kind of proof), both chains, the interval, and the facts from which the interval
///   follows
/// - each constant operand of the node that computes the accumulators, or the constant or table that the chain was
///   applied to; for each of them, its position, its number of bytes, and the bytes
/// - the constant that selects the channels of the chain, written in the same way; it is an operand of the chain's
///   requantizations
///
/// Constants are requantized before anything is fused into a node. So the node's operands are taken from the fused
/// graph.
pub(crate) fn derived_from(
    module: &Module,
    [lowered, fused]: [&Graph; 2],
    site: &FusedSite<'_>,
    certificate: &Certificate,
) -> Option<Digest> {
    let claim = (
        &certificate.argument,
        &certificate.before,
        &certificate.after,
        &certificate.interval,
        &certificate.because,
    );
    let mut hasher = Sha256::new_with_prefix(serde_json::to_vec(&claim).ok()?);
    let (graph, values) = match (site.kind, site.lowered.base, site.fused.base) {
        // The operands of the fused node include the codes that it adds. In the lowered graph, these codes are not an
        // operand of the node that computes the accumulators.
        (SiteKind::Accumulators, _, Base::Node(_, own)) if site.product.is_some() => (fused, own.inputs.to_vec()),
        // The constant that selects the channels is an operand of the fused node only, so it is not counted here.
        (SiteKind::Accumulators, Base::Node(_, node), Base::Node(_, own)) => {
            (fused, own.inputs.iter().take(node.inputs.len()).copied().collect())
        }
        (_, Base::Node(_, node), _) => (lowered, node.inputs.to_vec()),
        (_, Base::Value(value), _) => (lowered, vec![Some(value)]),
    };
    let constant = |value: Option<_>| -> Option<&TensorData> { module.constant(graph, value?) };
    let picks = match site.lowered.axis {
        Ok(Some(Along::Picked(picks))) => Some((PICKS, Some(picks))),
        _ => None,
    };
    let constants = values.into_iter().map(constant).enumerate().chain(picks);
    for (position, tensor) in constants.filter_map(|(position, tensor)| Some((position, tensor?))) {
        hasher.update((position as u64).to_le_bytes());
        hasher.update((tensor.bytes().len() as u64).to_le_bytes());
        hasher.update(tensor.bytes());
    }
    Some(Digest(hasher.finalize().into()))
}
