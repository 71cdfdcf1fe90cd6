//! Looking at reports: every fault is noted, and all are told at once.

use crate::machine::Machine;

/// What a test found wrong in the reports of a machine.
pub struct Check<'a> {
    machine: &'a Machine,
    wrong: Vec<String>,
}

impl<'a> Check<'a> {
    pub fn new(machine: &'a Machine) -> Self {
        Self {
            machine,
            wrong: Vec::new(),
        }
    }

    /// `what` is the fault where `right` does not hold.
    pub fn that(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right {
            self.wrong.push(what());
        }
    }

    /// A command of a stage ended with this exit status.
    pub fn exit(&mut self, stage: u32, command: &str, status: i32) {
        let machine = self.machine;
        self.that(machine.status(stage, command) == status, || {
            let said = machine.said(stage, command);
            format!("stage {stage}, {command}: not exit status {status} but {said}")
        });
    }

    /// What a command or a report says holds this text, whatever the breaks of its lines.
    pub fn says(&mut self, stage: u32, key: &str, text: &str) {
        let said = self.machine.said(stage, key);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.that(words(&said).contains(&words(text)), || {
            format!("stage {stage}, {key}: does not say \"{text}\" but: {said}")
        });
    }

    /// No unit had failed.
    pub fn no_failed_unit(&mut self, stage: u32, key: &str) {
        let units = self.machine.text(stage, key);
        self.that(units.is_empty(), || {
            format!("stage {stage}, {key}: units failed: {units}")
        });
    }

    /// The queues have these values.
    pub fn values(&mut self, stage: u32, key: &str, wanted: &[(&str, &str)]) {
        let values = self.machine.values(stage, key);
        for (name, wanted) in wanted {
            let found = values.get(name).copied().unwrap_or("missing");
            self.that(found == *wanted, || {
                format!("stage {stage}, {key}: {name} is {found}, not {wanted}")
            });
        }
    }

    /// Two reports are the same, line by line.
    pub fn same(&mut self, before: (u32, &str), after: (u32, &str)) {
        let machine = self.machine;
        let texts = (
            machine.text(before.0, before.1),
            machine.text(after.0, after.1),
        );
        self.that(texts.0 == texts.1, || {
            let difference = similar::TextDiff::from_lines(texts.0, texts.1)
                .unified_diff()
                .context_radius(0)
                .to_string();
            format!(
                "stage {} {} is not stage {} {}:\n{difference}",
                after.0, after.1, before.0, before.1
            )
        });
    }

    /// Fails with everything that is wrong, and with where to look further.
    pub fn verdict(self) {
        let reports = self.machine.report_file();
        assert!(
            self.wrong.is_empty(),
            "{} faults; all that the guest reported is in {}\n\n{}",
            self.wrong.len(),
            reports.display(),
            self.wrong.join("\n")
        );
    }
}
