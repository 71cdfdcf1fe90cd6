//! How a disk is attached, told from the names that kernel and udev share.
//!
//! Each row is a pattern on the kernel name and on the device path, so that a selector means the
//! same when it is evaluated here and when udev evaluates the compiled rule.

/// A way of attaching a disk.
#[derive(Debug)]
pub struct Transport {
    /// The word in a state file.
    pub name: &'static str,
    /// Globs on the kernel name, any of which must match.
    pub kernel: &'static [&'static str],
    /// A glob that the device path must match, where one is given.
    pub path: Option<&'static str>,
    /// Globs none of which the device path may match.
    pub not_path: &'static [&'static str],
    /// Taken only by a rule that says so.
    pub on_request: bool,
}

/// All transports; the first that matches a device is its transport.
pub const TRANSPORTS: &[Transport] = &[
    Transport {
        name: "nvme",
        kernel: &["nvme*"],
        path: None,
        not_path: &[],
        on_request: false,
    },
    Transport {
        name: "virtio",
        kernel: &["vd*"],
        path: None,
        not_path: &[],
        on_request: false,
    },
    Transport {
        name: "xen",
        kernel: &["xvd*"],
        path: None,
        not_path: &[],
        on_request: false,
    },
    Transport {
        name: "mmc",
        kernel: &["mmcblk*"],
        path: None,
        not_path: &[],
        on_request: false,
    },
    Transport {
        name: "usb",
        kernel: &["sd*"],
        path: Some("*/usb*"),
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "sata",
        kernel: &["sd*"],
        path: Some("*/ata*"),
        not_path: &["*/usb*"],
        on_request: false,
    },
    Transport {
        name: "sas",
        kernel: &["sd*"],
        path: Some("*/end_device-*"),
        not_path: &["*/usb*", "*/ata*"],
        on_request: false,
    },
    Transport {
        name: "scsi",
        kernel: &["sd*"],
        path: None,
        not_path: &["*/usb*", "*/ata*", "*/end_device-*"],
        on_request: false,
    },
    Transport {
        name: "dm",
        kernel: &["dm-*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "md",
        kernel: &["md*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "loop",
        kernel: &["loop*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "ram",
        kernel: &["ram*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "zram",
        kernel: &["zram*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "cdrom",
        kernel: &["sr*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "nbd",
        kernel: &["nbd*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "bcache",
        kernel: &["bcache*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "rbd",
        kernel: &["rbd*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "drbd",
        kernel: &["drbd*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "zvol",
        kernel: &["zd*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "floppy",
        kernel: &["fd*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "nullb",
        kernel: &["nullb*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
    Transport {
        name: "ublk",
        kernel: &["ublkb*"],
        path: None,
        not_path: &[],
        on_request: true,
    },
];

/// Never taken by any rule: eMMC boot and replay-protected parts (kernel names).
pub const NEVER: &[&str] = &["mmcblk*boot*", "mmcblk*rpmb*"];
