//! A deployment in a folder of its own: a model, samples, and artifacts made from them.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use strait_builtin as _;
use strait_core::text;
use strait_driver::{
    artifact::{self, Opened},
    config, pipeline,
    pipeline::Compiled,
    run,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;
use strait_samples::{Array, NumberType, encode};

/// A folder with a model and samples for its only input, `x`.
pub(crate) struct Bench(tempfile::TempDir);

impl Bench {
    /// Writes a model, given in text form, as ONNX.
    pub(crate) fn new(model: &str) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        let mut file = Vec::new();
        let module = text::parse(model).unwrap_or_else(|error| panic!("{error}\n{model}"));
        strait_onnx::write(&module, &mut file).unwrap();
        fs::write(bench.at("model.onnx"), file).unwrap();
        bench
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the samples.
    pub(crate) fn samples(&self, number_type: NumberType, shape: &[usize], bytes: &[u8]) {
        fs::write(self.at("x.npy"), encode(number_type, shape, bytes)).unwrap();
    }

    /// Compiles for a target into the folder `name`, with the samples of `x.npy`. `lines` are further lines of the
    /// configuration.
    pub(crate) fn compile(&self, target: &str, name: &str, lines: &str) -> Result<Compiled, String> {
        self.compiled(target, name, "x.npy", lines)
    }

    /// Compiles with the samples in this folder.
    pub(crate) fn compile_on(&self, target: &str, samples: &str, lines: &str) -> Result<Compiled, String> {
        self.compiled(target, "build", samples, lines)
    }

    fn compiled(&self, target: &str, name: &str, samples: &str, lines: &str) -> Result<Compiled, String> {
        let text = format!(
            "schema = 1\nmodel.file = \"model.onnx\"\ntarget.use = [\"{target}\"]\ncalibration.data = \"{samples}\"\n\
             calibration.cache = \"cache\"\noutput.dir = \"{name}\"\n{lines}"
        );
        let loaded = config::parse("deploy.toml", text, self.0.path(), &[]).map_err(|found| found.to_string())?;
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
        Ok(compiled.map_err(|stop| stop.to_string())?.remove(0))
    }

    /// The only output of an artifact for the samples of `x.npy`.
    pub(crate) fn run(&self, folder: &Path) -> Vec<f32> {
        self.run_on(folder, "x.npy")
    }

    /// The only output of an artifact for the samples in this file or folder.
    pub(crate) fn run_on(&self, folder: &Path, samples: &str) -> Vec<f32> {
        let opened = Opened::open(folder, &targets::registry([]).unwrap()).unwrap_or_else(|stop| panic!("{stop}"));
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let inputs = artifact::inputs(&opened).unwrap();
        let path = self.at(samples).display().to_string();
        let (samples, files) = artifact::given_samples(&[path], &inputs).unwrap();
        let output = self.at("y.npy");
        run::on_samples(&opened, (&samples, &files), &output, false, &session).unwrap_or_else(|stop| panic!("{stop}"));
        Array::open(&output).unwrap().reals()
    }
}
