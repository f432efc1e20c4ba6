//! Findings: what is wrong with an artifact.

use crate::Interval;
use crate::functions::Undecided;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use strait_core::Elem;
use strait_requantize::{Because, OutsideDomain, Verdict};

/// A fault, and the value where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The source name of the value.
    pub value: String,
    /// What is wrong.
    pub fault: Fault,
}

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The fused graph does not compute what the lowered graph computes.
    Structure(String),
    /// Requantizations were fused into a producer, and there is no certificate for this fusion.
    NoCertificate,
    /// A certificate is about a fusion that is not in the graphs.
    NoFusion {
        /// The row that the certificate names.
        row: String,
    },
    /// The steps in a certificate differ from the steps in the graphs.
    OtherSteps {
        /// The row that the certificate names.
        row: String,
        /// Which steps differ: `before` for the steps in the lowered graph, or `after` for the steps in the fused
        /// graph.
        which: &'static str,
    },
    /// No verdict can be derived from a certificate's own steps and interval.
    Certificate(Undecided),
    /// A certificate claims a verdict that does not follow from its own steps and interval.
    Contradiction {
        /// The first channel with a contradicting verdict.
        channel: usize,
        /// The verdict that the certificate claims.
        claimed: Verdict,
        /// The verdict that follows from the certificate's own steps and interval.
        derived: Verdict,
    },
    /// A certificate uses an argument that does not apply to the op of the producer.
    Argument {
        /// The name of the argument.
        claimed: &'static str,
        /// The op that computes the accumulators.
        term: &'static str,
    },
    /// The digest of a certificate is not that of the graphs: it was derived from other steps, intervals or parameters.
    Grounds,
    /// A certificate covers fewer accumulators, entries or floats than can occur.
    Interval {
        /// The channel of the result.
        channel: usize,
        /// The interval that the certificate covers in this channel, if any.
        claimed: Option<Interval>,
        /// The interval that can occur in this channel.
        found: Interval,
    },
    /// The number of entries in a certificate is not the number in the graph.
    Entries {
        /// The number of entries that the certificate covers. `None` if the certificate does not compare entries.
        claimed: Option<u64>,
        /// The number of entries in the graph.
        found: u64,
    },
    /// A certificate relies on a fact that is not true.
    Fact(Because),
    /// For the accumulators that can occur, it cannot be decided whether the claim of a certificate is true.
    Undecided(Undecided),
    /// The claim of a certificate is not true for the accumulators that can occur.
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
    Overflow {
        /// The channel of the sum.
        channel: usize,
        /// The interval of the sum.
        interval: Interval,
        /// The type of the sum.
        carrier: Elem,
    },
    /// An accumulator can lie outside of the domain of its requantization.
    OutsideDomain(OutsideDomain),
    /// In a run, an integer was outside of the derived bounds. This is a defect of this verifier or of the executor.
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.value, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Structure(text) => f.write_str(text),
            Fault::NoCertificate => write!(f, "it was fused without a certificate"),
            Fault::NoFusion { row } => write!(f, "row `{row}` has a certificate for it, but nothing was fused there"),
            Fault::OtherSteps { row, which } => {
                write!(
                    f,
                    "the steps `{which}` in the certificate of row `{row}` are not those of the graph"
                )
            }
            Fault::Certificate(error) => write!(f, "the certificate does not hold: {error}"),
            Fault::Contradiction {
                channel,
                claimed,
                derived,
            } => write!(
                f,
                "channel {channel}: the certificate claims {}, but its own steps and interval give {}",
                in_words(claimed),
                in_words(derived)
            ),
            Fault::Argument { claimed, term } => {
                write!(
                    f,
                    "the certificate argues by `{claimed}`, which is no argument for {term}"
                )
            }
            Fault::Grounds => write!(
                f,
                "the certificate was derived from something else: its argument, steps and interval with the constants \
                 that it is about have another digest than it names"
            ),
            Fault::Interval {
                channel,
                claimed,
                found,
            } => {
                write!(f, "channel {channel}: the certificate speaks of ")?;
                match claimed {
                    Some(claimed) => write!(f, "[{}, {}]", claimed.low, claimed.high)?,
                    None => write!(f, "nothing")?,
                }
                write!(f, ", but anything in [{}, {}] can occur", found.low, found.high)
            }
            Fault::Entries { claimed, found } => write!(
                f,
                "the certificate speaks of {} entries, but there are {found}",
                claimed.map_or_else(|| "no".into(), |count| count.to_string())
            ),
            Fault::Fact(fact) => write!(f, "the certificate rests on {fact}, which is not so"),
            Fault::Undecided(error) => write!(f, "the fusion cannot be decided: {error}"),
            Fault::Claim {
                channel,
                claimed,
                derived,
                interval,
            } => write!(
                f,
                "channel {channel}: the certificate claims {}, but on [{}, {}] it is {}",
                claimed.as_ref().map_or_else(|| "nothing".into(), in_words),
                interval.low,
                interval.high,
                in_words(derived)
            ),
            Fault::Overflow {
                channel,
                interval,
                carrier,
            } => write!(
                f,
                "channel {channel}: the sum can be anything in [{}, {}], which does not fit {} bits",
                interval.low,
                interval.high,
                carrier.bits()
            ),
            Fault::OutsideDomain(error) => error.fmt(f),
            Fault::Escaped { graph, found, bounds } => write!(
                f,
                "the {graph} graph computed [{}, {}], outside of [{}, {}]",
                found.low, found.high, bounds.low, bounds.high
            ),
            Fault::Layer {
                sample,
                element,
                expected,
                found,
                max_lsb: 0,
            } => write!(
                f,
                "{sample}: element {element} is {found}, and {expected} in the lowered graph, though it is certified exact"
            ),
            Fault::Layer {
                sample,
                element,
                expected,
                found,
                max_lsb,
            } => write!(
                f,
                "{sample}: element {element} is {found}, and {expected} in the lowered graph: more than the {max_lsb} LSB of \
                 its certificate"
            ),
            Fault::Output { sample, byte } => {
                write!(
                    f,
                    "{sample}: the graphs differ from byte {byte} on, though every fusion is exact"
                )
            }
        }
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
