use super::{Arithmetic, Fields, Form, FormError, Scalars, StepCount};
use crate::IntType;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `lowest + #{t in thresholds[channel] : t <= x}`, where # is the number of thresholds t that are at most x. Any
/// function from `i32` to eight bits can be expressed in this way, if a larger x never gives a smaller result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The sorted thresholds, as one list for each channel or a single list for all. The sum of `lowest` and the number
    /// of thresholds must fit into `out`.
    pub thresholds: Arc<[Arc<[i32]>]>,
    /// The result below the first threshold.
    pub lowest: i32,
    /// The output type, `i8` or `u8`.
    pub out: IntType,
}

impl Form for Steps {
    fn out(&self) -> IntType {
        self.out
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().length(
            "thresholds",
            (self.thresholds.len() != 1).then_some(self.thresholds.len()),
        )
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        if self.thresholds.len() != 1 {
            let lists = channels.iter().map(|&c| self.thresholds.get(c).cloned());
            self.thresholds = lists.collect::<Option<_>>()?;
        }
        Some(())
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let index = if self.thresholds.len() == 1 { 0 } else { channel };
        let field = "thresholds";
        let thresholds = self
            .thresholds
            .get(index)
            .ok_or(FormError::NoSuchChannel { field, channel })?;
        Ok(Arithmetic::Steps(StepCount {
            thresholds,
            lowest: self.lowest,
        })
        .into())
    }
}
