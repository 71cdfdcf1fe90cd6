//! Plans in files: `plan --out FILE`, `apply --plan FILE`.

use std::path::Path;

use super::{Common, Error, carry_out, load, output};
use crate::apply::moved;
use crate::facts::Image;
use crate::format::text::Text;
use crate::plan::{LARGEST, Plan, SAVED_VERSION, Saved};
use crate::snapshot::Store;
use crate::state::{self, DesiredState};
use crate::system::{Effect, Live, System as _};

/// Keeps a plan in a file that nobody else may read: it holds fstab whole.
pub fn keep(
    path: &Path,
    state: &DesiredState,
    whole: bool,
    plan: Plan,
    common: &Common,
) -> Result<(), Error> {
    let failed =
        |why: &dyn std::fmt::Display| Error::failed(format!("`{}`: {why}", path.display()));
    let saved = Saved {
        version: SAVED_VERSION,
        only: common.only(),
        whole,
        state: state.sources.clone(),
        plan,
    };
    let json = saved.to_json().map_err(|error| failed(&error))?;
    // The folder by its real name; the file itself may not be a link.
    let absolute = std::path::absolute(path).map_err(|error| failed(&error))?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(failed(&"it is a folder"));
    };
    if absolute.is_dir() {
        return Err(failed(&"it is a folder"));
    }
    let folder = fs_err::canonicalize(folder).map_err(|error| Error::failed(error.to_string()))?;
    let image = Image {
        bytes: Text(json),
        uid: nix::unistd::geteuid().as_raw(),
        gid: nix::unistd::getegid().as_raw(),
        mode: 0o600,
        ..Image::default()
    };
    Live::new("/")
        .perform(&Effect::Record {
            path: Text::from(folder.join(name).as_os_str().as_encoded_bytes()),
            image,
        })
        .map_err(|error| Error::failed(error.to_string()))?;
    if !common.quiet {
        output::say(&format!(
            "Kept in `{0}`: `ssdtune apply --plan {0}` carries it out as it stands.",
            path.display()
        ));
    }
    Ok(())
}

/// Reads a plan that was kept, and the state that it was made from.
pub fn read(path: &Path) -> Result<(Saved, DesiredState), Error> {
    let wrong = |why: &dyn std::fmt::Display| Error::usage(format!("`{}`: {why}", path.display()));
    let meta = path
        .metadata()
        .map_err(|error| wrong(&load::plain(&error)))?;
    if let Some(why) = load::distrust(path, &meta) {
        return Err(Error::usage(why));
    }
    let bytes = load::bounded(path, LARGEST).map_err(|error| wrong(&load::plain(&error)))?;
    let saved = Saved::from_json(&bytes).map_err(|why| wrong(&why))?;
    let state = state::parse(&saved.state).map_err(|found| {
        output::say(crate::render::problem::problems(&saved.state, &found).trim_end());
        wrong(&"the state in it is not sound")
    })?;
    Ok((saved, state))
}

/// Refuses a plan that was carried out before, or that the machine has left behind.
///
/// The state files that it was made from may have gone; where they are there, they must say what they
/// said.
pub fn still_holds(saved: &Saved, fresh: &Plan, store: &Store) -> Result<(), Error> {
    let stale = |what: &str| {
        Err(Error::failed(format!(
            "{what}: make a new plan, and look at that"
        )))
    };
    for source in &saved.state {
        if let Ok(now) = load::bounded(Path::new(&source.name), LARGEST)
            && now != source.text.as_bytes()
        {
            return stale(&format!(
                "`{}` changed since the plan was made",
                source.name
            ));
        }
    }
    if let Some(before) = carry_out::snapshots(store)?
        .iter()
        .find(|snapshot| saved.is_work_of(&snapshot.plan))
    {
        return stale(&format!(
            "this plan was carried out before, as apply {}",
            before.number
        ));
    }
    match moved(&saved.plan, fresh) {
        Some(what) => stale(&format!("{what} changed since the plan was made")),
        None => Ok(()),
    }
}
