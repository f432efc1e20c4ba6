//! Tests sums of two layers that Ascend adds in 16 bits. The integers are compared with a second implementation that
//! works on the annotated graph, and with the sums in float.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_core::{Derivation, Module, NodeId, Port};
use strait_execute::Tensor;
use strait_kernels::Isa;
use strait_tests::integer::{InMemory, Integer, integer};
use strait_tests::numeric::{inputs, run, signal_to_noise};

const IN_16_BITS: &str = "ascend,quant_mode=high_performance";

/// The sum of two fully connected layers with 8 inputs, and what follows it.
fn model(rest: &str) -> Module {
    let text = format!(
        "strait 1 float graph @main(%x: f32[16,8], %z: f32[16,8]) {{
           %g: f32[16,8] = gemm(%x, @m) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           %h: f32[16,8] = gemm(%z, @n) {{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}}
           %t: f32[16,8] = add(%g, %h)
           {rest} }}
         data @m: f32[8,8] = random 3
         data @n: f32[8,8] = random 4
         data @o: f32[8,8] = random 5"
    );
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const READ_IN_FLOAT: &str = "return %t";

const READ_AS_CODES: &str = "%u: f32[16,8] = gemm(%t, @o) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
    return %u";

fn samples(float: &Module) -> InMemory {
    let mut samples: Vec<Vec<Tensor>> = (0..4).map(|seed| inputs(float, seed, 1.0)).collect();
    for sample in &mut samples {
        // The second layer reads other numbers, so that it has another scale.
        let wide: Vec<f32> = sample[1].values::<f32>().unwrap().iter().map(|x| x * 3.7).collect();
        sample[1] = Tensor::from_values(&[16, 8], &wide).unwrap();
    }
    InMemory(samples)
}

fn node(module: &Module, name: &str) -> NodeId {
    let mut nodes = module.main().nodes();
    let found = nodes.find(|(_, node)| module.name(node.name) == name);
    found.unwrap_or_else(|| panic!("no node {name}")).0
}

fn grid(module: &Module, node: NodeId, port: Port) -> (f32, i32) {
    let grid = module.main().quant.params_of(node, port).unwrap();
    grid.as_tensor().unwrap()
}

/// The integer sums of a layer for the codes of its operand, and their scale.
fn sums(module: &Module, name: &str, codes: &[i64]) -> (Vec<i64>, f32) {
    let id = node(module, name);
    let ((x, zero), (w, _)) = (grid(module, id, Port::Operand(0)), grid(module, id, Port::Operand(1)));
    let weights = module.main().quant.baked(id, Port::Operand(1)).unwrap();
    let weights = module.data(weights).unwrap().to_i64().unwrap();
    let sum = |at: usize| -> i64 {
        let (row, column) = (at / 8, at % 8);
        let products = (0..8).map(|k| (codes[row * 8 + k] - i64::from(zero)) * weights[column * 8 + k]);
        products.sum()
    };
    ((0..128).map(sum).collect(), x * w)
}

/// AscendQuant.
fn quantized(module: &Module, name: &str, numbers: &[f32]) -> Vec<i64> {
    let (scale, zero) = grid(module, node(module, name), Port::Operand(0));
    let code = |x: &f32| (x * (1.0 / scale) + zero as f32).round_ties_even().clamp(-128.0, 127.0) as i64;
    numbers.iter().map(code).collect()
}

/// The sum in 16 bits, its scale, and the number of bits that were dropped.
fn total(module: &Module, sample: &[Tensor]) -> (Vec<i64>, f32) {
    let quant = &module.main().quant;
    let operand = quant.id(node(module, "t"), Port::Operand(0)).unwrap();
    let Some(Derivation::Shifted(_, bits)) = quant.derivation(operand) else {
        panic!("the sum is not shifted");
    };
    let [first, second] = [("g", 0), ("h", 1)].map(|(name, index)| {
        let numbers = sample[index].values::<f32>().unwrap();
        sums(module, name, &quantized(module, name, numbers))
    });
    assert_eq!(first.1.to_bits(), second.1.to_bits(), "both sums are on one grid");
    let short = |sum: &i64| (sum >> bits).clamp(-32_768, 32_767);
    let pairs = first.0.iter().zip(&second.0);
    let total = pairs.map(|(a, b)| (short(a) + short(b)).clamp(-32_768, 32_767));
    (total.collect(), first.1 * f32::from(bits).exp2())
}

fn found(made: &Integer, sample: &[Tensor]) -> Vec<f32> {
    let results = run(&made.module, made.module.main, sample, Isa::detect(), 1);
    results[0].values::<f32>().unwrap().to_vec()
}

#[test]
fn sums_of_16_bits_are_those_of_two_shifted_ones() {
    let float = model(READ_IN_FLOAT);
    let samples = samples(&float);
    let made = integer(&float, IN_16_BITS, &samples).unwrap();
    for sample in &samples.0 {
        let (total, scale) = total(&made.annotated, sample);
        let expect: Vec<f32> = total.iter().map(|&t| t as f32 * scale).collect();
        assert_eq!(found(&made, sample), expect);
    }
}

#[test]
fn codes_of_sums_of_16_bits_are_those_of_one_product_in_f32() {
    let float = model(READ_AS_CODES);
    let samples = samples(&float);
    let made = integer(&float, IN_16_BITS, &samples).unwrap();
    let (y, zero) = grid(&made.annotated, node(&made.annotated, "t"), Port::Result(0));
    for sample in &samples.0 {
        let (total, scale) = total(&made.annotated, sample);
        let factor = scale * (1.0 / y);
        let code = |t: &i64| ((*t as f32 * factor).round_ties_even() as i64 + i64::from(zero)).clamp(-128, 127);
        let codes: Vec<i64> = total.iter().map(code).collect();
        let (sums, scale) = sums(&made.annotated, "u", &codes);
        let expect: Vec<f32> = sums.iter().map(|&sum| sum as f32 * scale).collect();
        assert_eq!(found(&made, sample), expect);
    }
}

#[test]
fn sums_of_16_bits_are_as_near_to_float_as_sums_in_float() {
    for rest in [READ_IN_FLOAT, READ_AS_CODES] {
        let float = model(rest);
        let samples = samples(&float);
        let [in_float, in_16_bits] = ["ascend", IN_16_BITS].map(|target| {
            let made = integer(&float, target, &samples).unwrap();
            let (mut expect, mut all) = (Vec::new(), Vec::new());
            for sample in &samples.0 {
                let real = run(&float, float.main, sample, Isa::detect(), 1);
                expect.extend_from_slice(real[0].values::<f32>().unwrap());
                all.extend(found(&made, sample));
            }
            signal_to_noise(&expect, &all)
        });
        println!("{in_float:.1} dB in float, {in_16_bits:.1} dB in 16 bits");
        // The layer with the smaller scale gets the scale of the other's sums.
        assert!(in_16_bits > in_float - 3.0, "{in_float} {in_16_bits}");
    }
}
