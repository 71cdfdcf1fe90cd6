//! A machine after an apply, as a kernel that does what it is told would leave it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ssdtune::facts::{Device, Facts, File};
use ssdtune::format::text::Text;
use ssdtune::knowledge::attributes::Place;
use ssdtune::plan::{DeviceChange, MountChange, Plan};

/// The facts after everything that the plan says.
pub fn applied(facts: &Facts, plan: &Plan) -> Facts {
    let mut facts = facts.clone();
    for edit in &plan.files {
        for file in [&mut facts.fstab, &mut facts.rules, &mut facts.record] {
            if file.path == edit.path {
                written(file, edit.after.clone());
            }
        }
    }
    for change in &plan.mounts {
        remounted(&mut facts, change);
    }
    for change in &plan.devices {
        let device = facts.devices.get_mut(&change.device.name).unwrap();
        queue(device, change);
    }
    if let Some(change) = &plan.timer {
        let timer = &mut facts.trim_timer;
        timer.running = change.running.or(timer.running);
        for edit in &change.links {
            assert_eq!(timer.links.get(&edit.path), edit.before.as_ref());
            match &edit.after {
                Some(to) => drop(timer.links.insert(edit.path.clone(), to.clone())),
                None => drop(timer.links.remove(&edit.path)),
            }
        }
    }
    facts
}

fn written(file: &mut File, image: Option<ssdtune::facts::Image>) {
    file.image = image;
}

fn remounted(facts: &mut Facts, change: &MountChange) {
    let Some(live) = &change.live else { return };
    let mount = facts
        .mounts
        .iter_mut()
        .rev()
        .find(|mount| mount.target == change.target)
        .unwrap();
    mount.flags = live.after.clone();
    for token in &live.set {
        let name = token.split('=').next().unwrap();
        mount.options.retain(|option| {
            let option = option.to_string();
            option.split('=').next() != Some(name) && format!("no{option}") != *token
        });
        mount.options.push(Text::from(token.as_str()));
    }
}

fn queue(device: &mut Device, change: &DeviceChange) {
    let before = change.before.scheduler();
    let after = change.after.scheduler();
    if before != after {
        let next = after.unwrap().name();
        let text = device.queue.get("scheduler").unwrap();
        let mut names: Vec<String> = text
            .split_whitespace()
            .map(|name| name.trim_matches(['[', ']']).to_owned())
            .collect();
        if !names.iter().any(|name| name == next) {
            names.push(next.to_owned());
        }
        let names: Vec<String> = names
            .into_iter()
            .map(|name| {
                if name == next {
                    format!("[{name}]")
                } else {
                    name
                }
            })
            .collect();
        device.queue.insert("scheduler".to_owned(), names.join(" "));
        device.iosched.clear();
        for tunable in ssdtune::knowledge::attributes::ATTRIBUTES {
            if Some(tunable.place) == after.map(Place::Iosched) && tunable.gone.is_none() {
                let value = tunable.default_number().to_owned();
                device.iosched.insert(tunable.name.to_owned(), value);
            }
        }
    }
    for (key, value) in &change.after.0 {
        let attribute = key.0;
        match attribute.place {
            _ if attribute.name == "scheduler" => {}
            Place::Queue => {
                device
                    .queue
                    .insert(attribute.name.to_owned(), value.0.clone());
            }
            Place::Iosched(_) => {
                device
                    .iosched
                    .insert(attribute.name.to_owned(), value.0.clone());
            }
        }
    }
}
