use std::fs;

use super::{From, aimet, import, tensorrt};
use crate::config::{Params, Says};

/// Imports a text. Returns the entries as name, scales and zero points, and what was left out.
fn imported(content: &[u8], from: Option<From>) -> Result<(Vec<String>, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["in", "out.toml"].map(|name| folder.path().join(name));
    fs::write(&file, content).unwrap();
    let told = import(&file, from, &out).map_err(|stop| stop.to_string())?;
    // What was written can be taken.
    let read = Params::load(&out).map_err(|found| found.to_string())?;
    let entries = read.tensors.iter().map(|given| match &given.says {
        Says::Grid(elem, params) => {
            let (scale, zero) = (params.scale.values(), params.zero_point.values());
            format!("{} {elem} {scale:?} {zero:?}", given.name)
        }
        Says::Range(range) => format!("{} {range:?}", given.name),
    });
    let left = told.left_out.iter().map(|left| format!("{}: {}", left.name, left.why));
    Ok((entries.collect(), left.collect()))
}

const AIMET_0_6_1: &str = r#"{
  "version": "0.6.1",
  "activation_encodings": {
    "x": [{ "bitwidth": 8, "dtype": "int", "is_symmetric": "False", "max": 2.875, "min": -1.125, "offset": -72, "scale": 0.015625 }],
    "y": [{ "bitwidth": 16, "dtype": "int", "is_symmetric": "True", "max": 1, "min": -1, "offset": -32768, "scale": 0.5 }],
    "f": [{ "bitwidth": 16, "dtype": "float" }],
    "t": [{ "bitwidth": 10, "dtype": "int", "is_symmetric": "False", "offset": 0, "scale": 1 }]
  },
  "param_encodings": {
    "w": [
      { "bitwidth": 8, "dtype": "int", "is_symmetric": "True", "offset": -127, "scale": 0.25 },
      { "bitwidth": 8, "dtype": "int", "is_symmetric": "True", "offset": -128, "scale": 0.125 }
    ]
  }
}"#;

const AIMET_1_0_0: &str = r#"{
  "version": "1.0.0",
  "activation_encodings": [
    { "name": "x", "bw": 8, "dtype": "INT", "enc_type": "PER_TENSOR", "is_sym": false, "offset": [-72], "scale": [0.015625] },
    { "name": "f", "bw": 16, "dtype": "FLOAT", "enc_type": "PER_TENSOR" }
  ],
  "param_encodings": [
    { "name": "w", "bw": 4, "dtype": "INT", "enc_type": "PER_CHANNEL", "is_sym": true, "offset": [-8, -8], "scale": [0.25, 0.5] },
    { "name": "b", "bw": 4, "dtype": "INT", "enc_type": "PER_BLOCK", "block_size": 32, "is_sym": true, "scale": [0.25] }
  ]
}"#;

#[test]
fn encodings_of_both_versions_are_read_and_offsets_become_zero_points() {
    let (taken, left) = imported(AIMET_0_6_1.as_bytes(), None).unwrap();
    // 128 codes below the middle, of which 72 lie below zero: −(−72) − 128 = −56.
    assert_eq!(
        taken,
        ["x i8 [0.015625] [-56]", "y i16 [0.5] [0]", "w i8 [0.25, 0.125] [0]"]
    );
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].starts_with("f: ") && left[1].contains("10 bits"), "{left:?}");
    let (taken, left) = imported(AIMET_1_0_0.as_bytes(), None).unwrap();
    assert_eq!(taken, ["x i8 [0.015625] [-56]", "w i4 [0.25, 0.5] [0]"]);
    assert!(left.len() == 2 && left[1].contains("PER_BLOCK"), "{left:?}");
    let other = AIMET_1_0_0.replace("1.0.0", "2.0.0");
    assert!(
        imported(other.as_bytes(), None)
            .unwrap_err()
            .contains("this file has \"2.0.0\"")
    );
}

#[test]
fn a_calibration_cache_has_the_bits_of_scales() {
    // 0x3c010a14 is 0.00787593…, as an f32 with the sign and the exponent first.
    let text = "TRT-8401-EntropyCalibration2\ninput:0: 3c010a14\nconv: 3f800000\nz: 00000000\n(Unnamed Layer* 3) [Shuffle]_output: 3f800000\n";
    let (taken, left) = imported(text.as_bytes(), None).unwrap();
    assert_eq!(taken, ["input:0 i8 [0.007875938] [0]", "conv i8 [1.0] [0]"]);
    assert_eq!(left.len(), 2, "{left:?}");
    for wrong in [
        "TRT-8401-X\nname 3c010a14\n",
        "TRT-8401-X\nname: 3c01\n",
        "TRT-8401-X\nname: +c010a14\n",
    ] {
        let error = imported(wrong.as_bytes(), None).unwrap_err();
        assert!(error.contains("line 2") || error.contains("no scale"), "{error}");
    }
}

#[test]
fn damaged_files_are_refused_without_harm() {
    for text in [AIMET_0_6_1, AIMET_1_0_0, "TRT-8401-EntropyCalibration2\nx: 3c010a14\n"] {
        for end in (0..text.len()).step_by(3) {
            let cut = &text.as_bytes()[..end];
            let _ = (aimet::read(cut), tensorrt::read(cut));
            let mut bytes = text.as_bytes().to_vec();
            bytes[end] ^= 0x15;
            let _ = (aimet::read(&bytes), tensorrt::read(&bytes));
        }
    }
    assert!(imported(b"nothing", Some(From::TensorRt)).is_err());
    let deep = [b"{\"version\":".as_slice(), &[b'['; 100_000]].concat();
    assert!(imported(&deep, None).is_err());
}
