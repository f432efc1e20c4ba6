//! Summarizes for all layers how close their requantizations come to exact arithmetic with the real scales.

use strait_report::{Distance, FreeIntegers, FromScales, Layer};

use crate::table;

/// Returns a line about all layers for which the compiler chose the integers of the requantization; `None` if there are
/// none.
pub(super) fn free_integers(layers: &[Layer]) -> Option<String> {
    let free: Vec<&FreeIntegers> = layers
        .iter()
        .filter_map(|layer| layer.free_integers.as_deref())
        .collect();
    let compared: Vec<&Distance> = free.iter().filter_map(|free| free.distance.as_ref()).collect();
    let optimal = free.iter().filter(|free| free.is_optimal()).count();
    let ideal = compared.iter().filter(|distance| distance.max_lsb == 0).count();
    let rest = match compared.iter().map(|distance| distance.max_lsb).max() {
        None | Some(0) => String::new(),
        Some(worst) => format!("; at most {worst} LSB from it in {}", compared.len() - ideal),
    };
    let not = match free.len() - compared.len() {
        0 => String::new(),
        more => format!("; not compared in {more}"),
    };
    (!free.is_empty()).then(|| {
        format!(
            "free integers in {}: {optimal} optimal; {ideal} equal to the ideal function{rest}{not}",
            table::count(free.len(), "layer")
        )
    })
}

/// Returns up to two lines. The first counts the layers whose results would come closer to exact arithmetic if the
/// target's runtime used other integers of the same form. The second counts the layers whose results would come closer
/// if the runtime rounded once instead of twice.
pub(super) fn possible_gains(layers: &[Layer]) -> Vec<String> {
    let all: Vec<&FromScales> = layers.iter().filter_map(|layer| layer.from_scales.as_deref()).collect();
    let line = |rounds_once: bool| {
        let better = all.iter().filter(|l| l.better > 0 && l.rounds_once == rounds_once);
        let both: Vec<_> = better
            .filter_map(|l| Some((l.runtime.as_ref()?, l.best.as_ref()?)))
            .collect();
        let what = if rounds_once {
            "one rounding instead of two"
        } else {
            "other integers of the same form"
        };
        let (runtime, best) = (worst(both.iter().map(|b| b.0)), worst(both.iter().map(|b| b.1)));
        (!both.is_empty()).then(|| {
            format!(
                "in {} of {} {what} would come nearer to the scales, off by {best} instead of {runtime}; the runtime makes its own",
                both.len(),
                table::count(all.len(), "layer")
            )
        })
    };
    [false, true].into_iter().filter_map(line).collect()
}

/// Returns the largest difference and the largest share among `distances`. The numbers of accumulators are set to 0.
fn worst<'a>(distances: impl Iterator<Item = &'a Distance>) -> Distance {
    let none = Distance {
        max_lsb: 0,
        share: 0.0,
        differing: 0,
        accumulators: 0,
    };
    distances.fold(none, |worst, distance| Distance {
        max_lsb: worst.max_lsb.max(distance.max_lsb),
        share: worst.share.max(distance.share),
        ..worst
    })
}
