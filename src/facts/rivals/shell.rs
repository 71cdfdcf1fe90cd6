//! What a line of a shell script writes to queues. No shell is understood here, only habits.

use super::{Write, last_part, plain, target};
use crate::knowledge::attributes::ATTRIBUTES;

/// Longer words are no paths below /sys.
const LONGEST: usize = 256;

/// What a line writes: redirections and `tee` to files of a queue, loops over such files,
/// `blockdev --setra` and `hdparm -a`.
pub(super) fn writes(line: &[u8]) -> Vec<Write> {
    let mut found = Vec::new();
    for needle in [&b"/queue/"[..], b"/bdi/"] {
        let mut from = 0;
        while let Some(at) = super::find(&line[from..], needle) {
            let at = from + at;
            let (start, end) = word_around(line, at);
            if is_written(&line[..start]) {
                found.extend(target(&line[start..end]));
            }
            from = end.max(at + needle.len());
        }
    }
    below_variables(line, &mut found);
    read_ahead_commands(line, &mut found);
    found
}

/// `> $queue/nr_requests`: in a loop over folders, only the file's name tells what it is.
fn below_variables(line: &[u8], found: &mut Vec<Write>) {
    let mut from = 0;
    while let Some(at) = super::find(&line[from..], b"$") {
        let at = from + at;
        let (start, end) = word_around(line, at);
        let word = &line[start..end];
        let seen = [&b"/queue/"[..], b"/bdi/"]
            .iter()
            .any(|needle| super::find(word, needle).is_some());
        let name = last_part(word);
        let is_known = || ATTRIBUTES.iter().any(|known| known.name.as_bytes() == name);
        if !seen && name.len() < word.len() && is_known() && is_written(&line[..start]) {
            found.push(Write {
                setting: plain(name, b"_"),
                device: None,
            });
        }
        from = end.max(at + 1);
    }
}

/// The word that a place stands in, quotes and operators left out.
fn word_around(line: &[u8], at: usize) -> (usize, usize) {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`<>|&;()=".contains(byte);
    let low = at.saturating_sub(LONGEST);
    let start = line[low..at]
        .iter()
        .rposition(ends)
        .map_or(low, |end| low + end + 1);
    let high = line.len().min(at + LONGEST);
    let end = line[at..high]
        .iter()
        .position(ends)
        .map_or(high, |end| at + end);
    (start, end)
}

/// Whether a word that comes after this text is written to: after `>` or `tee`, or in the list of
/// a `for` loop, whose body is not looked at.
fn is_written(before: &[u8]) -> bool {
    let low = before.len().saturating_sub(LONGEST);
    let quote = |byte: &u8| byte.is_ascii_whitespace() || b"\"'".contains(byte);
    let mut near = &before[low..];
    while let Some((last, rest)) = near.split_last() {
        if !quote(last) {
            break;
        }
        near = rest;
    }
    if near.ends_with(b">") || near.ends_with(b">|") {
        return true;
    }
    // The command that the word is an argument of.
    let command = near
        .rsplit(|byte| b"|;&({".contains(byte))
        .next()
        .unwrap_or_default();
    let mut words = command
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let mut words = words
        .by_ref()
        .skip_while(|word| *word == b"sudo" || *word == b"do");
    match words.next() {
        Some(b"for") => true,
        Some(first) => first == b"tee" || first.ends_with(b"/tee"),
        None => false,
    }
}

/// `blockdev --setra 256 /dev/sda`, `hdparm -a256 /dev/sda`.
fn read_ahead_commands(line: &[u8], found: &mut Vec<Write>) {
    for command in line.split(|byte| b"|;&".contains(byte)) {
        let is_blockdev = super::find(command, b"blockdev").is_some();
        let is_hdparm = super::find(command, b"hdparm").is_some();
        if !is_blockdev && !is_hdparm {
            continue;
        }
        let words = || {
            command
                .split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
        };
        let sets = words().any(|word| match word {
            b"--setra" | b"--setfra" => is_blockdev,
            word => is_hdparm && word.starts_with(b"-a"),
        });
        if !sets {
            continue;
        }
        let quoted = |byte: &u8| b"\"'".contains(byte);
        let devices = words().filter_map(|word| {
            let start = word.iter().position(|byte| !quoted(byte))?;
            let name = word[start..].strip_prefix(b"/dev/")?;
            let end = name.iter().position(quoted).unwrap_or(name.len());
            Some(plain(&name[..end], b"-!_"))
        });
        let mut devices: Vec<Option<String>> = devices.collect();
        if devices.is_empty() {
            devices.push(None);
        }
        found.extend(devices.into_iter().map(|device| Write {
            setting: Some("read_ahead_kb".to_owned()),
            device,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Vec<String> {
        let one = |write: Write| {
            let device = write.device.as_deref().unwrap_or("?").to_owned();
            format!("{device} {}", write.setting.as_deref().unwrap_or("?"))
        };
        writes(line.as_bytes()).into_iter().map(one).collect()
    }

    #[test]
    fn habits_of_scripts_are_known() {
        for (line, expected) in [
            (
                "echo noop > /sys/block/sda/queue/scheduler",
                &["sda scheduler"][..],
            ),
            (
                "echo 1 >/sys/block/sda/queue/iosched/fifo_batch",
                &["sda fifo_batch"],
            ),
            (
                "echo none > \"/sys/block/$d/queue/scheduler\"",
                &["? scheduler"],
            ),
            (
                "echo none | sudo tee /sys/block/sda/queue/scheduler",
                &["sda scheduler"],
            ),
            (
                "/usr/bin/tee /sys/class/block/vda/queue/nr_requests",
                &["vda nr_requests"],
            ),
            (
                "for f in /sys/block/sd*/queue/scheduler; do",
                &["? scheduler"],
            ),
            (
                "echo 1 > /sys/block/sda/queue/rotational; echo 2 > /sys/block/sdb/queue/nomerges",
                &["sda rotational", "sdb nomerges"],
            ),
            (
                "ExecStart=/bin/sh -c 'echo bfq > /sys/block/sda/queue/scheduler'",
                &["sda scheduler"],
            ),
            (
                "echo 0 > /sys/class/bdi/8:0/read_ahead_kb",
                &["? read_ahead_kb"],
            ),
            (
                "echo 0 > /sys/block/sda/bdi/read_ahead_kb",
                &["sda read_ahead_kb"],
            ),
            (
                "/sbin/blockdev --setra 4096 /dev/sda /dev/md0",
                &["sda read_ahead_kb", "md0 read_ahead_kb"],
            ),
            ("hdparm -a256 \"/dev/sdb\"", &["sdb read_ahead_kb"]),
            ("blockdev --setra 4096 $disk", &["? read_ahead_kb"]),
            ("echo 64 > $queue/nr_requests", &["? nr_requests"]),
            (
                "  echo 1 | sudo tee \"${dev}/iosched/fifo_batch\"",
                &["? fifo_batch"],
            ),
            ("echo 1 > $log/result", &[]),
            ("cat $queue/nr_requests > $log/before", &[]),
            ("echo 64 > $nr_requests", &[]),
            ("cat /sys/block/sda/queue/scheduler", &[]),
            ("if grep -q bfq /sys/block/sda/queue/scheduler; then", &[]),
            ("blockdev --getra /dev/sda", &[]),
            ("hdparm -B 254 /dev/sda", &[]),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_of_a_megabyte_takes_no_time() {
        let line = "> /queue/".repeat(200_000);
        assert!(told(&line).len() >= 100_000);
        assert!(told(&"/queue/".repeat(200_000)).is_empty());
        assert!(told(&"> $/scheduler".repeat(100_000)).len() >= 50_000);
        assert!(told(&"x".repeat(2 << 20)).is_empty());
        let _ = writes(&[0xff; 100_000]);
    }
}
