//! Element types and their numbers in the ONNX format.

use strait_core::Elem;

/// For each type, its number, its name in the specification, and the type in Strait, if there is one.
const TYPES: &[(i32, &str, Option<Elem>)] = &[
    (1, "float", Some(Elem::F32)),
    (2, "uint8", Some(Elem::U8)),
    (3, "int8", Some(Elem::I8)),
    (4, "uint16", Some(Elem::U16)),
    (5, "int16", Some(Elem::I16)),
    (6, "int32", Some(Elem::I32)),
    (7, "int64", Some(Elem::I64)),
    (8, "string", None),
    (9, "bool", Some(Elem::Bool)),
    (10, "float16", Some(Elem::F16)),
    (11, "double", Some(Elem::F64)),
    (12, "uint32", Some(Elem::U32)),
    (13, "uint64", Some(Elem::U64)),
    (14, "complex64", None),
    (15, "complex128", None),
    (16, "bfloat16", Some(Elem::BF16)),
    (17, "float8e4m3fn", None),
    (18, "float8e4m3fnuz", None),
    (19, "float8e5m2", None),
    (20, "float8e5m2fnuz", None),
    (21, "uint4", Some(Elem::U4)),
    (22, "int4", Some(Elem::I4)),
    (23, "float4e2m1", None),
    (24, "float8e8m0", None),
    (25, "uint2", None),
    (26, "int2", None),
    (27, "float6e2m3", None),
    (28, "float6e3m2", None),
];

/// The element type with this number in ONNX. If Strait does not have the type, the error is the type's name.
pub(crate) fn element(number: i64) -> Result<Elem, String> {
    match TYPES.iter().find(|(n, _, _)| i64::from(*n) == number) {
        Some((_, _, Some(elem))) => Ok(*elem),
        Some((_, name, None)) => Err((*name).to_string()),
        None => Err(format!("unknown (number {number})")),
    }
}

/// The number of an element type in ONNX.
pub(crate) fn number(elem: Elem) -> i32 {
    TYPES
        .iter()
        .find(|(_, _, e)| *e == Some(elem))
        .map_or(0, |(n, _, _)| *n)
}
