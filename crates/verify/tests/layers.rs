//! Tests with loops that do not compute what their form defines. The fault must be found at the layer that uses them,
//! and at no other layer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::support;

use strait_core::CertificateRecord;
use strait_core::Module;
use strait_execute::{LoopsFor, Standard, StepError};
use strait_kernels::integer::Loops;
use strait_requantize::Requantization;
use strait_verify::{Fault, Finding, VerifyOptions, VerifyReport, verify_module};
use support::{grounded, on_threads, parse, record, scaled, shifted};

/// Two layers, one after the other. The second layer rounds halves up after fusion, and to even before fusion.
const TEXT: &str = "
strait 1 integer main=@main
graph @lowered(%in: f32[1,8]) stage=integer {
  %x: i8[1,8] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %a: i32[1,8] = gemm(%x, @m, _) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %first: i8[1,8] scale=0.5 zero=0 = requantize(%a) {form={arith_folded shift=7 rounding=half_even out=i8}, axis=1}
  %b: i32[1,8] = gemm(%first, @e, _) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %second: i8[1,8] scale=2.0 zero=0 = requantize(%b) {form={arith_folded shift=2 rounding=half_even out=i8}, axis=1}
  %out: f32[1,8] = dequantize(%second)
  return %out
}
graph @main(%in: f32[1,8]) {
  %x: i8[1,8] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %first: i8[1,8] scale=0.5 zero=0 = gemm(%x, @m, _) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={arith_folded shift=7 rounding=half_even out=i8}
  %second: i8[1,8] scale=2.0 zero=0 = gemm(%first, @e, _) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={tf_lite sc=1 zp=0 shift=2 rounding=half_up out=i8}
  %out: f32[1,8] = dequantize(%second)
  return %out
}
data @m: i8[8,8] = random 8
data @e: i8[8,8] = inline [1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,1]
";

fn records() -> Vec<CertificateRecord> {
    let wide = (-1 << 20, 1 << 20).into();
    vec![
        record("first", &[shifted(&[7])], shifted(&[7]), wide),
        record("second", &[shifted(&[2])], scaled(1, 2), (-128, 127).into()),
    ]
}

/// Loops that compute the second form where the first one is asked for.
struct Instead(Requantization, Requantization);

impl LoopsFor for Instead {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        Standard.loops_for(if *form == self.0 { &self.1 } else { form }, clamp)
    }
}

fn verify(module: &Module, loops: &dyn LoopsFor) -> VerifyReport {
    let records = grounded(module, &records());
    on_threads(|threads| {
        let options = VerifyOptions {
            loops,
            ..VerifyOptions::new(threads)
        };
        verify_module(module, &records, &options).unwrap()
    })
}

#[test]
fn a_bounded_layer_within_its_bound_is_sound() {
    let report = verify(&parse(TEXT), &Standard);
    assert_eq!(report.findings, []);
    assert_eq!((report.exact, report.bounded), (1, vec![("second".to_owned(), 1)]));
}

#[test]
fn loops_that_do_not_compute_an_exact_layer_are_found_there_and_not_behind_it() {
    let report = verify(&parse(TEXT), &Instead(shifted(&[7]).form, shifted(&[6]).form));
    let [found] = &report.findings[..] else {
        panic!("{report:?}")
    };
    assert!(
        found.value == "first" && matches!(found.fault, Fault::Layer { max_lsb: 0, .. }),
        "{found}"
    );
    assert!(found.to_string().contains("random sample 0: element"), "{found}");
}

#[test]
fn a_bound_that_is_violated_at_run_time_is_found() {
    let other = scaled(3, 2).form;
    let report = verify(&parse(TEXT), &Instead(scaled(1, 2).form, other));
    // The results also leave the bounds that were derived for the form.
    let [
        found,
        Finding {
            value,
            fault: Fault::Escaped { .. },
        },
    ] = &report.findings[..]
    else {
        panic!("{report:?}")
    };
    assert_eq!(value, "second");
    assert!(
        found.value == "second" && matches!(found.fault, Fault::Layer { max_lsb: 1, .. }),
        "{found}"
    );
    assert!(found.to_string().contains("more than the 1 LSB"), "{found}");
}
