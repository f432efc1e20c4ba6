//! A pass over samples, which several processes may share.

use crate::error::ExecuteError;
use crate::samples::{SampleError, map_in_order};
use crate::tensor::Tensor;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::Elem;
use strait_exchange::{Exchange, ExchangeError, Portable, Reader};

/// A pass over samples.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The exchange with the processes that have the other shares. `None` if one process has all samples.
    pub exchange: Option<&'a Exchange<'a>>,
    /// The name of the pass.
    pub name: &'a str,
    /// The number of samples.
    pub count: usize,
    /// The number of threads.
    pub threads: NonZeroUsize,
}

impl Pass<'_> {
    /// Works on all samples as [`map_in_order`] does. If several processes share the pass, this one works on the samples of its
    /// own share, and `sink` gets the results of all shares, in the order of the samples. If an earlier process with the same
    /// share has left its results, they are used.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn map<W, R: Portable + Send, E: Send>(
        &self,
        worker: impl Fn() -> Result<W, ExecuteError> + Sync,
        work: impl Fn(&mut W, usize) -> Result<R, E> + Sync,
        sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), SampleError<E>> {
        match self.exchange {
            None => map_in_order(self.count, self.threads, worker, work, sink),
            Some(exchange) => {
                let work = |own: &mut W, at: usize| Ok(((), work(own, at)?));
                self.shared(exchange, true, (worker, work), |_, ()| Ok(()), sink)
            }
        }
    }

    /// Like [`Pass::map`], with a part of each result that stays in this process: `keep` gets it for the samples of the own
    /// share.
    ///
    /// # Errors
    /// See [`SampleError`].
    pub fn map_keeping<W, L: Send, R: Portable + Send, E: Send>(
        &self,
        worker: impl Fn() -> Result<W, ExecuteError> + Sync,
        work: impl Fn(&mut W, usize) -> Result<(L, R), E> + Sync,
        mut keep: impl FnMut(usize, L) -> Result<(), E>,
        mut sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), SampleError<E>> {
        match self.exchange {
            None => map_in_order(self.count, self.threads, worker, work, |at, (kept, result)| {
                keep(at, kept)?;
                sink(at, result)
            }),
            Some(exchange) => self.shared(exchange, false, (worker, work), keep, sink),
        }
    }

    /// Works on the own share, writes the results, and reads those of all shares. If `reuses` is true, results that an earlier
    /// process has left are not computed again.
    fn shared<W, L: Send, R: Portable + Send, E: Send>(
        &self,
        exchange: &Exchange<'_>,
        reuses: bool,
        (worker, work): (
            impl Fn() -> Result<W, ExecuteError> + Sync,
            impl Fn(&mut W, usize) -> Result<(L, R), E> + Sync,
        ),
        mut keep: impl FnMut(usize, L) -> Result<(), E>,
        mut sink: impl FnMut(usize, R) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), SampleError<E>> {
        let own = exchange.share().range(self.count);
        let step = exchange.step(self.name, &self.count.to_le_bytes());
        if !(reuses && step.own().map_err(failed)?.is_some()) {
            let mut out = step.begin(own.len()).map_err(failed)?;
            // An error of the exchange ends the run over the samples, and is returned after it.
            let (mut error, mut bytes) = (None, Vec::new());
            let ran = map_in_order(
                own.len(),
                self.threads,
                worker,
                |worker: &mut W, at| work(worker, own.start + at),
                |at, (kept, result)| {
                    keep(own.start + at, kept)?;
                    bytes.clear();
                    result.write(&mut bytes);
                    error = out.put(&bytes).err();
                    Ok(match error.is_none() && exchange.advance(at + 1) {
                        true => ControlFlow::Continue(()),
                        false => ControlFlow::Break(()),
                    })
                },
            );
            error.map_or(Ok(()), |error| Err(failed(error)))?;
            ran.map_err(|error| error.from(own.start))?;
            step.finish(out).map_err(failed)?;
        }
        for file in step.all().map_err(failed)? {
            let range = file.share().range(self.count);
            for (index, record) in range.clone().zip(file.records(range.len()).map_err(failed)?) {
                let result: R = file.read(record).map_err(failed)?;
                let flow = sink(index, result).map_err(|source| SampleError::Sample { index, source })?;
                if flow.is_break() && index + 1 < self.count {
                    return Err(SampleError::Stopped { done: index + 1 });
                }
            }
        }
        Ok(())
    }
}

fn failed<E>(error: ExchangeError) -> SampleError<E> {
    match error {
        ExchangeError::Stopped => SampleError::Stopped { done: 0 },
        error => SampleError::Worker(error.into()),
    }
}

impl<E> SampleError<E> {
    /// The error of a run over a share that begins at a sample.
    fn from(self, start: usize) -> SampleError<E> {
        match self {
            SampleError::Sample { index, source } => SampleError::Sample {
                index: start + index,
                source,
            },
            other => other,
        }
    }
}

impl Portable for Tensor {
    fn write(&self, out: &mut Vec<u8>) {
        self.elem().tag().write(out);
        self.shape().to_vec().write(out);
        let view = self.view();
        view.bytes().len().write(out);
        out.extend_from_slice(view.bytes());
    }

    fn read(from: &mut Reader<'_>) -> Option<Tensor> {
        let tag = u8::read(from)?;
        let elem = Elem::ALL.iter().copied().find(|elem| elem.tag() == tag)?;
        let shape: Vec<usize> = Portable::read(from)?;
        let length = from.length()?;
        Tensor::from_bytes(elem, &shape, from.bytes(length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use strait_exchange::{Quiet, Share};

    const COUNT: usize = 10;

    /// Does two passes as one of several shares. Returns the results, the samples that were kept here, and how often work was
    /// done.
    fn passes(folder: &Path, part: usize, parts: usize) -> (Vec<(usize, u64)>, Vec<usize>, usize) {
        let share = Share::new(part, parts).unwrap();
        let exchange = Exchange::new(folder, share, Duration::from_secs(20), Quiet).unwrap();
        let (mut results, mut kept, worked) = (Vec::new(), Vec::new(), AtomicUsize::new(0));
        let pass = Pass {
            exchange: Some(&exchange),
            name: "test",
            count: COUNT,
            threads: NonZeroUsize::new(2).unwrap(),
        };
        let work = |(): &mut (), at: usize| {
            worked.fetch_add(1, Ordering::SeqCst);
            Ok::<_, ExecuteError>((at as u64).pow(2))
        };
        let go_on = |results: &mut Vec<(usize, u64)>, at, result| {
            results.push((at, result));
            Ok(ControlFlow::Continue(()))
        };
        pass.map(|| Ok(()), work, |at, result| go_on(&mut results, at, result))
            .unwrap();
        pass.map_keeping(
            || Ok(()),
            |own, at| Ok((at, work(own, at)? + 1)),
            |at, own| {
                assert_eq!(at, own);
                kept.push(at);
                Ok(())
            },
            |at, result| go_on(&mut results, at, result),
        )
        .unwrap();
        (results, kept, worked.into_inner())
    }

    #[test]
    fn shares_get_the_results_of_all_samples_in_order() {
        let squares = |added: u64| (0..COUNT).map(move |at| (at, (at as u64).pow(2) + added));
        let expected: Vec<(usize, u64)> = squares(0).chain(squares(1)).collect();
        for parts in [1, 2, 3, 12] {
            let folder = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                let folder = folder.path();
                let shares: Vec<_> = (1..=parts)
                    .map(|part| scope.spawn(move || passes(folder, part, parts)))
                    .collect();
                for (part, share) in (1..).zip(shares) {
                    let (results, kept, worked) = share.join().unwrap();
                    let own = Share::new(part, parts).unwrap().range(COUNT);
                    assert_eq!((results, worked), (expected.clone(), 2 * own.len()));
                    assert_eq!(kept, own.collect::<Vec<_>>());
                }
            });
            // A share that is started again only computes what it needs itself.
            let (results, kept, worked) = passes(folder.path(), 1, parts);
            assert_eq!((results, worked), (expected.clone(), kept.len()));
        }
    }

    #[test]
    fn an_error_names_the_sample_among_all() {
        let folder = tempfile::tempdir().unwrap();
        let share = Share::new(2, 2).unwrap();
        let exchange = Exchange::new(folder.path(), share, Duration::from_secs(20), Quiet).unwrap();
        let pass = Pass {
            exchange: Some(&exchange),
            name: "test",
            count: COUNT,
            threads: NonZeroUsize::MIN,
        };
        let work = |(): &mut (), at: usize| if at == 7 { Err("bad") } else { Ok(0u8) };
        let ran = pass.map(|| Ok(()), work, |_, _| Ok(ControlFlow::Continue(())));
        assert_eq!(
            ran,
            Err(SampleError::Sample {
                index: 7,
                source: "bad"
            })
        );
    }

    #[test]
    fn a_tensor_is_read_as_it_was_written() {
        let tensor = Tensor::from_values(&[2, 3], &[1.0f32, -0.0, f32::INFINITY, 2.5, 0.0, 9.0]).unwrap();
        let mut bytes = Vec::new();
        tensor.write(&mut bytes);
        let read = Tensor::read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((read.elem(), read.shape()), (tensor.elem(), tensor.shape()));
        assert_eq!(read.view().bytes(), tensor.view().bytes());
        for cut in 0..bytes.len() {
            assert!(Tensor::read(&mut Reader::new(&bytes[..cut])).is_none());
        }
    }
}
