"""The process of one launcher: hears the extension, holds the lock, looks every interval, does what a look asks for.

`process` is the loop, `session` one session start, `effects` does the commands of a look, `launcher` says what a
started session means for the core, `connections` finds herdr and the broker, `status` and `log` tell about the looks.
"""
