//! Floor 0: text formats of the field. Text in, text out; nothing here opens a file.

pub mod fstab;
pub mod glob;
pub mod mount_options;
pub mod mountinfo;
pub mod octal;
pub mod sysfs;
pub mod text;
pub mod udev_db;
pub mod udev_rules;
