//! Notes as bytes, so that processes that share the samples can exchange them.

use strait_exchange::{Portable, Reader};

use crate::{
    answers::Answers,
    meter::Note,
    metrics::{Claim, Flip, Flipped, OneAnswer},
};

impl Portable for Note {
    fn write(&self, out: &mut Vec<u8>) {
        let mut tag = |tag: u8| out.push(tag);
        match self {
            Note::Nothing => tag(0),
            Note::Right(counts) => {
                tag(1);
                counts.write(out);
            }
            Note::Answer(answers) => {
                tag(2);
                answers.write(out);
            }
            Note::Alike(counts) => {
                tag(3);
                counts.write(out);
            }
            Note::Total(sum, count) => {
                tag(4);
                (*sum, *count).write(out);
            }
            Note::Flipped(flipped) => {
                tag(5);
                (flipped.answers, flipped.flips.clone()).write(out);
            }
            Note::Number(number) => {
                tag(6);
                number.write(out);
            }
            Note::Compared(numbers) => {
                tag(7);
                numbers.write(out);
            }
            Note::InParts(whole, parts) => {
                tag(8);
                whole.write(out);
                parts.write(out);
            }
            Note::Regions(regions) => {
                tag(9);
                regions.write(out);
            }
            Note::Claims(claims) => {
                tag(10);
                claims.write(out);
            }
            Note::Answered(answer) => {
                tag(11);
                (answer.class, answer.score).write(out);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Note> {
        Some(match u8::read(from)? {
            0 => Note::Nothing,
            1 => Note::Right(Portable::read(from)?),
            2 => Note::Answer(Portable::read(from)?),
            3 => Note::Alike(Portable::read(from)?),
            4 => Note::Total(Portable::read(from)?, Portable::read(from)?),
            5 => Note::Flipped(Flipped {
                answers: Portable::read(from)?,
                flips: Portable::read(from)?,
            }),
            6 => Note::Number(Portable::read(from)?),
            7 => Note::Compared(Portable::read(from)?),
            8 => Note::InParts(Portable::read(from)?, Portable::read(from)?),
            9 => Note::Regions(Portable::read(from)?),
            10 => Note::Claims(Portable::read(from)?),
            11 => {
                let (class, score) = Portable::read(from)?;
                Note::Answered(OneAnswer { class, score })
            }
            _ => return None,
        })
    }
}

impl Portable for Answers {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Answers::Classes(classes) => {
                out.push(0);
                classes.write(out);
            }
            Answers::Numbers(digest) => {
                out.push(1);
                digest.write(out);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Answers> {
        match u8::read(from)? {
            0 => Portable::read(from).map(Answers::Classes),
            1 => Portable::read(from).map(Answers::Numbers),
            _ => None,
        }
    }
}

impl Portable for Flip {
    fn write(&self, out: &mut Vec<u8>) {
        self.answer.write(out);
        [self.label, self.float, self.integer].write(out);
        self.margins.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Flip> {
        let (answer, [label, float, integer]) = Portable::read(from)?;
        Some(Flip {
            answer,
            label,
            float,
            integer,
            margins: Portable::read(from)?,
        })
    }
}

impl Portable for Claim {
    fn write(&self, out: &mut Vec<u8>) {
        (self.class, (self.score, self.hits)).write(out);
    }

    fn read(from: &mut Reader<'_>) -> Option<Claim> {
        let (class, (score, hits)) = Portable::read(from)?;
        Some(Claim { class, score, hits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_is_read_as_it_was_written() {
        let flip = Flip {
            answer: 3,
            label: Some(-1),
            float: None,
            integer: Some(7),
            margins: Some([0.5, -0.0]),
        };
        let flipped = Flipped {
            answers: 9,
            flips: vec![flip],
        };
        let claim = Claim {
            class: 2,
            score: 0.25,
            hits: 513,
        };
        let compared = [Some([1.0, f64::INFINITY]), None];
        let notes = [
            Note::Nothing,
            Note::Right([1, 2]),
            Note::Answer(Answers::Classes(vec![5, -5])),
            Note::Answer(Answers::Numbers([7; 32])),
            Note::Alike([None, Some([3, 4])]),
            Note::Total(f64::MAX, 6),
            Note::Flipped(flipped),
            Note::Number(0.1),
            Note::Compared(compared),
            Note::InParts(compared, vec![compared, [None; 2]]),
            Note::Regions(vec![(1, [2, 3])]),
            Note::Claims(vec![claim; 2]),
            Note::Answered(OneAnswer {
                class: -3,
                score: Some([0.5, 0.25]),
            }),
        ];
        let mut bytes = Vec::new();
        notes.to_vec().write(&mut bytes);
        let mut reader = Reader::new(&bytes);
        let read: Vec<Note> = Portable::read(&mut reader).unwrap();
        assert!(reader.is_empty());
        assert_eq!(format!("{read:?}"), format!("{notes:?}"));
        for cut in 0..bytes.len() {
            assert!(<Vec<Note>>::read(&mut Reader::new(&bytes[..cut])).is_none());
        }
    }
}
