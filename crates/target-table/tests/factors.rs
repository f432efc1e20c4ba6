//! Tests that a row computes the same factors from scales as the runtime's kernel for the op.
#![allow(clippy::unwrap_used)]

use strait_requantize::{IntType, scales::litert};
use strait_target::spec::{Rescale, Scales};
use strait_target::{Options, Table};

/// For a product of two activations, LiteRT rounds the product of the two scales to f32, even if the multiplier then
/// keeps only 16 bits.
#[test]
fn a_matrix_product_has_a_factor_of_its_own_on_sixteen_bits() {
    let table = Table::parse("every-form.toml", include_str!("tables/every-form.toml")).unwrap();
    let spec = table.spec(&Options::new()).unwrap();
    let (a, b, output) = (0.023_529_412, 0.003_017_394, 0.047_058_823);
    let rescale = Rescale {
        scales: Scales::MatrixProduct { a, b, output },
        input_zero: 0,
        output_zero: 0,
        out: IntType::I16,
        accumulators: None,
    };
    let built = spec.form["sixteen"].build(&rescale).unwrap().form;
    let product = litert::wide_matrix_product(a, b, output, 0, IntType::I16).unwrap();
    let convolution = litert::sixteen_by_eight(a, &b.into(), output, 0, IntType::I16).unwrap();
    assert_eq!(built, product);
    assert_ne!(built, convolution);
}
