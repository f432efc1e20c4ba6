//! Functions of one code that are interpolated linearly in a table. The table has fewer entries than there are codes.

use super::{Definition, FunctionError, Nearest};
use crate::{IntType, Rounding};

/// A function of one code that interpolates in a table. The table t has an entry for every 2^`step`th code, and one
/// entry after the last code. With `least` the smallest code, the result y is
///
/// `y = t[i] + round((t[i + 1] − t[i])·f / 2^step)`, where `code − least = i·2^step + f` and 0 ≤ f < 2^step.
///
/// In every rounding mode, the result lies between two neighbouring entries. So it never leaves the range of the table.
/// If the entries never decrease, the function never decreases either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolated {
    /// The type of the operand's codes, with at most 16 bits.
    pub elements: IntType,
    /// The distance between the codes of neighbouring entries is 2^`step`.
    pub step: u8,
    /// How the interpolated difference from the lower entry is rounded.
    pub rounding: Rounding,
}

impl Interpolated {
    /// The number of entries. `None` if there are too many codes, or if their number is not a multiple of the distance.
    pub fn entries(self) -> Option<usize> {
        let bits = self.elements.bits();
        (bits <= 16 && (1..=bits).contains(&self.step)).then(|| (1 << (bits - self.step)) + 1)
    }

    /// Returns the result for a code. Returns `None` if the table has a wrong number of entries, or if the code is not
    /// in the range of the type.
    pub fn value(self, table: &[i64], code: i64) -> Option<i64> {
        let offset = code.checked_sub(self.elements.min().into())?;
        let fits = self.entries() == Some(table.len()) && (0..1 << self.elements.bits()).contains(&offset);
        let index = usize::try_from(offset).ok().filter(|_| fits)? >> self.step;
        let (base, next) = (i128::from(*table.get(index)?), i128::from(*table.get(index + 1)?));
        let way = (next - base) * i128::from(offset & ((1 << self.step) - 1));
        i64::try_from(base + self.rounding.shift_right_wide(way, self.step)).ok()
    }

    /// The results for all codes, beginning with the smallest code.
    pub fn table(self, table: &[i64]) -> Option<Vec<i64>> {
        self.elements
            .range()
            .map(|code| self.value(table, code.into()))
            .collect()
    }
}

impl Nearest {
    /// Computes the entries of an interpolation table: the correctly rounded values of the function at every 2^`step`th
    /// code, and at the code that would follow the last one.
    ///
    /// # Errors
    /// Errors of [`Pointwise::eval`](super::Pointwise::eval). [`FunctionError::Elements`] if the number of codes is not
    /// a multiple of 2^`step`.
    pub fn entries(&self, step: u8) -> Result<Vec<i32>, FunctionError> {
        self.check()?;
        let lines = Interpolated {
            elements: self.elements,
            step,
            rounding: self.rounding,
        };
        let (definition, elements) = (Definition::Nearest, self.elements);
        let count = lines
            .entries()
            .ok_or(FunctionError::Elements { definition, elements })?;
        (0..count as i32)
            .map(|entry| self.value(elements.min() + (entry << step)))
            .collect()
    }
}

/// Interpolates between the entries of a table. The entries divide the 65536 codes into 512 pieces of 128 codes each.
/// The result lies on the straight line from the entry at the beginning of the code's piece to the next entry, rounded
/// half up.
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

    #[test]
    fn every_code_is_on_the_line_between_its_neighbours() {
        for (elements, step, rounding) in [
            (IntType::I16, 7, Rounding::HalfUp),
            (IntType::U16, 9, Rounding::HalfEven),
            (IntType::I16, 1, Rounding::Floor),
            (IntType::I8, 3, Rounding::HalfAway),
            (IntType::I16, 16, Rounding::HalfUp),
        ] {
            let lines = Interpolated {
                elements,
                step,
                rounding,
            };
            let count = lines.entries().unwrap();
            let table: Vec<i64> = (0..count as i64)
                .map(|i| (i * i * 7919 + i * 104_729) % 65_536 - 32_768)
                .collect();
            let all = lines.table(&table).unwrap();
            assert_eq!(all.len(), 1 << elements.bits());
            for (offset, &found) in all.iter().enumerate() {
                let (i, width) = (offset >> step, 1i64 << step);
                let f = offset as i64 - ((i as i64) << step);
                let way = table[i] * (width - f) + table[i + 1] * f - table[i] * width;
                let (below, twice) = (way.div_euclid(width), 2 * way.rem_euclid(width));
                let up = match rounding {
                    Rounding::Floor => false,
                    Rounding::HalfUp => twice >= width,
                    Rounding::HalfEven => twice > width || (twice == width && below % 2 != 0),
                    _ => twice > width || (twice == width && way > 0),
                };
                assert_eq!(found, table[i] + below + i64::from(up), "{lines:?} at {offset}");
                let (low, high) = (table[i].min(table[i + 1]), table[i].max(table[i + 1]));
                assert!((low..=high).contains(&found));
            }
        }
    }

    #[test]
    fn the_tables_of_litert_are_such() {
        let mut table = [0i16; 513];
        for (i, entry) in table.iter_mut().enumerate() {
            *entry = (((i * i * 40_503) % 65_536) as i32 - 32_768) as i16;
        }
        let lines = Interpolated {
            elements: IntType::I16,
            step: 7,
            rounding: Rounding::HalfUp,
        };
        let wide = table.map(i64::from);
        for code in i16::MIN..=i16::MAX {
            assert_eq!(lines.value(&wide, code.into()), Some(interpolated(&table, code).into()));
        }
        assert_eq!(lines.value(&wide, 32_768), None);
        assert_eq!(lines.value(&wide[1..], 0), None);
        assert_eq!(Interpolated { step: 17, ..lines }.entries(), None);
    }
}
