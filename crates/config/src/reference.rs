//! The reference page for configurations.

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

/// The sections of the page, in the order in which a configuration is usually written. (The schema has them in alphabetical
/// order.)
pub(super) const SECTIONS: [&str; 14] = [
    "model",
    "preprocess",
    "input",
    "target",
    "plugin",
    "trust",
    "calibration",
    "rewrite",
    "quantize",
    "optimize",
    "fusion",
    "evaluation",
    "gate",
    "output",
];

/// Lists of words that several keys share. Each list gets a section of its own on the page. An entry has one of these keys,
/// and the title of the section.
const LISTS: [(&str, &str); 12] = [
    ("quantize.activations.type", "Types"),
    ("quantize.activations.scale", "Scales"),
    ("calibration.observer", "Observers"),
    ("quantize.alignment.concat", "Alignments"),
    ("evaluation.metrics", "Metrics"),
    ("preprocess.steps[].resize.filter", "Filters"),
    ("preprocess.steps[].resize.like", "Libraries"),
    ("preprocess.steps[].crop.at", "Positions"),
    ("preprocess.stored.color", "Colour orders"),
    ("calibration.unreadable", "Words for unreadable images"),
    ("output.emit", "Formats"),
    ("output.target.NAME.inputs", "Types of inputs and outputs"),
];

/// The text of `docs/configuration.md`: every table and every key with its possible values, its default and its
/// meaning.
pub fn reference_page() -> String {
    let opening = format!("{OPENING}```toml\n{SMALLEST}```\n\n{INTRODUCTION}");
    let mut page = Page::new(&opening).explaining(Config::shape(), &LISTS);
    page.keys(Config::shape(), &SECTIONS);
    page.text()
}

const OPENING: &str = "\
# The configuration

<!-- Made from crates/config/src/types.rs by `cargo xtask bless`; edits here are lost. -->

One TOML file describes a deployment: the model, the targets, the samples, and where the result goes. These nine lines are a
complete configuration:

";

const INTRODUCTION: &str = r#"A key that is not listed on this page is an error. Paths are written with forward slashes on every system. A path in a file is relative
to the folder of that file, and a path on the command line is relative to the current folder.

On the command line, `--set KEY=VALUE` sets any key. The names of its tables are written before the key, and the value is written as in
TOML:

```
strait compile deploy.toml --set calibration.samples=64 --set 'calibration.observer="mse"'
```

Some keys also have a command-line option of their own: `--target` for `target.use`, `--model` for `model.file`, `--calibration` for `calibration.data`,
`--calibration-config` for `calibration.config`, and `--out` for `output.dir`.

The file in `calibration.config` and the options in `[target.options]` can contain settings of a vendor's own tool. Strait converts these
settings to rules. The rules of the file are applied first, then those of the options, and finally those of `[[quantize.rule]]`. If two
rules set the same key, the later one wins. A setting that cannot be expressed as a rule sets another key of the configuration, such as
`rewrite.do_fusion`, unless the configuration sets this key itself. `strait compile --rules` prints all rules in their order, and the
report of each compilation says what became of each rule.

A key whose value is the name of a layer or tensor also accepts a pattern. The parts of a name are separated by `/`:

| pattern | matches |
|---|---|
| `?` | one character other than `/` |
| `*` | any number of characters other than `/` |
| `**` | any number of characters |
| `**/` at the start of a part | any number of whole parts: `/a/**/b` matches `/a/b` and `/a/x/y/b` |

`strait config show deploy.toml` prints the value that each key has and where the value comes from: a line of the file, an option such as
`--set`, the target's table, the preset of `[optimize]`, or the default. Without a file, but with `--target ID`, it prints the defaults
for a target.

Editors that support JSON schemas can complete and check a configuration with the schema `strait-config-1.schema.json`, which is in the
same folder as this page.

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
    fn words_are_explained_once() {
        let page = reference_page();
        let mut seen = std::collections::BTreeSet::new();
        for line in page.lines().filter(|line| line.starts_with('|')) {
            for explained in line.trim_end_matches(" |").split("<br>`\"").skip(1) {
                assert!(seen.insert(explained.to_owned()), "{explained} is said twice");
            }
        }
        for (_, title) in LISTS {
            assert_eq!(page.matches(&format!("\n## {title}\n")).count(), 1, "{title}");
        }
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
