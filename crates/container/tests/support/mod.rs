//! A small artifact for tests.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use strait_container::{ArtifactWriter, Manifest, Provenance, Sources, TargetVersion, ToolVersion, sha256};
use strait_core::{CertificateRecord, Module};
use strait_requantize::{Argument, Certificate, IntType, Narrowing, Requantization, Rounding, form};

/// Two graphs that share their constants: a convolution before and after its requantization is fused. `@b` and `@c` are
/// equal.
pub(crate) const TEXT: &str = "
strait 1 integer main=@main
graph @lowered(%x: i8[1,2,4,4] scale=0.5 zero=0) stage=integer {
  %a: i32[1,3,4,4] = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
  %q: i8[1,3,4,4] scale=0.5 zero=0 = requantize(%a) {form={arith_folded shift=7 rounding=half_even out=i8}, axis=1}
  return %q
}
graph @main(%x: i8[1,2,4,4] scale=0.5 zero=0) {
  %q: i8[1,3,4,4] scale=0.5 zero=0 = conv(%x, @w, @c) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0} fused={arith_folded shift=7 rounding=half_even out=i8}
  return %q
}
data @w: i8[3,2,3,3] = random 7
data @b: i32[3] = inline [1,-2,3]
data @c: i32[3] = inline [1,-2,3]
";

pub(crate) fn module() -> Module {
    let module = strait_core::text::parse(TEXT).unwrap();
    strait_core::verifier::verify(&module).unwrap();
    module
}

pub(crate) fn certificates() -> Vec<CertificateRecord> {
    let form = Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing {
            shift: 7.into(),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        },
    });
    // A float with many digits in its shortest decimal form, so that a lost digit is noticed.
    let float = Requantization::Float(form::Float {
        scale: 0.007_812_501.into(),
        zp: -3,
        out: IntType::I8,
    });
    let certificate = |after: Requantization| {
        let before = vec![form.clone().into()];
        let intervals = [(-5000, 7000), (-1, 1)].into_iter().collect();
        Certificate::derive(Argument::SameAccumulator, before, Some(after.into()), intervals).unwrap()
    };
    let record = |row: &str, certificate| CertificateRecord {
        node: "q".into(),
        row: row.into(),
        certificate,
    };
    vec![
        record("conv-requantize", certificate(form.clone())),
        record("weakened", certificate(float)),
    ]
}

pub(crate) fn provenance() -> Provenance {
    Provenance {
        ports: Default::default(),
        sources: Sources {
            config: sha256(b"config"),
            data: [("calibration".to_owned(), sha256(b"data"))].into(),
            model: sha256(b"model"),
            not_for_deployment: None,
            readers: Default::default(),
        },
        target: TargetVersion {
            id: "generic-int8".into(),
            origin: None,
            table: sha256(b"table"),
            version: "1.0.0".into(),
        },
        tool: ToolVersion {
            name: "strait".into(),
            version: "0.1.0".into(),
        },
    }
}

/// Writes an artifact with this text as its report.
pub(crate) fn write(destination: &Path, report: &str) -> Manifest {
    let writer = ArtifactWriter::create(destination).unwrap();
    fill(&writer, report);
    writer.commit(provenance()).unwrap()
}

pub(crate) fn fill(writer: &ArtifactWriter, report: &str) {
    writer.add_model(&module(), &certificates()).unwrap();
    writer.add_bytes("report.json", report.as_bytes()).unwrap();
    writer.add_bytes("vendor/model.qdq.onnx", &[1, 2, 3]).unwrap();
}

/// The names in a folder, hidden ones included.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
