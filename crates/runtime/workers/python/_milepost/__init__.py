"""What the worker is made of. Nothing in here is for functions: they use `milepost` and, where it stands in, `flask`."""
