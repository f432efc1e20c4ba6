//! Makes images small and bright, so that a person can look at them. No network sees these, so they need not be like those of
//! any library. It is done here, because these loops over pixels are slow in a crate that is not optimized for speed.

use crate::Pixels;

impl Pixels {
    /// The largest level.
    pub fn brightest(&self) -> u8 {
        self.levels.iter().copied().max().unwrap_or(0)
    }

    /// Makes the level `white` 255, and all others brighter by the same factor.
    pub fn brighten(&mut self, white: u8) {
        for level in &mut self.levels {
            let scaled = (u32::from(*level) * 255 + u32::from(white) / 2) / u32::from(white).max(1);
            *level = scaled.min(255) as u8;
        }
    }

    /// Replaces each square of `each` · `each` pixels by its mean, rounded half up. Squares at the right and lower border may
    /// be cut.
    #[must_use]
    pub fn shrunk(&self, each: usize) -> Pixels {
        if each <= 1 {
            return self.clone();
        }
        let channels = self.channels;
        let (width, height) = (self.width.div_ceil(each), self.height.div_ceil(each));
        let row = self.row();
        let mut levels = Vec::with_capacity(width * height * channels);
        for rows in self.levels.chunks(row * each) {
            let mut sums = vec![0u64; width * channels];
            for row in rows.chunks(row) {
                for (sums, square) in sums.chunks_mut(channels).zip(row.chunks(each * channels)) {
                    for pixel in square.chunks(channels) {
                        (sums.iter_mut().zip(pixel)).for_each(|(sum, &level)| *sum += u64::from(level));
                    }
                }
            }
            let high = rows.len() / row;
            for (x, sums) in sums.chunks(channels).enumerate() {
                let wide = each.min(self.width - x * each);
                let count = (high * wide).max(1) as u64;
                levels.extend(sums.iter().map(|sum| ((sum + count / 2) / count).min(255) as u8));
            }
        }
        Pixels {
            width,
            height,
            channels: self.channels,
            levels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_and_squares_at_the_border_are_cut() {
        let pixels = Pixels {
            width: 3,
            height: 2,
            channels: 1,
            levels: vec![0, 1, 10, 0, 1, 30],
        };
        let small = pixels.shrunk(2);
        assert_eq!((small.width, small.height, small.levels), (2, 1, vec![1, 20]));
    }

    #[test]
    fn dark_pictures_become_brighter() {
        let mut small = Pixels {
            width: 3,
            height: 1,
            channels: 1,
            levels: vec![0, 8, 16],
        };
        assert_eq!(small.brightest(), 16);
        small.brighten(16);
        assert_eq!(small.levels, [0, 128, 255]);
    }
}
