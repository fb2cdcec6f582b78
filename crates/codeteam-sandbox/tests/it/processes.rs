//! Other processes, and what a command inherits.

use crate::harness::{BOTH, Host, SECRET};

#[test]
fn smoke() {
    let host = Host::new();
    for profile in BOTH {
        let ended = host.sh(profile, "id; pwd; ls -la / /dev /etc /proc /run; ps aux; ls -l /proc/*/fd; cat /proc/1/cmdline; cat /proc/mounts; env; find /proc -maxdepth 2 -writable -not -path '/proc/[0-9]*'; exit 3");
        println!("{ended:?}\n{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(3));
        assert!(!ended.said().contains(SECRET));
    }
}
