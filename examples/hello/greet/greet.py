"""Greets people in the words of the configuration."""

import milepost


def main(request):
    name = request.args.get("name", "").strip() or "world"
    text = "%s, %s!" % (milepost.config["greeting"], name)
    print("greeted", name)  # `milepost logs` shows it
    return {"text": text}
