//! Fake roots for tests: a list of paths and what stands there.

#![allow(clippy::disallowed_methods, reason = "a test makes its own root")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// A root with these files. `-> TARGET` is a link, `|` a FIFO, a path that ends in `/` a folder.
pub(super) fn root(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    add(root.path(), files);
    root
}

/// Adds files to a root.
pub(super) fn add(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let full = root.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        match content.strip_prefix("-> ") {
            Some(target) => symlink(target, full).unwrap(),
            None if path.ends_with('/') => fs::create_dir_all(full).unwrap(),
            None if *content == "|" => {
                nix::unistd::mkfifo(&full, nix::sys::stat::Mode::S_IRWXU).unwrap();
            }
            None => fs::write(full, content).unwrap(),
        }
    }
}

/// Adds one file of bytes.
pub(super) fn add_bytes(root: &Path, path: &str, content: &[u8]) {
    add(root, &[(path, "")]);
    fs::write(root.join(path), content).unwrap();
}
