//! Reads the segments of a file. Each starts with a marker `FF xx`.

use super::{
    Frame, Quantization, ZIGZAG,
    color::Space,
    damaged,
    huffman::Huffman,
    scan::{self, Tables},
};
use crate::{ImageError, Pixels, exif};

/// The largest number of scans. An image with more scans is refused, because each scan takes time even if it has few
/// bytes.
const MOST_SCANS: usize = 256;

/// A position in the bytes of a file.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads the next marker. Bytes that do not belong to a marker are skipped.
    fn marker(&mut self) -> Option<u8> {
        loop {
            let rest = self.bytes.get(self.at..)?;
            let place = rest
                .windows(2)
                .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff))?;
            self.at += place + 2;
            let marker = rest[place + 1];
            // Restart markers outside of a scan are ignored.
            if !(0xd0..=0xd7).contains(&marker) {
                return Some(marker);
            }
        }
    }

    /// Reads the content of the segment at this position.
    fn segment(&mut self) -> Result<&'a [u8], ImageError> {
        let cut = || damaged("a segment is cut short");
        let length = self.bytes.get(self.at..self.at + 2).ok_or_else(cut)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let content = self.bytes.get(self.at + 2..self.at + length.max(2)).ok_or_else(cut)?;
        self.at += length.max(2);
        Ok(content)
    }
}

/// Decodes a file to pixels. Also returns the orientation in the Exif data.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Pixels, u8), ImageError> {
    let mut reader = Reader { bytes, at: 2 };
    let mut quantization: [Option<Quantization>; 4] = [None; 4];
    let mut tables = Tables::default();
    let mut frame: Option<Frame> = None;
    let (mut adobe, mut is_jfif, mut orientation, mut scans, mut restart) = (None, false, 1, 0, 0);
    let mut seen = [false; 256];
    loop {
        let Some(marker) = reader.marker() else {
            // Like other decoders, this one accepts a sequential file without an end marker if nothing else is missing.
            // A progressive file without an end marker is refused, because scans may be missing.
            match &frame {
                Some(frame) if frame.progressive => return Err(damaged("it is cut short")),
                _ => break,
            }
        };
        match marker {
            0xd9 => break,
            0xd8 | 0x01 => {}
            0xc0..=0xc2 => {
                if frame.is_some() {
                    return Err(damaged("it has two frames"));
                }
                frame = Some(Frame::new(reader.segment()?, marker == 0xc2)?);
            }
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Err(ImageError::Unsupported(
                    "JPEG that is lossless, hierarchical or arithmetically coded",
                ));
            }
            0xc4 => huffman(reader.segment()?, &mut tables)?,
            0xdb => steps(reader.segment()?, &mut quantization)?,
            0xdd => match reader.segment()? {
                &[high, low] => restart = usize::from(u16::from_be_bytes([high, low])),
                _ => return Err(damaged("its restart interval has a wrong length")),
            },
            0xda => {
                let header = reader.segment()?;
                let frame = frame.as_mut().ok_or_else(|| damaged("a scan comes before the frame"))?;
                scans += 1;
                if scans > MOST_SCANS {
                    return Err(damaged("it has too many scans"));
                }
                let rest = &bytes[reader.at..];
                reader.at += scan::decode(frame, header, rest, &tables, &quantization, restart, &mut seen)?;
            }
            0xe0 => is_jfif |= reader.segment()?.starts_with(b"JFIF\0"),
            0xe1 => {
                if let Some(block) = reader.segment()?.strip_prefix(b"Exif\0\0") {
                    orientation = exif::orientation(block);
                }
            }
            0xee => {
                if let [b'A', b'd', b'o', b'b', b'e', .., transform] = reader.segment()? {
                    adobe = Some(*transform);
                }
            }
            _ => _ = reader.segment()?,
        }
    }
    let mut frame = frame.ok_or_else(|| damaged("it has no frame"))?;
    if frame
        .components
        .iter()
        .any(|component| !seen[usize::from(component.id)])
    {
        return Err(damaged("it is cut short: a component has no scan"));
    }
    if frame.progressive {
        frame.transform(&quantization)?;
    }
    let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
    let space = match (ids.as_slice(), adobe) {
        ([_], _) => Space::Gray,
        ([_, _, _], Some(0)) if !is_jfif => Space::Rgb,
        ([b'R', b'G', b'B'], None) if !is_jfif => Space::Rgb,
        ([_, _, _], _) => Space::Ycc,
        (_, Some(2)) => Space::Ycck,
        _ => Space::Cmyk,
    };
    Ok((frame.pixels(space), orientation))
}

/// Reads Huffman tables. Each table consists of its class (DC or AC) and its position, the number of codes of each of
/// the 16 lengths, and the symbols.
fn huffman(mut content: &[u8], tables: &mut Tables) -> Result<(), ImageError> {
    let broken = || damaged("a Huffman table is broken");
    while let Some((&head, rest)) = content.split_first() {
        let (counts, rest) = rest.split_first_chunk::<16>().ok_or_else(broken)?;
        let symbols: usize = counts.iter().map(|&count| usize::from(count)).sum();
        let (symbols, rest) = rest.split_at_checked(symbols).ok_or_else(broken)?;
        let class = match head >> 4 {
            0 => &mut tables.dc,
            1 => &mut tables.ac,
            _ => return Err(broken()),
        };
        let place = class.get_mut(usize::from(head & 15)).ok_or_else(broken)?;
        *place = Some(Huffman::new(counts, symbols).ok_or_else(broken)?);
        content = rest;
    }
    Ok(())
}

/// Reads quantization tables. Each table consists of the width of its numbers and its position, and of 64 quantization
/// steps in zigzag order.
fn steps(mut content: &[u8], tables: &mut [Option<Quantization>; 4]) -> Result<(), ImageError> {
    let broken = || damaged("a quantization table is broken");
    while let Some((&head, rest)) = content.split_first() {
        let wide = match head >> 4 {
            0 => 1,
            1 => 2,
            _ => return Err(broken()),
        };
        let (coded, rest) = rest.split_at_checked(64 * wide).ok_or_else(broken)?;
        let mut table = [0; 64];
        for (step, &place) in coded.chunks_exact(wide).zip(&ZIGZAG) {
            table[usize::from(place)] = step.iter().fold(0, |step, &byte| step << 8 | u16::from(byte));
        }
        *tables.get_mut(usize::from(head & 15)).ok_or_else(broken)? = Some(table);
        content = rest;
    }
    Ok(())
}
