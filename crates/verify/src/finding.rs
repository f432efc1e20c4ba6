//! Findings: what is wrong with an artifact.

use crate::Interval;
use crate::functions::Undecided;
use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use strait_core::Elem;
use strait_requantize::{Because, OutsideDomain, Verdict};

/// A fault, and the value where it was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{value}: {fault}")]
pub struct Finding {
    /// The source name of the value.
    pub value: String,
    /// What is wrong.
    pub fault: Fault,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The fused graph does not compute what the lowered graph computes.
    #[error("{0}")]
    Structure(String),
    /// Requantizations were fused into a producer, and there is no certificate for this fusion.
    #[error("it was fused without a certificate")]
    NoCertificate,
    /// A certificate is about a fusion that is not in the graphs.
    #[error("row `{row}` has a certificate for it, but nothing was fused there")]
    NoFusion {
        /// The row that the certificate names.
        row: String,
    },
    /// The steps in a certificate differ from the steps in the graphs.
    #[error("the steps `{which}` in the certificate of row `{row}` are not those of the graph")]
    OtherSteps {
        /// The row that the certificate names.
        row: String,
        /// Which steps differ: `before` for the steps in the lowered graph, or `after` for the steps in the fused
        /// graph.
        which: &'static str,
    },
    /// No verdict can be derived from a certificate's own steps and interval.
    #[error("the certificate does not hold: {0}")]
    Certificate(Undecided),
    /// A certificate claims a verdict that does not follow from its own steps and interval.
    #[error("channel {channel}: the certificate claims {}, but its own steps and interval give {}", in_words(.claimed), in_words(.derived))]
    Contradiction {
        /// The first channel with a contradicting verdict.
        channel: usize,
        /// The verdict that the certificate claims.
        claimed: Verdict,
        /// The verdict that follows from the certificate's own steps and interval.
        derived: Verdict,
    },
    /// A certificate uses an argument that does not apply to the op of the producer.
    #[error("the certificate argues by `{claimed}`, which is no argument for {term}")]
    Argument {
        /// The name of the argument.
        claimed: &'static str,
        /// The op that computes the accumulators.
        term: &'static str,
    },
    /// The digest of a certificate is not that of the graphs: it was derived from other steps, intervals or parameters.
    #[error(
        "the certificate was derived from something else: its argument, steps and interval with the constants that it is \
         about have another digest than it names"
    )]
    Grounds,
    /// A certificate covers fewer accumulators, entries or floats than can occur.
    #[error("channel {channel}: the certificate speaks of {}, but anything in {found} can occur", or("nothing", *.claimed))]
    Interval {
        /// The channel of the result.
        channel: usize,
        /// The interval that the certificate covers in this channel, if any.
        claimed: Option<Interval>,
        /// The interval that can occur in this channel.
        found: Interval,
    },
    /// The number of entries in a certificate is not the number in the graph.
    #[error("the certificate speaks of {} entries, but there are {found}", or("no", *.claimed))]
    Entries {
        /// The number of entries that the certificate covers. `None` if the certificate does not compare entries.
        claimed: Option<u64>,
        /// The number of entries in the graph.
        found: u64,
    },
    /// A certificate relies on a fact that is not true.
    #[error("the certificate rests on {0}, which is not so")]
    Fact(Because),
    /// For the accumulators that can occur, it cannot be decided whether the claim of a certificate is true.
    #[error("the fusion cannot be decided: {0}")]
    Undecided(Undecided),
    /// The claim of a certificate is not true for the accumulators that can occur.
    #[error(
        "channel {channel}: the certificate claims {}, but on {interval} it is {}",
        or("nothing", .claimed.as_ref().map(in_words)),
        in_words(.derived)
    )]
    Claim {
        /// The channel of the result.
        channel: usize,
        /// The verdict that the certificate claims.
        claimed: Option<Verdict>,
        /// The verdict that is true.
        derived: Verdict,
        /// The accumulators that can occur.
        interval: Interval,
    },
    /// A sum can overflow its type.
    #[error("channel {channel}: the sum can be anything in {interval}, which does not fit {} bits", .carrier.bits())]
    Overflow {
        /// The channel of the sum.
        channel: usize,
        /// The interval of the sum.
        interval: Interval,
        /// The type of the sum.
        carrier: Elem,
    },
    /// An accumulator can lie outside of the domain of its requantization.
    #[error("{0}")]
    OutsideDomain(OutsideDomain),
    /// In a run, an integer was outside of the derived bounds. This is a defect of this verifier or of the executor.
    #[error("the {graph} graph computed {found}, outside of {bounds}")]
    Escaped {
        /// The graph that was run.
        graph: &'static str,
        /// The interval of the integers in the run.
        found: Interval,
        /// The derived bounds.
        bounds: Interval,
    },
    /// The result of a layer, which was run on the operands of the lowered graph, differs by more than its certificate
    /// allows.
    #[error("{sample}: element {element} is {found}, and {expected} in the lowered graph{}", beyond(*.max_lsb))]
    Layer {
        /// The sample of the run, for example `random sample 3`.
        sample: String,
        /// The first element of the result that differs by more than allowed.
        element: usize,
        /// The result of the lowered graph for the element at `element`.
        expected: i64,
        /// The result of the fused node.
        found: i64,
        /// The largest difference that the certificate allows.
        max_lsb: u32,
    },
    /// Every fusion is exact, but the outputs of a run differ.
    #[error("{sample}: the graphs differ from byte {byte} on, though every fusion is exact")]
    Output {
        /// The sample of the run.
        sample: String,
        /// The first byte that differs.
        byte: usize,
    },
}

/// Adds findings. If there are several findings of one kind for one value, only the first of them is kept.
pub fn merge(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    let mut more = more.into_iter().peekable();
    if more.peek().is_none() {
        return;
    }
    // For each value, the kinds of its findings. A value has only a few.
    let mut known: BTreeMap<String, Vec<Discriminant<Fault>>> = BTreeMap::new();
    let mut is_new = |finding: &Finding| {
        let (kinds, kind) = (
            known.entry(finding.value.clone()).or_default(),
            discriminant(&finding.fault),
        );
        let is_new = !kinds.contains(&kind);
        kinds.extend(is_new.then_some(kind));
        is_new
    };
    for finding in findings.iter() {
        is_new(finding);
    }
    findings.extend(more.filter(is_new));
}

/// Returns a claim as text, or the text `none` if there is no claim.
fn or(none: &str, claim: Option<impl ToString>) -> String {
    claim.map_or_else(|| none.to_owned(), |claim| claim.to_string())
}

/// Returns the end of the error message about a layer that differs by more than its certificate allows.
fn beyond(max_lsb: u32) -> String {
    match max_lsb {
        0 => ", though it is certified exact".to_owned(),
        _ => format!(": more than the {max_lsb} LSB of its certificate"),
    }
}

/// A verdict as text.
fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Exact => "exact".into(),
        Verdict::Unknown => "not decided".into(),
        Verdict::Bounded {
            max_lsb,
            witness,
            share,
        } => {
            let percent = share * 100.0;
            let share = match percent {
                ..0.01 if percent > 0.0 => "less than 0.01".to_owned(),
                _ => format!("{percent:.2}"),
            };
            format!("{max_lsb} LSB off at accumulator {witness}, {share} % of them differ")
        }
    }
}
