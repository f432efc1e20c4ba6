use crate::simd::I32s;

/// The constants of all channels, stored as `C` arrays of i32 with one value per channel. The values of neighbouring
/// channels can be loaded as a vector, and the value of one channel can fill a vector.
#[derive(Clone, Debug)]
pub(crate) struct Constants<const C: usize> {
    /// The arrays, one after the other. Each is repeated up to `period` elements, and then for one more vector.
    lines: Vec<Line>,
    /// Number of elements from one array to the next.
    stride: usize,
    channels: Option<usize>,
    period: usize,
}

/// As many elements as the widest vector, aligned so that loads are fastest.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [i32; WIDEST]);

/// Number of lanes of the widest vector.
pub(super) const WIDEST: usize = 16;
/// The largest number of elements that a few channels are repeated to.
const LONGEST_PERIOD: usize = 2048;

impl<const C: usize> Constants<C> {
    /// Stores `values[channel]`. If `tensor` is true, the only value serves any number of channels.
    pub(crate) fn new(values: &[[i32; C]], tensor: bool) -> Constants<C> {
        let channels = values.len();
        // The first multiple of both the number of channels and the widest vector. Consecutive rows of all channels are
        // then one long row whose vectors are aligned.
        let repeated = (1..=WIDEST).map(|k| k * channels).find(|p| p.is_multiple_of(WIDEST));
        let period = repeated.filter(|&p| p <= LONGEST_PERIOD).unwrap_or(channels);
        let stride = period.next_multiple_of(WIDEST) + WIDEST;
        let mut lines = vec![Line([0; WIDEST]); C * stride / WIDEST];
        for (i, line) in lines.iter_mut().enumerate() {
            for (lane, to) in line.0.iter_mut().enumerate() {
                let element = i * WIDEST + lane;
                *to = values[element % stride % channels][element / stride];
            }
        }
        Constants {
            lines,
            stride,
            channels: (!tensor).then_some(channels),
            period,
        }
    }

    /// The number of channels; `None` if one serves any number.
    pub(super) fn channels(&self) -> Option<usize> {
        self.channels
    }

    /// True if consecutive rows of all channels can be read as one long row.
    pub(super) fn repeat(&self) -> bool {
        self.period.is_multiple_of(WIDEST)
    }

    /// The constants of one channel, repeated in each lane. If one set serves all channels, `channel` does not matter.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    #[inline(always)]
    pub(super) unsafe fn splat<V: I32s>(&self, channel: usize) -> [V; C] {
        let channel = self.channels.map_or(0, |_| channel);
        assert!(channel < self.period, "a channel that the form does not have");
        // SAFETY: the channel is below the period, and each array is longer than that. The caller guarantees the
        // instruction set.
        unsafe {
            let start = self.lines.as_ptr().cast::<i32>().add(channel);
            let mut vectors = [V::splat(0); C];
            for (c, vector) in vectors.iter_mut().enumerate() {
                *vector = V::splat(*start.add(c * self.stride));
            }
            vectors
        }
    }

    /// The constants of consecutive channels from `first` on, vector by vector. After the last channel the first
    /// follows again.
    #[inline(always)]
    pub(super) fn from(&self, first: usize) -> Run<'_, C> {
        assert!(first < self.period, "a channel that the form does not have");
        Run {
            constants: self,
            at: first,
        }
    }
}

/// Reads the constants of consecutive channels; see [`Constants::from`].
pub(super) struct Run<'a, const C: usize> {
    constants: &'a Constants<C>,
    /// The next channel; always below the period.
    at: usize,
}

impl<const C: usize> Run<'_, C> {
    /// The constants of the next `LANES` channels.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    #[inline(always)]
    pub(super) unsafe fn next<V: I32s>(&mut self) -> [V; C] {
        let Constants {
            ref lines,
            stride,
            period,
            ..
        } = *self.constants;
        // SAFETY: `at` is below the period, and each array has at least one vector more. The caller guarantees the
        // instruction set.
        let vectors = unsafe {
            let start = lines.as_ptr().cast::<i32>().add(self.at);
            let mut vectors = [V::splat(0); C];
            for (c, vector) in vectors.iter_mut().enumerate() {
                *vector = V::load(start.add(c * stride));
            }
            vectors
        };
        self.at += V::LANES;
        if self.at >= period {
            // If rows are read as one, the period is a multiple of the vector's width. Otherwise what is loaded after
            // the last channel lies beyond the end of the row and is not used.
            self.at = if self.at - period < period { self.at - period } else { 0 };
        }
        vectors
    }
}
