//! Makes `docs/target-table.md` from the types of a table. For every key, the page says which values it can have and
//! what it means.

use super::check::{DERIVED, Quantity, terms};
use super::{Recipe, TargetSpec};
use std::fmt::Write;
use strait_document::{Document as _, Page, nearest::list};

const OPENING: &str = "\
# The target table

<!-- Made from crates/target-table/src/spec by `cargo xtask bless`; edits here are lost. -->

The target table is a TOML file that describes what a target computes: which types and grids codes can have, how each op is
lowered to integers, which requantizations the target has, which of them are fused into which ops, and what runs on the host. A
table in a file is a complete target, which Strait's own kernels execute. The crate of a target can add kernels, and code for
what a table cannot express.

A key that is not listed on this page is an error, and so is a reference to a name that does not exist. The tables in `targets/`
are examples. Editors that support JSON schemas can complete and check a table with the schema `strait-target-2.schema.json`, which
is in the same folder as this page.

In all tables, a code q stands for the real number scale × (q − zero point).

";

/// The sections of the page, in the order in which a table is usually written.
const SECTIONS: [&str; 11] = [
    "reference",
    "silicon",
    "types",
    "accumulator",
    "quantize",
    "form",
    "op",
    "fusion",
    "fusion_default",
    "host",
    "options",
];

/// The text of the reference page.
pub fn reference_page() -> String {
    let mut page = Page::new(OPENING);
    page.keys(TargetSpec::shape(), &SECTIONS);
    let mut text = page.text();
    recipes(&mut text);
    quantities(&mut text);
    text
}

fn recipes(text: &mut String) {
    *text += "## Recipes and what they take\n\nA recipe lowers the ops in the column *lowers* to primitives. The column *leaves* names the primitives whose results the \
              recipe requantizes. A fusion row that fuses this requantization into such a primitive has the primitive among its `ops`. \
              The column *forms in* names the keys in which a row with this recipe has its forms.\n\n\
              | recipe | lowers | leaves | forms in |\n|---|---|---|---|\n";
    for recipe in Recipe::ALL {
        let forms = [
            ("requantize", recipe.narrows()),
            ("inputs", recipe.requantizes_inputs()),
        ];
        let forms = list(forms.into_iter().filter(|(_, taken)| *taken).map(|(key, _)| key));
        let _ = writeln!(
            text,
            "| `{recipe}` | {} | {} | {forms} |",
            list(recipe.lowers().into_iter().map(strait_core::Term::name)),
            list(recipe.leaves().iter().map(|term| term.name()))
        );
    }
    let _ = writeln!(text, "\nThe terms of ops: {}.", list(terms()));
}

fn quantities(text: &mut String) {
    *text += "\n## Limits of a row\n\nA row can limit the attributes of its op, by their names in the text form, and the quantities below. If an \
         attribute or a quantity has several values, the limit holds for each of them. For attributes that are lists, and for \
         quantities marked *by position*, a limit can also be for one of the values, counted from 0: `\"kernel[0]\" = { max = 7 }`. \
         (The list `pad` has the padding at the beginning of all axes, and then the padding at their end.) Products can be limited, \
         too: `\"kernel * channels\" = { max = 4096 }`, `\"stride[1] * shape[3]\" = { max = 1024 }`. If a factor has several values, the \
         limit holds for all products. If an op has several rows, they are tried in the order of their names.\n\n";
    for Quantity {
        name, meaning, by_axis, ..
    } in DERIVED
    {
        let mark = if *by_axis { ", *by position*" } else { "" };
        let _ = writeln!(text, "- `{name}`: {meaning}{mark}");
    }
}
