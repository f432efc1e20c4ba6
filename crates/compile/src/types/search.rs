//! Sorts candidates by what is gained for the cost, and finds how many of them are enough.

/// Something that can be changed: what it gains, and what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Candidate {
    /// How much smaller the noise at the outputs becomes, or larger.
    pub noise: f64,
    /// What the change costs, or saves.
    pub cost: f64,
    /// The share of the budget that it takes.
    pub share: f64,
}

/// Candidates, with the order in which they are taken.
#[derive(Clone, Debug)]
pub struct Candidates<'a>(pub &'a [Candidate]);

impl Candidates<'_> {
    /// The indices of the candidates that gain something, those first that gain most for their cost.
    pub fn order(&self) -> Vec<usize> {
        let rate = |at: &usize| {
            self.0
                .get(*at)
                .map_or(0.0, |one| one.noise / one.cost.max(f64::MIN_POSITIVE))
        };
        let gains = |at: &usize| self.0.get(*at).is_some_and(|one| one.noise > 0.0);
        let mut order: Vec<usize> = (0..self.0.len()).filter(gains).collect();
        order.sort_by(|one, other| rate(other).total_cmp(&rate(one)).then(one.cmp(other)));
        order
    }

    /// Those of the candidates, in their order, that together stay within a budget. One that does not fit any more is left
    /// out, and those after it are still tried.
    pub fn within(&self, order: &[usize], budget: f64) -> Vec<usize> {
        let mut left = budget + 1e-12;
        let fits = |at: &usize| {
            let share = self.0.get(*at).map_or(0.0, |one| one.share);
            let fits = share <= left;
            left -= if fits { share } else { 0.0 };
            fits
        };
        order.iter().copied().filter(fits).collect()
    }

    /// The shares of candidates together.
    pub fn share(&self, of: &[usize]) -> f64 {
        of.iter().filter_map(|&at| self.0.get(at)).map(|one| one.share).sum()
    }
}

/// The outcome of [`least`].
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The smallest number that is enough. `None` if all are not enough.
    pub count: Option<usize>,
    /// All numbers that were measured, in ascending order, with the results.
    pub measured: Vec<(usize, f64)>,
}

/// Finds the smallest number of candidates for which `measure` is at most `most`, by halving: as a rule, more candidates
/// are better. `known` is the result for none of them, which is not enough. After `trials` measurements, the smallest number so
/// far is taken.
///
/// # Errors
/// Errors of `measure`.
pub fn least<E>(
    all: usize,
    (known, most): (f64, f64),
    trials: usize,
    mut measure: impl FnMut(usize) -> Result<f64, E>,
) -> Result<Found, E> {
    let mut measured = vec![(0, known)];
    let (mut low, mut high) = (0, all);
    let mut count = None;
    if all > 0 {
        let result = measure(all)?;
        measured.push((all, result));
        count = (result <= most).then_some(all);
    }
    while count.is_some() && high - low > 1 && measured.len() <= trials {
        let middle = low + (high - low) / 2;
        let result = measure(middle)?;
        measured.push((middle, result));
        if result <= most {
            (high, count) = (middle, Some(middle));
        } else {
            low = middle;
        }
    }
    measured.sort_by_key(|(count, _)| *count);
    Ok(Found { count, measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(noise: f64, cost: f64, share: f64) -> Candidate {
        Candidate { noise, cost, share }
    }

    #[test]
    fn what_gains_most_for_its_cost_comes_first_and_what_gains_nothing_never() {
        let all = [
            candidate(1.0, 10.0, 0.5),
            candidate(4.0, 1.0, 0.1),
            candidate(0.0, 1.0, 0.0),
            candidate(4.0, 10.0, 0.6),
            candidate(4.0, 1.0, 0.1),
        ];
        let all = Candidates(&all);
        let order = all.order();
        assert_eq!(order, [1, 4, 3, 0]);
        // One that does not fit is left out, and a smaller one behind it is not.
        assert_eq!(all.within(&order, 0.2), [1, 4]);
        assert_eq!(all.within(&order, 0.7), [1, 4, 0]);
        assert_eq!(all.within(&order, 1.3), order);
    }

    #[test]
    fn the_smallest_number_that_is_enough_is_found_with_few_measurements() {
        for all in 1..40_usize {
            for enough in 1..=all {
                let mut measurements = 0;
                let found = least(all, (9.0, 1.0), usize::MAX, |count| {
                    measurements += 1;
                    Ok::<_, ()>(if count >= enough { 0.5 } else { 2.0 })
                });
                let found = found.unwrap_or_else(|()| panic!("nothing fails"));
                assert_eq!(found.count, Some(enough));
                assert!(measurements <= 2 + all.ilog2(), "{measurements} of {all}");
            }
        }
        let found = least(5, (9.0, 1.0), usize::MAX, |_| Ok::<_, ()>(2.0)).ok();
        let measured = vec![(0, 9.0), (5, 2.0)];
        assert_eq!(found, Some(Found { count: None, measured }));
        let found = least(100, (9.0, 1.0), 2, |_| Ok::<_, ()>(1.0)).ok();
        let measured = vec![(0, 9.0), (50, 1.0), (100, 1.0)];
        assert_eq!(
            found,
            Some(Found {
                count: Some(50),
                measured
            })
        );
    }
}
