//! Tests of a pool that is followed by a requantization with parameters for each divisor. A constant selects the
//! parameters by position.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::support;

use strait_core::CertificateRecord;
use strait_core::Module;
use strait_requantize::certificate::Digest;
use strait_requantize::{Because, Per};
use strait_verify::{Fault, VerifyReport};
use support::{grounded, parse, record, shifted, verify};

/// A pool with windows of 3 x 3 around each element: 4, 6 or 9 elements of a window are not padding.
const GRAPHS: &str = "strait 1 integer main=@main
graph @lowered(%x: i8[1,2,4,4] scale=0.5 zero=3) stage=integer {
  %a: i32[1,2,4,4] scale=0.5 zero=27 = sum_pool(%x) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0, pad_value=3}
  %y: i8[1,2,4,4] scale=0.5 zero=0 = requantize(%a, @p) {form={arith_folded shift=[2,3,4] rounding=half_even out=i8}, axis=0}
  return %y
}
graph @main(%x: i8[1,2,4,4] scale=0.5 zero=3) {
  %y: i8[1,2,4,4] scale=0.5 zero=0 = sum_pool(%x, @q) {size=[3,3], stride=[1,1], pad=[1,1,1,1], dilation=[1,1], ceil=0, pad_value=3} fused={arith_folded shift=[2,3,4] rounding=half_even out=i8}
  return %y
}
data @p: i32[1,1,4,4] = inline [0,1,1,0,1,2,2,1,1,2,2,1,0,1,1,0]
data @q: i32[1,1,4,4] = inline [0,1,1,0,1,2,2,1,1,2,2,1,0,1,1,0]";

/// The interval of the sum of n elements from -128 to 127 and 9 - n elements that are 3.
fn sums(n: i64) -> (i64, i64) {
    (-128 * n + 3 * (9 - n), 127 * n + 3 * (9 - n))
}

fn certified() -> CertificateRecord {
    let intervals = [4, 6, 9].map(sums).into_iter().collect();
    let mut record = record("y", &[shifted(&[2, 3, 4])], shifted(&[2, 3, 4]), intervals);
    record.certificate.because = vec![
        Because::Operand {
            index: 0,
            low: -128,
            high: 127,
        },
        Because::Window { elements: 9 },
        Because::Elements { most: vec![4, 6, 9] },
        Because::Padding { value: 3 },
    ];
    record
}

fn faults(text: &str, record: &CertificateRecord) -> (VerifyReport, Vec<Fault>) {
    let report = verify(&parse(text), std::slice::from_ref(record));
    let faults = report.findings.iter().map(|f| f.fault.clone()).collect();
    (report, faults)
}

#[test]
fn each_divisor_has_an_interval_and_a_verdict() {
    let (report, faults) = faults(GRAPHS, &certified());
    assert_eq!(faults, []);
    assert_eq!((report.exact, report.bounded.len()), (1, 0));
    // A wider interval, and one interval for all channels, are sound as well.
    let mut wider = certified();
    wider.certificate.interval = Per::Tensor(sums(9));
    wider.certificate.because.truncate(2);
    assert_eq!(self::faults(GRAPHS, &wider).1, []);
}

#[test]
fn an_interval_that_is_that_of_another_divisor_is_found() {
    let mut damaged = certified();
    damaged.certificate.interval = [6, 4, 9].map(sums).into_iter().collect();
    let (report, faults) = faults(GRAPHS, &damaged);
    assert!(matches!(faults[..], [Fault::Interval { channel: 1, .. }]), "{report:?}");
}

#[test]
fn other_elements_than_there_are_are_found() {
    let mut damaged = certified();
    damaged.certificate.because[2] = Because::Elements { most: vec![4, 5, 9] };
    let (report, faults) = faults(GRAPHS, &damaged);
    assert!(
        matches!(faults[..], [Fault::Fact(Because::Elements { .. })]),
        "{report:?}"
    );
}

#[test]
fn another_pick_in_the_fused_graph_is_found_where_it_is() {
    let text = GRAPHS.replace("@q: i32[1,1,4,4] = inline [0,1", "@q: i32[1,1,4,4] = inline [0,2");
    let (report, faults) = faults(&text, &certified());
    assert!(
        faults.iter().any(|fault| matches!(fault, Fault::Structure(_))),
        "{report:?}"
    );
    assert!(report.findings.iter().all(|finding| finding.value == "y"), "{report:?}");
}

#[test]
fn another_pick_in_both_graphs_is_found_by_what_the_certificate_was_derived_from() {
    let grounds: Module = parse(GRAPHS);
    let record = grounded(&grounds, &[certified()]).remove(0);
    assert_ne!(record.certificate.derived_from, Digest::default());
    // All four corners select the second divisor, whose interval is wider. So only the digest shows the difference.
    let text = GRAPHS.replace("[0,1,1,0,1,2,2,1,1,2,2,1,0,1,1,0]", "[0,1,1,1,1,2,2,1,1,2,2,1,0,1,1,0]");
    let (report, faults) = faults(&text, &record);
    assert!(faults.contains(&Fault::Grounds), "{report:?}");
}

#[test]
fn another_multiplier_is_found() {
    // The shift for windows of 6 elements is changed, in the fused graph only.
    let fused = "pad_value=3} fused={arith_folded shift=[2,";
    let text = GRAPHS.replace(&format!("{fused}3,"), &format!("{fused}4,"));
    assert_ne!(text, GRAPHS);
    let (report, faults) = faults(&text, &certified());
    assert!(
        faults
            .iter()
            .any(|fault| matches!(fault, Fault::OtherSteps { which: "after", .. })),
        "{report:?}"
    );
    assert!(
        faults
            .iter()
            .any(|fault| matches!(fault, Fault::Claim { channel: 1, .. })),
        "{report:?}"
    );
    assert_eq!((report.exact, report.bounded.len()), (0, 1));
}

#[test]
fn picks_behind_something_else_than_a_pool_have_one_interval_for_all() {
    // A requantization that does not follow a pool. A constant selects its channels, and nothing is fused.
    let text = "strait 1 integer main=@main
graph @lowered(%x: i8[1,1,2,2] scale=0.5 zero=0) stage=integer {
  %y: i8[1,1,2,2] scale=0.5 zero=0 = requantize(%x, @p) {form={arith_folded shift=[0,3] rounding=half_even out=i8}, axis=0}
  return %y
}
graph @main(%x: i8[1,1,2,2] scale=0.5 zero=0) {
  %y: i8[1,1,2,2] scale=0.5 zero=0 = requantize(%x, @p) {form={arith_folded shift=[0,3] rounding=half_even out=i8}, axis=0}
  return %y
}
data @p: i32[2,1] = inline [0,1]";
    assert_eq!(verify(&parse(text), &[]).findings, []);
}
