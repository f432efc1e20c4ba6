//! Represents a requantization form as its kind and a list of (key, attribute). The text form, IR bytes and JSON are
//! made from that list. A parameter is either one value for the tensor, or a list with one value per channel.

use crate::attribute::{Attribute, AttributeError, Field, field, written};
use std::sync::Arc;
use strait_requantize::{FormKind, Narrowing, Per, Requantization, form};

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

/// A list of all channels' thresholds, one channel after the other. `lengths` says how many thresholds each channel
/// has.
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

/// A form that can be written as its kind and a list of fields with keys, in a fixed order.
trait Spelled: Sized {
    const KIND: FormKind;
    const KEYS: &'static [&'static str];

    fn values(&self) -> Vec<Option<Attribute>>;

    fn read(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Self, AttributeError>;
}

/// Implements `Spelled` for a form. The keys are the names of its fields.
macro_rules! spelled {
    ($form:ident by hand) => {};
    ($form:ident $($field:ident)* $(+ $narrowing:ident { $($narrow:ident)* })?) => {
        impl Spelled for form::$form {
            const KIND: FormKind = FormKind::$form;
            const KEYS: &'static [&'static str] = &[$(stringify!($field),)* $($(stringify!($narrow),)*)?];

            fn values(&self) -> Vec<Option<Attribute>> {
                vec![$(written(&self.$field, Field::implied()),)* $($(written(&self.$narrowing.$narrow, Field::implied()),)*)?]
            }

            fn read(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Self, AttributeError> {
                let op = Self::KIND.name();
                Ok(form::$form {
                    $($field: field(op, stringify!($field), get, Field::implied())?,)*
                    $($narrowing: Narrowing { $($narrow: field(op, stringify!($narrow), get, Field::implied())?,)* },)?
                })
            }
        }
    };
}

impl Spelled for form::Steps {
    const KIND: FormKind = FormKind::Steps;
    const KEYS: &'static [&'static str] = &["thresholds", "lengths", "lowest", "out"];

    fn values(&self) -> Vec<Option<Attribute>> {
        let flat = self.thresholds.iter().flat_map(|t| t.iter().copied()).collect();
        vec![
            Some(Thresholds(flat).to_attribute()),
            Some(Attribute::Ints(
                self.thresholds.iter().map(|t| t.len() as i64).collect(),
            )),
            Some(self.lowest.to_attribute()),
            Some(self.out.to_attribute()),
        ]
    }

    fn read(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Self, AttributeError> {
        let op = FormKind::Steps.name();
        let Thresholds(flat) = field(op, "thresholds", get, Field::implied())?;
        let lengths: Thresholds = field(op, "lengths", get, Field::implied())?;
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
        Ok(form::Steps {
            thresholds: thresholds.into(),
            lowest: field(op, "lowest", get, Field::implied())?,
            out: field(op, "out", get, Field::implied())?,
        })
    }
}

macro_rules! of_each {
    ($($form:ident [$($fields:tt)*])*) => {
        $(spelled! { $form $($fields)* })*

        /// Returns the keys of a form of this kind, in order. A key may be absent in a list if its field has the
        /// default value.
        pub fn form_keys(kind: FormKind) -> &'static [&'static str] {
            match kind {
                $(FormKind::$form => <form::$form as Spelled>::KEYS,)*
            }
        }

        /// Returns the fields of a form, in the order of [`form_keys`]. No field is itself a form.
        pub fn form_list(form: &Requantization) -> Vec<(&'static str, Attribute)> {
            let values = match form {
                $(Requantization::$form(form) => form.values(),)*
            };
            let keys = form_keys(form.kind()).iter();
            keys.zip(values).filter_map(|(key, value)| Some((*key, value?))).collect()
        }

        /// Makes the form with this kind and these fields. [`Requantization::check`] tells whether the parameters are
        /// legal.
        pub fn form_from_list(
            kind: FormKind,
            get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
        ) -> Result<Requantization, AttributeError> {
            Ok(match kind {
                $(FormKind::$form => Requantization::$form(Spelled::read(get)?),)*
            })
        }
    };
}
strait_requantize::each_form! { of_each }

fn wrong_lengths(lengths: &Thresholds, count: usize) -> AttributeError {
    AttributeError::Value {
        op: FormKind::Steps.name(),
        key: "lengths",
        found: Box::new(lengths.to_attribute()),
        allowed: format!("lengths that add up to the {count} thresholds are expected"),
    }
}
