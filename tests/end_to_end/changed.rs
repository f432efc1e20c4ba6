//! Tests what happens if other processes write to files during a compilation.

use std::io::Write as _;

use super::*;

/// Calls a function when a phase begins for the first time.
pub(crate) struct At<'a> {
    phase: &'a str,
    work: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
}

impl<'a> At<'a> {
    pub(crate) fn new(phase: &'a str, work: impl FnOnce() + Send + 'a) -> At<'a> {
        At {
            phase,
            work: Mutex::new(Some(Box::new(work))),
        }
    }
}

impl Progress for At<'_> {
    fn begin(&self, phase: &str, _: Option<usize>) {
        if phase == self.phase
            && let Some(work) = self.work.lock().unwrap().take()
        {
            work();
        }
    }
}

/// Copies of the model and of the calibration data.
fn copies(folder: &Path) -> [PathBuf; 2] {
    ["digits.onnx", "calib_x.npy"].map(|file| {
        let copy = folder.join(file);
        fs::copy(digits(file), &copy).unwrap();
        copy
    })
}

fn setting<'a>(folder: &'a Path, [model, data]: &[PathBuf; 2], progress: &'a dyn Progress) -> Setting<'a> {
    let setting = Setting {
        progress,
        ..Setting::new(folder)
    };
    setting
        .set(format!("model.file={}", quoted(model)))
        .set(format!("calibration.data={}", quoted(data)))
}

/// Overwrites data in place: the first sample of a file of samples, which is read again after the statistics are known,
/// and the end of a model, where its weights are.
fn overwrite(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let is_samples = file.extension().is_some_and(|extension| extension == "npy");
    // An .npy file starts with a header of 128 bytes.
    let start = if is_samples { 128 } else { bytes.len() - 1000 };
    bytes[start..][..100].iter_mut().for_each(|byte| *byte ^= 1);
    let mut open = fs::OpenOptions::new().write(true).open(file).unwrap();
    open.write_all(&bytes).unwrap();
}

#[test]
fn what_is_written_to_in_place_ends_the_compilation_and_nothing_of_it_is_kept() {
    for (which, phase, code) in [
        (1, "observe", "D001"),
        (0, "observe", "M001"),
        (0, "write (sima)", "M001"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = copies(folder.path());
        let at = At::new(phase, || overwrite(&files[which]));
        let stop = setting(folder.path(), &files, &at).compile("sima").unwrap_err();
        assert!(at.work.lock().unwrap().is_none(), "there is no phase {phase}");
        let Stop::Found(found) = &stop else { panic!("{stop}") };
        assert_eq!(found.0[0].code, code, "{stop}");
        let told = message(stop);
        let name = files[which].file_name().unwrap().to_string_lossy();
        assert!(
            told.contains(&*name) && told.contains("was changed while it was in use"),
            "{told}"
        );
        assert!(!folder.path().join("sima").exists());
        if phase == "observe" {
            assert!(!folder.path().join("cache").exists());
        }
    }
}

/// The samples change, too, while the target is compiled. But the model has changed before, which may be why.
#[test]
fn a_changed_model_is_told_and_not_what_comes_of_it() {
    struct Both<'a>([At<'a>; 2]);
    impl Progress for Both<'_> {
        fn begin(&self, phase: &str, count: Option<usize>) {
            self.0.iter().for_each(|at| at.begin(phase, count));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let files = copies(folder.path());
    let changed = |which: usize| {
        let files = &files;
        move || overwrite(&files[which])
    };
    let both = Both([At::new("observe", changed(0)), At::new("quantize (sima)", changed(1))]);
    let stop = setting(folder.path(), &files, &both).compile("sima").unwrap_err();
    assert!(both.0.iter().all(|at| at.work.lock().unwrap().is_none()));
    let Stop::Found(found) = &stop else { panic!("{stop}") };
    assert_eq!(found.0[0].code, "M001", "{stop}");
    assert!(!folder.path().join("cache").exists());
}

/// The file that was opened is used, and the next compilation finds the new one.
#[test]
fn what_is_replaced_by_a_rename_is_another_compilation() {
    let folder = tempfile::tempdir().unwrap();
    let undisturbed = tempfile::tempdir().unwrap();
    let files = copies(folder.path());
    let expected = setting(undisturbed.path(), &files, &Silent).compile("sima").unwrap();
    let other = folder.path().join("other.npy");
    fs::copy(&files[1], &other).unwrap();
    overwrite(&other);
    let at = At::new("observe", || fs::rename(&other, &files[1]).unwrap());
    let first = setting(folder.path(), &files, &at).compile("sima").unwrap();
    assert!(at.work.lock().unwrap().is_none());
    assert_eq!(first.digest, expected.digest);
    let listener = Listener::default();
    let second = setting(folder.path(), &files, &listener).compile("sima").unwrap();
    assert!(second.digest != first.digest && !listener.heard("are reused"));
}
