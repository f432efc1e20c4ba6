//! `cargo xtask dist`: makes the program and the Python package for other machines.

use crate::{Command, Outcome, Stop, process, python, workspace};
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "dist",
    summary: "make the program and the Python wheel",
    help: HELP,
    run,
};

const HELP: &str = "
Makes target/dist: the program `strait`, and a wheel of the Python package strait-compiler with the program in it. On Linux both run
with glibc 2.17 and later (manylinux2014); zig links them. Needs Python (a virtual environment with maturin and zig is made on
first use; STRAIT_PYTHON_DIST names another interpreter that has them).

Usage: cargo xtask dist [--local] [--check]

  --local   for this machine alone, with its own linker and in the profile dev
  --check   also install the wheel into a fresh environment and use it there, and check the types with mypy
";

/// The oldest system on which the program runs.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const GLIBC: &str = "2.17";

fn run(arguments: &[String]) -> Outcome {
    let (mut local, mut check) = (!cfg!(all(target_os = "linux", target_arch = "x86_64")), false);
    for argument in arguments {
        match argument.as_str() {
            "--local" => local = true,
            "--check" => check = true,
            other => return Err(Stop::Usage(format!("dist has no argument `{other}`; see --help"))),
        }
    }
    let python = python::dist_interpreter()?;
    let out = workspace::target().join("dist");
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let program = program(&python, local)?;
    let package = workspace::root().join("bindings").join("python");
    let scripts = package.join("data").join("scripts");
    std::fs::create_dir_all(&scripts).map_err(|error| format!("{}: {error}", scripts.display()))?;
    for place in [&scripts, &out] {
        let place = place.join(program.file_name().unwrap_or_default());
        std::fs::copy(&program, &place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    let mut maturin = tool(&python, &python);
    maturin
        .args(["-m", "maturin", "build", "--quiet", "--out"])
        .arg(&out)
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"));
    match local {
        true => maturin.args(["--profile", "dev", "--compatibility", "linux"]),
        false => maturin.args([
            "--release",
            "--zig",
            "--compatibility",
            "manylinux2014",
            "--target",
            TRIPLE,
        ]),
    };
    process::run(&mut maturin)?;
    println!("wheel and program: {}", out.display());
    if check {
        process::run(python::script(&python, "wheel.py").arg(newest(&out)?).arg(&package))?;
    }
    Ok(())
}

/// Builds the program.
fn program(python: &Path, local: bool) -> Result<PathBuf, Stop> {
    if local {
        return workspace::build_strait("dev");
    }
    let mut zigbuild = tool(python, Path::new("cargo-zigbuild"));
    zigbuild.args(["zigbuild", "--quiet", "--release", "--package", "strait-cli"]);
    zigbuild
        .args(["--target", &format!("{TRIPLE}.{GLIBC}")])
        .current_dir(workspace::root());
    process::run(&mut zigbuild)?;
    Ok(workspace::target().join(TRIPLE).join("release").join("strait"))
}

/// A program, with those of the interpreter's environment in front of all others.
fn tool(python: &Path, program: &Path) -> std::process::Command {
    // Windows looks a program up in this process's own PATH, so the place is spelled out where it is known.
    let beside = python.with_file_name(program.as_os_str());
    let mut command = std::process::Command::new(if beside.exists() { &beside } else { program });
    if let (Some(folder), Some(path)) = (python.parent(), std::env::var_os("PATH")) {
        let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        if let Ok(joined) = std::env::join_paths(all) {
            command.env("PATH", joined);
        }
    }
    command
}

/// The wheel that was made last.
fn newest(out: &Path) -> Result<PathBuf, Stop> {
    let names = workspace::names(out)?;
    let wheels = names
        .iter()
        .filter(|name| name.ends_with(".whl"))
        .map(|name| out.join(name));
    let made = |wheel: &PathBuf| std::fs::metadata(wheel).and_then(|metadata| metadata.modified()).ok();
    let newest = wheels.max_by_key(made);
    newest.ok_or_else(|| Stop::Failed(format!("there is no wheel in {}", out.display())))
}
