//! Plans on facts that nobody should send: never a panic, never a control character on the page,
//! and time that grows with the input and no faster.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/plan_case.rs"]
mod plan_case;

use std::fmt::Write as _;

use plan_case::Case;
use proptest::prelude::*;
use serde_json::Value as Json;
use ssdtune::facts::{Device, Facts, Mount};
use ssdtune::format::text::Text;
use ssdtune::plan::{Only, plan};
use ssdtune::render::plan::{Detail, NOT_YET, page};
use ssdtune::state::{DesiredState, Source, parse};

const HOSTILE: &[&str] = &[
    "",
    " ",
    "*",
    "[",
    "[none",
    "[]",
    "\n",
    "\u{1b}[31m",
    "\u{0}",
    "-1",
    "0",
    "99999999999999999999999999999999999999999",
    "none",
    "[bfq] none",
    "..",
    "/",
    "/home",
    "0:0",
    "8:0",
    "tmpfs",
    "ext4",
    "dm-0",
    "sda",
    "a,b=\"c,d",
    "\\x00\\xff",
    "\\040",
    "defaults",
    "%",
    "size=999999999999999999999%",
    "\u{202e}é磁",
];

/// Replaces, drops and doubles some of the leaves.
fn mutate(json: &mut Json, dice: &mut impl FnMut(usize) -> usize) {
    match json {
        Json::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                // Fields must be there; entries of maps (devices, attributes) may go.
                if dice(60) == 0 && map.len() > 20 {
                    map.remove(&key);
                } else if let Some(value) = map.get_mut(&key) {
                    mutate(value, dice);
                }
            }
        }
        Json::Array(list) => {
            if !list.is_empty() && dice(12) == 0 {
                let index = dice(list.len());
                list.remove(index);
            }
            if !list.is_empty() && dice(12) == 0 {
                let again = list[dice(list.len())].clone();
                list.push(again);
            }
            list.iter_mut().for_each(|value| mutate(value, dice));
        }
        Json::String(text) if dice(8) == 0 => {
            HOSTILE[dice(HOSTILE.len())].clone_into(text);
        }
        Json::Number(_) if dice(10) == 0 => {
            let numbers = [0_u64, 1, 7, 4096, u64::from(u32::MAX), u64::MAX];
            *json = numbers[dice(numbers.len())].into();
        }
        Json::Bool(flag) if dice(6) == 0 => *flag = !*flag,
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_never_panics(seed in any::<[u32; 32]>(), pick in any::<usize>(), which in any::<usize>()) {
        let (machines, states) = fixtures();
        let (_, facts) = &machines[pick % machines.len()];
        let mut at = 0;
        let mut dice = |sides: usize| {
            // A cheap sequence that depends on every word of the seed.
            at += 1;
            let word = u64::from(seed[at % seed.len()]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((word >> 13).wrapping_add((at as u64).wrapping_mul(2_654_435_761)) % sides as u64) as usize
        };
        let mut json = serde_json::to_value(facts).unwrap();
        mutate(&mut json, &mut dice);
        let Ok(facts) = Facts::read(&serde_json::to_vec(&json).unwrap()) else {
            return Ok(());
        };
        let (_, state) = &states[which % states.len()];
        for only in [Only::Both, Only::Now, Only::Boot] {
            let plan = plan(state, &facts, only);
            let text = page(&plan, Detail { verbose: true, diff: true }, NOT_YET);
            let plain = anstream::adapter::strip_str(&text).to_string();
            let steers = plain.contains(['\u{1b}', '\u{202e}']);
            prop_assert!(!steers);
            let json = serde_json::to_vec(&ssdtune::render::json::plan(&plan)).unwrap();
            prop_assert!(serde_json::from_slice::<ssdtune::plan::Plan>(&json).is_ok());
        }
    }
}

type Fixtures = (Vec<(String, Facts)>, Vec<(String, DesiredState)>);

fn fixtures() -> &'static Fixtures {
    static FIXTURES: std::sync::OnceLock<Fixtures> = std::sync::OnceLock::new();
    FIXTURES.get_or_init(|| {
        let states = Case::all()
            .into_iter()
            .filter_map(|case| Some((case.name.clone(), case.state().ok()?)))
            .collect();
        (plan_case::machines(), states)
    })
}

fn state(text: String) -> DesiredState {
    let source = Source {
        name: "state.toml".to_owned(),
        text,
    };
    parse(&[source]).unwrap_or_else(|problems| panic!("{:?}", problems.first()))
}

/// A machine with so many disks, each with a partition, half of them below a device mapper device.
fn disks(count: usize) -> Facts {
    let (machines, _) = fixtures();
    let (_, desktop) = machines
        .iter()
        .find(|(name, _)| name.ends_with("desktop.json"))
        .unwrap();
    let mut facts = desktop.clone();
    let model = facts.devices["sda"].clone();
    facts.devices.clear();
    facts.mounts.clear();
    for index in 0..count {
        let name = format!("sd{index:05}");
        let mut device = model.clone();
        device.number = format!("{}:{}", 8 + index / 256, index % 256);
        device.serial = Some(Text::from(format!("SERIAL{index}").as_str()));
        device.wwn = None;
        device.queue.remove("wbt_lat_usec");
        device.partitions = [(
            format!("{name}p1"),
            format!("{}:{}", 200 + index / 256, index % 256),
        )]
        .into();
        if index % 2 == 0 {
            let above = Device {
                number: format!("254:{index}"),
                slaves: vec![format!("{name}p1")],
                dm_name: Some(Text::from(format!("vg-{index}").as_str())),
                dm_uuid: Some(Text::from(format!("LVM-{index}").as_str())),
                queue: [("read_ahead_kb".to_owned(), "128".to_owned())].into(),
                ..Device::default()
            };
            facts.mounts.push(Mount {
                device: above.number.clone(),
                target: Text::from(format!("/srv/{index}").as_str()),
                fstype: "ext4".to_owned(),
                flags: vec!["rw".to_owned(), "relatime".to_owned()],
                ..Mount::default()
            });
            facts.devices.insert(format!("dm-{index}"), above);
        }
        facts.devices.insert(name, device);
    }
    facts
}

fn device_rules(count: usize) -> DesiredState {
    let mut text =
        "[[device]]\nmatch.transport = [\"sata\", \"dm\"]\nread_ahead_kb = 512\nwbt_lat_usec = 0\n"
            .to_owned();
    for index in 0..count {
        let _ = write!(
            text,
            "[[device]]\nmatch.serial = \"SERIAL{index}\"\noptional = true\nscheduler = \"none\"\nread_ahead_kb = {}\n",
            64 + index % 7 * 4
        );
    }
    state(text)
}

fn lines(count: usize, facts: &mut Facts) {
    let mut fstab = String::new();
    for index in 0..count {
        let _ = match index % 10 {
            0 => writeln!(fstab, "# /dev/old{index} /srv/old{index} ext4 defaults 0 2"),
            1 => writeln!(
                fstab,
                "/dev/bad{index} /srv/bad{index} ext4 rw, noatime 0 2"
            ),
            _ => writeln!(
                fstab,
                "UUID={index} /srv/{index} ext4 defaults,relatime 0 2"
            ),
        };
    }
    facts.fstab.image.as_mut().unwrap().bytes = Text(fstab.into_bytes());
}

fn mount_rules(count: usize) -> DesiredState {
    let mut text =
        "[[mount]]\nmatch.fstype = \"ext4\"\noptions = [\"noatime\", \"commit=60\"]\n".to_owned();
    for index in 0..count {
        let _ = write!(
            text,
            "[[mount]]\nmatch.target = \"/srv/{}\"\noptional = {}\noptions = [\"nodev\"]\n[[tmpfs]]\ntarget = \"/tmp/{index}\"\nsize = \"1m\"\n",
            index * 3,
            index % 2 == 0
        );
    }
    state(text)
}

/// Plans and writes the page; how many devices and mounts change.
fn planned(state: &DesiredState, facts: &Facts) -> usize {
    let plan = plan(state, facts, Only::Both);
    let detail = Detail {
        verbose: true,
        diff: false,
    };
    assert!(!page(&plan, detail, NOT_YET).is_empty());
    plan.devices.len() + plan.mounts.len()
}

/// So large that quadratic time would not end.
#[test]
fn large_machines_are_planned() {
    assert_eq!(planned(&device_rules(100), &disks(400)), 600);
    assert_eq!(planned(&device_rules(2_000), &disks(100)), 150);
    let mut facts = disks(10);
    lines(4_000, &mut facts);
    assert!(planned(&mount_rules(100), &facts) > 3_000);
    lines(1_000, &mut facts);
    assert!(planned(&mount_rules(2_000), &facts) > 700);
}
