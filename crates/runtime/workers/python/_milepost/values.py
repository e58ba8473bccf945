"""Mappings with repeated names, with Flask's methods."""


def title(name):
    return "-".join([part.capitalize() for part in name.split("-")])


class MultiDict(dict):
    """Maps each name to all of its values. Reading returns the first."""

    def __init__(self, pairs=()):
        super().__init__()
        for name, value in pairs.items() if isinstance(pairs, dict) else pairs:
            self.add(name, value)

    def add(self, name, value):
        dict.setdefault(self, name, []).append(value)

    def __iter__(self):
        # With its own `__iter__`, `dict()` and `**` copy the dict through its items instead of its
        # internal storage.
        return dict.__iter__(self)

    def __getitem__(self, name):
        return dict.__getitem__(self, name)[0]

    def __setitem__(self, name, value):
        dict.__setitem__(self, name, [value])

    def get(self, name, default=None, type=None):
        if name not in self:
            return default
        value = self[name]
        if type is None:
            return value
        try:
            return type(value)
        except (ValueError, TypeError):
            return default

    def getlist(self, name, type=None):
        values = dict.get(self, name, [])
        if type is None:
            return list(values)
        found = []
        for value in values:
            try:
                found.append(type(value))
            except (ValueError, TypeError):
                pass
        return found

    def items(self, multi=False):
        for name, values in dict.items(self):
            for value in values if multi else values[:1]:
                yield name, value

    def values(self):
        return [values[0] for values in dict.values(self)]

    def lists(self):
        return [(name, list(values)) for name, values in dict.items(self)]

    def listvalues(self):
        return [list(values) for values in dict.values(self)]

    def to_dict(self, flat=True):
        return dict(self.items()) if flat else dict(self.lists())

    def copy(self):
        return MultiDict(self.items(multi=True))

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name, *default):
        found = dict.pop(self, name, *([default] if default else []))
        return found[0]


class Headers:
    """Case-insensitive headers. Names are stored in lower case and shown in title case."""

    def __init__(self, pairs=()):
        if hasattr(pairs, "items"):
            pairs = pairs.items()
        self._pairs = []
        for name, value in pairs:
            if isinstance(value, (list, tuple)):
                for one in value:
                    self.add(name, one)
            else:
                self.add(name, value)

    def add(self, name, value, **options):
        if options:
            value = "; ".join(
                [str(value)] + ['%s="%s"' % (key.replace("_", "-"), text) for key, text in options.items()]
            )
        self._pairs.append((str(name).lower(), value if isinstance(value, str) else str(value)))

    def set(self, name, value, **options):
        self.remove(name)
        self.add(name, value, **options)

    def remove(self, name):
        name = name.lower()
        self._pairs = [pair for pair in self._pairs if pair[0] != name]

    def get(self, name, default=None, type=None):
        name = name.lower()
        for key, value in self._pairs:
            if key == name:
                if type is None:
                    return value
                try:
                    return type(value)
                except (ValueError, TypeError):
                    return default
        return default

    def getlist(self, name, type=None):
        name = name.lower()
        return [value if type is None else type(value) for key, value in self._pairs if key == name]

    get_all = getlist

    def extend(self, pairs=(), **more):
        self._pairs.extend(Headers(pairs)._pairs)
        self._pairs.extend(Headers(more)._pairs)

    def update(self, pairs=(), **more):
        for name, value in list(Headers(pairs)._pairs) + list(Headers(more)._pairs):
            self.set(name, value)

    def setdefault(self, name, value):
        if name not in self:
            self.add(name, value)
        return self[name]

    def pop(self, name, default=None):
        value = self.get(name, default)
        self.remove(name)
        return value

    def __getitem__(self, name):
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name, value):
        self.set(name, value)

    def __delitem__(self, name):
        self.remove(name)

    def __contains__(self, name):
        return self.get(name) is not None

    def __iter__(self):
        return iter(self.items())

    def __len__(self):
        return len(self._pairs)

    def keys(self, lower=False):
        return [name if lower else title(name) for name, _ in self._pairs]

    def values(self):
        return [value for _, value in self._pairs]

    def items(self, lower=False):
        return [(name if lower else title(name), value) for name, value in self._pairs]

    def to_wsgi_list(self):
        return self.items()

    def __repr__(self):
        return "Headers(%r)" % self.items()
