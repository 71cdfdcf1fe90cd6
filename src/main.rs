//! The program: parses, runs, exits.

fn main() {}
