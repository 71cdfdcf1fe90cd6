//! Lists of mount options: the fourth field of fstab(5), and what mountinfo shows.

/// Splits a list at the commas outside double quotes; empty items are left out.
///
/// Quotes are what libmount's parser honours (`ul_optstr_next()`); a quote that nothing closes
/// reaches to the end.
pub fn split(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    list.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    })
    .filter(|item| !item.is_empty())
}
