//! Encodings of AIMET in JSON. In version 0.6.1, each tensor has a list of encodings, one for each channel, with the keys
//! `bitwidth`, `scale`, `offset`, `is_symmetric` and `dtype`. In version 1.0.0, each tensor is one object with `bw`, and lists
//! of `scale` and `offset`.
//!
//! AIMET counts codes from 0: real = scale × (q + offset), with q from 0 to 2^bits − 1. In signed codes, the zero point is
//! −offset − 2^(bits−1). Symmetric encodings have the offset −2^(bits−1), or one more if the smallest code is not used, and
//! the zero point 0.

use serde_json::{Map, Value};

use super::{Found, entry, is_scale, signed};

/// Both lists of a file.
const LISTS: [&str; 2] = ["activation_encodings", "param_encodings"];

/// Reads encodings.
///
/// # Errors
/// The text is not JSON, or its version is not known.
pub(super) fn read(bytes: &[u8]) -> Result<Found, String> {
    let file: Value = serde_json::from_slice(bytes).map_err(|error| format!("this is not JSON: {error}"))?;
    let version = file.get("version").and_then(Value::as_str).unwrap_or_default();
    if !["0.6.1", "1.0.0"].contains(&version) {
        return Err(format!(
            "encodings of AIMET have `version` \"0.6.1\" or \"1.0.0\", and this file has \"{version}\""
        ));
    }
    let mut found = Found::default();
    for list in LISTS {
        match file.get(list) {
            None => {}
            Some(Value::Object(tensors)) => {
                for (name, encodings) in tensors {
                    of_list(&mut found, name, encodings);
                }
            }
            Some(Value::Array(tensors)) => {
                for tensor in tensors {
                    let name = tensor.get("name").and_then(Value::as_str);
                    match (name, tensor.as_object()) {
                        (Some(name), Some(tensor)) => of_object(&mut found, name, tensor),
                        _ => return Err(format!("an entry of `{list}` has no `name`")),
                    }
                }
            }
            Some(_) => return Err(format!("`{list}` is neither a table nor a list")),
        }
    }
    Ok(found)
}

/// The encodings of one tensor.
struct Encodings {
    bits: u64,
    symmetric: bool,
    scales: Vec<f64>,
    offsets: Vec<f64>,
}

/// A tensor of version 0.6.1.
fn of_list(found: &mut Found, name: &str, encodings: &Value) {
    let all: Vec<&Map<String, Value>> = (encodings.as_array().into_iter().flatten())
        .filter_map(Value::as_object)
        .collect();
    let Some(first) = all.first() else {
        return found.leave(name, "it has no encodings");
    };
    if let Some(why) = is_float(first) {
        return found.leave(name, why);
    }
    let number = |key: &'static str| -> Option<Vec<f64>> { all.iter().map(|one| one.get(key)?.as_f64()).collect() };
    let same = |key: &str| all.iter().all(|one| one.get(key) == first.get(key));
    if !same("bitwidth") || !same("is_symmetric") {
        return found.leave(name, "its channels have different widths or symmetry");
    }
    match (
        first.get("bitwidth").and_then(Value::as_u64),
        number("scale"),
        number("offset"),
    ) {
        (Some(bits), Some(scales), Some(offsets)) => {
            let encodings = Encodings {
                bits,
                symmetric: is_true(first.get("is_symmetric")),
                scales,
                offsets,
            };
            take(found, name, &encodings);
        }
        _ => found.leave(name, "`bitwidth`, `scale` or `offset` is missing"),
    }
}

/// A tensor of version 1.0.0.
fn of_object(found: &mut Found, name: &str, tensor: &Map<String, Value>) {
    if let Some(why) = is_float(tensor) {
        return found.leave(name, why);
    }
    let kind = tensor.get("enc_type").and_then(Value::as_str).unwrap_or("PER_TENSOR");
    if !["PER_TENSOR", "PER_CHANNEL"].contains(&kind) {
        return found.leave(
            name,
            format!("its `enc_type` is {kind}, and PER_TENSOR and PER_CHANNEL are taken"),
        );
    }
    let numbers = |key: &str| -> Option<Vec<f64>> { tensor.get(key)?.as_array()?.iter().map(Value::as_f64).collect() };
    match (tensor.get("bw").and_then(Value::as_u64), numbers("scale")) {
        (Some(bits), Some(scales)) => {
            let symmetric = is_true(tensor.get("is_sym"));
            let half = i32::try_from(bits).map_or(0.0, |bits| -2f64.powi(bits - 1));
            // Symmetric encodings may go without offsets.
            let offsets = numbers("offset").filter(|offsets| !offsets.is_empty());
            let Some(offsets) = offsets.or_else(|| symmetric.then(|| vec![half; scales.len()])) else {
                return found.leave(name, "`offset` is missing");
            };
            let encodings = Encodings {
                bits,
                symmetric,
                scales,
                offsets,
            };
            take(found, name, &encodings);
        }
        _ => found.leave(name, "`bw` or `scale` is missing"),
    }
}

fn take(found: &mut Found, name: &str, encodings: &Encodings) {
    let Encodings {
        bits,
        symmetric,
        scales,
        offsets,
    } = encodings;
    let Some(elem) = signed(*bits) else {
        return found.leave(name, format!("it has {bits} bits, and 4, 8 and 16 are taken"));
    };
    if scales.is_empty() || offsets.len() != scales.len() {
        return found.leave(
            name,
            format!("it has {} scales and {} offsets", scales.len(), offsets.len()),
        );
    }
    let (least, most) = elem.integers().unwrap_or_default();
    let half = -(least as f64);
    let zero = |&offset: &f64| match *symmetric && (offset == -half || offset == 1.0 - half) {
        true => 0.0,
        false => -offset - half,
    };
    let zeros: Vec<f64> = offsets.iter().map(zero).collect();
    let inside = |zero: &f64| zero.fract() == 0.0 && *zero >= least as f64 && *zero <= most as f64;
    if !zeros.iter().all(inside) {
        return found.leave(name, "an offset is no code of its width");
    }
    let scales: Vec<f32> = scales.iter().map(|&scale| scale as f32).collect();
    if !scales.iter().all(|&scale| is_scale(scale)) {
        return found.leave(name, "a scale is not above 0 and finite in 32 bits");
    }
    let zeros = zeros.iter().map(|&zero| zero as i32).collect();
    found.tensors.push(entry(name, elem, scales, zeros, 0));
}

/// The reason why an encoding of floats is not taken.
fn is_float(encoding: &Map<String, Value>) -> Option<&'static str> {
    let dtype = encoding.get("dtype").and_then(Value::as_str).unwrap_or("int");
    (!dtype.eq_ignore_ascii_case("int")).then_some("its encoding is of floats, which have no scale")
}

/// AIMET writes truth values as JSON's, or as the words of Python.
fn is_true(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(value)) => *value,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    }
}
