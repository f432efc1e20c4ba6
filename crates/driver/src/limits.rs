//! The limits of this machine, and what is said of a run that takes more.

use std::num::NonZeroUsize;

pub use strait_execute::{Demand, Limits, Operations};

use strait_execute::{Excess, Share};

use crate::{diagnostic::Diagnostic, failure::codes, machine, session::Session, stop::Stop, table};

/// Number of operations of all samples together above which the number is reported.
const WORTH_SAYING: u64 = 10_000_000_000_000;

/// Four fifths of the memory of the machine, or of what its container allows, and a sensible number of operations.
pub fn of_machine() -> Limits {
    Limits {
        memory: machine::memory().map(|bytes| bytes / 5 * 4),
        operations: Operations::Sensible,
    }
}

impl Session<'_> {
    /// Number of `samples` that may run at a time ([`Limits::admit`]). Work that takes long is told.
    ///
    /// # Errors
    /// Not even one fits; or one takes more operations than is allowed.
    pub(crate) fn admit(&self, demand: &Demand, samples: usize) -> Result<NonZeroUsize, Stop> {
        let at_a_time = self.limits.admit(demand, self.threads);
        let at_a_time = at_a_time.map_err(|found| Stop::from(excess(&found)))?;
        self.tell_of(demand, samples);
        Ok(at_a_time)
    }

    /// Tells of work that takes long.
    pub(crate) fn tell_of(&self, demand: &Demand, samples: usize) {
        if demand.operations().saturating_mul(samples as u64) > WORTH_SAYING {
            let busiest = demand.busiest();
            self.say(&format!(
                "{} of about {} operations each, most of them ({}) in `{}`: this takes a while",
                table::count(samples, "sample"),
                number(demand.operations()),
                number(busiest.amount),
                busiest.node
            ));
        }
    }
}

/// The finding for a run that takes more than it may.
pub(crate) fn excess(found: &Excess) -> Diagnostic {
    match found {
        Excess::Memory {
            taken,
            allowed,
            widest: Share { node, op, .. },
            weights,
            copies,
            statistics,
            values,
            results,
        } => {
            let message = format!(
                "a run of one sample takes {}, and {} may be used; the most at `{node}` ({op})",
                table::bytes(*taken),
                table::bytes(*allowed)
            );
            let note = format!(
                "weights {} and copies of them {}, statistics {}, values of one sample {}, its inputs and results {}",
                table::bytes(*weights),
                table::bytes(*copies),
                table::bytes(*statistics),
                table::bytes(*values),
                table::bytes(*results)
            );
            Diagnostic::error(codes::MEMORY, message).note(note).help(
                "`--memory SIZE` sets another limit, by default four fifths of what the machine or its container has; a \
                 smaller input or batch (`bind` in [model]) takes less",
            )
        }
        Excess::Work {
            operations,
            allowed,
            busiest: Share { node, op, amount },
        } => {
            let message = format!(
                "a run of one sample takes about {} operations, and {} are allowed; {} of them in `{node}` ({op})",
                number(*operations),
                number(*allowed),
                number(*amount)
            );
            Diagnostic::error(codes::WORK, message).help(format!(
                "if the model is meant so, `--operations {}` or `--operations unlimited` lifts the limit",
                number(operations.saturating_add(operations / 10))
            ))
        }
    }
}

/// Three digits and an exponent.
fn number(count: u64) -> String {
    match count {
        ..100_000 => count.to_string(),
        _ => format!("{:.2e}", count as f64),
    }
}
