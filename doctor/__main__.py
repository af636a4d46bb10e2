"""`python -m doctor` is `pdoctor`."""

from doctor.cli.main import main

if __name__ == "__main__":
    main()
