//! Creates a new Rust project in an empty folder, builds it, and runs the kit on it.

use crate::build::repository;
use crate::command::{done as strait, text};
use crate::outside::{Compiler, done, tree};
use std::process::Command;

#[test]
fn a_new_crate_is_built_without_warnings_as_a_program_and_a_library_that_pass_the_kit() {
    let folder = tempfile::tempdir().unwrap();
    let (project, out) = (folder.path().join("my-npu"), folder.path().join("out"));
    std::fs::create_dir(&out).unwrap();
    let arguments = ["plugin", "new", "my-npu", "--lang", "rust", "--folder", text(&project)];
    let root = repository("");
    strait(&[&arguments[..], &["--strait", text(&root)]].concat());
    // The members of the workspace, and the Strait crates that each depends on.
    let tree = tree(&project);
    for part in [
        "my-npu-target v0.1.0",
        "my-npu-library v0.1.0",
        "my-npu-strait v0.1.0",
        "strait-plugin-sdk v",
        "strait-cli v",
    ] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    let compiler = Compiler {
        source: &project,
        version: "0.1.0",
        out: &out,
    };
    let strict = ["-D".to_owned(), "warnings".to_owned()];
    compiler.run("lib", "my_npu_target", "src/lib.rs", &["strait_plugin_sdk"], &strict);
    let target = out.join("libmy_npu_target.rlib");
    let target = [
        &strict[..],
        &["--extern".to_owned(), format!("my_npu_target={}", target.display())],
    ]
    .concat();
    compiler.run(
        "cdylib",
        "my_npu",
        "library/src/lib.rs",
        &["strait_plugin_sdk"],
        &target,
    );
    compiler.run("bin", "my_npu_strait", "program/src/main.rs", &["strait_cli"], &target);
    // The project's own test runs the kit on its program.
    let program = out.join("my_npu_strait");
    done(
        Command::new("rustc")
            .args(["--edition", "2024", "--test", "-D", "warnings", "-o"])
            .arg(out.join("kit"))
            .arg(project.join("program/tests/kit.rs"))
            .env("CARGO_BIN_EXE_my-npu-strait", &program),
    );
    let tested = done(&mut Command::new(out.join("kit")));
    assert!(tested.contains("1 passed"), "{tested}");
    let library = out.join("libmy_npu.so");
    let known = done(Command::new(&program).args(["plugin", "check"]).arg(&library));
    assert!(
        known.contains("my-npu 0.1.0") && known.contains(", 0 failed, "),
        "{known}"
    );
}
