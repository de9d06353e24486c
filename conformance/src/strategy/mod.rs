//! What is generated: shapes, layouts, regimes and seeds, as one small value that shrinks, prints as one word and rebuilds its arrays; what is done with a case is left to `campaign`.

mod draft;
mod layout;
mod regime;
mod shapes;
mod spec;

pub use layout::Layout;
pub use regime::Regime;
pub(crate) use spec::shape_of;
pub use spec::{InitialState, Spec, SpecError, specs};
