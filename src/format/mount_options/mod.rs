//! Lists of mount options: the fourth field of fstab(5), and what mountinfo shows.
//!
//! All of it works on the list as it is written. Items stand between the commas outside double
//! quotes, as libmount splits them (`ul_optstr_next()` in libmount/src/optstr.c); readers skip
//! empty items, so these stay where they are but never show up as items.

mod encode;

pub use encode::{Refusal, encode};

/// The items of a list; a quote that nothing closes reaches to the end.
pub fn split(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    list.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    })
    .filter(|item| !item.is_empty())
}

/// Whether a double quote in the list has no partner: what is appended would become part of it.
pub fn is_open(list: &[u8]) -> bool {
    list.iter().filter(|&&byte| byte == b'"').count() % 2 == 1
}

/// An item's name: what stands before the first `=`, or all of it.
pub fn name(item: &[u8]) -> &[u8] {
    &item[..equals(item).unwrap_or(item.len())]
}

/// An item's value, with its quotes; none where it has no `=`.
pub fn value(item: &[u8]) -> Option<&[u8]> {
    equals(item).map(|at| &item[at + 1..])
}

/// Where name and value part; libmount takes a leading `=` for a part of the name.
fn equals(item: &[u8]) -> Option<usize> {
    let mut quoted = false;
    item.iter().enumerate().position(|(at, &byte)| {
        quoted ^= byte == b'"';
        at > 0 && byte == b'=' && !quoted
    })
}

/// The list with `token` in effect, alone in its slot.
///
/// `token` takes the place of the first item of its slot, and the others go; without one it is
/// appended. A list whose slot holds `token` and nothing else comes back as it is.
pub fn set(list: &[u8], token: &[u8], same_slot: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut members = split(list).filter(|item| same_slot(item)).peekable();
    if members.peek().is_some() && members.all(|item| item == token) {
        return list.to_vec();
    }
    let mut placed = false;
    let mut out = rewrite(list, |item| {
        if !same_slot(item) {
            return Fate::Keep;
        }
        if std::mem::replace(&mut placed, true) {
            Fate::Drop
        } else {
            Fate::Become(token)
        }
    });
    if !placed {
        // Readers skip an empty item, and a trailing comma is one: no need for a second.
        if !out.is_empty() && !out.ends_with(b",") {
            out.push(b',');
        }
        out.extend_from_slice(token);
    }
    out
}

/// The list without the items that match; `defaults` where none is left.
pub fn remove(list: &[u8], matches: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let out = rewrite(list, |item| {
        if matches(item) {
            Fate::Drop
        } else {
            Fate::Keep
        }
    });
    if split(&out).next().is_none() {
        b"defaults".to_vec()
    } else {
        out
    }
}

/// What becomes of an item.
enum Fate<'a> {
    Keep,
    Drop,
    Become(&'a [u8]),
}

/// Copies a list item by item; with a dropped one goes the comma before it, or else behind it.
fn rewrite<'a>(list: &[u8], mut fate: impl FnMut(&[u8]) -> Fate<'a>) -> Vec<u8> {
    let mut out = Vec::with_capacity(list.len() + 16);
    let mut quoted = false;
    let items = list.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    });
    let mut first = true;
    for item in items {
        let kept = match if item.is_empty() {
            Fate::Keep
        } else {
            fate(item)
        } {
            Fate::Keep => item,
            Fate::Become(token) => token,
            Fate::Drop => continue,
        };
        if !first {
            out.push(b',');
        }
        first = false;
        out.extend_from_slice(kept);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(list: &str) -> Vec<&str> {
        split(list.as_bytes())
            .map(|item| std::str::from_utf8(item).unwrap())
            .collect()
    }

    fn atime(item: &[u8]) -> bool {
        matches!(
            item,
            b"atime" | b"noatime" | b"relatime" | b"norelatime" | b"strictatime" | b"nostrictatime"
        )
    }

    fn with_noatime(list: &str) -> String {
        String::from_utf8(set(list.as_bytes(), b"noatime", atime)).unwrap()
    }

    fn without(list: &str, gone: &str) -> String {
        String::from_utf8(remove(list.as_bytes(), |item| {
            name(item) == gone.as_bytes()
        }))
        .unwrap()
    }

    #[test]
    fn commas_in_quotes_do_not_split() {
        assert_eq!(
            items("rw,context=\"a:c1,c2\",x"),
            ["rw", "context=\"a:c1,c2\"", "x"]
        );
        assert_eq!(items(",,rw,"), ["rw"]);
        assert_eq!(items("a=\"x,y"), ["a=\"x,y"]);
        assert_eq!(items(""), Vec::<&str>::new());
    }

    #[test]
    fn names_end_at_the_first_equals_sign() {
        assert_eq!(
            (name(b"a=b=c"), value(b"a=b=c")),
            (&b"a"[..], Some(&b"b=c"[..]))
        );
        assert_eq!((name(b"ro"), value(b"ro")), (&b"ro"[..], None));
        assert_eq!(
            (name(b"size="), value(b"size=")),
            (&b"size"[..], Some(&b""[..]))
        );
        assert_eq!((name(b"=x"), value(b"=x")), (&b"=x"[..], None));
    }

    #[test]
    fn a_slot_is_filled_at_its_first_place() {
        assert_eq!(
            with_noatime("rw,relatime,errors=remount-ro"),
            "rw,noatime,errors=remount-ro"
        );
        assert_eq!(with_noatime("noatime,atime"), "noatime");
        assert_eq!(
            with_noatime("lazytime,relatime,nodiratime,strictatime"),
            "lazytime,noatime,nodiratime"
        );
        assert_eq!(
            with_noatime("x=\"relatime,y\",atime"),
            "x=\"relatime,y\",noatime"
        );
    }

    #[test]
    fn what_is_missing_is_appended() {
        assert_eq!(with_noatime("defaults"), "defaults,noatime");
        assert_eq!(with_noatime("rw,"), "rw,noatime");
        assert_eq!(with_noatime("rw,,"), "rw,,noatime");
        assert_eq!(with_noatime(""), "noatime");
    }

    #[test]
    fn what_is_in_effect_stays() {
        for list in ["rw,noatime,,x,", "noatime,noatime", ",noatime"] {
            assert_eq!(with_noatime(list), list);
        }
    }

    #[test]
    fn removing_leaves_no_empty_list() {
        assert_eq!(without("defaults,discard", "discard"), "defaults");
        assert_eq!(without("discard=async", "discard"), "defaults");
        assert_eq!(without("discard,ro", "discard"), "ro");
        assert_eq!(without("ro,discard,,sync", "discard"), "ro,,sync");
        assert_eq!(without("discard,", "discard"), "defaults");
        assert_eq!(without("ro,x", "discard"), "ro,x");
    }

    proptest::proptest! {
        #[test]
        fn a_list_joined_from_its_items_has_them(list in "[a-c=,\"]{0,30}") {
            let parts: Vec<_> = split(list.as_bytes()).collect();
            let joined = parts.join(&b","[..]);
            proptest::prop_assert_eq!(split(&joined).collect::<Vec<_>>(), parts);
            proptest::prop_assert_eq!(remove(list.as_bytes(), |_| false).is_empty(), false);
        }

        #[test]
        fn setting_twice_is_setting_once(list in "(noatime|atime|relatime|a|b=\"c,d\"|,){0,8}") {
            let once = set(list.as_bytes(), b"noatime", atime);
            proptest::prop_assert_eq!(set(&once, b"noatime", atime), once.clone());
            let others = |list: &[u8]| {
                split(list).filter(|item| !atime(item)).map(<[u8]>::to_vec).collect::<Vec<_>>()
            };
            proptest::prop_assert_eq!(others(&once), others(list.as_bytes()));
        }
    }
}
