//! The program `palais`. All of it is in the library of this name, which the program of tests/panics.rs is made of too.

use std::process::ExitCode;

fn main() -> ExitCode {
    palais::main()
}
