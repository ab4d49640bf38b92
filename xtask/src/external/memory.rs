//! The real binary beside server-memory from npm: the same calls on the nine tools they share, the answers compared.
//! The script is `xtask/python/memory.py`; it lists what may differ, and why.

use std::process::Command;

use super::python::checks;
use crate::steps::{Context, Tally};

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let python = context.cache.python(&mut context.log)?.python;
    let node = context.cache.node(&mut context.log)?;
    let server_memory = context.cache.server_memory(&mut context.log)?;
    let diptych = context.binary()?;
    let mut command = Command::new(python);
    command.arg(context.root.join("xtask/python/memory.py"));
    command.arg("--diptych").arg(diptych).arg("--node").arg(node).arg("--server-memory").arg(server_memory);
    checks(context, command)
}
