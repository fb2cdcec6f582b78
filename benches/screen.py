#!/usr/bin/env python3
"""Measures a terminal program that shows a screen: when it is there, and what it costs while idle.

    benches/screen.py FOLDER SECONDS MARK,MARK PROGRAM [ARGUMENT…]

Starts the program in FOLDER at a terminal of 120 x 40, prints after how many milliseconds each MARK
was written to it, and then, over SECONDS in which nobody touches it, its processor time, what it
writes, and its memory.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 10.0


def start(folder, argv):
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm-256color"
        os.execvp(argv[0], argv)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return pid, terminal


def read(terminal, seconds):
    ready, _, _ = select.select([terminal], [], [], seconds)
    return os.read(terminal, 1 << 16) if ready else b""


def wait_for(terminal, marks, began):
    written, found = b"", {}
    while len(found) < len(marks) and time.monotonic() - began < PATIENCE:
        written += read(terminal, 0.5)
        for mark in marks:
            if mark not in found and mark.encode() in written:
                found[mark] = (time.monotonic() - began) * 1000
    return found


def processor_ticks(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def memory_kb(pid):
    wanted = ("Rss:", "Pss:", "Private_Clean:", "Private_Dirty:")
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        rows = (line.split() for line in rollup)
        return {row[0].rstrip(":"): int(row[1]) for row in rows if row[0] in wanted}


def main():
    folder, seconds, marks = sys.argv[1], float(sys.argv[2]), sys.argv[3].split(",")
    began = time.monotonic()
    pid, terminal = start(folder, sys.argv[4:])
    found = wait_for(terminal, marks, began)
    for mark in marks:
        after = found.get(mark)
        print(f"{mark}: {after:.0f} ms" if after is not None else f"{mark}: never")
    # What is still to be drawn is drawn.
    time.sleep(1)
    read(terminal, 0.1)
    before, end, written = processor_ticks(pid), time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        written += len(read(terminal, left))
    used = (processor_ticks(pid) - before) / os.sysconf("SC_CLK_TCK")
    print(f"idle: {100 * used / seconds:.2f} % of a core, {written} bytes written")
    print("memory in kB:", ", ".join(f"{name} {kb}" for name, kb in memory_kb(pid).items()))
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


main()
