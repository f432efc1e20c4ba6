//! Findings: the faults of an artifact.

use crate::Interval;
use crate::functions::Undecided;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use strait_core::Elem;
use strait_requantize::{Because, OutsideDomain, Verdict};

/// Something that does not hold, and the value where it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The source name of the value.
    pub value: String,
    /// The fault.
    pub fault: Fault,
}

/// Kind of a fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The fused graph does not compute what the lowered one computes.
    Structure(String),
    /// Requantizations were taken into a producer, and nothing says with what right.
    NoCertificate,
    /// A certificate speaks of a fusion that is not there.
    NoFusion {
        /// The row that it names.
        row: String,
    },
    /// A certificate is about other steps than those in the graphs.
    OtherSteps {
        /// The row that it names.
        row: String,
        /// `before` in the lowered graph or `after` in the fused one.
        which: &'static str,
    },
    /// Nothing follows from a certificate's own steps and interval.
    Certificate(Undecided),
    /// A certificate claims another verdict than follows from its own steps and interval.
    Contradiction {
        /// The first such channel.
        channel: usize,
        /// Verdict of the certificate.
        claimed: Verdict,
        /// Verdict that follows.
        derived: Verdict,
    },
    /// A certificate holds by an argument that is not one for what it is about.
    Argument {
        /// The word for the argument.
        claimed: &'static str,
        /// The term of the op that makes the accumulators.
        term: &'static str,
    },
    /// A certificate was derived from other steps, intervals or parameters than are there.
    Grounds,
    /// A certificate speaks of fewer accumulators, entries or floats than can occur.
    Interval {
        /// The channel of the result.
        channel: usize,
        /// Of what the certificate speaks there, if it does.
        claimed: Option<Interval>,
        /// Interval that can occur there.
        found: Interval,
    },
    /// A certificate speaks of another number of entries than there are.
    Entries {
        /// Of how many it speaks; nothing if it argues in another way.
        claimed: Option<u64>,
        /// Number that was found.
        found: u64,
    },
    /// A certificate rests on something that is not so.
    Fact(Because),
    /// The claim cannot be derived on the accumulators that can occur.
    Undecided(Undecided),
    /// A certificate claims more than holds on the accumulators that can occur.
    Claim {
        /// The channel of the result.
        channel: usize,
        /// Verdict of the certificate.
        claimed: Option<Verdict>,
        /// Verdict that holds.
        derived: Verdict,
        /// The accumulators that can occur.
        interval: Interval,
    },
    /// A sum can leave the type that carries it.
    Overflow {
        /// The channel of the sum.
        channel: usize,
        /// Interval of the value.
        interval: Interval,
        /// The type.
        carrier: Elem,
    },
    /// An accumulator can lie where its requantization is not defined.
    OutsideDomain(OutsideDomain),
    /// An execution met an integer that cannot occur: a defect of this verifier, or of the executor.
    Escaped {
        /// The graph that was run.
        graph: &'static str,
        /// Interval that was met.
        found: Interval,
        /// Interval that can occur.
        bounds: Interval,
    },
    /// On the operands of the lowered graph, an execution gave another result than the certificate allows.
    Layer {
        /// Sample of the run: `random sample 3`, for instance.
        sample: String,
        /// The first such element of the result.
        element: usize,
        /// Result of the lowered graph there.
        expected: i64,
        /// Result of the fused node.
        found: i64,
        /// By how much the certificate lets it differ.
        max_lsb: u32,
    },
    /// Every fusion is exact, and yet an execution gave different outputs.
    Output {
        /// Sample of the run.
        sample: String,
        /// The first byte that differs.
        byte: usize,
    },
}

/// Adds findings of a kind and at a value where there is none of that kind yet.
pub fn merge(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    let mut more = more.into_iter().peekable();
    if more.peek().is_none() {
        return;
    }
    // By value: the kinds, of which there are a few.
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

/// A verdict as people say it.
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
