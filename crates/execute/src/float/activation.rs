//! Piecewise functions of one variable: relu, clip, leaky relu, hard sigmoid, elu.

use crate::elementwise::{map, map_each};
use crate::prelude::*;
use strait_kernels::Context;
use strait_kernels::float::{Unary, unary};

struct Activation<F>(F);

// The comparisons in this file are arranged such that a NaN stays a NaN.

impl Executable for op::Relu {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        step(|x| if x < 0.0 { 0.0 } else { x })
    }
}

impl Executable for op::Clip {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (min, max) = (self.min, self.max);
        step(move |x| {
            let above = if x < min { min } else { x };
            if above > max { max } else { above }
        })
    }
}

impl Executable for op::LeakyRelu {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let alpha = self.alpha;
        step(move |x| if x < 0.0 { alpha * x } else { x })
    }
}

impl Executable for op::HardSigmoid {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        let (alpha, beta) = (self.alpha, self.beta);
        step(move |x| {
            let line = alpha * x + beta;
            let above = if line < 0.0 { 0.0 } else { line };
            if above > 1.0 { 1.0 } else { above }
        })
    }
}

impl Executable for op::Elu {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        Ok(Box::new(Elu { alpha: self.alpha }))
    }
}

fn step(function: impl Fn(f32) -> f32 + Send + Sync + 'static) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(Activation(function)))
}

impl<F: Fn(f32) -> f32 + Send + Sync> Step for Activation<F> {
    fn orders(&self) -> Orders {
        Orders::Any
    }

    fn in_place(&self) -> &[usize] {
        &[0]
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        map_each(io.operand(0)?, io.output()?, &self.0)
    }
}

/// Computes x where x ≥ 0, and alpha·(exp(x) − 1) elsewhere.
struct Elu {
    alpha: f32,
}

impl Elu {
    fn piece(&self, context: &Context, input: &[f32], out: &mut [f32]) -> Result<(), StepError> {
        unary(context, Unary::Exp, input, out)?;
        for (y, &x) in out.iter_mut().zip(input) {
            *y = if x < 0.0 { self.alpha * (*y - 1.0) } else { x };
        }
        Ok(())
    }
}

impl Step for Elu {
    fn orders(&self) -> Orders {
        Orders::Any
    }

    fn in_place(&self) -> &[usize] {
        &[0]
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let context = io.context;
        map(io.operand(0)?, io.output()?, |input, out| {
            self.piece(context, input, out)
        })
    }
}
