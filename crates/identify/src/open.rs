//! Arithmetics that recordings leave open beside the one that a table says.

use crate::{
    answer::{Answer, Subject},
    hypothesis::{Family, Hypothesis},
};
use strait_requantize::Rounding;

/// The arithmetics of other families and roundings than `own` that explain all of these layers, too, and of each layer with as
/// few bits of parameters: a recording of a factor with few bits tells those that need more to imitate it. `None` where a layer
/// is not explained by `own` itself.
pub fn left_open(own: &Hypothesis, answers: &[&Answer]) -> Option<Vec<Hypothesis>> {
    let own = Hypothesis {
        rounding: match (own.family, own.rounding) {
            // One function with other constants.
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

/// The narrowest width of an arithmetic, of at most so many bits, that gives every value of a layer.
fn narrowest(answer: &Answer, of: &Hypothesis, most: u8) -> Option<Hypothesis> {
    let exact = answer.explained.iter().filter(|explained| explained.missed == 0);
    let widths = exact.filter_map(|explained| match explained.subject {
        Subject::Hypothesis(found) if found.is_width_of(of) && found.bits <= most => Some(found),
        _ => None,
    });
    widths.min_by_key(|found| found.bits)
}
