#!/bin/bash
# What does a plan cost? Against a bare loop in C that opens, reads and closes the same files.
#
# As root, in a private mount namespace: 1,000 loop devices of high numbers, made and removed here,
# and a 10,000-line fstab that only this script sees. Needs gcc, strace and findmnt.
#
#   benches/plan.sh [RUNS]
set -euo pipefail
runs=${1:-20}
here=$(cd "$(dirname "$0")/.." && pwd)
if [ "${SSDTUNE_BENCH_INSIDE:-}" != 1 ]; then
    [ "$(id -u)" = 0 ] || { echo "run this as root: it makes loop devices" >&2; exit 1; }
    (cd "$here" && cargo build --release --quiet)
    SSDTUNE_BENCH_INSIDE=1 exec unshare --mount "$0" "$runs"
fi
mount --make-rprivate /
work=$(mktemp -d)
first=100000 count=1000
loops() { # add or remove
    python3 - "$1" "$first" "$count" <<'PY'
import fcntl, sys
verb, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ioctl = {"add": 0x4C80, "remove": 0x4C81}[verb]  # LOOP_CTL_ADD, LOOP_CTL_REMOVE
with open("/dev/loop-control", "rb") as control:
    for number in range(first, first + count):
        try:
            fcntl.ioctl(control, ioctl, number)
        except OSError as error:
            if verb == "add":
                raise SystemExit(f"loop{number}: {error}")
PY
}
trap 'loops remove; rm -rf "$work"' EXIT
loops add
program=$here/target/release/ssdtune
gcc -O2 -o "$work/bare" "$here/benches/bare.c"

gcc -O2 -o "$work/cost" "$here/benches/cost.c"
cost() { "$work/cost" "$runs" "$@"; } # standard input, command

# The regular files that a plan opens, and how often the same one at most.
files() {
    strace -f -y -e trace=open,openat,openat2 -o "$work/trace" "$@" >/dev/null 2>&1 || true
    python3 - "$work/trace" "$work/files" <<'PY'
import collections, os, re, sys
opened = collections.Counter()
for line in open(sys.argv[1], errors="replace"):
    found = re.search(r"= \d+<(/.*)>$", line.rstrip())
    # O_PATH looks at what stands there, and reads nothing.
    if found and "O_PATH" not in line and os.path.isfile(found.group(1)):
        opened[found.group(1)] += 1
with open(sys.argv[2], "w") as out:
    out.writelines(f"{path}\n" for path in sorted(opened))
again = [path for path, times in opened.items() if times > 1]
print(f"files opened: {len(opened)}, twice: {' '.join(again) or 'none'}")
PY
}

compare() { # title, state file
    echo "== $1"
    files "$program" plan "$2"
    echo "bare loop:    $(cost "$work/files" "$work/bare")"
    echo "ssdtune plan: $(cost /dev/null "$program" plan "$2")"
}

cat >"$work/devices.toml" <<'TOML'
[[device]]
match.name = "loop1*"
scheduler = ["mq-deadline", "none"]
mq-deadline.fifo_batch = 1
nr_requests = 64
max_sectors_kb = 512
read_ahead_kb = 64
TOML
compare "$count loop devices, one rule that takes them" "$work/devices.toml"

cat >"$work/mounts.toml" <<'TOML'
[[mount]]
match.fstype = "ext4"
options = ["noatime"]
TOML
echo "/dev/none / ext4 noatime 0 1" >"$work/fstab"
mount --bind "$work/fstab" /etc/fstab
compare "no device, a small fstab" "$work/mounts.toml"
echo "findmnt --verify: $(cost /dev/null findmnt --verify)"

for lines in 1000 10000; do
    seq "$lines" | sed 's|.*|/dev/vg0/v& /srv/v& ext4 defaults,nofail 0 2|' >"$work/fstab"
    compare "a $lines-line fstab, every line edited" "$work/mounts.toml"
done

cat "$work/devices.toml" "$work/mounts.toml" >"$work/both.toml"
compare "$count loop devices and a 10,000-line fstab, all of it edited" "$work/both.toml"
# Through the file that is mounted: another in its place would not be seen.
sed 's/defaults/noatime/' "$work/fstab" >"$work/right"
cat "$work/right" >"$work/fstab"
compare "$count loop devices, and a 10,000-line fstab that is right already" "$work/both.toml"
