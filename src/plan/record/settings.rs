//! Settings of one thing, with what was found and written.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Found;

/// Settings by name, in the order of the names. A map of its own kind, as most things have one
/// setting, and there may be thousands of things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(Box<[(String, Found)]>);

impl Settings {
    /// Notes what is set now: of what was set before the value first found is kept, and what is
    /// not set any more is forgotten.
    pub fn note(&mut self, now: impl IntoIterator<Item = (String, Found)>) {
        let mut settings: Vec<(String, Found)> = now.into_iter().collect();
        for (name, found) in &mut settings {
            if let Some(known) = self.get(name) {
                *found = Found {
                    wrote: found.wrote.take(),
                    ..known.clone()
                };
            }
        }
        settings.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.0 = settings.into_boxed_slice();
    }

    /// What is known of a setting.
    pub fn get(&self, name: &str) -> Option<&Found> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, found)| found)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Found)> {
        self.0.iter().map(|(name, found)| (name.as_str(), found))
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = BTreeMap::<String, Found>::deserialize(deserializer)?;
        Ok(Self(settings.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(found: &str, wrote: &str) -> Found {
        Found {
            found: Some(found.to_owned()),
            wrote: Some(wrote.to_owned()),
            under: None,
        }
    }

    #[test]
    fn the_value_first_found_stays() {
        let mut settings = Settings::default();
        settings.note([
            ("b".to_owned(), found("1", "2")),
            ("a".to_owned(), found("x", "y")),
        ]);
        settings.note([("b".to_owned(), found("2", "3"))]);
        assert_eq!(
            settings.iter().collect::<Vec<_>>(),
            [("b", &found("1", "3"))]
        );
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(text, r#"{"b":{"found":"1","wrote":"3"}}"#);
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }
}
