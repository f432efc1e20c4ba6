//! The plots, each a drawing in SVG. Colours are classes of the style sheet, so that they follow the reader's theme.

mod channels;
mod curve;
mod errors;
mod graph;
mod histogram;
mod waterfall;

pub(crate) use channels::channels;
pub(crate) use curve::curve;
pub(crate) use errors::{LayerError, errors};
pub(crate) use graph::{Box, Drawing, drawing};
pub(crate) use histogram::histogram;
pub(crate) use waterfall::{Step, waterfall};

/// Round numbers between two ends, about `wanted` of them.
fn ticks([low, high]: [f64; 2], wanted: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![low];
    }
    let rough = span / wanted.max(1) as f64;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (0..=2 * wanted as i64)
        .map(|at| (first + at) as f64 * step)
        .take_while(|tick| *tick <= high + step * 1e-6)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks([-3.1, 9.0], 4), [0.0, 5.0]);
        assert_eq!(ticks([0.0, 40.0], 4), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(ticks([1.0, 1.0], 4), [1.0]);
    }
}
