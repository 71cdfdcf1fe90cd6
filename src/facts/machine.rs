//! The machine itself: names, memory, what it runs on, which schedulers its kernel can load.

use std::collections::BTreeMap;

use super::read::{LARGE, Reader};
use super::{Facts, Module};
use crate::format::text::Text;
use crate::knowledge::Scheduler;

/// Fills in names, identifiers, memory and what runs here.
///
/// An offline system has no kernel, no memory and no boot: its fields stay empty.
pub(super) fn identity(reader: &mut Reader, live: bool, facts: &mut Facts) {
    facts.machine_id = line(reader, b"/etc/machine-id");
    if !live {
        facts.host = line(reader, b"/etc/hostname");
        return;
    }
    if reader.system {
        let names = rustix::system::uname();
        facts.host = names.nodename().to_string_lossy().into_owned();
        facts.kernel = names.release().to_string_lossy().into_owned();
        let memory = rustix::system::sysinfo();
        // totalram is unsigned long, 32 bits wide on 32-bit machines.
        #[allow(clippy::useless_conversion)]
        let units = u64::from(memory.totalram);
        facts.memory_kb = units.saturating_mul(u64::from(memory.mem_unit)) / 1024;
    } else {
        facts.host = line(reader, b"/proc/sys/kernel/hostname");
        facts.kernel = line(reader, b"/proc/sys/kernel/osrelease");
        facts.memory_kb = memory(&reader.content(b"/proc/meminfo", LARGE).unwrap_or_default());
    }
    facts.page_kb = page_kb();
    facts.boot_id = line(reader, b"/proc/sys/kernel/random/boot_id");
    facts.systemd = reader.there(b"/run/systemd/system");
    facts.udev = reader.there(b"/run/udev/control");
    let mut command_line = reader.text(b"/proc/cmdline", LARGE).unwrap_or_default();
    command_line.truncate(command_line.trim_ascii_end().len());
    facts.command_line = Text(command_line);
}

/// The page size in KiB; 4 where the system does not say.
fn page_kb() -> u64 {
    let bytes = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
        .ok()
        .flatten();
    bytes
        .and_then(|bytes| u64::try_from(bytes / 1024).ok())
        .unwrap_or(4)
}

/// The one line of a small file, empty where there is none.
fn line(reader: &mut Reader, path: &[u8]) -> String {
    let bytes = reader.text(path, LARGE).unwrap_or_default();
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    String::from_utf8_lossy(first.trim_ascii()).into_owned()
}

/// MemTotal of /proc/meminfo.
fn memory(meminfo: &[u8]) -> u64 {
    std::str::from_utf8(meminfo)
        .ok()
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("MemTotal:")))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// What systemd-detect-virt would say, told without its CPUID instruction.
///
/// Containers first, as it does: the marks that container managers leave. Then DMI names, the
/// clock sources that only a guest has, the device tree, and at last the `hypervisor` flag of
/// /proc/cpuinfo, which alone gives `vm-other`. Where the two differ (a hypervisor that hides),
/// neither can be trusted.
pub(super) fn virtualization(reader: &mut Reader) -> String {
    container(reader)
        .or_else(|| machine(reader).map(str::to_owned))
        .unwrap_or_else(|| "none".to_owned())
}

fn container(reader: &mut Reader) -> Option<String> {
    if reader.there(b"/proc/vz") && !reader.there(b"/proc/bc") {
        return Some("openvz".to_owned());
    }
    let release = reader.content(b"/proc/sys/kernel/osrelease", LARGE).ok()?;
    if contains(&release, b"Microsoft") || contains(&release, b"WSL") {
        return Some("wsl".to_owned());
    }
    for path in [
        &b"/run/host/container-manager"[..],
        b"/run/systemd/container",
    ] {
        let name = line(reader, path);
        if !name.is_empty() {
            return Some(name);
        }
    }
    // PID 1's environment is for root only; that it cannot be read is no news.
    let environment = reader
        .content(b"/proc/1/environ", LARGE)
        .unwrap_or_default();
    let named = environment
        .split(|byte| *byte == 0)
        .find_map(|item| item.strip_prefix(b"container="));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        return Some(match name {
            b"oci" => "container-other".to_owned(),
            name => String::from_utf8_lossy(name).into_owned(),
        });
    }
    let marks = [
        (&b"/run/.containerenv"[..], "podman"),
        (b"/.dockerenv", "docker"),
    ];
    marks
        .into_iter()
        .find(|(path, _)| reader.there(path))
        .map(|(_, name)| name.to_owned())
}

/// DMI names and the words that systemd has for them (src/basic/virt.c), by prefix.
const DMI: &[(&str, &str)] = &[
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("Amazon EC2", "amazon"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Oracle Corporation", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "microsoft"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "google"),
];

fn machine(reader: &mut Reader) -> Option<&'static str> {
    let dmi = dmi(reader);
    // These run on other hypervisors' instructions and are told by their names alone.
    if let Some("oracle" | "xen" | "amazon" | "parallels" | "google") = dmi {
        return dmi;
    }
    let control = reader
        .content(b"/proc/xen/capabilities", LARGE)
        .unwrap_or_default();
    if contains(&control, b"control_d") {
        return None; // Xen's own first domain is the machine
    }
    let clocks = reader
        .content(
            b"/sys/devices/system/clocksource/clocksource0/available_clocksource",
            LARGE,
        )
        .unwrap_or_default();
    let by_clock = [
        (&b"kvm-clock"[..], "kvm"),
        (b"hyperv_clocksource", "microsoft"),
        (b"xen", "xen"),
    ];
    if let Some((_, name)) = by_clock.iter().find(|(mark, _)| contains(&clocks, mark)) {
        return Some(name);
    }
    if dmi.is_some() {
        return dmi;
    }
    if reader.there(b"/proc/xen") || line(reader, b"/sys/hypervisor/type") == "xen" {
        return Some("xen");
    }
    match line(reader, b"/proc/device-tree/hypervisor/compatible").trim_end_matches('\0') {
        "" => {}
        "linux,kvm" => return Some("kvm"),
        "vmware" => return Some("vmware"),
        name if name.contains("xen") => return Some("xen"),
        _ => return Some("vm-other"),
    }
    // The first processor's flags stand within the first page.
    let processors = reader.content(b"/proc/cpuinfo", LARGE).unwrap_or_default();
    let flags = processors
        .split(|byte| *byte == b'\n')
        .find(|line| line.starts_with(b"flags"))?;
    let mut words = flags.split(|byte| byte.is_ascii_whitespace());
    words
        .any(|word| word == b"hypervisor")
        .then_some("vm-other")
}

fn dmi(reader: &mut Reader) -> Option<&'static str> {
    for name in [
        "product_name",
        "sys_vendor",
        "board_vendor",
        "bios_vendor",
        "product_version",
    ] {
        let path = format!("/sys/class/dmi/id/{name}");
        let value = line(reader, path.as_bytes());
        if let Some((_, word)) = DMI.iter().find(|(prefix, _)| value.starts_with(prefix)) {
            return Some(word);
        }
    }
    None
}

/// `CONFIG_HZ` of the running kernel, where its configuration is there as plain text.
///
/// /proc/config.gz would need a decompressor; where that is the only copy, the answer is none and
/// verify works with a range.
pub(super) fn hz(reader: &mut Reader, release: &str) -> Option<u32> {
    let release = safe(release)?;
    let places = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/usr/lib/modules/{release}/config"),
    ];
    places.iter().find_map(|path| {
        let config = reader.content(path.as_bytes(), LARGE).ok()?;
        config
            .split(|byte| *byte == b'\n')
            .find_map(|line| line.strip_prefix(b"CONFIG_HZ="))
            .and_then(|number| std::str::from_utf8(number).ok()?.trim().parse().ok())
    })
}

/// Whether the running kernel could load each of these schedulers' modules.
///
/// `offered` are those that some device offers: they are there already.
pub(super) fn modules(
    reader: &mut Reader,
    release: &str,
    asked: impl IntoIterator<Item = Scheduler>,
    offered: &[Scheduler],
) -> BTreeMap<Scheduler, Module> {
    let mut builtin = None;
    let mut dependencies = None;
    let mut found = BTreeMap::new();
    for scheduler in asked {
        let standing = match scheduler.module() {
            None => Module::Present,
            Some(_) if offered.contains(&scheduler) => Module::Present,
            Some(module) => {
                let folder = format!("/lib/modules/{}", safe(release).unwrap_or("-"));
                let mut listed = |list: &mut Option<Vec<u8>>, name: &str| {
                    let path = format!("{folder}/{name}");
                    let list = list.get_or_insert_with(|| {
                        reader
                            .text(path.as_bytes(), LARGEST_LIST)
                            .unwrap_or_default()
                    });
                    lists(list, module)
                };
                if listed(&mut builtin, "modules.builtin") {
                    Module::Present
                } else if listed(&mut dependencies, "modules.dep") {
                    Module::Loadable
                } else {
                    Module::Absent
                }
            }
        };
        found.insert(scheduler, standing);
    }
    // No module can be loaded any more: what is a file only stays a file.
    if found.values().any(|module| *module == Module::Loadable)
        && line(reader, b"/proc/sys/kernel/modules_disabled") == "1"
    {
        for module in found.values_mut() {
            if *module == Module::Loadable {
                *module = Module::Absent;
            }
        }
    }
    found
}

const LARGEST_LIST: usize = LARGE;

/// Whether a list of module paths has this module: `kernel/block/bfq.ko.zst: …`. File names may
/// have `_` where the module's name has `-`.
fn lists(list: &[u8], module: &str) -> bool {
    list.split(|byte| *byte == b'\n').any(|line| {
        let path = line.split(|byte| *byte == b':').next().unwrap_or_default();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
        stem.len() == module.len()
            && stem
                .iter()
                .zip(module.bytes())
                .all(|(a, b)| *a == b || matches!((a, b), (b'_', b'-') | (b'-', b'_')))
    })
}

/// A kernel release as part of a path; none where it could lead elsewhere.
fn safe(release: &str) -> Option<&str> {
    (!release.is_empty() && !release.contains('/') && !release.starts_with('.')).then_some(release)
}

/// Whether `needle` stands somewhere in `bytes`.
pub(super) fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_lists_are_read_by_file_name() {
        let list = b"kernel/block/bfq.ko.zst: kernel/lib/x.ko\nkernel/block/kyber_iosched.ko\n";
        assert!(lists(list, "bfq"));
        assert!(lists(list, "kyber-iosched"));
        assert!(!lists(list, "x"));
        assert!(!lists(list, "mq-deadline"));
    }

    #[test]
    fn memory_is_memtotal() {
        assert_eq!(
            memory(b"MemTotal:       16310028 kB\nMemFree: 1 kB\n"),
            16_310_028
        );
        assert_eq!(memory(b"\xff"), 0);
    }
}
