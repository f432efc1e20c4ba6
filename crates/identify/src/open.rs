//! Finds the arithmetics that recordings cannot distinguish from the one that a table states.

use crate::{
    answer::{Answer, Subject},
    hypothesis::{Family, Hypothesis},
};
use strait_requantize::Rounding;

/// Finds the arithmetics that have another family or rounding than `own`, also explain all layers of `answers`, and
/// need no more bits of parameters than `own` for any layer. An arithmetic that needs more bits is left out: with more
/// bits, it can imitate `own` by chance. Returns `None` if `own` itself does not explain one of the layers.
pub fn left_open(own: &Hypothesis, answers: &[&Answer]) -> Option<Vec<Hypothesis>> {
    let own = Hypothesis {
        rounding: match (own.family, own.rounding) {
            // In the family that adds a constant, these roundings give the same functions as half up with other
            // constants.
            (Family::Before, Rounding::Floor | Rounding::Ceil | Rounding::HalfDown) => Rounding::HalfUp,
            (_, rounding) => rounding,
        },
        ..*own
    };
    let fewest: Option<Vec<u8>> = answers
        .iter()
        .map(|answer| narrowest(answer, &own, own.bits).map(|found| found.parameters()))
        .collect();
    let fewest = fewest?;
    let open = Hypothesis::by_width().into_iter().filter_map(|widths| {
        let other = *widths.first()?;
        if other.is_width_of(&own) {
            return None;
        }
        let found: Option<Vec<Hypothesis>> = answers
            .iter()
            .zip(&fewest)
            .map(|(answer, fewest)| narrowest(answer, &other, u8::MAX).filter(|found| found.parameters() <= *fewest))
            .collect();
        found?.into_iter().max_by_key(|found| found.bits)
    });
    Some(open.collect())
}

/// Finds the smallest width of the multiplier, up to `most` bits, with which this arithmetic produces every value of a
/// layer. Returns the hypothesis with this width; `None` if no width is large enough.
fn narrowest(answer: &Answer, of: &Hypothesis, most: u8) -> Option<Hypothesis> {
    let exact = answer.explained.iter().filter(|explained| explained.missed == 0);
    let widths = exact.filter_map(|explained| match explained.subject {
        Subject::Hypothesis(found) if found.is_width_of(of) && found.bits <= most => Some(found),
        _ => None,
    });
    widths.min_by_key(|found| found.bits)
}
