//! Tests that certificates cover everything that can occur, and that the facts in them are true.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::support;

use strait_core::CertificateRecord;
use strait_core::Module;
use strait_requantize::{Argument, Because, IntType, Per, Verdict};
use strait_verify::{Fault, Interval, VerifyReport};
use support::{entries_record, grounded, parse, record, scaled, shifted, verify};

fn faults(report: &VerifyReport) -> Vec<(&str, &Fault)> {
    report.findings.iter().map(|f| (f.value.as_str(), &f.fault)).collect()
}

/// A padded convolution of codes from -3 to 90 with two channels, followed by a sum over windows of its result.
const GRAPHS: &str = "strait 1 integer main=@main
graph @lowered(%in: i8[1,1,3,3] scale=0.5 zero=-5) stage=integer {
  %x: i8[1,1,3,3] scale=0.5 zero=-5 = clamp(%in) {min=-3, max=90}
  %a: i32[1,2,3,3] = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, pad_value=-5}
  %y: i8[1,2,3,3] scale=0.25 zero=0 = requantize(%a) {form={arith_folded shift=[3,4] rounding=half_even out=i8}, axis=1}
  %s: i32[1,2,2,2] = sum_pool(%y) {size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0, pad_value=0}
  %z: i8[1,2,2,2] scale=0.25 zero=0 = requantize(%s) {form={arith_folded shift=2 rounding=half_even out=i8}, axis=1}
  return %z
}
graph @main(%in: i8[1,1,3,3] scale=0.5 zero=-5) {
  %x: i8[1,1,3,3] scale=0.5 zero=-5 = clamp(%in) {min=-3, max=90}
  %y: i8[1,2,3,3] scale=0.25 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, pad_value=-5} fused={arith_folded shift=[3,4] rounding=half_even out=i8}
  %z: i8[1,2,2,2] scale=0.25 zero=0 = sum_pool(%y) {size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0, pad_value=0} fused={arith_folded shift=2 rounding=half_even out=i8}
  return %z
}
data @w: i8[2,1,2,2] = inline [2,0,-1,3, 0,0,1,-1]
data @b: i32[2] = inline [10,-20]";

/// The intervals of the convolution's sums. The last tap of its 2 x 2 kernel never reads padding, because there is
/// padding only at the begin of the axes.
const FIRST: [(i64, i64); 2] = [
    (10 - (2 * 5 + 90 + 3 * 3), 10 + 2 * 90 + 5 + 3 * 90),
    (-20 - 5 - 90, -20 + 90 + 3),
];

fn sums() -> (Module, Vec<CertificateRecord>) {
    let module = parse(GRAPHS);
    let mut conv = record("y", &[shifted(&[3, 4])], shifted(&[3, 4]), FIRST.into_iter().collect());
    conv.certificate.because = vec![
        Because::Operand {
            index: 0,
            low: -3,
            high: 90,
        },
        Because::Weights,
        Because::Bias,
        Because::Padding { value: -5 },
    ];
    let interval = (4 * -12, 4 * 58);
    let mut pool = record("z", &[shifted(&[2])], shifted(&[2]), interval.into());
    pool.certificate.because = vec![
        Because::Operand {
            index: 0,
            low: -12,
            high: 58,
        },
        Because::Window { elements: 4 },
    ];
    (module, vec![conv, pool])
}

#[test]
fn an_interval_that_holds_all_that_can_occur_and_more_is_sound() {
    let (module, mut records) = sums();
    assert_eq!(verify(&module, &records).findings, []);
    records[0].certificate.interval = FIRST.iter().map(|(low, high)| (low - 1, high + 1000)).collect();
    records[1].certificate.interval = (-1000, 1000).into();
    assert_eq!(verify(&module, &records).findings, []);
}

/// Narrows each end of each interval. The digest is computed anew, and the verdicts stay correct.
#[test]
fn an_interval_that_is_narrower_by_one_is_found_at_its_value() {
    let (module, records) = sums();
    let damaged = |index: usize, interval: Per<(i64, i64)>| {
        let mut records = records.clone();
        records[index].certificate.interval = interval;
        let report = verify(&module, &records);
        let contradicts = |(_, fault): &(&str, &Fault)| matches!(fault, Fault::Contradiction { .. });
        assert!(!faults(&report).iter().any(contradicts), "{report:?}");
        report
    };
    let narrowed = |(low, high): (i64, i64), end: usize| [(low + 1, high), (low, high - 1)][end];
    for end in [0, 1] {
        for channel in [0, 1] {
            let mut intervals = FIRST;
            intervals[channel] = narrowed(FIRST[channel], end);
            let (low, high) = FIRST[channel];
            let report = damaged(0, intervals.into_iter().collect());
            let expected = Fault::Interval {
                channel,
                claimed: Some(Interval {
                    low: intervals[channel].0,
                    high: intervals[channel].1,
                }),
                found: Interval { low, high },
            };
            assert_eq!(faults(&report), [("y", &expected)], "{end} {channel}");
        }
        let (low, high) = (4 * -12, 4 * 58);
        let report = damaged(1, narrowed((low, high), end).into());
        assert!(
            matches!(faults(&report)[..], [("z", Fault::Interval { channel: 0, found, .. })] if *found == Interval { low, high }),
            "{report:?}"
        );
    }
}

#[test]
fn the_interval_of_another_channel_or_of_another_layer_is_found() {
    let (module, records) = sums();
    let mut swapped = records.clone();
    swapped[0].certificate.interval = [FIRST[1], FIRST[0]].into_iter().collect();
    let report = verify(&module, &swapped);
    assert!(
        matches!(faults(&report)[..], [("y", Fault::Interval { .. })]),
        "{report:?}"
    );
    let mut swapped = records;
    swapped[0].certificate.interval = (4 * -12, 4 * 58).into();
    let report = verify(&module, &swapped);
    // If the certificate does not have an interval for each channel, it does not have a verdict for each channel
    // either.
    assert!(
        faults(&report)
            .iter()
            .any(|(v, f)| *v == "y" && matches!(f, Fault::Interval { .. })),
        "{report:?}"
    );
}

#[test]
fn a_fact_that_is_not_so_is_found() {
    let (module, records) = sums();
    let operand = |low, high| Because::Operand { index: 0, low, high };
    let untrue = [
        (0, operand(-2, 90)),
        (0, operand(-3, 89)),
        (
            0,
            Because::Operand {
                index: 1,
                low: 0,
                high: 3,
            },
        ),
        (
            0,
            Because::Operand {
                index: 7,
                low: i64::MIN,
                high: i64::MAX,
            },
        ),
        (0, Because::Padding { value: -4 }),
        (0, Because::Window { elements: 4 }),
        (0, Because::ZeroPoints),
        (0, Because::Entries),
        (0, Because::EveryFloat),
        (0, Because::Type(IntType::I16)),
        (1, operand(-12, 57)),
        (1, Because::Window { elements: 5 }),
        (1, Because::Padding { value: 0 }),
        (1, Because::Weights),
        (1, Because::Bias),
    ];
    for (index, fact) in untrue {
        let mut records = records.clone();
        records[index].certificate.because.push(fact.clone());
        let report = verify(&module, &records);
        assert_eq!(faults(&report), [(["y", "z"][index], &Fault::Fact(fact))]);
    }
    for (index, fact) in [
        (0, operand(-4, 127)),
        (0, Because::Type(IntType::I32)),
        (1, operand(-128, 127)),
    ] {
        let mut records = records.clone();
        records[index].certificate.because = vec![fact];
        assert_eq!(verify(&module, &records).findings, []);
    }
}

/// Tests a constant that was requantized, with a certificate of other entries.
#[test]
fn a_certificate_of_other_entries_than_there_are_is_found() {
    let module = parse(
        "strait 1 integer main=@main
graph @lowered(%x: i8[3] scale=1.0 zero=0) stage=integer {
  %c: i8[3] scale=1.0 zero=0 = requantize(@wide) {form={arith_folded shift=1 rounding=half_even out=i8}, axis=0}
  %y: i32[3] = add(%x, %c)
  return %y
}
graph @main(%x: i8[3] scale=1.0 zero=0) {
  %y: i32[3] = add(%x, @c)
  return %y
}
data @wide: i32[3] = inline [-7,10,40]
data @c: i8[3] scale=1.0 zero=0 = inline [-4,5,20]",
    );
    let of = |entries: &[i64]| entries_record("c", &shifted(&[1]), entries.iter().map(|&entry| (0, entry)));
    assert_eq!(verify(&module, &[of(&[-7, 10, 40])]).findings, []);
    let fewer = verify(&module, &[of(&[-7, 40])]);
    let found = 3;
    let entries = |claimed| Fault::Entries { claimed, found };
    assert_eq!(faults(&fewer), [("c", &entries(Some(2)))]);
    let others = verify(&module, &[of(&[-6, 10, 40])]);
    assert!(
        matches!(faults(&others)[..], [("c", Fault::Interval { .. })]),
        "{others:?}"
    );
    let step = shifted(&[1]);
    let other_argument = record("c", std::slice::from_ref(&step), step.clone(), (-7, 40).into());
    let report = verify(&module, &[other_argument]);
    assert!(faults(&report).contains(&("c", &entries(None))), "{report:?}");
}

/// x / 4 rounded half up differs from x / 4 rounded half to even, but both are the same on [0, 4].
#[test]
fn a_certificate_on_fewer_accumulators_than_can_occur_is_found() {
    const ONE: &str = "
graph @lowered(%in: f32[8]) stage=integer {
  %x: i8[8] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %a: i32[8] = shift_left(%x) {zero=0, bits=0}
  %q: i8[8] scale=0.5 zero=0 = requantize(%a) {form={arith_folded shift=2 rounding=half_even out=i8}, axis=0}
  return %q
}
graph @main(%in: f32[8]) {
  %x: i8[8] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %q: i8[8] scale=0.5 zero=0 = shift_left(%x) {zero=0, bits=0} fused={tf_lite sc=1 zp=0 shift=2 rounding=half_up out=i8}
  return %q
}";
    let module = parse(&format!("strait 1 integer main=@main\n{ONE}"));
    let on = |interval: (i64, i64)| record("q", &[shifted(&[2])], scaled(1, 2), interval.into());
    let narrow = on((-1, 1));
    assert!(narrow.certificate.worst().is_exact());
    let report = verify(&module, &[narrow]);
    assert!(
        matches!(
            faults(&report)[..],
            [
                ("q", Fault::Interval { channel: 0, .. }),
                (
                    "q",
                    Fault::Claim {
                        derived: Verdict::Bounded { max_lsb: 1, .. },
                        ..
                    }
                ),
                // A run finds the difference, too.
                ("q", Fault::Layer { max_lsb: 0, .. })
            ]
        ),
        "{report:?}"
    );
    let honest = on((-128, 127));
    let report = verify(&module, &[honest]);
    assert_eq!(
        (report.findings.as_slice(), &report.bounded[..]),
        (&[][..], &[("q".to_owned(), 1)][..])
    );
    assert!(!report.compared);
}

/// The second channel of the convolution differs, and its certificate has no claim about this channel.
#[test]
fn a_certificate_of_fewer_channels_than_there_are_is_found() {
    const CHANNELS: &str = "
graph @lowered(%x: i8[1,1,2,2] scale=1.0 zero=0) stage=integer {
  %a: i32[1,2,2,2] = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %y: i8[1,2,2,2] scale=2.0 zero=0 = requantize(%a) {form={tf_lite sc=1 zp=0 shift=1 rounding=half_up out=i8}, axis=1}
  return %y
}
graph @main(%x: i8[1,1,2,2] scale=1.0 zero=0) {
  %y: i8[1,2,2,2] scale=2.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} fused={arith_folded shift=1 rounding=half_even out=i8}
  return %y
}
data @w: i8[2,1,1,1] = inline [0,1]
data @b: i32[2] = inline [0,0]";
    let module = parse(&format!("strait 1 integer main=@main\n{CHANNELS}"));
    let of = |interval: Per<(i64, i64)>| grounded(&module, &[record("y", &[scaled(1, 1)], shifted(&[1]), interval)]);
    let first = of([(0, 0)].into_iter().collect());
    assert_eq!(first[0].certificate.verdict.values(), [Verdict::Exact]);
    let threads = strait_execute::Threads::one();
    let without_samples = strait_verify::VerifyOptions {
        samples: 0,
        ..strait_verify::VerifyOptions::new(&threads)
    };
    let report = strait_verify::verify_module(&module, &first, &without_samples).unwrap();
    let [
        (
            _,
            Fault::Interval {
                channel: 1,
                claimed: None,
                ..
            },
        ),
        (
            value,
            Fault::Claim {
                channel: 1,
                claimed: None,
                ..
            },
        ),
    ] = faults(&report)[..]
    else {
        panic!("{report:?}")
    };
    assert_eq!(value, "y");
    let both = of([(0, 0), (-128, 127)].into_iter().collect());
    let report = strait_verify::verify_module(&module, &both, &without_samples).unwrap();
    assert_eq!((report.findings, report.bounded), (vec![], vec![("y".to_owned(), 1)]));
}

/// The facts that a certificate states for its interval are part of its digest.
#[test]
fn a_fact_that_was_left_out_is_found_by_the_digest() {
    let (module, records) = sums();
    let mut whole = grounded(&module, &records);
    whole[0].certificate.because.pop();
    assert_eq!(faults(&verify(&module, &whole)), [("y", &Fault::Grounds)]);
}

/// At its first position, the window lies outside of all elements, and the pool gives the smallest integer. A shift by
/// 31 turns this into -1. On a chip that pools codes, the result would be -128.
#[test]
fn a_form_that_gives_empty_windows_another_code_is_none_that_commutes() {
    let pool = "max_pool(%i) {size=[2,2], stride=[1,1], pad=[2,2,1,1], dilation=[2,2], ceil=0}";
    let text = |shift: u8| {
        let form = format!("{{arith_folded shift={shift} rounding=half_even out=i8}}");
        let wide = "%i: i32[1,2,1,1] scale=0.5 zero=0 = shift_left(%x) {zero=0, bits=1}";
        format!(
            "strait 1 integer main=@main
graph @lowered(%x: i8[1,2,1,1] scale=1.0 zero=0) stage=integer {{
  {wide}
  %a: i32[1,2,2,2] scale=0.5 zero=0 = {pool}
  %y: i8[1,2,2,2] scale=1.0 zero=0 = requantize(%a) {{form={form}, axis=1}}
  return %y
}}
graph @main(%x: i8[1,2,1,1] scale=1.0 zero=0) {{
  {wide}
  %y: i8[1,2,2,2] scale=1.0 zero=0 = {pool} fused={form}
  return %y
}}"
        )
    };
    let interval = Per::Tensor((i64::from(i32::MIN), 254));
    for (shift, commutes) in [(1, true), (31, false)] {
        let module = parse(&text(shift));
        let mut pooled = record("y", &[shifted(&[shift])], shifted(&[shift]), interval.clone());
        pooled.certificate.argument = Argument::Commutes;
        pooled.certificate.because = vec![Because::Operand {
            index: 0,
            low: -256,
            high: 254,
        }];
        let report = verify(&module, &grounded(&module, &[pooled]));
        let argument = Fault::Argument {
            claimed: "commutes",
            term: "max_pool",
        };
        let expected: &[(&str, &Fault)] = if commutes { &[] } else { &[("y", &argument)] };
        assert_eq!(faults(&report), expected, "{shift}");
    }
}
