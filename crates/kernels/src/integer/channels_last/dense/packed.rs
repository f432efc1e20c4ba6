//! The packed weights of dense convolutions.

use super::{HALF, Line, PANEL};
use crate::window::Conv;
use std::sync::OnceLock;
#[cfg(target_arch = "x86_64")]
use {crate::integer::by_bytes::Groups, crate::isa::Isa};

/// Up to this many channels, a whole row of the kernel is read at once.
const FEW: usize = 32;

/// The packed weights. AVX2 reads them in an order of its own. If this is the best instruction set of the machine, the weights are
/// stored in this order alone, otherwise as lines. If kernels of another instruction set run all the same, the other form is made of
/// the one that is there.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    /// See [`Packed::lines`].
    lines: OnceLock<Vec<Line>>,
    /// The same for groups of eight bytes, if there is only one panel. With up to eight output channels, there is one line for
    /// each group, and its bytes from `8·l` on are those of output channel `l`. With more, there are two lines: lanes with an
    /// even index have weights for the first four bytes, and lanes with an odd index for the last four. Lane `l` of the first
    /// line belongs to output channel `l`, and lane `l` of the second to the other channel of the pair. If what is read at once
    /// ends with half a group, its last lines have the weights of each channel in the channel's own lane, or zeros in the place
    /// of the other half.
    pub(super) octets: Vec<Line>,
    /// See [`Packed::groups`].
    #[cfg(target_arch = "x86_64")]
    groups: OnceLock<Groups>,
    /// Number of lines of a panel.
    #[cfg(target_arch = "x86_64")]
    depth: usize,
}

impl Packed {
    /// Packs the weights `weight(output, channel, tap)`. `stride` is the number of bytes of a position.
    pub(in crate::integer::channels_last) fn new(
        conv: &Conv,
        stride: usize,
        weight: impl Fn(usize, usize, usize) -> u8,
    ) -> Packed {
        let (outputs, channels) = (conv.out_channels, conv.input.channels);
        let [height, width] = conv.window.kernel;
        let taps = height * width;
        let each = taps * stride / 4;
        let mut lines = vec![Line([0; 64]); outputs.div_ceil(PANEL) * each];
        for o in 0..outputs {
            let panel = &mut lines[o / PANEL * each..][..each];
            for channel in 0..channels {
                for tap in 0..taps {
                    let at = tap * stride + channel;
                    panel[at / 4].0[o % PANEL * 4 + at % 4] = weight(o, channel, tap);
                }
            }
        }
        let mut octets = Vec::new();
        if outputs <= PANEL {
            let groups = if by_row(conv, stride) {
                width * stride / 4
            } else {
                stride / 4
            };
            for pair in lines.chunks_exact(groups).flat_map(|lines| lines.chunks(2)) {
                let mut both = [Line([0; 64]); 2];
                for (which, line) in pair.iter().enumerate() {
                    for (o, four) in line.0.as_chunks::<4>().0.iter().enumerate().take(outputs) {
                        let (to, lane) = match outputs <= HALF {
                            true => (0, 2 * o + which),
                            false if pair.len() == 1 => (0, o),
                            false => (usize::from(o % 2 != which), o / 2 * 2 + which),
                        };
                        both[to].0[4 * lane..][..4].copy_from_slice(four);
                    }
                }
                octets.extend(&both[..outputs.div_ceil(HALF)]);
            }
        }
        let packed = Packed {
            lines: OnceLock::new(),
            octets,
            #[cfg(target_arch = "x86_64")]
            groups: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            depth: each,
        };
        #[cfg(target_arch = "x86_64")]
        if Isa::detect() == Isa::Avx2 {
            packed.groups.get_or_init(|| Groups::new(&lines, |line| &line.0, each));
            return packed;
        }
        packed.lines.get_or_init(|| lines);
        packed
    }

    /// `[panels][taps][stride / 4]` lines. Byte `4·l + j` of a line is the weight of output channel `l` of the panel and input
    /// channel `j` of the group of four.
    #[inline(always)]
    pub(super) fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| self.in_lines())
    }

    #[cfg(target_arch = "x86_64")]
    fn in_lines(&self) -> Vec<Line> {
        let Some(groups) = self.groups.get() else {
            return Vec::new();
        };
        let mut lines = vec![Line([0; 64]); groups.halves() / 2 * self.depth];
        for half in 0..groups.halves() {
            let panel = &mut lines[half / 2 * self.depth..];
            for (group, weights) in groups.half(half).all() {
                panel[group as usize].0[half % 2 * 32..][..32].copy_from_slice(weights);
            }
        }
        lines
    }

    /// There are always lines.
    #[cfg(not(target_arch = "x86_64"))]
    fn in_lines(&self) -> Vec<Line> {
        Vec::new()
    }

    /// The weights in the order in which AVX2 multiplies them.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn groups(&self) -> &Groups {
        let ordered = || Groups::new(self.lines(), |line| &line.0, self.depth);
        self.groups.get_or_init(ordered)
    }
}

/// True if a whole row of the kernel is read at once, because its taps are neighbours in memory.
pub(super) fn by_row(conv: &Conv, stride: usize) -> bool {
    conv.window.dilation[1] == 1 && conv.window.kernel[1] > 1 && stride <= FEW
}

/// The number of bytes from one position to the next. They are whole groups of four, unless the rows of the kernel are.
pub(in crate::integer::channels_last) fn stride(conv: &Conv) -> usize {
    let channels = conv.input.channels;
    let rows = by_row(conv, channels) && (conv.window.kernel[1] * channels).is_multiple_of(4);
    if rows { channels } else { channels.next_multiple_of(4) }
}

/// An upper bound for the bytes that lines take once more on AVX2, which multiplies groups in an order of its own.
#[cfg(target_arch = "x86_64")]
pub(in crate::integer::channels_last) const fn ordered_bytes(lines: usize, panels: usize) -> usize {
    Groups::size(lines, panels)
}

/// Other processors do not need lines once more.
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::integer::channels_last) const fn ordered_bytes(_: usize, _: usize) -> usize {
    0
}
