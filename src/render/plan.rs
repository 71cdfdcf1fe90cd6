//! A plan for people: 80 columns, alike disks folded, readable without colour.

mod devices;
mod files;
mod mounts;
mod timer;

use std::borrow::Cow;

use super::style::{ADD, CHANGE, ERROR, QUIET, REMOVE, TITLE, paint, plain};
use super::words::{WIDTH, count, discreet, host, visible, width, wrap};
use crate::plan::{LineChange, Notice, Plan, SettingChange, When};

/// How much is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Detail {
    /// Where each value was asked for, notes, and the record.
    pub verbose: bool,
    /// Generated files in full.
    pub diff: bool,
}

/// The page; with styles, for a printer that strips them where they do not belong. `last` ends the
/// summary of a plan without errors: [`NOT_YET`], or what else is to be said.
pub fn page(plan: &Plan, detail: Detail, last: &str) -> String {
    let mut page = head(plan);
    if plan.is_empty() && plan.errors.is_empty() {
        notices(&mut page, plan, detail);
        pending(&mut page, plan);
        // A rollback follows no state file.
        let why = match (plan.pending.is_empty(), plan.state.is_empty()) {
            (false, _) => "only the next boot is awaited",
            (true, true) => "the machine is as it was then",
            (true, false) => "the machine is as the state says",
        };
        page.push_str(&format!("\nNothing to change: {why}.\n"));
        page.push_str(&untold(plan, detail));
        return page;
    }
    if !plan.mounts.is_empty() {
        title(&mut page, "Mounts");
        mounts::section(&mut page, plan, detail);
    }
    if !plan.devices.is_empty() {
        title(&mut page, "Disks");
        devices::section(&mut page, plan, detail);
    }
    if let Some(change) = &plan.timer {
        title(&mut page, "TRIM");
        timer::section(&mut page, change, detail);
    }
    files::section(&mut page, plan, detail);
    pending(&mut page, plan);
    notices(&mut page, plan, detail);
    page.push('\n');
    page.push_str(&summary(plan, last));
    page.push_str(&untold(plan, detail));
    page
}

fn head(plan: &Plan) -> String {
    let mut head = host(&plan.host);
    if plan.kernel.is_empty() {
        // Of an offline system no kernel runs.
        head.push_str(", not running");
    } else {
        head.push_str(", Linux ");
        head.push_str(&visible(&plan.kernel));
    }
    if !plan.state.is_empty() {
        let files: Vec<Cow<'_, str>> = plan.state.iter().map(|name| visible(name)).collect();
        head.push_str(", state ");
        head.push_str(&files.join(" "));
    }
    let mut page = wrap(&head, WIDTH).join("\n  ");
    page.push('\n');
    page
}

fn title(page: &mut String, text: &str) {
    page.push('\n');
    page.push_str(&paint(TITLE, text));
    page.push('\n');
}

/// `~` changes, `+` comes, `-` goes, `!` is a side effect.
fn mark(sign: char) -> String {
    match sign {
        '+' => paint(ADD, '+'),
        '-' => paint(REMOVE, '-'),
        other => paint(CHANGE, other),
    }
}

/// Puts a tag at the right edge of a line of `used` characters, or on a line of its own.
fn tagged(page: &mut String, line: &str, used: usize, tag: &str) {
    page.push_str(line);
    if !tag.is_empty() {
        let length = width(tag);
        if used + 2 + length <= WIDTH {
            page.push_str(&" ".repeat(WIDTH - used - length));
            page.push_str(&paint(QUIET, tag));
        } else {
            for part in wrap(tag, WIDTH - 8) {
                page.push_str("\n        ");
                page.push_str(&paint(QUIET, part));
            }
        }
    }
    page.push('\n');
}

/// What is said of a change that is not "now and at every boot".
fn tag(when: When, why: Option<&str>) -> String {
    match (when, why) {
        (When::NowAndBoot, None) => String::new(),
        (When::NowAndBoot, Some(why)) => why.to_owned(),
        (When::Now, None) => "now".to_owned(),
        (When::Now, Some(why)) => format!("now: {why}"),
        (When::Boot, None) => "at next boot".to_owned(),
        (When::Boot, Some(why)) => format!("at next boot: {why}"),
    }
}

/// Notes that were kept back are at least counted.
fn untold(plan: &Plan, detail: Detail) -> String {
    match plan.notes.len() {
        0 => String::new(),
        _ if detail.verbose => String::new(),
        1 => "There is a note: -v shows it.\n".to_owned(),
        notes => format!("There are {notes} notes: -v shows them.\n"),
    }
}

fn pending(page: &mut String, plan: &Plan) {
    if plan.pending.is_empty() {
        return;
    }
    title(page, "Waiting for the next boot");
    for pending in &plan.pending {
        let now = pending
            .now
            .as_ref()
            .map_or(String::new(), |now| format!(", now {now}"));
        let text = format!(
            "{} on {}{now}: {}",
            pending.option, pending.target, pending.why
        );
        paragraph(page, "", &discreet(&text));
    }
}

fn notices(page: &mut String, plan: &Plan, detail: Detail) {
    if !plan.errors.is_empty() {
        title(page, "Errors");
        for notice in &plan.errors {
            paragraph(page, &paint(ERROR, "x "), &sentence(notice, true));
        }
    }
    if !plan.warnings.is_empty() {
        title(page, "Warnings");
        let longest = plan
            .warnings
            .iter()
            .map(|notice| notice.name.len())
            .max()
            .unwrap_or(0);
        for notice in &plan.warnings {
            let name = format!("{:<longest$}  ", notice.name);
            paragraph(page, &name, &sentence(notice, detail.verbose));
        }
    }
    if detail.verbose && !plan.notes.is_empty() {
        title(page, "Notes");
        for notice in &plan.notes {
            paragraph(page, "", &sentence(notice, true));
        }
    }
}

fn sentence(notice: &Notice, place: bool) -> Cow<'_, str> {
    match &notice.origin {
        Some(origin) if place => {
            let text = discreet(&notice.text);
            Cow::Owned(format!("{text} ({})", visible(origin)))
        }
        _ => discreet(&notice.text),
    }
}

/// A lead and wrapped text behind it, indented by two.
fn paragraph(page: &mut String, lead: &str, text: &str) {
    let used = width(&plain(lead));
    let indent = " ".repeat(2 + used);
    for (index, line) in wrap(text, WIDTH - 2 - used).iter().enumerate() {
        if index == 0 {
            page.push_str("  ");
            page.push_str(lead);
        } else {
            page.push_str(&indent);
        }
        page.push_str(line);
        page.push('\n');
    }
}

/// Changes now and at every boot, now, at the next boot.
fn numbers(plan: &Plan) -> [usize; 3] {
    let mut numbers = [0; 3];
    let mut note = |when: When| {
        numbers[match when {
            When::NowAndBoot => 0,
            When::Now => 1,
            When::Boot => 2,
        }] += 1;
    };
    for change in &plan.mounts {
        match change.line {
            // A whole line comes or goes.
            LineChange::Add | LineChange::Remove => {
                let rows = change.options.iter().map(|option| option.when);
                note(rows.max().unwrap_or(When::Boot));
            }
            LineChange::Edit | LineChange::Keep => {
                for option in &change.options {
                    note(option.when);
                }
            }
        }
    }
    if let Some(change) = &plan.timer {
        note(change.when());
    }
    for setting in settings(plan).filter(|row| !row.side_effect) {
        note(setting.when);
    }
    numbers
}

fn settings(plan: &Plan) -> impl Iterator<Item = &SettingChange> {
    plan.devices.iter().flat_map(|change| &change.settings)
}

/// How many changes a plan has, side effects not counted.
pub fn changes(plan: &Plan) -> usize {
    numbers(plan).iter().sum()
}

/// The last word on a plan that has not been carried out.
pub const NOT_YET: &str = "Nothing is changed yet.\n";

/// `12 changes: 11 now and at every boot, 1 at next boot; 2 side effects.`
fn summary(plan: &Plan, last: &str) -> String {
    let numbers = numbers(plan);
    let side_effects = settings(plan).filter(|row| row.side_effect).count();
    let total: usize = numbers.iter().sum();
    let names = ["now and at every boot", "now", "at next boot"];
    let parts: Vec<String> = numbers
        .iter()
        .zip(names)
        .filter(|(number, _)| **number > 0)
        .map(|(number, name)| format!("{number} {name}"))
        .collect();
    let mut text = match total {
        0 if plan.files.is_empty() && plan.links().is_empty() => String::new(),
        0 => "Only files change".to_owned(),
        _ => format!("{}: {}", count(total, "change"), parts.join(", ")),
    };
    if side_effects > 0 {
        text.push_str("; ");
        text.push_str(&count(side_effects, "side effect"));
    }
    if !text.is_empty() {
        text.push_str(".\n");
    }
    match plan.errors.len() {
        0 => text.push_str(last),
        errors => text.push_str(&format!(
            "{} must be mended first: nothing can be applied.\n",
            count(errors, "error")
        )),
    }
    text
}
