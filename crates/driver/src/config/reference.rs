//! The reference page of the configuration, made from the same shapes as the check.

use std::{collections::BTreeMap, fmt::Write as _};

use super::schema::{self, Key, Shape};

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
const SECTIONS: [&str; 10] = [
    "model",
    "preprocess",
    "input",
    "target",
    "calibration",
    "quantize",
    "fusion",
    "evaluation",
    "gate",
    "output",
];

/// `docs/configuration.md`: every table and key with what it takes, its default and its meaning.
pub fn reference_page() -> String {
    let mut page = Page {
        text: String::new(),
        sections: Vec::new(),
    };
    page.text.push_str("# The configuration\n\n");
    page.text.push_str(
        "<!-- Made from crates/driver/src/config/types.rs by `cargo xtask bless`; edits here are lost. -->\n\n",
    );
    page.text
        .push_str("A deployment is described by one TOML file. These nine lines are a complete one:\n\n");
    let _ = write!(page.text, "```toml\n{SMALLEST}```\n\n");
    page.text.push_str(INTRODUCTION);

    let Shape::Table(keys) = schema::shape() else {
        return page.text;
    };
    let unlisted = keys.keys().map(String::as_str).filter(|name| !SECTIONS.contains(name));
    let (tables, plain): (Vec<&str>, Vec<&str>) = SECTIONS
        .into_iter()
        .chain(unlisted)
        .partition(|name| keys.get(*name).is_some_and(|key| has_section(&key.shape)));
    page.text.push_str("## Outside of any table\n\n");
    let plain: BTreeMap<String, Key> = plain
        .iter()
        .filter_map(|name| Some((name.to_string(), keys.get(*name)?.clone())))
        .collect();
    page.table(&plain, "");
    for name in tables {
        if let Some(key) = keys.get(name) {
            page.section(name, key);
        }
    }
    page.text
}

const INTRODUCTION: &str = r#"A key that is not listed here is an error. Paths have forward slashes on every system and are relative to the
file that they stand in; those given on the command line, to the current folder.

`--set KEY=VALUE` sets any key, with its tables before it and a value as in TOML:

```
strait compile deploy.toml --set calibration.samples=64 --set 'calibration.observer="mse"'
```

`--target`, `--model`, `--calibration` and `--out` are short for `target.use`, `model.file`, `calibration.data` and
`output.dir`.

Where names of layers or tensors are asked for, a pattern may stand. The parts of a name are separated by `/`:

| pattern | matches |
|---|---|
| `?` | one character other than `/` |
| `*` | any number of characters other than `/` |
| `**` | any number of characters |
| `**/` at the start of a part | any number of whole parts: `/a/**/b` matches `/a/b` and `/a/x/y/b` |

Editors that know JSON schemas complete and check the file with `strait-config-1.schema.json` beside this page.

"#;

struct Page {
    text: String,
    /// The tables described so far: a shape that comes again refers to its first heading.
    sections: Vec<(Shape, String)>,
}

/// A section that is still to be written.
struct Pending<'a> {
    heading: String,
    path: String,
    keys: &'a BTreeMap<String, Key>,
    doc: &'a str,
}

/// Whether a key at the top is a table with a section of its own.
fn has_section(shape: &Shape) -> bool {
    matches!(shape, Shape::Table(_) | Shape::Map(_))
}

impl Page {
    fn section(&mut self, name: &str, key: &Key) {
        let (heading, path, shape) = match &key.shape {
            Shape::Map(inner) => (format!("[{name}.NAME]"), format!("{name}.NAME"), &**inner),
            shape => (format!("[{name}]"), name.to_owned(), shape),
        };
        let Shape::Table(keys) = shape else { return };
        self.sections.push((shape.clone(), heading.clone()));
        self.write(Pending {
            heading,
            path,
            keys,
            doc: &key.doc,
        });
    }

    fn write(&mut self, section: Pending<'_>) {
        let _ = write!(self.text, "## `{}`\n\n{}\n\n", section.heading, section.doc);
        for further in self.table(section.keys, &section.path) {
            self.write(further);
        }
    }

    /// The keys of one table, and the sections that follow from it: its lists of tables.
    fn table<'a>(&mut self, keys: &'a BTreeMap<String, Key>, path: &str) -> Vec<Pending<'a>> {
        self.text
            .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
        let mut further = Vec::new();
        self.rows(keys, "", path, &mut further);
        self.text.push('\n');
        further
    }

    /// Inner tables are rows too, their keys behind a dot.
    fn rows<'a>(&mut self, keys: &'a BTreeMap<String, Key>, prefix: &str, path: &str, further: &mut Vec<Pending<'a>>) {
        for (name, key) in keys {
            let name = format!("{prefix}{name}{}", named(&key.shape));
            let known = self.sections.iter().find(|(shape, _)| *shape == key.shape);
            let value = known.map_or_else(|| value(&key.shape), |(_, heading)| format!("as `{heading}`"));
            let cells = [format!("`{name}`"), value, default(key), meaning(key)];
            let cells: Vec<String> = cells
                .iter()
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .collect();
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
            match &key.shape {
                Shape::Table(inner) if known.is_none() => self.rows(inner, &format!("{name}."), path, further),
                Shape::List { items, doc, .. } => {
                    let (heading, keys) = match &**items {
                        Shape::Table(keys) => (format!("[[{path}.{name}]]"), keys),
                        Shape::OneKey(keys) => (format!("{path}.{name} = [{{ ... }}]"), keys),
                        _ => continue,
                    };
                    further.push(Pending {
                        heading,
                        path: format!("{path}.{name}"),
                        keys,
                        doc,
                    });
                }
                _ => {}
            }
        }
    }
}

/// A part of the key for each name that the user gives.
fn named(shape: &Shape) -> String {
    match shape {
        Shape::Map(inner) => format!(".NAME{}", named(inner)),
        _ => String::new(),
    }
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Map(inner) => value(inner),
        Shape::Word(words) => {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
            words.join(" or ")
        }
        Shape::List { items, .. } if matches!(**items, Shape::OneKey(_) | Shape::Table(_)) => {
            "a list of tables".to_owned()
        }
        shape => shape.expectation(),
    }
}

fn default(key: &Key) -> String {
    match &key.default {
        _ if key.required => "required".to_owned(),
        // Strings, numbers, booleans and lists of them read the same in TOML.
        Some(default) => format!("`{default}`"),
        None => String::new(),
    }
}

fn meaning(key: &Key) -> String {
    let words = match &key.shape {
        Shape::Word(words) => words.as_slice(),
        Shape::List { items, .. } => match &**items {
            Shape::Word(words) => words.as_slice(),
            _ => &[],
        },
        _ => &[],
    };
    let explained = words.iter().filter(|(_, doc)| !doc.is_empty());
    explained.fold(key.doc.clone(), |mut text, (word, doc)| {
        let _ = write!(text, "<br>`\"{word}\"`: {doc}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_configuration_is_complete() {
        super::super::parse("smallest.toml", SMALLEST.to_owned(), "".as_ref(), &[]).unwrap();
        assert_eq!(SMALLEST.lines().count(), 9);
    }

    #[test]
    fn every_section_exists() {
        let Shape::Table(keys) = schema::shape() else {
            panic!("the configuration is a table")
        };
        let mut listed: Vec<&str> = SECTIONS.into_iter().chain(["schema"]).collect();
        listed.sort_unstable();
        assert_eq!(listed, keys.keys().map(String::as_str).collect::<Vec<_>>());
    }
}
