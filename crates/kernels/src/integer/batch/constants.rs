use crate::simd::I32s;

/// The constants of all channels, `C` for each channel. They are stored as `C` arrays of i32 with one value per
/// channel. So the values of one constant for neighbouring channels can be loaded as a vector. The value for a single
/// channel can be copied to all lanes of a vector.
#[derive(Clone, Debug)]
pub(crate) struct Constants<const C: usize> {
    /// The arrays, one after the other. Each array begins with `period` elements, in which the values of all channels
    /// are repeated as often as they fit. After these elements, the values of the first channels follow once more, for
    /// at least one vector.
    lines: Vec<Line>,
    /// Number of elements from the start of one array to the start of the next.
    stride: usize,
    channels: Option<usize>,
    period: usize,
}

/// As many i32 as the widest vector has, aligned so that vectors are loaded as fast as possible.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [i32; WIDEST]);

/// Number of lanes of the widest vector.
pub(crate) const WIDEST: usize = 16;
/// The maximum number of elements of the repeated list of per-channel values. If there are few channels, their values
/// are repeated up to this length.
const LONGEST_PERIOD: usize = 2048;

impl<const C: usize> Constants<C> {
    /// Stores the constants `values[channel]`. If `tensor` is true, `values` has a single item, which is used for all
    /// channels.
    pub(crate) fn new(values: &[[i32; C]], tensor: bool) -> Constants<C> {
        let channels = values.len();
        // The length of the repeated list: the smallest multiple of the number of channels that is also a multiple of
        // the widest vector's width. With this length, consecutive rows with all channels can be read as one long row,
        // and each repetition begins with a new vector.
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

    /// The number of channels; `None` if one set of constants serves any number of channels.
    pub(crate) fn channels(&self) -> Option<usize> {
        self.channels
    }

    /// True if consecutive rows with all channels can be read as one long row.
    pub(crate) fn repeat(&self) -> bool {
        self.period.is_multiple_of(WIDEST)
    }

    /// Returns the constants of one channel, each copied to all lanes. If one set of constants is used for all
    /// channels, `channel` does not matter.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(crate) unsafe fn splat<V: I32s>(&self, channel: usize) -> [V; C] {
        let channel = self.channels.map_or(0, |_| channel);
        assert!(channel < self.period, "a channel that the form does not have");
        // SAFETY: the channel is below the period, and each array is longer than the period. The caller guarantees the
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

    /// Returns the constants of the `LANES` channels from `channel` on. If one set of constants is used for all channels,
    /// `channel` does not matter. Lanes beyond the last channel have no meaning.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(crate) unsafe fn at<V: I32s>(&self, channel: usize) -> [V; C] {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe { self.from(self.channels.map_or(0, |_| channel)).next() }
    }

    /// Reads the constants of consecutive channels, one vector after the other. The first channel is `first`. After the
    /// last channel, channel 0 follows.
    #[inline(always)]
    pub(crate) fn from(&self, first: usize) -> Run<'_, C> {
        assert!(first < self.period, "a channel that the form does not have");
        Run {
            constants: self,
            at: first,
        }
    }
}

/// Reads the constants of consecutive channels, one vector after the other; see [`Constants::from`].
pub(crate) struct Run<'a, const C: usize> {
    constants: &'a Constants<C>,
    /// The position in the repeated list that is read next. It is always below the length of the list.
    at: usize,
}

impl<const C: usize> Run<'_, C> {
    /// The constants of the next `LANES` channels.
    ///
    /// # Safety
    /// The machine must have the instruction set of the vectors `V`.
    #[inline(always)]
    pub(crate) unsafe fn next<V: I32s>(&mut self) -> [V; C] {
        let Constants {
            ref lines,
            stride,
            period,
            ..
        } = *self.constants;
        // SAFETY: `at` is below the period, and each array has at least one more vector after the period. The caller
        // guarantees the instruction set.
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
            // If several rows are read as one, the period is a multiple of the vector's width, so `at` is 0 again after
            // a period. Otherwise, lanes that are loaded after the last channel lie beyond the end of the row and are
            // not used.
            self.at = if self.at - period < period { self.at - period } else { 0 };
        }
        vectors
    }
}
