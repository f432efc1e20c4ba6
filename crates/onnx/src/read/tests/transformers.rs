//! Tests the transformer operators of ONNX Runtime: what is refused, and which weights keep their codes. Their results
//! are compared with those of ONNX Runtime elsewhere.

use super::make::*;
use super::operators::check_in;
use super::*;
use crate::proto::{AttributeProto, NodeProto, OperatorSetIdProto, TensorProto};
use strait_core::{Elem, TensorData};

fn own(op: &str, x: &str, constants: Vec<TensorProto>, attributes: Vec<AttributeProto>, expect: &str) {
    check_in("com.microsoft", 17, op, x, constants, attributes, expect);
}

/// Reads one node of ONNX Runtime, and returns the error.
fn refused(text: &str, inputs: &[&str], constants: Vec<TensorProto>, attributes: Vec<AttributeProto>) -> String {
    let mut node: NodeProto = node(text, attributes);
    node.domain = "com.microsoft".into();
    let mut model = model(17, graph(inputs, constants, vec![node], &["y"]));
    model.opset_import.push(OperatorSetIdProto {
        domain: "com.microsoft".into(),
        version: 1,
    });
    read(&model)
        .map(|_| String::new())
        .unwrap_or_else(|error| error.to_string())
}

fn whole(name: &str, elem: Elem, shape: &[u64], values: &[i64]) -> TensorProto {
    constant(name, &TensorData::from_integers(elem, shape, values).unwrap())
}

#[test]
#[rustfmt::skip] // tables
fn rotary_embedding() {
    let given = |width: u64| vec![whole("p", Elem::I64, &[1], &[2]), weight("c", &[8, width]), weight("s", &[8, width])];
    own("RotaryEmbedding", "f32[1,2,3,8]", given(4), vec![], "-> f32[1,2,3,8]");
    own("RotaryEmbedding", "f32[1,3,16]", given(4), vec![], "-> f32[1,3,16]");
    own("RotaryEmbedding", "f32[1,2,3,8]", given(4), vec![int("is_packed_batching", 1)], "`is_packed_batching` is 1");
    own("RotaryEmbedding", "f32[1,2,3,8]", given(2), vec![], "4 of 8 elements are turned; `rotary_embedding_dim` has to say so");
    own("RotaryEmbedding", "f32[1,2,3,8]", given(4), vec![int("num_heads", 2), int("rotary_embedding_dim", 4)], "angles for 8 elements of a head, and `rotary_embedding_dim` is 4");
    own("RotaryEmbedding", "f32[3,8]", given(4), vec![], "the operand has rank 2, 3 or 4 is needed");
}

#[test]
#[rustfmt::skip] // tables
fn multi_head_attention() {
    let kv = |width| vec![weight("k", &[1, 5, 8]), weight("v", &[1, 5, width])];
    let heads = |more: Vec<AttributeProto>| [vec![int("num_heads", 2)], more].concat();
    own("MultiHeadAttention", "f32[1,3,8]", kv(12), heads(vec![]), "-> f32[1,3,12]");
    own("MultiHeadAttention", "f32[1,3,8]", kv(8), vec![], "`num_heads` is 0; 1 or more is needed");
    own("MultiHeadAttention", "f32[1,3,8]", kv(8), vec![int("num_heads", 3)], "3 heads do not divide the 8 elements");
    own("MultiHeadAttention", "f32[1,3,2,3,4]", vec![], heads(vec![]), "packed in one operand");
    own("MultiHeadAttention", "f32[1,3,8]", kv(8), heads(vec![int("unidirectional", 1)]), "`unidirectional` with 3 queries and 5 new keys");
    let x = ["x: f32[1,3,8]", "m: i32[1,4]", "p: f32[1,2,4,4]"];
    let tell = |text: &str| refused(text, &x, kv(8), heads(vec![]));
    assert!(tell("y = MultiHeadAttention(x, k, v, , m)").contains("`key_padding_mask` has shape [1, 4]; [1], [1, 5]"));
    assert!(tell("y = MultiHeadAttention(x, k, v, , , , p)").contains("given together or not at all"));
    assert!(tell("y = MultiHeadAttention(x, k, v, , , , p, p)").contains("name these results, too"));
    assert!(tell("y = MultiHeadAttention(x, p, p, , , , p, p)").contains("a key of rank 4 has neither a bias nor a past"));
    assert!(tell("y = MultiHeadAttention(x, k, v, , , , , , m)").contains("`past_sequence_length` and `cache_indirection` are not read"));
}

#[test]
#[rustfmt::skip] // tables
fn group_query_attention() {
    let x = ["x: f32[1,1,16]", "k: f32[1,1,8]", "p: f32[1,1,6,8]", "n: i32[1]", "l: i64[1,1]"];
    let constants = || vec![whole("s", Elem::I32, &[1], &[6]), whole("t", Elem::I32, &[1], &[7]), whole("u", Elem::I32, &[1], &[9]), weight("c", &[8, 4])];
    let heads = || vec![int("num_heads", 2), int("kv_num_heads", 1)];
    let tell = |text: &str, more: Vec<AttributeProto>| refused(text, &x, constants(), [heads(), more].concat());
    let plain = "y = GroupQueryAttention(x, k, k, p, p, s, t)";
    assert_eq!(tell(plain, vec![]), "");
    assert_eq!(tell("y = GroupQueryAttention(x, k, k, p, p, n, t)", vec![]), "");
    for (text, more, expect) in [
        ("y = GroupQueryAttention(x, k, k, p, p, s, n)", vec![], "`total_sequence_length` is computed at run time; it has to be a constant, or to follow from extents"),
        ("y = GroupQueryAttention(x, k, k, p, p, s, u)", vec![], "`total_sequence_length` is 9 with 1 new keys and a past of 6"),
        ("y = GroupQueryAttention(x, k, k, p, p, u, t)", vec![], "`seqlens_k` is [9] with 7 keys in all"),
        ("y = GroupQueryAttention(x, k, k, p, , s, t)", vec![], "`past_key` and `past_value` are given together"),
        ("y = GroupQueryAttention(x, k, , p, p, s, t)", vec![], "`key` and `value` are given together"),
        ("y = GroupQueryAttention(x, k, k, p, p, s, t, c, c, l)", vec![], "its operand `position_ids` is not read; without it"),
        ("y = GroupQueryAttention(x, k, k, p, p, s, t, , , , , , c)", vec![], "its operand `k_scale` is not read"),
        (plain, vec![int("do_rotary", 1)], "`do_rotary` needs the operands `cos_cache` and `sin_cache`"),
        (plain, vec![int("local_window_size", 0)], "`local_window_size` is 0; −1, or 1 and more"),
        (plain, vec![int("sliding_window_cache", 1)], "`sliding_window_cache` is 1"),
        (plain, vec![int("qk_output", 1)], "`qk_output` is 1"),
        (plain, vec![text("k_quant_type", "PER_TENSOR")], "`k_quant_type` is PER_TENSOR; a cache of floats"),
    ] {
        let found = tell(text, more);
        assert!(found.contains(expect) && found.contains("com.microsoft.GroupQueryAttention"), "{text}\n{found}");
    }
    own("GroupQueryAttention", "f32[1,1,16]", vec![], vec![int("num_heads", 2)], "`kv_num_heads` is 0");
}

#[test]
#[rustfmt::skip] // tables
fn packed_weights() {
    let codes = |bytes: u64| whole("b", Elem::U8, &[2, 2, bytes], &vec![0x93; 4 * bytes as usize]);
    let scales = |values: &[f32]| constant("s", &TensorData::from_values(&[2, 2], values).unwrap());
    let of = |more: Vec<AttributeProto>| [vec![int("N", 2), int("K", 32), int("block_size", 16)], more].concat();
    let fine = [1.0, 2.0, 3.0, 0.0];
    let x = "f32[3,32]";
    own("MatMulNBits", x, vec![codes(8), scales(&fine)], of(vec![]), "-> f32[3,2]");
    own("MatMulNBits", x, vec![codes(16), scales(&fine)], of(vec![int("bits", 8)]), "-> f32[3,2]");
    own("MatMulNBits", x, vec![codes(8), scales(&fine)], of(vec![int("bits", 2)]), "`bits` is 2; 4 and 8 are read");
    own("MatMulNBits", x, vec![codes(9), scales(&fine)], of(vec![]), "u8 of shape [2, 2, 8] is needed");
    own("MatMulNBits", x, vec![codes(8), numbers("s", &[1.0])], of(vec![]), "1 scales; 4 are needed");
    own("MatMulNBits", x, vec![codes(8), scales(&fine), weight("z", &[2, 2]), whole("g", Elem::I32, &[32], &[0; 32])], of(vec![]), "its operand `g_idx` is not read");
    own("MatMulNBits", x, vec![codes(8), scales(&fine)], of(vec![int("weight_prepacked", 1)]), "`weight_prepacked` is 1");
    own("MatMulNBits", x, vec![codes(8), scales(&fine)], vec![int("N", 2), int("K", 32), int("block_size", 24)], "`block_size` is 24; a power of two from 16 on");
    own("MatMulNBits", x, vec![codes(8), scales(&fine)], vec![int("N", 2), int("block_size", 16)], "`K` is 0; an extent of 1 or more");
    let gather = |elem, more| refused("y = GatherBlockQuantized(d, x, s)", &["x: i64[3]"], vec![whole("d", elem, &[2, 32], &[3; 64]), scales(&fine)], more);
    let block = || int("block_size", 16);
    assert_eq!(gather(Elem::I4, vec![block()]), "");
    assert!(gather(Elem::U8, vec![block()]).contains("4 scales; 8 are needed"));
    assert!(gather(Elem::U8, vec![block(), int("bits", 8), int("gather_axis", 1)]).contains("gathered along axis 0 and has blocks along its last axis, not 1 and 1"));
    assert!(gather(Elem::I8, vec![block()]).contains("data of type i8 with 4 bits; int4 and uint4"));
}

/// The grids of all values of a graph with one MatMulNBits, as `TYPE axis block scales zeros`.
fn grids(scales: &[f32], zeros: Option<TensorProto>) -> Vec<String> {
    let bytes: Vec<i64> = (0..32).map(|byte| byte * 7 % 256).collect();
    let codes = whole("b", Elem::U8, &[2, 2, 8], &bytes);
    let scales = constant("s", &TensorData::from_values(&[2, 2], scales).unwrap());
    let attributes = vec![int("N", 2), int("K", 32), int("block_size", 16)];
    let given = if zeros.is_some() { "x, b, s, z" } else { "x, b, s" };
    let mut node = node(&format!("y = MatMulNBits({given})"), attributes);
    node.domain = "com.microsoft".into();
    let constants = [codes, scales].into_iter().chain(zeros).collect();
    let mut model = model(17, graph(&["x: f32[3,32]"], constants, vec![node], &["y"]));
    model.opset_import.push(OperatorSetIdProto {
        domain: "com.microsoft".into(),
        version: 1,
    });
    let module = read(&model).unwrap();
    let grids = module.main().values().filter_map(|(_, value)| value.quant.clone());
    let told = grids.map(|grid| {
        let (axis, block) = (grid.axis.unwrap_or(9), grid.block.map_or(0, std::num::NonZero::get));
        format!(
            "{:?} {axis} {block} {:?} {:?}",
            grid.codes,
            grid.scale.values(),
            grid.zero_point.values()
        )
    });
    told.collect()
}

#[test]
fn packed_weights_keep_their_codes() {
    // The weights are transposed, so the scales of a block of all rows are neighbours.
    assert_eq!(
        grids(&[1.0, 2.0, 3.0, 4.0], None),
        ["Some(U4) 0 16 [1.0, 3.0, 2.0, 4.0] [8]"]
    );
    let zeros = whole("z", Elem::U8, &[2, 1], &[0x21, 0x43]);
    assert_eq!(
        grids(&[1.0, 2.0, 3.0, 0.0], Some(zeros)),
        ["Some(U4) 0 16 [1.0, 3.0, 2.0, 1.0] [1, 3, 2, 4]"]
    );
    // Quantizers write negative scales, so that the largest number of a block has code 0.
    assert_eq!(
        grids(&[1.0, -2.0, 3.0, 4.0], None),
        ["Some(U4) 0 16 [1.0, 3.0, -2.0, 4.0] [8]"]
    );
    // A grid has no fraction as zero point.
    assert_eq!(grids(&[1.0; 4], Some(numbers("z", &[0.5; 4]))), [""; 0]);
}
