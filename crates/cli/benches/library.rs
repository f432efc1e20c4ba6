//! Measures the cost of a plugin in a library. `cargo bench -p strait-cli --bench library` prints the time of the
//! fastest of several runs, in milliseconds. The benchmark needs a C compiler.
#![allow(clippy::unwrap_used, reason = "it serves nobody but its reader")]

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(unix)]
mod unix {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;
    use std::time::{Duration, Instant};
    use strait_kernels::Context;
    use strait_plugin_host::{Library, Patience, Program, register};
    use strait_requantize::form::TfLite;
    use strait_requantize::{IntType, Narrowing, Requantization, Rounding};
    use strait_target::{Options, Registry};

    const CHIP: &str = include_str!("../../../configs/targets/acme-npu2.toml");

    fn repository(path: &str) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.join(path).canonicalize().unwrap()
    }

    fn build(folder: &Path) -> PathBuf {
        let bytes: String = CHIP.bytes().map(|byte| format!("{},", byte as i8)).collect();
        std::fs::write(folder.join("table.inc"), bytes).unwrap();
        let library = folder.join("libacme.so");
        let built = Command::new("cc")
            .args(["-std=c11", "-O3", "-shared", "-fPIC", "-I"])
            .arg(repository("include"))
            .arg("-I")
            .arg(folder)
            .arg(repository("crates/cli/benches/library.c"))
            .arg("-o")
            .arg(&library)
            .status();
        assert!(built.unwrap().success());
        library
    }

    fn least(runs: usize, mut task: impl FnMut()) -> Duration {
        let once = || {
            let start = Instant::now();
            task();
            start.elapsed()
        };
        std::iter::repeat_with(once).take(runs).min().unwrap()
    }

    fn say(what: &str, time: Duration) {
        println!("{what:<58} {:>9.3} ms", time.as_secs_f64() * 1e3);
    }

    /// Writes a configuration for the model `digits` of this repository, to which the lines `more` are added. Returns
    /// the path of the configuration.
    fn configuration(folder: &Path, name: &str, target: &str, more: &str) -> PathBuf {
        let digits = repository("models/digits");
        let digits = digits.display();
        let text = format!(
            "schema = 1\n[model]\nfile = '{digits}/digits.onnx'\nbind = {{ N = 1 }}\n\
             [preprocess]\nstored = {{ layout = \"NHWC\" }}\nsteps = [{{ scale = 0.0625 }}, {{ layout = \"NCHW\" }}]\n\
             [calibration]\ndata = '{digits}/calib_x.npy'\ncache = 'cache'\n\
             [output]\ndir = '{name}'\n[target]\nuse = [\"acme-npu2\"]\n{target}\n{more}"
        );
        let file = folder.join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        file
    }

    fn compile(file: &Path) {
        let done = Command::new(env!("CARGO_BIN_EXE_strait"))
            .arg("compile")
            .arg(file)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    pub(super) fn main() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = build(folder);
        let load = || {
            Library::load(
                &path,
                None,
                Program::at(env!("CARGO_BIN_EXE_strait")),
                Patience::default(),
            )
            .unwrap()
        };
        say("a worker started and asked for its table", least(20, || drop(load())));

        let mut registry = Registry::default();
        let entry = register(&mut registry, Arc::new(load())).unwrap();
        let target = entry.target(&Options::new()).unwrap();
        let form: Requantization = TfLite {
            sc: (1 << 30).into(),
            zp: 3,
            narrowing: Narrowing {
                shift: 38.into(),
                rounding: Rounding::HalfUp,
                out: IntType::I8,
            },
        }
        .into();
        let own = target.own_loops(&form, None).unwrap().unwrap();
        let count = 1 << 16;
        let accumulators: Vec<u8> = (0..count).flat_map(|x: i32| (x - 30_000).to_ne_bytes()).collect();
        let mut codes = vec![0; count as usize];
        let cx = Context::detect();
        let extents = [1, 1, count as usize];
        let time = least(200, || {
            own.requantize(&cx, extents, IntType::I32, &accumulators, &mut codes)
                .unwrap();
        });
        say("64 Ki accumulators through it", time);

        std::fs::write(folder.join("chip.toml"), CHIP).unwrap();
        let alone = configuration(folder, "alone", "file = [\"chip.toml\"]", "");
        let plugin = "[[plugin]]\npath = \"libacme.so\"\n[trust]\nunpinned = \"allow\"\n";
        let plugged = configuration(folder, "plugged", "", plugin);
        compile(&alone);
        let [alone, plugged] = [alone, plugged].map(|file| least(20, || compile(&file)));
        say("a compilation for its table alone", alone);
        say("the same for the library", plugged);
        say("the difference", plugged.saturating_sub(alone));
    }
}
