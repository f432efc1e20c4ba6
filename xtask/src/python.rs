//! The Python that runs comparisons. It is a virtual environment in the target folder, which is made when it is first
//! needed.

use crate::{Outcome, Stop, figures, process, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the Python scripts of this crate.
fn scripts() -> PathBuf {
    workspace::root().join("xtask").join("python")
}

/// The command that runs a Python script of this crate with this interpreter.
pub(crate) fn script(interpreter: &Path, name: &str) -> Command {
    let mut command = Command::new(interpreter);
    command
        .arg(scripts().join(name))
        .env(figures::VARIABLE, figures::file());
    command
}

/// The interpreter of `target/venv`, with the package versions of `requirements.txt`. The environment is made again
/// when these versions change. On a machine without a network, `STRAIT_PYTHON` can name another interpreter that has
/// the packages.
pub(crate) fn interpreter() -> Result<PathBuf, Stop> {
    environment("venv", "requirements.txt", "STRAIT_PYTHON")
}

/// The interpreter with the packages of `requirements-tosa.txt`, which need older versions of other packages.
/// `STRAIT_PYTHON_TOSA` can name another interpreter.
pub(crate) fn tosa_interpreter() -> Result<PathBuf, Stop> {
    environment("venv-tosa", "requirements-tosa.txt", "STRAIT_PYTHON_TOSA")
}

/// The interpreter with the packages of `requirements-tensorflow.txt`, which take half a gigabyte and are only needed
/// by one command. `STRAIT_PYTHON_TENSORFLOW` can name another interpreter. This version of TensorFlow needs Python 3.9
/// to 3.11.
pub(crate) fn tensorflow_interpreter() -> Result<PathBuf, Stop> {
    environment(
        "venv-tensorflow",
        "requirements-tensorflow.txt",
        "STRAIT_PYTHON_TENSORFLOW",
    )
}

/// The interpreter with the packages of `requirements-dist.txt`, which make wheels. `STRAIT_PYTHON_DIST` can name another
/// interpreter.
pub(crate) fn dist_interpreter() -> Result<PathBuf, Stop> {
    environment("venv-dist", "requirements-dist.txt", "STRAIT_PYTHON_DIST")
}

fn environment(name: &str, requirements: &str, variable: &str) -> Result<PathBuf, Stop> {
    if let Some(python) = std::env::var_os(variable) {
        return Ok(python.into());
    }
    let folder = workspace::target().join(name);
    let python = match cfg!(windows) {
        true => folder.join("Scripts").join("python.exe"),
        false => folder.join("bin").join("python"),
    };
    let stamp = folder.join(requirements);
    let requirements = scripts().join(requirements);
    let wanted = workspace::read(&requirements)?;
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let system = ["python3", "python"]
        .into_iter()
        .find(|name| process::exists(name, &["--version"]));
    let system = system.ok_or_else(|| Stop::Failed("this command needs Python 3, and there is none".into()))?;
    eprintln!(
        "making a Python environment in {} (once; pip installs what {} pins)",
        folder.display(),
        requirements.display()
    );
    process::run(Command::new(system).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ])
    .arg(&requirements);
    process::run(&mut pip)?;
    // The stamp is written last, so that an interrupted installation is made again.
    std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

/// Runs `NAME.py`, which measures the built binary on the real models. The script writes its files to `target/NAME`.
pub(crate) fn measure(name: &str, arguments: &[String]) -> Outcome {
    let Some(shared) = workspace::shared_data() else {
        println!("skipped: {NO_DATA}");
        return Ok(());
    };
    let python = interpreter()?;
    let mut script = start(&python, name)?;
    script
        .arg("--shared")
        .arg(&shared)
        .arg("--data")
        .arg(prepared_data(&python, &shared)?);
    process::run(script.args(arguments))
}

pub(crate) const NO_DATA: &str = "there are no models and data (a folder `shared/data` beside the repository)";

/// The command that runs `NAME.py` with the arguments that every script needs that measures the built binary.
pub(crate) fn start(interpreter: &Path, name: &str) -> Result<Command, Stop> {
    let mut script = script(interpreter, &format!("{name}.py"));
    script
        .arg("--strait")
        .arg(workspace::build_strait("release")?)
        .arg("--repository")
        .arg(workspace::root());
    script.arg("--work").arg(workspace::target().join(name));
    Ok(script)
}

/// The folder with the data of the real models as arrays. The arrays are made when they are first needed. They are
/// always in the folder `target` of the repository, even if cargo's target folder is another one, because the
/// configurations in configs/models expect them there.
pub(crate) fn prepared_data(interpreter: &Path, shared: &Path) -> Result<PathBuf, Stop> {
    let data = workspace::root().join("target").join("data");
    process::run(script(interpreter, "prepare.py").arg(shared).arg(&data))?;
    Ok(data)
}
