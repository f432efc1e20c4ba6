//! Calls a function for the Rust type that stores the integers of a tensor.

/// Evaluates `of::<T>(arguments)`, where T is the type in which integers of this element type are stored. Returns
/// `None` for floats, for booleans, and for the unsigned integers that are not used for codes.
macro_rules! for_integers {
    ($elem:expr, $of:ident($($argument:expr),*)) => {
        match $elem {
            Elem::I8 | Elem::I4 => $of::<i8>($($argument),*),
            Elem::U8 | Elem::U4 => $of::<u8>($($argument),*),
            Elem::I16 => $of::<i16>($($argument),*),
            Elem::U16 => $of::<u16>($($argument),*),
            Elem::I32 => $of::<i32>($($argument),*),
            Elem::I64 => $of::<i64>($($argument),*),
            Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::U32 | Elem::U64 | Elem::Bool => None,
        }
    };
}
pub(crate) use for_integers;
