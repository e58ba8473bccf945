"""The worker's internals. Functions do not import these: they use `milepost` and the `flask`
stand-in."""
