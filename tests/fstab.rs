//! The cases of tests/fstab: a folder with `before`, `edit` and `after`, all byte for byte.
//!
//! `edit` has one instruction a line; blanks inside a word are written `\040`:
//!
//! ```text
//! set TARGET OPTION...                 give the line of a target these options
//! set-all OPTION...                    every local disk filesystem
//! remove TARGET NAME...                take options away, whatever their value
//! append SOURCE TARGET TYPE OPTIONS    add a line
//! delete TARGET                        take a line away
//! error TEXT                           what is refused, and how; there is no `after` then
//! warning TEXT                         what is said about the result; all of it
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use ssdtune::format::fstab::{Edit, Fstab, NewEntry};
use ssdtune::format::{mount_options, octal};

const LOCAL: [&[u8]; 7] = [
    b"ext2", b"ext3", b"ext4", b"xfs", b"btrfs", b"f2fs", b"vfat",
];
const ATIME: [&[u8]; 6] = [
    b"atime",
    b"noatime",
    b"relatime",
    b"norelatime",
    b"strictatime",
    b"nostrictatime",
];

fn in_slot(item: &[u8], token: &[u8]) -> bool {
    if ATIME.contains(&token) {
        return ATIME.contains(&item);
    }
    mount_options::name(item) == mount_options::name(token)
}

fn with(list: &[u8], tokens: &[&[u8]]) -> Result<Vec<u8>, String> {
    tokens.iter().try_fold(list.to_vec(), |list, token| {
        let token = mount_options::encode(token).map_err(|why| format!("option: {why}"))?;
        Ok(mount_options::set(&list, &token, |item| {
            in_slot(item, &token)
        }))
    })
}

/// What `edit` asks for, as changes of a file.
fn changes(fstab: &Fstab, script: &[u8]) -> Result<Vec<Edit>, String> {
    let mut edits = Vec::new();
    for line in script
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let words: Vec<_> = line
            .split(|&byte| byte == b' ')
            .map(octal::decode)
            .collect();
        let words: Vec<&[u8]> = words.iter().map(|word| &**word).collect();
        match words[..] {
            [b"set", target, ref tokens @ ..] => {
                let (line, entry) = fstab.find(target).map_err(|why| why.to_string())?;
                let list = with(entry.options(), tokens)?;
                if list != entry.options() {
                    edits.push(Edit::Options {
                        line: line.number,
                        list,
                    });
                }
            }
            [b"set-all", ref tokens @ ..] => {
                for (line, entry) in fstab.entries() {
                    let list = with(entry.options(), tokens)?;
                    if entry.is_mount()
                        && LOCAL.contains(&&*entry.fstype())
                        && list != entry.options()
                    {
                        edits.push(Edit::Options {
                            line: line.number,
                            list,
                        });
                    }
                }
            }
            [b"remove", target, ref names @ ..] => {
                let (line, entry) = fstab.find(target).map_err(|why| why.to_string())?;
                let list = mount_options::remove(entry.options(), |item| {
                    names.contains(&mount_options::name(item))
                });
                edits.push(Edit::Options {
                    line: line.number,
                    list,
                });
            }
            [b"append", source, target, fstype, options] => edits.push(Edit::Append {
                fields: NewEntry {
                    source: source.into(),
                    target: target.into(),
                    fstype: fstype.into(),
                    options: options.into(),
                    ..NewEntry::default()
                },
            }),
            [b"delete", target] => {
                let (line, _) = fstab.find(target).map_err(|why| why.to_string())?;
                edits.push(Edit::Remove { line: line.number });
            }
            [b"error" | b"warning", ..] => {}
            _ => return Err(format!("unknown instruction {}", line.escape_ascii())),
        }
    }
    Ok(edits)
}

fn expected(script: &[u8], word: &str) -> Vec<String> {
    let script = String::from_utf8_lossy(script);
    let rest = script
        .lines()
        .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    rest.map(str::to_owned).collect()
}

/// Runs a case; the error says how its outcome differs.
fn run(folder: &Path) -> Result<(), String> {
    let read = |file: &str| fs::read(folder.join(file)).map_err(|why| format!("{file}: {why}"));
    let before = read("before")?;
    let script = read("edit")?;
    let fstab = Fstab::parse(&*before);
    if fstab.bytes() != before {
        return Err("reading and writing is not the identity".to_owned());
    }
    let edit = |fstab: &Fstab| {
        fstab
            .edited(&changes(fstab, &script)?)
            .map_err(|why| why.to_string())
    };
    let errors = expected(&script, "error");
    let bytes = match edit(&fstab) {
        Err(message) if errors == [&*message] => return Ok(()),
        Err(message) => return Err(format!("error {message}")),
        Ok(bytes) if !errors.is_empty() => {
            return Err(format!("no error, but\n{}", bytes.escape_ascii()));
        }
        Ok(bytes) => bytes,
    };
    if bytes != read("after")? {
        return Err(format!("wrong bytes\n{}", bytes.escape_ascii()));
    }
    let result = Fstab::parse(bytes);
    let warnings: Vec<_> = result
        .lines()
        .iter()
        .filter_map(|line| line.crlf_warning())
        .collect();
    if warnings != expected(&script, "warning") {
        return Err(format!("warnings {warnings:#?}"));
    }
    // Once is enough: the second plan is empty. A line to add or delete is no such wish.
    let again = ["append", "delete"]
        .iter()
        .all(|word| expected(&script, word).is_empty());
    if again && edit(&result).as_deref() != Ok(result.bytes()) {
        return Err("not the same when done a second time".to_owned());
    }
    Ok(())
}

#[test]
fn every_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fstab");
    let entries = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(folders.len() > 80, "cases have got lost");
    let failed = folders.iter().filter_map(|folder| {
        let why = run(folder).err()?;
        Some(format!("{}: {why}", folder.file_name()?.display()))
    });
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}
