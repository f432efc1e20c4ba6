//! Random forms, for the tests of this crate.

use proptest::prelude::*;
use std::sync::Arc;
use strait_requantize::{
    IntType, Narrowing, Per, Requantization, Rounding, Roundings, Step,
    form::{self, TosaInput},
};

pub(crate) fn rounding() -> impl Strategy<Value = Rounding> {
    proptest::sample::select(Rounding::ALL.to_vec())
}

pub(crate) fn int_type() -> impl Strategy<Value = IntType> {
    proptest::sample::select(IntType::ALL.to_vec())
}

fn narrowing(shift: std::ops::Range<u8>) -> impl Strategy<Value = Narrowing> {
    (shift, rounding(), int_type()).prop_map(|(shift, rounding, out)| Narrowing {
        shift: shift.into(),
        rounding,
        out,
    })
}

/// Legal forms of every kind, with one channel. Their factors are about 2^-20 to 2^4, so that accumulators of 24 bits
/// do not all saturate.
pub(crate) fn form() -> impl Strategy<Value = Requantization> {
    let zp = || prop_oneof![-130i32..260, any::<i32>()];
    prop_oneof![
        narrowing(0..24).prop_map(|narrowing| Requantization::ArithFolded(form::ArithFolded { narrowing })),
        (0..1i32 << 9, -(1i64 << 30)..1 << 30, narrowing(5..28)).prop_map(|(sc, zp, narrowing)| {
            Requantization::FractionalZero(form::FractionalZero {
                sc: sc.into(),
                zp: zp.into(),
                narrowing,
            })
        }),
        (0..=i32::MAX, zp(), narrowing(28..50)).prop_map(|(sc, zp, narrowing)| Requantization::TfLite(form::TfLite {
            sc: sc.into(),
            zp,
            narrowing
        })),
        (0..=i32::MAX, -20i8..6, zp(), roundings(), int_type()).prop_map(
            |(multiplier, exponent, zp, roundings, out)| {
                Requantization::Gemmlowp(form::Gemmlowp {
                    multiplier: multiplier.into(),
                    exponent: exponent.into(),
                    zp,
                    roundings,
                    out,
                })
            }
        ),
        (0..=i32::MAX, -20i8..6, zp(), int_type()).prop_map(|(multiplier, exponent, zp, out)| {
            Requantization::SixteenByEight(form::SixteenByEight {
                multiplier: multiplier.into(),
                exponent: exponent.into(),
                zp,
                out,
            })
        }),
        rescale(),
        (1e-7f32..4.0, zp(), int_type()).prop_map(|(scale, zp, out)| Requantization::FloatZeroInside(
            form::FloatZeroInside {
                scale: scale.into(),
                zp,
                out
            }
        )),
        ascend(),
        (1e-7f32..4.0, zp(), int_type()).prop_map(|(scale, zp, out)| Requantization::Float(form::Float {
            scale: scale.into(),
            zp,
            out
        })),
        (1i64 << 52..1 << 53, -22i8..4, zp(), int_type()).prop_map(|(multiplier, exponent, zp, out)| {
            Requantization::Float64(form::Float64 {
                multiplier: multiplier.into(),
                exponent: exponent.into(),
                zp,
                out,
            })
        }),
        (0..=i32::MAX, -(1i64 << 52)..1 << 52, zp(), narrowing(28..50)).prop_map(|(sc, add, zp, narrowing)| {
            Requantization::Fixed(form::Fixed {
                sc: sc.into(),
                add: add.into(),
                zp,
                narrowing,
            })
        }),
        (
            proptest::collection::vec(-(1i32 << 20)..1 << 20, 0..=120),
            0i32..128,
            proptest::bool::ANY
        )
            .prop_map(|(mut thresholds, lowest, signed)| {
                thresholds.sort_unstable();
                let (lowest, out) = if signed {
                    (lowest - 128, IntType::I8)
                } else {
                    (lowest, IntType::U8)
                };
                Requantization::Steps(form::Steps {
                    thresholds: [Arc::from(thresholds)].into(),
                    lowest,
                    out,
                })
            }),
    ]
}

fn roundings() -> impl Strategy<Value = Roundings> {
    prop_oneof![Just(Roundings::One), Just(Roundings::Two)]
}

/// Forms of TOSA's RESCALE, with combinations of types that TOSA allows.
fn rescale() -> impl Strategy<Value = Requantization> {
    let input = proptest::sample::select(TosaInput::ALL.to_vec());
    let integers = (0..=i32::MAX, 2..=62u8);
    let rescale = (
        integers,
        any::<bool>(),
        roundings(),
        input,
        -128i32..256,
        -128i32..256,
        int_type(),
    );
    rescale.prop_filter_map(
        "TOSA allows it",
        |((multiplier, shift), scale32, roundings, input, input_zp, output_zp, out)| {
            let eight = matches!(input, TosaInput::I8 | TosaInput::U8);
            let form = Requantization::TosaRescale(form::TosaRescale {
                multiplier: if scale32 { multiplier } else { multiplier >> 16 }.into(),
                shift: shift.into(),
                scale32: scale32 && input != TosaInput::I48,
                roundings: if scale32 { roundings } else { Roundings::One },
                input,
                input_zp: if eight { input_zp } else { 0 },
                output_zp: if out.bits() == 8 { output_zp } else { 0 },
                out,
            });
            form.check().is_ok().then_some(form)
        },
    )
}

/// The four forms of Ascend.
fn ascend() -> impl Strategy<Value = Requantization> {
    let whole = (1e-7f32..4.0, -128i32..128, any::<bool>(), int_type());
    prop_oneof![
        whole.prop_map(
            |(scale, offset, relu, out)| Requantization::AscendRequant(form::AscendRequant {
                scale: scale.into(),
                offset,
                relu,
                out
            })
        ),
        (1e-5f32..0.5, 0.01f32..100.0, -200i32..200, any::<bool>(), int_type()).prop_map(
            |(deq, scale, offset, relu, out)| Requantization::DequantQuant(form::DequantQuant {
                deq: deq.into(),
                relu,
                scale,
                offset,
                out
            })
        ),
        (1..=16u8, any::<bool>()).prop_map(
            |(shift, relu)| Requantization::AscendDequantS16(form::AscendDequantS16 {
                shift: shift.into(),
                relu
            })
        ),
        (1e-4f32..4.0, -128i32..128).prop_map(|(scale, offset)| Requantization::AscendRequantS16(
            form::AscendRequantS16 {
                scale: scale.into(),
                offset
            }
        )),
    ]
}

/// A form with an optional clamp, whose range lies mostly inside eight bits.
#[allow(dead_code, reason = "not every test file clamps")]
pub(crate) fn step() -> impl Strategy<Value = Step> {
    (form(), proptest::option::of((-150i32..150, 0i32..200))).prop_map(|(form, clamp)| Step {
        form,
        clamp: clamp.map(|(low, width)| [low, low + width]),
    })
}

/// A narrowing with the same shift for every channel.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn narrow(shift: u8, rounding: Rounding, out: IntType) -> Narrowing {
    Narrowing {
        shift: Per::Tensor(shift),
        rounding,
        out,
    }
}
