//! Tests of the parser: real files, its known traps, and arbitrary damage.
