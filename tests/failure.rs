//! Failure at every step of an apply and of a rollback: all is as before, and the error that is
//! reported is the one that caused it. Power cuts at every step: one rollback ends in a state that
//! was whole before. Both on the simulated machine and on the real kernel.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test sets up what the program is then asked to change"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::mount::MsFlags;
use ssdtune::apply::Failure;
use ssdtune::facts::{Device, Facts, File, Mount, Scope, TrimTimer};
use ssdtune::rollback::To;
use ssdtune::snapshot::Store;
use ssdtune::state::DesiredState;
use ssdtune::system::failing::{Failing, Mode};
use ssdtune::system::simulated::Simulated;
use ssdtune::system::{Live, System};
use support::bench::{apply, plan, rollback, state};
use support::machine::{Machine, World, alone, walk};

/// A machine to fail on, and a way to look at all of it.
struct Site<'m, S> {
    /// None only while it is lent out.
    system: Option<S>,
    store: Store,
    state: DesiredState,
    look: Box<dyn Fn(&mut S) -> World + 'm>,
    /// Every which step it is tried whether all works afterwards: on the real kernel each switch of
    /// a scheduler takes its time, and the next step begins with an apply anyway.
    every: usize,
}

impl<S: System> Site<'_, S> {
    fn world(&mut self) -> World {
        (self.look)(self.system.as_mut().unwrap())
    }

    /// Runs with the nth effect failing; whether it came to that one.
    fn failing<R>(
        &mut self,
        at: usize,
        mode: Mode,
        run: impl FnOnce(&mut dyn System, &Store, &DesiredState) -> R,
    ) -> (R, bool) {
        let mut system = Failing::new(self.system.take().unwrap(), at, mode);
        let result = run(&mut system, &self.store, &self.state);
        let reached = system.count >= at;
        self.system = Some(system.inner);
        (result, reached)
    }

    fn apply(&mut self) {
        apply(self.system.as_mut().unwrap(), &self.store, &self.state).unwrap();
    }

    fn rollback(&mut self) {
        if let Some(result) = rollback(self.system.as_mut().unwrap(), &self.store, &To::Last) {
            result.unwrap();
        }
    }

    /// Nothing is open, nothing hidden is left, and a second plan is empty after an apply that can
    /// be taken back to `first`.
    fn works(&mut self, first: &World) {
        assert!(self.store.interrupted().unwrap().is_none());
        self.apply();
        let again = plan(self.system.as_mut().unwrap(), &self.state);
        assert!(again.is_empty(), "{again:?}");
        self.rollback();
        let world = self.world();
        world.of_the_user().is(&first.of_the_user());
        let hidden: Vec<_> = world.0.keys().filter(|name| name.contains("/.")).collect();
        assert_eq!(hidden, Vec::<&String>::new());
    }

    /// Takes all snapshots away, so that the next round begins as the first.
    fn forget(&mut self, root: &Path) {
        let _ = fs::remove_dir_all(root.join("var/lib/ssdtune/snapshots"));
        for entry in fs::read_dir(root.join("etc")).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("fstab.bak-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
}

/// What a user sees: neither ssdtune's own records nor hidden files.
fn seen(world: &World) -> World {
    let mut world = world.of_the_user();
    world.0.retain(|name, _| !name.contains("/."));
    world
}

/// What is told of a failed run.
fn cause(failure: &Failure) -> &str {
    match failure {
        Failure::Untouched(cause) | Failure::Undone { cause, .. } => cause,
        other => panic!("{other:?}"),
    }
}

/// Failure at each step of an apply: how many there are, and how many did no harm.
fn apply_fails<'m, S: System>(mode: Mode, site: &mut dyn FnMut() -> Site<'m, S>) -> (usize, usize) {
    let mut harmless = 0;
    for at in 1.. {
        let mut site = site();
        let first = site.world();
        let (result, reached) =
            site.failing(at, mode, |system, store, state| apply(system, store, state));
        if !reached {
            result.unwrap();
            site.rollback();
            return (at - 1, harmless);
        }
        match result {
            Err(failure) => {
                assert!(
                    cause(&failure).contains("os error 5"),
                    "step {at}: {failure:?}"
                );
                site.world().is(&first);
            }
            // Who was to be told, or what was to be cleared away, once all was done.
            Ok(_) => {
                harmless += 1;
                let again = plan(site.system.as_mut().unwrap(), &site.state);
                assert!(again.is_empty(), "step {at}: {again:?}");
                site.rollback();
            }
        }
        site.world().of_the_user().is(&first.of_the_user());
        if at % site.every == 0 {
            site.works(&first);
        }
    }
    unreachable!()
}

/// The same of a rollback.
fn rollback_fails<'m, S: System>(
    mode: Mode,
    site: &mut dyn FnMut() -> Site<'m, S>,
) -> (usize, usize) {
    let mut harmless = 0;
    for at in 1.. {
        let mut site = site();
        let first = site.world();
        site.apply();
        let applied = site.world();
        let (result, reached) = site.failing(at, mode, |system, store, _| {
            rollback(system, store, &To::Last).unwrap()
        });
        match result {
            Err(failure) => {
                assert!(
                    cause(&failure).contains("os error 5"),
                    "step {at}: {failure:?}"
                );
                site.world().is(&applied);
                site.rollback();
                site.world().of_the_user().is(&first.of_the_user());
            }
            // A mask that could not be taken away goes with the boot.
            Ok(_) if reached => {
                harmless += 1;
                let mask = ["unit"];
                seen(&site.world()).without(&mask).is(&seen(&first));
            }
            Ok(_) => {
                site.world().of_the_user().is(&first.of_the_user());
                return (at - 1, harmless);
            }
        }
        if at % site.every == 0 {
            site.works(&first);
        }
    }
    unreachable!()
}

/// The power goes at each step of an apply; what comes after it has `boot`ed.
fn apply_dies<'m, S: System>(
    mode: Mode,
    site: &mut dyn FnMut() -> Site<'m, S>,
    boot: &dyn Fn(&mut S),
) -> usize {
    for at in 1.. {
        let mut site = site();
        let first = site.world();
        let (result, reached) =
            site.failing(at, mode, |system, store, state| apply(system, store, state));
        if reached {
            // Steps whose failure does no harm may be the last.
            let _ = result.map_err(|failure| failure.to_string());
        } else {
            result.unwrap();
            site.rollback();
            return at - 1;
        }
        boot(site.system.as_mut().unwrap());
        site.rollback();
        // What never came to a snapshot left hidden files at most: they go with the next run.
        seen(&site.world()).is(&seen(&first));
        if at % site.every == 0 {
            site.works(&first);
        }
    }
    unreachable!()
}

/// The power goes at each step of a rollback: one more takes back what it did, or it was done.
fn rollback_dies<'m, S: System>(
    mode: Mode,
    site: &mut dyn FnMut() -> Site<'m, S>,
    boot: &dyn Fn(&mut S),
) -> usize {
    for at in 1.. {
        let mut site = site();
        let first = site.world();
        site.apply();
        let applied = site.world();
        let (result, reached) = site.failing(at, mode, |system, store, _| {
            rollback(system, store, &To::Last).unwrap()
        });
        if !reached {
            result.unwrap();
            return at - 1;
        }
        boot(site.system.as_mut().unwrap());
        if site.store.interrupted().unwrap().is_some() {
            site.rollback();
            seen(&site.world()).is(&seen(&applied));
        }
        site.rollback();
        seen(&site.world()).is(&seen(&first));
        if at % site.every == 0 {
            site.works(&first);
        }
    }
    unreachable!()
}

const STATE: &str = r#"
[[mount]]
match.target = "DATA"
options = ["noatime", "commit=60"]

[[tmpfs]]
target = "/tmp"
size = "1g"
mode = "1777"

[[device]]
match.name = "DISK"
scheduler = "mq-deadline"
mq-deadline.fifo_batch = 1
nr_requests = 64
max_sectors_kb = 512
read_ahead_kb = 64
"#;

/// systemd is simulated too; on the kernel alone nobody runs whom one could ask for it.
const TRIM: &str = "[trim]\ntimer = true\n";

/// The simulated machine, with its files below a folder of its own.
///
/// Its fstrim.timer is off.
fn simulated(root: &Path) -> Site<'static, Simulated> {
    let strings = |list: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = list
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        pairs.collect()
    };
    let sda = Device {
        number: "8:0".to_owned(),
        serial: Some("S1".into()),
        queue: strings(&[
            ("scheduler", "none mq-deadline [kyber] bfq"),
            ("nr_requests", "100"),
            ("read_ahead_kb", "512"),
            ("max_sectors_kb", "1280"),
            ("max_hw_sectors_kb", "2048"),
            ("rotational", "0"),
        ]),
        iosched: strings(&[("read_lat_nsec", "1000000"), ("write_lat_nsec", "7000000")]),
        ..Device::default()
    };
    let data = Mount {
        device: "8:1".to_owned(),
        target: "/data".into(),
        flags: ["rw", "nosuid", "relatime"].map(str::to_owned).to_vec(),
        fstype: "ext4".to_owned(),
        options: vec!["rw".into()],
        ..Mount::default()
    };
    let file = |path: &str| File {
        path: path.into(),
        resolved: path.into(),
        links: 1,
        ..File::default()
    };
    let facts = Facts {
        kernel: "6.18.44".to_owned(),
        machine_id: "m".to_owned(),
        boot_id: "b1".to_owned(),
        hz: Some(250),
        page_kb: 4,
        memory_kb: 4 << 20,
        systemd: true,
        udev: true,
        devices: [("sda".to_owned(), sda)].into(),
        mounts: vec![data],
        fstab: file("/etc/fstab"),
        rules: file("/etc/udev/rules.d/90-ssdtune.rules"),
        record: file("/var/lib/ssdtune/managed.json"),
        trim_timer: TrimTimer {
            unit: Some("/usr/lib/systemd/system/fstrim.timer".into()),
            running: Some(false),
            ..TrimTimer::default()
        },
        ..Facts::default()
    };
    fs::create_dir_all(root.join("etc/udev/rules.d")).unwrap();
    let fstab = root.join("etc/fstab");
    fs::write(&fstab, "# first\n/dev/sda1 /data ext4 nosuid 0 2").unwrap();
    fs::set_permissions(&fstab, PermissionsExt::from_mode(0o640)).unwrap();
    let shown = root.to_owned();
    Site {
        system: Some(Simulated::on_disk(facts, root)),
        every: 1,
        store: Store::open(root),
        state: state(&(STATE.replace("DATA", "/data").replace("DISK", "sda") + TRIM)),
        look: Box::new(move |system| {
            let mut files = BTreeMap::new();
            walk(&mut files, &shown);
            let root = format!("file {}", shown.display());
            let mut world: BTreeMap<String, String> = files
                .into_iter()
                .map(|(name, text)| (format!("file {}", &name[root.len()..]), text))
                .collect();
            let facts = system.facts(&Scope::everything());
            for (name, device) in &facts.devices {
                let values = device.queue.iter().chain(&device.iosched);
                values.for_each(|(file, value)| {
                    world.insert(format!("queue {name} {file}"), value.clone());
                });
            }
            for mount in &facts.mounts {
                let name = format!("mount {}", mount.target);
                world.insert(name, format!("{:?} {:?}", mount.flags, mount.options));
            }
            for (target, unit) in &facts.units {
                world.insert(format!("unit {target}"), format!("{unit:?}"));
            }
            world.insert("timer".to_owned(), format!("{:?}", facts.trim_timer));
            World(world)
        }),
    }
}

/// A folder in memory where there is one: each run syncs a hundred times.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// Makes sites, each in a folder of its own.
fn sites() -> impl FnMut() -> Site<'static, Simulated> {
    let mut folders = Vec::new();
    move || {
        folders.clear();
        let folder = folder();
        let site = simulated(folder.path());
        folders.push(folder);
        site
    }
}

/// A boot: what is live is what the files say. The simulated disk remembers nothing.
fn boot(system: &mut Simulated) {
    let mut facts = system.facts(&Scope::everything());
    facts.boot_id = "b2".to_owned();
    facts.units.clear();
    facts.trim_timer.running = Some(facts.trim_timer.enabled());
    let ours = |image: &Option<ssdtune::facts::Image>, word: &str| {
        let text = image.as_ref().map(|image| image.bytes.to_string());
        text.is_some_and(|text| text.contains(word))
    };
    let tuned = ours(&facts.rules.image, "fifo_batch");
    let noatime = ours(&facts.fstab.image, "noatime");
    let folder = folder();
    let fresh = simulated(folder.path())
        .system
        .unwrap()
        .facts(&Scope::everything());
    facts.devices = fresh.devices;
    facts.mounts = fresh.mounts;
    if noatime {
        facts.mounts[0].flags[2] = "noatime".to_owned();
        facts.mounts[0].options.push("commit=60".into());
    }
    system.set_facts(facts);
    if tuned {
        for (file, value) in [
            ("scheduler", "mq-deadline"),
            ("nr_requests", "64"),
            ("iosched/fifo_batch", "1"),
            ("max_sectors_kb", "512"),
            ("read_ahead_kb", "64"),
        ] {
            system
                .write("sda", &format!("queue/{file}"), value)
                .unwrap();
        }
    }
}

#[test]
fn simulated_an_apply_that_fails_at_any_step_leaves_all_as_before() {
    for mode in [Mode::Before, Mode::After] {
        let (steps, harmless) = apply_fails(mode, &mut sites());
        eprintln!("apply, {mode:?}: {steps} steps, {harmless} of them without harm");
        assert!(steps > 30 && harmless < steps / 2);
    }
}

#[test]
fn simulated_a_rollback_that_fails_at_any_step_leaves_all_as_applied() {
    for mode in [Mode::Before, Mode::After] {
        let (steps, harmless) = rollback_fails(mode, &mut sites());
        eprintln!("rollback, {mode:?}: {steps} steps, {harmless} of them without harm");
        assert!(steps > 30 && harmless < steps / 2);
    }
}

#[test]
fn simulated_an_apply_that_is_killed_is_undone_by_one_rollback() {
    for mode in [Mode::Dead, Mode::DeadAfter] {
        let steps = apply_dies(mode, &mut sites(), &|system| system.locked.clear());
        eprintln!("apply, {mode:?}: {steps} steps");
    }
}

#[test]
fn simulated_an_apply_whose_power_goes_is_undone_by_one_rollback_after_the_boot() {
    for mode in [Mode::Dead, Mode::DeadAfter] {
        let steps = apply_dies(mode, &mut sites(), &boot);
        eprintln!("apply and boot, {mode:?}: {steps} steps");
    }
}

#[test]
fn simulated_a_rollback_that_is_killed_is_undone_by_one_rollback() {
    for mode in [Mode::Dead, Mode::DeadAfter] {
        let steps = rollback_dies(mode, &mut sites(), &|system| system.locked.clear());
        eprintln!("rollback, {mode:?}: {steps} steps");
    }
}

/// The real kernel; each round ends as it began, so that the next can begin.
fn on_the_kernel<'m>(machine: &'m Machine) -> Option<impl FnMut() -> Site<'m, Live>> {
    let disk = machine.disk("ext4", MsFlags::MS_NOSUID, "")?;
    let target = disk.target.display().to_string();
    let fstab = format!("# first\n{} {target} ext4 nosuid 0 2", disk.node.display());
    fs::write("/etc/fstab", fstab).unwrap();
    let queue = format!("/sys/block/{}/queue", disk.name);
    for (file, value) in [
        ("scheduler", "kyber"),
        ("iosched/read_lat_nsec", "1000000"),
        ("nr_requests", "100"),
    ] {
        fs::write(format!("{queue}/{file}"), value).unwrap();
    }
    let text = STATE.replace("DATA", &target).replace("DISK", &disk.name);
    Some(move || {
        let mut site = Site {
            system: Some(Live::new("/")),
            every: 8,
            store: Store::open("/"),
            state: state(&text),
            look: Box::new(|_: &mut Live| machine.world()),
        };
        site.forget(Path::new("/"));
        site
    })
}

#[test]
fn on_linux_an_apply_that_fails_at_any_step_leaves_all_as_before() {
    alone(|machine| {
        let Some(mut site) = on_the_kernel(machine) else {
            return;
        };
        for mode in [Mode::Before, Mode::After] {
            let (steps, harmless) = apply_fails(mode, &mut site);
            eprintln!("apply, {mode:?}: {steps} steps, {harmless} of them without harm");
        }
    });
}

#[test]
fn on_linux_a_rollback_that_fails_at_any_step_leaves_all_as_applied() {
    alone(|machine| {
        let Some(mut site) = on_the_kernel(machine) else {
            return;
        };
        for mode in [Mode::Before, Mode::After] {
            let (steps, harmless) = rollback_fails(mode, &mut site);
            eprintln!("rollback, {mode:?}: {steps} steps, {harmless} of them without harm");
        }
    });
}

#[test]
fn on_linux_an_apply_that_is_killed_is_undone_by_one_rollback() {
    alone(|machine| {
        let Some(mut site) = on_the_kernel(machine) else {
            return;
        };
        let steps = apply_dies(Mode::DeadAfter, &mut site, &|_| {});
        eprintln!("apply, DeadAfter: {steps} steps");
    });
}
