//! udev, as far as our rules go: one event of a simulated device.
//!
//! What udev 252 does that a reader of the rules may not expect: a match on an attribute sees what
//! was read first, whatever was written since; one on an attribute that is not there holds neither
//! with `==` nor with `!=`; a property that is not there is empty; within a line properties are
//! looked at before attributes (`sort_tokens()`, `token_match_attr()` of udev-rules.c). A key that
//! is not known here fails the test.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use ssdtune::facts::{Device, Facts, Module, Scope};
use ssdtune::format::glob::glob;
use ssdtune::format::udev_rules::{self, Op, Rule, Token};
use ssdtune::knowledge::Scheduler;
use ssdtune::plan::rules::PATH;
use ssdtune::system::System;
use ssdtune::system::simulated::Simulated;

/// One device of a simulated machine, with the kernel below it.
pub struct Booted {
    machine: Simulated,
    name: String,
    /// The device as it is; read anew after each write.
    device: Device,
    modules: BTreeSet<String>,
}

/// A write that a rule made, done or refused.
pub type Write = (String, String);

/// What an event has found out and noted.
struct Event<'a> {
    on: &'a mut Booted,
    action: &'a str,
    properties: BTreeMap<String, String>,
    read: BTreeMap<String, Option<String>>,
    writes: Vec<Write>,
}

impl Booted {
    /// The device alone, on a machine otherwise like that of the facts.
    pub fn new(facts: &Facts, name: &str) -> Self {
        let mut alone = Facts {
            kernel: facts.kernel.clone(),
            hz: facts.hz,
            page_kb: facts.page_kb,
            modules: facts.modules.clone(),
            ..Facts::default()
        };
        let device = facts.devices[name].clone();
        alone.devices.insert(name.to_owned(), device);
        let mut booted = Self {
            machine: Simulated::new(alone),
            name: name.to_owned(),
            device: Device::default(),
            modules: BTreeSet::new(),
        };
        booted.look();
        booted
    }

    /// The device as it is now.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn look(&mut self) -> Facts {
        let facts = self.machine.facts(&Scope::everything());
        self.device = facts.devices[&self.name].clone();
        facts
    }

    /// Runs the rules over an event; gives the writes in their order.
    pub fn event(&mut self, rules: &str, action: &str) -> Vec<Write> {
        let rules = udev_rules::parse(rules.as_bytes());
        let device = &self.device;
        let mut properties = BTreeMap::from([
            ("DEVTYPE".to_owned(), "disk".to_owned()),
            ("DEVPATH".to_owned(), device.path.clone()),
        ]);
        let known = [
            ("ID_SERIAL_SHORT", &device.serial),
            ("ID_WWN", &device.wwn),
            ("ID_MODEL", &device.model),
            ("ID_VENDOR", &device.vendor),
            ("ID_PATH", &device.id_path),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                properties.insert(name.to_owned(), value.to_string());
            }
        }
        if device.multipath_member {
            properties.insert("DM_MULTIPATH_DEVICE_PATH".to_owned(), "1".to_owned());
        }
        let mut event = Event {
            on: self,
            action,
            properties,
            read: BTreeMap::new(),
            writes: Vec::new(),
        };
        event.run(&rules);
        event.writes
    }

    fn test(&self, path: &str) -> bool {
        if let Some(module) = path.strip_prefix("/sys/module/") {
            return self.modules.contains(module);
        }
        match path {
            "/etc/initrd-release" => false,
            "queue/iosched" => self
                .device
                .scheduler()
                .is_some_and(|s| s != Scheduler::None),
            _ if path == PATH => true,
            _ => match path.strip_prefix("queue/iosched/") {
                Some(name) => self.device.iosched.contains_key(name),
                None => self
                    .device
                    .queue
                    .contains_key(path.strip_prefix("queue/").unwrap()),
            },
        }
    }

    fn attribute(&self, path: &str) -> Option<String> {
        let device = &self.device;
        let flag = |flag| Some(u8::from(flag).to_string());
        match path {
            "removable" => flag(device.removable),
            "hidden" => flag(device.hidden),
            "dm/uuid" => device.dm_uuid.as_ref().map(ToString::to_string),
            _ => match path.strip_prefix("queue/iosched/") {
                Some(name) => device.iosched.get(name).cloned(),
                None => device
                    .queue
                    .get(path.strip_prefix("queue/").unwrap())
                    .cloned(),
            },
        }
    }

    /// modprobe(8): nothing where there is no such module.
    fn load(&mut self, module: &str) {
        let mut facts = self.look();
        let scheduler = Scheduler::ALL
            .into_iter()
            .find(|s| s.module() == Some(module));
        let scheduler = scheduler.unwrap_or_else(|| panic!("no scheduler's module: {module}"));
        if facts.modules.get(&scheduler) != Some(&Module::Loadable) {
            return;
        }
        facts.modules.insert(scheduler, Module::Present);
        if let Some(list) = facts
            .devices
            .get_mut(&self.name)
            .unwrap()
            .queue
            .get_mut("scheduler")
            && list.contains('[')
        {
            list.push_str(&format!(" {scheduler}"));
        }
        self.modules.insert(module.replace('-', "_"));
        self.machine.set_facts(facts);
        self.look();
    }
}

impl Event<'_> {
    fn run(&mut self, rules: &[Rule<'_>]) {
        let mut at = 0;
        while let Some(rule) = rules.get(at) {
            at += 1;
            let mut tokens: Vec<&Token<'_>> = rule.tokens.iter().collect();
            tokens.sort_by_key(|token| rank(token));
            if !tokens.iter().all(|token| self.holds(token)) {
                continue;
            }
            for token in tokens {
                if let Some(label) = self.act(token) {
                    let ahead = &rules[at..];
                    let found = ahead.iter().position(|rule| is_label(rule, &label));
                    at += found.unwrap_or_else(|| panic!("no label {label} ahead"));
                }
            }
        }
    }

    fn holds(&mut self, token: &Token<'_>) -> bool {
        let one = |value: &str| glob(&token.value, value) == (token.op == Op::Match);
        match (&*token.key, token.attribute.as_deref()) {
            (_, _) if rank(token) >= ACTIONS => true,
            ("ACTION", None) => one(self.action),
            ("SUBSYSTEM", None) => one("block"),
            ("KERNEL", None) => one(&self.on.name.replace('!', "/")),
            ("DEVPATH", None) => one(&self.on.device.path),
            ("SYMLINK", None) => {
                let mut links = self.on.device.ids.iter();
                let any = links.any(|id| glob(&token.value, &format!("disk/by-id/{id}")));
                any == (token.op == Op::Match)
            }
            ("ENV", Some(name)) => one(self.properties.get(name).map_or("", String::as_str)),
            ("ATTR", Some(path)) => {
                let read = self.read(path);
                read.as_deref().is_some_and(one)
            }
            ("TEST", None) => self.on.test(&token.value) == (token.op == Op::Match),
            ("IMPORT", Some("builtin")) => {
                self.on
                    .load(token.value.strip_prefix("kmod load ").unwrap());
                true
            }
            _ => panic!("not known here: {token:?}"),
        }
    }

    /// Does what a token says; gives the label to go to.
    fn act(&mut self, token: &Token<'_>) -> Option<String> {
        match (&*token.key, token.attribute.as_deref()) {
            (_, _) if rank(token) < ACTIONS => {}
            ("ENV", Some(name)) => {
                let value = self.expanded(&token.value);
                self.properties.insert(name.to_owned(), value);
            }
            ("ATTR", Some(path)) => {
                let value = self.expanded(&token.value);
                // What the kernel refuses is logged, and the rule goes on.
                let _ = self.on.machine.write(&self.on.name, path, &value);
                self.on.look();
                self.writes.push((path.to_owned(), value));
            }
            ("GOTO", None) => return Some(token.value.to_string()),
            ("LABEL", None) => {}
            _ => panic!("not known here: {token:?}"),
        }
        None
    }

    fn expanded(&mut self, value: &str) -> String {
        let Some((kind, name)) = value.strip_suffix('}').and_then(|v| v.split_once('{')) else {
            assert!(!value.contains(['$', '%']), "not known here: {value}");
            return value.to_owned();
        };
        let found = match kind {
            "$env" => self.properties.get(name).cloned(),
            "$attr" => self.read(name),
            _ => panic!("not known here: {value}"),
        };
        found.unwrap_or_default()
    }

    /// An attribute as it was when it was first looked at.
    fn read(&mut self, path: &str) -> Option<String> {
        let on = &self.on;
        let read = self.read.entry(path.to_owned());
        read.or_insert_with(|| on.attribute(path)).clone()
    }
}

const ACTIONS: u8 = 10;

/// The order in which udev takes the tokens of a line.
fn rank(token: &Token<'_>) -> u8 {
    let asks = token.op.is_match();
    match &*token.key {
        "IMPORT" => 5,
        "TEST" => 4,
        "ATTR" if asks => 3,
        "ENV" if asks => 2,
        _ if asks => 1,
        "ENV" => ACTIONS,
        "ATTR" => ACTIONS + 1,
        "LABEL" => ACTIONS + 2,
        _ => ACTIONS + 3,
    }
}

fn is_label(rule: &Rule<'_>, label: &str) -> bool {
    let mut tokens = rule.tokens.iter();
    tokens.any(|token| token.key == "LABEL" && token.value == label)
}
