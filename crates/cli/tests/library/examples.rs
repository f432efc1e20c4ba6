//! Tests of the vendor examples. Each example is a workspace of its own and is built from outside of Strait's
//! workspace, as a vendor would build it. The same target, written in three ways, has to give the same bytes.

use crate::build::{load, repository, workshop};
use crate::outside::{Compiler, built, done, tree};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use strait_container::{Artifact, Integrity};
use strait_driver::session::{Session, Silent};
use strait_driver::{config, pipeline};
use strait_kernels::Context;
use strait_plugin_host::register;
use strait_requantize::{IntType, Requantization};
use strait_target::{Options, Registry, Target};

/// Builds the Rust example, both the program and the library. It calls the compiler the way cargo would, with the
/// Strait crates that the tests have already built, because building them again takes minutes. The manifests are
/// checked with cargo separately.
fn rust(folder: &Path) -> (PathBuf, PathBuf) {
    let example = folder.join("rust-manifests");
    let (source, root) = (
        repository("examples/vendor-rust"),
        repository("").canonicalize().unwrap(),
    );
    let manifests = ["", "chip/", "library/", "program/"];
    for manifest in manifests.map(|folder| format!("{folder}Cargo.toml")) {
        let text = std::fs::read_to_string(source.join(&manifest)).unwrap();
        let to = example.join(manifest);
        std::fs::create_dir_all(to.parent().unwrap().join("src")).unwrap();
        std::fs::write(
            to,
            text.replace("../../crates", &root.join("crates").display().to_string()),
        )
        .unwrap();
    }
    for file in ["chip/src/lib.rs", "library/src/lib.rs", "program/src/main.rs"] {
        std::fs::copy(source.join(file), example.join(file)).unwrap();
    }
    let tree = tree(&example);
    assert!(
        tree.contains("strait-plugin-sdk v") && tree.contains("strait-cli v"),
        "{tree}"
    );

    let chip = folder.join("libacme_edge_target.rlib");
    let chip = ["--extern".to_owned(), format!("acme_edge_target={}", chip.display())];
    let compiler = Compiler {
        source: &source,
        version: "1.2.0",
        out: folder,
    };
    compiler.run(
        "lib",
        "acme_edge_target",
        "chip/src/lib.rs",
        &["strait_plugin_sdk"],
        &[],
    );
    compiler.run(
        "cdylib",
        "acme_edge",
        "library/src/lib.rs",
        &["strait_plugin_sdk"],
        &chip,
    );
    compiler.run("bin", "acme_strait", "program/src/main.rs", &["strait_cli"], &chip);
    (folder.join("acme_strait"), folder.join("libacme_edge.so"))
}

/// Builds the C example.
fn c(folder: &Path) -> PathBuf {
    let out = folder.join("built");
    done(
        Command::new("make")
            .arg("-C")
            .arg(repository("examples/vendor-c"))
            .arg(format!("OUT={}", out.display())),
    );
    out.join("libacme_edge.so")
}

/// Writes a configuration that compiles the digits model for the example's target.
fn configuration(folder: &Path, name: &str, lines: &str) -> PathBuf {
    let digits = repository("models/digits").canonicalize().unwrap();
    let digits = digits.display();
    let text = format!(
        "schema = 1\n[model]\nfile = '{digits}/digits.onnx'\nbind = {{ N = 1 }}\n\
         [preprocess]\nstored = {{ layout = \"NHWC\" }}\nsteps = [{{ scale = 0.0625 }}, {{ layout = \"NCHW\" }}]\n\
         [calibration]\ndata = '{digits}/calib_x.npy'\nsamples = 20\ncache = 'cache'\n\
         [output]\ndir = '{name}'\n[target]\nuse = [\"acme-edge\"]\n{lines}"
    );
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// Compiles for the target in a registry; returns the artifact's folder.
fn compile(registry: Registry, folder: &Path, name: &str, lines: &str) -> PathBuf {
    let loaded = config::load(&configuration(folder, name, lines), &[]).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    pipeline::compile(&loaded, registry, &session).unwrap();
    folder.join(name)
}

/// A registry that contains only the target of a library.
fn plugged(library: &Path) -> Registry {
    let mut registry = Registry::default();
    register(&mut registry, Arc::new(load(library, None).unwrap())).unwrap();
    registry
}

const OPTIONS: &str = "[target.options.acme-edge]\nfields = false\nweights = 1000\n";

#[test]
fn one_target_as_a_table_in_a_program_and_in_libraries_gives_the_same_bytes() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let (program, rust) = rust(folder);
    let known = done(Command::new(&program).args(["targets", "acme-edge"]));
    assert!(known.contains("acme-edge 1.2.0"), "{known}");

    // A target without code cannot emit a package. Without the line `emit`, the table describes the same target.
    let table = std::fs::read_to_string(repository("examples/vendor-rust/chip/target.toml")).unwrap();
    let (before, rest) = table.split_once("emit ").unwrap();
    let alone = format!("{before}{}", rest.split_once('\n').unwrap().1);
    std::fs::write(folder.join("acme-edge.toml"), alone).unwrap();
    let mut as_table = Registry::default();
    as_table.add_file(&folder.join("acme-edge.toml")).unwrap();

    let static_one = configuration(folder, "program", "");
    done(Command::new(&program).arg("compile").arg(static_one));
    let c = c(folder);
    let ways = [
        compile(as_table, folder, "table", ""),
        folder.join("program"),
        named(folder, "rust", &rust, ""),
        named(folder, "c", &c, ""),
    ];
    let of = |way: &Path, file: &str| std::fs::read(way.join(file)).unwrap();
    let model = of(&ways[0], "model.strait");
    for way in &ways[1..] {
        assert!(of(way, "model.strait") == model, "{}", way.display());
    }
    // The program and both libraries write the same files. One file is a listing of the compiled model.
    let listing = String::from_utf8(of(&ways[1], "edge.txt")).unwrap();
    for part in ["quantize ", "\nconv ", " sc ", "\n  out i8 ", " @0+"] {
        assert!(listing.contains(part), "{listing}");
    }
    assert!(
        !listing.contains('?') && of(&ways[1], "edge.bin").len() > 1000,
        "{listing}"
    );
    for way in &ways[2..] {
        for file in ["edge.txt", "edge.bin"] {
            assert!(of(way, file) == of(&ways[1], file), "{}: {file}", way.display());
        }
    }
    // The libraries compute each layer's requantization with their own code.
    let artifact = Artifact::open(&ways[0]).unwrap().model(Integrity::Full).unwrap();
    let nodes = artifact.module.main().nodes();
    let forms: Vec<_> = nodes
        .filter_map(|(_, node)| Some(node.fused.as_ref()?.requant.clone()))
        .collect();
    assert!(forms.iter().any(|form| form.channels().is_some()) && forms.len() > 5);
    for library in [&rust, &c] {
        let registry = plugged(library);
        let target = registry.get("acme-edge", &Options::new()).unwrap();
        forms.iter().for_each(|form| held(library, target.as_ref(), form));
    }
    // The kit finds nothing wrong with the libraries.
    for library in [&rust, &c] {
        let known = done(
            Command::new(env!("CARGO_BIN_EXE_strait"))
                .args(["plugin", "check"])
                .arg(library),
        );
        assert!(known.contains(", 0 failed, "), "{known}");
    }
    let known = done(Command::new(&program).args(["plugin", "check", "acme-edge"]));
    assert!(
        known.contains("acme-edge 1.2.0") && known.contains(", 0 failed, "),
        "{known}"
    );
    // Only the target's code reads these options. One of them makes the code refuse layers.
    let program_of = configuration(folder, "short-program", OPTIONS);
    done(Command::new(&program).arg("compile").arg(program_of));
    let ways = [
        folder.join("short-program"),
        named(folder, "short-rust", &rust, OPTIONS),
        named(folder, "short-c", &c, OPTIONS),
    ];
    let report = String::from_utf8(of(&ways[0], "report.json")).unwrap();
    assert!(
        report.contains("\"acme-weights\"") && report.contains(" weights are more than the 1000 for which"),
        "{report}"
    );
    for way in &ways {
        let listing = String::from_utf8(of(way, "edge.txt")).unwrap();
        assert!(!listing.contains(" sc "), "{}: {listing}", way.display());
        for file in ["model.strait", "edge.txt", "edge.bin"] {
            assert!(of(way, file) == of(&ways[0], file), "{}: {file}", way.display());
        }
    }
    assert!(of(&ways[0], "model.strait") != model);
}

/// Compiles with a configuration that names a library; returns the artifact's folder.
fn named(folder: &Path, name: &str, library: &Path, lines: &str) -> PathBuf {
    let plugin = format!(
        "{lines}[[plugin]]\npath = '{}'\n[trust]\nunpinned = \"allow\"\n",
        library.display()
    );
    let file = configuration(folder, name, &plugin);
    done(Command::new(env!("CARGO_BIN_EXE_strait")).arg("compile").arg(file));
    folder.join(name)
}

/// Compares the library's own arithmetic with a form, for accumulators around zero, at the ends of their type, and
/// spread over the whole type.
fn held(library: &Path, target: &dyn Target, form: &Requantization) {
    let spread = (0..4096).map(|i: i64| (i * 1_048_573 - (1 << 31)) as i32);
    let ends = [i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX];
    let sums: Vec<i32> = (-2048..2048).chain(spread).chain(ends).collect();
    let own = target.own_loops(form, None).unwrap().unwrap();
    let channels = form.channels().unwrap_or(1);
    let each = (0..channels).flat_map(|_| &sums);
    let input: Vec<u8> = each.flat_map(|x| x.to_ne_bytes()).collect();
    let mut codes = vec![0; channels * sums.len()];
    let extents = [1, channels, sums.len()];
    own.requantize(&Context::detect(), extents, IntType::I32, &input, &mut codes)
        .unwrap();
    for (at, code) in codes.into_iter().enumerate() {
        let (channel, x) = (at / sums.len(), sums[at % sums.len()]);
        let expected = form.eval(channel, x.into()).unwrap();
        assert_eq!(
            i32::from(code as i8),
            expected,
            "{}: {x} in channel {channel}",
            library.display()
        );
    }
}

#[test]
fn a_plugin_with_panics_that_abort_is_refused_by_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("plugin.rs");
    let text =
        "use strait_plugin_sdk::{TargetFactory, export_plugin};\nexport_plugin!(TargetFactory::new(\"a 1\", \"\"));\n";
    std::fs::write(&source, text).unwrap();
    for (panic, taken) in [("unwind", true), ("abort", false)] {
        let out = Command::new("rustc")
            .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "-C"])
            .arg(format!("panic={panic}"))
            .args(built(&["strait_plugin_sdk"]))
            .arg("--out-dir")
            .args([folder.path(), &source])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.success(), taken, "{panic}: {said}");
        assert_eq!(
            said.contains("would end the program at its first panic"),
            !taken,
            "{said}"
        );
    }
}
