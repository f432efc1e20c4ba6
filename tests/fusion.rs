//! Tests random graphs after fusing. With `exact` they have the bits of the lowered graph; with a bound, each value
//! differs by no more than its certificate says. The verifier finds nothing wrong.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt::Write;
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_core::verifier::verify;
use strait_core::{Elem, GraphId, Module, Placement};
use strait_execute::{Tensor, TensorView, reference};
use strait_lower::{Fusion, FusionPolicy};
use strait_tests::integer::findings;
use strait_tests::passes::target;

struct Maker {
    random: SplitMix64,
    nodes: String,
    outputs: Vec<String>,
}

impl Maker {
    fn below(&mut self, count: u64) -> u64 {
        (self.random.next_u64() >> 8) % count
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    /// A requantization with a shift of at most `shift`, to i8 or i32, with parameters per channel if asked for.
    fn form(&mut self, shift: u64, channels: bool, out: &str) -> String {
        let rounding = self.one_of(&["half_even", "half_up", "floor"]);
        let each = |maker: &mut Maker, low: u64, high: u64| {
            let value = low + maker.below(high - low);
            if channels {
                format!("[{value},{}]", low + maker.below(high - low))
            } else {
                value.to_string()
            }
        };
        match self.below(5) {
            0 => format!(
                "arith_folded shift={} rounding={rounding} out={out}",
                each(self, shift, shift + 3)
            ),
            1 => {
                let (sc, zp) = (each(self, 1 << 14, 1 << 15), each(self, 0, 1 << 19));
                format!(
                    "fractional_zero sc={sc} zp={zp} shift={} rounding={rounding} out={out}",
                    shift + 14
                )
            }
            2 => {
                let sc = each(self, 1 << 30, (1 << 31) - 1);
                format!(
                    "tf_lite sc={sc} zp=3 shift={} rounding={rounding} out={out}",
                    shift + 31
                )
            }
            3 => format!(
                "tf_lite sc=1073741824 zp=0 shift={} rounding={rounding} out={out}",
                shift + 30
            ),
            _ => {
                let (multiplier, exponent) = (each(self, 1 << 30, (1 << 31) - 1), -(shift as i64));
                let exponent = if channels {
                    format!("[{exponent},{exponent}]")
                } else {
                    exponent.to_string()
                };
                format!("gemmlowp multiplier={multiplier} exponent={exponent} zp=-2 out={out}")
            }
        }
    }

    /// A producer, perhaps a clamp, a requantization, perhaps a second one, perhaps another clamp, and perhaps a second
    /// reader.
    fn site(&mut self, index: usize) {
        let window = "size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0";
        let kernel = "stride=[1,1], pad=[1,1,0,0], dilation=[1,1], groups=1, pad_value=-4";
        let producers = [
            (format!("conv(%x, @w, @b) {{{kernel}}}"), 8, true),
            (format!("conv(%x, @w) {{{kernel}}}"), 7, true),
            ("add(%i, %i)".into(), 3, false),
            ("sub(%i, %x_wide)".into(), 2, false),
            ("mul(%x, %x) {a_zero=-4, b_zero=2}".into(), 7, false),
            (format!("max_pool(%i) {{{window}}}"), 1, true),
            (format!("sum_pool(%x) {{{window}, pad_value=0}}"), 2, true),
            ("lookup(%x, @table)".into(), 8, false),
            (
                "quantize(%f) {to=i16, rounding=half_even, reciprocal=0}".into(),
                6,
                false,
            ),
        ];
        let (producer, shift, may_channels) = producers[self.below(producers.len() as u64) as usize].clone();
        let pooled = producer.contains("_pool");
        let dims = if pooled { "[1,2,3,2]" } else { "[1,2,4,3]" };
        let wide = if producer.starts_with("quantize") { "i16" } else { "i32" };
        let channels = may_channels && self.below(2) == 0;
        let _ = writeln!(self.nodes, "  %a{index}: {wide}{dims} scale=0.0625 zero=0 = {producer}");
        // After a pool, an operand may pick the channels by position.
        let picks = |maker: &mut Maker, form: &str| match form.contains('[') && producer.starts_with("sum_pool") {
            true => maker.one_of(&["", ", @rows", ", @positions"]).to_owned(),
            false => String::new(),
        };
        let mut at = format!("a{index}");
        if self.below(4) == 0 && wide == "i32" {
            let _ = writeln!(
                self.nodes,
                "  %b{index}: i32{dims} scale=0.0625 zero=0 = clamp(%{at}) {{min=0, max=900}}"
            );
            at = format!("b{index}");
        }
        if self.below(5) == 0 && wide == "i32" {
            // 8 and 16 bits saturate, which the fused node has to do as well.
            let between = self.one_of(&["i32", "i16", "i8"]);
            let shift = self.below(2);
            let form = self.form(shift, channels, between);
            let picks = picks(self, &form);
            let requantize = format!("requantize(%{at}{picks}) {{form={{{form}}}, axis=1}}");
            let _ = writeln!(
                self.nodes,
                "  %c{index}: {between}{dims} scale=0.0625 zero=0 = {requantize}"
            );
            at = format!("c{index}");
        }
        let form = match wide {
            // 4.0 is 64 times 0.0625.
            "i16" => format!(
                "arith_folded shift=6 rounding={} out=i8",
                self.one_of(&["half_even", "floor"])
            ),
            _ => self.form(shift, channels, "i8"),
        };
        let readers = if self.below(4) == 0 { 2 } else { 1 };
        for reader in 0..readers {
            let picks = picks(self, &form);
            let requantize = format!("requantize(%{at}{picks}) {{form={{{form}}}, axis=1}}");
            let _ = writeln!(
                self.nodes,
                "  %q{index}_{reader}: i8{dims} scale=4.0 zero=0 = {requantize}"
            );
            let mut last = format!("q{index}_{reader}");
            if self.below(3) == 0 {
                let _ = writeln!(
                    self.nodes,
                    "  %r{index}_{reader}: i8{dims} scale=4.0 zero=0 = clamp(%{last}) {{min=-9, max=70}}"
                );
                last = format!("r{index}_{reader}");
            }
            self.outputs.push(last);
        }
    }
}

/// A lowered graph of several such sites side by side.
fn graph(seed: u64) -> String {
    let mut maker = Maker {
        random: SplitMix64::new(seed),
        nodes: String::new(),
        outputs: Vec::new(),
    };
    (0..5).for_each(|index| maker.site(index));
    let form = maker.form(1, false, "i8");
    let outputs: Vec<String> = maker.outputs.iter().map(|name| format!("%{name}")).collect();
    format!(
        "strait 1 integer
graph @lowered(%x: i8[1,2,4,3] scale=1.0 zero=-4, %f: f32[1,2,4,3]) {{
  %i: i32[1,2,4,3] scale=0.25 zero=0 = shift_left(%x) {{zero=-4, bits=2}}
  %x_wide: i32[1,2,4,3] scale=1.0 zero=0 = shift_left(%x) {{zero=0, bits=0}}
{}  %k: i8[2] scale=1.0 zero=0 = requantize(@constant) {{form={{{form}}}, axis=0}}
  return {}, %k
}}
data @w: i8[2,2,2,2] = random {seed}
data @b: i32[2] = inline [700,-333]
data @rows: i32[3,1] = inline [1,0,1]
data @positions: i32[1,1,3,2] = inline [0,1,1,0,1,1]
data @table: i32[256] = random {}
data @constant: i32[2] = inline [100,-77]",
        maker.nodes,
        outputs.join(", "),
        seed + 1
    )
}

/// The module with a fused copy of its graph as the main one.
fn fused(text: &str, on: &str, policy: FusionPolicy) -> (Module, Fusion) {
    let mut module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let target = target(on).unwrap();
    let mut copy = module.main().clone();
    copy.name = module.names.fresh("main");
    module.graphs.push(copy);
    module.main = GraphId::new(module.graphs.len() - 1);
    let main = module.main;
    let fusion = strait_lower::fuse(&mut module, main, target.as_ref(), policy).unwrap();
    verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (module, fusion)
}

fn inputs(seed: u64) -> [Tensor; 2] {
    let mut random = SplitMix64::new(seed);
    let codes: Vec<i8> = (0..24).map(|_| (random.next_u64() >> 32) as i8).collect();
    let floats: Vec<f32> = (0..24)
        .map(|_| ((random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0) * 700.0)
        .collect();
    [
        Tensor::from_values(&[1, 2, 4, 3], &codes).unwrap(),
        Tensor::from_values(&[1, 2, 4, 3], &floats).unwrap(),
    ]
}

/// The integers of every value in a graph, by name.
fn values(module: &Module, graph: GraphId, inputs: &[Tensor]) -> (Vec<Tensor>, BTreeMap<String, Vec<i64>>) {
    let g = module.graph(graph).unwrap();
    let mut all = BTreeMap::new();
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    let mut observe = |id, tensor: TensorView<'_>| {
        if tensor.elem() != Elem::F32 {
            let codes = tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
            all.insert(module.name(g.value(id).unwrap().name).to_owned(), codes);
        }
    };
    let outputs = reference::run(module, graph, &views, &mut observe).unwrap();
    (outputs, all)
}

const TARGETS: [&str; 4] = ["sima", "generic-int8", "ascend", "filetests/tables/every-form.toml"];

#[test]
fn exact_fusions_change_no_bit_and_bounded_ones_no_more_than_they_say() {
    let (mut exact, mut bounded, mut composed) = (0, 0, 0);
    for seed in 0..60 {
        let text = graph(seed);
        let lowered = parse(&text).unwrap();
        let samples = [inputs(2 * seed), inputs(2 * seed + 1)];
        let expected = samples.each_ref().map(|inputs| values(&lowered, lowered.main, inputs));
        for on in TARGETS {
            for policy in [FusionPolicy::Exact, FusionPolicy::Bounded(1), FusionPolicy::Any] {
                let (module, fusion) = fused(&text, on, policy);
                let case = format!("seed {seed} on {on} under {policy:?}\n{text}");
                // Verifying takes as long as everything else, so it is only done for some.
                if seed % 3 == 0 {
                    assert_eq!(findings(&module, &fusion).unwrap(), [], "{case}");
                }
                for (inputs, (before, expect)) in samples.iter().zip(&expected) {
                    let (after, found) = values(&module, module.main, inputs);
                    for fired in &fusion.fired {
                        let bound = fired.certificate.worst().max_lsb();
                        // A constant that was requantized is no longer computed.
                        let (Some(a), Some(b)) = (expect.get(&fired.value), found.get(&fired.value)) else {
                            continue;
                        };
                        let off = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
                        assert!(off <= bound.into(), "{}: {off}, not {bound}: {case}", fired.value);
                        exact += usize::from(bound == 0);
                        bounded += usize::from(bound > 0);
                        let steps = fired.certificate.before.iter().filter(|step| !step.form.is_identity());
                        composed += usize::from(steps.count() > 1);
                    }
                    if policy == FusionPolicy::Exact {
                        for (before, after) in before.iter().zip(&after) {
                            assert!(before.view().bytes() == after.view().bytes(), "{case}");
                        }
                    }
                }
            }
        }
    }
    assert!(
        exact > 400 && bounded > 20 && composed > 20,
        "{exact} exact, {bounded} bounded and {composed} composed fusions in all graphs"
    );
}

/// Published passes add two terms for the zero point of a fused quantization, the first zero point at the new scale and
/// the offset, and truncate each of them by itself.
#[test]
fn the_zero_point_of_a_fused_quantization_is_not_cut_off_twice() {
    let mut random = SplitMix64::new(1);
    let mut below = |count: u64| (random.next_u64() >> 8) as i64 % count as i64;
    let (mut text, mut expected, mut truncated) = (String::new(), Vec::new(), 0);
    for index in 0..300 {
        let (factor, before, after) = ((1 << 14) + below(1 << 14), below(256) - 128, below(200) - 100);
        // An 8-bit zero point, multiplied by a factor from 2^-9 to 1, and what is missing to the zero point of the
        // result.
        let shift = 15 + below(9);
        let offset = (after << shift) - before * factor;
        truncated += usize::from((before * factor) / (1 << shift) + offset / (1 << shift) != after);
        let form = format!("fractional_zero sc={factor} zp={offset} shift={shift} rounding=half_even out=i8");
        let scale = f64::from(1u32 << (shift - 1)) as f32 / factor as f32;
        let _ = writeln!(
            text,
            "  %a{index}: i8[1] scale=0.5 zero={before} = quantize(%x) {{to=i8, rounding=half_even, reciprocal=0}}\n  \
             %q{index}: i8[1] scale={scale:?} zero={after} = requantize(%a{index}) {{form={{{form}}}, axis=0}}"
        );
        expected.push((format!("q{index}"), after));
    }
    let outputs: Vec<String> = expected.iter().map(|(name, _)| format!("%{name}")).collect();
    let text = format!(
        "strait 1 integer\ngraph @main(%x: f32[1]) {{\n{text}  return {}\n}}\n",
        outputs.join(", ")
    );
    let (module, fusion) = fused(&text, "sima", FusionPolicy::Any);
    assert_eq!(fusion.fired.len(), expected.len());
    // At real zero, a fused quantization outputs its zero point.
    let zero = Tensor::from_values(&[1], &[0f32]).unwrap();
    let (_, found) = values(&module, module.main, &[zero]);
    for (name, after) in expected {
        assert_eq!(found[&name], [after], "{name}");
    }
    assert!((100..180).contains(&truncated), "{truncated} of 300 would be wrong");
}

/// Values of the called graph and of the calling graph may have the same names.
#[test]
fn what_is_fused_in_a_called_graph_is_held_against_what_the_lowered_graph_calls() {
    let gemm = "{transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}";
    let narrowed = "{form={arith_folded shift=4 rounding=half_even out=i8}, axis=1}";
    let text = format!(
        "strait 1 integer main=@lowered
graph @called(%x: i8[1,2] scale=1.0 zero=0) stage=integer {{
  %a: i32[1,2] scale=1.0 zero=0 = gemm(%x, @w) {gemm}
  %q: i8[1,2] scale=16.0 zero=0 = requantize(%a) {narrowed}
  return %q
}}
graph @lowered(%x: i8[1,2] scale=1.0 zero=0) stage=integer {{
  %y: i8[1,2] scale=16.0 zero=0 = call @called(%x)
  %a: i32[1,2] scale=16.0 zero=0 = gemm(%y, @w) {gemm}
  %q: i8[1,2] scale=256.0 zero=0 = requantize(%a) {narrowed}
  return %q
}}
data @w: i8[2,2] = inline [1,2,3,4]"
    );
    let (module, fusion) = fused(&text, "sima", FusionPolicy::Exact);
    assert_eq!((fusion.fired.len(), fusion.refused.len()), (2, 0));
    assert_eq!(findings(&module, &fusion).unwrap(), []);
    for graph in [module.main.index(), module.graphs.len() - 1] {
        let mut other = module.clone();
        let graph = &mut other.graphs[graph];
        let (id, node) = graph.nodes().find(|(_, node)| node.fused.is_some()).unwrap();
        let mut step = node.fused.as_deref().unwrap().clone();
        step.clamp = Some([0, 1]);
        graph.set_fused(id, Some(step), Placement::Accelerator);
        assert!(!findings(&other, &fusion).unwrap().is_empty());
    }
}
