#!/usr/bin/env python3
"""Measures a terminal program in tmux, as a person sees it: how long after a key something is there.

    benches/tmux_screen.py FOLDER COLUMNS ROWS 'PROGRAM ARGUMENTS' 'KEYS=MARK'...

Starts the program in FOLDER, in a tmux server of its own, waits for the MARK of the first step, whose
KEYS are empty, and then presses the KEYS of each further step (names of tmux, separated by blanks) and
prints after how many milliseconds its MARK was on the screen. Looking takes a few milliseconds itself.
"""

import os
import subprocess
import sys
import tempfile
import time

PATIENCE = 60.0


def main():
    folder, columns, rows, program = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as place:
        server = ["tmux", "-S", os.path.join(place, "socket"), "-f", "/dev/null"]

        def call(*words):
            done = subprocess.run([*server, *words], check=True, capture_output=True, text=True)
            return done.stdout

        began = time.monotonic()
        call("new-session", "-d", "-x", columns, "-y", rows, "-c", folder, program)
        try:
            for step in sys.argv[5:]:
                keys, mark = step.split("=", 1)
                if keys:
                    began = time.monotonic()
                    call("send-keys", *keys.split())
                while mark not in (shown := call("capture-pane", "-p")):
                    if time.monotonic() - began > PATIENCE:
                        sys.exit(f"{step}: never\n{shown}")
                    time.sleep(0.005)
                print(f"{keys or 'start'} -> {mark}: {(time.monotonic() - began) * 1000:.0f} ms")
        finally:
            subprocess.run([*server, "kill-server"], check=False, capture_output=True)


main()
