def add(a, b=1, context=None, **others):
    return {"sum": a + b, "others": sorted(others), "context": context is not None}
