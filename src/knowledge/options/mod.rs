//! Mount options: slots, values, whether a remount changes them, and how mountinfo shows them.
