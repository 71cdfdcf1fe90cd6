//! The program: parses, runs, exits.

fn main() -> std::process::ExitCode {
    ssdtune::cli::main()
}
