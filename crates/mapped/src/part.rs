//! Reads parts of an open file without mapping them.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};

/// A copy of the `length` bytes of a file that begin at `offset`. Later changes of the file do not affect the copy.
/// Several threads may read the same file at once.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] if the file ends before the end of this range, because another process has truncated
/// it.
pub fn read_part(file: &File, offset: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while done < length {
        match read_at(file, &mut bytes[done..], offset + done as u64) {
            Ok(0) => {
                let text = format!(
                    "it has been cut since it was opened: it ends at byte {}",
                    offset + done as u64
                );
                return Err(Error::new(ErrorKind::UnexpectedEof, text));
            }
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_that_of_the_file_and_one_that_is_cut_off_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let content: Vec<u8> = (0..=255).collect();
        std::fs::write(&path, &content).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(read_part(&file, 3, 250).unwrap(), content[3..253]);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(100)
            .unwrap();
        assert_eq!(read_part(&file, 0, 100).unwrap(), content[..100]);
        let error = read_part(&file, 3, 250).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().ends_with("it ends at byte 100"), "{error}");
    }
}
