def main():
    return "hi"
