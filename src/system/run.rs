//! The two programs that are started: where a system call will not do.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout};

use super::clock::nap;
use super::words::{failed, refused};

/// Where programs are looked for; the caller's PATH is his.
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// As a variable.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A reload takes a second or two; a machine under heavy load, longer.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// How much of what a program complains about is kept (bytes).
const ENOUGH: usize = 4096;

/// Runs a program to its end.
///
/// # Errors
/// It is not there, it failed (with what it wrote to stderr), or it took longer than `limit`, in
/// which case it was killed.
pub(super) fn run(program: &str, arguments: &[&str], limit: Duration) -> io::Result<()> {
    let (status, said) = end_of(program, arguments, limit)?;
    if status.success() {
        return Ok(());
    }
    let shown = shown(program, arguments);
    Err(refused(
        io::ErrorKind::Other,
        match said.trim() {
            "" => format!("{shown} failed: {status}"),
            said => format!("{shown} failed: {status}: {said}"),
        },
    ))
}

/// Asks a program something that its exit status answers.
///
/// # Errors
/// As of [`run`], but that it ends with another status than 0 is none.
pub(super) fn ask(program: &str, arguments: &[&str], limit: Duration) -> io::Result<i32> {
    let (status, said) = end_of(program, arguments, limit)?;
    status.code().ok_or_else(|| {
        let shown = shown(program, arguments);
        refused(
            io::ErrorKind::Other,
            format_args!("{shown} failed: {status}: {}", said.trim()),
        )
    })
}

fn shown(program: &str, arguments: &[&str]) -> String {
    format!("`{program} {}`", arguments.join(" "))
}

/// How a program ended, and what it wrote to stderr.
fn end_of(program: &str, arguments: &[&str], limit: Duration) -> io::Result<(ExitStatus, String)> {
    let path = find(program)?;
    let shown = || shown(program, arguments);
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| failed(format_args!("cannot start {}", shown()), cause))?;
    match wait(&mut child, limit) {
        Ok((Some(status), said)) => Ok((status, said)),
        Ok((None, _)) => {
            end(&mut child);
            Err(refused(
                io::ErrorKind::TimedOut,
                format_args!(
                    "{} did not end within {} s and was stopped",
                    shown(),
                    limit.as_secs()
                ),
            ))
        }
        Err(cause) => {
            end(&mut child);
            Err(failed(format_args!("cannot wait for {}", shown()), cause))
        }
    }
}

/// The program's absolute path.
fn find(program: &str) -> io::Result<PathBuf> {
    FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            refused(
                io::ErrorKind::NotFound,
                format_args!("there is no `{program}` in {PATH}"),
            )
        })
}

/// Waits for the end, reading stderr meanwhile so that a full pipe blocks nobody; no status where
/// the time is over.
fn wait(child: &mut Child, limit: Duration) -> io::Result<(Option<ExitStatus>, String)> {
    let deadline = Instant::now() + limit;
    let mut stderr = child.stderr.take();
    let mut said = Vec::new();
    loop {
        // Asked before the pipe is read: what it wrote before its end is in the pipe by then. A
        // process of its own that lives on and keeps the pipe open is not waited for.
        let status = child.try_wait()?;
        while let Some(pipe) = stderr.as_mut() {
            let tick = if status.is_some() { 0u8 } else { 50 };
            let mut ready = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
            match nix::poll::poll(&mut ready, PollTimeout::from(tick)) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => break,
                Ok(_) => {}
                Err(cause) => return Err(cause.into()),
            }
            let mut chunk = [0; 1024];
            match pipe.read(&mut chunk)? {
                0 => stderr = None,
                length if said.len() < ENOUGH => said.extend_from_slice(&chunk[..length]),
                _ => {}
            }
            if Instant::now() > deadline {
                break;
            }
        }
        if status.is_some() {
            return Ok((status, String::from_utf8_lossy(&said).into_owned()));
        }
        if Instant::now() > deadline {
            return Ok((None, String::new()));
        }
        if stderr.is_none() {
            nap(Duration::from_millis(10));
        }
    }
}

/// Ends it; that it ended by itself meanwhile is no error.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(300);

    #[test]
    fn success_failure_and_absence_are_told_apart() {
        run("true", &[], LIMIT).unwrap();
        let error = run("false", &[], LIMIT).unwrap_err();
        assert_eq!(error.to_string(), "`false ` failed: exit status: 1");
        let error = run("ssdtune-no-such-program", &[], LIMIT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_exit_status_is_an_answer() {
        assert_eq!(ask("true", &[], LIMIT).unwrap(), 0);
        assert_eq!(ask("sh", &["-c", "exit 3"], LIMIT).unwrap(), 3);
        let error = ask("sh", &["-c", "kill -9 $$"], LIMIT).unwrap_err();
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }

    #[test]
    fn what_it_complains_about_is_in_the_error() {
        let error = run("sh", &["-c", "echo no such unit >&2; exit 4"], LIMIT).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c echo no such unit >&2; exit 4` failed: exit status: 4: no such unit"
        );
    }

    #[test]
    fn a_flood_on_stderr_blocks_nobody() {
        run("sh", &["-c", "head -c 1000000 /dev/zero >&2"], LIMIT).unwrap();
    }

    #[test]
    fn it_is_stopped_when_the_time_is_over() {
        let start = Instant::now();
        let error = run("sleep", &["100"], SOON).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // A flood does not put the end off either.
        let error = run("sh", &["-c", "exec cat /dev/zero >&2"], SOON).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_child_left_behind_that_holds_the_pipe_is_not_waited_for() {
        let start = Instant::now();
        run("sh", &["-c", "sleep 3 & exit 0"], LIMIT).unwrap();
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}
