use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One value for the whole tensor, or one value for each output channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per<T> {
    /// One value for all channels. Their number does not matter.
    Tensor(T),
    /// One value for each output channel. Value `c` belongs to output channel `c`.
    Channel(Arc<[T]>),
}

impl<T> Per<T> {
    /// The value for a channel. `None` if there is no such channel.
    pub fn get(&self, channel: usize) -> Option<&T> {
        match self {
            Per::Tensor(value) => Some(value),
            Per::Channel(values) => values.get(channel),
        }
    }

    /// The number of channels. `None` if one value is used for any number of channels.
    pub fn channels(&self) -> Option<usize> {
        match self {
            Per::Tensor(_) => None,
            Per::Channel(values) => Some(values.len()),
        }
    }

    /// The stored values: one value for `Tensor`, one for each channel for `Channel`.
    pub fn values(&self) -> &[T] {
        match self {
            Per::Tensor(value) => std::slice::from_ref(value),
            Per::Channel(values) => values,
        }
    }

    /// Applies a function to each value.
    pub fn map<U>(&self, f: impl FnMut(&T) -> U) -> Per<U> {
        match self {
            Per::Tensor(value) => Per::Tensor({ f }(value)),
            Per::Channel(values) => Per::Channel(values.iter().map(f).collect()),
        }
    }

    /// Applies a function to each value, or returns the first error.
    pub fn try_map<U, E>(&self, mut f: impl FnMut(&T) -> Result<U, E>) -> Result<Per<U>, E> {
        Ok(match self {
            Per::Tensor(value) => Per::Tensor(f(value)?),
            Per::Channel(values) => Per::Channel(values.iter().map(f).collect::<Result<_, E>>()?),
        })
    }

    /// Keeps only the values of these channels, in this order. A single value for all channels does not change. Returns
    /// `None` if one of the channels does not exist.
    pub(crate) fn select(&mut self, channels: &[usize]) -> Option<()>
    where
        T: Clone,
    {
        if let Per::Channel(values) = self {
            *values = channels
                .iter()
                .map(|&c| values.get(c).cloned())
                .collect::<Option<_>>()?;
        }
        Some(())
    }

    /// True if `f` is true for every value.
    pub fn all(&self, f: impl FnMut(&T) -> bool) -> bool {
        self.values().iter().all(f)
    }
}

impl<T> From<T> for Per<T> {
    fn from(value: T) -> Self {
        Per::Tensor(value)
    }
}

impl<T> FromIterator<T> for Per<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Per::Channel(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_value_fits_any_channel_and_a_channel_value_only_its_own() {
        let tensor = Per::from(3);
        assert_eq!((tensor.get(1000), tensor.channels()), (Some(&3), None));
        let channel: Per<i32> = [1, 2].into_iter().collect();
        assert_eq!(
            (channel.get(1), channel.get(2), channel.channels()),
            (Some(&2), None, Some(2))
        );
        assert_eq!(channel.map(|v| v * 10).values(), [10, 20]);
        assert_eq!(channel.try_map(|v| if *v < 2 { Ok(*v) } else { Err(*v) }), Err(2));
        assert!(channel.all(|v| *v > 0) && !tensor.all(|v| *v > 3));
    }
}
