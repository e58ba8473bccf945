import os

import milepost


def main():
    return {
        "config": milepost.config,
        "mode": os.environ["MODE"],
        "secret": milepost.secret("DATABASE_URL"),
        "server": [name for name in os.environ if name.startswith("MILEPOST_") and "TEST" in name],
    }
