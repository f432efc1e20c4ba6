//! Compares a library's codes with the codes that the form's definition gives.

use strait_kernels::integer::Tile;
use strait_requantize::Requantization;

/// Compares the library's codes for a tile with the codes that the form computes. Returns a sentence about the first
/// accumulator whose two codes differ, or `None` if no codes differ.
pub(crate) fn differing<T: Copy + Into<i64>>(
    form: &Requantization,
    row: &str,
    tile: &Tile,
    accumulators: &[T],
    codes: &[u8],
) -> Option<String> {
    let count = form.channels().unwrap_or(1);
    let channels: Vec<_> = (0..count).map(|channel| form.channel(channel).ok()).collect();
    let width = codes.len() / accumulators.len().max(1);
    let codes = codes
        .chunks_exact(width.max(1))
        .map(|bytes| form.out().decode(bytes).unwrap_or(0));
    accumulators
        .iter()
        .zip(codes)
        .enumerate()
        .find_map(|(at, (&x, found))| {
            let channel = tile.channel(at).min(count.saturating_sub(1));
            let scalars = channels.get(channel)?.as_ref()?;
            let (low, high) = scalars.domain().into_inner();
            let x: i64 = x.into();
            let expected = scalars.eval(x.clamp(low, high)).ok()?;
            (found != expected).then(|| {
                format!(
                    "it makes {found} of the accumulator {x} in channel {channel}, and the form `{row}` says {expected}"
                )
            })
        })
}
