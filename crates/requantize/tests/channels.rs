//! Tests parameters per channel: every form selects and counts its channels in the same way.

use crate::common;

use common::narrow;
use strait_requantize::{FormError, FormKind, IntType, Narrowing, Per, Requantization, Rounding, form};

/// A form of each kind with three channels.
fn of_three_channels() -> Vec<Requantization> {
    fn per<T>(values: [T; 3]) -> Per<T> {
        values.into_iter().collect()
    }
    let (zp, out) = (5, IntType::I8);
    let narrowing = |shift| Narrowing {
        shift,
        rounding: Rounding::HalfEven,
        out,
    };
    let scale = || per([0.5, 0.11, 0.03]);
    let multiplier = || per([1 << 30, 1_300_000_000, i32::MAX]);
    vec![
        form::ArithFolded {
            narrowing: narrowing(per([1, 2, 3])),
        }
        .into(),
        form::FractionalZero {
            sc: per([3, 5, 7]),
            zp: per([-9, 0, 100]),
            narrowing: narrowing(4.into()),
        }
        .into(),
        form::TfLite {
            sc: 9.into(),
            zp,
            narrowing: narrowing(per([4, 5, 6])),
        }
        .into(),
        form::Gemmlowp {
            multiplier: multiplier(),
            exponent: per([-2, -3, 0]),
            zp,
            roundings: form::Roundings::Two,
            out,
        }
        .into(),
        form::SixteenByEight {
            multiplier: multiplier(),
            exponent: (-2).into(),
            zp,
            out,
        }
        .into(),
        form::TosaRescale {
            multiplier: multiplier(),
            shift: per([32, 33, 34]),
            scale32: true,
            roundings: form::Roundings::Two,
            input: form::TosaInput::I32,
            input_zp: 0,
            output_zp: zp,
            out,
        }
        .into(),
        form::Float {
            scale: scale(),
            zp,
            out,
        }
        .into(),
        form::Float64 {
            multiplier: (0..3).map(|c| (1 << 52) + c).collect(),
            exponent: [-3, 1, 0].into_iter().collect(),
            zp,
            out,
        }
        .into(),
        form::FloatZeroInside {
            scale: scale(),
            zp,
            out,
        }
        .into(),
        form::AscendRequant {
            scale: scale(),
            offset: zp,
            relu: true,
            out,
        }
        .into(),
        form::AscendDequantS16 {
            shift: per([1, 2, 3]),
            relu: false,
        }
        .into(),
        form::AscendRequantS16 {
            scale: scale(),
            offset: zp,
        }
        .into(),
        form::DequantQuant {
            deq: scale(),
            relu: false,
            scale: 3.0,
            offset: zp,
            out,
        }
        .into(),
        form::Fixed {
            sc: per([3, 5, 7]),
            add: per([0, 1, -8]),
            zp,
            narrowing: narrowing(per([3, 2, 1])),
        }
        .into(),
        form::Steps {
            thresholds: [vec![-3, 7], vec![0, 1, 2], vec![50]].map(Into::into).into(),
            lowest: -1,
            out,
        }
        .into(),
    ]
}

#[test]
fn selected_channels_compute_what_they_did() {
    let forms = of_three_channels();
    let kinds: Vec<FormKind> = forms.iter().map(Requantization::kind).collect();
    assert_eq!(kinds, FormKind::ALL);
    for form in forms {
        let picked = [2, 0, 0, 1, 2];
        let selected = form.select(&picked).unwrap();
        assert_eq!((selected.check(), selected.channels()), (Ok(()), Some(5)), "{form:?}");
        for (channel, from) in picked.into_iter().enumerate() {
            for acc in (-300..300).step_by(7) {
                assert_eq!(selected.eval(channel, acc), form.eval(from, acc), "{form:?}");
            }
        }
        assert_eq!(form.select(&[0, 3]), None, "{form:?}");
    }
    let shared = form::ArithFolded {
        narrowing: narrow(7, Rounding::HalfEven, IntType::I8),
    };
    let shared = Requantization::from(shared);
    assert_eq!(shared.select(&[0, 4]), Some(shared.clone()));
}

#[test]
fn fields_per_channel_agree_about_their_number() {
    let shift: Per<u8> = [1, 2, 3].into_iter().collect();
    let narrowing = Narrowing {
        shift,
        rounding: Rounding::HalfEven,
        out: IntType::I8,
    };
    let form = |sc: &[i32]| {
        Requantization::TfLite(form::TfLite {
            sc: sc.iter().copied().collect(),
            zp: 0,
            narrowing: narrowing.clone(),
        })
    };
    assert_eq!(form(&[1, 1, 1]).check(), Ok(()));
    assert_eq!(form(&[1, 1, 1]).channels(), Some(3));
    assert_eq!(form(&[1, 1, 1]).eval(2, 24), Ok(3));
    let error = FormError::Lengths {
        kind: FormKind::TfLite,
        field: "shift",
        expected: 2,
        found: 3,
    };
    assert_eq!(form(&[1, 1]).check(), Err(error));
    assert_eq!(
        form(&[1, 1, -1]).check(),
        Err(FormError::NegativeFactor { channel: 2, factor: -1 })
    );
    let empty = Requantization::Float(form::Float {
        scale: [].into_iter().collect(),
        zp: 0,
        out: IntType::I8,
    });
    assert_eq!(empty.check(), Err(FormError::NoChannels { kind: FormKind::Float }));
    let empty = Requantization::Steps(form::Steps {
        thresholds: [].into(),
        lowest: 0,
        out: IntType::I8,
    });
    assert_eq!(empty.check(), Err(FormError::NoChannels { kind: FormKind::Steps }));
    assert!(!empty.is_identity() && empty.eval(0, 0).is_err());
}
