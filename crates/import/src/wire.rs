//! Reads the outermost fields of a message in Protocol Buffers. Formats are recognised by these fields before the whole
//! file is decoded.

/// The content of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A variable-length number.
    Number(u64),
    /// A number of four or eight bytes.
    Fixed,
    /// A string, bytes, or a nested message.
    Bytes(&'a [u8]),
    /// Bytes that are incomplete, because the file ends before their end.
    Cut {
        /// Number of bytes that are missing.
        missing: u64,
    },
}

/// Returns the fields of a message, each with its number. The list ends before the first field that is invalid or
/// incomplete. The only exception is a field of bytes whose end is missing: it is listed as [`Value::Cut`].
pub fn fields(message: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    let mut rest = message;
    std::iter::from_fn(move || field(&mut rest))
}

/// Takes the first field of a message off, with its number. `None` if it is invalid.
pub fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Value::Number(varint(rest)?),
        1 => take(rest, 8).map(|_| Value::Fixed)?,
        5 => take(rest, 4).map(|_| Value::Fixed)?,
        2 => {
            let length = varint(rest)?;
            match usize::try_from(length).ok().and_then(|length| take(rest, length)) {
                Some(bytes) => Value::Bytes(bytes),
                None => {
                    let missing = length - rest.len() as u64;
                    *rest = &[];
                    Value::Cut { missing }
                }
            }
        }
        _ => return None,
    };
    Some((key >> 3, value)).filter(|(number, _)| *number != 0)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(taken)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_up_to_what_is_missing() {
        let found: Vec<_> = fields(&[0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x3d, 1, 2, 3, 4, 0x1a, 9, b'x']).collect();
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(b"hi")),
            (7, Value::Fixed),
            (3, Value::Cut { missing: 8 }),
        ];
        assert_eq!(found, expected);
        for broken in [&[][..], &[0x80], &[0x0b], &[0x00, 1], &[0xff; 12]] {
            assert_eq!(fields(broken).count(), 0, "{broken:?}");
        }
    }
}
