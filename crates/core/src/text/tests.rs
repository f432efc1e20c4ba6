use super::*;
use crate::verifier::verify;

/// A module with everything that the text form can express, spelled as it is printed.
const EVERYTHING: &str = r#"strait 1 integer main=@main~1
graph @main(%x: f32[N,3,8,8]) stage=float {
  %"/relu:0": f32[N,3,8,8] = relu(%x) name="/relu" sources=["/relu","/bn"]
  %x~1: f32[N,3,8,8] = clip(%"/relu:0") {min=-inf, max=6.0}
  return %x~1, %x
}
graph @main~1(%x: i8[1,4,3,3] scale=0.0078125 zero=-3) {
  %c: i32[1,2,1,1] scale=[0.5,0.25] zero=0 axis=1 = conv(%x, @w, _) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=-3}
  %q: i8[1,2,1,1] scale=0.1 zero=3 = requantize(%c) {form={arith_folded shift=[7,6] rounding=half_even out=i8}, axis=1}
  %g: i8[1,2,1,1] = conv(%x, @w~1, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} fused={gemmlowp multiplier=[1,2147483647] exponent=[-7,3] zp=-1 out=i8} clamp=[-1,127]
  %h: i64[1,2,1,1] scale=0.5 zero=0 = conv(%x, @w~1) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0, accumulator=i64}
  %a: i8[1,1,1,1], %b: i8[1,1,1,1] = split(%g) {axis=1, sizes=[1,1]} name="split"
  %f: f32[1,1,1,1] = dequantize(%a)
  %s: f32[1,1,1,1] = softmax(%f) {axis=-1} host=["softmax-float","there is no \"integer\" softmax"]
  () = call @"a graph"(%s) name="nothing"
  return %s, @w
}
graph @"a graph"(%x: f32[1,1,1,1]) stage=export {
  %y: f32["batch size",3] = foreign(%x) {domain=vendor, name="Op 1", x.scale=nan(0x7fc00001), x.empty=f32[], x.none=[], "x.two words"=[1.0,-2.5e-8], x.table=@b, x.other=@data, x.word="inf", x.big=1e20, x.steps={steps thresholds=[-5,0,7] lengths=[2,1] lowest=0 out=u8}}
  return
}
data @w: i8[2,4,3,3] scale=[0.5,0.25] zero=0 axis=0 = splat -7
data @w~1: i8[2,4,3,3] = same @w
data @b: i32[2] = inline [-5,2147483647]
data @data: f32[4] = inline [0.1,-0.0,inf,nan(0x7fc00000)]
"#;

#[test]
fn whatever_can_be_said_reads_and_prints_as_itself() {
    let module = parse(EVERYTHING).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), EVERYTHING);
    assert_eq!(module.main.index(), 1);
    assert_eq!(module.graphs[0].stage(), crate::Stage::Float);
    // A constant with `same` shares the tensor in the pool.
    assert_eq!(module.pool().len(), 3);
}

#[test]
fn spaces_comments_and_clause_order_do_not_matter() {
    let text =
        "strait 1 float;c\ngraph@g(%x:f32[2])\n{%y : f32 [ 2 ]=relu( %x )sources=[b,\"a\"] name = n ; end\nreturn %y}";
    let printed = print(&parse(text).unwrap(), &PrintOptions::default());
    let expect = "strait 1 float\ngraph @g(%x: f32[2]) {\n  %y: f32[2] = relu(%x) name=\"n\" sources=[\"b\",\"a\"]\n  return %y\n}\n";
    assert_eq!(printed, expect);
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    let graph = |body: &str| format!("strait 1 float\ngraph @g(%x: f32[2]) {{\n{body}\n}}\n");
    let cases = [
        (
            String::new(),
            "1:1: expected `strait 1` and a stage, found the end of the text",
        ),
        (
            "strait 2 float".into(),
            "1:8: expected version `1`, the only one there is, found `2`",
        ),
        (
            "strait 1 fast".into(),
            "1:10: expected a stage: float, annotated, integer, export, found `fast`",
        ),
        (
            "strait 1 float".into(),
            "1:15: expected a graph, found the end of the text",
        ),
        (
            "strait 1 float main=@m graph @g() {return}".into(),
            "1:21: `@m` is not defined as a graph",
        ),
        (
            "strait 1 float\ngraph @g(%x: f33[2])".into(),
            "2:14: expected an element type: f32, f16, f64, i8, u8, i16, i32, i64, bool, u16, i4, u4, bf16, u32, u64, found `f33`",
        ),
        (
            "strait 1 float\ngraph @g(%x: f32[-2])".into(),
            "2:18: expected an extent, found `-2`",
        ),
        (graph("return %y"), "3:8: `%y` is not defined above"),
        (
            graph("%y: f32[2] = relux(%x)\nreturn %y"),
            "3:14: there is no op `relux`",
        ),
        (
            graph("%y: f32[2] = elu(%x) {alpha=1}\nreturn %y"),
            "3:14: elu: attribute `alpha` cannot be 1; a float is expected",
        ),
        (
            graph("%y: f32[2] = elu(%x) {beta=1.0}\nreturn %y"),
            "3:14: elu has no attribute `beta`; it has alpha",
        ),
        (
            graph("%y: f32[2] = elu(%x)\nreturn %y"),
            "3:14: elu: attribute `alpha` is missing",
        ),
        (
            graph("%y: f32[2] = elu(%x) {alpha=1.0, alpha=1.0}\nreturn %y"),
            "3:14: attribute `alpha` is given twice",
        ),
        (
            graph("%x: f32[2] = relu(%x)\nreturn %x"),
            "3:1: `x` is defined twice; write `x~1` for a second one",
        ),
        (
            graph("%x~2: f32[2] = relu(%x)\nreturn %x"),
            "3:1: `x~2` is out of order: the things of one name are numbered from 0 without a gap",
        ),
        (
            graph("%y: f32[2] = relu(%x, @w)\nreturn %x"),
            "3:23: `@w` is not defined as a constant",
        ),
        (graph("%y: f32[2] = relu(%x"), "4:1: expected `,`, found `}`"),
        (
            graph("%y: f32[2] = call(%x)\nreturn %y"),
            "3:18: expected a graph of the module, `@name`, found `(`",
        ),
        (
            graph("() = call @g(%x)\nreturn %x"),
            "3:1: expected `name=` of a node without results, found none",
        ),
        (
            graph("return _"),
            "4:1: expected a value or a constant in front of this, found `}`",
        ),
        (
            graph("return \"x"),
            "3:8: expected a string that ends, found the end of the text",
        ),
        (
            graph("return !"),
            "3:8: expected a word, a name, a number or a mark, found '!'",
        ),
        (
            graph("return %x") + "data @w: i8[2] = inline [1,128]",
            "5:28: expected an element of i8, found `128`",
        ),
        (
            graph("return %x") + "data @w: i8[2] = inline [1]",
            "5:6: a tensor of i8 [2] takes 2 bytes, but there are 1",
        ),
        (
            graph("return %x") + "data @w: i8[N] = splat 1",
            "5:6: expected the fixed extents of a tensor, found N",
        ),
        (
            graph("return %x") + "data @w: i8[1000000,1000000] = splat 1",
            "5:6: the size of all splat and random tensors is past the limit of 268435456",
        ),
        (
            graph("return %x") + "data @w: i8[2] = blob 3",
            "5:6: blob 3 is not there; a text with blobs is read beside its container",
        ),
        (
            graph("return %x") + "data @w: i8[2] = same @v",
            "5:23: `@v` is not defined above as a constant",
        ),
        (
            graph(
                "%y: i8[2] = requantize(%x) {form={arith_folded shift=300 rounding=floor out=i8}, axis=0}\nreturn %y",
            ),
            "3:34: arith_folded: attribute `shift` cannot be 300; an integer in 0..=255, or a list with one per channel, is expected",
        ),
        (
            graph(
                "%y: i8[2] = requantize(%x) {form={steps thresholds=[1,2] lengths=[3] lowest=0 out=i8}, axis=0}\nreturn %y",
            ),
            "3:34: steps: attribute `lengths` cannot be [3]; lengths that add up to the 2 thresholds are expected",
        ),
    ];
    for (text, expect) in cases {
        let error = parse(&text).map(drop).unwrap_err();
        assert_eq!(error.to_string(), expect, "in {text}");
    }
}

#[test]
fn no_truncation_or_changed_character_makes_the_reader_panic() {
    for cut in 0..EVERYTHING.len() {
        if EVERYTHING.is_char_boundary(cut) {
            parse(&EVERYTHING[..cut]).ok();
        }
    }
    for (at, old) in EVERYTHING.char_indices() {
        for new in ['"', '9', '-', '{', ']', 'x', '~', '\u{0}', 'é'] {
            let changed = format!("{}{new}{}", &EVERYTHING[..at], &EVERYTHING[at + old.len_utf8()..]);
            if let Ok(module) = parse(&changed) {
                // Every module that can be read can be verified and printed, and the printed text can be read.
                verify(&module).ok();
                let printed = print(&module, &PrintOptions::whole());
                assert_eq!(print(&parse(&printed).unwrap(), &PrintOptions::whole()), printed);
            }
        }
    }
}

#[test]
fn large_tensors_are_blobs_that_read_beside_their_container() {
    let head = "strait 1 float\ngraph @g(%x: f32[100]) {\n  %y: f32[100] = add(%x, @w)\n  return %y\n}\n";
    let module = parse(&format!("{head}data @w: f32[100] = random 7\n")).unwrap();
    assert_eq!(
        print(&module, &PrintOptions::default()),
        format!("{head}data @w: f32[100] = blob 0\n")
    );
    let digest = |bytes: &[u8]| format!("{} bytes", bytes.len());
    let options = PrintOptions {
        digest: Some(&digest),
        ..PrintOptions::default()
    };
    let printed = print(&module, &options);
    assert_eq!(
        printed,
        format!("{head}data @w: f32[100] = blob 0 blake3=\"400 bytes\"\n")
    );
    let again = parse_beside(&printed, module.pool()).unwrap();
    assert_eq!(again.pool(), module.pool());
    let empty: &[TensorData] = &[];
    assert!(matches!(
        parse_beside(&printed, empty).map(drop).unwrap_err().fault,
        TextFault::Blob(0)
    ));
}

#[test]
fn every_element_type_keeps_its_bits() {
    for elem in crate::Elem::ALL {
        // The elements are 37 random bit patterns, after two elements that are NaN if the type is a float.
        let noise = random::random(crate::Elem::U8, 37 * elem.size(), 11);
        let mut all_nan = vec![0xff; 2 * elem.size()];
        all_nan.extend(noise);
        all_nan.truncate(elem.packed_bytes(39).unwrap() as usize);
        if elem.is_packed() {
            all_nan[19] &= 15;
        }
        let tensor = TensorData::new(elem, &[39], all_nan.into()).unwrap();
        let mut module = parse(&format!(
            "strait 1 export\ngraph @g(%x: f32[1]) {{ return @w }} data @w: {elem}[39] = splat 0"
        ))
        .unwrap();
        let id = module.add_data(tensor.clone());
        let name = module.names.intern("n");
        let value = module.main_mut().add_data(name, tensor.tensor_type(), None, id);
        module.main_mut().add_output(value);
        let again = parse(&print(&module, &PrintOptions::default())).unwrap();
        assert_eq!(again.pool()[1], tensor);
    }
}

#[test]
fn json_and_dot_show_the_same_names_and_attributes() {
    let module = parse(EVERYTHING).unwrap();
    let json = to_json(&module);
    assert_eq!(json["main"], "@main~1");
    let node = &json["graphs"][1]["nodes"][2];
    assert_eq!(node["op"], "conv");
    assert_eq!(node["operands"], serde_json::json!(["%x", "@w~1", "@b"]));
    assert_eq!(node["attributes"]["stride"], serde_json::json!([1, 1]));
    assert_eq!(node["fused"]["gemmlowp"]["exponent"], serde_json::json!([-7, 3]));
    assert_eq!(json["graphs"][0]["nodes"][1]["attributes"]["min"], "-inf");
    // The scale is written as 0.1, and not as the f64 that equals the f32.
    assert_eq!(json["graphs"][1]["nodes"][1]["results"][0]["scale"], 0.1);
    assert_eq!(
        json["data"][0],
        serde_json::json!({"name": "@w", "elem": "i8", "shape": [2, 4, 3, 3], "scale": [0.5, 0.25], "zero": 0, "axis": 0, "blob": 0, "bytes": 72})
    );
    let dot = to_dot(&module);
    for part in [
        "label=\"@\\\"a graph\\\"\"",
        "groups=1",
        "style=dashed",
        "i8[1,4,3,3]",
        "fused gemmlowp",
    ] {
        assert!(dot.contains(part), "{part} is not in {dot}");
    }
    assert_eq!(
        dot.matches('{').count() - dot.matches("={").count(),
        dot.matches("\n  }\n").count() + 1
    );
}

/// A convolution with a residual tensor inside its accumulator.
const RESIDUAL: &str = r#"strait 1 integer
graph @g(%x: i8[1,1,2,2] scale=0.5 zero=0, %r: i8[1,2,2,2] scale=0.25 zero=3) {
  %y: i8[1,2,2,2] scale=0.5 zero=0 = conv(%x, @w, _, %r) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} fused={arith_folded shift=7 rounding=half_up out=i8} clamp=[0,127] addend=[3,{fixed sc=[5,4] add=0 zp=0 shift=1 rounding=half_up out=i32}]
  return %y
}
data @w: i8[2,1,1,1] = splat 3
"#;

#[test]
fn an_addend_is_an_operand_behind_those_of_the_op() {
    let module = parse(RESIDUAL).unwrap();
    assert_eq!(print(&module, &PrintOptions::default()), RESIDUAL);
    verify(&module).unwrap();
    let encoded = crate::bytes::encode(&module).unwrap();
    let read = crate::bytes::decode(&encoded.ir, &|index| Some(encoded.tensors.get(index)?.bytes().clone())).unwrap();
    assert_eq!(print(&read, &PrintOptions::default()), RESIDUAL);
    let node = module.main().nodes().next().unwrap().1;
    assert_eq!((node.inputs.len(), node.own_inputs().len()), (4, 3));
    assert_eq!(node.addend().map(|(addend, _)| addend.zero), Some(3));
    let refused = |from: &str, to: &str| {
        let text = RESIDUAL.replace(from, to);
        assert_ne!(text, RESIDUAL);
        let found = parse(&text).map_err(|error| error.to_string());
        found
            .and_then(|module| verify(&module).map_err(|found| found.to_string()))
            .unwrap_err()
    };
    assert!(refused(", _, %r)", ")").contains("the operand that is added is absent"));
    assert!(refused("addend=[3,", "addend=[300,").contains("with its zero at 300 is not added to"));
    assert!(refused("%r: i8[1,2,2,2]", "%r: i8[1,2,1,1]").contains("is not added to"));
    assert!(refused("rounding=half_up out=i32", "rounding=half_up out=i8").contains("is not added to"));
    assert!(refused("sc=[5,4]", "sc=[5,4,3]").contains("3 channels are fused on axis 1 of extent 2"));
    assert!(
        refused(
            "fused={arith_folded shift=7 rounding=half_up out=i8} clamp=[0,127] ",
            ""
        )
        .contains("`addend=`")
    );
}
