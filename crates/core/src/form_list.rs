//! A requantization form as its kind and a list of (key, attribute), written once: text form, IR bytes and JSON are all
//! made from this list. One value stands for the tensor, a list has one value per channel.

use crate::attribute::{Attribute, AttributeError, Field, field};
use std::sync::Arc;
use strait_requantize::{FormKind, IntType, Narrowing, Per, Requantization, Rounding, form};

macro_rules! per_fields {
    ($($t:ty),*) => { $(impl Field for Per<$t> {
        fn to_attribute(&self) -> Attribute {
            match self {
                Per::Tensor(v) => Attribute::Int(i64::from(*v)),
                Per::Channel(v) => Attribute::Ints(v.iter().map(|&v| i64::from(v)).collect()),
            }
        }
        fn from_attribute(attribute: &Attribute) -> Option<Self> {
            match attribute {
                Attribute::Int(v) => Some(Per::Tensor(<$t>::try_from(*v).ok()?)),
                Attribute::Ints(v) => v.iter().map(|&v| <$t>::try_from(v).ok()).collect::<Option<Arc<[$t]>>>().map(Per::Channel),
                _ => None,
            }
        }
        fn allowed() -> String {
            format!("an integer in {}..={}, or a list with one per channel, is expected", <$t>::MIN, <$t>::MAX)
        }
    })* };
}
per_fields!(u8, i8, i32, i64);

impl Field for Per<f32> {
    fn to_attribute(&self) -> Attribute {
        match self {
            Per::Tensor(v) => Attribute::Float(*v),
            Per::Channel(v) => Attribute::Floats(v.to_vec()),
        }
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Float(v) => Some(Per::Tensor(*v)),
            Attribute::Floats(v) => Some(Per::Channel(v.as_slice().into())),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a float, or a list with one per channel, is expected".into()
    }
}

impl Field for IntType {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.name().into())
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(word) => IntType::parse(word),
            _ => None,
        }
    }
    fn allowed() -> String {
        format!("one of {} is expected", IntType::ALL.map(IntType::name).join(", "))
    }
}

/// The threshold lists of all channels one after the other; `lengths` tells them apart.
struct Thresholds(Vec<i32>);

impl Field for Thresholds {
    fn to_attribute(&self) -> Attribute {
        Attribute::Ints(self.0.iter().map(|&t| i64::from(t)).collect())
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Ints(v) => v
                .iter()
                .map(|&t| i32::try_from(t).ok())
                .collect::<Option<_>>()
                .map(Thresholds),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a list of 32-bit integers is expected".into()
    }
}

/// The keys of a form's list, in order.
pub fn form_keys(kind: FormKind) -> &'static [&'static str] {
    match kind {
        FormKind::ArithFolded => &["shift", "rounding", "out"],
        FormKind::FractionalZero => &["sc", "zp", "shift", "rounding", "out"],
        FormKind::TfLite => &["sc", "zp", "shift", "rounding", "out"],
        FormKind::Gemmlowp => &["multiplier", "exponent", "zp", "out"],
        FormKind::Float => &["scale", "zp", "out"],
        FormKind::Fixed => &["sc", "add", "zp", "shift", "rounding", "out"],
        FormKind::Steps => &["thresholds", "lengths", "lowest", "out"],
    }
}

/// The fields of a form in the order of [`form_keys`]. None of them is itself a form.
pub fn form_list(form: &Requantization) -> Vec<(&'static str, Attribute)> {
    let narrowed = |own: Vec<Attribute>, n: &Narrowing| {
        let mut all = own;
        all.extend([n.shift.to_attribute(), n.rounding.to_attribute(), n.out.to_attribute()]);
        all
    };
    let values = match form {
        Requantization::ArithFolded(form::ArithFolded { narrowing }) => narrowed(vec![], narrowing),
        Requantization::FractionalZero(form::FractionalZero { sc, zp, narrowing }) => {
            narrowed(vec![sc.to_attribute(), zp.to_attribute()], narrowing)
        }
        Requantization::TfLite(form::TfLite { sc, zp, narrowing }) => {
            narrowed(vec![sc.to_attribute(), zp.to_attribute()], narrowing)
        }
        Requantization::Fixed(form::Fixed { sc, add, zp, narrowing }) => narrowed(
            vec![sc.to_attribute(), add.to_attribute(), zp.to_attribute()],
            narrowing,
        ),
        Requantization::Gemmlowp(form::Gemmlowp {
            multiplier,
            exponent,
            zp,
            out,
        }) => vec![
            multiplier.to_attribute(),
            exponent.to_attribute(),
            zp.to_attribute(),
            out.to_attribute(),
        ],
        Requantization::Float(form::Float { scale, zp, out }) => {
            vec![scale.to_attribute(), zp.to_attribute(), out.to_attribute()]
        }
        Requantization::Steps(form::Steps {
            thresholds,
            lowest,
            out,
        }) => vec![
            Thresholds(thresholds.iter().flat_map(|t| t.iter().copied()).collect()).to_attribute(),
            Attribute::Ints(thresholds.iter().map(|t| t.len() as i64).collect()),
            lowest.to_attribute(),
            out.to_attribute(),
        ],
    };
    form_keys(form.kind()).iter().copied().zip(values).collect()
}

/// The form with this kind and these fields. Whether its parameters are legal is for [`Requantization::check`].
pub fn form_from_list(
    kind: FormKind,
    get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
) -> Result<Requantization, AttributeError> {
    let op = kind.name();
    macro_rules! take {
        ($key:literal) => {
            field(op, $key, get)?
        };
    }
    Ok(match kind {
        FormKind::ArithFolded => Requantization::ArithFolded(form::ArithFolded {
            narrowing: narrowing(op, get)?,
        }),
        FormKind::FractionalZero => Requantization::FractionalZero(form::FractionalZero {
            sc: take!("sc"),
            zp: take!("zp"),
            narrowing: narrowing(op, get)?,
        }),
        FormKind::TfLite => Requantization::TfLite(form::TfLite {
            sc: take!("sc"),
            zp: take!("zp"),
            narrowing: narrowing(op, get)?,
        }),
        FormKind::Fixed => Requantization::Fixed(form::Fixed {
            sc: take!("sc"),
            add: take!("add"),
            zp: take!("zp"),
            narrowing: narrowing(op, get)?,
        }),
        FormKind::Gemmlowp => Requantization::Gemmlowp(form::Gemmlowp {
            multiplier: take!("multiplier"),
            exponent: take!("exponent"),
            zp: take!("zp"),
            out: take!("out"),
        }),
        FormKind::Float => Requantization::Float(form::Float {
            scale: take!("scale"),
            zp: take!("zp"),
            out: take!("out"),
        }),
        FormKind::Steps => steps(get)?,
    })
}

fn narrowing(
    op: &'static str,
    get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
) -> Result<Narrowing, AttributeError> {
    Ok(Narrowing {
        shift: field(op, "shift", get)?,
        rounding: field::<Rounding>(op, "rounding", get)?,
        out: field(op, "out", get)?,
    })
}

fn steps(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Requantization, AttributeError> {
    let op = FormKind::Steps.name();
    let Thresholds(flat) = field(op, "thresholds", get)?;
    let lengths: Thresholds = field(op, "lengths", get)?;
    let mut rest = flat.as_slice();
    let mut thresholds: Vec<Arc<[i32]>> = Vec::with_capacity(lengths.0.len());
    for &length in &lengths.0 {
        let split = usize::try_from(length).ok().and_then(|n| rest.split_at_checked(n));
        let Some((channel, behind)) = split else {
            return Err(wrong_lengths(&lengths, flat.len()));
        };
        thresholds.push(channel.into());
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(wrong_lengths(&lengths, flat.len()));
    }
    Ok(Requantization::Steps(form::Steps {
        thresholds: thresholds.into(),
        lowest: field(op, "lowest", get)?,
        out: field(op, "out", get)?,
    }))
}

fn wrong_lengths(lengths: &Thresholds, count: usize) -> AttributeError {
    AttributeError::Value {
        op: FormKind::Steps.name(),
        key: "lengths",
        found: Box::new(lengths.to_attribute()),
        allowed: format!("lengths that add up to the {count} thresholds are expected"),
    }
}
