//! Which devices of /sys/block to read, and how deep.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::block::{self, Block, disk_by_link};
use super::queue::Asked;
use super::read::Reader;
use super::scope::{asked_by, asks_for_identity};
use super::select::{Matcher, Name, Taken};
use super::{Device, Facts, Recorded, Scope};
use crate::format::text::Text;
use crate::state::DeviceRule;

/// Reads devices: all of all, or what the rules, the record and the mount points need.
pub(super) fn devices(
    reader: &mut Reader,
    scope: &Scope<'_>,
    recorded: &[Recorded],
    facts: &mut Facts,
) {
    let Some(mut block) = Block::open(reader) else {
        return;
    };
    if scope.wanted.is_none() {
        return everything(reader, &mut block, facts);
    }
    let rules = scope.rules();
    let by_mount = rules.iter().any(|rule| !rule.select.mount.is_empty());
    let discard = scope.asks_for_discard();
    if by_mount {
        facts.btrfs = block::btrfs(reader).into_iter().collect();
    }
    if by_mount || discard {
        stacked(reader, &mut block, facts);
    }
    let names = block.names(reader);
    let paths = multipath(&mut block, &names);
    let wanted = Wanted::new(rules, recorded, facts);
    // By-mount rules found their devices in the facts; what is read now is added to those.
    let mut found = std::mem::take(&mut facts.devices);
    for name in names {
        let known = found.remove(&name);
        let is_known = known.is_some();
        let is_wanted = wanted.may_be(&name);
        if !is_known && !is_wanted {
            continue;
        }
        let Some(folder) = block.device(reader, &name) else {
            continue;
        };
        let mut device = known.unwrap_or_default();
        device.multipath_member = paths.contains(&name);
        if !is_known {
            block.header(&name, &folder, &mut device);
        }
        if is_wanted {
            wanted.read(reader, &mut block, &name, &folder, &mut device);
        }
        if is_known && discard {
            let mut asked = Asked::default();
            asked.look_at("discard_granularity");
            asked.look_at("discard_max_bytes");
            block.queue(reader, &name, &folder, Some(&asked), &mut device);
        }
        found.insert(name, device);
    }
    facts.devices = found;
}

/// Reads every device, whole.
fn everything(reader: &mut Reader, block: &mut Block, facts: &mut Facts) {
    facts.btrfs = block::btrfs(reader).into_iter().collect();
    let names = block.names(reader);
    let paths = multipath(block, &names);
    for name in names {
        let Some(folder) = block.device(reader, &name) else {
            continue;
        };
        let mut device = Device {
            multipath_member: paths.contains(&name),
            ..Device::default()
        };
        block.header(&name, &folder, &mut device);
        block.topology(&name, &folder, &mut device);
        block.identity(&name, &folder, &mut device);
        block.queue(reader, &name, &folder, None, &mut device);
        facts.devices.insert(name, device);
    }
}

/// The members of device-mapper multipath devices, found from above: without device mapper, that
/// costs nothing.
fn multipath(block: &mut Block, names: &[String]) -> BTreeSet<String> {
    let mapped = names.iter().filter(|name| name.starts_with("dm-"));
    mapped
        .flat_map(|name| block.multipath_slaves(name))
        .collect()
}

/// Reads what is mounted, and the layers below it down to the disks, into the facts.
fn stacked(reader: &mut Reader, block: &mut Block, facts: &mut Facts) {
    let mounted = facts.mounts.iter().map(|mount| &mount.device);
    let numbers: BTreeSet<&String> = mounted.chain(facts.sources.values()).collect();
    let btrfs = facts.btrfs.values().flat_map(|btrfs| &btrfs.devices);
    let mut ahead: Vec<String> = numbers
        .into_iter()
        .filter(|number| !number.starts_with("0:"))
        .chain(btrfs)
        .cloned()
        .collect();
    while let Some(node) = ahead.pop() {
        let Some(name) = disk_by_link(reader, &node) else {
            continue;
        };
        if facts.devices.contains_key(&name) {
            continue;
        }
        let Some(folder) = block.device(reader, &name) else {
            continue;
        };
        let mut device = Device::default();
        block.header(&name, &folder, &mut device);
        block.topology(&name, &folder, &mut device);
        ahead.extend(device.slaves.iter().cloned());
        facts.devices.insert(name, device);
    }
}

/// A rule made ready, and what it needs of a device that it takes.
struct Ready<'a> {
    matcher: Matcher<'a>,
    asked: Asked,
}

/// The rules and the record, made ready to say what of a device is needed.
#[derive(Default)]
struct Wanted<'a> {
    /// Rules that give whole kernel names, by name.
    by_name: BTreeMap<&'a str, Vec<Rc<Ready<'a>>>>,
    /// Rules about which a kernel name tells nothing, but for kinds that they do not ask for.
    plain: Vec<Rc<Ready<'a>>>,
    /// All others.
    others: Vec<Rc<Ready<'a>>>,
    recorded: &'a [Recorded],
    /// What the keys of the rules look at.
    looked_at: Asked,
    /// Some key, or the record, looks at who a disk is.
    identity: bool,
}

impl<'a> Wanted<'a> {
    fn new(rules: &'a [DeviceRule], recorded: &'a [Recorded], facts: &Facts) -> Self {
        let mut wanted = Self {
            recorded,
            identity: recorded.iter().any(Recorded::has_identity),
            ..Self::default()
        };
        for rule in rules {
            let select = &rule.select;
            wanted.identity |= asks_for_identity(select);
            if select.rotational.is_some() {
                wanted.looked_at.look_at("rotational");
            }
            // A zoned disk's scheduler is left alone unless asked for.
            if select.zoned.is_some() || rule.scheduler.is_some() {
                wanted.looked_at.look_at("zoned");
            }
            let ready = Rc::new(Ready {
                matcher: Matcher::new(select, facts),
                asked: asked_by(rule),
            });
            let mut names = select.name.iter().map(|at| &at.value);
            if !select.name.is_empty() && names.clone().all(|name| name.literal) {
                for name in names {
                    let same = wanted.by_name.entry(&name.text).or_default();
                    same.push(Rc::clone(&ready));
                }
            } else if names.next().is_some() || ready.matcher.is_picky_about_names() {
                wanted.others.push(ready);
            } else {
                wanted.plain.push(ready);
            }
        }
        wanted
    }

    /// The rules that could be about a device of this name.
    fn rules(&self, name: &str) -> impl Iterator<Item = &Ready<'a>> {
        let named = self.by_name.get(name).into_iter().flatten();
        named.chain(&self.others).map(|rule| &**rule)
    }

    /// Whether a rule or the record can be about a device of this name.
    fn may_be(&self, name: &str) -> bool {
        let by_rules = Name::new(name);
        !self.plain.is_empty() && by_rules.is_usual()
            || self
                .rules(name)
                .any(|rule| rule.matcher.may_take(&by_rules))
            || self.recorded.iter().any(|record| record.may_be(name))
    }

    /// Reads what the keys look at, and, where a rule takes the device or the record holds it,
    /// what will be changed.
    fn read(
        &self,
        reader: &mut Reader,
        block: &mut Block,
        name: &str,
        folder: &std::os::fd::OwnedFd,
        device: &mut Device,
    ) {
        if self.identity {
            block.identity(name, folder, device);
        }
        if !self.looked_at.is_empty() {
            block.queue(reader, name, folder, Some(&self.looked_at), device);
        }
        let mut asked = Asked::default();
        let mut is_taken = false;
        for rule in self
            .rules(name)
            .chain(self.plain.iter().map(|rule| &**rule))
        {
            if rule.matcher.takes(name, device) == Taken::Yes {
                is_taken = true;
                asked.join(&rule.asked);
            }
        }
        for record in self
            .recorded
            .iter()
            .filter(|record| record.is_of(name, device))
        {
            is_taken = true;
            for attribute in &record.attributes {
                asked.attribute(attribute);
            }
        }
        if is_taken && !self.identity {
            block.identity(name, folder, device);
        }
        if !asked.is_empty() {
            block.queue(reader, name, folder, Some(&asked), device);
        }
    }
}

impl Recorded {
    fn has_identity(&self) -> bool {
        [&self.serial, &self.wwn, &self.dm_uuid, &self.id_path]
            .iter()
            .any(|part| part.is_some())
    }

    /// Whether it can be about a device of this kernel name, whoever that is.
    fn may_be(&self, name: &str) -> bool {
        if self.dm_uuid.is_some() {
            return name.starts_with("dm-");
        }
        self.name.is_empty() || kind_of(&self.name) == kind_of(name)
    }

    /// Whether a device is the one recorded: by what identifies it, else by its name.
    fn is_of(&self, name: &str, device: &Device) -> bool {
        let same =
            |recorded: &Option<Text>, found: &Option<Text>| recorded.is_none() || recorded == found;
        if self.has_identity() {
            same(&self.serial, &device.serial)
                && same(&self.wwn, &device.wwn)
                && same(&self.dm_uuid, &device.dm_uuid)
                && same(&self.id_path, &device.id_path)
        } else {
            self.name == name
        }
    }
}

/// The letters in front of a kernel name: a disk may be sda now and sdb later, never vda.
fn kind_of(name: &str) -> &str {
    let end = name
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(name.len());
    &name[..end.min(2)]
}
