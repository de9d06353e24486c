//! Number types over which the forward passes run in tests: derivatives and high precision; what must hold of the
//! results is left to the suites.

mod dual;
mod known;
mod octuple;

pub(crate) use dual::Dual;
pub(crate) use octuple::Octuple;
