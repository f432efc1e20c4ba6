//! Findings: what is wrong with an artifact.

use crate::Interval;
use crate::functions::Undecided;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};
use strait_core::Elem;
use strait_requantize::{Because, OutsideDomain, Verdict};

/// Something that is wrong, and the value where it was found.
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
    /// The fused graph does not compute what the lowered one computes.
    Structure(String),
    /// Requantizations were fused into a producer, and no certificate covers this.
    NoCertificate,
    /// A certificate is about a fusion that is not in the graphs.
    NoFusion {
        /// The row that the certificate names.
        row: String,
    },
    /// A certificate is about other steps than those in the graphs.
    OtherSteps {
        /// The row that the certificate names.
        row: String,
        /// Which steps differ: `before` in the lowered graph, or `after` in the fused one.
        which: &'static str,
    },
    /// Nothing can be derived from a certificate's own steps and interval.
    Certificate(Undecided),
    /// A certificate claims another verdict than the one that follows from its own steps and interval.
    Contradiction {
        /// The first channel with a contradicting verdict.
        channel: usize,
        /// The verdict that the certificate claims.
        claimed: Verdict,
        /// The verdict that follows.
        derived: Verdict,
    },
    /// A certificate uses an argument that does not apply to this op.
    Argument {
        /// The name of the argument.
        claimed: &'static str,
        /// The op that makes the accumulators.
        term: &'static str,
    },
    /// A certificate was derived from other steps, intervals or parameters than those in the graphs.
    Grounds,
    /// A certificate covers fewer accumulators, entries or floats than can occur.
    Interval {
        /// The channel of the result.
        channel: usize,
        /// The interval that the certificate covers there, if any.
        claimed: Option<Interval>,
        /// The interval that can occur there.
        found: Interval,
    },
    /// A certificate covers another number of entries than there are.
    Entries {
        /// The number that the certificate covers. `None` if it uses another argument.
        claimed: Option<u64>,
        /// The number of entries that there are.
        found: u64,
    },
    /// A certificate relies on a fact that is not true.
    Fact(Because),
    /// The claim cannot be derived for the accumulators that can occur.
    Undecided(Undecided),
    /// A certificate claims more than is true for the accumulators that can occur.
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
    /// A sum can overflow the type that carries it.
    Overflow {
        /// The channel of the sum.
        channel: usize,
        /// The interval of the sum.
        interval: Interval,
        /// The type that carries it.
        carrier: Elem,
    },
    /// An accumulator can lie outside of the domain of its requantization.
    OutsideDomain(OutsideDomain),
    /// A run met an integer outside of the derived bounds: a defect of this verifier or of the executor.
    Escaped {
        /// The graph that was run.
        graph: &'static str,
        /// The values that were met.
        found: Interval,
        /// The derived bounds.
        bounds: Interval,
    },
    /// A layer ran on the operands of the lowered graph and gave a result that differs by more than its certificate
    /// allows.
    Layer {
        /// The sample of the run, for example `random sample 3`.
        sample: String,
        /// The first element of the result that differs by more than allowed.
        element: usize,
        /// The result of the lowered graph for this element.
        expected: i64,
        /// The result of the fused node.
        found: i64,
        /// The largest difference that the certificate allows.
        max_lsb: u32,
    },
    /// Every fusion is exact, but a run gave different outputs.
    Output {
        /// The sample of the run.
        sample: String,
        /// The first byte that differs.
        byte: usize,
    },
}

/// Adds findings, but only one of each kind for each value.
pub fn merge(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    let mut more = more.into_iter().peekable();
    if more.peek().is_none() {
        return;
    }
    // For each value, the kinds that it already has. There are only a few.
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

/// A verdict in words.
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
