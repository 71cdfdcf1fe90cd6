//! `ssdtune plan`: what would change.

use std::path::PathBuf;

use super::{Common, Error, Exit, carry_out, load, output, saved};
use crate::render::plan::{Detail, NOT_YET, page};
use crate::snapshot::Store;

/// Show what differs from the state; changes nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Needs no root; what it could not read, it says.

Examples:
  ssdtune plan                             the state files of /etc/ssdtune
  ssdtune plan state.toml
  ssdtune plan -v --diff base.toml host.toml
                                           later files win; with the place of
                                           each value and the exact udev rules
  ssdtune plan --detailed-exitcode -q state.toml
                                           in a script: 3 if changes are pending
  ssdtune facts > lab-3.json               on one machine, and on another:
  ssdtune plan --facts lab-3.json state.toml
  ssdtune plan --out p.json state.toml     to be read first, then carried out as
  sudo ssdtune apply --plan p.json         it stands, or refused")]
pub struct Args {
    /// State files or folders, later ones win; else /etc/ssdtune
    state: Vec<PathBuf>,
    /// Plan for the machine in FILE, as `ssdtune facts` wrote it
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Keep the plan in FILE, for `apply --plan FILE`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show generated files in full
    #[arg(long)]
    diff: bool,
    /// Exit with 3 if changes are pending
    #[arg(long)]
    detailed_exitcode: bool,
}

pub fn run(args: &Args, common: &Common) -> Result<Exit, Error> {
    if args.facts.is_some() && common.root.is_some() {
        return Err(Error::usage(
            "`--facts` is one machine and `--root` another: leave one out",
        ));
    }
    let state = load::state(&args.state, load::Purpose::Show, common)?;
    if args.facts.is_none()
        // Only root can see it.
        && let Ok(Some(snapshot)) = Store::open(common.root()).interrupted()
    {
        output::warning(&carry_out::was_interrupted(&snapshot));
    }
    let scope = load::scope(&state, common);
    let facts = load::facts(args.facts.as_deref(), &scope, common)?;
    let plan = crate::plan::plan(&state, &facts, common.only());
    if common.json {
        output::json(&crate::render::json::plan(&plan))?;
    } else if common.quiet {
        errors(&plan);
    } else {
        output::page(&page(
            &plan,
            Detail {
                verbose: common.verbose,
                diff: args.diff,
            },
            NOT_YET,
        ))?;
        unread(&facts, common);
    }
    if !plan.errors.is_empty() {
        if args.out.is_some() {
            output::error("a plan with errors cannot be carried out, and was not kept");
        }
        return Ok(Exit::Failed);
    }
    let pending = !plan.is_empty();
    if let Some(path) = &args.out {
        saved::keep(path, &state, args.facts.is_some(), plan, common)?;
    }
    if args.detailed_exitcode && pending {
        return Ok(Exit::Pending);
    }
    Ok(Exit::Done)
}

/// What went wrong is said even where nothing else is.
pub fn errors(plan: &crate::plan::Plan) {
    for notice in &plan.errors {
        output::error(&notice.text);
    }
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
