//! Makes `docs/target-table.md` from the types of a table. For every key, the page says which values it can have and
//! what it means.

use super::check::{DERIVED, Quantity, terms};
use super::{Recipe, TargetSpec};
use std::fmt::Write;
use strait_document::{Document as _, Page, nearest::list};

const OPENING: &str = "\
# The target table

<!-- Made from crates/target-table/src/spec by `cargo xtask bless`; edits here are lost. -->

One TOML file says what a target computes: which integers stand for which values, how each op becomes integers, which
requantizations there are, which of them are fused into what, and what runs on the host. A table in a file is a whole target,
and the host's kernels compute it; a target crate adds kernels, and code for what a table cannot say.

A key that is not listed here is an error, and so is a name that does not exist. The tables in `targets/` are examples. Editors
that know JSON schemas complete and check a table with `strait-target-2.schema.json` beside this page.

Scale sense everywhere: real = scale × (q − zero point).

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
    *text += "## Recipes and what they take\n\nWhat a recipe *leaves* are the primitives that end in a requantization of its own: a fusion row that \
              takes the requantization over names them among its `ops`.\n\n\
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
    *text += "\n## Limits of a row\n\nThe attributes of the op, by their names in the text form, and these quantities. A limit holds for \
         each value where there are several. Attributes that are lists, and quantities marked *by position*, take the \
         limit of one value, too: `\"kernel[0]\" = { max = 7 }`, counted from 0; a `pad` has all begins, then all ends. A product of \
         numbers has a limit, too: `\"kernel * channels\" = { max = 4096 }`, `\"stride[1] * shape[3]\" = { max = 1024 }`, of all values \
         where there are several. Several rows of one op are tried in the order of their names.\n\n";
    for Quantity {
        name, meaning, by_axis, ..
    } in DERIVED
    {
        let mark = if *by_axis { ", *by position*" } else { "" };
        let _ = writeln!(text, "- `{name}`: {meaning}{mark}");
    }
}
