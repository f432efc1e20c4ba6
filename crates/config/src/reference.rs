//! The reference page of the configuration.

use super::types::Config;
use strait_document::{Document as _, Page};

/// The smallest complete configuration.
const SMALLEST: &str = r#"schema = 1
[model]
file = "model.onnx"
[target]
use = ["generic-int8"]
[calibration]
data = "calib.npy"
[output]
dir = "build/{target}"
"#;

/// In the order in which a configuration is written; the schema is in that of the alphabet.
const SECTIONS: [&str; 13] = [
    "model",
    "preprocess",
    "input",
    "target",
    "plugin",
    "trust",
    "calibration",
    "rewrite",
    "quantize",
    "fusion",
    "evaluation",
    "gate",
    "output",
];

/// `docs/configuration.md`: every table and key with what it takes, its default and its meaning.
pub fn reference_page() -> String {
    let mut page = Page::new(&format!("{OPENING}```toml\n{SMALLEST}```\n\n{INTRODUCTION}"));
    page.keys(Config::shape(), &SECTIONS);
    page.text()
}

const OPENING: &str = "\
# The configuration

<!-- Made from crates/config/src/types.rs by `cargo xtask bless`; edits here are lost. -->

A deployment is described by one TOML file. These nine lines are a complete one:

";

const INTRODUCTION: &str = r#"A key that is not listed here is an error. Paths have forward slashes on every system and are relative to the
file that they stand in; those given on the command line, to the current folder.

`--set KEY=VALUE` sets any key, with its tables before it and a value as in TOML:

```
strait compile deploy.toml --set calibration.samples=64 --set 'calibration.observer="mse"'
```

`--target`, `--model`, `--calibration`, `--calibration-config` and `--out` are short for `target.use`, `model.file`,
`calibration.data`, `calibration.config` and `output.dir`.

What `calibration.config` and `[target.options]` say in the words of a vendor's own tool becomes rules, in this order: those of
the file, those of the options, those of `[[quantize.rule]]`. The later one wins. What is no rule becomes another key, such as
`rewrite.do_fusion`, where the configuration does not give that itself. `strait compile --rules` shows all of them, and each
compilation reports what became of each rule.

Where names of layers or tensors are asked for, a pattern may stand. The parts of a name are separated by `/`:

| pattern | matches |
|---|---|
| `?` | one character other than `/` |
| `*` | any number of characters other than `/` |
| `**` | any number of characters |
| `**/` at the start of a part | any number of whole parts: `/a/**/b` matches `/a/b` and `/a/x/y/b` |

Editors that know JSON schemas complete and check the file with `strait-config-1.schema.json` beside this page.

"#;

#[cfg(test)]
mod tests {
    use super::*;
    use strait_document::Shape;

    #[test]
    fn the_smallest_configuration_is_complete() {
        crate::parse("smallest.toml", SMALLEST.to_owned(), "".as_ref(), &[]).unwrap();
        assert_eq!(SMALLEST.lines().count(), 9);
    }

    #[test]
    fn every_section_exists() {
        let Shape::Table(keys) = Config::shape() else {
            panic!("the configuration is a table")
        };
        let mut listed: Vec<&str> = SECTIONS.into_iter().chain(["schema"]).collect();
        listed.sort_unstable();
        assert_eq!(listed, keys.keys().map(String::as_str).collect::<Vec<_>>());
    }
}
