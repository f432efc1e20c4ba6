//! What each kind of worker does in one round, and which results and errors are right for it.

use super::{Path, PathBuf, Stop, workspace};
use std::fs;
use std::process::{Command, Output, Stdio};

/// Texts of errors that may occur while files and folders are being replaced.
const TRUE_ERRORS: &[&str] = &[
    "was changed while it was in use",
    "was replaced while it was read",
    "was cut by another process while it was read",
    "has been cut since it was opened",
    // A file that is overwritten in place is empty or incomplete for a moment.
    "it does not begin as one",
    "the file is cut short",
];

/// The settings that all worker threads share.
pub(super) struct Setting {
    strait: PathBuf,
    folder: PathBuf,
    /// Two versions of the samples. The file that is read always has the contents of one of them.
    samples: [Vec<u8>; 2],
    /// The digests of the two artifacts, and the outputs that each of them computes.
    digests: [String; 2],
    outputs: [Vec<u8>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    Writer(u8),
    Run(&'static str),
    Eval,
    Inspect,
    Verify(&'static str),
    /// Replaces the file of the samples by the other version, by a rename or in place.
    Samples,
    Link,
}

/// The folder that writers write to, and the link whose destination is changed.
const PLACES: [&str; 2] = ["out", "current"];

impl Worker {
    pub(super) const ALL: &'static [Worker] = &[
        Worker::Writer(0),
        Worker::Writer(1),
        Worker::Run(PLACES[0]),
        Worker::Run(PLACES[1]),
        Worker::Eval,
        Worker::Inspect,
        Worker::Verify(PLACES[0]),
        Worker::Verify(PLACES[1]),
        Worker::Samples,
        Worker::Link,
    ];

    pub(super) fn name(self) -> String {
        match self {
            Worker::Writer(number) => format!("writer {number}"),
            Worker::Run(place) => format!("run on `{place}`"),
            Worker::Eval => "eval".into(),
            Worker::Inspect => "inspect".into(),
            Worker::Verify(place) => format!("verify of `{place}`"),
            Worker::Samples => "swapper of samples".into(),
            Worker::Link => "swapper of the link".into(),
        }
    }

    /// Does one round. Returns true if the round gave a right result, and false if it ended with an error that may
    /// occur.
    ///
    /// # Errors
    /// If the result belongs to neither of the artifacts, or if an error occurs that must not occur.
    pub(super) fn once(self, setting: &Setting, round: usize) -> Result<bool, String> {
        match self {
            Worker::Writer(_) => {
                let output = setting.compile("out", "cache");
                setting.judged(&output, |printed| setting.has_a_digest(printed))
            }
            Worker::Run(place) => {
                let to = setting.folder.join(format!("{place}.npy"));
                let output = setting.strait(&["run", place, "--input", &digits("eval_x.npy"), "--output", &text(&to)]);
                setting.judged(&output, |_| match fs::read(&to) {
                    Ok(found) => setting.outputs.contains(&found),
                    Err(_) => false,
                })
            }
            Worker::Eval => {
                let output = setting.strait(&[
                    "eval",
                    "out",
                    "--data",
                    &digits("eval_x.npy"),
                    "--labels",
                    &digits("eval_y.npy"),
                ]);
                setting.judged(&output, |printed| printed.contains("top1"))
            }
            Worker::Inspect => {
                let output = setting.strait(&["inspect", "current"]);
                setting.judged(&output, |printed| setting.has_a_digest(printed))
            }
            Worker::Verify(place) => {
                let output = setting.strait(&["verify", place]);
                setting.judged(&output, |printed| setting.has_a_digest(printed))
            }
            Worker::Samples => setting.swap_samples(round).map(|()| true),
            Worker::Link => setting.turn_link(round).map(|()| true),
        }
    }
}

impl Setting {
    pub(super) fn new(strait: &Path, folder: &Path) -> Result<Setting, Stop> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let first = read(Path::new(&digits("calib_x.npy")))?;
        // The second version of the samples: after the header, each pixel is halved.
        let mut second = first.clone();
        second.iter_mut().skip(128).for_each(|pixel| *pixel /= 2);
        let mut setting = Setting {
            strait: strait.into(),
            folder: folder.into(),
            samples: [first, second],
            digests: Default::default(),
            outputs: Default::default(),
        };
        for index in 0..2 {
            let out = format!("whole-{index}");
            let written = fs::write(folder.join("x.npy"), &setting.samples[index]);
            written.map_err(|error| format!("x.npy: {error}"))?;
            let compiled = setting.compile(&out, &format!("cache-{index}"));
            let printed = printed(&compiled);
            let digest = printed.lines().find_map(|line| line.strip_prefix("digest: "));
            setting.digests[index] = digest
                .ok_or_else(|| format!("no artifact to begin with:\n{printed}"))?
                .to_owned();
            let to = folder.join("whole.npy");
            setting.strait(&["run", &out, "--input", &digits("eval_x.npy"), "--output", &text(&to)]);
            setting.outputs[index] = read(&to)?;
        }
        if setting.digests[0] == setting.digests[1] || setting.outputs[0] == setting.outputs[1] {
            return Err(Stop::Failed("the two artifacts are the same".into()));
        }
        setting.turn_link(0)?;
        setting.swap_samples(0)?;
        let begun = setting.compile("out", "cache");
        match begun.status.success() {
            true => Ok(setting),
            false => Err(Stop::Failed(printed(&begun))),
        }
    }

    fn strait(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.strait);
        command.current_dir(&self.folder).args(arguments).stdin(Stdio::null());
        command.output().unwrap_or_else(|error| Output {
            status: Default::default(),
            stdout: Vec::new(),
            stderr: error.to_string().into_bytes(),
        })
    }

    fn compile(&self, out: &str, cache: &str) -> Output {
        let config = text(&workspace::root().join("configs/generic-int8.toml"));
        let place = |name: &str| text(&self.folder.join(name));
        let data = format!("calibration.data='{}'", place("x.npy"));
        let cache = format!("calibration.cache='{}'", place(cache));
        self.strait(&[
            "compile",
            &config,
            "--out",
            out,
            "--threads",
            "1",
            "--set",
            &data,
            "--set",
            &cache,
        ])
    }

    fn judged(&self, output: &Output, is_right: impl Fn(&str) -> bool) -> Result<bool, String> {
        let printed = printed(output);
        match output.status.code() {
            Some(0) if is_right(&printed) => Ok(true),
            Some(0) => Err(format!("a result of neither artifact:\n{printed}")),
            Some(_) if TRUE_ERRORS.iter().any(|error| printed.contains(error)) => Ok(false),
            code => Err(format!("it ended with {code:?}:\n{printed}")),
        }
    }

    fn has_a_digest(&self, printed: &str) -> bool {
        self.digests.iter().any(|digest| printed.contains(digest.as_str()))
    }

    fn swap_samples(&self, round: usize) -> Result<(), String> {
        let (content, place) = (&self.samples[round % 2], self.folder.join("x.npy"));
        let failed = |error: std::io::Error| format!("x.npy: {error}");
        std::thread::sleep(std::time::Duration::from_millis(40));
        if round % 8 == 7 {
            return fs::write(&place, content).map_err(failed);
        }
        let beside = self.folder.join("x.new");
        fs::write(&beside, content).map_err(failed)?;
        fs::rename(&beside, &place).map_err(failed)
    }

    fn turn_link(&self, round: usize) -> Result<(), String> {
        let (target, link) = (format!("whole-{}", round % 2), self.folder.join("current"));
        std::thread::sleep(std::time::Duration::from_millis(5));
        turned(&self.folder.join(target), &link).map_err(|error| format!("current: {error}"))
    }

    /// Lists files in the folder or the cache that should not be there, and artifacts whose verification fails.
    pub(super) fn left_behind(&self) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        for folder in [self.folder.clone(), self.folder.join("cache")] {
            let names = workspace::names(&folder)?.into_iter();
            let hidden = names.filter(|name| name.starts_with('.'));
            found.extend(hidden.map(|name| format!("{name} is left behind")));
        }
        for place in PLACES {
            let output = self.strait(&["verify", place]);
            if !output.status.success() {
                found.push(printed(&output));
            }
        }
        Ok(found)
    }
}

/// Changes the destination of a link in one step.
#[cfg(unix)]
fn turned(target: &Path, link: &Path) -> std::io::Result<()> {
    let beside = link.with_extension("new");
    let _ = fs::remove_file(&beside);
    std::os::unix::fs::symlink(target, &beside)?;
    fs::rename(&beside, link)
}

/// On other systems the link always keeps its first destination.
#[cfg(not(unix))]
fn turned(target: &Path, link: &Path) -> std::io::Result<()> {
    match link.is_dir() {
        true => Ok(()),
        false => std::os::windows::fs::symlink_dir(target, link),
    }
}

fn printed(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

fn digits(file: &str) -> String {
    text(&workspace::root().join("models/digits").join(file))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, Stop> {
    fs::read(path).map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))
}
