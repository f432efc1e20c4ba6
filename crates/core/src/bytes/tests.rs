use super::*;
use crate::text::{PrintOptions, parse, print};
use crate::{Module, TensorData};

/// Small, but with every kind of field.
const SMALL: &str = r#"strait 1 integer
graph @main(%x: i8[1,2,2] scale=0.5 zero=-3) {
  %c: i32[1,2,2] scale=[0.5,0.25] zero=[0,0] axis=2 = gemm(%x, @w, _) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %q: i8[1,2,2] scale=0.1 zero=3 = requantize(%c) {form={arith_folded shift=[7,6] rounding=half_even out=i8}, axis=2}
  %g: u8[1,2,2] scale=0.1 zero=0 = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={steps thresholds=[-5,0] lengths=[2] lowest=0 out=u8} clamp=[0,1]
  %l: i64[1,2,2] scale=0.5 zero=0 = gemm(%x, @n) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0, accumulator=i64}
  %m: u16[1,2,2] scale=0.5 zero=0 = requantize(%l) {form={arith_folded shift=0 rounding=half_even out=u16}, axis=2}
  %f: f32[1,2,2] = dequantize(%g)
  %y: f32[1,2,2] = call @host(%f)
  return %q, %y, %m
}
graph @host(%x: f32[1,2,2]) stage=float {
  %s: f32[1,2,2] = softmax(%x) {axis=-1} name="/softmax" sources=["/softmax","/exp"] host=["softmax-float","no row"]
  return %s
}
data @w: i8[2,2] scale=[0.5,0.25] zero=0 axis=0 = inline [1,-2,3,-4]
data @n: i4[2,2] scale=1.0 zero=0 = inline [-8,7,0,-1]
"#;

fn small() -> (Module, Encoded) {
    let module = parse(SMALL).unwrap();
    let encoded = encode(&module).unwrap();
    (module, encoded)
}

fn read(ir: &[u8], tensors: &[TensorData]) -> Result<Module, BytesError> {
    decode(ir, &|index| Some(tensors.get(index)?.bytes().clone()))
}

#[test]
fn every_field_comes_back() {
    let (_, encoded) = small();
    let again = read(&encoded.ir, &encoded.tensors).unwrap();
    assert_eq!(print(&again, &PrintOptions::default()), SMALL);
}

#[test]
fn any_changed_byte_gives_an_error_or_a_module_that_verifies() {
    let (_, encoded) = small();
    let mut read_well = 0;
    for at in 0..encoded.ir.len() {
        for change in [0x01, 0x02, 0x80, 0xff, encoded.ir[at]] {
            let mut ir = encoded.ir.clone();
            ir[at] ^= change;
            if let Ok(module) = read(&ir, &encoded.tensors) {
                assert_eq!(crate::verifier::verify(&module), Ok(()));
                read_well += 1;
            }
        }
    }
    // A character of a name, a scale and the like.
    assert!(read_well > 0);
}

#[test]
fn any_truncation_is_an_error() {
    let (_, encoded) = small();
    for length in 0..encoded.ir.len() {
        assert!(
            read(&encoded.ir[..length], &encoded.tensors).is_err(),
            "of {length} bytes"
        );
    }
    let mut longer = encoded.ir.clone();
    longer.push(0);
    assert!(matches!(
        read(&longer, &encoded.tensors),
        Err(BytesError::Trailing { .. })
    ));
}

#[test]
fn another_major_version_is_refused_and_a_later_minor_one_is_read() {
    let (_, mut encoded) = small();
    encoded.ir[10] = 7;
    // A later version may have more behind what is known.
    encoded.ir.extend([1, 2, 3]);
    assert!(read(&encoded.ir, &encoded.tensors).is_ok());
    encoded.ir[8] = 2;
    assert_eq!(
        read(&encoded.ir, &encoded.tensors).map(drop),
        Err(BytesError::Version(2, 7))
    );
    encoded.ir[0] = b'x';
    assert_eq!(read(&encoded.ir, &encoded.tensors).map(drop), Err(BytesError::Magic));
}

/// Adds `by` to the 32-bit size of each record that ends at `end`.
fn lengthen(ir: &mut [u8], end: usize, by: u32) {
    for at in 0..end - 4 {
        let size = u32::from_le_bytes([ir[at], ir[at + 1], ir[at + 2], ir[at + 3]]);
        if at + 4 + size as usize == end {
            ir[at..at + 4].copy_from_slice(&(size + by).to_le_bytes());
        }
    }
}

/// A module of one node, with one more attribute than this version knows.
fn with_unknown_attribute(critical: u8) -> Vec<u8> {
    let text = "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = elu(%x) {alpha=1.0} return %y }";
    let mut ir = encode(&parse(text).unwrap()).unwrap().ir;
    // From the end: one output (8), not placed, not fused (2), the attribute (14) behind the number of attributes.
    let behind = ir.len() - 8 - 2;
    assert_eq!(ir[behind - 18..behind - 14], [1, 0, 0, 0]);
    ir[behind - 18] = 2;
    let (end, node_end) = (ir.len(), ir.len() - 8);
    lengthen(&mut ir, end, 13);
    lengthen(&mut ir, node_end, 13);
    // Key: the first string, the graph's name. Tag 99, three bytes.
    let attribute = [0, 0, 0, 0, 99, critical, 3, 0, 0, 0, 7, 7, 7];
    ir.splice(behind..behind, attribute);
    ir
}

#[test]
fn an_unknown_attribute_is_refused_by_name_where_it_is_critical_and_skipped_where_it_is_not() {
    let refused = read(&with_unknown_attribute(1), &[]).map(drop).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "elu: the critical attribute `g` is not known to this version of Strait"
    );
    let module = read(&with_unknown_attribute(0), &[]).unwrap();
    assert!(print(&module, &PrintOptions::default()).contains("elu(%x) {alpha=1.0}\n"));
}

#[test]
fn an_unknown_op_is_refused_by_name_and_version() {
    let text = "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = elu(%x) {alpha=1.0} return %y }";
    let ir = encode(&parse(text).unwrap()).unwrap().ir;
    let at = ir.windows(3).position(|w| w == b"elu").unwrap();
    let mut renamed = ir.clone();
    renamed[at] = b'q';
    let refused = read(&renamed, &[]).map(drop).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the graph needs the op `qlu` in version 1, which this version of Strait does not know"
    );
}

#[test]
fn equal_tensors_are_stored_once_and_unused_ones_not_at_all() {
    let text = "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = add(%x, @a) %z: f32[2] = add(%y, @b) return %z }
        data @a: f32[2] = inline [1,2] data @b: f32[2] = inline [1,2] data @c: f32[2] = inline [3,4]";
    let module = parse(text).unwrap();
    let encoded = encode(&module).unwrap();
    assert_eq!((module.pool().len(), encoded.tensors.len()), (3, 1));
    // The bytes are those of the module, not a copy.
    assert_eq!(encoded.tensors[0].bytes().as_ptr(), module.pool()[0].bytes().as_ptr());
}

#[test]
fn missing_and_short_tensors_are_errors() {
    let (_, encoded) = small();
    assert_eq!(read(&encoded.ir, &[]).map(drop), Err(BytesError::MissingTensor(0)));
    let short = decode(&encoded.ir, &|_| Some(vec![0; 3].into())).map(drop).unwrap_err();
    assert!(
        short
            .to_string()
            .starts_with("tensor 0: a tensor of i8 [2, 2] takes 4 bytes"),
        "{short}"
    );
}

#[test]
fn the_annotated_stage_is_not_stored() {
    let module = parse("strait 1 annotated graph @g(%x: f32[2]) { return %x }").unwrap();
    assert_eq!(
        encode(&module).map(drop).unwrap_err(),
        BytesError::Annotated("g".into())
    );
}

#[test]
fn the_tables_in_the_documentation_are_those_of_the_code() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ir-bytes.md"));
    let rows = |tags: Vec<(u8, &str)>| {
        tags.into_iter()
            .map(|(tag, name)| format!("| {tag} | `{name}` |"))
            .collect::<Vec<_>>()
    };
    let mut expected = rows(crate::Elem::ALL.map(|e| (e.tag(), e.name())).to_vec());
    expected.extend(rows(crate::Stage::ALL.map(|s| (s.tag(), s.name())).to_vec()));
    expected.extend(rows(
        crate::Attribute::KINDS
            .iter()
            .copied()
            .enumerate()
            .map(|(t, n)| (t as u8, n))
            .collect(),
    ));
    expected.push(format!("major {MAJOR}, minor {MINOR}"));
    for row in expected {
        assert!(page.contains(&row), "docs/ir-bytes.md has no {row}");
    }
}
