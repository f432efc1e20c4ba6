//! Attributes of ops.
//!
//! Every op is a struct that the `op!` macro declares. From the fields of the struct, the macro derives one list of
//! (key, tag, value). The text form, IR bytes, JSON, DOT and the limits in a target's table are all made from that
//! list.

use crate::elem::Elem;
use crate::ids::DataId;
use smallvec::{Array, SmallVec};
use strait_requantize::form::TosaInput;
use strait_requantize::function::Definition;
use strait_requantize::quantize::ZeroPoint;
use strait_requantize::{IntType, Requantization, Rounding, Roundings};

/// The value of one attribute. IR bytes store a tag for each variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// An integer; booleans are 0 and 1.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A float.
    Float(f32),
    /// A list of floats.
    Floats(Vec<f32>),
    /// A word out of a closed set, or any text in a `Foreign` node.
    Text(String),
    /// A constant of the tensor pool.
    Data(DataId),
    /// A requantization with its parameters.
    Form(Box<Requantization>),
}

impl Attribute {
    /// The names of the kinds of attributes, as in the documentation of IR bytes. A kind's tag is the index of its
    /// name.
    pub const KINDS: [&'static str; 7] = ["int", "ints", "float", "floats", "text", "data", "form"];

    /// Returns the tag of the attribute's kind in IR bytes.
    pub fn tag(&self) -> u8 {
        match self {
            Attribute::Int(_) => 0,
            Attribute::Ints(_) => 1,
            Attribute::Float(_) => 2,
            Attribute::Floats(_) => 3,
            Attribute::Text(_) => 4,
            Attribute::Data(_) => 5,
            Attribute::Form(_) => 6,
        }
    }

    /// Returns the text, if the attribute is a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Attribute::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Why an op cannot be made from its attributes in a text or in IR bytes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AttributeError {
    /// A required attribute is missing.
    #[error("{op}: attribute `{key}` is missing")]
    Missing {
        /// The name of the op.
        op: &'static str,
        /// The key of the attribute.
        key: &'static str,
    },
    /// The attribute has the wrong type, or a value that the field cannot hold.
    #[error("{op}: attribute `{key}` cannot be {found}; {allowed}")]
    Value {
        /// The name of the op.
        op: &'static str,
        /// The key of the attribute.
        key: &'static str,
        /// The attribute that was found.
        found: Box<Attribute>,
        /// What the op allows instead.
        allowed: String,
    },
}

/// A type that a field of an op can have.
pub trait Field: Sized {
    /// This value as an attribute.
    fn to_attribute(&self) -> Attribute;
    /// Returns the value that an attribute stands for; `None` if the field cannot have that value.
    fn from_attribute(attribute: &Attribute) -> Option<Self>;
    /// Returns the values that the field can have, described for error messages.
    fn allowed() -> String;
    /// Returns the words that the field can have, if its type is a closed set of words; otherwise empty.
    fn words() -> Vec<&'static str> {
        Vec::new()
    }
    /// True if the attribute is a list.
    fn is_list() -> bool {
        false
    }
    /// Returns the value that the field has if its attribute is absent. An attribute with this value is not written.
    /// Returns `None` if the attribute is required.
    fn implied() -> Option<Self> {
        None
    }
}

/// The name, version, arity and attributes of an op. The macro `op!` implements this trait for each op.
pub trait Attributes: Sized {
    /// The op's name in the text form, IR bytes and tables. Compilers usually call the op by this name, here in snake
    /// case.
    const NAME: &'static str;
    /// The version of the attributes. It is raised when an attribute is added or changes its meaning.
    const VERSION: u16;
    /// The smallest and the largest number of operands.
    const ARITY: (usize, usize);
    /// The attribute keys, in order.
    const KEYS: &'static [&'static str];
    /// Returns the words that the attribute `key` can have, if its type is a closed set of words; otherwise empty.
    fn words(key: &str) -> Vec<&'static str>;
    /// True if the attribute `key` is a list.
    fn is_list(key: &str) -> bool;
    /// Calls `put` for every attribute, in the order of the fields.
    fn write(&self, put: &mut dyn FnMut(&'static str, Attribute));
    /// Reads all attributes. `get` returns `None` if the key is absent.
    fn read(get: &mut dyn FnMut(&'static str) -> Option<Attribute>) -> Result<Self, AttributeError>;
}

macro_rules! integer_fields {
    ($($t:ty),*) => { $(impl Field for $t {
        fn to_attribute(&self) -> Attribute { Attribute::Int(i64::from(*self)) }
        fn from_attribute(attribute: &Attribute) -> Option<Self> {
            match attribute { Attribute::Int(v) => <$t>::try_from(*v).ok(), _ => None }
        }
        fn allowed() -> String { format!("an integer in {}..={} is expected", <$t>::MIN, <$t>::MAX) }
    })* };
}
integer_fields!(u8, u32, i32, i64);

impl Field for bool {
    fn to_attribute(&self) -> Attribute {
        Attribute::Int(i64::from(*self))
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Int(0) => Some(false),
            Attribute::Int(1) => Some(true),
            _ => None,
        }
    }
    fn allowed() -> String {
        "0 or 1 is expected".into()
    }
}

impl Field for f32 {
    fn to_attribute(&self) -> Attribute {
        Attribute::Float(*self)
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Float(v) => Some(*v),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a float is expected".into()
    }
}

impl Field for Vec<f32> {
    fn to_attribute(&self) -> Attribute {
        Attribute::Floats(self.clone())
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Floats(v) => Some(v.clone()),
            Attribute::Ints(v) if v.is_empty() => Some(Vec::new()),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a list of floats is expected".into()
    }
    fn is_list() -> bool {
        true
    }
}

impl<A: Array> Field for SmallVec<A>
where
    A::Item: Copy + TryFrom<i64> + Into<i64>,
{
    fn to_attribute(&self) -> Attribute {
        Attribute::Ints(self.iter().map(|&v| v.into()).collect())
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Ints(v) => v.iter().map(|&v| A::Item::try_from(v).ok()).collect(),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a list of integers is expected".into()
    }
    fn is_list() -> bool {
        true
    }
}

impl Field for Requantization {
    fn to_attribute(&self) -> Attribute {
        Attribute::Form(Box::new(self.clone()))
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Form(form) => Some((**form).clone()),
            _ => None,
        }
    }
    fn allowed() -> String {
        "a requantization form is expected".into()
    }
}

/// Declares a closed set of words that an op can have as an attribute.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? } $(implied $implied:ident)?) => {
        $crate::named::named! { $(#[$doc])* $name { $($(#[$vdoc])* $variant = $word),* } }

        impl $crate::attribute::Field for $name {
            fn to_attribute(&self) -> $crate::Attribute {
                $crate::Attribute::Text(self.name().into())
            }
            fn from_attribute(attribute: &$crate::Attribute) -> Option<Self> {
                attribute.text().and_then($name::parse)
            }
            fn allowed() -> String {
                concat!("one of", $(" ", $word),*, " is expected").into()
            }
            fn words() -> Vec<&'static str> {
                vec![$($word),*]
            }
            $(fn implied() -> Option<Self> {
                Some($name::$implied)
            })?
        }
    };
}
pub(crate) use words;

/// Implements [`Field`] for enums whose members are written as names. For each enum, a text describes the allowed names
/// in error messages. Two more arguments are optional: `words`, the names that a limit in a target's table may use; and
/// `implied`, the member that an absent attribute stands for.
macro_rules! named_fields {
    ($($t:ident: $allowed:expr $(, words $words:expr)? $(, implied $value:expr)?;)*) => { $(impl Field for $t {
        fn to_attribute(&self) -> Attribute {
            Attribute::Text(self.name().into())
        }
        fn from_attribute(attribute: &Attribute) -> Option<Self> {
            attribute.text().and_then($t::parse)
        }
        fn allowed() -> String {
            $allowed
        }
        $(fn words() -> Vec<&'static str> {
            $words.to_vec()
        })?
        $(fn implied() -> Option<Self> {
            Some($value)
        })?
    })* };
}
named_fields! {
    Elem: "an element type is expected".into(), words Elem::ALL.map(Elem::name);
    Rounding: one_of(&Rounding::ALL.map(Rounding::name)), words Rounding::ALL.map(Rounding::name);
    Definition: one_of(&Definition::ALL.map(Definition::name)), words Definition::ALL.map(Definition::name);
    IntType: one_of(&IntType::ALL.map(IntType::name));
    TosaInput: one_of(&TosaInput::ALL.map(TosaInput::name));
    Roundings: one_of(&[Roundings::One, Roundings::Two].map(Roundings::name)), implied Roundings::Two;
    ZeroPoint: one_of(&ZeroPoint::ALL.map(ZeroPoint::name)), implied ZeroPoint::After;
}

fn one_of(words: &[&str]) -> String {
    format!("one of {} is expected", words.join(", "))
}

/// Declares an op: its struct, its name, version, kind and numbers of operands, and one attribute for each field. For a
/// family of ops (`unary`, `reduce`), the kind is omitted, because each member of the family has a kind of its own. A
/// field may be followed by an equals sign and the value that the field has if its attribute is absent. Without such a
/// value, [`Field::implied`] of the field's type decides.
macro_rules! op {
    ($(#[$doc:meta])* $name:ident = $text:literal v $version:literal: $($kind:ident,)? $least:literal $(to $most:literal)? { $($(#[$fdoc:meta])* $field:ident: $t:ty $(= $implied:expr)?),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$fdoc])* pub $field: $t),* }

        $(impl $name {
            /// The kind of computation that this op does.
            pub const KIND: $crate::kind::Kind = $crate::kind::Kind::$kind;
        })?

        impl $crate::Attributes for $name {
            const NAME: &'static str = $text;
            const VERSION: u16 = $version;
            const ARITY: (usize, usize) = $crate::attribute::arity!($least $($most)?);
            const KEYS: &'static [&'static str] = &[$(stringify!($field)),*];

            #[allow(unused_variables)]
            fn words(key: &str) -> Vec<&'static str> {
                $(if key == stringify!($field) {
                    return <$t as $crate::attribute::Field>::words();
                })*
                Vec::new()
            }

            #[allow(unused_variables)]
            fn is_list(key: &str) -> bool {
                $(if key == stringify!($field) {
                    return <$t as $crate::attribute::Field>::is_list();
                })*
                false
            }

            #[allow(unused_variables)]
            fn write(&self, put: &mut dyn FnMut(&'static str, $crate::Attribute)) {
                $(if let Some(value) = $crate::attribute::written(&self.$field, $crate::attribute::implied!($($implied)?)) {
                    put(stringify!($field), value);
                })*
            }

            #[allow(unused_variables)]
            fn read(
                get: &mut dyn FnMut(&'static str) -> Option<$crate::Attribute>,
            ) -> Result<Self, $crate::AttributeError> {
                Ok($name { $(
                    $field: $crate::attribute::field($text, stringify!($field), get, $crate::attribute::implied!($($implied)?))?
                ),* })
            }
        }
    };
}
pub(crate) use op;

macro_rules! arity {
    ($both:literal) => {
        ($both, $both)
    };
    ($least:literal $most:literal) => {
        ($least, $most)
    };
}
pub(crate) use arity;

/// The value of a field whose attribute is absent: the value that `op!` states for the field, or else the default of
/// its type.
macro_rules! implied {
    () => {
        $crate::attribute::Field::implied()
    };
    ($value:expr) => {
        Some($value)
    };
}
pub(crate) use implied;

/// Returns the attribute that is written for a field; `None` if the field has the value that an absent attribute
/// implies.
pub(crate) fn written<T: Field + PartialEq>(value: &T, implied: Option<T>) -> Option<Attribute> {
    (implied.as_ref() != Some(value)).then(|| value.to_attribute())
}

/// Reads one field of an op. The code that `op!` generates calls this.
pub(crate) fn field<T: Field>(
    op: &'static str,
    key: &'static str,
    get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
    implied: Option<T>,
) -> Result<T, AttributeError> {
    let Some(found) = get(key) else {
        return implied.ok_or(AttributeError::Missing { op, key });
    };
    T::from_attribute(&found).ok_or_else(|| AttributeError::Value {
        op,
        key,
        found: Box::new(found.clone()),
        allowed: T::allowed(),
    })
}

impl Field for String {
    fn to_attribute(&self) -> Attribute {
        Attribute::Text(self.clone())
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        attribute.text().map(str::to_owned)
    }
    fn allowed() -> String {
        "a text is expected".into()
    }
}
