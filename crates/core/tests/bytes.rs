//! Tests that IR bytes preserve everything that a module has, and that reading damaged bytes does no harm.

use crate::support;

use proptest::prelude::*;
use strait_core::Module;
use strait_core::bytes::{BytesError, decode, encode};
use strait_core::text::{PrintOptions, parse, print};
use strait_core::verifier::verify;

fn reread(module: &Module) -> Result<Module, BytesError> {
    let encoded = encode(module)?;
    decode(&encoded.ir, &|index| Some(encoded.tensors.get(index)?.bytes().clone()))
}

#[test]
fn zero_points_of_weights_come_back_and_0_is_not_written() {
    let plain = "conv(%x, @k) {stride=[1], pad=[0,0], dilation=[1], groups=1, pad_value=0}";
    let gemm = "gemm(%c, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    let module = |conv: &str, gemm: &str| {
        let text = format!(
            "strait 1 integer graph @g(%x: u8[1,2,3] scale=1.0 zero=0) {{
  %a: i32[1,2,3] scale=1.0 zero=0 = {conv}
  %c: u4[1,2,3] scale=1.0 zero=0 = requantize(%a) {{form={{arith_folded shift=1 rounding=floor out=u4}}, axis=1}}
  %y: i32[1,2,2] scale=1.0 zero=0 = {gemm}
  return %y }} data @k: u8[2,2,1] = splat 1 data @w: u16[2,3] = splat 1"
        );
        parse(&text).unwrap()
    };
    let with = |op: &str, zero: &str| op.replace('}', &format!(", weight_zero={zero}}}"));
    let asymmetric = module(&with(plain, "255"), &with(gemm, "[0,65535]"));
    let again = reread(&asymmetric).unwrap();
    let text = |m: &Module| print(m, &PrintOptions::whole());
    assert_eq!(text(&again), text(&asymmetric));
    assert!(text(&again).contains("weight_zero=255") && text(&again).contains("weight_zero=[0,65535]"));
    verify(&again).unwrap();
    let symmetric = module(&with(plain, "0"), gemm);
    assert_eq!(encode(&symmetric).unwrap().ir, encode(&module(plain, gemm)).unwrap().ir);
}

proptest! {
    #[test]
    fn a_module_comes_back_as_it_was(choices in prop::collection::vec(any::<u32>(), 0..400)) {
        let module = support::module(&choices);
        let again = reread(&module).unwrap();
        let text = |m: &Module| print(m, &PrintOptions::whole());
        prop_assert_eq!(text(&again), text(&module));
        // Writing and reading once more changes nothing.
        let (first, second) = (encode(&again).unwrap(), encode(&reread(&again).unwrap()).unwrap());
        prop_assert_eq!(first.ir, second.ir);
        prop_assert_eq!(first.tensors, second.tensors);
    }
}
