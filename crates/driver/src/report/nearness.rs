//! How near the integers that the compiler was free to choose are to the functions that they stand for.

use serde::{Deserialize, Serialize};
use strait_requantize::decide::Optimality;
use strait_target::spec::Nearness;

use super::Layer;
use crate::table;

/// The integers of a requantization that the target's file stores as they are, against the ideal function of the exact
/// factor, over all accumulators that can occur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeIntegers {
    /// `optimal`: none within the form's limits are nearer. `best found`: none of those that were tried are.
    pub found: String,
    /// The largest difference from the ideal in any channel, in units of the result.
    pub max_lsb: u32,
    /// The largest part of a channel's accumulators for which there is a difference.
    pub share: f64,
}

impl From<&Nearness> for FreeIntegers {
    fn from(nearness: &Nearness) -> FreeIntegers {
        FreeIntegers {
            found: match nearness.found {
                Optimality::Optimal => "optimal",
                Optimality::BestFound => "best found",
            }
            .to_owned(),
            max_lsb: nearness.max_lsb,
            share: nearness.share,
        }
    }
}

/// One line on all layers with free integers; `None` where there are none.
pub(super) fn line(layers: &[Layer]) -> Option<String> {
    let free: Vec<&FreeIntegers> = layers.iter().filter_map(|layer| layer.free_integers.as_ref()).collect();
    let worst = free.iter().map(|free| free.max_lsb).max()?;
    let optimal = free.iter().filter(|free| free.found == "optimal").count();
    let ideal = free.iter().filter(|free| free.max_lsb == 0).count();
    let rest = match worst {
        0 => String::new(),
        worst => format!("; at most {worst} LSB from it in the others"),
    };
    Some(format!(
        "free integers in {}: {optimal} optimal; {ideal} equal to the ideal function{rest}",
        table::count(free.len(), "layer")
    ))
}
