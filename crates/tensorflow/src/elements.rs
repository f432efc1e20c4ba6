//! The element types of TensorFlow, by their numbers in the file.

use strait_core::Elem;

/// For each type: its number, its name in the specification, and the element type of the IR that stands for it, if
/// there is one.
const TYPES: &[(i32, &str, Option<Elem>)] = &[
    (1, "float", Some(Elem::F32)),
    (2, "double", Some(Elem::F64)),
    (3, "int32", Some(Elem::I32)),
    (4, "uint8", Some(Elem::U8)),
    (5, "int16", Some(Elem::I16)),
    (6, "int8", Some(Elem::I8)),
    (7, "string", None),
    (8, "complex64", None),
    (9, "int64", Some(Elem::I64)),
    (10, "bool", Some(Elem::Bool)),
    (11, "qint8", None),
    (12, "quint8", None),
    (13, "qint32", None),
    (14, "bfloat16", Some(Elem::BF16)),
    (15, "qint16", None),
    (16, "quint16", None),
    (17, "uint16", Some(Elem::U16)),
    (18, "complex128", None),
    (19, "half", Some(Elem::F16)),
    (20, "resource", None),
    (21, "variant", None),
    (22, "uint32", Some(Elem::U32)),
    (23, "uint64", Some(Elem::U64)),
    (24, "float8_e5m2", None),
    (25, "float8_e4m3fn", None),
    (29, "int4", None),
    (30, "uint4", None),
];

/// The number of a reference to an element type is the number of the type plus this offset.
const REFERENCE: i32 = 100;

/// The element type with this number. If the IR does not have the type, the error is the type's name.
pub(crate) fn element(number: i32) -> Result<Elem, String> {
    match TYPES.iter().find(|(n, _, _)| *n == number) {
        Some((_, _, Some(elem))) => Ok(*elem),
        Some((_, name, None)) => Err((*name).to_string()),
        None if number > REFERENCE => Err("a reference to a variable".into()),
        None => Err(format!("unknown (number {number})")),
    }
}
