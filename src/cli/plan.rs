//! `ssdtune plan`: what would change.

use std::path::PathBuf;

use super::{Common, Error, Exit, load, output};
use crate::render::plan::{Detail, page};

/// Show what differs from the state, and what apply would do. Changes nothing, needs no root
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ssdtune plan                              the files of /etc/ssdtune
  ssdtune plan examples/classic.toml        this file
  ssdtune plan -v --diff base.toml host.toml
  ssdtune facts > lab-3.json; ssdtune plan --facts lab-3.json state.toml   on another machine")]
pub struct Args {
    /// State files or folders of them; later ones win. Without any: /etc/ssdtune
    state: Vec<PathBuf>,
    /// Plan for the machine that `ssdtune facts` wrote to FILE
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Show generated files in full
    #[arg(long)]
    diff: bool,
    /// Exit with 3 where changes are pending
    #[arg(long)]
    detailed_exitcode: bool,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    let state = load::state(&args.state, common)?;
    let scope = load::scope(&state, common);
    let facts = load::facts(args.facts.as_deref(), &scope, common)?;
    let plan = crate::plan::plan(&state, &facts, common.only());
    if common.json {
        output::json(&crate::render::json::plan(&plan))?;
    } else if !common.quiet {
        output::page(&page(
            &plan,
            Detail {
                verbose: common.verbose,
                diff: args.diff,
            },
        ))?;
        unread(&facts, common);
    }
    if !plan.errors.is_empty() {
        return Ok(Exit::Failed);
    }
    if args.detailed_exitcode && !plan.is_empty() {
        return Ok(Exit::Pending);
    }
    Ok(Exit::Done)
}

/// A plan says what it could not see.
pub fn unread(facts: &crate::facts::Facts, common: &Common) {
    const SHOWN: usize = 5;
    let shown = if common.verbose { usize::MAX } else { SHOWN };
    for unread in facts.unread.iter().take(shown) {
        output::warning(&format!("could not read `{}`: {}", unread.path, unread.why));
    }
    if facts.unread.len() > shown {
        output::warning(&format!(
            "and {} more that could not be read (-v shows all)",
            facts.unread.len() - shown
        ));
    }
}
