//! Records as text and JSON for people and for CI; the verdicts in them are made elsewhere.

mod agreement;
mod failure;
mod json;
mod table;

pub use agreement::{Agreement, agreements};
pub use failure::failure_text;
pub use json::{Run, write_json};
pub use table::{Counters, verdict_table};
