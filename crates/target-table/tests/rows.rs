//! Tests of several rows for one op: a node uses the first row whose limits hold.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::op::{AveragePool, Conv};
use strait_core::{Elem, Op, TensorType};
use strait_target::spec::{Comparison, Effect, Integer, OpSite, Operand};
use strait_target::{Options, Table, TargetSpec};

const TABLE: &str = include_str!("../../cli/templates/target.toml");

/// The table of the template with two rows for average pools. `small` and `large` are further lines of these rows.
fn text(small: &str, large: &str) -> String {
    let pool = "[op.average_pool]\nrecipe     = \"average_pool_requantize\"\nrequantize = [\"scale31\"]";
    assert!(TABLE.contains(pool));
    let rows = format!(
        "[op.average_pool]\nrecipe = \"average_pool_divide\"\n{small}\n\n[op.average_pool_large]\nops = \
         [\"average_pool\"]\nrecipe = {{ average_pool_reciprocal = {{ bits = 16, rounding = \"half_up\" \
         }} }}\nrequantize = [\"scale31\"]\n{large}"
    );
    TABLE.replace("NAME", "vendor-npu").replacen(pool, &rows, 1)
}

fn spec(text: &str) -> TargetSpec {
    let table = Table::parse("t.toml", text).unwrap_or_else(|findings| panic!("{findings}"));
    table.spec(&Options::new()).unwrap()
}

/// The row that is used for an average pool with a window of this size, or the reason why there is none.
fn pool(spec: &TargetSpec, size: [u32; 2]) -> String {
    let op = Op::from(AveragePool {
        size: size.into_iter().collect(),
        stride: [1, 1].into_iter().collect(),
        pad: [0; 4].into_iter().collect(),
        dilation: [1, 1].into_iter().collect(),
        ceil: false,
        count_include_pad: false,
    });
    let (x, result) = (
        TensorType::fixed(Elem::F32, &[1, 8, 32, 32]),
        TensorType::fixed(Elem::F32, &[1, 8, 16, 16]),
    );
    let operands = [Some(Operand {
        ty: &x,
        constant: false,
    })];
    let site = OpSite {
        op: &op,
        operands: &operands,
        result: &result,
        weight_sum: None,
    };
    spec.place(&site, Integer::Int8.into(), None)
        .map_or_else(|reason| reason.to_string(), |(name, _)| name.to_owned())
}

#[test]
fn the_first_row_whose_limits_hold_takes_a_node_and_none_says_why_by_each() {
    let spec = spec(&text(
        "limit = { window = { max = 9 } }",
        "limit = { kernel = { max = 16 } }",
    ));
    assert_eq!(pool(&spec, [3, 3]), "average_pool");
    assert_eq!(pool(&spec, [3, 4]), "average_pool_large");
    assert_eq!(
        pool(&spec, [3, 17]),
        "op.average_pool: window of `average_pool` is 51; the target takes 9 and below; op.average_pool_large: kernel of \
         `average_pool` is 17; the target takes 16 and below [target-limit-window]"
    );
    let names = |spec: &TargetSpec| -> Vec<String> {
        let rows = spec.rows_for(strait_core::Term::AveragePool, Integer::Int8.into());
        rows.map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!(names(&spec), ["average_pool", "average_pool_large"]);
}

#[test]
fn rows_for_one_op_and_type_need_limits_and_agree_in_what_does_not_depend_on_them() {
    let said = |text: &str| Table::parse("t.toml", text).unwrap_err().to_string();
    let unlimited = said(&text("", "limit = { kernel = { max = 16 } }"));
    assert!(
        unlimited.contains("`average_pool` has a row already: `op.average_pool`"),
        "{unlimited}"
    );
    let limited = text("limit = { window = { max = 9 } }", "");
    let other = limited.replacen(
        "recipe = \"average_pool_divide\"\n",
        "recipe = \"average_pool_requantize\"\nrequantize = [\"scale31\"]\n",
        1,
    );
    let other = said(&other);
    assert!(
        other.contains("`average_pool` has the row `op.average_pool` for the same types, with another `recipe`"),
        "{other}"
    );
}

#[test]
fn a_product_of_quantities_has_a_limit() {
    let limit = "[op.conv.limit]\n\"kernel[0] * channels\" = { max = 64 }\n\"stride[1] * shape[3]\" = { max = 40 }\n";
    let spec = spec(
        &TABLE
            .replace("NAME", "vendor-npu")
            .replacen("[op.conv.limit]\n", limit, 1),
    );
    let conv = |kernel: [u64; 2], stride: u32| {
        let op = Op::from(Conv {
            stride: [1, stride].into_iter().collect(),
            ..Conv::plain(2)
        });
        let x = TensorType::fixed(Elem::F32, &[1, 16, 8, 20]);
        let weight = TensorType::fixed(Elem::F32, &[8, 16, kernel[0], kernel[1]]);
        let operands = [(&x, false), (&weight, true)].map(|(ty, constant)| Some(Operand { ty, constant }));
        let site = OpSite {
            op: &op,
            operands: &operands,
            result: &x,
            weight_sum: None,
        };
        spec.place(&site, Integer::Int8.into(), Some(Integer::Int8))
            .map_or_else(|reason| reason.text, |(name, _)| name.to_owned())
    };
    assert_eq!(conv([4, 9], 2), "conv");
    assert_eq!(
        conv([5, 1], 1),
        "kernel[0] * channels of `conv` is 80; the target takes 64 and below"
    );
    assert_eq!(
        conv([1, 1], 3),
        "stride[1] * shape[3] of `conv` is 60; the target takes 40 and below"
    );
    let word = |limited: &str| {
        let text = TABLE.replace("NAME", "vendor-npu").replacen(
            "[op.conv.limit]\n",
            &format!("[op.conv.limit]\n\"{limited}\" = {{ max = 64 }}\n"),
            1,
        );
        Table::parse("t.toml", text).unwrap_err().to_string()
    };
    assert!(word("kernel * grouping").contains("`grouping` is a word, and no factor of a product"));
    assert!(word("kernel * chanels").contains("`conv` has nothing called `chanels` to limit"));
    assert!(word("channels[1] * window").contains("`channels` of `conv` is one value, without positions"));
}

#[test]
fn two_versions_are_compared_row_by_row() {
    let small = "limit = { window = { max = 9 } }";
    let one = |large: &str| Table::parse("t.toml", text(small, large)).unwrap();
    let effects = |old: &Table, new: &Table| -> Vec<(String, Effect)> {
        let changes = Comparison::new(old, new).unwrap().changes;
        changes.into_iter().map(|change| (change.row, change.effect)).collect()
    };
    let old = one("limit = { kernel = { max = 16 } }");
    assert_eq!(
        effects(&old, &one("limit = { kernel = { max = 20 } }")),
        [("op.average_pool_large".to_owned(), Effect::AcceptsMore)]
    );
    let without = text(small, "limit = { kernel = { max = 16 } }");
    let (before, _) = without.split_once("[op.average_pool_large]").unwrap();
    let (_, behind) = without.split_once("[op.global_average_pool]").unwrap();
    let without = Table::parse("t.toml", format!("{before}[op.global_average_pool]{behind}")).unwrap();
    assert_eq!(
        effects(&without, &old),
        [("op.average_pool_large".to_owned(), Effect::AcceptsMore)]
    );
    assert_eq!(
        effects(&old, &without),
        [("op.average_pool_large".to_owned(), Effect::OtherBits)]
    );
}
