//! Reads the orientation of an image from its Exif data. No other tag is read.
//!
//! ```text
//! II or MM   the byte order      42   offset of the first directory
//! directory  u16 entries, each  tag u16  type u16  count u32  value u32
//! tag 0x0112 of type 3 (u16): the orientation, 1 to 8
//! ```

/// A directory with more entries than this is treated as corrupt.
const MOST_ENTRIES: u16 = 1000;

/// Returns the orientation that a block of Exif data states, or 1 if the block has no valid orientation. `block` does
/// not include the leading `Exif\0\0`.
pub(crate) fn orientation(block: &[u8]) -> u8 {
    find(block).filter(|found| (1..=8).contains(found)).unwrap_or(1)
}

fn find(block: &[u8]) -> Option<u8> {
    let big = match block.get(..2)? {
        b"II" => false,
        b"MM" => true,
        _ => return None,
    };
    let u16_at = |at: usize| {
        let bytes: [u8; 2] = block.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if big {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    };
    let u32_at = |at: usize| {
        let bytes: [u8; 4] = block.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if big {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    };
    let directory = u32_at(4)? as usize;
    let entries = u16_at(directory)?.min(MOST_ENTRIES);
    (0..usize::from(entries)).find_map(|entry| {
        let at = directory.checked_add(2)?.checked_add(12 * entry)?;
        let is_orientation = u16_at(at)? == 0x0112 && u16_at(at + 2)? == 3;
        is_orientation.then(|| u16_at(at + 8)).flatten()?.try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_orientation_is_found_in_both_byte_orders_and_nothing_in_garbage() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";
        assert_eq!((orientation(little), orientation(big)), (6, 8));
        for length in 0..little.len() {
            assert!(matches!(orientation(&little[..length]), 1 | 6));
        }
        for at in 0..little.len() {
            let mut garbled = little.to_vec();
            garbled[at] ^= 0xff;
            assert!((1..=8).contains(&orientation(&garbled)));
        }
    }
}
