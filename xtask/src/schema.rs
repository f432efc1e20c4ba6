//! `cargo xtask schema`: the Rust code that reads TFLite files, made of our schema by `planus`.
//!
//! `planus` writes code that reads and code that writes. A model is only read here, so all that writes is left out: nine
//! tenths of the code, and most of what is `unsafe` in it.

use crate::{Command, Outcome, Stop, process, workspace};
use std::path::PathBuf;
use std::{env, fs};

pub(crate) const COMMAND: Command = Command {
    name: "schema",
    summary: "make the code that reads TFLite files of its schema",
    help: HELP,
    run,
};

const HELP: &str = "
Makes crates/tflite/src/schema.rs of crates/tflite/tflite.fbs with `planus`, which cargo installs below the target folder
where it is not there yet.

Usage: cargo xtask schema [--check]

  --check   say whether the file is what the schema gives, and write nothing
";

/// The version of `planus-cli`, which is that of the crate `planus` in Cargo.toml.
const VERSION: &str = "1.3.0";

/// Tables that stand in vectors; for others no code is kept that reads a vector of them.
const IN_VECTORS: &[&str] = &["Buffer", "Nothing", "Operator", "OperatorCode", "SubGraph", "Tensor"];

const HEAD: &str =
    "//! Views of the tables of a TFLite file. `cargo xtask schema` makes this of tflite.fbs; edits here are lost.\n\n";

fn run(arguments: &[String]) -> Outcome {
    let is_check = match arguments {
        [] => false,
        [check] if check == "--check" => true,
        _ => return Err(Stop::Usage("only --check is known; see --help".into())),
    };
    let folder = workspace::root().join("crates").join("tflite");
    let made = workspace::target().join("schema.rs");
    let mut planus = std::process::Command::new(planus()?);
    // From its folder, since the path of the schema stands in what is made.
    planus
        .current_dir(&folder)
        .args(["rust", "tflite.fbs", "-o"])
        .arg(&made);
    process::run(&mut planus)?;
    let text = fs::read_to_string(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    let reading = HEAD.to_owned() + &reading_part(&text);
    fs::write(&made, reading).map_err(|error| format!("{}: {error}", made.display()))?;
    let mut format = std::process::Command::new("rustfmt");
    format
        .args(["--edition", "2024", "--config-path"])
        .arg(workspace::root())
        .arg(&made);
    process::run(&mut format)?;
    let text = fs::read_to_string(&made).map_err(|error| format!("{}: {error}", made.display()))?;
    let path = folder.join("src").join("schema.rs");
    if is_check {
        let there = fs::read_to_string(&path).unwrap_or_default();
        return match there == text {
            true => Ok(()),
            false => Err(format!("{} is not what the schema gives: cargo xtask schema", path.display()).into()),
        };
    }
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The program, which is installed where it is not there.
fn planus() -> Result<PathBuf, Stop> {
    let root = workspace::target().join("tools");
    let program = root.join("bin").join(format!("planus{}", env::consts::EXE_SUFFIX));
    if !process::exists(&program, &["--help"]) {
        let mut cargo = process::cargo();
        cargo
            .args(["install", "planus-cli", "--version", VERSION, "--locked", "--root"])
            .arg(&root);
        process::run(&mut cargo)?;
    }
    Ok(program)
}

/// The part of the generated code that reads.
fn reading_part(text: &str) -> String {
    let mut kept = String::new();
    let mut item: Vec<&str> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if !is_inside && line.starts_with(ITEM) && !line.starts_with(DEEPER) {
            is_inside = true;
        }
        if !is_inside {
            kept += line;
            kept.push('\n');
            continue;
        }
        item.push(line);
        let is_end = [CLOSE, ";", "}"].iter().any(|end| match *end {
            CLOSE => line == CLOSE,
            end => line.starts_with(ITEM) && !line.starts_with(DEEPER) && is_code(line) && line.ends_with(end),
        });
        if is_end {
            if is_read(&item) {
                for line in &item {
                    let line = line.replace(", ::serde::Serialize, ::serde::Deserialize", "");
                    kept += &line.replace("#[derive(Copy, Clone, Debug)]", "#[derive(Copy, Clone)]");
                    kept.push('\n');
                }
            }
            item.clear();
            is_inside = false;
        }
    }
    kept
}

/// The indentation of an item, and of what is in it.
const ITEM: &str = "        ";
const DEEPER: &str = "         ";
/// The end of an item.
const CLOSE: &str = "        }";

fn is_code(line: &str) -> bool {
    !["///", "#[", "#!"]
        .iter()
        .any(|start| line.trim_start().starts_with(start))
}

/// True for an item that is needed to read: enumerations of numbers, and the views of tables and unions.
fn is_read(item: &[&str]) -> bool {
    let is_number = item.iter().any(|line| line.trim_start().starts_with("#[repr("));
    let is_start = |line: &&&str| {
        ["pub ", "impl", "unsafe "]
            .iter()
            .any(|start| line.trim_start().starts_with(start))
    };
    let Some(header) = item.iter().find(is_start).map(|line| line.trim_start()) else {
        return false;
    };
    let is_root = header.starts_with("impl<'a> ::planus::ReadAsRoot<'a> for ModelRef");
    if (header.contains("ReadAsRoot") && !is_root) || header.contains("fmt::Debug") {
        return false;
    }
    if header.contains("Write") || header.contains("Builder") || header.contains("VectorReadUnion") {
        return false;
    }
    // What is made of a view: a table of one's own.
    if header.contains("TryFrom<") && header.contains("Ref<'a>>") {
        return false;
    }
    let start = |kind: &str| {
        header
            .strip_prefix(kind)
            .map(|rest| rest.split([' ', '<', '(']).next().unwrap_or_default())
    };
    if let Some(name) = start("pub struct ") {
        return name.ends_with("Ref");
    }
    if let Some(name) = start("pub enum ") {
        return is_number || name.ends_with("Ref");
    }
    if header.contains("VectorReadInner") {
        let table = header.split(" for ").nth(1).unwrap_or_default();
        let table = table.split("Ref<").next().unwrap_or_default();
        return IN_VECTORS.contains(&table.trim());
    }
    let is_view = header.contains("Ref<'a>");
    let reads_number =
        header.contains("TryFrom<i8>") || header.contains("TryFrom<i32>") || header.contains("TableRead<'buf>");
    is_view || reads_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_is_left_out() {
        let text = "mod root {
    pub mod t {
        /// A table.
        #[derive(Clone)]
        pub struct A {
            pub x: i32,
        }

        impl A {
            pub fn builder() {}
        }

        /// A view.
        #[derive(Copy, Clone)]
        pub struct ARef<'a>(Table<'a>);

        impl<'a> ARef<'a> {
            pub fn x(&self) {}
        }
    }
}
";
        let kept = reading_part(text);
        assert!(
            kept.contains("pub struct ARef<'a>") && kept.contains("impl<'a> ARef<'a>"),
            "{kept}"
        );
        assert!(!kept.contains("pub struct A {") && !kept.contains("builder"), "{kept}");
        assert!(kept.ends_with("    }\n}\n"), "{kept}");
    }
}
