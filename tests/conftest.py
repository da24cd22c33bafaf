"""What all tests share."""

from __future__ import annotations

import signal
import threading

# A run in the background of a shell ignores Ctrl-C, and so would every program that a test starts.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
