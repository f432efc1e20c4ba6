//! Checks the memory layout of the interface: it stays as promised, and the C header declares the same.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use strait_plugin_interface::{
    Attribute, Emit, Form, Host, Layout, Node, Open, Operand, OptionEntry, Plugin, TABLE_SCHEMA, Tensor, Tile,
    for_each_struct, received,
};

/// A listing of all structs and fields with their sizes and offsets in this crate.
fn layout() -> String {
    let mut text = String::new();
    macro_rules! each {
        ($($name:ident)*) => { $({
            writeln!(text, "{} {}", $name::NAME, size_of::<$name>()).unwrap();
            for (field, offset) in $name::FIELDS {
                // `type` is a keyword in Rust, so the field has another name here.
                let field = if *field == "element" { "type" } else { field };
                writeln!(text, "  {field} {offset}").unwrap();
            }
        })* };
    }
    for_each_struct!(each);
    text
}

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_layout_is_that_of_the_promise() {
    // New fields may only be added at the end of a struct. Existing fields never move.
    strait_testkit::is_current("crates/plugin-interface/tests/layout.txt", &layout());
}

/// The compiler with this name. If it is not installed, prints that the test is skipped.
fn compiler(name: &str) -> Option<Command> {
    let found = Command::new(name)
        .arg("--version")
        .output()
        .is_ok_and(|out| out.status.success());
    if !found {
        println!("skipped: no `{name}` on this machine");
    }
    found.then(|| {
        let mut command = Command::new(name);
        command
            .args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-I"])
            .arg(file("../../include"));
        command
    })
}

#[test]
fn the_header_compiles_without_a_warning_and_says_the_same_layout_in_both_languages() {
    for (name, standard, extension) in [("cc", "-std=c11", "c"), ("c++", "-std=c++17", "cpp")] {
        let Some(mut compiler) = compiler(name) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (
            folder.path().join(format!("layout.{extension}")),
            folder.path().join("layout"),
        );
        let mut text = String::from("#include \"strait_plugin.h\"\n#include <stdio.h>\nint main(void) {\n");
        macro_rules! each {
            ($($name:ident)*) => { $({
                let name = $name::NAME;
                writeln!(text, "printf(\"{name} %d\\n\", (int)sizeof({name}));").unwrap();
                for (field, _) in $name::FIELDS {
                    let field = if *field == "element" { "type" } else { field };
                    writeln!(text, "printf(\"  {field} %d\\n\", (int)offsetof({name}, {field}));").unwrap();
                }
            })* };
        }
        for_each_struct!(each);
        text.push_str("return 0;\n}\n");
        std::fs::write(&source, text).unwrap();
        let built = compiler
            .arg(standard)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let out = Command::new(&program).output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), layout(), "{name}");
    }
}

#[test]
fn the_constants_of_the_header_are_those_of_the_crate() {
    let header = std::fs::read_to_string(file("../../include/strait_plugin.h")).unwrap();
    let source = std::fs::read_to_string(file("src/lib.rs")).unwrap();
    let mut seen = 0;
    for line in source.lines().map(str::trim) {
        let constant = line
            .strip_prefix("pub const ")
            .map(|rest| (rest, ';'))
            .or(Some((line, ',')));
        let Some((name, value)) = constant.and_then(|(rest, end)| {
            let (name, value) = rest.strip_suffix(end)?.split_once(" = ")?;
            let name = name.split(':').next()?;
            let number = value.parse::<u32>().is_ok() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            number.then_some((name, value))
        }) else {
            continue;
        };
        if name == "ALIGNMENT" {
            continue;
        }
        seen += 1;
        let defined = format!("#define STRAIT_{name} {value}\n");
        assert!(header.contains(&defined), "{defined}");
    }
    assert_eq!(seen, 41);
}

#[test]
fn a_field_that_is_cut_is_absent() {
    unsafe extern "C" fn close(_: *mut std::ffi::c_void) {}
    let end = |name: &str| {
        let at = Plugin::FIELDS.iter().position(|&(field, _)| field == name).unwrap();
        Plugin::FIELDS.get(at + 1).map_or(size_of::<Plugin>(), |&(_, at)| at)
    };
    for size in 4..=size_of::<Plugin>() {
        let cut = Plugin {
            struct_size: size as u32,
            table_schema: TABLE_SCHEMA,
            close: Some(close),
            ..Plugin::EMPTY
        };
        // SAFETY: `cut` is a whole `Plugin`, whatever size it states.
        let found = unsafe { received(&cut) }.unwrap();
        assert!(Plugin::FIELDS.iter().any(|&(_, at)| at == found.struct_size as usize) || size == size_of::<Plugin>());
        assert_eq!(
            found.table_schema == TABLE_SCHEMA,
            size >= end("table_schema"),
            "{size}"
        );
        assert_eq!(found.close.is_some(), size >= end("close"), "{size}");
    }
}

#[test]
fn what_a_smaller_struct_does_not_have_is_absent_and_nothing_behind_it_is_read() {
    unsafe extern "C" fn close(_: *mut std::ffi::c_void) {}
    let whole = Plugin {
        close: Some(close),
        table_schema: TABLE_SCHEMA,
        ..Plugin::EMPTY
    };
    // A struct of an older plugin, which ends after `table_schema`.
    let old = Plugin {
        struct_size: 16,
        ..whole
    };
    // SAFETY: both values are whole structs.
    let (old, new) = unsafe { (received(&old).unwrap(), received(&whole).unwrap()) };
    assert_eq!(
        (old.struct_size, old.table_schema, old.close.is_some()),
        (16, TABLE_SCHEMA, false)
    );
    assert_eq!(
        (new.struct_size as usize, new.close.is_some()),
        (size_of::<Plugin>(), true)
    );
    // A struct of a newer plugin with more fields. The unknown fields are ignored.
    let later = [
        whole,
        Plugin {
            struct_size: 0,
            ..whole
        },
    ];
    let mut later = later;
    later[0].struct_size = 2 * whole.struct_size;
    // SAFETY: the array has as many bytes as the stated size.
    let later = unsafe { received(later.as_ptr()) }.unwrap();
    assert_eq!(later.struct_size, whole.struct_size);
    let broken = Plugin {
        struct_size: 3,
        ..whole
    };
    // SAFETY: the first pointer leads to a stated size, and the second one is null, which is allowed.
    assert!(unsafe { received(&broken) }.is_none() && unsafe { received::<Plugin>(std::ptr::null()) }.is_none());
}
