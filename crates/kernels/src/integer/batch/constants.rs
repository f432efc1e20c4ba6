use crate::simd::I32s;

/// The constants of all channels as `C` arrays of i32, each with one value per channel: neighbouring channels load as
/// vectors, and one channel's value fills one.
#[derive(Clone, Debug)]
pub(crate) struct Constants<const C: usize> {
    /// The arrays, one after the other, each repeated up to `period` and then on for one more vector.
    lines: Vec<Line>,
    /// Elements from one array to the next.
    stride: usize,
    channels: Option<usize>,
    period: usize,
}

/// The widest vector, where loads are fastest.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [i32; WIDEST]);

/// Lanes of the widest vector.
pub(super) const WIDEST: usize = 16;
/// The most elements that a small number of channels is repeated to.
const LONGEST_PERIOD: usize = 2048;

impl<const C: usize> Constants<C> {
    /// `values[channel]`; of one channel that serves any number if `tensor`.
    pub(crate) fn new(values: &[[i32; C]], tensor: bool) -> Constants<C> {
        let channels = values.len();
        // The first multiple of both the channels and the widest vector: then rows of all channels that follow each other
        // are one long row, whose vectors start at multiples of their width.
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

    /// Rows of all channels that follow each other can be read as one.
    pub(super) fn repeat(&self) -> bool {
        self.period.is_multiple_of(WIDEST)
    }

    /// Those of one channel, in each lane; of the only one where it serves any number.
    ///
    /// # Safety
    /// The machine has the vectors' instruction set.
    #[inline(always)]
    pub(super) unsafe fn splat<V: I32s>(&self, channel: usize) -> [V; C] {
        let channel = self.channels.map_or(0, |_| channel);
        assert!(channel < self.period, "a channel that the form does not have");
        // SAFETY: the channel is below the period, and each array is longer; the caller's promise.
        unsafe {
            let start = self.lines.as_ptr().cast::<i32>().add(channel);
            let mut vectors = [V::splat(0); C];
            for (c, vector) in vectors.iter_mut().enumerate() {
                *vector = V::splat(*start.add(c * self.stride));
            }
            vectors
        }
    }

    /// Those of the channels from `first` on, vector by vector; after the last channel those of the first one.
    #[inline(always)]
    pub(super) fn from(&self, first: usize) -> Run<'_, C> {
        assert!(first < self.period, "a channel that the form does not have");
        Run {
            constants: self,
            at: first,
        }
    }
}

/// Constants of consecutive channels; see [`Constants::from`].
pub(super) struct Run<'a, const C: usize> {
    constants: &'a Constants<C>,
    /// Below the period.
    at: usize,
}

impl<const C: usize> Run<'_, C> {
    /// Those of the next `LANES` channels.
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
        // SAFETY: `at` is below the period, and each array is at least one vector longer; the caller's promise.
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
            // Where rows follow each other, the period is a multiple of the width. Elsewhere what comes after the last
            // channel is beyond the end of the row.
            self.at = if self.at - period < period { self.at - period } else { 0 };
        }
        vectors
    }
}
