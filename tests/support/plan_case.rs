//! A folder of `tests/plan` as a state and the facts of a machine.

#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;
use ssdtune::facts::{Facts, Mount};
use ssdtune::format::mountinfo;
use ssdtune::format::text::Text;
use ssdtune::plan::{Only, Plan};
use ssdtune::render::plan::{Detail, NOT_YET, page};
use ssdtune::state::{self, DesiredState, Problem, Source};

/// One case.
pub struct Case {
    pub name: String,
    pub facts: Facts,
    sources: Vec<Source>,
    args: Vec<String>,
}

impl Case {
    /// All cases, by name.
    pub fn all() -> Vec<Self> {
        let mut names: Vec<String> = fs::read_dir("tests/plan")
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert!(names.len() > 40, "only {} cases", names.len());
        names.into_iter().map(Self::read).collect()
    }

    fn read(name: String) -> Self {
        let folder = PathBuf::from("tests/plan").join(&name);
        let mut files: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|file| file.ends_with(".toml"))
            .collect();
        files.sort();
        let sources = files
            .into_iter()
            .map(|file| Source {
                text: fs::read_to_string(folder.join(&file)).unwrap(),
                name: file,
            })
            .collect();
        let read = |file: &str| fs::read(folder.join(file)).ok();
        let text = |file: &str| read(file).map(|bytes| String::from_utf8(bytes).unwrap());
        let mut facts = read("facts.json").unwrap_or_else(|| match text("machine") {
            Some(machine) => fs::read(format!("tests/machines/{}.json", machine.trim())).unwrap(),
            None => fs::read("tests/plan/plain.json").unwrap(),
        });
        if let Some(patch) = read("merge.json") {
            let mut json: Json = serde_json::from_slice(&facts).unwrap();
            let patch = serde_json::from_slice(&patch)
                .unwrap_or_else(|error| panic!("{name}: merge.json: {error}"));
            merge(&mut json, patch);
            facts = serde_json::to_vec(&json).unwrap();
        }
        let mut facts = Facts::read(&facts).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(bytes) = read("fstab") {
            facts.fstab.image.get_or_insert_default().bytes = Text(bytes);
        }
        if let Some(bytes) = read("mountinfo") {
            let (entries, strange) = mountinfo::parse(&bytes);
            assert_eq!(strange, 0, "{name}: a line of mountinfo is none");
            facts.mounts = entries.iter().map(mount).collect();
        }
        Self {
            facts,
            sources,
            args: text("args")
                .map(|args| args.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            name,
        }
    }

    /// A file of the case.
    pub fn path(&self, file: &str) -> PathBuf {
        PathBuf::from("tests/plan").join(&self.name).join(file)
    }

    fn has(&self, arg: &str) -> bool {
        self.args.iter().any(|known| known == arg)
    }

    /// The desired state, or what is wrong with it.
    pub fn state(&self) -> Result<DesiredState, (&[Source], Vec<Problem>)> {
        state::parse(&self.sources).map_err(|problems| (&self.sources[..], problems))
    }

    /// The plan of the case.
    pub fn plan(&self, state: &DesiredState) -> Plan {
        self.plan_of(state, &self.facts)
    }

    /// The plan of the case on other facts.
    pub fn plan_of(&self, state: &DesiredState, facts: &Facts) -> Plan {
        let only = match (self.has("now"), self.has("boot")) {
            (true, _) => Only::Now,
            (_, true) => Only::Boot,
            _ => Only::Both,
        };
        ssdtune::plan::plan(state, facts, only)
    }

    /// What `plan` prints of it, without colours.
    pub fn page(&self, plan: &Plan) -> String {
        if self.has("json") {
            let plan = ssdtune::render::json::plan(plan);
            return serde_json::to_string_pretty(&plan).unwrap() + "\n";
        }
        let detail = Detail {
            verbose: self.has("verbose"),
            diff: self.has("diff"),
        };
        anstream::adapter::strip_str(&page(plan, detail, NOT_YET)).to_string()
    }
}

/// The machines of `tests/machines` and those that cases bring.
pub fn machines() -> Vec<(String, Facts)> {
    let mut machines = Vec::new();
    for entry in fs::read_dir("tests/machines").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let facts = Facts::read(&fs::read(&path).unwrap()).unwrap();
            machines.push((path.display().to_string(), facts));
        }
    }
    let own = Case::all()
        .into_iter()
        .filter(|case| case.path("facts.json").exists() || case.path("mountinfo").exists());
    machines.extend(own.map(|case| (case.name, case.facts)));
    assert!(machines.len() > 20);
    machines
}

/// RFC 7396: what is null goes, objects are merged, all else is replaced.
fn merge(into: &mut Json, patch: Json) {
    let Json::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = Json::Object(serde_json::Map::new());
    }
    let object = into.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            object.remove(&key);
        } else {
            merge(object.entry(key).or_insert(Json::Null), value);
        }
    }
}

fn mount(entry: &mountinfo::Entry<'_>) -> Mount {
    Mount {
        id: entry.id,
        parent: entry.parent,
        device: entry.device.to_owned(),
        root: Text(entry.root.to_vec()),
        target: Text(entry.target.to_vec()),
        flags: entry.flags().map(str::to_owned).collect(),
        fstype: entry.fstype.to_owned(),
        source: Text(entry.source.to_vec()),
        options: entry
            .options()
            .map(|option| Text(option.to_vec()))
            .collect(),
    }
}
