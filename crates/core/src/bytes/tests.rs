use super::*;
use crate::text::{PrintOptions, parse, print};
use crate::{Module, TensorData};

/// A small module with every kind of field.
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

/// A module with configs of every kind.
const ANNOTATED: &str = r#"strait 1 annotated
graph @main(%x: f32[1,4]) {
  %c: f32[1,4] = gemm(%x, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %r: f32[1,4] = relu(%c)
  %a: f32[1,4] = add(%r, @b)
  %s: f32[1,4] = softmax(%a) {axis=-1} host=["softmax-float","no row"]
  return %s
}
quant @main {
  input 0: i8[-128,127] asymmetric half_even overlapped c operand 0
  c operand 0: i8[-128,127] asymmetric half_even activated scale=0.5 zero=3 observed
  c operand 1: i4[-8,7] symmetric axis=1 block=2 half_even baked scale=[0.5,0.25,1.0,2.0,0.5,0.25,1.0,2.0] zero=0 axis=1 block=2 given given_codes=@"w:codes"
  c operand 2: i32[-2147483648,2147483647] symmetric half_even passive_baked product c operand 0, r operand 0 codes=@"b:codes"
  c result 0: i8[-128,127] asymmetric half_even overlapped r result 0
  r operand 0: i8[-128,127] asymmetric half_even float overlapped r result 0
  r result 0: i8[-128,127] asymmetric half_even activated scale=0.125 zero=-128 rule
  a operand 0: i8[-128,127] asymmetric half_even overlapped r result 0
  a operand 1: u8[0,255] asymmetric half_even activated scale=0.5 zero=1 given given_codes=@"b:codes"~1
  s operand 0: i16[-32768,32767] asymmetric power_of_two dynamic half_up passive same c result 0
  s result 0: e4m3 channel=1 half_even initial
  output 0: i8[-128,127] asymmetric half_even float initial
}
data @w: f32[4,4] = splat 1.0
data @b: f32[4] = splat 0.0
data @"w:codes": i4[4,4] = splat -8
data @"b:codes": i32[4] = splat 5
data @"b:codes"~1: u8[4] = splat 1
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
    for text in [SMALL, ANNOTATED] {
        let encoded = encode(&parse(text).unwrap()).unwrap();
        let again = read(&encoded.ir, &encoded.tensors).unwrap();
        assert_eq!(print(&again, &PrintOptions::default()), text);
    }
}

#[test]
fn any_changed_byte_gives_an_error_or_a_module_that_verifies() {
    for text in [SMALL, ANNOTATED] {
        let encoded = encode(&parse(text).unwrap()).unwrap();
        let mut read_well = 0;
        for at in 0..encoded.ir.len() {
            for change in [0x01, 0x02, 0x80, 0xff, encoded.ir[at]] {
                let mut ir = encoded.ir.clone();
                ir[at] ^= change;
                if let Ok(module) = read(&ir, &encoded.tensors) {
                    assert_eq!(crate::verifier::verify(&module), Ok(()));
                    // Every module that can be read can also be written.
                    assert!(encode(&module).is_ok());
                    read_well += 1;
                }
            }
        }
        // Some modules stay valid, because the change only affects a character of a name, a scale or the like.
        assert!(read_well > 0);
    }
}

#[test]
fn any_truncation_is_an_error() {
    for text in [SMALL, ANNOTATED] {
        let Encoded { ir, tensors } = encode(&parse(text).unwrap()).unwrap();
        for length in 0..ir.len() {
            assert!(read(&ir[..length], &tensors).is_err(), "of {length} bytes");
        }
        let longer = [&ir[..], &[0]].concat();
        assert!(matches!(read(&longer, &tensors), Err(BytesError::Trailing { .. })));
    }
}

#[test]
fn a_fused_form_has_one_addend_at_most() {
    let text = "strait 1 integer graph @g(%x: i8[1,2] scale=0.5 zero=0) { %y: i8[1,2] scale=0.5 zero=0 = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} fused={arith_folded shift=1 rounding=floor out=i8} return %y } data @w: i8[2,2] = splat 1";
    let mut encoded = encode(&parse(text).unwrap()).unwrap();
    // The bytes end with the addends (4 bytes), the placement (1), one output (8), and an empty table of configs (4).
    let at = encoded.ir.len() - 4 - 8 - 1 - 4;
    encoded.ir[at] = 2;
    let refused = read(&encoded.ir, &encoded.tensors).map(drop).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("2 is not the number of run-time addends"),
        "{refused}"
    );
}

#[test]
fn another_major_version_is_refused_and_a_later_minor_one_is_read() {
    let (_, mut encoded) = small();
    encoded.ir[10] = 7;
    // A later version may have more bytes after the fields that this version knows.
    encoded.ir.extend([1, 2, 3]);
    assert!(read(&encoded.ir, &encoded.tensors).is_ok());
    for (major, remedy) in [(1, "compile the model again"), (3, "use a later version of Strait")] {
        encoded.ir[8] = major;
        let refused = read(&encoded.ir, &encoded.tensors).map(drop).unwrap_err();
        assert_eq!(refused, BytesError::Version(major.into(), 7));
        assert!(refused.to_string().ends_with(remedy), "{refused}");
    }
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

/// A module with one node, which has one attribute more than this version knows.
fn with_unknown_attribute(critical: u8) -> Vec<u8> {
    let text = "strait 1 float graph @g(%x: f32[2]) { %y: f32[2] = elu(%x) {alpha=1.0} return %y }";
    let mut ir = encode(&parse(text).unwrap()).unwrap().ir;
    // The bytes end with the number of attributes, the attribute (14 bytes), no fused steps and no placement (2), one
    // output (8), and an empty table of configs (4).
    let behind = ir.len() - 4 - 8 - 2;
    assert_eq!(ir[behind - 18..behind - 14], [1, 0, 0, 0]);
    ir[behind - 18] = 2;
    let (end, node_end) = (ir.len(), ir.len() - 4 - 8);
    lengthen(&mut ir, end, 13);
    lengthen(&mut ir, node_end, 13);
    // The key is the first string, which is the graph's name. The tag is 99, and the value has three bytes.
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
    // The module and the encoded tensors share the bytes.
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
