//! State files from the arguments, and the facts that they ask for.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Common, Error, output};
use crate::facts::{Facts, Scope};
use crate::plan::record;
use crate::render::problem::problems;
use crate::state::{self, DEFAULT_DIR, DesiredState, Source};
use crate::system;

/// A state file larger than this is none.
const MOST: u64 = 16 << 20;

/// What a state is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be looked at in itself.
    Check,
    /// To show what it would change.
    Show,
    /// To change the machine.
    CarryOut,
}

/// Reads the state files: those named, the `*.toml` of folders named, or of the default folder.
///
/// What a root's plan is made from must be root's own, if the plan is to be carried out; else the
/// reader is told that it would not be.
pub fn state(paths: &[PathBuf], purpose: Purpose, common: &Common) -> Result<DesiredState, Error> {
    let sources = sources(paths, common)?;
    let root = nix::unistd::geteuid().is_root();
    let mut texts = Vec::with_capacity(sources.len());
    for path in &sources {
        let (source, distrust) = read(path)?;
        texts.push(source);
        match (distrust, purpose) {
            (Some(why), Purpose::CarryOut) if root => return Err(Error::usage(why)),
            (Some(why), Purpose::Show) if root && !common.quiet => {
                output::warning(&format!("`apply` will refuse this state file: {why}"));
            }
            _ => {}
        }
    }
    state::parse(&texts).map_err(|found| {
        output::say(problems(&texts, &found).trim_end());
        // All is said.
        Error::usage("")
    })
}

fn sources(paths: &[PathBuf], common: &Common) -> Result<Vec<PathBuf>, Error> {
    let default = match &common.root {
        Some(root) => root.join(DEFAULT_DIR.trim_start_matches('/')),
        None => PathBuf::from(DEFAULT_DIR),
    };
    let given = if paths.is_empty() {
        std::slice::from_ref(&default)
    } else {
        paths
    };
    let mut files = Vec::new();
    for path in given {
        if path.is_dir() {
            let found = folder(path)?;
            if found.is_empty() {
                return Err(Error::usage(format!(
                    "`{}` has no file that ends in .toml",
                    path.display()
                )));
            }
            files.extend(found);
        } else if paths.is_empty() {
            return Err(Error::usage(format!(
                "no state file is named and there is no folder `{}`: name a file, or put \
                 state files there (the examples folder of ssdtune has some to begin with)",
                path.display()
            )));
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The `*.toml` of a folder in name order; hidden ones are editors' leftovers.
fn folder(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs_err::read_dir(path).map_err(|error| Error::usage(error.to_string()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| Error::usage(error.to_string()))?
            .path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A state file, and why root should not follow it.
fn read(path: &Path) -> Result<(Source, Option<String>), Error> {
    let shown = path.display();
    let unread =
        |error: std::io::Error| Error::usage(format!("state file `{shown}`: {}", plain(&error)));
    let meta = path.metadata().map_err(unread)?;
    if !meta.is_file() {
        return Err(Error::usage(format!("`{shown}` is no regular file")));
    }
    if meta.len() > MOST {
        return Err(Error::usage(format!(
            "`{shown}` has {} bytes: that is no state file",
            meta.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        Error::usage(format!("`{shown}` line {line}: not UTF-8, as TOML must be"))
    })?;
    let source = Source {
        name: path.to_string_lossy().into_owned(),
        text,
    };
    Ok((source, distrust(path, &meta)))
}

/// A file whole, if it has no more than so many bytes: a device may have no end.
pub fn bounded(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", most >> 20),
        ));
    }
    Ok(bytes)
}

/// The usual errors in plain words.
pub fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        _ => error.to_string(),
    }
}

/// Run as root, a state file or a saved plan is an order to root: nobody else may be able to write it.
pub fn distrust(path: &Path, meta: &Metadata) -> Option<String> {
    let shown = path.display();
    let sudo = std::env::var("SUDO_UID")
        .ok()
        .and_then(|uid| uid.parse::<u32>().ok());
    if meta.uid() != 0 && Some(meta.uid()) != sudo {
        return Some(format!(
            "`{shown}` belongs to user {}, who could tell root what to do: `chown root {shown}`",
            meta.uid()
        ));
    }
    if meta.mode() & 0o022 != 0 {
        return Some(format!(
            "`{shown}` can be written by others than its owner: `chmod go-w {shown}`"
        ));
    }
    None
}

/// What a state asks to know of the machine.
pub fn scope<'a>(state: &'a DesiredState, common: &Common) -> Scope<'a> {
    reaching(Scope::of(state, &record::recorded), common)
}

/// A scope that reaches no further than `--root` does.
pub fn reaching<'a>(scope: Scope<'a>, common: &Common) -> Scope<'a> {
    if common.root.is_some() {
        scope.offline()
    } else {
        scope
    }
}

/// The facts, from the machine or from a file.
pub fn facts(file: Option<&Path>, scope: &Scope<'_>, common: &Common) -> Result<Facts, Error> {
    let Some(path) = file else {
        return Ok(system::facts(&common.root(), scope));
    };
    // It may be a pipe from the machine itself, and what comes out of that may have no end.
    let bytes = bounded(path, crate::facts::LARGEST_FACTS).map_err(|error| {
        Error::usage(format!(
            "facts file `{}`: {}",
            path.display(),
            plain(&error)
        ))
    })?;
    Facts::read(&bytes).map_err(|why| Error::usage(format!("`{}`: {why}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = bounded(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        let own = bounded(Path::new("/proc/self/comm"), 1 << 20).unwrap();
        assert!(!own.is_empty());
    }
}
