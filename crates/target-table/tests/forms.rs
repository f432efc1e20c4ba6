//! Tests of a table's rows: which requantizations forms accept and build, and which ops rows accept.
#![allow(clippy::unwrap_used, clippy::panic)]

use strait_core::op::{Add, Conv, Coordinate, Resize, ResizeMode};
use strait_core::{Elem, Op, ReasonCode, TensorType};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, form};
use strait_target::spec::{FormRow, Integer, OpSite, Operand, Rescale, Scales};
use strait_target::{Options, Table, TargetSpec};

const TABLE: &str = include_str!("tables/every-form.toml");

fn spec() -> TargetSpec {
    let table = Table::parse("every-form.toml", TABLE).unwrap_or_else(|e| panic!("{e}"));
    table.spec(&Options::new()).unwrap()
}

fn narrowing(shift: u8, rounding: Rounding) -> Narrowing {
    Narrowing {
        shift: shift.into(),
        rounding,
        out: IntType::I8,
    }
}

fn code(row: &FormRow, form: &Requantization, clamp: Option<[i32; 2]>) -> String {
    row.accepts(form, clamp)
        .map_or_else(|reason| reason.code.to_string(), |()| "ok".into())
}

#[test]
fn a_form_accepts_what_its_limits_say_and_names_what_does_not_fit() {
    let spec = spec();
    let shift = |shift, rounding| {
        Requantization::ArithFolded(form::ArithFolded {
            narrowing: narrowing(shift, rounding),
        })
    };
    let tf_lite = |sc: i32, shift, zp| {
        Requantization::TfLite(form::TfLite {
            sc: sc.into(),
            zp,
            narrowing: narrowing(shift, Rounding::HalfUp),
        })
    };
    let gemmlowp = |exponent: i8, out| {
        Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: (1 << 30).into(),
            exponent: exponent.into(),
            zp: 3,
            roundings: form::Roundings::Two,
            out,
        })
    };
    let float = |scale: f32| {
        Requantization::Float(form::Float {
            scale: scale.into(),
            zp: -5,
            out: IntType::I8,
        })
    };
    let channels = Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing {
            shift: [1, 2].into_iter().collect(),
            rounding: Rounding::HalfEven,
            out: IntType::I8,
        },
    });
    let wide = Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing {
            shift: 3.into(),
            rounding: Rounding::HalfEven,
            out: IntType::I16,
        },
    });
    for (form, requantization, clamp, expect) in [
        ("shift", shift(7, Rounding::HalfEven), None, "ok"),
        ("shift", shift(7, Rounding::HalfUp), None, "form-rounding"),
        ("shift", shift(0, Rounding::HalfUp), None, "ok"), // nothing is rounded
        ("shift", shift(32, Rounding::HalfEven), None, "form-shift"),
        ("shift", tf_lite(1 << 30, 31, 0), None, "form-kind"),
        ("shift", channels.clone(), None, "form-per"),
        ("shift", wide, None, "form-output"),
        ("shift", shift(7, Rounding::HalfEven), Some([-128, 127]), "ok"),
        ("shift", shift(7, Rounding::HalfEven), Some([0, 127]), "form-clamp"),
        ("single", tf_lite(1 << 30, 31, 0), Some([0, 6]), "ok"),
        ("single", tf_lite(1 << 29, 31, 0), None, "form-multiplier"), // not normalized
        ("single", tf_lite(0, 31, 0), None, "ok"),
        ("fifteen", tf_lite(1 << 14, 20, 0), None, "ok"),
        ("fifteen", tf_lite(1 << 15, 20, 0), None, "ok"), // a factor of one
        ("fifteen", tf_lite((1 << 15) + 1, 20, 0), None, "form-multiplier"),
        ("double", gemmlowp(-31, IntType::I32), None, "ok"),
        ("double", gemmlowp(9, IntType::I8), None, "form-shift"),
        ("packed", float(1.0 + 1.0 / 1024.0), Some([-5, 127]), "ok"),
        ("packed", float(1.0 + 1.0 / 2048.0), None, "form-multiplier"),
        ("packed", float(1.0), Some([-4, 127]), "form-clamp"), // ReLU clips at the zero point
        ("packed", float(1.0), Some([-5, 100]), "form-clamp"),
    ] {
        assert_eq!(
            code(&spec.form[form], &requantization, clamp),
            expect,
            "{form} {requantization:?} {clamp:?}"
        );
    }
    let illegal = Requantization::TfLite(form::TfLite {
        sc: (-1).into(),
        zp: 0,
        narrowing: narrowing(31, Rounding::HalfUp),
    });
    assert_eq!(code(&spec.form["single"], &illegal, None), "form-illegal");
}

#[test]
fn every_form_builds_integers_near_the_factor_and_accepts_them() {
    let spec = spec();
    let weight: Per<f32> = Per::Tensor(0.003);
    let (input, output) = (0.02_f32, 0.05_f32);
    let mean = Per::Tensor(1024);
    let all = [
        Scales::Convolution {
            input,
            weight: &weight,
            output,
        },
        Scales::FullyConnected {
            input,
            weight: &weight,
            output,
        },
        Scales::Product {
            a: input,
            b: 0.003,
            output,
        },
        Scales::MatrixProduct {
            a: input,
            b: 0.003,
            output,
        },
        // Dividing by a count that is a power of two costs no bits of the multiplier.
        Scales::Mean {
            input: 0.061_44,
            count: &mean,
            output,
        },
        Scales::Ratio(0.0012),
    ];
    for (name, row) in spec.form.iter().filter(|(name, _)| *name != "shift") {
        for scales in all {
            let zero = if name == "fractional" { 0 } else { 4 };
            let rescale = Rescale {
                scales,
                input_zero: 0,
                output_zero: zero,
                out: IntType::I8,
                accumulators: None,
            };
            if name == "chain" && matches!(scales, Scales::Ratio(_) | Scales::Mean { .. }) {
                // The form `chain` dequantizes to a real number first, for which these scales state no scale.
                assert_eq!(row.build(&rescale).unwrap_err().code, ReasonCode::FormFactor);
                continue;
            }
            let form = row.build(&rescale).unwrap_or_else(|e| panic!("{name}: {e}")).form;
            row.accepts(&form, None).unwrap();
            // The narrowest multiplier here has 7 bits. For accumulators up to ±1e5, the error is then below one code.
            for acc in (-100_000..100_000).step_by(997) {
                let real = acc as f64 * 0.0012 + f64::from(zero);
                let got = f64::from(form.eval(0, acc).unwrap());
                assert!(
                    (got - real.clamp(-128.0, 127.0)).abs() <= 1.1,
                    "{name} {scales:?} {acc}: {got} {real}"
                );
            }
        }
    }
}

#[test]
fn kinds_that_round_once_or_twice_accept_their_own_number() {
    let spec = spec();
    let gemmlowp = |roundings| {
        Requantization::from(form::Gemmlowp {
            multiplier: (1 << 30).into(),
            exponent: (-3).into(),
            zp: 0,
            roundings,
            out: IntType::I8,
        })
    };
    let rescale = |scale32, multiplier: i32, roundings| {
        Requantization::from(form::TosaRescale {
            multiplier: multiplier.into(),
            shift: 40.into(),
            scale32,
            roundings,
            input: form::TosaInput::I32,
            input_zp: 0,
            output_zp: 0,
            out: IntType::I8,
        })
    };
    use form::Roundings::{One, Two};
    for (row, requantization, expect) in [
        ("left-or-right", gemmlowp(One), "ok"),
        ("left-or-right", gemmlowp(Two), "form-rounding"),
        ("double", gemmlowp(Two), "ok"),
        ("double", gemmlowp(One), "form-rounding"),
        ("scale32", rescale(true, 1 << 30, Two), "ok"),
        ("scale32", rescale(true, 1 << 30, One), "form-rounding"),
        ("scale16", rescale(false, 1 << 14, One), "ok"),
        ("scale16", rescale(true, 1 << 14, One), "form-multiplier"),
        ("sixteen", gemmlowp(One), "form-kind"),
    ] {
        assert_eq!(
            code(&spec.form[row], &requantization, None),
            expect,
            "{row} {requantization:?}"
        );
    }
}

#[test]
fn a_shift_is_built_for_powers_of_two_alone() {
    let spec = spec();
    let build = |ratio, zero| {
        let rescale = Rescale {
            scales: Scales::Ratio(ratio),
            input_zero: 0,
            output_zero: zero,
            out: IntType::I8,
            accumulators: None,
        };
        let built = spec.form["shift"].build(&rescale);
        built.map(|built| built.form).map_err(|e| e.code.to_string())
    };
    let expect = |shift| {
        Ok(Requantization::ArithFolded(form::ArithFolded {
            narrowing: narrowing(shift, Rounding::HalfEven),
        }))
    };
    assert_eq!(build(1.0, 0), expect(0));
    assert_eq!(build(0.0625, 0), expect(4));
    for (ratio, zero, code) in [
        (0.06, 0, "form-factor"),
        (2.0, 0, "form-factor"),
        (0.5, 1, "form-zero-point"),
        (f64::NAN, 0, "form-factor"),
    ] {
        assert_eq!(build(ratio, zero), Err(code.to_owned()), "{ratio}");
    }
}

#[test]
fn an_input_zero_point_is_taken_off_where_the_form_has_a_constant() {
    let spec = spec();
    let rescale = Rescale {
        scales: Scales::Ratio(0.7),
        input_zero: -13,
        output_zero: 21,
        out: IntType::I8,
        accumulators: None,
    };
    // A factor of 7 bits costs up to 1.5 codes, and rounding the zero point to a whole number costs up to half a code.
    for (name, within) in [
        ("fractional", 2.01),
        ("general", 0.51),
        ("thresholds", 0.51),
        ("fifteen", 1.01),
    ] {
        let form = spec.form[name].build(&rescale).unwrap().form;
        for q in -128..=127 {
            let real = (0.7 * f64::from(q + 13) + 21.0).clamp(-128.0, 127.0);
            let got = form.eval(0, q.into()).unwrap();
            assert!((f64::from(got) - real).abs() <= within, "{name} {q}: {got} {real}");
        }
    }
    let reason = spec.form["single"].build(&rescale).unwrap_err();
    assert_eq!(reason.code, ReasonCode::FormZeroPoint);
}

#[test]
fn the_cheapest_form_that_fits_is_taken_and_every_refusal_is_told() {
    let spec = spec();
    let row = spec.op_row(strait_core::Term::Gemm).unwrap().1;
    let at = |ratio| {
        let rescale = Rescale {
            scales: Scales::Ratio(ratio),
            input_zero: 0,
            output_zero: 0,
            out: IntType::I8,
            accumulators: None,
        };
        spec.build(&row.requantize, &rescale)
    };
    assert_eq!(at(0.25).unwrap().0, "shift");
    assert_eq!(at(0.3).unwrap().0, "single");
    let reason = at(1e12).unwrap_err();
    assert!(
        reason.text.contains("shift: ") && reason.text.contains("single: "),
        "{reason}"
    );
}

#[test]
fn limits_are_held_against_attributes_and_derived_quantities() {
    let spec = spec();
    let fixed = |dims: &[u64]| TensorType::fixed(Elem::F32, dims);
    let (x, result, bias) = (fixed(&[1, 8, 32, 32]), fixed(&[1, 8, 32, 32]), fixed(&[8]));
    let conv = |weight: &[u64], groups, stride: [u32; 2], constant| {
        let op = Op::from(Conv {
            groups,
            stride: stride.into_iter().collect(),
            ..Conv::plain(2)
        });
        let weight = fixed(weight);
        let operands = [
            Some(Operand {
                ty: &x,
                constant: false,
            }),
            Some(Operand { ty: &weight, constant }),
            Some(Operand {
                ty: &bias,
                constant: true,
            }),
        ];
        let site = OpSite {
            op: &op,
            operands: &operands,
            result: &result,
            weight_sum: None,
        };
        spec.place(&site, Integer::Int8.into(), None)
            .map_or_else(|reason| reason.to_string(), |(name, _)| name.to_owned())
    };
    assert_eq!(conv(&[8, 8, 3, 3], 1, [1, 1], true), "conv");
    assert_eq!(conv(&[8, 1, 3, 3], 8, [2, 2], true), "conv");
    for (text, got) in [
        (
            "stride of `conv` is 32; the target takes 31 and below [target-limit-stride]",
            conv(&[8, 8, 3, 3], 1, [1, 32], true),
        ),
        (
            "grouping of `conv` is grouped; the target takes none, depthwise [target-limit-grouping]",
            conv(&[8, 2, 3, 3], 4, [1, 1], true),
        ),
        (
            "kernel of `conv` is 12; the target takes 11 and below [target-limit-kernel]",
            conv(&[8, 8, 3, 12], 1, [1, 1], true),
        ),
        (
            "variable_operands of `conv` is 1; the target takes 0 [target-limit-variable_operands]",
            conv(&[8, 8, 3, 3], 1, [1, 1], false),
        ),
    ] {
        assert_eq!(got, text);
    }

    let add = |b: &[u64]| {
        let (op, b) = (Op::from(Add {}), fixed(b));
        let operands = [
            Some(Operand {
                ty: &b,
                constant: false,
            }),
            Some(Operand {
                ty: &x,
                constant: false,
            }),
        ];
        let site = OpSite {
            op: &op,
            operands: &operands,
            result: &result,
            weight_sum: None,
        };
        spec.place(&site, Integer::Int8.into(), None)
            .map_or_else(|reason| reason.text, |(name, _)| name.to_owned())
    };
    for dims in [&[1, 8, 32, 32][..], &[], &[1, 1], &[8, 1, 1], &[1, 8, 1, 1]] {
        assert_eq!(add(dims), "add", "{dims:?}");
    }
    for dims in [&[32][..], &[1, 8, 1, 32], &[32, 32]] {
        assert_eq!(
            add(dims),
            "broadcast of `add` is general; the target takes none, scalar, channel",
            "{dims:?}"
        );
    }

    let resize: Op = Resize::to_sizes(ResizeMode::Linear, Coordinate::HalfPixel, &[1, 4, 8, 8]).into();
    let operands = [Some(Operand {
        ty: &x,
        constant: false,
    })];
    let reason = spec
        .place(
            &OpSite {
                op: &resize,
                operands: &operands,
                result: &result,
                weight_sum: None,
            },
            Integer::Int8.into(),
            None,
        )
        .unwrap_err();
    assert_eq!(reason.text, "mode of `resize` is linear; the target takes nearest");
}

#[test]
fn an_op_without_a_row_and_one_of_the_host_say_why() {
    let spec = spec();
    let x = TensorType::fixed(Elem::F32, &[1, 10]);
    let operands = [Some(Operand {
        ty: &x,
        constant: false,
    })];
    let reason = |op: Op| {
        spec.place(
            &OpSite {
                op: &op,
                operands: &operands,
                result: &x,
                weight_sum: None,
            },
            Integer::Int8.into(),
            None,
        )
        .unwrap_err()
        .to_string()
    };
    assert_eq!(
        reason(strait_core::op::Softmax { axis: -1 }.into()),
        "no exponential unit [target-host]"
    );
    assert_eq!(
        reason(strait_core::op::Relu {}.into()),
        "`relu` is not in the table of every-form [target-no-row]"
    );
}
