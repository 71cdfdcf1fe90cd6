//! The section on disks: those that change alike are shown once.

use super::{Detail, mark, tag, tagged};
use crate::knowledge::attributes;
use crate::plan::{DeviceChange, Plan, SettingChange};
use crate::render::style::{QUIET, TITLE, paint};
use crate::render::words::{WIDTH, visible, wrap};

pub(super) fn section(page: &mut String, plan: &Plan, detail: Detail) {
    let mut groups: Vec<Vec<&DeviceChange>> = Vec::new();
    for change in &plan.devices {
        match groups.iter_mut().find(|group| alike(group[0], change)) {
            Some(group) => group.push(change),
            None => groups.push(vec![change]),
        }
    }
    for group in groups {
        heading(page, &group);
        let width = group[0]
            .settings
            .iter()
            .map(|row| row.key.chars().count())
            .max()
            .unwrap_or(0);
        for row in &group[0].settings {
            setting(page, row, width, detail);
        }
    }
}

/// Same model, same changes, and neither is named by what is mounted on it.
fn alike(a: &DeviceChange, b: &DeviceChange) -> bool {
    a.device.model == b.device.model
        && a.device.dm_name.is_none()
        && b.device.dm_name.is_none()
        && a.settings == b.settings
        && a.on == b.on
}

fn heading(page: &mut String, group: &[&DeviceChange]) {
    let change = group[0];
    let names: Vec<String> = group.iter().map(|change| name(change)).collect();
    let mut about = String::new();
    if let Some(model) = &change.device.model {
        about.push_str("  ");
        about.push_str(&visible(&model.to_string()));
    }
    if change.device.dm_name.is_some() || !change.on.is_empty() {
        let under: Vec<String> = change
            .under
            .iter()
            .map(|target| visible(&target.to_string()))
            .collect();
        if !under.is_empty() {
            about.push_str(&format!(" under {}", under.join(" ")));
        }
        if !change.on.is_empty() {
            about.push_str(&format!(", on {}", change.on.join(" ")));
        }
    }
    let names = names.join(" ");
    let used = 2 + names.chars().count() + about.chars().count();
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
    tagged(page, &format!("    {rest}"), 4 + rest.chars().count(), &tag);
}

fn name(change: &DeviceChange) -> String {
    let name = change.device.name.replace('!', "/");
    match &change.device.dm_name {
        Some(dm) => format!("{} ({name})", visible(&dm.to_string())),
        None => visible(&name),
    }
}

fn setting(page: &mut String, row: &SettingChange, width: usize, detail: Detail) {
    let from = match &row.from {
        Some(from) => visible(from),
        None => match attributes::by_key(&row.key).map(|attribute| attribute.default_number()) {
            Some(default) if !default.is_empty() => format!("default {default}"),
            _ => "default".to_owned(),
        },
    };
    let to = row
        .to
        .as_deref()
        .map_or_else(|| "kernel default".to_owned(), visible);
    let sign = if row.side_effect { '!' } else { '~' };
    let text = format!("{:<width$}  {from} -> {to}", row.key);
    let mut line = format!("    {} {text}", mark(sign));
    let mut used = 6 + text.chars().count();
    if row.side_effect {
        let words = "    side effect of the switch";
        line.push_str(&paint(QUIET, words));
        used += words.len();
    }
    if let Some(remark) = &row.remark {
        let words = format!("    {remark}");
        line.push_str(&paint(QUIET, &words));
        used += words.chars().count();
    }
    if detail.verbose
        && let Some(origin) = &row.origin
    {
        let words = format!("  ({})", visible(origin));
        line.push_str(&paint(QUIET, &words));
        used += words.chars().count();
    }
    let tag = if row.side_effect {
        String::new()
    } else {
        tag(row.when, None)
    };
    tagged(page, &line, used, &tag);
}
