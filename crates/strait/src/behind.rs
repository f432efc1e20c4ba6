//! A float model that runs behind the integer model, on its outputs.

use std::sync::Arc;

use strait_core::{Module, QuantParams};

use crate::{Error, Outputs, Port, Session, Tensor, TensorView};

/// A model that runs behind another one, and reads its outputs as real numbers. Outputs that it does not read are outputs of
/// both together.
#[derive(Clone)]
pub(crate) struct Behind {
    session: Session,
    front: Arc<[Front]>,
}

/// An output of the model in front.
struct Front {
    name: String,
    /// The grid of the output, if it is codes.
    grid: Option<Arc<QuantParams>>,
    /// True if the model behind reads it.
    is_read: bool,
}

impl Behind {
    /// The model `session` behind `module`, whose outputs are `outputs`.
    pub(crate) fn new(outputs: &[Port], module: &Module, session: Session) -> Result<Behind, Error> {
        let reads: Vec<String> = session.inputs().into_iter().map(|port| port.name).collect();
        if let Some(stranger) = reads
            .iter()
            .find(|name| !outputs.iter().any(|port| port.name == **name))
        {
            return Err(Error::defect(format!(
                "what lies behind the cut reads `{stranger}`, which is no output of the model"
            )));
        }
        let graph = module.main();
        let front = outputs.iter().zip(graph.outputs()).map(|(port, &output)| {
            let codes = graph.value(output).filter(|value| value.ty.elem.int_type().is_some());
            Front {
                is_read: reads.contains(&port.name),
                name: port.name.clone(),
                grid: codes.and_then(|value| value.quant.clone()),
            }
        });
        Ok(Behind {
            front: front.collect(),
            session,
        })
    }

    fn is_kept(&self, name: &str) -> bool {
        self.front.iter().any(|front| front.name == name && !front.is_read)
    }

    /// The outputs of both models together. `own` are those of the model in front.
    pub(crate) fn outputs(&self, own: impl Iterator<Item = Port>) -> Vec<Port> {
        let kept = own.filter(|port| self.is_kept(&port.name));
        kept.chain(self.session.outputs()).collect()
    }

    /// Runs the model behind the outputs of the one in front.
    pub(crate) fn run(&mut self, mut outputs: Outputs) -> Result<Outputs, Error> {
        let read = || self.front.iter().filter(|front| front.is_read);
        for front in read() {
            let (Some(grid), Some(tensor)) = (&front.grid, outputs.get_mut(&front.name)) else {
                continue;
            };
            let codes = tensor.0.to_data().map_err(Error::defect)?;
            let reals = grid.reals(&codes).map_err(Error::defect)?;
            let reals = reals.ok_or_else(|| Error::defect(format!("`{}` does not fit its grid", front.name)))?;
            let shape = tensor.shape().to_vec();
            *tensor = Tensor::new(&shape, &reals)?;
        }
        let views: Vec<(&str, TensorView<'_>)> = read()
            .filter_map(|front| Some((front.name.as_str(), outputs.get(&front.name)?.view())))
            .collect();
        let made = self.session.run(&views)?;
        outputs.retain(|name, _| self.front.iter().any(|front| front.name == *name && !front.is_read));
        outputs.extend(made);
        Ok(outputs)
    }
}
