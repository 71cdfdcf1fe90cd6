//! The real machine, and an offline one below a root of its own.

use std::io;
use std::path::{Path, PathBuf};

use super::node::Nodes;
use super::words::refused;
use super::{Effect, System, attribute, file, folder, link, mount, run, timer, unit};
use crate::facts::Facts;
use crate::facts::Scope;

/// Performs effects on the machine it runs on, or on the files of an offline one.
#[derive(Debug)]
pub struct Live {
    root: PathBuf,
    nodes: Nodes,
}

impl Live {
    /// The machine whose root this is. Any other root than `/` is an offline system: its files are
    /// read and written, nothing runs there, and its /sys and mounts would be our own.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            nodes: Nodes::default(),
        }
    }

    /// True where only files can be changed.
    fn offline(&self) -> bool {
        self.root != Path::new("/")
    }

    /// Refuses what an offline system has not.
    fn only_live(&self, what: &str) -> io::Result<()> {
        if self.offline() {
            return Err(refused(
                io::ErrorKind::Unsupported,
                format_args!(
                    "an offline system (`{}`) has no {what}: only files can be changed there",
                    self.root.display()
                ),
            ));
        }
        Ok(())
    }

    /// True where this machine has that path: the sign that a daemon runs.
    fn runs(&self, sign: &str) -> bool {
        !self.offline() && Path::new(sign).exists()
    }
}

impl System for Live {
    fn facts(&mut self, scope: &Scope) -> Facts {
        timer::facts(&self.root, scope)
    }

    fn perform(&mut self, effect: &Effect) -> io::Result<()> {
        let root = &self.root;
        match effect {
            Effect::MakeDir { path, mode } => folder::make(root, path, *mode),
            Effect::Record { path, image } => file::record(root, path, image),
            Effect::Stage { path, image } => file::stage(root, path, image),
            Effect::Commit {
                staged,
                target,
                expected,
            } => file::commit(root, staged, target, expected.as_ref(), true),
            Effect::Remove { path, expected } => file::remove(root, path, expected.as_ref()),
            Effect::RemoveDir { path } => folder::remove(root, path),
            Effect::LockNode { device } => {
                self.only_live("devices")?;
                self.nodes.lock(Path::new("/dev"), device)
            }
            Effect::UnlockNodes => {
                self.nodes.unlock();
                Ok(())
            }
            Effect::SetAttribute {
                device,
                file,
                value,
            } => {
                self.only_live("devices")?;
                attribute::set(Path::new("/sys/block"), device, file, value)
            }
            Effect::RemountFlags { target, flags } => {
                self.only_live("mounts")?;
                mount::remount_flags(target, flags)
            }
            Effect::Reconfigure { target, options } => {
                self.only_live("mounts")?;
                mount::reconfigure(target, options)
            }
            Effect::MaskUnit { unit } => {
                self.only_live("running units")?;
                unit::mask(root, unit)
            }
            Effect::UnmaskUnit { unit } => {
                self.only_live("running units")?;
                unit::unmask(root, unit)
            }
            Effect::Link { path, from, to } => link::lead(root, path, from.as_ref(), to.as_ref()),
            Effect::RunUnit { unit, run: wanted } => {
                self.only_live("running units")?;
                let verb = if *wanted { "start" } else { "stop" };
                run::run("systemctl", &[verb, unit], run::LIMIT)
            }
            Effect::ReloadSystemd if self.runs("/run/systemd/system") => {
                run::run("systemctl", &["daemon-reload"], run::LIMIT)
            }
            Effect::ReloadUdev if self.runs("/run/udev/control") => {
                run::run("udevadm", &["control", "--reload"], run::LIMIT)
            }
            Effect::Settle if self.runs("/run/udev/control") => {
                run::run("udevadm", &["settle", "--timeout=60"], run::LIMIT)
            }
            // Nobody runs who would have to be told.
            Effect::ReloadSystemd | Effect::ReloadUdev | Effect::Settle => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offline_system_has_files_only() {
        let root = tempfile::tempdir().unwrap();
        let mut system = Live::new(root.path());
        for effect in [
            Effect::LockNode {
                device: "sda".into(),
            },
            Effect::SetAttribute {
                device: "sda".into(),
                file: "queue/scheduler".into(),
                value: "none".into(),
            },
            Effect::RemountFlags {
                target: "/".into(),
                flags: vec!["rw".into()],
            },
            Effect::Reconfigure {
                target: "/".into(),
                options: vec![],
            },
            Effect::MaskUnit {
                unit: "tmp.mount".into(),
            },
            Effect::UnmaskUnit {
                unit: "tmp.mount".into(),
            },
            Effect::RunUnit {
                unit: "fstrim.timer".into(),
                run: true,
            },
        ] {
            let error = system.perform(&effect).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{effect:?}");
        }
        for effect in [
            Effect::UnlockNodes,
            Effect::ReloadSystemd,
            Effect::ReloadUdev,
            Effect::Settle,
        ] {
            system.perform(&effect).unwrap();
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
