//! Tests that a correct artifact has no findings, and that the report names each fault of a damaged one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use strait_core::CertificateRecord;
use strait_requantize::certificate::ordered;
use strait_requantize::quantize::ZeroPoint;
use strait_requantize::{Argument, Certificate, FromFloat, IntType, Per, Rounding, Step, Verdict};
use strait_verify::{Fault, Undecided, VerifyReport};
use support::{entries_record, grounded, parse, record, shifted, verify};

/// A model with a quantization, a padded convolution per channel with a clamp, a max pool, a residual addition, and a
/// fully connected layer.
const LOWERED: &str = "
graph @lowered(%in: f32[1,2,4,4]) stage=integer {
  %x: i8[1,2,4,4] scale=0.5 zero=-3 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %a: i32[1,2,4,4] = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=-3}
  %q: i8[1,2,4,4] scale=0.25 zero=0 = requantize(%a) {form={arith_folded shift=[6,7] rounding=half_even out=i8}, axis=1}
  %r: i8[1,2,4,4] scale=0.25 zero=0 = clamp(%q) {min=0, max=96}
  %s: i32[1,2,4,4] = add(%r, %r)
  %t: i8[1,2,4,4] scale=0.5 zero=0 = requantize(%s) {form={arith_folded shift=1 rounding=half_even out=i8}, axis=1}
  %p: i8[1,2,2,2] scale=0.5 zero=0 = max_pool(%t) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0}
  %f: i8[1,8] scale=0.5 zero=0 = flatten(%p) {axis=1}
  %g: i32[1,3] = gemm(%f, @m, @n) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %h: i8[1,3] scale=2.0 zero=0 = requantize(%g) {form={arith_folded shift=7 rounding=half_even out=i8}, axis=1}
  %out: f32[1,3] = dequantize(%h)
  return %out
}";

const FUSED: &str = "
graph @main(%in: f32[1,2,4,4]) {
  %x: i8[1,2,4,4] scale=0.5 zero=-3 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %r: i8[1,2,4,4] scale=0.25 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=-3} fused={arith_folded shift=[6,7] rounding=half_even out=i8} clamp=[0,96]
  %t: i8[1,2,4,4] scale=0.5 zero=0 = add(%r, %r) fused={arith_folded shift=1 rounding=half_even out=i8}
  %p: i8[1,2,2,2] scale=0.5 zero=0 = max_pool(%t) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0}
  %f: i8[1,8] scale=0.5 zero=0 = flatten(%p) {axis=1}
  %h: i8[1,3] scale=2.0 zero=0 = gemm(%f, @m, @n) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={arith_folded shift=7 rounding=half_even out=i8}
  %out: f32[1,3] = dequantize(%h)
  return %out
}";

const DATA: &str = "
data @w: i8[2,2,3,3] = random 7
data @b: i32[2] = inline [100,-200]
data @m: i8[3,8] = random 8
data @n: i32[3] = inline [1,2,3]
data @other: i8[3,8] = random 9
";

/// An interval that contains every sum in these graphs.
const WIDE: Per<(i64, i64)> = Per::Tensor((-1 << 20, 1 << 20));

fn records() -> Vec<CertificateRecord> {
    let mut conv = shifted(&[6, 7]);
    conv.clamp = Some([0, 96]);
    vec![
        record("r", &[conv.clone()], conv, WIDE),
        record("t", &[shifted(&[1])], shifted(&[1]), (0, 192).into()),
        record("h", &[shifted(&[7])], shifted(&[7]), WIDE),
    ]
}

fn text(lowered: &str, fused: &str, data: &str) -> String {
    format!("strait 1 integer main=@main\n{lowered}\n{fused}\n{data}")
}

/// The report after a replacement in the text of the fused graph.
fn with_fused(from: &str, to: &str) -> VerifyReport {
    assert!(FUSED.contains(from), "{from}");
    verify(&parse(&text(LOWERED, &FUSED.replace(from, to), DATA)), &records())
}

fn faults(report: &VerifyReport) -> Vec<(&str, &Fault)> {
    report.findings.iter().map(|f| (f.value.as_str(), &f.fault)).collect()
}

#[test]
fn an_artifact_that_is_as_it_should_be_has_no_findings() {
    let report = verify(&parse(&text(LOWERED, FUSED, DATA)), &records());
    assert_eq!(report.findings, []);
    assert_eq!((report.exact, report.bounded.len(), report.compared), (3, 0, true));
    // An artifact without any fusion is correct as well.
    let unfused = LOWERED.replace("@lowered", "@main").replace(" stage=integer", "");
    let report = verify(&parse(&text(LOWERED, &unfused, DATA)), &[]);
    assert_eq!((report.findings.len(), report.exact, report.compared), (0, 0, true));
}

#[test]
fn an_artifact_is_verified_from_its_folder() {
    use strait_container::{Artifact, ArtifactWriter, Provenance, Sources, TargetVersion, ToolVersion, sha256};
    let root = tempfile::tempdir().unwrap();
    let writer = ArtifactWriter::create(&root.path().join("out")).unwrap();
    let module = parse(&text(LOWERED, FUSED, DATA));
    writer.add_model(&module, &grounded(&module, &records())).unwrap();
    let digest = sha256(b"");
    let provenance = Provenance {
        ports: Default::default(),
        sources: Sources {
            config: digest,
            data: [].into(),
            model: digest,
            not_for_deployment: None,
            readers: Default::default(),
        },
        target: TargetVersion {
            id: "test".into(),
            origin: None,
            table: digest,
            version: "1".into(),
        },
        tool: ToolVersion {
            name: "test".into(),
            version: "1".into(),
        },
    };
    writer.commit(provenance).unwrap();
    let artifact = Artifact::open(&root.path().join("out")).unwrap();
    let threads = strait_execute::Threads::one();
    let model = artifact.model(strait_container::Integrity::Full).unwrap();
    let options = strait_verify::VerifyOptions::new(&threads);
    let report = strait_verify::verify_module(&model.module, &model.certificates, &options).unwrap();
    assert!(report.is_sound() && report.exact == 3, "{:?}", report.findings);
}

#[test]
fn a_module_without_a_lowered_graph_is_refused() {
    let text = text(&LOWERED.replace("@lowered", "@other"), FUSED, DATA);
    let threads = strait_execute::Threads::one();
    let options = strait_verify::VerifyOptions::new(&threads);
    let error = strait_verify::verify_module(&parse(&text), &[], &options).unwrap_err();
    assert!(error.to_string().contains("`lowered`"), "{error}");
}

#[test]
fn a_fused_step_that_is_another_one_is_found() {
    let report = with_fused("shift=[6,7]", "shift=[6,6]");
    let [step, claim, ..] = &faults(&report)[..] else {
        panic!("{report:?}")
    };
    assert!(
        matches!(step, ("r", Fault::OtherSteps { which: "after", .. })),
        "{step:?}"
    );
    assert!(
        matches!(
            claim,
            (
                "r",
                Fault::Claim {
                    channel: 1,
                    claimed: Some(Verdict::Exact),
                    ..
                }
            )
        ),
        "{claim:?}"
    );
    // The fusion is not called exact, so the outputs may differ.
    assert!(!report.compared && report.bounded[0].0 == "r");
}

#[test]
fn a_clamp_that_was_lost_is_found() {
    let report = with_fused(" clamp=[0,96]", "");
    let found = faults(&report);
    let is = |value: &str, f: fn(&Fault) -> bool| found.iter().any(|(v, fault)| *v == value && f(fault));
    assert!(
        is("r", |f| matches!(f, Fault::OtherSteps { which: "after", .. })),
        "{report:?}"
    );
    assert!(is("r", |f| matches!(f, Fault::Claim { .. })), "{report:?}");
    // The accumulators of the next layer can then leave the interval of that layer's certificate.
    assert!(is("t", |f| matches!(f, Fault::Interval { .. })), "{report:?}");
}

#[test]
fn another_structure_is_found_at_its_value() {
    let one = |from: &str, to: &str, value: &str| {
        let report = with_fused(from, to);
        let found = faults(&report)
            .into_iter()
            .any(|(v, f)| v == value && matches!(f, Fault::Structure(_)));
        assert!(found, "{from} -> {to}: {:?}", report.findings);
    };
    one("pad_value=-3", "pad_value=-2", "r");
    one("pad_value=-3", "pad_value=-3, weight_zero=1", "r");
    one("gemm(%f, @m, @n)", "gemm(%f, @other, @n)", "other");
    one("gemm(%f, @m, @n)", "gemm(%f, @m, _)", "h");
    one("add(%r, %r)", "sub(%r, %r)", "t");
    one("%x: i8[1,2,4,4] scale=0.5", "%x: i8[1,2,4,4] scale=0.25", "x");
    one("max_pool(%t)", "max_pool(%r)", "r");
    one("return %out", "return %out, %out", "main");
}

#[test]
fn a_fusion_without_a_certificate_and_a_certificate_without_a_fusion_are_found() {
    let module = parse(&text(LOWERED, FUSED, DATA));
    let report = verify(&module, &records()[1..]);
    assert_eq!(faults(&report), [("r", &Fault::NoCertificate)]);
    let mut more = records();
    more.push(record("elsewhere", &[shifted(&[1])], shifted(&[1]), WIDE));
    more.push(more[0].clone());
    let report = verify(&module, &more);
    let no_fusion = Fault::NoFusion { row: "row".into() };
    assert_eq!(faults(&report), [("elsewhere", &no_fusion), ("r", &no_fusion)]);
}

/// A mean divides and rounds by itself, so it has no accumulator.
#[test]
fn an_argument_is_for_the_kind_of_what_it_is_about() {
    let argues = |op: &str| {
        let [lowered, fused] = [
            format!(
                "{op}\n  %y: i8[1,2,1,1] scale=4.0 zero=0 = requantize(%a) {{form={{arith_folded shift=1 rounding=half_even out=i8}}, axis=1}}"
            ),
            format!("{op} fused={{arith_folded shift=1 rounding=half_even out=i8}}")
                .replace("%a: i32[1,2,1,1] scale=2.0", "%y: i8[1,2,1,1] scale=4.0"),
        ];
        let head = "(%x: i32[1,2,4,4] scale=2.0 zero=0) stage=integer";
        let graph = |name: &str, body: &str| format!("graph @{name}{head} {{\n  {body}\n  return %y\n}}");
        let module = parse(&text(&graph("lowered", &lowered), &graph("main", &fused), DATA));
        let records = grounded(&module, &[record("y", &[shifted(&[1])], shifted(&[1]), WIDE)]);
        let analysis = strait_verify::analyse(&module, &records).unwrap();
        analysis
            .findings()
            .iter()
            .any(|finding| matches!(finding.fault, Fault::Argument { .. }))
    };
    let sum = "%a: i32[1,2,1,1] scale=2.0 zero=0 = reduce(%x) {reduction=sum, axes=[2,3], keep_dims=1}";
    assert!(!argues(sum));
    assert!(argues("%a: i32[1,2,1,1] scale=2.0 zero=0 = global_average_pool(%x)"));
}

/// A fused node in both graphs, which therefore agree; and one in a graph that both call.
#[test]
fn what_is_fused_where_there_is_nothing_to_compare_it_with_is_found() {
    let conv = "conv(%x, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=-3} fused={arith_folded shift=[6,7] rounding=half_even out=i8}";
    let head = "(%x: i8[1,2,4,4] scale=0.5 zero=-3)";
    let ty = "i8[1,2,4,4] scale=0.25 zero=0";
    let body = |node: &str| format!("{head} stage=integer {{\n  %y: {ty} = {node}\n  return %y\n}}");
    let both = |node: &str, more: &str| {
        let [lowered, main] = ["lowered", "main"].map(|name| format!("graph @{name}{}", body(node)));
        parse(&text(&lowered, &main, &format!("{more}\n{DATA}")))
    };
    let threads = strait_execute::Threads::one();
    let options = strait_verify::VerifyOptions {
        samples: 0,
        ..strait_verify::VerifyOptions::new(&threads)
    };
    let called = both("call @body(%x)", &format!("graph @body{}", body(conv)));
    for (module, name) in [(both(conv, ""), "lowered"), (called, "body")] {
        let report = strait_verify::verify_module(&module, &[], &options).unwrap();
        let found = faults(&report)
            .into_iter()
            .any(|(value, fault)| value == "y" && fault.to_string().contains(&format!("fused in the graph `{name}`")));
        assert!(found, "{name}: {report:?}");
    }
}

/// Both graphs share their weights, so other weights do not make them differ. Only the digest in the certificate shows
/// the change.
#[test]
fn another_weight_is_found_at_its_layer_and_so_is_a_certificate_about_other_content() {
    let module = parse(&text(LOWERED, FUSED, DATA));
    let whole = grounded(&module, &records());
    assert_eq!(verify(&module, &whole).findings, []);
    let other = parse(&text(LOWERED, FUSED, &DATA.replace("random 8", "random 9")));
    assert_eq!(faults(&verify(&other, &whole)), [("h", &Fault::Grounds)]);
    // A wider interval is sound, but it is not the one that the certificate was derived with.
    let mut widened = whole.clone();
    widened[1].certificate.interval = (-1, 193).into();
    assert_eq!(faults(&verify(&module, &widened)), [("t", &Fault::Grounds)]);
    // The certificates of two layers are exchanged.
    let mut swapped = whole.clone();
    swapped[1].certificate = whole[2].certificate.clone();
    swapped[2].certificate = whole[1].certificate.clone();
    let report = verify(&module, &swapped);
    for value in ["t", "h"] {
        let found = faults(&report)
            .iter()
            .any(|(v, f)| *v == value && **f == Fault::Grounds);
        assert!(found, "{value}: {report:?}");
    }
}

#[test]
fn an_argument_that_is_none_for_the_op_is_found() {
    let module = parse(&text(LOWERED, FUSED, DATA));
    let mut records = records();
    records[0].certificate.argument = Argument::Commutes;
    let report = verify(&module, &records);
    let argument = Fault::Argument {
        claimed: "commutes",
        term: "conv",
    };
    assert_eq!(faults(&report), [("r", &argument)]);
}

#[test]
fn a_certificate_that_contradicts_itself_is_found() {
    let module = parse(&text(LOWERED, FUSED, DATA));
    let mut records = records();
    let verdict = Verdict::Bounded {
        max_lsb: 1,
        witness: 0,
        share: 0.5,
    };
    records[2].certificate.verdict = verdict.into();
    let report = verify(&module, &records);
    assert!(
        matches!(
            faults(&report)[..],
            [(
                "h",
                Fault::Contradiction {
                    channel: 0,
                    derived: Verdict::Exact,
                    ..
                }
            )]
        ),
        "{report:?}"
    );
}

#[test]
fn a_sum_that_can_leave_32_bits_is_found() {
    let data = DATA.replace("inline [100,-200]", "inline [100,2147483000]");
    let report = verify(&parse(&text(LOWERED, FUSED, &data)), &records());
    let overflow = faults(&report).into_iter().any(|(value, fault)| {
        value == "a"
            && matches!(fault, Fault::Overflow { channel: 1, interval, .. } if interval.high > i64::from(i32::MAX))
    });
    assert!(overflow, "{:?}", report.findings);
}

/// A lookup with a requantized table, a requantized constant, and a quantization to another grid without a certificate.
#[test]
fn what_was_requantized_ahead_of_time_is_computed_again() {
    const BEFORE: &str = "
graph @lowered(%in: f32[1,4]) stage=integer {
  %x: i8[1,4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %l: i16[1,4] = lookup(%x, @table)
  %m: i8[1,4] scale=0.5 zero=0 = requantize(%l) {form={arith_folded shift=8 rounding=half_even out=i8}, axis=1}
  %c: i8[1,4] scale=0.5 zero=0 = requantize(@constant) {form={arith_folded shift=[1,2,3,4] rounding=half_even out=i8}, axis=1}
  %s: i32[1,4] = add(%m, %c)
  return %s
}";
    const AFTER: &str = "
graph @main(%in: f32[1,4]) {
  %x: i8[1,4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %m: i8[1,4] scale=0.5 zero=0 = lookup(%x, @burnt)
  %s: i32[1,4] = add(%m, @c)
  return %s
}";
    let entries: Vec<i64> = (-128i64..128).map(|code| code * code - 5000).collect();
    let step = shifted(&[8]);
    let burnt: Vec<i32> = entries.iter().map(|&x| step.eval(0, x).unwrap()).collect();
    let data = |burnt: &[i32], constant: &str| {
        format!(
            "data @table: i16[256] = inline {entries:?}\ndata @burnt: i8[256] = inline {burnt:?}
             data @constant: i32[1,4] = inline [10,20,100,1000]\ndata @c: i8[1,4] scale=0.5 zero=0 = inline {constant}"
        )
    };
    let four: Step = shifted(&[1, 2, 3, 4]);
    let records = [
        entries_record("m", &step, entries.iter().map(|&entry| (0, entry))),
        entries_record("c", &four, [10, 20, 100, 1000].into_iter().enumerate()),
    ];
    let check = |burnt: &[i32], constant: &str| verify(&parse(&text(BEFORE, AFTER, &data(burnt, constant))), &records);
    let report = check(&burnt, "[5,5,12,62]");
    assert_eq!(
        (report.findings.as_slice(), report.exact, report.compared),
        (&[][..], 2, true)
    );
    let report = check(&burnt, "[5,5,13,62]");
    assert!(
        matches!(faults(&report)[..], [("c", Fault::Structure(_))]),
        "{report:?}"
    );
    let mut wrong = burnt.clone();
    wrong[200] += 2;
    let report = check(&wrong, "[5,5,12,62]");
    assert!(
        matches!(faults(&report)[..], [("m", Fault::Structure(_))]),
        "{report:?}"
    );
    assert_eq!(report.bounded, [("m".to_owned(), 2)]);
}

#[test]
fn a_table_whose_entries_stayed_what_they_were_was_requantized_too() {
    const BEFORE: &str = "
graph @lowered(%in: f32[1,4]) stage=integer {
  %x: i8[1,4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %l: i8[1,4] scale=0.25 zero=0 = lookup(%x, @table)
  %m: i8[1,4] scale=0.5 zero=0 = requantize(%l) {form={arith_folded shift=1 rounding=half_even out=i8}, axis=1}
  return %m
}";
    const AFTER: &str = "
graph @main(%in: f32[1,4]) {
  %x: i8[1,4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %m: i8[1,4] scale=0.5 zero=0 = lookup(%x, @burnt)
  return %m
}";
    let check = |entries: &[i64], burnt: &[i64]| {
        let data = format!(
            "data @table: i8[256] scale=0.25 zero=0 = inline {entries:?}
             data @burnt: i8[256] scale=0.5 zero=0 = inline {burnt:?}"
        );
        let record = entries_record("m", &shifted(&[1]), entries.iter().map(|&entry| (0, entry)));
        verify(&parse(&text(BEFORE, AFTER, &data)), &[record])
    };
    // Half of 0 is 0, and half of 1 is 0 as well, because ties are rounded to even.
    let report = check(&[0; 256], &[0; 256]);
    assert_eq!((report.findings.as_slice(), report.exact), (&[][..], 1));
    let report = check(&[1; 256], &[1; 256]);
    assert!(
        matches!(
            faults(&report)[..],
            [("m", Fault::Structure(_)), ("m", Fault::Layer { .. })]
        ),
        "{report:?}"
    );
}

#[test]
fn a_quantization_to_another_grid_is_proved_over_every_float() {
    const BEFORE: &str = "
graph @lowered(%in: f32[4]) stage=integer {
  %x: i16[4] scale=0.5 zero=0 = quantize(%in) {to=i16, rounding=half_even, reciprocal=0}
  %y: i8[4] scale=1.0 zero=0 = requantize(%x) {form={arith_folded shift=1 rounding=half_even out=i8}, axis=0}
  return %y
}
graph @main(%in: f32[4]) {
  %y: i8[4] scale=1.0 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  return %y
}";
    let module = parse(&text(BEFORE, "", ""));
    let report = verify(&module, &[]);
    assert_eq!(faults(&report), [("y", &Fault::NoCertificate)]);
    let quantization = |scale, out| FromFloat {
        scale,
        zero_point: 0,
        added: ZeroPoint::After,
        rounding: Rounding::HalfEven,
        reciprocal: false,
        out,
    };
    let certificate = |after| {
        let before = quantization(0.5, IntType::I16);
        let every = (ordered(f32::NEG_INFINITY), ordered(f32::INFINITY));
        let argument = Argument::OrderedFloats { before, after };
        CertificateRecord {
            node: "y".into(),
            row: "row".into(),
            certificate: Certificate::derive(argument, vec![shifted(&[1])], None, every.into()).unwrap(),
        }
    };
    let honest = certificate(quantization(1.0, IntType::I8));
    let report = verify(&module, std::slice::from_ref(&honest));
    assert_eq!(report.findings, []);
    assert_eq!(
        (&report.bounded[..], report.compared),
        (&[("y".to_owned(), 1)][..], false)
    );
    // A certificate about another quantization, and a certificate that claims too much.
    let report = verify(&module, &[certificate(quantization(1.5, IntType::I8))]);
    assert!(
        faults(&report)
            .iter()
            .any(|(_, f)| matches!(f, Fault::OtherSteps { which: "argument", .. })),
        "{report:?}"
    );
    let mut bold = honest;
    bold.certificate.verdict = Verdict::Exact.into();
    let report = verify(&module, &[bold]);
    assert!(
        faults(&report).iter().any(|(_, f)| matches!(f, Fault::Claim { .. })),
        "{report:?}"
    );
}

/// A single grid replaces parameters per channel, which a comparison of the first channel alone would not notice.
#[test]
fn a_quantization_in_place_of_parameters_per_channel_is_found() {
    const CHANNELS: &str = "
graph @lowered(%in: f32[2]) stage=integer {
  %x: i16[2] scale=0.5 zero=0 = quantize(%in) {to=i16, rounding=half_even, reciprocal=0}
  %y: i8[2] scale=1.0 zero=0 = requantize(%x) {form={arith_folded shift=[1,7] rounding=half_even out=i8}, axis=0}
  return %y
}
graph @main(%in: f32[2]) {
  %y: i8[2] scale=1.0 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  return %y
}";
    let quantization = |scale, out| FromFloat {
        scale,
        zero_point: 0,
        added: ZeroPoint::After,
        rounding: Rounding::HalfEven,
        reciprocal: false,
        out,
    };
    let argument = Argument::OrderedFloats {
        before: quantization(0.5, IntType::I16),
        after: quantization(1.0, IntType::I8),
    };
    let every: Per<(i64, i64)> = (ordered(f32::NEG_INFINITY), ordered(f32::INFINITY)).into();
    let wrong = Undecided::Channels { expected: 1, found: 2 };
    let mut certificate = Certificate::derive(argument, vec![shifted(&[1])], None, every).unwrap();
    certificate.before = vec![shifted(&[1, 7])];
    let record = CertificateRecord {
        node: "y".into(),
        row: "row".into(),
        certificate,
    };
    let report = verify(&parse(&text(CHANNELS, "", "")), &[record]);
    let found = faults(&report);
    assert!(found.contains(&("y", &Fault::Undecided(wrong.clone()))), "{report:?}");
    assert!(found.contains(&("y", &Fault::Certificate(wrong))), "{report:?}");
}

/// Two equal requantizations of one accumulator were merged into one.
#[test]
fn one_fusion_may_stand_for_two_requantizations() {
    const BOTH: &str = "
graph @lowered(%in: f32[4]) stage=integer {
  %x: i8[4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %a: i32[4] scale=0.25 zero=0 = shift_left(%x) {zero=0, bits=1}
  %y: i8[4] scale=1.0 zero=0 = requantize(%a) {form={arith_folded shift=2 rounding=half_even out=i8}, axis=0}
  %z: i8[4] scale=1.0 zero=0 = requantize(%a) {form={arith_folded shift=2 rounding=half_even out=i8}, axis=0}
  %c: i8[4] scale=1.0 zero=0 = clamp(%z) {min=0, max=9}
  return %y, %c
}
graph @main(%in: f32[4]) {
  %x: i8[4] scale=0.5 zero=0 = quantize(%in) {to=i8, rounding=half_even, reciprocal=0}
  %y: i8[4] scale=1.0 zero=0 = shift_left(%x) {zero=0, bits=1} fused={arith_folded shift=2 rounding=half_even out=i8}
  %c: i8[4] scale=1.0 zero=0 = clamp(%y) {min=0, max=9}
  return %y, %c
}";
    let record = record("y", &[shifted(&[2])], shifted(&[2]), (-256, 254).into());
    let report = verify(&parse(&text(BOTH, "", "")), &[record]);
    assert_eq!((report.findings.as_slice(), report.compared), (&[][..], true));
}
