//! Calibration caches of TensorRT: after a line with the version and the calibrator, one line for each tensor, with its name
//! and the scale as 8 hexadecimal digits, the bits of an f32 with the most significant digit first. Codes are symmetric in
//! int8: real = scale × q.

use strait_core::Elem;

use super::{Found, entry, is_scale};

/// Reads a cache.
///
/// # Errors
/// The text is not a calibration cache.
pub(super) fn read(bytes: &[u8]) -> Result<Found, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("a calibration cache is text: {error}"))?;
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, first)) if first.starts_with("TRT-") => {}
        _ => return Err("a calibration cache begins with a line such as TRT-8401-EntropyCalibration2".to_owned()),
    }
    let mut found = Found::default();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let digits = line.rsplit_once(':').map(|(name, digits)| (name.trim(), digits.trim()));
        let bits = digits.and_then(|(name, digits)| {
            let bits = u32::from_str_radix(digits, 16).ok();
            bits.filter(|_| digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .map(|bits| (name, bits))
        });
        let Some((name, bits)) = bits else {
            return Err(format!(
                "line {} is not a name, a colon and 8 hexadecimal digits",
                index + 1
            ));
        };
        let scale = f32::from_bits(bits);
        match () {
            () if name.starts_with("(Unnamed Layer") => {
                found.leave(name, "TensorRT has made up the name, so it is no tensor of the model");
            }
            () if !is_scale(scale) => found.leave(name, format!("its scale is {scale}")),
            () => found.tensors.push(entry(name, Elem::I8, vec![scale], vec![0], 0)),
        }
    }
    Ok(found)
}
