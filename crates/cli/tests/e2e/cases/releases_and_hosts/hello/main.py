import milepost


def main():
    return "code one, config " + milepost.config["greeting"]
