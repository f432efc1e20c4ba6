//! `cargo xtask oracles`: runs the programs whose results Strait claims to reproduce, and compares their results with
//! Strait's.

use crate::{Outcome, Stop, figures, process, python, workspace};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "oracles",
    summary: "compare with other people's programs (Python)",
    help: HELP,
    run,
};

const HELP: &str = "
Holds the operators that we read against all that the onnx package defines.
Runs ONNX's own node tests: read, planned and run in float, none may give something else than expected, and those of
tests/onnx/passing.txt have to pass. The same of models of ONNX Runtime's own operators and of small decoders, with what ONNX Runtime computes of them.
Holds our schema of TFLite against LiteRT's, and what we read of models of single operators against what LiteRT computes of them.
Runs the TFLite files that we write of graphs and real models in LiteRT's reference kernels, which must give the bytes of `strait run`.
Runs the ONNX files of quantized operators that we write of real models in ONNX Runtime, which must give the bytes of `strait run`.
Compares our reader and writer of ONNX with the onnx package and ONNX Runtime, on its node tests and on models.
Compares the requantization forms with LiteRT's reference kernels, TOSA's reference model and ONNX Runtime's quantized
operators, kernel by kernel (docs/oracles.md).
Compiles the model in the repository for every target of configs/ and compares with ONNX Runtime: the float model's
accuracy, and the Q/DQ model that we write against our own integer results. Runs the packages of the targets sima and ascend with numpy,
which must give the same integers. Holds Q/DQ files against ONNX Runtime and OpenVINO: those of the model in the repository, of the
graphs below tests/rows and of small real models. Where the real models and data are (a folder `shared/data` beside the repository), also
our metrics against the figures stored there. At the end prints a table: how many numbers differ, for each format that we write,
each runtime and each model. Needs Python: virtual environments with pinned packages are made in the
target folder on first use; STRAIT_PYTHON and STRAIT_PYTHON_TOSA name other interpreters that have them.

Usage: cargo xtask oracles [--optional] [--forms] [--document]
       cargo xtask oracles --nodes [--bless] [--refused] [--by-operator] [NAME]
       cargo xtask oracles --tensorflow [--bless] [NAME]
       cargo xtask oracles --tflite [--bless] [--converted] [NAME]
       cargo xtask oracles --written [--all] [--zoo] [--models] [NAME]
       cargo xtask oracles --devices [--all]
       cargo xtask oracles --deploy
       cargo xtask oracles --operators [--all] [--zoo] [NAME]
       cargo xtask oracles --qdq [--document] [--zoo] [NAME]
       cargo xtask oracles --environments

  --optional     without a way to get the packages, say so and end well
  --forms        only the requantization forms
  --document     write what was found about them to docs/oracles.md; with --qdq, about the Q/DQ files
  --qdq          only the Q/DQ files, and those of all real models for every target
  --operators    only the ONNX files of quantized operators that we write, run in ONNX Runtime: of a few of the real models and of
                 decoders that scripts make, or of all
  --zoo          with --qdq, those of the architectures of a folder `shared/zoo` beside the repository instead; with --written
                 and --operators, those, too
  --nodes        only ONNX's node tests and those models, or those of them whose name contains NAME
  --tflite       only the reader of TFLite: its schema, models of single operators, real models of floats, and operators and
                 models of codes, compiled for generic-int8, byte by byte
  --converted    also models of int16, uint8 and int8 that TensorFlow's converter makes
  --written      only the TFLite files that we write, run in LiteRT: of the graphs below tests/rows, and of a few of the real
                 models or all
  --devices      only the TFLite files that we write, handed to TFLite Micro and to Vela, Arm's compiler for Ethos-U: a few of the
                 real models; with --all, all of them, and a file for each side of each constraint
  --deploy       only the commands and programs of the pages in docs/deploy
  --shares       only the shares of one compilation in examples/kubernetes and examples/ray; what needs a package that is not
                 there (kubernetes-validate, ray) is skipped
  --models       with --written, no graphs
  --environments only make the Python environments
  --bless        add those that pass to tests/onnx/passing.txt
  --refused      say of each that is not read why
  --by-operator  say how many are not read for which operator
  --tensorflow   only the reader of TensorFlow's graphs, against TensorFlow: a graph for each operator in several ways, and,
                 where the real models are, theirs. No other command needs TensorFlow, which takes half a gigabyte;
                 STRAIT_PYTHON_TENSORFLOW names an interpreter that has it. --bless writes tests/tensorflow/operators.txt
";

fn run(arguments: &[String]) -> Outcome {
    figures::forget()?;
    let outcome = compare(arguments);
    figures::print()?;
    outcome
}

fn compare(arguments: &[String]) -> Outcome {
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("--nodes", rest)) => return node_tests(&python::interpreter()?, rest),
        Some(("--tensorflow", rest)) => return tensorflow(&python::tensorflow_interpreter()?, rest),
        Some(("--tflite", rest)) => return tflite(&python::interpreter()?, rest),
        Some(("--written", rest)) => return written(&python::interpreter()?, rest),
        Some(("--devices", rest)) => return devices(&python::interpreter()?, rest),
        Some(("--deploy", [])) => return deploy_pages(&python::interpreter()?),
        Some(("--shares", [])) => return shares(&python::interpreter()?),
        Some(("--operators", rest)) => return operator_files(&python::interpreter()?, rest),
        Some(("--qdq", rest)) => return qdq_files(&python::interpreter()?, rest, true),
        Some(("--environments", [])) => {
            python::interpreter()?;
            return python::tosa_interpreter().map(|_| ());
        }
        _ => {}
    }
    let (mut optional, mut forms_only, mut document) = (false, false, false);
    for argument in arguments {
        match argument.as_str() {
            "--optional" => optional = true,
            "--forms" => forms_only = true,
            "--document" => document = true,
            other => return Err(Stop::Usage(format!("`{other}`: see --help"))),
        }
    }
    let environments = python::interpreter().and_then(|python| Ok((python, python::tosa_interpreter()?)));
    let (python, tosa) = match environments {
        Ok(both) => both,
        Err(_) if optional => {
            println!("skipped: no Python with the packages of xtask/python/requirements*.txt can be had");
            return Ok(());
        }
        Err(stop) => return Err(stop),
    };
    forms(&python, &tosa, document)?;
    if forms_only {
        return Ok(());
    }
    let mut script = python::start(&python, "oracles")?;
    with_data(&mut script, &python, "the metrics on the real models")?;
    let mut sets = python::script(&python, "operator_sets.py");
    process::run(sets.arg("--operators").arg(workspace::build_example("operators")?))?;
    node_tests(&python, &[])?;
    tflite(&python, &[])?;
    println!(
        "left out: the TFLite files of graphs and of most models (--written --all), and most of --devices and --operators"
    );
    written(&python, &["--models".into()])?;
    devices(&python, &[])?;
    deploy_pages(&python)?;
    shares(&python)?;
    operator_files(&python, &[])?;
    process::run(&mut onnx_files(&python)?)?;
    qdq_files(&python, &[], false)?;
    process::run(&mut script)
}

/// Passes the folders with the real models and their data to a script. If there are none, says what is skipped.
fn with_data(script: &mut Command, interpreter: &Path, about: &str) -> Outcome {
    match workspace::shared_data() {
        Some(shared) => {
            script.arg("--data").arg(python::prepared_data(interpreter, &shared)?);
            script.arg("--shared").arg(shared);
        }
        None => println!("skipped: {about}, {}", python::NO_DATA),
    }
    Ok(())
}

/// Builds examples and passes their paths to a script, each under its name.
fn with_programs(script: &mut Command, examples: [&str; 2]) -> Outcome {
    for example in examples {
        script
            .arg(format!("--{example}"))
            .arg(workspace::build_example(example)?);
    }
    Ok(())
}

/// Lets the programs write what they compute to files, and compares the forms of Strait with it.
fn forms(python: &Path, tosa: &Path, document: bool) -> Outcome {
    let work = workspace::target().join("oracles-forms");
    let vectors = work.join("vectors");
    if vectors.is_dir() {
        // Old files are removed, since kernels may have been renamed.
        std::fs::remove_dir_all(&vectors).map_err(|error| format!("{}: {error}", vectors.display()))?;
    }
    for (interpreter, name) in [
        (python, "litert_vectors.py"),
        (python, "onnxruntime_vectors.py"),
        (tosa, "tosa_vectors.py"),
    ] {
        process::run(python::script(interpreter, name).arg(&vectors))?;
    }
    let found = work.join("oracles.md");
    let mut compare = Command::new(workspace::build_example("oracles")?);
    process::run(compare.arg(&vectors).arg(&found))?;
    let [committed, files] = page()?;
    let found_text = workspace::read(&found)?;
    if document {
        write(&format!("{found_text}{files}"))?;
    } else if found_text != committed {
        println!("docs/oracles.md says something else than {}", found.display());
    }
    Ok(())
}

/// The heading of the part of docs/oracles.md that is about Q/DQ files.
const FILES: &str = "\n## Q/DQ files\n";

/// The two parts of docs/oracles.md: the one before the heading [`FILES`], and the one from there on.
fn page() -> Result<[String; 2], Stop> {
    let text = workspace::read(&workspace::root().join(PAGE))?;
    let (forms, files) = text.split_at(text.find(FILES).unwrap_or(text.len()));
    Ok([forms.to_owned(), files.to_owned()])
}

const PAGE: &str = "docs/oracles.md";

fn write(text: &str) -> Result<(), String> {
    std::fs::write(workspace::root().join(PAGE), text).map_err(|error| format!("{PAGE}: {error}"))
}

/// Runs ONNX's node tests in one process, models of ONNX Runtime's own operators in another, and small decoders in a
/// third. Scripts write the tests and models to the target folder first, once for each version of the packages.
fn node_tests(interpreter: &Path, arguments: &[String]) -> Outcome {
    let runner = workspace::build_example("node_tests")?;
    for (script, folder, list) in [
        ("node_tests.py", "node-tests", "passing.txt"),
        ("runtime_operators.py", "runtime-operators", "runtime.txt"),
        ("decoders.py", "decoders", "decoders.txt"),
    ] {
        let folder = workspace::target().join(folder);
        process::run(python::script(interpreter, script).arg(&folder))?;
        let list = workspace::root().join("tests").join("onnx").join(list);
        process::run(Command::new(&runner).arg(&folder).arg(&list).args(arguments))?;
    }
    Ok(())
}

/// Runs TensorFlow graphs of single operators and real graphs, and compares the results with TensorFlow's. Scripts
/// write the graphs and TensorFlow's results to the target folder first, once for each version of the packages.
fn tensorflow(interpreter: &Path, arguments: &[String]) -> Outcome {
    let scripts = ["tensorflow_operators", "tensorflow_models"];
    operators(interpreter, "graphs", "tensorflow", scripts, arguments)
}

/// Lets two scripts write models, each into a folder with the name of the script: models of single operators, and real
/// models. Then runs the example `runner` on both folders, with the list of operators in the folder `tests/NAME`.
fn operators(
    interpreter: &Path,
    runner: &str,
    name: &str,
    [own, real]: [&str; 2],
    arguments: &[impl AsRef<OsStr>],
) -> Outcome {
    let runner = workspace::build_example(runner)?;
    let list = workspace::root().join("tests").join(name).join("operators.txt");
    let mut scripts = vec![(own, None)];
    match workspace::shared_data() {
        Some(shared) => scripts.push((real, Some(shared))),
        None => println!("skipped: the real models of {name}, {}", python::NO_DATA),
    }
    for (script, shared) in scripts {
        let folder = workspace::target().join(script.replace('_', "-"));
        let mut write = python::script(interpreter, &format!("{script}.py"));
        write.arg(&folder);
        if let Some(shared) = shared {
            write.arg("--shared").arg(shared);
        }
        process::run(&mut write)?;
        process::run(Command::new(&runner).arg(&folder).arg(&list).args(arguments))?;
    }
    Ok(())
}

/// Compares Strait's schema of TFLite with LiteRT's. Then runs models of single operators and real float models, and
/// compares the results with LiteRT's. Scripts write these models and LiteRT's results to the target folder first, once
/// for each version of the packages. Then compiles quantized models and compares the results byte by byte. With
/// `--converted`, there are more quantized models, which TensorFlow's converter makes.
fn tflite(interpreter: &Path, arguments: &[String]) -> Outcome {
    let is_converted = |argument: &String| argument == "--converted";
    let rest: Vec<&String> = arguments.iter().filter(|argument| !is_converted(argument)).collect();
    let mut schema = python::script(interpreter, "tflite_schema.py");
    process::run(schema.arg(workspace::root().join("crates").join("tflite")))?;
    let scripts = ["tflite_operators", "tflite_floats"];
    operators(interpreter, "litert_operators", "tflite", scripts, &rest)?;
    let strait = workspace::build_strait("release")?;
    let name = rest.iter().find(|argument| !argument.starts_with("--"));
    let mut codes = python::script(interpreter, "tflite_codes.py");
    codes.arg("--strait").arg(&strait);
    codes.arg("--work").arg(workspace::target().join("tflite-codes"));
    codes.args(name.iter().flat_map(|name| ["--only", name.as_str()]));
    process::run(&mut codes)?;
    let Some(shared) = workspace::shared_data() else {
        return Ok(());
    };
    let mut models = python::script(interpreter, "tflite_models.py");
    models.arg("--strait").arg(&strait);
    models.arg("--work").arg(workspace::target().join("tflite-models"));
    models.arg("--shared").arg(&shared);
    models.args(name.iter().flat_map(|name| ["--only", name.as_str()]));
    if arguments.iter().any(is_converted) {
        let folder = workspace::target().join("tflite-converted");
        let mut convert = python::script(&python::tensorflow_interpreter()?, "tflite_converted.py");
        process::run(convert.arg(&folder).arg("--shared").arg(&shared))?;
        models.arg("--converted").arg(folder);
    }
    process::run(&mut models)
}

/// Runs TFLite files that Strait writes in LiteRT, and compares the results with Strait's own: files of the graphs below
/// tests/rows, of the real models and, with `--zoo`, of networks of many architectures.
fn written(interpreter: &Path, arguments: &[String]) -> Outcome {
    let (mut all, mut zoo, mut models, mut only) = (false, false, false, None);
    for argument in arguments {
        match argument.as_str() {
            "--all" => all = true,
            "--zoo" => zoo = true,
            "--models" => models = true,
            name if !name.starts_with("--") => only = Some(name),
            other => return Err(Stop::Usage(format!("`{other}`: see --help"))),
        }
    }
    let mut graphs = python::script(interpreter, "tflite_graphs.py");
    graphs.arg("--strait").arg(workspace::build_strait("release")?);
    with_programs(&mut graphs, ["values", "rewrite"])?;
    graphs.arg("--work").arg(workspace::target().join("tflite-graphs"));
    graphs.arg("--repository").arg(workspace::root());
    graphs.args(only.iter().flat_map(|name| ["--only", name]));
    if zoo {
        graphs.arg("--zoo").args(zoo_folder());
    }
    if !models {
        process::run(&mut graphs)?;
    }
    let Some(mut script) = of_files(interpreter, "tflite_written.py", "tflite-written")? else {
        return Ok(());
    };
    script.arg("--values").arg(workspace::build_example("values")?);
    script.args(all.then_some("--all"));
    script.args(only.iter().flat_map(|name| ["--only", name]));
    process::run(&mut script)
}

/// Hands TFLite files that Strait writes to programs for microcontrollers, and compares what they say with Strait's rules.
fn devices(interpreter: &Path, arguments: &[String]) -> Outcome {
    let Some(mut script) = of_files(interpreter, "tflite_devices.py", "tflite-devices")? else {
        return Ok(());
    };
    script.arg("--verdicts").arg(workspace::build_example("accelerator")?);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--all"] => _ = script.arg("--all"),
        [other, ..] => return Err(Stop::Usage(format!("`{other}`: see --help"))),
    }
    process::run(&mut script)
}

/// Runs the commands and programs of the pages in `docs/deploy`.
fn deploy_pages(interpreter: &Path) -> Outcome {
    let mut script = python::script(interpreter, "deploy_pages.py");
    script.arg("--strait").arg(workspace::build_strait("release")?);
    process::run(script.arg("--repository").arg(workspace::root()))
}

/// Runs what `examples/kubernetes` and `examples/ray` would run on several machines.
fn shares(interpreter: &Path) -> Outcome {
    let mut script = python::script(interpreter, "shares.py");
    script.arg("--strait").arg(workspace::build_strait("release")?);
    process::run(script.arg("--repository").arg(workspace::root()))
}

/// The folder with many architectures, if there is one beside the repository.
fn zoo_folder() -> Option<PathBuf> {
    workspace::shared_data().map(|shared| shared.with_file_name("zoo"))
}

/// The command for a script about files that Strait writes of the real models. If there are no real models,
/// says what is skipped, and returns `None`.
fn of_files(interpreter: &Path, name: &str, work: &str) -> Result<Option<Command>, Stop> {
    let Some(shared) = workspace::shared_data() else {
        println!("skipped: the files written of the real models, {}", python::NO_DATA);
        return Ok(None);
    };
    let mut script = python::script(interpreter, name);
    script.arg("--strait").arg(workspace::build_strait("release")?);
    script.arg("--work").arg(workspace::target().join(work));
    script.arg("--data").arg(python::prepared_data(interpreter, &shared)?);
    script.arg("--repository").arg(workspace::root());
    Ok(Some(script))
}

/// Runs ONNX files of quantized operators that Strait writes in ONNX Runtime, and compares the results with Strait's own.
fn operator_files(interpreter: &Path, arguments: &[String]) -> Outcome {
    let all = arguments.iter().any(|argument| argument == "--all");
    let is_named = arguments.iter().any(|argument| !argument.starts_with("--"));
    let decoders = [
        (
            "decoder_written.py",
            "decoder-written",
            ["llama", "decode", "int4", "32"].as_slice(),
        ),
        ("decoder_given.py", "decoder-given", &["llama", "int4", "32"]),
        ("decoder_cache.py", "decoder-cache", &["gpt2", "weights-alone", "int8"]),
    ];
    for (script, work, few) in decoders.into_iter().filter(|_| !is_named) {
        let mut decoders = python::script(interpreter, script);
        decoders.args(few.iter().filter(|_| !all));
        decoders.arg("--strait").arg(workspace::build_strait("release")?);
        decoders.arg("--work").arg(workspace::target().join(work));
        process::run(&mut decoders)?;
    }
    let Some(mut script) = of_files(interpreter, "qoperator_written.py", "qoperator-written")? else {
        return Ok(());
    };
    script.arg("--values").arg(workspace::build_example("values")?);
    for argument in arguments {
        match argument.as_str() {
            "--all" => script.arg("--all"),
            "--zoo" => script.arg("--zoo").args(zoo_folder()),
            name if !name.starts_with("--") => script.args(["--only", name]),
            other => return Err(Stop::Usage(format!("`{other}`: see --help"))),
        };
    }
    process::run(&mut script)
}

/// Runs Q/DQ files in the runtimes that they are written for, and compares the results. This is done for a few of the
/// real models, or for all if `all` is set.
fn qdq_files(interpreter: &Path, arguments: &[String], all: bool) -> Outcome {
    let mut script = python::start(interpreter, "qdq_files")?;
    with_programs(&mut script, ["values", "rewrite"])?;
    with_data(&mut script, interpreter, "the Q/DQ files of the real models")?;
    if all {
        script.arg("--all");
    }
    let mut document = None;
    for argument in arguments {
        match argument.as_str() {
            "--document" => document = Some(workspace::target().join("qdq_files").join("found.md")),
            "--zoo" => {
                let zoo = workspace::root().with_file_name("shared").join("zoo");
                script.arg("--zoo").arg(zoo);
            }
            name if !name.starts_with("--") => {
                script.args(["--only", name]);
            }
            other => return Err(Stop::Usage(format!("`{other}`: see --help"))),
        }
    }
    let Some(found) = document else {
        return process::run(&mut script);
    };
    if arguments.len() > 1 {
        return Err(Stop::Usage(
            "--document writes of all real models, and takes nothing beside it".into(),
        ));
    }
    let outcome = process::run(script.arg("--document").arg(&found));
    write(&format!("{}\n{}", page()?[0], workspace::read(&found)?))?;
    outcome
}

/// The command for the script that tests Strait's reader and writer of ONNX. It gets the paths of two small programs
/// that run the reader and the writer.
fn onnx_files(interpreter: &Path) -> Result<Command, Stop> {
    let mut script = python::script(interpreter, "onnx_files.py");
    with_programs(&mut script, ["types", "rewrite"])?;
    script.arg("--repository").arg(workspace::root());
    script.arg("--work").arg(workspace::target().join("onnx_files"));
    if let Some(shared) = workspace::shared_data() {
        script.arg("--shared").arg(shared);
    }
    Ok(script)
}
