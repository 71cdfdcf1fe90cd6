//! The section on disks: those that change alike are shown once.

use std::collections::HashMap;

use super::{Detail, mark, tag, tagged};
use crate::format::text::Text;
use crate::knowledge::attributes;
use crate::plan::{DeviceChange, Plan, SettingChange};
use crate::render::style::{QUIET, TITLE, paint};
use crate::render::words::{WIDTH, visible, width, wrap};

pub(super) fn section(page: &mut String, plan: &Plan, detail: Detail) {
    let mut groups: Vec<Vec<&DeviceChange>> = Vec::new();
    let mut known: HashMap<Likeness<'_>, usize> = HashMap::new();
    for change in &plan.devices {
        let index = *known.entry(likeness(change)).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    for group in groups {
        heading(page, &group);
        let keys = group[0].settings.iter().map(|row| row.key.len()).max();
        for row in &group[0].settings {
            setting(page, row, keys.unwrap_or(0), detail);
        }
    }
}

/// What devices shown as one have in common.
#[derive(PartialEq, Eq, Hash)]
struct Likeness<'p> {
    model: Option<&'p Text>,
    on: &'p [String],
    settings: Vec<[Option<&'p str>; 5]>,
    /// A device mapper device is named by what it is: none is like another.
    alone: Option<&'p str>,
}

/// Same model, same changes, and none is named by what is mounted on it.
fn likeness(change: &DeviceChange) -> Likeness<'_> {
    let settings = change.settings.iter();
    Likeness {
        model: change.device.model.as_ref(),
        on: &change.on,
        settings: settings
            .map(|row| {
                [
                    Some(row.key.as_str()),
                    row.from.as_deref(),
                    row.to.as_deref(),
                    row.origin.as_deref(),
                    row.remark.as_deref(),
                ]
            })
            .collect(),
        alone: change
            .device
            .dm_name
            .as_ref()
            .map(|_| change.device.name.as_str()),
    }
}

fn heading(page: &mut String, group: &[&DeviceChange]) {
    let change = group[0];
    const SHOWN: usize = 40;
    let mut names: Vec<String> = group
        .iter()
        .take(SHOWN)
        .map(|change| name(change))
        .collect();
    if let Some(more @ 1..) = group.len().checked_sub(SHOWN) {
        names.push(format!("and {more} more"));
    }
    let mut about = String::new();
    if let Some(model) = &change.device.model {
        about.push_str("  ");
        about.push_str(&visible(&model.to_string()));
    }
    if change.device.dm_name.is_some() || !change.on.is_empty() {
        let under: Vec<String> = change
            .under
            .iter()
            .map(|target| visible(&target.to_str()).into_owned())
            .collect();
        if !under.is_empty() {
            about.push_str(&format!(" under {}", under.join(" ")));
        }
        if !change.on.is_empty() {
            about.push_str(&format!(", on {}", change.on.join(" ")));
        }
    }
    let names = names.join(" ");
    let used = 2 + width(&names) + width(&about);
    let tag = if group.len() > 1 {
        format!("({} alike)", group.len())
    } else {
        String::new()
    };
    if used <= WIDTH {
        tagged(
            page,
            &format!("  {}{about}", paint(TITLE, &names)),
            used,
            &tag,
        );
        return;
    }
    let lines = wrap(&names, WIDTH - 4);
    for (index, line) in lines.iter().enumerate() {
        let indent = if index == 0 { "  " } else { "    " };
        page.push_str(&format!("{indent}{}\n", paint(TITLE, line)));
    }
    let rest = about.trim_start();
    tagged(page, &format!("    {rest}"), 4 + width(rest), &tag);
}

fn name(change: &DeviceChange) -> String {
    let name = change.device.name.replace('!', "/");
    match &change.device.dm_name {
        Some(dm) => format!("{} ({name})", visible(&dm.to_string())),
        None => visible(&name).into_owned(),
    }
}

fn setting(page: &mut String, row: &SettingChange, keys: usize, detail: Detail) {
    let from = match &row.from {
        Some(from) => visible(from).into_owned(),
        None => match attributes::by_key(&row.key).map(|attribute| attribute.default_number()) {
            Some(default) if !default.is_empty() => format!("default {default}"),
            _ => "default".to_owned(),
        },
    };
    let to = row
        .to
        .as_deref()
        .map_or_else(|| "kernel default".into(), visible);
    let sign = if row.side_effect { '!' } else { '~' };
    let text = format!("{:<keys$}  {from} -> {to}", row.key);
    let mut line = format!("    {} {text}", mark(sign));
    let mut used = 6 + width(&text);
    if let Some(remark) = &row.remark {
        let words = format!("    {}", visible(remark));
        line.push_str(&paint(QUIET, &words));
        used += width(&words);
    }
    if detail.verbose
        && let Some(origin) = &row.origin
    {
        let words = format!("  ({})", visible(origin));
        line.push_str(&paint(QUIET, &words));
        used += width(&words);
    }
    let tag = if row.side_effect {
        String::new()
    } else {
        tag(row.when, None)
    };
    tagged(page, &line, used, &tag);
}
