def main():
    return "built"
