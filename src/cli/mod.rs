//! The command line: one file a verb, and the table of exit statuses.

mod apply;
mod carry_out;
mod check;
mod devices;
mod exit;
mod explain;
mod facts;
mod history;
mod load;
mod output;
mod plan;
mod rollback;
mod saved;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use exit::{Exit, HELP as EXIT_STATUSES};

/// Keep a machine's storage set-up in a file: plan, apply, roll back
#[derive(Debug, Parser)]
#[command(
    name = "ssdtune",
    version,
    // Wider text is harder to read, and narrower terminals are respected.
    max_term_width = 80,
    after_help = format!("{ABOUT}\n\n{}\n\n{EXAMPLES}", exit::HELP)
)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    common: Common,
}

const ABOUT: &str = "\
A state file in TOML says how fstab's mount options, /tmp on tmpfs, I/O
schedulers and their tunables, read-ahead and queue limits should be. `plan`
shows what differs, `apply` makes it so, now and at every boot, and `rollback`
puts it back.";

const EXAMPLES: &str = "\
Examples:
  ssdtune plan examples/classic.toml
  ssdtune apply --help      each command has a help of its own, with examples";

/// Options of every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Only the running system (now), or its files (boot)
    #[arg(
        long,
        global = true,
        value_name = "now|boot",
        hide_possible_values = true
    )]
    only: Option<Part>,
    /// Work on the system mounted at DIR: its files only
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    /// Colours: auto (on a terminal), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: Color,
    /// Say more: where values come from, what was left out
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Say only what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
}

/// A half of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    // The running system. No doc comments here: they would end up in every `--help`.
    Now,
    // The files that the next boot reads.
    Boot,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    // On a terminal that has not said NO_COLOR.
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Plan(plan::Args),
    Apply(apply::Args),
    Rollback(rollback::Args),
    Status(status::Args),
    History(history::Args),
    Check(check::Args),
    Devices(devices::Args),
    Explain(explain::Args),
    Facts(facts::Args),
}

impl Common {
    fn only(&self) -> crate::plan::Only {
        match self.only {
            // An offline system has files and nothing else.
            _ if self.root.is_some() => crate::plan::Only::Boot,
            None => crate::plan::Only::Both,
            Some(Part::Now) => crate::plan::Only::Now,
            Some(Part::Boot) => crate::plan::Only::Boot,
        }
    }

    fn root(&self) -> PathBuf {
        self.root.clone().unwrap_or_else(|| PathBuf::from("/"))
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match cli.common.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let exit = match run(&cli) {
        Ok(exit) => exit,
        Err(error) => {
            if !error.message.is_empty() {
                output::error(&error.message);
            }
            error.exit
        }
    };
    ExitCode::from(exit.status())
}

/// Why a verb could not do its work, and the exit status that says so.
#[derive(Debug)]
pub struct Error {
    exit: Exit,
    /// Empty where it was said already.
    message: String,
}

impl Error {
    fn failed(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Failed,
            message: message.into(),
        }
    }

    fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }
}

fn run(cli: &Cli) -> Result<Exit, Error> {
    let common = &cli.common;
    if let Some(root) = &common.root
        && !root.is_dir()
    {
        return Err(Error::usage(format!(
            "`--root {}`: there is no such folder",
            root.display()
        )));
    }
    match &cli.verb {
        Verb::Plan(args) => plan::run(args, common),
        Verb::Apply(args) => apply::run(args, common),
        Verb::Rollback(args) => rollback::run(args, common),
        Verb::Status(args) => status::run(args, common),
        Verb::History(args) => history::run(args, common),
        Verb::Check(args) => check::run(args, common),
        Verb::Devices(args) => devices::run(args, common),
        Verb::Explain(args) => explain::run(args, common),
        Verb::Facts(args) => facts::run(args, common),
    }
}
