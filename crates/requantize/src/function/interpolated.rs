//! Tables with 513 entries for the 65536 codes of int16.

/// The value at a code: of 512 pieces of 128 codes each, the entry where its piece begins and a linear part of the way to
/// the next entry, rounded half up.
///
/// With entry i for code 128·i − 32768 and offset o = code mod 128:
/// `entry[i] + ((entry[i + 1] - entry[i]) * o + 64 >> 7)`.
pub(super) fn interpolated(table: &[i16; 513], code: i16) -> i32 {
    let index = usize::from(((i32::from(code) >> 7) + 256) as u16); // 0 ..= 511
    let (base, next) = (i32::from(table[index]), i32::from(table[index + 1]));
    let offset = i32::from(code & 0x7F);
    base + (((next - base) * offset + 64) >> 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_on_the_line_between_two_entries() {
        let mut table = [0; 513];
        (table[0], table[1], table[511], table[512]) = (-100, 28, 5, -6);
        assert_eq!(interpolated(&table, i16::MIN), -100);
        assert_eq!(interpolated(&table, i16::MIN + 127), 27);
        assert_eq!(interpolated(&table, i16::MIN + 128), 28);
        // -11 * 127 / 128 = -10.9; half of -11 is rounded up
        assert_eq!(interpolated(&table, i16::MAX), -6);
        assert_eq!(interpolated(&table, i16::MAX - 63), 0);
    }
}
