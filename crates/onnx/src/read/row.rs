//! Rows of the table of operators.

use super::index::{RUNTIME_DOMAIN, STANDARD_DOMAIN};
pub(crate) use super::operator_reader::{Arg, OperatorReader, Refusal};
use crate::OPSETS;
use std::ops::RangeInclusive;

/// A function that reads one node.
pub(crate) type Map = fn(&mut OperatorReader<'_, '_>) -> Result<(), Refusal>;

/// An operator and the function that reads it.
pub(crate) struct Row {
    pub(super) domain: &'static str,
    pub(super) name: &'static str,
    /// The first version of the operator that Strait reads. A version is named by the operator set that introduced it.
    pub(super) first: i64,
    pub(super) later: &'static [i64],
    /// The last operator set that has the operator.
    pub(super) until: i64,
    pub(super) map: Map,
}

impl Row {
    /// An operator of the standard domain, in one version. If a later operator set changes the operator, the changed
    /// version has to be listed, too; a test against ONNX itself checks this.
    pub(crate) const fn new(name: &'static str, first: i64, map: Map) -> Row {
        Row {
            domain: STANDARD_DOMAIN,
            name,
            first,
            later: &[],
            until: i64::MAX,
            map,
        }
    }

    /// An operator that ONNX Runtime adds. The domain of these operators has only one operator set.
    pub(super) const fn of_runtime(name: &'static str, map: Map) -> Row {
        Row {
            domain: RUNTIME_DOMAIN,
            until: 1,
            ..Row::new(name, 1, map)
        }
    }

    /// Adds later versions of the operator.
    pub(crate) const fn and(self, later: &'static [i64]) -> Row {
        Row { later, ..self }
    }

    pub(super) const fn until(self, until: i64) -> Row {
        Row { until, ..self }
    }

    pub(super) fn sets(&self) -> RangeInclusive<i64> {
        match self.domain == STANDARD_DOMAIN {
            true => self.first.max(*OPSETS.start())..=self.until.min(*OPSETS.end()),
            false => self.first..=self.until,
        }
    }
}
