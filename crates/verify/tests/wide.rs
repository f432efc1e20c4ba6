//! Tests of i64 accumulators of 16-bit codes: their bounds, what a form with a 48-bit domain covers, and sums that
//! exceed i64.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use strait_core::CertificateRecord;
use strait_core::{Elem, Module};
use strait_requantize::{IntType, Per, Requantization, Step, form};
use strait_verify::{Fault, Interval, VerifyReport, analyse};
use support::{grounded, parse, record, verify};

const ATTRIBUTES: &str = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64}";

/// A quantization followed by a convolution with two channels, as a lowered and as a fused graph.
fn graphs(fused: &str, bias: &str) -> String {
    let step = "{sixteen_by_eight multiplier=[1073741824,2000000000] exponent=[-20,-21] zp=0 out=i16}";
    format!(
        "strait 1 integer main=@main
graph @lowered(%in: f32[1,2,1,3]) stage=integer {{
  %x: i16[1,2,1,3] scale=0.5 zero=0 = quantize(%in) {{to=i16, rounding=half_away, reciprocal=0}}
  %a: i64[1,2,1,3] scale=0.5 zero=0 = conv(%x, @w, @b) {ATTRIBUTES}
  %y: i16[1,2,1,3] scale=0.25 zero=0 = requantize(%a) {{form={step}, axis=1}}
  %out: f32[1,2,1,3] = dequantize(%y)
  return %out
}}
graph @main(%in: f32[1,2,1,3]) {{
  %x: i16[1,2,1,3] scale=0.5 zero=0 = quantize(%in) {{to=i16, rounding=half_away, reciprocal=0}}
  %y: i16[1,2,1,3] scale=0.25 zero=0 = conv(%x, @w, @b) {ATTRIBUTES} fused={fused}
  %out: f32[1,2,1,3] = dequantize(%y)
  return %out
}}
data @w: i8[2,2,1,1] = inline [127,-127,3,-4]
data @b: i64[2] = inline {bias}"
    )
}

const FUSED: &str = "{sixteen_by_eight multiplier=[1073741824,2000000000] exponent=[-20,-21] zp=0 out=i16}";

fn step() -> Step {
    Requantization::from(form::SixteenByEight {
        multiplier: [1_073_741_824, 2_000_000_000].into_iter().collect(),
        exponent: [-20, -21].into_iter().collect(),
        zp: 0,
        out: IntType::I16,
    })
    .into()
}

/// The intervals of both channels: the sums of weights times the ends of 16 bits, plus the bias.
fn interval() -> Per<(i64, i64)> {
    let ends = |positive: i64, negative: i64, bias: i64| {
        (
            bias - positive * 32_768 - negative * 32_767,
            bias + positive * 32_767 + negative * 32_768,
        )
    };
    [ends(127, 127, 10_000_000_000), ends(3, 4, -10_000_000_000)]
        .into_iter()
        .collect()
}

fn records() -> Vec<CertificateRecord> {
    vec![record("y", &[step()], step(), interval())]
}

/// The faults that are found without running the graphs, because a run fails if a sum does not fit.
fn analysed(module: &Module, records: &[CertificateRecord]) -> Vec<Fault> {
    let analysis = analyse(module, &grounded(module, records)).unwrap();
    analysis.findings().iter().map(|f| f.fault.clone()).collect()
}

fn faults(report: &VerifyReport) -> Vec<&Fault> {
    report.findings.iter().map(|f| &f.fault).collect()
}

const BIAS: &str = "[10000000000,-10000000000]";

#[test]
fn a_fusion_behind_sums_past_32_bits_is_verified() {
    let module = parse(&graphs(FUSED, BIAS));
    let report = verify(&module, &grounded(&module, &records()));
    assert_eq!(faults(&report), Vec::<&Fault>::new());
}

#[test]
fn another_function_behind_sums_past_32_bits_is_found() {
    let other = FUSED.replace("2000000000", "1900000000");
    let module = parse(&graphs(&other, BIAS));
    let mut records = records();
    if let Requantization::SixteenByEight(form) = &mut step().form {
        form.multiplier = [1_073_741_824, 1_900_000_000].into_iter().collect();
        records[0].certificate.after = Some(Requantization::from(form.clone()).into());
    }
    let claim = |fault: &Fault| {
        matches!(
            fault,
            Fault::Claim { channel: 1, .. } | Fault::Contradiction { channel: 1, .. }
        )
    };
    let found = analysed(&module, &records);
    assert!(found.iter().any(claim), "{found:?}");
}

#[test]
fn a_sum_past_the_48_bits_of_its_form_is_found_with_the_form() {
    let module = parse(&graphs(FUSED, "[140737488355328,-10]"));
    let found = analysed(&module, &records());
    let outside =
        |fault: &Fault| matches!(fault, Fault::OutsideDomain(_)) && fault.to_string().contains("sixteen_by_eight");
    assert!(found.iter().any(outside), "{found:?}");
}

#[test]
fn a_sum_that_can_leave_64_bits_is_found() {
    let module = parse(&graphs(FUSED, "[9223372036854775807,-10]"));
    let found = analysed(&module, &records());
    let past = |fault: &Fault| {
        let interval = Interval {
            low: i64::MAX - 127 * 65_535,
            high: i64::MAX,
        };
        *fault
            == Fault::Overflow {
                channel: 0,
                interval,
                carrier: Elem::I64,
            }
    };
    assert!(found.iter().any(past), "{found:?}");
    assert!(
        found.iter().any(|f| f.to_string().contains("does not fit 64 bits")),
        "{found:?}"
    );
}
